"""Sizes and durations as one types them: `64MiB`, `10m`."""

from __future__ import annotations

import re

from destage.base.errors import UsageError
from destage.base.io.names import shown

__all__ = ["bytes_of", "seconds_of"]

_SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZES |= {f"{letter}iB": 1 << 10 * (i + 1) for i, letter in enumerate("KMGT")}
_SIZES |= {letter: 1 << 10 * (i + 1) for i, letter in enumerate("KMGT")}
_SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def bytes_of(given: str | int, name: str) -> int:
    """Bytes of a size such as `256MiB`. Raises `UsageError`."""
    return int(_value(given, name, _SIZES, "a size such as 64MiB"))


def seconds_of(given: str | float, name: str) -> float:
    """Seconds of a duration such as `10m`. Raises `UsageError`."""
    return _value(given, name, _SECONDS, "a duration such as 60s or 10m")


def _value(
    given: str | float, name: str, units: dict[str, int] | dict[str, float], example: str
) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(given))
    names = {unit.lower(): scale for unit, scale in units.items()}
    scale = names.get(found[2].lower()) if found else None
    if found is None or scale is None or float(found[1]) <= 0:
        raise UsageError(f"{name}: expected {example}, found {shown(given)}")
    return float(found[1]) * scale
