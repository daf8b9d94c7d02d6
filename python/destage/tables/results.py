"""The table of runs: one row a run, the best of each cache size marked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from destage.model.choice import chosen, metric_named
from destage.model.life import Life
from destage.model.metrics import LARGEST_DEBT, WRITES, Metric, metrics
from destage.model.naming import is_foreseeing, without_placement
from destage.model.run import INTERRUPTED, SHARD, Run
from destage.model.winners import winner
from destage.model.words import (
    NONE,
    TimeUnit,
    cell,
    column_unit,
    counted,
    number,
    significant,
    size,
    time_unit,
)
from destage.tables.table import MARK, Cell, Column, Table

__all__ = ["LIFE_TITLES", "NO_LIFE", "Numbers", "by_metric", "life_texts", "results_table"]

#: Columns that say how long a drive lasts.
LIFE_TITLES = ("drive writes\na day", "years")
#: Said where they cannot be.
NO_LIFE = "years and drive writes a day: say what a block endures"

#: Numbers that a table 80 columns wide has no room for; the report shows them.
_ROOMY = frozenset({"read_hit_ratio", "write_hit_ratio"})


#: Trace, drive (its name says which FTL) and frames: what runs have in common that are compared,
#: by cache policy and by placement policy.
Place = tuple[str, str | None, int]


def _shown(runs: Sequence[Run]) -> tuple[list[Metric], list[Metric]]:
    """The numbers that a table of these runs shows, and those that a note says are all 0."""
    places = {"always", *("with_device" if r.device else "without_device" for r in runs)}
    found = [m for m in metrics() if m.shown in places and m.name not in _ROOMY]
    found = [m for m in found if any(r[m.name] is not None for r in runs)]
    if not any(m.name == WRITES for m in found):  # Results of before say nothing of what is owed.
        found = [m for m in metrics() if m in found or m.name == "physical_writes"]
    said = [m for m in found if any(r[m.name] for r in runs)]
    if not said:
        return found, []
    return said, [m for m in found if m not in said]


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
        title = metric.title if metric.title.split()[0].isupper() else title
        unit = None
        if metric.kind == "time":
            several = len({r.trace.fingerprint for r in runs}) > 1
            unit = (column_unit if several else time_unit)(r[metric.name] for r in runs)
        if metric.kind == "ratio":
            title = f"{title.removesuffix(' ratio')} %"
        elif unit is not None:
            title = f"{title}\n({unit.name})"
        return cls(metric, title, unit)

    def text(self, run: Run) -> str:
        """The number of a run."""
        return cell(self.metric, run[self.metric.name], self.unit)


def results_table(
    every: Iterable[Run],
    *,
    show: str | Sequence[str] | None = None,
    sort: str | None = None,
    view: str | None = None,
) -> Table:
    """Return one row per run, grouped by trace and cache size, the best of each group marked.

    Parameters:
        every: the runs.
        show: the columns, by the names of metrics, short ones too; by default the usual ones.
        sort: by what rows of a group are sorted, the best first; by default as they were asked for.
        view: columns by what they are about, instead of `show`: a key of `VIEWS`.

    Raises `UsageError` for names that there are not.
    """
    runs = list(every)
    keys = _keys(runs)
    order = None if sort is None else metric_named(sort)
    asked, life = chosen(show, view, sort)
    if view is not None and asked is not None:
        asked = [m for m in asked if not m.group.is_rare or any(r[m.name] for r in runs)]
    said, zeros = _shown(runs) if asked is None else (asked, [])
    if order is not None and order not in said:
        said = [*said, order]
    shown = [Numbers.of(m, runs) for m in said]
    columns = [Column(title, right=False, key=True) for title in keys]
    columns += [Column("policy", right=False, key=True), Column("cache", key=True)]
    columns += [Column("pages", spare=True), Column("size", spare=True)]
    columns += [Column(s.title) for s in shown]
    lasting = any(r.life for r in runs) and (life or asked is None)
    columns += [Column(title) for title in LIFE_TITLES] if lasting else []
    table = Table(_title(runs), columns)
    by_size: dict[Place, list[Run]] = {}
    for run in runs:
        identity = run.trace.fingerprint + run.trace.name
        # Placement policies compare like cache policies: on one drive.
        base = None if run.device is None else without_placement(run.device)
        by_size.setdefault((identity, base, run.frames), []).append(run)
    one_each = all(len(group) == 1 for group in by_size.values())
    if order is not None:
        by_size = _sorted(by_size, order, one_each)
    groups = [list(by_size.values())] if one_each else [[group] for group in by_size.values()]
    for members in groups:
        rows = [row for group in members for row in _rows(group, shown, keys, lasting)]
        table.groups.append(rows)
    table.notes += _notes(table, runs, shown)
    if life and not lasting:
        table.notes.append(f"{NO_LIFE} (--pe-cycles)")
    if zeros:
        names = ", ".join(Numbers.of(m, runs).title.replace("\n", " ") for m in zeros)
        table.notes.append(f"0 in every run: {names}")
    return table


def by_metric(order: Metric, value: float | int | None) -> tuple[bool, float]:
    """The key that sorts by a metric, the best first; what has no number comes last."""
    return value is None, (value or 0) * (-1 if order.better == "higher" else 1)


def _sorted(
    by_size: dict[Place, list[Run]], order: Metric, one_each: bool
) -> dict[Place, list[Run]]:
    """The groups with their runs sorted; of groups of one run each the groups themselves."""

    def key(run: Run) -> tuple[bool, float]:
        return by_metric(order, run[order.name])

    if one_each:
        return dict(sorted(by_size.items(), key=lambda item: key(item[1][0])))
    return {place: sorted(group, key=key) for place, group in by_size.items()}


def _rows(
    group: Sequence[Run], shown: Sequence[Numbers], keys: Sequence[str], lasting: bool
) -> list[list[Cell]]:
    """The rows of one cache size."""
    best: dict[str, Run] = {}
    for s in shown:
        found = winner(group, s.metric)
        if found is not None and found.sole:
            best[s.metric.name] = found.runs[0]
    rows = []
    for run in group:
        row = [Cell(_KEYS[key](run)) for key in keys]
        # No cache has no size; its row stands for comparison at each.
        sizes = (run.cache, number(run.frames), size(run.cache_bytes))
        sizes = ("-", "-", "-") if run.policy == "none" else sizes
        row += [Cell(text) for text in (run.label, *sizes)]
        row += [Cell(s.text(run), best=best.get(s.metric.name) is run) for s in shown]
        row += [Cell(text) for text in life_texts(run.life)] if lasting else []
        rows.append(row)
    return rows


def life_texts(life: Life | None) -> tuple[str, str]:
    """Drive writes a day, and years; at most so many where writes are still owed."""
    if life is None:
        return NONE, NONE
    years = NONE if life.years is None else significant(life.years)
    return significant(life.drive_writes_per_day), f"< {years}" if life.owes else years


def _notes(table: Table, runs: Sequence[Run], shown: Sequence[Numbers]) -> list[str]:
    """Notes on marks and on the cost model."""
    # Said of every run, and of the table as a whole.
    missing = (w for r in runs for w in r.warnings if w.startswith((INTERRUPTED, SHARD)))
    notes = list(dict.fromkeys(missing))
    if any(c.best for row in table.rows() for c in row):
        by = (
            "by more than this trace's chance"
            if any(r.differences for r in runs)
            else "by 1 % or more"
        )
        notes.append(f"{MARK} best of its size, {by}")
    if len({r.placement for r in runs}) > 1 and any(is_foreseeing(r.placement) for r in runs):
        notes.append("fk knows the future: a strong reference, no bound, and nothing to build")
    if any(r.response_ns_mean is not None and r.unwaited > LARGEST_DEBT for r in runs):
        notes.append(
            f"no {MARK} for a lead in time within the share of the writes that are owed,"
            " or flushed, at the end"
        )
    waits = list(dict.fromkeys(r.eviction_wait for r in runs if r.eviction_wait))
    if waits:
        notes.append(f"assumes eviction wait: {'; '.join(waits)}")
    vast = dict.fromkeys(r.cache for r in runs if r.frames > r.trace.unique_pages > 0)
    if vast:
        notes.append(f"more pages than the trace touches: {', '.join(vast)}")
    cycles = next((r.life.pe_cycles for r in runs if r.life), None)
    if cycles is not None:
        notes.append(
            f"years until every block was erased {number(cycles)} times, at the rate of this trace"
            " and with level wear"
        )
    cost = next((r.config.get("cost") for r in runs if r.config.get("cost")), None)
    if cost and any(s.metric.name == "running_time" for s in shown):
        notes.append(
            f"running time = flash reads x {number(cost['read'])}"
            f" + flash writes x {number(cost['write'])}"
        )
    return notes


#: What tells rows of a table apart beside policy and size, and how it is called.
_KEYS: Mapping[str, Callable[[Run], str]] = {
    "trace": lambda run: run.trace.name,
    "drive": lambda run: without_placement(run.device) if run.device else "none",
    "placement": lambda run: f"{run.placement}{OFFLINE * is_foreseeing(run.placement)}",
}

#: Behind a placement policy that knows the future.
OFFLINE = " (offline)"


def _keys(runs: Sequence[Run]) -> list[str]:
    """The columns without which two rows would look alike."""
    of: dict[str, set[str | None]] = {
        "trace": {r.trace.fingerprint + r.trace.name for r in runs},
        "drive": {r.device and without_placement(r.device) for r in runs},
        "placement": {r.placement for r in runs if r.device},
    }
    return [key for key, values in of.items() if len(values) > 1]


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
    if len({r.placement for r in runs}) > 1:
        drives = list(dict.fromkeys(d and without_placement(d) for d in drives))
    front = f", in front of {drives[0]}" if len(drives) == 1 and drives[0] else ""
    depths = {r.queue_depth for r in runs}
    depth = depths.pop() if len(depths) == 1 else None
    loop = f", {depth} outstanding" if depth is not None else ""
    return (
        f"{trace.name}: {counted(trace.requests, 'request')},"
        f" {counted(trace.accesses, 'page access', 'page accesses')},"
        f" {counted(trace.unique_pages, 'page')} of {trace.page_bytes:,} bytes{front}{loop}"
    )
