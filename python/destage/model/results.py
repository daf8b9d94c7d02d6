"""A result set: the runs over one trace, side by side.

Tables, charts and the report all take it, so that no two of them can derive a number differently.
It is read from the JSON form (schema `destage.results`, version 1); other content is
refused with the place of the first thing that is wrong. Points of hit-ratio curves, what `mrc`
gives, are runs that have fewer numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from destage import _destage
from destage.base.errors import DataError, DestageError
from destage.model.columns import option_values
from destage.model.differences import Differences
from destage.model.life import life
from destage.model.metrics import (
    ALL_HITS,
    BASELINE,
    METRICS,
    NO_CACHE,
    RENAMED,
    WRITES,
    Metric,
    metrics,
)
from destage.model.run import Number, Run, measured_alike
from destage.model.trace_identity import TraceIdentity
from destage.model.words import counted, finite, printable

__all__ = ["ResultSet"]

#: Version of the result schema that is read here.
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ResultSet:
    """The runs over one trace, with one device or none behind the cache."""

    source: Mapping[str, Any]
    """The JSON it came from."""
    trace: TraceIdentity
    """The trace that was replayed."""
    runs: tuple[Run, ...]
    """All runs, in the order of the policies, then of the sizes."""

    @classmethod
    def of(
        cls, data: Mapping[str, Any], where: str = "results", pe_cycles: int | None = None
    ) -> ResultSet:
        """Take a result set from its JSON form; with `pe_cycles`, how long the device lasts.

        Raises `DataError`, naming the place, if it is not one of a known version.
        """
        trace, runs = _checked(data, where)
        identity = TraceIdentity.of(trace, f"{where}.trace")
        drive = data.get("device")
        drive = drive if isinstance(drive, Mapping) else None
        differences = data.get("differences")
        known = Differences(differences if isinstance(differences, Mapping) else None)
        found = []
        for i, run in enumerate(runs):
            _check_run(run, f"{where}.runs[{i}]")
            one = _run(data, run, identity, drive)
            lasts = life(drive, one.timing, pe_cycles, one.metrics)
            found.append(replace(one, place=i, differences=known, life=lasts))
        return cls(data, identity, _against_baseline(found))

    @classmethod
    def of_curves(cls, data: Mapping[str, Any], where: str = "curves") -> ResultSet:
        """Take hit-ratio curves, what `mrc` gives as JSON: a run for each point.

        Points that come from a sample have bounds. Raises `DataError`, naming the place, if the
        form is another.
        """
        inner, trace = data.get("mrc"), data.get("trace")
        if not isinstance(inner, Mapping):
            raise _wrong(f"{where}.mrc", "an object", inner)
        if not isinstance(trace, Mapping):
            raise _wrong(f"{where}.trace", "an object", trace)
        curves = inner.get("curves")
        if not isinstance(curves, Sequence) or isinstance(curves, str):
            raise _wrong(f"{where}.mrc.curves", "a list", curves)
        identity = TraceIdentity.of(trace, f"{where}.trace")
        points = []
        for i, one in enumerate(curves):
            place = f"{where}.mrc.curves[{i}]"
            _expect(isinstance(one, Mapping), place, "a curve", one)
            _expect(isinstance(one.get("points"), list), place, "a curve", one)
            for k, point in enumerate(one["points"]):
                points.append(_point(one, point, identity, f"{place}.points[{k}]"))
        apart = inner.get("differences")
        known = Differences(apart if isinstance(apart, Mapping) else None)
        placed = [replace(run, place=k, differences=known) for k, run in enumerate(points)]
        return cls(data, identity, _against_baseline(placed))

    @property
    def name(self) -> str:
        """The name of the trace in tables."""
        return self.trace.name

    @property
    def drive(self) -> Mapping[str, Any] | None:
        """The record of the device behind the cache; None without one."""
        drive = self.source.get("device")
        return drive if isinstance(drive, Mapping) else None

    @property
    def baseline(self) -> str | None:
        """Label of the run that others are marked against; None: the first of each size."""
        label = self.source.get("baseline")
        return label if isinstance(label, str) else None

    @cached_property
    def policies(self) -> dict[str, str]:
        """Label to the policy's name, in the order they were asked for."""
        return {run.label: run.policy for run in self.runs}

    @cached_property
    def labels(self) -> list[str]:
        """Labels of the policies, in the order they were asked for."""
        return list(self.policies)

    @cached_property
    def by_size(self) -> tuple[Run, ...]:
        """All runs, by cache size, then in the order of the policies; one without a cache at each.

        So charts over cache size draw it as a level line.
        """
        order = {label: k for k, label in enumerate(self.policies)}
        placed = [
            replace(run, frames=frames)
            for run in self.runs
            for frames in (self.sizes if run.has_no_cache else [run.frames])
        ]
        return tuple(sorted(placed, key=lambda run: (run.frames, order[run.label])))

    @cached_property
    def once(self) -> tuple[Run, ...]:
        """All runs once, by cache size; those without a cache first, if there are several sizes."""
        if len(self.sizes) == 1:
            return self.by_size
        without = [run for run in self.runs if run.has_no_cache]
        return (*without, *(run for run in self.by_size if not run.has_no_cache))

    @cached_property
    def sizes(self) -> list[int]:
        """Cache sizes, frames, ascending; one entry without meaning for a run without a cache."""
        sized = {run.frames for run in self.runs if not run.has_no_cache}
        return sorted(sized or {run.frames for run in self.runs})

    @property
    def has_cache(self) -> bool:
        """Whether any run has one."""
        return not all(run.has_no_cache for run in self.runs)

    @property
    def timed(self) -> bool:
        """Whether runs were in front of a device."""
        return any(run.device for run in self.runs)

    @property
    def writes_metric(self) -> str:
        """The metric that judges writes: flash writes, where the runs count pending writes."""
        known = any(run[WRITES] is not None for run in self.runs if WRITES in run.metrics)
        return WRITES if known else "physical_writes"

    @property
    def hits_metric(self) -> str:
        """The metric that judges hits: those of all tiers, where the runs have several."""
        known = any(run.metrics.get(ALL_HITS) is not None for run in self.runs)
        return ALL_HITS if known else "hit_ratio"

    def metrics(self) -> list[Metric]:
        """The metrics that at least one run has."""
        return [m for m in METRICS if any(run[m.name] is not None for run in self.runs)]

    def at(self, frames: int) -> list[Run]:
        """The runs with caches of so many frames, and one without that was measured as they are."""
        runs = [run for run in self.by_size if run.frames == frames]
        sized = [run for run in runs if not run.has_no_cache] or runs
        return [run for run in runs if not run.has_no_cache or measured_alike(sized, run)]


