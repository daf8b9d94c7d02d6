"""Rows of several traces as one: counters added up, ratios made of the sums.

Percentiles of parts say nothing of the whole: what cannot be put together is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from destage.experiment.rows import DONE
from destage.model.metrics import metrics
from destage.model.rows import Row
from destage.model.run import SIZES
from destage.model.words import counted

__all__ = ["pooled_rows"]

#: Runs that are put together differ in their trace alone.
ALIKE = ("device", "ftl", "queue_depth", "policy", "label", "cache", "seed", "options")
#: Columns of traces, which are added up.
OF_TRACES = ("trace_requests", "trace_accesses", "trace_unique_pages")

#: Shares and means, with numerator and denominator; several names are added up.
RATIOS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "read_hit_ratio": (("read_hits",), ("read_hits", "read_misses")),
    "write_hit_ratio": (("write_hits",), ("write_hits", "write_misses")),
    "hit_ratio": (
        ("read_hits", "write_hits"),
        ("read_hits", "read_misses", "write_hits", "write_misses"),
    ),
    "mean_destage_pages": (("destaged_pages",), ("destages",)),
}
#: Means, and what each is weighted by.
WEIGHTED = {"response_ns_mean": "requests", "waf": "flash_programs"}


def pooled_rows(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """One row for all traces that have a run of its kind. Runs that failed are left out."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("status", DONE) == DONE:
            groups.setdefault(tuple(row.get(name) for name in ALIKE), []).append(row)
    return [_pooled(group) for group in groups.values()]


def _pooled(group: Sequence[Mapping[str, Any]]) -> Row:
    whole: Row = dict.fromkeys(group[0])
    whole.update({name: group[0].get(name) for name in (*ALIKE, "status", "params", "page_bytes")})
    whole["trace"] = counted(len({row["trace"] for row in group}), "trace")
    whole["id"] = "+".join(sorted(str(row.get("id")) for row in group))
    whole["warnings"] = ""
    for name in OF_TRACES:
        whole[name] = _sum(group, (name,))
    for name in SIZES:  # No run had them in sum.
        same = {row.get(name) for row in group}
        whole[name] = same.pop() if len(same) == 1 else None
    for metric in metrics():
        if metric.name.endswith(("_max", "_min")):
            values = [row[metric.name] for row in group if row.get(metric.name) is not None]
            choose = max if metric.name.endswith("_max") else min
            whole[metric.name] = choose(values) if len(values) == len(group) else None
        elif metric.name in RATIOS:
            above, below = (_sum(group, names) for names in RATIOS[metric.name])
            whole[metric.name] = above / below if above is not None and below else None
        elif metric.name in WEIGHTED:
            whole[metric.name] = _weighted(group, metric.name, WEIGHTED[metric.name])
        elif metric.kind == "count" and not metric.name.endswith(("_p50", "_p90")):
            whole[metric.name] = _sum(group, (metric.name,))
    return whole


def _sum(group: Sequence[Mapping[str, Any]], names: Sequence[str]) -> int | None:
    """The sum of columns over rows; None where a row has no such number."""
    values = [row.get(name) for row in group for name in names]
    return None if any(value is None for value in values) else sum(v for v in values if v)


def _weighted(group: Sequence[Mapping[str, Any]], name: str, weight: str) -> float | None:
    pairs = [(row.get(name), row.get(weight)) for row in group]
    known = [(value, count) for value, count in pairs if value is not None and count]
    # A run without requests, or without writes, has no mean and no weight.
    if not known or any(value is None and count for value, count in pairs):
        return None
    return float(sum(v * count for v, count in known) / sum(count for _, count in known))
