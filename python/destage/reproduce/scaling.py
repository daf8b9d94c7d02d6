"""Fewer requests over fewer pages, with a smaller cache, in front of a smaller device.

A share of a load's requests touches as large a share of its pages. Against the whole cache and
the whole device it would be another experiment: the cache would hold everything, and nothing would
ever be collected. So cache and device shrink as the load does, the device by its blocks per plane:
channels, chips and the shares of spare and of free pages stay, and so do timings. What an FTL has
a number of, log blocks and cached mappings, shrinks as the device does, and so does what a policy
counts in requests, such as a sampling period. The least that makes sense stays: a cache of some
pages, a plane of some blocks. An erase block stays as large as it is: a cache of too few of them,
or a run of too few periods, decides nothing (`coarse`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache

from destage.lab.catalogue import Param, PolicyInfo, policies
from destage.lab.ssd import Device, open_device
from destage.reproduce.claims import RunSet, Variant
from destage.reproduce.load import Load

__all__ = [
    "NO_DEVICE",
    "OWN_FTL",
    "coarse",
    "drives_of",
    "frames_of",
    "scaled_drive",
    "scaled_policy",
    "scaled_size",
    "with_keys",
]

#: Text where an axis has no value: a run without a device, or with the device's own FTL.
NO_DEVICE = "none"
OWN_FTL = "own"
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
#: What the planes of a device are counted by.
PLANES = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")
#: The least of each, however small the scale.
LEAST_KIB, LEAST_BLOCKS, LEAST_LOG_BLOCKS, LEAST_ENTRIES = 64, 32, 4, 64
#: Units of a policy's parameters that count requests.
COUNTED = ("page writes", "page accesses", "accesses", "evictions")
#: Fewer erase blocks of the cache, or periods of the run, decide nothing.
FEWEST_BLOCKS, FEWEST_PERIODS = 16, 20


def scaled_size(size: str, share: float) -> str:
    """A cache size times a share, to the KiB or page: `2GiB` and 0.1 give `209715KiB`."""
    number, unit = size[:-3], size[-3:]
    if share == 1:
        return size
    if size.endswith("p"):
        return f"{max(1, round(int(size[:-1]) * share))}p"
    if unit not in UNITS:
        return size
    return f"{max(LEAST_KIB, round(float(number) * (UNITS[unit] >> 10) * share))}KiB"


def frames_of(size: str, page_bytes: int) -> int:
    """The frames of a cache size in bytes or pages."""
    if size.endswith("p"):
        return int(size[:-1])
    return int(size[:-3]) * UNITS[size[-3:]] // page_bytes


def with_keys(spec: str, more: str | None) -> str:
    """Add or change keys of a name: `ecr[a=1;b=3]` and `b=2` give `ecr[a=1;b=2]`."""
    if not more:
        return spec
    name, _, given = spec.removesuffix("]").partition("[")
    keys = dict(one.split("=", 1) for part in (given, more) for one in part.split(";") if one)
    return f"{name}[{';'.join(f'{key}={value}' for key, value in keys.items())}]"


def scaled_policy(spec: str, share: float, *, device: bool = True) -> str:
    """A policy whose parameters that count requests are a share of what they were.

    `bpac` and 0.1 give `bpac[sampling_period=1000]`. Without a device, whose erase blocks keep
    their size, clusters of page numbers shrink as the footprint does.
    """
    if share == 1:
        return spec
    keys = {p.name: count for p, count in _counts(spec, COUNTED)}
    fewer = {name: max(1, round(count * share)) for name, count in keys.items() if count}
    if not device:
        clusters = {p.name: n for p, n in _counts(spec, ("pages",)) if p.name == "cluster_size"}
        fewer |= {name: max(2, round(count * share)) for name, count in clusters.items()}
    return with_keys(spec, ";".join(f"{name}={count}" for name, count in fewer.items()))


def _counts(spec: str, units: tuple[str, ...]) -> Iterator[tuple[Param, int]]:
    """The parameters of a policy in some units, with the whole numbers that they have."""
    name, _, given = spec.removesuffix("]").partition("[")
    keys = dict(one.split("=", 1) for one in given.split(";") if one)
    for param in _catalogue()[name].params if name in _catalogue() else ():
        text = keys.get(param.name, param.default)
        if param.unit in units and text.isdecimal():
            yield param, int(text)


@cache
def _catalogue() -> Mapping[str, PolicyInfo]:
    """The policies by name."""
    return {p.name: p for p in policies()}


def coarse(spec: str, blocks: float, accesses: float) -> str:
    """Why a scaled run of a policy decides nothing; empty: it may.

    `blocks` are erase blocks of the cache, which matter to a policy that destages by blocks.
    """
    name = spec.partition("[")[0]
    known = _catalogue().get(name)
    if known is not None and known.clusters and blocks < FEWEST_BLOCKS:
        return f"a cache of under {FEWEST_BLOCKS} erase blocks"
    periods = [n for p, n in _counts(spec, COUNTED) if "period" in p.name and n]
    if any(accesses < FEWEST_PERIODS * n for n in periods):
        return f"a run of under {FEWEST_PERIODS} periods"
    return ""


@cache
def scaled_drive(spec: str, ftl: str, share: float) -> Device:
    """A device, and the FTL in it, with a share of their blocks; `ftl` may be empty: the device's.

    Raises what `open_device` raises.
    """
    whole = open_device(spec, ftl=ftl or None)
    device = whole.record["device"]
    blocks = device["blocks_per_plane"]
    fewer = min(blocks, max(LEAST_BLOCKS, round(blocks * share)))
    if fewer == blocks:
        return whole
    part = fewer / blocks
    block = device["pages_per_block"]
    keys: dict[str, int | str] = {
        "blocks_per_plane": fewer,
        "logical_pages": int(device["logical_pages"] * part) // block * block,
        "gc_low_pages": max(block, round(device["gc_low_pages"] * part)),
        "gc_high_pages": max(2 * block, round(device["gc_high_pages"] * part)),
    }
    if device["precondition_writes"]:
        keys["precondition_writes"] = round(device["precondition_writes"] * part)
    if "map_cache" in device:
        is_whole = device["map_granularity"] == "page"
        least = device["page_bytes"] if is_whole else LEAST_ENTRIES * device["map_entry_bytes"]
        keys["map_cache"] = max(least, round(device["map_cache"] * part))
        # Map pages have an open block of their own.
        keys["gc_low_pages"] = max(2 * block, int(keys["gc_low_pages"]))
    # The device's own FTL may need more room than there is, before it is made smaller, too.
    keys["ftl"] = "page"
    smaller = with_keys(spec, ";".join(f"{key}={value}" for key, value in keys.items()))
    return open_device(smaller, ftl=_scaled_ftl(whole, part, fewer))


def _scaled_ftl(whole: Device, part: float, blocks: int) -> str:
    """The device's FTL with a share of its log blocks or cached mappings."""
    device, found = whole.record["device"], dict(whole.record.get("ftl", {}))
    if "log_blocks" in found:
        planes = math.prod(device[key] for key in PLANES)
        pages = int(device["logical_pages"] * part)
        # What the data and a block or two of work leave.
        room = blocks * planes - -(-pages // device["pages_per_block"]) - 2
        fewer = max(LEAST_LOG_BLOCKS, int(found["log_blocks"] * part))
        found["log_blocks"] = min(fewer, max(LEAST_LOG_BLOCKS, room))
    if "cmt_entries" in found:
        found["cmt_entries"] = max(LEAST_ENTRIES, round(found["cmt_entries"] * part))
    keys = ";".join(f"{key}={_written(value)}" for key, value in found.items())
    return with_keys(device["ftl"], keys)


def _written(value: object) -> str:
    """A value as a key's text has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def drives_of(
    runs: RunSet, variant: Variant | None, load: Load, seed: int = 1
) -> Iterator[tuple[str, str, Device | None]]:
    """Every device with every FTL, as large as the load's share of its requests.

    In runs as `compare` does them the seed is of the writes that fill it.
    """
    if not runs.devices:
        yield from ((label, OWN_FTL, None) for label in runs.variants or (NO_DEVICE,))
    for device, spec in runs.devices.items():
        changed = with_keys(spec, variant.device if variant else None)
        if runs.as_compare and seed != 1:
            changed = with_keys(changed, f"precondition_seed={seed}")
        for ftl, name in (runs.ftls or {OWN_FTL: ""}).items():
            yield device, ftl, scaled_drive(changed, name, load.share)
