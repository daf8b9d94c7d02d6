"""Run policies over a trace: `compare`, `plan` and `run`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

from destage import _destage
from destage.base.errors import UsageError
from destage.base.io.files import Destination
from destage.base.io.names import path_of
from destage.base.io.path_conflicts import Named, refuse
from destage.base.io.recording import recording
from destage.experiment.execute import run_own
from destage.experiment.experiment import StoreLike, Unfinished, experiment_of
from destage.experiment.result_sets import incomplete, one_of_each
from destage.experiment.results import Results
from destage.experiment.task import Size, Task, sizes_of
from destage.experiment.warmup import measured_alone, measured_beside
from destage.lab.checks import (
    Exclusions,
    asked,
    asked_once,
    check_in_front,
    drive_of,
    drives_of,
    in_order,
    one_trace,
    suiting,
    traces_of,
)
from destage.lab.options import (
    DeviceOptions,
    DeviceRunOptions,
    ProgressCallback,
    RunOptions,
    divided,
    json_of,
    options_json,
    tier_grid,
)
from destage.lab.policy_base import OwnPolicy, PolicyLike, Spec, spec_label
from destage.lab.ssd import Device, DeviceLike
from destage.lab.traces import Trace
from destage.model.card import Card
from destage.model.marks import check_baseline
from destage.model.naming import without_placement
from destage.model.planned import Planned
from destage.model.run import Run
from destage.model.words import counted

if TYPE_CHECKING:
    from destage.show.charts.series_plots import SeriesPlots

__all__ = [
    "Interrupted",
    "Pair",
    "Planned",
    "Recorded",
    "compare",
    "compare_pairs",
    "plan",
    "plan_pairs",
    "run",
]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended `compare`, `tune` or `mrc`; `results` is what they would have returned.

    It has what had ended by then: `Results`, `Tuned` or `Curves`, each with a warning that says so.
    """

    def __init__(self, results: Any) -> None:
        """Keep what had ended."""
        super().__init__("interrupted")
        self.results = results


def plan(
    trace: Trace | Sequence[Trace],
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    *,
    cache: str | Sequence[str] | None = None,
    device: DeviceLike | Sequence[DeviceLike] | None = None,
    **options: Unpack[DeviceOptions],
) -> list[Planned]:
    """Return the runs of `compare`, in order, without running them.

    Parameters and errors as in `compare`.
    """
    in_order("plan", trace, policies)
    of_device, others = divided(options)
    for name in others:
        raise TypeError(f"plan() got an unexpected keyword argument {name!r}")
    drives = drives_of(device, of_device)
    pairs = [(one, drive) for one in traces_of(trace) for drive in drives]
    return plan_pairs(pairs, policies, cache, grid=of_device.get("placement") is not None)


#: A trace, and the device that it runs in front of.
Pair = tuple[Trace, Device | None]


def plan_pairs(
    pairs: Sequence[Pair],
    policies: str | PolicyLike | Sequence[PolicyLike] | None,
    cache: str | Sequence[str] | None,
    *,
    grid: bool = False,
    options: Mapping[str, object] = MappingProxyType({}),
) -> list[Planned]:
    """As `plan`, with traces that were opened each for its device; `grid` as in `compare_pairs`.

    `options` apply to the runs.
    """
    planned = []
    for one, drive, specs, sizes in _parts(pairs, policies, cache, Exclusions(), grid, options):
        resolved = json.loads(_destage.resolve_sizes(one.raw, sizes))
        at = [Size(int(size["frames"]), str(size["given"])) for size in resolved]
        name, ftl, placement = None, None, None
        if drive is not None:
            name, placement = drive.name, drive.placement
            ftl = str(drive.record["device"]["ftl"])
        for label in map(spec_label, specs):
            for size in sizes_of(label, at):
                sized = (size.given, size.frames, size.frames * one.page_bytes)
                behind = (name, ftl, placement)
                planned.append(Planned(one.name, label, *sized, one.accesses, *behind))
    return planned


