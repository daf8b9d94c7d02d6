"""The page of advice within a write budget: the answer, the curve, and every run."""

from __future__ import annotations

from altair.utils.schemapi import debug_mode

from destage.model.budget import BudgetAdvised
from destage.model.results import ResultSet
from destage.model.words import counted, duration, plain, size
from destage.show.charts.budget import budget_chart, budget_rows
from destage.show.charts.theme import PAGE
from destage.show.pages.advice import group_part, table_part
from destage.show.pages.comparison import Part, chart_part
from destage.show.pages.contents import with_contents
from destage.show.pages.layout import drawn, page_of
from destage.show.pages.plain import points
from destage.show.pages.provenance import made
from destage.show.tables.budget import budget_lines, budget_table, runs_table

__all__ = ["budget_page"]


def budget_page(advised: BudgetAdvised, result: ResultSet, command: str | None) -> str:
    """The whole page, as text; `result` is every run."""
    name = advised.trace.name
    note = "joined: the Pareto front, with 95 % intervals; dashed: the budget; diamond: advised"
    with debug_mode(False):
        chart = budget_chart(advised, PAGE, page=True)
        part: Part = chart_part("w", "writes", "Hits over flash writes of a day", chart, name)
    part |= {"wide": True, "note": note, "points": points(budget_rows(advised))}
    groups: list[Part] = [group_part("w", [part])]
    trace = advised.trace
    lead = f"{counted(advised.ran.runs, 'run')}, pages of {size(trace.page_bytes)}"
    if trace.duration_ns is not None:
        lead += f", a trace of {duration(trace.duration_ns)}"
    html = page_of(
        "budget.html.j2",
        ["report.js"],
        {"groups": drawn(groups)},
        title=f"{name}: which cache within {advised.budget.text}",
        lead=plain(lead),
        answer=[plain(line) for line in budget_lines(advised)],
        chart=part,
        table=table_part(budget_table(advised)),
        runs=table_part(runs_table(advised)),
        made=made(result),
        version=str(result.source.get("version", "")),
        command=command,
    )
    return with_contents(html)
