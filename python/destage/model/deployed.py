"""Deployed systems that cache blocks: what one types into each, and the nearest policy here.

None of them is simulated as it is. What each runs by its own documents stands beside the policy
that comes nearest to it, with what that leaves out; `docs/advise.md` has the sources in full.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["System", "systems"]

KIB = 1 << 10
MIB = 1 << 20


@dataclass(frozen=True)
class System:
    """A deployed cache, under one of its settings."""

    name: str
    """The system, as people call it."""
    setting: str
    """Which of its settings."""
    policy: str
    """The policy here that comes nearest."""
    unit_bytes: int
    """Its sizes are multiples of this."""
    least_bytes: int
    """The smallest that it takes."""
    command: str
    """The setting to type: `{size}`, `{kib}`, `{mib}`, `{bytes}` stand for the size."""
    lacks: str
    """Parts of the policy that the system does not have, in plain words."""
    source: str
    """Where the system's own rules are told."""
    writer: bool = False
    """It writes dirty pages ahead: run with the background writer in front of a drive."""
    reads_only: bool = False
    """It never holds a page that is newer than the store: only hits of reads mean anything."""

    def room(self, cache_bytes: int) -> int:
        """The smallest size it takes that holds so many bytes."""
        size = max(cache_bytes, self.least_bytes)
        return -(-size // self.unit_bytes) * self.unit_bytes

    def typed(self, cache_bytes: int) -> str:
        """The setting for a cache of this many bytes."""
        room = self.room(cache_bytes)
        whole = room % MIB == 0
        size = f"{room // MIB}M" if whole else f"{room // KIB}k"
        sizes = {"size": size, "kib": room // KIB, "mib": -(-room // MIB), "bytes": room}
        return self.command.format(**sizes, pg=f"{size}B")


@cache
def systems() -> tuple[System, ...]:
    """The deployed systems of `data/deployed.toml`."""
    text = (files("destage") / "data" / "deployed.toml").read_text(encoding="utf-8")
    return tuple(System(**system) for system in tomllib.loads(text)["system"])
