"""The page of advice: the choice, its reasons, its certainty, and the settings."""

from __future__ import annotations

from collections.abc import Sequence

from altair.utils.schemapi import debug_mode

from destage.model.advice import Choice, SizePoint
from destage.model.advised import Advised, KvAdvised
from destage.model.metrics import BASELINE
from destage.model.results import ResultSet
from destage.model.words import counted, duration, plain, size
from destage.show.charts import advice as drawing
from destage.show.charts.theme import PAGE
from destage.show.pages.blocks import Part, article, charts, details, section, table, text
from destage.show.pages.comparison import alone, chart_part, over_size
from destage.show.pages.layout import page_of
from destage.show.pages.provenance import made
from destage.show.tables import advice as said
from destage.show.tables import answer, certainty, kv_answer, products
from destage.show.tables.results import results_table
from destage.show.tables.table import Table
from destage.show.tables.words import share_text

__all__ = ["advice_page", "advised_page", "kv_advice_page", "method"]


def advice_page(advised: Advised, result: ResultSet, command: str | None) -> str:
    """The whole page, as text; `result` is every run of the grid."""
    groups: list[Part] = []
    with debug_mode(False):
        shown = enumerate(said.shown_choices(advised))
        choices = [s for k, (c, of) in shown for s in _choice(k, c, of, advised, groups)]
        front = _front(advised, groups) if len(advised.goals) > 1 else None
        policies = _policies(advised, result, groups)
    how = method(advised.notes, result, results_table(result.runs))
    joint = said.joint_line(advised) if len(advised.goals) > 1 else ""
    lines = [line for c, of in said.shown_choices(advised) for line in _lines(c, of, advised)]
    return advised_page(
        f"{advised.trace.name}: which cache",
        said.head_of(advised),
        [
            answer.answer_lines(advised),
            [line for line in (joint, *lines, advised.life_said) if line],
        ],
        [front, *choices, _settings(advised), policies, how],
        groups,
        result,
        command,
    )


def advised_page(
    title: str,
    lead: str,
    summary: Sequence[Sequence[str]],
    sections: Sequence[Part | None],
    groups: list[Part],
    result: ResultSet,
    command: str | None,
    of: str = "",
) -> str:
    """A page of advice `of` something, with what its charts draw in `groups`."""
    return page_of(
        [article("advice", title, sections, summary=summary)],
        {"groups": groups},
        eyebrow=f"Destage advice{of}",
        title=title,
        lead=lead,
        version=str(result.source.get("version", "")),
        command=command,
    )


def method(notes: Sequence[str], result: ResultSet, runs: Table | None) -> Part | None:
    """How the advice was found, on which runs."""
    every = None if runs is None else details("All runs", table(runs))
    return section("Method", text("list", *notes), made(result), every)


def _settings(advised: Advised) -> Part | None:
    if not advised.settings:
        return None
    typed = []
    for name, line, lacks, source in products.typed_lines(advised):
        note = text("note", f"Nearest only: {lacks}. Source: {source}.")
        typed.append(details(name, text("typed", line), note))
    return section(
        "Settings",
        text("note above", products.NEAREST),
        table(products.settings_table(advised)),
        *typed,
    )


def _lines(choice: Choice, of: str, advised: Advised) -> list[str]:
    """A choice in sentences, the first with what it is of."""
    first, *rest = said.first_lines(choice, advised)
    return [f"Of {of}, {first[0].lower()}{first[1:]}" if of else first, *rest]


def _choice(
    k: int, choice: Choice, among: str, advised: Advised, groups: list[Part]
) -> list[Part | None]:
    name, title = f"a{k}", f"{choice.goal.title} over cache size"
    title += f", {among}" if among else ""
    chart = drawing.best_chart(choice, advised.within, PAGE)
    part = chart_part(name, "best", title, chart, f"{advised.trace.name}-advice")
    near = share_text(advised.within)
    note = f"dashed: within {near} of the best; diamond: advised"
    alone(groups, part, note, [_point(p, choice) for p in choice.curve])
    of = f": {title}" if len(advised.choices) > 1 else f": {among}" if among else ""
    parts = said.parts_table(choice)
    in_parts = [] if parts is None else [text("title", parts.title), table(parts)]
    sure = text("lines", *certainty.sure_lines(choice))
    wrong = text("list", *certainty.wrong_lines(choice))
    return [
        section(title, charts([part]), table(said.advice_table(advised, choice))),
        section(f"Certainty{of}", sure, *in_parts, label="Certainty"),
        section(f"Cost of other choices{of}", wrong, label="Cost of other choices"),
    ]


