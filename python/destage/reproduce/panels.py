"""Draws the papers' figures: panels in the paper's axes, with what became of the claims about them.

The panels of a row share their scale. Panels whose values lie far apart stand in different rows:
on one scale the small ones could not be read.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from destage.reproduce.figures import SUFFIX, Drawing, Point
from destage.reproduce.over import COLORS, Spec, over, spec_of
from destage.reproduce.sums import Sums
from destage.reproduce.wording import number
from destage.show.charts.theme import (
    DASHES,
    LIGHT,
    MARKERS,
    VEGA_LITE,
    SeriesStyle,
    styles,
    variables,
)

__all__ = ["inline", "svg"]

#: A panel alone; panels side by side.
_ALONE, _PANEL = (560, 260), (224, 150)
#: Width of a letter of a title and of a label, in pixels.
_LETTER = 6.4
#: Panels stand in one row as long as their largest values lie within this factor.
_FAR = 6.0
#: Panels side by side, at most.
_ABREAST = 4
#: Bars at least that many times as high as all others would leave those flat: they are cut off.
_TOWER = 3.0
#: Of the height that is left for the others: where bars are cut off, and room for their numbers.
_CUT, _ROOM = 1.08, 1.45
#: A chart of more numbers than that would be longer than the figure: the table below has them.
_MOST_PRINTED = 24


def svg(drawn: Drawing, found: Sums) -> str:
    """Draw a figure. Needs the extra `report`."""
    from altair import data_transformers
    from altair.utils.schemapi import debug_mode

    from destage.show.charts.engine import engine

    # Altair would hold every part against its schema, and draw the data of all parts together.
    with debug_mode(False), data_transformers.enable(consolidate_datasets=False):
        spec = _chart(drawn, found)
    text = engine().vegalite_to_svg(spec, vl_version=VEGA_LITE)
    # The renderer counts its clip paths on from figure to figure.
    seen: dict[str, str] = {}
    prefix = re.sub(r"\W", "", drawn.figure.id)

    def renamed(match: re.Match[str]) -> str:
        return seen.setdefault(match[0], f"{prefix}clip{len(seen) + 1}")

    return re.sub(r"\bclip\d+\b", renamed, text)


def inline(picture: str) -> str:
    """The figure for a page, whose colours change with the page's."""
    names: dict[str, str] = {}
    for name, color in variables(LIGHT).items():
        names.setdefault(color, f"var({name})")
    themed = re.sub(r"#[0-9a-f]{6}\b", lambda m: names.get(m[0], m[0]), picture)
    return themed.replace('fill="white"', 'fill="var(--page)"')


@dataclass(frozen=True)
class _Row:
    """Panels side by side, and the scale that they share."""

    panels: tuple[str, ...]
    domain: tuple[float, float]
    most: float | None = None
    """Bars above that are cut off, with their number on them."""

    @property
    def cut(self) -> bool:
        """Whether the axis does not begin at zero."""
        return self.domain[0] > 0


def rows_of(drawn: Drawing) -> list[_Row]:
    """The panels in rows, panels of one order of magnitude together, in the paper's order.

    Loads from elsewhere have rows of their own.
    """
    elsewhere = [p for p in drawn.panel_order if p.endswith(tuple(SUFFIX.values()))]
    own = [p for p in drawn.panel_order if p not in elsewhere]
    found = []
    for group in (*_alike(drawn, own), *_alike(drawn, elsewhere)):
        columns = _columns(len(group))
        for k in range(0, len(group), columns):
            found.append(_row(drawn, tuple(group[k : k + columns])))
    return found


def _row(drawn: Drawing, panels: tuple[str, ...]) -> _Row:
    factor = 100.0 if drawn.percent else 1.0
    points = [p for p in drawn.points if p.panel in panels and drawn.figure.mark == "bar"]
    most = highest_of_the_others([factor * p.y for p in points])
    # The paper's numbers are never cut off.
    if most is not None and any(factor * (p.printed or 0.0) > _CUT * most for p in points):
        most = None
    domain = _domain(drawn, panels) if most is None else (0.0, _ROOM * most)
    return _Row(panels, domain, None if most is None else _CUT * most)


