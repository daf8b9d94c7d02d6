"""The charts of a grid of runs: curves, heat maps, spreads and a front, on the page and as figures.

A point stands for the runs that meet in one place. A chart is one specification, whatever it shows:
`filled` gives it rows and axes (`across`, `up`) for a figure, and the page's script does so for the
page, each time that a filter changes. Runs that failed, are missing or have no such number are a
cross, or a cell with a sign.

Needs the extra `report`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from destage.show.charts.engine import engine
from destage.show.charts.figure_style import UNSTYLED, FigureStyle
from destage.show.charts.series import LINE_PX, SIZE, Series, configure, finish, names_axis
from destage.show.charts.theme import LIGHT, VEGA_LITE, Theme

__all__ = ["FAILED", "GridCharts", "filled"]

#: Panels beside each other, and the width of one.
ABREAST, WIDTH, HEIGHT = 3, 230, 170
#: The least of a heat map.
_PALE = "#eef1fb"
#: Titles that begin so are the signal behind it.
_SIGNAL = "signal:"
#: The sign of runs that failed.
FAILED = "\u00d7"


class GridCharts(Series):
    """The charts of runs of these policies; `panels` stand side by side in a figure."""

    #: The charts of a page, by the names of their methods.
    NAMES = ("curves", "heat", "spread", "front", "tail")

    def __init__(
        self,
        labels: Sequence[str],
        theme: Theme = LIGHT,
        *,
        page: bool,
        panels: Sequence[str] = (),
        style: FigureStyle = UNSTYLED,
        logs: str = "",
    ) -> None:
        """Take the policies, which keep their look whatever is shown of them.

        `logs` has the axes of curves that are logarithmic: `x`, `y`. A page's script says that.
        """
        super().__init__(labels, theme, page=page)
        self.panels = panels
        self.style = style
        self.logs = logs
        self._data = alt.NamedData("rows")

    def spec(self, name: str) -> dict[str, Any]:
        """A chart as Vega, without rows and axes."""
        chart = getattr(self, name)()
        spec: dict[str, Any] = engine().vegalite_to_vega(
            self.style.styled(chart.to_dict(validate=False)), vl_version=VEGA_LITE
        )
        spec.pop("$schema", None)
        for mark in spec["marks"]:
            if self.page and mark["type"] != "group":
                # Marks are moved and not made again when the rows change.
                mark["key"] = "told"
        return _signals(spec)  # type: ignore[no-any-return]

    def curves(self) -> Any:
        """A line a policy over an axis: means, and from the least to the largest run."""
        x_log, y_log = ("x" in self.logs, "y" in self.logs)
        x = _axis(alt.X, "across", "at", grid=False, log=x_log, values=_expr("across.ticks"))
        base = self._rows().transform_filter("isValid(datum.at)").encode(x=x, detail="label:N")
        there = base.transform_filter("isValid(datum.mean)").encode(
            y=_axis(alt.Y, "up", "mean", log=y_log), color=self._color()
        )
        low = _axis(alt.Y, "up", "low", log=y_log)
        reach = there.mark_rule(strokeOpacity=0.45).encode(y=low, y2="high:Q")
        lines = there.mark_line(strokeWidth=1.8).encode(strokeDash=self._dash())
        points = self._points(there, size=36)
        lost = base.transform_filter("datum.lacks > 0 && !isValid(datum.mean)")
        crosses = lost.mark_text(text=FAILED, dy=-7, fontSize=13, fill=self.theme.warn)
        layers = [reach, lines, *points, crosses.encode(y=alt.value("height"))]
        if self.page:
            # Where the policy stands that others are divided by.
            one = alt.Chart(alt.NamedData("ones")).encode(y=_axis(alt.Y, "up", "one"))
            layers.insert(0, one.mark_rule(strokeDash=[4, 3], stroke=self.theme.faint))
        return self._finish(layers, 280)

    def heat(self) -> Any:
        """A row a policy, a column a value of the axis: means."""
        axis = alt.Axis(title=f"{_SIGNAL}across.title", labelAngle=0)
        x = alt.X("cache:N", sort=_by("column"), axis=axis)
        y = self._policies()
        base = self._rows().encode(x=x, y=y)
        there = base.transform_filter("isValid(datum.mean)")
        fill = self.theme.series[0]
        if self.page:
            # Theme colours are style sheet variables, which no scale can mix.
            worse = self.theme.series[1]
            cells = there.mark_rect(stroke=self.theme.page).encode(
                fill=alt.when("datum.worse").then(alt.value(worse)).otherwise(alt.value(fill)),
                fillOpacity=alt.FillOpacity(
                    "depth:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 1]), legend=None
                ),
            )
        else:
            scale = alt.Scale(range=[_PALE, fill], domain=_domain("up"), nice=False)
            cells = there.mark_rect(stroke="white").encode(
                color=alt.Color(
                    "mean:Q",
                    scale=scale,
                    legend=alt.Legend(
                        title=f"{_SIGNAL}up.unit",
                        labelExpr=_TICK.replace("NAME", "up"),
                        gradientLength=HEIGHT,
                    ),
                )
            )
        ink = alt.when("datum.deep").then(alt.value("white")).otherwise(alt.value(self.theme.ink))
        texts = (
            there.transform_calculate(scaled="datum.mean / up.length", said=_SHORT)
            .mark_text(fontSize=11 if self.page else self.style.font_pt or 9)
            .encode(text="said:N", fill=ink)
        )
        lost = base.transform_filter("!isValid(datum.mean)")
        empty = lost.mark_rect(fill=self.theme.panel, stroke=self.theme.warn, strokeDash=[3, 3])
        signs = lost.mark_text(fontSize=12, fill=self.theme.warn).encode(text="why:N")
        corner = there.transform_filter("datum.lacks > 0").mark_text(
            text="\u25e5", align="right", baseline="top", fontSize=10, fill=self.theme.warn
        )
        corner = corner.encode(
            x=alt.X("cache:N", sort=_by("column"), bandPosition=1),
            y=alt.Y("label:N", sort=_by("place"), bandPosition=0),
        )
        return self._finish([cells, texts, empty, signs, corner], self._step())

    def spread(self) -> Any:
        """A row a policy: a stroke a run, a box from quartile to quartile, the median."""
        x = _axis(alt.X, "across", "value", ticks=4)
        base = self._rows().encode(y=self._policies())
        color = alt.Color("label:N", scale=self._scale("color"), legend=None)
        there = base.transform_filter("isValid(datum.value)")
        there = there.encode(color=color)
        strokes = there.transform_filter("datum.drawn").mark_tick(
            thickness=1.6, size=13, strokeOpacity=0.6
        )
        middle = there.transform_aggregate(
            groupby=["label", "place"],
            **{name: f"{name}(value)" for name in ("q1", "median", "q3", "count")},
        ).transform_calculate(told="datum.label")
        box = middle.transform_filter("datum.count > 3").mark_bar(
            fillOpacity=0.15, height={"band": 0.62}
        )
        box = box.encode(x=_axis(alt.X, "across", "q1", ticks=4), x2="q3:Q")
        median = middle.mark_tick(thickness=2.5, size=16).encode(
            x=_axis(alt.X, "across", "median", ticks=4), color=alt.value(self.theme.ink)
        )
        lost = base.transform_filter("datum.lacks > 0").mark_text(
            text=FAILED, fill=self.theme.warn, fontSize=13, dx=9, align="left"
        )
        lost = lost.encode(x=alt.value("width"))
        return self._finish([box, strokes.encode(x=x), median, lost], self._step())

    def front(self) -> Any:
        """A point a setting; the dashed front joins those that none beats in both numbers."""
        base = self._rows().encode(x=_axis(alt.X, "across", "x"), y=_axis(alt.Y, "up", "y"))
        points = base.encode(color=self._color())
        front = base.transform_filter("datum.front")
        line = front.mark_line(
            interpolate="step-after", strokeDash=[5, 3], strokeWidth=1.4, color=self.theme.ink
        )
        rings = front.mark_point(size=170, strokeWidth=1.2).encode(color=alt.value(self.theme.ink))
        return self._finish([line, *self._points(points, size=48), rings], 400)

    def tail(self) -> Any:
        """Percentiles of one run's response times on an axis of nines: all, reads, writes."""
        kinds, series = ["all", "reads", "writes"], [self.theme.ink, *self.theme.series[:2]]
        share = "format(100 - 100 * pow(10, -datum.value), '.6~r') + ' %'"
        axis = alt.Axis(
            title="Cumulative distribution of response times",
            labelExpr=share,
            values=[0.30103, 1, 2, 3, 4],
            grid=False,
        )
        chart = self._rows().encode(
            x=alt.X("nines:Q", axis=axis, scale=alt.Scale(domain=[0, 4])),
            y=_axis(alt.Y, "up", "ns", log=True),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=series),
                legend=alt.Legend(title=None, symbolType="stroke"),
            ),
        )
        points = chart.mark_point(filled=True, size=40)
        return self._finish([chart.mark_line(strokeWidth=2), points], 170)

    def _headed(self) -> dict[str, Any]:
        """Names of panels: in lines, where a width is given that a long one would exceed."""
        if self.style.width_pt is None:
            return {}
        size: Any = {} if self.style.font_pt is None else {"labelFontSize": self.style.font_pt}
        lines = alt.Header(labelExpr=_LINES, labelAnchor="start", **size)
        return {"header": lines}

    def _rows(self) -> Any:
        return alt.Chart(self._data)

    def _policies(self) -> alt.Y:
        return alt.Y("label:N", sort=_by("place"), axis=names_axis(self.labels)[0])

    def _step(self) -> alt.Step:
        return alt.Step(26 + LINE_PX * max(0, names_axis(self.labels)[1] - 2))

    def _points(self, base: Any, size: int) -> list[Any]:
        """Markers: hollow where runs are lacking."""
        whole = base.transform_filter("datum.whole").mark_point(filled=True, opacity=1, size=size)
        part = base.transform_filter("!datum.whole").mark_point(
            fill=self.theme.page, strokeWidth=1.5, size=size
        )
        return [mark.encode(shape=self._shape()) for mark in (whole, part)]

    def _legend(self) -> alt.Legend | None:
        if self.page:
            return None
        return alt.Legend(title=None, labelLimit=240, symbolSize=80, symbolOpacity=1)

    def _finish(self, layers: Sequence[Any], height: Any) -> Any:
        params = {"across": {}, "up": {}, "note": ""}
        chart = alt.layer(*layers)
        if self.page:
            chart = finish(chart, self.theme, "stored", "", height, page=True)
        else:
            alone = len(self.panels) < 2
            size = (420, 280) if alone else (WIDTH, HEIGHT)
            chart = chart.properties(width=size[0], height=self.style.height_pt or size[1])
            if not alone:
                facet = alt.Facet("panel:N", sort=list(self.panels), title=None, **self._headed())
                columns = 1 if self.style.narrow else 2 if len(self.panels) in (2, 4) else ABREAST
                chart = chart.facet(facet=facet, columns=columns)
            titled = chart.properties(title=f"{_SIGNAL}note")
            chart = configure(titled, self.theme, page=False)
        return chart.add_params(*(alt.param(name=n, value=v) for n, v in params.items()))


