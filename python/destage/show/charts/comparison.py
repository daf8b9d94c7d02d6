"""The charts of one result set, as Altair specifications; `comparison_grid` draws grids.

With `page=True` a chart has the parameters `shown` (labels drawn in
colour, the rest thin and grey) and `focus` (the label under the pointer), which the page's script
sets in all charts at once; otherwise it has a legend of its own.

Needs the extra `report`; import this module only when a chart is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import altair as alt

from destage.model.metrics import BASELINE, Metric
from destage.model.results import ResultSet
from destage.model.words import size
from destage.show.charts.comparison_rows import beside_baseline, chart_rows, is_sampled
from destage.show.charts.exact import exact_labels, exact_layers, exact_rows
from destage.show.charts.series import LINE_PX, Series, finish, names_axis, size_axis
from destage.show.charts.theme import LIGHT, Theme
from destage.show.charts.value_axes import axis_format, axis_title, value_axis

__all__ = ["Charts", "same_axes"]

#: Formats of values; times are text by then.
_FORMATS = {"ratio": ".2%", "count": ",.0f", "real": ",.3f"}


def _tooltip(metric: Metric, sampled: bool) -> list[alt.Tooltip]:
    if metric.kind == "time" or sampled:
        value = alt.Tooltip(f"{metric.name}_text:N", title=metric.title)
    else:
        unit = "" if metric.kind == "ratio" or not metric.unit else f" ({metric.unit})"
        value = alt.Tooltip(
            f"{metric.name}:Q", title=metric.title + unit, format=_FORMATS[metric.kind]
        )
    return [
        alt.Tooltip("label:N", title="Policy"),
        alt.Tooltip("size:N", title="Cache size"),
        alt.Tooltip("frames:Q", title="Cache (pages)", format=",.0f"),
        alt.Tooltip("cache_share:Q", title="Of the trace's pages", format=".3~p"),
        value,
    ]


def _time_text(field: str) -> str:
    """Nanoseconds in the unit that leaves few digits, as a Vega expression."""
    return (
        f"{field} >= 1e9 ? format({field} / 1e9, '.4~r') + ' s' : "
        f"{field} >= 1e6 ? format({field} / 1e6, '.4~r') + ' ms' : "
        f"format({field} / 1e3, '.4~r') + ' µs'"
    )


#: Up to so many cache sizes lines have a marker at each.
MARKED_SIZES = 32


#: Result sets that are drawn on the same axes.
_beside: ContextVar[Sequence[ResultSet]] = ContextVar("destage_same_axes", default=())


@contextmanager
def same_axes(results: Sequence[ResultSet]) -> Iterator[None]:
    """Draw these result sets on the same axes, so that their charts can be compared by eye."""
    token = _beside.set(results)
    try:
        yield
    finally:
        _beside.reset(token)


class Charts(Series):
    """The charts of one result set, all drawn alike.

    `page` makes them for the report's page: no legend, no data, as wide as their place.
    """

    def __init__(
        self,
        result: ResultSet,
        theme: Theme = LIGHT,
        *,
        page: bool = False,
        shown: Sequence[str] = (),
    ) -> None:
        """Take what to draw; `shown` are the policies that the page shows first."""
        super().__init__(result.labels, theme, page=page)
        self.result = result
        self.shown = list(shown)
        beside = _beside.get()
        #: Runs whose numbers the axes have to hold.
        self.axes_of = [run for one in beside for run in one.by_size] or list(result.by_size)

    def over_size(self, metric: Metric) -> Any:
        """A line a policy over cache sizes; bars if there is only one size."""
        if len(self.result.sizes) == 1:
            return self._at_one_size(metric)
        exact = exact_rows(self.result) if metric.name == "hit_ratio" else []
        sizes = [r.cache_bytes for r in self.axes_of] + [r["cache_bytes"] for r in exact]
        first = "response_ns_mean" if self.result.timed else self.result.hits_metric
        hero = metric.name == first
        footprint = self._footprint() if hero else None
        title = "Cache size, share of the pages" if footprint else "Cache size"
        x = alt.X("cache_bytes:Q", **size_axis(sizes, title, footprint))
        ends = self._ends(metric)
        more = [r["hit_ratio"] for r in exact]
        y = alt.Y(f"{metric.name}:Q", **self._value_axis(metric, more, ends))
        base = self._valid(metric).encode(x=x, y=y, detail="label:N")
        about = f"{metric.title} over cache size, one line a policy"
        layers = self._page_lines(base, metric) if self.page else self._lines(base, metric)
        if exact:
            # Their lines between the sizes that were asked for are known better.
            known = f"indexof({json.dumps(exact_labels(self.result))}, datum.label) < 0"
            layers[0] = layers[0].transform_filter(known)
            if self.page:
                layers[1] = layers[1].transform_filter(known)
            layers += exact_layers(self.result, x, y, self.theme, self._color(), self._in_colour())
        if is_sampled(self.result, metric):
            layers.insert(0, self._errors(base, metric))
        elif self.intervals_note(metric):
            layers[1:1] = self._whiskers(base, metric, y["scale"].domain, ends)
            about += f"; {self.intervals_note(metric)}"
        return self._finish(alt.layer(*layers), metric.name, about, 360 if hero else 260)

    def intervals_note(self, metric: Metric) -> str:
        """What the upright lines of a chart over size are; empty where it has none."""
        runs = self.result.runs
        if is_sampled(self.result, metric) or not any(
            beside_baseline(self.result, run, metric.name) for run in runs
        ):
            return ""
        base = self.result.baseline or BASELINE
        return (
            f"upright lines: 95 % intervals of the differences from {base}; an arrow: the interval"
            " goes on beyond the axis"
        )

    def _valid(self, metric: Metric) -> Any:
        """The runs that have this metric."""
        base = alt.Chart(self._data()).transform_filter(f"isValid(datum.{metric.name})")
        if metric.kind == "time":
            text = {f"{metric.name}_text": _time_text(f"datum.{metric.name}")}
            base = base.transform_calculate(**text)
        return base

    def _value_axis(
        self, metric: Metric, more: Sequence[float] = (), ends: Sequence[float] = ()
    ) -> dict[str, Any]:
        values = [r[metric.name] for r in self.axes_of if r[metric.name] is not None]
        values += more
        return value_axis(metric, values, ends)

    def _ends(self, metric: Metric) -> list[float]:
        """Ends of the intervals that whiskers show, of every result set on these axes."""
        several = _beside.get() or (self.result,)
        found = (beside_baseline(r, run, metric.name) for r in several for run in r.by_size)
        return [end for ends in found if ends is not None for end in ends]

    def relative_writes(self, metric: Metric) -> Any:
        """Flash writes over lru's, grouped by cache size, as the papers draw them."""
        sizes = [size(b) for b in sorted({r.cache_bytes for r in self.result.by_size})]
        others = [label for label in self.result.labels if label != BASELINE]
        ratios = [r[metric.name] for r in self.result.by_size if r[metric.name] is not None]
        top = 1.04 * max([1.0, *ratios])
        base = (
            alt.Chart(self._data())
            .transform_filter(f"isValid(datum.{metric.name}) && datum.label !== '{BASELINE}'")
            .transform_filter(self._in_colour())
        )
        x = alt.X(
            "size:N",
            sort=sizes,
            scale=alt.Scale(paddingInner=0.25, paddingOuter=0.1),
            axis=alt.Axis(title="Cache size", labelAngle=0, labelOverlap="parity", grid=False),
        )
        y = alt.Y(
            f"{metric.name}:Q",
            # Fixed, so that the bars can be compared while policies come and go.
            scale=alt.Scale(domain=[0, top], nice=False),
            axis=alt.Axis(title=f"Flash writes / {BASELINE}'s", format=".2~f", tickCount=6),
        )
        bars = base.mark_bar(cursor="default").encode(
            x=x,
            y=y,
            xOffset=alt.XOffset("label:N", sort=others),
            color=self._color(),
            tooltip=self._tooltip(metric),
        )
        one = (
            alt.Chart(alt.InlineData(values=[{"one": 1}]))
            .mark_rule(strokeDash=[4, 3], stroke=self.theme.ink)
            .encode(y=alt.Y("one:Q"))
        )
        about = "Flash writes of each policy over the writes of lru, by cache size"
        return self._finish(alt.layer(bars, one), metric.name, about, 260)

    def _at_one_size(self, metric: Metric) -> Any:
        """A bar a policy, the best on top, with its value."""
        rows = [r for r in self.result.by_size if r[metric.name] is not None]
        rows.sort(key=lambda r: r[metric.name], reverse=metric.better == "higher")
        order = [r.label for r in rows]
        known = (r[metric.name] for r in self.axes_of)
        top = max((value for value in known if value is not None), default=0) or (
            0.01 if metric.kind == "ratio" else 1
        )
        # Room for the value behind the longest bar.
        domain = [0, top * (1.16 if metric.kind == "ratio" else 1.28)]
        base = self._valid(metric)
        axis, lines = names_axis(order)
        y = alt.Y("label:N", sort=order, axis=axis)
        x = alt.X(
            f"{metric.name}:Q",
            scale=alt.Scale(domain=domain, nice=False),
            axis=alt.Axis(
                title=axis_title(metric, domain), tickCount=4, **axis_format(metric, domain)
            ),
        )
        bar = base.mark_bar(height={"band": 0.62}).encode(
            x=x, y=y, color=self._color(), tooltip=self._tooltip(metric)
        )
        text = base.mark_text(align="left", dx=5, fill=self.theme.ink).encode(
            x=x,
            y=y,
            text=alt.Text(f"{metric.name}_text:N")
            if metric.kind == "time" or is_sampled(self.result, metric)
            else alt.Text(f"{metric.name}:Q", format=_FORMATS[metric.kind]),
        )
        about = f"{metric.title} of each policy at one cache size"
        height = max(60, (23 + LINE_PX * (lines - 1)) * len(order))
        return self._finish(alt.layer(bar, text), metric.name, about, height)

    def _lines(self, base: Any, metric: Metric) -> list[Any]:
        """Lines with a legend; a click in the legend brings one forward."""
        pick = alt.selection_point(name="pick", fields=["label"], bind="legend")
        strength = alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.12))
        line = base.mark_line(strokeWidth=1.8, clip=True).encode(
            color=self._color(), strokeDash=self._dash(), opacity=strength
        )
        point = base.mark_point(filled=True, opacity=1, size=self._marker_area(), clip=True).encode(
            color=self._color(),
            shape=self._shape(),
            opacity=strength,
            tooltip=self._tooltip(metric),
        )
        return [line.add_params(pick), point]

    def _page_lines(self, base: Any, metric: Metric) -> list[Any]:
        """Grey lines, coloured ones above them, and wide unseen ones to be hit by a pointer."""
        grey = base.mark_line(strokeWidth=1, stroke=self.theme.muted, clip=True)
        coloured = base.transform_filter(self._in_colour())
        width = alt.when("focus === datum.label").then(alt.value(3)).otherwise(alt.value(1.8))
        line = coloured.mark_line(clip=True).encode(
            color=self._color(), strokeDash=self._dash(), strokeWidth=width
        )
        point = coloured.mark_point(
            filled=True, opacity=1, size=self._marker_area(), clip=True
        ).encode(color=self._color(), shape=self._shape())
        wide = base.mark_line(strokeWidth=9, stroke=self.theme.ink, opacity=0, clip=True)
        spot = base.mark_point(filled=True, size=220, opacity=0, clip=True).encode(
            tooltip=self._tooltip(metric)
        )
        return [grey, line, point, wide, spot]

    def _tooltip(self, metric: Metric) -> list[alt.Tooltip]:
        return _tooltip(metric, is_sampled(self.result, metric))

    def _errors(self, base: Any, metric: Metric) -> Any:
        """The 95 % intervals, where the values come from a sample."""
        low, high = f"{metric.name}_low", f"{metric.name}_high"
        return (
            base.transform_filter(f"isValid(datum.{low})")
            .transform_filter(self._in_colour())
            .mark_area(opacity=0.16, clip=True, line=False)
            .encode(y=alt.Y(f"{low}:Q"), y2=f"{high}:Q", color=self._color())
        )

    def _whiskers(
        self, base: Any, metric: Metric, domain: Sequence[float], ends: Sequence[float]
    ) -> list[Any]:
        """The 95 % intervals beside lru's number, as a line through each point.

        One that goes on beyond the axis has an arrow there.
        """
        low, high = f"{metric.name}_low", f"{metric.name}_high"
        there = base.transform_filter(f"isValid(datum.{low})").transform_filter(self._in_colour())
        rules = there.mark_rule(opacity=0.45, strokeWidth=1.2, clip=True)
        layers = [rules.encode(y=alt.Y(f"{low}:Q"), y2=f"{high}:Q", color=self._color())]
        for cut, shape, place, is_cut in (
            (f"datum.{high} > {domain[1]}", "triangle-up", 0, max(ends) > domain[1]),
            (f"datum.{low} < {domain[0]}", "triangle-down", "height", min(ends) < domain[0]),
        ):
            if is_cut:
                arrows = there.transform_filter(cut).mark_point(filled=True, shape=shape, size=36)
                layers.append(arrows.encode(y=alt.value(place), color=self._color()))
        return layers

    def _marker_area(self) -> int:
        """Markers, unless the sizes stand so close that they would hide the lines."""
        return 42 if len(self.result.sizes) <= MARKED_SIZES else 0

    def _footprint(self) -> float | None:
        return self.result.trace.footprint_bytes or None

    def _data(self) -> Any:
        if self.page:
            return alt.NamedData(name="runs")
        return alt.InlineData(values=chart_rows(self.result))

    def _in_colour(self) -> str:
        if self.page:
            return "indexof(shown, datum.label) >= 0 || focus === datum.label"
        return "true"

    def _legend(self, *, lines: bool = False) -> alt.Legend | None:
        """A legend off the page; `lines` need one where bars have their names beside them."""
        barred = len(self.result.sizes) == 1 and not lines
        if self.page or len(self.result.labels) < 2 or barred:
            return None
        legend = alt.Legend(title=None, orient="right", labelLimit=240, symbolSize=80)
        if lines:
            legend.symbolType = "stroke"
            legend.symbolSize = 400
        else:
            # The dash of the line would outline the marker.
            legend.symbolStrokeWidth = 0
        return legend

    def _color(self, *, lines: bool = False) -> Any:
        legend = self._legend(lines=lines)
        color = alt.Color("label:N", scale=self._scale("color"), legend=legend)
        if self.page:
            return alt.when(self._in_colour()).then(color).otherwise(alt.value(self.theme.muted))
        return color

    def _finish(self, chart: Any, name: str, about: str, height: int) -> Any:
        if self.page:
            chart = chart.add_params(
                alt.param(name="shown", value=self.shown), alt.param(name="focus", value=None)
            )
        return finish(chart, self.theme, name, about, height, page=self.page)
