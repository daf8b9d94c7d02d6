"""Run policies over a trace: `compare`, `run`, `mrc`, `rerun`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from destage import _destage
from destage.device import DeviceLike, Drive, open_device
from destage.errors import DataError, UsageError
from destage.io.clash import Named, refuse
from destage.io.files import Destination, written_whole
from destage.io.frames import Tabled, by_column
from destage.policy import OwnPolicy, Policy
from destage.results import Results, Run, label_of
from destage.trace import Trace

if TYPE_CHECKING:
    from destage.charts.plots import Plots
    from destage.charts.series_plots import SeriesPlots
    from destage.tables.table import Table

__all__ = [
    "Curves",
    "Interrupted",
    "Planned",
    "PolicyLike",
    "ProgressCallback",
    "Recorded",
    "compare",
    "mrc",
    "plan",
    "policy_specs",
    "run",
]

T = TypeVar("T")

#: What `compare` runs unless it is told: the yardstick, two good general ones, one for flash.
USUAL = "lru,arc,s3-fifo,cflru"

#: Called some ten times a second with what is done, of how much (None: unknown), and of what.
ProgressCallback = Callable[[int, int | None, str], object]

#: A policy: `"lru"`, `"2q[in_fraction=0.3]"`, `("2q", {"in_fraction": 0.3})`, a class of your own.
PolicyLike = str | tuple[str | Callable[..., Policy], Mapping[str, Any]] | Callable[..., Policy]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a comparison; `results` are the runs that had ended by then."""

    def __init__(self, results: Results) -> None:
        """Keep the runs that had ended."""
        super().__init__("interrupted")
        self.results = results


def policy_specs(
    policies: str | PolicyLike | Sequence[PolicyLike],
) -> list[tuple[str, str] | OwnPolicy]:
    """Policies as the boundary takes them: name and parameters as JSON, or one of one's own."""
    given: Sequence[PolicyLike]
    if isinstance(policies, (str, Policy)) or callable(policies):
        given = [policies]
    elif isinstance(policies, tuple) and len(policies) == 2 and isinstance(policies[1], Mapping):
        given = [(policies[0], policies[1])]
    elif isinstance(policies, Sequence):
        given = policies  # type: ignore[assignment]
    else:
        raise UsageError(f"policies: expected names or classes, got {policies!r}")
    specs: list[tuple[str, str] | OwnPolicy] = []
    for one in given:
        if isinstance(one, str):
            specs.extend(_destage.parse_policies(one))
        elif isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], Mapping):
            name, params = one
            own = OwnPolicy.of(name, dict(params))
            specs.append(own or _destage.check_policy(str(name), _json(params, "params")))
        else:
            own = OwnPolicy.of(one)
            if own is None:
                raise UsageError(
                    f"policies: expected a name, (name, parameters) or a class, got {one!r}"
                )
            specs.append(own)
    if not specs:
        raise UsageError("policies: expected at least one")
    return specs


def _json(value: object, what: str) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise UsageError(f"{what}: {e}") from e


def _sizes(cache: str | Sequence[str]) -> str:
    """Cache sizes as JSON; commas separate."""
    texts = [cache] if isinstance(cache, str) else cache
    if not isinstance(texts, Sequence) or not all(isinstance(t, str) for t in texts):
        raise UsageError(
            f'cache: expected a size such as "32MiB", "8192p", "10%" or "auto", got {cache!r}'
        )
    sizes = [size for text in texts for size in text.split(",") if size.strip()]
    if not sizes:
        raise UsageError("cache: expected at least one size")
    return json.dumps(sizes)


def _options(
    cost: str | Mapping[str, int] | None,
    warmup: str | None,
    fetch_on_write_miss: bool = False,
    flush_at_end: bool = False,
    check: bool = False,
    profile: bool = False,
    pages_per_block: int | None = None,
    device_pages: int | None = None,
) -> str:
    if isinstance(cost, Mapping):
        cost = ",".join(f"{k}={v}" for k, v in cost.items())
    for what, value in (("cost", cost), ("warmup", warmup)):
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{what}: expected text, got {value!r}")
    for what, pages in (("pages_per_block", pages_per_block), ("device_pages", device_pages)):
        if pages is not None and (isinstance(pages, bool) or not isinstance(pages, int)):
            raise UsageError(f"{what}: expected a whole number of pages, got {pages!r}")
    return json.dumps(
        {
            "cost": cost,
            "warmup": warmup,
            "fetch_on_write_miss": bool(fetch_on_write_miss),
            "flush_at_end": bool(flush_at_end),
            "check": bool(check),
            "profile": bool(profile),
            "pages_per_block": pages_per_block,
            "device_pages": device_pages,
        }
    )


