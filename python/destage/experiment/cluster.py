"""The engine of a cluster: tasks go to the workers of Dask, parts come back.

The ledger is the store's, not the scheduler's: a task is a few kilobytes either way, only the
driver writes, and what was lost with a worker or the scheduler is missing in the store, no more.
Traces do not travel. A worker opens them where they are (the same path, or `$DESTAGE_TRACES`), and
compares their fingerprint. A worker with another version of Destage gets no work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from destage import _destage
from destage.base.errors import DestageError, MissingExtra, UsageError
from destage.base.io.interruptible import interruptible
from destage.experiment.schedule import STAGE, Finished, finished
from destage.experiment.task import SEMANTICS, Task
from destage.lab.options import ProgressCallback

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

__all__ = ["need_dask", "run_dask"]

#: What both ends must have in common: the program, and what its results mean.
VERSION = (_destage.VERSION, SEMANTICS)

#: How often workers are looked at, and how long an answer is waited for, seconds.
_LOOK_S, _WAIT_S = 1.0, 0.1
#: How long the scheduler may be silent.
_SILENT_S = 10.0
#: How long a connection to it may take.
_CONNECT_S = 10.0
#: Tasks under way for each thread of a worker: one at work, one waiting.
_AHEAD = 2
#: How often a task may lose its worker.
_ATTEMPTS = 10


def need_dask() -> None:
    """Raise `MissingExtra` unless Dask is installed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "engine dask needs distributed, which is not installed: pip install 'destage[cluster]'"
        ) from None


# What runs on a worker


def probe() -> tuple[str, int]:
    """The version that a worker has."""
    return VERSION


def work(task: Task, version: tuple[str, int]) -> Finished:
    """Do a task on a worker; `host` is its address."""
    from distributed import get_worker

    here = str(get_worker().address)
    if version != VERSION:
        return Finished(task, None, problem=_other_version(VERSION, version), host=here)
    return finished(task, host=here)


def _other_version(found: tuple[str, int], expected: tuple[str, int]) -> str:
    return (
        f"it has destage {found[0]} (results {found[1]}), and the sweep is of destage"
        f" {expected[0]} (results {expected[1]})"
    )


# What the driver does


def run_dask(
    tasks: Sequence[Task],
    *,
    scheduler: str | None,
    workers: int,
    deliver: Callable[[Finished], None],
    progress: ProgressCallback | None = None,
    warn: Callable[[str], object],
) -> None:
    """Do all tasks on a cluster; `deliver` is called with each that has ended.

    Raises `UsageError` where no scheduler answers, or no worker can be used.
    """
    if not tasks:
        return
    cluster = _own_cluster(workers) if scheduler is None else None
    try:
        client = _client(cluster or scheduler)
        try:
            called = scheduler or "this machine"
            _Driver(client, called, list(tasks), deliver, progress, warn).run()
        finally:
            with suppress(Exception):
                client.close(timeout=2)
    finally:
        if cluster is not None:
            with suppress(Exception):
                cluster.close(timeout=10)


def _own_cluster(workers: int) -> LocalCluster:
    import dask
    from distributed import LocalCluster

    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": _ATTEMPTS,
            # No worker imports what lies in the working directory.
            "distributed.nanny.pre-spawn-environ.PYTHONSAFEPATH": 1,
        }
    )
    # No limit: mapped traces count as memory of a worker, which would be ended for them.
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,
        dashboard_address=None,
        silence_logs=50,
    )


def _client(where: str | LocalCluster | None) -> Client:
    import logging

    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        # What accepts and says nothing, or speaks another protocol, would be waited for.
        return interruptible(
            lambda: Client(where, timeout=_CONNECT_S, set_as_default=False),
            limit_s=_CONNECT_S,
        )
    except Exception as e:
        # Another protocol's bytes are taken for lengths: no memory, no such codec, ...
        is_plain = isinstance(e, (OSError, TimeoutError, ValueError))
        said = (str(e) or type(e).__name__) if is_plain else "it uses another protocol"
        raise UsageError(f"scheduler {where}: no Dask scheduler answers there: {said}") from None


