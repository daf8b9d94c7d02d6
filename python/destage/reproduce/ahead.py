"""Draws the next stand-in while the runs of this one keep the other processors busy."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

from destage.reproduce.standins import Recipe, draw

if TYPE_CHECKING:
    from destage._destage import StandIn

__all__ = ["Ahead"]

#: So many are kept that were begun: the one in use and the next.
KEPT = 2


class Ahead:
    """One thread that draws; what was not begun is drawn where it is asked for."""

    def __init__(self) -> None:
        """Begin nothing yet."""
        self.begun: dict[tuple[str, int], Future[StandIn]] = {}
        self.thread: ThreadPoolExecutor | None = None
        self.stopped = Event()

    def begin(self, made: Recipe, seed: int) -> None:
        """Draw a load in the background, unless that has begun."""
        key = (repr(made), seed)
        if key in self.begun:
            return
        self.thread = self.thread or ThreadPoolExecutor(1, "destage-stand-ins")
        while len(self.begun) >= KEPT:
            self.begun.pop(next(iter(self.begun))).cancel()
        self.begun[key] = self.thread.submit(draw, made, seed, _stopping(self.stopped))

    def drawn(self, made: Recipe, seed: int) -> StandIn:
        """Return a load, begun or not."""
        begun = self.begun.get((repr(made), seed))
        return draw(made, seed) if begun is None or begun.cancelled() else begun.result()

    def stop(self) -> None:
        """Leave off at once: what was begun is not wanted any more."""
        self.stopped.set()
        if self.thread is not None:
            self.thread.shutdown(wait=True, cancel_futures=True)
        self.thread, self.begun, self.stopped = None, {}, Event()


def _stopping(stopped: Event) -> Callable[..., object]:
    """What is called some ten times a second while a load is drawn."""

    def look(*_: object) -> None:
        if stopped.is_set():
            raise InterruptedError("not wanted any more")

    return look
