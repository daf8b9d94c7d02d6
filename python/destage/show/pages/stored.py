"""The page of a store: thousands of runs that a reader filters, in one file.

The rows travel by column. The page's script takes the means of those that the reader chooses and
gives them to `charts.comparison_grid`: a press of a key redraws hundreds of marks and not
thousands. Runs that failed, are missing or have no such number stay in sight: they are counted,
and drawn as such.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from altair.utils.schemapi import debug_mode

from destage import _destage
from destage.model.axes import Axis, along, axes_of, axis_named
from destage.model.metrics import NO_CACHE, Metric, offline
from destage.model.settings import (
    DIMENSIONS,
    at_every_size,
    cache_order,
    differing,
    known_metrics,
    label_order,
    natural_order,
    setting_name,
    usual_pair,
)
from destage.model.words import NONE, cell, counted, join, number, printable, size, time_unit
from destage.show.charts.comparison_grid import GridCharts
from destage.show.charts.theme import PAGE
from destage.show.pages.comparison import looks
from destage.show.pages.layout import page_of

__all__ = ["Missing", "stored_page"]

#: Status of a run; a missing one was planned and has no row.
STATUS = ("done", "failed", "missing")
#: Columns of a run that its detail shows beside the numbers.
TOLD = ("id", "params", "reason", "warnings", "warmup", "placement", "trace_fingerprint")
#: Numbers of a run that are no metrics.
SIZES = (
    *("frames", "cache_bytes", "cache_share", "page_bytes", "warmup_requests"),
    *("trace_requests", "trace_accesses", "trace_unique_pages"),
)
#: Values that differ by less are of a number that does not vary.
LEAST = 0.05
#: Opens a page of runs with a device.
MEAN = "response_ns_mean"
#: Reasons and holes that are written out; of more, the page says how many there are.
MOST_TOLD = 12

Row = Mapping[str, Any]
#: A run that was planned and is not there: `DIMENSIONS`, `frames`, and `sweep`, whose it is.
Missing = Mapping[str, Any]


def stored_page(
    rows: Sequence[Row],
    missing: Sequence[Missing] = (),
    *,
    title: str,
    damaged: int = 0,
    command: str | None = None,
    across: str | None = None,
    log_y: bool = False,
) -> str:
    """Return the page of rows of a store, and of the runs that it has not.

    It opens on response time where all runs have a device, else on hits, or on the first usual
    number that differs; `across` is the key of the axis.
    """
    runs = [*rows, *({**dict(run), "status": "missing"} for run in missing)]
    order = _orders(runs)
    runs.sort(key=lambda run: [order[name](_text(run.get(name))) for name in DIMENSIONS])
    level = at_every_size(runs)
    known = _sized(runs)
    metrics = known_metrics(rows)
    labels = sorted({str(run["label"]) for run in runs}, key=label_order)
    every = [*runs, *(run for _, run in level)]
    model = _model(every, _sized(every), metrics, labels)
    # Runs behind the others are drawn only: without a cache, at the sizes of the others.
    model |= {"real": len(runs), "level": [number for number, _ in level]}
    model["opens"] = _opens(runs, metrics, across, log_y=log_y)
    return page_of(
        "store.html.j2",
        ["store.js"],
        model | {"file": re.sub(r"[^\w.-]+", "-", title).strip("-") or "store"},
        styles=["store.css"],
        title=printable(title),
        lead=_lead(runs),
        notices=[printable(text) for text in _notices(rows, missing, damaged)],
        version=_destage.VERSION,
        command=command,
        looks=looks(labels),
        table=_table(runs, known, metrics),
    )


def _sized(runs: Sequence[Row]) -> list[dict[str, Any]]:
    """Sizes of runs; of failed and missing ones from runs of the same trace."""
    of_trace: dict[Any, Row] = {}
    for run in runs:
        if run.get("trace_unique_pages"):
            of_trace.setdefault((run["trace"], run.get("seed")), run)
            of_trace.setdefault((run["trace"], None), run)
    found = []
    for run in runs:
        same = of_trace.get((run["trace"], run.get("seed"))) or of_trace.get((run["trace"], None))
        values = {name: run.get(name) for name in SIZES}
        for name in ("page_bytes", "trace_unique_pages"):
            if values[name] is None and same is not None:
                values[name] = same.get(name)
        frames, page, unique = (
            values[name] for name in ("frames", "page_bytes", "trace_unique_pages")
        )
        if frames and values["cache_bytes"] is None and page:
            values["cache_bytes"] = frames * page
        if frames and values["cache_share"] is None and unique:
            values["cache_share"] = frames / unique
        found.append(values)
    return found


def _lead(runs: Sequence[Row]) -> str:
    counts = {status: sum(run["status"] == status for run in runs) for status in STATUS}
    parts = [counted(counts["done"], "run")]
    parts += [f"{number(counts[s])} {s}" for s in STATUS[1:] if counts[s]]
    for name, (one, several) in DIMENSIONS.items():
        values = {run.get(name) for run in runs}
        if len(values) > 1:
            rest = values - {None, NO_CACHE if name == "cache" else None}
            parts.append(counted(len(rest) or 1, one.lower(), several))
    return " \u00b7 ".join(parts)


def _notices(rows: Sequence[Row], missing: Sequence[Missing], damaged: int) -> Iterable[str]:
    """Notices of damaged parts, missing runs and failures."""
    if damaged:
        yield (
            f"{counted(damaged, 'part')} of the store cannot be read, and the runs in it are"
            " missing: destage sweep --resume makes them again"
        )
    holes: dict[tuple[Any, ...], list[Missing]] = {}
    for run in missing:
        holes.setdefault((run.get("sweep"), run["trace"], run.get("device")), []).append(run)
    for (sweep, trace, device), some in list(holes.items())[:MOST_TOLD]:
        where = f"{trace}, {device}" if device else trace
        labels = list(dict.fromkeys(str(run["label"]) for run in some))
        shown = join(labels) if len(labels) <= 8 else counted(len(labels), "policy", "policies")
        yield f"{sweep}: {counted(len(some), 'run')} missing: {where}: {shown}"
    if len(holes) > MOST_TOLD:
        rest = sum(len(some) for some in list(holes.values())[MOST_TOLD:])
        yield f"{counted(rest, 'more run')} missing elsewhere"
    reasons: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == "failed":
            reasons.setdefault(str(row["reason"]), []).append(row)
    for reason, failed in list(reasons.items())[:MOST_TOLD]:
        labels = list(dict.fromkeys(str(row["label"]) for row in failed))
        yield f"{counted(len(failed), 'run')} failed: {reason} ({join(labels[:8])})"
    if len(reasons) > MOST_TOLD:
        rest = sum(len(failed) for failed in list(reasons.values())[MOST_TOLD:])
        yield f"{counted(rest, 'more run')} failed for other reasons"


def _model(
    runs: Sequence[Row],
    known: Sequence[Mapping[str, Any]],
    metrics: Sequence[Metric],
    labels: Sequence[str],
) -> dict[str, Any]:
    """The data of the page's script."""
    charts = GridCharts(labels, PAGE, page=True)
    # Tests check the charts against Altair's schema: here that would take most of the time.
    with debug_mode(False):
        specs = {name: charts.spec(name) for name in charts.NAMES}
    order = _orders(runs)
    return {
        "runs": len(runs),
        "status": [STATUS.index(run["status"]) for run in runs],
        "dimensions": [
            {"name": name, "title": one, "several": several}
            | _said(name, _coded([_text(run.get(name)) for run in runs], order[name]))
            for name, (one, several) in DIMENSIONS.items()
        ],
        "axes": [
            {"name": axis.name, "title": axis.title, "of": axis.of}
            | {
                k: _said((axis.of or "") if k == "rest" else "", _coded(v, natural_order))
                for k, v in (("column", axis.column), ("rest", axis.rest))
                if v
            }
            for axis in axes_of(runs)
        ],
        "facts": _facts(runs, known),
        "told": {name: _coded([_text(run.get(name)) for run in runs]) for name in TOLD},
        "sizes": {name: _column([some[name] for some in known]) for name in SIZES},
        "numbers": {m.name: _column([run.get(m.name) for run in runs]) for m in metrics},
        "metrics": [
            {
                "name": m.name,
                "title": m.title,
                "kind": m.kind,
                "unit": m.unit,
                "better": m.better,
                "about": m.about,
                "core": m.is_core(any(run.get("device") for run in runs)),
            }
            for m in metrics
        ],
        "looks": [{"offline": label.partition("[")[0] in offline()} for label in labels],
        "pair": usual_pair(metrics),
        "charts": specs,
    }


