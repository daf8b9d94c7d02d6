"""What every run can be asked for: the options that `compare`, `run`, `mrc` and `tune` share.

A run option is: a field of the engine's options, its row in the engine's list of them (name, flag,
help: the command line has it from there), its key in `RunOptions` here, what it does, and its test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypedDict

from destage import _destage
from destage.errors import UsageError

__all__ = [
    "ProgressCallback",
    "RunOption",
    "RunOptions",
    "options_json",
    "run_options",
    "thread_count",
]

#: Called some ten times a second with what is done, of how much (None: unknown), and of what.
ProgressCallback = Callable[[int, int | None, str], object]


class RunOptions(TypedDict, total=False):
    """Options of runs, by keyword; one that is left out, or None, has its default."""

    cost: str | Mapping[str, int] | None
    """Cost of a page read and a page write, `"read=1,write=118"`, whole numbers in any unit: gives
    `running_time`, and is the default of parameters that policies call a cost."""
    warmup: str | None
    """What is replayed and not counted: `"10%"`, `"100000r"` (requests), `"60s"` or `"full"`."""
    fetch_on_write_miss: bool
    """A write miss reads the page first; counts, never decides."""
    flush_at_end: bool
    """Dirty pages are written after the last access; counts, never decides."""
    pages_per_block: int | None
    """Pages of an erase block, for policies that cluster by it; 64 unless given, and the drive's
    with a device."""
    device_pages: int | None
    """Pages that exist and may be padded; all unless given, and the drive's with a device."""
    check: bool
    """Assert every law of caching at every access; some ten times slower."""


@dataclass(frozen=True)
class RunOption:
    """A run option as the engine declares it; the command line's flags are made of these."""

    name: str
    flag: str
    """The command line's flag; empty for what only Python can ask for."""
    kind: str
    """`flag`, `whole` or `text`."""
    metavar: str
    about: str
    """Help of the flag, its default in brackets."""


@cache
def run_options() -> tuple[RunOption, ...]:
    """Every run option, in the order of the help."""
    return (
        RunOption(
            *("cost", "--cost", "text", "read=R,write=W"),
            "Cost of a page read and a page write in any unit (whole numbers): adds the running"
            " time, and is what ACR decides by.",
        ),
        RunOption(
            *("warmup", "--warmup", "text", "AMOUNT"),
            "Count nothing before this: 10%, 100000r (requests), 60s, or full. [none]",
        ),
        RunOption(
            *("fetch_on_write_miss", "--fetch-on-write-miss", "flag", ""),
            "A write miss reads the page first.",
        ),
        RunOption(
            *("flush_at_end", "--flush-at-end", "flag", ""),
            "Write dirty pages after the last access.",
        ),
        RunOption(
            *("pages_per_block", "--pages-per-block", "whole", "PAGES"),
            "Pages of an erase block, for policies that cluster by it. [64, or the drive's]",
        ),
        RunOption(
            *("device_pages", "--device-pages", "whole", "PAGES"),
            "Pages that exist: those from there on are never padded. [all, or the drive's]",
        ),
        RunOption(*("check", "--check", "flag", ""), "Check every law at every access (slow)."),
    )


def options_json(options: Mapping[str, Any], *, profile: bool = False) -> str:
    """Options as the boundary takes them.

    Raises `TypeError` for one that there is not, as Python does for a keyword, and `UsageError` for
    a value that is none of its kind.
    """
    known = list(RunOptions.__annotations__)
    for name in options:
        if name not in known:
            near = _destage.nearest(name, known)
            meant = f", did you mean {near}?" if near else f" (known: {', '.join(known)})"
            raise TypeError(f"unexpected keyword argument {name!r}{meant}")
    given = {name: options.get(name) for name in known}
    if isinstance(given["cost"], Mapping):
        given["cost"] = ",".join(f"{k}={v}" for k, v in given["cost"].items())
    for name, value in given.items():
        _check(name, value)
    flags = {name: bool(given[name]) for name in _FLAGS}
    return json.dumps(given | flags | {"profile": bool(profile)})


#: Options that are on or off, and those that are a number of pages.
_FLAGS = ("fetch_on_write_miss", "flush_at_end", "check")
_PAGES = ("pages_per_block", "device_pages")


def _check(name: str, value: object) -> None:
    if value is None or name in _FLAGS:
        return
    if name in _PAGES:
        if isinstance(value, bool) or not isinstance(value, int):
            raise UsageError(f"{name}: expected a whole number of pages, got {value!r}")
    elif not isinstance(value, str):
        raise UsageError(f"{name}: expected text, got {value!r}")


#: More threads than any machine has processors.
MOST_JOBS = 1 << 16


def thread_count(jobs: int | None) -> int:
    """Return the threads that `jobs` stands for: by default as many as there are processors."""
    if jobs is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise UsageError(f"jobs: expected a whole number from 1, got {jobs!r}")
    if jobs > MOST_JOBS:
        raise UsageError(f"jobs: expected at most {MOST_JOBS:,} threads, got {jobs:,}")
    return jobs
