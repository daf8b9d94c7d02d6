"""The page of advice within a write budget: the answer, the curve, and every run."""

from __future__ import annotations

from altair.utils.schemapi import debug_mode

from destage.model.budget import BudgetAdvised
from destage.model.results import ResultSet
from destage.model.words import counted, duration, plain, size
from destage.show.charts.budget import budget_chart, budget_rows
from destage.show.charts.theme import PAGE
from destage.show.pages.advice import advised_page, method
from destage.show.pages.blocks import Part, charts, section, table
from destage.show.pages.comparison import alone, chart_part
from destage.show.tables.budget import budget_lines, budget_table, runs_table

__all__ = ["budget_page"]


def budget_page(advised: BudgetAdvised, result: ResultSet, command: str | None) -> str:
    """The whole page, as text; `result` is every run."""
    name = advised.trace.name
    note = "joined: the Pareto front, with 95 % intervals; dashed: the budget; diamond: advised"
    with debug_mode(False):
        chart = budget_chart(advised, PAGE, page=True)
        part: Part = chart_part("w", "writes", "Hits over flash writes of a day", chart, name)
    groups: list[Part] = []
    alone(groups, part, note, budget_rows(advised))
    trace = advised.trace
    lead = f"{counted(advised.ran.runs, 'run')}, pages of {size(trace.page_bytes)}"
    if trace.duration_ns is not None:
        lead += f", a trace of {duration(trace.duration_ns)}"
    return advised_page(
        f"{name}: which cache within {advised.budget.text}",
        plain(lead),
        [[plain(line) for line in budget_lines(advised)]],
        [
            section("Hits over writes", charts([part]), table(budget_table(advised))),
            method((), result, runs_table(advised)),
        ],
        groups,
        result,
        command,
        of=" within a write budget",
    )
