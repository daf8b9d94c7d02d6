"""The warm-up `auto`: a run is measured from the request at which lru's cache of its size is full.

The request is known before anything runs: until as many distinct pages were accessed as a cache has
frames, no policy evicts. One that takes in few pages (larc, write buffers) fills later; tables name
it. So policies at one size are measured over the same part of a trace, and a run has the same
numbers whatever runs beside it. Where sizes are compared with each other (advice, curves, a run
without a cache), one request holds for all: when the largest cache that fills in the first half is
full.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from destage import _destage
from destage.experiment.task import Task, given_options

__all__ = ["AUTO", "measured_alike", "measured_alone", "measured_beside"]

#: The warm-up until caches are full; the default in front of a device.
AUTO = "auto"


def measured_alone(tasks: Sequence[Task]) -> list[Task]:
    """The tasks, each size of which is measured from its own request with the warm-up `auto`."""
    return [
        replace(task, options=given_options({**json.loads(task.options), "warmup": AUTO}))
        if _is_auto(task)
        else task
        for task in tasks
    ]


def measured_beside(tasks: Sequence[Task]) -> list[Task]:
    """The tasks of a table; beside a run without a cache, one request holds for all sizes.

    That run is compared with every size.
    """
    runs = [(policy.name, size.frames) for task in tasks for policy, size in task.every()]
    sizes = {frames for name, frames in runs if name != "none"}
    without = any(name == "none" for name, _ in runs)
    return measured_alike(tasks) if without and len(sizes) > 1 else measured_alone(tasks)


def measured_alike(tasks: Sequence[Task]) -> list[Task]:
    """The tasks of a comparison of sizes; a warm-up `auto` has one request for all of a trace."""
    found = [_full(task) if _is_auto(task) else (0, 0) for task in tasks]
    latest: dict[str, int] = {}
    for task, (requests, _) in zip(tasks, found, strict=True):
        latest[_trace_of(task)] = max(latest.get(_trace_of(task), 0), requests)
    alike = []
    for task, (requests, pages) in zip(tasks, found, strict=True):
        if _is_auto(task):
            if requests < (least := latest[_trace_of(task)]):
                requests, pages = _full(task, least)
            given = json.loads(task.options)
            given["warmup"] = {AUTO: {"requests": requests, "pages": pages}}
            task = replace(task, options=given_options(given))
        alike.append(task)
    return alike


def _is_auto(task: Task) -> bool:
    given = json.loads(task.options).get("warmup")
    return given == AUTO or (given is None and task.drive is not None)


def _trace_of(task: Task) -> str:
    """The same for a trace that was decoded with other pages."""
    known = task.trace.known
    options = known.get("options", {})
    read = [options.get(name) for name in ("synth", "reader")]
    return json.dumps([task.trace_name, known["sources"], known["requests"], read])


def _full(task: Task, least_requests: int = 0) -> tuple[int, int]:
    """Requests before measurement, at least so many, and pages accessed by then."""
    trim = json.loads(task.options).get("trim")
    if trim is None and task.drive is not None:
        trim = task.drive.known.get("host", {}).get("trim")
    frames = {size.frames for policy, size in task.every() if policy.name != "none"}
    raw = task.trace.open().raw
    return _destage.caches_full(raw, sorted(frames), trim == "drop", least_requests)
