"""Who is best: the one rule behind every mark in a table and every sentence.

Differences below 1 % of the better value are ties: no trace is so typical that a smaller one would
decide for a policy. Policies that know the future never win.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from destage.model.metrics import Metric, offline
from destage.model.results import ResultSet
from destage.model.run import Run

__all__ = ["TIE", "Winner", "change", "winner", "winners"]

#: Difference, relative to the larger one, below which two values tie.
TIE = 0.01


@dataclass(frozen=True)
class Winner:
    """Who is best in one metric at one cache size."""

    metric: Metric
    frames: int
    value: float | int
    """The best value."""
    runs: tuple[Run, ...]
    """All that cannot be told from it, the best first."""
    of: int
    """Runs that had a value."""

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
    rivals = [r for r in runs if r.policy not in offline() and r[metric.name] is not None]
    if len(rivals) < 2 or metric.better == "neither":
        return None
    rivals.sort(key=lambda r: r[metric.name], reverse=metric.better == "higher")
    best = rivals[0]
    alike = (best, *(r for r in rivals[1:] if change(metric.name, best, r) is None))
    return Winner(metric, best.frames, best[metric.name], alike, len(rivals))


def winners(result: ResultSet, metric: Metric) -> list[Winner]:
    """The best at every cache size at which at least two policies compare."""
    found = (winner(result.at(frames), metric) for frames in result.sizes)
    return [w for w in found if w is not None]


def change(metric: str, run: Run, other: Run) -> float | None:
    """The relative change from `other` to `run`; None if the two cannot be told apart."""
    new, old = run[metric], other[metric]
    if new is None or old is None or new == old or abs(new - old) < TIE * max(abs(new), abs(old)):
        return None
    return float(new / old - 1) if old else 1.0
