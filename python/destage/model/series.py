"""How a run develops, period by period, as rows: what was counted, and where the policy adapted to.

A period is what `run(..., series=N)` leaves: `first_access`, every counter, and the policy's gauges
(ARC's p, BPAC's thresholds and alpha, AALRU's tau).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from destage.model.results import Row
from destage.model.words import finite

__all__ = ["GAUGES", "gauges", "names", "rows_of"]

Periods = Sequence[Mapping[str, float | int]]

#: Titles of gauges, by name: what the papers call them, and their units.
GAUGES = {
    "p": "p: target of T1 (pages)",
    "beta": "beta: share of the clean list",
    "delta_c": "delta_C (pages)",
    "delta_d": "delta_D (pages)",
    "pird_thd": "PIRD_thd (page writes)",
    "bird_thd": "BIRD_thd (page writes)",
    "alpha": "alpha: share of clusters in lifetime",
    "alpha_mean": "Mean alpha",
    "clusters": "Clusters",
    "p_list_pages": "Pages of the p-list",
    "tau": "tau: share of the read buffer",
    "th": "Th: dirty pages that are padded (pages)",
    "wf": "Wf: write amplification",
    "rb_pages": "Pages of the read buffer",
}

_HITS = ("read_hits", "write_hits")
_ACCESSES = (*_HITS, "read_misses", "write_misses")
#: Shown of what is counted, in this order; gauges follow.
_COUNTED = ("hit_ratio", "physical_reads", "physical_writes")


def gauges(periods: Periods) -> list[str]:
    """Names of what is no counter: counters are whole numbers in every period."""
    found: dict[str, None] = {}
    for period in periods:
        found.update(dict.fromkeys(k for k, v in period.items() if isinstance(v, float)))
    return list(found)


def names(periods: Periods) -> list[str]:
    """Everything that can be drawn of a run over time."""
    return [name for name in (*_COUNTED, *gauges(periods)) if rows_of(periods, name)]


def rows_of(periods: Periods, name: str) -> list[Row]:
    """One number, period by period: `from_access`, `to_access`, `value`."""
    rows = []
    for period in periods:
        accesses = sum(int(period[key]) for key in _ACCESSES)
        first = int(period["first_access"])
        if name == "hit_ratio":
            hits = sum(period[key] for key in _HITS)
            value: float | int | None = hits / accesses if accesses else None
        else:
            # The last period may end before its gauges are read.
            value = finite(period.get(name))
        if value is not None:
            rows.append({"from_access": first, "to_access": first + accesses, "value": value})
    return rows
