"""Over-provisioning and garbage collector from steady random writes (`docs/spec/fit.md` 7)."""

from __future__ import annotations

import math
import os
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from destage.base.errors import DestageError
from destage.fit.fio import Measurement
from destage.fit.model import Model
from destage.fit.writes import blocks_of, tail_off
from destage.lab.catalogue import device_keys

__all__ = [
    "Candidate",
    "Collected",
    "EXCLUDED",
    "UNIFORM",
    "averaged",
    "before_random",
    "block_of",
    "candidates",
    "collected",
    "collectors",
    "first_op",
]

#: `gc_victim` and `gc_stream` in the order of the fit, which writes the first that fits. Collectors
#: of the engine's table that are not here come after them.
ORDER = (
    ("greedy", "shared"),
    ("fifo", "shared"),
    ("2r-fifo", "by-generation"),
    ("greedy", "own"),
    ("cost-benefit", "shared"),
    ("cost-benefit", "own"),
    ("windowed-greedy", "shared"),
    ("d-choices", "shared"),
    ("random", "shared"),
)
#: Collectors of the table that are not tried, each with the reason.
EXCLUDED: dict[str, str] = {}
UNIFORM = tuple(f"uniform-{part}" for part in range(1, 9))
STEADY = UNIFORM[4:]
ZONES = tuple(f"zones{share}-{part}" for share in (80, 95) for part in range(1, 9))
#: Write steps before them, which leave the flash as the random writes find it.
BEFORE = re.compile(r"write-qd1|(fill|overwrite)-\d|burst-\d+|tail-erase")
#: Of these only the writes matter to those after them.
TAILS = ("tail-erase", "tail-collect")
#: Over-provisioning: where the search begins and stays.
FIRST, LOW, HIGH, LOWEST, HIGHEST = 0.12, 0.04, 0.40, 0.03, 0.45
#: Slope of the log rate over it to begin with, and how far apart two points give one: nearer ones
#: differ by where their collections begin.
SLOPE, APART = 8.0, 0.004
#: Differences of mean logs: found, found for a first look, and no root. Where in a block
#: collections begin moves them by about as much as the first.
FOUND, NEARLY, NO_ROOT, EVALUATIONS = 0.005, 0.02, 0.02, 6
#: Candidates with a larger RMS at a first look, a multiple of the least and more, are out.
PROMISING, PROMISING_PLUS = 3.0, 0.02
#: With a larger RMS at a first look the block is likely to be wrong.
SUSPICIOUS = 0.05
#: Candidates that fit as well as the best; the best of them must be that good.
AS_GOOD, AS_GOOD_PLUS, MOST_RMS = 1.5, 0.002, 0.15
#: Beginnings of collections that are tried.
PHASES = 64
#: Beginnings over which over-provisioning is averaged, and the least slope over it.
AVERAGED, LEAST_SLOPE = 8, 0.1
#: A tail that is so many times too far off at every fourth place is at none near enough.
HOPELESS = 3.0
#: Blocks that are compared: within this factor of the one by `tail-erase` alone.
NEAR = 4


@dataclass(frozen=True)
class Candidate:
    """A collector with its over-provisioning."""

    gc_victim: str
    gc_stream: str
    op: float
    difference: float
    slope: float
    rms: float
    luck: float = 0.0
    """What over-provisioning is off for where collections begin, one standard deviation."""

    @property
    def name(self) -> str:
        """As messages name it."""
        separated = self.gc_stream == "own"
        return f"{self.gc_victim} with gc_stream = own" if separated else self.gc_victim


@dataclass(frozen=True)
class Collected:
    """Garbage collection, fitted to the random writes."""

    chosen: Candidate
    alike: tuple[Candidate, ...]
    """Others that fit as well."""
    tried: tuple[Candidate, ...]
    is_identified: bool
    spread: tuple[float, float]
    """Over-provisioning of those that fit."""
    nearest: Candidate | None = None
    """The one with the least RMS, with which other blocks are tried; None without zones."""
    is_whole: bool = True
    """Not only a first look."""


