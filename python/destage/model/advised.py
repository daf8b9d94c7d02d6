"""All that advice consists of: what tables, charts and the page are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from destage.model.advice import Choice, Setting
from destage.model.goals import Goal, span_of
from destage.model.prices import YEAR_NS
from destage.model.run import Run, TraceIdentity
from destage.model.words import duration, number, significant

__all__ = ["Advised", "Ran"]

#: A trace as short as this says nothing of a whole day.
SHORT_NS = 86_400e9
#: Beyond this share of the trace's own length a drive has not kept up.
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
    """Candidates that were only run without the drive."""


@dataclass(frozen=True, repr=False)
class Advised:
    """The smallest cache and the policy near the best, how sure that is, and what to type."""

    trace: TraceIdentity
    """The trace that was replayed."""
    drive: str | None
    """The drive behind the cache; None without one."""
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

    @property
    def run(self) -> Run:
        """The policy and the size that are advised: for all objectives if there is one run."""
        return self.joint if self.joint is not None else self.choices[0].run

    @property
    def life_said(self) -> str:
        """How long the drive lasts at this load, or why that is not known."""
        return life_said(self.run, self.goals)


def _long(years: float) -> str:
    return f"{significant(years)} years" if years >= 1 else f"{significant(years * 365.25)} days"


def life_said(run: Run, goals: Sequence[Goal]) -> str:
    """How long the drive lasts under a run, or why that is not known."""
    if run.timing is None:
        return "The drive's life is not told: there is no drive (--device)."
    if run.queue_depth is not None:
        return (
            "The drive's life is not told: in a closed loop requests come as fast as the drive"
            " takes them, and no year can be made of that."
        )
    span = span_of(run)
    if span is None:
        return "The drive's life is not told: the trace has no length in time."
    said = []
    tbw = goals[0].prices.tbw
    if tbw is not None and run.writes:
        years = tbw / (float(run.writes) * run.trace.page_bytes) * span / YEAR_NS
        said.append(f"{_long(years)} by its rating of {significant(tbw / 1e12)} TB")
    if run.life is not None and run.life.years is not None:
        most = "at most " if run.life.owes else ""
        cycles = number(run.life.pe_cycles)
        said.append(f"{most}{_long(run.life.years)} by {cycles} erases a block")
    elif run.life is not None:
        said.append("by its erases it is not known, since nothing was erased in this time")
    if not said:
        return (
            "The drive's life is not told: what it endures is not given (--pe-cycles, pe_cycles of"
            " its file, or tbw of --price)."
        )
    waf = "" if run.waf is None else f" at a WAF of {run.waf:.2f}"
    length = run.trace.duration_ns or 0
    rate = f"at the rate of these {duration(length)}"
    if length < SHORT_NS:
        rate += ", which are not a whole day"
    if span > BEHIND * length:
        rate += "; the drive does not keep up with them, so that its own pace is meant"
    return f"The drive lasts {', '.join(said)}{waf}, {rate}."
