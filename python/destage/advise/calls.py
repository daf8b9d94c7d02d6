"""`advise`: the smallest cache and the policy near the best for a trace, and what to type."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from destage.advise.asking import (
    WITHIN,
    between,
    candidates,
    check_ahead,
    check_trace,
    share_of,
    sizes_of,
    with_the_usual,
)
from destage.advise.running import Runner, screened, seeds_of, settings
from destage.advise.saying import everything, notes_of, row_of
from destage.checks import check_in_front, drive_of, one_trace
from destage.device import DeviceLike
from destage.errors import UsageError
from destage.experiment.experiment import StoreLike, experiment_of
from destage.io.files import Destination
from destage.model.advice import Choice, choose, front_of, joint
from destage.model.advised import Advised, Ran
from destage.model.goals import Goal
from destage.model.run import Run, warnings_of
from destage.options import DeviceRunOptions, ProgressCallback, divided
from destage.policy import PolicyLike, Spec, spec_label
from destage.results import Results
from destage.tables.advice import advice_table, advice_text
from destage.tables.frames import Tabled, by_column
from destage.tables.table import Table
from destage.trace import Trace

__all__ = ["SEEDS", "Advice", "advise"]

#: Seeds that finalists are run with where something is drawn.
SEEDS = 3


@dataclass(frozen=True, repr=False)
class Advice(Advised, Tabled):
    """Advice with its reasons, its confidence and every run behind it.

    As a table it has one row a run.
    """

    results: Results
    """Every run of the grid, candidates and others."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per run: whether it is advised, the objectives, and every metric."""
        return [row_of(self, run) for run in self.results]

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return by_column(self.to_dicts())

    def _everything(self) -> Any:
        return everything(self) | {"results": self.results._everything()}

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.advice": json.dumps(everything(self))}

    def as_table(self) -> Table:
        """Return the curve of the first objective as a table, to be laid out otherwise."""
        return advice_table(self, self.choices[0])

    def text(self) -> str:
        """Return all that the command line prints, without colours."""
        return advice_text(self)

    def to_markdown(self, path: Destination | None = None) -> str:
        """Return all of it as Markdown, and write it to `path` if given (`-`: standard output).

        Raises `OutputError`.
        """
        from destage.io.files import write_whole

        text = advice_text(self, markdown=True)
        if path is not None:
            write_whole(path, text)
        return text

    def write_page(self, path: Destination, command: str | None = None) -> None:
        """Write a page that opens offline: the advice, its curves, and what to type.

        `command` is the command line that makes it again. Raises `MissingExtra` without the extra
        `report`, and `OutputError`.
        """
        from destage.io.files import write_whole
        from destage.io.names import check_page
        from destage.reports import need_report

        need_report()
        check_page(path)
        from destage.report.advice import advice_page

        write_whole(path, advice_page(self, self.results.result_sets[0], command))

    def __repr__(self) -> str:
        """Return what the command line prints."""
        return self.text()


def advise(
    trace: Trace,
    objective: str | Sequence[str] | None = None,
    *,
    budget: str | None = None,
    within: float | str = WITHIN,
    price: str | None = None,
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    cache: str | Sequence[str] | None = None,
    device: DeviceLike | None = None,
    pe_cycles: int | None = None,
    finalists: int | None = None,
    seeds: int = SEEDS,
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[DeviceRunOptions],
) -> Advice:
    """Find the smallest cache and the policy that are near the best, and say how sure that is.

    Parameters:
        objective: a metric, also for short (`"p99"`), `"min:NAME"`, `"max:NAME"`, or `"cost"`;
            several, `"p99,waf"`, give a Pareto front. By default the mean response with a device,
            else the hit ratio.
        budget, within: the largest cache (`"64MiB"`), and how near to the best is near enough.
        price: `"dram=3.0/GiB,tbw=600TB,drive=60,years=5"`; see docs/advise.md.
        policies, cache: what may be advised, and at which sizes, if not the usual ones.
        pe_cycles: erases that a block endures; by default what the drive's file says.
        finalists: run so many candidates in front of the drive, chosen without it.
        seeds: how often the two best are run where a policy or the drive is drawn.

    The others are those of `compare`. Same call, same bytes, on any number of threads. Raises
    `UsageError` for what cannot be, and what `compare` raises.

    >>> import destage
    >>> trace = destage.synth("zipf", requests=10_000, pages=1_000, seed=1)
    >>> destage.advise(trace, "hit", policies="lru,arc", cache="5%,10%").run.frames <= 100
    True
    """
    one_trace("advise", trace, objective)
    of_device, of_runs = divided(options)
    drive = drive_of(device, of_device)
    goals = check_ahead(objective, price, drive, pe_cycles, budget)
    _check_counts(finalists, seeds, pe_cycles)
    experiment = experiment_of(store, jobs, progress)
    experiment.refuse_shards("advice")
    runner = Runner(trace, drive, of_runs, experiment, pe_cycles)
    search = _Search(runner, goals, share_of(within), finalists, seeds)
    return search.advice(policies, cache, budget)