def collectors() -> tuple[str, ...]:
    """The collectors of the engine's table."""
    (key,) = (k for k in device_keys() if (k.table, k.name) == ("device", "gc_victim"))
    return tuple(key.values.split(", "))


def candidates(table: Sequence[str]) -> list[tuple[str, str]]:
    """`gc_victim` and `gc_stream` of all collectors of the table but the excluded ones."""
    known = {victim for victim, _ in ORDER}
    pairs = [*ORDER, *((victim, "shared") for victim in table if victim not in known)]
    return [(v, stream) for v, stream in pairs if v in table and v not in EXCLUDED]


def collected(
    made: Measurement, model: Model, slope: float, *, is_last: bool = True
) -> Collected | None:
    """The collector and over-provisioning that random writes fit; None where they are missing.

    The search begins at the model's over-provisioning, with this slope of the log rate over it.
    Where nothing fits at a first look, the block is likely to be wrong: the search ends there,
    unless it is the last.
    """
    if any(made.get(name) is None for name in STEADY):
        return None
    measured, with_zones = _measured(made)
    known = candidates(collectors())
    pairs = [
        (victim, stream)
        for victim, stream in (known if with_zones else known[:1])
        if not (model.slc_pages and stream != "shared")
    ]
    tried = _looked_at(made, model, slope, measured, pairs)
    is_whole = is_last or not with_zones or min(one.rms for one in tried) <= SUSPICIOUS
    if is_whole:
        tried = _in_full(made, model, slope, measured, tried)
    possible = [one for one in tried if abs(one.difference) < NO_ROOT]
    if not possible:
        return Collected(tried[0], (), tuple(tried), False, (tried[0].op, tried[0].op))
    least = min(one.rms for one in possible)
    nearest = min(possible, key=lambda one: one.rms)
    if not is_whole:
        ends = (nearest.op, nearest.op)
        return Collected(nearest, (), tuple(tried), False, ends, nearest, is_whole=False)
    fitting = [one for one in possible if _is_as_good(one.rms, least)]
    chosen = fitting[0] if least <= MOST_RMS else possible[0]
    ops = [one.op for one in fitting]
    identified = with_zones and least <= MOST_RMS
    alike = tuple(one for one in fitting if one is not chosen)
    ends, looked_at = (min(ops), max(ops)), nearest if with_zones else None
    return Collected(chosen, alike, tuple(tried), identified, ends, looked_at)


def _looked_at(
    made: Measurement,
    model: Model,
    slope: float,
    measured: Mapping[str, float],
    pairs: Sequence[tuple[str, str]],
) -> list[Candidate]:
    """Every candidate on the uniform writes and the first zones."""
    before, fewer = before_random(made), _first_zones(measured)

    def tried(pair: tuple[str, str]) -> Candidate:
        return _tried(pair, model, slope, fewer, before, NEARLY)

    with ThreadPoolExecutor(max(1, min(len(pairs), os.cpu_count() or 1))) as pool:
        return list(pool.map(tried, pairs))


def _first_zones(measured: Mapping[str, float]) -> dict[str, float]:
    return {name: log for name, log in measured.items() if not name.startswith("zones95")}


def _in_full(
    made: Measurement,
    model: Model,
    slope: float,
    measured: Mapping[str, float],
    tried: Sequence[Candidate],
) -> list[Candidate]:
    """Those that a first look leaves near, on all writes; the others as they are."""
    before, least = before_random(made), min(one.rms for one in tried)

    def further(one: Candidate) -> Candidate:
        if one.rms > PROMISING * least + PROMISING_PLUS or abs(one.difference) >= NO_ROOT:
            return one
        nearer = one.op - one.difference / (one.slope or slope)
        begun = model.with_(op=min(HIGHEST, max(LOWEST, nearer)))
        return _tried((one.gc_victim, one.gc_stream), begun, one.slope, measured, before)

    with ThreadPoolExecutor(max(1, min(len(tried), os.cpu_count() or 1))) as pool:
        return list(pool.map(further, tried))


