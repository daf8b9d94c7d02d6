"""How a trace or a device comes into being again, in another process or on another machine.

What travels is where it was and what it must turn out to be, never its data: a trace is known by
its fingerprint, which is the same however its file is named or packed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

from destage.lab.ssd import Device, restored
from destage.lab.traces import Trace, reopened, sources_of

__all__ = ["DriveRecipe", "Recent", "TraceRecipe"]

T = TypeVar("T")

#: Traces and devices that a process keeps open: neighbours in a plan share them.
_KEPT = 4


class Recent:
    """The last few that were made, each made once."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self.lock = Lock()
        self.made: dict[str, tuple[Lock, list[Any]]] = {}

    def get(self, key: str, make: Callable[[], T]) -> T:
        """Return what `make` makes of a key, or has made of it before."""
        with self.lock:
            held = self.made.pop(key) if key in self.made else (Lock(), [])
            self.made[key] = held
            lock, made = held
            while len(self.made) > _KEPT:
                self.made.pop(next(iter(self.made)))
        with lock:
            if not made:
                made.append(make())
            found: T = made[0]
            return found


_traces, _drives = Recent(), Recent()


@dataclass(frozen=True)
class TraceRecipe:
    """A trace by its fingerprint and its path."""

    identity: str
    """Sources, how they were read, counts and fingerprint, as JSON."""
    paths: tuple[str, ...]
    """Its files; none of a workload."""
    opened: Trace | None = field(default=None, compare=False, repr=False)
    """The trace itself, in the process that has it open."""

    @classmethod
    def of(cls, trace: Trace, keep: bool = False) -> TraceRecipe:
        """The recipe of a trace that is open; with `keep` it stays so."""
        paths = tuple(map(str, sources_of(trace.identity)))
        return cls(json.dumps(trace.identity, sort_keys=True), paths, trace if keep else None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without the trace."""
        return TraceRecipe, (self.identity, self.paths)

    @cached_property
    def known(self) -> dict[str, Any]:
        """The identity."""
        known: dict[str, Any] = json.loads(self.identity)
        return known

    @property
    def fingerprint(self) -> str:
        """Hash of its accesses."""
        return str(self.known["fingerprint"])

    @property
    def accesses(self) -> int:
        """Page accesses."""
        return int(self.known["accesses"])

    @property
    def unique_pages(self) -> int:
        """Different pages."""
        return int(self.known["unique_pages"])

    @property
    def page_bytes(self) -> int:
        """Page size."""
        return int(self.known["page_bytes"])

    def open(self) -> Trace:
        """The trace. Raises `MissingFile`, and `DataError` if it is another one by now."""
        if self.opened is not None:
            return self.opened
        return _traces.get(self.identity, lambda: reopened(self.known, self.paths))


@dataclass(frozen=True)
class DriveRecipe:
    """A device by all of its keys."""

    record: str
    """Everything after defaults, as JSON."""
    placement: str = "none"
    """Its placement policy, as results call it."""
    opened: Device | None = field(default=None, compare=False, repr=False)
    """The device itself, in the process that has it."""

    @classmethod
    def of(cls, drive: Device, called: str, keep: bool = False) -> DriveRecipe:
        """The recipe of a device, under the name that rows have: not where its file was."""
        record = json.dumps({**drive.record, "name": called}, sort_keys=True)
        return cls(record, drive.placement, drive if keep else None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without the device."""
        return DriveRecipe, (self.record, self.placement)

    @cached_property
    def known(self) -> dict[str, Any]:
        """The record."""
        known: dict[str, Any] = json.loads(self.record)
        return known

    @property
    def identity(self) -> dict[str, Any]:
        """Keys that determine results, without its name and options that runs carry themselves."""
        known = dict(self.known)
        for key in ("name", "preset", "states_address_mode", "trace"):
            known.pop(key, None)
        timing = ("hit_ns", "evict_wait", "staging_pages", "read_wait")
        known["cache"] = {k: v for k, v in known.get("cache", {}).items() if k in timing}
        return known

    def open(self) -> Device:
        """The device; filled once in a process, for all tasks."""
        if self.opened is not None:
            return self.opened
        return _drives.get(self.record, lambda: restored(self.record))
