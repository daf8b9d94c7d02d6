"""Ctrl-C, SIGTERM, SIGHUP and SIGQUIT end a command at once; a second one always does.

The first raises `Stopped`, so that everything is put away on the way out. Work that waits for a
pipe and does not hear of it is left after a second, and the process ends here.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

__all__ = ["Stopped", "arm", "is_heard", "listen", "said", "status"]

#: Signals that are handled, and their messages.
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
if sys.platform != "win32":
    SIGNALS |= {signal.SIGHUP: "the terminal hung up", signal.SIGQUIT: "quit"}

_first: signal.Signals | None = None


class Stopped(KeyboardInterrupt):
    """A signal has told the command to stop."""


def listen() -> None:
    """Raise `Stopped` at the first signal; ignored signals (`nohup`, `&`) stay ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    sys.unraisablehook = _unraised


def arm() -> None:
    """See to it that a command ends where Python cannot listen: behind native code."""
    from destage import _destage

    heard = [number for number in SIGNALS if signal.getsignal(number) is _stop]
    if heard:
        descriptor = _destage.end_at_second_signal([int(number) for number in heard])
        if descriptor is not None:
            os.set_blocking(descriptor, False)
            signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
        _destage.when_stuck(_leave)


def is_heard() -> bool:
    """Whether a signal has come."""
    return _first is not None


def status() -> int:
    """Exit status after a signal; 130 if there was none (`KeyboardInterrupt` of others)."""
    return 128 + int(_first or signal.SIGINT)


def said() -> str:
    """Message after a signal."""
    return SIGNALS[_first or signal.SIGINT]


def _stop(number: int, _: FrameType | None) -> None:
    global _first
    if _first is not None:
        os._exit(128 + number)
    _first = signal.Signals(number)
    raise Stopped


#: How soon a signal that was lost is raised again, seconds.
_SOON_S = 0.01


def _unraised(lost: sys.UnraisableHookArgs) -> None:
    """Raise `Stopped` again where Python dropped it: in a finalizer, or in a lock of an import."""
    if isinstance(lost.exc_value, Stopped):
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, _raise)
            signal.setitimer(signal.ITIMER_REAL, _SOON_S)
    else:
        sys.__unraisablehook__(lost)


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise Stopped


def _leave() -> None:
    """End the process as if its work had stopped: it waits for what may never come."""
    if _first is None:
        return
    from destage.base.io.files import remove_temporaries

    remove_temporaries()
    try:
        os.write(2, f"destage: {said()}\n".encode())
    finally:
        os._exit(status())
