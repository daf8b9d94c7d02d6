"""The table of hit-ratio curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from destage.model.results import ResultSet
from destage.model.words import number, ratio, size
from destage.tables.table import Cell, Column, Table

__all__ = ["curves_table"]


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
