"""The runs of an evaluation: tasks of one experiment, and the rows that their results make."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

from msgspec import structs

from destage import _destage
from destage.base.errors import UsageError
from destage.experiment.experiment import Experiment
from destage.experiment.policies import PolicyAsked
from destage.experiment.recipes import DriveRecipe, TraceRecipe
from destage.experiment.rows import DONE, key_of_row
from destage.experiment.task import Entry, Key, Plan, Question, Size, Task, given_options
from destage.lab.options import ProgressCallback
from destage.lab.policy_base import policy_specs
from destage.lab.ssd import Device
from destage.lab.trace_profile import TraceInfo
from destage.model.columns import CONTEXT, RECORD
from destage.model.results import ResultSet
from destage.model.rows import Row as StoredRow
from destage.model.run import Run
from destage.reproduce.claims import Paper, RunSet, Variant
from destage.reproduce.compared import COMPARED, intervals_of, measured_task, numbers_of
from destage.reproduce.load import Load, LoadOptions
from destage.reproduce.measures import GAUGES, gauges, measures
from destage.reproduce.published import RECORDED, fits
from destage.reproduce.rows import Row, Rows
from destage.reproduce.scaling import (
    NO_DEVICE,
    OWN_FTL,
    coarse,
    drives_of,
    frames_of,
    scaled_policy,
    scaled_size,
)
from destage.reproduce.workloads import Loads

__all__ = ["MissingRuns", "Request", "Runner", "entry_of"]

#: Runs that find the rate at which a channel is as busy as wanted.
BUSY_STEPS = 2
#: Highest share of the time at which they measure it.
MEASURED_BUSY = 0.8
#: A unit that works for this share of an open run is saturated.
SATURATED = 0.98
#: Page accesses of a period of adaptive state: BPAC's sampling period.
GAUGE_PERIOD = 10_000


class MissingRuns(Exception):
    """Runs of other shards are not in the store yet."""

    def __init__(self, missing: int, planned: int) -> None:
        """Take the number of runs that are missing, of all."""
        super().__init__(f"{missing:,} of {planned:,} runs are missing")


@dataclass(frozen=True, eq=False)
class Request:
    """A set of runs on its workloads, changed by a variant.

    `only` names some workloads, `policies` some policies; all if they are empty. It has
    the first `most_seeds` of the seeds.
    """

    runs: RunSet
    loads: Loads
    variant: Variant | None = None
    only: Sequence[str] = ()
    policies: Collection[str] = ()
    most_seeds: int | None = None

    @property
    def changed(self) -> RunSet:
        """The runs of the variant."""
        runs, variant = self.runs, self.variant or Variant()
        changed: dict[str, Any] = {
            "ftls": {k: variant.ftls.get(k, v) for k, v in runs.ftls.items()},
            "intensity": runs.intensity * (variant.intensity or 1.0),
        }
        for key in ("warmup", "fetch_on_write_miss", "busiest"):
            if getattr(variant, key) is not None:
                changed[key] = getattr(variant, key)
        if self.policies:
            for key in ("policies", "gauges"):
                changed[key] = tuple(p for p in getattr(runs, key) if p in self.policies)
        return structs.replace(runs, **changed)

    def options(self, load: Load) -> LoadOptions:
        """The workload's differences from the published one, but for a rate to be found."""
        runs, variant = self.changed, self.variant or Variant()
        intensity = runs.intensity if load.random else 1.0
        synth = variant.synth if self.variant else None
        return LoadOptions(
            intensity,
            synth,
            variant.draw,
            runs.channels,
            variant.burst,
            variant.affinity,
            deviation=runs.deviation,
        )

    def workloads(self, paper: Paper) -> list[Load]:
        """The workloads, recordings beside surrogates included."""
        runs = self.changed
        own = [w.name for w in paper.workloads]
        names: list[str] = []
        for name in runs.workloads:
            series = [w for w in own if w.startswith(f"{name} ")]
            names += series if series and name not in own else [name]
        found = [self.loads.load(n, paper) for n in names if not self.only or n in self.only]
        # A recording can only be used as it was recorded.
        unchanged = runs.intensity == 1 and not runs.busiest and runs.channels != "balanced"
        unchanged = unchanged and not self.only and not (self.variant and self.variant.of_workload)
        beside = any(load.kind == "surrogate" for load in found)
        if unchanged and (beside or runs.as_compare):
            found += self.loads.recorded(runs)
        return found