def highest_of_the_others(values: Sequence[float]) -> float | None:
    """The highest value below those that are several times as high; None if there are none.

    The higher ones are less than half of all. Where there is a value below zero nothing is cut.
    """
    ordered = sorted(values)
    if not ordered or ordered[0] < 0:
        return None
    for k in range(len(ordered) // 2 + 1, len(ordered)):
        if 0 < _TOWER * ordered[k - 1] <= ordered[k]:
            return ordered[k - 1]
    return None


def _alike(drawn: Drawing, panels: Sequence[str]) -> list[list[str]]:
    """Panels whose largest values lie within a factor, each group in the order of its first."""
    tops = {panel: _top(drawn, panel) for panel in panels}
    groups: list[list[str]] = []
    for panel in sorted(panels, key=lambda p: -tops[p]):
        if not groups or tops[panel] * _FAR < tops[groups[-1][0]]:
            groups.append([])
        groups[-1].append(panel)
    order = list(panels).index
    return sorted((sorted(group, key=order) for group in groups), key=lambda g: order(g[0]))


def _columns(panels: int) -> int:
    """Panels side by side: as few empty places as can be."""
    if panels <= _ABREAST:
        return max(1, panels)
    return min((_ABREAST, _ABREAST - 1), key=lambda columns: -panels % columns)


def _values(drawn: Drawing, panels: Sequence[str]) -> list[float]:
    """Everything that is drawn in some panels, in the unit of the axis."""
    factor = 100.0 if drawn.percent else 1.0
    points = [p for p in drawn.points if p.panel in panels]
    if drawn.figure.mark == "stack":
        towers: dict[tuple[str, str], float] = {}
        for p in points:
            towers[p.panel, p.x] = towers.get((p.panel, p.x), 0.0) + p.y
        return [factor * v for v in towers.values()]
    found = [v for p in points for v in (p.y, p.low, p.high)]
    found += [p.printed for p in points if p.printed is not None]
    return [factor * v for v in found]


def _top(drawn: Drawing, panel: str) -> float:
    return max(map(abs, _values(drawn, [panel])), default=0.0)


def _domain(drawn: Drawing, panels: Sequence[str]) -> tuple[float, float]:
    """The scale of a row: from zero, unless lines lie close together far away from it."""
    from destage.show.charts.value_axes import value_domain

    values = _values(drawn, panels)
    if _against(drawn):
        values.append(1.0)
    low, high = min(values, default=0.0), max(values, default=0.0)
    if low < 0:
        return 1.06 * low, max(0.0, 1.06 * high)
    if drawn.figure.mark == "line" and not _against(drawn):
        kind = "ratio" if drawn.percent else "time"
        first, last = value_domain(values, kind, 100.0)
        return first, last
    return 0.0, 1.06 * high or 1.0


def _against(drawn: Drawing) -> bool:
    """Whether the figure shows factors of one policy, which itself is 1."""
    return drawn.figure.relative is not None and drawn.figure.form == "ratio"


def _chart(drawn: Drawing, found: Sums) -> Spec:
    """The figure, and below it the paper's numbers with ours."""
    import altair as alt

    if drawn.figure.mark == "cdf":
        body = _Panels(alt, drawn, found).distribution()
    else:
        body = _Panels(alt, drawn, found).all()
    parts = [body]
    if 0 < len(found.printed) <= _MOST_PRINTED:
        parts.append(over(found.printed))
    told = alt.TitleParams(
        text=found.told,
        subtitle=_notes(drawn, found),
        anchor="start",
        fontSize=12,
        subtitleFontSize=11,
        subtitleColor=LIGHT.faint,
        offset=14,
    )
    whole = alt.VConcatChart(spacing=26, title=told).resolve_scale(
        color="independent", shape="independent", strokeDash="independent"
    )
    spec: Spec = _finished(whole, drawn.figure.title).to_dict()
    return spec | {"vconcat": parts}


def _notes(drawn: Drawing, found: Sums) -> list[str]:
    """Notes for a reader of the figure."""
    notes = []
    if len(drawn.panel_order) > 1 and drawn.figure.mark != "cdf":
        notes.append("The panels of a row share their scale.")
    if any(p.printed is not None for p in drawn.points):
        notes.append("Hollow diamonds are the paper's numbers, all other marks our runs.")
    else:
        notes.append("All marks are our runs.")
    if any(row.most is not None for row in rows_of(drawn)):
        notes.append("A bar under a number is cut off: it is that high.")
    if any(p.low < p.high for p in drawn.points) and drawn.figure.mark not in ("cdf", "stack"):
        notes.append("Thin lines: 95 % intervals.")
    return [" ".join(notes)] if notes else []


def _finished(chart: Any, about: str) -> Any:
    """The look of `finish`, which does not take several panels."""
    from destage.show.charts.series import configure

    return configure(chart.properties(description=about), LIGHT, page=False)


class _Panels:
    """The panels of one figure, drawn alike."""

    def __init__(self, alt: Any, drawn: Drawing, found: Sums) -> None:
        self.alt = alt
        self.drawn = drawn
        self.figure = drawn.figure
        self.found = found
        self.series = list(drawn.series_order)
        self.look = dict(zip(self.series, _looks(self.series, drawn.names), strict=True))
        self.several = len(drawn.panel_order) > 1
        self.width, self.height = _PANEL if self.several else _ALONE

    def all(self) -> Spec:
        """Rows of panels."""
        return {"vconcat": [self._row(row) for row in rows_of(self.drawn)], "spacing": 22}

    def _row(self, row: _Row) -> Spec:
        titles = {panel: self._title(panel) for panel in row.panels}
        deep = max(len(lines) for lines, _ in titles.values())
        panels = []
        for k, panel in enumerate(row.panels):
            lines, verdict = titles[panel]
            # As many lines over every panel of a row, so that their axes stand level.
            heading = self._heading([*lines, *[" "] * (deep - len(lines))], verdict)
            panels.append(spec_of(self._panel(panel, row, first=k == 0).properties(**heading)))
        return {"hconcat": panels, "spacing": 16}

    def _title(self, panel: str) -> tuple[list[str], str]:
        """A panel's name, broken to its width, and what became of its cases."""
        if not self.several:
            return [], ""
        lines = textwrap.wrap(panel, int(self.width / _LETTER)) or [" "]
        own = self.found.panels.get(panel)
        if own is None:
            return lines, ""
        return lines, f"{own.verdict}: {own.met} of {own.cases} cases"

    def _heading(self, lines: list[str], verdict: str) -> dict[str, Any]:
        if not lines:
            return {}
        title = self.alt.TitleParams(
            text=lines,
            subtitle=[verdict or " "],
            subtitleColor=COLORS.get(verdict.partition(":")[0], LIGHT.faint),
            subtitleFontSize=11,
            fontWeight="bold",
            fontSize=11.5,
            anchor="start",
            offset=5,
        )
        return {"title": title}

    def _panel(self, panel: str, row: _Row, *, first: bool) -> Any:
        alt = self.alt
        base = alt.Chart(alt.InlineData(values=_data(self.drawn, panel, row.most)))
        x, y = self._x(), self._y(row, first)
        layers = self._rules(base, row)
        layers += self._marks(base, x, y)
        layers += self._numbers(base, row, x)
        layers += self._printed(base, panel, x)
        return alt.layer(*layers).properties(width=self.width, height=self.height)

    def _x(self) -> Any:
        alt, order = self.alt, list(self.drawn.x_order)
        room = self.width / max(1, len(order))
        turned = any(len(text) * _LETTER > room for text in order)
        axis = alt.Axis(
            title=self.figure.x_title or None,
            labelAngle=-35 if turned else 0,
            labelLimit=120,
            labelOverlap=False,
            grid=False,
        )
        # A point on the axis would be cut off; every panel has a place for every value.
        return alt.X("x:N", sort=order, scale=alt.Scale(domain=order), axis=axis)

    def _y(self, row: _Row, first: bool) -> Any:
        alt = self.alt
        title = self.figure.y_title
        lines = textwrap.wrap(title, int(self.height / _LETTER))
        lines += ["(does not begin at zero)"] if row.cut else []
        axis = alt.Axis(
            title=(lines or None) if first else None,
            labels=first,
            tickCount=5,
            format="~s" if max(map(abs, row.domain)) >= 1000 else ".4~g",
        )
        return alt.Y("y:Q", axis=axis, scale=alt.Scale(domain=list(row.domain), nice=False))

    def _rules(self, base: Any, row: _Row) -> list[Any]:
        """The line at zero; a dashed one at 1 where all are factors of one policy."""
        alt = self.alt
        found = []
        if not row.cut:
            zero = alt.Chart(alt.InlineData(values=[{"y": 0}]))
            found.append(zero.mark_rule(stroke=LIGHT.faint).encode(y="y:Q"))
        if _against(self.drawn):
            one = alt.Chart(alt.InlineData(values=[{"y": 1}]))
            found.append(one.mark_rule(stroke=LIGHT.ink, strokeDash=[4, 3]).encode(y="y:Q"))
        return found

    def _scale(self, channel: str) -> Any:
        values = [getattr(self.look[s], channel) for s in self.series]
        return self.alt.Scale(domain=self.series, range=values)

    def _legend(self) -> Any:
        if len(self.series) < 2:
            return None
        return self.alt.Legend(
            title=None, orient="bottom", labelLimit=260, symbolSize=90, columns=6
        )

    def _color(self) -> Any:
        return self.alt.Color("series:N", scale=self._scale("color"), legend=self._legend())

    def _marks(self, base: Any, x: Any, y: Any) -> list[Any]:
        alt, mark = self.alt, self.figure.mark
        color = self._color()
        if mark == "stack":
            return [base.mark_bar().encode(x=x, y=y, color=color)]
        if mark == "line":
            dash = alt.StrokeDash("series:N", scale=self._scale("dash"), legend=None)
            shape = alt.Shape("series:N", scale=self._scale("marker"), legend=self._legend())
            point = base.mark_point(filled=True, opacity=1, size=44)
            return [
                base.mark_line(strokeWidth=1.7).encode(x=x, y=y, color=color, strokeDash=dash),
                base.mark_rule().encode(x=x, y="low:Q", y2="high:Q", color=color),
                point.encode(x=x, y=y, color=color, shape=shape),
            ]
        offset = alt.XOffset("series:N", sort=self.series, scale=alt.Scale(domain=self.series))
        bars = base.mark_bar().encode(x=x, y=y, color=color, xOffset=offset)
        # The interval of the mean, where the load was drawn more than once.
        rule = base.mark_rule(strokeWidth=1, stroke=LIGHT.ink).encode(
            x=x, y="low:Q", y2="high:Q", xOffset=offset
        )
        return [bars, rule]

    def _numbers(self, base: Any, row: _Row, x: Any) -> list[Any]:
        """Values of bars that are cut off, as labels on top of them."""
        if row.most is None:
            return []
        text = base.transform_filter("isValid(datum.cut)").mark_text(
            angle=270, align="left", baseline="middle", dx=4, fontSize=9.5, color=LIGHT.ink
        )
        offset = self.alt.XOffset("series:N", sort=self.series)
        return [text.encode(x=x, y="y:Q", text="cut:N", xOffset=offset)]

    def _printed(self, base: Any, panel: str, x: Any) -> list[Any]:
        """The paper's own numbers over ours, where it prints them."""
        if not any(p.printed is not None for p in self.drawn.points if p.panel == panel):
            return []
        mark = base.transform_filter("isValid(datum.printed)").mark_point(
            shape="diamond", size=64, filled=True, opacity=1, strokeWidth=1.6
        )
        mark = mark.encode(
            x=x, y="printed:Q", fill=self.alt.value(LIGHT.page), stroke=self.alt.value(LIGHT.ink)
        )
        if self.figure.mark == "bar":
            offset = self.alt.XOffset("series:N", sort=self.series)
            mark = mark.encode(xOffset=offset)
        return [mark]

    def distribution(self) -> Spec:
        """Shares of the runs over what they reach: the paper's curve from a few quantiles."""
        alt = self.alt
        base = alt.Chart(alt.InlineData(values=_data(self.drawn, "")))
        x = alt.X("at:Q", axis=alt.Axis(title=self.figure.x_title or None))
        axis = alt.Axis(title=self.figure.y_title or None)
        y = alt.Y("y:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)
        color = self._color()
        dash = alt.StrokeDash("series:N", scale=self._scale("dash"), legend=None)
        shape = alt.Shape("series:N", scale=self._scale("marker"), legend=self._legend())
        line = base.mark_line(strokeWidth=1.7).encode(x=x, y=y, color=color, strokeDash=dash)
        point = base.mark_point(filled=True, opacity=1, size=44)
        layers = alt.layer(line, point.encode(x=x, y=y, color=color, shape=shape))
        return spec_of(layers.properties(width=self.width, height=self.height))


def _data(drawn: Drawing, panel: str, most: float | None = None) -> list[dict[str, Any]]:
    """The points of a panel as the chart takes them; shares in per cent, and bars up to `most`."""
    factor = 100.0 if drawn.percent else 1.0
    up_to = math.inf if most is None else most

    def row(p: Point) -> dict[str, Any]:
        found = {
            "x": p.x,
            "at": p.at,
            "series": p.series,
            "y": min(factor * p.y, up_to),
            "low": min(factor * p.low, up_to),
            "high": min(factor * p.high, up_to),
            "printed": None if p.printed is None else factor * p.printed,
        }
        return found | ({"cut": number(factor * p.y)} if factor * p.y > up_to else {})

    return [row(p) for p in drawn.points if p.panel == panel]


def _looks(series: Sequence[str], names: Mapping[str, str]) -> list[SeriesStyle]:
    """A style for each series: its policy's colour, and a dash and a marker that no other has."""
    labels = [f"{names[s]}[{s}]" if s in names else s for s in series]
    look = styles(labels, LIGHT)
    markers = list(MARKERS)
    return [
        SeriesStyle(look[s].color, DASHES[k % len(DASHES)], markers[k % len(markers)])
        for k, s in enumerate(labels)
    ]
