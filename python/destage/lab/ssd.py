"""Drives: presets, TOML files, and what a run in front of one needs to know."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Unpack

from destage import _destage
from destage.base.errors import DataError, ExcludedError, UsageError
from destage.base.io.names import path_of, shown
from destage.base.io.path_conflicts import reading
from destage.lab.options import DeviceOptions, ProgressCallback, json_of
from destage.model.card import Card
from destage.model.words import percent, size

__all__ = ["DeviceLike", "Device", "open_device", "restored"]


class Device:
    """A simulated SSD, for `device` of `compare`, `run` and `open_trace`.

    It is filled (preconditioned) when the first run needs it, and every run starts with a copy of
    that state. States that take long to make are kept in the folder of decoded traces.
    """

    def __init__(self, raw: _destage.Drive, allow_code: bool = False) -> None:
        """Wrap what the native module returns; use `open_device`."""
        self.raw = raw
        self.allow_code = allow_code
        """Whether a policy in a file that the device's file names may run."""

    @property
    def name(self) -> str:
        """The name in tables: the preset or the file, and the keys that were changed."""
        return self.raw.name

    @property
    def page_bytes(self) -> int:
        """Page size; traces in front of the device are opened with it."""
        return self.raw.page_bytes

    @property
    def block_bytes(self) -> int:
        """Size of an erase block."""
        return self.raw.block_bytes

    @property
    def logical_pages(self) -> int:
        """Pages that the host sees."""
        return self.raw.logical_pages

    @property
    def logical_bytes(self) -> int:
        """Capacity that the host sees."""
        return self.logical_pages * self.page_bytes

    def fill(self, progress: ProgressCallback | None = None) -> None:
        """Fill it now, as the first run would."""
        self.raw.fill(progress)

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """Everything after defaults, as results keep it: `name`, `device`, `cache`, `host`, ..."""
        record: dict[str, Any] = json.loads(self.raw.record())
        return record

    @cached_property
    def size(self) -> Mapping[str, Any]:
        """Sizes that follow from the geometry.

        `units`, `planes`, `raw_pages`, `raw_bytes`, `logical_pages`, `logical_bytes`, `op`; with
        `ftl = page` also what random writes make of it: `effective_op` (less what collection keeps
        free), `greedy_waf` (closed form) and `page_writes_per_s` (where the device is saturated).
        """
        size: dict[str, Any] = json.loads(self.raw.size())
        return size

    @property
    def cache(self) -> tuple[str, ...]:
        """Default cache sizes of runs; empty if the device has none."""
        return tuple(self.record["cache"].get("frames", ()))

    @property
    def policy(self) -> tuple[str, Mapping[str, Any]] | None:
        """Default policy of runs, with its parameters; None if the device has none."""
        table = dict(self.record["cache"])
        own = {k: table.pop(k) for k in CACHE_KEYS if k in table}
        return (own["policy"], table) if own.get("policy") else None

    @property
    def trace_options(self) -> Mapping[str, Any]:
        """Reader options of the device's file; `open_trace` overrides them."""
        options: dict[str, Any] = self.record.get("trace", {})
        return options

    @property
    def queue_depth(self) -> int | None:
        """Requests outstanding in a closed loop; None in an open loop."""
        host = self.record["host"]
        return int(host["queue_depth"]) if host["mode"] == "closed" else None

    @property
    def placement(self) -> str:
        """The placement policy, as one types it: `"none"`, `"sepbit"`."""
        return self.raw.placement

    @property
    def wrap(self) -> str | None:
        """Treatment of pages beyond the device, if its file sets it: `modulo` or `error`."""
        return {"wrap": "modulo", "error": "error"}.get(self.raw.address_mode or "")

    def with_options(self, **options: Unpack[DeviceOptions]) -> Device:
        """Return the same device with other options; `open_device` documents them.

        Raises `UsageError` for an unknown option or value, and `ExcludedError` where
        the device and an option exclude each other.
        """
        given = {name: value for name, value in options.items() if value is not None}
        return Device(self.raw.with_options(json_of(given)), self.allow_code) if given else self

    def extended(self, pages: int) -> Device:
        """Return the same device with as many more blocks per plane as `pages` logical pages take.

        It is the device itself if it has them. Raises `UsageError` if no device can be so large.
        """
        if isinstance(pages, bool) or not isinstance(pages, int) or not 0 <= pages < 1 << 64:
            raise UsageError(f"pages: expected a number of pages, got {pages!r}")
        if pages <= self.logical_pages:
            return self
        return Device(self.raw.extended(pages), self.allow_code)

    def __reduce__(self) -> tuple[Callable[..., Device], tuple[str]]:
        """Pickle every key of it, and no state: it is filled again where it is needed."""
        return restored, (self.raw.record(),)

    def card(self) -> Card:
        """The device in a few lines; `record` has every key."""
        device, known = self.record["device"], self.size
        pages = f"{self.logical_pages:,} pages of {self.page_bytes:,} bytes"
        depth = self.queue_depth
        facts = [
            ("Capacity", f"{size(self.logical_bytes)} = {pages}"),
            ("Over-provisioning", percent(known["op"], 1)),
            ("Units", f"{known['units']:,}, each a {device['queue_level']} with its queue"),
            ("FTL", str(device["ftl"])),
            ("At time 0", FILLED[device["precondition"]]),
            ("Host", "as the trace says" if depth is None else f"{depth} requests outstanding"),
        ]
        if self.placement != "none":
            facts.append(("Placement", self.placement))
        return Card(f"Device {self.name}", facts)

    def __repr__(self) -> str:
        """Return a few lines of numbers."""
        return self.card().text()

    def _repr_html_(self) -> str:
        """Return the same as a card, for a notebook."""
        return self.card().html()


