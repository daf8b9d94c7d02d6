"""The table of runs: one row a run, the best of each cache size marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from destage.model.choice import chosen, metric_named
from destage.model.host_interface import repeats_waf
from destage.model.life import Life
from destage.model.marks import (
    HIGHER,
    LOWER,
    Place,
    baseline_of,
    beside,
    compared,
    unmarked,
)
from destage.model.metrics import WRITES, Metric, metrics
from destage.model.naming import is_foreseeing, without_placement
from destage.model.run import INTERRUPTED, SHARD, Run, measured_text, prompts_of
from destage.model.values import cell
from destage.model.winners import held_back, winner
from destage.model.words import (
    NONE,
    TimeUnit,
    byte_unit,
    column_unit,
    counted,
    number,
    percent,
    plain,
    significant,
    time_unit,
)
from destage.show.tables.leading import NOT_FULL, arrivals_of, key_columns, keys_of, leading_cells
from destage.show.tables.notes import absent, few, waiting
from destage.show.tables.table import MARK, Cell, Column, Table

__all__ = [
    "RULE",
    "LIFE_TITLES",
    "NO_LIFE",
    "Numbers",
    "by_metric",
    "grouped",
    "heading",
    "life_texts",
    "mark_meaning",
    "results_table",
    "shown_metrics",
    "title_of",
    "unit_of",
]

#: Columns that say how long a device lasts.
LIFE_TITLES = ("drive writes\na day", "years")
#: Said where they cannot be.
NO_LIFE = "for years and drive writes a day, give the P/E cycle rating"
IN_A_CLOSED_LOOP = "a closed loop runs as fast as the device: no years, no drive writes a day"

#: Numbers that a table 80 columns wide has no room for; the report shows them.
_ROOMY = frozenset({"read_hit_ratio", "write_hit_ratio"})

#: Numbers that runs have of which none was measured.
_MAIN = ("hit_ratio", "response_ns_mean", WRITES, "erases")

#: Numbers of policies that destage several pages together.
_GROUPED = ("destages", "mean_destage_pages")


def title_of(metric: Metric) -> str:
    """The title of a metric as a heading has it: abbreviations stay as they are."""
    title = metric.title
    return title if title.split()[0].isupper() else title[0].lower() + title[1:]


def unit_of(
    metric: Metric, values: Sequence[float | int | None], *, several: bool
) -> TimeUnit | None:
    """The unit that all numbers of a column have; None where the metric's own is meant."""
    if metric.kind == "time":
        return (column_unit if several else time_unit)(values)
    is_volume = metric.kind == "real" and metric.unit == "bytes"
    return byte_unit(values) if is_volume else None


def heading(metric: Metric, unit: TimeUnit | None) -> str:
    """The title of a metric's column, with its unit where the title does not have it."""
    title = title_of(metric)
    if metric.kind == "ratio":
        return f"{title.removesuffix(' ratio')} %"
    name = metric.unit if unit is None else unit.name
    plain_title = title.lower()
    # A whole word: the s and the ns of "response" are no units.
    has_name = re.search(rf"\b{re.escape(name)}\b", plain_title) or plain_title in name
    return title if has_name else f"{title}\n({name})"


def shown_metrics(runs: Sequence[Run]) -> list[Metric]:
    """The numbers that a table of these runs shows unasked."""
    return _shown(runs)[0]


def _shown(runs: Sequence[Run]) -> tuple[list[Metric], list[Metric]]:
    """The numbers that a table of these runs shows, and those that a note says are all 0."""
    places = {"always", *("with_device" if r.device else "without_device" for r in runs)}
    grouped = _GROUPED if any((r["mean_destage_pages"] or 0) > 1 for r in runs) else ()
    found = [
        m for m in metrics() if (m.shown in places and m.name not in _ROOMY) or m.name in grouped
    ]
    # Where no request was measured, all are unknown.
    main = [m for m in found if m.name in _MAIN]
    found = [m for m in found if any(r[m.name] is not None for r in runs)] or main
    known = any(r["physical_writes"] is not None for r in runs)
    if known and not any(m.name == WRITES for m in found):  # Older results: no pending writes.
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
        several = len({r.trace.fingerprint for r in runs}) > 1
        unit = unit_of(metric, [r[metric.name] for r in runs], several=several)
        return cls(metric, heading(metric, unit), unit)

    def text(self, run: Run) -> str:
        """The number of a run."""
        return cell(self.metric, run[self.metric.name], self.unit)


