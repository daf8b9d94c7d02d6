"""The runs of a store by column: numbers and words, as the page's script draws and saves them.

A column travels as its different values, each with its words, and the place of each run's value
among them in letters: that takes less room than a number for each run.
"""

from __future__ import annotations

import json
import math
import string
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from destage.model.metrics import Metric
from destage.model.settings import DIMENSIONS, cache_order, label_order, natural_order, setting_name
from destage.model.values import cell
from destage.model.words import (
    NBSP,
    NONE,
    TimeUnit,
    byte_unit,
    column_unit,
    counted,
    printable,
    ratio,
    size,
)
from destage.show.pages.blocks import Part

__all__ = ["FACTS", "LETTERS", "Column", "columns_of", "described", "named_column", "orders_of"]

#: Status of a run; a missing one was planned and has no row.
STATUS = ("done", "failed", "missing")
#: Columns of a run that its detail shows beside the numbers.
TOLD = ("id", "params", "reason", "warnings", "warmup", "placement", "trace_fingerprint")
#: Numbers of a run that are no metrics.
SIZES = (
    *("frames", "cache_bytes", "cache_share", "page_bytes", "warmup_requests"),
    *("trace_requests", "trace_accesses", "trace_unique_pages"),
)
#: Digits of the places in columns.
LETTERS = string.ascii_letters + string.digits + "-_"
#: Facts of a run in its detail: their titles, and the columns whose words they are.
FACTS = (
    *(("Status", "why"), ("Parameters", "given")),
    *((DIMENSIONS[name][0], name) for name in ("trace", "device", "ftl", "queue_depth", "seed")),
    *(("Options", "set"), ("Cache", "memory"), ("Trace", "touched")),
    *(("Fingerprint", "trace_fingerprint"), ("Warnings", "warnings"), ("Run", "id")),
)
Row = Mapping[str, Any]


class Column:
    """A value of each run, with its words."""

    def __init__(
        self, given: Sequence[Any], order: Any = None, word: Callable[[Any], str] | None = None
    ) -> None:
        """Take the values; numbers have no `order`, and come behind their absence."""
        self.given = given
        self.values = sorted(set(given), key=order or _least)
        self.plain = [NONE if value is None else str(value) for value in self.values]
        self.said = [printable(word(value)) for value in self.values] if word else self.plain

    def words(self) -> list[str]:
        """The words of each run."""
        places = dict(zip(self.values, self.said, strict=True))
        return [places[value] for value in self.given]

    def packed(self) -> Part:
        """The column as it travels; words that are the values as they stand are left out."""
        width = next(w for w in range(5) if len(LETTERS) ** w >= len(self.values))
        letters = map("".join, product(LETTERS, repeat=width))
        places = dict(zip(self.values, letters, strict=False))
        said = {} if self.said == self.plain else {"said": self.said}
        return {"values": self.values, "at": "".join([places[v] for v in self.given])} | said


def _least(value: float | None) -> float:
    return -math.inf if value is None else value


def columns_of(
    runs: Sequence[Row], known: Sequence[Mapping[str, Any]], metrics: Sequence[Metric]
) -> dict[str, Column]:
    """The columns of runs of `known` sizes: those of the CSV in its order, then words of facts."""

    def texts(name: str) -> list[str]:
        return [text_of(run.get(name)) for run in runs]

    words: Mapping[str, Callable[[Any], str]] = {"cache_bytes": size, "cache_share": ratio}
    columns = {"status": Column([run["status"] for run in runs], STATUS.index)}
    columns |= {name: Column(texts(name), str) for name in TOLD}
    columns |= {n: named_column(n, texts(n), order) for n, order in orders_of(runs).items()}
    columns |= {n: Column([one[n] for one in known], None, words.get(n)) for n in SIZES}
    for metric in metrics:
        values = [run.get(metric.name) for run in runs]
        word = partial(cell, metric, unit=_unit(metric, values))
        columns[metric.name] = Column(values, None, word)
    return columns | {name: Column(words, str) for name, words in _facts(runs, known).items()}


def _unit(metric: Metric, values: Sequence[float | None]) -> TimeUnit | None:
    """The unit that numbers of a metric share on the page, if it is not the metric's own."""
    if metric.kind == "time":
        return column_unit(values)
    return byte_unit(values) if (metric.kind, metric.unit) == ("real", "bytes") else None


def described(
    metrics: Sequence[Metric], columns: Mapping[str, Column], *, timed: bool
) -> list[Part]:
    """How the page names each metric; `tail` ends its words, `unit` and `length` are of means."""
    found = []
    for m in metrics:
        unit = _unit(m, columns[m.name].given)
        length = unit.ns if unit else 0.01 if m.kind == "ratio" else 1
        one: Part = {"name": m.name, "title": m.title, "kind": m.kind, "better": m.better}
        one |= {"about": m.about, "core": m.is_core(timed), "length": length}
        found.append(one | {"unit": unit.name if unit else m.shown_unit})
    # What a run costs in memory is weighed like what it measures.
    sizes = sorted(v for v in columns["cache_bytes"].given if v) or [1]
    unit_name = size(sizes[len(sizes) // 2]).rpartition(NBSP)[2]
    length = next(1024**k for k in range(7) if size(1024**k).endswith(f"1{NBSP}{unit_name}"))
    share: Part = {"better": "lower", "core": None, "kind": "ratio", "length": 0.01, "unit": "%"}
    share |= {"name": "cache_share", "title": "Cache, of the trace\u2019s pages"}
    share |= {"about": "cache size over the pages that the trace uses"}
    memory = {"name": "cache_bytes", "title": "Cache size", "kind": "size", "length": length}
    memory |= {"about": "bytes of cache", "unit": unit_name, "tail": ""}
    return [*found, share | memory, share]


def orders_of(runs: Sequence[Row]) -> dict[str, Any]:
    """How the values of each dimension are sorted."""
    frames = {text_of(run["cache"]): run.get("frames") for run in runs}
    return dict.fromkeys(DIMENSIONS, natural_order) | {
        "label": label_order,
        "cache": lambda text: cache_order(text, frames[text]),
        "queue_depth": lambda text: int(text) if text else -1,
        "seed": lambda text: int(text) if text else -1,
    }


def text_of(value: Any) -> str:
    """A value of a run as text; none is empty."""
    return "" if value is None else printable(str(value))


def named_column(name: str | None, values: Sequence[str], order: Any = natural_order) -> Column:
    """A column with its words as panels, filters and tables have them."""

    def word(value: str) -> str:
        if name == "seed":
            return f"seed {value or NONE}"
        if name in ("options", "queue_depth", "device"):
            return setting_name({name: value or None}, (name,)).replace(" -", f" {NONE}")
        return value or NONE

    return Column(values, order, word)


def _facts(runs: Sequence[Row], known: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The words of facts that are no column of a run as they stand."""
    options = [setting_name({"options": run.get("options")}, ("options",)) for run in runs]
    memory = [
        (text_of(run.get("cache")), size(one["cache_bytes"]), counted(one["frames"] or 0, "frame"))
        for run, one in zip(runs, known, strict=True)
    ]
    return {
        "why": [_status(run) for run in runs],
        "given": [_parameters(run) for run in runs],
        "set": ["" if text == "no options" else printable(text) for text in options],
        "memory": [", ".join(words) for words in memory],
        "touched": [_touched(one) for one in known],
    }


def _status(run: Row) -> str:
    reason = text_of(run.get("reason"))
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
