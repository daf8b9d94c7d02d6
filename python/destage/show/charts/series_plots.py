"""Charts of a run over time. Needs the extra `report`; Altair is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from destage.base.errors import DataError, UsageError
from destage.base.io.extras import need_extra
from destage.model.series import GAUGES, Periods, names, rows_of
from destage.show.charts.figures import Figures, offline, rows_text
from destage.show.charts.theme import LIGHT, Theme

if TYPE_CHECKING:
    from altair import Chart

__all__ = ["SeriesPlots", "series_chart", "series_title"]

_TITLES = {
    "hit_ratio": "Hit ratio (%)",
    "physical_reads": "Flash reads (pages a period)",
    "physical_writes": "Flash writes (pages a period)",
}


#: Above a flash tier a series counts tier 1.
_TIER1 = {
    "hit_ratio": "Hit ratio of tier 1 (%)",
    "physical_reads": "Misses of tier 1 (pages a period)",
    "physical_writes": "Dirty pages that leave tier 1 (pages a period)",
}


def series_title(name: str, *, tier1: bool = False) -> str:
    """The title of the chart of this number; `tier1` of a run with several tiers."""
    return (tier1 and _TIER1.get(name)) or _TITLES.get(name) or GAUGES.get(name, name)


def series_chart(
    periods: Periods,
    name: str,
    theme: Theme = LIGHT,
    *,
    page: bool = False,
    first_access: int = 0,
    tier1: bool = False,
) -> Any:
    """A line over the accesses of the run; those before `first_access` were not measured."""
    import altair as alt

    from destage.show.charts.axes import warmup_shade
    from destage.show.charts.series import finish

    rows, title = rows_of(periods, name), series_title(name, tier1=tier1)
    # What was counted holds for its whole period, a gauge for the period's end.
    counted = name in _TITLES
    drawn = [{"x": r["from_access" if counted else "to_access"], **r} for r in rows]
    if counted and drawn:
        drawn.append(drawn[-1] | {"x": drawn[-1]["to_access"]})
    top = max((r["value"] for r in rows), default=0)
    ratio = name == "hit_ratio"
    form = ".2%" if ratio else ",.4~g"
    label = (
        "format(100 * datum.value, '~g')"
        if ratio
        else "datum.value < 10000 ? format(datum.value, ',.4~g') : format(datum.value, '.3~s')"
    )
    labels = "format(datum.value, '.3~s')"
    axis: dict[str, Any] = {
        "scale": alt.Scale(domain=[0, max((r["to_access"] for r in rows), default=1)]),
        "axis": alt.Axis(title="Page accesses", tickCount=6, labelExpr=labels, grid=False),
    }
    line = (
        alt.Chart(alt.InlineData(values=drawn))
        .mark_line(
            strokeWidth=1.6,
            stroke=theme.series[0 if counted else 2],
            interpolate="step-after" if counted else "linear",
        )
        .encode(
            x=alt.X("x:Q", **axis),
            y=alt.Y(
                "value:Q",
                scale=alt.Scale(domain=[0, top * 1.06 or 1], nice=False),
                axis=alt.Axis(title=title, tickCount=5, labelExpr=label),
            ),
            tooltip=[
                alt.Tooltip("from_access:Q", title="From access", format=",.0f"),
                alt.Tooltip("to_access:Q", title="To access", format=",.0f"),
                alt.Tooltip("value:Q", title=title, format=form),
            ],
        )
    )
    about = f"{title}, period by period"
    shade = warmup_shade("x", {0: first_access}, axis, theme)
    chart = alt.layer(*shade, line) if shade else line
    return finish(chart, theme, name, about, 200, page=page)


class SeriesPlots(Figures):
    """The charts of a run over time: `recorded.plot("tau")`, `recorded.plot.save("figures")`."""

    def __init__(
        self,
        periods: Sequence[Mapping[str, float | int]],
        first_access: int = 0,
        *,
        tier1: bool = False,
    ) -> None:
        """Take the periods of `run(..., series=N)`, and the first access that was measured.

        `tier1` of a run with several tiers.
        """
        self._periods = periods
        self._first_access = first_access
        self._tier1 = tier1

    def names(self) -> list[str]:
        """The charts that exist: hit ratio, flash reads and writes, the policy's gauges."""
        return names(self._periods)

    def __call__(self, name: str) -> Chart:
        """Draw one of `names()` over the accesses of the run.

        Raises `DataError` if nothing was recorded, `UsageError` if there is no such number.
        """
        need_extra("drawing")
        if not self._periods:
            raise DataError("no series was recorded: run(..., series=N) records one")
        if name not in self.names():
            raise UsageError(f"there is no {name!r} over time; there are {', '.join(self.names())}")
        first = self._first_access
        chart = series_chart(self._periods, name, first_access=first, tier1=self._tier1)
        return offline(cast("Chart", chart))

    def _spec(self, name: str) -> dict[str, Any]:
        return self(name).to_dict()

    def _csv(self, name: str) -> str:
        return rows_text(rows_of(self._periods, name))
