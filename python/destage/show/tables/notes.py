"""Sentences under a table of runs."""

from __future__ import annotations

from collections.abc import Sequence

from destage.model.metrics import WRITES, Metric
from destage.model.run import Run

__all__ = ["absent", "few", "waiting"]

#: Why runs may lack a number.
_LACKING = {
    "hit_ratio": "prompts have token hits",
    WRITES: "a flash tier may decline pages",
    "recompute_saved_ratio": "it needs --token-ns",
    "recompute_saved_ns": "it needs --token-ns",
}


def absent(runs: Sequence[Run], shown: Sequence[Metric]) -> list[str]:
    """Why a number is missing in all runs, of the numbers that were asked for."""
    reasons: dict[str, list[str]] = {}
    for metric in shown:
        name = metric.name
        if name in _LACKING and runs and all(r[name] is None and r["kv_requests"] for r in runs):
            reasons.setdefault(_LACKING[name], []).append(
                metric.title[:1].lower() + metric.title[1:]
            )
    return [f"no {' and '.join(names)}: {why}" for why, names in reasons.items()]


def waiting(eviction_wait: str) -> str:
    """What a dirty victim waits for: `staged, 64 pages`, as a run has it, in words."""
    kind, _, pages = eviction_wait.partition(", ")
    if kind == "staged" and pages:
        return f"{pages.partition(' ')[0]}-page staging buffer"
    return {"none": "no wait", "staged": "staging buffer"}.get(kind, f"wait for the {kind}")


def few(names: Sequence[str]) -> str:
    """Three names, and how many more there are."""
    return ", ".join([*names[:3], *([f"{len(names) - 3} more"] if len(names) > 3 else [])])
