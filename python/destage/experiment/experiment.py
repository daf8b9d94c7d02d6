"""An experiment: tasks, executed by a scheduler, with their results in memory or in a store."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from destage import _destage
from destage.base.errors import UsageError
from destage.base.io.files import Destination
from destage.base.io.names import printable
from destage.base.memory import memory_text
from destage.experiment.execute import result_set
from destage.experiment.rows import DONE, key_of_row
from destage.experiment.schedule import Finished, run_here
from destage.experiment.store import Store
from destage.experiment.task import Plan, Task
from destage.lab.options import ProgressCallback, thread_count
from destage.model.columns import CONTEXT, RECORD
from destage.model.rows import Row

__all__ = [
    "ENGINES",
    "Engine",
    "Experiment",
    "StoreLike",
    "SweepResult",
    "Unfinished",
    "experiment_of",
    "shard_of",
    "with_context",
]

#: Who does the work: this machine, or a Dask cluster.
Engine = Literal["local", "dask"]
ENGINES = ("local", "dask")


def shard_of(given: str | tuple[int, int] | None) -> tuple[int, int] | None:
    """A shard: `"3/64"` is the third of 64. Raises `UsageError`."""
    if given is None:
        return None
    if isinstance(given, tuple):
        given = "/".join(map(str, given))
    found = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", str(given))
    if found is None:
        raise UsageError(f"shard: expected i/n such as 3/64, got {given!r}")
    number, of = int(found[1]), int(found[2])
    if not 1 <= number <= of:
        raise UsageError(f"shard: expected i/n with i from 1 to n, got {given}")
    return number, of


class Unfinished(KeyboardInterrupt):
    """Ctrl-C ended an experiment; it has the result sets of the runs that had ended."""

    def __init__(self, sets: list[dict[str, Any]], planned: int) -> None:
        """Keep what had ended, of so many runs."""
        super().__init__("interrupted")
        self.sets, self.planned = sets, planned


@dataclass
class SweepResult:
    """State of a store after an experiment's tasks were done."""

    store: Path
    """Where its results are."""
    planned: int
    """Runs of the experiment, or of its shard."""
    before: int
    """Runs that were there already."""
    done: int = 0
    """Runs that were made now, those that failed among them."""
    failed: int = 0
    """Runs of these that failed; the store says why."""
    problems: tuple[str, ...] = ()
    """Why runs are missing still, a sentence each."""
    damaged: int = 0
    """Parts that were damaged, and were made again."""

    @property
    def missing(self) -> int:
        """Missing runs."""
        return self.planned - self.before - self.done


