"""Charts of a trace, from what `trace info` gives as JSON: sizes, re-references, hot pages.

Each returns `None` if the trace has no numbers for it. Needs the extra `report`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from destage.model.words import finite, significant, size
from destage.show.charts.series import finish
from destage.show.charts.theme import LIGHT, Theme

__all__ = [
    "hottest",
    "hottest_rows",
    "rereference_rows",
    "rereferences",
    "request_size_rows",
    "request_sizes",
]

HEIGHT = 220


def request_size_rows(info: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Requests of each power of two of bytes, reads and writes apart."""
    sizes = info.get("sizes")
    rows = []
    for key, kind in (("reads", "read"), ("writes", "write")):
        stats = sizes.get(key) if isinstance(sizes, Mapping) else None
        total = (
            finite(info.get("counts", {}).get("requests")) if isinstance(stats, Mapping) else None
        )
        for power, count in _pairs(stats.get("histogram") if isinstance(stats, Mapping) else None):
            rows.append(
                {
                    "kind": kind,
                    "from_bytes": int(power),
                    "from": size(power),
                    "to": size(2 * power),
                    "requests": count,
                    "share": count / total if total else None,
                }
            )
    return rows


def request_sizes(info: Mapping[str, Any], theme: Theme = LIGHT, *, page: bool = False) -> Any:
    """Histogram of request sizes, reads and writes side by side."""
    rows = request_size_rows(info)
    if not rows:
        return None
    order = [size(b) for b in sorted({r["from_bytes"] for r in rows})]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar()
        .encode(
            x=_ordinal("from:N", order, "Request size, from"),
            xOffset=alt.XOffset("kind:N", sort=["read", "write"]),
            y=_share_axis("share:Q", "Share of requests (%)"),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=["read", "write"], range=[theme.series[0], theme.series[1]]),
                legend=alt.Legend(title=None, orient="top", offset=2, symbolType="square"),
            ),
            tooltip=[
                alt.Tooltip("kind:N", title="Operation"),
                alt.Tooltip("from:N", title="From"),
                alt.Tooltip("to:N", title="To below"),
                alt.Tooltip("requests:Q", title="Requests", format=",.0f"),
                alt.Tooltip("share:Q", title="Of all requests", format=".2%"),
            ],
        )
    )
    about = "Share of the requests by size, reads and writes"
    return finish(chart, theme, "request_sizes", about, HEIGHT, page=page)


def rereference_rows(info: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Accesses by LRU stack distance, in powers of two of pages, and added up."""
    again, counts = info.get("rereference"), info.get("counts")
    if not isinstance(again, Mapping) or not isinstance(counts, Mapping):
        return []
    accesses, page_bytes = finite(counts.get("accesses")), finite(info.get("page_bytes"))
    rows, seen = [], 0.0
    for power, count in _pairs(again.get("distance_histogram")):
        if not accesses or not page_bytes:
            return []
        seen += count
        rows.append(
            {
                "pages": int(power),
                "size": size(power * page_bytes),
                "size_bytes": power * page_bytes,
                "accesses": count,
                "share": count / accesses,
                "within": seen / accesses,
            }
        )
    return rows


def rereferences(info: Mapping[str, Any], theme: Theme = LIGHT, *, page: bool = False) -> Any:
    """Histogram of the distances at which pages come again."""
    rows = rereference_rows(info)
    if not rows:
        return None
    order = [r["size"] for r in rows]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(fill=theme.series[0])
        .encode(
            x=_ordinal("size:N", order, "Different pages since the last access, up to"),
            y=_share_axis("share:Q", "Share of accesses (%)"),
            tooltip=[
                alt.Tooltip("size:N", title="Distance up to"),
                alt.Tooltip("pages:Q", title="In pages", format=",.0f"),
                alt.Tooltip("accesses:Q", title="Accesses", format=",.0f"),
                alt.Tooltip("share:Q", title="Of all accesses", format=".2%"),
                alt.Tooltip("within:Q", title="Hits of LRU of this size", format=".2%"),
            ],
        )
    )
    about = "Share of the accesses by the amount of other pages since the page's last access"
    return finish(chart, theme, "rereferences", about, HEIGHT, page=page)


def hottest_rows(info: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The most accessed shares of the pages, and the shares of the accesses that they take."""
    again = info.get("rereference")
    pairs = _pairs(again.get("hottest") if isinstance(again, Mapping) else None)
    return [
        {"pages": f"hottest {significant(100 * pages)} %", "pages_share": pages, "share": taken}
        for pages, taken in pairs
    ]


def hottest(info: Mapping[str, Any], theme: Theme = LIGHT, *, page: bool = False) -> Any:
    """How much of the accesses the hottest pages take."""
    rows = hottest_rows(info)
    if not rows:
        return None
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y(
            "pages:N",
            sort=[r["pages"] for r in rows],
            axis=alt.Axis(title=None, ticks=False, domain=False, grid=False),
        ),
        x=alt.X(
            "share:Q",
            scale=alt.Scale(domain=[0, 1.12], nice=False),
            axis=alt.Axis(
                title="Share of accesses (%)",
                values=[0, 0.25, 0.5, 0.75, 1],
                labelExpr="format(100 * datum.value, '~g')",
            ),
        ),
    )
    bar = base.mark_bar(height={"band": 0.62}, fill=theme.series[2]).encode(
        tooltip=[
            alt.Tooltip("pages:N", title="Pages"),
            alt.Tooltip("share:Q", title="Take of all accesses", format=".2%"),
        ]
    )
    text = base.mark_text(align="left", dx=5, fill=theme.ink).encode(
        text=alt.Text("share:Q", format=".1%")
    )
    about = "Share of the accesses that go to the most accessed pages"
    return finish(alt.layer(bar, text), theme, "hottest", about, HEIGHT, page=page)


def _ordinal(field: str, order: Sequence[str], title: str) -> alt.X:
    return alt.X(
        field,
        sort=list(order),
        scale=alt.Scale(paddingInner=0.2, paddingOuter=0.1),
        axis=alt.Axis(
            title=title, labelAngle=0, labelOverlap="parity", labelSeparation=6, grid=False
        ),
    )


def _share_axis(field: str, title: str) -> alt.Y:
    axis = alt.Axis(title=title, tickCount=5, labelExpr="format(100 * datum.value, '~g')")
    return alt.Y(field, axis=axis, scale=alt.Scale(zero=True))


def _pairs(value: object) -> list[tuple[float, float]]:
    """Pairs of numbers; none if the value is anything else."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    pairs = []
    for item in value:
        if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
            return []
        first, second = finite(item[0]), finite(item[1])
        if first is None or second is None:
            return []
        pairs.append((first, second))
    return pairs
