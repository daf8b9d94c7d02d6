"""Result sets as tidy rows: one row a run, every number under a name that carries its unit.

Tables, charts and the report all start here, so that no two of them can derive a number
differently. The input is the JSON form of a result set (schema `destage.results`, version 1);
what is not of that form is refused with the place of the first thing that is wrong.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from destage import _destage
from destage.errors import DataError, DestageError
from destage.io.names import printable

__all__ = [
    "METRICS",
    "Metric",
    "Row",
    "ResultView",
    "curve_data",
    "curve_view",
    "finite",
    "label_of",
    "printable",
    "trace_name",
    "view",
]

#: Version of the result schema that is read here.
SCHEMA_VERSION = 1

#: The policy that knows the future: a bound on the others, never a winner among them.
ORACLE = "min"
#: The policy that others are measured against, if it is among them.
BASELINE = "lru"

Row = dict[str, Any]


@dataclass(frozen=True)
class Metric:
    """One number of a run, and how it is shown."""

    name: str
    title: str
    #: `ratio` is kept as 0..1 and shown in per cent, `time` in nanoseconds.
    kind: Literal["ratio", "count", "real", "time"]
    #: Unit in a table's header; for ratios, that of the shown number.
    unit: str
    better: Literal["higher", "lower", "neither"]
    about: str
    #: When a table shows it.
    shown: Literal["always", "without_device", "with_device", "on_request"]

    @property
    def core(self) -> bool:
        """Whether a table shows it unasked, at least with a drive or at least without one."""
        return self.shown != "on_request"

    def is_core(self, timed: bool) -> bool:
        """Whether a table of runs with a drive, or without one, shows it unasked."""
        return self.shown in ("always", "with_device" if timed else "without_device")


def _metrics() -> tuple[Metric, ...]:
    """The engine's table, and the one number that takes two runs."""
    found: list[Metric] = []
    for m in json.loads(_destage.metrics()):
        found.append(Metric(**(m | {"unit": "%" if m["kind"] == "ratio" else m["unit"]})))
        if m["name"] == "physical_writes":
            about = "flash writes over those of lru at the same cache size"
            found.append(
                Metric("writes_vs_lru", "Writes / lru", "real", "ratio", "lower", about, "always")
            )
    return tuple(found)


#: In the order of the columns.
METRICS: tuple[Metric, ...] = _metrics()


