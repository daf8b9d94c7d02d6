"""The charts of runs in front of a device: distributions, runs over time, units over time.

They look at one cache size. On the report's page that is the parameter `frames`, which a selector
sets in all charts at once, as `kind` does for the kind of request; elsewhere both are arguments.

Needs the extra `report`; import this module only when a chart is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from destage.model.drive import (
    destage_curves,
    developments,
    response_curves,
    telling_runs,
    telling_size,
    unbalance_curves,
    utilisations,
    warmup_ends_s,
    wear,
)
from destage.model.metrics import METRICS
from destage.model.results import ResultSet
from destage.model.rows import Row
from destage.model.words import plain, size
from destage.show.charts.axes import MICROS, log_axis, run_axis, span_unit, warmup_shade
from destage.show.charts.comparison import Charts
from destage.show.charts.heat import PANELS, heat_map
from destage.show.charts.series import LINE_PX, configure, finish, names_axis
from destage.show.charts.theme import LIGHT, Theme

__all__ = ["DeviceCharts"]

#: Charts that look at one cache size, which their title names.
AT_ONE_SIZE = (
    *("response_cdf", "response_tail", "unbalance_cdf", "destage_cdf", "wear"),
    *("response_over_time", "longest_over_time", "collections_over_time"),
    *("throughput_over_time", "slc_over_time", "handle_wafs"),
)


class DeviceCharts(Charts):
    """The charts of one result set whose runs had a device.

    `frames` is the cache size that they show first, or at all; by default the most telling one.
    """

    def __init__(
        self,
        result: ResultSet,
        theme: Theme = LIGHT,
        *,
        page: bool = False,
        shown: Sequence[str] = (),
        frames: int | None = None,
    ) -> None:
        """Take what to draw, as `Charts` does."""
        super().__init__(result, theme, page=page, shown=shown)
        if frames is None:
            frames = telling_size(result) or max(result.sizes, default=None)
        self.frames = frames

    def response_cdf(self, kind: str = "all") -> Any:
        """Cumulative distribution of response times, over a logarithm of time."""
        y = alt.Y(
            "share:Q",
            scale=alt.Scale(domain=[0, 1], nice=False),
            axis=alt.Axis(
                title="Share of requests (%)",
                tickCount=6,
                labelExpr="format(100 * datum.value, '~g')",
            ),
        )
        chart = self._curves("responses", self._responses(kind), "us", self._time_x(), y, kind)
        about = "Cumulative distribution of response times, one line a policy"
        return self._finish(chart, "response_cdf", about, 300)

    def response_tail(self, kind: str = "all") -> Any:
        """The same beyond the median, on an axis of nines: 90 %, 99 %, 99.9 %."""
        rows = self._all_responses()
        slowest = [1 - share for r in rows for share in r["share"] if 0 < 1 - share <= 0.5]
        least = 10 ** math.floor(math.log10(min(slowest)) + 1e-9) if slowest else 0.01
        ticks = [0.5, *(10.0**-k for k in range(1, 6) if 10.0**-k >= least * 0.99)]
        y = alt.Y(
            "slower:Q",
            scale=alt.Scale(type="log", domain=[0.5, min(least, 0.1)], nice=False),
            axis=alt.Axis(
                title="Percentile (log scale of 100 - p)",
                values=ticks,
                labelExpr="format(100 - 100 * datum.value, '.5~r') + ' %'",
            ),
        )
        chart = self._curves("responses", self._responses(kind), "us", self._time_x(), y, kind)
        about = "Upper half of response times by percentile, one line a policy"
        return self._finish(chart, "response_tail", about, 300)

    def unbalance_cdf(self) -> Any:
        """Share of the dirty evictions with at most such an unbalance rate (ECR, figure 4)."""
        rows = self._at_size(unbalance_curves(self.result))
        top = max((r["rate"][-1] for r in unbalance_curves(self.result)), default=2.0)
        powers = [2**k for k in range(math.ceil(math.log2(max(2.0, top))) + 1)]
        x = alt.X(
            "rate:Q",
            scale=alt.Scale(type="log", base=2, domain=[1, powers[-1]], nice=False),
            axis=alt.Axis(
                title="Longest queue / mean queue (log scale)",
                values=powers,
                grid=False,
            ),
        )
        y = alt.Y(
            "share:Q",
            scale=alt.Scale(domain=[0, 1], nice=False),
            axis=alt.Axis(
                title="Share of dirty evictions (%)",
                tickCount=6,
                labelExpr="format(100 * datum.value, '~g')",
            ),
        )
        chart = self._curves("unbalances", rows, "rate", x, y, None)
        about = "Share of dirty evictions with at most such an unbalance rate, one line a policy"
        return self._finish(chart, "unbalance_cdf", about, 260)

    def destage_cdf(self) -> Any:
        """Cumulative distribution of pages per destage of the buffer."""
        every = destage_curves(self.result)
        top = max((r["pages"][-1] for r in every), default=1)
        powers = [2**k for k in range(max(1, math.ceil(math.log2(max(2, top)))) + 1)]
        x = alt.X(
            "pages:Q",
            scale=alt.Scale(type="log", base=2, domain=[1, powers[-1]], nice=False),
            axis=alt.Axis(
                title="Pages in a destage, without padding (log scale)", values=powers, grid=False
            ),
        )
        y = alt.Y(
            "share:Q",
            scale=alt.Scale(domain=[0, 1], nice=False),
            axis=alt.Axis(
                title="Share of destages (%)",
                tickCount=6,
                labelExpr="format(100 * datum.value, '~g')",
            ),
        )
        chart = self._curves("destages", self._at_size(every), "pages", x, y, None)
        about = "Cumulative distribution of pages per destage, one line a policy"
        return self._finish(chart, "destage_cdf", about, 260)

    def over_time(self, what: str) -> Any:
        """`mean_us` or `max_us` of the responses, or the share of `collecting`, per period."""
        every = self._developments()
        rows = self._at_size(every)
        seconds = max((r["step_s"] * len(r[what]) for r in every), default=1.0)
        name, unit = span_unit(seconds)
        base = alt.Chart(self._lists("developments", rows))
        if self.page:
            base = base.transform_filter("datum.frames === frames")
        base = base.transform_flatten(["mean_us", "max_us", "collecting"])
        base = (
            base.transform_window(period="row_number()", groupby=["label"])
            .transform_calculate(
                at_s="(datum.period - 0.5) * datum.step_s",
                mean_text=MICROS.format("datum.mean_us", ".4~r"),
                max_text=MICROS.format("datum.max_us", ".4~r"),
                time_text=f"format(datum.at_s / {unit:g}, ',.4~r') + ' {name}'",
            )
            # On a logarithmic axis a period in which nothing took time has no place.
            .transform_filter(
                f"isValid(datum.{what})" + ("" if what == "collecting" else f" && datum.{what} > 0")
            )
            .encode(
                x=alt.X("at_s:Q", **run_axis(seconds)),
                y=_development(what, [v for r in every for v in r[what] if v is not None]),
                detail="label:N",
            )
        )
        tips = [
            alt.Tooltip("label:N", title="Policy"),
            alt.Tooltip("time_text:N", title="Time"),
            alt.Tooltip("mean_text:N", title="Mean response"),
            alt.Tooltip("max_text:N", title="Longest response"),
            alt.Tooltip("collecting:Q", title="Units' time in GC", format=".2~%"),
        ]
        figure, about = _DEVELOPMENTS[what]
        shade = self._shade("at_s", seconds)
        layers = [*shade, *self._thin_lines(base, tips)]
        return self._finish(alt.layer(*layers), figure, about, 240 if what == "mean_us" else 190)

    def response_over_hits(self) -> Any:
        """Mean response over hit ratio: whether hits are what makes a policy fast."""
        response = next(m for m in METRICS if m.name == "response_ns_mean")
        hits = next(m for m in METRICS if m.name == "hit_ratio")
        x = alt.X("hit_ratio:Q", **self._value_axis(hits))
        y = alt.Y("response_ns_mean:Q", **self._value_axis(response))
        base = (
            self._valid(response)
            .transform_filter("isValid(datum.hit_ratio)")
            .encode(x=x, y=y, detail="label:N", order="frames:Q")
        )
        draw = self._page_lines if self.page else self._lines
        about = "Mean response time over hit ratio, one line a policy, one point a cache size"
        return self._finish(alt.layer(*draw(base, response)), "response_over_hits", about, 260)

    def wear(self) -> Any:
        """Erases of a block, a row a policy: mean, one deviation to each side, least and most."""
        rows = self._at_size(wear(self.result))
        most = max((r["block_erases_max"] for r in wear(self.result)), default=1)
        base = alt.Chart(self._lists("wear", rows))
        if self.page:
            base = base.transform_filter("datum.frames === frames")
        base = base.transform_calculate(
            low="max(datum.block_erases_min, datum.block_erases_mean - datum.block_erases_std)",
            high="min(datum.block_erases_max, datum.block_erases_mean + datum.block_erases_std)",
        )
        axis, lines = names_axis(self._worn())
        # One place for every policy, wherever its device's blocks stand.
        y = alt.Y(
            "label:N",
            sort=list(self.result.labels),
            scale=alt.Scale(domain=[s for s in self.result.labels if s in self._worn()]),
            axis=axis,
        )

        def x(field: str) -> alt.X:
            return alt.X(
                f"{field}:Q",
                scale=alt.Scale(domain=[0, most * 1.04], nice=False),
                axis=alt.Axis(title="Erases of a block", tickCount=6, tickMinStep=1),
            )

        tips = [
            alt.Tooltip("label:N", title="Policy"),
            alt.Tooltip("size:N", title="Cache size"),
            alt.Tooltip("block_erases_mean:Q", title="Mean", format=",.3~f"),
            alt.Tooltip("block_erases_std:Q", title="Deviation", format=",.3~f"),
            alt.Tooltip("block_erases_min:Q", title="Least", format=",.0f"),
            alt.Tooltip("block_erases_max:Q", title="Most", format=",.0f"),
        ]
        whole = base.mark_rule(strokeWidth=1.5).encode(
            x=x("block_erases_min"), x2="block_erases_max:Q", y=y, color=self._color(), tooltip=tips
        )
        middle = base.mark_bar(height={"band": 0.5}).encode(
            x=x("low"), x2="high:Q", y=y, color=self._color(), tooltip=tips
        )
        mean = base.mark_tick(
            thickness=2, height={"band": 0.5}, color="white" if not self.page else self.theme.page
        ).encode(x=x("block_erases_mean"), y=y, tooltip=tips)
        about = "Erases of a block of the device: mean, deviation, least and most, a row a policy"
        height = max(80, (24 + LINE_PX * (lines - 1)) * len(self._worn()))
        return self._finish(alt.layer(whole, middle, mean), "wear", about, height)

    def _worn(self) -> list[str]:
        return list(dict.fromkeys(r["label"] for r in wear(self.result)))

    # ---- what the charts are made of

    def _responses(self, kind: str) -> list[Row]:
        return [r for r in self._at_size(self._all_responses()) if r["kind"] == kind]

    def _all_responses(self) -> list[Row]:
        return response_curves(self.result)

    def _developments(self) -> list[Row]:
        return developments(self.result)

    def _shade(self, field: str, seconds: float) -> list[alt.Chart]:
        """The warm-up of the size that is shown, on an axis of so many seconds."""
        ends = warmup_ends_s(self.result)
        if not self.page:
            ends = {frames: end for frames, end in ends.items() if frames == self.frames}
        return warmup_shade(field, ends, run_axis(seconds), self.theme, chosen=self.page)

    def _at_size(self, rows: list[Row]) -> list[Row]:
        return [r for r in rows if r["frames"] == self.frames]

    def _lists(self, name: str, rows: list[Row]) -> Any:
        return alt.NamedData(name=name) if self.page else alt.InlineData(values=rows)

    def _time_x(self) -> alt.X:
        times = [us for r in self._all_responses() for us in r["us"] if us > 0]
        axis = log_axis(times, "Response time")
        self._least_us = axis["scale"].domain[0]
        axis["axis"].grid = False
        return alt.X("us:Q", **axis)

    def _curves(
        self, name: str, rows: list[Row], field: str, x: alt.X, y: alt.Y, kind: str | None
    ) -> Any:
        """A line a policy out of rows that hold lists."""
        base = alt.Chart(self._lists(name, rows))
        if self.page:
            base = base.transform_filter("datum.frames === frames")
            if kind is not None:
                base = base.transform_filter("datum.kind === kind")
        base = base.transform_flatten([field, "share"])
        if field == "us":
            # What took no time stands at the left edge, where the curves begin.
            base = base.transform_calculate(
                value=MICROS.format("datum.us", ".4~r"),
                us=f"max(datum.us, {self._least_us:g})",
            )
        else:
            base = base.transform_calculate(value=f"format(datum.{field}, '.4~r')")
        base = base.transform_calculate(
            slower="1 - datum.share", percent="format(100 * datum.share, '.5~r') + ' %'"
        )
        if y.shorthand == "slower:Q":
            base = base.transform_filter("datum.slower > 1e-9 && datum.slower <= 0.5")
        base = base.encode(x=x, y=y, detail="label:N", order="share:Q")
        tips = [
            alt.Tooltip("label:N", title="Policy"),
            alt.Tooltip("size:N", title="Cache size"),
            alt.Tooltip("percent:N", title="Share"),
            alt.Tooltip("value:N", title="At most"),
        ]
        return alt.layer(*self._thin_lines(base, tips))

    def _thin_lines(self, base: Any, tips: list[alt.Tooltip]) -> list[Any]:
        """Lines of many points without markers: as in the other charts, on the page and off it."""
        if not self.page:
            pick = alt.selection_point(name="pick", fields=["label"], bind="legend")
            strength = alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.12))
            line = base.mark_line(strokeWidth=1.5, clip=True).encode(
                color=self._color(lines=True), strokeDash=self._dash(), opacity=strength
            )
            return [line.add_params(pick)]
        width = alt.when("focus === datum.label").then(alt.value(2.8)).otherwise(alt.value(1.5))
        line = (
            base.transform_filter(self._in_colour())
            .mark_line(clip=True)
            .encode(color=self._color(), strokeDash=self._dash(), strokeWidth=width)
        )
        spot = (
            base.transform_filter(self._in_colour())
            .mark_point(filled=True, size=90, opacity=0, clip=True)
            .encode(tooltip=tips)
        )
        return [line, spot]

    def _finish(self, chart: Any, name: str, about: str, height: int) -> Any:
        if self.page:
            chart = chart.add_params(
                alt.param(name="frames", value=self.frames), alt.param(name="kind", value="all")
            )
        elif len(self.result.sizes) > 1 and self.frames is not None and name in AT_ONE_SIZE:
            shown = size(self.frames * self.result.trace.page_bytes)
            chart = chart.properties(title=f"Cache {plain(shown)}")
        return super()._finish(chart, name, about, height)

    # ---- units over time

    def utilisation(self, label: str | None = None) -> Any:
        """Heat maps of the units over time: on the left for the host, on the right in GC.

        Of one policy, or of those that are worth it: lru and the fastest.
        """
        one = label is not None and self.frames is not None
        runs = [(label or "", self.frames or 0)] if one else self.heat_runs()
        rows = utilisations(self.result, runs)
        panels = [
            [
                self._heat(rows, run, what).properties(
                    width=300, height=220, title=f"{run[0]}: {title}"
                )
                for what, (title, _) in PANELS.items()
            ]
            for run in runs
        ]
        # Host operations and collections have scales of their own.
        own: Any = {"opacity": "independent", "fillOpacity": "independent"}
        grid = alt.vconcat(*(alt.hconcat(*row).resolve_scale(**own) for row in panels))
        about = "Share of each unit's time, for the host and for GC, over time"
        sized = grid.resolve_scale(**own).properties(description=about)
        return configure(sized, self.theme, page=False)

    def heat_runs(self) -> list[tuple[str, int]]:
        """The runs that have heat maps: label, frames."""
        if self.frames is None:
            return []
        found = telling_runs(self.result, self.frames)
        return [r for r in found if utilisations(self.result, [r])]

    def heat_panel(self, run: tuple[str, int], what: str) -> Any:
        """One half of a heat map, `host` or `collecting`, for the report's page."""
        rows = utilisations(self.result, self.heat_runs())
        about = f"Share of each unit's time {PANELS[what][0]}, over time, of {run[0]}"
        chart = self._heat(rows, run, what)
        return finish(chart, self.theme, f"units_{what}", about, 240, page=self.page)

    def _heat(self, rows: list[Row], run: tuple[str, int], what: str) -> Any:
        own = [r for r in rows if (r["label"], r["frames"]) == run]
        base = alt.Chart(self._lists("units", own))
        if self.page:
            base = base.transform_filter(alt.FieldEqualPredicate(field="label", equal=run[0]))
        heat = heat_map(base, rows, what, self.theme)
        seconds = max(r["step_s"] * len(r[what]) for r in rows)
        ends = {run[1]: warmup_ends_s(self.result).get(run[1], 0.0)}
        shade = warmup_shade("from_s", ends, run_axis(seconds), self.theme)
        return alt.layer(*shade, heat) if shade else heat


#: Figures over time: name, and a sentence about it.
_DEVELOPMENTS = {
    "mean_us": (
        "response_over_time",
        "Mean response time of the requests of each period, one line a policy",
    ),
    "max_us": ("longest_over_time", "Longest response time in each period, one line a policy"),
    "collecting": (
        "collections_over_time",
        "Share of the units' time in GC, one line a policy",
    ),
}


def _development(what: str, values: Sequence[float]) -> alt.Y:
    """The axis of a figure over time."""
    if what != "collecting":
        title = "Mean response" if what == "mean_us" else "Longest response"
        return alt.Y(f"{what}:Q", **log_axis([v for v in values if v > 0], title))
    return alt.Y(
        f"{what}:Q",
        scale=alt.Scale(domain=[0, max([*values, 0.01]) * 1.04], nice=False),
        axis=alt.Axis(
            title="Units in GC (%)",
            tickCount=4,
            labelExpr="format(100 * datum.value, '~g')",
        ),
    )