def results_table(
    every: Iterable[Run],
    *,
    show: str | Sequence[str] | None = None,
    sort: str | None = None,
    view: str | None = None,
    baseline: str | None = None,
) -> Table:
    """Return one row per run, grouped by trace and cache size, with the marks of each group.

    Parameters:
        every: the runs.
        show: the columns, by the names of metrics, short ones too; by default the usual ones.
        sort: by what rows of a group are sorted, the best first; by default as they were asked for.
        view: columns by what they are about, instead of `show`: a key of `VIEWS`.
        baseline: the label of the run that others are marked against; by default the first.

    Raises `UsageError` for names that there are not.
    """
    runs = list(every)
    keys = keys_of(runs)
    order = None if sort is None else metric_named(sort)
    asked, life = chosen(show, view, sort)
    if view is not None and asked is not None:
        asked = [m for m in asked if not m.group.is_rare or any(r[m.name] for r in runs)]
        asked = [m for m in asked if not repeats_waf(m, runs)]
    said, zeros = _shown(runs) if asked is None else (asked, [])
    if order is not None and order not in said:
        said = [*said, order]
    shown = [Numbers.of(m, runs) for m in said]
    columns, has_sizes = key_columns(runs)
    columns += [Column(s.title) for s in shown]
    lasting = any(r.life for r in runs) and (life or asked is None)
    columns += [Column(title) for title in LIFE_TITLES] if lasting else []
    table = Table(_title(runs), columns)
    by_size = grouped(runs)
    bases = {place: baseline_of(group, baseline) for place, group in by_size.items()}
    one_each = all(len(group) == 1 for group in by_size.values())
    if order is not None:
        by_size = _sorted(by_size, order, one_each)
    rows = {
        place: _rows(group, bases[place], shown, keys, lasting, has_sizes=has_sizes)
        for place, group in by_size.items()
    }
    printed = _printed_once(by_size, rows)
    one_each = all(len(some) == 1 for some in printed)
    table.groups += [[row for some in printed for row in some]] if one_each else printed
    table.notes += _notes(table, runs, shown)
    table.notes += _marks(table, [(group, bases[place]) for place, group in by_size.items()], shown)
    if life and not lasting:
        closed = all(r.queue_depth is not None for r in runs)
        table.notes.append(IN_A_CLOSED_LOOP if closed else f"{NO_LIFE} (--pe-cycles)")
    if zeros:
        names = ", ".join(heading(m, None).partition("\n")[0] for m in zeros)
        table.notes.append(f"not shown (0 in every run): {names}")
    return table


def grouped(runs: Sequence[Run]) -> dict[Place, Sequence[Run]]:
    """Runs that are compared with each other."""
    return {place: list(group.values()) for place, group in compared(runs).items()}


def _printed_once(
    by_size: Mapping[Place, Sequence[Run]], rows: Mapping[Place, list[list[Cell]]]
) -> list[list[list[Cell]]]:
    """The rows as they are printed: those without a cache once, before several sizes."""
    sizes = Counter(place[:-1] for place in by_size)
    without: dict[Place, dict[tuple[str, str | None], list[Cell]]] = {}
    sized: dict[Place, list[list[list[Cell]]]] = {}
    for place, group in by_size.items():
        kept = sized.setdefault(place[:-1], [])
        kept.append([])
        for run, row in zip(group, rows[place], strict=True):
            if run.has_no_cache and sizes[place[:-1]] > 1:
                found = without.setdefault(place[:-1], {})
                if run.frames == run.config["frames"]:
                    found[run.label, run.placement] = row
                found.setdefault((run.label, run.placement), row)
            else:
                kept[-1].append(row)
    first = {behind: [list(found.values())] for behind, found in without.items()}
    every = [some for behind, kept in sized.items() for some in first.get(behind, []) + kept]
    return [some for some in every if some]