def _opens(
    runs: Sequence[Row], metrics: Sequence[Metric], across: str | None, *, log_y: bool
) -> dict[str, Any]:
    """The number, the axis and the scale that the page opens on, where those are not usual."""
    opens: dict[str, Any] = {}
    timed = any(run.get("device") for run in runs)
    core = [m for m in metrics if m.is_core(timed)]
    if runs and all(run.get("device") for run in runs):
        # Response times before hits, which decide less in front of a device.
        core.sort(key=lambda m: m.name != MEAN)
    axis = None
    if across not in (None, "cache"):
        axis = axis_named(runs, str(across))
        opens["x"] = axis.name
    elif across is None and not differing(runs, ("cache",)):
        axis = next(iter(axes_of(runs)), None)
    varied = _varied(runs, axis, core)
    return opens | ({"metric": varied.name} if varied else {}) | ({"log": True} if log_y else {})


def _varied(runs: Sequence[Row], axis: Axis | None, metrics: Sequence[Metric]) -> Metric | None:
    """The first of these metrics that varies along an axis, by default cache size."""
    placed = list(runs) if axis is None else along(runs, axis)
    over = "cache" if axis is None else axis.name
    rest = [name for name in DIMENSIONS if name != over]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for run in placed:
        groups.setdefault(tuple(run.get(name) for name in rest), []).append(run)
    for metric in metrics:
        for some in groups.values():
            values = [v for run in some if (v := run.get(metric.name)) is not None]
            if values and max(values) - min(values) > LEAST * max(map(abs, values)):
                return metric
    return None


