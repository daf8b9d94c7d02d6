"""Charts of a trace's profile: BPAC's figures 2 to 6, AALRU's figures 1 to 3.

One function a figure; each returns `None` if the trace has nothing for it. Needs the extra
`report`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt

from destage.model.profile import DISTANCES, RANKINGS, rows_of
from destage.model.rows import Row
from destage.show.charts.blocks import (
    COUNT,
    HEIGHT,
    count_axis,
    hottest_blocks,
    padding,
    padding_writes,
    read_ratio,
    values,
)
from destage.show.charts.heat import heat_legend, shaded
from destage.show.charts.series import finish
from destage.show.charts.theme import LIGHT, Theme

__all__ = ["CHARTS", "chart"]

Data = Mapping[str, Any]

_WHAT = {"writes": "page writes", "all": "page accesses"}
#: What a sequence of distances is of, in the plural.
_WHOSE = {"pird": "pages", "bird": "blocks"}


def chart(data: Data, figure: str, theme: Theme = LIGHT, *, page: bool = False) -> Any:
    """One figure, or `None`."""
    if not rows_of(data, figure):
        return None
    made, about, height = CHARTS[figure](data, theme)
    return finish(made, theme, figure, about, height, page=page)


def _log(
    low: float, high: float, title: str, *, grid: bool = False, places: int = 6
) -> dict[str, Any]:
    """A logarithmic axis with ticks at powers of ten, or of two where those would be few."""
    low, high = min(low, high / 2), max(high, low * 2)
    base = 10.0 if math.log10(high / low) > 2 else 2.0
    powers = range(
        math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9) + 1
    )
    step = max(1, -(-len(powers) // places))
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(
            title=f"{title} (log scale)",
            values=[base**k for k in powers if k % step == 0],
            labelExpr=COUNT,
            labelOverlap="parity",
            grid=grid,
        ),
    }


#: What begins at zero has no place on a logarithmic axis: half of one stands for it.
_ZERO = 0.5


def _block_heat(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 2 of BPAC: the nearer in time the references to a block, the stronger the colour."""
    heat, what = data["heat"], _WHAT[data["options"]["counted"]]
    most = max((c["mean_distance"] or 0 for c in heat["cells"]), default=0)
    high = max(10.0, 1 + most)
    colour = theme.series[0]
    legend = heat_legend(
        f"Mean distance between references to a block ({what})",
        colour,
        theme,
        titleOrient="top",
        titleLimit=420,
        values=[10**k for k in range(math.floor(math.log10(high)) + 1)],
        labelExpr="datum.value <= 1 ? '0' : format(datum.value, '.3~s')",
        columnPadding=10,
    )
    scale = alt.Scale(type="log", domain=[1, high], range=[1, 0.06], nice=False)
    cells = (
        values(_heat_rows(data, most))
        .mark_rect(fill=colour, strokeWidth=0, aria=False)
        .encode(
            x=alt.X(
                "x:Q",
                scale=alt.Scale(domain=[0, data["references"]], nice=False),
                axis=count_axis(f"Virtual time ({what})", grid=False),
            ),
            x2="x_to:Q",
            y=_block_rows(heat["rows"]),
            y2="row_to:Q",
            tooltip=[
                alt.Tooltip("first:Q", title="From block", format=",.0f"),
                alt.Tooltip("last:Q", title="To block", format=",.0f"),
                alt.Tooltip("x:Q", title="From", format=",.0f"),
                alt.Tooltip("references:Q", title="References", format=",.0f"),
                alt.Tooltip("distance:Q", title="Mean distance", format=",.1f"),
            ],
        )
    )
    made = shaded(cells, "near:Q", scale, legend)
    return made, "Heat of erase blocks over time; the stronger the colour, the hotter", 380


def _heat_rows(data: Data, most: float) -> list[Row]:
    """A row for each cell of the map."""
    heat = data["heat"]
    span = data["references"] / heat["epochs"]
    return [
        {
            "x": c["epoch"] * span,
            "x_to": (c["epoch"] + 1) * span,
            "row": c["row"],
            "row_to": c["row"] + 1,
            "first": heat["rows"][c["row"]][0],
            "last": heat["rows"][c["row"]][1],
            "references": c["references"],
            # Blocks that are met for the first time are as cold as the coldest.
            "near": 1 + (most if c["mean_distance"] is None else c["mean_distance"]),
            "distance": c["mean_distance"],
        }
        for c in heat["cells"]
    ]


