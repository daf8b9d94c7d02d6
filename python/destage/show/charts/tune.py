"""The chart of a tuned parameter: the objective over its values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from destage.base.io.extras import need_extra
from destage.base.io.files import Destination, made_folder
from destage.model.ranges import Value
from destage.model.rows import Row
from destage.model.tuned import TunedCurve
from destage.model.words import time_unit
from destage.show.charts.figures import offline, rows_text, write_figure
from destage.show.charts.theme import LIGHT, styles

if TYPE_CHECKING:
    from altair import LayerChart

__all__ = ["chart", "save"]


def rows(tuned: TunedCurve, parameter: str) -> list[Row]:
    """The best objective at each value of a parameter, for each cache size."""
    found: list[Row] = []
    for size, points in tuned.by_size().items():
        best: dict[Value, float] = {}
        for point in points:
            at = point.values[parameter]
            if at not in best or tuned.objective.better(point.objective, best[at]):
                best[at] = point.objective
        top = tuned.best[size].point.values[parameter]
        found += [
            {"cache": size, parameter: at, tuned.objective.metric.name: value, "best": at == top}
            for at, value in best.items()
        ]
    return found


def chart(tuned: TunedCurve, parameter: str) -> LayerChart:
    """The objective over one parameter, a line per cache size."""
    need_extra("the chart")
    import altair as alt

    from destage.show.charts.series import configure
    from destage.show.charts.value_axes import value_domain

    metric = tuned.objective.metric
    data = rows(tuned, parameter)
    title, scale = metric.title, 1.0
    if metric.kind == "time":
        unit = time_unit(row[metric.name] for row in data)
        title, scale = f"{metric.title} ({unit.name})", float(unit.ns)
    elif metric.kind == "ratio":
        title, scale = f"{metric.title} (%)", 0.01
    elif metric.unit:
        title = f"{metric.title} ({metric.unit})"
    drawn = [{**row, metric.name: row[metric.name] / scale} for row in data]
    values = [row[parameter] for row in data]
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    sizes = list(tuned.by_size())
    colors = [style.color for style in styles(sizes, LIGHT).values()]
    x = alt.X(parameter, type="quantitative" if numeric else "nominal", sort=None, title=parameter)
    domain = value_domain([row[metric.name] for row in drawn], metric.kind, 1 / scale)
    base = alt.Chart(alt.InlineData(values=drawn)).encode(
        # Room for a diamond at either end.
        x=x.scale(zero=False, nice=False, padding=12) if numeric else x,
        y=alt.Y(metric.name, type="quantitative", title=title).scale(domain=domain, nice=False),
        color=alt.Color("cache", type="nominal", title="cache", sort=sizes).scale(
            domain=sizes, range=colors
        ),
    )
    line = base.mark_line(point=alt.OverlayMarkDef(size=18, filled=True))
    best = base.transform_filter("datum.best").mark_point(
        size=110, filled=True, shape="diamond", opacity=1
    )
    goal = "largest" if tuned.objective.largest else "smallest"
    said = f"{tuned.policy}; a diamond: the {goal} at its cache size"
    # A line at zero, or a word that the axis does not go down to it.
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(stroke=LIGHT.faint)
    cut = domain[0] > 0
    under = [] if cut else [zero.encode(y=alt.Y("zero:Q"))]
    title_of = alt.TitleParams(said, subtitle="the axis does not begin at zero" if cut else "")
    layered = alt.layer(*under, line, best).properties(width=520, height=280, title=title_of)
    configured: LayerChart = configure(layered, LIGHT, page=False)
    return offline(configured)


def save(tuned: TunedCurve, folder: Destination) -> list[Path]:
    """Write a figure per parameter as SVG and PNG, beside its data as CSV; return the files."""
    target = made_folder(folder)
    written: list[Path] = []
    for parameter in tuned.ranges:
        spec = chart(tuned, parameter).to_dict()
        stem = target / f"{tuned.objective.metric.name}_over_{parameter}"
        written += write_figure(stem, spec, rows_text(rows(tuned, parameter)))
    return written
