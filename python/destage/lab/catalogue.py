"""Catalogues: policies, devices, FTLs, trace formats, reader options.

Each comes from one table in Rust.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from destage import _destage
from destage.base.errors import UsageError
from destage.base.unknown import unknown
from destage.lab.options import reader_json
from destage.model.naming import canonical

__all__ = [
    "Counter",
    "DeviceInfo",
    "DeviceKey",
    "FormatInfo",
    "FtlInfo",
    "Gauge",
    "Param",
    "PolicyInfo",
    "device",
    "device_keys",
    "devices",
    "formats",
    "ftl",
    "ftls",
    "policies",
    "policy",
    "workload_json",
    "workloads",
]


@dataclass(frozen=True)
class Param:
    """A parameter of a policy."""

    name: str
    """Key, as it is written."""
    symbol: str
    """The paper's letter; empty if it has none."""
    values: str
    """Type and range."""
    default: str
    """Default."""
    unit: str
    """Unit of the value."""
    about: str
    """Effect of the parameter, and the source of its default."""


@dataclass(frozen=True)
class Counter:
    """A counter of one policy alone; in its results it is a metric."""

    name: str
    """Name of the metric."""
    title: str
    """A few words, as the head of a column."""
    unit: str
    """The unit of the counter."""
    about: str
    """Definition of the counter."""


@dataclass(frozen=True)
class Gauge:
    """A value that a policy adapts, for a plot over time."""

    name: str
    """Name, as in the periods of a run."""
    title: str
    """Name in the paper, and definition."""
    unit: str
    """Unit; empty for shares and ratios."""


@dataclass(frozen=True)
class PolicyInfo:
    """The catalogue's entry of a policy."""

    name: str
    """Name, as it is written."""
    title: str
    """Its name in full."""
    source: str
    """Author, title, venue, year."""
    about: str
    """The purpose of the policy, in a sentence."""
    flash_aware: bool
    """It looks at whether a page is clean or dirty."""
    ghosts: bool
    """It remembers pages that it has evicted."""
    clusters: bool
    """It gathers pages by erase block and destages a block's pages together."""
    time: str
    """Time per access."""
    offline: bool
    """It uses future accesses: a bound to compare with, not something to build."""
    needs_device: bool
    """It looks into the device: a run of it needs one."""
    params: tuple[Param, ...]
    """Parameters; empty if it has none."""
    admission: bool = False
    """It may bypass a page; a bypassed write goes through to flash."""
    counters: tuple[Counter, ...] = ()
    """Counters of this policy alone; may be empty."""
    gauges: tuple[Gauge, ...] = ()
    """Values that the policy adapts, as `run(..., series=N)` shows them; may be empty."""
    pads: str = "never"
    """When it pads a destage to whole blocks: `never`, `always` or `with_device`."""
    family: str = "classic"
    """Its family: `classic`, `flash`, `admission`, `drive`, `over` or `blocks`."""
    baseline: bool = False
    """Others are measured against it."""
    compared: int | None = None
    """Its place among the policies that `compare` runs by default."""
    advised: int | None = None
    """Its place among the policies that `advise` tries by default."""
    by_page_number: bool = False
    """The numbers of pages decide, such as their erase blocks: its keys are integers."""
    lru_of_reads: bool = False
    """Keeps the order of last accesses, and nothing else, as long as nothing is written."""
    ordered: bool = False
    """It has an order of eviction: `Cache.next_victims` shows it."""
    two_lists: bool = False
    """It keeps pages that were used once apart from others: a flash tier can be fed from either."""
    tail_first: bool = False
    """It holds a block of a prompt back for its successors: `touch="head-first"` excludes it."""

    @property
    def year(self) -> int | None:
        """Year of publication; None for folklore and unpublished policies."""
        years = re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", self.source)
        return int(years[0]) if years else None


def _policy_info(data: dict[str, Any]) -> PolicyInfo:
    parts = {
        "params": tuple(Param(**p) for p in data["params"]),
        "counters": tuple(Counter(**c) for c in data.get("counters", ())),
        "gauges": tuple(Gauge(**g) for g in data.get("gauges", ())),
    }
    return PolicyInfo(**(data | parts))


def policies() -> tuple[PolicyInfo, ...]:
    """Every policy, in the order of the catalogue.

    >>> "lru" in [p.name for p in policies()]
    True
    """
    return tuple(_policy_info(p) for p in json.loads(_destage.policies()))


def policy(name: str) -> PolicyInfo:
    """One policy. Raises `UsageError` for an unknown name, and suggests the nearest.

    >>> policy("lru").title
    'Least Recently Used'
    """
    return _policy_info(json.loads(_destage.policy(canonical(name))))


