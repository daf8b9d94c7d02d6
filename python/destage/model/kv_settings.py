"""Settings of hosts of KV caches, in the form that each takes, with the source of each key.

A key is here only if the host's own documents or code have it; docs/reference/tiers.md has the
versions.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from destage.model.kv_advice import KvConfiguration
from destage.model.naming import catalogue

__all__ = ["KvSetting", "kv_settings"]

GIB = 1 << 30
GB = 10**9


@dataclass(frozen=True)
class KvSetting:
    """What one types into a host."""

    host: str
    """The host and its version."""
    typed: str
    """The setting."""
    lacks: str
    """Parts of the advice that the host cannot do; empty if it can do all."""
    source: str
    """Where its keys are documented."""


def kv_settings(chosen: KvConfiguration) -> tuple[KvSetting, ...]:
    """What one types into each host for a configuration."""
    return (_vllm(chosen), _lmcache(chosen), _dynamo(chosen))


@cache
def _hosts() -> Mapping[str, Any]:
    """Policies and filters that hosts have."""
    return tomllib.loads((files("destage") / "data" / "kv_hosts.toml").read_text("utf-8"))


def _admit(chosen: KvConfiguration) -> str:
    return str(chosen.run["admit"] or "").partition("[")[0]


def _said(missing: Iterator[str]) -> str:
    return "; ".join(missing)


#: Where vLLM reads the keys: the release, not its documents, which are those of main.
_VLLM_SOURCE = (
    "vLLM 0.33.0 (wheel, commit 4ba787ec9): vllm/v1/kv_offload/cpu/spec.py, tiering/spec.py,"
    " tiering/fs/manager.py"
)


def _vllm(chosen: KvConfiguration) -> KvSetting:
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


def _lmcache(chosen: KvConfiguration) -> KvSetting:
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


def _dynamo(chosen: KvConfiguration) -> KvSetting:
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
