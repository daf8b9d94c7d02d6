"""Names of files that are being written, and what processes that were killed have left of them."""

from __future__ import annotations

import hashlib
import os
import socket
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path

__all__ = ["host_mark", "is_alive", "sweep_up", "temporary_name"]

#: Of the name that a file will have, so much is in its temporary one: names have 255 bytes.
_KEPT = 40
#: Numbers of temporary files: two outputs may be open at a time.
_numbers = count()


@cache
def host_mark() -> str:
    """This host in the name of a temporary file: others may share the folder."""
    return hashlib.blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def is_alive(process: int) -> bool:
    """Whether a process of this host has this number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _beginning(name: str) -> str:
    return f".{name[:_KEPT]}.{host_mark()}-"


def temporary_name(name: str) -> str:
    """The temporary name of a file until it is whole: `.NAME.HOST-PROCESS-NUMBER.tmp`."""
    return f"{_beginning(name)}{os.getpid()}-{next(_numbers)}.tmp"


def sweep_up(folder: Path, name: str) -> None:
    """Remove what processes of this host that were killed have begun of a file of this name."""
    beginning = _beginning(name)
    left: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        left = [e.name for e in entries if e.name.startswith(beginning) and e.name.endswith(".tmp")]
    for begun in left:
        process = begun.removeprefix(beginning).partition("-")[0]
        if process.isdecimal() and not is_alive(int(process)):
            with suppress(OSError):
                (folder / begun).unlink()
