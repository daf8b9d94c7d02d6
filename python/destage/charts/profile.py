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

from destage.charts.comparison import finish
from destage.charts.theme import LIGHT, Theme
from destage.model.profile import DISTANCES, RANKINGS, TEMPERATURES, merged_periods, rows_of
from destage.model.results import Row

__all__ = ["CHARTS", "chart"]

Data = Mapping[str, Any]
HEIGHT = 240

#: Counts as axes have them.
_COUNT = "datum.value < 10000 ? format(datum.value, ',~f') : format(datum.value, '.3~s')"
_WHAT = {"writes": "page writes", "all": "page accesses"}
#: What a sequence of distances is of, in the plural.
_WHOSE = {"pird": "pages", "bird": "blocks"}


def chart(data: Data, figure: str, theme: Theme = LIGHT, *, page: bool = False) -> Any:
    """One figure, or `None`."""
    if not rows_of(data, figure):
        return None
    made, about, height = CHARTS[figure](data, theme)
    return finish(made, theme, figure, about, height, page=page)


def _values(rows: Sequence[Row]) -> Any:
    return alt.Chart(alt.InlineData(values=list(rows)))


def _count_axis(title: str, **more: Any) -> alt.Axis:
    return alt.Axis(title=title, tickCount=6, labelExpr=_COUNT, **more)


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
            title=title,
            values=[base**k for k in powers if k % step == 0],
            labelExpr=_COUNT,
            labelOverlap="parity",
            grid=grid,
        ),
    }


#: What begins at zero has no place on a logarithmic axis: half of one stands for it.
_ZERO = 0.5


