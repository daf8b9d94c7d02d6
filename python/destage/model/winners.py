"""The best policy: the rule behind every mark in a table and every sentence.

A difference counts if its interval leaves zero out (`model.differences`), if it is at least 1 %,
and if the digits that a table prints show it: no trace is so typical that a smaller one would
decide for a policy. A number that has no interval beside others that have one decides nothing, nor
do runs at one size of which no differences are known, nor does a run of less than 600 requests.
Results without windows (an earlier version) use 1 %. No lead counts that is within the change of
the pending writes. Policies that know the future never win, nor does a run whose cache is not full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from destage.model.differences import Interval
from destage.model.metrics import LARGEST_PENDING, METRICS, WRITES, Metric
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.values import cell
from destage.model.words import time_unit

__all__ = [
    "LEAST_REQUESTS",
    "TIE",
    "Winner",
    "change",
    "decisive",
    "held_back",
    "is_too_short",
    "left_out",
    "source_of",
    "winner",
    "winners",
]

#: Difference, relative to the larger one, below which two values tie.
TIE = 0.01
#: Requests below which no policy is named best.
LEAST_REQUESTS = 600


@dataclass(frozen=True)
class Winner:
    """The best policy in one metric at one cache size."""

    metric: Metric
    frames: int
    value: float | int
    """The best value."""
    runs: tuple[Run, ...]
    """Runs that are not significantly worse, the best first."""
    of: int
    """Runs that had a value."""
    measured: bool = False
    """Whether policies without a significant difference differ at all."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies of `runs`."""
        return tuple(run.label for run in self.runs)

    @property
    def sole(self) -> bool:
        """One policy is ahead of all others."""
        return len(self.runs) == 1 and self.of > 1


def winner(runs: Sequence[Run], metric: Metric, *, pending: bool = True) -> Winner | None:
    """The best of some runs at one cache size; None where fewer than two compare.

    Without `pending`, as if pending writes cost nothing.
    """
    rivals = [r for r in runs if not r.knows_the_future and r[metric.name] is not None]
    rivals = [r for r in rivals if not r.cache_not_full]
    if len(rivals) < 2 or metric.better == "neither":
        return None
    is_pending = metric.deferral == "writes" and any(
        left_out(metric.name, r) > _largest(r) for r in rivals
    )
    if pending and is_pending:
        return None  # Pending writes may turn it round.
    rivals.sort(key=lambda r: r[metric.name], reverse=metric.better == "higher")
    best = rivals[0]
    others = (r for r in rivals[1:] if change(metric.name, best, r, pending=pending) is None)
    alike = (best, *others)
    measured = any(
        r[metric.name] != best[metric.name] and best.has_intervals_against(r) for r in alike
    )
    return Winner(metric, best.frames, best[metric.name], alike, len(rivals), measured)


def held_back(runs: Sequence[Run], metric: Metric) -> Run | None:
    """The run that would be best alone if its pending writes, and late ones, cost nothing."""
    free, found = winner(runs, metric, pending=False), winner(runs, metric)
    if free is None or not free.sole:
        return None
    same = found is not None and found.sole and found.runs[0] is free.runs[0]
    return None if same else free.runs[0]


def winners(result: ResultSet, metric: Metric, *, pending: bool = True) -> list[Winner]:
    """The best at every cache size at which at least two policies compare; as `winner`."""
    found = (winner(result.at(frames), metric, pending=pending) for frames in result.sizes)
    return [w for w in found if w is not None]


@cache
def _known() -> Mapping[str, Metric]:
    return {metric.name: metric for metric in METRICS}


def _deferral(metric: str) -> str:
    """The work that a metric leaves out: `none`, `writes` or `waits`."""
    known = _known().get(metric)
    return "none" if known is None else known.deferral


def source_of(metric: str) -> str:
    """The number whose intervals decide a metric: the ratio of writes to lru's is as the writes."""
    return WRITES if metric == "writes_vs_lru" else metric


def left_out(metric: str, run: Run) -> float:
    """Share of a run's flash writes that one of its numbers leaves out, 0..1: pending, or too late.

    Where the writes that are left out cost what the others did, the number is 1 / (1 - d) times as
    large.
    """
    kind = _deferral(metric)
    if kind == "writes":
        return run.pending_share if run.tiers is None else run.pending_of(_in_pages(metric))
    return run.deferred_share if kind == "waits" else 0.0


def _in_pages(metric: str) -> str:
    """The count of pages behind a metric of tiers."""
    counts = ("tier2_writes", "tier3_writes", "backing_writes")
    return metric if metric in counts else "tier2_writes"


def change(metric: str, run: Run, other: Run, *, pending: bool = True) -> float | None:
    """The relative change from `other` to `run`; None if the difference is not significant.

    Without `pending`, as if pending writes cost nothing.
    """
    new, old = run[metric], other[metric]
    if new is None or old is None or new == old:
        return None
    lead = abs(new - old) / max(abs(new), abs(old))
    if lead < TIE or not _is_visible(metric, new, old) or is_too_short(run) or is_too_short(other):
        return None
    if pending and _within_pending(metric, run, other, lead):
        return None
    if run.has_intervals_against(other):
        interval = run.minus(other, source_of(metric))
        if interval is None or _has_zero(interval):
            return None
    elif run.frames == other.frames and run.windows is not None and other.windows is not None:
        return None  # Of parts of the trace that are no pairs.
    return float(new / old - 1) if old else 1.0


def decisive(metric: str, run: Run, other: Run) -> Interval | None:
    """The interval that decides, and that tables show: where `run` less `other` lies.

    It reaches 0 where pending writes may account for the lead, and where too few requests were
    measured. None where this trace does not tell.
    """
    found = run.minus(other, metric)
    if found is None or _has_zero(found):
        return found
    new, old = run[metric], other[metric]
    lead = abs(new - old) / (max(abs(new), abs(old)) or 1)
    short = is_too_short(run) or is_too_short(other)
    if short or _within_pending(metric, run, other, lead):
        return min(found[0], 0.0), max(found[1], 0.0)
    return found


def _has_zero(interval: Interval) -> bool:
    return interval[0] <= 0 <= interval[1]


def _within_pending(metric: str, run: Run, other: Run, lead: float) -> bool:
    """Whether pending writes may account for a lead."""
    deferral = _deferral(metric)
    if deferral == "writes":
        share = max(left_out(metric, run), left_out(metric, other))
        return share > _largest(run) or lead <= share
    # As if each write that came after the last request, or is pending, had cost as much time as
    # one before: with a share d of them the policy ahead would then take 1 / (1 - d) times as long.
    ahead: Run = run if run[metric] < other[metric] else other
    return deferral == "waits" and lead <= ahead.deferred_share


def _largest(run: Run) -> float:
    """Share of the writes that may be pending: any where they are counted pages of a flash tier."""
    return LARGEST_PENDING if run.tiers is None else 1.0


def _is_visible(metric: str, new: float, old: float) -> bool:
    """Whether the digits of a table show a difference, in the unit that suits both values."""
    known = _known().get(metric)
    if known is None:
        return True
    unit = time_unit((new, old)) if known.kind == "time" else None
    return cell(known, new, unit) != cell(known, old, unit)


def is_too_short(run: Run) -> bool:
    """Whether so few requests were measured that chance alone makes 1 %."""
    if run.measured is not None:
        count = int(run.measured["last_request"]) - int(run.measured["first_request"]) + 1
        return count < LEAST_REQUESTS
    return run.trace.requests - run.warmup_requests < LEAST_REQUESTS