def thread_count(jobs: int | None) -> int:
    """Return the threads that `jobs` stands for: by default as many as there are processors."""
    if jobs is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise UsageError(f"jobs: expected a whole number from 1, got {jobs!r}")
    return jobs


def _opened(device: DeviceLike | None, ftl: str | None, queue_depth: int | None) -> Drive | None:
    """The drive of a run, if it has one."""
    if device is not None:
        return open_device(device, ftl=ftl, queue_depth=queue_depth)
    for what, value in (("ftl", ftl), ("queue_depth", queue_depth)):
        if value is not None:
            raise UsageError(f"{what}: it is of a drive: add a device")
    return None


def _asked(
    policies: str | PolicyLike | Sequence[PolicyLike] | None,
    cache: str | Sequence[str] | None,
    drive: Drive | None,
) -> tuple[list[tuple[str, str] | OwnPolicy], str]:
    """Policies and sizes, checked; where none are given, those of the drive, or the usual ones."""
    if policies is not None or drive is None or drive.policy is None:
        specs = policy_specs(USUAL if policies is None else policies)
    else:
        name, params = drive.policy
        specs = _of_file(drive, lambda: policy_specs((name, params)))
    for spec in specs:
        if not isinstance(spec, OwnPolicy):
            _destage.check_needs(*spec, drive is not None)
        elif spec.needs_device and drive is None:
            raise UsageError(
                f"{spec.name} looks at the drive behind the cache: add a device (device=)"
            )
    if cache is not None or drive is None or not drive.cache:
        sizes = _sizes("auto" if cache is None else cache)
    else:
        sizes = _sizes(drive.cache)
        _of_file(drive, lambda: _destage.check_run(sizes, "{}"))
    return specs, sizes


def _of_file(drive: Drive, check: Callable[[], T]) -> T:
    """What is wrong here is wrong in the drive's file."""
    try:
        return check()
    except UsageError as e:
        raise DataError(f"drive {drive.name}: [cache]: {e}") from e


def _in_front(traces: Sequence[Trace], drive: Drive | None) -> None:
    """Raise `UsageError` for a trace that cannot be run in front of the drive."""
    if drive is None:
        return
    _fits_in_memory(drive)
    for trace in traces:
        if trace.page_bytes != drive.page_bytes:
            raise UsageError(
                f"{trace.name} was opened with pages of {trace.page_bytes} bytes, those of the"
                f" drive {drive.name} have {drive.page_bytes}: open it for this drive (drive=)"
            )
        if trace.end_page > drive.logical_pages:
            larger = trace.drive is not None and trace.end_page <= trace.drive.logical_pages
            way = (
                "run it in front of the drive that it was opened with (its attribute drive)"
                if larger
                else 'open it for this drive with wrap="modulo", or with wrap="extend"'
            )
            raise UsageError(
                f"{trace.name}: its pages go up to {trace.end_page - 1:,}, the drive {drive.name}"
                f" has {drive.logical_pages:,}: {way}"
            )
        if trace.duration_ns is None and drive.queue_depth is None:
            raise UsageError(
                f"{trace.name} has no times: in front of a drive it runs in a closed loop only:"
                " add a queue depth (--queue-depth, queue_depth=)"
            )


#: What a drive at work takes, bytes a physical page: its state, and the copy that a run works on.
_BYTES_A_PAGE = 2 * 8


