"""The report's tables: every run, and who is best at which cache size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from destage.model.marks import baseline_of, beside
from destage.model.metrics import ALL_HITS, METRICS, ORACLE, WRITES, Metric
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.winners import winners
from destage.model.words import NONE, TimeUnit, cell, join, number, percent, size, time_unit
from destage.show.tables.results import RULE, life_texts, mark_meaning
from destage.show.tables.table import WORDS

__all__ = ["runs_table", "wins_table"]

#: Metrics of the table of winners.
CONTESTS = (
    "response_ns_mean",
    "response_ns_p99",
    "read_response_ns_mean",
    "write_response_ns_mean",
    ALL_HITS,
    "hit_ratio",
    "physical_reads",
    "physical_writes",
    WRITES,
    "waf",
    "erases",
    "cost",
)

MIB = 1 << 20


def runs_table(result: ResultSet) -> dict[str, Any]:
    """One row a run; `v` is the value that sorting and the CSV take."""
    metrics = [m for m in result.metrics() if m.name != "writes_vs_lru" or len(result.labels) > 1]
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
    rows, words = [], set[str]()
    before: int | str | None = None
    for row in result.once:
        frames = "" if row.has_no_cache and len(result.sizes) > 1 else row.frames
        cells = [{"v": row.label, "text": row.label, "css": ""}]
        cells += _size_cells(row, digits) if result.has_cache else []
        for m in metrics:
            css = [] if m.is_core(timed) else ["extra"]
            if (m.name, row.frames, row.label) in best:
                css.append("best")
            text = cell(m, row[m.name], units.get(m.name))
            word = _word(m, row, bases.get(row.frames), units.get(m.name))
            words.add(word)
            cells.append(_cell(row[m.name], text, " ".join([*css, word]).rstrip()))
        cells += _life_cells(row) if any(r.life for r in result.runs) else []
        rows.append(
            {
                "frames": frames,
                "first": before is not None and before != frames,
                "cells": cells,
            }
        )
        before = frames
    sizes = {row.frames: size(row.cache_bytes) for row in result.by_size}
    return {
        "heads": [
            *_fixed_heads()[: None if result.has_cache else 1],
            *(_head(m, units.get(m.name), timed) for m in metrics),
            *_life_heads(result),
        ],
        "rows": rows,
        "sizes": [{"frames": f, "title": title} for f, title in sizes.items()],
        "mark": mark_meaning(result.runs) if best else "",
        "signs": _signs(bases.values()) if words - {""} else "",
        "file": "".join(c if c.isalnum() or c in "-_." else "_" for c in result.name)[:80],
    }


def _word(metric: Metric, run: Run, base: Run | None, unit: TimeUnit | None) -> str:
    """How a value differs from the baseline's, if it does so significantly and visibly."""
    if base is None or cell(metric, run[metric.name], unit) == cell(
        metric, base[metric.name], unit
    ):
        return ""
    return WORDS.get(beside(metric, run, base), "")


def _signs(bases: Iterable[Run | None]) -> str:
    """The reference of `better` and `worse`."""
    labels = list(dict.fromkeys(base.label for base in bases if base is not None))
    than = labels[0] if len(labels) == 1 else "the first of its size"
    return f"better, worse: than {than}, {RULE}"


def _life_cells(run: Run) -> list[dict[str, Any]]:
    writes, years = life_texts(run.life)
    life = run.life
    return [
        _cell(life.drive_writes_per_day if life else None, writes, ""),
        _cell(life.years if life else None, years, ""),
    ]


def _life_heads(result: ResultSet) -> list[dict[str, Any]]:
    """Heads of what a device's life comes to, where its endurance is known."""
    cycles = next((run.life.pe_cycles for run in result.runs if run.life), None)
    if cycles is None:
        return []
    years = f"until every block was erased {number(cycles)} times, at the rate of this trace"
    number_head = {"kind": "number", "css": "", "sort": ""}
    return [
        {"name": "drive_writes_per_day", "title": "Drive writes", "unit": "a day"}
        | {"first": "ascending", "about": "capacity written in a day, over the device's"}
        | number_head,
        {"name": "years", "title": "Life", "unit": "years", "first": "descending"}
        | {"about": f"{years}, with level wear"}
        | number_head,
    ]


def _size_cells(run: Run, digits: int) -> list[dict[str, Any]]:
    """The size of the cache; no cache has none, nor have its runs at sizes of earlier results."""
    sizes = (run.cache_bytes, run.frames, run.cache_share)
    texts = (f"{run.cache_bytes / MIB:,.2f}", number(run.frames), _share(run.cache_share, digits))
    if run.policy == "none":
        texts = (NONE, NONE, NONE)
    known = (None, None, None) if run.has_no_cache else sizes
    return [_cell(value, text, "") for value, text in zip(known, texts, strict=True)]


def _cell(value: float | int | None, text: str, css: str) -> dict[str, Any]:
    return {"v": "" if value is None else repr(value), "text": text, "css": css}


def _share(share: float | None, digits: int) -> str:
    return NONE if share is None else number(100 * share, digits)


def _fixed_heads() -> list[dict[str, Any]]:
    number_head = {"kind": "number", "first": "ascending", "css": "", "sort": ""}
    return [
        {
            "name": "label",
            "title": "Policy",
            "unit": "",
            "kind": "text",
            "first": "ascending",
            "css": "text",
            "sort": "",
            "about": "policy, with the parameters that were given",
        },
        {"name": "cache_bytes", "title": "Cache", "unit": "MiB", "about": "cache size"}
        | number_head,
        {
            "name": "frames",
            "title": "Frames",
            "unit": "pages",
            "about": "cache size in pages",
        }
        | number_head
        | {"sort": "ascending"},
        {
            "name": "cache_share",
            "title": "Share",
            "unit": "% of pages",
            "about": "cache size over the trace's unique pages",
        }
        | number_head,
    ]


def _head(metric: Metric, unit: TimeUnit | None, timed: bool) -> dict[str, Any]:
    return {
        "name": metric.name,
        "title": metric.title,
        "unit": unit.name if unit else metric.shown_unit,
        "kind": "number",
        "first": "descending" if metric.better == "higher" else "ascending",
        "css": "" if metric.is_core(timed) else "extra",
        "sort": "",
        "about": metric.about,
    }


def wins_table(result: ResultSet) -> dict[str, Any] | None:
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
                cells.append({"who": NONE, "value": "", "full": ""})
                continue
            cells.append(
                {
                    "who": _who(winner.labels, winner.of),
                    "value": cell(metric, winner.value, unit),
                    "full": join(winner.labels),
                }
            )
        shown = unit.name if unit else metric.shown_unit
        title = f"{metric.title} ({shown})" if shown else metric.title
        rows.append({"title": title, "cells": cells})
    if not rows:
        return None
    first: dict[int, Run] = {}
    for row in result.by_size:
        first.setdefault(row.frames, row)
    heads = [
        {
            "title": size(first[f].cache_bytes),
            "note": percent(first[f].cache_share, 1)
            if (first[f].cache_share or 0) >= 0.01
            else percent(first[f].cache_share, 2),
        }
        for f in result.sizes
    ]
    measured = any(run.differences for run in result.runs)
    oracle = ORACLE in result.policies.values()
    return {"heads": heads, "rows": rows, "oracle": oracle, "measured": measured}


def _who(labels: tuple[str, ...], of: int) -> str:
    if len(labels) == of:
        return "no significant difference"
    first = labels[0] if len(labels[0]) <= 24 else f"{labels[0][:23]}\u2026"
    return first if len(labels) == 1 else f"{first} (tie with {len(labels) - 1})"
