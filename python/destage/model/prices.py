"""Yearly cost of a cache: its memory, written off, and the wear of the device behind it.

    dollars a year = dram * GiB / years  +  device * (share of its life that a year takes)

The share is the host's writes of a year over the rating (`tbw`), else that of the erases over what
the blocks endure (`pe_cycles`). Docs: `docs/reference/advise.md`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from destage import _destage
from destage.base.errors import UsageError
from destage.model.words import significant

__all__ = ["ASSUMED_DRIVE", "GIB", "UNITS", "WRITTEN_OFF", "YEAR_NS", "Prices", "prices_of"]

GIB = 1 << 30
YEAR_NS = 365.25 * 86_400e9

#: Dollars a GiB of a device's capacity where its price is not given. A guess, and said to be one.
ASSUMED_DRIVE = 0.10
#: Years over which memory is written off where nothing is said.
WRITTEN_OFF = 5.0

#: Bytes of each unit, in capitals.
UNITS = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
    "TIB": 1 << 40,
    "PIB": 1 << 50,
}

#: How each key is written.
_KEYS = {"dram": "3.0/GiB", "tbw": "600TB", "device": "60 or 0.1/GiB", "years": "5"}


@dataclass(frozen=True)
class Prices:
    """Prices of memory and of a device, and the device's endurance."""

    dram: float | None = None
    """Dollars a byte of cache; None where it is not given."""
    tbw: float | None = None
    """Bytes that the host may write to the device in its life, as its maker rates it."""
    drive: float | None = None
    """Dollars for the device."""
    drive_a_byte: float | None = None
    """Dollars a byte of its capacity, instead of `drive`."""
    years: float = WRITTEN_OFF
    """Years over which the memory is written off."""

    assumed: bool = False
    """Whether the price of the device is a guess of ours."""

    def behind(self, logical_bytes: int) -> Prices:
        """The same with the price of a device of this capacity; assumed where nothing is given."""
        if self.drive is not None:
            return self
        assumed = self.drive_a_byte is None
        a_byte = ASSUMED_DRIVE / GIB if self.drive_a_byte is None else self.drive_a_byte
        return replace(self, drive=a_byte * logical_bytes, assumed=assumed)

    def memory(self, cache_bytes: int) -> float:
        """Dollars a year for a cache of this size."""
        return (self.dram or 0.0) * cache_bytes / self.years

    def said(self) -> str:
        """The prices, as a line under a number says them."""
        parts = []
        if self.dram is not None:
            rate = significant(self.dram * GIB)
            parts.append(f"memory at ${rate} a GiB over {significant(self.years)} years")
        if self.drive is not None:
            guess = f" (assumed: ${ASSUMED_DRIVE:.2f} a GiB; state device=)" if self.assumed else ""
            parts.append(f"a device of ${significant(self.drive)}{guess}")
        if self.tbw is not None:
            parts.append(f"rated for {significant(self.tbw / 1e12)} TB written")
        return ", ".join(parts)


def prices_of(text: str) -> Prices:
    """Read `dram=3.0/GiB,tbw=600TB,device=60,years=5`. Raises `UsageError`, which names the key."""
    if not isinstance(text, str):
        raise UsageError(f"price: expected text such as 'dram=3.0/GiB,tbw=600TB', got {text!r}")
    given: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        key, value = key.strip().lower(), value.strip()
        if key not in _KEYS:
            near = "device" if key == "drive" else _destage.nearest(key, list(_KEYS))
            meant = f", did you mean {near}?" if near else ""
            known = ", ".join(f"{k}={v.partition(' ')[0]}" for k, v in _KEYS.items())
            raise UsageError(f"price: unknown key {key!r}{meant} (known: {known})")
        if key in given:
            raise UsageError(f"price: {key} is given twice")
        if not equals or not value:
            raise _wrong(key, value)
        given[key] = value
    drive = given.get("device")
    by_size = drive is not None and "/" in drive
    return Prices(
        dram=_a_byte("dram", given["dram"]) if "dram" in given else None,
        tbw=_bytes(given["tbw"]) if "tbw" in given else None,
        drive=None if drive is None or by_size else _positive("device", drive),
        drive_a_byte=_a_byte("device", drive) if drive is not None and by_size else None,
        years=_positive("years", given["years"]) if "years" in given else WRITTEN_OFF,
    )


def _wrong(key: str, value: str) -> UsageError:
    return UsageError(f"price: {key}: expected a value such as {key}={_KEYS[key]}, got {value!r}")


def _positive(key: str, text: str, value: str | None = None) -> float:
    try:
        found = float(text.strip().lstrip("$"))
    except ValueError:
        raise _wrong(key, value or text) from None
    if not math.isfinite(found) or found <= 0:
        raise UsageError(f"price: {key}: expected a number above 0, got {value or text!r}")
    return found


def _a_byte(key: str, text: str) -> float:
    dollars, slash, unit = text.partition("/")
    if not slash or unit.strip().upper() not in UNITS:
        raise _wrong(key, text)
    return _positive(key, dollars, text) / UNITS[unit.strip().upper()]


def _bytes(text: str) -> float:
    found = re.fullmatch(r"(.*?)\s*([A-Za-z]+)", text)
    if found is None or found[2].upper() not in UNITS:
        raise _wrong("tbw", text)
    return _positive("tbw", found[1], text) * UNITS[found[2].upper()]
