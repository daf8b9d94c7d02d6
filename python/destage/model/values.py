"""Values of metrics as tables and sentences have them."""

from __future__ import annotations

from destage.model.metrics import Metric
from destage.model.words import (
    NONE,
    TimeUnit,
    duration,
    number,
    percent,
    ratio,
    significant,
    volume,
)

__all__ = ["cell", "valued"]


def cell(metric: Metric, value: float | int | None, unit: TimeUnit | None = None) -> str:
    """A metric's value as a table shows it, without its unit; of times, in the column's unit."""
    if value is None:
        return NONE
    if metric.kind == "ratio":
        return ratio(value)
    if metric.kind == "time":
        return duration(value) if unit is None else unit.text(value)
    if metric.unit == "bytes" and metric.kind == "real" and (value >= 1e6 or unit):
        return volume(value) if unit is None else unit.text(value)
    is_whole = metric.kind == "count" or (metric.unit == "bytes" and value >= 100)
    return number(value, 0 if is_whole else 2)


def valued(metric: Metric, value: float | int | None) -> str:
    """A metric's value as a sentence has it, with the unit where a reader needs one."""
    if value is not None and metric.kind == "ratio":
        return percent(value)
    if value is not None and metric.kind == "real":
        return significant(value)
    return cell(metric, value)
