"""Rates and latencies of a device over its requests in flight: lines on logarithmic axes.

Needs the extra `report`; import this module only when a chart is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from destage.model.rows import Row
from destage.show.charts.axes import MICROS
from destage.show.charts.series import finish
from destage.show.charts.theme import DASHES, LIGHT, MARKERS, Theme

__all__ = ["over_chart"]


def over_chart(
    rows: Sequence[Row],
    name: str,
    titles: tuple[str, str],
    about: str,
    theme: Theme = LIGHT,
    *,
    from_zero: bool = False,
) -> Any:
    """Lines of `y` over `x`, one for each `line`; dashed by `kind`, where there are several.

    `titles` name the axes. A unit of microseconds in the second makes times of its values.
    `from_zero` is for a ratio: its axis is linear and begins at 0.
    """
    across, up = titles
    lines = list(dict.fromkeys(row["line"] for row in rows))
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    is_time = up.endswith("(µs)")
    short = "~g" if from_zero else "~s"
    label = MICROS.format("datum.value", "~g") if is_time else f"format(datum.value, '{short}')"
    x = alt.X(
        "x:Q",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(title=f"{across}, log scale", values=_ticks(rows), format="~g", grid=False),
    )
    title = up.removesuffix(" (µs)") if is_time else up
    log = alt.Scale(type="log", nice=False, domain=_domain(rows))
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(zero=True) if from_zero else log,
        axis=alt.Axis(
            title=title if from_zero else f"{title}, log scale", labelExpr=label, tickCount=5
        ),
    )
    colours = [theme.series[k % len(theme.series)] for k in range(len(lines))]
    legend = alt.Legend(title=None, symbolType="stroke") if len(lines) > 1 else None
    color = alt.Color("line:N", scale=alt.Scale(domain=lines, range=colours), legend=legend)
    shapes = [list(MARKERS)[k % len(MARKERS)] for k in range(len(lines))]
    shape = alt.Shape("line:N", scale=alt.Scale(domain=lines, range=shapes), legend=None)
    dash = alt.StrokeDash(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[list(DASHES[k]) for k in range(len(kinds))]),
        legend=alt.Legend(title=None, symbolType="stroke") if len(kinds) > 1 else None,
    )
    tooltip = [
        alt.Tooltip("line:N", title="Device"),
        alt.Tooltip("kind:N", title="State"),
        alt.Tooltip("x:Q", title=across, format="~g"),
        alt.Tooltip("y:Q", title=up, format=",.4~g"),
    ]
    base = alt.Chart(alt.InlineData(values=list(rows))).encode(x=x, y=y, color=color)
    drawn = base.mark_line(strokeWidth=1.8).encode(strokeDash=dash, detail="kind:N")
    points = base.mark_point(filled=True, size=36, opacity=1).encode(shape=shape, tooltip=tooltip)
    return finish(alt.layer(drawn, points), theme, name, about, 260, page=False)


def _ticks(rows: Sequence[Row], most: int = 10) -> list[float]:
    values = sorted({row["x"] for row in rows})
    return values[:: -(-len(values) // most)]


def _domain(rows: Sequence[Row]) -> list[float]:
    low, high = min(row["y"] for row in rows), max(row["y"] for row in rows)
    return [low / 1.15, high * 1.15]