@dataclass
class _Driver:
    """A sweep on a cluster: waiting tasks, running tasks, workers."""

    client: Client
    called: str
    waiting: list[Task]
    deliver: Callable[[Finished], None]
    progress: ProgressCallback | None
    warn: Callable[[str], object]
    ended: SimpleQueue[Future[Any]] = field(default_factory=SimpleQueue)
    #: A running task, and the workers that it may go to.
    running: dict[Any, tuple[Task, frozenset[str]]] = field(default_factory=dict)
    #: Threads by worker, of those that can be used.
    good: dict[str, int] = field(default_factory=dict)
    #: Why others cannot.
    bad: dict[str, str] = field(default_factory=dict)
    #: Workers without a trace, by its identity.
    without: dict[str, dict[str, str]] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    looked: float = 0.0
    heard: float = 0.0

    def run(self) -> None:
        self.waiting.sort(key=lambda task: (-task.cost, task.number))
        whole = sum(task.trace.accesses * task.runs for task in self.waiting)
        done = 0
        self.heard = time.monotonic()
        try:
            while self.waiting or self.running:
                self._look()
                self._submit()
                with suppress(Empty):
                    done += self._take(self.ended.get(timeout=_WAIT_S))
                if self.progress is not None:
                    self.progress(done, whole, STAGE)
                if time.monotonic() - self.heard > _SILENT_S:
                    self._give_up(f"the scheduler of {self.called} does not answer any more")
        finally:
            with suppress(Exception):
                self.client.cancel(list(self.running))

    def _look(self) -> None:
        """See which workers there are, and hold new ones to the version."""
        now = time.monotonic()
        if self.client.status == "running":
            self.heard = now
        if now - self.looked < _LOOK_S or self.client.status != "running":
            return
        self.looked = now
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        except Exception:
            return  # It is silent; how long that goes well, `run` sees.
        self.good = {a: threads for a, threads in self.good.items() if a in workers}
        fresh = [a for a in workers if a not in self.good and a not in self.bad]
        for address in fresh:
            refused = self._refused(address)
            if refused is None:
                continue
            if refused:
                self.bad[address] = refused
                self.warn(f"worker {address}: {refused}: it gets no work")
            else:
                self.good[address] = int(workers[address].get("nthreads") or 1)
        bad = [a for a in workers if a in self.bad]
        if not self.good and bad and len(bad) == len(workers):
            raise UsageError(f"{self.called}: no worker can be used: {bad[0]}: {self.bad[bad[0]]}")
        self._free()

    def _refused(self, address: str) -> str | None:
        """Why a worker cannot be used; empty if it can; None if it left."""
        try:
            answers = self.client.run(probe, workers=[address], on_error="return")
        except Exception:
            return None
        found = answers.get(address)
        if isinstance(found, (ImportError, AttributeError)):
            return f"it has no destage that fits: {found}"
        if isinstance(found, BaseException) or found is None:
            return None
        return "" if tuple(found) == VERSION else _other_version(tuple(found), VERSION)

    def _free(self) -> None:
        """Take back what waits for workers that have all left."""
        for future, (task, allowed) in list(self.running.items()):
            if not allowed & self.good.keys() and not future.done():
                del self.running[future]
                with suppress(Exception):
                    self.client.cancel([future], force=True)
                self._again(task, "its workers have left")

    def _submit(self) -> None:
        room = _AHEAD * sum(self.good.values()) - len(self.running)
        place = 0
        while room > 0 and place < len(self.waiting):
            task = self.waiting[place]
            refusals = self.without.get(task.trace.identity, {})
            allowed = frozenset(self.good) - refusals.keys()
            if not allowed:
                if self.good:
                    del self.waiting[place]
                    address, why = next(iter(refusals.items()))
                    self.deliver(Finished(task, None, problem=f"worker {address}: {why}"))
                    continue
                return
            del self.waiting[place]
            attempt = self.attempts.get(task.number, 0)
            future = self.client.submit(
                work,
                task,
                VERSION,
                key=f"destage-{id(self):x}-{task.number}-{attempt}-{time.monotonic_ns():x}",
                workers=sorted(allowed),
                allow_other_workers=False,
                pure=False,
                priority=task.cost,
            )
            self.running[future] = (task, allowed)
            future.add_done_callback(self.ended.put)
            room -= 1

    def _take(self, future: Future[Any]) -> int:
        """Take the outcome of a task; return the page accesses that are done with it."""
        found = self.running.pop(future, None)
        if found is None:
            return 0
        task, _ = found
        if future.status != "finished":
            error = future.exception(timeout=1) if future.status == "error" else None
            if isinstance(error, DestageError):
                raise error
            self._again(task, str(error) if error else "the scheduler lost it")
            return 0
        try:
            answer: Finished = future.result(timeout=_SILENT_S)
        except (OSError, TimeoutError):
            # It was on its way when the scheduler went; `run` sees whether that answers again.
            self._again(task, "its result was lost on the way")
            return 0
        address = answer.host
        if answer.problem:
            refusals = self.without.setdefault(task.trace.identity, {})
            if address not in refusals:
                self.warn(f"worker {address}: {answer.problem}: it gets no work on this trace")
            refusals[address] = answer.problem
            self.waiting.insert(0, task)
            return 0
        self.deliver(replace(answer, task=task))
        return task.trace.accesses * task.runs

    def _again(self, task: Task, why: str) -> None:
        """A worker was lost with a task: another one may do it."""
        self.attempts[task.number] = self.attempts.get(task.number, 0) + 1
        if self.attempts[task.number] >= _ATTEMPTS:
            lost = f"task {task.number} ({task.trace_name}) was lost {_ATTEMPTS} times: {why}"
            self.deliver(Finished(task, None, problem=lost))
        else:
            self.waiting.insert(0, task)

    def _give_up(self, why: str) -> None:
        left = [*self.waiting, *(task for task, _ in self.running.values())]
        self.waiting.clear()
        self.running.clear()
        for task in left:
            self.deliver(Finished(task, None, problem=why))
