"""Several comparisons side by side: few have as many runs of one length as there are processors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock
from typing import TypeVar

from destage.options import ProgressCallback

__all__ = ["Lanes", "Watch", "lanes_of"]

T = TypeVar("T")
R = TypeVar("R")

#: Runs that a comparison has at least, nearly always: so many threads find work in it.
RUNS = 4


@dataclass(frozen=True)
class Lanes:
    """How many comparisons go on at a time, and how many threads each has."""

    count: int
    jobs: int

    def each(self, coming: Iterator[T], work: Callable[[T], R], stop: Event) -> list[R]:
        """Do the work on all that comes; what it gave, in the order in which it came.

        What comes is made by the lane that takes it, one at a time and in its order. `stop` is set
        when a lane has failed or somebody pressed Ctrl-C: what comes and the work look at it, and
        raise `InterruptedError`, which is not passed on. Of several failures the one is raised
        that came first in that order.
        """
        if self.count == 1:
            return [work(one) for one in coming]
        taking, numbered = Lock(), enumerate(coming)
        taken, found, failed = 0, dict[int, R](), dict[int, BaseException]()

        def lane() -> None:
            nonlocal taken
            number = 0
            try:
                while not stop.is_set():
                    with taking:
                        number = taken
                        number, one = next(numbered)
                        taken = number + 1
                    found[number] = work(one)
            except StopIteration:
                return
            except BaseException as e:
                failed[number] = e
                stop.set()

        with ThreadPoolExecutor(self.count, "destage-lane") as pool:
            lanes = [pool.submit(lane) for _ in range(self.count)]
            try:
                wait(lanes)
            finally:
                stop.set()
        told = [e for _, e in sorted(failed.items()) if not isinstance(e, InterruptedError)]
        if told:
            raise told[0]
        return [found[number] for number in sorted(found)]


def lanes_of(threads: int) -> Lanes:
    """One lane for one thread, else two or more, so that one finds work while another ends."""
    count = min(threads, max(2, threads // RUNS))
    return Lanes(count, -(-threads // count))


class Watch:
    """Tells of the comparison that has gone on longest, and ends all when they are to stop."""

    def __init__(self, progress: ProgressCallback | None) -> None:
        """Take whom to tell; nobody, if nobody looks."""
        self.progress = progress
        self.stop = Event()
        self.going: list[str] = []
        self.telling = Lock()

    def opening(self, done: int, total: int | None, stage: str) -> object:
        """Follow what comes while it is made: nothing is told where comparisons go on."""
        return self._tell(done, total, stage, stage if not self.going else None)

    @contextmanager
    def told_of(self, name: str) -> Iterator[ProgressCallback]:
        """Follow a comparison under its name."""

        def followed(done: int, total: int | None, _: str) -> object:
            return self._tell(done, total, name, self.going[0])

        self.going.append(name)
        try:
            yield followed
        finally:
            self.going.remove(name)

    def _tell(self, done: int, total: int | None, name: str, shown: str | None) -> object:
        if self.stop.is_set():
            raise InterruptedError("not wanted any more")
        if self.progress is None or name != shown:
            return None
        with self.telling:
            return self.progress(done, total, name)
