"""The charts of the host interface: the SLC cache over time, WAF by handle.

Needs the extra `report`; import this module only when a chart is asked for.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from destage.model.host_interface import handle_wafs, slc_developments
from destage.show.charts.axes import run_axis, span_unit
from destage.show.charts.drive import DeviceCharts

__all__ = ["HostInterfaceCharts"]


class HostInterfaceCharts(DeviceCharts):
    """The charts of one result set whose runs had a device, current devices among them."""

    def slc_over_time(self, what: str) -> Any:
        """`mb_s`, the host's programs, or the share of the SLC cache that is `filled`."""
        every = slc_developments(self.result)
        seconds = max((r["step_s"] * len(r[what]) for r in every), default=1.0)
        name, unit = span_unit(seconds)
        # Writes, in the middle of a period; the fill level of the cache, at its end.
        at = "datum.period - 0.5" if what == "mb_s" else "datum.period"
        base = alt.Chart(self._lists("slc", self._at_size(every)))
        if self.page:
            base = base.transform_filter("datum.frames === frames")
        base = (
            base.transform_flatten(["mb_s", "filled"])
            .transform_window(period="row_number()", groupby=["label"])
            .transform_calculate(
                at_s=f"({at}) * datum.step_s",
                time_text=f"format(datum.at_s / {unit:g}, ',.4~r') + ' {name}'",
            )
            .transform_filter(f"isValid(datum.{what})")
            .encode(
                x=alt.X("at_s:Q", **run_axis(seconds)),
                y=_over_time(what, max((v or 0 for r in every for v in r[what]), default=1.0)),
                detail="label:N",
            )
        )
        tips = [
            alt.Tooltip("label:N", title="Policy"),
            alt.Tooltip("time_text:N", title="Time"),
            alt.Tooltip("mb_s:Q", title="Written (MB/s)", format=",.4~r"),
            alt.Tooltip("filled:Q", title="SLC cache filled", format=".3~%"),
        ]
        figure, about = _SLC[what]
        shade = self._shade("at_s", seconds)
        layers = [*shade, *self._thin_lines(base, tips)]
        return self._finish(alt.layer(*layers), figure, about, 240 if what == "mb_s" else 140)

    def handle_wafs(self) -> Any:
        """WAF of each handle, a group of bars a handle, a bar a policy."""
        every = handle_wafs(self.result)
        top = 1.06 * max([1.0, *(r["waf"] for r in every)])
        base = alt.Chart(self._lists("handles", self._at_size(every)))
        if self.page:
            base = base.transform_filter("datum.frames === frames")
            base = base.transform_filter(self._in_colour())
        x = alt.X(
            "handle:N",
            sort=list(dict.fromkeys(r["handle"] for r in every)),
            scale=alt.Scale(paddingInner=0.25, paddingOuter=0.1),
            axis=alt.Axis(title=None, labelAngle=0, grid=False),
        )
        y = alt.Y(
            "waf:Q",
            # Fixed, so that the bars can be compared while policies come and go.
            scale=alt.Scale(domain=[0, top], nice=False),
            axis=alt.Axis(title="WAF", format=".3~g", tickCount=6),
        )
        tips = [
            alt.Tooltip("label:N", title="Policy"),
            alt.Tooltip("handle:N", title="Written with"),
            alt.Tooltip("waf:Q", title="WAF", format=",.3f"),
            alt.Tooltip("share:Q", title="Of the writes", format=".3~%"),
        ]
        color = self._color()
        if not self.page and len(self.result.labels) > 1:
            legend = alt.Legend(title=None, orient="right", labelLimit=240, symbolSize=80)
            color = alt.Color("label:N", scale=self._scale("color"), legend=legend)
        bars = base.mark_bar(cursor="default").encode(
            x=x,
            y=y,
            xOffset=alt.XOffset("label:N", sort=list(self.result.labels)),
            color=color,
            tooltip=tips,
        )
        one = (
            alt.Chart(alt.InlineData(values=[{"one": 1}]))
            .mark_rule(strokeDash=[4, 3], stroke=self.theme.ink)
            .encode(y=alt.Y("one:Q"))
        )
        about = "Write amplification of the pages written with each handle, a bar a policy"
        return self._finish(alt.layer(bars, one), "handle_wafs", about, 240)


#: Name of the figure, and a sentence about it.
_SLC = {
    "mb_s": ("throughput_over_time", "Host data programmed in each period, over time"),
    "filled": ("slc_over_time", "How far the SLC cache is filled, over time"),
}


def _over_time(what: str, most: float) -> alt.Y:
    """The axis of a figure over time."""
    if what == "mb_s":
        return alt.Y(
            "mb_s:Q",
            scale=alt.Scale(domain=[0, (most or 1.0) * 1.04], nice=False),
            axis=alt.Axis(title="Written to flash (MB/s)", tickCount=5, format=",~r"),
        )
    return alt.Y(
        "filled:Q",
        scale=alt.Scale(domain=[0, 1.04], nice=False),
        axis=alt.Axis(
            title="SLC cache filled (%)",
            values=[0, 0.25, 0.5, 0.75, 1],
            labelExpr="format(100 * datum.value, '~g')",
        ),
    )
