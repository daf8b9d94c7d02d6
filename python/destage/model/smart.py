"""SMART readings of a real SSD: host and NAND writes, WAF in the field, life left.

Reads the JSON of smartmontools (`smartctl -j -a`) and of nvme-cli (`nvme smart-log -o json`, and
the vendor logs `nvme ocp smart-add-log` and `nvme intel smart-log-add`). A value that a reading
does not have is unknown, None, never 0.

Units. NVMe counts data units of 512,000 bytes (NVM Express base specification 2.0, figure 207), the
OCP log bytes (OCP datacenter NVMe SSD specification 2.0, SMART-1). SATA attributes are the maker's:
their names say the unit, as drivedb.h of smartmontools has them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from destage.base.errors import DataError

__all__ = ["HOST_NAMES", "HOURS_A_YEAR", "Reading", "reading_of"]

HOURS_A_YEAR = 365.25 * 24
DATA_UNIT, SECTOR, MIB = 512_000, 512, 1 << 20

#: Names of SATA attributes and the bytes of their unit.
_HOST = {
    "Total_LBAs_Written": SECTOR,
    "Lifetime_Writes_GiB": 1 << 30,
    "Total_Writes_GiB": 1 << 30,
    "Host_Writes_GiB": 1 << 30,
    "Host_Writes_MiB": MIB,
    "Host_Writes_32MiB": 32 * MIB,
    "Total_Writes_32MiB": 32 * MIB,
}
_NAND = {
    "NAND_Writes_1GiB": 1 << 30,
    "NAND_Writes_GiB": 1 << 30,
    "NAND_Writes_32MiB": 32 * MIB,
    "Total_NAND_Writes_GiB": 1 << 30,
}
#: Attributes of host writes that are known.
HOST_NAMES = tuple(_HOST)
#: Pairs of counters in pages: of the host, and beyond it. Their ratio is the WAF.
_HOST_PAGES, _FTL_PAGES = "Host_Program_Page_Count", "FTL_Program_Page_Count"
#: Attributes whose normalised value is the life left, per cent.
_LEFT = (
    "Percent_Lifetime_Remain",
    "SSD_Life_Left",
    "Media_Wearout_Indicator",
    "Wear_Leveling_Count",
    "Remaining_Lifetime_Perc",
)


@dataclass(frozen=True)
class Reading:
    """One SMART reading."""

    file: str
    """The file."""
    model: str | None
    """Model of the SSD."""
    serial: str | None
    """Its serial number."""
    capacity_bytes: int | None
    """Its capacity."""
    hours: float | None
    """Hours that it was powered on."""
    time_s: float | None
    """When it was read, seconds since 1970."""
    host_bytes: int | None
    """Bytes that the host has written."""
    nand_bytes: int | None
    """Bytes written to the NAND, the host's among them."""
    pages: tuple[int, int] | None
    """Pages programmed for the host, and beyond these, where the SSD counts pages alone."""
    used: float | None
    """Share of the rated life that is used, 0.01 a step; above 1 beyond the rating."""


def reading_of(data: object, file: str) -> Reading:
    """Read a file's JSON. Raises `DataError` with the expected content."""
    if not isinstance(data, Mapping):
        raise DataError(f"{file}: expected the JSON object of smartctl or nvme-cli{_TYPED}")
    flat = dict(_flat(data))
    table = {row["name"]: row for row in _rows(data) if isinstance(row.get("name"), str)}

    def whole(*keys: str) -> int | None:
        return next((n for key in keys if (n := _number(flat.get(key))) is not None), None)

    units = whole("data_units_written")
    lbas = _statistic(data, "Logical Sectors Written")
    host = units * DATA_UNIT if units is not None else _scaled(table, _HOST)
    host = lbas * SECTOR if host is None and lbas is not None else host
    ocp = whole("physical_media_units_written")
    intel = whole("nand_bytes_written")
    nand = ocp if ocp is not None else intel * 32 * MIB if intel is not None else None
    host_pages, ftl_pages = _raw(table, _HOST_PAGES), _raw(table, _FTL_PAGES)
    pages = None if host_pages is None or ftl_pages is None else (host_pages, ftl_pages)
    used = whole("percentage_used", "percent_used")
    used = _statistic(data, "Percentage Used Endurance Indicator") if used is None else used
    found = Reading(
        file=file,
        model=_text(flat, "model_name", "mn", "model_number"),
        serial=_text(flat, "serial_number", "sn"),
        capacity_bytes=_number(_inner(data, "user_capacity", "bytes")),
        hours=_number(flat.get("power_on_hours"))
        or _number(_inner(data, "power_on_time", "hours")),
        time_s=_number(_inner(data, "local_time", "time_t")),
        host_bytes=host,
        nand_bytes=_scaled(table, _NAND) if nand is None else nand,
        pages=pages,
        used=used / 100 if used is not None else _worn(table),
    )
    if found.host_bytes is None and found.nand_bytes is None and found.used is None:
        raise DataError(f"{file}: no counter of writes or wear in it{_TYPED}")
    return found


_TYPED = ": type smartctl -j -a DEVICE > FILE, or nvme smart-log -o json DEVICE > FILE"


def _flat(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every value inside by its key in small letters; of an object {raw} or {hi, lo} the number."""
    for key, value in data.items():
        name = re.sub(r"[^a-z0-9]+", "_", str(key).lower()).strip("_")
        if isinstance(value, Mapping):
            if "lo" in value:
                high, low = _number(value.get("hi")) or 0, _number(value["lo"]) or 0
                yield name, (high << 64) + low
            elif "raw" in value and not isinstance(value["raw"], Mapping):
                yield name, value["raw"]
            yield from _flat(value)
        elif not isinstance(value, list):
            yield name, value


def _rows(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = _inner(data, "ata_smart_attributes", "table")
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _inner(data: Mapping[str, Any], *keys: str) -> Any:
    found: Any = data
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _number(value: object) -> int | None:
    """A whole number that is not negative, also as text (`12,345`)."""
    if isinstance(value, str):
        digits = value.replace(",", "").strip()
        return int(digits) if digits.isdecimal() else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if math.isfinite(value) and value >= 0 else None


def _text(flat: Mapping[str, Any], *keys: str) -> str | None:
    found = (flat.get(key) for key in keys)
    return next((text.strip() for text in found if isinstance(text, str) and text.strip()), None)


def _raw(table: Mapping[str, Mapping[str, Any]], name: str) -> int | None:
    return _number(_inner(table, name, "raw", "value"))


def _scaled(table: Mapping[str, Mapping[str, Any]], units: Mapping[str, int]) -> int | None:
    known = ((_raw(table, name), unit) for name, unit in units.items())
    return next((count * unit for count, unit in known if count is not None), None)


def _worn(table: Mapping[str, Mapping[str, Any]]) -> float | None:
    left = (_number(_inner(table, name, "value")) for name in _LEFT)
    known = next((one for one in left if one is not None and one <= 100), None)
    return None if known is None else (100 - known) / 100


def _statistic(data: Mapping[str, Any], name: str) -> int | None:
    """A valid value of the ATA device statistics."""
    pages = _inner(data, "ata_device_statistics", "pages")
    for page in pages if isinstance(pages, list) else []:
        rows = page.get("table") if isinstance(page, Mapping) else None
        for row in rows if isinstance(rows, list) else []:
            is_valid = _inner(row, "flags", "valid") is not False
            if isinstance(row, Mapping) and row.get("name") == name and is_valid:
                return _number(row.get("value"))
    return None
