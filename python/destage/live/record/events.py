"""Fields of a block event of the kernel (`docs/spec/fit.md` 13.3)."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

__all__ = ["BIO", "END", "Event", "Kind", "REQUEUE", "START", "kind_of", "length_of"]

SECTOR_BYTES = 512

#: What an event does to a request. `BIO` is the end of a bio, whose sector may be its end.
START, END, REQUEUE, BIO = range(4)

_LETTERS = re.compile(r"(F?)(R|W|DE?|F|ZA|ZRA?|Z[OCF]|N)(F?)([A-Z]*)")
_OPS = {"R": "read", "W": "write", "D": "trim", "DE": "trim"}


class Kind(NamedTuple):
    """The letters of an event: `op` is empty for requests without data."""

    op: str
    flags: str
    is_flush: bool


class Event(NamedTuple):
    """An event of a block device."""

    time_ns: int
    action: int
    dev: int
    sector: int
    sectors: int
    length_bytes: int
    rwbs: str
    pid: int
    process: str


@cache
def kind_of(rwbs: str) -> Kind:
    """Read the kernel's letters: `WFS` is a write with forced unit access, synchronous."""
    found = _LETTERS.fullmatch(rwbs)
    if found is None:
        return Kind("", "", False)
    before, op, after, rest = found.groups()
    flags = [letter for letter in rest if letter in "SMA"]
    if after:
        flags.insert(0, "FUA")
    if before and op != "F":
        flags.insert(0, "PF")
    # A pre-flush without data is a flush; what a driver is sent is called FF.
    return Kind(_OPS.get(op, ""), "+".join(flags), bool(before) or op == "F")


def length_of(op: str, sectors: int, length_bytes: int) -> int:
    """Bytes of a request; a trim's `bytes` can be its description's."""
    by_sectors = sectors * SECTOR_BYTES
    if op == "trim":
        return max(by_sectors, length_bytes)
    return length_bytes or by_sectors
