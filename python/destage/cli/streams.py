"""Standard streams that are closed, full, or without a reader.

What cannot be said is not said, but a result that cannot be printed is an error: status 74. A
broken pipe ends the command with 141, as it ends others, without a word.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TextIO, cast

from destage.base.io.names import printable

__all__ = ["BROKEN_PIPE", "finish", "is_closed", "normalise", "say", "unwritten"]

#: 128 and the number of SIGPIPE, which Python ignores.
BROKEN_PIPE = 141
#: The status of an output that could not be written.
UNWRITTEN = 74

#: Descriptors of standard streams that were closed when the process began.
_closed: set[int] = set()


class _Lenient(io.FileIO):
    """Standard error: failed writes are ignored."""

    def write(self, data: object) -> int:
        view = memoryview(cast(bytes, data))
        try:
            return super().write(view)
        except BrokenPipeError:
            raise
        except OSError:
            return view.nbytes


def normalise() -> None:
    """Normalise the standard streams: closed, full, broken pipe.

    A closed descriptor is opened again; else the next opened file would be standard output.
    """
    for descriptor, way in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            # Opened the wrong way round: reading and writing it are errors still.
            _closed.add(descriptor)
            opened = os.open(os.devnull, way)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = cast(TextIO, io.TextIOWrapper(io.FileIO(0, "r", closefd=False)))
    if sys.stdout is None:
        raw = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
        sys.stdout = io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape")
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Lenient(2, "w", closefd=False)),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=True,
    )


def is_closed(descriptor: int) -> bool:
    """Whether a standard stream was closed when the process began."""
    return descriptor in _closed


def say(message: str) -> None:
    """Print a message on standard error, after flushing standard output."""
    with suppress(OSError):
        sys.stdout.flush()
    print(f"destage: {_shown(message)}", file=sys.stderr, flush=True)


def _shown(message: str) -> str:
    """A message, whose line ends are ours, without what a terminal would take for a command."""
    return "\n".join(printable(line) for line in message.split("\n"))


def finish(status: int) -> int:
    """Flush the streams' buffers, and return the exit status."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = BROKEN_PIPE
        _drop(1)
    except OSError as e:
        if status:
            _drop(1)  # what was wrong has been said
        else:
            status = unwritten(e)
    try:
        sys.stderr.flush()
    except OSError:
        status = BROKEN_PIPE
        _drop(2)
    return status


def unwritten(error: OSError) -> int:
    """Say that standard output takes no more, and give the status for it."""
    _drop(1)
    with suppress(OSError):
        say(f"standard output: {'it is closed' if is_closed(1) else error.strerror or error}")
    return UNWRITTEN


def _drop(descriptor: int) -> None:
    """Drop the buffers, which the interpreter would write again at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
