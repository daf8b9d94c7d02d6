"""A fit on a part of the measurements predicts the rest (`docs/spec/fit.md` 11.3)."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from destage.base.errors import DataError, UsageError
from destage.base.io.files import read_text
from destage.base.io.names import path_of
from destage.fit.comparison import Compared, compared
from destage.fit.curve import direction_of
from destage.fit.fio import Measured, Measurement, measurement, of_points, read_fio
from destage.fit.fitting import Fit, fitted
from destage.fit.gridcsv import MAP_CACHE, is_grid, names_of, points
from destage.fit.refusals import check
from destage.lab.ssd import open_device

__all__ = ["HOLD_OUT", "OFF", "Validation", "validate_device"]

#: Parts that are held out.
HOLD_OUT = ("half", "depth", "direction", "map-cache")
#: Points are named that are further off than this share of the measured rate.
OFF = 0.3
#: Held out with the script's steps: what no estimate needs.
_SPARE = ("read-qd", "mix-")


@dataclass(frozen=True)
class Validation:
    """A fit on a part of the measurements, and its errors on the rest."""

    device: str
    hold_out: str
    fit: Fit = field(repr=False)
    """Its steps are those that were fitted."""
    steps: tuple[Compared, ...]
    """Steps that were held out: measured against simulated."""

    @property
    def errors(self) -> list[float]:
        """Absolute errors of the rate, as shares of the measured one, ascending."""
        return sorted(map(error_of, self.steps))

    @property
    def median(self) -> float:
        """The median of the errors."""
        errors = self.errors
        middle = len(errors) // 2
        return errors[middle] if len(errors) % 2 else (errors[middle - 1] + errors[middle]) / 2

    @property
    def p95(self) -> float:
        """The smallest error that at least 95 % of the steps do not exceed."""
        return self.errors[math.ceil(0.95 * len(self.steps)) - 1]

    @property
    def worst(self) -> Compared:
        """The step with the largest error."""
        return max(self.steps, key=error_of)

    @property
    def off(self) -> tuple[Compared, ...]:
        """Steps that are more than 30 % off, the worst first."""
        far = [step for step in self.steps if error_of(step) > OFF]
        return tuple(sorted(far, key=error_of, reverse=True))

    @property
    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "device": self.device,
            "hold_out": self.hold_out,
            "fitted": len(self.fit.steps),
            "held_out": len(self.steps),
            "median_error": self.median,
            "p95_error": self.p95,
            "worst_error": error_of(self.worst),
            "within_30_percent": 1 - len(self.off) / len(self.steps),
            "steps": [{**step.data, "error": error_of(step)} for step in self.steps],
            "values": [value.data for value in self.fit.values],
            "warnings": list(self.fit.warnings),
        }


def error_of(step: Compared) -> float:
    """Absolute difference of the rates as a share of the measured one."""
    return abs(math.exp(step.residual) - 1)


def _kind(step: Measured) -> tuple[str, int]:
    return direction_of(step), step.block_bytes


def _half(points: Sequence[Measured], seed: int) -> list[Measured]:
    """A random half of the points of each direction and length."""
    kinds: dict[tuple[str, int], list[Measured]] = {}
    for point in points:
        kinds.setdefault(_kind(point), []).append(point)
    draw, held = random.Random(seed), list[Measured]()
    for kind in sorted(kinds):
        some = list(kinds[kind])
        draw.shuffle(some)
        held += some[(len(some) + 1) // 2 :]
    return held


def _depth(points: Sequence[Measured], _: int) -> list[Measured]:
    """Every second number of requests in flight of each direction and length, not the least."""
    depths: dict[tuple[str, int], set[int]] = {}
    for point in points:
        depths.setdefault(_kind(point), set()).add(point.in_flight)
    out = {kind: set(sorted(some)[1::2]) for kind, some in depths.items()}
    return [point for point in points if point.in_flight in out[_kind(point)]]


def _direction(points: Sequence[Measured], _: int) -> list[Measured]:
    """All writes."""
    return [point for point in points if direction_of(point) == "write"]


def _map_cache(points: Sequence[Measured], _: int) -> list[Measured]:
    """All points with a part of the map in memory."""
    return [point for point in points if point.map_share < 1]


_PARTS: Mapping[str, Callable[[Sequence[Measured], int], list[Measured]]] = {
    "half": _half,
    "depth": _depth,
    "direction": _direction,
    "map-cache": _map_cache,
}


def _parted(made: Measurement, hold_out: str, seed: int) -> tuple[Measurement, Measurement]:
    """The fitted part of the measurements, and the held-out part."""
    grid = [*made.grid["read"], *made.grid["write"]]
    held = {id(point) for point in _PARTS[hold_out](grid, seed)}
    spare = [name for name in made.steps if name.startswith(_SPARE)]

    def part(is_held: bool) -> Measurement:
        own = {
            direction: [point for point in points if (id(point) in held) is is_held]
            for direction, points in made.grid.items()
        }
        steps = {name: one for name, one in made.steps.items() if (name in spare) is is_held}
        return replace(made, grid=own, steps=steps, warnings=list(made.warnings))

    return part(is_held=False), part(is_held=True)


def _devices(paths: Sequence[str], by: Sequence[str], hold_out: str) -> dict[str, Measurement]:
    """The measurements of each device: a CSV may have several."""
    maps_apart = hold_out != "map-cache"
    found: dict[str, Measurement] = {}
    others = []
    for path in paths:
        text = read_text(path, "fio's results").decode("utf-8", "replace")
        if not is_grid(text):
            others.append(path)
            continue
        for name, rows in names_of(points(text, path), by, maps_apart=maps_apart).items():
            of_points(rows, found.setdefault(name or path, measurement(paths)))
    if others:
        made = read_fio(others)
        found[made.target or ", ".join(others)] = made
    return found


def validate_device(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    hold_out: str = "half",
    by: Sequence[str] = (),
    base: str = "tlc-nvme",
    seed: int = 1,
    capacity: int | None = None,
    assume_written: bool = False,
) -> tuple[Validation, ...]:
    """Fit each device on a part of its measurements, and predict the rest.

    Parameters:
        paths: what `fit` takes. A CSV may have several devices.
        hold_out: `half`, a random half of the points; `depth`, every second number of requests in
            flight; `direction`, the writes; `map-cache`, the points of a CSV with a part of the map
            in memory (its column `map_cache_kib`). With the steps of `fit_script`, those that no
            estimate needs.
        by: columns of a CSV that name a device; by default drive, device, interface and map cache
            that it has.
        base, assume_written: as in `fit`.
        seed: of the half, and of the intervals.
        capacity: bytes of the device, where the files do not have it; by default the base's.
    """
    if hold_out not in _PARTS:
        raise UsageError(f"hold_out: expected {', '.join(HOLD_OUT)}, found {hold_out!r}")
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise UsageError("validate_device: expected fio's results")
    names = [path_of(os.fspath(path)) for path in given]
    whole = capacity or open_device(base).logical_bytes
    return tuple(
        _validated(name, made, hold_out, seed, whole, assume_written, base)
        for name, made in _devices(names, by, hold_out).items()
    )


def _validated(
    name: str,
    made: Measurement,
    hold_out: str,
    seed: int,
    capacity: int,
    assume_written: bool,
    base: str,
) -> Validation:
    size = made.capacity or capacity
    check(made, assume_written=assume_written, steady=True, capacity=size)
    known, rest = _parted(made, hold_out, seed)
    if hold_out == "map-cache":
        whole, parts = ([*one.grid["read"], *one.grid["write"]] for one in (known, rest))
        if not (whole and parts):
            raise DataError(
                f"{name}: hold_out=map-cache: expected points with the whole map and with a part of"
                f" it in memory (column {MAP_CACHE} of a CSV), found {len(whole)} and {len(parts)}"
            )
    if not any((rest.steps, rest.grid["read"], rest.grid["write"])):
        raise DataError(f"{name}: nothing is left to predict with hold_out={hold_out}")
    fit = fitted(known, size, base=base, seed=seed, name=name)
    steps = compared(fit.model, rest, fit.hosts)
    return Validation(name, hold_out, fit, tuple(steps))