@dataclass
class _Configuration:
    """The policies of a set of runs on one workload in front of one device."""

    request: Request
    load: Load
    seed: int | None
    device: str
    ftl: str
    intensity: float
    caches: Sequence[str]
    entries: Mapping[str, Entry]
    """By label of the policy, with as many sizes as `caches`."""
    task: Task
    gauges: Mapping[str, Task]
    """Adaptive state, by label of the policy."""

    @property
    def where(self) -> str:
        """Its runs, workload, device and FTL, as far as they have names."""
        names = (self.request.runs.id, self.load.name, self.device, self.ftl)
        return " ".join(name for name in names if name not in (NO_DEVICE, OWN_FTL))


#: Request, workload, seed, label and FTL of the device, device.
_Place = tuple[Request, Load, int | None, str, str, Device | None]


class Runner:
    """The runs of one paper."""

    def __init__(
        self,
        paper: Paper,
        *,
        seeds: Sequence[int],
        experiment: Experiment,
        progress: ProgressCallback | None = None,
    ) -> None:
        """Take the experiment that does and keeps the runs."""
        self.paper, self.seeds, self.experiment = paper, tuple(seeds), experiment
        self.progress = progress
        self.rates: dict[tuple[Any, ...], float] = {}
        """Rates that keep a channel as busy as a set of runs wants it."""
        self.results: dict[Key, StoredRow] = {}
        self.failed: list[tuple[Request, str]] = []
        """Runs that the device could not complete, with the reason."""

    def check(self, requests: Sequence[Request]) -> None:
        """Check every original before the first run: some runs take half an hour."""
        for request in requests:
            for load in request.workloads(self.paper):
                request.loads.check(load, self.progress)

    def rows(self, requests: Sequence[Request]) -> dict[Request, Rows]:
        """Do all runs of some requests in one experiment.

        The fit of the first one's surrogates is determined, too. Raises `MissingRuns` where other
        shards have not done theirs.
        """
        self._find_rates(requests)
        found: dict[Request, list[Row]] = {request: [] for request in requests}
        drives: dict[Request, dict[str, Device]] = {request: {} for request in requests}
        infos: dict[str, tuple[Load, Task]] = {}
        configurations = []
        for request, load, seed, device, ftl, drive in self._places(requests):
            if drive is not None:
                drives[request].setdefault(device, drive)
            options = request.options(load)
            fitted = load.kind == "surrogate" and options.intensity == 1
            if fitted and request.loads is requests[0].loads and load.name not in infos:
                plain = request.loads.recipe(load, seed or 0, drive, options)
                infos[load.name] = load, _task(load, seed, plain, question=_INFO)
            key = _rate_key(request, load, device, options)
            options = replace(options, intensity=self.rates.get(key, options.intensity))
            for caches in _together(request.changed):
                configurations.append(
                    self._configuration(request, load, seed, device, ftl, drive, options, caches)
                )
        tasks = [task for one in configurations for task in (one.task, *one.gauges.values())]
        self.do(_interleaved([*tasks, *(task for _, task in infos.values())]))
        for one in configurations:
            found[one.request] += self._rows_of(one)
        for load, task in infos.values():
            info = TraceInfo(self.answer(task))
            loads, page = requests[0].loads, task.trace.page_bytes
            assert load.spec is not None
            loads.fits[load.name] = fits(load.spec, info, loads.scale, page)
        composites = self.paper.composites
        return {
            r: Rows(r.changed, rows, r.workloads(self.paper), drives[r], composites)
            for r, rows in found.items()
        }

    def _places(self, requests: Sequence[Request]) -> Iterator[_Place]:
        """Every configuration: workload by workload, seed by seed, so that neighbours share one."""
        groups: dict[tuple[int, str, str], list[tuple[Request, Load]]] = {}
        for request in requests:
            for load in request.workloads(self.paper):
                key = (id(request.loads), load.name, load.kind)
                groups.setdefault(key, []).append((request, load))
        for group in groups.values():
            for number, seed in enumerate(self.seeds):
                for request, load in group:
                    if number >= _seeds_of(request, load, len(self.seeds)):
                        continue
                    of_load = load.random or request.runs.as_compare
                    for place in drives_of(request.changed, request.variant, load, seed):
                        yield (request, load, seed if of_load else None, *place)

    def _configuration(
        self,
        request: Request,
        load: Load,
        seed: int | None,
        device: str,
        ftl: str,
        drive: Device | None,
        options: LoadOptions,
        caches: Sequence[str],
    ) -> _Configuration:
        runs = request.changed
        trace = request.loads.recipe(load, seed or 0, drive, options, self.progress)
        if drive is not None and load.paths:
            drive = drive.extended(trace.open().end_page)
            if load.kind in RECORDED and runs.recordings_queue_depth is not None:
                drive = drive.with_options(queue_depth=runs.recordings_queue_depth)
        variant = request.variant or Variant()
        if drive is not None and variant.queue_depth is not None:
            drive = drive.with_options(queue_depth=variant.queue_depth)
        share = 1.0 if runs.cache_whole else load.share
        sizes = [scaled_size(size, share) for size in caches]
        specs = {
            label: scaled_policy(spec, share, device=drive is not None)
            for label, spec in {**self.paper.policies, **variant.policies}.items()
        }
        entries = {p: entry_of(specs[p], sizes, trace.page_bytes) for p in runs.policies}
        given = given_options(
            {
                "cost": runs.cost,
                # Papers measure from the first request unless they say otherwise.
                "warmup": runs.warmup or (None if runs.as_compare else "none"),
                "fetch_on_write_miss": runs.fetch_on_write_miss,
                **runs.options,
                **runs.variants.get(device, {}),
            }
        )
        each = tuple({entry.policy.label: entry for entry in entries.values()}.values())
        task = _task(load, seed, trace, device, drive, each, given)
        behind = drive if runs.gauges_with_device else None
        series = _series_of(max(1, round(GAUGE_PERIOD * share)))
        recorded = {
            p: _task(load, seed, trace, device, behind, (entries[p],), question=series)
            for p in runs.gauges
        }
        if runs.as_compare:
            task = measured_task(replace(task, question=COMPARED))
        return _Configuration(
            request, load, seed, device, ftl, options.intensity, caches, entries, task, recorded
        )

    def _coarse(self, one: _Configuration, entry: Entry, numbers: Mapping[str, float]) -> str:
        """Why a run has shrunk too far to decide anything; empty: it has not."""
        if one.load.share == 1 or one.request.runs.cache_whole or one.task.drive is None:
            return ""
        block = one.task.drive.known["device"]["pages_per_block"]
        return coarse(entry.policy.label, numbers["frames"] / block, numbers.get("accesses", 0.0))

    def _find_rates(self, requests: Sequence[Request]) -> None:
        """Find the rates at which the busiest channel works so much of the time without a cache.

        Work grows with the rate until requests wait; a second step corrects for the waits. No
        channel works for more than all of the time: higher rates are multiples of a lower one.
        """
        wanted: dict[tuple[Any, ...], tuple[Request, Load, str, Device]] = {}
        for request, load, _, device, _, drive in self._places(requests):
            if request.runs.busiest and load.random and drive is not None:
                key = _rate_key(request, load, device, request.options(load))
                if key not in self.rates:
                    wanted.setdefault(key, (request, load, device, drive))
        for _ in range(BUSY_STEPS if wanted else 0):
            tasks = {}
            for key, (request, load, device, drive) in wanted.items():
                options = request.options(load)
                rate = self.rates.setdefault(key, options.intensity)
                options = replace(options, intensity=rate)
                trace = request.loads.recipe(load, self.seeds[0], drive, options)
                tasks[key] = _task(load, self.seeds[0], trace, device, drive)
            self.do(_interleaved(list(tasks.values())), whole=True)
            for key, task in tasks.items():
                busy = self._numbers(task, *next(task.every())).get("utilisation_max", 0.0)
                if busy:
                    self.rates[key] *= min(wanted[key][0].runs.busiest, MEASURED_BUSY) / busy
        for key, (request, *_) in wanted.items():
            self.rates[key] *= max(1.0, request.runs.busiest / MEASURED_BUSY)

    def do(self, tasks: Sequence[Task], whole: bool = False) -> None:
        """Do and load the runs that are not loaded yet; `whole`: every shard does all of them."""
        seen, kept = set(self.results), []
        for task in tasks:
            left = task.without(seen)
            if left is not None:
                kept.append(left)
                seen.update(left.every_key())
        keys = seen - self.results.keys()
        experiment = replace(self.experiment, shard=None) if whole else self.experiment
        problems = experiment.keep(Plan.of(kept), f"reproduce {self.paper.name}").problems
        if problems:
            raise UsageError("; ".join(problems))
        self.results |= {key_of_row(row): row for row in experiment.opened().rows_of(keys)}
        missing = keys - self.results.keys()
        if missing:
            raise MissingRuns(len(missing), len(keys))

    def run(self, task: Task, policy: PolicyAsked, size: Size) -> Run:
        """Return a finished run. Raises `UsageError` for a failed one."""
        row = self.results[task.key_of(policy, size)]
        if row["status"] != DONE:
            raise UsageError(str(row["reason"]))
        made = {**json.loads(row[CONTEXT]), "runs": [json.loads(row[RECORD])]}
        return ResultSet.of(made).runs[0]

    def answer(self, task: Task) -> Any:
        """Return the answer to the question of a task. Raises `UsageError` where it failed."""
        row = self.results[next(task.every_key())]
        if row["status"] != DONE:
            raise UsageError(str(row["reason"]))
        return json.loads(row[CONTEXT])

    def _numbers(self, task: Task, policy: PolicyAsked, size: Size) -> dict[str, float]:
        run = self.run(task, policy, size)
        numbers = measures(run, None if task.drive is None else task.drive.known["device"])
        return numbers | {"frames": float(run.frames)}

    def _rows_of(self, one: _Configuration) -> Iterator[Row]:
        """The rows of a configuration; a policy with a run that failed has none."""
        if one.request.runs.as_compare:
            yield from self._rows_compared(one)
            return
        failures = []
        for policy, entry in one.entries.items():
            try:
                found = [self._numbers(one.task, entry.policy, size) for size in entry.sizes]
            except UsageError as e:
                failures.append(e)
                self.failed.append((one.request, f"{policy}, {one.where}: {e}"))
                continue
            if policy in one.gauges:
                task = one.gauges[policy]
                series = self.answer(task)
                for size, numbers in zip(entry.sizes, found, strict=True):
                    numbers |= gauges(series[size.given], numbers)
            for cache, numbers in zip(one.caches, found, strict=True):
                # Requests came faster than a unit could work: waits then grow with the trace.
                busy = numbers.get("utilisation_max", 0.0) >= SATURATED
                is_open = one.task.drive is not None and one.task.queue_depth is None
                numbers |= {"intensity": one.intensity, "saturated": float(busy and is_open)}
                place = (one.load.name, one.device, one.ftl, cache, policy, one.seed)
                yield Row(*place, one.load.kind, numbers, coarse=self._coarse(one, entry, numbers))
        if len(failures) == len(one.entries):
            raise failures[0]

    def _rows_compared(self, one: _Configuration) -> Iterator[Row]:
        """The rows of a configuration that is run as `compare` does it, at its one size.

        Raises `UsageError` where it failed.
        """
        answer, (cache,) = self.answer(one.task), one.caches
        for policy, entry in one.entries.items():
            numbers = numbers_of(answer, entry.policy.label)
            known = {e.policy.label: p for p, e in one.entries.items()}
            against = intervals_of(answer, entry.policy.label, known)
            place = (one.load.name, one.device, one.ftl, cache, policy, one.seed)
            yield Row(*place, one.load.kind, numbers, against)


