"""`read_smart`: writes, WAF and life left of a real SSD, from one SMART reading or two."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from destage.base.errors import DataError, UsageError
from destage.base.io.files import read_text
from destage.model.prices import Prices, prices_of
from destage.model.smart import HOST_NAMES, HOURS_A_YEAR, Reading, reading_of
from destage.model.words import NONE, percent, plain, significant, volume
from destage.show.tables.frames import Tabled, by_column
from destage.show.tables.table import Cell, Column, Table

Number = TypeVar("Number", int, float)

__all__ = ["SmartAnswer", "read_smart"]

#: No SSD compresses so well, or collects so much: beyond these the units are doubted.
LEAST_WAF, MOST_WAF = 0.5, 100


@dataclass(frozen=True, repr=False)
class SmartAnswer(Tabled):
    """What an SSD wrote between two readings, or in its life so far. As a table it has one row."""

    last: Reading
    """The reading, or the later one."""
    first: Reading | None
    """The earlier one; None: the answer is of the whole life of the SSD."""
    prices: Prices
    """The rating of the SSD (`tbw`)."""

    @property
    def hours(self) -> float | None:
        """Hours between the readings, by their clock if both have one; else powered-on hours."""
        last, first = self.last, self.first
        if first is None:
            return last.hours or None
        if last.time_s is not None and first.time_s is not None:
            return (last.time_s - first.time_s) / 3600
        return _less(last.hours, first.hours)

    @property
    def host_bytes(self) -> int | None:
        """Bytes that the host wrote in this time."""
        return _less(self.last.host_bytes, self.first.host_bytes if self.first else 0)

    @property
    def nand_bytes(self) -> int | None:
        """Bytes written to the NAND in this time."""
        known = _less(self.last.nand_bytes, self.first.nand_bytes if self.first else 0)
        if known is not None or self.host_bytes is None or self.waf is None:
            return known
        return round(self.host_bytes * self.waf)

    @property
    def waf(self) -> float | None:
        """NAND writes over host writes; None where the SSD does not count both."""
        host = self.host_bytes
        nand = _less(self.last.nand_bytes, self.first.nand_bytes if self.first else 0)
        if nand is not None and host:
            return nand / host
        if self.last.pages is None or (self.first is not None and self.first.pages is None):
            return None
        before = self.first.pages if self.first and self.first.pages else (0, 0)
        pages = [after - one for after, one in zip(self.last.pages, before, strict=True)]
        return sum(pages) / pages[0] if pages[0] else None

    @property
    def bytes_per_day(self) -> float | None:
        """Host writes of a day."""
        host, hours = self.host_bytes, self.hours
        return None if host is None or not hours else host / hours * 24

    @property
    def drive_writes_per_day(self) -> float | None:
        """The same over the capacity."""
        rate, capacity = self.bytes_per_day, self.last.capacity_bytes
        return None if rate is None or not capacity else rate / capacity

    @property
    def years_by_wear(self) -> float | None:
        """Years left at this rate, by the SSD's own measure of wear; None where it did not move."""
        used = self.last.used
        worn = used if self.first is None else _less(used, self.first.used)
        if used is None or not worn or not self.hours:
            return None
        return max(0.0, 1 - used) / worn * self.hours / HOURS_A_YEAR

    @property
    def years_by_rating(self) -> float | None:
        """Years left at this rate, by the rated writes (`tbw`)."""
        rate, host = self.bytes_per_day, self.last.host_bytes
        if self.prices.tbw is None or not rate or host is None:
            return None
        return max(0.0, self.prices.tbw - host) / rate * 24 / HOURS_A_YEAR

    @property
    def answer(self) -> str:
        """A sentence: the years left at this rate, the fewer of wear and rating; empty if unknown.

        Without them, the writes of a day.
        """
        rate, ssd = self.bytes_per_day, self.last.model or "the SSD"
        ends = {"wear": self.years_by_wear, "rating": self.years_by_rating}
        known = [(years, by) for by, years in ends.items() if years is not None]
        if rate is None:
            return ""
        if not known:
            return f"{ssd}: {volume(rate)} of host writes a day"
        years, by = min(known)
        return f"{ssd}: {significant(years)} years left at {volume(rate)} a day, by {by}"

    def _row(self) -> dict[str, Any]:
        last = self.last
        return {
            "model": last.model,
            "capacity_bytes": last.capacity_bytes,
            "power_on_hours": last.hours,
            "used": last.used,
            "total_host_bytes": last.host_bytes,
            "total_nand_bytes": last.nand_bytes,
            "hours": self.hours,
            "host_bytes": self.host_bytes,
            "nand_bytes": self.nand_bytes,
            "waf": self.waf,
            "host_bytes_per_day": self.bytes_per_day,
            "drive_writes_per_day": self.drive_writes_per_day,
            "years_left_by_wear": self.years_by_wear,
            "years_left_by_rating": self.years_by_rating,
        }

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the row."""
        return [self._row()]

    def columns(self) -> dict[str, list[Any]]:
        """Return the row by column."""
        return by_column(self.to_dicts())

    def _everything(self) -> Any:
        files = [one.file for one in (self.first, self.last) if one is not None]
        return {"schema": "destage.smart", "schema_version": 1, "files": files, **self._row()}

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.smart": json.dumps(self._everything())}

    def as_table(self) -> Table:
        """Return the numbers, a line each."""
        rate, hours = self.bytes_per_day, self.hours
        span = "its life" if self.first is None else "between the readings"
        rows = [
            ("host writes", _volume(self.host_bytes)),
            ("NAND writes", _volume(self.nand_bytes)),
            ("WAF", NONE if self.waf is None else significant(self.waf)),
            ("days", NONE if hours is None else significant(hours / 24)),
            ("host writes a day", _volume(rate)),
            ("drive writes a day", significant(self.drive_writes_per_day)),
            ("life used", percent(self.last.used, 0)),
            ("years left, by wear", significant(self.years_by_wear)),
            ("years left, by rating", significant(self.years_by_rating)),
        ]
        table = Table(
            plain(self.answer), [Column(self.last.model or "SSD", right=False), Column(span)], [[]]
        )
        table.groups[0] += [[Cell(name), Cell(plain(value))] for name, value in rows]
        table.notes += self._notes()
        return table

    def _notes(self) -> list[str]:
        notes = []
        notes += self._of_waf()
        if self.first is not None and self.last.used is not None and self.years_by_wear is None:
            notes.append("years left, by wear: it moved by less than 1 % between the readings")
        if self.prices.tbw is None:
            notes.append("years left, by rating: --price tbw=600TB gives the rated writes")
        return notes

    def _of_waf(self) -> list[str]:
        """Why there is no WAF, or why to doubt it."""
        readings = [one for one in (self.first, self.last) if one is not None]
        where = "this reading has" if self.first is None else "a reading has"
        if self.waf is not None:
            by_bytes = all(one.nand_bytes is not None for one in readings)
            if not by_bytes or LEAST_WAF <= self.waf <= MOST_WAF:
                return []
            short = "" if self.first is None else ", or too little was written between the readings"
            return [
                f"WAF {significant(self.waf)} is doubtful, as it is not from {LEAST_WAF} to"
                f" {MOST_WAF}: the units of the two attributes do not match{short}"
            ]
        if any(one.host_bytes is None for one in readings):
            return [
                f"WAF: {where} no host writes under a known name",
                f"names of host writes: {', '.join(HOST_NAMES)}",
            ]
        if any(one.nand_bytes is None for one in readings):
            return [f"WAF: {where} no NAND writes; nvme ocp smart-add-log may have them"]
        return ["WAF: the host wrote nothing in this time"]


def _less(after: Number | None, before: Number | None) -> Number | None:
    return None if after is None or before is None else after - before


def _volume(amount: float | None) -> str:
    return NONE if amount is None else volume(amount)


def read_smart(
    readings: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, price: str | None = None
) -> SmartAnswer:
    """Read writes, WAF and life left from the JSON of smartctl or nvme-cli.

    Parameters:
        readings: one file, for the whole life of the SSD, or two, for the time between them.
        price: `"tbw=600TB"`, its rated writes.

    Raises `DataError` for a malformed reading, or two of different SSDs, and
    `UsageError`.
    """
    files = [readings] if isinstance(readings, (str, os.PathLike)) else list(readings)
    if not 1 <= len(files) <= 2:
        raise UsageError(f"smart: expected one reading or two, got {len(files)} files")
    prices = Prices() if price is None else prices_of(price)
    found = [_read(Path(file)) for file in files]
    if len(found) == 2:
        found.sort(key=lambda one: (one.hours or 0, one.time_s or 0))
        _check_pair(*found)
    elif not found[0].hours:
        raise DataError(
            f"{found[0].file}: no power-on hours in it, so no rate follows from one reading: give a"
            " second reading of the same SSD"
        )
    return SmartAnswer(found[-1], found[0] if len(found) == 2 else None, prices)


def _read(path: Path) -> Reading:
    text = read_text(path, "a SMART reading")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(
            f"{path}: it is not a SMART reading: expected the JSON of"
            " `smartctl -j -a DEVICE`, or of `nvme smart-log -o json DEVICE`"
        ) from None
    return reading_of(data, str(path))


def _check_pair(first: Reading, last: Reading) -> None:
    """Raise `DataError` for readings of two SSDs, or at one time."""
    for what in ("serial", "model"):
        one, other = getattr(first, what), getattr(last, what)
        if one and other and one != other:
            raise DataError(f"{last.file}: {what} {other}, and {first.file} has {one}: two SSDs")
    hours = SmartAnswer(last, first, Prices()).hours
    if hours is None or hours <= 0:
        raise DataError(
            f"{last.file} and {first.file}: expected readings with hours or times between them,"
            f" got {'none' if hours is None else significant(hours)}: take the second one later"
        )
    for what in ("host_bytes", "nand_bytes"):
        before, after = getattr(first, what), getattr(last, what)
        if before is not None and after is not None and after < before:
            raise DataError(
                f"{last.file}: {what.partition('_')[0]} writes of {after:,} bytes are below the"
                f" {before:,} of {first.file}, which is earlier"
            )