def _block_heat(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 2 of BPAC: the nearer in time the references to a block, the stronger the colour."""
    heat, what = data["heat"], _WHAT[data["options"]["counted"]]
    span = data["references"] / heat["epochs"]
    most = max((c["mean_distance"] or 0 for c in heat["cells"]), default=0)
    rows = [
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
    count = len(heat["rows"])
    ticks = sorted({round(k * (count - 1) / 5) for k in range(6)})
    names = json.dumps([f"{heat['rows'][t][0]:,}" for t in ticks])
    high = max(10.0, 1 + most)
    shades = [10**k for k in range(math.floor(math.log10(high)) + 1)]
    colour = theme.series[0]
    made = (
        _values(rows)
        .mark_rect(fill=colour, strokeWidth=0)
        .encode(
            x=alt.X(
                "x:Q",
                scale=alt.Scale(domain=[0, data["references"]], nice=False),
                axis=_count_axis(f"Virtual time ({what})", grid=False),
            ),
            x2="x_to:Q",
            y=alt.Y(
                "row:Q",
                scale=alt.Scale(domain=[0, count], nice=False),
                axis=alt.Axis(
                    title="Erase block",
                    values=ticks,
                    labelExpr=f"({names})[indexof({json.dumps(ticks)}, datum.value)]",
                    labelOverlap=False,
                    grid=False,
                ),
            ),
            y2="row_to:Q",
            opacity=alt.Opacity(
                "near:Q",
                scale=alt.Scale(type="log", domain=[1, high], range=[1, 0.06], nice=False),
                legend=alt.Legend(
                    title=f"Mean distance between references to a block ({what})",
                    orient="bottom",
                    direction="horizontal",
                    titleOrient="top",
                    titleLimit=420,
                    symbolType="square",
                    symbolSize=170,
                    symbolStrokeWidth=0,
                    symbolFillColor=colour,
                    values=shades,
                    labelExpr="datum.value <= 1 ? '0' : format(datum.value, '.3~s')",
                    titleFontSize=12,
                    titleFontWeight="normal",
                    titleColor=theme.faint,
                    labelFontSize=11,
                    labelColor=theme.faint,
                    columnPadding=10,
                ),
            ),
            tooltip=[
                alt.Tooltip("first:Q", title="From block", format=",.0f"),
                alt.Tooltip("last:Q", title="To block", format=",.0f"),
                alt.Tooltip("x:Q", title="From", format=",.0f"),
                alt.Tooltip("references:Q", title="References", format=",.0f"),
                alt.Tooltip("distance:Q", title="Mean distance", format=",.1f"),
            ],
        )
    )
    return made, "Heat of erase blocks over time; the stronger the colour, the hotter", 380


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
        _values(rows)
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X(
                "x:Q", axis=_count_axis("Hottest pages", grid=False), scale=alt.Scale(nice=False)
            ),
            y=alt.Y("value:Q", axis=_count_axis("Erase blocks that hold them")),
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
        _values(drawn)
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
    base = _values([mark]).encode(x=alt.X("at:Q"))
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
        _values(drawn)
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
            opacity=alt.Opacity(
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
            _values(rows)
            .mark_line(strokeWidth=1.8, stroke=color, interpolate="step-before")
            .encode(x=x, y=alt.Y("value:Q", axis=_count_axis("Step of the distance per 1 %")))
        )
        spots = (
            _values(rows)
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


def _read_ratio(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 1 of AALRU."""
    rows = merged_periods(rows_of(data, "read_ratio"))
    period = data["options"]["period_requests"]
    drawn = [r | {"share": r["value"]} for r in rows]
    # The last period ends where the trace does.
    drawn.append(drawn[-1] | {"x": drawn[-1]["x_to"]})
    made = (
        _values(drawn)
        .mark_line(strokeWidth=1.5, stroke=theme.series[0], interpolate="step-after")
        .encode(
            x=alt.X(
                "x:Q",
                scale=alt.Scale(domain=[0, drawn[-1]["x"]], nice=False),
                axis=_count_axis(f"Requests, in periods of {period:,}", grid=False),
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


def _hottest_blocks(data: Data, theme: Theme) -> tuple[Any, str, int]:
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
        _values(rows)
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


def _padding(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 3a of AALRU."""
    rows = rows_of(data, "padding")
    most = data["options"]["pages_per_block"]
    made = (
        _values([r | {"x_to": r["x"] + 1} for r in rows])
        .mark_rect(fill=theme.series[0], stroke=theme.page, strokeWidth=0.5)
        .encode(
            x=alt.X(
                "x:Q",
                scale=alt.Scale(domain=[0, most], nice=False),
                axis=alt.Axis(title="Pages padded in a destage", tickCount=8, grid=False),
            ),
            x2="x_to:Q",
            y=alt.Y("value:Q", scale=alt.Scale(zero=True), axis=_count_axis("Destages")),
            y2=alt.datum(0),
            tooltip=[
                alt.Tooltip("x:Q", title="Pages padded", format=",.0f"),
                alt.Tooltip("value:Q", title="Destages", format=",.0f"),
            ],
        )
    )
    return made, "Destages by the number of pages that padding added", HEIGHT


def _padding_writes(data: Data, theme: Theme) -> tuple[Any, str, int]:
    """Figure 3b of AALRU."""
    names = {"padding_writes": "written by padding", "destaged_pages": "dirty pages written back"}
    rows = [r | {"kind": names[r["series"]]} for r in rows_of(data, "padding_writes")]
    top = max(r["value"] for r in rows) or 1
    base = _values(rows).encode(
        y=alt.Y(
            "kind:N",
            sort=list(names.values()),
            axis=alt.Axis(title=None, labelLimit=190, ticks=False, domain=False, grid=False),
        ),
        x=alt.X(
            "value:Q",
            scale=alt.Scale(domain=[0, top * 1.2], nice=False),
            axis=_count_axis("Pages"),
        ),
    )
    bars = base.mark_bar(height={"band": 0.6}, fill=theme.series[0])
    words = base.mark_text(align="left", dx=5, fill=theme.ink).encode(
        text=alt.Text("value:Q", format=",.0f")
    )
    return alt.layer(bars, words), "Pages written by padding, and dirty pages written back", 90


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
    "read_ratio": _read_ratio,
    "hottest_blocks": _hottest_blocks,
    "padding": _padding,
    "padding_writes": _padding_writes,
}
