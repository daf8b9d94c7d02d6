"""The contents of an advice, as tables, charts and the page show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from destage.model.advice import Choice, Setting
from destage.model.configuration import Configuration
from destage.model.deployed import System
from destage.model.goals import Goal, span_of
from destage.model.prices import YEAR_NS, Prices
from destage.model.run import Run
from destage.model.trace_identity import TraceIdentity
from destage.model.words import duration, number, percent, significant, volume

__all__ = ["HITS", "MOST_COMPULSORY", "Advised", "Answered", "KvAdvised", "Ran"]

#: A shorter trace says nothing that a setting should be made of.
LEAST_NS = 600e9
#: Nor does one with more accesses that are the first of their page.
MOST_COMPULSORY = 0.8
#: Fewer hits of tokens save so little that no cache is worth it.
LEAST_HITS = 0.01
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
    policies: int = 0
    """Candidates."""
    sizes: int = 0
    """Cache sizes."""
    screened: tuple[str, ...] = ()
    """Candidates that ran at a few sizes alone."""
    interrupted: bool = False
    """Ctrl-C ended the runs."""
    warmup: str = ""
    """Part of the trace that is not measured, where the advice sets it."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Answered:
    """The part that every advice has."""

    trace: TraceIdentity
    """The trace that was replayed."""
    within: float
    """Accepted distance to the best, as a share of it."""
    ran: Ran
    """The grid of runs."""
    force: bool = False
    """Settings are printed whatever the trace."""
    doubts: tuple[Mapping[str, str], ...] = ()
    """Numbers of the trace that a workload can hardly have: `about`, `cause` and `remedy`."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Advised(Answered):
    """The smallest cache and the policy near the best, how sure that is, and what to type."""

    drive: str | None
    """The device behind the cache; None without one."""
    goals: tuple[Goal, ...]
    """The objectives, as they were asked for."""
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
    notes: tuple[str, ...]
    """Notes on the method."""
    deployed: tuple[Choice, ...] = ()
    """The same among what a product can be set to; empty where policies were named."""
    nothing: Run | None = None
    """The run without a cache; None without a device."""
    products: tuple[System, ...] = ()
    """The deployed systems that the first choice is among."""
    now: Mapping[str, int] = field(default_factory=dict)
    """Present sizes of the caches that are enlarged, in bytes by setting."""
    below: str = ""
    """The flash tier below every cache: `over lru 30%`."""
    loop: str = ""
    """Note on a device that does not keep up with the trace's times; empty if it does."""

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
        """Reason why no settings are printed; empty if they are."""
        length = self.trace.duration_ns
        if self.force:
            return ""
        if length is not None and length < LEAST_NS:
            return f"the trace lasts {duration(length)}, less than ten minutes"
        if self.compulsory > MOST_COMPULSORY:
            share = percent(self.compulsory, 0)
            return f"{share} of the accesses are first accesses, which no cache serves"
        return ""

    @property
    def worth(self) -> bool:
        """Whether the best cache that may be advised improves the first objective significantly."""
        return self._improves(self.first.best)

    @property
    def worth_with_any_policy(self) -> bool:
        """Whether the best of all policies does, products or not."""
        return self._improves(self.choices[0].best)

    def _improves(self, best: Run) -> bool:
        """Whether a run is significantly better than no cache, where that is known."""
        goal = self.first.goal
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


