"""The SSD as far as it has been found: a `[device]` table that can be simulated."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from destage.fit.miniature import LARGE_PAGES, miniature, planes, write_points
from destage.fit.probing import play, scaled, step_of
from destage.fit.script import jobs_of
from destage.lab.ssd import open_device

__all__ = ["Model", "Simulated", "base_of", "measured", "simulated"]

#: Bytes of a page's place in the map, as in `[device]`.
MAP_ENTRY_BYTES = 4
#: Phases between two that are tried first.
COARSE = 4
#: Pages of a device on which only reads are simulated.
_READ_PAGES = 24_000

T = TypeVar("T")


def base_of(name: str) -> dict[str, Any]:
    """The record of the preset that gives unidentified values; its lists are means."""
    record: dict[str, Any] = json.loads(json.dumps(open_device(name).record))
    keys = record["device"]
    for key in ("read_ns", "program_ns"):
        keys[key] = [round(sum(keys[key]) / len(keys[key]))]
    return record


@dataclass(frozen=True)
class Simulated:
    """Measurements of a simulated step."""

    mean_ns: float
    requests: int
    rate: float
    p99_ns: float
    p999_ns: float
    p9999_ns: float
    bins: tuple[tuple[float, int], ...] = field(repr=False, default=())


@dataclass(frozen=True)
class Model:
    """Values in use; those that were not found are the base's."""

    record: Mapping[str, Any] = field(repr=False)
    pages: int
    """L: logical pages of the whole device."""
    units: int
    stripe: int
    unit_read_ns: float
    """S_R: time for which a page read occupies its unit."""
    unit_program_ns: float
    """S_W."""
    link_ns: float = 0.0
    """x_L: time of a page on the link."""
    command_ns: float = 0.0
    command_write_ns: float | None = None
    """Where a write's command takes another time than a read's."""
    firmware_read_ns: float = 0.0
    firmware_write_ns: float = 0.0
    buffer_pages: int = 0
    erase_page_ns: float = 0.0
    """e: erase time a page."""
    pages_per_block: int = 256
    slc_pages: int = 0
    slc_unit_program_ns: float = 0.0
    slc_policy: str = "direct"
    slc_idle: bool = True
    gc_victim: str = "greedy"
    gc_stream: str = "shared"
    op: float = 0.12
    map_pages: int = 0
    """Map pages in memory; 0 where it has the whole map."""
    gc_step_pages: int | str = 0
    """0, whole blocks, or `auto`."""

    @property
    def base(self) -> Mapping[str, Any]:
        """The base's `[device]`."""
        keys: Mapping[str, Any] = self.record["device"]
        return keys

    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
        return int(self.base["page_bytes"])

    @property
    def transfer_ns(self) -> int:
        """x plus cmd_ns: what a unit spends on a page besides its cells."""
        bus = -(-self.page_bytes * int(self.base["bus_ps_per_byte"]) // 1000)
        return bus + int(self.base["cmd_ns"])

    def with_(self, **changes: Any) -> Model:
        """The same with other values."""
        return replace(self, **changes)

    def with_room(self) -> Model:
        """The same with enough over-provisioning for the blocks that it has."""
        kept = 4 * self.pages_per_block * self.units
        return self.with_(op=max(self.op, kept / (self.pages + kept)))

    def with_map_share(self, share: float) -> Model:
        """The same with this share of the map in memory."""
        return self.with_(map_pages=max(1, round(share * self.pages_of_map))).with_room()

    def shifted(self, pages: int) -> Model:
        """The same with so many more pages a unit: its collections begin that much later."""
        raw = int(self.pages / (1 - self.op) / self.units) + pages + 0.5
        return self.with_(op=1 - self.pages / (self.units * raw))

    def phases(self, most: int) -> list[Model]:
        """The same, with collections that begin at each page of a block, or at `most` of them.

        Over-provisioning is not measured to a part of a block, and a short burst meets a
        collection or does not.
        """
        block = self.pages_per_block
        step = -(-block // most)
        return [self.shifted(at) for at in range(-(block // 2), block - block // 2, step)]

    def nearest_phases(
        self, most: int, tried: Callable[[Model], T], off: Callable[[T], float], far: float
    ) -> list[T]:
        """Every fourth phase tried, and those around the least off, unless it is beyond `far`."""
        phases = self.phases(most)
        first = range(0, len(phases), COARSE)
        with ThreadPoolExecutor(max(1, min(len(first), os.cpu_count() or 1))) as pool:
            found = dict(zip(first, pool.map(lambda at: tried(phases[at]), first), strict=True))
            best = min(found, key=lambda at: off(found[at]))
            if off(found[best]) > far:
                return list(found.values())
            around = range(max(0, best - COARSE + 1), min(len(phases), best + COARSE))
            further = [at for at in around if at not in found]
            return [*found.values(), *pool.map(lambda at: tried(phases[at]), further)]

    @property
    def slc_pages_per_block(self) -> int:
        """Pages of a block in SLC mode."""
        return max(1, self.pages_per_block // 3)

    @property
    def slc_blocks(self) -> int:
        """SLC blocks a plane."""
        if not self.slc_pages:
            return 0
        return max(1, round(self.slc_pages / (self.units * self.slc_pages_per_block)))

    def keys(self) -> dict[str, Any]:
        """The whole `[device]` table."""
        block = self.pages_per_block
        # Where the over-provisioning is too small for the device to collect, it is as small as
        # collection allows: a threshold of two blocks and an open one for each write point.
        streams = {"gc_victim": self.gc_victim, "gc_stream": self.gc_stream}
        data = block * write_points({**streams, **self._map()})
        row = self.units * self.stripe
        least = -(-self.pages // row) * row + 3 * data * self.units
        if self.map_pages:
            least += -(-self.pages_of_map // self.units) * self.units
        raw = max(self.pages / (1 - self.op), least)
        blocks = max(6, -(-int(raw + 0.999) // (self.units * block)))
        keys: dict[str, Any] = {
            "channels": self.units,
            **dict.fromkeys(("chips_per_channel", "dies_per_chip", "planes_per_die"), 1),
            "queue_level": "chip",
            "bus": "private",
            "blocks_per_plane": blocks,
            "pages_per_block": block,
            "page_bytes": self.page_bytes,
            "logical_pages": self.pages,
            "stripe_pages": self.stripe,
            "read_ns": [max(0, round(self.unit_read_ns - self.transfer_ns))],
            "program_ns": [max(0, round(self.unit_program_ns - self.transfer_ns))],
            "erase_ns": max(0, round(self.erase_page_ns * block)),
            "link_ps_per_byte": round(1000 * self.link_ns / self.page_bytes),
            "command_ns": max(0, round(self.command_ns)),
            **self._command_of_writes(),
            "firmware_read_ns": max(0, round(self.firmware_read_ns)),
            "firmware_write_ns": max(0, round(self.firmware_write_ns)),
            "buffer_pages": self.buffer_pages,
            "gc_victim": self.gc_victim,
            "gc_stream": self.gc_stream,
            "gc_step_pages": self.gc_step_pages,
            "precondition": "none",
        }
        keys |= self._map()
        for key in ("cmd_ns", "bus_ps_per_byte", "copyback", "gc_mode", "link_duplex"):
            if key in self.base:
                keys[key] = self.base[key]
        if self.slc_pages:
            keys |= {
                "slc_blocks": self.slc_blocks,
                "slc_pages_per_block": self.slc_pages_per_block,
                "slc_program_ns": max(0, round(self.slc_unit_program_ns - self.transfer_ns)),
                "slc_policy": self.slc_policy,
                "slc_idle": self.slc_idle,
            }
            keys["slc_read_ns"] = keys["read_ns"][0]
            keys["slc_erase_ns"] = keys["erase_ns"]
        # The part of a block that rounding up adds is kept free.
        keys["gc_low_pages"] = 2 * data + max(0, int(blocks * block - raw / self.units))
        return keys

    @property
    def write_command_ns(self) -> float:
        """Time of a write's command."""
        return self.command_ns if self.command_write_ns is None else self.command_write_ns

    @property
    def pages_of_map(self) -> int:
        """T: map pages of the whole device."""
        return -(-self.pages // (self.page_bytes // MAP_ENTRY_BYTES))

    def _map(self) -> dict[str, int]:
        return {"map_cache": self.map_pages * self.page_bytes} if self.map_pages else {}

    def _command_of_writes(self) -> dict[str, int]:
        own = max(0, round(self.write_command_ns))
        return {"command_write_ns": own} if own != round(self.command_ns) else {}

    def device(self, keys: Mapping[str, Any]) -> dict[str, Any]:
        """A record of a device with these keys."""
        host = {"mode": "open"}
        return {"name": "fit", "device": dict(keys), "cache": {}, "host": host}

    def simulate(self, names: Sequence[str], *, unread: Sequence[str] = ()) -> dict[str, Simulated]:
        """Play the script's steps of these names, in its order, on a miniature.

        Of the steps `unread` only the writes: they are there for the state that they leave. An SLC
        cache that is emptied in idle time has that time only beside the reads.
        """
        if self.slc_pages and self.slc_idle:
            unread = ()
        capacity = self.pages * self.page_bytes
        return simulated(self.device(self.keys()), capacity, names, unread=unread)

    def reads(
        self, steps: Sequence[Mapping[str, Any]], pages: int = _READ_PAGES
    ) -> list[Simulated]:
        """Play read steps on a device that is full and small: strides, depths."""
        keys = self._small(pages)
        keys |= {"precondition": "sequential", "buffer_pages": 0}
        region = {"offset_bytes": 0, "size_bytes": keys["logical_pages"] * self.page_bytes}
        played = play(self.device(keys), [{**region, **step} for step in steps])
        return [measured(step, one) for step, one in zip(steps, played, strict=True)]

    def random(self, direction: str, points: Sequence[tuple[int, int, int]]) -> list[float]:
        """Rates of random reads or writes on a device that collects nothing.

        Each point has the pages of a request, the requests in flight, and how many are issued, of
        which the second half counts.
        """
        is_read = direction == "read"
        keys = self._small(0 if is_read else sum(pages * count for pages, _, count in points))
        if is_read:
            keys |= {"precondition": "sequential", "buffer_pages": 0}
        steps = [
            {
                "seed": 1,
                "requests": count,
                "uncounted": count // 2,
                "depth": depth,
                "read_percent": 100 if is_read else 0,
                "random": [True, True],
                "block_bytes": pages * self.page_bytes,
                "offset_bytes": 0,
                "size_bytes": keys["logical_pages"] * self.page_bytes,
            }
            for pages, depth, count in points
        ]
        played = play(self.device(keys), steps)
        return [measured(step, one).rate for step, one in zip(steps, played, strict=True)]

    def _small(self, pages: int) -> dict[str, Any]:
        """A device of so many pages, half of which the host sees, without an SLC cache."""
        block, stripe = 64, self.units * self.stripe
        pages = max(pages, _READ_PAGES) // stripe * stripe + stripe
        small = self.with_(pages=pages, pages_per_block=block, op=0.5, slc_pages=0, map_pages=0)
        keys = small.keys()
        blocks = -(-2 * pages // (self.units * block)) + 8
        keys |= {"blocks_per_plane": blocks, "gc_low_pages": 2 * block}
        return {**keys, "gc_victim": "greedy", "gc_stream": "shared"}


def simulated(
    record: Mapping[str, Any], capacity: int, names: Sequence[str], *, unread: Sequence[str] = ()
) -> dict[str, Simulated]:
    """Play the script's steps of these names, in its order, on a device or its miniature.

    The waits before the steps between them are kept.
    """
    keys = record["device"]
    real = int(keys["logical_pages"])
    if planes(keys) * int(keys["blocks_per_plane"]) * int(keys["pages_per_block"]) > LARGE_PAGES:
        small = miniature(keys)
        capacity = scaled(capacity, small["logical_pages"] / real)
        record = {**record, "device": small}
    steps: dict[str, dict[str, Any]] = {}
    idle_ns = 0
    for at, job in enumerate(jobs_of(capacity), 1):
        step = step_of(job, at, capacity)
        idle_ns += step["delay_ns"]
        if job.name in names:
            steps[job.name] = {**step, "delay_ns": idle_ns, "without_reads": job.name in unread}
            idle_ns = 0
    played = play(record, [*steps.values()])
    return {
        name: measured(step, one) for (name, step), one in zip(steps.items(), played, strict=True)
    }


def measured(step: Mapping[str, Any], one: Mapping[str, Any]) -> Simulated:
    """Runs a step in the core, and returns its measurements."""
    read, write = one["read"], one["write"]
    requests = read["requests"] + write["requests"]
    total = read["sum_ns"] + write["sum_ns"]
    side = read if step["read_percent"] > 0 else write
    mean = side["sum_ns"] / side["requests"] if side["requests"] else 0.0
    shares = (0.99, 0.999, 0.9999)
    p99, p999, p9999 = (_percentile(side, share) for share in shares)
    rate = step["depth"] * 1e9 * requests / total if total else 0.0
    bins = tuple((float(middle), int(count)) for middle, count in side["bins"])
    return Simulated(mean, side["requests"], rate, p99, p999, p9999, bins)


def _percentile(side: Mapping[str, Any], share: float) -> float:
    seen, value = 0, 0.0
    for middle, count in side["bins"]:
        seen += count
        value = float(middle)
        if seen >= share * side["requests"]:
            break
    return value