def _fits_in_memory(drive: Drive) -> None:
    """Raise `UsageError` for a drive that this machine cannot hold."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return  # Not told here.
    takes = int(drive.size["raw_pages"]) * _BYTES_A_PAGE
    if 0 < there < takes:
        raise UsageError(
            f"the drive {drive.name} has {drive.size['raw_pages']:,} physical pages, and a run"
            f" takes some {takes >> 30} GiB of memory: this machine has {there >> 30} GiB"
        )


def check_request(
    policies: str | None,
    *,
    cache: str | None = None,
    device: Drive | None = None,
    cost: str | None = None,
    warmup: str | None = None,
    jobs: int | None = None,
    curves: bool = False,
) -> None:
    """Raise `UsageError` for what can be right for no trace, before one is opened."""
    if curves:
        _for_curves("lru" if policies is None else policies)
    _, sizes = _asked(policies, cache, device)
    _in_front((), device)
    thread_count(jobs)
    _destage.check_run(sizes, _options(cost, warmup))


def check_run(
    policy: str | None,
    *,
    cache: str | None = None,
    device: Drive | None = None,
    cost: str | None = None,
    warmup: str | None = None,
) -> None:
    """Raise `UsageError` for a single run that can be of no trace, before one is opened."""
    _, size = _one_run(policy, cache, device)
    _in_front((), device)
    _destage.check_run(size, _options(cost, warmup))


@dataclass(frozen=True)
class Planned:
    """A run that `compare` would do."""

    trace: str
    """What tables call the trace."""
    policy: str
    """Policy with the parameters that were given."""
    cache: str
    """The cache size as it was given."""
    frames: int
    """Pages that the cache has room for."""
    accesses: int
    """Page accesses to replay."""


def plan(
    trace: Trace | Sequence[Trace],
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    *,
    cache: str | Sequence[str] | None = None,
    device: DeviceLike | None = None,
) -> list[Planned]:
    """Return what `compare` would run, in its order, without running it.

    Parameters and errors as in `compare`.
    """
    specs, sizes = _asked(policies, cache, _opened(device, None, None))
    planned = []
    for one in _traces(trace):
        resolved = json.loads(_destage.resolve_sizes(one.raw, sizes))
        for spec in specs:
            name, params = (
                (spec.name, spec.params)
                if isinstance(spec, OwnPolicy)
                else (spec[0], json.loads(spec[1]))
            )
            label = label_of(name, params)
            planned += [
                Planned(one.name, label, size["given"], size["frames"], one.accesses)
                for size in resolved
            ]
    return planned


def _traces(trace: Trace | Sequence[Trace]) -> list[Trace]:
    traces = [trace] if isinstance(trace, Trace) else trace
    if not isinstance(traces, Sequence) or not all(isinstance(t, Trace) for t in traces):
        raise UsageError(f"trace: expected what open_trace or synth returns, got {trace!r}")
    if not traces:
        raise UsageError("trace: expected at least one")
    return list(traces)


def compare(
    trace: Trace | Sequence[Trace],
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    *,
    cache: str | Sequence[str] | None = None,
    device: DeviceLike | None = None,
    ftl: str | None = None,
    queue_depth: int | None = None,
    profile: bool = False,
    cost: str | Mapping[str, int] | None = None,
    warmup: str | None = None,
    fetch_on_write_miss: bool = False,
    flush_at_end: bool = False,
    pages_per_block: int | None = None,
    device_pages: int | None = None,
    check: bool = False,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Results:
    """Run every policy at every cache size over a trace.

    Parameters:
        trace: what `open_trace` or `synth` returns; several are run one after another.
        policies: names such as `"lru"` or `"lru,cflru[window_fraction=0.75]"`, pairs of a name and
            its parameters, or classes of your own (`Policy`), which run one at a time; by default
            the drive's, if its file names one, else `USUAL`. `"none"` is no cache at all.
        cache: sizes such as `"32MiB"`, `"8192p"` (pages) or `"10%"` (of the trace's unique pages);
            `"auto"` is eight sizes from 0.1 % to 50 %. By default the drive's, else `"auto"`.
        device: the drive behind the cache: a preset, a TOML file or what `open_device` returns. It
            gives response times, and what the drive did; the trace must have been opened with its
            page size (`open_trace(..., drive=...)`).
        ftl, queue_depth: as in `open_device`.
        profile: with a drive, keep how the run developed (`Run.profile`): what a report draws.
        cost: cost of a page read and a page write, `"read=1,write=118"`, whole numbers in any unit:
            gives `running_time`, and is the default of ACR's `cost_read` and `cost_write`.
        warmup: what is replayed and not counted: `"10%"`, `"100000r"` (requests), `"60s"` or
            `"full"`.
        fetch_on_write_miss: a write miss reads the page first; counts, never decides.
        flush_at_end: dirty pages are written after the last access; counts, never decides.
        pages_per_block: pages of an erase block, for policies that cluster by it; 64 unless given,
            and the drive's with a device.
        device_pages: pages that exist and may be padded; all unless given, and the drive's with a
            device.
        check: assert every law of caching at every access; some ten times slower.
        jobs: threads; by default as many as there are processors.
        progress: called some ten times a second with accesses done, accesses in all, and the stage.

    Returns the runs in the order of traces, policies, sizes, whatever the number of threads.

    Raises `UsageError` for what cannot be, `CheckFailed` for a policy that breaks a law, and
    `Interrupted` on Ctrl-C, which has the runs that had ended.

    >>> import destage
    >>> trace = destage.synth("zipf", requests=10_000, pages=1_000, seed=1)
    >>> results = destage.compare(trace, "lru,min", cache="10%")
    >>> lru, best = results
    >>> lru.hit_ratio < best.hit_ratio
    True
    """
    traces, drive = _traces(trace), _opened(device, ftl, queue_depth)
    specs, sizes = _asked(policies, cache, drive)
    options = _options(
        cost,
        warmup,
        fetch_on_write_miss,
        flush_at_end,
        check,
        profile,
        pages_per_block,
        device_pages,
    )
    threads = thread_count(jobs)
    _in_front(traces, drive)
    # A size that one trace cannot have should show before another has run for an hour.
    for one in traces:
        _destage.resolve_sizes(one.raw, sizes)
    sets: list[dict[str, Any]] = []
    try:
        for one in traces:
            _compare_one(one, specs, sizes, options, threads, progress, drive, sets)
    except KeyboardInterrupt:
        raise Interrupted(Results(sets)) from None
    return Results(sets)


def _compare_one(
    trace: Trace,
    specs: Sequence[tuple[str, str] | OwnPolicy],
    sizes: str,
    options: str,
    threads: int,
    progress: ProgressCallback | None,
    drive: Drive | None,
    sets: list[dict[str, Any]],
) -> None:
    """Add the result set of one trace to `sets`; also when a signal ends it, with what has ended.

    Policies of the table run side by side; those of one's own one after another, because Python
    runs one at a time.
    """
    table = [spec for spec in specs if not isinstance(spec, OwnPolicy)]
    made: dict[int, list[dict[str, Any]]] = {}
    kept: dict[str, Any] | None = None

    def keep(text: str) -> None:
        nonlocal kept
        kept = json.loads(text)

    try:
        if table:
            raw = drive.raw if drive else None
            keep(_destage.compare(trace.raw, table, sizes, options, threads, progress, keep, raw))
        for k, spec in enumerate(specs):
            if not isinstance(spec, OwnPolicy):
                continue
            for size in json.loads(_destage.resolve_sizes(trace.raw, sizes)):
                text = _own(trace, spec, json.dumps([size]), options, None, None, progress, drive)
                made.setdefault(k, []).append(json.loads(text))
    finally:
        if made or kept:
            sets.append(_merged(specs, kept, made))


def _merged(
    specs: Sequence[tuple[str, str] | OwnPolicy],
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
    return whole


def _own(
    trace: Trace,
    spec: OwnPolicy,
    size: str,
    options: str,
    decisions: Path | None,
    period: int | None,
    progress: ProgressCallback | None,
    drive: Drive | None,
) -> str:
    return _destage.run_own_policy(
        trace.raw,
        spec.name,
        _json(spec.params, f"{spec.name}: parameters"),
        spec.make,
        spec.needs_next_use,
        size,
        options,
        decisions,
        period,
        progress,
        drive.raw if drive else None,
    )


@dataclass(frozen=True)
class Recorded:
    """One run with all that was recorded of it."""

    run: Run
    """Counters and metrics."""
    results: Results
    """The same as results, to be written or drawn."""
    series: tuple[Mapping[str, int | float], ...]
    """What each period counted, if a series was asked for: `first_access`, every counter, and where
    the policy had adapted to at the end of the period (`p` of ARC, `beta` and `delta_c` of ACR,
    `pird_thd` and `alpha` of BPAC, `tau`, `th` and `wf` of AALRU)."""

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
    profile: bool = False,
    cost: str | Mapping[str, int] | None = None,
    warmup: str | None = None,
    fetch_on_write_miss: bool = False,
    flush_at_end: bool = False,
    pages_per_block: int | None = None,
    device_pages: int | None = None,
    check: bool = False,
    decisions: Destination | None = None,
    timeline: Destination | None = None,
    series: int | None = None,
    progress: ProgressCallback | None = None,
) -> Recorded:
    """Run one policy at one size and record it.

    Parameters:
        trace, cost, warmup, fetch_on_write_miss, flush_at_end, check, progress: as in `compare`.
        pages_per_block, device_pages: as in `compare`.
        device, ftl, queue_depth, profile: as in `compare`.
        policy: one policy, as in `compare`; needed unless the drive's file names one.
        cache: one size; needed unless the drive's file gives one, or there is no cache (`"none"`).
        decisions: a file for every decision, one JSON object a line: index, operation, page (LPN),
            hit, evicted pages, flush groups. `-` is standard output.
        timeline: with a drive, a file that Perfetto (ui.perfetto.dev) and `chrome://tracing` show:
            a track for each unit with its reads, programs, moves and erases, and the requests.
            `-` is standard output.
        series: length of a period in page accesses; what each period counted is in `series`, and
            where the policy had adapted to at its end, such as ARC's `p`.

    Raises as `compare`, and `OutputError` if a file cannot be written.

    >>> import destage
    >>> trace = destage.synth("loop", requests=1000, pages=100, loop_pages=20, seed=1)
    >>> destage.run(trace, "lru", cache="20p").run.misses
    20
    """
    if not isinstance(trace, Trace):
        raise UsageError(f"trace: expected what open_trace or synth returns, got {trace!r}")
    drive = _opened(device, ftl, queue_depth)
    spec, size = _one_run(policy, cache, drive)
    if series is not None and (
        isinstance(series, bool) or not isinstance(series, int) or series < 1
    ):
        raise UsageError(f"series: expected a period of page accesses, from 1, got {series!r}")
    if timeline is not None and drive is None:
        raise UsageError("timeline: it is of a drive: add a device")
    if timeline is not None and isinstance(spec, OwnPolicy):
        raise UsageError(f"timeline: {spec.name} is a policy of your own: there is none of it")
    options = _options(
        cost,
        warmup,
        fetch_on_write_miss,
        flush_at_end,
        check,
        profile,
        pages_per_block,
        device_pages,
    )
    _in_front([trace], drive)

    recorded = {"decisions": decisions, "timeline": timeline}
    refuse(
        [
            Named.output(name, os.fspath(path))
            for name, path in recorded.items()
            if path is not None
        ],
        [Named.input("the trace", source) for source in trace.identity["sources"]],
    )
    with _recording(decisions) as log, _recording(timeline) as tracks:
        if isinstance(spec, OwnPolicy):
            text = _own(trace, spec, size, options, log, series, progress, drive)
        else:
            raw = drive.raw if drive else None
            text = _destage.run_one(
                trace.raw, spec, size, options, log, series, progress, raw, tracks
            )
    data: dict[str, Any] = json.loads(text)
    periods = tuple(data["runs"][0].pop("series", ()))
    results = Results([data])
    return Recorded(results[0], results, periods)


def _one_run(
    policy: PolicyLike | None, cache: str | None, drive: Drive | None
) -> tuple[tuple[str, str] | OwnPolicy, str]:
    """The policy and the size of a single run."""
    if policy is None and (drive is None or drive.policy is None):
        raise UsageError("policy: expected one, such as 'lru'")
    specs, sizes = _asked(policy, cache, drive)
    if len(specs) != 1:
        raise UsageError(f"policy: expected one, got {len(specs)}; compare takes several")
    if cache is None and drive is not None and len(drive.cache) > 1 and not is_none(specs[0]):
        raise UsageError(
            f"cache: the drive {drive.name} names {len(drive.cache)} sizes"
            f" ({', '.join(drive.cache)}), and a run takes one: name it"
        )
    if cache is None and (drive is None or not drive.cache):
        if not is_none(specs[0]):
            raise UsageError("cache: expected a size, such as '32MiB', '8192p' or '10%'")
        sizes = _sizes("1p")
    return specs[0], sizes


def is_none(spec: tuple[str, str] | OwnPolicy) -> bool:
    """No cache at all."""
    return not isinstance(spec, OwnPolicy) and spec[0] == "none"


@contextmanager
def _recording(path: Destination | None) -> Iterator[Path | None]:
    """Where to write what is recorded, which becomes `path` when it is whole."""
    if path is None:
        yield None
    elif os.fspath(path) == "-":
        yield Path("-")
    else:
        with written_whole(path) as temporary:
            yield temporary


@dataclass(frozen=True, repr=False)
class Curves(Tabled):
    """Hit ratio over cache size, for some policies; `data` has everything."""

    data: Mapping[str, Any]
    """`trace`: identity; `mrc`: sample, curves with their points, warnings."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of these numbers must know."""
        return tuple(self.data["mrc"]["warnings"])

    @property
    def plot(self) -> Plots:
        """Charts of the curves: `curves.plot.mrc()`, `curves.plot.save("figures")`.

        Drawing raises `MissingExtra` without the extra `report`.
        """
        from destage.charts.plots import Plots

        return Plots(self.data)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per policy and size."""
        trace = self.data["trace"]
        unique = trace["unique_pages"]
        rows = []
        for curve in self.data["mrc"]["curves"]:
            for point in curve["points"]:
                sampled = point.get("sampled") or {}
                rows.append(
                    {
                        "policy": curve["policy"],
                        "label": curve["label"],
                        "params": json.dumps(curve["params"], sort_keys=True),
                        "method": curve["method"],
                        "cache": point["cache"],
                        "frames": point["frames"],
                        "cache_bytes": point["cache_bytes"],
                        "cache_share": point["frames"] / unique if unique else None,
                        "hit_ratio": 1 - point["miss_ratio"] if point["accesses"] else None,
                        **{
                            key: point[key]
                            for key in (
                                "miss_ratio",
                                "accesses",
                                "misses",
                                "read_misses",
                                "write_misses",
                                "physical_reads",
                                "physical_writes",
                                "evictions",
                            )
                        },
                        "miss_ratio_error": sampled.get("miss_ratio_error"),
                        "physical_writes_error": sampled.get("physical_writes_error"),
                    }
                )
        return rows

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return by_column(self.to_dicts())

    def _everything(self) -> Any:
        return self.data

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.trace": json.dumps(self.data["trace"])}

    def _table(self) -> Table:
        from destage.tables.table import curves_table

        return curves_table(self)


def _for_curves(policies: str | PolicyLike | Sequence[PolicyLike]) -> list[tuple[str, str]]:
    """Policies, of which curves can be drawn."""
    specs = []
    for spec in policy_specs(policies):
        if isinstance(spec, OwnPolicy):
            raise UsageError(f"policies: {spec.name} is a policy of your own: use compare")
        try:
            _destage.check_needs(*spec, False)
        except UsageError:
            why = "is no cache" if is_none(spec) else "looks at the drive behind the cache"
            raise UsageError(f"{spec[0]} {why}, and there is no drive here: use compare") from None
        specs.append(spec)
    return specs


def mrc(
    trace: Trace,
    policies: str | PolicyLike | Sequence[PolicyLike] = "lru",
    *,
    cache: str | Sequence[str] = "auto",
    sample: float | None = None,
    seed: int = 1,
    cost: str | Mapping[str, int] | None = None,
    warmup: str | None = None,
    fetch_on_write_miss: bool = False,
    flush_at_end: bool = False,
    pages_per_block: int | None = None,
    device_pages: int | None = None,
    check: bool = False,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Curves:
    """Draw hit-ratio curves over cache sizes.

    LRU is exact for all sizes in one pass; other policies run once per size. With `sample`, pages
    are sampled by a hash (SHARDS) and every number is an estimate with its standard error.

    Parameters:
        sample: share of the pages, above 0 and at most 1; None is the whole trace.
        seed: of the sample's hash.
        others: as in `compare`; policies of your own are not taken.

    Raises as `compare`.
    """
    if not isinstance(trace, Trace):
        raise UsageError(f"trace: expected what open_trace or synth returns, got {trace!r}")
    specs = _for_curves(policies)
    if sample is not None and (isinstance(sample, bool) or not isinstance(sample, (int, float))):
        raise UsageError(f"sample: expected a share of the pages, above 0, got {sample!r}")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 64:
        raise UsageError(f"seed: expected a whole number 0..2^64, got {seed!r}")
    options = _options(
        cost,
        warmup,
        fetch_on_write_miss,
        flush_at_end,
        check,
        pages_per_block=pages_per_block,
        device_pages=device_pages,
    )
    text = _destage.mrc(
        trace.raw, specs, _sizes(cache), options, sample, seed, thread_count(jobs), progress
    )
    return Curves(json.loads(text))
