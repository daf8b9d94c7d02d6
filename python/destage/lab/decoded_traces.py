"""The folder of decoded traces: its contents, and how to clear it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from destage import _destage

__all__ = ["CacheEntry", "TraceCache", "trace_cache"]


@dataclass(frozen=True)
class CacheEntry:
    """A decoded trace that is kept, or its next uses."""

    path: Path
    """Its file."""
    kind: str
    """`trace` or `next`."""
    bytes: int
    """Its length."""
    used_s: int
    """When it was last used, seconds since 1970."""
    sources: tuple[str, ...]
    """Names of the files it was decoded from."""
    requests: int
    """Requests of the trace."""
    page_bytes: int
    """Page size."""
    usable: bool
    """Whether this version of the program can read it."""


@dataclass(frozen=True)
class TraceCache:
    """The folder of decoded traces."""

    folder: Path
    """`$DESTAGE_CACHE`, else the user's cache folder."""
    limit_bytes: int
    """The size limit of the folder; least recently used entries are removed first."""
    entries: tuple[CacheEntry, ...]
    """Entries of the cache, most recently used first."""

    @property
    def bytes(self) -> int:
        """Length of all entries."""
        return sum(e.bytes for e in self.entries)

    def clear(self) -> tuple[int, int]:
        """Remove everything that Destage keeps there; return files and bytes removed."""
        return _destage.trace_cache_clear()


def trace_cache() -> TraceCache:
    """Describe the folder of decoded traces. Raises `UsageError` if there is none."""
    data = json.loads(_destage.trace_cache())
    entries = (
        CacheEntry(**(e | {"path": Path(e["path"]), "sources": tuple(e["sources"])}))
        for e in data["entries"]
    )
    return TraceCache(Path(data["dir"]), data["limit_bytes"], tuple(entries))
