"""The answer of advice: five lines and one table; `tables.advice` has the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from destage.model.advice import Choice, deployable
from destage.model.advised import HITS, MOST_COMPULSORY, Advised
from destage.model.deployed import System
from destage.model.goals import Goal
from destage.model.run import Run, measured_text
from destage.model.words import (
    NBSP,
    NONE,
    counted,
    join,
    percent,
    plain,
    ratio,
    size,
)
from destage.show.tables.certainty import held_back, no_rival
from destage.show.tables.table import Cell, Column, Table
from destage.show.tables.words import far_text, place, share_text, title_of

__all__ = [
    "answer_lines",
    "answer_table",
    "pending_notes",
]

#: How to record a trace that says more.
RECORD = "Record a longer one: `destage record DEVICE -o trace.csv.zst` for a day."
#: A product's size is about the advised one up to this ratio.
ROUNDED = 1.05
#: Percentiles that are one garbage collection: all runs within this share of each other.
ALIKE = 0.05


def products_of(advised: Advised, run: Run) -> list[System]:
    """The deployed systems that a run stands for."""
    return [
        s
        for s in advised.products
        if s.label == run.label and s.least(advised.now) <= run.cache_bytes and not s.reads_only
    ]


def _count(runs: Sequence[Run], goal: Goal) -> str:
    """`214 runs`, and how many of them have no number, or too many pending writes for one."""
    unjudged = sum(goal.judged(run) is None for run in runs)
    return counted(len(runs), "run") + (f" ({unjudged:,} not judged)" if unjudged else "")


def _worth(advised: Advised) -> str:
    """Whether a cache is worth it: the first line."""
    choice = advised.first
    goal, run = choice.goal, advised.run
    title = "cost" if goal.metric is None else title_of(goal.metric.name)
    rises = ""
    if advised.rises:
        rises = (
            f"; a larger one may be better: {size(choice.curve[-1].run.cache_bytes)} is the largest"
            f" candidate size{_of_few(advised)}"
        )
    value, here = goal.text(goal.judged(run)), size(run.cache_bytes)
    said = f"Worth it: {'yes' if advised.worth else _why_not(advised)}; a cache of {here}"
    mine = goal.judged(run)
    without = None if advised.nothing is None else goal.judged(advised.nothing)
    if advised.nothing is None or not without or mine is None:
        # Nothing is hit without a cache; of other objectives that number is not known.
        return f"{said} gives {title} {value}{rises}."
    before = goal.text(without)
    if goal.largest or mine >= without:
        return f"{said} gives {title} {value}; without one it is {before}{rises}."
    share = percent((without - mine) / without, 0)
    return f"{said} saves {share} of {title}: {value} in place of {before}{rises}."


def _why_not(advised: Advised) -> str:
    """No, and the reason: few hits, or no significant improvement."""
    goal = advised.first.goal
    if goal.column in HITS:
        return f"no, fewer than {percent(1 - MOST_COMPULSORY, 0)} of the accesses hit at any size"
    title = "cost" if goal.metric is None else title_of(goal.metric.name)
    return f"no, {title} does not improve significantly"


def _of_few(advised: Advised) -> str:
    """Which flag tries larger sizes: of products' policies, few sizes may have been run."""
    largest = max(run.frames for run in advised.candidates)
    if advised.deployed and largest > advised.first.curve[-1].run.frames:
        return " with products' policies (--finalists)"
    return " (--budget)"


def not_worth(advised: Advised) -> str:
    """The one sentence where no cache helps."""
    choice = advised.first
    goal = choice.goal
    if goal.column in HITS or advised.nothing is None:
        most = goal.text(choice.best_value)
        who = "both tiers serve" if advised.below else "a cache serves"
        return (
            f"Worth it: no, or the trace is too short; {who} at most {most} of the"
            f" accesses at any size up to {size(choice.curve[-1].run.cache_bytes)}."
        )
    title = "cost" if goal.metric is None else title_of(goal.metric.name)
    without = goal.text(goal.judged(advised.nothing))
    return (
        "Worth it: no, or the trace is too short; no cache"
        f"{' of a product' if advised.deployed else ''} up to"
        f" {size(choice.curve[-1].run.cache_bytes)} improves {title} significantly"
        f" ({without} without one, {goal.text(choice.best_value)} at best)."
    )


