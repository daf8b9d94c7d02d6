"""Rows of a store: a run as numbers under fixed names.

Nothing in a row differs between two ways of making it: no time of a clock, host, process, path.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from destage.experiment.policies import PolicyAsked
from destage.experiment.task import Key, Size, Task
from destage.model import words
from destage.model.columns import CONTEXT, RECORD, stored_kinds
from destage.model.rows import Row
from destage.model.run import Run
from destage.model.settings import DIMENSIONS, natural_order

__all__ = [
    "DONE",
    "FAILED",
    "MISSING",
    "answer_rows",
    "columns_of",
    "failed_row",
    "key_of_row",
    "options_of",
    "order_of",
    "row_of",
    "distinguished",
]

#: What readings of a trace may differ in, and how its name says so.
_READINGS: Mapping[str, Callable[[Any], str]] = {
    "page_bytes": lambda page_bytes: f"page_size={words.size(page_bytes).replace(words.NBSP, '')}",
    "trace_requests": lambda requests: f"requests={requests}",
}

#: Status of a run; a missing one was planned, and has no row in a store.
DONE, FAILED, MISSING = "done", "failed", "missing"


def row_of(task: Task, policy: PolicyAsked, size: Size, run: Run, made: Mapping[str, Any]) -> Row:
    """The row of a run; `made` is the result set that it is in."""
    row: Row = {**run.to_dict(), **_asked(task, policy, size), "status": DONE, "reason": None}
    row["params"] = json.dumps(run.params, sort_keys=True)
    whole = made["runs"][run.place]
    if policy.file is not None:
        # A result says where the file is; a row, what it was called.
        config = {**whole["config"], "policy": policy.name}
        whole = {**whole, "label": policy.label, "config": config}
    row[RECORD] = _nowhere(json.dumps(whole, separators=(",", ":")), task, policy, made)
    context = {key: value for key, value in made.items() if key not in ("runs", "differences")}
    text = json.dumps(context, separators=(",", ":"), sort_keys=True)
    row[CONTEXT] = _nowhere(text, task, policy, made)
    row["warnings"] = _nowhere(str(row["warnings"]), task, policy, made)
    return row


def answer_rows(task: Task, answer: Mapping[str, Any]) -> list[Row]:
    """The rows of a question's answer, of which the first has all of it."""
    assert task.question is not None
    known = task.question.rows(task, answer)
    blank: Row = {
        **dict.fromkeys(stored_kinds()),
        **_of_trace(task),
        "status": DONE,
        "warnings": "",
    }
    rows: list[Row] = []
    for policy, size in task.every():
        row = blank | {"params": policy.params} | _sized(task, size)
        rows.append(
            {**row, **known.get((policy.label, size.given), {}), **_asked(task, policy, size)}
        )
    rows[0][CONTEXT] = json.dumps(answer, separators=(",", ":"))
    return rows


def _nowhere(
    text: str, task: Task, policy: PolicyAsked, made: Mapping[str, Any] | None = None
) -> str:
    """A text without the folders that files were in: those differ from machine to machine."""
    files = [*task.trace.paths, *map(str, task.trace.known["sources"])]
    # A decoded trace that was kept says where its file was when it was decoded.
    read = (made or {}).get("reading") or {}
    files += [str(file["name"]) for file in read.get("files") or () if "name" in file]
    files += [policy.file] if policy.file is not None else []
    for path in sorted(files, key=len, reverse=True):
        for said in (json.dumps(path)[1:-1], path):
            text = text.replace(said, os.path.basename(said) or said)
    return text


def failed_row(task: Task, policy: PolicyAsked, size: Size, reason: str) -> Row:
    """The row of a run that failed."""
    return {
        **dict.fromkeys(stored_kinds()),
        **_asked(task, policy, size),
        **_of_trace(task),
        "status": FAILED,
        "reason": _nowhere(reason, task, policy),
        "params": policy.params,
        **_sized(task, size),
        "placement": None if task.drive is None else task.drive.placement,
        "warnings": "",
    }