def finite(value: object) -> float | int | None:
    """The number, or `None` for what is none: absent, NaN, infinite, not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if math.isfinite(value) else None


def label_of(config: Mapping[str, Any]) -> str:
    """What tells a policy from the others of a comparison: `cflru[window_fraction=0.75]`."""
    policy = printable(config.get("policy", "?"))
    given = config.get("given") or {}
    if not isinstance(given, Mapping) or not given:
        return policy
    pairs = (f"{key}={_plain(given[key])}" for key in sorted(given))
    return f"{policy}[{printable(';'.join(pairs))}]"


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class ResultView:
    """A result set, taken apart for showing."""

    #: The JSON it came from.
    source: Mapping[str, Any]
    trace: Mapping[str, Any]
    runs: Sequence[Mapping[str, Any]]
    #: One a run, by cache size, then in the order of the policies.
    rows: list[Row]
    #: Labels of the policies, in the order they were asked for.
    series: list[str]
    #: Label to policy name.
    policies: dict[str, str]

    @property
    def name(self) -> str:
        """What tables call the trace."""
        return trace_name(self.trace)

    @property
    def sizes(self) -> list[int]:
        """Cache sizes, frames, ascending."""
        return sorted({row["frames"] for row in self.rows})

    @property
    def timed(self) -> bool:
        """The runs were in front of a drive."""
        return any(run["config"].get("device") for run in self.runs if "config" in run)

    def metrics(self) -> list[Metric]:
        """The metrics that at least one run has."""
        return [m for m in METRICS if any(row[m.name] is not None for row in self.rows)]

    def at(self, frames: int) -> list[Row]:
        """The runs with caches of so many frames."""
        return [row for row in self.rows if row["frames"] == frames]


def trace_name(trace: Mapping[str, Any]) -> str:
    """`hm_0.csv.gz`, `hm_0.csv.gz and 2 more`, or `all.csv:hm` if a device was chosen.

    `trace` has `sources`, names or objects with a `name`, and may have the reader's options.
    """
    sources = trace.get("sources")
    if not isinstance(sources, Sequence) or isinstance(sources, str):
        sources = [] if sources is None else [sources]
    names = [s.get("name", "") if isinstance(s, Mapping) else s for s in sources]
    if not names:
        return "trace"
    name = os.path.basename(str(names[0])) or str(names[0])
    if len(names) > 1:
        name = f"{name} and {len(names) - 1} more"
    options = trace.get("options")
    reader = options.get("reader") if isinstance(options, Mapping) else None
    device = reader.get("device") if isinstance(reader, Mapping) else None
    chosen = ",".join(map(str, device)) if isinstance(device, list) else device
    return printable(f"{name}:{chosen}" if chosen else name)


def view(result: Mapping[str, Any], where: str = "results") -> ResultView:
    """Takes a result set apart.

    Raises `DataError`, naming the place, if it is not one of a known version.
    """
    _expect(isinstance(result, Mapping), where, "an object", result)
    schema, version = result.get("schema"), result.get("schema_version")
    _expect(schema == "destage.results", f"{where}.schema", '"destage.results"', schema)
    _expect(version == SCHEMA_VERSION, f"{where}.schema_version", str(SCHEMA_VERSION), version)
    trace, runs = result.get("trace"), result.get("runs")
    if not isinstance(trace, Mapping):
        raise _wrong(f"{where}.trace", "an object", trace)
    if not isinstance(runs, Sequence) or isinstance(runs, str):
        raise _wrong(f"{where}.runs", "a list", runs)
    page_bytes = _whole(trace.get("page_bytes"), f"{where}.trace.page_bytes")
    unique = trace.get("unique_pages")

    rows: list[Row] = []
    policies: dict[str, str] = {}
    for i, run in enumerate(runs):
        place = f"{where}.runs[{i}]"
        _expect(isinstance(run, Mapping), place, "an object", run)
        config, counters = run.get("config"), run.get("counters")
        if not isinstance(config, Mapping):
            raise _wrong(f"{place}.config", "an object", config)
        if not isinstance(counters, Mapping):
            raise _wrong(f"{place}.counters", "an object", counters)
        frames = _whole(config.get("frames"), f"{place}.config.frames")
        label = label_of(config)
        policies.setdefault(label, printable(config.get("policy", "?")))
        share = finite(unique)
        rows.append(
            {
                "label": label,
                "policy": policies[label],
                "cache": printable(config.get("cache", "")),
                "frames": frames,
                "cache_bytes": frames * page_bytes,
                "cache_share": frames / share if share else None,
                **_numbers(result, run),
            }
        )
    order = {label: k for k, label in enumerate(policies)}
    rows.sort(key=lambda row: (row["frames"], order[row["label"]]))
    _against_baseline(rows)
    return ResultView(result, trace, runs, rows, list(policies), policies)


def _numbers(result: Mapping[str, Any], run: Mapping[str, Any]) -> Row:
    """Every metric of one run, `None` where it has none: those of the engine, not our own."""
    known = run.get("metrics")
    if not isinstance(known, Mapping):
        # Written by hand, or cut down: what the engine cannot read has its counters and no more.
        try:
            text = json.dumps({**result, "runs": [run]}, allow_nan=False)
            known = json.loads(_destage.read_result(text, "results"))["runs"][0]["metrics"]
        except (DestageError, TypeError, ValueError):
            known = {**run["counters"], "running_time": run.get("running_time")}
    return {m.name: finite(known.get(m.name)) for m in METRICS}


def _against_baseline(rows: list[Row]) -> None:
    """Fills in `writes_vs_lru`, where lru ran at the same size and wrote anything."""
    writes = {r["frames"]: r["physical_writes"] for r in rows if r["label"] == BASELINE}
    for row in rows:
        row["writes_vs_lru"] = _ratio(row["physical_writes"], writes.get(row["frames"]))


def _sum(counters: Mapping[str, float | int | None], *names: str) -> float | int | None:
    total: float | int = 0
    for name in names:
        value = counters.get(name)
        if value is None:
            return None
        total += value
    return total


def _ratio(part: float | int | None, whole: float | int | None) -> float | None:
    return None if part is None or not whole else part / whole


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


def curve_data(curve: Mapping[str, Any]) -> Mapping[str, Any]:
    """Curves without what `mrc` wraps them in: sample, curves, warnings and, if known, trace."""
    inner = curve.get("mrc")
    return {**inner, "trace": curve.get("trace")} if isinstance(inner, Mapping) else curve


def curve_view(curve: Mapping[str, Any], trace: Mapping[str, Any] | None = None) -> ResultView:
    """Hit-ratio curves (what `mrc` gives as JSON) in the form of a result set.

    `trace` is that of the comparison they belong to, if the curves do not name theirs. A row also
    has `hit_ratio_low` and `hit_ratio_high`, two standard errors away, if it comes from a sample.
    Raises `DataError`, naming the place, if the form is another.
    """
    curve = curve_data(curve)
    own = curve.get("trace")
    trace = own if isinstance(own, Mapping) else trace or {}
    unique = finite(trace.get("unique_pages"))
    found = curve.get("curves")
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise _wrong("curves", "a list", found)
    rows: list[Row] = []
    policies: dict[str, str] = {}
    for i, one in enumerate(found):
        place = f"curves[{i}]"
        _expect(
            isinstance(one, Mapping) and isinstance(one.get("points"), list), place, "a curve", one
        )
        label = printable(one.get("label", one.get("policy", "?")))
        policies.setdefault(label, printable(one.get("policy", "?")))
        for k, point in enumerate(one["points"]):
            _expect(isinstance(point, Mapping), f"{place}.points[{k}]", "an object", point)
            frames = _whole(point.get("frames"), f"{place}.points[{k}].frames")
            missed = finite(point.get("miss_ratio"))
            sampled = point.get("sampled")
            error = (
                finite(sampled.get("miss_ratio_error")) if isinstance(sampled, Mapping) else None
            )
            # Where nothing was counted there is no ratio, whatever stands in its place.
            hit = None if missed is None or point.get("accesses") == 0 else 1 - missed
            row: Row = {m.name: finite(point.get(m.name)) for m in METRICS}
            row |= {
                "label": label,
                "policy": policies[label],
                "cache": printable(point.get("cache", "")),
                "frames": frames,
                "cache_bytes": _whole(point.get("cache_bytes"), f"{place}.points[{k}].cache_bytes"),
                "cache_share": frames / unique if unique else None,
                "hit_ratio": hit,
            }
            if hit is not None and error is not None:
                row["hit_ratio_low"] = max(0.0, hit - 2 * error)
                row["hit_ratio_high"] = min(1.0, hit + 2 * error)
            rows.append(row)
    order = {label: k for k, label in enumerate(policies)}
    rows.sort(key=lambda row: (row["frames"], order[row["label"]]))
    _against_baseline(rows)
    return ResultView(curve, trace, found, rows, list(policies), policies)