@dataclass(frozen=True)
class _Search:
    """How advice is found."""

    runner: Runner
    goals: tuple[Goal, ...]
    within: float
    finalists: int | None
    seeds: int

    def advice(
        self,
        policies: str | PolicyLike | Sequence[PolicyLike] | None,
        cache: str | Sequence[str] | None,
        budget: str | None,
    ) -> Advice:
        """Run the grid, then what stands beside the choice."""
        runner, goals = self.runner, self.goals
        check_in_front([runner.trace], runner.drive)
        check_trace(runner.trace, goals)
        sizes = sizes_of(runner.trace, cache, budget)
        owing = any(goal.counts_the_owed for goal in goals)
        flushed = owing and not runner.options.get("flush_at_end")
        runner.options |= {"flush_at_end": True} if flushed else {}
        specs = candidates(policies, runner.drive)
        kept, left = screened(runner, specs, sizes.frames, self.finalists)
        every = with_the_usual(kept)
        results = runner.runs(every, sizes.frames)
        if cache is None:
            results = _refined(runner, results, kept, every, goals, self.within)
        advice = self._told(results, kept, every, sizes.budget)
        ran = Ran(runner.count, len(specs), len({r.frames for r in results}), tuple(left))
        advice = replace(advice, ran=ran)
        notes = notes_of(advice, sizes.notes, flushed, warnings_of(results))
        return replace(advice, notes=notes)

    def _told(
        self, results: Results, kept: Sequence[Spec], every: Sequence[Spec], budget: int | None
    ) -> Advice:
        """The answer from the runs of the grid, after the runs that it needs."""
        runner, goals, within = self.runner, self.goals, self.within
        mine = _candidates(results, kept)
        found = [choose(mine, results.runs, goal, within) for goal in goals]
        choices = [_with_seeds(runner, every, choice, self.seeds) for choice in found]
        several = len(goals) > 1
        both = joint(choices, mine, within) if several else None
        advised = both or choices[0].run
        return Advice(
            trace=results[0].trace,
            drive=runner.drive.name if runner.drive else None,
            goals=goals,
            within=within,
            budget_bytes=None if budget is None else budget * runner.trace.page_bytes,
            choices=tuple(choices),
            joint=both,
            front=front_of(mine, goals) if several else (),
            settings=settings(runner, results.runs, choices, advised, within),
            candidates=tuple(mine),
            ran=Ran(0, 0, 0),
            notes=(),
            results=results,
        )


def _refined(
    runner: Runner,
    results: Results,
    specs: Sequence[Spec],
    every: Sequence[Spec],
    goals: Sequence[Goal],
    share: float,
) -> Results:
    """The runs with those at sizes between the smallest that will do and the next smaller one."""
    mine = _candidates(results, specs)
    more: set[int] = set()
    for goal in goals:
        choice = choose(mine, results.runs, goal, share)
        below = [p.run.frames for p in choice.curve if p.run.frames < choice.run.frames]
        if below:
            more |= between(below[-1], choice.run.frames)
    more -= {run.frames for run in results}
    return runner.joined(results, every, sorted(more)) if more else results


def _check_counts(finalists: int | None, seeds: int, pe_cycles: int | None) -> None:
    for name, value in (("finalists", finalists), ("seeds", seeds), ("pe_cycles", pe_cycles)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and (not whole or value < 1):
            raise UsageError(f"{name}: expected a whole number from 1, got {value!r}")


def _candidates(results: Results, specs: Sequence[Spec]) -> list[Run]:
    """The runs that may be advised: neither without a cache nor with the future known."""
    labels = {spec_label(spec) for spec in specs}
    mine = [r for r in results if r.label in labels and r.policy != "none"]
    found = [run for run in mine if not run.knows_the_future]
    if not found:
        raise UsageError(
            "policies: nothing to advise: a policy that knows the future cannot be built, and"
            " none is no cache"
        )
    return found


def _with_seeds(runner: Runner, specs: Sequence[Spec], choice: Choice, count: int) -> Choice:
    """The choice with other seeds of it and its rival."""
    if choice.rival is None:
        return choice
    pair = (choice.run, choice.rival.run)
    what, values = seeds_of(runner, specs, pair, choice.goal, count)
    rival = replace(choice.rival, seeds=values, seeds_of=what)
    return replace(choice, rival=rival)
