"""The page of advice on KV caches: the answer, its curves, the filters, settings of hosts."""

from __future__ import annotations

from collections.abc import Sequence

from altair.utils.schemapi import debug_mode

from destage.model.kv_advice import KvAdvised
from destage.model.results import ResultSet
from destage.model.words import counted, duration, plain, size
from destage.show.charts.kv_advice import sizes_chart, sizes_rows, wear_chart, wear_rows
from destage.show.charts.theme import PAGE
from destage.show.pages.advice import group_part, table_part
from destage.show.pages.comparison import Part, chart_part
from destage.show.pages.contents import with_contents
from destage.show.pages.layout import drawn, page_of
from destage.show.pages.plain import points
from destage.show.pages.provenance import made
from destage.show.tables.kv_advice import (
    answer_lines,
    filters_table,
    kv_table,
    method_lines,
    settings_of,
)
from destage.show.tables.words import share_text

__all__ = ["kv_advice_page"]


def kv_advice_page(advised: KvAdvised, sets: Sequence[ResultSet], command: str | None) -> str:
    """The whole page, as text; `sets` are the runs, those without flash first."""
    groups: list[Part] = []
    filters = filters_table(advised)
    with debug_mode(False):
        charts = _charts(advised, groups)
    html = page_of(
        "kv_advice.html.j2",
        ["report.js"],
        {"groups": drawn(groups)},
        title=f"{advised.trace.name}: which KV cache",
        lead=_lead(advised),
        answer=[plain(line) for line in answer_lines(advised)],
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
