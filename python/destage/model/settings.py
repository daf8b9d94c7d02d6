"""Runs of a store, put together: what they differ in, and what some of them come to.

A run that failed, one that is missing and one that has no such number are counted beside the mean
of the others, so that a chart can say so.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from destage.model.metrics import BASELINE, NO_CACHE, ORACLE, WRITES, Metric, metrics, offline
from destage.model.run import SIZES

__all__ = [
    "DIMENSIONS",
    "OUTER",
    "Sum",
    "at_every_size",
    "cache_order",
    "differing",
    "known_metrics",
    "label_order",
    "natural_order",
    "on_the_front",
    "same_cover",
    "setting_name",
    "summed",
    "usual_pair",
]

#: What runs differ in, each with what people call it, one and several; in the order of filters.
DIMENSIONS: Mapping[str, tuple[str, str]] = {
    "trace": ("Trace", "traces"),
    "device": ("Device", "devices"),
    "ftl": ("FTL", "FTLs"),
    "queue_depth": ("Queue depth", "queue depths"),
    "options": ("Options", "sets of options"),
    "label": ("Policy", "policies"),
    "cache": ("Cache size", "cache sizes"),
    "seed": ("Seed", "seeds"),
}
#: What stands side by side rather than in one chart.
OUTER = ("trace", "device", "ftl", "queue_depth", "options")

Row = Mapping[str, Any]


def label_order(label: str) -> tuple[int, str]:
    """Policies by name, the baseline first, the bound last."""
    return (0 if label == BASELINE else 2 if label == ORACLE else 1, label)


def at_every_size(rows: Sequence[Row]) -> list[tuple[int, dict[str, Any]]]:
    """Runs without a cache, by their number, as if they had each cache size of those beside them.

    So charts over cache size draw them as level lines.
    """
    alike = [name for name in DIMENSIONS if name not in ("label", "cache")]
    sizes: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        if row["cache"] != NO_CACHE:
            some = sizes.setdefault(tuple(row.get(name) for name in alike), {})
            some.setdefault(str(row["cache"]), row)
    return [
        (k, {**row, **{name: one.get(name) for name in ("cache", *SIZES)}})
        for k, row in enumerate(rows)
        if row["cache"] == NO_CACHE
        for one in sizes.get(tuple(row.get(name) for name in alike), {}).values()
    ]


def natural_order(text: str) -> list[tuple[bool, float, str]]:
    """The key that sorts numbers within names as numbers: `op=50` before `op=100`."""
    parts = re.split(r"([0-9]+(?:\.[0-9]+)?)", text)
    return [(k % 2 == 0, float(p) if k % 2 else 0.0, p) for k, p in enumerate(parts)]


_SHARE = re.compile(r"([0-9.]+)\s*%")


def cache_order(given: str, frames: float | None) -> tuple[int, float, str]:
    """Shares of the pages by number, then sizes by what they come to."""
    if given == NO_CACHE:
        return (-1, 0.0, given)
    share = _SHARE.fullmatch(given)
    if share:
        return (0, float(share[1]), given)
    return (1, float(frames or 0), given)


def differing(rows: Sequence[Row], names: Iterable[str]) -> list[str]:
    """The columns that have several values."""
    return [name for name in names if len({row.get(name) for row in rows}) > 1]


def setting_name(row: Row, names: Sequence[str]) -> str:
    """The values of a row in these columns, in words."""
    words = []
    for name in names:
        value = row.get(name)
        if name == "options":
            given = json.loads(value or "{}")
            pairs = (f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in given.items())
            words.append(", ".join(pairs) or "no options")
        elif name == "queue_depth":
            words.append(f"queue depth {'-' if value is None else value}")
        else:
            words.append(
                str(value) if value is not None else "no device" if name == "device" else ""
            )
    return ", ".join(word for word in words if word)


@dataclass(frozen=True)
class Sum:
    """Values of one metric over several runs."""

    values: tuple[float, ...]
    failed: int
    missing: int
    undefined: int
    """Runs that are done, and have no such number."""

    @property
    def mean(self) -> float | None:
        """The mean of those that have the number."""
        return math.fsum(self.values) / len(self.values) if self.values else None

    @property
    def lacks(self) -> int:
        """Runs without the number, for whatever reason."""
        return self.failed + self.missing + self.undefined


def summed(rows: Iterable[Row], name: str) -> Sum:
    """Values of a metric over rows."""
    values: list[float] = []
    counts = {"failed": 0, "missing": 0, "undefined": 0}
    for row in rows:
        value = row.get(name)
        if row["status"] in counts:
            counts[row["status"]] += 1
        elif value is None:
            counts["undefined"] += 1
        else:
            values.append(value)
    return Sum(tuple(values), **counts)


def known_metrics(rows: Sequence[Row]) -> list[Metric]:
    """The metrics that any of the rows has."""
    return [m for m in metrics() if any(row.get(m.name) is not None for row in rows)]


def usual_pair(known: Sequence[Metric]) -> tuple[str, str]:
    """The default objectives: the cost of a write, and the waiting time of a reader."""
    names = [metric.name for metric in known]
    asked = ("response_ns_p99", WRITES) if "response_ns_p99" in names else (WRITES, "hit_ratio")
    x, y = (name if name in names else None for name in asked)
    return x or "cache_bytes", y or (names[0] if names else "cache_bytes")


def on_the_front(
    points: Sequence[tuple[str, float, float]], x: Metric, y: Metric
) -> list[tuple[str, float, float]]:
    """Of points with a policy's label, those that no other beats in both.

    Policies that know the future are no competitors.
    """
    sx, sy = (-1 if m.better == "higher" else 1 for m in (x, y))
    able = [p for p in points if p[0].partition("[")[0] not in offline()]
    able.sort(key=lambda p: (sx * p[1], sy * p[2], p[0]))
    found: list[tuple[str, float, float]] = []
    for point in able:
        better = not found or sy * point[2] < sy * found[-1][2]
        if better or point[1:] == found[-1][1:]:
            found.append(point)
    return found


def same_cover(covers: Sequence[frozenset[Any]]) -> frozenset[Any]:
    """The traces and seeds that settings are compared over: the largest set that any has.

    Means over other sets are not of the same loads, and stand in no comparison. Of sets of one
    size it is the most frequent one.
    """
    counts: dict[frozenset[Any], int] = {}
    for cover in covers:
        counts[cover] = counts.get(cover, 0) + 1
    return max(counts, key=lambda c: (len(c), counts[c], sorted(map(str, c))), default=frozenset())
