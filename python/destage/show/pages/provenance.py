"""How a result was made: all that one needs to make it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from destage.model.results import ResultSet
from destage.model.run import Run, measured_text
from destage.model.words import duration, join, number, plain_value, printable, size

__all__ = ["made"]

Pair = dict[str, Any]


def made(result: ResultSet) -> dict[str, Any]:
    """Version, trace, options of the run, reader options, and parameters after defaults."""
    trace = result.trace
    facts = [
        _pair("Destage", result.source.get("version", "unknown"), mono=True),
        _pair(
            "Result schema",
            f"{result.source['schema']} {result.source['schema_version']}",
            mono=True,
        ),
        _pair(
            "Trace",
            join([printable(s) for s in trace.sources]) or "unknown",
            mono=True,
        ),
        _pair("Fingerprint", trace.fingerprint, mono=True),
        _pair("Format", trace.format),
        _pair("Page size", size(trace.page_bytes)),
    ]
    facts += _run_options(result)
    params = [_parameters(run) for run in _one_run_a_policy(result)]
    return {
        "facts": facts,
        "options": list(_flat(trace.options)),
        "params": params,
    }


def _pair(title: str, value: object, *, mono: bool = False) -> Pair:
    return {"title": title, "value": printable(value), "mono": mono}


def _run_options(result: ResultSet) -> list[Pair]:
    """Options that hold for the runs; where they differ, each with its policies."""
    pairs = []
    for title, read in _RUN_OPTIONS.items():
        whose: dict[str, dict[str, None]] = {}
        for run in result.runs:
            whose.setdefault(read(run), {})[run.label] = None
        if len(whose) == 1:
            pairs.append(_pair(title, next(iter(whose))))
        elif whose:
            texts = [f"{text} ({join(list(labels))})" for text, labels in whose.items()]
            pairs.append(_pair(title, "; ".join(texts)))
    return pairs


def _warmup(warmup: object, requests: object) -> str:
    counted = f" ({number(requests)} requests)" if isinstance(requests, int) and requests else ""
    if isinstance(warmup, Mapping) and len(warmup) == 1:
        kind, value = next(iter(warmup.items()))
        if kind == "percent":
            return f"{value} % of the requests{counted}"
        if kind == "requests":
            return f"{number(value)} requests"
        if kind == "nanos":
            return f"{duration(value)}{counted}"
        if kind == "auto":
            return f"auto: until the caches are full{counted}"
    if warmup == "full":
        return f"until the cache is full{counted}"
    return "none" if warmup in (None, "none") else str(warmup)


def _cost(cost: object) -> str:
    if not isinstance(cost, Mapping):
        return "none given"
    return f"read={cost.get('read')},write={cost.get('write')}"


def _choice(key: str, yes: str, no: str) -> Callable[[Run], str]:
    return lambda run: yes if run.config.get(key) else no


#: What a run was asked to do, in words.
_RUN_OPTIONS: dict[str, Callable[[Run], str]] = {
    "Warm-up": lambda run: _warmup(run.config.get("warmup"), run.warmup_requests),
    "Measured": measured_text,
    "Cost": lambda run: _cost(run.config.get("cost")),
    "Write miss": _choice(
        "fetch_on_write_miss", "reads the page from flash first", "reads nothing"
    ),
    "At the end": _choice("flush_at_end", "dirty pages are flushed", "dirty pages stay"),
    "Checks": _choice("check", "invariants at every access", "none"),
}


def _one_run_a_policy(result: ResultSet) -> list[Run]:
    first: dict[str, Run] = {}
    for run in result.runs:
        first.setdefault(run.label, run)
    return list(first.values())


def _parameters(run: Run) -> dict[str, Any]:
    given = run.config.get("given") or {}
    pairs = [
        {"text": printable(f"{k}={_value(v)}"), "given": k in given} for k, v in run.params.items()
    ]
    return {"title": run.label, "pairs": pairs}


def _flat(options: Mapping[str, Any], before: str = "") -> list[Pair]:
    """Nested options as `reader.format`; those that were left alone are not options."""
    pairs = []
    for key, value in options.items():
        if isinstance(value, Mapping):
            pairs += _flat(value, f"{before}{key}.")
        elif value is not None and value != []:
            pairs.append(_pair(f"{before}{printable(key)}", _value(value), mono=True))
    return pairs


def _value(value: object) -> str:
    return ", ".join(map(_value, value)) if isinstance(value, list) else plain_value(value)
