"""A task done: one call of the engine for all its runs, or rows for a store.

In rows what fails is a row as well, and the others go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from destage import _destage
from destage.base.errors import DestageError
from destage.experiment.policies import PolicyAsked
from destage.experiment.result_sets import together
from destage.experiment.rows import answer_rows, failed_row, row_of
from destage.experiment.task import Entry, Task
from destage.lab.checks import check_in_front
from destage.lab.options import ProgressCallback
from destage.lab.policy_base import OwnPolicy, Spec, is_none, params_json, spec_label
from destage.lab.ssd import Device
from destage.lab.traces import Trace
from destage.model.results import ResultSet
from destage.model.rows import Row

__all__ = ["Stopped", "Watch", "execute", "result_set", "run_own"]

#: Called some ten times a second with page accesses done since the last call; raising
#: `Stopped` there stops the work.
Watch = Callable[[int], object]


class Stopped(BaseException):
    """The experiment was stopped; unfinished tasks are dropped."""


def result_set(
    task: Task,
    jobs: int = 1,
    progress: ProgressCallback | None = None,
    keep: Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """The result set of a task: one call of the engine for policies of the table, then processes
    for user policies.

    `keep` is called with the runs that had ended when a signal came. Raises what a run raises.
    """
    trace = task.trace.open()
    tier2 = bool(json.loads(task.options).get("tier2"))
    drive = None if task.drive is None else task.drive.open()
    if drive is not None and not tier2:
        # A trace that is generated here may need a larger device.
        drive = drive.extended(trace.end_page)
    check_in_front([trace], drive, tier2=tier2)
    specs = {entry.policy.label: _spec(entry.policy, task.seed) for entry in task.entries}
    sets: list[dict[str, Any]] = []
    own: dict[int, dict[str, Any]] = {}

    def take(text: str) -> None:
        sets.append(json.loads(text))

    try:
        table = [entry for entry in task.entries if not entry.policy.is_own]
        for sizes, entries in groupby(table, key=lambda entry: entry.sizes):
            every = (specs[entry.policy.label] for entry in entries)
            named = [spec for spec in every if not isinstance(spec, OwnPolicy)]
            for spec in named:
                _destage.check_needs(*spec, drive is not None or (tier2 and is_none(spec)))
            where = (json.dumps([vars(size) for size in sizes]), task.options, jobs, progress, take)
            take(_destage.compare(trace.raw, named, *where, None if drive is None else drive.raw))
        works = [
            partial(run_own, trace, mine, json.dumps([vars(size)]), task.options, drive=drive)
            for policy, size in task.every()
            if isinstance(mine := specs[policy.label], OwnPolicy)
        ]
        if len(works) > 1 and drive is not None:
            drive.fill(progress)
        if works:
            from destage.lab.user_policies.processes import side_by_side

            for number, text in side_by_side(works, jobs, progress):
                own[number] = json.loads(text)
    except KeyboardInterrupt:
        sets += [own[k] for k in sorted(own)]
        if keep is not None and sets:
            keep(_together(sets, specs.values()))
        raise
    return _together([*sets, *(own[k] for k in sorted(own))], specs.values())


def _together(sets: Sequence[dict[str, Any]], specs: Iterable[Spec]) -> dict[str, Any]:
    """One result set, its runs in the order of the policies."""
    if len(sets) == 1:
        return sets[0]
    place = {spec_label(spec): k for k, spec in enumerate(specs)}
    return together(sets, lambda run: place[run["label"]])


def _spec(policy: PolicyAsked, seed: int | None) -> Spec:
    """The policy as the boundary takes it; the seed of a sweep is its, if it takes one."""
    own = policy.own()
    if own is not None:
        return own
    if seed is not None and policy.name != "none":
        from destage.lab.catalogue import policy as policy_info

        params = json.loads(policy.params)
        takes = any(param.name == "seed" for param in policy_info(policy.name).params)
        if takes and "seed" not in params:
            return _destage.check_policy(policy.name, json.dumps({**params, "seed": seed}))
    return policy.name, policy.params


def run_own(
    trace: Trace,
    spec: OwnPolicy,
    size: str,
    options: str,
    progress: ProgressCallback | None = None,
    *,
    drive: Device | None = None,
    decisions: Path | None = None,
    period: int | None = None,
) -> str:
    """The result set of a policy of one's own at a size, as JSON."""
    text = _destage.run_own_policy(
        trace.raw,
        spec.name,
        params_json(spec.params, f"{spec.name}: parameters"),
        spec.make,
        spec.needs_next_use,
        size,
        options,
        decisions,
        period,
        progress,
        None if drive is None else drive.raw,
    )
    if spec.source_sha256 is None:
        return text
    made = json.loads(text)
    made["runs"][0]["config"]["source_sha256"] = spec.source_sha256
    return json.dumps(made)


def execute(task: Task, jobs: int = 1, watch: Watch | None = None) -> list[Row]:
    """Do a task with so many threads; its rows, in its order.

    Raises `MissingFile` and `DataError` where the trace, or the file of a policy, is not, or is
    another one: no row can be made then. Every other failure is in the rows.
    """
    for entry in task.entries:
        entry.policy.check()
    task.trace.open()
    if task.drive is not None:
        task.drive.open()
    return _rows(task, jobs, _replayed(watch))


def _replayed(watch: Watch | None) -> ProgressCallback:
    """Tells `watch` of the page accesses that a call of the engine replays."""
    before = 0

    def progress(done: int, _whole: int | None, stage: str) -> None:
        nonlocal before
        replayed = done if stage == "replaying" else before
        if replayed < before:
            before = 0  # another call
        if watch is not None:
            watch(replayed - before)
        before = replayed

    return progress


def _rows(task: Task, jobs: int, progress: ProgressCallback) -> list[Row]:
    try:
        if task.question is not None:
            return answer_rows(task, task.question.answer(task, jobs, progress))
        made = result_set(task, jobs, progress)
        runs = ResultSet.of(made).runs
        both = zip(task.every(), runs, strict=True)
        return [row_of(task, policy, size, run, made) for (policy, size), run in both]
    except Exception as e:
        if task.question is not None or task.runs == 1:
            reason = _reason(e)
            return [failed_row(task, policy, size, reason) for policy, size in task.every()]
    # One of them did: the others are none the worse for it.
    entries = task.entries
    if len(entries) == 1:
        entries = tuple(Entry(entries[0].policy, (size,)) for size in entries[0].sizes)
    return [row for one in entries for row in _rows(replace(task, entries=(one,)), jobs, progress)]


def _reason(error: Exception) -> str:
    """Why a run failed, in a line."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    text = " ".join(str(error).split())
    return text if isinstance(error, DestageError) else f"{type(error).__name__}: {text}"