#: Part of a comparison: a trace, the device, policies, sizes.
_Part = tuple[Trace, Device | None, list[Spec], str]


def _parts(
    pairs: Sequence[Pair],
    policies: str | PolicyLike | Sequence[PolicyLike] | None,
    cache: str | Sequence[str] | None,
    left: Exclusions,
    grid: bool,
    options: Mapping[str, object],
) -> list[_Part]:
    """Policies and sizes of each device; in a `grid` without policies that it excludes."""
    parts: list[_Part] = []
    for one, drive in pairs:
        specs, sizes = asked(policies, cache, drive, options)
        if grid:
            specs = suiting(specs, drive, left)
        if specs:
            parts.append((one, drive, specs, sizes))
    return left.kept(parts)


def compare(
    trace: Trace | Sequence[Trace],
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    *,
    cache: str | Sequence[str] | None = None,
    device: DeviceLike | Sequence[DeviceLike] | None = None,
    baseline: str | None = None,
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[DeviceRunOptions],
) -> Results:
    """Run every policy at every cache size over a trace.

    Parameters:
        trace: the result of `open_trace` or `synth`; several run one after another.
        policies: names such as `"lru"` or `"lru,cflru[window_fraction=0.75]"`, pairs of a name and
            its parameters, or classes of your own (`Policy`), which run one at a time; by default
            the device's, if its file names one, else `USUAL`. `"none"` is no cache. `"all"`,
            `"flash"` and `"classic"` are groups; without a device, device-aware policies are
            skipped.
        cache: sizes such as `"32MiB"`, `"8192p"` (pages) or `"10%"` (of the trace's unique pages);
            `"auto"` is eight sizes from 0.1 % to 50 %. By default the device's, else `"auto"`.
        device: the device behind the cache: a preset, a TOML file or the result of `open_device`.
            It adds response times and device metrics. Open the trace with its page size
            (`open_trace(..., device=...)`). Several are a grid, with each of the FTLs.
        baseline: the policy that others are marked against (`+` higher, `-` lower), or the first.
        store: a folder that keeps each run: finished runs are not repeated. Or an `Experiment`,
            which also chooses the workers. Policies of your own are then named `"FILE.py:CLASS"`.
        jobs: threads; by default as many as there are processors.
        progress: called some ten times a second with accesses done, total accesses, and the stage.
        options: `RunOptions`: `cost`, `warmup`, `fetch_on_write_miss`, `flush_at_end`,
            `pages_per_block`, `device_pages`, `trim`, `check`, `profile`, the flash tier's
            (`tier2`, `tier2_cache`, `admit`, ...), a third tier's (`tier3`, `tier3_cache`, ...) and
            of language models (`kv`, `touch`); and `DeviceOptions`: `ftl`, `queue_depth`,
            `placement`, `flush`. Several tiers, FTLs, depths (`["trace", 8]`) or placement policies
            are a grid; those that exclude each other are skipped with a `UserWarning`.

    Returns the runs in the order of traces, devices, policies, sizes. Raises `UsageError` for
    invalid arguments, `CheckFailed` for a policy that violates an invariant, and `Interrupted` on
    Ctrl-C, which has the finished runs, each with a warning.

    >>> import destage
    >>> trace = destage.synth("zipf", requests=10_000, pages=1_000, seed=1)
    >>> results = destage.compare(trace, "lru,min", cache="10%")
    >>> lru, best = results
    >>> lru.hit_ratio < best.hit_ratio
    True
    """
    in_order("compare", trace, policies)
    traces, left = traces_of(trace), Exclusions()
    of_device, of_runs = divided(options)
    drives = drives_of(device, of_device, left)
    pairs = [(one, drive) for one in traces for drive in drives]
    grid = of_device.get("placement") is not None
    _parts(pairs, policies, cache, left, grid, dict(of_runs))
    for sentence in left.sentences:
        warnings.warn(sentence, stacklevel=2)
    of_runs |= {"cache": cache, "grid": grid, "store": store, "jobs": jobs, "progress": progress}
    return compare_pairs(pairs, policies, baseline=baseline, **of_runs)


