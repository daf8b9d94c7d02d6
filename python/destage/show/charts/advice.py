"""The charts of advice: the best policy over cache size, and the front of several objectives.

Of KV caches: token hits over DRAM for each size of flash, and over flash writes.

Needs the extra `report`; import this module only when a chart is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from destage.model.advice import Choice
from destage.model.advised import KvAdvised
from destage.model.configuration import Configuration
from destage.model.goals import Goal
from destage.model.metrics import BASELINE
from destage.model.rows import Row
from destage.model.run import Run
from destage.model.words import plain, size, time_unit
from destage.show.charts.series import finish, size_axis
from destage.show.charts.theme import Theme
from destage.show.charts.value_axes import value_domain

__all__ = [
    "best_chart",
    "front_chart",
    "sizes_chart",
    "sizes_rows",
    "wear_chart",
    "wear_rows",
]

#: The line of the best policies in the legend.
BEST = "the best at each size"
TB = 1e12
ALONE = "DRAM alone"


def _scaled(goal: Goal, values: Sequence[float]) -> tuple[str, float]:
    """The title of an axis with its unit, and what its numbers are divided by."""
    if goal.metric is None:
        return "Cost (dollars a year)", 1.0
    if goal.metric.kind == "time":
        unit = time_unit(values)
        return f"{goal.title} ({unit.name})", float(unit.ns)
    if goal.metric.kind == "ratio":
        return f"{goal.title} (%)", 0.01
    return (f"{goal.title} ({goal.metric.unit})" if goal.metric.unit else goal.title), 1.0


def _axis(goal: Goal, values: Sequence[float], title: str) -> dict[str, Any]:
    kind = "real" if goal.metric is None else goal.metric.kind
    ratio = kind == "ratio"
    scale = 0.01 if ratio else 1.0
    domain = value_domain([v * scale for v in values], kind)
    domain = [v / scale for v in domain]
    if domain[0] > 0:
        title = f"{title[:-1]}, not from 0)" if title.endswith(")") else f"{title} (not from 0)"
    return {
        "scale": alt.Scale(domain=domain, nice=False, zero=False),
        "axis": alt.Axis(title=title, tickCount=6, format="~s" if kind == "count" else ".4~g"),
    }


def _around(goal: Goal, values: Sequence[float], title: str) -> dict[str, Any]:
    """An axis that ends where the points do: what counts in a cloud is who lies beside whom."""
    low, high = min(values), max(values)
    air = 0.06 * (high - low) or abs(high) or 1.0
    return _axis(goal, values, title) | {
        "scale": alt.Scale(domain=[low - air, high + air], nice=False, zero=False)
    }


def _row(run: Run, goal: Goal, value: float, divided: float, line: str) -> Row:
    return {
        "line": line,
        "label": run.label,
        "cache_bytes": run.cache_bytes,
        "size": plain(size(run.cache_bytes)),
        "value": value / divided,
        "text": plain(goal.text(value)),
    }


def best_chart(choice: Choice, within: float, theme: Theme) -> Any:
    """The best policy at each size, lru beside it, the accepted distance, and the advice."""
    goal = choice.goal
    known = [(p.baseline, goal.judged(p.baseline)) for p in choice.curve if p.baseline is not None]
    lru = [(run, value) for run, value in known if run is not None and value is not None]
    numbers = [p.judged for p in choice.curve] + [value for _, value in lru]
    title, divided = _scaled(goal, numbers)
    rows = [_row(p.run, goal, p.judged, divided, BEST) for p in choice.curve]
    rows += [_row(run, goal, value, divided, BASELINE) for run, value in lru]
    top = goal.judged(choice.best) or 0.0
    limit = top * (1 - within if goal.largest else 1 + within) / divided
    x = alt.X("cache_bytes:Q", **size_axis([r["cache_bytes"] for r in rows], "Cache size"))
    y = alt.Y("value:Q", **_axis(goal, [r["value"] for r in rows] + [limit], title))
    color = alt.Color(
        "line:N",
        scale=alt.Scale(domain=[BEST, BASELINE], range=[theme.series[0], theme.ink]),
        legend=alt.Legend(title=None, orient="top", symbolType="stroke"),
    )
    tooltip = [
        alt.Tooltip("label:N", title="Policy"),
        alt.Tooltip("size:N", title="Cache size"),
        alt.Tooltip("text:N", title=goal.title),
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y, color=color)
    lines = base.mark_line(strokeWidth=1.8)
    dots = base.mark_point(filled=True, size=46, opacity=1).encode(tooltip=tooltip)
    mine = _row(choice.run, goal, choice.value, divided, BEST)
    spot = alt.Chart(alt.InlineData(values=[mine | {"said": mine["label"]}])).encode(x=x, y=y)
    mark = _diamond(spot, theme).encode(tooltip=tooltip)
    word = spot.mark_text(dy=-16 if goal.largest else 18, fontWeight="bold", fill=theme.best)
    about = f"{goal.title} over cache size: the best policy at each size, and the advice"
    layers = alt.layer(_near(limit, theme), lines, dots, mark, word.encode(text="said:N"))
    return finish(layers, theme, f"advised_{goal.column}", about, 300, page=True)


def front_chart(runs: Sequence[Run], front: Sequence[Run], goals: Sequence[Goal], th: Theme) -> Any:
    """Every candidate by the first two objectives, the front joined."""
    first, second = goals[0], goals[1]
    known = [
        (run, a, b)
        for run in runs
        if (a := first.judged(run)) is not None and (b := second.judged(run)) is not None
    ]
    titles = [_scaled(first, [a for _, a, _ in known]), _scaled(second, [b for _, _, b in known])]
    on = {id(run) for run in front}
    rows: list[Row] = [
        {
            "label": run.label,
            "size": plain(size(run.cache_bytes)),
            "first": a / titles[0][1],
            "second": b / titles[1][1],
            "first_text": plain(first.text(a)),
            "second_text": plain(second.text(b)),
            "front": id(run) in on,
        }
        for run, a, b in known
    ]
    x = alt.X("first:Q", **_around(first, [r["first"] for r in rows], titles[0][0]))
    y = alt.Y("second:Q", **_around(second, [r["second"] for r in rows], titles[1][0]))
    tooltip = [
        alt.Tooltip("label:N", title="Policy"),
        alt.Tooltip("size:N", title="Cache size"),
        alt.Tooltip("first_text:N", title=first.title),
        alt.Tooltip("second_text:N", title=second.title),
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y)
    rest = base.transform_filter("!datum.front").mark_point(
        filled=True, size=30, opacity=1, fill=th.muted
    )
    best = base.transform_filter("datum.front")
    line = best.mark_line(strokeWidth=1.4, stroke=th.series[0])
    dots = best.mark_point(filled=True, size=70, opacity=1, fill=th.series[0])
    about = (
        f"{first.title} and {second.title} of every run;"
        " the line joins runs that no other beats in both"
    )
    layers = alt.layer(rest.encode(tooltip=tooltip), line, dots.encode(tooltip=tooltip))
    return finish(layers, th, "front", about, 320, page=True)


def _flash(one: Configuration) -> str:
    return f"{plain(size(one.flash_bytes))} of flash" if one.flash_bytes else ALONE


def sizes_rows(advised: KvAdvised) -> list[Row]:
    """The choice at each pair of sizes."""
    return [_configuration(one) for one in advised.curve]


def _configuration(one: Configuration) -> Row:
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
    spot = alt.Chart(alt.InlineData(values=[_configuration(advised.chosen)])).encode(x=x, y=y)
    layers = alt.layer(
        _near(limit, theme),
        base.mark_line(strokeWidth=1.8),
        base.mark_point(filled=True, size=46, opacity=1).encode(tooltip=_TIPS),
        _diamond(spot, theme).encode(tooltip=_TIPS),
    )
    about = "Token hits over DRAM, a line for each size of flash; the advice is marked"
    return finish(layers, theme, "kv_sizes", about, 300, page=True)


def wear_chart(advised: KvAdvised, theme: Theme) -> Any:
    """Token hits over the flash writes of a day, by admission filter."""
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
        mine = _configuration(advised.chosen) | {"tb_per_day": per_day / TB}
        spot = alt.Chart(alt.InlineData(values=[mine])).encode(x=x, y=y)
        layers.append(_diamond(spot, theme).encode(tooltip=tips))
    about = "Token hits over flash writes of a day, each configuration with flash, by filter"
    return finish(alt.layer(*layers), theme, "kv_wear", about, 300, page=True)


def _near(limit: float, theme: Theme) -> Any:
    """A dashed line at the accepted distance to the best."""
    rule = alt.Chart(alt.InlineData(values=[{"limit": limit}]))
    return rule.mark_rule(strokeDash=[4, 3], stroke=theme.faint).encode(y=alt.Y("limit:Q"))


def _diamond(spot: Any, theme: Theme) -> Any:
    """The mark of the advice."""
    return spot.mark_point(
        shape="diamond", size=170, filled=False, strokeWidth=2.4, stroke=theme.best, opacity=1
    )