def _is_as_good(rms: float, least: float) -> bool:
    return rms <= AS_GOOD * least + AS_GOOD_PLUS


def _measured(made: Measurement) -> tuple[dict[str, float], bool]:
    """Log rates of the random writes, and whether zones are among them."""
    with_zones = all(made.get(name) is not None for name in ZONES)
    names = (*UNIFORM, *(ZONES if with_zones else ()))
    steps = {name: made.get(name) for name in names}
    return {name: math.log(step.rate) for name, step in steps.items() if step}, with_zones


def averaged(made: Measurement, model: Model, found: Collected) -> Collected:
    """The same with over-provisioning as the mean over where in a block collections begin.

    The measured device begins them at one place, which is luck as much as a simulated one's.
    """
    chosen = found.chosen
    measured, _ = _measured(made)
    goal = sum(measured[name] for name in STEADY) / len(STEADY)
    trial = model.with_(gc_victim=chosen.gc_victim, gc_stream=chosen.gc_stream, op=chosen.op)
    places = trial.phases(AVERAGED)
    before = before_random(made)
    with ThreadPoolExecutor(max(1, min(len(places), os.cpu_count() or 1))) as pool:
        off = list(pool.map(lambda one: _difference(trial, one.op, goal, before), places))
    slope = max(abs(chosen.slope), LEAST_SLOPE)
    each = [place.op - one / slope for place, one in zip(places, off, strict=True)]
    op = min(HIGHEST, max(LOWEST, statistics.fmean(each)))
    better = replace(chosen, op=op, luck=statistics.stdev(each))
    ends = (found.spread[0] + op - chosen.op, found.spread[1] + op - chosen.op)
    tried = tuple(better if one is chosen else one for one in found.tried)
    return replace(found, chosen=better, tried=tried, spread=ends)


def block_of(
    made: Measurement, model: Model, chosen: Candidate, *, is_whole: bool
) -> tuple[int, tuple[int, ...]]:
    """Pages of a block by least squares of the random writes and the tail; others as good.

    How soon random writes become steady, and at which rate, depends on the block as well: with a
    wrong one, over-provisioning makes up for it. The collector is the one chosen with the model's.
    """
    measured, _ = _measured(made)
    if not is_whole:
        measured = _first_zones(measured)
    found: dict[int, float] = {}
    tried = _blocks_around(made, model, chosen, measured)
    for count, one in sorted(tried.items(), key=lambda pair: pair[1].rms):
        least = min(found.values(), default=math.inf)
        if not _is_as_good(one.rms, least):
            break  # the random writes alone are too far off
        begun = model.with_(pages_per_block=count, op=one.op)
        far = HOPELESS * math.sqrt(len(measured)) * (AS_GOOD * least + AS_GOOD_PLUS)
        tail = min(begun.nearest_phases(PHASES, lambda at: tail_off(made, [at]), float, far))
        found[count] = math.sqrt(one.rms**2 + tail**2 / len(measured))
    count = min(found, key=lambda one: (found[one], one), default=model.pages_per_block)
    alike = sorted(one for one in found if one != count and _is_as_good(found[one], found[count]))
    return count, tuple(alike)


