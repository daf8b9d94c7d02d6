"""Measured against simulated, step by step (`docs/spec/fit.md` 11.2)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from destage.base.errors import UsageError
from destage.base.io.names import path_of
from destage.fit.curve import Hosts, direction_of
from destage.fit.fio import Measured, Measurement, read_fio
from destage.fit.miniature import LARGE_PAGES, miniature, planes
from destage.fit.model import Model, Simulated, measured, simulated
from destage.fit.probing import play, scaled
from destage.fit.script import SMALLEST
from destage.lab.ssd import Device, DeviceLike, open_device
from destage.model.words import plain, size

__all__ = [
    "Compared",
    "compare_fio",
    "compared",
    "median_residual",
    "residuals",
    "worst_residual",
]

#: Pages of a point of a grid, of which the first half does not count.
REQUESTS = 50_000
_NO_LIMIT = Hosts()


@dataclass(frozen=True)
class Compared:
    """Measured and simulated rates of one step."""

    step: str
    rw: str
    iodepth: int
    numjobs: int
    bs: int
    measured: Mapping[str, float | None]
    """`iops` (by Little's law), `lat_mean_ns`, `lat_p99_ns`."""
    simulated: Mapping[str, float | None]
    residual: float
    """log(simulated / measured) of the rate."""
    fitted: bool

    @property
    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        return dict(self.__dict__)


def _compared(step: Measured, one: Simulated, fitted: bool, hosts: Hosts = _NO_LIMIT) -> Compared:
    rate = hosts.limited(one.rate, direction_of(step), step.numjobs)
    mean = one.mean_ns * one.rate / rate
    return Compared(
        step.name if step.name != "grid" else step.job,
        step.rw,
        step.depth,
        step.numjobs,
        step.block_bytes,
        {
            "iops": step.rate,
            "lat_mean_ns": step.mean_ns,
            "lat_p99_ns": step.direction.p99_ns,
        },
        {"iops": rate, "lat_mean_ns": mean, "lat_p99_ns": one.p99_ns},
        math.log(rate / step.rate),
        fitted,
    )


def compared(model: Model, made: Measurement, hosts: Hosts = _NO_LIMIT) -> list[Compared]:
    """Every recognised step on the SSD that was fitted, from jobs with these limits.

    A grid point with a part of the map in memory is compared with an SSD that has that part.
    """
    points = [*made.grid["read"], *made.grid["write"]]
    found: list[Compared] = []
    for share in sorted({1.0, *(point.map_share for point in points)}, reverse=True):
        own = model if share == 1 else model.with_map_share(share)
        part = {
            direction: [point for point in some if point.map_share == share]
            for direction, some in made.grid.items()
        }
        steps = made.steps if share == 1 else {}
        found += _played(own.device(own.keys()), replace(made, grid=part, steps=steps), hosts)
    return found


def _played(
    record: Mapping[str, Any], made: Measurement, hosts: Hosts = _NO_LIMIT
) -> list[Compared]:
    keys = dict(record["device"])
    own = keys["precondition"]
    names = list(made.steps)
    logical = int(keys["logical_pages"]) * int(keys["page_bytes"])
    capacity = min(logical, made.capacity or logical)
    found: list[Compared] = []
    if names and capacity >= SMALLEST:
        keys["precondition"] = "none" if "fill-1" in names else "sequential"
        keys["precondition_writes"] = 0
        by_name = simulated({**record, "device": keys}, capacity, names)
        # Writes in batches say how long a command takes where a buffer hides their programs.
        apart = ("mix",) if keys.get("buffer_pages") else ("mix", "write-batch")
        found = [
            _compared(step, by_name[name], not name.startswith(apart))
            for name, step in made.steps.items()
            if name in by_name
        ]
    for direction, steps in made.grid.items():
        if steps:
            there = {**record, "device": {**keys, "precondition": own}}
            found += _grid(there, capacity, direction, steps, hosts, fitted=not made.steps)
    return found


def _grid(
    record: Mapping[str, Any],
    capacity: int,
    direction: str,
    steps: Sequence[Measured],
    hosts: Hosts,
    *,
    fitted: bool,
) -> list[Compared]:
    """Points of a grid by length and depth, after a sequential fill."""
    keys = {**record["device"], "precondition": "sequential", "precondition_writes": 0}
    raw = planes(keys) * int(keys["blocks_per_plane"]) * int(keys["pages_per_block"])
    if raw > LARGE_PAGES:
        small = miniature(keys)
        capacity = scaled(capacity, small["logical_pages"] / keys["logical_pages"])
        keys = small
    each = sorted({(step.block_bytes, step.in_flight) for step in steps})
    plans = []
    for at, (block, depth) in enumerate(each, 1):
        count = max(4 * depth, REQUESTS * keys["page_bytes"] // max(block, keys["page_bytes"]))
        plan = {
            "seed": at,
            "requests": count,
            "uncounted": count // 2,
            "depth": depth,
            "read_percent": 100 if direction == "read" else 0,
            "random": [True, True],
            "block_bytes": block,
            "offset_bytes": 0,
            "size_bytes": capacity,
        }
        plans.append(plan)
    if record["device"].get("precondition") == "none" and direction == "write":
        # The program time has the collection in it: each point begins on an empty device.
        empty = {**record, "device": {**keys, "precondition": "none"}}
        played = [one for plan in plans for one in play(empty, [plan])]
    else:
        played = play({**record, "device": keys}, plans)
    there = {one: measured(plan, seen) for one, plan, seen in zip(each, plans, played, strict=True)}
    return [
        _compared(step, there[step.block_bytes, step.in_flight], fitted, hosts)
        for step in sorted(steps, key=lambda step: (step.block_bytes, step.in_flight))
    ]


def residuals(steps: Sequence[Compared], *, fitted: bool) -> list[float]:
    """Absolute residuals, ascending."""
    return sorted(abs(step.residual) for step in steps if step.fitted is fitted)


def median_residual(steps: Sequence[Compared], *, fitted: bool) -> float | None:
    """Median of the absolute residuals; None where there are none."""
    values = residuals(steps, fitted=fitted)
    if not values:
        return None
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def worst_residual(steps: Sequence[Compared], *, fitted: bool) -> Compared | None:
    """The step with the largest absolute residual; None where there are none."""
    own = [step for step in steps if step.fitted is fitted]
    return max(own, key=lambda step: abs(step.residual), default=None)


def compare_fio(
    device: DeviceLike,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    where: Mapping[str, str] | None = None,
) -> tuple[Compared, ...]:
    """Play every recognised job of fio's results on a simulated SSD: measured against simulated.

    `where` chooses rows of a grid as CSV by their columns.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    made = read_fio([path_of(os.fspath(path)) for path in given], needs_reads=False, where=where)
    drive = device if isinstance(device, Device) else open_device(device)
    record = json.loads(json.dumps(drive.record))
    if drive.logical_bytes < SMALLEST:
        raise UsageError(
            f"{drive.name} has {plain(size(drive.logical_bytes))}: expected at least 256 MiB"
        )
    return tuple(_played(record, made))
