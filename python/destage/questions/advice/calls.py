"""`advise` and `advise_kv`: cache and policy near the best for a trace, and what to type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from destage.base.errors import UsageError
from destage.experiment.experiment import StoreLike, experiment_of
from destage.experiment.result_sets import together
from destage.experiment.results import Results
from destage.lab.checks import check_in_front, drive_of, one_trace
from destage.lab.options import (
    DeviceRunOptions,
    ProgressCallback,
    RunOptions,
    check_one_tier,
    divided,
    thread_count,
)
from destage.lab.policy_base import PolicyLike, Spec, policy_specs, spec_label
from destage.lab.ssd import DeviceLike
from destage.lab.traces import Trace
from destage.model.advice import Choice, choose, deployable, front_of, joint
from destage.model.advised import Ran
from destage.model.configuration import (
    HIT,
    Configuration,
    cheapest,
    chosen_by_size,
    other_filters,
    rated,
)
from destage.model.deployed import WRITER, System, sizes_now, systems
from destage.model.goals import COST, Goal
from destage.model.metrics import WRITES
from destage.model.prices import Prices, prices_of
from destage.model.run import Run, warnings_of
from destage.questions.advice.answers import Advice, KvAdvice
from destage.questions.advice.asking import (
    NEVER,
    NOTHING,
    WITHIN,
    KvGrid,
    between,
    candidates,
    check_ahead,
    check_servers,
    check_trace,
    kv_grid,
    share_of,
    sizes_of,
    with_the_usual,
)
from destage.questions.advice.running import (
    Pool,
    Runner,
    Stopped,
    finalists_of,
    seeds_of,
    settings,
)
from destage.questions.advice.saying import notes_of

__all__ = ["SEEDS", "advise", "advise_kv"]

#: Seeds that finalists are run with where something is drawn.
SEEDS = 3
#: Runs that an advice can be made of: without a cache, and two to choose from.
LEAST_RUNS = 3
#: Requests outstanding that an answer is for where the device does not keep up with a trace: those
#: of an application of some threads.
DEPTH = 8
#: Note on such a trace.
QUEUED = "The device does not keep up with the trace's times (open loop)"
#: Choices that are made again where a run of a deployed system beats them.
ROUNDS = 4


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
    now: str | Mapping[str, str] | None = None,
    force: bool = False,
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[DeviceRunOptions],
) -> Advice:
    """Find the smallest cache and the policy near the best, with the certainty of the choice.

    Parameters:
        objective: a metric, also for short (`"p99"`), `"min:NAME"`, `"max:NAME"`, or `"cost"`;
            several, `"p99,waf"`, give a Pareto front. By default the mean response with a device,
            else the hit ratio.
        budget, within: the largest cache (`"64MiB"`), and the accepted distance to the best value.
        price: `"dram=3.0/GiB,tbw=600TB,device=60,years=5"`; see docs/reference/advise.md.
        policies, cache: candidates and sizes, instead of the defaults.
        pe_cycles: P/E cycle rating of a block; by default the device file's.
        finalists: number of candidates to run at every size, chosen at a few sizes.
        seeds: number of seeds of the two best, if a policy or the device is random.
        now: present sizes of caches that are enlarged: `"shared_buffers=16GB"`.
        force: give settings even for a short trace or few hits.

    The others are `compare`'s; a flash tier (`tier2`) is the same below every candidate, and
    hits of both tiers are then the default objective without a device. The same call gives the same
    bytes, on any number of threads. After Ctrl-C the advice covers the finished runs. Raises
    `UsageError` for invalid arguments, and the errors of `compare`.

    >>> import destage
    >>> trace = destage.synth("zipf", requests=10_000, pages=1_000, seed=1)
    >>> destage.advise(trace, "hit", policies="lru,arc", cache="5%,10%").run.frames <= 100
    True
    """
    one_trace("advise", trace, objective)
    of_device, of_runs = divided(options)
    check_one_tier(of_runs)
    if now and of_runs.get("tier2"):
        raise UsageError("now (--now) excludes tier2 (--tier2): a tier has no settings above it")
    drive = drive_of(device, of_device)
    goals = check_ahead(objective, price, drive, pe_cycles, budget, of_runs.get("tier2"))
    _check_counts(finalists, seeds, pe_cycles)
    experiment = experiment_of(store, jobs, progress)
    experiment.refuse_shards("advice")
    pool = Pool(Runner(trace, drive, of_runs, experiment, pe_cycles))
    present = sizes_now(now)
    asked = of_device.get("queue_depth") is not None
    search = _Search(pool, goals, share_of(within), finalists, seeds, present, force, asked)
    return search.advice(policies, cache, budget)


def advise_kv(
    trace: Trace,
    *,
    budget: str | None = None,
    within: float | str = WITHIN,
    price: str | None = None,
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    cache: str | Sequence[str] | None = None,
    force: bool = False,
    servers: int = 1,
    prefill_tokens_per_s: float | None = None,
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> KvAdvice:
    """Find policy, DRAM, flash and admission filter for the prompts of a language model.

    Of the configurations whose token hit ratio is within a share of the highest, those whose drive
    lasts `years` are preferred; of these, the least DRAM is advised, then the
    least flash, then the fewest flash writes. A drive is assumed to be rated for one write of
    its whole capacity a day. With its rated writes (`tbw`), only configurations that last are
    candidates; with the price of memory too, the cheapest a year is advised.

    Parameters:
        trace: prompts, opened with `bytes_per_token` of the model.
        budget: the largest DRAM.
        within: accepted distance to the most hits.
        price: as in `advise`; `tbw=600TB` is the rating of the drive, `years` its least life.
        policies, cache: policies of tier 1, and sizes of DRAM.
        force: give settings even for a short trace or few hits.
        servers: number of servers with this workload, for their needs together.
        prefill_tokens_per_s: prompt tokens that a server computes in a second, for the rate from
            which on reading flash is faster.
        options: of `compare`; `tier2`, `tier2_cache` and `admit` are the flash tiers that are
            tried; `tier2="none"` is DRAM alone. `warmup` is half of the requests.

    Raises what `compare` raises.
    """
    one_trace("advise_kv", trace, policies)
    thread_count(jobs)
    check_servers(servers, prefill_tokens_per_s)
    near = share_of(within)
    prices = Prices() if price is None else prices_of(price)
    grid = kv_grid(trace, policies, cache, budget, options)
    experiment = experiment_of(store, jobs, progress)
    experiment.refuse_shards("advice")
    runner = Runner(trace, None, grid.options, experiment, None)
    advice = _kv_advised(runner, grid, prices, near)
    return replace(advice, force=force, servers=servers, prefill_tokens_per_s=prefill_tokens_per_s)


def _kv_advised(runner: Runner, grid: KvGrid, prices: Prices, near: float) -> KvAdvice:
    """Run the grid, and choose."""
    sets: list[Mapping[str, Any]] = []
    for tier in grid.tiers:
        try:
            sets += runner.compared(grid.policies, grid.cache, tier=tier).sets
        except Stopped:
            break
    results = Results(sets)
    candidates = tuple(Configuration(r, prices) for r in results if not r.knows_the_future)
    candidates = tuple(one for one in candidates if one.run[HIT] is not None)
    if not candidates:
        raise UsageError("nothing to advise: no request was measured")
    chosen = cheapest(candidates, near)
    alone = [one for one in candidates if not one.flash_bytes]
    alone = [one for one in alone if one.dram_bytes <= chosen.dram_bytes]
    dram_only = max(alone, key=lambda one: (one.hits, -one.dram_bytes))
    ran = Ran(len(results), warmup=str(grid.options["warmup"]), interrupted=runner.interrupted)
    return KvAdvice(
        trace=results[0].trace,
        within=near,
        prices=prices,
        chosen=chosen,
        best=max(rated(candidates), key=lambda one: one.hits),
        dram_only=dram_only,
        gain=_gain(results, chosen.run, dram_only.run),
        bound=_bound(runner, candidates),
        curve=tuple(chosen_by_size(candidates, chosen, near)),
        filters=tuple(other_filters(candidates, chosen)),
        candidates=candidates,
        ran=ran,
        doubts=runner.trace.doubts,
        results=results,
    )


def _gain(results: Results, mine: Run, other: Run) -> tuple[float, float] | None:
    """Interval of the difference in hits of two runs; None where it is not known."""
    if mine is other or mine.frames != other.frames:
        return None
    sets = [{**one, "runs": [run]} for one in results.sets for run in one["runs"]]
    both = [sets[k] for k, run in enumerate(results) if run is mine or run is other]
    pair = Results([together(both)])
    runs = {run.label: run for run in pair}
    return runs[mine.label].minus(runs[other.label], HIT)


def _bound(runner: Runner, candidates: Sequence[Configuration]) -> float | None:
    """The token hit ratio of the bound with all that the largest configuration holds."""
    largest = max(candidates, key=lambda one: one.dram_bytes + one.flash_bytes)
    pages = (largest.dram_bytes + largest.flash_bytes) // runner.trace.page_bytes
    try:
        found = runner.compared("prefix-min", [f"{pages}p"])
    except (UsageError, Stopped):
        return None  # A block with several predecessors has no bound.
    return None if not found else float(found[0][HIT] or 0.0)


@dataclass(frozen=True)
class _Search:
    """How advice is found."""

    pool: Pool
    goals: tuple[Goal, ...]
    within: float
    finalists: int | None
    seeds: int
    now: Mapping[str, int]
    force: bool
    asked_depth: bool
    """Whether arrivals were asked for: the trace's times, or a depth."""

    @property
    def tier2(self) -> bool:
        """Whether every cache is above a flash tier."""
        return bool(self.pool.runner.options.get("tier2"))

    @property
    def products(self) -> tuple[System, ...]:
        """The systems that the first choice is among: those that grow, if any are named."""
        return tuple(one for one in systems() if not self.now or one.key in self.now)

    def advice(
        self,
        policies: str | PolicyLike | Sequence[PolicyLike] | None,
        cache: str | Sequence[str] | None,
        budget: str | None,
    ) -> Advice:
        """Run the grid, then what stands beside the choice."""
        runner, goals, pool = self.pool.runner, self.goals, self.pool
        tier2 = self.tier2
        check_in_front([runner.trace], runner.drive, tier2=tier2)
        check_trace(runner.trace, goals)
        sizes = sizes_of(runner.trace, cache, budget, grows=bool(self.now))
        every = with_the_usual(candidates(policies, runner.drive, runner.options))
        warm = runner.measure_from(every, sizes.frames)
        loop = self._closed(sizes.frames)
        pending = any(goal.leaves_out_pending for goal in goals)
        if tier2 and (pending or any(goal.column == WRITES for goal in goals)):
            raise UsageError(
                "objective: flash writes above a flash tier leave out dirty pages in DRAM, since"
                " the tier may decline it: take overall_hit_ratio, backing_reads or mean"
            )
        # After a warm-up, dirty pages of before would be flushed with the measured ones.
        flushed = pending and not warm and not runner.options.get("flush_at_end")
        runner.options |= {"flush_at_end": True} if flushed else {}
        if runner.drive is not None and not tier2:
            pool.run(policy_specs("none"), [1])
        kept, left = finalists_of(pool, every, sizes.frames, goals, self.finalists)
        writing = self._writing(kept) if policies is None else []
        grid = _Grid(pool, every, kept, writing, sizes.budget)
        grid.run(sizes.frames)
        if runner.interrupted and len(pool.labels) < LEAST_RUNS:
            raise KeyboardInterrupt
        if cache is None:
            grid.run(sorted(self._between(grid)))
        # Products are matched by one tier alone.
        advice = self._said(grid, policies is None and not tier2, sizes.budget)
        tried = len({run.frames for run in advice.candidates})
        ran = Ran(runner.count, len(every), tried, tuple(left), runner.interrupted)
        advice = replace(advice, ran=ran, loop=loop)
        notes = notes_of(advice, sizes.notes, flushed, warnings_of(advice.results))
        return replace(advice, notes=notes)

    def _closed(self, frames: Sequence[int]) -> str:
        """Close the loop where requests would mostly wait in a queue; what to say of it.

        A depth that was asked for stays, and so do times that dollars a year are made of.
        """
        runner = self.pool.runner
        timed = any(goal.metric is not None and goal.metric.kind == "time" for goal in self.goals)
        if not timed or not runner.queues(frames):
            return ""
        if self.asked_depth or any(goal.name == COST for goal in self.goals):
            return f"{QUEUED}: requests mostly wait in a queue; --queue-depth {DEPTH} shows more."
        runner.drive = drive_of(runner.drive, {"queue_depth": DEPTH})
        return (
            f"{QUEUED}: requests would mostly wait in a queue. The answer is for {DEPTH} requests"
            " outstanding (closed loop); --queue-depth trace keeps the trace's times."
        )

    def _writing(self, kept: Sequence[Spec]) -> list[Spec]:
        """Policies that a product runs with a background writer, if one can be behind the cache."""
        if isinstance(self.pool.runner.writing, str):
            return []
        names = {system.policy for system in systems() if system.writer}
        return [spec for spec in kept if spec_label(spec) in names]

    def _between(self, grid: _Grid) -> set[int]:
        """Sizes between the smallest that will do and the next smaller one."""
        runs, more = self.pool.results.runs, set[int]()
        mine = grid.candidates(runs)
        for goal in self.goals:
            most = None if grid.budget is None else grid.budget * self.pool.runner.trace.page_bytes
            products = affordable(self.products, most, self.now)
            for some in (mine, deployable(mine, products, self.now)):
                if not any(goal.judged(run) is not None for run in some):
                    continue
                choice = choose(some, _filled(runs), goal, self.within)
                below = [p.run.frames for p in choice.curve if p.run.frames < choice.run.frames]
                if below:
                    more |= between(below[-1], choice.run.frames)
        return more

    def _said(self, grid: _Grid, usual: bool, budget: int | None) -> Advice:
        """Advice from the runs, with the further runs that it takes.

        Runs of deployed systems at the sizes that they take are candidates too, so that none of
        them beats the advice: where one would, it is the advice.
        """
        runner, goals, within, pool = self.pool.runner, self.goals, self.within, self.pool
        most = None if budget is None else budget * runner.trace.page_bytes
        products = affordable(self.products, most, self.now)
        for _ in range(ROUNDS):
            runs = pool.results
            mine = grid.candidates(runs, also_deployed=usual)
            choices = [choose(mine, _filled(runs), goal, within) for goal in goals]
            sold = deployable(mine, products, self.now) if usual else []
            sold = [r for r in sold if all(g.judged(r) is not None for g in goals)]
            deployed = [choose(sold, _filled(runs), goal, within) for goal in goals] if sold else []
            several = len(goals) > 1
            both = joint(deployed or choices, sold or mine, within) if several else None
            advised = both or (deployed or choices)[0].run
            room = (most, self.now)
            found = () if self.tier2 else settings(pool, choices, advised, within, *room)
            if len(pool.results) == len(runs) or not usual:
                break
        named = dict.fromkeys(system.policy for system in systems())
        specs = [*grid.every, *policy_specs(list(named))]
        choices = [_with_seeds(runner, specs, choice, self.seeds) for choice in choices]
        deployed = [_with_seeds(runner, specs, choice, self.seeds) for choice in deployed]
        advice = Advice(
            trace=runs[0].trace,
            drive=runner.drive.name if runner.drive else None,
            goals=goals,
            within=within,
            budget_bytes=most,
            choices=tuple(choices),
            joint=both,
            front=front_of(mine, goals) if several else (),
            settings=found,
            candidates=tuple(mine),
            ran=Ran(0, 0, 0),
            notes=(),
            deployed=tuple(deployed),
            nothing=next((run for run in runs if run.policy == "none"), None),
            force=self.force,
            products=products,
            now=self.now,
            below=runner.below,
            doubts=runner.trace.doubts,
            results=runs,
        )
        can = affordable((one.system for one in found), most, self.now)
        typed = [
            ""
            if advice.withheld or one.system not in can
            else one.system.typed(advised.cache_bytes, self.now, most)
            for one in found
        ]
        told = zip(found, typed, strict=True)
        return replace(advice, settings=tuple(replace(s, typed=t) for s, t in told))


