"""Writing outputs whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from destage.base.errors import DataError, MissingFile, OutputError
from destage.base.io.interruptible import held
from destage.base.io.names import near_file, path_of, printable
from destage.base.io.path_conflicts import writing
from destage.base.io.stale_files import sweep_up, temporary_name

__all__ = [
    "Destination",
    "lines_of",
    "made_folder",
    "read_text",
    "remove_temporaries",
    "together",
    "unreadable",
    "write_whole",
    "written_whole",
]

#: More than any table of settings, and less than what fills the memory.
SETTINGS_BYTES = 16 << 20
#: More than any result that we write; read in pieces, since the length of a pipe is unknown.
RESULT_BYTES = 4 << 30
_PIECE = 1 << 20

#: Where an output goes: a path, or `-` for standard output.
Destination = str | os.PathLike[str]


_Begun = tuple[Path, Path, Destination]


def _refused(path: Destination, error: OSError) -> OutputError:
    if isinstance(error, BrokenPipeError):
        # The reader has gone: nothing is wrong with the output.
        raise error
    return OutputError(f"{printable(os.fspath(path))}: {error.strerror or error}")


def unreadable(path: Destination, error: OSError) -> MissingFile:
    """Return what to raise for an input that cannot be read."""
    why = error.strerror or str(error)
    if isinstance(error, FileNotFoundError):
        why = f"no such file{near_file(path)}"
    if isinstance(error, IsADirectoryError):
        why = "expected a file, found a folder"
    return MissingFile(f"{printable(os.fspath(path))}: {why}")


def read_text(path: Destination, what: str, limit: int = RESULT_BYTES) -> bytes:
    """Read a file of text, which is `what` in a sentence, up to `limit` bytes.

    Raises `MissingFile`, and `DataError` for an endless file or one with NUL bytes.
    """
    name = path_of(path)
    pieces = bytearray()
    try:
        with open(name, "rb") as file:
            while piece := file.read(_PIECE):
                if b"\0" in piece:
                    raise DataError(f"{printable(name)}: not {what}: the file has NUL bytes")
                pieces += piece
                if len(pieces) > limit:
                    raise DataError(f"{printable(name)}: it is not {what}: over {limit:,} bytes")
    except OSError as e:
        raise unreadable(path, e) from e
    return bytes(pieces)


#: Temporary files that are not renamed yet.
_open: set[Path] = set()


def remove_temporaries() -> None:
    """Remove incomplete files of a process that ends early."""
    for temporary in list(_open):
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def written_whole(path: Destination) -> Iterator[Path]:
    """Give a temporary path beside `path` that is renamed to it at the end, or removed on an error.

    Within `together` the file is renamed at the end of that. What a killed process has left of the
    same output goes first. Raises `OutputError` where that cannot be.
    """
    target = Path(path_of(path))
    writing(target)
    try:
        # What a link points to is written; the link stays.
        if target.is_symlink():
            target = target.resolve()
        if target.is_dir():
            raise OutputError(f"{printable(target)}: expected a file, found a directory")
        # Special files (/dev/null, a pipe) are written as they are: a rename would replace them.
        if target.exists() and not target.is_file():
            yield target
            return
        sweep_up(target.parent, target.name)
        temporary = target.with_name(temporary_name(target.name))
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as e:
        raise e if isinstance(e, OutputError) else _refused(path, e) from e
    _open.add(temporary)
    begun, is_whole = None, False
    named, waiting = _together.get() or ((), [])
    if os.path.realpath(path) in named:
        begun = waiting
    try:
        yield temporary
        is_whole = True
        if begun is not None:
            begun.append((temporary, target, path))
        else:
            os.replace(temporary, target)
    except OutputError as e:
        raise _of_target(e, temporary, path) from e
    except OSError as e:
        raise _refused(path, e) from e
    finally:
        if begun is None or not is_whole:
            _remove(temporary)


def _of_target(error: OutputError, temporary: Path, path: Destination) -> OutputError:
    """The error of a temporary file, as one of the file that was asked for."""
    if not str(error).startswith(str(temporary)):
        return error
    _, _, what = str(error).removeprefix(str(temporary)).partition(": ")
    return OutputError(f"{printable(os.fspath(path))}: {what}")


def _remove(temporary: Path) -> None:
    _open.discard(temporary)
    with suppress(OSError):
        temporary.unlink()


#: Files that wait for the end of `together`: temporary, target, as they were named. None: files
#: are put in place one by one.
_together: ContextVar[tuple[frozenset[str], list[_Begun]] | None] = ContextVar(
    "destage_together", default=None
)


@contextmanager
def together(paths: Sequence[str]) -> Iterator[None]:
    """Put these files, as far as they are written within, in place at its end: all, or none if a
    signal came.

    An error in one leaves the others what they were to be. Raises `OutputError`.
    """
    begun: list[_Begun] = []
    token, is_kept = _together.set((frozenset(map(os.path.realpath, paths)), begun)), False
    try:
        yield
        is_kept = True
    except KeyboardInterrupt:
        raise
    except BaseException:
        is_kept = True
        raise
    finally:
        _together.reset(token)
        with held():
            _put_in_place(begun, is_kept)


def _put_in_place(begun: list[_Begun], is_kept: bool) -> None:
    failure: OutputError | None = None
    for temporary, target, path in begun:
        try:
            if is_kept:
                os.replace(temporary, target)
        except OSError as e:
            failure = failure or _refused(path, e)
        finally:
            _remove(temporary)
    if failure is not None:
        raise failure


def made_folder(folder: Destination) -> Path:
    """The folder, made if it is not there. Raises `OutputError` if it cannot be."""
    target = Path(path_of(folder, "folder"))
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as e:
        raise OutputError(f"{printable(target)}: expected a folder, found a file") from e
    except OSError as e:
        raise _refused(folder, e) from e
    return target


@contextmanager
def folder_to_fill(folder: Destination) -> Iterator[Path]:
    """The folder, made if it is not there, and then gone again if nothing has come into it.

    Raises `OutputError` if it cannot be made.
    """
    was_there = Path(path_of(folder, "folder")).exists()
    made = made_folder(folder)
    try:
        yield made
    finally:
        if not was_there:
            with suppress(OSError):
                made.rmdir()


def write_whole(path: Destination, data: bytes | str | Callable[[], bytes]) -> None:
    """Write `data` to `path`, `-` being standard output.

    Raises `OutputError`; a file of that name is then as it was before.
    """
    if callable(data):
        data = data()
    if isinstance(data, str):
        data = data.encode()
    if os.fspath(path) == "-":
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except OSError as e:
            if isinstance(e, BrokenPipeError):
                raise
            raise _refused("standard output", e) from e
        return
    with written_whole(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def lines_of(path: Destination) -> Iterator[Iterator[str]]:
    """Give the lines of a text file, also of a `.gz` or `.xz`.

    Raises `MissingFile` and `DataError`.
    """
    # They would take a tenth of the time of a short command's start.
    import gzip
    import lzma

    suffix = Path(path).suffix
    opener = gzip.open if suffix == ".gz" else lzma.open if suffix == ".xz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            yield file
    except FileNotFoundError:
        raise MissingFile(f"{printable(path)}: there is no such file") from None
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise DataError(f"{printable(path)}: {error}") from None
