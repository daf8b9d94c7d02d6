"""Advice in words and tables: the same sentences on a terminal, in Markdown and on the page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from destage.model.advice import VISIBLE, Choice
from destage.model.advised import Advised, KvAdvised
from destage.model.goals import Goal
from destage.model.metrics import METRICS
from destage.model.run import Run
from destage.model.words import (
    NBSP,
    NONE,
    counted,
    join,
    number,
    percent,
    plain,
    ratio,
    significant,
    size,
)
from destage.show.tables.answer import answer_lines, answer_table, pending_notes
from destage.show.tables.certainty import behind, sure_lines, tail_of, wrong_lines
from destage.show.tables.kv_answer import (
    filters_table,
    kv_answer_lines,
    kv_table,
    settings_line,
    settings_of,
)
from destage.show.tables.products import NEAREST, settings_table, typed_lines
from destage.show.tables.table import Cell, Column, Table
from destage.show.tables.words import (
    far_text,
    place,
    share_text,
    title_of,
)

__all__ = [
    "WIDE",
    "advice_lines",
    "advice_table",
    "advice_tables",
    "advice_text",
    "choice_lines",
    "first_lines",
    "front_table",
    "head_of",
    "joint_line",
    "kv_text",
    "method_lines",
    "parts_table",
    "shown_choices",
]

#: Digits where numbers stand close together.
FINE = 5
#: Names in a row.
MOST = 4
#: Columns of a sentence in plain text.
WIDE = 100


def _whole(run: Run) -> str:
    share = run.cache_share
    within = "" if share is None else f", {significant(100 * share)}{NBSP}% of the trace's"
    return f"{place(run)} ({counted(run.frames, 'page')}{within})"


def several(labels: Sequence[str]) -> str:
    """A few names, and how many more."""
    if len(labels) <= MOST:
        return join(labels)
    return f"{', '.join(labels[: MOST - 1])} and {len(labels) - MOST + 1} more"


def choice_lines(choice: Choice, within: float, largest: int | None = None) -> list[str]:
    """The advice for one objective, and its numbers.

    `largest` is the size, in pages, up to which any policy ran; by default this choice's.
    """
    goal, run, best = choice.goal, choice.run, choice.best
    title = "cost" if goal.metric is None else title_of(goal.metric.name)
    lead = f"For {title}: {_whole(run)} gives {goal.text(choice.value)}{tail_of(goal, run)}"
    if run is best:
        said = [f"{lead}, the best of these runs."]
    else:
        far = behind(goal.worse_by(choice.value, choice.best_value), "the best of these runs")
        said = [f"{lead}, {far} ({place(best)}: {goal.text(choice.best_value)})."]
    alone = all(point.judged == choice.value for point in choice.curve)
    if alone and len(choice.curve) > 1:
        said.append("All sizes give the same value of this objective.")
    sizes = [point for point in choice.curve if point.near]
    if len(sizes) == len(choice.curve) and not alone and len(sizes) > 1:
        said.append(
            f"This is the smallest size tried; a smaller one may also be within"
            f" {share_text(within)} (--cache)."
        )
    elif run is best and run is choice.curve[-1].run and len(choice.curve) > 1:
        few = largest is not None and largest > run.frames
        tried = " with these policies" if few else ""
        how = "--finalists" if few else "--budget"
        more = f"a larger cache may be better still ({how})"
        said.append(f"This is the largest candidate size{tried}; {more}.")
    ties = choice.point.ties
    if ties:
        counted_too = ", with pending writes" if choice.has_pending else ""
        names = several([run.label, *ties])
        said.append(f"{names}: no significant difference at that size{counted_too}.")
    share = goal.put_off(run)
    if share > VISIBLE:
        said.append(
            f"{percent(share, 1)} of its flash writes are pending or come after the last request,"
            f" and are counted at the mean cost of the others; without them"
            f" {goal.text(goal.value(run))}."
        )
    return said


def advice_lines(advised: Advised) -> list[list[str]]:
    """All of it in sentences, a part for each objective, the advice first.

    Of products and of all policies, the second part has the sentences that differ.
    """
    said = [[joint_line(advised)]] if len(advised.goals) > 1 else []
    said += [_lines_of(choice, advised) for choice in advised.deployed]
    known = {line for part in said for line in part}
    for choice in advised.choices:
        lines = _lines_of(choice, advised)
        if lines[0] in known:
            title = "cost" if choice.goal.metric is None else title_of(choice.goal.metric.name)
            lines = [line for line in lines if line not in known]
            lines.insert(0, f"Among all policies, for {title}: the same choice.")
        elif advised.deployed:
            lines[0] = f"Among all policies, {lines[0][0].lower()}{lines[0][1:]}"
        said.append(lines)
    return [*said, [advised.life_said]]


def _lines_of(choice: Choice, advised: Advised) -> list[str]:
    """A choice, its certainty, and the costs of others."""
    return [*first_lines(choice, advised), *sure_lines(choice), *wrong_lines(choice)]


def first_lines(choice: Choice, advised: Advised) -> list[str]:
    """A choice and its numbers, of all policies that ran."""
    largest = max(run.frames for run in advised.candidates)
    return choice_lines(choice, advised.within, largest)


def shown_choices(advised: Advised) -> list[tuple[Choice, str]]:
    """The choices to show, each with what it is of: products' policies, or all policies.

    What it is of is empty where both are the same run, and where policies were named.
    """
    if not advised.deployed:
        return [(choice, "") for choice in advised.choices]
    found = []
    for sold, every in zip(advised.deployed, advised.choices, strict=True):
        if sold.run is every.run:
            found.append((every, ""))
        else:
            found += [(sold, "products' policies"), (every, "all policies")]
    return found


def joint_line(advised: Advised) -> str:
    """Which run is near the best in all of several objectives."""
    names = join([goal.name for goal in advised.goals])
    near = share_text(advised.within)
    if advised.joint is None:
        return (
            f"No run is within {near} of the best in each of {names}: see the Pareto front, and the"
            " choice for each objective."
        )
    return f"{_whole(advised.joint)} is the smallest size within {near} of the best in {names}."


def advice_table(advised: Advised, choice: Choice) -> Table:
    """The curve: the best policy at each size, the advice marked."""
    goal = choice.goal
    has_hits = goal.column != "hit_ratio"
    heads = ["size", "pages", "of pages", "policy", *["hit %"] * has_hits]
    heads += [goal.name, "from best", f"lru {goal.name}", "ties with"]
    left = ("policy", "ties with")
    columns = [
        Column(head, right=head not in left, key=head == "size", spare=head == "hit %")
        for head in heads
    ]
    table = Table(f"{goal.title} over cache size, the best policy at each", columns, [[]])
    top = goal.judged(choice.best)
    for point in choice.curve:
        run, lru = point.run, point.baseline
        far = None if top is None else goal.worse_by(point.judged, top)
        share = NONE if run.cache_share is None else percent(run.cache_share, 1)
        table.groups[0].append(
            [
                Cell(size(run.cache_bytes), best=run is choice.run),
                *(Cell(number(run.frames)), Cell(share), Cell(run.label)),
                *([Cell(ratio(run.hit_ratio))] if has_hits else []),
                Cell(goal.text(point.judged)),
                Cell(NONE if far is None else far_text(far)),
                Cell(NONE if lru is None else goal.text(goal.judged(lru))),
                Cell(several(point.ties)),
            ]
        )
    table.notes.append(f"* the smallest size within {share_text(advised.within)} of the best")
    table.notes += pending_notes(choice)
    table.notes = [plain(note) for note in table.notes]
    return table


def parts_table(choice: Choice) -> Table | None:
    """The two best in equal parts of the trace."""
    rival = choice.rival
    if rival is None or not rival.parts:
        return None
    heads = ["", *(f"part {k + 1}" for k in range(len(rival.parts)))]
    columns = [Column(head, right=bool(head), key=not head) for head in heads]
    metric = next((m for m in METRICS if m.name == rival.parts_name), None)
    goal = Goal(rival.parts_name, metric, choice.goal.largest, choice.goal.prices)
    table = Table(f"{title_of(rival.parts_name)} in parts of the trace", columns, [[]])
    for k, label in enumerate((choice.run.label, rival.run.label)):
        table.groups[0].append(
            [Cell(label), *(Cell(goal.text(pair[k]) if metric else NONE) for pair in rival.parts)]
        )
    return table


def front_table(advised: Advised) -> Table:
    """The runs that no other beats in all objectives."""
    columns = [Column("size", key=True), Column("policy", right=False, key=True)]
    columns += [Column(goal.name) for goal in advised.goals] + [Column("hit %", spare=True)]
    table = Table("Pareto front: no other run is as good in all of these", columns, [[]])
    for run in advised.front:
        cells = [Cell(size(run.cache_bytes), best=run is advised.joint), Cell(run.label)]
        cells += [Cell(goal.text(goal.judged(run), FINE)) for goal in advised.goals]
        table.groups[0].append([*cells, Cell(ratio(run.hit_ratio))])
    table.notes.append("neighbours may not differ significantly")
    if any(run is advised.joint for run in advised.front):
        table.notes.append("* near the best in all of them")
    return table


def advice_tables(advised: Advised) -> list[Table]:
    """Every table, in order."""
    found: list[Table] = []
    if len(advised.goals) > 1:
        found.append(front_table(advised))
    for choice in advised.choices:
        found.append(advice_table(advised, choice))
        parts = parts_table(choice)
        found += [] if parts is None else [parts]
    return [*found, settings_table(advised)] if advised.settings else found


def head_of(advised: Advised) -> str:
    """The runs behind the advice."""
    trace = advised.trace
    front = f", {advised.below}" if advised.below else ""
    front += f", in front of {advised.drive}" if advised.drive else ""
    budget = ""
    if advised.budget_bytes is not None:
        budget = f", a budget of {size(advised.budget_bytes)}"
    return (
        f"{trace.name}: {counted(trace.requests, 'request')}, {counted(trace.unique_pages, 'page')}"
        f" of {trace.page_bytes:,} bytes{front}{budget}"
    )


def advice_text(
    advised: Advised, *, explain: bool, width: int = WIDE, markdown: bool = False
) -> str:
    """The answer and its table; with `explain` the reasons, certainty, settings and method."""
    head = "# " if markdown else ""
    bullet = "* " if markdown else ""
    wide = None if markdown else width
    out = [_folded(f"{head}{plain(head_of(advised))}", wide), ""]
    out += [_folded(f"{bullet}{line}", wide) for line in answer_lines(advised)]
    if advised.worth or advised.force:
        table = answer_table(advised)
        parts = [table] if markdown else table.parts(width)
        for part in parts:
            out += ["", part.markdown().rstrip() if markdown else part.text()]
    if explain:
        out += _explained(advised, wide)
    return "\n".join(out) + "\n"


def _explained(advised: Advised, wide: int | None) -> list[str]:
    """Certainty, costs of other choices, settings, and method."""
    markdown, out = wide is None, list[str]()
    bullet = "* " if markdown else ""
    for part in advice_lines(advised):
        out += ["", *(_folded(f"{bullet}{plain(line)}", wide) for line in part)]
    for table in advice_tables(advised):
        laid_out = f"## {table.title}\n\n{table.markdown().rstrip()}" if markdown else table.text()
        out += ["", laid_out]
    out += ["", *_typed_text(advised, wide)] if advised.settings else []
    out += [""]
    out += [f"## Method{chr(10)}" if markdown else "Method:"]
    start = "* " if markdown else "  "
    return out + [_folded(f"{start}{plain(note)}", wide) for note in advised.notes]


def _folded(text: str, wide: int | None) -> str:
    """A sentence in lines of this width; None: in one."""
    if wide is None:
        return text
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.fill(
        text, wide, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _typed_text(advised: Advised, wide: int | None) -> Iterator[str]:
    markdown = wide is None
    yield f"## Settings{chr(10)}" if markdown else "Settings:"
    if advised.withheld:
        yield _folded(plain(f"  None: {advised.withheld} (override: --force)."), wide)
        return
    yield _folded(plain(NEAREST) if markdown else f"  {plain(NEAREST)}", wide)
    said: set[str] = set()
    for name, typed, lacks, source in typed_lines(advised):
        if markdown:
            yield f"\n### {name}\n\n```\n{typed}\n```\n\n{lacks}. Source: {source}."
            continue
        yield f"  {name}\n      {typed}"
        if lacks not in said:
            yield _folded(f"    nearest only: {lacks}", wide)
            yield _folded(f"    source: {source}", wide)
        said.add(lacks)


def method_lines(advised: KvAdvised) -> Iterator[str]:
    """How the runs were made."""
    ran = advised.ran
    yield (
        f"{counted(ran.runs, 'run')} of the whole trace, measured after a warm-up (--warmup) of"
        f" {ran.warmup} of the requests. Computing missing blocks is not modelled."
    )
    if advised.bound is not None:
        yield f"No policy hits more than {percent(advised.bound, 2)} at the largest size tried."
    if advised.chosen.dollars is not None:
        yield f"Prices: {advised.prices.behind(advised.chosen.flash_bytes).said()}."
    if ran.interrupted:
        yield "Interrupted: some runs are missing."


def kv_text(
    advised: KvAdvised, *, explain: bool = False, markdown: bool = False, width: int = WIDE
) -> str:
    """The answer in five lines and its table; `explain` adds filters, settings and method."""
    out: list[str] = []

    def say(lines: Iterator[str]) -> None:
        for line in lines:
            text = plain(line)
            out.append(f"* {text}" if markdown else textwrap.fill(text, width))

    def draw(table: Table) -> None:
        out.extend(["", table.markdown() if markdown else table.text()])

    def head(title: str) -> None:
        out.extend(["", f"## {title}" if markdown else title])

    withheld = [settings_line(advised)] if advised.withheld or not explain else []
    say(iter([*kv_answer_lines(advised), *withheld]))
    draw(kv_table(advised))
    if explain:
        filters = filters_table(advised)
        if filters is not None:
            head("Admission filters at these sizes")
            draw(filters)
        settings = settings_of(advised)
        if settings:
            head("Settings")
            for setting in settings:
                lacks = f" ({setting.lacks})" if setting.lacks else ""
                out.extend(["", plain(f"{setting.host}{lacks}:")])
                block = f"```\n{setting.typed}\n```" if markdown else setting.typed
                out.extend([block, f"source: {setting.source}"])
        head("Method")
        say(method_lines(advised))
    return "\n".join(out) + "\n"
