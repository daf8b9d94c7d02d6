"""The report's tables: every run, and who is best at which cache size."""

from __future__ import annotations

from typing import Any

from .._tidy import METRICS, ORACLE, Metric, ResultView, Row
from .._words import NONE, join, number, percent, shown, size, winners

__all__ = ["runs_table", "wins_table"]

#: Metrics of the table of winners.
CONTESTS = ("hit_ratio", "physical_reads", "physical_writes", "running_time")

MIB = 1 << 20


def runs_table(result: ResultView) -> dict[str, Any]:
    """One row a run; `v` is the value that sorting and the CSV take."""
    metrics = [m for m in result.metrics() if m.name != "writes_vs_lru" or len(result.series) > 1]
    best = {
        (w.metric.name, w.frames, w.labels[0])
        for m in metrics
        for w in winners(result, m)
        if w.sole and m.better != "neither"
    }
    shares = [row["cache_share"] for row in result.rows if row["cache_share"]]
    digits = 3 if shares and min(shares) < 0.001 else 2
    rows = []
    before: int | None = None
    for row in result.rows:
        cells = [
            {"v": row["label"], "text": row["label"], "css": ""},
            _cell(row["cache_bytes"], f"{row['cache_bytes'] / MIB:,.2f}", ""),
            _cell(row["frames"], number(row["frames"]), ""),
            _cell(row["cache_share"], _share(row["cache_share"], digits), ""),
        ]
        for m in metrics:
            css = [] if m.core else ["extra"]
            if (m.name, row["frames"], row["label"]) in best:
                css.append("best")
            cells.append(_cell(row[m.name], shown(m, row[m.name]), " ".join(css)))
        rows.append(
            {
                "frames": row["frames"],
                "first": before is not None and before != row["frames"],
                "cells": cells,
            }
        )
        before = row["frames"]
    sizes = {row["frames"]: size(row["cache_bytes"]) for row in result.rows}
    return {
        "heads": [*_fixed_heads(), *map(_head, metrics)],
        "rows": rows,
        "sizes": [{"frames": f, "title": title} for f, title in sizes.items()],
        "marked": bool(best),
        "file": "".join(c if c.isalnum() or c in "-_." else "_" for c in result.name)[:80],
    }


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


def _head(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "title": metric.title,
        "unit": metric.unit,
        "kind": "number",
        "first": "descending" if metric.better == "higher" else "ascending",
        "css": "" if metric.core else "extra",
        "sort": "",
        "about": metric.about,
    }


def wins_table(result: ResultView) -> dict[str, Any] | None:
    """A row a metric, a column a cache size; nothing where nothing competes."""
    if len(result.sizes) < 2:
        return None
    metrics = {m.name: m for m in METRICS if m.name in CONTESTS}
    rows = []
    for metric in metrics.values():
        found = {w.frames: w for w in winners(result, metric)}
        if not found or all(w.value == 0 and len(w.labels) == w.of for w in found.values()):
            continue
        cells = []
        for frames in result.sizes:
            winner = found.get(frames)
            if winner is None:
                cells.append({"who": NONE, "value": "", "full": ""})
                continue
            cells.append(
                {
                    "who": _who(winner.labels, winner.of),
                    "value": _value(metric, winner.value),
                    "full": join(winner.labels),
                }
            )
        rows.append({"title": metric.title, "cells": cells})
    if not rows:
        return None
    first: dict[int, Row] = {}
    for row in result.rows:
        first.setdefault(row["frames"], row)
    heads = [
        {
            "title": size(first[f]["cache_bytes"]),
            "note": percent(first[f]["cache_share"], 1)
            if (first[f]["cache_share"] or 0) >= 0.01
            else percent(first[f]["cache_share"], 2),
        }
        for f in result.sizes
    ]
    return {"heads": heads, "rows": rows, "oracle": ORACLE in result.policies.values()}


def _who(labels: tuple[str, ...], of: int) -> str:
    if len(labels) == of:
        return "all tie"
    first = labels[0] if len(labels[0]) <= 24 else f"{labels[0][:23]}\u2026"
    return first if len(labels) == 1 else f"{first} +{len(labels) - 1}"


def _value(metric: Metric, value: float | int) -> str:
    return percent(value) if metric.kind == "ratio" else number(value)