def _together(runs: RunSet) -> list[tuple[str, ...]]:
    """The cache sizes of each task: `compare` begins to measure each from its own request."""
    return [(size,) for size in runs.cache] if runs.as_compare else [runs.cache]


def _seeds_of(request: Request, load: Load, every: int) -> int:
    """How many of the seeds a workload of a request has."""
    if not load.random and not (request.runs.as_compare and request.runs.devices):
        return 1
    return min(every, request.most_seeds or every, request.runs.seeds or every)


def _rate_key(request: Request, load: Load, device: str, options: LoadOptions) -> tuple[Any, ...]:
    return (id(request.loads), request.runs.busiest, load.name, device, repr(options))


def entry_of(spec: str, sizes: Sequence[str], page_bytes: int) -> Entry:
    """Return the runs of a policy at some cache sizes."""
    policy = PolicyAsked.of(policy_specs(spec)[0])
    return Entry(policy, tuple(Size(frames_of(size, page_bytes), size) for size in sizes))


def _task(
    load: Load,
    seed: int | None,
    trace: TraceRecipe,
    device: str = NO_DEVICE,
    drive: Device | None = None,
    entries: tuple[Entry, ...] = (),
    options: str = "{}",
    question: Question | None = None,
) -> Task:
    """A task; without entries it is of one page and no policy."""
    return Task(
        trace_name=load.name if seed is None else f"{load.name}, seed {seed}",
        trace=trace,
        device=None if drive is None else device,
        ftl=None if drive is None else str(drive.record["device"]["ftl"]),
        drive=None if drive is None else DriveRecipe.of(drive, device),
        queue_depth=None if drive is None else drive.queue_depth,
        options=options,
        seed=None,
        entries=entries or (entry_of("none", ["1p"], trace.page_bytes),),
        question=question,
    )


