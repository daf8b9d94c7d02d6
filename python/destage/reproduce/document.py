"""The report of an evaluation as data: what the HTML page, the Markdown page and the JSON hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from destage import _destage
from destage.reproduce.claims import RunSet
from destage.reproduce.digits import number
from destage.reproduce.evaluation import SENSITIVITY_SHARE, Evaluation, Options, Swing
from destage.reproduce.figures import Drawing
from destage.reproduce.looking import Case
from destage.reproduce.published import Fit
from destage.reproduce.sums import Printed, Sums, sums
from destage.reproduce.verdicts import UNTESTED, Judgement, Verdict
from destage.reproduce.words import cases_in_words, expected, load_words, measured
from destage.reproduce.workloads import Load, label_of

__all__ = ["SCHEMA", "command", "document"]

#: Version of the JSON.
SCHEMA = 3

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


def command(name: str, options: Options) -> str:
    """Return the command that makes a report again."""
    parts = ["destage", "reproduce", name]
    for flag, numbers in (("--figure", options.figures), ("--table", options.tables)):
        for number_ in numbers:
            parts += [flag, str(number_)]
    parts += ["--scale", f"{options.scale:g}"] if options.scale != 1 else []
    parts += ["--seed", str(options.seed)] if options.seed != 1 else []
    parts += ["--seeds", str(options.seeds)] if options.seeds != 3 else []
    parts += ["--traces", "DIR"] if options.traces else []
    parts += ["--recordings", "DIR"] if options.recordings else []
    parts += [] if options.sensitivity else ["--no-sensitivity"]
    return " ".join(parts)


def document(evaluation: Evaluation) -> dict[str, Any]:
    """Return everything about an evaluation, for machines and for the pages."""
    paper, options = evaluation.paper, evaluation.options
    kinds = dict.fromkeys(load.kind for load in evaluation.loads)
    return {
        "schema": SCHEMA,
        "version": _destage.VERSION,
        "command": command(paper.name, options),
        "paper": {
            "name": paper.name,
            "title": paper.title,
            "cite": paper.head.cite,
            "question": paper.head.question,
            "differs": list(paper.head.differs),
        },
        "options": {
            "scale": options.scale,
            "seed": options.seed,
            "seeds": options.seeds,
            "originals": "original" in kinds,
        },
        "smallest_cache": _smallest_cache(evaluation),
        "channels": _channels(evaluation),
        "summary": evaluation.counts(),
        "summary_open": evaluation.open(),
        "summary_elsewhere": evaluation.counts_elsewhere(),
        "claims": [_claim(v, evaluation.faithful.get(v.claim.id)) for v in evaluation.verdicts],
        "faithful": list(paper.faithful.readings) if evaluation.faithful and paper.faithful else [],
        "figures": [_figure(d, sums(d, evaluation.verdicts)) for d in evaluation.drawings],
        "policies": dict(paper.policies),
        "runs": [_runs(evaluation, runs) for runs in paper.runs],
        "loads": [_load(evaluation, load) for load in evaluation.loads],
        "failed": list(evaluation.failed),
        "rows": _rows(evaluation),
        "sensitivity": {
            "scale": evaluation.sensitivity_scale,
            "seeds": options.seeds,
            "specified_share": SENSITIVITY_SHARE,
            "loads": list(paper.head.sensitivity_loads),
            "knobs": [_swing(s) for s in evaluation.swings],
        },
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def _claim(v: Verdict, faithful: Verdict | None) -> dict[str, Any]:
    return {
        "id": v.claim.id,
        "where": v.claim.where,
        "claim": v.claim.says,
        "headline": v.claim.headline,
        "kind": v.claim.check.kind,
        "metric": v.claim.check.metric or None,
        "expected": expected(v.claim, v.cases),
        **_judgement(v, v.own),
        "elsewhere": _judgement(v, v.elsewhere) if v.elsewhere else None,
        "faithful": _judgement(v, faithful.own) if faithful else None,
    }


def _judgement(v: Verdict, found: Judgement) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "measured": measured(v.claim, found) if found.verdict != UNTESTED else "-",
        "cases_met": found.met,
        "cases_all": len(found.cases),
        "cases_open": found.open,
        "which": cases_in_words(v.claim, found),
        "condition": found.supposed or None,
        "saturated": found.saturated or None,
        "loads": load_words(found),
        "cases": [_case(c) for c in found.cases],
    }


def _case(case: Case) -> dict[str, Any]:
    e = case.measured
    return {
        "case": case.label,
        "status": case.status,
        "expected": case.expected,
        "mean": _finite(e.mean) if e else None,
        "low": _finite(e.low) if e else None,
        "high": _finite(e.high) if e else None,
        "seeds": e.count if e else None,
        "note": case.note,
    }


def _figure(drawn: Drawing, found: Sums) -> dict[str, Any]:
    f = drawn.figure
    return {
        "id": f.id,
        "where": f.where,
        "title": f.title,
        "mark": f.mark,
        "x": f.x,
        "x_title": f.x_title,
        "y_title": f.y_title,
        "note": f.note,
        "relative_to": f.relative,
        "claims": [v.claim.id for v in found.verdicts],
        "verdicts": found.counts(),
        "told": found.told,
        "panels": {
            name: {"verdict": p.verdict, "cases_met": p.met, "cases_all": p.cases}
            for name, p in found.panels.items()
        },
        "printed": [_printed(p) for p in found.printed],
        "printed_in_table": any(p.printed is not None for p in drawn.points),
        "points": [
            {
                "panel": p.panel,
                "x": p.x,
                "series": p.series,
                "y": _finite(p.y),
                "low": _finite(p.low),
                "high": _finite(p.high),
                **({"at": p.at} if p.at is not None else {}),
                **({"paper": p.printed} if p.printed is not None else {}),
            }
            for p in drawn.points
        ],
    }


def _printed(found: Printed) -> dict[str, Any]:
    """A number that the paper prints, and ours."""
    return {
        "claim": found.claim,
        "case": found.case,
        "paper": found.paper,
        "mean": found.ours.mean,
        "low": found.ours.low,
        "high": found.ours.high,
        "share": found.share,
        "status": found.status,
    }


def _runs(evaluation: Evaluation, runs: RunSet) -> dict[str, Any]:
    rows = evaluation.sets[runs.id]
    return {
        "id": runs.id,
        "devices": dict(runs.devices),
        "ftls": dict(runs.ftls),
        "policies": list(runs.policies),
        "cache": list(runs.cache),
        "loads": [load.name for load in rows.loads],
        "cost": runs.cost,
        "fetch_on_write_miss": runs.fetch_on_write_miss,
        "warmup": runs.warmup,
        "intensity": runs.intensity,
        "channels": runs.channels,
        "busiest": runs.busiest,
        "cache_whole": runs.cache_whole,
        "recordings_queue_depth": runs.recordings_queue_depth,
        "utilisation": _utilisation(evaluation, runs),
        "drives": {label: dict(drive.record) for label, drive in rows.drives.items()},
    }


def _smallest_cache(evaluation: Evaluation) -> dict[str, float] | None:
    """The smallest cache in front of a drive, and how many of its erase blocks that is."""
    found = [
        (row.numbers["frames"], rows.drives[row.device].record["device"]["pages_per_block"])
        for rows in evaluation.sets.values()
        for row in rows.rows
        if row.device in rows.drives and row.policy != "none" and "frames" in row.numbers
    ]
    if not found:
        return None
    pages, block = min(found)
    return {"pages": pages, "blocks": round(pages / block, 1)}


def _channels(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Published and measured imbalance of the channels, load by load and drive by drive."""
    found: dict[tuple[str, str], list[float]] = {}
    published = {}
    for runs in evaluation.paper.runs:
        if runs.channels != "published" or runs.busiest or runs.intensity != 1:
            continue
        rows = evaluation.sets[runs.id]
        specs = {load.name: load.spec for load in rows.loads if load.kind == "stand-in"}
        for row in rows.rows:
            spec = specs.get(row.workload)
            value = row.numbers.get("max_deviation_reads")
            if row.policy != "none" or spec is None or value is None or row.device in ("none",):
                continue
            label = label_of(rows.drives[row.device])
            if label in spec.deviation:
                found.setdefault((row.workload, row.device), []).append(value)
                published[row.workload, row.device] = spec.deviation[label]
    return [
        {"load": load, "drive": drive, "published": published[load, drive], "has": sum(v) / len(v)}
        for (load, drive), v in found.items()
    ]