def compare_pairs(
    pairs: Sequence[Pair],
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    *,
    cache: str | Sequence[str] | None = None,
    grid: bool = False,
    baseline: str | None = None,
    called: str = "baseline",
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> Results:
    """As `compare`, with traces that were opened each for its device.

    In a `grid` a policy that excludes a device's placement is not run there; elsewhere it is an
    error. `called` names the baseline in an error.
    """
    asked_for = options_json("compare", options)
    parts = _parts(pairs, policies, cache, Exclusions(), grid, dict(options))
    labels = [spec_label(spec) for part in parts for spec in part[2]]
    devices = [without_placement(part[1].name) for part in parts if part[1] is not None]
    if check_baseline(baseline, labels, called, devices if called == "against" else ()):
        baseline = None
    # A size that one trace cannot have should show before another has run for an hour.
    tasks = []
    tiers = [json_of(one) for one in tier_grid(json.loads(asked_for))]
    for one, drive, specs, sizes in parts:
        check_in_front([one], drive, tier2=_has_tier2(asked_for))
        tasks += [Task.of(one, drive, specs, sizes, asked).sized() for asked in tiers]
    tasks = measured_beside(tasks)
    planned = sum(task.runs for task in tasks)
    try:
        sets = experiment_of(store, jobs, progress).sets(tasks)
        ended = sum(len(one["runs"]) for one in sets)
        sets = sets if ended == planned else incomplete(sets, planned, shard=True)
        return _marked(sets, len(tiers) > 1, baseline)
    except Unfinished as e:
        sets = incomplete(e.sets, e.planned)
        raise Interrupted(_marked(sets, len(tiers) > 1, baseline)) from None


def _marked(sets: list[dict[str, Any]], has_tiers: bool, baseline: str | None) -> Results:
    """The results, flash tiers side by side, with marks against the baseline."""
    return Results(one_of_each(sets) if has_tiers else sets).against(baseline)


@dataclass(frozen=True, repr=False)
class Recorded:
    """One run with all that was recorded of it.

    Its metrics are items and attributes, as in `run`: `recorded["p99.9"]`, `recorded.hit_ratio`.
    """

    run: Run
    """Counters and metrics."""
    results: Results
    """The same as results, to be written or drawn."""
    series: tuple[Mapping[str, int | float], ...]
    """Counts of each period, if a series was requested, the warm-up included: `first_access`,
    every counter, and the policy's adapted parameters at the end of the period, such as ARC's `p`
    (`PolicyInfo.gauges`)."""

    def __getitem__(self, metric: str) -> Any:
        """Return a metric of the run by name, a short one too; as `Run`."""
        return self.run[metric]

    def __getattr__(self, name: str) -> Any:
        """Return what the run has: `hit_ratio`, `metrics`, `counters`, `warnings`, ..."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return getattr(self.run, name)
        except AttributeError:
            raise AttributeError(f"neither Recorded nor its Run has {name!r}") from None

    def card(self) -> Card:
        """The run, its main metrics and its recordings."""
        card = self.run.card()
        series = counted(len(self.series), "period") if self.series else "none: run(..., series=N)"
        return Card(card.title, [*card.facts, ("Series", series)])

    def __repr__(self) -> str:
        """Return a few lines: the configuration, the main metrics, the recordings."""
        return self.card().text()

    def _repr_html_(self) -> str:
        """Return the same as a card, for a notebook."""
        return self.card().html()

    def series_columns(self) -> dict[str, list[int | float | None]]:
        """Return the series by column; None where a period has no such number."""
        names = dict.fromkeys(name for period in self.series for name in period)
        return {name: [period.get(name) for period in self.series] for name in names}

    @property
    def plot(self) -> SeriesPlots:
        """Charts over time: `recorded.plot("tau")`, `recorded.plot.save("figures")`.

        Drawing raises `MissingExtra` without the extra `report`.
        """
        from destage.show.charts.series_plots import SeriesPlots

        first = (self.run.measured or {}).get("first_access", 0)
        return SeriesPlots(self.series, first, tier1=self.run.counts_tier_1)


def run(
    trace: Trace,
    policy: PolicyLike | None = None,
    *,
    cache: str | None = None,
    device: DeviceLike | None = None,
    decisions: Destination | None = None,
    timeline: Destination | None = None,
    series: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[DeviceRunOptions],
) -> Recorded:
    """Run one policy at one size and record it.

    Parameters:
        trace, device, progress, options: as in `compare`.
        policy: one policy, as in `compare`; needed unless the device's file names one.
        cache: one size; needed unless the device's file gives one, or there is no cache (`"none"`).
        decisions: a file for every decision, one JSON object a line: index, operation, page (LPN),
            hit, evicted pages, flush groups; between them `at_ns` and `idle_write`, a page written
            while a unit was idle. `-` is standard output.
        timeline: with a device, a file that Perfetto (ui.perfetto.dev) and `chrome://tracing` show:
            a track for each unit with its reads, programs, moves and erases, and the requests.
            `-` is standard output; a name that ends in `.gz` is compressed to a tenth; both open
            it.
        series: length of a period in page accesses; `series` has each period's counters and, at
            its end, the adapted parameters, such as ARC's `p`. The warm-up is included.

    Raises as `compare`, and `OutputError` if a file cannot be written.

    >>> import destage
    >>> trace = destage.synth("loop", requests=1000, pages=100, loop_pages=20, seed=1)
    >>> destage.run(trace, "lru", cache="20p").misses
    20
    """
    one_trace("run", trace, policy)
    of_device, of_run = divided(options)
    drive = drive_of(device, of_device)
    spec, size = asked_once(policy, cache, drive, options)
    _check_recording(spec, drive, series, timeline)
    asked_for = options_json("run", of_run)
    check_in_front([trace], drive, tier2=_has_tier2(asked_for))

    _apart(trace, decisions=decisions, timeline=timeline)
    (task,) = measured_alone([Task.of(trace, drive, [spec], size, asked_for).sized()])
    asked_for, size = task.options, json.dumps([vars(one) for _, one in task.every()])
    with recording(decisions) as log, recording(timeline) as tracks:
        if isinstance(spec, OwnPolicy):
            how: Any = {"drive": drive, "decisions": log, "period": series}
            text = run_own(trace, spec, size, asked_for, progress, **how)
        else:
            raw = drive.raw if drive else None
            text = _destage.run_one(
                trace.raw, spec, size, asked_for, log, series, progress, raw, tracks
            )
    data: dict[str, Any] = json.loads(text)
    periods = tuple(data["runs"][0].pop("series", ()))
    results = Results([data])
    return Recorded(results[0], results, periods)


def _has_tier2(options: str) -> bool:
    """Whether run options, as JSON, have a flash tier."""
    return bool(json.loads(options).get("tier2"))


def _check_recording(
    spec: Spec, drive: Device | None, series: int | None, timeline: Destination | None
) -> None:
    """Raise `UsageError` for what cannot be recorded of this run."""
    if series is not None and (
        isinstance(series, bool) or not isinstance(series, int) or not 1 <= series < 1 << 63
    ):
        raise UsageError(f"series: expected a period of page accesses, from 1, got {series!r}")
    if timeline is not None and drive is None:
        raise UsageError("timeline: it needs a simulated SSD: add a device")
    if timeline is not None and isinstance(spec, OwnPolicy):
        raise UsageError(f"timeline: {spec.name} is a Python policy, which has no timeline")


def _apart(trace: Trace, **outputs: Destination | None) -> None:
    """Raise `UsageError` if a recording would replace the trace, or another recording."""
    given = [Named.output(name, path_of(path, name)) for name, path in outputs.items() if path]
    refuse(given, [Named.input("the trace", source) for source in trace.identity["sources"]])
