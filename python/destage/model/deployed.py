"""Deployed systems that cache blocks: what one types into each, and the nearest policy here.

None of them is simulated as it is. What each runs by its own documents stands beside the policy
that comes nearest to it, with what that leaves out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from destage import _destage
from destage.base.errors import UsageError

__all__ = ["WRITER", "System", "sizes_now", "systems"]

#: What a command may say of the size.
_SIZES = ("size", "kib", "mib", "bytes", "pg")
#: Behind the name of a policy that runs with the background writer.
WRITER = " + writer"

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
    """Source of the system's own rules."""
    writer: bool = False
    """It writes dirty pages ahead: run with the background writer in front of a device."""
    reads_only: bool = False
    """It never holds a page that is newer than the store: only hits of reads mean anything."""
    key: str = ""
    """Setting of a cache that the system has already, which what is advised comes on top of."""
    default_bytes: int = 0
    """Its default; 0 where that depends on the machine."""

    @property
    def label(self) -> str:
        """The candidate of advice that it runs."""
        return self.policy + (WRITER if self.writer else "")

    @property
    def title(self) -> str:
        """The system and its setting."""
        return f"{self.name}, {self.setting}"

    def smallest(self, now: Mapping[str, int] | None = None) -> int:
        """The smallest cache that a setting of it gives: beyond the present size, if it has one."""
        if self.key and now is not None and self.key in now:
            return max(self.least_bytes, self.default_bytes - now[self.key])
        return self.least_bytes

    def room(self, cache_bytes: int, most: int | None = None) -> int:
        """The smallest size it takes that holds so many bytes; with `most`, none above that.

        A system whose smallest setting is above `most` has no such size.
        """
        size = max(cache_bytes, self.least_bytes)
        room = -(-size // self.unit_bytes) * self.unit_bytes
        return room if most is None or room <= most else most // self.unit_bytes * self.unit_bytes

    def typed(
        self, cache_bytes: int, now: Mapping[str, int] | None = None, most: int | None = None
    ) -> str:
        """The setting for a cache of this many bytes, never below what the system has by default.

        A cache that is there already is enlarged: `now` has its present size by key; without it
        the setting has a placeholder.
        """
        room = self.room(cache_bytes, most)
        if self.key and self.key not in (now or {}):
            present = f"<present {self.key} + {_short(room)}B>"
            return self.command.format(**dict.fromkeys(_SIZES, present))
        if self.key and now is not None:
            whole = None if most is None else now[self.key] + most
            room = self.room(max(now[self.key] + room, self.default_bytes), whole)
        size = _short(room)
        sizes = {"size": size, "kib": room // KIB, "mib": -(-room // MIB), "bytes": room}
        return self.command.format(**sizes, pg=f"{size}B")


def _short(room: int) -> str:
    return f"{room // MIB}M" if room % MIB == 0 else f"{room // KIB}k"


def sizes_now(text: str | Mapping[str, str] | None) -> dict[str, int]:
    """Present sizes of caches, `shared_buffers=16GB`, in bytes by key. Raises `UsageError`.

    Units are powers of 1024, as PostgreSQL has them.
    """
    if text is None:
        return {}
    pairs = (
        list(text.items())
        if isinstance(text, Mapping)
        else [(k, v) for k, _, v in (one.partition("=") for one in text.split(","))]
    )
    known = [system.key for system in systems() if system.key]
    found = {}
    for key, value in pairs:
        name = key.strip()
        if name not in known:
            near = _destage.nearest(name, known)
            meant = f", did you mean {near}?" if near else ""
            names = ", ".join(dict.fromkeys(known))
            raise UsageError(f"now: unknown setting {name!r}{meant} (known: {names})")
        match = re.fullmatch(r"\s*([0-9]+)\s*([kmgt]?)(?:i?b)?\s*", value.lower())
        if match is None or not int(match[1]):
            raise UsageError(f"now: {name}: expected a size such as 16GB, got {value!r}")
        found[name] = int(match[1]) << (10 * (" kmgt".index(match[2] or " ")))
    return found


@cache
def systems() -> tuple[System, ...]:
    """The deployed systems of `data/deployed.toml`."""
    text = (files("destage") / "data" / "deployed.toml").read_text(encoding="utf-8")
    return tuple(System(**system) for system in tomllib.loads(text)["system"])
