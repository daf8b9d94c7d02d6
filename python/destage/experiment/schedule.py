"""Schedulers of an experiment's tasks: threads and processes of this machine.

A thread is enough for a policy of the table: a run leaves the interpreter alone. Threads share the
mapped trace and the filled device. Large tasks begin first, as many at a time as fit in memory.
Then those with a policy in Python, each in a process of its own: one that breaks down takes no
other with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue

from destage.base.errors import DestageError
from destage.base.io.interruptible import held
from destage.experiment.execute import Stopped, Watch, execute
from destage.experiment.memory import memory_of
from destage.experiment.rows import FAILED, failed_row
from destage.experiment.store import part_bytes
from destage.experiment.task import Task
from destage.lab.options import ProgressCallback

__all__ = ["STAGE", "Finished", "finished", "run_here"]

#: What progress says is going on.
STAGE = "running"

#: How often progress is shown, seconds.
_EVERY_S = 0.1


@dataclass(frozen=True)
class Finished:
    """Outcome of a task."""

    task: Task
    part: bytes | None
    """Its rows as a part; None if there could be no row."""
    failed: int = 0
    """Runs that failed."""
    seconds: float = 0.0
    problem: str = ""
    """Why there are no rows."""
    host: str = ""


def finished(task: Task, threads: int = 1, watch: Watch | None = None, host: str = "") -> Finished:
    """Do a task; what keeps it from having rows is told, and not raised."""
    began = time.monotonic()
    try:
        rows = execute(task, threads, watch)
    except DestageError as e:
        return Finished(task, None, 0, time.monotonic() - began, str(e), host)
    failed = sum(row["status"] == FAILED for row in rows)
    return Finished(task, part_bytes(rows), failed, time.monotonic() - began, "", host)


def run_here(
    tasks: Sequence[Task],
    *,
    jobs: int,
    memory: int,
    deliver: Callable[[Finished], None],
    progress: ProgressCallback | None = None,
) -> None:
    """Do all tasks; `deliver` is called with each that has ended, on the calling thread.

    A signal, or what `deliver` raises, stops all of them.
    """
    waiting = sorted(tasks, key=lambda task: (task.order, -task.cost, task.number))
    whole = sum(task.trace.accesses * task.runs for task in tasks)
    done = 0

    def take(ended: Finished) -> None:
        nonlocal done
        deliver(ended)
        done += ended.task.trace.accesses * ended.task.runs

    def tell(replayed: int) -> None:
        if progress is not None:
            progress(min(whole, max(done, replayed)), whole, STAGE)

    _in_threads([t for t in waiting if not t.has_own], jobs, memory, take, tell)
    _in_processes([t for t in waiting if t.has_own], jobs, memory, take, tell)


@dataclass
class _Crew:
    """Tasks at work."""

    jobs: int
    memory: int
    results: SimpleQueue[Finished | BaseException] = field(default_factory=SimpleQueue)
    stop: threading.Event = field(default_factory=threading.Event)
    running: dict[int, tuple[threading.Thread, int]] = field(default_factory=dict)
    replayed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, waiting: list[Task]) -> None:
        """Begin what there is a thread and memory for; something always runs."""
        while waiting and len(self.running) < self.jobs:
            # The last tasks share all threads, so that none is idle while one is still at work.
            alone = len(waiting) + len(self.running) < 2 * self.jobs
            threads = self.jobs if alone else 1
            free = self.memory - sum(memory for _, memory in self.running.values())
            needs = ((k, memory_of(task, threads)) for k, task in enumerate(waiting))
            fits = ((k, need) for k, need in needs if need <= free or not self.running)
            place, need = next(fits, (None, 0))
            if place is None:
                return
            task = waiting.pop(place)
            work = partial(self._do, task, threads)
            thread = threading.Thread(target=work, name=f"task-{task.number}", daemon=True)
            # A signal in between would have `end` join a thread that was never started.
            with held():
                thread.start()
                self.running[task.number] = (thread, need)

    def _do(self, task: Task, threads: int) -> None:
        try:
            self.results.put(finished(task, threads, self._watch))
        except BaseException as e:
            self.results.put(e)

    def _watch(self, replayed: int) -> None:
        if self.stop.is_set():
            raise Stopped
        with self.lock:
            self.replayed += replayed

    def end(self) -> None:
        self.stop.set()
        for thread, _ in self.running.values():
            thread.join()


def _in_threads(
    waiting: list[Task],
    jobs: int,
    memory: int,
    take: Callable[[Finished], None],
    tell: Callable[[int], None],
) -> None:
    crew = _Crew(jobs, memory)
    try:
        while waiting or crew.running:
            crew.begin(waiting)
            try:
                ended = crew.results.get(timeout=_EVERY_S)
            except Empty:
                ended = None
            if isinstance(ended, BaseException):
                raise ended
            if ended is not None:
                crew.running.pop(ended.task.number)
                take(ended)
            tell(crew.replayed)
    finally:
        crew.end()


def _in_processes(
    tasks: list[Task],
    jobs: int,
    memory: int,
    take: Callable[[Finished], None],
    tell: Callable[[int], None],
) -> None:
    if not tasks:
        return
    from destage.lab.user_policies.processes import side_by_side

    at_once = min(jobs, max(1, memory // max(map(memory_of, tasks))))

    def do(task: Task, tells: Callable[[int, int, str], object] | None) -> Finished:
        done = 0

        def watch(replayed: int) -> None:
            nonlocal done
            done += replayed
            if tells is not None:
                tells(done, task.trace.accesses * task.runs, STAGE)

        return finished(task, 1, watch)

    def lost(number: int, how: str) -> Finished:
        reason = f"the process that ran the task did not come back: {how}"
        task = tasks[number]
        rows = [failed_row(task, policy, size, reason) for policy, size in task.every()]
        return Finished(task, part_bytes(rows), len(rows))

    works = [partial(do, task) for task in tasks]
    for _, ended in side_by_side(works, at_once, lambda done, *_: tell(done), lost):
        take(ended)
