"""The report of an evaluation as data: the contents of its HTML, Markdown and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import to_builtins

from destage import _destage
from destage.reproduce.claims import RunSet
from destage.reproduce.evaluation import SEED_STEPS, Evaluation, Options, Swing, seeds_of
from destage.reproduce.figures import Drawing
from destage.reproduce.load import Load
from destage.reproduce.looking import STATUSES, Judgement
from destage.reproduce.sums import Sums, sums
from destage.reproduce.told import axes_of
from destage.reproduce.verdicts import UNTESTED, Verdict
from destage.reproduce.wording import (
    brief,
    cases_in_words,
    expected,
    is_share,
    load_words,
    measured,
    number,
)
from destage.reproduce.workloads import label_of

__all__ = ["SCHEMA", "command", "document"]

#: Version of the JSON.
SCHEMA = 5

_FIT_TITLES = {
    "requests": "requests",
    "accesses": "page accesses",
    "write_ratio": "write ratio",
    "mean_kib": "mean size (KiB)",
    "unique_pages": "different pages",
    "seconds": "length (s)",
    "requests_per_s": "requests/s",
    "sequential_share": "sequential share",
    "zipf_skew": "skew (Zipf)",
}
#: Numbers of every run in the JSON, beside claims and figures.
_ALWAYS = (
    *("accesses", "requests", "hit_ratio", "physical_reads", "physical_writes"),
    *("response_ns_mean", "erases", "gc_moves", "makespan_ns"),
)
_OF_HEAD = (
    *("name", "title", "cite", "question", "idea", "abstract", "main", "figure", "minutes"),
    "differs",
)
_OF_RUNS = (
    *("cost", "fetch_on_write_miss", "warmup", "intensity", "channels", "busiest", "cache_whole"),
    "recordings_queue_depth",
)


def command(name: str, options: Options) -> str:
    """Return the command that makes a report again."""
    parts = ["destage", "reproduce", name]
    for flag, numbers in (("--figure", options.figures), ("--table", options.tables)):
        for number_ in numbers:
            parts += [flag, str(number_)]
    parts += ["--scale", f"{options.scale:g}"] if options.scale != 1 else []
    parts += ["--seed", str(options.seed)] if options.seed != 1 else []
    if options.auto_seeds:
        parts += ["--seeds", "auto"]
    elif options.seeds != seeds_of(options.scale, None):
        parts += ["--seeds", str(options.seeds)]
    parts += ["--traces", "DIR"] if options.traces else []
    parts += ["--recordings", "DIR"] if options.recordings else []
    parts += [] if options.sensitivity else ["--no-sensitivity"]
    return " ".join(parts)


def document(evaluation: Evaluation) -> dict[str, Any]:
    """Return everything about an evaluation, for machines and for the pages."""
    paper, options = evaluation.paper, evaluation.options
    head = to_builtins(paper.head)
    found = {
        "schema": SCHEMA,
        "version": _destage.VERSION,
        "command": command(paper.name, options),
        "paper": {key: head[key] for key in _OF_HEAD},
        "options": {
            "scale": options.scale,
            "seed": options.seed,
            "seeds": options.seeds,
            "originals": any(load.kind == "original" for load in evaluation.loads),
        },
        "smallest_cache": _smallest_cache(evaluation),
        "channels": list(_channels(evaluation)),
        "summary": evaluation.counts(),
        "restates": sum(v.restates for v in evaluation.verdicts),
        "summary_open": evaluation.open(),
        "summary_elsewhere": evaluation.counts_elsewhere(),
        "claims": [_claim(v, evaluation.faithful.get(v.claim.id)) for v in evaluation.verdicts],
        "faithful": list(paper.faithful.readings) if evaluation.faithful and paper.faithful else [],
        "figures": [_figure(d, sums(d, evaluation.verdicts)) for d in evaluation.drawings],
        "policies": dict(paper.policies),
        "runs": [_runs(evaluation, runs) for runs in paper.runs],
        "loads": [_load(evaluation, load) for load in evaluation.loads],
        "failed": list(evaluation.failed),
        "rows": list(_rows(evaluation)),
        "sensitivity": {
            "scale": evaluation.sensitivity_scale,
            "seeds": min(options.seeds, SEED_STEPS[0]),
            "specified_share": paper.head.sensitivity_scale,
            "loads": head["sensitivity_loads"],
            "knobs": [_swing(s) for s in evaluation.swings],
        },
    }
    data: dict[str, Any] = _finite(found)
    return data


def _finite(data: Any) -> Any:
    """The data without infinity, which JSON has not."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _claim(v: Verdict, faithful: Verdict | None) -> dict[str, Any]:
    return {
        "id": v.claim.id,
        "where": v.claim.where,
        "claim": v.claim.says,
        "brief": brief(v.claim.says),
        "restates": v.restates,
        "headline": v.claim.headline,
        "kind": v.claim.check.kind,
        "metric": v.claim.check.metric or None,
        "expected": expected(v.claim, v.cases),
        "paper": v.claim.paper,
        **(_on_pages(v) if v.claim.text else {}),
        **_judgement(v, v.own),
        "elsewhere": _judgement(v, v.elsewhere) if v.elsewhere else None,
        "faithful": _judgement(v, faithful.own) if faithful else None,
    }


