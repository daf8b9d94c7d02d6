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
from typing import Any

__all__ = ["CAN_FORK", "Task", "Watch", "side_by_side"]

#: Called with accesses done, accesses in all, and the stage.
Watch = Callable[[int, int, str], object]
#: Something to do: it is given whom to tell of its progress, and returns its result as text.
Task = Callable[[Watch | None], str]

#: Elsewhere threads of the system's own libraries do not outlive a fork.
CAN_FORK = sys.platform == "linux"

#: How often progress is looked at, seconds.
_EVERY_S = 0.1


def side_by_side(
    tasks: Sequence[Task], processes: int, watch: Watch | None = None
) -> Iterator[tuple[int, str]]:
    """Do all tasks, at most so many at a time; yield the number of each with its result.

    A task that fails in a process is done again here, so that its exception comes out as it is,
    whatever it carries. Results come in no order.
    """
    if processes < 2 or len(tasks) < 2 or not CAN_FORK:
        for number, task in enumerate(tasks):
            yield number, task(watch)
        return
    crew = _Crew(tasks, watch)
    try:
        yield from crew.work(min(processes, len(tasks)))
    finally:
        crew.end()


class _Crew:
    """The processes, and what each is at."""

    def __init__(self, tasks: Sequence[Task], watch: Watch | None) -> None:
        self.tasks, self.watch = tasks, watch
        self.context = multiprocessing.get_context("fork")
        # Done and in all, for each task; each is written by one process.
        self.counts = self.context.RawArray("Q", 2 * len(tasks))
        self.running: dict[Connection, tuple[int, ForkProcess]] = {}

    def work(self, processes: int) -> Iterator[tuple[int, str]]:
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
                text = _received(ready)
                process.join()
                if text is None:
                    failed.append(number)
                else:
                    yield number, text
            self._report()
        # The first that failed raises here; if it was the process that died, the rest follows.
        for number in sorted([*failed, *waiting]):
            yield number, self.tasks[number](self.watch)

    def _begin(self, number: int) -> None:
        receiver, sender = self.context.Pipe(duplex=False)
        process = self.context.Process(target=self._child, args=(number, sender), daemon=True)
        with warnings.catch_warnings():
            # Python warns of forks beside threads; ours hold no lock between runs.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        sender.close()
        self.running[receiver] = (number, process)

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


def _received(receiver: Connection) -> str | None:
    """What a process sent; None if it ended without."""
    with receiver:
        try:
            sent: Any = receiver.recv()
        except (EOFError, OSError):
            return None
    return sent if isinstance(sent, str) else None