def _orders(runs: Sequence[Row]) -> dict[str, Any]:
    """How the values of each dimension are sorted."""
    frames = {_text(run["cache"]): run.get("frames") for run in runs}
    return dict.fromkeys(DIMENSIONS, natural_order) | {
        "label": label_order,
        "cache": lambda text: cache_order(text, frames[text]),
        "queue_depth": lambda text: int(text) if text else -1,
        "seed": lambda text: int(text) if text else -1,
    }


def _text(value: Any) -> str:
    return "" if value is None else printable(str(value))


def _said(name: str, coded: dict[str, Any]) -> dict[str, Any]:
    """A column with its words as panels, filters and tables have them."""

    def word(value: str) -> str:
        if name == "seed":
            return f"seed {value or NONE}"
        if name in ("options", "queue_depth", "device"):
            return setting_name({name: value or None}, (name,)).replace(" -", f" {NONE}")
        return value or NONE

    return coded | {"said": [printable(word(value)) for value in coded["values"]]}


def _facts(runs: Sequence[Row], known: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Facts of a run in words, for its detail: a column a fact."""
    columns: list[dict[str, Any]] = []

    def column(title: str, texts: Iterable[str]) -> None:
        columns.append({"title": title} | _coded(list(texts)))

    column("Status", (_status(run) for run in runs))
    column("Parameters", (_parameters(run) for run in runs))
    for name in ("trace", "device", "ftl", "queue_depth", "seed"):
        column(DIMENSIONS[name][0], (_text(run.get(name)) for run in runs))
    given = (setting_name({"options": run.get("options")}, ("options",)) for run in runs)
    column("Options", ("" if text == "no options" else printable(text) for text in given))
    sizes = [size(one["cache_bytes"]) for one in known]
    frames = (counted(one["frames"] or 0, "frame") for one in known)
    cells = zip((_text(run.get("cache")) for run in runs), sizes, frames, strict=True)
    column("Cache", (", ".join(cell) for cell in cells))
    column("Size", sizes)
    column("Trace", (_touched(one) for one in known))
    for title, name in (("Fingerprint", "trace_fingerprint"), ("Warnings", "warnings")):
        column(title, (_text(run.get(name)) for run in runs))
    column("Run", (_text(run.get("id")) for run in runs))
    return columns


def _status(run: Row) -> str:
    reason = _text(run.get("reason"))
    return str(run["status"]) + (f": {reason}" if reason else "")


def _parameters(run: Row) -> str:
    given = json.loads(run.get("params") or "{}")
    pairs = (f"{k} = {v if isinstance(v, str) else json.dumps(v)}" for k, v in given.items())
    return printable(", ".join(pairs))


def _touched(one: Mapping[str, Any]) -> str:
    """Requests, accesses and pages of a run's trace."""
    if not one["trace_unique_pages"]:
        return ""
    requests = counted(one["trace_requests"] or 0, "request")
    accesses = counted(one["trace_accesses"] or 0, "access", "accesses")
    return f"{requests}, {accesses} to {counted(one['trace_unique_pages'], 'page')}"


def _coded(texts: Sequence[str], order: Any = None) -> dict[str, Any]:
    """A column of words: each word once, and which one a run has."""
    values = sorted(set(texts), key=order)
    place = {text: k for k, text in enumerate(values)}
    return {"values": values, "at": 0 if len(values) == 1 else [place[text] for text in texts]}


def _column(values: Sequence[Any]) -> Any:
    """A column of numbers; a single one if all are alike."""
    if values and all(type(v) is type(values[0]) and v == values[0] for v in values):
        return values[0]
    return list(values)


def _table(
    runs: Sequence[Row], known: Sequence[Mapping[str, Any]], metrics: Sequence[Metric]
) -> dict[str, Any]:
    """The runs for where no script is allowed: what they differ in, and the usual numbers."""
    names = [n for n in DIMENSIONS if n == "label" or len({run.get(n) for run in runs}) > 1]
    timed = any(run.get("device") for run in runs)
    shown = [m for m in metrics if m.is_core(timed)]
    units = {m.name: time_unit(r.get(m.name) for r in runs) for m in shown if m.kind == "time"}
    heads = [DIMENSIONS[name][0] for name in names] + ["Size"]
    for metric in shown:
        unit = units[metric.name].name if metric.name in units else metric.shown_unit
        heads.append(f"{metric.title} ({unit})" if unit else metric.title)
    body = []
    for run, some in zip(runs, known, strict=True):
        cells = [_text(run.get(name)) or NONE for name in names] + [size(some["cache_bytes"])]
        if run["status"] == "done":
            cells += [cell(m, run.get(m.name), units.get(m.name)) for m in shown]
        else:
            told = run["status"] + (f": {run['reason']}" if run.get("reason") else "")
            cells += [printable(told), *("" for _ in shown[1:])]
        body.append(cells)
    return {"heads": heads, "rows": body}
