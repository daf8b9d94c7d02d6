"""A budget of flash writes: hit ratio over the bytes written in a day, and the best within it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from destage.base.errors import UsageError
from destage.model.advised import Ran
from destage.model.prices import UNITS, YEAR_NS
from destage.model.run import Run
from destage.model.trace_identity import TraceIdentity
from destage.model.words import NBSP, significant, volume

__all__ = ["DAY_NS", "BudgetAdvised", "WriteBudget", "Written", "front_of", "write_budget"]

DAY_NS = 86_400e9
_DAYS = YEAR_NS / DAY_NS


@dataclass(frozen=True)
class WriteBudget:
    """Bytes that may be written to flash in a day."""

    bytes_per_day: float
    """The budget."""
    text: str
    """As it was given: `300GB/day`, `0.3dwpd`."""


def write_budget(text: str, capacity_bytes: int | None = None) -> WriteBudget:
    """Read `300GB/day`, or `0.3dwpd` of a device of this capacity. Raises `UsageError`."""
    given = str(text).strip()
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)(/(?:day|d))?", given)
    unit = found[2].upper() if found else ""
    is_dwpd = unit == "DWPD" and found is not None and found[3] is None
    if found is None or not float(found[1]) or not (is_dwpd or (found[3] and unit in UNITS)):
        raise UsageError(
            f"budget_writes: expected bytes or drive writes a day, such as 300GB/day or 0.3dwpd,"
            f" got {text!r}"
        )
    if not is_dwpd:
        return WriteBudget(float(found[1]) * UNITS[unit], given)
    if capacity_bytes is None:
        raise UsageError(
            f"budget_writes: {given} is a share of a capacity: add --device (device=), or give"
            " bytes, such as 300GB/day"
        )
    return WriteBudget(float(found[1]) * capacity_bytes, given)


@dataclass(frozen=True)
class Written:
    """A run by its hits and its flash writes."""

    run: Run
    """The run."""
    hits: float
    """Hit ratio of all tiers; of prompts, of tokens."""
    bytes_per_day: float
    """Bytes written to flash in a day, at the rate of the measured requests; not rounded."""

    @property
    def filter(self) -> str:
        """Name of the admission filter, without its parameters."""
        return str(self.run["admit"] or "always").partition("[")[0]

    def interval_from(self, other: Written) -> tuple[float, float] | None:
        """95 % interval of its hits minus the other run's; None where it is unknown."""
        if self.run is other.run:
            return None
        return self.run.minus(other.run, hits_of(self.run))

    def years(self, endurance_bytes: float | None) -> float | None:
        """Life of a device of this endurance; None where nothing is written."""
        if endurance_bytes is None or not self.bytes_per_day:
            return None
        return endurance_bytes / (self.bytes_per_day * _DAYS)

    @classmethod
    def of(cls, run: Run) -> Written | None:
        """The same of a run; None where the trace has no times, or nothing was measured."""
        span = (run.measured or {}).get("arrivals_ns")
        hits = run[hits_of(run)]
        if not span or hits is None or run.tiers is None:
            return None
        written = run.tiers["tier2_writes"] * run.trace.page_bytes
        return cls(run, float(hits), written * DAY_NS / span)


def hits_of(run: Run) -> str:
    """The metric that a run is judged by."""
    return "overall_hit_ratio" if run["token_hit_ratio"] is None else "token_hit_ratio"


def front_of(points: Iterable[Written]) -> tuple[Written, ...]:
    """The Pareto front: more hits only with more writes; by writes, ascending."""
    front: list[Written] = []
    for point in sorted(points, key=lambda one: (one.bytes_per_day, -one.hits)):
        if not front or point.hits > front[-1].hits:
            front.append(point)
    return tuple(front)


def best_within(points: Sequence[Written], bytes_per_day: float) -> Written:
    """The most hits within the budget, then the fewest writes; the fewest writes if none is."""
    within = [one for one in points if one.bytes_per_day <= bytes_per_day]
    if not within:
        return min(points, key=lambda one: (one.bytes_per_day, -one.hits))
    return min(within, key=lambda one: (-one.hits, one.bytes_per_day))


@dataclass(frozen=True, repr=False, kw_only=True)
class BudgetAdvised:
    """Advice within a write budget."""

    trace: TraceIdentity
    """The trace that was replayed."""
    budget: WriteBudget
    """The budget."""
    chosen: Written
    """The most hits within the budget; where no run is within it, the fewest writes."""
    points: tuple[Written, ...]
    """Every run."""
    front: tuple[Written, ...]
    """Runs that no other beats in both."""
    endurance_bytes: float | None
    """Bytes that the device endures."""
    endurance_text: str
    """Where that is from."""
    ran: Ran
    """The runs."""
    skipped: tuple[str, ...] = field(default=())
    """Combinations that cannot be, with the reason."""

    @property
    def is_kept(self) -> bool:
        """Whether the advice is within the budget."""
        return self.chosen.bytes_per_day <= self.budget.bytes_per_day

    @property
    def most(self) -> Written:
        """The most hits of all, whatever it writes."""
        return best_within(self.points, float("inf"))


def rate_text(bytes_per_day: float) -> str:
    """`300 GB a day`."""
    return f"{volume(bytes_per_day)} a day"


def years_text(years: float | None) -> str:
    """`5.6 years`."""
    return "-" if years is None else f"{significant(years)}{NBSP}years"
