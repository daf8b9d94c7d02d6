"""Run policies over a trace: `compare`, `plan` and `run`."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from destage import _destage
from destage.checks import (
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
from destage.device import DeviceLike, Drive
from destage.errors import UsageError
from destage.io.files import Destination
from destage.io.path_conflicts import Named, refuse
from destage.io.recording import recording
from destage.model.card import Card
from destage.model.planned import Planned
from destage.model.run import Run
from destage.model.words import counted
from destage.options import ProgressCallback, RunOptions, options_json, thread_count
from destage.policy import OwnPolicy, PolicyLike, Spec, params_json, spec_label
from destage.results import Results, incomplete
from destage.trace import Trace
from destage.user_policies.processes import side_by_side

if TYPE_CHECKING:
    from destage.charts.series_plots import SeriesPlots

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
    ftl: str | Sequence[str] | None = None,
    placement: str | Sequence[str] | None = None,
) -> list[Planned]:
    """Return what `compare` would run, in its order, without running it.

    Parameters and errors as in `compare`.
    """
    in_order("plan", trace, policies)
    drives = drives_of(device, ftl, None, placement)
    pairs = [(one, drive) for one in traces_of(trace) for drive in drives]
    return plan_pairs(pairs, policies, cache, grid=placement is not None)


#: A trace, and the drive that it runs in front of.
Pair = tuple[Trace, Drive | None]


def plan_pairs(
    pairs: Sequence[Pair],
    policies: str | PolicyLike | Sequence[PolicyLike] | None,
    cache: str | Sequence[str] | None,
    *,
    grid: bool = False,
) -> list[Planned]:
    """As `plan`, with traces that were opened each for its drive; `grid` as in `compare_pairs`."""
    planned = []
    for one, drive, specs, sizes in _parts(pairs, policies, cache, Exclusions(), grid):
        resolved = json.loads(_destage.resolve_sizes(one.raw, sizes))
        name, ftl, placement = None, None, None
        if drive is not None:
            name, placement = drive.name, drive.placement
            ftl = str(drive.record["device"]["ftl"])
        for label in map(spec_label, specs):
            for size in resolved:
                frames = int(size["frames"])
                sizes_of = (size["given"], frames, frames * one.page_bytes)
                behind = (name, ftl, placement)
                planned.append(Planned(one.name, label, *sizes_of, one.accesses, *behind))
    return planned


#: Part of a comparison: a trace, the drive, policies, sizes.
_Part = tuple[Trace, Drive | None, list[Spec], str]


def _parts(
    pairs: Sequence[Pair],
    policies: str | PolicyLike | Sequence[PolicyLike] | None,
    cache: str | Sequence[str] | None,
    left: Exclusions,
    grid: bool,
) -> list[_Part]:
    """What runs on each drive; in a `grid` without policies that it excludes."""
    parts: list[_Part] = []
    for one, drive in pairs:
        specs, sizes = asked(policies, cache, drive)
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
    ftl: str | Sequence[str] | None = None,
    queue_depth: int | None = None,
    placement: str | Sequence[str] | None = None,
    flush: str | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> Results:
    """Run every policy at every cache size over a trace.

    Parameters:
        trace: what `open_trace` or `synth` returns; several are run one after another.
        policies: names such as `"lru"` or `"lru,cflru[window_fraction=0.75]"`, pairs of a name and
            its parameters, or classes of your own (`Policy`), which run one at a time; by default
            the drive's, if its file names one, else `USUAL`. `"none"` is no cache at all; `"all"`,
            `"flash"` and `"classic"` are groups, without those that need a drive where none is.
        cache: sizes such as `"32MiB"`, `"8192p"` (pages) or `"10%"` (of the trace's unique pages);
            `"auto"` is eight sizes from 0.1 % to 50 %. By default the drive's, else `"auto"`.
        device: the drive behind the cache: a preset, a TOML file or what `open_device` returns. It
            gives response times, and what the drive did; the trace must have been opened with its
            page size (`open_trace(..., drive=...)`). Several are a grid: each is behind the cache
            once, with each of the FTLs.
        ftl, queue_depth, placement, flush: as in `open_device`; several FTLs are a grid too, and so
            are several placement policies. What they exclude is then left out: a `UserWarning` says
            so, and why.
        jobs: threads; by default as many as there are processors.
        progress: called some ten times a second with accesses done, accesses in all, and the stage.
        options: `RunOptions`: `cost`, `warmup`, `fetch_on_write_miss`, `flush_at_end`,
            `pages_per_block`, `device_pages`, `trim`, `check`, `profile`.

    Returns the runs in the order of traces, drives, policies, sizes, whatever the number of
    threads.

    Raises `UsageError` for what cannot be, `CheckFailed` for a policy that breaks a law, and
    `Interrupted` on Ctrl-C, which has the runs that had ended, each with a warning that says so.

    >>> import destage
    >>> trace = destage.synth("zipf", requests=10_000, pages=1_000, seed=1)
    >>> results = destage.compare(trace, "lru,min", cache="10%")
    >>> lru, best = results
    >>> lru.hit_ratio < best.hit_ratio
    True
    """
    in_order("compare", trace, policies)
    left = Exclusions()
    traces, drives = traces_of(trace), drives_of(device, ftl, queue_depth, placement, flush, left)
    pairs = [(one, drive) for one in traces for drive in drives]
    grid = placement is not None
    _parts(pairs, policies, cache, left, grid)
    for sentence in left.sentences:
        warnings.warn(sentence, stacklevel=2)
    shared: Any = {"cache": cache, "grid": grid, "jobs": jobs, "progress": progress}
    return compare_pairs(pairs, policies, **shared, **options)


def compare_pairs(
    pairs: Sequence[Pair],
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    *,
    cache: str | Sequence[str] | None = None,
    grid: bool = False,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> Results:
    """As `compare`, with traces that were opened each for its drive.

    In a `grid` a policy that excludes a drive's placement is not run there; elsewhere it is an
    error.
    """
    asked_for = options_json("compare", options)
    threads = thread_count(jobs)
    parts = _parts(pairs, policies, cache, Exclusions(), grid)
    # A size that one trace cannot have should show before another has run for an hour.
    every = []
    for one, drive, specs, sizes in parts:
        check_in_front([one], drive)
        every.append(len(specs) * len(json.loads(_destage.resolve_sizes(one.raw, sizes))))
    sets: list[dict[str, Any]] = []
    try:
        for one, drive, specs, sizes in parts:
            _compare_one(one, specs, sizes, asked_for, threads, progress, drive, sets)
    except KeyboardInterrupt:
        raise Interrupted(Results(incomplete(sets, sum(every)))) from None
    return Results(sets)


def _compare_one(
    trace: Trace,
    specs: Sequence[Spec],
    sizes: str,
    options: str,
    threads: int,
    progress: ProgressCallback | None,
    drive: Drive | None,
    sets: list[dict[str, Any]],
) -> None:
    """Add the result set of one trace to `sets`; also when a signal ends it, with what has ended.

    Policies of the table run side by side in threads, then those of one's own in processes.
    """
    table = [spec for spec in specs if not isinstance(spec, OwnPolicy)]
    made: dict[tuple[int, int], dict[str, Any]] = {}
    kept: dict[str, Any] | None = None

    def keep(text: str) -> None:
        nonlocal kept
        kept = json.loads(text)

    try:
        if table:
            raw = drive.raw if drive else None
            keep(_destage.compare(trace.raw, table, sizes, options, threads, progress, keep, raw))
        mine = {k: spec for k, spec in enumerate(specs) if isinstance(spec, OwnPolicy)}
        each = json.loads(_destage.resolve_sizes(trace.raw, sizes)) if mine else []
        places = [(k, n) for k in mine for n in range(len(each))]
        tasks = [
            partial(_own, trace, mine[k], json.dumps([each[n]]), options, None, None, drive=drive)
            for k, n in places
        ]
        if len(tasks) > 1 and drive is not None:
            drive.fill(progress)
        for number, text in side_by_side(tasks, threads, progress):
            made[places[number]] = json.loads(text)
    finally:
        if made or kept:
            runs = {k: [made[p] for p in sorted(made) if p[0] == k] for k, _ in made}
            sets.append(_merged(specs, kept, runs))


def _merged(
    specs: Sequence[Spec],
    table: dict[str, Any] | None,
    own: Mapping[int, list[dict[str, Any]]],
) -> dict[str, Any]:
    """One result set, its runs in the order of `specs`."""
    if not own:
        assert table is not None
        return table
    whole = dict(table or next(iter(own.values()))[0])
    from_table = list(whole["runs"]) if table else []
    count = sum(not isinstance(s, OwnPolicy) for s in specs)
    each = len(from_table) // count if count else 0
    runs: list[Any] = []
    for k, spec in enumerate(specs):
        if isinstance(spec, OwnPolicy):
            runs += [run for one in own.get(k, []) for run in one["runs"]]
        else:
            runs += from_table[:each]
            del from_table[:each]
    whole["runs"] = runs + from_table
    return _json_object(_destage.assembled(json.dumps(whole)))


def _json_object(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def _own(
    trace: Trace,
    spec: OwnPolicy,
    size: str,
    options: str,
    decisions: Path | None,
    period: int | None,
    progress: ProgressCallback | None,
    drive: Drive | None = None,
) -> str:
    return _destage.run_own_policy(
        trace.raw,
        spec.name,
        params_json(spec.params, f"{spec.name}: parameters"),
        spec.make,
        spec.needs_next_use,
        size,
        options,
        decisions,
        period,
        progress,
        drive.raw if drive else None,
    )


def run_own(
    trace: Trace,
    spec: OwnPolicy,
    sizes: Sequence[Mapping[str, Any]],
    options: str,
    threads: int,
    progress: ProgressCallback | None,
    drive: Drive | None,
) -> dict[str, Any]:
    """The result set of a policy of one's own at some sizes, which are those of results."""
    tasks = [
        partial(_own, trace, spec, json.dumps([size]), options, None, None, drive=drive)
        for size in sizes
    ]
    if len(tasks) > 1 and drive is not None:
        drive.fill(progress)
    made = {n: json.loads(text) for n, text in side_by_side(tasks, threads, progress)}
    return _merged([spec], None, {0: [made[n] for n in sorted(made)]})


@dataclass(frozen=True, repr=False)
class Recorded:
    """One run with all that was recorded of it.

    Its numbers are at first hand: `recorded["p99.9"]`, `recorded.hit_ratio`, as of its `run`.
    """

    run: Run
    """Counters and metrics."""
    results: Results
    """The same as results, to be written or drawn."""
    series: tuple[Mapping[str, int | float], ...]
    """What each period counted, if a series was asked for: `first_access`, every counter, and where
    the policy had adapted to at the end of the period, such as ARC's `p` (`PolicyInfo.gauges`)."""

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
        """What the run was, its main numbers, and what was recorded beside them."""
        card = self.run.card()
        series = counted(len(self.series), "period") if self.series else "none: run(..., series=N)"
        return Card(card.title, [*card.facts, ("Series", series)])

    def __repr__(self) -> str:
        """Return a few lines: what was run, its main numbers, what was recorded."""
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
        from destage.charts.series_plots import SeriesPlots

        return SeriesPlots(self.series)


def run(
    trace: Trace,
    policy: PolicyLike | None = None,
    *,
    cache: str | None = None,
    device: DeviceLike | None = None,
    ftl: str | None = None,
    queue_depth: int | None = None,
    placement: str | None = None,
    flush: str | None = None,
    decisions: Destination | None = None,
    timeline: Destination | None = None,
    series: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> Recorded:
    """Run one policy at one size and record it.

    Parameters:
        trace, device, ftl, queue_depth, placement, flush, progress, options: as in `compare`.
        policy: one policy, as in `compare`; needed unless the drive's file names one.
        cache: one size; needed unless the drive's file gives one, or there is no cache (`"none"`).
        decisions: a file for every decision, one JSON object a line: index, operation, page (LPN),
            hit, evicted pages, flush groups; between them `at_ns` and `idle_write`, a page written
            while a unit was idle. `-` is standard output.
        timeline: with a drive, a file that Perfetto (ui.perfetto.dev) and `chrome://tracing` show:
            a track for each unit with its reads, programs, moves and erases, and the requests.
            `-` is standard output; a name that ends in `.gz` is packed, which both open, and a
            tenth as large.
        series: length of a period in page accesses; what each period counted is in `series`, and
            where the policy had adapted to at its end, such as ARC's `p`.

    Raises as `compare`, and `OutputError` if a file cannot be written.

    >>> import destage
    >>> trace = destage.synth("loop", requests=1000, pages=100, loop_pages=20, seed=1)
    >>> destage.run(trace, "lru", cache="20p").misses
    20
    """
    one_trace("run", trace, policy)
    drive = drive_of(device, ftl, queue_depth, placement, flush)
    spec, size = asked_once(policy, cache, drive)
    _check_recording(spec, drive, series, timeline)
    asked_for = options_json("run", options)
    check_in_front([trace], drive)

    _apart(trace, decisions=decisions, timeline=timeline)
    with recording(decisions) as log, recording(timeline) as tracks:
        if isinstance(spec, OwnPolicy):
            text = _own(trace, spec, size, asked_for, log, series, progress, drive)
        else:
            raw = drive.raw if drive else None
            text = _destage.run_one(
                trace.raw, spec, size, asked_for, log, series, progress, raw, tracks
            )
    data: dict[str, Any] = json.loads(text)
    periods = tuple(data["runs"][0].pop("series", ()))
    results = Results([data])
    return Recorded(results[0], results, periods)


def _check_recording(
    spec: Spec, drive: Drive | None, series: int | None, timeline: Destination | None
) -> None:
    """Raise `UsageError` for what cannot be recorded of this run."""
    if series is not None and (
        isinstance(series, bool) or not isinstance(series, int) or not 1 <= series < 1 << 63
    ):
        raise UsageError(f"series: expected a period of page accesses, from 1, got {series!r}")
    if timeline is not None and drive is None:
        raise UsageError("timeline: it is of a drive: add a device")
    if timeline is not None and isinstance(spec, OwnPolicy):
        raise UsageError(f"timeline: {spec.name} is a policy of your own: there is none of it")


def _apart(trace: Trace, **outputs: Destination | None) -> None:
    """Raise `UsageError` if what is recorded would replace the trace, or one the other."""
    given = [Named.output(name, os.fspath(path)) for name, path in outputs.items() if path]
    refuse(given, [Named.input("the trace", source) for source in trace.identity["sources"]])
