"""The curve of a write budget: hits over bytes written in a day, the front joined.

Needs the extra `report`; import this module only when a chart is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt

from destage.base.io.extras import need_extra
from destage.base.io.files import Destination, made_folder
from destage.model.budget import DAY_NS, BudgetAdvised, Written
from destage.model.prices import YEAR_NS
from destage.model.rows import Row
from destage.show.charts.figures import rows_text, write_figure
from destage.show.charts.series import finish
from destage.show.charts.theme import LIGHT, Theme
from destage.show.charts.value_axes import value_domain

__all__ = ["budget_chart", "budget_rows", "save"]

GB = 1e9


def budget_rows(advised: BudgetAdvised) -> list[Row]:
    """Every run that writes, with the interval of its hits minus the advice's, by writes."""
    points = sorted(advised.points, key=lambda one: one.bytes_per_day)
    return [_row(advised, one) for one in points if one.bytes_per_day > 0]


def _row(advised: BudgetAdvised, one: Written) -> Row:
    # Hits lie between 0 and 1, whatever a wide interval of a difference says.
    bounds = one.interval_from(advised.chosen) or ()
    ends = [100 * min(max(advised.chosen.hits + end, 0.0), 1.0) for end in bounds]
    return {
        "label": one.run.label,
        "filter": one.filter,
        "gb_per_day": one.bytes_per_day / GB,
        "hits": 100 * one.hits,
        "low": ends[0] if ends else None,
        "high": ends[1] if ends else None,
        "years": one.years(advised.endurance_bytes),
        "front": any(one is other for other in advised.front),
    }


def budget_chart(advised: BudgetAdvised, theme: Theme, *, page: bool) -> Any:
    """Hits over gigabytes a day; the budget is a dashed line, the advice a diamond."""
    rows = budget_rows(advised)
    budget = advised.budget.bytes_per_day / GB
    days = [row["gb_per_day"] for row in rows] + [budget]
    seen = [row[key] for row in rows for key in ("hits", "low", "high") if row[key] is not None]
    scale = alt.Scale(type="log", domain=[min(days) / 1.15, max(days) * 1.15], nice=False)
    title = "Written to flash (GB a day)"
    x = alt.X("gb_per_day:Q", scale=scale, axis=alt.Axis(title=title, format="~g", tickCount=6))
    y = alt.Y(
        "hits:Q",
        scale=alt.Scale(domain=value_domain(seen, "real"), nice=False, zero=False),
        axis=alt.Axis(title="Hits (%)", tickCount=6, format=".4~g"),
    )
    names = list(dict.fromkeys(row["filter"] for row in rows))
    colours = [*theme.series, theme.ink, theme.faint][: len(names)]
    color = alt.Color(
        "filter:N",
        scale=alt.Scale(domain=names, range=colours),
        legend=alt.Legend(title=None, orient="top", symbolType="circle", columns=4),
    )
    tips = [
        alt.Tooltip("label:N", title="Configuration"),
        alt.Tooltip("gb_per_day:Q", title="GB a day", format=".4~g"),
        alt.Tooltip("hits:Q", title="Hits (%)", format=".4~g"),
        alt.Tooltip("years:Q", title="Life (years)", format=".3~g"),
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x)
    bars = base.transform_filter("datum.front && datum.low != null").mark_rule(stroke=theme.muted)
    line = base.transform_filter("datum.front").mark_line(
        strokeWidth=1.6, stroke=theme.ink, interpolate="step-after"
    )
    dots = base.mark_point(filled=True, size=46, opacity=1).encode(y=y, color=color, tooltip=tips)
    rule = alt.Chart(alt.InlineData(values=[{"budget": budget}])).mark_rule(
        strokeDash=[4, 3], stroke=theme.faint
    )
    layers = [bars.encode(y=alt.Y("low:Q"), y2="high:Q"), line.encode(y=y), dots]
    layers.append(rule.encode(x=alt.X("budget:Q", scale=scale)))
    if advised.chosen.bytes_per_day > 0:
        spot = alt.Chart(alt.InlineData(values=[_row(advised, advised.chosen)])).encode(x=x, y=y)
        layers.append(
            spot.mark_point(
                shape="diamond",
                size=170,
                filled=False,
                strokeWidth=2.4,
                stroke=theme.best,
                opacity=1,
            )
        )
    layered = alt.layer(*layers)
    if advised.endurance_bytes is not None:
        layered = _with_life(layered, base, advised.endurance_bytes, scale)
    about = "Hits over flash writes of a day; the Pareto front is joined, the advice a diamond"
    return finish(layered, theme, "write_budget", about, 340, page=page)


def _with_life(layered: Any, base: Any, endurance_bytes: float, scale: alt.Scale) -> Any:
    """The same with the years that a device lasts above the chart."""
    years = f"{endurance_bytes / GB / (YEAR_NS / DAY_NS)!r} / datum.value"
    axis = alt.Axis(
        orient="top",
        title="Life of the SSD (years)",
        labelExpr=f"{years} < 100 ? format({years}, '.2~g') : format({years}, ',.0f')",
        tickCount=6,
        grid=False,
    )
    above = base.mark_point(opacity=0, size=0).encode(
        x=alt.X("gb_per_day:Q", scale=scale, axis=axis)
    )
    return alt.layer(layered, above).resolve_axis(x="independent")


def save(advised: BudgetAdvised, folder: Destination) -> list[Path]:
    """Write the figure in each form beside its data; return the files."""
    need_extra("saving figures")
    spec = budget_chart(advised, LIGHT, page=False).to_dict()
    rows = rows_text(budget_rows(advised))
    return write_figure(made_folder(folder) / "write_budget", spec, rows)
