"""The rows of a set of runs, by configuration: the numbers that checks and figures take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from destage.lab.ssd import Device
from destage.reproduce.claims import AXES, Composite, Places, RunSet
from destage.reproduce.load import Load
from destage.reproduce.quantities import Interval

__all__ = ["Cell", "Row", "Rows"]

#: Workload, device, FTL, cache: the values of `AXES`.
Cell = tuple[str, str, str, str]


@dataclass(frozen=True)
class Row:
    """The numbers of one run."""

    workload: str
    device: str
    ftl: str
    cache: str
    policy: str
    seed: int | None
    """None of a workload that is not generated."""
    kind: str
    """Kind of the workload."""
    numbers: Mapping[str, float]
    against: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    """Intervals of its differences from others on this trace, by metric and other policy."""
    coarse: str = ""
    """Why it has shrunk too far to decide anything; empty: it has not."""

    @property
    def cell(self) -> Cell:
        """The configuration but for policy and seed."""
        return (self.workload, self.device, self.ftl, self.cache)


class Rows:
    """The rows of a set of runs, with the best-of policies that a paper defines."""

    def __init__(
        self,
        runs: RunSet,
        rows: Sequence[Row],
        loads: Sequence[Load] = (),
        drives: Mapping[str, Device] | None = None,
        composites: Mapping[str, Composite] | None = None,
    ) -> None:
        """Index the rows."""
        self.runs, self.rows, self.loads, self.drives = runs, rows, loads, drives or {}
        self.cells: dict[Cell, dict[str, dict[int | None, Mapping[str, float]]]] = {}
        for row in rows:
            self.cells.setdefault(row.cell, {}).setdefault(row.policy, {})[row.seed] = row.numbers
        self.kinds = {row.workload: row.kind for row in rows}
        self._coarse = {(row.cell, row.policy): row.coarse for row in rows if row.coarse}
        self._against = {(row.cell, row.policy, row.seed): row.against for row in rows}
        # A configuration whose runs all failed has no number; it is a case still.
        axes = [list(dict.fromkeys(cell[k] for cell in self.cells)) for k in range(len(AXES))]
        for cell in product(*axes):
            self.cells.setdefault(cell, {})  # type: ignore[arg-type]
        for name, composite in (composites or {}).items():
            for policies in self.cells.values():
                if all(p in policies for p in composite.among):
                    ranks = {p: _rank(composite, policies[p]) for p in composite.among}
                    policies[name] = policies[min(ranks, key=lambda p, r=ranks: r[p])]  # type: ignore[misc]
        self._members = {name: one.among for name, one in (composites or {}).items()}

    def places(self, at: Places | None = None, skip: Places | None = None) -> Iterator[Cell]:
        """All cells with the values of `at`, but for those with the values of `skip`."""
        for cell in self.cells:
            named = dict(zip(AXES, cell, strict=True))
            if at and any(named[axis] not in values for axis, values in at.items()):
                continue
            if skip and all(named[axis] in values for axis, values in skip.items()):
                continue
            yield cell

    def values(self, cell: Cell, policy: str, metric: str) -> dict[int | None, float]:
        """A metric of a policy in a cell, by seed; empty where it is unknown."""
        seeds = self.cells.get(cell, {}).get(policy, {})
        return {seed: n[metric] for seed, n in seeds.items() if metric in n}

    def coarse(self, cell: Cell, policies: Sequence[str]) -> str:
        """Why a run of some policies in a cell has shrunk too far to decide; empty: none has."""
        each = (p for name in policies for p in self._members.get(name, (name,)))
        return next((why for p in each if (why := self._coarse.get((cell, p), ""))), "")

    def differences(
        self, cell: Cell, of: str, to: str, metric: str
    ) -> dict[int | None, Interval] | None:
        """Where a number of one policy less another's lies on this trace, by seed; None: unknown.

        A seed without an interval can be anything.
        """
        if not self.runs.as_compare or of == to:
            return None
        unknown = (-math.inf, math.inf)
        return {
            seed: self._against[cell, of, seed].get(metric, {}).get(to, unknown)
            for seed in self.values(cell, of, metric)
        }


def _rank(composite: Composite, seeds: Mapping[int | None, Mapping[str, float]]) -> float:
    """The sort key of a candidate, the best first."""
    values = [numbers.get(composite.metric, math.nan) for numbers in seeds.values()]
    mean = math.fsum(values) / len(values)
    if math.isnan(mean):
        return math.inf
    return mean if composite.sense == "lower" else -mean
