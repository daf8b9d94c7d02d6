"""Binary pages of the kernel's ring buffer, by the layouts that the kernel prints.

Source: the header that `events/header_page` and `events/header_event` describe, and the flags for
missed events in the upper bits of `commit`.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from destage.base.errors import DataError
from destage.live.record.events import Event

__all__ = ["Decoder", "Layout", "Lost", "PageLayout"]

#: Flags in `commit`: events were lost before this page; their number stands behind the data.
MISSED, MISSED_STORED = 1 << 31, 1 << 30
_COMMIT_MASK = (1 << 27) - 1

_FIELD = re.compile(
    r"field:\s*(?P<type>[^;]*?)\s*(?P<name>\w+)(?:\[\w*\])?;"
    r"\s*offset:(?P<offset>\d+);\s*size:(?P<size>\d+);(?:\s*signed:(?P<signed>[01]);)?"
)
_ORDER = "<" if sys.byteorder == "little" else ">"
_CODES = {(1, False): "B", (2, False): "H", (4, False): "I", (8, False): "Q"}
_CODES |= {(size, True): code.lower() for (size, _), code in list(_CODES.items())}


class _Field(NamedTuple):
    offset: int
    size: int
    signed: bool


def _fields(text: str) -> dict[str, _Field]:
    return {
        found["name"]: _Field(int(found["offset"]), int(found["size"]), found["signed"] == "1")
        for found in _FIELD.finditer(text)
    }


class Layout:
    """Where the fields of one event are, out of its `format` file."""

    #: Fields that every event has.
    NEEDED = ("dev", "sector", "nr_sector", "rwbs")

    def __init__(self, text: str, action: int) -> None:
        """Read a `format` file. Raises `DataError` if it lacks a field."""
        number = re.search(r"^ID:\s*(\d+)$", text, re.M)
        fields = _fields(text)
        name = re.search(r"^name:\s*(\S+)$", text, re.M)
        called = name[1] if name else "an event"
        missing = [field for field in self.NEEDED if field not in fields]
        if number is None or missing:
            raise DataError(f"format of {called}: expected {', '.join(missing) or 'an ID'}")
        self.id, self.action = int(number[1]), action
        numbers = ["dev", "sector", "nr_sector", "bytes", "common_pid"]
        self._numbers = [self._unpacker(fields.get(name)) for name in numbers]
        self._rwbs = self._range(fields["rwbs"])
        self._comm = self._range(fields["comm"]) if "comm" in fields else None

    @staticmethod
    def _unpacker(field: _Field | None) -> tuple[struct.Struct, int] | None:
        if field is None:
            return None
        return struct.Struct(_ORDER + _CODES[field.size, field.signed]), field.offset

    @staticmethod
    def _range(field: _Field) -> tuple[int, int]:
        return field.offset, field.offset + field.size

    def event(self, page: bytes, at: int, time_ns: int) -> Event:
        """The event whose data are at this place."""
        dev, sector, sectors, length, pid = (
            0 if one is None else one[0].unpack_from(page, at + one[1])[0] for one in self._numbers
        )
        first, end = self._rwbs
        rwbs = page[at + first : at + end].partition(b"\0")[0].decode("ascii", "replace")
        comm = ""
        if self._comm is not None:
            first, end = self._comm
            comm = page[at + first : at + end].partition(b"\0")[0].decode("utf-8", "replace")
        return Event(time_ns, self.action, dev, sector, sectors, length, rwbs, pid, comm)


@dataclass(frozen=True)
class PageLayout:
    """Where a page has its time, its length and its data."""

    commit: int
    commit_bytes: int
    data: int

    @classmethod
    def of(cls, text: str) -> PageLayout:
        """Read `events/header_page`."""
        fields = _fields(text)
        if "commit" not in fields or "data" not in fields:
            raise DataError("events/header_page: expected the fields commit and data")
        return cls(fields["commit"].offset, fields["commit"].size, fields["data"].offset)


class Lost(NamedTuple):
    """Events that were lost before a page; `number` is 0 where it does not say how many."""

    before_ns: int
    number: int


class Decoder:
    """Decodes pages of one CPU."""

    def __init__(self, page: PageLayout, layouts: dict[int, Layout]) -> None:
        """Take the layouts; events of other kinds are passed over."""
        self.page, self.layouts = page, layouts
        self._word = struct.Struct(_ORDER + "I")
        self._time = struct.Struct(_ORDER + "Q")
        self._type = struct.Struct(_ORDER + "H")

    def events(self, page: bytes) -> Iterator[Event | Lost]:
        """The events of a page, and its count of lost ones."""
        layout = self.page
        time_ns = self._time.unpack_from(page, 0)[0]
        (commit,) = self._word.unpack_from(page, layout.commit + self._low_word())
        end = layout.data + (commit & _COMMIT_MASK)
        if commit & MISSED:
            count = 0
            if commit & MISSED_STORED and end + layout.commit_bytes <= len(page):
                size = layout.commit_bytes
                count = int.from_bytes(page[end : end + size], sys.byteorder)
            yield Lost(time_ns, count)
        at = layout.data
        word, kind = self._word.unpack_from, self._type.unpack_from
        little = _ORDER == "<"
        while at + 4 <= end:
            (head,) = word(page, at)
            length, delta = (head & 31, head >> 5) if little else (head >> 27, head & (1 << 27) - 1)
            if length == 29:  # padding: the rest of the page, or an event that was withdrawn
                if delta == 0:
                    return
                time_ns += delta
                at += 4 + word(page, at + 4)[0]
            elif length == 30:
                time_ns += (word(page, at + 4)[0] << 27) + delta
                at += 8
            elif length == 31:
                # An absolute time of 59 bits.
                time_ns = time_ns >> 59 << 59 | word(page, at + 4)[0] << 27 | delta
                at += 8
            else:
                time_ns += delta
                data = at + 4 if length else at + 8
                size = 4 * length if length else word(page, at + 4)[0] - 4
                known = self.layouts.get(kind(page, data)[0])
                if known is not None:
                    yield known.event(page, data, time_ns)
                at = data + size

    def _low_word(self) -> int:
        return 0 if _ORDER == "<" else self.page.commit_bytes - 4