#: A label in lines, a key of a device or a part of a setting each.
_LINES = (
    r"split(replace(replace(datum.label, regexp(';', 'g'), ';\n'), regexp(', ', 'g'), '\n'), '\n')"
)
#: Labels of an axis by its signal `NAME`: sizes in binary units, numbers divided by `length`.
_TICK = (
    "NAME.kind === 'name' ? NAME.names[datum.value] :"
    f" NAME.kind === 'size' ? ({SIZE}) : format(datum.value / NAME.length,"
    " NAME.kind === 'count' && datum.value >= 10000 ? '~s' :"
    " datum.value >= 10000 * NAME.length ? ',.0f' : NAME.form || ',.4~g')"
)
#: The number of a cell: three digits, in a figure without a prefix on top of its unit.
_SHORT = (
    "format(datum.scaled, up.form || (abs(datum.scaled) >= 10000 ? '.3~s' :"
    " abs(datum.scaled) >= 100 ? ',.0f' : up.kind === 'count' ? '.3~r' : '.3r'))"
)


def _expr(text: str) -> alt.ExprRef:
    return alt.ExprRef(expr=text)


def _by(field: str) -> alt.EncodingSortField:
    return alt.EncodingSortField(field=field, op="min")


def _domain(name: str) -> list[Any]:
    return [_expr(f"{name}.domain[0]"), _expr(f"{name}.domain[1]")]


