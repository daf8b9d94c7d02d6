"""What runs leave behind: typed, tidy, and ready to be written or drawn.

`Results` is a sequence of `Run`, one per policy and cache size. As a table it has one row per run;
the columns' names carry their units, and the same names are used in JSON, CSV, Parquet and here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from destage import _destage
from destage.errors import DataError, UsageError
from destage.io.clash import reading
from destage.io.files import Destination, read_text
from destage.io.frames import Tabled, by_column
from destage.io.names import path_of, printable

if TYPE_CHECKING:
    from destage.charts.plots import Plots
    from destage.tables.table import Table

__all__ = ["Metric", "Results", "Run", "TraceIdentity", "metrics", "warnings_of"]

#: A number of a run, or None where the run has none (the hit ratio of no accesses).
Number = int | float | None


@dataclass(frozen=True)
class Metric:
    """A column of numbers; None in a run that has no such number."""

    name: str
    """Name of the column, its unit in it where that is not obvious."""
    title: str
    """A few words, as the head of a column."""
    kind: str
    """`ratio` (0..1), `count`, `real` or `time` (nanoseconds): how it is shown."""
    unit: str
    """Unit; empty for ratios."""
    better: str
    """`higher`, `lower` or `neither`: which way is better."""
    shown: str
    """When a table shows it: `always`, `without_device`, `with_device` or `on_request`."""
    about: str
    """What it counts."""


def metrics() -> tuple[Metric, ...]:
    """Every metric, in the order of the columns.

    >>> metrics()[0].name
    'hit_ratio'
    """
    return tuple(Metric(**m) for m in json.loads(_destage.metrics()))


@dataclass(frozen=True)
class TraceIdentity:
    """Which trace was replayed, and how it was read."""

    sources: tuple[str, ...]
    """Files as they were given, or what made the trace."""
    fingerprint: str
    """Hash of the decoded accesses: equal for equal content."""
    format: str
    """Format that the records were read from."""
    page_bytes: int
    """Page size."""
    requests: int
    """Requests that read or write."""
    accesses: int
    """Page accesses."""
    unique_pages: int
    """Different pages."""
    duration_ns: int | None
    """First to last arrival; None if the trace has no times."""
    options: Mapping[str, Any]
    """How it was read and decoded."""

    @property
    def name(self) -> str:
        """What tables call it: file names without folders, and the device if one was chosen."""
        return trace_name(self.sources, self.options)

    @classmethod
    def _of(cls, data: Mapping[str, Any]) -> TraceIdentity:
        known = {key: data[key] for key in cls.__dataclass_fields__}
        return cls(**(known | {"sources": tuple(data["sources"])}))


@dataclass(frozen=True)
class Run:
    """One policy at one cache size over one trace.

    Metrics are attributes of their own name where they are asked for most, and items otherwise:
    ``run["write_hits"]``.
    """

    policy: str
    """Name of the policy."""
    label: str
    """Name with the parameters that were given, as in a table: `cflru[window_fraction=0.75]`."""
    params: Mapping[str, Any]
    """All parameters, after defaults."""
    frames: int
    """Pages that the cache has room for."""
    cache: str
    """The cache size as it was given."""
    trace: TraceIdentity
    """What was replayed."""
    config: Mapping[str, Any]
    """All that was asked for, as the JSON result has it."""
    counters: Mapping[str, int]
    """What was counted."""
    metrics: Mapping[str, Number]
    """Every metric of `metrics()`."""
    warnings: tuple[str, ...]
    """What a reader of these numbers must know."""
    warmup_requests: int
    """Requests that were replayed before counting began."""
    timing: Mapping[str, Any] | None = None
    """With a drive: its counters, and response times as distributions."""
    profile: Mapping[str, Any] | None = None
    """With a drive, if it was asked for: how the run developed, period by period."""
    ftl: str | None = None
    """Flash translation layer of the drive; None without one."""
    queue_depth: int | None = None
    """Requests outstanding in a closed loop; None if they came when the trace said so."""

    def __getitem__(self, metric: str) -> Number:
        """Return a metric by name. Raises `KeyError` with the nearest name for another one."""
        if metric not in self.metrics:
            near = _destage.nearest(str(metric), list(self.metrics))
            meant = f", did you mean {near!r}?" if near else "; metrics() has them all"
            raise KeyError(f"there is no metric {metric!r}{meant}")
        return self.metrics[metric]

    @property
    def cache_bytes(self) -> int:
        """Cache size, bytes."""
        return self.frames * self.trace.page_bytes

    @property
    def hit_ratio(self) -> float | None:
        """Hits / accesses, 0..1; None if nothing was counted."""
        ratio = self.metrics["hit_ratio"]
        return None if ratio is None else float(ratio)

    @property
    def misses(self) -> int:
        """Accesses whose page was not resident."""
        return int(self.metrics["misses"] or 0)

    @property
    def physical_reads(self) -> int:
        """Pages read from flash."""
        return int(self.metrics["physical_reads"] or 0)

    @property
    def physical_writes(self) -> int:
        """Pages written to flash."""
        return int(self.metrics["physical_writes"] or 0)

    @property
    def running_time(self) -> int | None:
        """Cost of all physical reads and writes, in cost units; None without a cost model."""
        time = self.metrics["running_time"]
        return None if time is None else int(time)

    @property
    def device(self) -> str | None:
        """Name of the drive behind the cache; None without one."""
        return self.config.get("device")

    @property
    def response_ns_mean(self) -> float | None:
        """Mean response time of all requests, nanoseconds; None without a drive."""
        return self._real("response_ns_mean")

    @property
    def response_ns_p99(self) -> float | None:
        """Time that 99 % of all requests took at most; None without a drive."""
        return self._real("response_ns_p99")

    @property
    def eviction_wait_ns_mean(self) -> float | None:
        """Mean time that a write-back waited in its unit's queue; None without any."""
        return self._real("eviction_wait_ns_mean")

    @property
    def waf(self) -> float | None:
        """Write amplification of the drive; None without one, or without writes."""
        return self._real("waf")

    @property
    def erases(self) -> int | None:
        """Erase blocks erased; None without a drive."""
        erases = self.metrics["erases"]
        return None if erases is None else int(erases)

    def _real(self, metric: str) -> float | None:
        value = self.metrics[metric]
        return None if value is None else float(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the run as one row of the tidy table."""
        config, trace = self.config, self.trace
        cost = config.get("cost") or {}
        row: dict[str, Any] = {
            "trace": trace.name,
            "device": self.device,
            "ftl": self.ftl,
            "queue_depth": self.queue_depth,
            "policy": self.policy,
            "label": self.label,
            "params": json.dumps(self.params, sort_keys=True),
            "cache": self.cache,
            "frames": self.frames,
            "cache_bytes": self.cache_bytes,
            "cache_share": self.frames / trace.unique_pages if trace.unique_pages else None,
        }
        row.update(self.metrics)
        row |= {
            "warmup": _warmup_text(config["warmup"]),
            "warmup_requests": self.warmup_requests,
            "fetch_on_write_miss": config["fetch_on_write_miss"],
            "flush_at_end": config["flush_at_end"],
            "pages_per_block": config.get("pages_per_block"),
            "cost_read": cost.get("read"),
            "cost_write": cost.get("write"),
            "page_bytes": trace.page_bytes,
            "trace_requests": trace.requests,
            "trace_accesses": trace.accesses,
            "trace_unique_pages": trace.unique_pages,
            "trace_fingerprint": trace.fingerprint,
            "warnings": "; ".join(self.warnings),
        }
        return row

    @classmethod
    def _of(
        cls, data: Mapping[str, Any], trace: TraceIdentity, drive: Mapping[str, Any] | None
    ) -> Run:
        config = data["config"]
        # Results of others may have less in the record of their drive.
        host = (drive or {}).get("host", {})
        return cls(
            policy=config["policy"],
            label=label_of(config["policy"], config["given"]),
            params=config["params"],
            frames=config["frames"],
            cache=config["cache"],
            trace=trace,
            config=config,
            counters=data["counters"],
            metrics=data["metrics"],
            warnings=tuple(data["warnings"]),
            warmup_requests=data["warmup_requests"],
            ftl=(drive or {}).get("device", {}).get("ftl"),
            queue_depth=host.get("queue_depth") if host.get("mode") == "closed" else None,
            timing=data.get("timing"),
            profile=data.get("profile"),
        )


def trace_name(sources: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return what tables call a trace."""
    names = [os.path.basename(s) or s for s in sources]
    name = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    device = options.get("reader", {}).get("device")
    chosen = ",".join(device) if isinstance(device, list) else device
    return f"{name}:{chosen}" if chosen else name


def label_of(policy: str, given: Mapping[str, Any]) -> str:
    """Return what tables call a policy with the parameters that were given."""
    pairs = ";".join(f"{k}={_plain(v)}" for k, v in given.items())
    return f"{policy}[{pairs}]" if pairs else policy


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _warmup_text(warmup: str | Mapping[str, Any]) -> str:
    if isinstance(warmup, str):
        return warmup
    ((kind, value),) = warmup.items()
    if kind == "nanos":
        return f"{value / 1e9:g}s"
    return f"{value:g}%" if kind == "percent" else f"{value}r"


class Results(Tabled, Sequence[Run]):
    """Runs over one trace or several, in the order of traces, policies, sizes, as asked for.

    As JSON one trace gives an object, several give an array of such objects.
    """

    def __init__(self, sets: Sequence[Mapping[str, Any]]) -> None:
        """Take result sets as the JSON schema has them; `compare` and `from_json` make them."""
        self.sets = tuple(sets)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All runs."""
        runs: list[Run] = []
        for result_set in self.sets:
            trace = TraceIdentity._of(result_set["trace"])
            drive = result_set.get("device")
            runs.extend(Run._of(run, trace, drive) for run in result_set["runs"])
        return tuple(runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        """Return a run, or several."""
        return self.runs[index]

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        """Iterate over the runs."""
        return iter(self.runs)

    def __eq__(self, other: object) -> bool:
        """Compare everything, configuration included."""
        return isinstance(other, Results) and self.sets == other.sets

    __hash__ = None  # type: ignore[assignment]

    def _table(self) -> Table:
        from destage.tables.table import results_table

        return results_table(self)

    @property
    def plot(self) -> Plots:
        """Charts of the results: `results.plot.hit_ratio()`, `results.plot.save("figures")`.

        Raises `UsageError` for results over several traces; drawing raises `MissingExtra` without
        the extra `report`.
        """
        from destage.charts.plots import Plots

        if len(self.sets) != 1:
            raise UsageError(
                f"results over {len(self.sets)} traces: charts show one;"
                " take Results([results.sets[0]]).plot"
            )
        return Plots(self.sets[0])

    def table(self) -> str:
        """Return the table that the command line prints, without colours."""
        return repr(self)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the tidy table: one dictionary per run, all with the same keys."""
        return [run.to_dict() for run in self.runs]

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table by column."""
        return by_column(self.to_dicts())

    def _everything(self) -> Any:
        # `from_json` and `rerun` read both.
        return self.sets[0] if len(self.sets) == 1 else list(self.sets)

    def _provenance(self) -> Mapping[str, str]:
        sets = [{k: v for k, v in s.items() if k != "runs"} for s in self.sets]
        return {"destage.results": json.dumps(sets)}

    @classmethod
    def from_json(cls, text: str | bytes, name: str = "result") -> Results:
        """Read what `to_json` wrote; `name` is what messages call it.

        Raises `DataError` if it is something else.
        """
        name = printable(name)
        try:
            data = json.loads(text)
            again = [json.dumps(s) for s in (data if isinstance(data, list) else [data])]
        except UnicodeDecodeError as e:
            raise DataError(f"{name}: no JSON: it is not UTF-8") from e
        except RecursionError as e:
            raise DataError(f"{name}: it is not a result: it is nested too deeply") from e
        except ValueError as e:
            what = f"no JSON: {e}" if text.strip() else "the file is empty: expected results"
            raise DataError(f"{name}: {what}") from e
        if not again:
            raise DataError(f"{name}: expected results, found an empty array")
        return cls([json.loads(_destage.read_result(one, name)) for one in again])

    @classmethod
    def load(cls, path: Destination) -> Results:
        """Read a file that `to_json` wrote.

        Raises `MissingFile` or `DataError`.
        """
        reading("the result", path_of(path, "result"))
        return cls.from_json(read_text(path, "a result"), os.fspath(path))


def warnings_of(runs: Iterable[Run]) -> dict[str, tuple[str, ...]]:
    """Return every warning of some runs once, with the labels of the runs that have it."""
    about: dict[str, dict[str, None]] = {}
    for run in runs:
        for message in run.warnings:
            # Who says it is told once.
            about.setdefault(message.removeprefix(f"{run.label}: "), {})[run.label] = None
    return {message: tuple(labels) for message, labels in about.items()}
