"""Heat maps: a row is a unit of the device, a column a span of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from destage.model.rows import Row
from destage.show.charts.axes import run_axis, span_unit
from destage.show.charts.theme import Theme

__all__ = ["PANELS", "heat_legend", "heat_map", "shaded"]

#: What the halves of a heat map show: field, title, which of the theme's colours.
PANELS = {"host": ("for the host", 0), "collecting": ("in GC", 1)}


def heat_legend(title: str, color: str, theme: Theme, **more: Any) -> alt.Legend:
    """The legend of a colour that grows stronger, below the map."""
    return alt.Legend(
        title=title,
        orient="bottom",
        direction="horizontal",
        symbolType="square",
        symbolSize=170,
        symbolStrokeWidth=0,
        symbolFillColor=color,
        titleFontSize=12,
        titleFontWeight="normal",
        titleColor=theme.faint,
        labelFontSize=11,
        labelColor=theme.faint,
        **more,
    )


def heat_map(base: Any, rows: Sequence[Row], what: str, theme: Theme) -> Any:
    """One half of a map, `host` or `collecting`; `rows` has all maps beside it."""
    title, place = PANELS[what]
    color = theme.series[place]
    # One scale for all that stand side by side: what looks alike is alike.
    most = max((share for r in rows for share in r[what]), default=0) or 1.0
    units = max(r["last"] for r in rows) + 1
    seconds = max(r["step_s"] * len(r[what]) for r in rows)
    name, unit = span_unit(seconds)
    scale = alt.Scale(domain=[0, most], range=[0, 1], nice=False)
    legend = heat_legend(
        f"Time {title} (%)",
        color,
        theme,
        titleOrient="left",
        values=[most * k / 4 for k in range(5)],
        labelExpr="format(100 * datum.value, '.2~r')",
        columnPadding=8,
    )
    cells = (
        base.transform_flatten(["host", "collecting"])
        .transform_window(period="row_number()", groupby=["unit"])
        .transform_calculate(
            from_s="(datum.period - 1) * datum.step_s",
            to_s="datum.period * datum.step_s",
            next="datum.last + 1",
            time_text=f"format((datum.period - 0.5) * datum.step_s / {unit:g}, ',.4~r')"
            f" + ' {name}'",
            name="datum.last > datum.unit ? 'units ' + datum.unit + ' to ' + datum.last"
            " : 'unit ' + datum.unit",
        )
        .transform_filter(f"datum.{what} > 0")
        .mark_rect(fill=color, strokeWidth=0, aria=False)
        .encode(
            x=alt.X("from_s:Q", **run_axis(seconds)),
            x2="to_s:Q",
            y=_units(units),
            y2="next:Q",
            tooltip=[
                alt.Tooltip("name:N", title="Unit"),
                alt.Tooltip("time_text:N", title="Time"),
                alt.Tooltip("host:Q", title="For the host", format=".3~%"),
                alt.Tooltip("collecting:Q", title="In GC", format=".3~%"),
            ],
        )
    )
    return shaded(cells, f"{what}:Q", scale, legend)


def shaded(cells: Any, field: str, scale: alt.Scale, legend: alt.Legend) -> Any:
    """Cells whose fill grows stronger with a field, and its legend.

    A PDF has an object for each mark with `opacity`, and none for `fillOpacity`, which has no
    legend in Vega: a layer without marks brings it.
    """
    fill = cells.encode(fillOpacity=alt.FillOpacity(field, scale=scale, legend=None))
    unseen = cells.transform_filter("false")
    return alt.layer(fill, unseen.encode(opacity=alt.Opacity(field, scale=scale, legend=legend)))


def _units(count: int) -> alt.Y:
    """The axis of the units, the first on top."""
    return alt.Y(
        "unit:Q",
        scale=alt.Scale(domain=[0, count], nice=False, reverse=True),
        axis=alt.Axis(
            title="Unit",
            values=list(range(0, count + 1, max(1, -(-count // 8)))),
            labelOverlap=False,
            grid=False,
        ),
    )
