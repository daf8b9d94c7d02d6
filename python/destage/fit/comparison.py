"""Measured against simulated, step by step (`docs/spec/fit.md` 11.2)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from destage.base.errors import UsageError
from destage.base.io.names import path_of
from destage.fit.fio import Measured, Measurement, read_fio
from destage.fit.miniature import LARGE_PAGES, miniature, planes
from destage.fit.model import Model, Simulated, measured, simulated
from destage.fit.probing import play, scaled
from destage.fit.script import SMALLEST
from destage.lab.ssd import Device, DeviceLike, open_device
from destage.model.words import plain, size

__all__ = ["Compared", "compare_fio", "compared", "median_residual", "residuals"]

#: Requests of a point of a grid, of which the first half does not count.
REQUESTS = 50_000


@dataclass(frozen=True)
class Compared:
    """One step."""

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


def _compared(step: Measured, one: Simulated, fitted: bool) -> Compared:
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
        {"iops": one.rate, "lat_mean_ns": one.mean_ns, "lat_p99_ns": one.p99_ns},
        math.log(one.rate / step.rate),
        fitted,
    )


def compared(model: Model, made: Measurement) -> list[Compared]:
    """Every recognised step on the SSD that was fitted."""
    return _played(model.device(model.keys()), made, has_strides=True)


def _played(record: Mapping[str, Any], made: Measurement, *, has_strides: bool) -> list[Compared]:
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
        found = [
            _compared(step, by_name[name], has_strides and not name.startswith("mix"))
            for name, step in made.steps.items()
            if name in by_name
        ]
    for direction, steps in made.grid.items():
        ordered = sorted(steps, key=lambda step: step.in_flight)
        if ordered:
            fitted = has_strides and not made.steps
            there = {**record, "device": {**keys, "precondition": own}}
            found += _grid(there, capacity, direction, ordered, fitted)
    return found


def _grid(
    record: Mapping[str, Any],
    capacity: int,
    direction: str,
    steps: Sequence[Measured],
    fitted: bool,
) -> list[Compared]:
    """Points of a grid in their order of depth, after a sequential fill."""
    keys = {**record["device"], "precondition": "sequential", "precondition_writes": 0}
    raw = planes(keys) * int(keys["blocks_per_plane"]) * int(keys["pages_per_block"])
    if raw > LARGE_PAGES:
        small = miniature(keys)
        capacity = scaled(capacity, small["logical_pages"] / keys["logical_pages"])
        keys = small
    depths = sorted({step.in_flight for step in steps})
    plans = [
        {
            "seed": at,
            "requests": REQUESTS,
            "uncounted": REQUESTS // 2,
            "depth": depth,
            "read_percent": 100 if direction == "read" else 0,
            "random": [True, True],
            "block_bytes": steps[0].block_bytes,
            "offset_bytes": 0,
            "size_bytes": capacity,
        }
        for at, depth in enumerate(depths, 1)
    ]
    if record["device"].get("precondition") == "none" and direction == "write":
        # The program time has the collection in it: each point begins on an empty device.
        empty = {**record, "device": {**keys, "precondition": "none"}}
        played = [one for plan in plans for one in play(empty, [plan])]
    else:
        played = play({**record, "device": keys}, plans)
    by_depth = {
        depth: measured(plan, one) for depth, plan, one in zip(depths, plans, played, strict=True)
    }
    return [_compared(step, by_depth[step.in_flight], fitted) for step in steps]


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


def compare_fio(
    device: DeviceLike, paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
) -> tuple[Compared, ...]:
    """Play every recognised job of fio's JSON on a simulated SSD: measured against simulated."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    made = read_fio([path_of(os.fspath(path)) for path in given], needs_reads=False)
    drive = device if isinstance(device, Device) else open_device(device)
    record = json.loads(json.dumps(drive.record))
    if drive.logical_bytes < SMALLEST:
        raise UsageError(
            f"{drive.name} has {plain(size(drive.logical_bytes))}: expected at least 256 MiB"
        )
    return tuple(_played(record, made, has_strides=True))
