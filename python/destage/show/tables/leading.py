"""The leading columns of a table of runs: in what its rows differ, policy, cache size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from destage.model.naming import is_foreseeing, without_placement
from destage.model.run import Run
from destage.model.words import NONE, number, size
from destage.show.tables.table import Cell, Column

__all__ = ["NOT_FULL", "arrivals_of", "key_columns", "keys_of", "leading_cells"]

#: Mark of a cache size that does not fill within half of the requests.
NOT_FULL = "(not full)"

#: What tells rows of a table apart beside policy and size, and how it is called.
_KEYS: Mapping[str, Callable[[Run], str]] = {
    "trace": lambda run: run.trace.name,
    "device": lambda run: without_placement(run.device) if run.device else "none",
    "arrivals": lambda run: arrivals_of(run),
    "placement": lambda run: f"{run.placement}{OFFLINE * is_foreseeing(run.placement)}",
    # How one trace was read, or its content.
    "page size": lambda run: size(run.trace.page_bytes),
    "requests": lambda run: number(run.trace.requests),
    "fingerprint": lambda run: run.trace.fingerprint[:8],
}

#: Behind a placement policy that uses future accesses.
OFFLINE = " (offline)"


def keys_of(runs: Sequence[Run]) -> list[str]:
    """The columns without which two rows would look alike."""
    of: dict[str, set[str | None]] = {
        "trace": {r.trace.fingerprint + r.trace.name for r in runs},
        "device": {r.device and without_placement(r.device) for r in runs},
        "arrivals": {arrivals_of(r) for r in runs if r.device},
        "placement": {r.placement for r in runs if r.device},
    }
    keys = [key for key, values in of.items() if len(values) > 1]
    for key in ("page size", "requests", "fingerprint"):
        if _have_traces_alike(runs, keys) and len({_KEYS[key](run) for run in runs}) > 1:
            keys.append(key)
    return keys


def _have_traces_alike(runs: Sequence[Run], keys: Sequence[str]) -> bool:
    """Whether runs of different traces look alike with these columns."""
    rows = {(*(_KEYS[key](r) for key in keys), r.label, r.cache, r.trace.fingerprint) for r in runs}
    return len({row[:-1] for row in rows}) < len(rows)


def arrivals_of(run: Run) -> str:
    """When requests come: at the trace's times, or with so many outstanding."""
    if run.device is None:
        return NONE
    return "trace" if run.queue_depth is None else f"depth {run.queue_depth}"


def key_columns(runs: Sequence[Run]) -> tuple[list[Column], bool]:
    """The columns in which runs differ, and whether cache sizes are among them."""
    columns = [Column(title, right=False, key=True) for title in (*keys_of(runs), "policy")]
    if runs and all(run.has_no_cache for run in runs):
        return columns, False
    sizes = (Column(title, spare=True) for title in ("pages", "size"))
    return [*columns, Column("cache", key=True), *sizes], True


def leading_cells(run: Run, keys: Sequence[str], *, has_sizes: bool) -> list[Cell]:
    """The cells of `key_columns`."""
    row = [Cell(_KEYS[key](run)) for key in keys] + [Cell(run.label)]
    sizes = (run.cache, number(run.frames), size(run.cache_bytes))
    sizes = ("-", "-", "-") if run.policy == "none" else sizes
    if run.cache_not_full:
        sizes = (f"{run.cache} {NOT_FULL}", *sizes[1:])
    return row + [Cell(text) for text in (sizes if has_sizes else ())]