def by_metric(order: Metric, value: float | int | None) -> tuple[bool, float]:
    """The key that sorts by a metric, the best first; what has no number comes last."""
    return value is None, (value or 0) * (-1 if order.better == "higher" else 1)


def _sorted(
    by_size: dict[Place, Sequence[Run]], order: Metric, one_each: bool
) -> dict[Place, Sequence[Run]]:
    """The groups with their runs sorted; of groups of one run each the groups themselves."""

    def key(run: Run) -> tuple[bool, float]:
        return by_metric(order, run[order.name])

    if one_each:
        return dict(sorted(by_size.items(), key=lambda item: key(item[1][0])))
    return {place: sorted(group, key=key) for place, group in by_size.items()}


def _rows(
    group: Sequence[Run],
    base: Run | None,
    shown: Sequence[Numbers],
    keys: Sequence[str],
    lasting: bool,
    *,
    has_sizes: bool,
) -> list[list[Cell]]:
    """The rows of one cache size."""
    best: dict[str, Run] = {}
    for s in shown:
        found = winner(group, s.metric)
        if found is not None and found.sole:
            # Several traces may share a unit that shows less than the rule asks for.
            texts = [s.text(run) for run in group]
            if texts.count(s.text(found.runs[0])) == 1:
                best[s.metric.name] = found.runs[0]
    rows = []
    for run in group:
        row = leading_cells(run, keys, has_sizes=has_sizes)
        for s in shown:
            # As for the best: what the printed digits do not show is not marked.
            differs = base is not None and s.text(run) != s.text(base)
            sign = beside(s.metric, run, base) if differs else ""
            row.append(Cell(s.text(run), best=best.get(s.metric.name) is run, sign=sign))
        row += [Cell(text) for text in life_texts(run.life)] if lasting else []
        rows.append(row)
    return rows


def life_texts(life: Life | None) -> tuple[str, str]:
    """Drive writes a day, and years."""
    if life is None:
        return NONE, NONE
    years = NONE if life.years is None else significant(life.years)
    return significant(life.drive_writes_per_day), years


def _notes(table: Table, runs: Sequence[Run], shown: Sequence[Numbers]) -> list[str]:
    """Notes on the measured part, the marks and the cost model."""
    # Said of every run, and of the table as a whole.
    missing = (w for r in runs for w in r.warnings if w.startswith((INTERRUPTED, SHARD)))
    notes = [*dict.fromkeys(missing), *_measured(runs)]
    if len({r.placement for r in runs}) > 1 and any(is_foreseeing(r.placement) for r in runs):
        notes.append("fk uses future accesses: a strong reference, no bound, and nothing to build")
    waits = list(dict.fromkeys(r.eviction_wait for r in runs if r.eviction_wait))
    if waits:
        notes.append(f"evictions: {'; '.join(map(waiting, waits))} (evict_wait)")
    notes += _turned(runs)
    notes += absent(runs, [s.metric for s in shown])
    notes += _held_back(runs, shown)
    notes += _filling(runs, shown)
    real = [r for r in runs if not r.has_no_cache]
    vast = dict.fromkeys(r.cache for r in real if r.frames > r.trace.unique_pages > 0)
    if vast:
        exceed = "exceeds" if len(vast) == 1 else "exceed"
        notes.append(f"{', '.join(vast)} {exceed} the trace's pages: the cache never fills")
    cycles = next((r.life.pe_cycles for r in runs if r.life), None)
    if cycles is not None and any(c.title == LIFE_TITLES[0] for c in table.columns):
        notes.append(
            f"years until every block was erased {number(cycles)} times, at the rate of this trace,"
            " pending writes included, with level wear"
        )
    cost = next((r.config.get("cost") for r in runs if r.config.get("cost")), None)
    if cost and any(s.metric.name == "cost" for s in shown):
        notes.append(
            f"cost = flash reads x {number(cost['read'])} + flash writes x {number(cost['write'])}"
        )
    return notes


