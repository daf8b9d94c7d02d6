"""A task done: its runs, one row each. What fails is a row as well, and the others go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from destage import _destage
from destage.catalogue import policy as policy_info
from destage.checks import check_in_front
from destage.device import Drive
from destage.errors import DestageError
from destage.experiment.plan import Entry, Size, Task
from destage.experiment.policies import PolicyAsked
from destage.experiment.rows import Row, failed_row, row_of
from destage.results import Results
from destage.runs import run_own
from destage.trace import Trace

__all__ = ["Stopped", "Watch", "execute"]

#: Called some ten times a second with page accesses done since it was called last; whoever wants
#: the work to stop raises `Stopped` there.
Watch = Callable[[int], object]


class Stopped(BaseException):
    """The sweep was told to stop; what is not finished is dropped."""


def execute(task: Task, jobs: int = 1, watch: Watch | None = None) -> list[Row]:
    """Do a task with so many threads; its rows, in its order.

    Raises `MissingFile` and `DataError` where the trace, or the file of a policy, is not, or is
    another one: no row can be made then. Every other failure is in the rows.
    """
    for entry in task.entries:
        entry.policy.check()
    trace = task.trace.open()
    drive = None if task.drive is None else task.drive.open()
    worker = _Worker(task, trace, drive, jobs, watch or (lambda _: None))
    return [row for entry in task.entries for row in worker.rows(entry)]


class _Worker:
    """A task at work."""

    def __init__(
        self, task: Task, trace: Trace, drive: Drive | None, jobs: int, watch: Watch
    ) -> None:
        self.task, self.trace, self.drive = task, trace, drive
        self.jobs, self.watch = jobs, watch

    def rows(self, entry: Entry) -> Iterator[Row]:
        """A row for every size."""
        try:
            yield from self._done(entry.policy, entry.sizes)
            return
        except Exception as e:
            failure = e
        if len(entry.sizes) == 1:
            yield failed_row(self.task, entry.policy, entry.sizes[0], _reason(failure))
            return
        # One of them did: the others are none the worse for it.
        for size in entry.sizes:
            try:
                yield from self._done(entry.policy, [size])
            except Exception as e:
                yield failed_row(self.task, entry.policy, size, _reason(e))

    def _done(self, policy: PolicyAsked, sizes: Sequence[Size]) -> list[Row]:
        made = self._made(policy, sizes)
        results = Results([made])
        return [
            row_of(self.task, policy, size, run, made)
            for size, run in zip(sizes, results.runs, strict=True)
        ]

    def _made(self, policy: PolicyAsked, sizes: Sequence[Size]) -> dict[str, Any]:
        """The result set of a policy at some sizes."""
        check_in_front([self.trace], self.drive)
        given = [{"frames": size.frames, "given": size.given} for size in sizes]
        before = 0

        def progress(done: int, _whole: int | None, stage: str) -> None:
            nonlocal before
            replayed = done if stage == "replaying" else before
            self.watch(max(0, replayed - before))
            before = max(before, replayed)

        own = policy.own()
        if own is not None:
            return run_own(self.trace, own, given, self.task.options, 1, progress, self.drive)
        spec = (policy.name, _seeded(policy, self.task.seed))
        _destage.check_needs(*spec, self.drive is not None)
        raw = None if self.drive is None else self.drive.raw
        text = _destage.compare(
            self.trace.raw,
            [spec],
            json.dumps(given),
            self.task.options,
            self.jobs,
            progress,
            None,
            raw,
        )
        made: dict[str, Any] = json.loads(text)
        return made


def _seeded(policy: PolicyAsked, seed: int | None) -> str:
    """Parameters as JSON; the seed of the sweep is the policy's, if it takes one and has none."""
    params = json.loads(policy.params)
    takes = (
        any(param.name == "seed" for param in policy_info(policy.name).params)
        if (seed is not None and policy.name != "none")
        else False
    )
    if takes and "seed" not in params:
        return _destage.check_policy(policy.name, json.dumps({**params, "seed": seed}))[1]
    return policy.params


def _reason(error: Exception) -> str:
    """Why a run failed, in a line."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    text = " ".join(str(error).split())
    return text if isinstance(error, DestageError) else f"{type(error).__name__}: {text}"