def _on_pages(v: Verdict) -> dict[str, Any]:
    """The sentence of our pages, and what fills its places."""
    check, form = v.claim.check, str(v.claim.check.form)
    if form == "value":
        form = "percent" if is_share(check) else "ns" if "_ns_" in check.metric else "value"
    return {
        "text": v.claim.text,
        "pages": list(v.claim.pages),
        "form": form,
        "by_axis": axes_of(v.cases),
    }


def _judgement(v: Verdict, found: Judgement) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "measured": measured(v.claim, found) if found.verdict != UNTESTED else "-",
        "cases_met": found.met,
        "cases_all": len(found.cases),
        "cases_open": found.open,
        "statuses": {s: n for s in STATUSES if (n := sum(c.status == s for c in found.cases))},
        "which": cases_in_words(v.claim, found),
        "condition": found.supposed or None,
        "saturated": found.saturated or None,
        "coarse": found.coarse or None,
        "loads": load_words(found),
        "cases": [
            {
                "case": case.label,
                "status": case.status,
                "expected": case.expected,
                "mean": case.measured and case.measured.mean,
                "low": case.measured and case.measured.low,
                "high": case.measured and case.measured.high,
                "seeds": case.measured and case.measured.count,
                "note": case.note,
            }
            for case in found.cases
        ],
    }


def _figure(drawn: Drawing, found: Sums) -> dict[str, Any]:
    names = ("id", "where", "title", "mark", "x", "x_title", "y_title", "note")
    return {
        **{name: getattr(drawn.figure, name) for name in names},
        "relative_to": drawn.figure.relative,
        **_shown_on(drawn),
        "claims": [v.claim.id for v in found.verdicts],
        "verdicts": found.counts(),
        "told": found.told,
        "panels": {
            name: {"verdict": p.verdict, "cases_met": p.met, "cases_all": p.cases}
            for name, p in found.panels.items()
        },
        "printed": to_builtins(found.printed),
        "printed_in_table": any(p.printed is not None for p in drawn.points),
        "points": to_builtins(drawn.points),
    }


def _shown_on(drawn: Drawing) -> dict[str, Any]:
    """Our pages that show a figure as a table."""
    pages = list(drawn.figure.pages)
    return {"pages": pages, "percent": drawn.percent} if pages else {}


