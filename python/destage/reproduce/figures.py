"""The papers' figures from our rows: first as data, then as charts in the papers' axes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from destage.reproduce.claims import AXES, Figure, Paper
from destage.reproduce.frame import Cell, Frame
from destage.reproduce.quantities import quantity
from destage.reproduce.statistics import estimate
from destage.reproduce.workloads import own_axis

__all__ = ["Drawing", "Point", "drawing", "svg"]

#: Nanoseconds in the unit of an axis.
_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3}
#: Points of a distribution that a result keeps, as suffix and share.
_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999))
#: Recordings stand apart from the paper's own loads.
SUFFIX = {"recording": " (ours)", "excerpt": " (excerpt)"}


@dataclass(frozen=True)
class Point:
    """A value of a figure, with the 95 % interval of its mean."""

    panel: str
    x: str
    series: str
    y: float
    low: float
    high: float
    at: float | None = None
    """Place on a numerical axis (a distribution's)."""


@dataclass(frozen=True)
class Drawing:
    """A figure's data."""

    figure: Figure
    points: tuple[Point, ...]
    x_order: tuple[str, ...]
    series_order: tuple[str, ...]
    panel_order: tuple[str, ...]
    percent: bool
    """Ratios are shown in per cent."""

    @property
    def empty(self) -> bool:
        """Whether the runs gave nothing to draw."""
        return not self.points


def drawing(figure: Figure, frame: Frame, paper: Paper) -> Drawing:
    """Collect a figure's data from its runs."""
    cells = list(frame.places(figure.at))
    points: list[Point] = []
    for cell in cells:
        for policy in figure.policies:
            for label, metric in figure.metrics.items():
                points += _points(figure, frame, paper, cell, policy, label, metric)
    percent = figure.relative is None and all(m.endswith("_ratio") for m in figure.metrics.values())
    return Drawing(
        figure,
        tuple(points),
        tuple(dict.fromkeys(p.x for p in points)),
        tuple(dict.fromkeys(p.series for p in points)),
        tuple(dict.fromkeys(p.panel for p in points)),
        percent,
    )


def _points(
    figure: Figure,
    frame: Frame,
    paper: Paper,
    cell: Cell,
    policy: str,
    label: str,
    metric: str,
) -> list[Point]:
    named = dict(zip(AXES, cell, strict=True)) | {"policy": policy}
    load = own_axis(paper.workloads, cell[0]) or cell[0]
    named["workload"] = load + SUFFIX.get(frame.kinds[cell[0]], "")
    panel = named[figure.panels] if figure.panels else ""
    series = label or named[figure.series]
    if figure.mark == "cdf":
        return _distribution(frame, cell, policy, metric, panel, named["workload"])
    values = _values(figure, frame, cell, policy, metric)
    if not values:
        return []
    unit = _UNITS.get(figure.unit, 1.0)
    e = estimate([v / unit for v in values])
    return [Point(panel, named[figure.x], series, e.mean, e.low, e.high)]


def _values(figure: Figure, frame: Frame, cell: Cell, policy: str, metric: str) -> list[float]:
    own = frame.values(cell, policy, metric)
    if figure.relative is None:
        return list(own.values())
    if figure.relative == "worst":
        rivals = [frame.values(cell, p, metric) for p in figure.policies]
        worst = max((estimate(list(r.values())).mean for r in rivals if r), default=0.0)
        return [v / worst for v in own.values()] if worst else []
    other = frame.values(cell, figure.relative, metric)
    # What is no number has no place in a chart; the claims' cases say which it is.
    return [v for v in quantity(figure.form, {"of": own, "to": other}).values if math.isfinite(v)]


def _distribution(
    frame: Frame, cell: Cell, policy: str, metric: str, panel: str, series: str
) -> list[Point]:
    found = []
    for suffix, share in _PERCENTILES:
        values = frame.values(cell, policy, f"{metric}_{suffix}")
        if values:
            at = estimate(list(values.values())).mean / (1000 if "permille" in metric else 1)
            found.append(Point(panel, suffix, series, share, share, share, at))
    return found


def svg(drawn: Drawing) -> str:
    """Draw a figure. Needs the extra `report`."""
    from destage.charts.engine import engine
    from destage.charts.theme import VEGA_LITE

    text = engine().vegalite_to_svg(_chart(drawn).to_dict(), vl_version=VEGA_LITE)
    # The renderer counts its clip paths on from figure to figure.
    seen: dict[str, str] = {}
    prefix = re.sub(r"\W", "", drawn.figure.id)

    def renamed(match: re.Match[str]) -> str:
        return seen.setdefault(match[0], f"{prefix}clip{len(seen) + 1}")

    return re.sub(r"\bclip\d+\b", renamed, text)


def _rows(drawn: Drawing) -> list[dict[str, Any]]:
    """The points as the chart takes them; shares in per cent."""
    factor = 100.0 if drawn.percent else 1.0
    return [
        {
            "panel": p.panel,
            "x": p.x,
            "at": p.at,
            "series": p.series,
            "y": factor * p.y,
            "low": factor * p.low,
            "high": factor * p.high,
        }
        for p in drawn.points
    ]


def _chart(drawn: Drawing) -> Any:
    """The chart, in the paper's axes."""
    import altair as alt

    from destage.charts.comparison import finish
    from destage.charts.theme import LIGHT, styles

    figure = drawn.figure
    look = styles(_renamed(drawn.series_order), LIGHT)
    colours = [look[s].color for s in _renamed(drawn.series_order)]
    color = alt.Color(
        "series:N",
        scale=alt.Scale(domain=list(drawn.series_order), range=colours),
        legend=alt.Legend(title=None, orient="bottom", labelLimit=240)
        if len(drawn.series_order) > 1
        else None,
    )
    dashes = [look[s].dash for s in _renamed(drawn.series_order)]
    dash = alt.StrokeDash(
        "series:N", scale=alt.Scale(domain=list(drawn.series_order), range=dashes), legend=None
    )
    y_title = None if figure.y_title == "-" else figure.y_title
    axis = alt.Axis(title=y_title, tickCount=5, format="~s")
    zero = figure.mark != "line"
    y = alt.Y("y:Q", axis=axis, scale=alt.Scale(zero=zero))
    x_title = None if figure.x_title == "-" else figure.x_title
    base = alt.Chart(alt.InlineData(values=_rows(drawn)))
    if figure.mark == "cdf":
        x: Any = alt.X("at:Q", axis=alt.Axis(title=x_title))
        share = alt.Y("y:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title=y_title))
        line = base.mark_line(point=True)
        layers = [line.encode(x=x, y=share, color=color, strokeDash=dash)]
    else:
        angle = 0 if len(drawn.x_order) < 7 else -30
        across = alt.Axis(title=x_title, labelAngle=angle, grid=False)
        x = alt.X("x:N", sort=list(drawn.x_order), axis=across)
        layers = _marks(alt, base, figure, drawn, (x, y, color, dash))
    layer = alt.layer(*layers)
    width = 210 if len(drawn.panel_order) > 1 else 560
    if len(drawn.panel_order) > 1:
        # Every panel has its own scale, as the papers' have.
        chart = layer.properties(width=width, height=150).facet(
            facet=alt.Facet("panel:N", sort=list(drawn.panel_order), title=None),
            columns=_columns(len(drawn.panel_order)),
        )
        # An x axis below each: one for a column would also stand below an empty place.
        chart = chart.resolve_scale(y="independent").resolve_axis(x="independent")
        return _faceted(alt, chart, figure.title)
    return finish(layer, LIGHT, figure.id, figure.title, 260, page=False)


def _columns(panels: int) -> int:
    """Panels side by side: four at most, and as few empty places as can be."""
    return min((4, 3), key=lambda columns: -panels % columns) if panels > 4 else panels


def _faceted(alt: Any, chart: Any, about: str) -> Any:
    """The look of `finish`, which does not take several panels."""
    from destage.charts.theme import LIGHT

    return chart.properties(description=about).configure(
        background="white",
        font="Liberation Sans, Helvetica, Arial, sans-serif",
        padding=10,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=LIGHT.faint,
            titleColor=LIGHT.faint,
            titleFontWeight="normal",
            gridColor=LIGHT.grid,
            domainColor=LIGHT.muted,
            tickColor=LIGHT.muted,
        ),
        legend=alt.LegendConfig(labelColor=LIGHT.ink, labelFontSize=12),
        header=alt.HeaderConfig(labelColor=LIGHT.ink, labelFontWeight="bold"),
    )


def _marks(alt: Any, base: Any, figure: Figure, drawn: Drawing, channels: Any) -> list[Any]:
    x, y, color, dash = channels
    order = list(drawn.series_order)
    if figure.mark == "line":
        line = base.mark_line(strokeWidth=1.6, point=alt.OverlayMarkDef(size=28))
        return [
            line.encode(x=x, y=y, color=color, strokeDash=dash),
            base.mark_rule().encode(x=x, y="low:Q", y2="high:Q", color=color),
        ]
    if figure.mark == "stack":
        return [base.mark_bar().encode(x=x, y=y, color=color)]
    offset = alt.XOffset("series:N", sort=order)
    bars = base.mark_bar().encode(x=x, y=y, color=color, xOffset=offset)
    # The interval of the mean, where the load was drawn more than once.
    rule = base.mark_rule(strokeWidth=1, stroke="#1d2129").encode(
        x=x, y=alt.Y("low:Q"), y2="high:Q", xOffset=offset
    )
    return [bars, rule]


def _renamed(series: Sequence[str]) -> list[str]:
    """Labels by which the theme knows the references."""
    known: Mapping[str, str] = {"LRU": "lru", "MIN": "min"}
    return [known.get(s, s) for s in series]
