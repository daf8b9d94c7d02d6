"""Rows by their place: what a check or a figure takes its numbers from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from destage.reproduce.claims import AXES, Composite, RunSet
from destage.reproduce.experiments import Row, Rows

__all__ = ["Cell", "Frame", "combine", "quantity"]

#: Workload, device, FTL, cache: the values of `AXES`.
Cell = tuple[str, str, str, str]


class Frame:
    """The rows of a set of runs, with the best-of policies that a paper defines."""

    def __init__(self, rows: Rows, composites: Sequence[Composite] = ()) -> None:
        """Index the rows."""
        self.runs: RunSet = rows.runs
        self.cells: dict[Cell, dict[str, dict[int | None, Mapping[str, float]]]] = {}
        self.kinds: dict[str, str] = {}
        for row in rows.rows:
            self._put(row)
        for composite in composites:
            self._compose(composite)

    def _put(self, row: Row) -> None:
        self.cells.setdefault(row.cell, {}).setdefault(row.policy, {})[row.seed] = row.numbers
        self.kinds[row.workload] = row.kind

    def _compose(self, composite: Composite) -> None:
        for policies in self.cells.values():
            if not all(p in policies for p in composite.among):
                continue
            sign = 1 if composite.sense == "lower" else -1

            def mean(
                policy: str, here: Mapping[str, Mapping[int | None, Mapping[str, float]]]
            ) -> float:
                values = [n.get(composite.metric, math.inf) for n in here[policy].values()]
                return math.fsum(values) / len(values)

            best = min(composite.among, key=lambda p, h=policies: sign * mean(p, h))  # type: ignore[misc]
            policies[composite.name] = policies[best]

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


def combine(
    parts: Sequence[Mapping[int | None, float]],
) -> list[tuple[float, ...]]:
    """Put numbers of the same seed side by side; what has no seed goes with all of them."""
    if any(not part for part in parts):
        return []
    seeds = [s for s in dict.fromkeys(s for part in parts for s in part) if s is not None]
    if not seeds:
        return [tuple(part[None] for part in parts)]
    rows = []
    for seed in seeds:
        row = [part.get(seed, part.get(None)) for part in parts]
        if all(v is not None for v in row):
            rows.append(tuple(v for v in row if v is not None))
    return rows


def quantity(form: str, of: float, to: float = 0.0, than: float = 0.0) -> float:
    """What a check looks at; not a number where it is not defined."""
    if form == "value":
        return of
    if form == "difference":
        return of - to
    if form == "share":
        return (to - of) / (to - than) if to != than else math.nan
    # Nothing against nothing is no change.
    nothing = 1.0 if of == 0 else math.nan
    ratio = of / to if to else nothing
    return {"ratio": ratio, "reduction": 1 - ratio, "gain": ratio - 1}[form]
