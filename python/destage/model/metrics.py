"""The numbers of a run: what each is called, its unit, which way is better."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from destage import _destage
from destage.model.naming import PREFIX_MIN, catalogue

__all__ = [
    "ALL_HITS",
    "BASELINE",
    "LARGEST_PENDING",
    "METRICS",
    "NO_CACHE",
    "ORACLE",
    "RENAMED",
    "WRITES",
    "Metric",
    "MetricGroup",
    "metric_groups",
    "metrics",
    "offline",
    "renamed_text",
    "suggestion",
]

#: The policy that others are measured against, if it is among them.
BASELINE: str = next(p["name"] for p in catalogue() if p["baseline"])
#: What writes are judged by: pages written, and the change of the pending writes.
WRITES = "flash_writes"
#: Hits of all tiers together.
ALL_HITS = "overall_hit_ratio"
#: Share of the flash writes that may be pending where what follows from writes is compared.
LARGEST_PENDING = 0.05
#: Names of earlier versions, and what those numbers are called now.
RENAMED: Mapping[str, str] = {
    "physical_writes_incl_owed": WRITES,
    "physical_writes_owed": "pending_writes",
    "dirty_left": "pending_writes",
    "dirty_left_bytes": "pending_write_bytes",
    "write_debt_ratio": "pending_write_ratio",
    "running_time": "cost",
}
#: What else changed with a name.
_MEANS: Mapping[str, str] = {"running_time": "; pending writes are counted too"}


def renamed_text(old: str) -> str:
    """The present name, and its changes, for an error."""
    return f"is called {RENAMED[old]} now{_MEANS.get(old, '')}"


def suggestion(typed: str, known: Iterable[str]) -> str:
    """The end of an error: the nearest of the known names, or the new name of an old one."""
    names = [*known]
    begun = [name for name in names if len(typed) > 2 and name.startswith(typed)]
    near = begun[0] if begun else _destage.nearest(typed, [*names, *RENAMED])
    if near is None:
        return ""
    if near in RENAMED:
        return f", did you mean {RENAMED[near]}? ({near} {renamed_text(near)})"
    return f", did you mean {near}?"


#: The policy that uses future accesses: a bound on the others, never a winner among them.
#: The policy, and the cache size, of a run without a cache.
NO_CACHE = "none"
ORACLE: str = next(p["name"] for p in catalogue() if p["offline"])


@dataclass(frozen=True)
class MetricGroup:
    """Related metrics: a heading of lists."""

    group: str
    """Key."""
    title: str
    """Heading."""
    about: str
    """Definitions that its metrics share; may be empty."""
    of_device: bool
    """Whether only runs in front of a device have its metrics."""
    is_rare: bool
    """Whether few devices have this part: its metrics are left out of lists where all are 0."""


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
    """Definition."""
    group: MetricGroup
    """Group in which lists show it."""
    rank: int = 0
    """Place within its group, before the order of the columns."""
    short: str = ""
    """Short name that people may type; empty if it has none."""
    views: tuple[tuple[str, int], ...] = ()
    """Views that show it, each with its place there."""
    deferral: str = "none"
    """Work that it leaves out: `none`, the pending `writes`, or the `waits` for them."""
    whole: bool = False
    """Whether its values are whole numbers: counts, and times that were observed."""
    charted: bool = False
    """Whether pages have a chart of it."""
    of_policy: bool = False
    """Whether policies count it by their own declaration."""

    @property
    def shown_unit(self) -> str:
        """Unit of the number as it is shown: ratios are shown in per cent."""
        return "%" if self.kind == "ratio" else self.unit

    def is_core(self, timed: bool) -> bool:
        """Whether a table of runs with a device, or without one, shows it unasked."""
        return self.shown in ("always", "with_device" if timed else "without_device")


@cache
def _declared() -> Mapping[str, Any]:
    declared: Mapping[str, Any] = json.loads(_destage.metrics())
    return declared


@cache
def metric_groups() -> tuple[MetricGroup, ...]:
    """Every group, in the order of lists."""
    return tuple(MetricGroup(**group) for group in _declared()["groups"])


@cache
def metrics() -> tuple[Metric, ...]:
    """Every metric, in the order of the columns.

    >>> metrics()[0].name
    'hit_ratio'
    """
    groups = {group.group: group for group in metric_groups()}
    return tuple(
        Metric(**{**row, "group": groups[row["group"]], "views": tuple(map(tuple, row["views"]))})
        for row in _declared()["metrics"]
    )


def _compared(known: Sequence[Metric]) -> Iterable[Metric]:
    """The engine's metrics, and `writes_vs_lru`, which takes two runs."""
    names = {metric.name for metric in known}
    for metric in known:
        yield metric
        if metric.name == (WRITES if WRITES in names else "physical_writes"):
            about = f"flash writes over {BASELINE}'s at the same cache size"
            yield replace(
                metric,
                name="writes_vs_lru",
                title=f"Writes / {BASELINE}",
                kind="real",
                whole=False,
                unit="ratio",
                shown="always",
                about=about,
                short="",
                views=(),
            )


#: What runs side by side are compared by, in the order of the columns.
METRICS: tuple[Metric, ...] = tuple(_compared(metrics()))


@cache
def offline() -> frozenset[str]:
    """Policies that know the future: bounds, and no competitors."""
    return frozenset(p["name"] for p in catalogue() if p["offline"]) | {PREFIX_MIN}
