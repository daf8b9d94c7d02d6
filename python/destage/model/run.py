"""One run: its configuration, counters and metrics, typed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from destage.model.card import Card
from destage.model.choice import full_name
from destage.model.columns import MEASURED
from destage.model.differences import Differences
from destage.model.life import Life
from destage.model.metrics import (
    NO_CACHE,
    RENAMED,
    WRITES,
    Metric,
    metrics,
    offline,
    renamed_text,
    suggestion,
)
from destage.model.naming import is_foreseeing
from destage.model.trace_identity import TraceIdentity
from destage.model.values import valued
from destage.model.words import NONE, counted, printable, size

__all__ = [
    "INTERRUPTED",
    "SHARD",
    "SIZES",
    "Number",
    "Run",
    "measured_alike",
    "measured_text",
    "prompts_of",
    "warnings_of",
]

#: A number of a run, or None where the run has none (the hit ratio of no accesses).
Number = int | float | None

#: How the warning of a run begins beside which others are missing.
INTERRUPTED = "interrupted: "
#: And those of a shard, whose others are elsewhere.
SHARD = "of a shard: "

#: Columns in which a run without a cache has no value.
SIZES = ("frames", "cache_bytes", "cache_share")

#: Of runs that nothing is known about beside their numbers.
NO_DIFFERENCES = Differences(None)


@dataclass(frozen=True, repr=False)
class Run:
    """One policy at one cache size over one trace.

    The most used metrics are attributes of their own name; all are items:
    ``run["write_hits"]``.
    """

    policy: str
    """Name of the policy."""
    label: str
    """Name with the parameters that were given, as one types it: `cflru[window_fraction=0.75]`."""
    params: Mapping[str, Any]
    """All parameters, after defaults."""
    frames: int
    """Pages of the cache; without a cache, of the size whose measured requests are the same."""
    cache: str
    """The cache size as it was given; `none` without a cache."""
    trace: TraceIdentity
    """The trace that was replayed."""
    config: Mapping[str, Any]
    """All that was asked for, as the JSON result has it."""
    counters: Mapping[str, int]
    """Metrics of the run, by name."""
    metrics: Mapping[str, Number]
    """Every metric of `metrics()`."""
    warnings: tuple[str, ...]
    """Warnings about these numbers."""
    warmup_requests: int
    """Requests that were replayed before measurement began."""
    measured: Mapping[str, Any] | None = None
    """The part that was measured: `first_request` (from 1), `last_request`, `first_access` (from
    0), with a device `start_ns`, and `cache_full` with the warm-up `auto`."""
    timing: Mapping[str, Any] | None = None
    """With a device: its counters, and response times as distributions."""
    profile: Mapping[str, Any] | None = None
    """With a device, if it was asked for: how the run developed, period by period."""
    ftl: str | None = None
    """Flash translation layer of the device; None without one."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Columns of the options that it ran with, after defaults; None where one does not apply."""
    placement: str | None = None
    """The placement policy, as one types it; None without a device."""
    eviction_wait: str | None = None
    """Event that an eviction waits for: `staged, 64 pages`; None without a device."""
    queue_depth: int | None = None
    """Requests outstanding in a closed loop; None if they came when the trace said so."""
    destage_pages: Mapping[str, Any] | None = None
    """Distribution of the pages of a destage, of policies that destage in groups."""
    writes_vs_lru: float | None = None
    """Flash writes over lru's at the same cache size; None where lru did not run."""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Of metrics that a sample estimates: where they lie, with 95 % confidence; nothing of those of
    which no interval is known."""
    sampled: bool = False
    """Its numbers are estimates, from a sample of the pages."""
    windows: Mapping[str, Any] | None = None
    """Counts of sixty parts of the run, equal in requests; None of a short run."""
    steady: Mapping[str, Any] | None = None
    """When the cache was full (`filled_after`), and the halves of the run (`halves`)."""
    life: Life | None = None
    """How long the device lasts at this load; None without one whose endurance is known."""
    queue: Mapping[str, Any] | None = None
    """In an open loop: requests outstanding (`outstanding_mean`, `outstanding_max`), the `share` of
    the response time of parts with a queue, and whether it `grows`."""
    tiers: Mapping[str, int] | None = None
    """With a flash tier: its counts."""
    record: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    """The run as JSON has it."""
    place: int = field(default=0, compare=False)
    """Its number among the runs of its result set."""
    differences: Differences = field(default=NO_DIFFERENCES, compare=False, repr=False)
    """How far it differs from the others of its result set."""
    row: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    """Its row of a store, if it is from one."""

    def __getitem__(self, metric: str) -> Any:
        """Return a metric by name, a short one too (`p99.9`), a number or None; or a column.

        Raises `KeyError` with the nearest name for another one.
        """
        metric = full_name(str(metric))
        if metric in self.metrics:
            return self.metrics[metric]
        if metric == "writes_vs_lru":
            return self.writes_vs_lru
        if metric in (row := self.to_dict()):
            return row[metric]
        meant = suggestion(metric, self.metrics) or "; metrics() has them all"
        if metric in RENAMED:
            meant = f": it {renamed_text(metric)}"
        raise KeyError(f"there is no metric {metric!r}{meant}")

    def card(self) -> Card:
        """The run and its main metrics."""
        where = f"in front of {self.device}" if self.device else "no device"
        cache = f"cache {self.cache} = {counted(self.frames, 'page')} ({size(self.cache_bytes)})"
        cache = "no cache" if self.has_no_cache else cache
        title = f"Run of {self.label}: {self.trace.name}, {cache}, {where}"
        core = [m for m in metrics() if m.is_core(self.device is not None)]
        facts = [(m.title, self._shown(m)) for m in core if self[m.name] is not None]
        rest = f"{sum(v is not None for v in self.metrics.values())} in all: run['p99.9'], .metrics"
        return Card(title, [*facts, ("Numbers", rest)])

    def _shown(self, metric: Metric) -> str:
        value = valued(metric, self[metric.name])
        return (
            value if metric.kind in ("ratio", "time") else f"{value} {metric.shown_unit}".rstrip()
        )

    def __repr__(self) -> str:
        """Return a few lines: the configuration and the main metrics."""
        return self.card().text()

    def _repr_html_(self) -> str:
        """Return the same as a card, for a notebook."""
        return self.card().html()

    def minus(self, other: Run, metric: str) -> tuple[float, float] | None:
        """95 % interval of this run's number minus another's.

        None if there is none; see `has_intervals_against`.
        """
        return self.differences.between(metric, self.place, other.place)

    def has_intervals_against(self, other: Run) -> bool:
        """Whether their differences have intervals: both runs are of one set, and long enough."""
        shared = self.differences is other.differences
        return shared and self.differences.compares(self.place, other.place)

    @property
    def has_no_cache(self) -> bool:
        """Whether the run has no cache; in earlier results such runs have a size."""
        return self.policy == self.cache == NO_CACHE

    @property
    def knows_the_future(self) -> bool:
        """Whether the policy (`min`) or the placement (`fk`) uses the future: a reference only."""
        return self.policy in offline() or is_foreseeing(self.placement)

    @property
    def cache_not_full(self) -> bool:
        """Whether the cache takes longer than half of the requests to fill, with `warmup="auto"`.

        Such a run is measured like the others, and never named best.
        """
        return (self.measured or {}).get("cache_full") is False

    @property
    def fills_late(self) -> bool:
        """Whether the cache filled later than half of the measured part, or never."""
        if self.steady is None:
            return False
        after = self.steady.get("filled_after")
        return after is None or float(after) > 0.5

    @property
    def queue_grows(self) -> bool:
        """Whether requests mostly wait in a queue that the trace's times built up."""
        return self.queue is not None and bool(self.queue["grows"])

    @property
    def parts(self) -> int | None:
        """Independent parts of the trace behind its intervals; None where none are known."""
        return self.differences.parts_of(self.place)

    @property
    def counts_tier_1(self) -> bool:
        """Whether its counts of pages, and its series, are those of the first of several tiers."""
        return self.tiers is not None and self.metrics.get("kv_requests") is None

    @property
    def pending_share(self) -> float:
        """Change of the pending writes as a share of the flash writes, 0..1.

        With a flash tier: of the writes to flash and to the backing store.
        """
        if self.tiers is not None:
            return self.pending_of("tier2_writes", "backing_writes")
        return float(self.metrics.get("pending_write_ratio") or 0)

    def pending_of(self, *names: str) -> float:
        """Change of the pending writes as a share of these counts and itself, 0..1."""
        ends = [self.metrics.get(name) for name in ("pending_writes_at_start", "pending_writes")]
        change = abs((ends[1] or 0) - (ends[0] or 0))
        whole = sum(self.metrics.get(name) or 0 for name in names) + change
        return change / whole if whole else 0.0

    @property
    def deferred_share(self) -> float:
        """Share of the flash writes that no request could wait for, 0..1.

        Writes pending at the end, and writes flushed there.
        """
        flushed = self.counters.get("end_flushes") or 0
        return self.pending_share + (flushed / self.writes if self.writes else 0.0)

    @property
    def cache_bytes(self) -> int:
        """Cache size, bytes."""
        return self.frames * self.trace.page_bytes

    @property
    def cache_share(self) -> float | None:
        """Cache size over the trace's unique pages."""
        unique = self.trace.unique_pages
        return self.frames / unique if unique else None

    @property
    def hit_ratio(self) -> float | None:
        """Hits / accesses, 0..1; None if nothing was counted."""
        return self._real("hit_ratio")

    @property
    def misses(self) -> int | None:
        """Accesses whose page was not resident; None of cached prefixes."""
        return self._count("misses")

    @property
    def physical_reads(self) -> int | None:
        """Pages read from flash; None above a flash tier, and of cached prefixes."""
        return self._count("physical_reads")

    @property
    def physical_writes(self) -> int | None:
        """Pages written to flash; None above a flash tier, and of cached prefixes."""
        return self._count("physical_writes")

    @property
    def writes(self) -> int | float | None:
        """Flash writes: pages written, and the change of the pending writes.

        Pages written alone where a result, or a curve, has no pending writes; None above a
        flash tier, which may decline them.
        """
        writes = self.metrics.get(WRITES)
        return self.metrics["physical_writes"] if writes is None else writes

    @property
    def cost(self) -> int | None:
        """Cost of physical reads and flash writes, in cost units; None without a cost model."""
        return self._count("cost")

    @property
    def device(self) -> str | None:
        """Name of the device behind the cache, as it can be shown; None without one."""
        name = self.config.get("device")
        return None if name is None else printable(name)

    @property
    def response_ns_mean(self) -> float | None:
        """Mean response time of all requests, nanoseconds; None without a device."""
        return self._real("response_ns_mean")

    @property
    def response_ns_p99(self) -> float | None:
        """Time that 99 % of all requests took at most; None without a device."""
        return self._real("response_ns_p99")

    def mean_response_after(self, requests: int) -> float | None:
        """Mean response time of the windows after this many requests; None without any.

        Requests are counted from the first of the run, warm-up included.
        """
        windows = self.windows or {}
        counts, sums = windows.get("requests", ()), windows.get("response_ns_sum") or ()
        begins = [self.warmup_requests + sum(counts[:k]) for k in range(len(counts))]
        some = [k for k, begin in enumerate(begins[: len(sums)]) if begin >= requests]
        count = sum(counts[k] for k in some)
        return sum(sums[k] for k in some) / count if count else None

    @property
    def eviction_wait_ns_mean(self) -> float | None:
        """Mean time that a destaged page waited in its unit's queue; None without any."""
        return self._real("eviction_wait_ns_mean")

    @property
    def waf(self) -> float | None:
        """Write amplification of the device; None without one, or without writes."""
        return self._real("waf")

    @property
    def erases(self) -> int | None:
        """Erase blocks erased; None without a device."""
        return self._count("erases")

    def _count(self, metric: str) -> int | None:
        value = self.metrics[metric]
        return None if value is None else int(value)

    def _real(self, metric: str) -> float | None:
        value = self.metrics[metric]
        return None if value is None else float(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the run as one row of the tidy table."""
        if self.row is not None:
            return dict(self.row)
        trace = self.trace
        return {
            "trace": trace.name,
            "device": self.device,
            "ftl": self.ftl,
            "queue_depth": self.queue_depth,
            "policy": self.policy,
            "label": self.label,
            "params": json.dumps(self.params, sort_keys=True),
            "cache": self.cache,
            **{name: None if self.has_no_cache else getattr(self, name) for name in SIZES},
            **self.metrics,
            **self.options,
            "warmup_requests": self.warmup_requests,
            **{name: (self.measured or {}).get(name) for name in list(MEASURED)[1:]},
            "page_bytes": trace.page_bytes,
            "trace_requests": trace.requests,
            "trace_accesses": trace.accesses,
            "trace_unique_pages": trace.unique_pages,
            "trace_fingerprint": trace.fingerprint,
            "warnings": "; ".join(self.warnings),
        }


def measured_alike(runs: Sequence[Run], run: Run) -> bool:
    """Whether any of these runs was measured over the same requests as another."""

    def part(one: Run) -> list[Any]:
        return [(one.measured or {}).get(end) for end in ("first_request", "last_request")]

    return any(part(one) == part(run) for one in runs)


def measured_text(run: Run) -> str:
    """The measured requests in words: `requests 26,413 to 400,000`."""
    if run.measured is None:
        return NONE
    first, last = run.measured["first_request"], run.measured["last_request"]
    return f"requests {first:,} to {last:,}" if first <= last else "no request"


def prompts_of(runs: Sequence[Run]) -> int | None:
    """Prompts of the trace, warm-up included; None unless all runs are of prompts."""
    if not runs or any(run["kv_requests"] is None for run in runs):
        return None
    return int(runs[0]["kv_requests"]) + int(runs[0]["warmup_requests"] or 0)


def warnings_of(runs: Iterable[Run]) -> dict[str, tuple[str, ...]]:
    """Return every warning of some runs once, with the labels of the runs that have it."""
    about: dict[str, dict[str, None]] = {}
    for run in runs:
        for message in run.warnings:
            # The label is printed once, before the message.
            about.setdefault(message.removeprefix(f"{run.label}: "), {})[run.label] = None
    return {message: tuple(labels) for message, labels in about.items()}
