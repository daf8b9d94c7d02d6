"""Counters and adapted parameters of a run, period by period, as rows.

A period is what `run(..., series=N)` leaves: `first_access`, every counter, and the policy's
gauges, such as ARC's p.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from destage import _destage
from destage.model.rows import Row
from destage.model.words import finite

__all__ = ["GAUGES", "MOST_PERIODS", "gauges", "names", "rows_of"]

#: Most points of time that a line or a row of a heat map has.
MOST_PERIODS = 120

Periods = Sequence[Mapping[str, float | int]]


def _titles() -> dict[str, str]:
    """Of every gauge that a policy declares, its title and unit."""
    policies = json.loads(_destage.policies())
    declared = (gauge for policy in policies for gauge in policy.get("gauges", ()))
    return {g["name"]: g["title"] + (f" ({g['unit']})" if g["unit"] else "") for g in declared}


#: Titles of gauges, by name: what the papers call them, and their units.
GAUGES = _titles()

_HITS = ("read_hits", "write_hits")
_ACCESSES = (*_HITS, "read_misses", "write_misses")
#: Counters that are shown, in this order; gauges follow.
_COUNTED = ("hit_ratio", "physical_reads", "physical_writes")


def gauges(periods: Periods) -> list[str]:
    """Names of gauges: counters are whole numbers in every period."""
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