def _block_rows(rows: Sequence[Sequence[int]]) -> alt.Y:
    """The axis of the blocks: some six rows are named by their first block."""
    count = len(rows)
    ticks = sorted({round(k * (count - 1) / 5) for k in range(6)})
    names = json.dumps([f"{rows[t][0]:,}" for t in ticks])
    return alt.Y(
        "row:Q",
        scale=alt.Scale(domain=[0, count], nice=False),
        axis=alt.Axis(
            title="Erase block",
            values=ticks,
            labelExpr=f"({names})[indexof({json.dumps(ticks)}, datum.value)]",
            labelOverlap=False,
            grid=False,
        ),
    )


_RANKED = {
    "by_distance": "hottest: nearest in time",
    "by_frequency": "hottest: most references",
    "at_least": "hot pages in hot blocks",
}


def _unique_blocks(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 3 of BPAC."""
    rows = [r | {"kind": _RANKED[r["series"]]} for r in rows_of(data, "unique_blocks")]
    # From nothing: no page, no block.
    rows = [{"kind": kind, "x": 0, "value": 0} for kind in _RANKED.values()] + rows
    colors = [theme.series[0], theme.series[2], theme.faint]
    order = [_RANKED[series] for series in RANKINGS.values()]
    made = (
        values(rows)
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X(
                "x:Q", axis=count_axis("Hottest pages", grid=False), scale=alt.Scale(nice=False)
            ),
            y=alt.Y("value:Q", axis=count_axis("Erase blocks that hold them")),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=order, range=colors),
                legend=alt.Legend(
                    title=None,
                    orient="bottom-right",
                    symbolType="stroke",
                    labelLimit=260,
                    offset=8,
                ),
            ),
            strokeDash=alt.StrokeDash(
                "kind:N", scale=alt.Scale(domain=order, range=[[1, 0], [7, 3], [2, 3]]), legend=None
            ),
            tooltip=[
                alt.Tooltip("kind:N", title="Ranked by"),
                alt.Tooltip("x:Q", title="Hottest pages", format=",.0f"),
                alt.Tooltip("value:Q", title="Blocks", format=",.0f"),
            ],
        )
    )
    return made, "Number of erase blocks that hold the hottest pages", 280


def _histogram(rows: Sequence[Row], theme: Theme, color: str, x_title: str, y_title: str) -> Any:
    """Bars between `x` and `x_to`, over a logarithmic axis."""
    drawn = [
        r | {"from": max(r["x"], _ZERO), "range": _range_text(r["x"], r["x_to"])} for r in rows
    ]
    # One often stands beside a hundred thousand. The air above is for the inflection point.
    y = _log(_ZERO, 6 * max(r["value"] for r in rows), y_title, grid=True)
    return (
        values(drawn)
        .mark_rect(fill=color, stroke=theme.page, strokeWidth=0.5)
        .encode(
            x=alt.X("from:Q", **_log(_ZERO, max(r["x_to"] for r in rows), x_title)),
            x2="x_to:Q",
            y=alt.Y("value:Q", **y),
            y2=alt.datum(_ZERO),
            tooltip=[
                alt.Tooltip("range:N", title=x_title),
                alt.Tooltip("value:Q", title=y_title, format=",.0f"),
            ],
        )
    )


def _range_text(low: int, below: int) -> str:
    return f"{low:,}" if below == low + 1 else f"{low:,} to {below - 1:,}"


def _deviation(kind: str) -> Callable[[Data, Theme], tuple[Any, str, int]]:
    def draw(data: Data, theme: Theme) -> tuple[Any, str, int]:
        """Figure 4 of BPAC."""
        rows = rows_of(data, f"{kind}_deviation")
        whose = _WHOSE[kind]
        title = f"Standard deviation of the {kind.upper()}s of a {DISTANCES[kind]}"
        color = theme.series[0 if kind == "pird" else 2]
        made = _histogram(rows, theme, color, title, whose.capitalize())
        return made, f"Number of {whose} by the standard deviation of their {kind.upper()}s", HEIGHT

    return draw


def _distribution(kind: str) -> Callable[[Data, Theme], tuple[Any, str, int]]:
    def draw(data: Data, theme: Theme) -> tuple[Any, str, int]:
        """Figure 5a of BPAC."""
        rows = rows_of(data, f"{kind}_distribution")
        color = theme.series[0 if kind == "pird" else 2]
        bars = _histogram(rows, theme, color, kind.upper(), "References")
        inflection = data[kind]["inflection"]
        at = max(inflection["threshold"], _ZERO)
        mark = {
            "at": at,
            "text": f"{inflection['percent']} % within {inflection['threshold']:,}",
        }
        high = max(r["x_to"] for r in rows)
        right = math.log(at / _ZERO) > 0.6 * math.log(high / _ZERO)
        made = alt.layer(bars, *_marked(mark, theme, right=right))
        return made, f"How often each {kind.upper()} occurs, with the inflection point", HEIGHT

    return draw


def _marked(mark: Row, theme: Theme, *, right: bool) -> list[Any]:
    """An upright line at `at`, with its text on the side where there is room."""
    base = values([mark]).encode(x=alt.X("at:Q"))
    side: dict[str, Any] = {"align": "right", "dx": -6} if right else {"align": "left", "dx": 6}
    return [
        base.mark_rule(strokeDash=[4, 3], stroke=theme.ink),
        base.mark_text(baseline="top", fill=theme.ink, **side).encode(
            y=alt.value(2), text=alt.Text("text:N")
        ),
    ]


def _frequency(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 5b of BPAC: pages by how often they are referenced and how near in time."""
    rows = rows_of(data, "pird_frequency")
    most = max(r["value"] for r in rows)
    drawn = [
        r
        | {
            "from": max(r["x"], _ZERO),
            "pird": _range_text(r["x"], r["x_to"]),
            "references": _range_text(r["y"], r["y_to"]),
        }
        for r in rows
    ]
    made = (
        values(drawn)
        .mark_rect(fill=theme.series[0], strokeWidth=0)
        .encode(
            x=alt.X("from:Q", **_log(_ZERO, max(r["x_to"] for r in rows), "Mean PIRD of a page")),
            x2="x_to:Q",
            y=alt.Y(
                "y:Q",
                **_log(
                    min(r["y"] for r in rows),
                    max(r["y_to"] for r in rows),
                    "References to the page",
                    grid=True,
                ),
            ),
            y2="y_to:Q",
            fillOpacity=alt.FillOpacity(
                "value:Q",
                scale=alt.Scale(type="log", domain=[1, max(2, most)], range=[0.2, 1], nice=False),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("references:N", title="References"),
                alt.Tooltip("pird:N", title="Mean PIRD"),
                alt.Tooltip("value:Q", title="Pages", format=",.0f"),
            ],
        )
    )
    about = "Pages by number of references and mean PIRD; the stronger the colour, the more pages"
    return made, about, HEIGHT


def _sparseness(kind: str) -> Callable[[Data, Theme], tuple[Any, str, int]]:
    def draw(data: Data, theme: Theme) -> tuple[Any, str, int]:
        """Figure 6 of BPAC."""
        rows = rows_of(data, f"{kind}_sparseness")
        color = theme.series[0 if kind == "pird" else 2]
        x = alt.X(
            "x:Q",
            scale=alt.Scale(domain=[1, 100], nice=False),
            axis=alt.Axis(
                title=f"Share of the {kind.upper()}s covered (%)", tickCount=10, grid=False
            ),
        )
        line = (
            values(rows)
            .mark_line(strokeWidth=1.8, stroke=color, interpolate="step-before")
            .encode(x=x, y=alt.Y("value:Q", axis=count_axis("Step of the distance per 1 %")))
        )
        spots = (
            values(rows)
            .mark_point(filled=True, size=60, opacity=0)
            .encode(
                x=alt.X("x:Q"),
                y=alt.Y("value:Q"),
                tooltip=[
                    alt.Tooltip("x:Q", title="Covered (%)"),
                    alt.Tooltip("y:Q", title="Within", format=",.0f"),
                    alt.Tooltip("value:Q", title="Step", format=",.0f"),
                ],
            )
        )
        inflection = data[kind]["inflection"]
        text = f"inflection at {inflection['percent']} %: {inflection['threshold']:,}"
        mark = {"at": inflection["percent"], "text": text}
        right = inflection["percent"] > 45
        made = alt.layer(line, spots, *_marked(mark, theme, right=right))
        about = (
            f"How far {kind.upper()}s lie apart, per cent by per cent, with the inflection point"
        )
        return made, about, HEIGHT

    return draw


#: Figures that are drawn: what makes the chart, a sentence about it, and its height.
CHARTS: dict[str, Callable[[Data, Theme], tuple[Any, str, int]]] = {
    "block_heat": _block_heat,
    "unique_blocks": _unique_blocks,
    "pird_deviation": _deviation("pird"),
    "bird_deviation": _deviation("bird"),
    "pird_distribution": _distribution("pird"),
    "bird_distribution": _distribution("bird"),
    "pird_frequency": _frequency,
    "pird_sparseness": _sparseness("pird"),
    "bird_sparseness": _sparseness("bird"),
    "read_ratio": read_ratio,
    "hottest_blocks": hottest_blocks,
    "padding": padding,
    "padding_writes": padding_writes,
}
