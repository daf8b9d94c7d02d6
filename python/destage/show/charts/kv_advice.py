"""The charts of advice on KV caches: hits over DRAM for each flash size, and hits over wear.

Needs the extra `report`; import this module only when a chart is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from destage.model.kv_advice import KvAdvised, KvConfiguration
from destage.model.results import Row
from destage.model.words import plain, size
from destage.show.charts.comparison import finish, size_axis
from destage.show.charts.theme import Theme
from destage.show.charts.value_axes import value_domain

__all__ = ["sizes_chart", "sizes_rows", "wear_chart", "wear_rows"]

TB = 1e12
ALONE = "DRAM alone"


def _flash(one: KvConfiguration) -> str:
    return f"{plain(size(one.flash_bytes))} of flash" if one.flash_bytes else ALONE


def sizes_rows(advised: KvAdvised) -> list[Row]:
    """The choice at each pair of sizes."""
    return [_row(one) for one in advised.curve]


def _row(one: KvConfiguration) -> Row:
    return {
        "flash": _flash(one),
        "dram_bytes": one.dram_bytes,
        "dram": plain(size(one.dram_bytes)),
        "label": one.run.label,
        "hits": 100 * one.hits,
    }


def wear_rows(advised: KvAdvised) -> list[Row]:
    """Every configuration with flash whose writes of a day are known."""
    return [
        {
            "filter": str(one.run["admit"]),
            "label": one.run.label,
            "dram": plain(size(one.dram_bytes)),
            "flash": plain(size(one.flash_bytes)),
            "tb_per_day": one.written_per_day / TB,
            "hits": 100 * one.hits,
        }
        for one in advised.candidates
        if one.flash_bytes and one.written_per_day
    ]


def _hits_axis(values: Sequence[float]) -> alt.Y:
    return alt.Y(
        "hits:Q",
        scale=alt.Scale(domain=value_domain(values, "real"), nice=False, zero=False),
        axis=alt.Axis(title="Token hits (%)", tickCount=6, format=".4~g"),
    )


def _colours(field: str, names: Sequence[str], theme: Theme) -> Any:
    return alt.Color(
        f"{field}:N",
        scale=alt.Scale(domain=list(names), range=[theme.ink, *theme.series][: len(names)]),
        legend=alt.Legend(title=None, orient="top", symbolType="circle", columns=2),
    )


_TIPS = [
    alt.Tooltip("label:N", title="Configuration"),
    alt.Tooltip("dram:N", title="DRAM"),
    alt.Tooltip("flash:N", title="Flash"),
    alt.Tooltip("hits:Q", title="Token hits (%)", format=".4~g"),
]


def sizes_chart(advised: KvAdvised, theme: Theme) -> Any:
    """Token hits of the choice over the size of DRAM, a line for each size of flash."""
    rows = sizes_rows(advised)
    limit = 100 * advised.best.hits * (1 - advised.within)
    x = alt.X("dram_bytes:Q", **size_axis([row["dram_bytes"] for row in rows], "DRAM"))
    y = _hits_axis([*(row["hits"] for row in rows), limit])
    names = list(dict.fromkeys(row["flash"] for row in rows))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=x, y=y, color=_colours("flash", names, theme)
    )
    near = (
        alt.Chart(alt.InlineData(values=[{"limit": limit}]))
        .mark_rule(strokeDash=[4, 3], stroke=theme.faint)
        .encode(y=alt.Y("limit:Q"))
    )
    spot = alt.Chart(alt.InlineData(values=[_row(advised.chosen)])).encode(x=x, y=y)
    layers = alt.layer(
        near,
        base.mark_line(strokeWidth=1.8),
        base.mark_point(filled=True, size=46, opacity=1).encode(tooltip=_TIPS),
        _diamond(spot, theme).encode(tooltip=_TIPS),
    )
    about = "Token hits over DRAM, a line for each size of flash; the advice is marked"
    return finish(layers, theme, "kv_sizes", about, 300, page=True)


def wear_chart(advised: KvAdvised, theme: Theme) -> Any:
    """Token hits over what is written to flash in a day, by admission filter."""
    rows = wear_rows(advised)
    names = list(dict.fromkeys(row["filter"] for row in rows))
    x = alt.X(
        "tb_per_day:Q",
        scale=alt.Scale(domain=value_domain([row["tb_per_day"] for row in rows], "real")),
        axis=alt.Axis(title="Written to flash (TB a day)", tickCount=6, format=".4~g"),
    )
    y = _hits_axis([row["hits"] for row in rows])
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y)
    tips = [*_TIPS, alt.Tooltip("tb_per_day:Q", title="TB a day", format=".4~g")]
    dots = base.mark_point(filled=True, size=46, opacity=1).encode(
        color=_colours("filter", names, theme), tooltip=tips
    )
    per_day = advised.chosen.written_per_day
    layers = [dots]
    if advised.chosen.flash_bytes and per_day:
        mine = _row(advised.chosen) | {"tb_per_day": per_day / TB}
        spot = alt.Chart(alt.InlineData(values=[mine])).encode(x=x, y=y)
        layers.append(_diamond(spot, theme).encode(tooltip=tips))
    about = "Token hits over flash writes of a day, each configuration with flash, by filter"
    return finish(alt.layer(*layers), theme, "kv_wear", about, 300, page=True)


def _diamond(spot: Any, theme: Theme) -> Any:
    return spot.mark_point(
        shape="diamond", size=170, filled=False, strokeWidth=2.4, stroke=theme.best, opacity=1
    )