def _checked(
    data: Mapping[str, Any], where: str
) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """Trace and runs of a result set of a known version."""
    _expect(isinstance(data, Mapping), where, "an object", data)
    schema, version = data.get("schema"), data.get("schema_version")
    _expect(schema == "destage.results", f"{where}.schema", '"destage.results"', schema)
    _expect(version == SCHEMA_VERSION, f"{where}.schema_version", str(SCHEMA_VERSION), version)
    trace, runs = data.get("trace"), data.get("runs")
    if not isinstance(trace, Mapping):
        raise _wrong(f"{where}.trace", "an object", trace)
    if not isinstance(runs, Sequence) or isinstance(runs, str):
        raise _wrong(f"{where}.runs", "a list", runs)
    _whole(trace.get("page_bytes"), f"{where}.trace.page_bytes")
    return trace, runs


def _check_run(run: Mapping[str, Any], place: str) -> None:
    _expect(isinstance(run, Mapping), place, "an object", run)
    for key in ("config", "counters"):
        _expect(isinstance(run.get(key), Mapping), f"{place}.{key}", "an object", run.get(key))
    _whole(run["config"].get("frames"), f"{place}.config.frames")


def _run(
    whole: Mapping[str, Any],
    data: Mapping[str, Any],
    trace: TraceIdentity,
    drive: Mapping[str, Any] | None,
) -> Run:
    config = data["config"]
    policy = printable(config.get("policy", "?"))
    label = data.get("label") or _destage.label(policy, json.dumps(config.get("given") or {}))
    # Results of others may have less in the record of their device.
    host = (drive or {}).get("host", {})
    has_no_cache = policy == config.get("cache") == NO_CACHE
    return Run(
        policy=policy,
        label=printable(label),
        params=config.get("params") or {},
        frames=config["frames"],
        cache=printable(config.get("cache", "")),
        trace=trace,
        config=config,
        counters=data["counters"],
        metrics=_measured_numbers(whole, data),
        warnings=tuple(data.get("warnings") or ()),
        warmup_requests=data.get("warmup_requests") or 0,
        measured=data.get("measured"),
        ftl=(drive or {}).get("device", {}).get("ftl"),
        eviction_wait=None if has_no_cache else _eviction_wait((drive or {}).get("cache", {})),
        placement=None if drive is None else printable(config.get("placement") or "none"),
        options=option_values(config, drive),
        queue_depth=host.get("queue_depth") if host.get("mode") == "closed" else None,
        timing=data.get("timing"),
        profile=data.get("profile"),
        destage_pages=data.get("destage_pages"),
        windows=data.get("windows"),
        steady=data.get("steady"),
        queue=data.get("queue"),
        tiers=data.get("tiers"),
        record=data,
    )