def _axis(
    channel: Any, name: str, field: str, *, log: bool = False, ticks: int = 5, **axis: Any
) -> Any:
    """An axis that the signal `name` describes: `domain`, `title`, `kind`, `length`, `ticks`."""
    kind: dict[str, Any] = {"type": "log"} if log else {}
    if log and channel is alt.X:
        kind["base"] = 2
    return channel(
        f"{field}:Q",
        scale=alt.Scale(domain=_domain(name), nice=False, zero=False, **kind),
        axis=alt.Axis(
            title=f"{_SIGNAL}{name}.title",
            labelExpr=_TICK.replace("NAME", name),
            labelOverlap="parity",
            tickCount=ticks,
            **axis,
        ),
    )


def _signals(spec: Any) -> Any:
    """The specification with its marked titles as signals, which Vega-Lite does not know."""
    if isinstance(spec, dict):
        return {key: _signals(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_signals(value) for value in spec]
    if isinstance(spec, str) and spec.startswith(_SIGNAL):
        return {"signal": spec.removeprefix(_SIGNAL)}
    return spec


def filled(
    spec: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], **signals: Any
) -> dict[str, Any]:
    """A chart with its rows and the values of its signals."""
    data = [d | {"values": rows} if d["name"] == "rows" else d for d in spec["data"]]
    told = [
        s | {"value": signals[s["name"]]} if s["name"] in signals else s for s in spec["signals"]
    ]
    return {**spec, "data": data, "signals": told}