def restored(record: str) -> Device:
    """The device of a record, as results and pickles keep it."""
    return Device(_destage.drive_from_record(record, True))


def open_shared(
    path: str,
    others: Sequence[tuple[str, str]],
    *,
    placement: str | None = None,
    cache: bool = True,
) -> Device:
    """Open the device of a file that has keys for others too, which are given as (table, key).

    `placement` is its new placement policy, if given.
    """
    keys = list(others)
    return _opened(lambda spec: _destage.open_shared_drive(spec, keys, cache), path, placement)


def _opened(opener: Callable[[str], _destage.Drive], spec: str, placement: object) -> Device:
    """A device by name, which is to have this placement policy.

    With `isolation = assigned` there is no device but with a policy: then it has it already.
    """
    try:
        return Device(opener(spec))
    except (ExcludedError, DataError):
        if not isinstance(placement, str):
            raise
        try:
            return Device(opener(_placed(spec, placement)))
        except ExcludedError:
            raise
        except (UsageError, DataError):
            pass
        raise


def _placed(spec: str, placement: str) -> str:
    """The name of a device with a placement policy among its changes."""
    policy, _, keys = placement.strip().partition("[")
    given = [key for key in keys.removesuffix("]").split(";") if key.strip()]
    changes = ";".join([f"placement={policy}", *(f"placement.{key.strip()}" for key in given)])
    spec = spec.rstrip()
    return f"{spec[:-1]};{changes}]" if spec.endswith("]") else f"{spec}[{changes}]"


#: What a device holds before the first request, in a word.
FILLED = {
    "none": "empty",
    "sequential": "full",
    "random": "full, overwritten at random",
    "steady": "full, in a steady state",
}

#: A device, or what `open_device` makes one of.
DeviceLike = Device | str | os.PathLike[str]

#: Keys of the cache section that are no parameters of its policy.
CACHE_KEYS = ("policy", "frames", "hit_ns", "evict_wait", "staging_pages", "read_wait")


def open_device(
    spec: DeviceLike,
    *,
    cache: bool = True,
    allow_code: bool = False,
    **options: Unpack[DeviceOptions],
) -> Device:
    """Open a preset or a TOML file as a device.

    Parameters:
        spec: `"small"`, `"ecr[gc_mode=background]"`, `"my.toml"`, `"my.toml[cache.hit_ns=100]"`;
            `devices()` and `device_keys()` list presets and keys. An open device is taken as it is.
        cache: keep the filled device for the next time if filling it takes long
            (`$DESTAGE_CACHE`).
        allow_code: run a policy in a Python file that the device's file names.
        options: `DeviceOptions`: `ftl`, `queue_depth`, `placement`, `flush`; one value each.

    Raises `UsageError` for an unknown preset or an invalid change or option, `MissingFile`, and
    `DataError` with line and column of an error in a file.

    >>> open_device("small", queue_depth=8).queue_depth
    8
    """
    if isinstance(spec, Device):
        drive = spec
    elif isinstance(spec, (str, os.PathLike)) and isinstance(os.fspath(spec), str):
        reading("the device", path_of(spec, "device"))
        opener = partial(_destage.open_drive, keep=bool(cache))
        drive = _opened(opener, os.fspath(spec), options.get("placement"))
        drive.allow_code = bool(allow_code)
    else:
        raise UsageError(f"device: expected a preset, a TOML file or a device, got {shown(spec)}")
    return drive.with_options(**options)