def _blocks_around(
    made: Measurement, model: Model, chosen: Candidate, measured: Mapping[str, float]
) -> dict[int, Candidate]:
    """Smaller and larger blocks, each until one fits the random writes worse than those before."""
    own, before, fewer = model.pages_per_block, before_random(made), _first_zones(measured)
    pair = (chosen.gc_victim, chosen.gc_stream)
    near = [one for one in blocks_of(model) if own <= NEAR * one <= NEAR * NEAR * own]
    ways = [n for n in reversed(near) if n < own], [n for n in near if n > own]

    def walked(way: list[int]) -> dict[int, Candidate]:
        found, least = dict[int, Candidate](), chosen.rms
        for count in way:
            trial = model.with_(pages_per_block=count, op=chosen.op)
            found[count] = one = _tried(pair, trial, chosen.slope, fewer, before, NEARLY)
            if one.rms > PROMISING * least + PROMISING_PLUS:
                break
            if len(fewer) < len(measured):
                begun = trial.with_(op=one.op)
                found[count] = one = _tried(pair, begun, one.slope, measured, before)
            if not _is_as_good(one.rms, least):
                break
            least = min(least, one.rms)
        return found

    with ThreadPoolExecutor(len(ways)) as pool:
        smaller, larger = pool.map(walked, ways)
    return {own: chosen, **smaller, **larger}


def first_op(
    made: Measurement, model: Model, begin: tuple[float, float] = (FIRST, SLOPE)
) -> tuple[float, float] | None:
    """Over-provisioning if the model's collector is the right one, and the slope over it.

    Near enough for what stands before the collector, and to begin its search.
    """
    steps = [made.get(name) for name in STEADY]
    rates = [math.log(step.rate) for step in steps if step is not None]
    if len(rates) < len(STEADY):
        return None
    goal = sum(rates) / len(rates)
    before = before_random(made)
    op, off, slope = _root(*begin, lambda op: _difference(model, op, goal, before))
    return (op, slope) if abs(off) < NO_ROOT else None


def before_random(made: Measurement) -> tuple[str, ...]:
    """Steps that leave the flash as the random writes find it."""
    return tuple(name for name in made.steps if BEFORE.fullmatch(name))


def _difference(model: Model, op: float, goal: float, before: Sequence[str]) -> float:
    """Simulated less measured mean log rate of the steady steps."""
    try:
        found = model.with_(op=op).simulate((*before, *UNIFORM), unread=TAILS)
    except DestageError:
        return -1.0  # so little that no collection fits
    return sum(math.log(found[name].rate) for name in STEADY) / len(STEADY) - goal


def _tried(
    pair: tuple[str, str],
    model: Model,
    slope: float,
    measured: Mapping[str, float],
    before: Sequence[str],
    enough: float = FOUND,
) -> Candidate:
    victim, stream = pair
    trial = model.with_(gc_victim=victim, gc_stream=stream)
    goal = sum(measured[name] for name in STEADY) / len(STEADY)

    op, off, slope = _root(model.op, slope, lambda op: _difference(trial, op, goal, before), enough)
    if abs(off) >= NO_ROOT:
        return Candidate(victim, stream, op, off, slope, math.inf)
    names = (*before, *measured, "tail-collect")
    found = trial.with_(op=op).simulate(names, unread=TAILS)
    squares = [(math.log(found[name].rate) - log) ** 2 for name, log in measured.items()]
    return Candidate(victim, stream, op, off, slope, math.sqrt(sum(squares) / len(squares)))


def _root(
    begin: float, slope: float, difference: Callable[[float], float], enough: float = FOUND
) -> tuple[float, float, float]:
    """Over-provisioning at which a difference is 0, the difference, and the slope: secant steps."""
    points = [(begin, difference(begin))]
    op = min(HIGH, max(LOW, begin - points[0][1] / slope))
    while len(points) < EVALUATIONS and abs(points[-1][1]) >= enough:
        points.append((op, difference(op)))
        (x, f), (y, g) = points[-2:]
        if x == y:
            break
        if abs(x - y) >= APART and g != f:
            slope = (g - f) / (y - x)
        op = min(HIGHEST, max(LOWEST, y - g / slope))
    best = min(points, key=lambda point: abs(point[1]))
    ends = [x for x, _ in points]
    return (*best, _slope(points) or slope if max(ends) - min(ends) >= APART else slope)


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """By least squares: two near points differ by where their collections begin."""
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    over = sum((one - x) ** 2 for one, _ in points)
    return sum((one - x) * (other - y) for one, other in points) / over if over else 0.0
