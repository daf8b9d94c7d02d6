"""All that advice consists of: what tables, charts and the page are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from destage.model.advice import Choice, Setting
from destage.model.deployed import System
from destage.model.goals import Goal, span_of
from destage.model.prices import YEAR_NS
from destage.model.run import Run, TraceIdentity
from destage.model.words import duration, number, percent, significant, volume

__all__ = ["HITS", "Advised", "Ran"]

#: A shorter trace says nothing that a setting should be made of.
LEAST_NS = 600e9
#: Nor does one with more accesses that are the first of their page.
MOST_COMPULSORY = 0.8
#: Objectives that count hits.
HITS = ("hit_ratio", "read_hit_ratio", "overall_hit_ratio")
#: A trace as short as this says nothing of a whole day.
SHORT_NS = 86_400e9
#: Beyond this share of the trace's own length a device has not kept up.
BEHIND = 1.05


@dataclass(frozen=True)
class Ran:
    """The runs and settings behind an advice."""

    runs: int
    """Runs over the whole trace, candidates and others."""
    policies: int
    """Candidates."""
    sizes: int
    """Cache sizes."""
    screened: tuple[str, ...] = ()
    """Candidates that ran at a few sizes alone."""
    interrupted: bool = False
    """Ctrl-C ended the runs."""


@dataclass(frozen=True, repr=False)
class Advised:
    """The smallest cache and the policy near the best, how sure that is, and what to type."""

    trace: TraceIdentity
    """The trace that was replayed."""
    drive: str | None
    """The device behind the cache; None without one."""
    goals: tuple[Goal, ...]
    """The objectives, as they were asked for."""
    within: float
    """How near to the best is near enough, as a share of it."""
    budget_bytes: int | None
    """The largest cache that was allowed; None if none was given."""
    choices: tuple[Choice, ...]
    """The advice, by objective."""
    joint: Run | None
    """The smallest run that is near the best in every objective; None if none is."""
    front: tuple[Run, ...]
    """With several objectives: the runs that no other beats in all of them."""
    settings: tuple[Setting, ...]
    """Settings of deployed systems."""
    candidates: tuple[Run, ...]
    """The runs that could be advised."""
    ran: Ran
    """The grid of runs."""
    notes: tuple[str, ...]
    """Notes on the method."""
    deployed: tuple[Choice, ...] = ()
    """The same among what a product can be set to; empty where policies were named."""
    nothing: Run | None = None
    """The run without a cache; None without a device."""
    force: bool = False
    """Settings are printed whatever the trace."""
    products: tuple[System, ...] = ()
    """The deployed systems that the first choice is among."""
    below: str = ""
    """The flash tier below every cache: `over lru 30%`."""
    loop: str = ""
    """What is said of a device that does not keep up with the trace's times; empty if it does."""
    doubts: tuple[Mapping[str, str], ...] = ()
    """Numbers of the trace that a workload can hardly have: `about`, `cause` and `remedy`."""

    @property
    def first(self) -> Choice:
        """The choice that is advised, for the first objective."""
        return (self.deployed or self.choices)[0]

    @property
    def run(self) -> Run:
        """The policy and the size that are advised: for all objectives if there is one run."""
        return self.joint if self.joint is not None else self.first.run

    @property
    def compulsory(self) -> float:
        """Share of the accesses that no cache can serve: the first ones of their pages."""
        return self.trace.unique_pages / self.trace.accesses if self.trace.accesses else 1.0

    @property
    def withheld(self) -> str:
        """Why nothing is printed to type; empty where it is."""
        length = self.trace.duration_ns
        if self.force:
            return ""
        if length is not None and length < LEAST_NS:
            return f"the trace lasts {duration(length)}, less than ten minutes"
        if self.compulsory > MOST_COMPULSORY:
            share = percent(self.compulsory, 0)
            return f"{share} of the accesses are the first of their page, which no cache serves"
        return ""

    @property
    def worth(self) -> bool:
        """Whether any cache that was tried changes the first objective significantly."""
        goal, best = self.goals[0], self.choices[0].best
        if goal.column in HITS:
            value = goal.value(best)
            return value is not None and value > 1 - MOST_COMPULSORY
        if self.nothing is None:
            return True
        mine, theirs = goal.judged(best), goal.judged(self.nothing)
        if mine is None or theirs is None or not goal.better(mine, theirs):
            return mine is None or theirs is None
        return goal.is_significant(best, self.nothing)

    @property
    def rises(self) -> bool:
        """Whether the largest size that was tried is still significantly better than the next."""
        curve, goal = self.first.curve, self.first.goal
        if len(curve) < 2 or self.first.best is not curve[-1].run:
            return False
        if curve[-1].run.frames >= self.trace.unique_pages:
            return False
        gain = goal.worse_by(curve[-2].judged, curve[-1].judged)
        return gain is not None and gain > self.within

    @property
    def life_said(self) -> str:
        """How long the device lasts at this load, or why that is not known."""
        return life_said(self.run, self.goals)


def _long(years: float) -> str:
    return f"{significant(years)} years" if years >= 1 else f"{significant(years * 365.25)} days"


def life_said(run: Run, goals: Sequence[Goal]) -> str:
    """How long the device lasts under a run, or why that is not known."""
    if run.timing is None:
        return "No device lifetime: there is no device (--device)."
    if run.queue_depth is not None:
        return (
            "No device lifetime: in a closed loop requests arrive as fast as the device serves"
            " them, which gives no rate a year."
        )
    span = span_of(run)
    if span is None:
        return "No device lifetime: the trace has no times."
    said = []
    tbw = goals[0].prices.tbw
    if run.writes == 0 and run.pending_share == 0:
        return "The device lasts: nothing was written to it."
    if tbw is not None and run.writes:
        years = tbw / (float(run.writes) * run.trace.page_bytes) * span / YEAR_NS
        said.append(f"{_long(years)} by its rating of {significant(tbw / 1e12)} TB")
    if run.life is not None and run.life.years is not None:
        cycles = number(run.life.pe_cycles)
        said.append(f"{_long(run.life.years)} by {cycles} erases a block")
    elif run.life is not None:
        said.append("unknown by its erases, since no block was erased in this time")
    if not said:
        return (
            "No device lifetime: its endurance is not given (--pe-cycles, pe_cycles of its file, or"
            " tbw of --price)."
        )
    waf = "" if run.waf is None else f" at a WAF of {run.waf:.2f}"
    length = run.trace.duration_ns or 0
    rate = f"at the rate of these {duration(length)}"
    if length < SHORT_NS:
        rate += ", which are not a whole day"
    if span > BEHIND * length:
        rate += "; the device does not keep up with them, so that its own pace is meant"
    return f"The device lasts {', '.join(said)}{waf}, {rate}. {_needed(run, goals, span)}"


def _needed(run: Run, goals: Sequence[Goal], span_ns: float) -> str:
    """The rating that the years of the prices take."""
    years = goals[0].prices.years
    needed = float(run.writes or 0) * run.trace.page_bytes / span_ns * YEAR_NS * years
    writes = None if run.life is None else run.life.drive_writes_per_day
    per_day = "" if writes is None else f", {significant(writes)} drive writes a day"
    return f"{significant(years)} years take rated writes of {volume(needed)}{per_day}."
