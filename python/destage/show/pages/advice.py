"""The page of advice: the choice, its reasons, its certainty, and the settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from altair.utils.schemapi import debug_mode

from destage.model.advice import Choice, SizePoint
from destage.model.advised import Advised, KvAdvised
from destage.model.metrics import BASELINE
from destage.model.results import ResultSet
from destage.model.words import counted, duration, plain, size
from destage.show.charts.advice import (
    best_chart,
    front_chart,
    sizes_chart,
    sizes_rows,
    wear_chart,
    wear_rows,
)
from destage.show.charts.comparison import Charts
from destage.show.charts.comparison_rows import chart_rows
from destage.show.charts.theme import PAGE
from destage.show.pages.comparison import Part, chart_part, chips, highlighted
from destage.show.pages.contents import with_contents
from destage.show.pages.layout import drawn, page_of
from destage.show.pages.plain import points
from destage.show.pages.provenance import made
from destage.show.tables.advice import (
    NEAREST,
    advice_table,
    choice_lines,
    front_table,
    head_of,
    joint_line,
    method_lines,
    parts_table,
    settings_table,
    sure_lines,
    typed_lines,
    wrong_lines,
)
from destage.show.tables.answer import (
    answer_lines,
    filters_table,
    kv_answer_lines,
    kv_table,
    settings_of,
)
from destage.show.tables.results import results_table
from destage.show.tables.table import Table
from destage.show.tables.words import share_text

__all__ = ["advice_page", "group_part", "kv_advice_page", "table_part"]


def advice_page(advised: Advised, result: ResultSet, command: str | None) -> str:
    """The whole page, as text; `result` is every run of the grid."""
    groups: list[Part] = []
    with debug_mode(False):
        choices = [_choice(k, c, advised, groups) for k, c in enumerate(advised.choices)]
        front = _front(advised, groups) if len(advised.goals) > 1 else None
        policies = _policies(advised, result, groups)
    html = page_of(
        "advice.html.j2",
        ["report.js"],
        {"groups": drawn(groups)},
        kv=False,
        title=f"{advised.trace.name}: which cache",
        lead=head_of(advised),
        answer=answer_lines(advised),
        joint=joint_line(advised) if len(advised.goals) > 1 else "",
        choices=choices,
        life=advised.life_said,
        front=front,
        policies=policies,
        settings=table_part(settings_table(advised)) if advised.settings else None,
        nearest=NEAREST,
        typed=typed_lines(advised),
        notes=advised.notes,
        runs=table_part(results_table(result.runs)),
        made=made(result),
        version=str(result.source.get("version", "")),
        command=command,
    )
    return with_contents(html)


def table_part(table: Table) -> Part:
    """A table as the template lays it out; marked cells are bold."""
    return {
        "title": table.title,
        "heads": [
            {"text": c.title.replace("\n", " "), "right": c.right and k > 0}
            for k, c in enumerate(table.columns)
        ],
        "rows": [[{"text": c.text, "best": c.best} for c in row] for row in table.rows()],
        "notes": table.notes,
    }


def group_part(name: str, charts: list[Part], rows: Any = (), shown: Any = ()) -> Part:
    """Charts as the scripts of the page take them."""
    return {"id": name, "rows": list(rows), "shown": list(shown), "charts": charts}


def _choice(k: int, choice: Choice, advised: Advised, groups: list[Part]) -> Part:
    name, title = f"a{k}", f"{choice.goal.title} over cache size"
    chart = best_chart(choice, advised.within, PAGE)
    part = chart_part(name, "best", title, chart, f"{advised.trace.name}-advice")
    near = share_text(advised.within)
    rows = [_point(p, choice) for p in choice.curve]
    note = f"dashed: within {near} of the best; diamond: advised"
    part |= {"wide": True, "note": note, "points": points(rows)}
    groups.append(group_part(name, [part]))
    parts = parts_table(choice)
    return {
        "title": title,
        "lines": choice_lines(choice, advised.within),
        "sure": sure_lines(choice),
        "wrong": wrong_lines(choice),
        "chart": part,
        "table": table_part(advice_table(advised, choice)),
        "parts": None if parts is None else table_part(parts),
    }


def _point(point: SizePoint, choice: Choice) -> Part:
    lru = point.baseline
    return {
        "cache_bytes": point.run.cache_bytes,
        "label": point.run.label,
        choice.goal.column: point.value,
        BASELINE: None if lru is None else choice.goal.value(lru),
    }


def _front(advised: Advised, groups: list[Part]) -> Part:
    chart = front_chart(advised.candidates, advised.front, advised.goals, PAGE)
    first, second = advised.goals[:2]
    title = f"{first.title} and {second.title}"
    part = chart_part("front", "front", title, chart, f"{advised.trace.name}-front")
    part |= {"wide": True, "note": "joined: no other run is as good in all; no axis begins at zero"}
    groups.append(group_part("front", [part]))
    return {"chart": part, "table": table_part(front_table(advised))}


def _policies(advised: Advised, result: ResultSet, groups: list[Part]) -> Part | None:
    """Every policy over cache size, in the objectives that are drawn, and in hits."""
    if len(result.sizes) < 2:
        return None
    shown = highlighted(result)
    charts = Charts(result, PAGE, page=True, shown=shown)
    known = {metric.name: metric for metric in result.metrics()}
    names = [g.column for g in advised.goals if g.column in known and known[g.column].charted]
    drawn = [
        chart_part("p", name, known[name].title, charts.over_size(known[name]), result.name)
        for name in dict.fromkeys([*names, "hit_ratio"])
        if name in known
    ]
    for part in drawn:
        part["wide"] = True
    if not drawn:
        return None
    drawn[-1]["points"] = points(chart_rows(result))
    groups.append(group_part("p", drawn, chart_rows(result), shown))
    return {"id": "p", "charts": drawn, "chips": chips(result, shown)}


def kv_advice_page(advised: KvAdvised, sets: Sequence[ResultSet], command: str | None) -> str:
    """The whole page, as text; `sets` are the runs, those without flash first."""
    groups: list[Part] = []
    filters = filters_table(advised)
    with debug_mode(False):
        charts = _charts(advised, groups)
    html = page_of(
        "advice.html.j2",
        ["report.js"],
        {"groups": drawn(groups)},
        kv=True,
        title=f"{advised.trace.name}: which KV cache",
        lead=_lead(advised),
        answer=[plain(line) for line in kv_answer_lines(advised)],
        charts=charts,
        table=table_part(kv_table(advised)),
        filters=None if filters is None else table_part(filters),
        settings=settings_of(advised),
        withheld=advised.withheld,
        notes=[plain(line) for line in method_lines(advised)],
        made=made(sets[-1]),
        version=str(sets[-1].source.get("version", "")),
        command=command,
    )
    return with_contents(html)


def _lead(advised: KvAdvised) -> str:
    trace = advised.trace
    said = f"{counted(advised.ran.runs, 'run')}, blocks of {size(trace.page_bytes)}"
    return (
        said if trace.duration_ns is None else f"{said}, a trace of {duration(trace.duration_ns)}"
    )


def _charts(advised: KvAdvised, groups: list[Part]) -> list[Part]:
    name = advised.trace.name
    near = share_text(advised.within)
    found = [
        (
            chart_part("k", "sizes", "Token hits over DRAM", sizes_chart(advised, PAGE), name),
            f"dashed: within {near} of the most; diamond: advised",
            sizes_rows(advised),
        )
    ]
    wear = wear_rows(advised)
    if wear:
        part = chart_part(
            "k", "wear", "Token hits over flash writes", wear_chart(advised, PAGE), name
        )
        note = "each configuration with flash, by admission filter; diamond: advised"
        found.append((part, note, wear))
    charts = [
        part | {"wide": True, "note": note, "points": points(rows)} for part, note, rows in found
    ]
    groups.append(group_part("k", charts))
    return charts
