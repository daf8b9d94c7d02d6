"""Advice within a write budget as text: the answer in four lines, and the Pareto front."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from destage.model.advised import SHORT_NS
from destage.model.budget import BudgetAdvised, Written, rate_text, years_text
from destage.model.words import NONE, counted, duration, percent, plain, significant, size
from destage.show.tables.table import Cell, Column, Table

__all__ = ["budget_lines", "budget_table", "budget_text", "runs_table"]


def _place(one: Written) -> str:
    """`lru 64 MiB over s3-fifo 1 GiB, admit larc`, as far as there is DRAM."""
    run = one.run
    flash = int(run["tier2_frames"] or 0) * run.trace.page_bytes
    below = f"{run['tier2_policy']} {size(flash)}, admit {run['admit'] or 'always'}"
    offer = "" if run["offer"] in (None, "evicted") else f", offer {run['offer']}"
    if run.policy == "none":
        return plain(below + offer)
    upper = run.label.partition(" over ")[0]
    return plain(f"{upper} {size(run.cache_bytes)} over {below}{offer}")


def _rate(advised: BudgetAdvised, one: Written) -> str:
    life = one.years(advised.endurance_bytes)
    lasts = "" if life is None else f", which the SSD endures for {years_text(life)}"
    return f"{rate_text(one.bytes_per_day)}{lasts}"


def budget_lines(advised: BudgetAdvised) -> Iterator[str]:
    """The answer."""
    chosen, budget = advised.chosen, advised.budget
    within = f"{rate_text(budget.bytes_per_day)}"
    hits = percent(chosen.hits, 2)
    if advised.is_kept:
        yield f"The most hits within {within}: {_place(chosen)}."
    else:
        yield f"No run is within {within}; the fewest writes: {_place(chosen)}."
    of = " (reads only)" if _of_reads(advised) else ""
    yield f"{hits} hits{of}, {_rate(advised, chosen)}."
    most = advised.most
    if most is not chosen:
        yield (
            f"Without a budget: {percent(most.hits, 2)} hits, {_rate(advised, most)}"
            f" ({_place(most)})."
        )
    yield _rivals(advised)
    span = chosen.run.measured and chosen.run.measured.get("arrivals_ns")
    if span and span < SHORT_NS:
        yield f"Writes of a day are extrapolated from {duration(span)}."


def _rivals(advised: BudgetAdvised) -> str:
    """The runs within the budget that are not significantly worse."""
    inside = [p for p in advised.points if p.bytes_per_day <= advised.budget.bytes_per_day]
    said = f"{counted(len(inside), 'run')} of {len(advised.points)} within the budget"
    known = [p.interval_from(advised.chosen) for p in inside if p is not advised.chosen]
    ties = sum(one is not None and one[0] <= 0 <= one[1] for one in known)
    if not any(known):
        return f"{said}."
    return f"{said}, {ties} of them not significantly worse."


def _of_reads(advised: BudgetAdvised) -> bool:
    """Whether writes are accesses that never hit: there is no DRAM above the flash cache."""
    return all(point.run.policy == "none" for point in advised.points)


def _counted(advised: BudgetAdvised) -> str:
    """What the hits are of."""
    if advised.chosen.run["token_hit_ratio"] is not None:
        return "of the prompt tokens"
    if _of_reads(advised):
        return "reads that hit, of all accesses (a write never hits)"
    return "of all tiers, of all accesses"


def _columns(advised: BudgetAdvised) -> list[Column]:
    columns = [
        Column("GB a day", key=True),
        Column("hits %"),
        Column("hits minus the advice's (points)"),
    ]
    if advised.endurance_bytes is not None:
        columns.append(Column("life, years"))
    return [*columns, Column("cache", right=False)]


def _row(advised: BudgetAdvised, one: Written) -> list[Cell]:
    is_mine = one is advised.chosen
    interval = one.interval_from(advised.chosen)
    apart = NONE if interval is None else f"{100 * interval[0]:+.2f} .. {100 * interval[1]:+.2f}"
    row = [
        Cell(f"{one.bytes_per_day / 1e9:,.4g}"),
        Cell(f"{100 * one.hits:.2f}", best=is_mine),
        Cell("" if is_mine else apart),
    ]
    if advised.endurance_bytes is not None:
        life = one.years(advised.endurance_bytes)
        row.append(Cell(NONE if life is None else significant(life)))
    return [*row, Cell(_place(one))]


def _table(advised: BudgetAdvised, points: Sequence[Written], title: str = "") -> Table:
    ordered = sorted(points, key=lambda one: one.bytes_per_day)
    return Table(title, _columns(advised), [[_row(advised, one) for one in ordered]])


def budget_table(advised: BudgetAdvised) -> Table:
    """The Pareto front, and the advice; a star marks the advice."""
    points = list(advised.front)
    if not any(one is advised.chosen for one in points):
        points.append(advised.chosen)
    table = _table(advised, points)
    table.notes.append("* the advice; no run has more hits with fewer writes than one of these")
    table.notes.append(f"hits: {_counted(advised)}; minus the advice's: 95 % interval")
    if advised.endurance_text:
        table.notes.append(plain(f"life: {advised.endurance_text}"))
    left = int((advised.chosen.run.tiers or {}).get("pending_tier1") or 0)
    if left:
        table.notes.append(
            f"without {counted(left, 'page')} of the advice still dirty in DRAM at the end"
        )
    table.notes += advised.skipped
    if advised.ran.interrupted:
        table.notes.append("interrupted: other runs were to come")
    return table


def runs_table(advised: BudgetAdvised) -> Table:
    """Every run, by its writes."""
    return _table(advised, advised.points)


def budget_text(
    advised: BudgetAdvised, *, explain: bool = False, markdown: bool = False, width: int = 100
) -> str:
    """The answer and the front; `explain` adds every run."""
    lines = [plain(line) for line in budget_lines(advised)]
    out = [f"* {one}" if markdown else textwrap.fill(one, width) for one in lines]
    tables = [("", budget_table(advised))]
    tables += [("Every run", runs_table(advised))] if explain else []
    for title, table in tables:
        out += ["", f"## {title}" if markdown else title] if title else []
        out += ["", table.markdown() if markdown else table.text()]
    return "\n".join(out) + "\n"
