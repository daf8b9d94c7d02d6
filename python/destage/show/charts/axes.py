"""Axes of time: response times in decades, and the run in seconds, minutes or hours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from destage.show.charts.theme import Theme

__all__ = ["MICROS", "log_axis", "run_axis", "span_unit", "warmup_shade"]

#: A number of microseconds in the unit that leaves few digits, as a Vega expression.
MICROS = (
    "{0} >= 1e6 ? format({0} / 1e6, '{1}') + ' s' : "
    "{0} >= 1e3 ? format({0} / 1e3, '{1}') + ' ms' : format({0}, '{1}') + ' µs'"
)
#: Units of a time axis: name, seconds, up to how many seconds.
SECONDS = (("ms", 1e-3, 1.0), ("s", 1.0, 600.0), ("min", 60.0, 14_400.0), ("h", 3600.0, math.inf))


def span_unit(seconds: float) -> tuple[str, float]:
    """The unit that suits a span: its name, and its length in seconds."""
    return next((name, unit) for name, unit, below in SECONDS if seconds < below)


def run_axis(seconds: float) -> dict[str, Any]:
    """The axis of a run that takes so long."""
    name, unit = span_unit(seconds)
    return {
        "scale": alt.Scale(domain=[0, seconds], nice=False),
        "axis": alt.Axis(
            title=f"Time ({name})",
            values=_steps(seconds, unit),
            labelExpr=f"format(datum.value / {unit:g}, '~g')",
            grid=False,
        ),
    }


def warmup_shade(
    field: str,
    ends: Mapping[int, float],
    axis: Mapping[str, Any],
    theme: Theme,
    *,
    chosen: bool = False,
) -> list[alt.Chart]:
    """A layer over the part of a time axis that was not measured; none without a warm-up.

    `ends` are by frames; those that are `chosen` on the page are shown.
    """
    rows = [
        {field: 0, "warmup_end": end, "warmup": "not measured", "frames": frames}
        for frames, end in ends.items()
        if end > 0
    ]
    if not rows:
        return []
    shade = alt.Chart(alt.InlineData(values=rows)).mark_rect(fill=theme.faint, opacity=0.14)
    if chosen:
        shade = shade.transform_filter("datum.frames === frames")
    tips = [alt.Tooltip("warmup:N", title="Warm-up")]
    return [shade.encode(x=alt.X(f"{field}:Q", **axis), x2="warmup_end:Q", tooltip=tips)]


def log_axis(micros: Sequence[float], title: str) -> dict[str, Any]:
    """A logarithmic axis of microseconds, a tick a decade, from the least to the largest."""
    low, high = min(micros, default=1.0), max(micros, default=1000.0)
    low, high = low / 1.25, max(high * 1.05, low * 4)
    decades = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    steps = (1,) if len(decades) > 2 else (1, 2, 5)
    first = math.floor(math.log10(low))
    ticks = [m * 10.0**k for k in range(first, decades.stop) for m in steps]
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(
            title=f"{title}, log scale",
            values=[t for t in ticks if low <= t <= high],
            labelExpr=MICROS.format("datum.value", "~g"),
            labelOverlap="parity",
        ),
    }


def _steps(seconds: float, unit: float) -> list[float]:
    """Some six whole ticks of a time axis, in seconds."""
    whole = seconds / unit
    raw = whole / 6
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((m * power for m in (1, 2, 5) if m * power >= raw), 10 * power)
    return [round(k * step, 9) * unit for k in range(math.floor(whole / step + 1e-9) + 1)]
