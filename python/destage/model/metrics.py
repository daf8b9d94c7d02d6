"""The numbers of a run: what each is called, its unit, which way is better."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from destage import _destage

__all__ = [
    "BASELINE",
    "LARGEST_DEBT",
    "METRICS",
    "ORACLE",
    "WRITES",
    "Metric",
    "metrics",
    "offline",
]

#: The policy that others are measured against, if it is among them.
BASELINE = "lru"
#: What flash writes are judged by: those that are owed at the end are among them.
WRITES = "physical_writes_incl_owed"
#: Share of the writes that may be owed where writes, and what follows from them, are compared.
LARGEST_DEBT = 0.05
#: The policy that knows the future: a bound on the others, never a winner among them.
ORACLE = "min"


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

    @property
    def shown_unit(self) -> str:
        """Unit of the number as it is shown: ratios are shown in per cent."""
        return "%" if self.kind == "ratio" else self.unit

    def is_core(self, timed: bool) -> bool:
        """Whether a table of runs with a drive, or without one, shows it unasked."""
        return self.shown in ("always", "with_device" if timed else "without_device")


@cache
def metrics() -> tuple[Metric, ...]:
    """Every metric, in the order of the columns.

    >>> metrics()[0].name
    'hit_ratio'
    """
    return tuple(Metric(**m) for m in json.loads(_destage.metrics()))


def _compared(known: Sequence[Metric]) -> Iterable[Metric]:
    """The engine's metrics, and the one number that takes two runs."""
    names = {metric.name for metric in known}
    for metric in known:
        yield metric
        if metric.name == (WRITES if WRITES in names else "physical_writes"):
            about = f"flash writes, those owed included, over {BASELINE}'s at the same cache size"
            yield Metric(
                *("writes_vs_lru", f"Writes / {BASELINE}", "real", "ratio", "lower"),
                *("always", about),
            )


#: What runs side by side are compared by, in the order of the columns.
METRICS: tuple[Metric, ...] = tuple(_compared(metrics()))


@cache
def offline() -> frozenset[str]:
    """Policies that know the future: bounds, and no competitors."""
    return frozenset(p["name"] for p in json.loads(_destage.policies()) if p["offline"])