def _marks(
    table: Table, groups: Sequence[tuple[Sequence[Run], Run | None]], shown: Sequence[Numbers]
) -> list[str]:
    """The meaning of the marks; why there are none; and response times that are mostly waiting."""
    notes, runs = [], [run for group, _ in groups for run in group]
    if any(c.best for row in table.rows() for c in row):
        notes.append(f"{MARK} {mark_meaning(runs)}")
    if any(c.sign for row in table.rows() for c in row):
        labels = list(dict.fromkeys(base.label for _, base in groups if base is not None))
        base = labels[0] if len(labels) == 1 else "the first of its size"
        rule = "by the same rule" if notes else RULE
        notes.append(f"{LOWER} lower, {HIGHER} higher than {base}: {rule}")
    notes += _unmarked(groups, shown)
    if any(s.metric.kind == "time" for s in shown):
        notes += queued(runs)
    return notes


def _unmarked(
    groups: Sequence[tuple[Sequence[Run], Run | None]], shown: Sequence[Numbers]
) -> list[str]:
    """Why nothing is marked in the main number of a table, in a line."""
    metrics = [s.metric for s in shown if s.metric.better != "neither"]
    named = {metric.name: metric for metric in metrics}
    metric = named.get("response_ns_mean") or (metrics[0] if metrics else None)
    if metric is None:
        return []
    several = len({group[0].frames for group, _ in groups}) > 1
    traces = len({group[0].trace.name for group, _ in groups}) > 1

    def place(run: Run) -> str:
        trace = f" of {run.trace.name}" if traces else ""
        return trace + (f" at {run.cache}" if several else "")

    found = [
        unmarked(group, metric, base, place(group[0])) for group, base in groups if len(group) > 1
    ]
    return [plain(found[-1])] if found and all(found) and found[-1] else []


def queued(runs: Sequence[Run]) -> list[str]:
    """Runs of an open loop whose requests mostly wait in a queue, in a line."""
    found = [run for run in runs if run.queue_grows]
    if not found:
        return []
    labels = list(dict.fromkeys(run.label for run in found))
    who = ", ".join(labels[:4]) + (f" and {len(labels) - 4} more" if len(labels) > 4 else "")
    most = max(float((run.queue or {})["outstanding_max"]) for run in found)
    return [
        f"open loop: response times of {who} are mostly waiting in a queue (up to {most:,.0f}"
        " requests); --queue-depth 8 shows the device's own limit"
    ]


#: When a difference is marked.
RULE = "significant (95 %), and by 1 % or more"


def mark_meaning(runs: Sequence[Run]) -> str:
    """The meaning of the mark of the best, as the end of a note."""
    if not any(r.differences for r in runs):
        return "best of its size, by 1 % or more"
    parts = min((r.differences.parts for r in runs if r.differences.parts), default=FEW_PARTS)
    where = ""
    if parts < FEW_PARTS:
        few = counted(parts, "independent part")
        where = f"; this trace has only {few}: verify on a longer one"
    return f"best of its size: {RULE}{where}"


def _held_back(runs: Sequence[Run], shown: Sequence[Numbers]) -> list[str]:
    """Marks that pending writes take away, in a line."""
    titles: dict[str, None] = {}
    share = 0.0
    for group in grouped(runs).values():
        for s in shown:
            run = held_back(group, s.metric)
            if run is not None:
                titles[s.title.replace("\n", " ").partition(" (")[0]] = None
                share = max(share, *(r.deferred_share for r in group))
    if not titles:
        return []
    return [
        plain(
            f"no {MARK} for {', '.join(titles)}: up to {percent(share, 0)} of the flash writes are"
            " still pending after the last request"
        )
    ]