@dataclass
class Experiment:
    """How runs are made, and where they are kept: the value of `store=` in every call.

    Parameters:
        store: a folder, made if it is not there; runs that it has are not done again, and what is
            killed goes on from there. None keeps results in memory alone.
        shard: `"i/n"`: only the i-th of n parts of the runs. Shards may share a store.
        engine: `"local"`, this machine; `"dask"`, a Dask cluster (needs the extra `cluster`).
        scheduler: address of the cluster's scheduler; without one, a cluster of this machine.
        memory: limit of all tasks together, `"16GiB"`; by default most of the free memory.
        retry_failed: run what failed once more.
        jobs: threads, or workers of your cluster; by default as many as there are processors.
        progress: called some ten times a second with page accesses done, in all, and the stage.
        warn: called with a sentence for each problem that does not end the call.
    """

    store: Destination | None = None
    shard: str | tuple[int, int] | None = None
    engine: Engine = "local"
    scheduler: str | None = None
    memory: str | None = None
    retry_failed: bool = False
    jobs: int | None = None
    progress: ProgressCallback | None = None
    warn: Callable[[str], object] | None = None

    def __post_init__(self) -> None:
        """Check everything. Raises `UsageError` and `MissingExtra`."""
        if self.engine not in ENGINES:
            raise UsageError(f"engine: expected {' or '.join(ENGINES)}, got {self.engine!r}")
        if self.scheduler is not None and self.engine != "dask":
            raise UsageError("scheduler: it is of a Dask cluster: add engine dask")
        self.part, self.threads = shard_of(self.shard), thread_count(self.jobs)
        self.budget = memory_text(self.memory)
        if self.store is None:
            for what in ("shard", "retry_failed"):
                if getattr(self, what):
                    raise UsageError(f"{what}: it is of a store: add store (--store DIR)")
            if self.engine != "local":
                raise UsageError("engine dask: results need a store: add store (--store DIR)")
        if self.engine == "dask":
            from destage.experiment.cluster import need_dask

            need_dask()
        self.folder: Store | None = None

    def refuse_shards(self, what: str) -> None:
        """Raise `UsageError` for a shard of runs that depend on one another."""
        if self.part is not None:
            raise UsageError(
                f"shard: {what} needs its runs together: run its grid in shards with compare or"
                " sweep, into one store, then this with that store"
            )

    def opened(self) -> Store:
        """The store, begun if it is not there. Raises `UsageError` and `OutputError`."""
        if self.folder is None:
            assert self.store is not None
            self.folder = Store.begin(self.store)
        return self.folder

    def sets(self, tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """The result set of each task: policies in its order, then sizes.

        Of a shard there are the runs that the store has by now; each then has a warning that others
        are missing, and a task without any is left out. Raises what a run raises (`UsageError`
        with its reason where a store says that it failed), and `Unfinished` on Ctrl-C.
        """
        if self.store is not None:
            try:
                self.keep(Plan.of(tasks), "runs")
            except KeyboardInterrupt:
                raise Unfinished(self._sets(tasks, whole=False), _runs(tasks)) from None
            return self._sets(tasks, whole=True)
        sets: list[dict[str, Any]] = []
        try:
            for task in tasks:
                sets.append(result_set(task, self.threads, self.progress, sets.append))
        except KeyboardInterrupt:
            raise Unfinished(sets, _runs(tasks)) from None
        return sets

    def answers(self, tasks: Sequence[Task]) -> list[dict[str, Any] | None]:
        """The answer to the question of each task; None for tasks of another shard.

        Raises as `sets`.
        """
        if self.store is None:
            return [dict(t.question.answer(t, self.threads, self.progress)) for t in _asked(tasks)]
        self.keep(Plan.of(tasks), _asked(tasks)[0].question.kind)
        return self.kept_answers(tasks)

    def kept_answers(self, tasks: Sequence[Task]) -> list[dict[str, Any] | None]:
        """The answers that the store has. Raises `UsageError` for a failed task."""
        rows = self._rows(tasks)
        found = [rows.get(next(task.every_key())) for task in tasks]
        for row in found:
            _check_done(row)
        return [None if row is None else json.loads(row[CONTEXT]) for row in found]

    def keep(self, plan: Plan, called: str) -> SweepResult:
        """Run and keep what the store lacks; `called` is the experiment's name in it.

        Raises `UsageError`, `OutputError`, and what a cluster raises.
        """
        store, tell = self.opened(), self.warn or (lambda _: None)
        damaged = store.whole_parts()[1]
        for path in damaged:
            tell(f"{printable(path)}: the part is damaged; its runs are made again")
        store.remove(damaged)
        store.plan(plan, called)
        chosen = plan.tasks if self.part is None else plan.shard(*self.part)
        there = store.keys(failed_too=not self.retry_failed)
        tasks = [left for task in chosen if (left := task.without(there)) is not None]
        planned = _runs(chosen)
        kept = SweepResult(store.folder, planned, planned - _runs(tasks), damaged=len(damaged))

        def deliver(ended: Finished) -> None:
            self._deliver(ended, kept, tell)

        if self.engine == "dask":
            from destage.experiment.cluster import run_dask

            run_dask(
                tasks,
                scheduler=self.scheduler,
                workers=self.threads,
                deliver=deliver,
                progress=self.progress,
                warn=tell,
            )
        else:
            run_here(
                tasks,
                jobs=self.threads,
                memory=self.budget,
                deliver=deliver,
                progress=self.progress,
            )
        return kept

    def _deliver(self, ended: Finished, kept: SweepResult, tell: Callable[[str], object]) -> None:
        """Keep what a task has come to."""
        if ended.part is None:
            if ended.problem not in kept.problems:
                tell(f"{ended.problem}: its runs are missing still")
                kept.problems += (ended.problem,)
            return
        store = self.opened()
        path = store.add_part(ended.part)
        kept.done += ended.task.runs
        kept.failed += ended.failed
        store.note(
            {
                "part": path.name,
                "task": ended.task.number,
                "runs": ended.task.runs,
                "seconds": round(ended.seconds, 6),
                "ended": round(time.time(), 3),
                "process": os.getpid(),
                "worker": ended.host,
                "shard": None if self.part is None else "/".join(map(str, self.part)),
            }
        )

    def _rows(self, tasks: Sequence[Task]) -> Mapping[Any, Row]:
        wanted = {key for task in tasks for key in task.every_key()}
        return {key_of_row(row): row for row in self.opened().rows_of(wanted)}

    def _sets(self, tasks: Sequence[Task], whole: bool) -> list[dict[str, Any]]:
        rows = self._rows(tasks)
        if whole:
            for task in tasks:
                for key in task.every_key():
                    _check_done(rows.get(key))
        found = [_assembled(task, [rows.get(key) for key in task.every_key()]) for task in tasks]
        return [one for one in found if one is not None]


def _asked(tasks: Sequence[Task]) -> Any:
    assert all(task.question is not None for task in tasks)
    return tasks


def _check_done(row: Row | None) -> None:
    """Raise `UsageError` for a run that failed."""
    if row is not None and row["status"] != DONE:
        raise UsageError(str(row["reason"]))


def _assembled(task: Task, rows: Sequence[Row | None]) -> dict[str, Any] | None:
    """The result set of a task out of the rows of its runs; None if there are none."""
    done, runs = [], []
    for (policy, _), row in zip(task.every(), rows, strict=True):
        if row is not None and row["status"] == DONE:
            run = json.loads(row[RECORD])
            if policy.is_own:
                # A row does not say where a file is.
                run["label"], run["config"]["policy"] = policy.label, policy.name
            done.append(row)
            runs.append(run)
    if not done:
        return None
    return with_context(task, {**json.loads(done[0][CONTEXT]), "runs": runs})


def with_context(task: Task, made: Mapping[str, Any]) -> dict[str, Any]:
    """A result set that a store has kept, of the trace and the device that are open here.

    A store says nothing of where their files are.
    """
    trace = task.trace.open()
    context = {"trace": dict(trace.identity), "reading": trace.overview["summary"]}
    if task.drive is not None:
        context["device"] = task.drive.open().record
    whole: dict[str, Any] = json.loads(_destage.assembled(json.dumps({**made, **context})))
    return whole


def _runs(tasks: Iterable[Task]) -> int:
    return sum(task.runs for task in tasks)


#: A folder, or how runs are done and where they are kept.
StoreLike = Destination | Experiment


def experiment_of(
    store: StoreLike | None,
    jobs: int | None,
    progress: ProgressCallback | None,
) -> Experiment:
    """The experiment that a call's `store` stands for, with the call's `jobs` and `progress`."""
    if isinstance(store, Experiment):
        store.progress = progress if progress is not None else store.progress
        if jobs is not None:
            store.jobs, store.threads = jobs, thread_count(jobs)
        return store
    return Experiment(store, jobs=jobs, progress=progress)
