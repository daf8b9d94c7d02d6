"""Outputs that would destroy an input, or each other, found before anything runs.

The types of a command's flags (`cli.options`) name its inputs and outputs, which are compared
before its function is called. Later inputs, such as the trace that a result names, are
compared with its outputs when they are opened (`reading`), and no input is replaced (`writing`). So
no command has to remember any of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from destage.base.errors import MissingFile, UsageError
from destage.base.io.names import near_file, path_of, printable

__all__ = ["Named", "reading", "refuse", "watching", "writing"]

#: What a file is: device and inode, or the path that it will have.
Identity = tuple[int, int] | str

#: The standard streams, by descriptor.
STREAMS = {0: "standard input", 1: "standard output", 2: "standard error"}


@dataclass(frozen=True)
class Named:
    """A file, and how the user named it: `--csv own.csv`, `the trace own.csv`."""

    says: str
    #: A path, or a descriptor that is open.
    file: str | int

    @classmethod
    def output(cls, flag: str, path: str) -> Named:
        """A file that a flag writes; `-` is standard output."""
        return cls(f"{flag} {printable(path)}", 1 if path == "-" else path)

    @classmethod
    def input(cls, what: str, source: str | os.PathLike[str]) -> Named:
        """A file that is read; `-` is standard input, `a.zip!member` a file with others in it."""
        name = os.fspath(source)
        return cls(f"{what} {printable(name)}", 0 if name == "-" else file_of(name))


def file_of(source: str) -> str:
    """The file that holds a trace or device: without `!member`, without `[key=value]`."""
    if os.path.lexists(source):
        return source
    for mark in "![":
        for at in (k for k, c in enumerate(source) if c == mark):
            if os.path.isfile(source[:at]):
                return source[:at]
    return source


def identity(file: str | int) -> Identity | None:
    """Identity of a file, links followed; None if nothing stays in it: `/dev/null`, a pipe."""
    try:
        status = os.fstat(file) if isinstance(file, int) else os.stat(file)
    except (OSError, ValueError):
        # A missing file is its path. A closed stream is nothing.
        return None if isinstance(file, int) else os.path.realpath(file)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def refuse(outputs: Sequence[Named], inputs: Sequence[Named]) -> None:
    """Raise `UsageError` if an output is an input, or two outputs are one file."""
    if sum(o.file == 1 and o.says != STREAMS[1] for o in outputs) > 1:
        raise UsageError("only one output can go to standard output (-)")
    read: dict[Identity, Named] = {}
    for given in inputs:
        what = identity(given.file)
        if what is not None:
            read.setdefault(what, given)
    written: dict[Identity, Named] = {}
    for output in outputs:
        what = identity(output.file)
        if what is None:
            continue
        if what in read:
            raise UsageError(
                f"{output.says} is {read[what].says}, which would be overwritten: name another file"
            )
        other = written.setdefault(what, output)
        # A shell may join standard output and standard error, and knows why.
        joined = isinstance(other.file, int) and isinstance(output.file, int)
        if other is not output and not joined:
            raise UsageError(
                f"{other.says} and {output.says} are one file, and one of them would be lost:"
                " name another file"
            )


@dataclass
class _Watched:
    """Outputs of the command that runs, and inputs since it began."""

    outputs: Sequence[Named]
    read: dict[Identity, Named] = field(default_factory=dict)


_watched: ContextVar[_Watched | None] = ContextVar("destage_files", default=None)


@contextmanager
def watching(outputs: Sequence[Named], inputs: Sequence[Named]) -> Iterator[None]:
    """Refuse what clashes now, and what turns out to clash until this ends.

    The standard streams count as outputs. Raises `UsageError`.
    """
    streams = [Named(STREAMS[fd], fd) for fd in (1, 2)]
    named = [*outputs, *(s for s in streams if s.file not in [o.file for o in outputs])]
    refuse(named, inputs)
    watched = _Watched(named)
    for given in inputs:
        what = identity(given.file)
        if what is not None:
            watched.read[what] = given
    token = _watched.set(watched)
    try:
        yield
    finally:
        _watched.reset(token)


def reading(what: str, *sources: str | os.PathLike[str]) -> None:
    """Say that a command reads these files now.

    Raises `UsageError` if it is to write one, and `MissingFile` where a file is missing and another
    one has nearly its name.
    """
    for source in sources:
        file = file_of(os.fspath(source))
        near = "" if file == "-" or os.path.lexists(file) else near_file(file)
        if near:
            raise MissingFile(f"{printable(file)}: no such file{near}")
    watched = _watched.get()
    if watched is None:
        return
    inputs = [Named.input(what, source) for source in sources]
    refuse(watched.outputs, inputs)
    for given in inputs:
        found = identity(given.file)
        if found is not None:
            watched.read.setdefault(found, given)


def writing(path: str | os.PathLike[str]) -> None:
    """Say that a command replaces this file now. Raises `UsageError` if it has read it."""
    watched = _watched.get()
    name = path_of(path)
    found = None if watched is None or name == "-" else identity(name)
    if watched is not None and found is not None and found in watched.read:
        raise UsageError(
            f"{printable(name)} is {watched.read[found].says}, which would be overwritten:"
            " name another place"
        )
