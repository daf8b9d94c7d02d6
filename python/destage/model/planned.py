"""A run that would be done."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Planned"]


@dataclass(frozen=True)
class Planned:
    """A run that `compare` would do."""

    trace: str
    """The name of the trace in tables."""
    policy: str
    """Policy with the parameters that were given."""
    cache: str
    """The cache size as it was given."""
    frames: int
    """Pages that the cache has room for."""
    cache_bytes: int
    """The same in bytes."""
    accesses: int
    """Page accesses to replay."""
    device: str | None = None
    """The device behind the cache; None without one."""
    ftl: str | None = None
    """Its flash translation layer."""
    placement: str | None = None
    """The placement policy; `none` without one."""
