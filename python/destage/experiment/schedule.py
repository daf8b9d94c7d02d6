"""The engine of one machine: tasks in threads, those with a policy in Python in processes.

A thread is enough for a policy of the table: a run leaves the interpreter alone. Threads share the
mapped trace and the filled drive. Large tasks begin first, and as many at a time as there is memory
for.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from destage.errors import DestageError
from destage.experiment.execute import Stopped, execute
from destage.experiment.memory import memory_of
from destage.experiment.plan import Task
from destage.experiment.rows import FAILED, Row, failed_row
from destage.experiment.store import part_bytes
from destage.options import ProgressCallback

__all__ = ["Finished", "run_local"]

#: How often progress is shown, seconds.
_EVERY_S = 0.1
#: How long a process may take to end when it is told to.
_PATIENCE_S = 2.0


@dataclass(frozen=True)
class Finished:
    """What became of a task."""

    task: Task
    part: bytes | None
    """Its rows as a part; None if there could be no row."""
    failed: int = 0
    """Runs that failed."""
    seconds: float = 0.0
    problem: str = ""
    """Why there are no rows."""
    host: str = ""


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

    def begin(self, task: Task, threads: int, memory: int) -> None:
        thread = threading.Thread(
            target=self._do, args=(task, threads), name=f"sweep-{task.number}", daemon=True
        )
        self.running[task.number] = (thread, memory)
        thread.start()

    def _do(self, task: Task, threads: int) -> None:
        began = time.monotonic()
        try:
            rows = self._in_a_process(task) if task.has_own else execute(task, threads, self._watch)
            failed = sum(row["status"] == FAILED for row in rows)
            part = part_bytes(rows)
            self.results.put(Finished(task, part, failed, time.monotonic() - began))
        except DestageError as e:
            self.results.put(Finished(task, None, 0, time.monotonic() - began, str(e)))
        except BaseException as e:
            self.results.put(e)

    def _watch(self, replayed: int) -> None:
        if self.stop.is_set():
            raise Stopped
        with self.lock:
            self.replayed += replayed

    def _in_a_process(self, task: Task) -> list[Row]:
        """Do a task where its Python stands in nobody's way, and where it may break down."""
        root = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        process = subprocess.Popen(
            # Without -P Python would import what lies in the working directory.
            [sys.executable, "-P", "-m", "destage.experiment.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,
        )
        answer: list[bytes] = []
        talk = threading.Thread(
            target=lambda: answer.append(process.communicate(pickle.dumps(task))[0]), daemon=True
        )
        talk.start()
        while talk.is_alive():
            talk.join(_EVERY_S)
            if self.stop.is_set():
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_PATIENCE_S)
                process.kill()
                raise Stopped
        if process.returncode == 0:
            rows: list[Row] | DestageError = pickle.loads(answer[0])
            if isinstance(rows, DestageError):
                raise rows
            return rows
        how = (
            f"signal {-process.returncode} ended it"
            if process.returncode < 0
            else f"it ended with status {process.returncode}"
        )
        reason = f"the process that ran the task did not come back: {how}"
        return [
            failed_row(task, entry.policy, size, reason)
            for entry in task.entries
            for size in entry.sizes
        ]

    def end(self) -> None:
        self.stop.set()
        for thread, _ in self.running.values():
            thread.join()


def run_local(
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
    crew = _Crew(jobs, memory)
    waiting = sorted(tasks, key=lambda task: (-task.cost, task.number))
    whole = sum(task.trace.accesses * task.runs for task in tasks)
    done = 0
    try:
        while waiting or crew.running:
            _begin(crew, waiting)
            try:
                ended = crew.results.get(timeout=_EVERY_S)
            except Empty:
                ended = None
            if isinstance(ended, BaseException):
                raise ended
            if ended is not None:
                crew.running.pop(ended.task.number)
                deliver(ended)
                done += ended.task.trace.accesses * ended.task.runs
            if progress is not None:
                progress(min(whole, max(done, crew.replayed)), whole, "sweeping")
    finally:
        crew.end()


def _begin(crew: _Crew, waiting: list[Task]) -> None:
    """Begin what there is a thread and memory for; something always runs."""
    while waiting and len(crew.running) < crew.jobs:
        # The last tasks share all threads, so that none is idle while one is still at work.
        alone = len(waiting) + len(crew.running) < 2 * crew.jobs
        threads = crew.jobs if alone else 1
        free = crew.memory - sum(memory for _, memory in crew.running.values())
        for place, task in enumerate(waiting):
            need = memory_of(task, threads)
            if need <= free or not crew.running:
                del waiting[place]
                crew.begin(task, threads, need)
                break
        else:
            return
