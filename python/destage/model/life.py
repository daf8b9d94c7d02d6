"""Endurance of a device under a workload: drive writes per day, and lifetime in years."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from destage.model.metrics import WRITES

__all__ = ["Life", "life"]

_DAY_NS = 86_400e9
_YEAR_NS = 365.25 * _DAY_NS


@dataclass(frozen=True)
class Life:
    """A device at the load of a run, as fast as it came.

    Wear is taken as level over all blocks, which is the best that a device can do.
    """

    pe_cycles: int
    """Erases that a block endures."""
    drive_writes_per_day: float
    """Capacity that the cache writes to the device in a day, over that which the host sees."""
    years: float | None
    """Until every block has been erased so often; None if nothing was erased.

    A short run takes blocks that were free at its start, and erases fewer than it fills: then the
    pages that were programmed count, moved ones too, a block each `pages_per_block`.
    """


def life(
    drive: Mapping[str, Any] | None,
    timing: Mapping[str, Any] | None,
    pe_cycles: int | None,
    metrics: Mapping[str, int | float | None],
) -> Life | None:
    """How long a device lasts under a run; None where the run does not say.

    A closed loop goes as fast as the device, and says nothing of a day.

    Pages that became dirty while the run was measured wear the device as those did that it wrote.

    `pe_cycles` is what the user asks for, else what the device's own record says.
    """
    device = (drive or {}).get("device", {})
    cycles = pe_cycles or device.get("pe_cycles")
    closed = (drive or {}).get("host", {}).get("mode") == "closed"
    if not cycles or timing is None or closed:
        return None
    counters, wear = timing["counters"], timing.get("block_erases") or {}
    span, blocks = counters.get("makespan_ns"), wear.get("blocks")
    logical = device.get("logical_pages")
    if not span or not blocks or not logical:
        return None
    programs, writes = counters["flash_programs"], metrics.get("physical_writes") or 0
    flash_writes = metrics.get(WRITES)
    if flash_writes and not writes:
        return None  # All of it is pending: what wear it comes to is unknown.
    scale = flash_writes / writes if writes and flash_writes is not None else 1.0
    amplified = programs * (metrics.get("waf") or 1.0)
    filled = amplified / (device.get("pages_per_block") or math.inf)
    worn = max(counters["erases"], filled) * scale if counters["erases"] else 0.0
    years = cycles * blocks / worn * span / _YEAR_NS if worn else None
    return Life(cycles, programs * scale / logical * _DAY_NS / span, years)
