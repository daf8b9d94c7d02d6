"""How much memory a task takes, known before it runs."""

from __future__ import annotations

import os
import re
from pathlib import Path

from destage.base.errors import UsageError
from destage.experiment.task import Task

__all__ = ["SIZE", "UNITS", "available", "bytes_of", "memory_of", "memory_text"]

#: Bytes of the columns of a decoded trace, for each access. They are mapped, and the system may
#: take them back; a run goes through all of them.
_AN_ACCESS = 9
#: Bytes of a touched page: the policy's table of pages, and counters.
_A_PAGE = 24
#: Of a page that the cache holds or remembers.
_A_FRAME = 96
#: Of a physical page of a device: its state, and the copy that each run works on.
_OF_A_DRIVE = 8
#: Of a page in a policy written in Python.
_AN_OWN_PAGE = 600
#: What a run takes that does nothing: histograms, windows.
_LEAST = 4 << 20
#: What a task takes for its results, and the first one for what makes them.
_RESULTS = 24 << 20


#: Bytes of a unit, and a size as it is written.
UNITS = {"": 1, "b": 1} | {
    f"{letter}{ending}": base**power
    for power, letter in enumerate("kmgt", 1)
    for ending, base in (("b", 1000), ("ib", 1024))
}
SIZE = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([a-zA-Z%]*)\s*")


def memory_of(task: Task, threads: int = 1) -> int:
    """Bytes that a task takes at most, about."""
    unique = task.trace.unique_pages
    frames = max(min(size.frames, unique) for entry in task.entries for size in entry.sizes)
    run = unique * _A_PAGE + frames * _A_FRAME + _LEAST
    if task.has_own:
        run += frames * _AN_OWN_PAGE
    shared = task.trace.accesses * _AN_ACCESS + _RESULTS
    if task.drive is not None:
        # `raw_pages` is not in the record; an open device knows it, and opening one fills nothing.
        raw = int(task.drive.open().size["raw_pages"])
        run += raw * _OF_A_DRIVE
        shared += raw * _OF_A_DRIVE
    return shared + run * threads


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
