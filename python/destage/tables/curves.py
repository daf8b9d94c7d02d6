"""The table of hit-ratio curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from destage.model.metrics import METRICS, ORACLE
from destage.model.results import ResultSet
from destage.model.winners import winners
from destage.model.words import NBSP, join, number, percent, ratio, significant, size
from destage.tables.summary import outcome
from destage.tables.table import Cell, Column, Table

__all__ = ["curves_summary", "curves_table"]


def curves_table(
    curves: ResultSet, sample: Mapping[str, Any] | None, warnings: Sequence[str]
) -> Table:
    """Return one row per size and one column per policy: hit ratios in per cent."""
    title = f"{curves.name}: hit % over cache size"
    if sample:
        title += f", from a sample of {number(sample['pages'])} pages"
    labels = curves.labels
    columns = [Column(title) for title in ("cache", "pages", "size", *labels)]
    by_size: dict[tuple[int, str], dict[str, float | None]] = {}
    for run in curves.runs:
        by_size.setdefault((run.frames, run.cache), {})[run.label] = run.hit_ratio
    page_bytes = curves.trace.page_bytes
    table = Table(title, columns, [[]])
    for (frames, cache), ratios in by_size.items():
        cells = [Cell(cache), Cell(number(frames)), Cell(size(frames * page_bytes))]
        table.groups[0].append(cells + [Cell(ratio(ratios.get(label))) for label in labels])
    table.notes.extend(warnings)
    return table


def curves_summary(curves: ResultSet) -> list[str]:
    """What the curves say, a sentence for each thing worth knowing."""
    said: list[str] = []
    for curve in curves.source["mrc"].get("curves") or ():
        every = curve.get("every_size")
        if isinstance(every, Mapping) and every.get("enough"):
            said += _of_every_size(curves, str(curve.get("label")), every)
    found = winners(curves, next(m for m in METRICS if m.name == "hit_ratio"))
    if found:
        said.append(f"The highest hit ratio: {outcome(curves, found)}.")
        if ORACLE in curves.policies.values():
            said.append("min knows the future: it bounds the hit ratio, and is not among them.")
    return said or _of_points(curves)


def _place(curves: ResultSet, frames: int) -> str:
    """`64 MiB (16,384 pages, 12 % of the trace's)`."""
    trace = curves.trace
    unique = trace.unique_pages
    share = f", {significant(100 * frames / unique)}{NBSP}% of the trace's" if unique else ""
    return f"{size(frames * trace.page_bytes)} ({number(frames)} pages{share})"


def _of_every_size(curves: ResultSet, label: str, every: Mapping[str, Any]) -> list[str]:
    """How large is enough, and where the curve bends, exactly."""
    wants = [
        f"{_place(curves, at['frames'])} for {percent(at['share'], 0)}" for at in every["enough"]
    ]
    best = percent(every["best_hit_ratio"])
    said = [f"{label} hits {best} at best; of these hits it takes {join(wants)}."]
    knees = [
        f"{_place(curves, at['frames'])}, hits {percent(at['hit_ratio'])}" for at in every["knees"]
    ]
    if knees:
        said.append(f"{label} has its knees, beyond which a page brings less, at {join(knees)}.")
    else:
        said.append(f"{label} has no knee: each page brings about as much as the one before.")
    return said


def _of_points(curves: ResultSet) -> list[str]:
    """Of one curve that is known at some sizes only: what these say."""
    runs = [run for run in curves.by_size if run.hit_ratio is not None]
    best = max((run.hit_ratio or 0.0 for run in runs), default=0.0)
    if not best:
        return []
    near = next(run for run in runs if (run.hit_ratio or 0.0) >= 0.95 * best)
    return [
        f"{near.label} hits {percent(best)} at best of these sizes; {size(near.cache_bytes)} has"
        f" 95{NBSP}% of that."
    ]
