"""Result sets in the form of JSON, put together, and marked where runs are missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from destage import _destage
from destage.model.run import INTERRUPTED, SHARD

__all__ = ["incomplete", "one_of_each", "only_so_many", "together"]


def together(
    sets: Sequence[Mapping[str, Any]], order: Callable[[Mapping[str, Any]], Any] | None = None
) -> dict[str, Any]:
    """One result set of several over one trace, with all that follows from its runs made again.

    `order` is what runs are sorted by; without it they stay as they are.
    """
    runs = [run for one in sets for run in one["runs"]]
    if order is not None:
        runs.sort(key=order)
    whole: dict[str, Any] = json.loads(_destage.assembled(json.dumps({**sets[0], "runs": runs})))
    return whole


def one_of_each(sets: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Result sets, those over one trace in front of one device put together.

    Runs with different flash tiers are made one tier after another.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for one in sets:
        key = json.dumps([one["trace"], one.get("device")], sort_keys=True)
        found.setdefault(key, []).append(one)
    return [some[0] if len(some) == 1 else together(some) for some in found.values()]


def incomplete(sets: list[dict[str, Any]], every: int, shard: bool = False) -> list[dict[str, Any]]:
    """Results with a warning in each run that others are missing; an earlier one is replaced."""
    ended = sum(len(one["runs"]) for one in sets)
    said = only_so_many(ended, every, shard=shard)
    for one in sets:
        for run in one["runs"]:
            warnings = run.get("warnings") or ()
            others = [w for w in warnings if not w.startswith((INTERRUPTED, SHARD))]
            run["warnings"] = [*others, said]
    return [one for one in sets if one["runs"]]


def only_so_many(ended: int, every: int, what: str = "runs", shard: bool = False) -> str:
    """The warning of what an interrupt, or a shard, left."""
    if shard:
        return f"{SHARD}{ended} of {every} {what} are in the store"
    return f"{INTERRUPTED}only {ended} of {every} {what} had ended"
