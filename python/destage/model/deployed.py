"""Deployed systems that cache blocks: what one types into each, and the nearest policy here.

None of them is simulated as it is. What each runs by its own documents stands beside the policy
that comes nearest to it, with what that leaves out.

Hosts of KV caches take settings in the form that each documents: a key is here only if the host's
own documents or code have it; docs/reference/tiers.md has the versions.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from destage import _destage
from destage.base.errors import UsageError
from destage.model.configuration import Configuration
from destage.model.naming import catalogue
from destage.model.words import size as size_text

__all__ = ["WRITER", "KvSetting", "System", "kv_settings", "sizes_now", "systems"]

#: What a command may say of the size.
_SIZES = ("size", "kib", "mib", "bytes", "pg")
#: Behind the name of a policy that runs with the background writer.
WRITER = " + writer"

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
GB = 10**9


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
    """Setting of a cache that the system has already; the advice is added to it."""
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

    def least(self, now: Mapping[str, int] | None = None) -> int:
        """The smallest size it takes; of a cache that is enlarged, a unit beyond the present one.

        The least total of an enlarged cache is a rule of `typed`, not of what is added.
        """
        return self.unit_bytes if self.key and self.key in (now or {}) else self.least_bytes

    def smallest(self, now: Mapping[str, int] | None = None) -> int:
        """The smallest cache that a setting of it gives: beyond the present size, if it has one."""
        if self.key and now is not None and self.key in now:
            total = max(self.least_bytes, self.default_bytes)
            return max(self.unit_bytes, total - now[self.key])
        return self.least_bytes

    def room(
        self, cache_bytes: int, most: int | None = None, now: Mapping[str, int] | None = None
    ) -> int:
        """The smallest size it takes that holds so many bytes; with `most`, none above that.

        A system whose smallest setting is above `most` has no such size.
        """
        size = max(cache_bytes, self.least(now))
        room = -(-size // self.unit_bytes) * self.unit_bytes
        return room if most is None or room <= most else most // self.unit_bytes * self.unit_bytes

    def typed(
        self, cache_bytes: int, now: Mapping[str, int] | None = None, most: int | None = None
    ) -> str:
        """The setting for a cache of this many bytes, never below what the system has by default.

        A cache that is there already is enlarged: `now` has its present size by key; without it
        the setting has a placeholder.
        """
        room = self.room(cache_bytes, most, now)
        if self.key and self.key not in (now or {}):
            present = f"<present {self.key} + {_short(room)}B>"
            return self.command.format(**dict.fromkeys(_SIZES, present))
        if self.key and now is not None:
            whole = None if most is None else now[self.key] + most
            total = max(now[self.key] + room, self.least_bytes, self.default_bytes)
            room = self.room(total, whole)
        size = _short(room)
        sizes = {"size": size, "kib": room // KIB, "mib": -(-room // MIB), "bytes": room}
        return self.command.format(**sizes, pg=f"{size}B")

    def raised(self, cache_bytes: int, now: Mapping[str, int]) -> str:
        """Why the setting typed is above the present size and the advised one; empty if not."""
        if not self.key or self.key not in now:
            return ""
        total = now[self.key] + self.room(cache_bytes, now=now)
        if total >= max(self.least_bytes, self.default_bytes):
            return ""
        if self.default_bytes >= self.least_bytes:
            return f"{size_text(self.default_bytes)} is the default {self.key}"
        return f"{size_text(self.least_bytes)} is the least {self.key}"


def _short(room: int) -> str:
    return f"{room // MIB}M" if room % MIB == 0 else f"{room // KIB}k"


def sizes_now(text: str | Mapping[str, str] | None) -> dict[str, int]:
    """Present sizes of caches, `shared_buffers=16GB`, in bytes by key. Raises `UsageError`.

    Units are powers of 1024, as PostgreSQL has them.
    """
    if text is None:
        return {}
    if not isinstance(text, (str, Mapping)):
        raise UsageError(f"now: expected text such as 'shared_buffers=16GB', got {text!r}")
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


@dataclass(frozen=True)
class KvSetting:
    """The setting of a host of KV caches."""

    host: str
    """The host and its version."""
    typed: str
    """The setting."""
    lacks: str
    """Parts of the advice that the host cannot do; empty if it can do all."""
    source: str
    """Where its keys are documented."""


def kv_settings(chosen: Configuration) -> tuple[KvSetting, ...]:
    """The setting of each host for a configuration."""
    return (_vllm(chosen), _lmcache(chosen), _dynamo(chosen))


@cache
def _hosts() -> Mapping[str, Any]:
    """Policies and filters that hosts have."""
    return tomllib.loads((files("destage") / "data" / "kv_hosts.toml").read_text("utf-8"))


def _admit(chosen: Configuration) -> str:
    return str(chosen.run["admit"] or "").partition("[")[0]


def _said(missing: Iterator[str]) -> str:
    return "; ".join(missing)


#: Where vLLM reads the keys: the release; its documents describe main.
_VLLM_SOURCE = (
    "vLLM 0.33.0 (wheel, commit 4ba787ec9): vllm/v1/kv_offload/cpu/spec.py, tiering/spec.py,"
    " tiering/fs/manager.py"
)


def _vllm(chosen: Configuration) -> KvSetting:
    run, has_flash = chosen.run, chosen.flash_bytes > 0
    extra: dict[str, object] = {"cpu_bytes_to_use": chosen.dram_bytes}
    if has_flash:
        extra["spec_name"] = "TieringOffloadingSpec"
        extra["secondary_tiers"] = [{"type": "fs", "root_dir": "/mnt/kv_cache"}]
    label = run.label.partition(" over ")[0]
    is_known = any(p["name"] == run.policy and not p["needs_device"] for p in catalogue())
    if label in _hosts()["vllm"]["own"]:
        extra["eviction_policy"] = label
    elif is_known:
        extra["eviction_policy"] = label
        extra["cache_policy_module_path"] = "destage.live.hosts.vllm"
    config = {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": extra,
    }

    def missing() -> Iterator[str]:
        if has_flash:
            yield (
                "its flash tier has no size, policy or admission filter, and excludes"
                " store_threshold, the filter of its CPU tier"
            )

    typed = f"vllm serve MODEL --kv-transfer-config '{json.dumps(config)}'"
    return KvSetting("vLLM 0.33", typed, _said(missing()), _VLLM_SOURCE)


def _lmcache(chosen: Configuration) -> KvSetting:
    run, has_flash = chosen.run, chosen.flash_bytes > 0
    named: Mapping[str, str] = _hosts()["lmcache"]["policies"]
    lines = ["local_cpu: true", f"max_local_cpu_size: {chosen.dram_bytes / GIB:.2f}"]
    if has_flash:
        lines += ['local_disk: "file:///mnt/kv_cache"']
        lines += [f"max_local_disk_size: {chosen.flash_bytes / GIB:.2f}"]
    lines += [f'cache_policy: "{named[run.policy]}"'] if run.policy in named else []

    def missing() -> Iterator[str]:
        if run.policy not in named:
            yield f"it has no {run.policy}"
        if has_flash and _admit(chosen) != "always":
            yield "it has no admission filter: it writes every block to disk"

    source = (
        "LMCache/LMCache, docs/source/api_reference/configurations.rst at 0223da8 (sizes in GiB)"
    )
    return KvSetting("LMCache", "\n".join(lines), _said(missing()), source)


def _dynamo(chosen: Configuration) -> KvSetting:
    has_flash, filters = chosen.flash_bytes > 0, _hosts()["dynamo"]["filters"]
    typed = [f"DYN_KVBM_CPU_CACHE_GB={max(1, chosen.dram_bytes // GB)}"]
    if has_flash:
        typed.append(f"DYN_KVBM_DISK_CACHE_GB={max(1, chosen.flash_bytes // GB)}")
        off = "false" if _admit(chosen) in filters else "true"
        typed.append(f"DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER={off}")

    def missing() -> Iterator[str]:
        yield "it has no key for the eviction policy"
        if has_flash and _admit(chosen) in filters:
            yield "its filter takes blocks with a frequency of 2 or more, and forgets with time"
        if has_flash and _admit(chosen) == "probability":
            yield "it has no random filter"

    source = "ai-dynamo/dynamo, lib/bindings/kvbm/README.md at 250cdc8; KVBM guide (filter)"
    return KvSetting("Dynamo KVBM", " ".join(typed), _said(missing()), source)
