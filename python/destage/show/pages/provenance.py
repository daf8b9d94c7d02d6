"""How a result was made: all that one needs to make it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from destage.model.results import ResultSet
from destage.model.run import Run, measured_text
from destage.model.words import duration, join, number, plain_value, printable, size
from destage.show.pages.blocks import Part, details, fact, pairs, section

__all__ = ["configuration", "made"]


def configuration(result: ResultSet) -> Part | None:
    """Version, trace, options of the run, reader options, and parameters after defaults."""
    options = list(_flat(result.trace.options))
    params = [_parameters(run) for run in _one_run_a_policy(result)]
    given = details("Reader options", pairs("made", options)) if options else None
    title = "Parameters of the policies, after defaults"
    used = details(title, pairs("made", params)) if params else None
    return section("Configuration", made(result), given, used)


def made(result: ResultSet) -> Part | None:
    """Version, trace and options of the run."""
    trace = result.trace
    schema = f"{result.source['schema']} {result.source['schema_version']}"
    facts = [
        _pair("Destage", result.source.get("version", "unknown"), mono=True),
        _pair("Result schema", schema, mono=True),
        _pair("Trace", join([printable(s) for s in trace.sources]) or "unknown", mono=True),
        _pair("Fingerprint", trace.fingerprint, mono=True),
        _pair("Format", trace.format),
        _pair("Page size", size(trace.page_bytes)),
    ]
    return pairs("made", facts + _run_options(result))


def _pair(title: str, value: object, *, mono: bool | str = False) -> Part:
    return fact(title, printable(value), mono=mono)


def _run_options(result: ResultSet) -> list[Part]:
    """Options that hold for the runs; where they differ, each with its policies, or its sizes."""
    found = []
    for title, read in _RUN_OPTIONS.items():
        whose: dict[str, dict[str, None]] = {}
        sizes: dict[str, dict[str, None]] = {}
        for run in result.runs:
            whose.setdefault(read(run), {})[run.label] = None
            sizes.setdefault(read(run), {})[run.cache] = None
        by_size = len({tuple(labels) for labels in whose.values()}) < len(whose)
        whose = sizes if by_size else whose
        if len(whose) == 1:
            found.append(_pair(title, next(iter(whose))))
        elif whose:
            texts = [f"{text} ({join(list(those))})" for text, those in whose.items()]
            found.append(_pair(title, "; ".join(texts)))
    return found


def _warmup(warmup: object, requests: object) -> str:
    counted = f", {number(requests)} requests" if isinstance(requests, int) and requests else ""
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
    spans = [
        {"text": printable(f"{k}={_value(v)}"), "given": k in given} for k, v in run.params.items()
    ]
    return fact(run.label, "", mono=True, spans=spans)


def _flat(options: Mapping[str, Any], before: str = "") -> list[Part]:
    """Nested options as `reader.format`; those that were left alone are not options."""
    found = []
    for key, value in options.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{before}{key}.")
        elif value is not None and value != []:
            found.append(_pair(f"{before}{printable(key)}", _value(value), mono="both"))
    return found


def _value(value: object) -> str:
    return ", ".join(map(_value, value)) if isinstance(value, list) else plain_value(value)
