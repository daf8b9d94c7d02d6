"""Axes of values: from zero where lengths are compared, logarithmic where times lie far apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from destage.model.metrics import Metric
from destage.model.words import time_unit

__all__ = ["axis_format", "axis_title", "value_axis", "value_domain"]

#: Times that lie so many times apart have a logarithmic axis: on another the short ones are at 0.
DECADE = 10
#: Ticks of a logarithmic axis at most, where a decade has several.
MOST_TICKS = 8
#: Room at both ends of it, as a factor.
AIR = 1.3
#: How much longer intervals make an axis at most.
ROOM = 1.25


def value_domain(values: Sequence[float], kind: str, whole: float = 1.0) -> list[float]:
    """From zero; of hits and pages not if all values lie close together far away from it.

    Shares end at `whole` at most.

    Times and factors start at zero always: how much longer one is than another is what they say.
    """
    ratio = kind == "ratio"
    low, high = min(values, default=0), max(values, default=0)
    if high <= 0:
        return [0, 0.01 if ratio else 1]
    if low <= 0.6 * high or kind in ("time", "real"):
        return [0, high * 1.04]
    air = max((high - low) * 0.08, high * 0.005)
    top = high + air
    return [max(0.0, low - air), min(whole, top) if ratio else top]


def axis_format(metric: Metric, domain: Sequence[float]) -> dict[str, Any]:
    """How the labels of a metric's axis are written."""
    if metric.kind == "time":
        value = f"datum.value / {time_unit(domain).ns}"
        return {"labelExpr": f"format({value}, {value} < 1000 ? '.4~g' : ',.0f')"}
    if metric.kind == "ratio":
        # The title says per cent; the labels need not.
        return {"labelExpr": "format(100 * datum.value, '~g')"}
    if metric.kind == "count":
        form = "datum.value < 10000 ? ',.0f' : '~s'"
        return {"labelExpr": f"format(datum.value, {form})"}
    return {"format": ".3~g"}


def axis_title(metric: Metric, domain: Sequence[float], *, log: bool = False) -> str:
    """The title of a metric's axis, with its unit: that of its labels, so of the same domain."""
    unit = time_unit(domain).name if metric.kind == "time" else metric.shown_unit
    words = [unit] if unit else []
    words += ["log scale"] if log else ["not from 0"] if domain[0] > 0 else []
    return f"{metric.title} ({', '.join(words)})" if words else metric.title


def _reaching(domain: Sequence[float], ends: Sequence[float], *, log: bool) -> list[float]:
    """A domain that reaches as far as intervals, which leave the lines most of the height."""
    low, high = domain
    far = (ROOM - 1) * (high - low)
    least, most = (low / ROOM, high * ROOM) if log else (max(0.0, low - far), high + far)
    low = min(low, max(least, min(ends))) if low > 0 else low
    return [low, max(high, min(most, max(ends)))]


def _log_ticks(domain: Sequence[float]) -> list[float]:
    """Ticks of a logarithmic axis: one, two and five of each decade; over many, the decades."""
    low, high = domain
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1,)):
        ticks = [m * 10.0**k for k in decades for m in steps if low <= m * 10.0**k <= high]
        if len(ticks) <= MOST_TICKS:
            return ticks
    return ticks


def value_axis(
    metric: Metric, values: Sequence[float], ends: Sequence[float] = ()
) -> dict[str, Any]:
    """The scale and the axis of a metric over other values, with the `ends` of intervals."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    far = metric.kind == "time" and 0 < least * DECADE <= most
    domain = [least / AIR, most * AIR] if far else value_domain(values, metric.kind)
    domain = _reaching(domain, ends, log=far) if ends else domain
    kind = {"type": "log", "clamp": True} if far else {"zero": False}
    return {
        "scale": alt.Scale(domain=domain, nice=False, **kind),
        "axis": alt.Axis(
            title=axis_title(metric, domain, log=far),
            **({"values": _log_ticks(domain)} if far else {"tickCount": 6}),
            **axis_format(metric, domain),
        ),
    }
