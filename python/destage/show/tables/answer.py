"""The answer of advice: five lines and one table. What stands behind it is `tables.advice`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from destage.model.advice import Choice, deployable
from destage.model.advised import HITS, Advised
from destage.model.deployed import System
from destage.model.run import Run, measured_text
from destage.model.words import NBSP, NONE, counted, join, percent, plain, size
from destage.show.tables.table import Cell, Column, Table
from destage.show.tables.words import place, share_text, title_of

__all__ = ["answer_lines", "answer_table"]

#: How to record a trace that says more.
RECORD = "Record a longer one: `destage record DEVICE -o trace.csv.zst` for a day."
#: Percentiles that are one garbage collection: all runs within this share of each other.
ALIKE = 0.05


def products_of(advised: Advised, run: Run) -> list[System]:
    """The deployed systems that a run stands for."""
    return [
        s
        for s in advised.products
        if s.label == run.label and s.least_bytes <= run.cache_bytes and not s.reads_only
    ]


def _count(runs: Sequence[Run]) -> str:
    """`the best of 214 runs`."""
    return f"the best of {counted(len(runs), 'run')}"


def _worth(advised: Advised) -> str:
    """Whether a cache is worth it: the first line."""
    choice = advised.first
    goal, run = choice.goal, advised.run
    title = "cost" if goal.metric is None else title_of(goal.metric.name)
    rises = ""
    if advised.rises:
        rises = (
            f"; the curve still rises at {size(choice.curve[-1].run.cache_bytes)}, the largest size"
            " tried (--budget)"
        )
    value, here = goal.text(goal.value(run)), size(run.cache_bytes)
    said = f"Worth it: {'yes' if advised.worth else 'no'}; a cache of {here}"
    mine = goal.value(run)
    without = None if advised.nothing is None else goal.value(advised.nothing)
    if advised.nothing is None or not without or mine is None or not goal.judged(advised.nothing):
        # Nothing is hit without a cache; of other objectives that number is not known.
        return f"{said} gives {title} {value}{rises}."
    before = goal.text(without)
    if goal.largest or mine >= without:
        return f"{said} gives {title} {value}; without one it is {before}{rises}."
    share = percent((without - mine) / without, 0)
    return f"{said} saves {share} of {title}: {value} in place of {before}{rises}."


def not_worth(advised: Advised) -> str:
    """The one sentence where no cache helps."""
    choice = advised.choices[0]
    goal, best = choice.goal, choice.best
    if goal.column in HITS or advised.nothing is None:
        most = goal.text(goal.value(best))
        return (
            f"Worth it: no, or the trace is too short to say; a cache serves at most {most} of the"
            f" accesses at any size tried, up to {size(choice.curve[-1].run.cache_bytes)}."
        )
    title = "cost" if goal.metric is None else title_of(goal.metric.name)
    return (
        "Worth it: no, or the trace is too short to say; no cache up to"
        f" {size(choice.curve[-1].run.cache_bytes)} changes {title} significantly"
        f" ({goal.text(goal.value(advised.nothing))} without one, {goal.text(choice.best_value)} at"
        " best)."
    )


def _take(advised: Advised) -> str:
    """What to take, as something that a product has."""
    run = advised.run
    of = f"the smallest within {share_text(advised.within)} of"
    if len(advised.goals) > 1:
        names = join([goal.name for goal in advised.goals])
        if advised.joint is not None:
            return f"Take {place(run)}, {of} the best in each of {names}."
        first = advised.first.goal.name
        return f"No run is near the best in each of {names}. For {first} take {place(run)}."
    products = products_of(advised, run) if advised.deployed else []
    if products:
        names = " or ".join(dict.fromkeys(one.title for one in products))
        of = f"{of} {_count(deployable(advised.candidates, advised.products))}"
        return f"Take {place(run)} ({names}), {of} that a product can be set to."
    return f"Take {place(run)}, {of} {_count(advised.candidates)}."


def _possible(advised: Advised) -> str | None:
    """What a policy that no product has would give."""
    if not advised.deployed:
        return None
    choice, mine = advised.choices[0], advised.run
    goal, run = choice.goal, choice.run
    judged, ours = goal.judged(run), goal.judged(mine)
    if judged is None or ours is None or run is mine or products_of(advised, run):
        return None
    if not goal.is_significant(run, mine):
        if run.cache_bytes >= mine.cache_bytes:
            return None
        return (
            f"Possible, though no product can be set to it: {place(run)}, not significantly"
            " different."
        )
    if not goal.better(judged, ours):
        return None
    return (
        f"Possible, though no product can be set to it: {place(run)} gives"
        f" {goal.text(goal.value(run))}."
    )


def _sure(choice: Choice) -> str:
    rival, goal = choice.rival, choice.goal
    if rival is None:
        return "No other candidate ran at that size, so nothing can be said of chance."
    theirs = f"{rival.run.label} ({goal.text(goal.value(rival.run))})"
    if rival.significant:
        return f"The next best there, {theirs}, is significantly different."
    return f"The next best there, {theirs}, is not significantly different."


def _type(advised: Advised) -> str | None:
    """The command, or why there is none."""
    if advised.withheld and not advised.below:
        return f"Nothing to type: {advised.withheld} (--force prints it). {RECORD}"
    names = {one.name + one.setting for one in products_of(advised, advised.run)}
    mine = [s for s in advised.settings if s.system.name + s.system.setting in names and s.typed]
    if not mine:
        return None
    return f"Type: {mine[0].typed}" + (f" (--explain: {len(mine) - 1} more)" if mine[1:] else "")


def _one_collection(advised: Advised) -> str | None:
    """Where a percentile is the length of one garbage collection in every run."""
    goal = advised.goals[0]
    if goal.metric is None or "_p9" not in goal.metric.name or advised.drive is None:
        return None
    found = [v for run in advised.candidates if (v := goal.value(run)) is not None]
    if len(found) < 3 or max(found) - min(found) > ALIKE * max(found):
        return None
    return (
        f"{goal.title} is {goal.text(min(found))} to {goal.text(max(found))} in every run: that is"
        " one garbage collection of this device. Objective `mean`, or a device that collects in"
        " steps (gc_step_pages), distinguishes caches."
    )


def answer_lines(advised: Advised) -> list[str]:
    """The answer, in five lines at most; one line and how to go on where no cache is worth it.

    A line more says that the answer is for a closed loop.
    """
    lines: list[str | None]
    if not advised.worth and not advised.force:
        lines = [not_worth(advised), RECORD]
    else:
        possible = _possible(advised)
        third = _one_collection(advised) or possible
        lines = [_worth(advised), _take(advised), third, _sure(advised.first), _type(advised)]
    lines.append(advised.loop)
    if advised.ran.interrupted:
        lines[0] = f"Interrupted: of what had run by then. {lines[0]}"
    return [plain(line) for line in lines if line]


def answer_table(advised: Advised) -> Table:
    """A row a size: the best that a product can be set to, and the best there is."""
    choice, everything = advised.first, advised.choices[0]
    goal = choice.goal
    heads = ["size", "of pages", "policy", goal.name, "from best"]
    columns = [Column(h, right=h != "policy", key=h == "size") for h in heads]
    apart = bool(advised.deployed)
    columns += [Column("possible", right=False), Column(goal.name)] if apart else []
    columns += [Column("hit %")] if goal.column != "hit_ratio" else []
    title = "no cache" if advised.nothing is not None else ""
    table = Table("", columns, [[]])
    best = {point.run.frames: point for point in everything.curve}
    top = goal.judged(choice.best)
    if title and advised.nothing is not None:
        row = [Cell("-"), Cell("-"), Cell(title), Cell(goal.text(goal.value(advised.nothing)))]
        row += [Cell(NONE)] + ([Cell(""), Cell("")] if apart else [])
        table.groups[0].append(row + ([Cell("0.00")] if goal.column != "hit_ratio" else []))
    ran = Counter(run.frames for run in advised.candidates)
    for point in choice.curve:
        run = point.run
        # Sizes that deployed systems alone were run at would look better than they are.
        if 2 * ran[run.frames] < max(ran.values()) and run is not advised.run:
            continue
        far = None if top is None else goal.worse_by(point.judged, top)
        share = NONE if run.cache_share is None else percent(run.cache_share, 1)
        row = [Cell(size(run.cache_bytes), best=run is advised.run), Cell(share), Cell(run.label)]
        row += [Cell(goal.text(point.value)), Cell(NONE if far is None else percent(far, 1))]
        if apart:
            there = best.get(run.frames)
            other = (
                there is not None and there.run is not run and goal.is_significant(there.run, run)
            )
            row += [
                Cell(there.run.label if there is not None and other else "="),
                Cell(goal.text(there.value) if there is not None and other else ""),
            ]
        if goal.column != "hit_ratio":
            hits = run.hit_ratio
            row.append(Cell(NONE if hits is None else f"{100 * hits:.2f}"))
        table.groups[0].append(row)
    near = share_text(advised.within)
    if advised.run.warmup_requests:
        table.notes.append(f"measured: {measured_text(advised.run)}, the same at every size")
    table.notes.append(plain(f"* the smallest within {near} of the best; --explain shows the rest"))
    if apart:
        table.notes.append("possible: the best policy there if it is significantly different")
    if any(goal.put_off(point.run) > 0.0005 for point in choice.curve):
        table.notes.append(
            "from best: with the writes that come after the last request at the cost of the others"
        )
    table.notes = [plain(note).replace(NBSP, " ") for note in table.notes]
    return table
