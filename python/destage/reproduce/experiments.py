"""Runs what the claims look at, once for each combination, and keeps the numbers as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from destage.device import Drive
from destage.errors import UsageError
from destage.options import ProgressCallback, thread_count
from destage.reproduce.claims import Paper, RunSet, Variant
from destage.reproduce.lanes import Watch, lanes_of
from destage.reproduce.measures import gauges, measures
from destage.reproduce.published import RECORDED
from destage.reproduce.scaling import NO_DEVICE, OWN_FTL, drives_of, scaled_size
from destage.reproduce.workloads import Asked, Load, Loads
from destage.results import Results, Run
from destage.runs import compare, run
from destage.trace import Trace

__all__ = ["Row", "Rows", "Runner"]

#: Runs that find the rate at which a channel is as busy as wanted.
BUSY_STEPS = 2
#: A unit that works for so much of an open run is saturated.
SATURATED = 0.98
#: Page accesses between two looks at what a policy adapts to: BPAC's sampling period.
GAUGE_PERIOD = 10_000


@dataclass(frozen=True)
class Row:
    """One run: where it stands on the axes, and its numbers."""

    workload: str
    device: str
    ftl: str
    cache: str
    policy: str
    seed: int | None
    """None if nothing about the load is random."""
    kind: str
    """Kind of the load."""
    numbers: Mapping[str, float]

    @property
    def cell(self) -> tuple[str, str, str, str]:
        """Its place but for policy and seed."""
        return (self.workload, self.device, self.ftl, self.cache)


@dataclass(frozen=True)
class Rows:
    """What a set of runs gave."""

    runs: RunSet
    rows: tuple[Row, ...]
    loads: tuple[Load, ...]
    drives: Mapping[str, Drive]


@dataclass
class _Plan:
    """A set of runs on its way."""

    runs: RunSet
    variant: Variant | None
    specs: Mapping[str, str]
    chosen: Sequence[str]
    """Labels of the policies that run."""
    loads: tuple[Load, ...]
    rows: list[Row] = field(default_factory=list)
    drives: dict[str, Drive] = field(default_factory=dict)

    def done(self) -> Rows:
        """Return what it gave."""
        return Rows(self.runs, tuple(self.rows), self.loads, self.drives)


@dataclass(frozen=True)
class _Comparison:
    """Policies of a set of runs against each other, on one load in front of one drive."""

    plan: _Plan
    load: Load
    seed: int | None
    device: str
    ftl: str
    asked: Asked
    trace: Trace
    drive: Drive | None
    """As large as the trace needs."""
    stage: str
    """What is said of it while it goes on."""

    @property
    def where(self) -> str:
        """The runs, load, drive and FTL, as far as they have names."""
        names = (self.plan.runs.id, self.load.name, self.device, self.ftl)
        return " ".join(name for name in names if name not in (NO_DEVICE, OWN_FTL))


@dataclass
class _Outcome:
    """What a comparison gave."""

    rows: list[Row]
    failed: list[str]
    """Runs with which the drive could not go on, and what it said."""


class Runner:
    """Does the runs of one paper."""

    def __init__(
        self,
        paper: Paper,
        loads: Loads,
        *,
        seeds: Sequence[int],
        jobs: int | None = None,
        progress: ProgressCallback | None = None,
        began: Callable[[str], object] | None = None,
    ) -> None:
        """Take what all runs share; `began` is told of each comparison before it begins."""
        self.paper = paper
        self.loads = loads
        self.seeds = tuple(seeds)
        self.lanes = lanes_of(thread_count(jobs))
        self.progress = progress
        self.watch = Watch(progress)
        """Of the comparisons that go on."""
        self.began = began
        self.done = 0
        self.failed: list[str] = []
        """Runs with which a drive could not go on, and what it said."""
        self.rates: dict[tuple[Any, ...], float] = {}
        """Rates that keep a channel as busy as a set of runs wants it."""
        self.total = 0
        """Comparisons in all, if that is known."""

    def count(self, runs: RunSet) -> int:
        """Return how many comparisons a set of runs takes."""
        loads = [self.loads.load(name, self.paper) for name in self._names(runs)]
        if any(load.kind == "stand-in" for load in loads) and _as_recorded(runs):
            loads += self.loads.recorded(runs)
        draws = sum(len(self.seeds) if load.random else 1 for load in loads)
        return draws * max(1, len(runs.devices)) * max(1, len(runs.ftls))

    def check(self, sets: Sequence[RunSet]) -> None:
        """Look at every original before anything is run: some runs take half an hour.

        Raises `DataError`.
        """
        for name in dict.fromkeys(name for runs in sets for name in self._names(runs)):
            self.loads.check(self.loads.load(name, self.paper), self.watch.opening)

    def rows(
        self,
        runs: RunSet,
        variant: Variant | None = None,
        *,
        only: Sequence[str] | None = None,
    ) -> Rows:
        """Do a set of runs, changed by a variant; `only` names loads of it."""
        plan = self._plan(runs, variant, only)
        self._carry_out([plan])
        return plan.done()

    def several(self, sets: Sequence[RunSet], variant: Variant | None = None) -> dict[str, Rows]:
        """Do sets of runs, by their ids: load by load, so that each is drawn once for all."""
        plans = [self._plan(runs, variant, None) for runs in sets]
        self._carry_out(plans)
        return {plan.runs.id: plan.done() for plan in plans}

    def _plan(
        self,
        runs: RunSet,
        variant: Variant | None,
        only: Sequence[str] | None,
    ) -> _Plan:
        names = [w for w in self._names(runs) if only is None or w in only]
        loads = [self.loads.load(name, self.paper) for name in names]
        changed = _changed(runs, variant)
        # The load of a recording is as it was recorded.
        recorded = only is None and _as_recorded(changed) and not _of_load(variant)
        if recorded and any(load.kind == "stand-in" for load in loads):
            loads += self.loads.recorded(changed)
        return _Plan(
            changed,
            variant,
            {**self.paper.policies, **(variant.policies if variant else {})},
            runs.policies,
            tuple(loads),
        )

    def _carry_out(self, plans: Sequence[_Plan]) -> None:
        """Do the runs, some comparisons side by side."""
        watch = self.watch = Watch(self.progress)
        coming = self._comparisons(plans)

        def compared(one: _Comparison) -> tuple[_Plan, _Outcome]:
            with watch.told_of(one.stage) as followed:
                return one.plan, self._compare(one, followed)

        try:
            for plan, outcome in self.lanes.each(coming, compared, watch.stop):
                plan.rows += outcome.rows
                self.failed += outcome.failed
        finally:
            self.loads.ahead.stop()

    def _comparisons(self, plans: Sequence[_Plan]) -> Iterator[_Comparison]:
        """Open load by load, draw by draw; the next draw begins meanwhile."""
        groups: list[tuple[list[tuple[_Plan, Load]], int | None]] = []
        for load in dict.fromkeys((x.name, x.kind) for plan in plans for x in plan.loads):
            found = [(p, x) for p in plans for x in p.loads if (x.name, x.kind) == load]
            groups += [(found, seed) for seed in (self.seeds if found[0][1].random else (None,))]
        for k, (found, seed) in enumerate(groups):
            if self.lanes.count > 1:
                for coming in groups[k : k + 2]:
                    self._prepare(*coming)
            for plan, one in found:
                for device, ftl, drive in drives_of(plan.runs, plan.variant, one):
                    plan.drives.setdefault(device, drive) if drive else None
                    yield self._opened(plan, one, seed, device, ftl, drive)

    def _prepare(self, found: Sequence[tuple[_Plan, Load]], seed: int | None) -> None:
        plan, load = found[0]
        if load.kind == "stand-in":
            _, _, drive = next(drives_of(plan.runs, plan.variant, load))
            self.loads.prepare(load, seed or 0, drive, _wanted(plan.runs, plan.variant, load))

    def _names(self, runs: RunSet) -> Iterator[str]:
        """Loads of a set of runs; a series stands for all of its members."""
        own = [w.name for w in self.paper.workloads]
        for name in runs.workloads:
            series = [w for w in own if w.startswith(f"{name} ")]
            yield from series if series and name not in own else [name]

    def _opened(
        self,
        plan: _Plan,
        load: Load,
        seed: int | None,
        device: str,
        ftl: str,
        drive: Drive | None,
    ) -> _Comparison:
        """Open the load of a comparison, and tell of it."""
        asked = self._asked(plan.runs, plan.variant, load, device, drive)
        trace = self.loads.open(
            load, seed=seed or 0, drive=drive, asked=asked, progress=self.watch.opening
        )
        front = _in_front_of(trace, drive, plan.runs, load)
        one = _Comparison(plan, load, seed, device, ftl, asked, trace, front, "")
        self.done += 1
        part = f"{self.done}/{self.total}" if self.total else f"other readings {self.done}"
        stage = f"{self.paper.name} {part}: {one.where}"
        stage += f", seed {seed}" if seed is not None else ""
        if self.began:
            self.began(stage)
        return replace(one, stage=stage)

    def _compare(self, one: _Comparison, followed: ProgressCallback) -> _Outcome:
        plan, load, front = one.plan, one.load, one.drive
        runs, specs, chosen = plan.runs, plan.specs, plan.chosen
        share = 1.0 if runs.cache_whole else load.share
        sizes = [scaled_size(c, share) for c in runs.cache]

        def compared(labels: Sequence[str]) -> Results:
            return compare(
                one.trace,
                [specs[p] for p in labels],
                cache=sizes,
                device=front,
                cost=runs.cost,
                warmup=runs.warmup,
                fetch_on_write_miss=runs.fetch_on_write_miss,
                jobs=self.lanes.jobs,
                progress=followed,
            )

        outcome = _Outcome([], [])
        places = [(p, k) for p in chosen for k in range(len(sizes))]
        each = _each(compared, chosen, len(sizes), one.where, outcome.failed)
        for (policy, k), found in zip(places, each, strict=True):
            if found is None:
                continue
            numbers = measures(found, front)
            if policy in runs.gauges:
                numbers |= _adapted(runs, one.trace, specs[policy], sizes[k], front, numbers)
            numbers |= {"intensity": one.asked.intensity, "frames": float(found.frames)}
            numbers |= {"saturated": float(_saturated(front, numbers))}
            place = (load.name, one.device, one.ftl, runs.cache[k], policy, one.seed)
            outcome.rows.append(Row(*place, load.kind, numbers))
        return outcome

    def _asked(
        self,
        runs: RunSet,
        variant: Variant | None,
        load: Load,
        device: str,
        drive: Drive | None,
    ) -> Asked:
        """In what way a set of runs wants a load."""
        asked = _wanted(runs, variant, load)
        if runs.busiest and load.random and drive is not None:
            return self._busy(runs, load, device, drive, asked)
        return asked

    def _busy(
        self,
        runs: RunSet,
        load: Load,
        device: str,
        drive: Drive,
        asked: Asked,
    ) -> Asked:
        """Find the rate at which the busiest channel works so much of the time without a cache.

        Work grows with the rate until requests wait; a second step corrects what they waited.
        """
        key = (runs.busiest, load.name, device, repr(asked))
        if key not in self.rates:
            rate = asked.intensity
            for _ in range(BUSY_STEPS):
                tried = replace(asked, intensity=rate)
                trace = self.loads.open(
                    load, seed=self.seeds[0], drive=drive, asked=tried, progress=self.watch.opening
                )
                front = drive.extended(trace.end_page)
                one = compare(
                    trace, "none", cache="1p", device=front, jobs=1, progress=self.watch.opening
                )[0]
                busy = measures(one, drive).get("utilisation_max", 0.0)
                if not busy:
                    break
                rate *= runs.busiest / busy
            self.rates[key] = rate
        return replace(asked, intensity=self.rates[key])


def _wanted(runs: RunSet, variant: Variant | None, load: Load) -> Asked:
    """In what way a set of runs wants a load, but for a rate that has to be found."""
    return Asked(
        runs.intensity if load.random else 1.0,
        variant.synth if variant else None,
        variant.draw if variant else None,
        runs.channels,
        variant.burst if variant else None,
    )


def _adapted(
    runs: RunSet,
    trace: Trace,
    policy: str,
    size: str,
    front: Drive | None,
    numbers: Mapping[str, float],
) -> dict[str, float]:
    """What a policy adapts to, period by period; for most that does not depend on the drive."""
    drive = front if runs.gauges_with_device else None
    recorded = run(trace, policy, cache=size, device=drive, series=GAUGE_PERIOD)
    return gauges(recorded.series, numbers)


def _changed(runs: RunSet, variant: Variant | None) -> RunSet:
    if variant is None:
        return runs
    changed: dict[str, Any] = {}
    if variant.ftls and runs.ftls:
        changed["ftls"] = {k: variant.ftls.get(k, v) for k, v in runs.ftls.items()}
    if variant.intensity is not None:
        changed["intensity"] = runs.intensity * variant.intensity
    if variant.warmup is not None:
        changed["warmup"] = variant.warmup
    if variant.fetch_on_write_miss is not None:
        changed["fetch_on_write_miss"] = variant.fetch_on_write_miss
    return structs.replace(runs, **changed)


def _saturated(front: Drive | None, numbers: Mapping[str, float]) -> bool:
    """Whether requests came faster than a unit could work: waits then grow with the trace."""
    if front is None or front.queue_depth is not None:
        return False
    return numbers.get("utilisation_max", 0.0) >= SATURATED


def _as_recorded(runs: RunSet) -> bool:
    """Whether the loads come as they are: a recording cannot be had in another way."""
    return runs.intensity == 1 and not runs.busiest and runs.channels != "balanced"


def _of_load(variant: Variant | None) -> bool:
    if variant is None:
        return False
    changed = (variant.intensity, variant.draw, variant.burst)
    return bool(variant.synth) or any(value is not None for value in changed)


def _in_front_of(trace: Trace, drive: Drive | None, runs: RunSet, load: Load) -> Drive | None:
    """The drive of a run: larger if the trace needs it, closed if a recording wants that."""
    if drive is None:
        return None
    # Not the trace's own drive: the trace may have been opened for another one of this size.
    fitting = drive.extended(trace.end_page)
    if load.kind in RECORDED and runs.recordings_queue_depth is not None:
        return fitting.closed(runs.recordings_queue_depth)
    return fitting


def _each(
    compared: Callable[[Sequence[str]], Results],
    labels: Sequence[str],
    sizes: int,
    where: str,
    told: list[str],
) -> list[Run | None]:
    """Every run of a comparison; None for a policy with which the drive could not go on."""
    try:
        return list(compared(labels))
    except UsageError as first:
        found: list[Run | None] = []
        failed = 0
        for label in labels:
            try:
                found += compared([label])
            except UsageError as e:
                failed += 1
                told.append(f"{label}, {where}: {e}")
                found += [None] * sizes
        if failed == len(labels):
            # Not a policy's doing.
            raise first from None
        return found
