"""The report's tables: every run, and who is best at which cache size."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from destage.model.host_interface import repeats_waf
from destage.model.marks import baseline_of, beside, is_better
from destage.model.metrics import ALL_HITS, METRICS, ORACLE, WRITES, Metric
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.values import cell as cell_text
from destage.model.winners import winners
from destage.model.words import NBSP, NONE, TimeUnit, join, number, percent, ratio, size, time_unit
from destage.show.pages.blocks import (
    Part,
    bar,
    cell,
    control,
    grid,
    head,
    section,
    select,
)
from destage.show.tables.results import RULE, life_texts, mark_meaning

__all__ = ["all_runs", "best_by_size"]

#: Metrics of the table of winners.
CONTESTS = (
    *("response_ns_mean", "response_ns_p99", "read_response_ns_mean", "write_response_ns_mean"),
    *(ALL_HITS, "hit_ratio", "physical_reads", "physical_writes", WRITES, "waf", "erases", "cost"),
)

MIB = 1 << 20


def all_runs(result: ResultSet) -> Part | None:
    """One row a run; `v` is the value that sorting and the CSV take."""
    if not result.runs:
        return None
    metrics = [m for m in result.metrics() if m.name != "writes_vs_lru" or len(result.labels) > 1]
    metrics = [m for m in metrics if not repeats_waf(m, result.runs)]
    best = {
        (w.metric.name, w.frames, w.labels[0])
        for m in metrics
        for w in winners(result, m)
        if w.sole and m.better != "neither"
    }
    units = {
        m.name: time_unit(run[m.name] for run in result.runs) for m in metrics if m.kind == "time"
    }
    timed = result.timed
    bases = {frames: baseline_of(result.at(frames), result.baseline) for frames in result.sizes}
    shares = [row.cache_share for row in result.by_size if row.cache_share]
    digits = 3 if shares and min(shares) < 0.001 else 2
    rows, words, sizes = [], set[str](), list[int | str]()
    for row in result.once:
        sizes.append("" if row.has_no_cache and len(result.sizes) > 1 else row.frames)
        cells = [cell(row.label, title=row.label, v=row.label)]
        cells += _size_cells(row, digits) if result.has_cache else []
        for m in metrics:
            css = [] if m.is_core(timed) else ["extra"]
            if (m.name, row.frames, row.label) in best:
                css.append("best")
            text = cell_text(m, row[m.name], units.get(m.name))
            word = _word(m, row, bases.get(row.frames), units.get(m.name))
            words.add(word)
            cells.append(_cell(row[m.name], text, " ".join([*css, word]).rstrip()))
        cells += _life_cells(row) if any(r.life for r in result.runs) else []
        rows.append(cells)
    heads = [
        *_fixed_heads()[: None if result.has_cache else 1],
        *(_head(m, units.get(m.name), timed) for m in metrics),
        *_life_heads(result),
    ]
    first = [False, *(a != b for a, b in pairwise(sizes))]
    mark = f"\u25cf {mark_meaning(result.runs)}. " if best else ""
    mark += f"{_signs(bases.values())}. " if words - {""} else ""
    made = grid(
        heads, rows, css=" sorts", frames=sizes, first=first, low=False, title="All runs",
        notes=[f"{mark}Click a heading to sort."],
    )  # fmt: skip
    return section("All runs", _choices(result), made)


def _choices(result: ResultSet) -> Part:
    """The cache size that the table shows, all of its columns, the file."""
    named = {str(row.frames): size(row.cache_bytes) for row in result.by_size}
    options = [("", "all", ""), *((frames, title, "") for frames, title in named.items())]
    file = "".join(c if c.isalnum() or c in "-_." else "_" for c in result.name)[:80]
    return bar(
        select("Cache size", options, "", data_size="") if len(named) > 1 else None,
        control("check", "all columns", data_all=""),
        control("button", "Save as CSV", data_csv=file),
    )


def _word(metric: Metric, run: Run, base: Run | None, unit: TimeUnit | None) -> str:
    """How a value differs from the baseline's, if it does so significantly and visibly."""
    if base is None:
        return ""
    if cell_text(metric, run[metric.name], unit) == cell_text(metric, base[metric.name], unit):
        return ""
    sign = beside(metric, run, base)
    return "" if not sign else "better" if is_better(metric, sign) else "worse"


def _signs(bases: Iterable[Run | None]) -> str:
    """The reference of `better` and `worse`."""
    labels = list(dict.fromkeys(base.label for base in bases if base is not None))
    than = labels[0] if len(labels) == 1 else "the first of its size"
    return f"better, worse: than {than}, {RULE}"


def _life_cells(run: Run) -> list[Part]:
    writes, years = life_texts(run.life)
    life = run.life
    return [
        _cell(life.drive_writes_per_day if life else None, writes, ""),
        _cell(life.years if life else None, years, ""),
    ]


