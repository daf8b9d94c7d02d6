"""Which trace was replayed, how it was read, and its name in tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from destage.base.errors import DataError
from destage.base.io.names import printable

__all__ = ["TraceIdentity", "stored_reader", "trace_name"]


@dataclass(frozen=True)
class TraceIdentity:
    """Which trace was replayed, and how it was read."""

    sources: tuple[str, ...]
    """Files as they were given, or what made the trace."""
    fingerprint: str
    """Hash of the decoded accesses: equal for equal content."""
    format: str
    """Format that the records were read from."""
    page_bytes: int
    """Page size."""
    requests: int
    """Requests that read or write."""
    accesses: int
    """Page accesses."""
    unique_pages: int
    """Different pages."""
    duration_ns: int | None
    """First to last arrival; None if the trace has no times."""
    options: Mapping[str, Any]
    """How it was read and decoded."""

    @property
    def name(self) -> str:
        """The name in tables: file names without folders, and the device if one was chosen."""
        return trace_name(self.sources, self.options)

    @property
    def footprint_bytes(self) -> int:
        """Different pages, in bytes."""
        return self.unique_pages * self.page_bytes

    @classmethod
    def of(cls, data: Mapping[str, Any], where: str) -> TraceIdentity:
        """Take it from a result's JSON; `where` is the place that messages name."""
        for key in cls.__dataclass_fields__:
            if key not in data:
                raise DataError(f"{where}.{key}: found nothing")
        known = {key: data[key] for key in cls.__dataclass_fields__}
        return cls(**(known | {"sources": tuple(data["sources"])}))


def stored_reader(options: Mapping[str, Any]) -> dict[str, Any]:
    """Reader options of a stored result, by the keys of this version."""
    before = {"device": "volume", "devices": "volumes", "tenant_is_device": "tenant_is_volume"}
    return {before.get(key, key): value for key, value in options.items()}


def trace_name(sources: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return what tables call a trace: `hm_0.csv`, `hm_0.csv and 2 more`, `all.csv:hm`."""
    names = [os.path.basename(s) or s for s in map(str, sources)]
    if not names:
        return "trace"
    name = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    reader = options.get("reader")
    volume = stored_reader(reader).get("volume") if isinstance(reader, Mapping) else None
    chosen = ",".join(map(str, volume)) if isinstance(volume, list) else volume
    return printable(f"{name}:{chosen}" if chosen else name)
