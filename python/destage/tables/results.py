"""The table of runs: one row a run, the best of each cache size marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from destage.model.metrics import Metric, metrics
from destage.model.run import Run
from destage.model.winners import winner
from destage.model.words import TimeUnit, cell, counted, number, time_unit
from destage.tables.table import MARK, Cell, Column, Table

__all__ = ["Numbers", "results_table"]

#: Numbers that a table 80 columns wide has no room for; the report shows them.
_ROOMY = frozenset({"read_hit_ratio", "write_hit_ratio"})


def _shown(runs: Sequence[Run]) -> list[Metric]:
    """The numbers that a table of these runs shows: those that say anything."""
    places = {"always", *("with_device" if r.device else "without_device" for r in runs)}
    found = [m for m in metrics() if m.shown in places and m.name not in _ROOMY]
    said = [m for m in found if any(r[m.name] for r in runs)]
    return said or [m for m in found if m.shown == "always"]


@dataclass(frozen=True)
class Numbers:
    """A metric as a column."""

    metric: Metric
    title: str
    unit: TimeUnit | None

    @classmethod
    def of(cls, metric: Metric, runs: Sequence[Run]) -> Numbers:
        """Choose the unit that suits all runs."""
        title = metric.title[0].lower() + metric.title[1:]
        title = metric.title if metric.title.isupper() else title
        unit = time_unit(r[metric.name] for r in runs) if metric.kind == "time" else None
        if metric.kind == "ratio":
            title = f"{title.removesuffix(' ratio')} %"
        elif unit is not None:
            title = f"{title}\n({unit.name})"
        return cls(metric, title, unit)

    def text(self, run: Run) -> str:
        """The number of a run."""
        return cell(self.metric, run[self.metric.name], self.unit)


def results_table(runs: Sequence[Run]) -> Table:
    """Return one row per run, grouped by trace and cache size, the best of each group marked."""
    several = len(_by_identity(runs)) > 1
    drives = len({r.device for r in runs}) > 1
    shown = [Numbers.of(m, runs) for m in _shown(runs)]
    columns = [Column("trace", right=False, key=True)] if several else []
    columns += [Column("drive", right=False, key=True)] if drives else []
    columns += [Column("policy", right=False, key=True), Column("cache", key=True)]
    columns += [Column("pages", spare=True)]
    columns += [Column(s.title) for s in shown]
    table = Table(_title(runs), columns)
    by_size: dict[tuple[str, str | None, int], list[Run]] = {}
    for run in runs:
        identity = run.trace.fingerprint + run.trace.name
        by_size.setdefault((identity, run.device, run.frames), []).append(run)
    one_each = all(len(group) == 1 for group in by_size.values())
    groups = [list(by_size.values())] if one_each else [[group] for group in by_size.values()]
    for members in groups:
        rows = [row for group in members for row in _rows(group, shown, several, drives)]
        table.groups.append(rows)
    table.notes += _notes(table, runs, shown)
    return table


def _rows(
    group: Sequence[Run], shown: Sequence[Numbers], several: bool, drives: bool
) -> list[list[Cell]]:
    """The rows of one cache size."""
    best: dict[str, Run] = {}
    for s in shown:
        found = winner(group, s.metric)
        if found is not None and found.sole:
            best[s.metric.name] = found.runs[0]
    rows = []
    for run in group:
        row = [Cell(run.trace.name)] if several else []
        row += [Cell(run.device or "none")] if drives else []
        # No cache has no size; its row stands for comparison at each.
        sizes = ("-", "-") if run.policy == "none" else (run.cache, number(run.frames))
        row += [Cell(text) for text in (run.label, *sizes)]
        row += [Cell(s.text(run), best=best.get(s.metric.name) is run) for s in shown]
        rows.append(row)
    return rows


def _notes(table: Table, runs: Sequence[Run], shown: Sequence[Numbers]) -> list[str]:
    """What the marks say, and how the running time is made."""
    notes = []
    if any(c.best for row in table.rows() for c in row):
        notes.append(f"{MARK} best of its size, by 1 % or more")
    cost = next((r.config.get("cost") for r in runs if r.config.get("cost")), None)
    if cost and any(s.metric.name == "running_time" for s in shown):
        notes.append(
            f"running time = flash reads x {number(cost['read'])}"
            f" + flash writes x {number(cost['write'])}"
        )
    return notes


def _by_identity(runs: Sequence[Run]) -> list[Run]:
    """One run for each trace."""
    return list({r.trace.fingerprint + r.trace.name: r for r in runs}.values())


def _title(runs: Sequence[Run]) -> str:
    traces = [r.trace for r in _by_identity(runs)]
    if not traces:
        return "no runs"
    if len(traces) > 1:
        return f"{len(runs)} runs over {len(traces)} traces"
    trace = traces[0]
    drives = list(dict.fromkeys(r.device for r in runs))
    front = f", in front of {drives[0]}" if len(drives) == 1 and drives[0] else ""
    depths = {r.queue_depth for r in runs}
    depth = depths.pop() if len(depths) == 1 else None
    loop = f", {depth} outstanding" if depth is not None else ""
    return (
        f"{trace.name}: {counted(trace.requests, 'request')},"
        f" {counted(trace.accesses, 'page access', 'page accesses')},"
        f" {counted(trace.unique_pages, 'page')} of {trace.page_bytes:,} bytes{front}{loop}"
    )
