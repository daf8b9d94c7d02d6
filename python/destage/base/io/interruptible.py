"""Signals at the wrong moment: libraries that do not listen, and work that must not be cut in two.

Python runs its handlers on the main thread between byte codes. A query or a drawing that computes
for seconds in native code would keep that thread; so another one does the work.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import TypeVar

__all__ = ["held", "interruptible"]

T = TypeVar("T")


def interruptible(
    work: Callable[[], T],
    stop: Callable[[], object] | None = None,
    limit_s: float | None = None,
) -> T:
    """Do the work in a thread, and wait for it; `stop` tells it to end where a signal came.

    Work that cannot be told goes on in the background, without a wait. Raises
    `TimeoutError` after `limit_s` seconds.
    """
    if limit_s is None and threading.current_thread() is not threading.main_thread():
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
        thread.join(limit_s)
    except BaseException:
        while stop is not None and thread.is_alive():
            # It may not have begun, or be where it cannot be told: then once more.
            with suppress(Exception):
                stop()
            thread.join(0.05)
        raise
    if failed:
        raise failed[0]
    if not done:
        raise TimeoutError(f"no answer in {limit_s:g} s")
    return done[0]


@contextmanager
def held() -> Iterator[None]:
    """Let signals wait: for the moments that files take to be put in place."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    late: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: late.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    # Who counts signals (`end_at_second_signal`) would end the process.
    wakeup = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        if wakeup != -1:
            signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for which, handler in before.items():
            signal.signal(which, handler)
    for number in late[:1]:
        handler = before[signal.Signals(number)]
        if callable(handler):
            # Not sent again: that would be the second one, which ends the process.
            handler(number, None)
        elif handler == signal.SIG_DFL:
            signal.raise_signal(number)
