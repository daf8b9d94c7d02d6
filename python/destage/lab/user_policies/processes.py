"""Runs of policies of one's own side by side: Python runs one at a time, so each has a process.

The processes are forks: whatever is in memory is theirs too, the trace, a class out of a notebook,
what it closes over. Only results and counts come back. Where there is no forking, or only one thing
to do, all is done here, one after another.
"""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, TypeVar

from destage.base.io.interruptible import held

__all__ = ["CAN_FORK", "Task", "Watch", "side_by_side"]

#: Called with accesses done, accesses in all, and the stage.
Watch = Callable[[int, int, str], object]
T = TypeVar("T")
#: Something to do: it is given whom to tell of its progress, and returns its result.
Task = Callable[[Watch | None], T]

#: Elsewhere threads of the system's own libraries do not outlive a fork.
CAN_FORK = sys.platform == "linux"

#: How often progress is looked at, seconds.
_EVERY_S = 0.1


def side_by_side(
    tasks: Sequence[Task[T]],
    processes: int,
    watch: Watch | None = None,
    lost: Callable[[int, str], T] | None = None,
) -> Iterator[tuple[int, T]]:
    """Do all tasks, `processes` at a time; yield the number of each with its result.

    A task that fails in a process is done again here, so that its exception comes out as it is,
    whatever it carries. With `lost` every task has a process, and one that breaks down has the
    result that `lost` makes of the task's number and how the process ended. Results come in no
    order.
    """
    if not CAN_FORK or (lost is None and (processes < 2 or len(tasks) < 2)):
        for number, task in enumerate(tasks):
            yield number, task(watch)
        return
    crew = _Crew(tasks, watch, lost)
    try:
        yield from crew.work(min(processes, len(tasks)))
    finally:
        crew.end()


class _Crew:
    """The processes, and what each is at."""

    def __init__(
        self,
        tasks: Sequence[Task[Any]],
        watch: Watch | None,
        lost: Callable[[int, str], Any] | None,
    ) -> None:
        self.tasks, self.watch, self.lost = tasks, watch, lost
        self.context = multiprocessing.get_context("fork")
        # Done and in all, for each task; each is written by one process.
        self.counts = self.context.RawArray("Q", 2 * len(tasks))
        self.running: dict[Connection, tuple[int, ForkProcess]] = {}

    def work(self, processes: int) -> Iterator[tuple[int, Any]]:
        waiting = iter(range(len(self.tasks)))
        failed: list[int] = []
        while True:
            while not failed and len(self.running) < processes:
                number = next(waiting, None)
                if number is None:
                    break
                self._begin(number)
            if not self.running:
                break
            for ready in wait(list(self.running), timeout=_EVERY_S):
                assert isinstance(ready, Connection)
                number, process = self.running.pop(ready)
                sent = _received(ready)
                process.join()
                if sent:
                    yield number, sent[0]
                elif self.lost is not None:
                    yield number, self.lost(number, _ended(process.exitcode or 0))
                else:
                    failed.append(number)
            self._report()
        # The first that failed raises here; if it was the process that died, the rest follows.
        for number in sorted([*failed, *waiting]):
            yield number, self.tasks[number](self.watch)

    def _begin(self, number: int) -> None:
        receiver, sender = self.context.Pipe(duplex=False)
        process = self.context.Process(target=self._child, args=(number, sender), daemon=True)
        # A signal in between would leave a process without an owner.
        with held(), warnings.catch_warnings():
            # Python warns of forks beside threads; ours hold no lock between runs.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
            self.running[receiver] = (number, process)
        sender.close()

    def _child(self, number: int, sender: Connection) -> None:
        """In the process: do the task, send its result; nothing if it fails."""
        import signal

        # The parent ends its processes itself.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

        def note(done: int, whole: int, _stage: str) -> None:
            self.counts[2 * number], self.counts[2 * number + 1] = done, whole

        with suppress(BaseException):
            sender.send(self.tasks[number](note))
        sender.close()

    def _report(self) -> None:
        if self.watch is None:
            return
        done, whole = sum(self.counts[::2]), sum(self.counts[1::2])
        # Tasks that have not begun are taken to be as long as the others.
        begun = sum(1 for count in self.counts[1::2] if count)
        if begun:
            self.watch(done, whole * len(self.tasks) // begun, "replaying")

    def end(self) -> None:
        for receiver, (_, process) in self.running.items():
            process.terminate()
            process.join()
            receiver.close()
        self.running.clear()


def _ended(status: int) -> str:
    return f"signal {-status} ended it" if status < 0 else f"it ended with status {status}"


def _received(receiver: Connection) -> tuple[Any, ...]:
    """Result that a process sent; empty if it ended without one."""
    with receiver:
        try:
            return (receiver.recv(),)
        except (EOFError, OSError):
            return ()