def _filling(runs: Sequence[Run], shown: Sequence[Numbers]) -> list[str]:
    """Runs whose cache fills for half of the measured part, where that may mislead, in a line each.

    The warm-up `auto` ends when lru's cache is full: a policy that takes in few pages fills later.
    """
    slow = dict.fromkeys(run.label for run in runs if run.fills_late and _is_lru_full(run))
    if slow:
        return [
            f"{few(list(slow))}: still filling in the first half of the measured part, which"
            " begins when lru's cache is full; --warmup 50% begins later"
        ]
    best: dict[str, None] = {}
    for group in grouped(runs).values():
        for s in shown:
            found = winner(group, s.metric)
            if found is not None and found.sole and found.runs[0].fills_late:
                best[f"{found.runs[0].label} at {found.runs[0].cache}"] = None
    if not best:
        return []
    return [
        f"{MARK} while the cache still filled for half of the measured part: {few(list(best))}"
        " (--warmup auto measures after that)"
    ]


def _is_lru_full(run: Run) -> bool:
    return (run.measured or {}).get("cache_full") is True


def _measured(runs: Sequence[Run]) -> list[str]:
    """The requests that were measured after a warm-up, and the caches that are not full."""
    parts: dict[str, dict[str, Run]] = {}
    for run in [run for run in runs if not run.has_no_cache] or runs:
        if run.warmup_requests and run.measured is not None:
            parts.setdefault(run.trace.name, {}).setdefault(measured_text(run), run)
    several = len({run.trace.name for run in runs}) > 1
    notes = []
    for name, texts in parts.items():
        whose = f"{name}: " if several else ""
        notes.append(f"measured: {whose}{_parts_text(texts)}")
    filling = [run for run in runs if run.cache_not_full]
    if filling:
        # Of a cache beyond the trace's pages another note has the reason.
        slow = any(run.frames <= run.trace.unique_pages for run in filling)
        why = "the cache takes longer than half of the requests to fill; " if slow else ""
        notes.append(f"{NOT_FULL}: {why}never best")
    return notes


def _parts_text(texts: Mapping[str, Run]) -> str:
    """The measured parts; of several sizes, each from the request at which lru's is full."""
    if len(texts) == 1:
        return next(iter(texts))
    first, last = (key(texts.values(), key=lambda run: run.warmup_requests) for key in (min, max))
    ends = (f"{run.warmup_requests + 1:,} at {run.cache}" for run in (first, last))
    end = (first.measured or {})["last_request"]
    return f"from the request that fills lru's cache ({', '.join(ends)}) to {end:,}"


#: Independent parts of a trace below which a mark is said to be of this trace alone.
FEW_PARTS = 10


def _turned(runs: Sequence[Run]) -> list[str]:
    """Sizes at which another policy is fastest in an open loop than in a closed one, in a line."""
    mean = metric_named("response_ns_mean")
    fastest: dict[Place, dict[str, str]] = {}
    for (trace, drive, _, frames), group in grouped(runs).items():
        found = winner(group, mean)
        if found is not None and found.sole:
            best = fastest.setdefault((trace, drive, frames), {})
            best[arrivals_of(group[0])] = found.labels[0]
    turned = [best for best in fastest.values() if len(set(best.values())) > 1]
    if not turned:
        return []
    said = "; ".join(f"{label} ({arrivals})" for arrivals, label in turned[0].items())
    more = f", and at {len(turned) - 1} other sizes" if len(turned) > 1 else ""
    return [f"the fastest policy depends on the arrivals: {said}{more}"]


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
    prompts = prompts_of(runs)
    if prompts is not None:
        # A prompt is a request; a trace file has a request for each of its blocks.
        return (
            f"{trace.name}: {counted(prompts, 'prompt')}, {counted(trace.accesses, 'block')},"
            f" {trace.unique_pages:,} different, of {trace.page_bytes:,} bytes{front}{loop}"
        )
    return (
        f"{trace.name}: {counted(trace.requests, 'request')},"
        f" {counted(trace.accesses, 'page access', 'page accesses')},"
        f" {counted(trace.unique_pages, 'page')} of {trace.page_bytes:,} bytes{front}{loop}"
    )
