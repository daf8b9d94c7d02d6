"""Runs as `destage compare` does them: every policy at one cache size, measured from full caches.

The seed fills the device. Numbers have the intervals of the product's own rule: a block bootstrap
over windows of the trace, so that one replay of a recording has an interval, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from destage.experiment.execute import result_set
from destage.experiment.task import Question, Task
from destage.experiment.warmup import measured_alike
from destage.lab.options import ProgressCallback
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.winners import decisive
from destage.reproduce.measures import measures
from destage.reproduce.quantities import Interval

__all__ = ["COMPARED", "intervals_of", "measured_task", "numbers_of"]

#: Metrics whose differences have intervals, as far as a run has them.
METRICS = (
    *("response_ns_mean", "response_ns_p99", "hit_ratio", "token_hit_ratio"),
    *("flash_writes", "physical_writes", "tier2_writes", "erases", "waf"),
)


def measured_task(task: Task) -> Task:
    """Return the task with the request from which `compare` measures it."""
    return measured_alike([task])[0]


def numbers_of(answer: Mapping[str, Any], label: str) -> dict[str, float]:
    """Return the numbers of a policy."""
    return dict(answer["numbers"][label])


def intervals_of(
    answer: Mapping[str, Any], label: str, names: Mapping[str, str]
) -> dict[str, dict[str, Interval]]:
    """Return intervals of a policy's differences from others, by metric and other policy.

    `names` has the others' names by label.
    """
    found: dict[str, dict[str, Interval]] = {}
    for metric, pairs in answer["minus"].items():
        here = found.setdefault(metric, {})
        for of, to, low, high in pairs:
            if of == label:
                here[names[to]] = (low, high)
            elif to == label:
                here[names[of]] = (-high, -low)
    return found


def _compared(task: Task, jobs: int, progress: ProgressCallback | None) -> Mapping[str, Any]:
    made = result_set(replace(task, question=None), jobs, progress)
    device = None if task.drive is None else task.drive.known["device"]
    runs = {
        policy.label: run
        for (policy, _), run in zip(task.every(), ResultSet.of(made).runs, strict=True)
    }
    return {
        "numbers": {
            label: {**measures(run, device), "frames": float(run.frames)}
            for label, run in runs.items()
        },
        "minus": {metric: list(_minus(runs, metric)) for metric in METRICS},
    }


def _minus(runs: Mapping[str, Run], metric: str) -> Iterator[list[Any]]:
    """The intervals of all pairs that have one, as rows: of, to, low, high."""
    for (of, one), (to, other) in combinations(runs.items(), 2):
        found = decisive(metric, one, other)
        if found is not None:
            yield [of, to, *found]


#: The question to all runs of a task: their numbers, and the intervals of their differences.
COMPARED = Question(
    "compared", json.dumps({"intervals": METRICS}), _compared, lambda _task, _answer: {}
)
