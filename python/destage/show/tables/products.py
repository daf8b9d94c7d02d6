"""Settings of products: how far each one's nearest policy is from the best, and what to type."""

from __future__ import annotations

from destage.model.advice import Setting
from destage.model.advised import Advised
from destage.model.goals import CENT
from destage.model.run import Run
from destage.model.words import NBSP, NONE, plain, ratio, size
from destage.show.tables.leading import NOT_FULL
from destage.show.tables.table import Cell, Column, Table
from destage.show.tables.words import far_text, share_text

__all__ = ["NEAREST", "settings_table", "sign", "signed_share", "typed_lines"]

#: Behind a distance that is not significant.
NOT_SIGNIFICANT = "(n.s.)"
#: Note on settings: deployed systems are approximated.
NEAREST = (
    "Each product is simulated by its nearest policy, at the size of its setting, or at the advised"
    " size if that is at most 5\u00a0% smaller. The products cache a store in memory or on a faster"
    " device; the cost of filling that device is not counted."
)


def settings_table(advised: Advised) -> Table:
    """How far each deployed system's nearest policy is from the best."""
    heads = ["system", "setting", "size", "simulated as"]
    columns = [Column(head, right=head == "size", key=head == "system") for head in heads]
    for goal in advised.goals:
        columns += [Column(goal.name), Column("from best"), Column("near from")]
    has_hits = any(goal.column != "hit_ratio" for goal in advised.goals)
    columns += [Column("hit %")] if has_hits else []
    of = "all policies" if advised.deployed else "the candidates"
    table = Table(f"Settings of products, and their distance from the best of {of}", columns)
    table.groups.append([_setting_row(setting, advised) for setting in advised.settings])
    table.notes.append(
        plain(
            "near from: smallest size tried at which this policy is within"
            f" {share_text(advised.within)} of the best; -: none"
        )
    )
    if any(NOT_SIGNIFICANT in cell.text for row in table.rows() for cell in row):
        table.notes[-1] += f"; {NOT_SIGNIFICANT[1:-1]}: not significant"
    smaller = [s.run for s in advised.settings if s.run is not None and _is_smaller(s)]
    if smaller:
        here = plain(size(smaller[0].cache_bytes))
        table.notes.append(f"sizes up to 5 % above {here}: simulated at that size")
    if any(s.run is not None and s.run.cache_not_full for s in advised.settings):
        table.notes.append(
            f"{NOT_FULL}: the cache still fills in the measured part; such a size is no candidate"
        )
    if any(s.run is not None and s.system.reads_only for s in advised.settings):
        table.notes.append("(reads): share of the reads that hit; writes go past such a cache")
    why = dict.fromkeys(s.why_not for s in advised.settings if s.why_not)
    table.notes += [f"not run: {one}" for one in why]
    return table


def _is_smaller(setting: Setting) -> bool:
    """Whether the run is of the advised size, below the one that the product rounds up to."""
    run = setting.run
    if run is None or run.cache_bytes >= setting.size_bytes:
        return False
    # A setting beyond all pages of the trace, or by less than a page, is simulated as it is.
    gap = setting.size_bytes - run.cache_bytes
    return run.frames < run.trace.unique_pages and gap >= run.trace.page_bytes


def _is_tie(setting: Setting, k: int, best: Run) -> bool:
    """Whether the distance from the best is one that the trace does not decide."""
    far, run = setting.worse_by[k], setting.run
    if not far or run is None or setting.significant[k]:
        return False
    return abs(far) < CENT or run.has_intervals_against(best)


def _setting_row(setting: Setting, advised: Advised) -> list[Cell]:
    system, run = setting.system, setting.run
    named = system.label
    shown = size(setting.size_bytes)
    if run is not None and run.cache_not_full:
        shown += f" {NOT_FULL}"
    cells = [Cell(t) for t in (system.name, system.setting, shown, named)]
    hit = NONE if run is None else ratio(run["read_hit_ratio" if system.reads_only else "hit"])
    reads = f"{hit} (reads)" if system.reads_only and run is not None else ""
    for k, goal in enumerate(advised.goals):
        far, near = setting.worse_by[k], setting.near_from[k]
        tie = f" {NOT_SIGNIFICANT}" if _is_tie(setting, k, advised.choices[k].best) else ""
        value = setting.values[k]
        hits_only = value is None and goal.column == "hit_ratio" and reads
        cells += [
            Cell(reads.replace(" ", f"{NBSP}% ") if hits_only else goal.text(value)),
            Cell(NONE if far is None else far_text(far, sign(min(far, 0.0))) + tie),
            Cell(NONE if near is None else size(near.cache_bytes)),
        ]
    has_hits = any(goal.column != "hit_ratio" for goal in advised.goals)
    return [*cells, Cell(reads or hit)] if has_hits else cells


def typed_lines(advised: Advised) -> list[tuple[str, str, str, str]]:
    """Name and setting of each system, the command, its limits, and the source."""
    if advised.withheld:
        return []
    return [
        (
            f"{s.system.name} ({s.system.setting})",
            s.typed,
            s.system.lacks,
            s.system.source,
        )
        for s in advised.settings
        if s.typed
    ]


def signed_share(value: float) -> str:
    """A difference as a share, with its sign."""
    return far_text(value, sign(value))


def sign(value: float) -> str:
    """The sign of a value that is not zero."""
    return "\u2212" if value < 0 else "+" if value > 0 else ""
