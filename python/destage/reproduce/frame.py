"""Rows by their place: what a check or a figure takes its numbers from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from destage.reproduce.claims import AXES, Composite, RunSet
from destage.reproduce.experiments import Row, Rows

__all__ = ["Cell", "Frame"]

#: Workload, device, FTL, cache: the values of `AXES`.
Cell = tuple[str, str, str, str]


class Frame:
    """The rows of a set of runs, with the best-of policies that a paper defines."""

    def __init__(self, rows: Rows, composites: Mapping[str, Composite] | None = None) -> None:
        """Index the rows."""
        self.runs: RunSet = rows.runs
        self.cells: dict[Cell, dict[str, dict[int | None, Mapping[str, float]]]] = {}
        self.kinds: dict[str, str] = {}
        for row in rows.rows:
            self._put(row)
        self._fill()
        for name, composite in (composites or {}).items():
            self._compose(name, composite)

    def _put(self, row: Row) -> None:
        self.cells.setdefault(row.cell, {}).setdefault(row.policy, {})[row.seed] = row.numbers
        self.kinds[row.workload] = row.kind

    def _fill(self) -> None:
        """Give every load its place on every drive, FTL and cache: runs are done on all of them.

        One of which no run is there is a place without a number, and not no place.
        """
        axes = [list(dict.fromkeys(cell[k] for cell in self.cells)) for k in range(len(AXES))]
        for cell in product(*axes):
            self.cells.setdefault(cell, {})  # type: ignore[arg-type]

    def _compose(self, name: str, composite: Composite) -> None:
        for policies in self.cells.values():
            if not all(p in policies for p in composite.among):
                continue
            best = min(composite.among, key=lambda p, h=policies: _rank(composite, h[p]))  # type: ignore[misc]
            policies[name] = policies[best]

    def places(
        self,
        at: Mapping[str, Sequence[str]] | None = None,
        skip: Mapping[str, Sequence[str]] | None = None,
    ) -> Iterator[Cell]:
        """All cells that lie where `at` says, but for those that lie where `skip` says."""
        for cell in self.cells:
            named = dict(zip(AXES, cell, strict=True))
            if at and any(named[axis] not in values for axis, values in at.items()):
                continue
            if skip and all(named[axis] in values for axis, values in skip.items()):
                continue
            yield cell

    def values(self, cell: Cell, policy: str, metric: str) -> dict[int | None, float]:
        """A metric of a policy in a cell, by seed; empty where it is not known."""
        seeds = self.cells.get(cell, {}).get(policy, {})
        return {seed: n[metric] for seed, n in seeds.items() if metric in n}

    def axis(self, cells: Sequence[Cell], axis: str) -> list[str]:
        """The values of an axis in the order of the runs."""
        k = AXES.index(axis)
        return list(dict.fromkeys(cell[k] for cell in cells))


def _rank(composite: Composite, seeds: Mapping[int | None, Mapping[str, float]]) -> float:
    """Sorts the best first; what has no number is no candidate."""
    values = [numbers.get(composite.metric, math.nan) for numbers in seeds.values()]
    mean = math.fsum(values) / len(values)
    if math.isnan(mean):
        return math.inf
    return mean if composite.sense == "lower" else -mean