@dataclass(frozen=True)
class DeviceInfo:
    """A device that comes with the program."""

    name: str
    """As in `device=`."""
    about: str
    """Description in one line."""
    source: str
    """Where its values come from."""
    toml: str
    """Its file, to start one of your own from."""
    size: Mapping[str, float]
    """`units`, `planes`, `raw_pages`, `raw_bytes`, `logical_pages`, `logical_bytes`, `op`."""
    record: Mapping[str, Any]
    """Every key with its value, defaults filled in: tables `device`, `cache`, `host`."""


def devices() -> tuple[DeviceInfo, ...]:
    """Every preset, in the order of the catalogue.

    >>> [d.name for d in devices()][:2]
    ['small', 'ecr']
    """
    found = json.loads(_destage.drives())
    return tuple(DeviceInfo(**d | {"toml": _of_its_own(d["toml"], d["record"])}) for d in found)


def _of_its_own(toml: str, record: Mapping[str, Any]) -> str:
    """A preset's file to start from, with the settings that only presets have.

    The papers' devices keep a share of a plane free; by default a file keeps two blocks.
    """
    if "gc_low_pages" in toml or record["device"]["ftl"] != "page":
        return toml
    low = record["device"]["gc_low_pages"]
    line = f"gc_low_pages = {low}  # 5 % of a plane; a file that does not say keeps two blocks"
    return toml.replace("[device]\n", f"[device]\n{line}\n", 1)


def device(name: str) -> DeviceInfo:
    """One preset. Raises `UsageError` for an unknown name, and suggests the nearest.

    >>> device("ecr").record["device"]["channels"]
    8
    """
    found = [d for d in devices() if d.name == name]
    if not found:
        raise UsageError(unknown("preset", name, [d.name for d in devices()]))
    return found[0]


@dataclass(frozen=True)
class DeviceKey:
    """A key of a device's file."""

    table: str
    """`device`, `cache`, `host` or `ftl`."""
    name: str
    """Key, as it is written."""
    values: str
    """Type and range."""
    default: str
    """Default."""
    unit: str
    """Unit of the value."""
    about: str
    """Description."""
    spelled: str | None = None
    """The same key with a unit, `read = "60us"` for `read_ns`; None if there is none."""


def device_keys() -> tuple[DeviceKey, ...]:
    """Every key of a device's file, table by table.

    >>> [k.default for k in device_keys() if k.name == "gc_mode"]
    ['foreground']
    """
    return tuple(DeviceKey(**k) for k in json.loads(_destage.drive_keys()))


@dataclass(frozen=True)
class FtlInfo:
    """A flash translation layer."""

    name: str
    """As in `ftl=`."""
    title: str
    """Its name in full."""
    source: str
    """Where it is from."""
    about: str
    """Description."""
    params: tuple[DeviceKey, ...]
    """Keys of its table `[ftl]`; empty if it has none."""


def ftls() -> tuple[FtlInfo, ...]:
    """Every flash translation layer.

    >>> [f.name for f in ftls()][:3]
    ['page', 'dftl', 'bast']
    """
    return tuple(
        FtlInfo(**(f | {"params": tuple(DeviceKey(**k) for k in f["params"])}))
        for f in json.loads(_destage.ftls())
    )


def ftl(name: str) -> FtlInfo:
    """One flash translation layer. Raises `UsageError` with the nearest name."""
    found = [f for f in ftls() if f.name == name]
    if not found:
        raise UsageError(unknown("ftl", name, [f.name for f in ftls()]))
    return found[0]


@dataclass(frozen=True)
class FormatInfo:
    """A trace format."""

    name: str
    """As in `format=`."""
    title: str
    """For people."""
    kind: str
    """`text`, `binary` or `columnar`."""
    about: str
    """Columns, or what to know."""
    has_times: bool
    """Records carry times."""
    has_ops: bool
    """Records tell reads from writes."""
    has_volumes: bool
    """Records name a volume; otherwise the file is the volume."""
    has_response: bool
    """Records carry a measured response time."""
    coarse_ns: int | None
    """Tick of a clock so coarse that many requests share a stamp, nanoseconds."""
    confirmed: bool
    """Checked against real files."""


def formats() -> tuple[FormatInfo, ...]:
    """Every trace format that can be read.

    >>> "msr" in [f.name for f in formats()]
    True
    """
    return tuple(FormatInfo(**f) for f in json.loads(_destage.formats()))


def workload_json(kind: str, parameters: Mapping[str, Any]) -> str:
    """A workload as the boundary takes it; its kind may be a preset's name."""
    if not isinstance(kind, str):
        raise UsageError(f"kind: expected a word such as 'zipf', got {kind!r}")
    presets = {p["name"].lower() for p in workloads()["presets"]}
    named = "preset" if kind.lower() in presets else "kind"
    return reader_json({**parameters, named: kind})


def workloads() -> Mapping[str, Any]:
    """The workloads of `synth`: kinds, presets and parameters with units, ranges and defaults."""
    data: dict[str, Any] = json.loads(_destage.workloads())
    return data
