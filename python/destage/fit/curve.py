"""The curve over depth, and a grid of writes of unknown state (`docs/spec/fit.md` 6.2, 6.9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from destage.fit.fio import Measured, Measurement
from destage.fit.model import Model
from destage.fit.refusals import SLEEPS
from destage.fit.script import PAGE

__all__ = ["Curve", "curve_of", "points_of", "write_curve"]

UNITS = (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
#: Reads of a simulated point; evaluations of a search; where its simplex is small enough.
REQUESTS, EVALUATIONS, SMALL = 8_000, 60, 1e-4
#: Numbers of units whose sum is that near the best are not distinguishable.
NEAR = 1.1
#: Share of the largest write rate that is the ceiling; corrections of the program time.
REACHED, _ROUNDS = 0.98, 12


@dataclass(frozen=True)
class Curve:
    """What the rate over depth says."""

    units: int
    unit_read_ns: float
    command_ns: float
    fixed_ns: float
    rms: float
    others: tuple[int, ...]


def points_of(made: Measurement) -> list[Measured]:
    """Points of random reads of 4 KiB; a point at depth 1 that slept is left out."""
    steps = [*made.series("read-qd").values()] or made.grid["read"]
    by_depth: dict[int, list[Measured]] = {}
    for step in steps:
        by_depth.setdefault(step.in_flight, []).append(step)
    one, two = by_depth.get(1), by_depth.get(2)
    if one and two and two[0].rate > SLEEPS * one[0].rate:
        steps = [step for step in steps if step.in_flight != 1]
    return sorted(steps, key=lambda step: step.in_flight)


def _first_ns(points: Sequence[Measured]) -> float:
    """m(1), from the smallest depth that is there."""
    least = points[0].in_flight
    return sum(p.mean_ns for p in points if p.in_flight == least) / sum(
        p.in_flight == least for p in points
    )


def _rates(model: Model, depths: Sequence[int]) -> dict[int, float]:
    step = {
        "seed": 1,
        "requests": REQUESTS,
        "read_percent": 100,
        "random": [True, True],
        "block_bytes": PAGE,
    }
    steps = [{**step, "depth": depth} for depth in depths]
    found = model.reads(steps)
    return {depth: one.rate for depth, one in zip(depths, found, strict=True)}


def curve_of(
    points: Sequence[Measured], model: Model, writes: Sequence[Measured] = ()
) -> Curve | None:
    """Units, read time and ceiling from random reads over depth; None without two depths.

    Reads and writes share the command processor: it is as fast as the fastest of either.
    """
    depths = sorted({point.in_flight for point in points})
    if len(depths) < 2:
        return None
    first, most = _first_ns(points), max(point.rate for point in points)
    shortest = 1e9 / max(point.rate for point in (*points, *writes))
    found = []
    for units in UNITS:
        trial = model.with_(units=units, stripe=1, link_ns=0.0)

        def cost(x: Sequence[float], trial: Model = trial) -> float:
            busy, ceiling = math.exp(x[0]), min(math.exp(x[1]), shortest)
            if busy > 2 * first:
                return 1e9 * (1 + busy / first)
            there = trial.with_(
                unit_read_ns=busy,
                command_ns=ceiling,
                firmware_read_ns=max(0.0, first - busy - ceiling),
            )
            rates = _rates(there, depths)
            return sum(math.log(rates[p.in_flight] / p.rate) ** 2 for p in points)

        start = (math.log(0.8 * first), math.log(min(1e9 / most, shortest)))
        best, total = nelder_mead(cost, start)
        found.append((total, units, math.exp(best[0]), min(math.exp(best[1]), shortest)))
    total, units, busy, ceiling = min(found)
    others = tuple(u for t, u, _, _ in found if t <= NEAR * total and u != units)
    fixed = max(0.0, first - busy - ceiling)
    return Curve(units, busy, ceiling, fixed, math.sqrt(total / len(points)), others)


def nelder_mead(
    cost: Callable[[Sequence[float]], float], start: tuple[float, float]
) -> tuple[list[float], float]:
    """The least cost over two numbers, with the usual coefficients."""
    simplex = [list(start), [start[0] - 0.2, start[1]], [start[0], start[1] - 0.2]]
    values = [cost(point) for point in simplex]
    done = len(values)
    while done < EVALUATIONS:
        order = sorted(range(3), key=lambda i: values[i])
        simplex, values = [simplex[i] for i in order], [values[i] for i in order]
        if max(abs(a - b) for p in simplex[1:] for a, b in zip(p, simplex[0], strict=True)) < SMALL:
            break
        middle = [(a + b) / 2 for a, b in zip(simplex[0], simplex[1], strict=True)]

        point = _along(middle, simplex[2], 1.0)
        value = cost(point)
        done += 1
        if value < values[0]:
            further = _along(middle, simplex[2], 2.0)
            there = cost(further)
            done += 1
            if there < value:
                point, value = further, there
        elif value >= values[1]:
            point = _along(middle, simplex[2], 0.5 if value < values[2] else -0.5)
            value = cost(point)
            done += 1
            if value >= values[2]:
                for i in (1, 2):
                    simplex[i] = [(a + b) / 2 for a, b in zip(simplex[i], simplex[0], strict=True)]
                    values[i] = cost(simplex[i])
                done += 2
                continue
        simplex[2], values[2] = point, value
    best = min(range(3), key=lambda i: values[i])
    return simplex[best], values[best]


def _along(middle: Sequence[float], worst: Sequence[float], by: float) -> list[float]:
    """A point on the line from the worst through the middle of the others."""
    return [m + by * (m - w) for m, w in zip(middle, worst, strict=True)]


def write_curve(made: Measurement, model: Model) -> Model | None:
    """A grid of random writes of unknown state: the program time includes the collection.

    The program time is such that the simulated writes reach the largest rate that was measured;
    the command processor keeps them from exceeding it.
    """
    points = sorted(made.grid["write"], key=lambda step: step.in_flight)
    if not points:
        return None
    most = max(point.rate for point in points)
    depth = max(point.in_flight for point in points if point.rate >= REACHED * most)
    own = int(model.base.get("buffer_pages", 0)) or model.units
    ceiling = max(model.command_ns, 1e9 / most)
    late = _first_ns(points) - ceiling * points[0].in_flight - model.link_ns
    model = model.with_(
        unit_program_ns=model.units * 1e9 / most,
        buffer_pages=own,
        erase_page_ns=0.0,
        command_ns=ceiling,
        firmware_write_ns=max(0.0, late),
    )
    for _ in range(_ROUNDS):
        rate = model.random_writes(depth, REQUESTS)
        if rate >= REACHED * most:
            break
        model = model.with_(unit_program_ns=model.unit_program_ns * rate / most)
    return model