def _take(advised: Advised) -> str:
    """The recommended cache, with the product that has it."""
    run, goal = advised.run, advised.first.goal
    take = "Take" if advised.worth else "If you add one, take"
    here = f"{size(run.cache_bytes)} ({run.frames:,}p) of {run.label}"
    within = f"within {share_text(advised.within)} of"
    if len(advised.goals) > 1:
        names = join([goal.name for goal in advised.goals])
        if advised.joint is not None:
            return f"{take} {here}, the smallest size {within} the best in each of {names}."
        return f"No run is near the best in each of {names}. For {goal.name} take {here}."
    products = products_of(advised, run) if advised.deployed else []
    if products:
        sold = deployable(advised.candidates, advised.products, advised.now)
        runs = _count(sold, goal)
        best = f"the smallest size {within} the best of {runs} of products' policies"
        values = _of_products(advised)
        if values:
            return f"{take} {here}, {best}. At that size: {values}."
        names = " or ".join(dict.fromkeys(one.title for one in products))
        return f"{take} {here} ({names}), {best}."
    runs = _count(advised.candidates, goal)
    return f"{take} {here}, the smallest size {within} the best of {runs}."


def _of_products(advised: Advised) -> str:
    """The objective with each product at about the advised size, the best first.

    Empty where there are not several products of that size.
    """
    goal, most = advised.first.goal, ROUNDED * advised.run.cache_bytes
    best: dict[str, float] = {}
    for setting in advised.settings:
        value, name = setting.values[0], setting.system.name
        is_near = setting.run is not None and setting.size_bytes <= most
        if value is None or not is_near or setting.system not in advised.products:
            continue
        if name not in best or goal.better(value, best[name]):
            best[name] = value
    if len(best) < 2:
        return ""
    ranked = sorted(best.items(), key=lambda item: item[1], reverse=goal.largest)
    alike: dict[str, list[str]] = {}
    for name, value in ranked:
        alike.setdefault(goal.text(value), []).append(name)
    return ", ".join(f"{join(names)} {text}" for text, names in alike.items())


def _possible(advised: Advised) -> str | None:
    """Value of a better policy that no product has."""
    if not advised.deployed:
        return None
    choice, mine = advised.choices[0], advised.run
    goal, run = choice.goal, choice.run
    judged, ours = goal.judged(run), goal.judged(mine)
    if judged is None or ours is None or run is mine or products_of(advised, run):
        return None
    if not _is_possible(advised, run):
        if run.cache_bytes >= mine.cache_bytes:
            return None
        return f"Not in any product: {place(run)}, smaller, no significant difference."
    if not goal.better(judged, ours):
        return None
    return f"Not in any product: {place(run)} gives {goal.text(judged)} (curve: --explain)."


def _is_possible(advised: Advised, run: Run) -> bool:
    """Whether a policy's lead is significant; of two sizes at one of them, as the table has it.

    Runs of different sizes have no interval.
    """
    choice, mine = advised.choices[0], advised.run
    if run.frames != mine.frames:
        here = [p.run for p in advised.first.curve if p.run.frames == run.frames]
        there = [p.run for p in choice.curve if p.run.frames == mine.frames]
        mine, run = (here[0], run) if here else (mine, (there or [run])[0])
    return choice.goal.is_significant(run, mine)


def _sure(choice: Choice) -> str:
    rival, goal = choice.rival, choice.goal
    if rival is None:
        return no_rival(choice)
    if goal.is_held_back(choice.run, rival.run):
        return held_back(choice, rival.run)
    theirs = f"{rival.run.label} ({goal.text(goal.judged(rival.run))})"
    if rival.significant:
        return f"The next best at that size, {theirs}, is significantly different."
    return f"The next best at that size, {theirs}, is not significantly different."


def _type(advised: Advised) -> str | None:
    """The command, or why there is none."""
    if advised.withheld and not advised.below:
        return f"No settings printed: {advised.withheld} (override: --force). {RECORD}"
    names = {one.name + one.setting for one in products_of(advised, advised.run)}
    mine = [s for s in advised.settings if s.system.name + s.system.setting in names and s.typed]
    if not mine:
        return _no_setting(advised)
    raised = mine[0].system.raised(advised.run.cache_bytes, advised.now)
    what = f"Type ({raised})" if raised else "Type"
    if all(one.name == mine[0].system.name for one in advised.products):
        return f"{what}: {mine[0].typed}" + (f" (--explain: {len(mine) - 1} more)" * bool(mine[1:]))
    return f"{what}, for {mine[0].system.name}: {mine[0].typed} (other products: --explain)"


def _no_setting(advised: Advised) -> str | None:
    """Why a cache that is to be enlarged gets no setting."""
    for one in advised.settings:
        system = one.system
        if system.key and system.key in advised.now:
            if one.why_not:
                return f"No setting for {system.title}: {one.why_not}."
            mine = advised.run.label
            return f"{system.title} has no {mine}, only {system.label} (its setting: --explain)."
    return None