def _life_heads(result: ResultSet) -> list[Part]:
    """Heads of what a device's life comes to, where its endurance is known."""
    cycles = next((run.life.pe_cycles for run in result.runs if run.life), None)
    if cycles is None:
        return []
    years = f"until every block was erased {number(cycles)} times, at the rate of this trace"
    about = "capacity written in a day, over the device's"
    return [
        _number_head("drive_writes_per_day", "Drive writes", "a day", about),
        _number_head("years", "Life", "years", f"{years}, with level wear", first="descending"),
    ]


def _size_cells(run: Run, digits: int) -> list[Part]:
    """The size of the cache; no cache has none, nor have its runs at sizes of earlier results."""
    sizes = (run.cache_bytes, run.frames, run.cache_share)
    texts = (f"{run.cache_bytes / MIB:,.2f}", number(run.frames), ratio(run.cache_share, digits))
    if run.policy == "none":
        texts = (NONE, NONE, NONE)
    known = (None, None, None) if run.has_no_cache else sizes
    return [_cell(value, text, "") for value, text in zip(known, texts, strict=True)]


def _cell(value: float | int | None, text: str, css: str) -> Part:
    return cell(text, css, v="" if value is None else repr(value))


def _number_head(name: str, title: str, unit: str, about: str, css: str = "", **sorts: str) -> Part:
    sorts = {"kind": "number", "first": "ascending", "sort": "", **sorts}
    return head(title, css, unit, name=name, about=about, **sorts)


def _fixed_heads() -> list[Part]:
    about = "policy, with the parameters that were given"
    share = "cache size over the trace's unique pages"
    return [
        _number_head("label", "Policy", "", about, "text", kind="text"),
        _number_head("cache_bytes", "Cache", "MiB", "cache size"),
        _number_head("frames", "Frames", "pages", "cache size in pages", sort="ascending"),
        _number_head("cache_share", "Share", "% of pages", share),
    ]


def _head(metric: Metric, unit: TimeUnit | None, timed: bool) -> Part:
    first = "descending" if metric.better == "higher" else "ascending"
    shown = unit.name if unit else metric.shown_unit
    css = "" if metric.is_core(timed) else "extra"
    return _number_head(metric.name, metric.title, shown, metric.about, css, first=first)


def best_by_size(result: ResultSet) -> Part | None:
    """A row a metric, a column a cache size; nothing where nothing competes."""
    if len(result.sizes) < 2:
        return None
    hidden = "without_device" if result.timed else "with_device"
    metrics = {m.name: m for m in METRICS if m.shown != hidden}
    rows = []
    other = "physical_writes" if result.writes_metric == WRITES else WRITES
    for metric in (metrics[name] for name in CONTESTS if name in metrics and name != other):
        found = {w.frames: w for w in winners(result, metric)}
        if not found or all(w.value == 0 and len(w.labels) == w.of for w in found.values()):
            continue
        cells = []
        unit = time_unit(w.value for w in found.values()) if metric.kind == "time" else None
        for frames in result.sizes:
            winner = found.get(frames)
            if winner is None:
                cells.append(cell(NONE))
                continue
            value = cell_text(metric, winner.value, unit)
            who = _who(winner.labels, winner.of)
            cells.append(cell(who, note=value, title=join(winner.labels)))
        shown = unit.name if unit else metric.shown_unit
        title = f"{metric.title} ({shown})" if shown else metric.title
        rows.append([cell(title), *cells])
    if not rows:
        return None
    first: dict[int, Run] = {}
    for row in result.by_size:
        first.setdefault(row.frames, row)
    heads = [head("Best in", "text")]
    for frames in result.sizes:
        share = first[frames].cache_share
        note = percent(share, 1 if (share or 0) >= 0.01 else 2)
        heads.append(head(size(first[frames].cache_bytes), note=note))
    note = f"Values within 1{NBSP}% of the best are ties."
    if any(run.differences for run in result.runs):
        note = (
            f"A tie: no significant difference from the best (95{NBSP}% interval of the difference,"
        )
        note += f" from the parts of the run). Numbers without an interval tie within 1{NBSP}%."
    if any(cell(NONE) in row for row in rows):
        note += f" {NONE}: pending writes could decide, or fewer than two policies compare."
    if ORACLE in result.policies.values():
        note += " min is left out: it uses future accesses."
    return section("Best at each cache size", grid(heads, rows, notes=[note], css=" wins"))


def _who(labels: tuple[str, ...], of: int) -> str:
    if len(labels) == of:
        return "no significant difference"
    first = labels[0] if len(labels[0]) <= 24 else f"{labels[0][:23]}\u2026"
    return first if len(labels) == 1 else f"{first} (tie with {len(labels) - 1})"
