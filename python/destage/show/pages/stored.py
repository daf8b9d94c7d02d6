"""The page of a store: thousands of runs that a reader filters, in one file.

The rows travel by column, each number with its words. The page's script filters them, takes the
means of those that are left, and gives these to `charts.comparison_grid`: a press of a key redraws
hundreds of marks and not thousands. Runs that failed, are missing or have no such number stay in
sight: they are counted, and drawn as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from altair.utils.schemapi import debug_mode

from destage import _destage
from destage.model.axes import axes_of, is_number
from destage.model.metrics import NO_CACHE, Metric, offline
from destage.model.settings import DIMENSIONS, at_every_size, known_metrics
from destage.model.words import counted, join, number, printable
from destage.show.charts.comparison_grid import GridCharts
from destage.show.charts.theme import PAGE
from destage.show.pages.blocks import Part, article, grid, head
from destage.show.pages.choices import Choices, opens_on
from destage.show.pages.columns import (
    FACTS,
    LETTERS,
    SIZES,
    STATUS,
    Column,
    columns_of,
    described,
    named_column,
    orders_of,
    text_of,
)
from destage.show.pages.layout import page_of

__all__ = ["Missing", "stored_page"]

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
    order = orders_of(runs)
    runs.sort(key=lambda run: [order[name](text_of(run.get(name))) for name in DIMENSIONS])
    level = at_every_size(runs)
    metrics, axes = known_metrics(rows), axes_of(runs)
    # Runs behind the others are drawn only: without a cache, at the sizes of the others.
    every = [*runs, *(run for _, run in level)]
    columns = columns_of(every, _sized(every), metrics)
    opens = opens_on(runs, columns["cache"].values, metrics, across) | {"log": log_y}
    choices = Choices(columns, metrics, axes, opens)
    model = _model(every, metrics, columns) | {"real": len(runs), "opens": opens}
    model |= {"level": [number for number, _ in level]}
    model |= {"file": re.sub(r"[^\w.-]+", "-", title).strip("-") or "store"}
    notices = [printable(line) for line in _notices(rows, missing, damaged)]
    return page_of(
        [article("store", printable(title), choices.sections(), warnings=notices)],
        model,
        eyebrow="Destage, a store of results",
        title=title,
        lead=_lead(runs),
        version=_destage.VERSION,
        command=command,
        choice=choices.filters(),
        bare=_table(columns, model["metrics"], len(runs)),
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
    if rest := sum(map(len, list(holes.values())[MOST_TOLD:])):
        yield f"{counted(rest, 'more run')} missing elsewhere"
    reasons: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == "failed":
            reasons.setdefault(str(row["reason"]), []).append(row)
    for reason, failed in list(reasons.items())[:MOST_TOLD]:
        labels = list(dict.fromkeys(str(row["label"]) for row in failed))
        yield f"{counted(len(failed), 'run')} failed: {reason} ({join(labels[:8])})"
    if rest := sum(map(len, list(reasons.values())[MOST_TOLD:])):
        yield f"{counted(rest, 'more run')} failed for other reasons"


def _model(
    runs: Sequence[Row], metrics: Sequence[Metric], columns: dict[str, Column]
) -> dict[str, Any]:
    """The data of the page's script."""
    labels = columns["label"].values
    charts = GridCharts(labels, PAGE, page=True)
    # Tests check the charts against Altair's schema: here that would take most of the time.
    with debug_mode(False):
        specs = {name: charts.spec(name) for name in charts.NAMES}
    every, axes = dict(columns), []
    for axis in axes_of(runs):
        if axis.column:
            every[axis.name] = named_column("", axis.column)
        if axis.rest:
            every[f"{axis.name} rest"] = named_column(axis.of, axis.rest)
        numeric = all(is_number(v) for v in every[axis.name].values if v)
        axes.append({"name": axis.name, "title": axis.title, "numeric": numeric})
        axes[-1] |= {"of": axis.of if axis.rest else None}
    return {
        "runs": len(runs),
        "letters": LETTERS,
        "axes": axes,
        "charts": specs,
        "facts": FACTS,
        "columns": {name: column.packed() for name, column in every.items()},
        "csv": list(columns).index("why"),
        "titles": {name: one for name, (one, _) in DIMENSIONS.items()},
        "metrics": described(metrics, columns, timed=any(columns["device"].values)),
        "offline": [label.partition("[")[0] in offline() for label in labels],
    }


def _table(columns: Mapping[str, Column], metrics: Sequence[Part], count: int) -> Part:
    """The runs for where no script is allowed: what they differ in, and the usual numbers."""
    names = [n for n in DIMENSIONS if n == "label" or len(columns[n].values) > 1]
    shown = [m for m in metrics if m["core"]]
    heads = [*(head(DIMENSIONS[name][0]) for name in names), head("Size")]
    heads += [head(m["title"], note=m["unit"]) for m in shown]
    names = ["status", "why", *names, "cache_bytes", *(m["name"] for m in shown)]
    body = []
    for status, why, *cells in islice(
        zip(*(columns[n].words() for n in names), strict=True), count
    ):
        lost = [*cells[: len(cells) - len(shown)], why, *[""] * (len(shown) - 1)]
        body.append(cells if status == "done" else lost)
    return grid(heads, body, plain=True)
