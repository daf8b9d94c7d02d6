"""The trace's file: Destage's own CSV with comments, in one file or several (13.5)."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from destage import _destage
from destage.base.errors import UsageError
from destage.base.io.names import printable
from destage.base.io.path_conflicts import writing
from destage.lab.conversion import convert

__all__ = ["TraceFile"]

COLUMNS = ("time_ns", "device", "op", "offset_bytes", "length_bytes", "response_ns", "flags")
FURTHER = ("pid", "process")
_ENDING = re.compile(r"\.csv(\.gz|\.bz2|\.xz|\.zst)?$", re.IGNORECASE)
#: Text that is handed over at a time, so that a file is not much larger than it may be.
_PIECE_CHARS = 32 << 10
#: Or this share of the size that a file may have.
_PIECE_SHARE = 16

Row = tuple[int, str, str, int, int, int | None, str, int, str]


class TraceFile:
    """Rows of a recording, written as they come; the file has its name when it is complete."""

    def __init__(
        self, path: str, *, rotate_bytes: int | None, most_bytes: int | None, with_pid: bool
    ) -> None:
        """Take the name. Raises `UsageError` for an invalid one."""
        self.path, self.with_pid = path, with_pid
        self.rotate_bytes, self.most_bytes = rotate_bytes, most_bytes
        self._is_parquet = path.lower().endswith(".parquet")
        if path == "-":
            raise UsageError("-o: a recording goes to a file, not to standard output")
        if not self._is_parquet and not _ENDING.search(path) and not _is_special(path):
            raise UsageError(
                f"-o: expected a name that ends in .csv, .csv.gz, .csv.zst or .parquet, found"
                f" {printable(path)}"
            )
        if self._is_parquet and rotate_bytes is not None:
            raise UsageError("--rotate writes text: name the output .csv or .csv.zst")
        self.header: list[str] = []
        self.files: list[str] = []
        self.left: list[str] = []
        """Files that recordings of this name have left which were killed."""
        self._done_bytes = self._now_bytes = 0
        limits = [n // _PIECE_SHARE for n in (rotate_bytes, most_bytes) if n is not None]
        self._piece = max(1, min([_PIECE_CHARS, *limits]))
        self._output: _destage.TraceOutput | None = None
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\n")

    @property
    def is_full(self) -> bool:
        """Whether all files together have the size that they may have, as of the last `sync`."""
        return self._has_most()

    def _has_most(self) -> bool:
        written = self._done_bytes + self._now_bytes
        return self.most_bytes is not None and written >= self.most_bytes

    def begin(self, header: Sequence[str]) -> None:
        """Open the first file with these comments."""
        self.header = list(header)
        self._open()

    def comment(self, line: str) -> None:
        """Write a line for people."""
        self._text.write(f"# {printable(line)}\n")

    def rows(self, rows: Iterable[Row]) -> None:
        """Write rows, as many as there is room for; a file that is full is followed by a next."""
        count = len(COLUMNS) + (len(FURTHER) if self.with_pid else 0)
        if self.is_full:
            return
        for row in rows:
            if self.rotate_bytes is not None and self._now_bytes >= self.rotate_bytes:
                self._close()
                self._open()
            self._writer.writerow(row[:count])
            if self._text.tell() >= self._piece:
                self.sync()
                if self._has_most():
                    return

    def sync(self) -> None:
        """Return the written bytes."""
        assert self._output is not None
        self._output.put(self._taken())
        self._now_bytes = self._output.sync()

    def finish(self, footer: Sequence[str]) -> None:
        """Write the last comments and give the file its name."""
        for line in footer:
            self.comment(line)
        self._close()

    def discard(self) -> None:
        """Remove the file that is not complete."""
        if self._output is not None:
            self._output.discard()
            self._output = None

    def keep_whole(self) -> None:
        """After an error: keep what can be read of the file that is not complete."""
        if self._output is not None:
            output, self._output = self._output, None
            if output.keep_whole():
                self.files.append(self._text_name(self._name(len(self.files))))

    def _taken(self) -> bytes:
        text = self._text.getvalue()
        self._text.seek(0)
        self._text.truncate()
        return text.encode()

    def _open(self) -> None:
        name = self._name(len(self.files))
        writing(Path(name))
        self._output = _destage.TraceOutput(self._text_name(name))
        self.left += map(str, self._output.left)
        for line in self.header:
            self.comment(line)
        self._writer.writerow([*COLUMNS, *(FURTHER if self.with_pid else ())])

    def _close(self) -> None:
        assert self._output is not None
        name = self._name(len(self.files))
        self._output.put(self._taken())
        self._now_bytes = self._output.sync()
        self._output.finish()
        self._output = None
        self._done_bytes += self._now_bytes
        self._now_bytes = 0
        self.files.append(name)
        if self._is_parquet:
            text = self._text_name(name)
            self.files[-1] = text
            convert(text, name, to="parquet")
            os.unlink(text)
            self.files[-1] = name

    def _text_name(self, name: str) -> str:
        return f"{name}.csv" if self._is_parquet else name

    def _name(self, number: int) -> str:
        """`t.csv.zst`, or `t.000.csv.zst` where files follow each other."""
        if self.rotate_bytes is None:
            return self.path
        ending = _ENDING.search(self.path)
        at = ending.start() if ending else len(self.path)
        return f"{self.path[:at]}.{number:03}{self.path[at:]}"


def _is_special(path: str) -> bool:
    """A pipe or a device, whose name says nothing."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