@dataclass(frozen=True, repr=False, kw_only=True)
class KvAdvised(Answered):
    """Which policy, how much DRAM and flash, which admission filter, and how long a drive lasts."""

    prices: Prices
    """Prices of memory and drive."""
    chosen: Configuration
    """The advice."""
    best: Configuration
    """Most hits of all candidates; with a rating given, of those whose drive lasts."""
    dram_only: Configuration
    """Most hits without flash, with at most the DRAM of the advice."""
    gain: tuple[float, float] | None
    """Where the hits of the advice less those without flash lie, with 95 % confidence."""
    bound: float | None
    """Share of the tokens that no policy passes at the largest size; None if it is not known."""
    curve: tuple[Configuration, ...]
    """The choice at each pair of sizes, by the same rule among the runs of these sizes."""
    filters: tuple[Configuration, ...]
    """The advice with each other filter."""
    candidates: tuple[Configuration, ...]
    """Every configuration that could be advised."""
    servers: int = 1
    """Servers that each have such a cache and such a load."""
    prefill_tokens_per_s: float | None = None
    """Prompt tokens that a server computes in a second; None where it is not known."""

    @property
    def worth_reading_bytes_per_s(self) -> float | None:
        """Rate above which reading a token from flash takes less time than computing it."""
        rate = self.prefill_tokens_per_s
        return None if rate is None else rate * self.chosen.bytes_per_token

    @property
    def run(self) -> Run:
        """The run that is advised."""
        return self.chosen.run

    @property
    def rises(self) -> str:
        """The sizes that gain still at the largest that was tried: `DRAM`, `flash`; else empty.

        A size gains if all smaller ones have fewer hits than are near the most.
        """
        found = []
        for name in ("DRAM", "flash"):
            sizes = [(one.sizes[name == "flash"], one) for one in self.candidates]
            largest = max(size for size, _ in sizes)
            smaller = [one.hits for size, one in sizes if size < largest]
            most = max(one.hits for size, one in sizes if size == largest)
            if smaller and max(smaller) < most * (1 - self.within):
                found.append(name)
        whole = max(sum(one.sizes) for one in self.candidates)
        return "" if whole >= self.trace.footprint_bytes else " and ".join(found)

    @property
    def worth(self) -> bool:
        """Whether a cache saves a share of the tokens that is worth anything."""
        return self.chosen.hits >= LEAST_HITS

    @property
    def flash_worth(self) -> bool:
        """Whether flash is part of the advice, and its gain is significant where it is known."""
        return self.chosen.flash_bytes > 0 and (self.gain is None or self.gain[0] > 0)

    @property
    def withheld(self) -> str:
        """Why no settings are printed; empty if they are."""
        if self.force:
            return ""
        if not self.worth:
            return f"fewer than {100 * LEAST_HITS:.0f} % of the prompt tokens are hits"
        duration = self.trace.duration_ns
        if duration is None or duration < LEAST_NS:
            return "the trace is shorter than ten minutes"
        return ""


def _long(years: float) -> str:
    return f"{significant(years)} years" if years >= 1 else f"{significant(years * 365.25)} days"


def life_said(run: Run, goals: Sequence[Goal]) -> str:
    """How long the device lasts under a run, or why that is not known."""
    if run.timing is None:
        return "No device lifetime: there is no device (--device)."
    if run.queue_depth is not None:
        return "No device lifetime: a closed loop has no arrival rate."
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
        said.append("unknown by its erases: no block was erased")
    if not said:
        return (
            "No device lifetime: no endurance is given (--pe-cycles, pe_cycles in the device file,"
            " or --price tbw=)."
        )
    waf = "" if run.waf is None else f" at a WAF of {run.waf:.2f}"
    length = run.trace.duration_ns or 0
    rate = f"at the rate of these {duration(length)}"
    if length < SHORT_NS:
        rate += " (less than a day)"
    if span > BEHIND * length:
        rate += "; the device does not keep up, so this is its own rate"
    return f"The device lasts {', '.join(said)}{waf}, {rate}. {_needed(run, goals, span)}"


def _needed(run: Run, goals: Sequence[Goal], span_ns: float) -> str:
    """The rating that the years of the prices take."""
    years = goals[0].prices.years
    needed = float(run.writes or 0) * run.trace.page_bytes / span_ns * YEAR_NS * years
    writes = None if run.life is None else run.life.drive_writes_per_day
    per_day = "" if writes is None else f" ({significant(writes)} drive writes a day)"
    return f"To last {significant(years)} years, it must endure {volume(needed)}{per_day}."