#: Numbers of every run that the JSON has beside those that claims and figures use.
_ALWAYS = (
    "accesses",
    "requests",
    "hit_ratio",
    "physical_reads",
    "physical_writes",
    "response_ns_mean",
    "erases",
    "gc_moves",
    "makespan_ns",
)


def _rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Every run with its numbers, so that they can be held against another model's."""
    paper = evaluation.paper
    used = dict.fromkeys(_ALWAYS)
    for claim in paper.claims:
        used |= dict.fromkeys(m for m in (claim.check.metric, claim.check.with_) if m)
        used |= dict.fromkeys(condition.metric for condition in claim.check.when)
    for figure in paper.figures:
        used |= dict.fromkeys(figure.metrics.values())
    return [
        {
            "runs": name,
            "load": row.workload,
            "device": row.device,
            "ftl": row.ftl,
            "cache": row.cache,
            "policy": row.policy,
            "seed": row.seed,
            "numbers": {m: row.numbers[m] for m in used if m in row.numbers},
        }
        for name, rows in evaluation.sets.items()
        for row in rows.rows
    ]


def _utilisation(evaluation: Evaluation, runs: RunSet) -> str | None:
    """How busy the units were: what makes waiting times mean something."""
    found = [
        row.numbers["utilisation_mean"]
        for row in evaluation.sets[runs.id].rows
        if "utilisation_mean" in row.numbers
    ]
    if not found:
        return None
    return f"{number(min(found), True)} to {number(max(found), True)}"


def _load(evaluation: Evaluation, load: Load) -> dict[str, Any]:
    fit = evaluation.loading.fits.get(load.name, [])
    return {
        "name": load.name,
        "kind": load.kind,
        "title": load.title,
        "note": load.note,
        "published_in": load.spec.published if load.spec else None,
        "ours": load.spec.ours if load.spec and load.kind == "stand-in" else None,
        "files": [p.name for p in load.paths],
        "made_of": evaluation.loading.made.get(load.name),
        "fit": [_fit(row) for row in fit],
    }


def _fit(row: Fit) -> dict[str, Any]:
    return {
        "what": _FIT_TITLES[row.what],
        "published": row.published,
        "aimed_at": row.aimed_at,
        "has": row.has,
    }


def _swing(swing: Swing) -> dict[str, Any]:
    claims: list[Mapping[str, Any]] = []
    for name, by_value in swing.verdicts.items():
        claims.append(
            {
                "id": name,
                "only_under": swing.one_reading_only(name),
                "values": {
                    value: {
                        "verdict": v.verdict,
                        "cases_met": v.own.met,
                        "cases_all": len(v.cases),
                        "measured": measured(v.claim, v.own) if v.verdict != UNTESTED else "-",
                    }
                    for value, v in by_value.items()
                },
            }
        )
    return {"knob": swing.knob.knob, "about": swing.knob.about, "claims": claims}
