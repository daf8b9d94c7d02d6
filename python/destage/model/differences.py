"""How far two runs differ, with an interval: what decides whether one is ahead of the other.

The engine cuts each run into windows and draws blocks of them again and again (a block bootstrap):
the interval says between which values a difference lies, as far as this trace can tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Differences"]

Interval = tuple[float, float]


class Differences:
    """The intervals of one result set, by the numbers of its runs."""

    def __init__(self, data: Mapping[str, Any] | None) -> None:
        """Take what the result says of differences; None where it says nothing."""
        #: The groups of a run: one, or of a run without a cache that of each size.
        self._groups: dict[int, list[tuple[Mapping[str, Sequence[Any]], Mapping[int, int]]]] = {}
        known = [group.get("parts") for group in (data or {}).get("groups", ())]
        self.parts: int | None = min((int(p) for p in known if p is not None), default=None)
        """Independent parts of the trace, at the size with the fewest; None of earlier results."""
        self._parts: dict[int, int | None] = {}
        for group in (data or {}).get("groups", ()):
            places = {run: k for k, run in enumerate(group["runs"])}
            for run in places:
                self._groups.setdefault(run, []).append((group["metrics"], places))
                self._parts[run] = group.get("parts")

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self._groups)

    def parts_of(self, run: int) -> int | None:
        """Independent parts of the trace at the size of a run."""
        return self._parts.get(run)

    def metrics_of(self, run: int) -> frozenset[str]:
        """Metrics whose differences from a run have intervals."""
        return frozenset(name for metrics, _ in self._groups.get(run, ()) for name in metrics)

    def compares(self, run: int, other: int) -> bool:
        """Whether differences of the two runs have intervals."""
        return any(other in places for _, places in self._groups.get(run, ()))

    def between(self, metric: str, run: int, other: int) -> Interval | None:
        """95 % interval of the number of `run` minus `other`'s; None if there is none."""
        groups = self._groups.get(run, ())
        metrics, places = next((group for group in groups if other in group[1]), ({}, {}))
        if metric not in metrics or other not in places:
            return None
        first, second = sorted((places[run], places[other]))
        if first == second:
            return None
        # Pairs stand in the order (0, 1), (0, 2) .. (1, 2) ..
        before = first * len(places) - first * (first + 1) // 2
        found = metrics[metric][before + second - first - 1]
        if found is None:
            return None
        low, high = float(found[0]), float(found[1])
        return (low, high) if places[run] == second else (-high, -low)