def _point(point: SizePoint, choice: Choice) -> Part:
    lru = point.baseline
    return {
        "cache_bytes": point.run.cache_bytes,
        "label": point.run.label,
        choice.goal.column: point.judged,
        BASELINE: None if lru is None else choice.goal.judged(lru),
    }


def _front(advised: Advised, groups: list[Part]) -> Part | None:
    chart = drawing.front_chart(advised.candidates, advised.front, advised.goals, PAGE)
    first, second = advised.goals[:2]
    title = f"{first.title} and {second.title}"
    part = chart_part("front", "front", title, chart, f"{advised.trace.name}-front")
    note = "joined: no other run is as good in all; no axis begins at zero"
    alone(groups, part, note)
    return section("Several objectives", charts([part]), table(said.front_table(advised)))


def _policies(advised: Advised, result: ResultSet, groups: list[Part]) -> Part | None:
    """Every policy over cache size, in the objectives that are drawn, and in hits."""
    if len(result.sizes) < 2:
        return None
    known = {metric.name: metric for metric in result.metrics()}
    names = [g.column for g in advised.goals if g.column in known and known[g.column].charted]
    names = list(dict.fromkeys([*names, "hit_ratio"]))
    return over_size("p", "Every policy", result, names, groups, result.name)


def kv_advice_page(advised: KvAdvised, sets: Sequence[ResultSet], command: str | None) -> str:
    """The whole page, as text; `sets` are the runs, those without flash first."""
    groups: list[Part] = []
    with debug_mode(False):
        made = _charts(advised, groups)
    return advised_page(
        f"{advised.trace.name}: which KV cache",
        _lead(advised),
        [[plain(line) for line in kv_answer.kv_answer_lines(advised)]],
        [
            section("Sizes and wear", charts(made)),
            section("Choice at each pair of sizes", table(kv_answer.kv_table(advised))),
            section("Admission filters at these sizes", table(kv_answer.filters_table(advised))),
            _kv_settings(advised),
            method([plain(line) for line in said.method_lines(advised)], sets[-1], None),
        ],
        groups,
        sets[-1],
        command,
        of=" on KV caches",
    )


def _kv_settings(advised: KvAdvised) -> Part | None:
    withheld = f"Withheld, because {advised.withheld} (--force prints them)."
    blocks = [text("note", withheld if advised.withheld else "")]
    for given in kv_answer.settings_of(advised):
        blocks.append(text("typed", given.typed, title=given.host))
        lacks = f"Left out: {given.lacks}. " if given.lacks else ""
        blocks.append(text("note", f"{lacks}Source: {given.source}."))
    return section("Settings", *blocks)


def _lead(advised: KvAdvised) -> str:
    trace = advised.trace
    said = f"{counted(advised.ran.runs, 'run')}, blocks of {size(trace.page_bytes)}"
    return (
        said if trace.duration_ns is None else f"{said}, a trace of {duration(trace.duration_ns)}"
    )


def _charts(advised: KvAdvised, groups: list[Part]) -> list[Part]:
    name = advised.trace.name
    near = share_text(advised.within)
    part = chart_part(
        "k", "sizes", "Token hits over DRAM", drawing.sizes_chart(advised, PAGE), name
    )
    note = f"dashed: within {near} of the most; diamond: advised"
    found = [(part, note, drawing.sizes_rows(advised))]
    wear = drawing.wear_rows(advised)
    if wear:
        chart, title = drawing.wear_chart(advised, PAGE), "Token hits over flash writes"
        note = "each configuration with flash, by admission filter; diamond: advised"
        found.append((chart_part("k", "wear", title, chart, name), note, wear))
    return [alone(groups, *one) for one in found]