@dataclass(frozen=True)
class _Grid:
    """The candidates: which run at every size, and which also with the background writer."""

    pool: Pool
    every: Sequence[Spec]
    kept: Sequence[Spec]
    writing: Sequence[Spec]
    budget: int | None
    """Pages of the largest cache that may be advised."""

    def run(self, frames: Sequence[int]) -> None:
        """Run the candidates at these sizes."""
        if frames:
            self.pool.run(self.kept, frames)
            if self.writing:
                self.pool.run(self.writing, frames, writer=True)

    def candidates(self, runs: Iterable[Run], *, also_deployed: bool = False) -> list[Run]:
        """The runs that may be advised: neither without a cache nor with the future known."""
        labels = {spec_label(spec) for spec in self.every}
        labels |= {spec_label(spec) + WRITER for spec in self.writing}
        if also_deployed:
            labels |= {system.label for system in systems()}
        mine = [r for r in runs if r.label in labels and r.policy not in ("none", *NEVER)]
        if self.budget is not None:
            # Products may have run at the sizes that they take.
            mine = [run for run in mine if run.frames <= self.budget]
        found = [run for run in mine if not run.knows_the_future]
        if not found:
            raise UsageError(NOTHING)
        if not _filled(found):
            raise UsageError(
                "cache: no cache fills within half of the requests: take smaller ones, a longer"
                " trace, or warmup none"
            )
        return _filled(found)


def affordable(
    products: Iterable[System], most: int | None, now: Mapping[str, int]
) -> tuple[System, ...]:
    """The systems whose smallest setting is within the budget, if there is one."""
    return tuple(one for one in products if most is None or one.smallest(now) <= most)


def _filled(runs: Iterable[Run]) -> list[Run]:
    """The runs whose cache was full when measurement began."""
    return [run for run in runs if not run.cache_not_full]


def _check_counts(finalists: int | None, seeds: int, pe_cycles: int | None) -> None:
    for name, value in (("finalists", finalists), ("seeds", seeds), ("pe_cycles", pe_cycles)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and (not whole or value < 1):
            raise UsageError(f"{name}: expected a whole number from 1, got {value!r}")


def _with_seeds(runner: Runner, specs: Sequence[Spec], choice: Choice, count: int) -> Choice:
    """The choice with other seeds of it and its rival."""
    if choice.rival is None:
        return choice
    pair = (choice.run, choice.rival.run)
    what, values = seeds_of(runner, specs, pair, choice.goal, count)
    rival = replace(choice.rival, seeds=values, seeds_of=what)
    return replace(choice, rival=rival)
