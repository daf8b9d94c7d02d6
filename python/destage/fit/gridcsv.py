"""A grid of random reads and writes as CSV: a row for each point (`docs/spec/fit.md` 4.5)."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence

from destage.base.errors import DataError, UsageError
from destage.base.io.names import printable
from destage.fit.fiotext import UNKNOWN

__all__ = ["MAP_CACHE", "NAMING", "Point", "chosen", "is_grid", "names_of", "points"]

#: Size of the map's part in memory, KiB: 0, or the largest of the device, is the whole map.
MAP_CACHE = "map_cache_kib"
#: Columns that name a device.
NAMING = ("drive", "device", "interface", MAP_CACHE)
#: Columns of whole numbers, and what they are where they are missing or empty.
_COUNTS = {"iodepth": 1, "numjobs": 1, "block_bytes": 4096}
_TIMES = {"clat_mean_us": None, "clat_p50_us": 50.0, "clat_p99_us": 99.0, "clat_p999_us": 99.9}


class Point:
    """A row: the device's properties, and the measured numbers."""

    def __init__(self, line: int, row: Mapping[str, str], path: str) -> None:
        """Read it. Raises `DataError` naming the column."""
        self.row, self.path, self.line = row, path, line
        self.rw = row["rw"]
        if self.rw not in ("randread", "randwrite"):
            raise self._error("rw", "randread or randwrite")
        counts = {name: self._count(name, usual) for name, usual in _COUNTS.items()}
        self.depth, self.numjobs = counts["iodepth"], counts["numjobs"]
        self.block_bytes = counts["block_bytes"]
        self.iops = self._positive("iops")
        self.map_cache_kib = self._count(MAP_CACHE, 0, least=0)
        self.map_share = 1.0
        """Of the map in memory."""
        self.percentiles = {
            share: 1000 * self._positive(name)
            for name, share in _TIMES.items()
            if share is not None and row.get(name)
        }

    def _error(self, column: str, expected: str) -> DataError:
        found = printable(self.row.get(column) or "nothing")
        place = f"{printable(self.path)}:{self.line}: column {column}"
        return DataError(f"{place}: expected {expected}, found {found}")

    def _count(self, column: str, usual: int, least: int = 1) -> int:
        text = self.row.get(column) or ""
        if not text:
            return usual
        if not (text.isdecimal() and int(text) >= least):
            raise self._error(column, f"a whole number of at least {least}")
        return int(text)

    def _positive(self, column: str) -> float:
        try:
            value = float(self.row.get(column) or "")
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise self._error(column, "a number above 0")
        return value

    @property
    def options(self) -> dict[str, str]:
        """As fio's job options."""
        return {
            "rw": self.rw,
            "bs": str(self.block_bytes),
            "iodepth": str(self.depth),
            "numjobs": str(self.numjobs),
            "ioengine": self.row.get("ioengine") or "libaio",
            "direct": self.row.get("direct") or UNKNOWN,
        }


def is_grid(text: str) -> bool:
    """Whether a file is such a grid, by its first line."""
    names = text.partition("\n")[0].strip().lstrip("\ufeff").split(",")
    return {"rw", "iops"} <= set(names)


def points(text: str, path: str) -> list[Point]:
    """Every row. Raises `DataError` naming line and column."""
    reader = csv.DictReader(io.StringIO(text.lstrip("\ufeff")))
    found = []
    for row in reader:
        if None in row or None in row.values():
            count = len(reader.fieldnames or ())
            place = f"{printable(path)}:{reader.line_num}"
            raise DataError(f"{place}: expected {count} columns, as the first line has")
        found.append(Point(reader.line_num, row, path))
    if not found:
        raise DataError(f"{printable(path)}: expected a row for each point, found none")
    return found


def names_of(
    some: Sequence[Point], by: Sequence[str] = (), *, maps_apart: bool = True
) -> dict[str, list[Point]]:
    """The points of each device, by the columns that name it.

    A device with another part of its map in memory is another one, unless `maps_apart` is false:
    then its points have their shares of the map.
    """
    first = some[0].row
    for column in by:
        _check_column(some[0], column)
    columns = by or [column for column in NAMING if column in first]
    columns = [column for column in columns if maps_apart or column != MAP_CACHE]
    found: dict[str, list[Point]] = {}
    for point in some:
        values = [(column, value) for column in columns if (value := point.row[column])]
        found.setdefault(", ".join(map(_named, values)), []).append(point)
    for own in () if maps_apart else found.values():
        whole = max(point.map_cache_kib for point in own)
        for point in own:
            point.map_share = point.map_cache_kib / whole if point.map_cache_kib else 1.0
    return found


def _check_column(point: Point, column: str) -> None:
    if column not in point.row:
        raise UsageError(
            f"{printable(point.path)} has no column {printable(column)}:"
            f" it has {', '.join(map(printable, point.row))}"
        )


def _named(column_and_value: tuple[str, str]) -> str:
    column, value = column_and_value
    if column != MAP_CACHE:
        return value
    return f"map cache {value} KiB" if int(value) else "whole map"


def chosen(some: Sequence[Point], where: Mapping[str, str]) -> list[Point]:
    """The points whose columns have these values; of one device. Raises `DataError`."""
    for column, value in where.items():
        _check_column(some[0], column)
        known = sorted({point.row[column] for point in some})
        if value not in known:
            raise UsageError(
                f"--where {printable(column)}={printable(value)}: {printable(some[0].path)} has"
                f" {', '.join(map(printable, known))}"
            )
    kept = [p for p in some if all(p.row[column] == value for column, value in where.items())]
    if not kept:
        pairs = " and ".join(f"{printable(c)}={printable(v)}" for c, v in where.items())
        raise UsageError(f"--where: {printable(some[0].path)} has no row with {pairs}")
    found = names_of(kept)
    if len(found) > 1:
        each = (column for column in NAMING if len({p.row.get(column) for p in kept}) > 1)
        raise DataError(
            f"{printable(some[0].path)} has {len(found)} devices: {'; '.join(found)}."
            f" Choose one: --where {next(each)}=VALUE"
        )
    return kept
