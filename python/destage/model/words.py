"""Numbers, sizes, durations and units as people read them; everything shown is written by these.

The texts are typeset: a no-break space before a unit, a dash where there is no number. `plain`
makes them what a terminal, a log or a script takes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from destage.base.io.names import printable

__all__ = [
    "NBSP",
    "NONE",
    "RECENT",
    "TimeUnit",
    "byte_unit",
    "column_unit",
    "counted",
    "duration",
    "finite",
    "join",
    "number",
    "ordinal",
    "percent",
    "plain",
    "plain_value",
    "printable",
    "ratio",
    "significant",
    "size",
    "supported",
    "time_unit",
    "uncertain",
    "volume",
]

NBSP = "\u00a0"
#: Stands for a number that a run does not have.
NONE = "\u2013"

#: Streams of requests that a trace's profile follows (`STREAMS` of `destage-profile`).
RECENT = "of the last 32 streams"

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def plain(text: str) -> str:
    """Text as a keyboard has it: spaces that break, a hyphen where there is no number."""
    return "-" if text == NONE else text.replace(NBSP, " ")


def plain_value(value: object) -> str:
    """A parameter's value as one types it: `none`, `true`, `0.75`, a word without quotes."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def finite(value: object) -> float | int | None:
    """The number, or `None` where it is absent, NaN, infinite or not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if math.isfinite(value) else None


def number(value: float | int | None, digits: int = 0) -> str:
    """`1,234,567`."""
    return NONE if value is None else f"{value:,.{digits}f}"


def ordinal(count: int) -> str:
    """`2nd`, `3rd`, `11th`, `21st`."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{count}{'th' if count % 100 in (11, 12, 13) else ends.get(count % 10, 'th')}"


def significant(value: float | int | None, digits: int = 3) -> str:
    """At most `digits` significant digits, all of those before the point: `3.17`, `1,234`."""
    if value is None:
        return NONE
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:.12f}".rstrip("0").rstrip(".") if abs(rounded) >= 1e-9 else f"{rounded:g}"


def ratio(share: float | int | None, digits: int = 2) -> str:
    """A share of one in per cent, without the sign: `71.23`."""
    return NONE if share is None else f"{100 * share:,.{digits}f}"


def percent(share: float | int | None, digits: int = 2) -> str:
    """A share of one as `71.23 %`."""
    return NONE if share is None else f"{ratio(share, digits)}{NBSP}%"


def size(size_bytes: float | int | None) -> str:
    """Bytes in the largest binary unit that leaves at least one: `64 MiB`, `3.17 MiB`."""
    if size_bytes is None:
        return NONE
    value, unit = float(size_bytes), 0
    while value >= 1024 and unit < len(_BINARY) - 1:
        value, unit = value / 1024, unit + 1
    return f"{significant(value)}{NBSP}{_BINARY[unit]}"


def supported(value: float, half: float, most: int) -> tuple[str, str]:
    """A number with no digit beyond the first of half its interval, and that half to two digits.

    With `most` decimals at most: `("34", "2.1")`, `("35.0", "0.27")`.
    """
    if not half or not math.isfinite(half) or not math.isfinite(value):
        return f"{value:,.{most}f}", f"{half:.2g}"
    decimals = min(most, -math.floor(math.log10(half)))
    while decimals < most and value and not round(value, decimals):
        decimals += 1  # A small number is not 0.
    shown = f"{round(value, decimals) + 0.0:,.{max(0, decimals)}f}"
    return shown, f"{half:,.{max(0, 1 - math.floor(math.log10(half)))}f}"


def volume(size_bytes: float) -> str:
    """Bytes as makers of drives count them, in powers of ten: `393 TB`."""
    for unit, scale in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size_bytes >= scale:
            return f"{significant(size_bytes / scale)}{NBSP}{unit}"
    return f"{size_bytes:,.0f} bytes"


def uncertain(value: float, low: float, high: float, most: int = 0) -> str:
    """A number with how far it may be off: `39.6 ± 2.2`, `12,300 ± 450`, and no digit beyond that.

    The interval is given to two digits, upwards, and with no more decimals than `most`.
    """
    off = max(value - low, high - value, 0.0)
    if not off:
        return f"{value:,.{most}f} ± 0"
    decimals = min(most, 1 - math.floor(math.log10(off)))
    step = 10.0**-decimals
    off = math.ceil(off / step - 1e-9) * step
    shown, places = round(value, decimals), max(0, decimals)
    return f"{shown:,.{places}f} ± {off:,.{places}f}"


def duration(nanos: float | int | None) -> str:
    """A time span in the unit that suits it: `168 h`, `3.2 s`, `250 µs`."""
    if nanos is None:
        return NONE
    if nanos >= 172_800e9:
        return f"{significant(nanos / 86_400e9)}{NBSP}days"
    for unit, scale in (("h", 3600e9), ("min", 60e9), ("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanos >= scale:
            return f"{significant(nanos / scale)}{NBSP}{unit}"
    return f"{nanos:,.0f}{NBSP}ns"


@dataclass(frozen=True)
class TimeUnit:
    """A unit that times, or bytes, of one column or axis share."""

    name: str
    ns: float
    #: Decimals that leave the smallest some two digits.
    decimals: int

    def text(self, nanos: float | int | None) -> str:
        """The number without its unit."""
        return number(None if nanos is None else nanos / self.ns, self.decimals)


#: Units of a time, the largest first, with their length in nanoseconds.
_TIMES = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


def time_unit(nanos: Iterable[float | int | None]) -> TimeUnit:
    """The largest unit in which the smallest time that is any is at least a tenth."""
    smallest = min((v for v in nanos if v), default=0.0)
    for name, length in _TIMES:
        if smallest >= length / 10:
            digits = 3 if smallest < length else 2 if smallest < 10 * length else 1
            whole = name == "ns" or smallest >= 100 * length
            return TimeUnit(name, length, 0 if whole else digits)
    return TimeUnit("ns", 1.0, 0)


def byte_unit(sizes: Iterable[float | int | None]) -> TimeUnit:
    """The unit of a column of bytes, in powers of ten: the largest below the smallest."""
    smallest = min((v for v in sizes if v), default=0.0)
    units = (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("bytes", 1.0))
    name, scale = next((one for one in units if smallest >= one[1]), units[-1])
    digits = 2 if smallest < 10 * scale else 1 if smallest < 100 * scale else 0
    return TimeUnit(name, scale, 0 if name == "bytes" else digits)


def column_unit(nanos: Iterable[float | int | None]) -> TimeUnit:
    """The unit of times of several traces."""
    values = [v for v in nanos if v]
    unit = time_unit(values)
    if max(values, default=0) < 1000 * unit.ns:
        return unit
    least, most = max(values) / 1000, 100 * min(values)
    larger = [(name, length) for name, length in _TIMES if least < length <= most]
    return TimeUnit(*larger[0], 3) if larger else unit


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 page`, `1,024 pages`; `many` where an s does not make it."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def join(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]
