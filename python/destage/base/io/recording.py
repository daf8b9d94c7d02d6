"""Recordings of a run, under a temporary name until they are whole."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from destage.base.io.files import Destination, written_whole

__all__ = ["recording"]


@contextmanager
def recording(path: Destination | None) -> Iterator[Path | None]:
    """Where to write the recording, which becomes `path` when it is whole."""
    if path is None:
        yield None
    elif os.fspath(path) == "-":
        yield Path("-")
    else:
        with written_whole(path) as temporary:
            if not os.fspath(path).endswith(".gz"):
                yield temporary
                return
            with TemporaryDirectory(dir=temporary.parent, prefix=temporary.name) as folder:
                whole = Path(folder) / "recorded"
                yield whole
                # No name and no time: the same run gives the same bytes.
                with (
                    whole.open("rb") as source,
                    temporary.open("wb") as target,
                    gzip.GzipFile("", "wb", 6, target, mtime=0) as packed,
                ):
                    shutil.copyfileobj(source, packed, 1 << 20)
