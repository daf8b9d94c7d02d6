"""Rates over depth, length and jobs: what a grid of random reads and writes says.

`docs/spec/fit.md` 6.2, 6.9.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from destage.fit.fio import Measured, Measurement
from destage.fit.model import Model
from destage.fit.refusals import SLEEPS
from destage.fit.script import PAGE

__all__ = ["Curve", "Hosts", "curve_of", "hosts_of", "points_of", "writes_over_depth"]

#: Numbers of units: those tried first, and all.
COARSE = (1, 2, 4, 8, 16, 32, 64)
UNITS = (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
#: Evaluations of a search, for each number of units and for the best; where a simplex is small.
EVALUATIONS, POLISHED, SMALL = 60, 150, 1e-3
#: Depths that are simulated for each length of requests; rates between them are interpolated.
DEPTHS = 6
#: Pages in flight, and requests at least, beyond which a rate stays; pages and requests of a
#: simulated point.
DEEPEST, DEEP, PAGES, REQUESTS = 512, 64, 4000, 200
#: Differences of log rates count squared below this, and as they are above it: a host that is
#: slower beyond some depth does not move the rest.
BEND = 0.1
#: What a longer command costs, for each e-fold: a ceiling that no point shows is none.
LEAN = 1e-3
#: Numbers of units whose cost is that near the best are not distinguishable.
NEAR = 1.1
#: A point is at the host's limit if fewer requests in flight, of more jobs, are so much faster.
FASTER = 1.25
#: Share of the fastest rate a job that such a point reaches at least: else it is not the job.
OF_A_JOB = 0.8
#: Slots of a write buffer that hides its programs, at least.
SLOTS = 64
#: Longest command, as a multiple of a lone request; the cost of a longer one.
LONGEST, HOPELESS = 3.0, 1e9

Group = tuple[str, int]


@dataclass(frozen=True)
class Curve:
    """Units and link, fitted to the rate of one direction over depth and length."""

    units: int
    unit_ns: float
    """S_R or S_W."""
    command_ns: float
    fixed_ns: float
    link_ns: float
    buffer_pages: int
    cost: float
    others: tuple[int, ...] = ()
    """Numbers of units that fit as well."""


@dataclass(frozen=True)
class Hosts:
    """Requests a second that one job submits at most; None where no job was at its limit."""

    read: float | None = None
    write: float | None = None

    def limited(self, rate: float, direction: str, jobs: int) -> float:
        """A simulated rate, or what so many jobs can submit."""
        most = self.read if direction == "read" else self.write
        return rate if most is None else min(rate, most * jobs)


def direction_of(step: Measured) -> str:
    """`read` or `write`."""
    return "write" if step.rw in ("write", "randwrite") else "read"


def pages_of(step: Measured, page_bytes: int = PAGE) -> int:
    """Pages of a request."""
    return max(1, -(-step.block_bytes // page_bytes))


def hosts_of(points: Iterable[Measured]) -> Hosts:
    """The limit of a job, where a point shows it.

    No device is slower with more requests in flight and fewer jobs: such a point is at the limit of
    its jobs, unless a job has been seen to submit more.
    """
    found: dict[str, float | None] = {}
    all_points = list(points)
    for direction in ("read", "write"):
        own = [point for point in all_points if direction_of(point) == direction]
        most = max((point.rate / point.numjobs for point in own), default=0.0)
        at_most = any(
            _is_of_the_host(point, own) and point.rate >= OF_A_JOB * most * point.numjobs
            for point in own
        )
        found[direction] = most if at_most else None
    return Hosts(**found)


def _is_of_the_host(point: Measured, others: Iterable[Measured]) -> bool:
    return any(
        other.block_bytes == point.block_bytes
        and other.numjobs > point.numjobs
        and other.in_flight <= point.in_flight
        and other.rate >= FASTER * point.rate
        for other in others
    )


def points_of(made: Measurement, direction: str) -> list[Measured]:
    """Points of random reads or writes; a point at depth 1 that slept is left out."""
    steps = list(made.grid[direction])
    if direction == "read" and not steps:
        steps = [*made.series("read-qd").values()]
    first = {step.in_flight: step for step in steps if step.block_bytes == PAGE}
    one, two = first.get(1), first.get(2)
    if one is not None and two is not None and two.rate > SLEEPS * one.rate:
        steps = [step for step in steps if step.in_flight != 1]
    return sorted(steps, key=lambda step: (step.block_bytes, step.in_flight))


def _depth(point: Measured, pages: int) -> int:
    """Requests in flight that are simulated: a queue that is never empty grows no faster."""
    return min(point.in_flight, max(DEEPEST // pages, DEEP))


def _chosen(depths: Sequence[int]) -> list[int]:
    """Depths that are simulated: the ends, and as evenly in the logarithm as they are there."""
    if len(depths) <= DEPTHS:
        return list(depths)
    low, high = math.log(depths[0]), math.log(depths[-1])
    chosen = {depths[0], depths[-1]}
    for at in range(1, DEPTHS - 1):
        goal = low + (high - low) * at / (DEPTHS - 1)
        chosen.add(min(depths, key=lambda depth: abs(math.log(depth) - goal)))
    return sorted(chosen)


def _between(rates: Mapping[int, float], depth: int) -> float:
    """A rate between two that were simulated: the response time along a line.

    That is constant before a queue begins, and grows with the depth when all is busy.
    """
    if depth in rates:
        return rates[depth]
    below = max(known for known in rates if known < depth)
    above = min(known for known in rates if known > depth)
    share = (depth - below) / (above - below)
    return depth / ((1 - share) * below / rates[below] + share * above / rates[above])


class _Search:
    """Points of one direction, and how far a device is from them."""

    def __init__(self, points: Sequence[Measured], model: Model, hosts: Hosts) -> None:
        self.direction = direction_of(points[0])
        self.points, self.model, self.hosts = points, model, hosts
        depths: dict[int, set[int]] = {}
        for point in points:
            pages = pages_of(point, model.page_bytes)
            depths.setdefault(pages, set()).add(_depth(point, pages))
        self.depths = {pages: _chosen(sorted(some)) for pages, some in sorted(depths.items())}
        fewest = [point for point in points if point.block_bytes == points[0].block_bytes]
        least = [point for point in fewest if point.in_flight == fewest[0].in_flight]
        self.alone_ns = sum(point.mean_ns for point in least) / len(least)
        self.pages_per_s = max(pages_of(point, model.page_bytes) * point.rate for point in points)
        self.command_ns = 0.9e9 / max(point.rate for point in points)
        """Where the search begins: the ceiling is a little higher than any point."""

    def rates(self, trial: Model) -> dict[int, dict[int, float]]:
        """Simulated rates by pages of a request and depth."""
        each = [(pages, depth) for pages, some in self.depths.items() for depth in some]
        found = trial.random(
            self.direction,
            [(pages, depth, max(3 * depth, PAGES // pages, REQUESTS)) for pages, depth in each],
        )
        rates: dict[int, dict[int, float]] = {}
        for (pages, depth), one in zip(each, found, strict=True):
            rates.setdefault(pages, {})[depth] = one
        return rates

    def cost(self, trial: Model) -> float:
        """Sum over the points of what a difference of log rates costs."""
        rates, total = self.rates(trial), 0.0
        for point in self.points:
            pages = pages_of(point, self.model.page_bytes)
            rate = _between(rates[pages], _depth(point, pages))
            rate = self.hosts.limited(rate, self.direction, point.numjobs)
            off = math.log(rate / point.rate) / BEND
            total += BEND * BEND * (math.sqrt(1 + off * off) - 1)
        return total


def _found(
    search: _Search,
    start: Sequence[float],
    model_of: Callable[[float, float, float | None], Model],
    evaluations: int = EVALUATIONS,
) -> tuple[list[float], float]:
    """Unit time and command time, as logarithms, and their cost; the delay is what they leave."""

    def cost(x: Sequence[float]) -> float:
        if x[1] > math.log(LONGEST * search.alone_ns):
            return HOPELESS
        delay = math.exp(x[2]) if len(x) > 2 else None
        ceilings = max(0.0, x[1])
        if search.direction == "write":
            ceilings += max(0.0, x[0])
        return search.cost(model_of(math.exp(x[0]), math.exp(x[1]), delay)) + LEAN * ceilings

    return nelder_mead(cost, start, evaluations)


def _with_and_without_a_ceiling(
    search: _Search, busy: float, model_of: Callable[[float, float, float | None], Model]
) -> tuple[list[float], float]:
    """The better of two searches: from a ceiling that the points show, and from none."""
    starts = [(busy, math.log(one)) for one in (search.command_ns, 0.01 * search.alone_ns)]
    return min((_found(search, start, model_of) for start in starts), key=lambda one: one[1])


def _polished(
    search: _Search,
    known: tuple[list[float], float],
    model_of: Callable[[float, float, float | None], Model],
) -> tuple[list[float], float]:
    """The same with the delay free: the lone request may be what the rest does not fit."""
    busy, command = map(math.exp, known[0])
    model = model_of(busy, command, None)
    delay = model.firmware_read_ns if search.direction == "read" else model.firmware_write_ns
    start = (*known[0], math.log(max(delay, 0.01 * search.alone_ns)))
    return min(
        _found(search, start, model_of, POLISHED),
        ([*known[0], math.log(max(delay, 1.0))], known[1]),
        key=lambda one: one[1],
    )


def curve_of(points: Sequence[Measured], model: Model, hosts: Hosts) -> Curve | None:
    """Units, read time, ceiling, delay and link from random reads; None without two depths."""
    if len({point.in_flight for point in points}) < 2:
        return None
    search = _Search(points, model, hosts)
    # No page crosses the link faster than the fastest did; requests of one page do not show it.
    link = 1e9 / search.pages_per_s if max(search.depths) > 1 else 0.0
    alone = search.alone_ns

    def model_of(units: int) -> Callable[[float, float, float | None], Model]:
        own = model.with_(units=units, stripe=1, link_ns=link)

        def made(busy: float, command: float, delay: float | None) -> Model:
            rest = max(0.0, alone - busy - command - link) if delay is None else delay
            return own.with_(unit_read_ns=busy, command_ns=command, firmware_read_ns=rest)

        return made

    def tried(units: int) -> tuple[float, int, list[float]]:
        busy = math.log(min(0.8 * alone, units * 1e9 / search.pages_per_s))
        best, cost = _with_and_without_a_ceiling(search, busy, model_of(units))
        return cost, units, best

    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        found = list(pool.map(tried, COARSE))
        near = COARSE.index(min(found)[1])
        low, high = COARSE[max(0, near - 1)], COARSE[min(len(COARSE) - 1, near + 1)]
        more = [units for units in UNITS if low < units < high and units not in COARSE]
        found += pool.map(tried, more)
    cost, units, best = min(found)
    others = tuple(sorted(n for one, n, _ in found if one <= NEAR * cost and n != units))
    best, cost = _polished(search, (best, cost), model_of(units))
    busy, command, delay = map(math.exp, best)
    return Curve(units, busy, command, delay, link, 0, cost, others)


def writes_over_depth(points: Sequence[Measured], model: Model, hosts: Hosts) -> Curve | None:
    """Program time, ceiling and delay from random writes of unknown state; None without points.

    The program time includes garbage collection. With a write buffer or without one, whichever
    fits better: its size does not show.
    """
    if not points:
        return None
    search = _Search(points, model, hosts)
    own = int(model.base.get("buffer_pages", 0)) or max(SLOTS, 2 * model.units)
    alone, units = search.alone_ns, model.units

    def tried(slots: int) -> tuple[float, int, list[float]]:
        empty = model.with_(buffer_pages=slots, erase_page_ns=0.0)

        def made(busy: float, command: float, delay: float | None) -> Model:
            taken = command + model.link_ns + (0.0 if slots else busy)
            return empty.with_(
                unit_program_ns=busy,
                command_write_ns=command,
                firmware_write_ns=max(0.0, alone - taken) if delay is None else delay,
            )

        busy = units * 1e9 / search.pages_per_s
        busy = math.log(busy if slots else min(busy, 0.8 * alone))
        found = _with_and_without_a_ceiling(search, busy, made)
        best, cost = _polished(search, found, made)
        return cost, slots, best

    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        cost, slots, best = min(pool.map(tried, (own, 0)))
    busy, command, delay = map(math.exp, best)
    return Curve(units, busy, command, delay, model.link_ns, slots, cost)


def nelder_mead(
    cost: Callable[[Sequence[float]], float], start: Sequence[float], evaluations: int
) -> tuple[list[float], float]:
    """The least cost over a few numbers, with the usual coefficients."""
    count = len(start)
    simplex = [list(start)]
    for at in range(count):
        simplex.append([x + 0.3 * (i == at) for i, x in enumerate(start)])
    values = [cost(point) for point in simplex]
    done = len(values)
    while done < evaluations:
        order = sorted(range(count + 1), key=values.__getitem__)
        simplex, values = [simplex[i] for i in order], [values[i] for i in order]
        if max(abs(a - b) for p in simplex[1:] for a, b in zip(p, simplex[0], strict=True)) < SMALL:
            break
        middle = [sum(point[i] for point in simplex[:-1]) / count for i in range(count)]
        point = _along(middle, simplex[-1], 1.0)
        value = cost(point)
        done += 1
        if value < values[0]:
            further = _along(middle, simplex[-1], 2.0)
            there = cost(further)
            done += 1
            if there < value:
                point, value = further, there
        elif value >= values[-2]:
            point = _along(middle, simplex[-1], 0.5 if value < values[-1] else -0.5)
            value = cost(point)
            done += 1
            if value >= values[-1]:
                for i in range(1, count + 1):
                    simplex[i] = [(a + b) / 2 for a, b in zip(simplex[i], simplex[0], strict=True)]
                    values[i] = cost(simplex[i])
                done += count
                continue
        simplex[-1], values[-1] = point, value
    best = min(range(count + 1), key=values.__getitem__)
    return simplex[best], values[best]


def _along(middle: Sequence[float], worst: Sequence[float], by: float) -> list[float]:
    """A point on the line from the worst through the middle of the others."""
    return [m + by * (m - w) for m, w in zip(middle, worst, strict=True)]
