"""Writing outputs whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from destage.errors import MissingFile, OutputError

__all__ = ["Destination", "made_folder", "unreadable", "write_whole", "written_whole"]

#: Where an output goes: a path, or `-` for standard output.
Destination = str | os.PathLike[str]


def _refused(path: Destination, error: OSError) -> OutputError:
    return OutputError(f"{os.fspath(path)}: {error.strerror or error}")


def unreadable(path: Destination, error: OSError) -> MissingFile:
    """Return what to raise for an input that cannot be read."""
    why = error.strerror or str(error)
    if isinstance(error, FileNotFoundError):
        why = "no such file"
    if isinstance(error, IsADirectoryError):
        why = "expected a file, found a folder"
    return MissingFile(f"{os.fspath(path)}: {why}")


@contextmanager
def written_whole(path: Destination) -> Iterator[Path]:
    """Give a temporary path beside `path` that is renamed to it at the end, or removed on an error.

    Raises `OutputError` where that cannot be.
    """
    target = Path(path)
    try:
        # What a link points to is written; the link stays.
        if target.is_symlink():
            target = target.resolve()
        if target.is_dir():
            raise OutputError(f"{target}: expected a file, found a directory")
        # Special files (/dev/null, a pipe) are written as they are: a rename would replace them.
        if target.exists() and not target.is_file():
            yield target
            return
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as e:
        raise e if isinstance(e, OutputError) else _refused(path, e) from e
    try:
        try:
            yield temporary
            os.replace(temporary, target)
        except OSError as e:
            raise e if isinstance(e, OutputError) else _refused(path, e) from e
    finally:
        with suppress(OSError):
            temporary.unlink()


def made_folder(folder: Destination) -> Path:
    """The folder, made if it is not there. Raises `OutputError` if it cannot be."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as e:
        raise OutputError(f"{target}: expected a folder, found a file") from e
    except OSError as e:
        raise _refused(folder, e) from e
    return target


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
