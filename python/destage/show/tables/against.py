"""The table of differences from one policy, or one device: pairwise, at each cache size, with 95 %
intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from destage.model.choice import chosen, metric_named
from destage.model.marks import against_device, baseline_of, beside, check_baseline, device_of
from destage.model.metrics import Metric
from destage.model.run import Run
from destage.model.values import valued
from destage.model.winners import LEAST_REQUESTS, decisive
from destage.model.words import NONE
from destage.show.tables.leading import key_columns, keys_of, leading_cells
from destage.show.tables.results import (
    RULE,
    by_metric,
    grouped,
    shown_metrics,
    title_of,
)
from destage.show.tables.table import Cell, Column, Table
from destage.show.tables.words import FACTOR, factor

__all__ = ["against_table", "signed"]

#: Behind a difference of which no interval is known.
UNKNOWN = "(?)"
#: Why an interval reaches 0 (`model.winners.decisive`).
REACHES_0 = (
    "an interval that ends at 0.0: not judged, since pending writes may account for the lead, or"
    f" fewer than {LEAST_REQUESTS} requests were measured"
)


def against_table(
    every: Iterable[Run],
    against: str,
    *,
    show: str | Sequence[str] | None = None,
    sort: str | None = None,
    view: str | None = None,
) -> Table:
    """Return a row a run: the numbers of one policy, and the distances of the others.

    With the name of a device: the numbers of each policy on it, and its distances on the others.

    `show`, `sort` and `view` as in `results_table`. Raises `UsageError` for names that there are
    not.
    """
    runs = list(every)
    asked, _ = chosen(show, view, sort)
    metrics = [m for m in (asked or shown_metrics(runs)) if m.better != "neither"]
    keys = keys_of(runs)
    leading, has_sizes = key_columns(runs)
    columns = [*leading, *(Column(_head(metric)) for metric in metrics)]
    table = Table(f"Differences from {against}, with 95 % intervals", columns)
    order = None if sort is None else metric_named(sort)
    reaches_0 = False
    for base, others in _pairs(runs, against):
        pairs = [(metric.name, run, base) for metric in metrics for run in others]
        reaches_0 = reaches_0 or any(decisive(*p) != p[1].minus(base, p[0]) for p in pairs)
        if order is not None:
            others.sort(key=lambda run: by_metric(order, run[order.name]))
        # A run without a cache differs from the baseline's at each size.
        table.groups.append(
            [
                leading_cells(run, keys, has_sizes=has_sizes)
                + [_cell(metric, run, base) for metric in metrics]
                for run in (base, *others)
            ]
        )
    table.notes = _notes(table, against)
    if reaches_0:
        table.notes.append(REACHES_0)
    return table


def _pairs(runs: Sequence[Run], against: str) -> Iterator[tuple[Run, list[Run]]]:
    """Each run that is a reference, with those beside it."""
    devices = [name for run in runs if (name := device_of(run)) is not None]
    if check_baseline(against, [run.label for run in runs], "against", devices):
        yield from ((first, others) for first, *others in against_device(runs, against))
        return
    for group in grouped(runs).values():
        base = baseline_of(group, against)
        if base is not None:
            yield base, [run for run in group if run is not base]


def _head(metric: Metric) -> str:
    return f"{title_of(metric).removesuffix(' ratio')}\n({_unit(metric)})"


def _unit(metric: Metric) -> str:
    return "points" if metric.kind == "ratio" else "%"


def _cell(metric: Metric, run: Run, base: Run) -> Cell:
    """The number of the baseline with its unit; of another run the difference from it."""
    value, old = run[metric.name], base[metric.name]
    if run is base:
        return Cell(NONE if old is None else valued(metric, old).replace("\u00a0", " "))
    if value is None or old is None or (not old and metric.kind != "ratio"):
        return Cell(NONE)
    scale = 100.0 if metric.kind == "ratio" else 100.0 / abs(old)
    interval = decisive(metric.name, run, base)
    # Of numbers that are 0 or more, none can be less by more than all of it.
    least = -math.inf if metric.kind == "ratio" or old < 0 else -100.0
    ends = UNKNOWN if interval is None else f"({signed(interval, scale, least)})"
    if value == old and interval in (None, (0, 0)):
        ends = "(same)"
    text = f"{scale * (value - old):+.1f} {ends}"
    if metric.kind != "ratio" and value >= FACTOR * old > 0:
        if interval is not None:
            ends = f"({' to '.join(factor(max(1 + end / old, 0.0)) for end in interval)})"
        text = f"{factor(value / old)} times {ends}"
    return Cell(text, sign=beside(metric, run, base))


def signed(ends: Sequence[float], scale: float, least: float) -> str:
    """The ends of an interval, scaled, with their signs, and none below `least`."""
    # Rounded first, plus 0: without that a small negative end is printed as -0.0.
    return " to ".join(f"{round(max(scale * end, least), 1) + 0.0:+.1f}" for end in ends)


def _notes(table: Table, against: str) -> list[str]:
    if not any(True for _ in table.rows()):
        return [
            f"no rows: nothing is beside {against}; compare it with other policies (-p), or name"
            " one of several devices (-d)"
        ]
    notes = [f"{against}: its own numbers; others: their difference from {against}"]
    cells = [cell for row in table.rows() for cell in row]
    if any(cell.text.endswith(")") for cell in cells):
        notes.append(f"- lower, + higher than {against}: {RULE}")
    if any(cell.text.endswith(UNKNOWN) for cell in cells):
        notes.append(f"{UNKNOWN}: no interval is known")
    return notes
