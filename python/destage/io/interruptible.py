"""Work of libraries that do not listen to signals, done so that Ctrl-C ends the wait for it.

Python runs its handlers on the main thread between byte codes. A query or a drawing that computes
for seconds in native code would keep that thread; so another one does the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

__all__ = ["interruptible"]

T = TypeVar("T")


def interruptible(work: Callable[[], T], stop: Callable[[], object] | None = None) -> T:
    """Do the work in a thread, and wait for it; `stop` tells it to end where a signal came.

    Work that cannot be told goes on in the background, and nobody waits for it.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()  # No signal comes here.
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as e:
            failed.append(e)

    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        if stop is not None:
            stop()
            thread.join()
        raise
    if failed:
        raise failed[0]
    return done[0]
