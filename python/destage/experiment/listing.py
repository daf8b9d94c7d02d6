"""Rows of a store as a table for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from destage.base.io.names import printable
from destage.experiment.rows import FAILED, key_of_row
from destage.experiment.task import Key
from destage.model.choice import chosen, metric_named
from destage.model.estimates import estimate
from destage.model.life import Life
from destage.model.metrics import Metric, metrics
from destage.model.rows import Row
from destage.model.values import cell
from destage.model.words import NONE, TimeUnit, counted, number, size
from destage.show.tables.results import (
    LIFE_TITLES,
    NO_LIFE,
    by_metric,
    heading,
    life_texts,
    unit_of,
)
from destage.show.tables.table import Cell, Column, Table

__all__ = ["stored_table"]


def _shown(rows: Sequence[Row], show: Any, view: str | None) -> list[Metric]:
    columns, _ = chosen(show, view, None)
    if columns:
        return list(columns)
    timed = any(row["device"] for row in rows)
    core = [m for m in metrics() if m.is_core(timed)]
    return [m for m in core if any(row.get(m.name) is not None for row in rows)]


def stored_table(
    rows: Sequence[Row],
    show: str | Sequence[str] | None = None,
    view: str | None = None,
    sort: str | None = None,
    lives: Mapping[Key, Life | None] | None = None,
) -> Table:
    """One row a run, in the order that they are in.

    Parameters:
        sort: a metric by which the rows of a trace and device are sorted, the best first.
        lives: how long devices last, for `life` among the columns.
    """
    order = None if sort is None else metric_named(sort)
    if order is not None:
        rows = sorted(rows, key=lambda row: by_metric(order, row.get(order.name)))
    several = {
        name: len({row[name] for row in rows}) > 1
        for name in ("device", "ftl", "queue_depth", "seed", "options")
    }
    keys = ["trace", *(n for n in ("device", "ftl", "queue_depth", "options") if several[n])]
    # Runs that differ in their seed are a row, unless lives are asked for, which have no mean.
    averaged = several["seed"] and lives is None
    keys += ["label", "cache"] + (["seed"] if several["seed"] and not averaged else [])
    columns = [Column({"label": "policy"}.get(n, n), right=False, key=True) for n in keys]
    columns += [Column("size"), *([Column("seeds")] if averaged else [])]
    shown = _shown(rows, show, view)
    units = {m.name: unit_of(m, [r.get(m.name) for r in rows], several=True) for m in shown}
    lasting = any(one is not None for one in (lives or {}).values())
    for metric in shown:
        columns.append(Column(heading(metric, units[metric.name])))
    columns += [Column(title) for title in LIFE_TITLES] if lasting else []
    groups: dict[tuple[Any, ...], list[list[Cell]]] = {}
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for k, row in enumerate(rows):
        alike.setdefault(tuple(row[n] for n in _SETTING) if averaged else (k,), []).append(row)
    for (first, *_), some in ((some, some) for some in alike.values()):
        done = [row for row in some if row["status"] != FAILED]
        cells = [Cell("" if first[n] is None else str(first[n])) for n in keys]
        cells += [Cell(_size(some))] + [Cell(number(len(done)))] * averaged
        if done:
            cells += [Cell(_mean(m, [r.get(m.name) for r in done], units[m.name])) for m in shown]
        else:
            cells += [Cell("failed" if k == 0 else "") for k in range(len(shown))]
        if lasting and lives is not None:
            cells += [Cell(text) for text in life_texts(lives.get(key_of_row(first)))]
        groups.setdefault((first["trace"], first["device"], first["ftl"]), []).append(cells)
    notes = list(_notes(rows))
    notes += ["a row is the mean of its seeds, ± half of its 95 % interval"] * averaged
    if averaged and _are_equal(alike.values(), shown):
        notes.append("the seeds of each row have equal numbers: nothing shown is random")
    if lives is not None and not lasting:
        notes.append(f"{NO_LIFE} (pe_cycles of the device)")
    return Table("", columns, list(groups.values()), notes)


#: Runs that are alike in these differ in their seed alone.
_SETTING = ("trace", "device", "ftl", "queue_depth", "options", "label", "cache")


def _are_equal(groups: Iterable[Sequence[Row]], shown: Sequence[Metric]) -> bool:
    """Whether the runs of each group have the same numbers, and one group has several."""
    done = [[row for row in some if row["status"] != FAILED] for some in groups]
    values = [{tuple(row.get(m.name) for m in shown) for row in some} for some in done]
    return all(len(some) < 2 for some in values) and any(len(some) > 1 for some in done)


def _size(rows: Sequence[Row]) -> str:
    """The cache size; of several traces the mean of theirs."""
    known = [row["cache_bytes"] for row in rows if row["cache_bytes"] is not None]
    return size(sum(known) / len(known)) if known else NONE


def _mean(metric: Metric, values: Sequence[Any], unit: TimeUnit | None) -> str:
    """A number; of several runs the mean of those that have it, and how far it may be off."""
    known = [float(value) for value in values if value is not None]
    if len(values) == 1 or not known:
        return cell(metric, values[0] if known else None, unit)
    found = estimate(known)
    mean, half = found.mean, found.half
    if metric.kind == "count":
        mean, half = round(mean), math.ceil(half)
    return f"{cell(metric, mean, unit)} ± {cell(metric, half, unit)}"


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    """Notes for a reader of the table."""
    failed = [row for row in rows if row["status"] == FAILED]
    yield f"{counted(len(rows), 'run')}" + (f", {number(len(failed))} failed" if failed else "")
    for reason, count in _reasons(failed).items():
        yield f"failed: {printable(reason)} ({counted(count, 'run')})"


def _reasons(rows: Sequence[Row]) -> dict[str, int]:
    reasons: dict[str, int] = {}
    for row in rows:
        reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    return reasons
