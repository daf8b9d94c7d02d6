"""Objectives of advice: a metric of runs, or dollars a year.

A number that leaves out writes, since they are pending at the end or come after the last request,
is judged at what it would be had those cost what the others did (`model.winners`): no cache is
advised for work that it has only put off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from destage import _destage
from destage.base.errors import UsageError
from destage.model.choice import SHORT, full_name
from destage.model.metrics import LARGEST_PENDING, WRITES, Metric, metrics
from destage.model.prices import YEAR_NS, Prices
from destage.model.run import Run
from destage.model.tuned import objective_of
from destage.model.values import valued
from destage.model.winners import change, left_out
from destage.model.words import NBSP, NONE, significant, time_unit

__all__ = ["COST", "Goal", "goals_of", "span_of"]

#: Dollars a year; a name of `advise` alone, since it takes prices.
COST = "cost"
#: How near two dollar amounts are that tie.
CENT = 0.01


@dataclass(frozen=True)
class Goal:
    """One objective."""

    name: str
    """As it was asked for: `p99`, `cost`."""
    metric: Metric | None
    """The metric of a run; None for dollars a year."""
    largest: bool
    """Whether more is better."""
    prices: Prices
    """Prices of memory and of the device."""

    @property
    def column(self) -> str:
        """The name of its column, its unit in it."""
        return "dollars_a_year" if self.metric is None else self.metric.name

    @property
    def title(self) -> str:
        """A few words, as the head of a column."""
        return "Cost" if self.metric is None else self.metric.title

    @property
    def needs_a_drive(self) -> bool:
        """Whether only a run in front of a device has it."""
        return self.metric is None or self.metric.group.of_device

    @property
    def leaves_out_pending(self) -> bool:
        """Whether it must be flushed at the end, or pending writes would be missing."""
        return self.metric is not None and self.metric.deferral == "writes"

    def value(self, run: Run) -> float | None:
        """The number of a run; None where it has none."""
        if self.metric is not None:
            found = run[self.metric.name]
            return None if found is None else float(found)
        return dollars_a_year(run, self.prices)

    def put_off(self, run: Run) -> float:
        """Share of the flash writes that the number leaves out, 0..1."""
        return 0.0 if self.metric is None else left_out(self.metric.name, run)

    def judged(self, run: Run) -> float | None:
        """The number with pending writes; None where there is none, or too little is known."""
        value, share = self.value(run), self.put_off(run)
        if value is None or share >= 1:
            return None
        if self.leaves_out_pending and share > LARGEST_PENDING:
            return None
        return value if self.largest else value / (1 - share)

    @property
    def unjudged(self) -> str:
        """Why a run may have no number with pending writes."""
        if self.leaves_out_pending:
            share = f"{100 * LARGEST_PENDING:.0f}{NBSP}%"
            return f"no number, or more than {share} of the flash writes are pending"
        return "no number, or every flash write is pending or comes after the last request"

    def better(self, value: float, than: float) -> bool:
        """Whether a value is better than another."""
        return value > than if self.largest else value < than

    def near(self, value: float, best: float, within: float) -> bool:
        """Whether a value is within a share of the best."""
        if self.largest:
            return value >= best * (1 - within)
        return value <= best * (1 + within)

    def worse_by(self, value: float, best: float) -> float | None:
        """How much worse than the best, as a share of the best; None where that is nothing."""
        if best == 0:
            return 0.0 if value == best else None
        return (best - value) / best if self.largest else (value - best) / best

    def is_significant(self, run: Run, other: Run) -> bool:
        """Whether the difference of two runs in this goal is significant."""
        if self.metric is not None:
            return change(self.metric.name, run, other) is not None
        if run.frames != other.frames:
            mine, theirs = self.value(run), self.value(other)
            both = mine is not None and theirs is not None
            return both and abs((mine or 0.0) - (theirs or 0.0)) >= CENT * max(mine or 0, 1e-9)
        return change(_wear(self.prices), run, other) is not None

    def is_held_back(self, run: Run, other: Run) -> bool:
        """Whether the difference of two runs is significant only without pending writes."""
        if self.metric is None and run.frames != other.frames:
            return False
        name = _wear(self.prices) if self.metric is None else self.metric.name
        if change(name, run, other) is not None:
            return False
        return change(name, run, other, pending=False) is not None

    def ties(self, run: Run, other: Run) -> bool:
        """Whether the trace does not tell two runs apart: by their interval, or within 1 %.

        Runs without an interval that lie further apart neither tie nor differ significantly.
        """
        mine, theirs = self.value(run), self.value(other)
        if mine is None or theirs is None or self.is_significant(run, other):
            return False
        near = abs(mine - theirs) < CENT * max(abs(mine), abs(theirs)) or mine == theirs
        return near or run.has_intervals_against(other)

    def text(self, value: float | None, digits: int = 3) -> str:
        """A value as a sentence has it, with so many digits where they are cut."""
        if value is None:
            return NONE
        if self.metric is None:
            return f"${significant(value, digits)} a year"
        if digits > 3 and self.metric.kind == "time":
            unit = time_unit([value])
            return f"{significant(value / unit.ns, digits)}{NBSP}{unit.name}"
        if digits > 3 and self.metric.kind == "real":
            return significant(value, digits)
        return valued(self.metric, value)


def _wear(prices: Prices) -> str:
    """The counter that wear is computed from."""
    return "erases" if prices.tbw is None else WRITES


def span_of(run: Run) -> int | None:
    """Nanoseconds that a run stands for; None where its requests did not come by the clock."""
    if run.timing is None or run.queue_depth is not None or not run.trace.duration_ns:
        return None
    return int(run.timing["counters"].get("makespan_ns") or 0) or None


def dollars_a_year(run: Run, prices: Prices) -> float | None:
    """Memory written off, and wear of the device; None where a run does not tell."""
    span = span_of(run)
    if span is None or prices.drive is None:
        return None
    if prices.tbw is not None:
        written = float(run.writes or 0) * run.trace.page_bytes
        worn = written * YEAR_NS / span / prices.tbw
    elif run.life is not None:
        worn = 0.0 if run.life.years is None else 1 / run.life.years
    else:
        return None
    return prices.memory(run.cache_bytes) + prices.drive * worn


def goals_of(text: str | Sequence[str], prices: Prices) -> tuple[Goal, ...]:
    """Read `p99,waf`. Raises `UsageError` with the nearest name for another one."""
    given = [text] if isinstance(text, str) else text
    if not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        raise UsageError(f'objective: expected names such as "p99" or "waf", got {text!r}')
    names = [name.strip() for one in given for name in one.split(",") if name.strip()]
    if not names:
        raise UsageError("objective: expected at least one, such as p99, mean, waf, cost or hit")
    found = [_goal(name, prices) for name in names]
    columns = [goal.column for goal in found]
    for k, column in enumerate(columns):
        if column in columns[:k]:
            raise UsageError(f"objective {names[k]}: it is given twice")
    return tuple(found)


def _goal(name: str, prices: Prices) -> Goal:
    if name.lower() == COST:
        return Goal(COST, None, False, prices)
    bare = full_name(name.rpartition(":")[2])
    known = [metric.name for metric in metrics()]
    if bare not in known and _destage.nearest(bare, [COST, *SHORT, *known]) == COST:
        raise UsageError(f"unknown objective {name!r}, did you mean {COST}?")
    objective = objective_of(name)
    return Goal(name, objective.metric, objective.largest, prices)
