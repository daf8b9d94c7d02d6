"""Sizes as they are written, and the memory of this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

from destage.base.errors import UsageError

__all__ = ["SIZE", "UNITS", "available", "bytes_of", "memory_text"]

#: Bytes of a unit, and a size as it is written.
UNITS = {"": 1, "b": 1} | {
    f"{letter}{ending}": base**power
    for power, letter in enumerate("kmgt", 1)
    for ending, base in (("b", 1000), ("ib", 1024))
}
SIZE = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([a-zA-Z%]*)\s*")


def available() -> int:
    """Bytes that this machine can give away; 4 GiB where it does not say."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return min(int(line.split()[1]) << 10, _of_the_group())
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def _of_the_group() -> int:
    """Memory limit of the container, if there is one."""
    try:
        text = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        return max(0, int(text) - used) if text != "max" else 1 << 62
    except (OSError, ValueError):
        return 1 << 62


def memory_text(given: str | None) -> int:
    """The bytes that tasks may take together. Raises `UsageError`."""
    if given is None:
        return available() * 4 // 5
    found = bytes_of(given)
    if found is None or found < 1:
        raise UsageError(f"memory: expected a size such as 8GiB, got {given!r}")
    return int(found)


def bytes_of(text: str) -> float | None:
    """The bytes of `32MiB`; None of a text that is no such size."""
    found = SIZE.fullmatch(text)
    if found is None or found[2].lower() not in UNITS:
        return None
    count: float = float(found[1].replace("_", "")) * UNITS[found[2].lower()]
    return count
