"""Stores put together, and a store made small: `destage results merge` and `pack`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from destage.base.io.files import Destination
from destage.experiment.results import Results, load_results
from destage.experiment.rows import order_of
from destage.experiment.store import Store, part_bytes
from destage.model.rows import Row

__all__ = ["Packed", "merge_results", "pack_results"]

#: Rows of a packed part: with their whole results some ten megabytes.
ROWS = 4096


@dataclass(frozen=True)
class Packed:
    """Result of packing a store."""

    before: int
    """Parts that there were."""
    after: int
    """Parts that there are."""
    runs: int
    damaged: int
    """Parts that could not be read; they are gone, and their runs missing."""


def merge_results(stores: Sequence[Destination], into: Destination) -> Results:
    """Merge stores into one, which may hold runs already; return it.

    `Results.holes` has the missing runs of the sweeps. Raises `MissingFile`, `DataError`,
    `UsageError` and `OutputError`.
    """
    opened = [Store.open(path) for path in stores]
    target = Store.begin(into)
    for store in opened:
        if store.folder.resolve() == target.folder.resolve():
            continue
        for path in store.whole_parts()[0]:
            target.add_part(path.read_bytes())
        for path in store.side_files():
            target.copy(path)
    return load_results(into)


def pack_results(path: Destination) -> Packed:
    """Merge the parts of a store into few. It may be interrupted at any time and repeated.

    Raises `MissingFile`, `DataError` and `OutputError`.
    """
    store = Store.open(path)
    whole, damaged = store.whole_parts()
    rows: list[Row] = sorted(store.rows(parts=whole), key=order_of)
    kept: set[Path] = set()
    for first in range(0, len(rows), ROWS):
        kept.add(store.add_part(part_bytes(rows[first : first + ROWS])))
    store.remove([one for one in whole if one not in kept])
    store.remove(damaged)
    return Packed(len(whole) + len(damaged), len(store.parts()), len(rows), len(damaged))
