"""A trace in parts: by time, by volume, by a hash of the address, by a number of requests.

One pass over the files, whatever they are packed in: the reader writes our own export into a pipe,
and its rows are dealt out at the other end. Memory is bounded, and one part is open at a time,
however many volumes there are.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from destage import _destage
from destage.base.errors import DestageError, OutputError, UsageError
from destage.base.io.files import Destination, made_folder
from destage.base.io.names import PathLike, paths_of, printable
from destage.base.io.path_conflicts import reading
from destage.base.io.stale_files import sweep_up, temporary_name
from destage.lab.options import ProgressCallback, reader_json

__all__ = ["Part", "split_trace"]

Row = list[str]

#: Rows that wait in memory for their parts.
WAITING = 200_000
#: Requests that begin in the same mebibyte of a volume stay together under `hash=`.
NEIGHBOURS_BYTES = 1 << 20

EXPECTED = "expected time=1h, volume, hash=8 or requests=1000000"
_SECONDS = {"ms": 1e-3, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True)
class Part:
    """A file that `split_trace` wrote."""

    path: Path
    part: str
    """The volume, or the number of the part, from 0."""
    requests: int


@dataclass(frozen=True)
class _By:
    """The key by which requests are divided."""

    key: Callable[[int, Row], int | str]
    #: Most parts; None if unknown.
    of: int | None = None


def split_trace(
    paths: PathLike | Sequence[PathLike],
    folder: Destination,
    *,
    by: str,
    packed: bool = False,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> list[Part]:
    """Write a trace to several files, in one pass over it.

    Parameters:
        paths, options: as in `open_trace`; several files are one trace.
        folder: where the parts go; it is made if it is not there. They are called after the first
            file, and are what `convert(to="csv")` writes: every format can be split.
        by: `"time=1h"` (s, min, h, d), `"volume"`, `"hash=8"` (so many parts; what begins in the
            same mebibyte of a volume stays together), or `"requests=1000000"`.
        packed: with gzip.

    Times count from the first request of the whole trace. A part appears when all are whole.

    Raises as `open_trace`, and `OutputError`.
    """
    sources, chosen = paths_of(paths), _by(by)
    target = made_folder(folder)
    sweep_up(target, _SPLIT)
    reading("the trace", *sources)
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", sources[0].name.partition(".")[0]) or "trace"
    parts = _Parts(target, packed)
    try:
        for number, row in enumerate(_rows(sources, reader_json(options), progress)):
            parts.put(chosen.key(number, row), row)
        return parts.finish(stem, chosen.of)
    except OSError as e:
        if isinstance(e, DestageError):
            raise
        raise OutputError(f"{printable(target)}: {e.strerror or e}") from e
    finally:
        parts.end()


def _by(text: str) -> _By:
    """The kind of split and its value in `by`. Raises `UsageError`."""
    word, equals, value = (part.strip() for part in str(text).partition("="))
    if word == "volume" and not equals:
        return _By(lambda _, row: row[1])
    if word == "time" and equals:
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)", value)
        nanos = round(float(found[1]) * _SECONDS.get(found[2], 0) * 1e9) if found else 0
        if nanos < 1:
            raise UsageError(f"by {text}: expected a time such as time=1h, time=30min or time=90s")
        return _By(lambda _, row: int(row[0]) // nanos)
    if word in ("hash", "requests") and equals:
        plain = value.replace("_", "")
        count = int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 19 else 0
        if count < 1:
            raise UsageError(f"by {text}: expected a whole number from 1, as in {word}=1000")
        if word == "requests":
            return _By(lambda number, _: number // count)
        if count > 100_000:
            raise UsageError(f"by {text}: expected at most 100,000 parts")
        return _By(lambda _, row: _hashed(row) % count, count)
    raise UsageError(f"by {text}: {EXPECTED}")


def _hashed(row: Row) -> int:
    """A number that volume and address determine."""
    text = f"{row[1]}\0{int(row[3]) // NEIGHBOURS_BYTES}"
    data = text.encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _rows(sources: Sequence[Path], reader: str, progress: ProgressCallback | None) -> Iterator[Row]:
    """The requests as rows of our export: time_ns, device, op, offset, length, response."""
    read_end, write_end = os.pipe()
    stop = threading.Event()
    raised: list[BaseException] = []

    def watch(done: int, whole: int | None, stage: str) -> None:
        if stop.is_set():
            raise InterruptedError
        if progress is not None:
            progress(done, whole, stage)

    def work() -> None:
        try:
            # The reader opens the pipe once more, under the name that the system has for it.
            there = Path(f"/dev/fd/{write_end}")
            _destage.convert(sources, reader, "csv", there, False, None, watch)
        except BaseException as e:
            raised.append(e)
        finally:
            os.close(write_end)

    worker = threading.Thread(target=work, name="split", daemon=True)
    worker.start()
    try:
        with open(read_end, encoding="utf-8", errors="surrogateescape", newline="") as lines:
            rows = csv.reader(lines)
            next(rows, None)
            yield from rows
    finally:
        stop.set()
        worker.join()
    if raised:
        raise raised[0]


#: Parts without a name yet are called after this.
_SPLIT = "destage-split"


@dataclass
class _Parts:
    """Files that grow, until all have their names."""

    folder: Path
    packed: bool
    waiting: dict[int | str, list[Row]] = field(default_factory=dict)
    count: int = 0
    files: dict[int | str, Path] = field(default_factory=dict)
    requests: dict[int | str, int] = field(default_factory=dict)

    def put(self, key: int | str, row: Row) -> None:
        self.waiting.setdefault(key, []).append(row)
        self.count += 1
        if self.count >= WAITING:
            self._write()

    def _write(self) -> None:
        for key, rows in self.waiting.items():
            fresh = key not in self.files
            if fresh:
                self.files[key] = self.folder / temporary_name(_SPLIT)
            with self._opened(self.files[key]) as file:
                writer = csv.writer(file, lineterminator="\n")
                if fresh:
                    writer.writerow(HEADER)
                writer.writerows(rows)
            self.requests[key] = self.requests.get(key, 0) + len(rows)
        self.waiting, self.count = {}, 0

    def _opened(self, path: Path) -> IO[str]:
        shared: Any = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
        if self.packed:
            # Members of gzip one after the other are one file.
            return cast("IO[str]", gzip.open(path, "at", 6, **shared))
        return cast("IO[str]", open(path, "a", **shared))

    def finish(self, stem: str, of: int | None) -> list[Part]:
        """Give every part its name; in the order of parts."""
        self._write()
        ending = ".csv.gz" if self.packed else ".csv"
        last = max((key for key in self.files if isinstance(key, int)), default=0)
        width = len(str(last if of is None else of - 1))
        parts = []
        for key in sorted(self.files, key=_in_order):
            part = f"{key:0{width}}" if isinstance(key, int) else key
            path = self.folder / f"{stem}-{_file_name(part)}{ending}"
            os.replace(self.files[key], path)
            parts.append(Part(path, printable(part), self.requests[key]))
        self.files = {}
        return parts

    def end(self) -> None:
        """Remove what did not get its name."""
        for path in self.files.values():
            with suppress(FileNotFoundError):
                path.unlink()


HEADER = ("time_ns", "device", "op", "offset_bytes", "length_bytes", "response_ns")


def _in_order(key: int | str) -> list[tuple[int, int | str]]:
    """Numbers as numbers, also within names: `hm_2` before `hm_10`."""
    if isinstance(key, int):
        return [(0, key)]
    return [
        (0, int(piece)) if piece.isascii() and piece.isdigit() else (1, piece)
        for piece in re.split(r"([0-9]+)", key)
    ]


def _file_name(part: str) -> str:
    """A file name: characters other than letters, digits, `.`, `_`, `-` become their code."""
    each = part.encode("utf-8", "surrogateescape")
    return "".join(
        chr(byte) if re.fullmatch(r"[A-Za-z0-9._-]", chr(byte)) else f"%{byte:02x}" for byte in each
    )
