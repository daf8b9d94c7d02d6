"""Running a peer, and what came of it."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LONGEST_S = 1200


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    well: bool
    cpu_s: float
    printed: str
    why: str = ""
    """Why it did not end well, with its last words."""


@dataclass(frozen=True)
class Served:
    """What a simulator says of a run; nothing but `cpu_s` and `failed` if it did not get through."""

    cpu_s: float
    """User and system time of the whole process."""
    served: int | None = None
    """Requests that were completed, as far as the simulator tells."""
    mean_ns: float | None = None
    read_mean_ns: float | None = None
    write_mean_ns: float | None = None
    collections: int | None = None
    moves: int | None = None
    erases: int | None = None
    failed: str = ""
    """Why there are no figures."""


def run(command: Sequence[str | Path], folder: Path) -> Ended:
    """Runs a command without input; its CPU time is that of itself and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONGEST_S,
        )
        well, output, why = done.returncode == 0, done.stdout, f"status {done.returncode}"
    except subprocess.TimeoutExpired as late:
        well, output, why = False, late.stdout or b"", f"stopped after {LONGEST_S} s"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    printed = output.decode(errors="replace")
    if well:
        return Ended(True, cpu_s, printed)
    last = next((line.strip() for line in reversed(printed.split("\n")) if line.strip()), "")
    return Ended(False, cpu_s, printed, f"{why}; last words: {last[-120:]}")