def _one_collection(advised: Advised) -> str | None:
    """Where a percentile is the length of one garbage collection in every run."""
    goal = advised.goals[0]
    if goal.metric is None or "_p9" not in goal.metric.name or advised.drive is None:
        return None
    found = [v for run in advised.candidates if (v := goal.value(run)) is not None]
    if len(found) < 3 or max(found) - min(found) > ALIKE * max(found):
        return None
    return (
        f"{goal.title} is {goal.text(min(found))} to {goal.text(max(found))} in every run: the"
        " length of one garbage collection. Use --objective mean, or a device with gc_step_pages,"
        " to distinguish caches."
    )


def answer_lines(advised: Advised) -> list[str]:
    """The answer, in five lines at most; one line and how to go on where no cache is worth it.

    A line more says that the answer is for a closed loop.
    """
    lines: list[str | None]
    if not advised.worth and not advised.force:
        better = _possible(advised) if advised.worth_with_any_policy else None
        lines = [not_worth(advised), better, RECORD]
    else:
        possible = _possible(advised)
        third = _one_collection(advised) or possible
        lines = [_worth(advised), _take(advised), third, _sure(advised.first), _type(advised)]
    lines.append(advised.loop)
    if advised.ran.interrupted:
        lines[0] = f"Interrupted: from the runs finished by then. {lines[0]}"
    return [plain(line) for line in lines if line]


def pending_notes(choice: Choice) -> list[str]:
    """The note on values with pending writes; none where they change no printed value."""
    if not choice.has_pending:
        return []
    return [f"{choice.goal.name}: with pending writes, each at the mean cost of the others"]


def answer_table(advised: Advised) -> Table:
    """A row a size: the best that a product can be set to, and the best there is."""
    choice, everything = advised.first, advised.choices[0]
    goal = choice.goal
    has_hits = goal.column != "hit_ratio"
    heads = ["size", "of pages", "policy", *["hit %"] * has_hits, goal.name, "from best"]
    columns = [Column(h, right=h != "policy", key=h == "size") for h in heads]
    apart = bool(advised.deployed)
    columns += [Column("possible", right=False), Column(goal.name)] if apart else []
    title = "no cache" if advised.nothing is not None else ""
    table = Table("", columns, [[]])
    best = {point.run.frames: point for point in everything.curve}
    top = goal.judged(choice.best)
    if title and advised.nothing is not None:
        row = [Cell("-"), Cell("-"), Cell(title), *[Cell("0.00")] * has_hits]
        row += [Cell(goal.text(goal.judged(advised.nothing))), Cell(NONE)]
        table.groups[0].append(row + ([Cell(""), Cell("")] if apart else []))
    ran = Counter(run.frames for run in advised.candidates)
    shown = set[int]()
    for point in choice.curve:
        run = point.run
        # Sizes that deployed systems alone were run at would look better than they are.
        if 2 * ran[run.frames] < max(ran.values()) and run is not advised.run:
            continue
        shown.add(run.frames)
        far = None if top is None else goal.worse_by(point.judged, top)
        share = NONE if run.cache_share is None else percent(run.cache_share, 1)
        row = [Cell(size(run.cache_bytes), best=run is advised.run), Cell(share), Cell(run.label)]
        row += [Cell(ratio(run.hit_ratio, 2))] * has_hits
        row += [Cell(goal.text(point.judged)), Cell(NONE if far is None else far_text(far))]
        if apart:
            there = best.get(run.frames)
            other = (
                there is not None and there.run is not run and goal.is_significant(there.run, run)
            )
            row += [
                Cell(there.run.label if there is not None and other else NONE),
                Cell(goal.text(there.judged) if there is not None and other else ""),
            ]
        table.groups[0].append(row)
    near = share_text(advised.within)
    if advised.run.warmup_requests:
        table.notes.append(f"measured: {measured_text(advised.run)}, the same at every size")
    table.notes.append(
        plain(f"* the smallest size within {near} of the best; --explain shows the rest")
    )
    if any(row[2].text.endswith("+ writer") for row in table.rows()):
        table.notes.append("+ writer: with a background writer, as that product has")
    if apart:
        table.notes.append(
            "possible: a significantly better policy; no product has it at that size; -: none"
        )
    if choice.best.frames not in shown:
        table.notes.append(
            f"best: {place(choice.best)}, {goal.text(choice.best_value)}; few policies ran at that"
            " size"
        )
    table.notes += pending_notes(choice)
    table.notes = [plain(note).replace(NBSP, " ") for note in table.notes]
    return table
