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
_ENDING = re.compile(r"(\.csv)?(\.gz|\.bz2|\.xz|\.zst)?$")

Row = tuple[int, str, str, int, int, int | None, str, int, str]


class TraceFile:
    """Rows of a recording, written as they come; the file has its name when it is complete."""

    def __init__(self, path: str, *, rotate_bytes: int | None, with_pid: bool) -> None:
        """Take the name. Raises `UsageError` for one that cannot be."""
        self.path, self.with_pid, self.rotate_bytes = path, with_pid, rotate_bytes
        self._is_parquet = path.lower().endswith(".parquet")
        if path == "-":
            raise UsageError("-o: a recording goes to a file, not to standard output")
        if self._is_parquet and rotate_bytes is not None:
            raise UsageError("--rotate writes text: name the output .csv or .csv.zst")
        self.header: list[str] = []
        self.files: list[str] = []
        self._done_bytes = self._now_bytes = 0
        self._is_full = False
        self._output: _destage.TraceOutput | None = None
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\n")

    @property
    def written_bytes(self) -> int:
        """Bytes of all files, as of the last `sync`."""
        return self._done_bytes + self._now_bytes

    def begin(self, header: Sequence[str]) -> None:
        """Open the first file with these comments."""
        self.header = list(header)
        self._open()

    def comment(self, line: str) -> None:
        """Write a line for people."""
        self._text.write(f"# {printable(line)}\n")

    def rows(self, rows: Iterable[Row]) -> None:
        """Write rows."""
        count = len(COLUMNS) + (len(FURTHER) if self.with_pid else 0)
        cut = [row[:count] for row in rows]
        if cut and self._is_full:
            self._close()
            self._open()
        self._writer.writerows(cut)

    def sync(self) -> None:
        """Hand over what was written; the next rows begin a file where this one is full."""
        assert self._output is not None
        self._output.put(self._taken())
        self._now_bytes = self._output.sync()
        self._is_full = self.rotate_bytes is not None and self._now_bytes >= self.rotate_bytes

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

    def _taken(self) -> bytes:
        text = self._text.getvalue()
        self._text.seek(0)
        self._text.truncate()
        return text.encode()

    def _open(self) -> None:
        self._is_full = False
        name = self._name(len(self.files))
        writing(Path(name))
        self._output = _destage.TraceOutput(f"{name}.csv" if self._is_parquet else name)
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
            text = f"{name}.csv"
            try:
                convert(text, name, to="parquet")
            finally:
                os.unlink(text)

    def _name(self, number: int) -> str:
        """`t.csv.zst`, or `t.000.csv.zst` where files follow each other."""
        if self.rotate_bytes is None:
            return self.path
        ending = _ENDING.search(self.path)
        at = ending.start() if ending else len(self.path)
        return f"{self.path[:at]}.{number:03}{self.path[at:]}"
