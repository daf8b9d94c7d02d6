"""`destage.sweep`: from SPEC to a store, with whoever is to do the work."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from destage.errors import UsageError
from destage.experiment.cluster import need_dask, run_dask
from destage.experiment.memory import memory_text
from destage.experiment.plan import Plan, Task, planned
from destage.experiment.schedule import Finished, run_local
from destage.experiment.spec import SweepSpec, load_spec
from destage.experiment.store import Store
from destage.io.files import Destination
from destage.io.names import printable
from destage.options import ProgressCallback, thread_count

__all__ = ["Engine", "SweepResult", "shard_of", "sweep"]

#: Who does the work.
Engine = Literal["local", "dask"]
ENGINES = ("local", "dask")

SpecLike = str | os.PathLike[str] | Mapping[str, Any]


@dataclass(frozen=True)
class SweepResult:
    """What a sweep has come to."""

    store: Path
    """Where its results are."""
    planned: int
    """Runs of the sweep, or of its shard."""
    before: int
    """Runs that were there already."""
    done: int
    """Runs that were made now, those that failed among them."""
    failed: int
    """Runs of these that failed; the store says why."""
    problems: tuple[str, ...] = ()
    """Why runs are missing still, a sentence each."""
    damaged: int = 0
    """Parts that were damaged, and were made again."""

    @property
    def missing(self) -> int:
        """Runs that are not there."""
        return self.planned - self.before - self.done


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


def sweep(
    spec: SpecLike,
    store: Destination,
    *,
    resume: bool = False,
    shard: str | tuple[int, int] | None = None,
    engine: Engine = "local",
    scheduler: str | None = None,
    jobs: int | None = None,
    memory: str | None = None,
    retry_failed: bool = False,
    allow_code: bool = False,
    progress: ProgressCallback | None = None,
    warn: Callable[[str], object] | None = None,
) -> SweepResult:
    """Do every run of a sweep, and keep each in a store.

    Parameters:
        spec: a SPEC file, or a mapping with what one holds: `docs/sweeps.md` has the schema.
        store: the folder that results are kept in; it is made if it is not there.
        resume: run what is missing of a sweep that the store has begun.
        shard: `"i/n"`: only the i-th of n parts of the work. Shards may share a store.
        engine: `"local"`, this machine; `"dask"`, a Dask cluster (needs the extra `cluster`).
        scheduler: address of the cluster's scheduler; without one, a cluster of this machine.
        jobs: threads, or workers of one's own cluster; by default as many as there are processors.
        memory: what tasks may take together, `"16GiB"`; by default most of what is free.
        retry_failed: run what failed once more.
        allow_code: run policies in Python files that a SPEC file, or a device's file, names. A
            policy is a program: allow it for files whose origin you trust.
        progress: called some ten times a second with page accesses done, in all, and the stage.
        warn: called with a sentence for what goes wrong on the way and stops nothing.

    Returns how many runs there are now. A run that fails is kept with its reason. Ctrl-C leaves the
    store as it is, whole: `resume` goes on.

    Raises `UsageError`, `DataError` with table and key of SPEC, `MissingFile`, `OutputError`.
    """
    if engine not in ENGINES:
        raise UsageError(f"engine: expected {' or '.join(ENGINES)}, got {engine!r}")
    if scheduler is not None and engine != "dask":
        raise UsageError("scheduler: it is of a Dask cluster: add engine dask")
    part, threads = shard_of(shard), thread_count(jobs)
    budget = memory_text(memory)
    if engine == "dask":
        need_dask()
    asked = load_spec(spec)
    plan = planned(asked, progress, allow_code=allow_code)
    work = _Work.begin(asked, plan, Store.begin(store), part, resume, retry_failed, warn)
    if engine == "dask":
        run_dask(
            work.tasks,
            scheduler=scheduler,
            workers=threads,
            deliver=work.deliver,
            progress=progress,
            warn=work.warn,
        )
    else:
        run_local(work.tasks, jobs=threads, memory=budget, deliver=work.deliver, progress=progress)
    return work.swept()


@dataclass
class _Work:
    """What a call has to do, and what it has done."""

    store: Store
    shard: tuple[int, int] | None
    tasks: list[Task]
    planned: int
    before: int
    damaged: int
    warn: Callable[[str], object]
    done: int = 0
    failed: int = 0
    problems: dict[str, None] = field(default_factory=dict)

    @classmethod
    def begin(
        cls,
        spec: SweepSpec,
        plan: Plan,
        store: Store,
        shard: tuple[int, int] | None,
        resume: bool,
        retry_failed: bool,
        warn: Callable[[str], object] | None,
    ) -> _Work:
        """See what is missing. Raises `UsageError` for a sweep that was begun before."""
        tell = warn or (lambda _: None)
        if store.has_sweep(plan) and not resume and shard is None and not retry_failed:
            raise UsageError(
                f"store {printable(store.folder)}: this sweep was begun there: --resume"
                " (resume=True) runs what is missing"
            )
        damaged = store.whole_parts()[1]
        for path in damaged:
            tell(f"{printable(path)}: the part is damaged; its runs are made again")
        store.remove(damaged)
        store.plan(plan, Path(spec.called).name)
        chosen = plan.tasks if shard is None else plan.shard(*shard)
        there = store.keys(failed_too=not retry_failed)
        left = [task.without(there) for task in chosen]
        tasks = [task for task in left if task is not None]
        whole = sum(task.runs for task in chosen)
        return cls(
            store=store,
            shard=shard,
            tasks=tasks,
            planned=whole,
            before=whole - sum(task.runs for task in tasks),
            damaged=len(damaged),
            warn=tell,
        )

    def deliver(self, ended: Finished) -> None:
        """Keep what a task has come to."""
        if ended.part is None:
            if ended.problem not in self.problems:
                self.warn(f"{ended.problem}: its runs are missing still")
            self.problems[ended.problem] = None
            return
        path = self.store.add_part(ended.part)
        self.done += ended.task.runs
        self.failed += ended.failed
        self.store.note(
            {
                "part": path.name,
                "task": ended.task.number,
                "runs": ended.task.runs,
                "seconds": round(ended.seconds, 6),
                "ended": round(time.time(), 3),
                "process": os.getpid(),
                "worker": ended.host,
                "shard": None if self.shard is None else "/".join(map(str, self.shard)),
            }
        )

    def swept(self) -> SweepResult:
        """What there is now."""
        return SweepResult(
            store=self.store.folder,
            planned=self.planned,
            before=self.before,
            done=self.done,
            failed=self.failed,
            problems=tuple(self.problems),
            damaged=self.damaged,
        )