def _runs(evaluation: Evaluation, runs: RunSet) -> dict[str, Any]:
    rows, given = evaluation.sets[runs.id], to_builtins(runs)
    # Waiting times mean something only beside the load of the units.
    busy = [r.numbers["utilisation_mean"] for r in rows.rows if "utilisation_mean" in r.numbers]
    return {
        **{name: given[name] for name in ("id", "devices", "ftls", "policies", "cache")},
        "loads": [load.name for load in rows.loads],
        **{name: given[name] for name in _OF_RUNS},
        "utilisation": f"{number(min(busy), True)} to {number(max(busy), True)}" if busy else None,
        "drives": {label: dict(drive.record) for label, drive in rows.drives.items()},
    }


def _smallest_cache(evaluation: Evaluation) -> dict[str, float] | None:
    """The smallest cache in front of a device, in pages and in the device's erase blocks."""
    found = [
        (row.numbers["frames"], rows.drives[row.device].record["device"]["pages_per_block"])
        for rows in evaluation.sets.values()
        for row in rows.rows
        if row.device in rows.drives and row.policy != "none"
    ]
    if not found:
        return None
    pages, block = min(found)
    return {"pages": pages, "blocks": round(pages / block, 1)}


def _channels(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Published and measured imbalance of the channels, by workload and device."""
    found: dict[tuple[str, str, float], list[float]] = {}
    for runs in evaluation.paper.runs:
        if runs.channels != "published" or runs.busiest or runs.intensity != 1:
            continue
        rows = evaluation.sets[runs.id]
        specs = {load.name: load.spec for load in rows.loads if load.kind == "surrogate"}
        for row in rows.rows:
            spec, value = specs.get(row.workload), row.numbers.get("max_deviation_reads")
            if row.policy == "none" and spec and value is not None and row.device in rows.drives:
                label = label_of(rows.drives[row.device])
                if label in spec.deviation:
                    key = (row.workload, row.device, spec.deviation[label])
                    found.setdefault(key, []).append(value)
    for (load, drive, published), v in found.items():
        yield {"load": load, "drive": drive, "published": published, "has": sum(v) / len(v)}


def _rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Every run with its numbers, so that another model can be compared with them."""
    paper = evaluation.paper
    checks = [claim.check for claim in paper.claims]
    used = dict.fromkeys(_ALWAYS)
    for check in checks:
        used |= dict.fromkeys(m for m in (check.metric, check.with_) if m)
        used |= dict.fromkeys(condition.metric for condition in check.when)
    for figure in paper.figures:
        used |= dict.fromkeys(figure.metrics.values())
    for name, rows in evaluation.sets.items():
        for row in rows.rows:
            yield {
                "runs": name,
                "load": row.workload,
                "device": row.device,
                "ftl": row.ftl,
                "cache": row.cache,
                "policy": row.policy,
                "seed": row.seed,
                "numbers": {m: row.numbers[m] for m in used if m in row.numbers},
            }


def _load(evaluation: Evaluation, load: Load) -> dict[str, Any]:
    return {
        "name": load.name,
        "kind": load.kind,
        "title": load.title,
        "note": load.note,
        "published_in": load.spec.published if load.spec else None,
        "ours": load.spec.ours if load.spec and load.kind == "surrogate" else None,
        "files": [p.name for p in load.paths],
        "made_of": evaluation.loading.made.get(load.name),
        "fit": [
            {**vars(row), "what": _FIT_TITLES[row.what]}
            for row in evaluation.loading.fits.get(load.name, [])
        ],
    }


def _swing(swing: Swing) -> dict[str, Any]:
    claims: list[Mapping[str, Any]] = []
    for name, by_value in swing.verdicts.items():
        values = {
            value: {
                "verdict": v.verdict,
                "cases_met": v.own.met,
                "cases_all": len(v.cases),
                "measured": measured(v.claim, v.own) if v.verdict != UNTESTED else "-",
            }
            for value, v in by_value.items()
        }
        claims.append({"id": name, "only_under": swing.one_reading_only(name), "values": values})
    knob = swing.knob
    return {
        "knob": knob.knob,
        "about": knob.about,
        "base": knob.base,
        "phrase": knob.phrase or f"{knob.knob} {{}}",
        "claims": claims,
    }