def _eviction_wait(cache: Mapping[str, Any]) -> str | None:
    """Event that an eviction waits for, from the record of a device's cache."""
    wait = cache.get("evict_wait")
    if wait is None:
        return None
    pages = cache.get("staging_pages")
    return printable(wait) if pages is None else f"{printable(wait)}, {counted(pages, 'page')}"


def _numbers(whole: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Number]:
    """Every metric of one run as the engine has it, `None` where it has none."""
    known = run.get("metrics")
    if not isinstance(known, Mapping) or not RENAMED.keys().isdisjoint(known):
        # Written by hand, cut down, or of an earlier version: what the engine cannot read has its
        # counters and no more.
        try:
            text = json.dumps({**whole, "runs": [run]}, allow_nan=False)
            known = json.loads(_destage.read_result(text, "results"))["runs"][0]["metrics"]
        except (DestageError, TypeError, ValueError):
            known = {**run["counters"], "cost": run.get("cost")}
    return {m.name: finite(known.get(m.name)) for m in metrics()}


def _measured_numbers(whole: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Number]:
    """The metrics of one run; none has a value where no request was measured."""
    found, measured = _numbers(whole, run), run.get("measured")
    ends = (
        [finite(measured.get(end)) for end in ("first_request", "last_request")]
        if isinstance(measured, Mapping)
        else [None, None]
    )
    is_empty = ends[0] is not None and ends[1] is not None and ends[0] > ends[1]
    return dict.fromkeys(found) if is_empty else found


def _point(
    curve: Mapping[str, Any], point: Mapping[str, Any], trace: TraceIdentity, place: str
) -> Run:
    """A point of a curve as a run."""
    _expect(isinstance(point, Mapping), place, "an object", point)
    policy, params = printable(curve.get("policy", "?")), curve.get("params") or {}
    missed = finite(point.get("miss_ratio"))
    # Where nothing was counted there is no ratio, whatever stands in its place.
    hit = None if missed is None or point.get("accesses") == 0 else 1 - missed
    bounds = _bounds(point.get("sampled"), hit, place)
    return Run(
        policy=policy,
        label=printable(curve.get("label", policy)),
        params=params,
        frames=_whole(point.get("frames"), f"{place}.frames"),
        cache=printable(point.get("cache", "")),
        trace=trace,
        config={"policy": policy, "params": params},
        counters={},
        metrics={m.name: finite(point.get(m.name)) for m in metrics()} | {"hit_ratio": hit},
        warnings=(),
        warmup_requests=0,
        bounds=bounds,
        sampled=point.get("sampled") is not None,
    )


def _bounds(sampled: object, hit: float | None, place: str) -> Mapping[str, tuple[float, float]]:
    """Where the numbers of a sampled point lie, with 95 % confidence; none of an exact one."""
    if not isinstance(sampled, Mapping):
        return {}
    bounds: dict[str, tuple[float, float]] = {}
    for key in [key for key in sampled if key.endswith("_low")]:
        name = key.removesuffix("_low")
        low, high = finite(sampled[key]), finite(sampled.get(f"{name}_high"))
        if low is None or high is None:
            raise _wrong(f"{place}.sampled.{name}_high", "both ends as numbers", sampled)
        bounds[name] = (float(low), float(high))
    if hit is not None and "miss_ratio" in bounds:
        low, high = bounds["miss_ratio"]
        bounds["hit_ratio"] = (1 - high, 1 - low)
    return bounds


def _against_baseline(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Fills in `writes_vs_lru`, where lru ran at the same size and wrote anything."""
    runs = tuple(runs)
    writes = {run.frames: run.writes for run in runs if run.label == BASELINE}

    def ratio(run: Run) -> float | None:
        part, whole = run.writes, writes.get(run.frames)
        return None if part is None or not whole else part / whole

    return tuple(replace(run, writes_vs_lru=ratio(run)) for run in runs)


def _whole(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _wrong(where, "a whole number from 1", value)
    return value


def _expect(holds: bool, where: str, expected: str, found: object) -> None:
    if not holds:
        raise _wrong(where, expected, found)


def _wrong(where: str, expected: str, found: object) -> DataError:
    shown = "nothing" if found is None else repr(found)
    return DataError(f"{where}: expected {expected}, found {shown[:80]}")