def _sized(task: Task, size: Size) -> Row:
    frames = size.row["frames"]
    return {
        "frames": frames,
        "cache_bytes": None if frames is None else frames * task.trace.page_bytes,
    }


def _of_trace(task: Task) -> Row:
    known = task.trace.known
    return {
        "page_bytes": task.trace.page_bytes,
        "trace_requests": known["requests"],
        "trace_accesses": known["accesses"],
        "trace_unique_pages": known["unique_pages"],
        "trace_fingerprint": task.trace.fingerprint,
    }


def _asked(task: Task, policy: PolicyAsked, size: Size) -> Row:
    """Label of a run as it was requested: results may have it with paths."""
    return {
        "id": task.id_of(policy, size.frames),
        "trace": task.trace_name,
        "device": task.device,
        "ftl": task.ftl,
        "queue_depth": task.queue_depth,
        "policy": policy.name,
        "label": task.label_of(policy),
        "cache": size.given,
        "seed": task.seed,
        "options": task.row_options,
    }


def options_of(row: Mapping[str, Any]) -> str:
    """Run options of a result in the form that a store has them in."""
    given: dict[str, Any] = {}
    if row["warmup"] != "none":
        given["warmup"] = row["warmup"]
    for key in ("fetch_on_write_miss", "flush_at_end"):
        if row[key]:
            given[key] = True
    if row["cost_read"] is not None:
        given["cost"] = f"read={row['cost_read']},write={row['cost_write']}"
    return json.dumps(given, sort_keys=True)


def key_of_row(row: Mapping[str, Any]) -> Key:
    """How a store knows the run."""
    return (row["id"], row["trace"], row["device"] or "", row["label"], row["cache"])


def distinguished(rows: Iterable[Row]) -> list[Row]:
    """The rows; where two differ in nothing but how one trace was read, its name says how.

    By its page size and requests, or else by its fingerprint.
    """
    rows = list(rows)
    alike: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        if row["trace_fingerprint"]:
            readings = alike.setdefault(tuple(row[name] for name in DIMENSIONS), {})
            readings[row["trace_fingerprint"]] = row
    clashes: dict[str, list[dict[str, Row]]] = {}
    for readings in alike.values():
        if len(readings) > 1:
            clashes.setdefault(next(iter(readings.values()))["trace"], []).append(readings)

    def named(row: Row) -> Row:
        each = [list(readings.values()) for readings in clashes[row["trace"]]]
        names = [n for n in _READINGS if any(len({r[n] for r in some}) > 1 for some in each)]
        words = [_READINGS[name](row[name]) for name in names]
        if any(len({tuple(r[n] for n in names) for r in some}) < len(some) for some in each):
            words = [row["trace_fingerprint"][:8]]
        return {**row, "trace": " ".join([row["trace"], *words])}

    return [named(row) if row["trace"] in clashes else row for row in rows]


def order_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Sort key of rows: neither the machine nor the time is part of it."""
    return (
        str(row.get("trace") or ""),
        # `op_permille=70` comes before `op_permille=280`.
        natural_order(str(row.get("device") or "")),
        str(row.get("ftl") or ""),
        row.get("queue_depth") or 0,
        natural_order(str(row.get("options") or "")),
        str(row.get("label") or ""),
        row.get("frames") or 0,
        str(row.get("cache") or ""),
        -1 if row.get("seed") is None else row["seed"],
        row["id"],
    )


def columns_of(rows: Sequence[Row], names: Iterable[str] | None = None) -> dict[str, list[Any]]:
    """Rows by column, in the order of `kinds`; columns that only some have come last."""
    if names is None:
        known = stored_kinds()
        others = sorted({name for row in rows for name in row} - set(known))
        names = [*known, *others]
    return {name: [row.get(name) for row in rows] for name in names}