def _interleaved(tasks: Sequence[Task]) -> list[Task]:
    """The tasks trace by trace, two traces side by side: each is generated once."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.trace.identity, []).append(task)
    each = list(groups.values())
    pairs = (zip_longest(*each[k : k + 2]) for k in range(0, len(each), 2))
    ordered = [task for pair in pairs for both in pair for task in both if task is not None]
    return [replace(task, order=k) for k, task in enumerate(ordered)]


# -- Questions: the counts of a trace, and the adaptive state of a policy -------------------------


def _trace_info(task: Task, _jobs: int, progress: ProgressCallback | None) -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads(task.trace.open().raw.info(progress))
    return found


def _series(
    period: int, task: Task, _jobs: int, progress: ProgressCallback | None
) -> Mapping[str, Any]:
    trace, drive = task.trace.open(), None
    if task.drive is not None:
        drive = task.drive.open().extended(trace.end_page).raw
    found = {}
    for policy, size in task.every():
        spec, at = (policy.name, policy.params), json.dumps([vars(size)])
        made = _destage.run_one(
            trace.raw, spec, at, task.options, None, period, progress, drive, None
        )
        periods = json.loads(made)["runs"][0].get("series", ())
        found[size.given] = [{k: p[k] for k in GAUGES if k in p} for p in periods]
    return found


def _no_numbers(_task: Task, _answer: Mapping[str, Any]) -> Mapping[tuple[str, str], Any]:
    return {}


_INFO = Question("trace info", "{}", _trace_info, _no_numbers)


def _series_of(period: int) -> Question:
    return Question("series", json.dumps({"period": period}), partial(_series, period), _no_numbers)
