"""Words that sentences about runs share."""

from __future__ import annotations

from destage.model.goals import Goal
from destage.model.metrics import METRICS
from destage.model.run import Run
from destage.model.values import valued
from destage.model.words import NBSP, percent, significant, size

__all__ = ["FACTOR", "factor", "far_text", "place", "share_text", "tail_text", "title_of"]

#: From so many times a value on, the distance from it is a factor: `49 times`, not `4,812 %`.
FACTOR = 10.0


def place(run: Run) -> str:
    """`8 MiB of arc`."""
    return f"{size(run.cache_bytes)} of {run.label}"


def share_text(share: float) -> str:
    """A share that somebody typed: `2 %`."""
    return f"{significant(100 * share)}{NBSP}%"


def factor(times: float) -> str:
    """A factor, to two digits: `49`, `28,000`, `0.78`."""
    return significant(float(f"{times:.2g}"), 2)


def far_text(share: float, sign: str = "") -> str:
    """Distance from a value as a share of it: `4.8 %` behind its sign; `49 times` if far."""
    times = 1 + abs(share)
    return f"{factor(times)} times" if times >= FACTOR else f"{sign}{percent(abs(share), 1)}"


def tail_text(goal: Goal, run: Run) -> str:
    """`p99 1.83 ms` of a run; empty if it has none, or if it is the objective itself."""
    metric = next(m for m in METRICS if m.name == "response_ns_p99")
    value = run[metric.name]
    if value is None or goal.column == metric.name:
        return ""
    return f"p99 {valued(metric, value)}"


def title_of(name: str) -> str:
    """The name of a metric within a sentence."""
    title = next((m.title for m in METRICS if m.name == name), name)
    return title if title.split()[0].isupper() else title[0].lower() + title[1:]
