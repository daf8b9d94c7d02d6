"""The best policy: the one rule behind every mark in a table and every sentence.

A difference counts if its interval leaves zero out (`model.differences`): the trace tells the two
apart. A number that has no interval beside others that have one decides nothing. Only where a
result knows no intervals at all (a run too short for them, an earlier version) differences below
1 % are ties: no trace is so typical that a smaller one would decide for a policy. No lead counts
that is within what a run still owes at its end. Policies that know the future never win.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from destage.model.metrics import LARGEST_DEBT, METRICS, WRITES, Metric
from destage.model.results import ResultSet
from destage.model.run import Run

__all__ = ["TIE", "Winner", "change", "left_out", "winner", "winners"]

#: Difference, relative to the larger one, below which two values tie in a result without intervals.
TIE = 0.01


@dataclass(frozen=True)
class Winner:
    """The best policy in one metric at one cache size."""

    metric: Metric
    frames: int
    value: float | int
    """The best value."""
    runs: tuple[Run, ...]
    """All that cannot be told from it, the best first."""
    of: int
    """Runs that had a value."""
    measured: bool = False
    """Whether those that cannot be told apart differ, by less than this trace tells."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies of `runs`."""
        return tuple(run.label for run in self.runs)

    @property
    def sole(self) -> bool:
        """One policy is ahead of all others."""
        return len(self.runs) == 1 and self.of > 1


def winner(runs: Sequence[Run], metric: Metric) -> Winner | None:
    """The best of some runs at one cache size; None where fewer than two compare."""
    rivals = [r for r in runs if not r.knows_the_future and r[metric.name] is not None]
    if len(rivals) < 2 or metric.better == "neither":
        return None
    if metric.deferral == "writes" and any(r.write_debt > LARGEST_DEBT for r in rivals):
        return None  # What is still owed may turn it round.
    rivals.sort(key=lambda r: r[metric.name], reverse=metric.better == "higher")
    best = rivals[0]
    alike = (best, *(r for r in rivals[1:] if change(metric.name, best, r) is None))
    measured = any(r[metric.name] != best[metric.name] and best.told_by_intervals(r) for r in alike)
    return Winner(metric, best.frames, best[metric.name], alike, len(rivals), measured)


def winners(result: ResultSet, metric: Metric) -> list[Winner]:
    """The best at every cache size at which at least two policies compare."""
    found = (winner(result.at(frames), metric) for frames in result.sizes)
    return [w for w in found if w is not None]


@cache
def _deferrals() -> Mapping[str, str]:
    return {metric.name: metric.deferral for metric in METRICS}


def _deferral(metric: str) -> str:
    """The work that a metric leaves out: `none`, `writes` or `waits`."""
    return _deferrals().get(metric, "none")


def _source(metric: str) -> str:
    """The number whose intervals decide a metric: the ratio of writes to lru's is as the writes."""
    return WRITES if metric == "writes_vs_lru" else metric


def left_out(metric: str, run: Run) -> float:
    """Share of a run's flash writes that one of its numbers leaves out, as owed or too late, 0..1.

    Where the writes that are left out cost what the others did, the number is 1 / (1 - d) times as
    large.
    """
    shares = {"writes": run.write_debt, "waits": run.unwaited}
    return shares.get(_deferral(metric), 0.0)


def change(metric: str, run: Run, other: Run) -> float | None:
    """The relative change from `other` to `run`; None if the two cannot be told apart."""
    new, old = run[metric], other[metric]
    if new is None or old is None or new == old:
        return None
    lead = abs(new - old) / max(abs(new), abs(old))
    if _deferral(metric) == "writes":
        debt = max(run.write_debt, other.write_debt)
        if debt > LARGEST_DEBT or lead <= debt:
            return None
    # As if each write that came after the last request, or is owed, had cost as much time as one
    # before: with a share d of them whoever is ahead would then take 1 / (1 - d) times as long.
    if _deferral(metric) == "waits" and lead <= (run if new < old else other).unwaited:
        return None
    if run.told_by_intervals(other):
        interval = run.minus(other, _source(metric))
        told = interval is not None and not interval[0] <= 0 <= interval[1]
    else:
        told = lead >= TIE
    if not told:
        return None
    return float(new / old - 1) if old else 1.0
