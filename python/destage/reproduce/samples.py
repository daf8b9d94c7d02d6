"""The recordings and excerpts of "independent traces": where they are, and whether they are whole.

Each is known by the SHA-256 of its unpacked content (`papers/workloads.toml`), so a file may lie
packed or not. `fetch` takes those that are missing from a folder or a URL, and keeps only files
whose content is right. A recording that a user makes again has other content, and a name that says
so: `own-NAME`, with the ending of its format.
"""

from __future__ import annotations

import hashlib
import lzma
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from destage.base.errors import DataError, MissingFile, UsageError
from destage.base.io.files import made_folder, written_whole
from destage.reproduce.published import Recording, catalogue

__all__ = [
    "MISSING",
    "PRESENT",
    "REPEATED",
    "TAKEN",
    "Sample",
    "fetch",
    "repeated",
    "samples",
    "verify",
]

#: States of a sample in a folder.
PRESENT, TAKEN, MISSING, REPEATED = "verified", "fetched", "missing", "repeated"

#: Bytes that are read at once, and seconds that a server may be silent.
PIECE, PATIENCE = 1 << 20, 60.0


@dataclass(frozen=True)
class Sample:
    """A recording or an excerpt, and its state in a folder."""

    recording: Recording
    state: str
    path: Path | None

    @property
    def name(self) -> str:
        """The name that pages use."""
        return self.recording.name


def samples() -> Mapping[str, Recording]:
    """Return all recordings and excerpts with a checksum, by name."""
    return {name: one for name, one in catalogue().recordings.items() if one.sha256}


def repeated(one: Recording, files: Iterable[Path]) -> Path | None:
    """Return a user's own recording of the same workload, by its name."""
    if one.kind != "recording":
        return None
    return next((path for path in files if path.name.startswith(f"own-{one.name}.")), None)


def verify(path: Path, one: Recording) -> None:
    """Raise `DataError` unless a file has the content of a sample."""
    _check(path, path.name, one)


def fetch(
    folder: Path | str,
    source: str | None = None,
    *,
    known: Mapping[str, Recording] | None = None,
) -> list[Sample]:
    """Check the samples in a folder, and take missing ones from a folder or a URL.

    Raises `DataError` for a file with other content (it stays as it is; one that was fetched is
    removed), `MissingFile` for a source that is not there, `UsageError` for a URL of another kind.
    """
    where = Path(folder)
    return [_sample(one, where, source) for one in (known or samples()).values()]


def _sample(one: Recording, folder: Path, source: str | None) -> Sample:
    for name in one.files:
        path = folder / name
        if path.is_file():
            _check(path, name, one)
            return Sample(one, PRESENT, path)
    found = next(_offered(one, source), None) if source is not None else None
    if found is None:
        own = repeated(one, sorted(folder.glob("own-*")))
        return Sample(one, REPEATED if own else MISSING, own)
    name, content = found
    path = made_folder(folder) / name
    with content, written_whole(path) as temporary:
        with temporary.open("wb") as file:
            shutil.copyfileobj(content, file, PIECE)
        _check(temporary, name, one)
    return Sample(one, TAKEN, path)


def _offered(one: Recording, source: str) -> Iterator[tuple[str, IO[bytes]]]:
    """The files of a sample that a source has, opened."""
    scheme = urlsplit(source).scheme
    if scheme in ("http", "https"):
        for name in one.files:
            try:
                yield name, urlopen(f"{source.rstrip('/')}/{quote(name)}", timeout=PATIENCE)
            except OSError as e:
                if not isinstance(e, HTTPError) or e.code != HTTPStatus.NOT_FOUND:
                    raise MissingFile(f"{source}: {name}: {e}") from e
    elif "://" in source:
        raise UsageError(f"--from: expected a folder or an http URL, found {source}")
    elif not Path(source).is_dir():
        raise MissingFile(f"{source}: there is no such folder")
    else:
        for path in (Path(source) / name for name in one.files):
            if path.is_file():
                yield path.name, path.open("rb")


def _check(path: Path, name: str, one: Recording) -> None:
    """Raise `DataError` unless the unpacked content has the sample's checksum."""
    state, place = path.stat(), path.parent / name
    try:
        found = _sha256(path, name.endswith(".xz"), (state.st_mtime_ns, state.st_size))
    except (lzma.LZMAError, EOFError) as e:
        raise DataError(f"{place}: expected an xz file of {one.name}: {e}") from e
    if found != one.sha256:
        own = f"; name a recording of your own own-{name}" if one.kind == "recording" else ""
        raise DataError(
            f"{place}: this is not {one.name}, or it is damaged:"
            f" expected SHA-256 {one.sha256}, found {found}{own}"
        )


@cache
def _sha256(path: Path, packed: bool, _state: tuple[int, int]) -> str:
    """The checksum of a file's unpacked content; read again if its time or size changes."""
    digest = hashlib.sha256()
    with lzma.open(path) if packed else path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
