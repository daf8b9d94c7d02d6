"""Charts of a trace's profile: AALRU's figures 1 to 3, and what all figures of a profile share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from destage.model.profile import TEMPERATURES, merged_periods, rows_of
from destage.model.rows import Row
from destage.show.charts.theme import Theme

__all__ = [
    "COUNT",
    "HEIGHT",
    "count_axis",
    "hottest_blocks",
    "padding",
    "padding_writes",
    "read_ratio",
    "values",
]

Data = Mapping[str, Any]
HEIGHT = 240
#: Counts as axes have them.
COUNT = "datum.value < 10000 ? format(datum.value, ',~f') : format(datum.value, '.3~s')"


def values(rows: Sequence[Row]) -> Any:
    """A chart of these rows."""
    return alt.Chart(alt.InlineData(values=list(rows)))


def count_axis(title: str, **more: Any) -> alt.Axis:
    """An axis of counts."""
    return alt.Axis(title=title, tickCount=6, labelExpr=COUNT, **more)


def read_ratio(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 1 of AALRU."""
    rows = merged_periods(rows_of(data, "read_ratio"))
    period = data["options"]["period_requests"]
    drawn = [r | {"share": r["value"]} for r in rows]
    # The last period ends where the trace does.
    drawn.append(drawn[-1] | {"x": drawn[-1]["x_to"]})
    made = (
        values(drawn)
        .mark_line(strokeWidth=1.5, stroke=theme.series[0], interpolate="step-after")
        .encode(
            x=alt.X(
                "x:Q",
                scale=alt.Scale(domain=[0, drawn[-1]["x"]], nice=False),
                axis=count_axis(f"Requests, in periods of {period:,}", grid=False),
            ),
            y=alt.Y(
                "share:Q",
                scale=alt.Scale(domain=[0, 1], nice=False),
                axis=alt.Axis(
                    title="Reads (%)", tickCount=5, labelExpr="format(100 * datum.value, '~g')"
                ),
            ),
            tooltip=[
                alt.Tooltip("x:Q", title="From request", format=",.0f"),
                alt.Tooltip("share:Q", title="Reads", format=".1%"),
            ],
        )
    )
    return made, "Share of the requests that read, period by period", 200


def hottest_blocks(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 2 of AALRU."""
    options = data["options"]
    names = {
        "hot": f"hot (> {options['hot_accesses']:,} accesses)",
        "warm": "in between",
        "cold": f"cold (< {options['cold_accesses']:,})",
        "untouched": "never accessed",
    }
    rows = [
        r | {"block": f"{r['y']:,}", "kind": names[r["series"]], "place": k}
        for r in rows_of(data, "hottest_blocks")
        for k in (TEMPERATURES.index(r["series"]),)
    ]
    order = list(dict.fromkeys(r["block"] for r in rows))
    colors = [theme.series[1], theme.series[2], theme.series[0], theme.muted]
    made = (
        values(rows)
        .mark_bar()
        .encode(
            x=alt.X(
                "block:N",
                sort=order,
                scale=alt.Scale(paddingInner=0.15, paddingOuter=0.1),
                axis=alt.Axis(
                    title="Erase block, the most accessed first",
                    labelAngle=-45,
                    labelOverlap="parity",
                    grid=False,
                ),
            ),
            y=alt.Y(
                "value:Q",
                scale=alt.Scale(domain=[0, options["pages_per_block"]], nice=False),
                axis=alt.Axis(title="Pages", tickCount=6),
            ),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(names.values()), range=colors),
                legend=alt.Legend(
                    title=None, orient="top", symbolType="square", labelLimit=260, columns=2
                ),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("block:N", title="Block"),
                alt.Tooltip("kind:N", title="Pages"),
                alt.Tooltip("value:Q", title="How many", format=",.0f"),
            ],
        )
    )
    return made, "Hot and cold pages of the most accessed erase blocks", HEIGHT


def padding(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 3a of AALRU."""
    rows = rows_of(data, "padding")
    most = data["options"]["pages_per_block"]
    made = (
        values([r | {"x_to": r["x"] + 1} for r in rows])
        .mark_rect(fill=theme.series[0], stroke=theme.page, strokeWidth=0.5)
        .encode(
            x=alt.X(
                "x:Q",
                scale=alt.Scale(domain=[0, most], nice=False),
                axis=alt.Axis(title="Pages padded in a destage", tickCount=8, grid=False),
            ),
            x2="x_to:Q",
            y=alt.Y("value:Q", scale=alt.Scale(zero=True), axis=count_axis("Destages")),
            y2=alt.datum(0),
            tooltip=[
                alt.Tooltip("x:Q", title="Pages padded", format=",.0f"),
                alt.Tooltip("value:Q", title="Destages", format=",.0f"),
            ],
        )
    )
    return made, "Destages by the number of pages that padding added", HEIGHT


def padding_writes(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 3b of AALRU."""
    names = {"padding_writes": "written by padding", "destaged_pages": "dirty pages written back"}
    rows = [r | {"kind": names[r["series"]]} for r in rows_of(data, "padding_writes")]
    top = max(r["value"] for r in rows) or 1
    base = values(rows).encode(
        y=alt.Y(
            "kind:N",
            sort=list(names.values()),
            axis=alt.Axis(title=None, labelLimit=190, ticks=False, domain=False, grid=False),
        ),
        x=alt.X(
            "value:Q",
            scale=alt.Scale(domain=[0, top * 1.2], nice=False),
            axis=count_axis("Pages"),
        ),
    )
    bars = base.mark_bar(height={"band": 0.6}, fill=theme.series[0])
    words = base.mark_text(align="left", dx=5, fill=theme.ink).encode(
        text=alt.Text("value:Q", format=",.0f")
    )
    return alt.layer(bars, words), "Pages written by padding, and dirty pages written back", 90
