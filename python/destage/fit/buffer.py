"""The write buffer, from bursts (`docs/spec/fit.md` 6.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from destage.fit.fio import Measurement
from destage.fit.model import Model

__all__ = ["BURSTS", "OVER", "SIZES", "Buffer", "buffer_of", "first_full", "taken_ns"]

#: Steps before the bursts that fill the flash.
OVER = ("fill-1", "fill-2", "overwrite-1", "overwrite-2")
#: Bursts, MiB, and pages of one.
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
BURSTS = tuple(f"burst-{mib}" for mib in SIZES)
MIB_PAGES = 256
#: Bursts up to so many times the first that fills the buffer are compared: in larger ones an error
#: of the rate weighs more than the buffer.
COMPARED = 8
#: Beginnings of collections that are tried, and steps of a search.
PHASES, ROUNDS = 64, 3
#: Phases whose bursts fit as well as the best.
AS_GOOD, AS_GOOD_PLUS = 1.5, 0.002


@dataclass(frozen=True)
class Buffer:
    """Pages of the buffer, and what the bursts leave open."""

    pages: int
    low: int
    high: int
    pages_per_block: int
    """With which it was found."""


def taken_ns(made: Measurement) -> dict[int, float]:
    """T(K): how long each burst took, by its MiB."""
    return {
        mib: step.mean_ns * step.direction.requests for mib, step in made.series("burst-").items()
    }


def first_full(taken: Mapping[int, float], each_ns: float) -> int | None:
    """The smallest burst that takes half as long as its pages would without a buffer."""
    return next((k for k, ns in taken.items() if ns >= 0.5 * k * MIB_PAGES * each_ns), None)


def buffer_of(model: Model, taken: Mapping[int, float], mib: int, each_ns: float) -> Buffer:
    """The buffer whose simulated bursts take as long as the measured ones.

    All units collect at nearly the same page of a sequential write, and whether a short burst
    meets a collection shifts its time by that of an erase: as much as dozens of pages. Where in a
    block collections begin is not known, so each place is tried; that which fits the bursts best
    counts. Pages that all units program at once show as one: the middle of the buffers whose bursts
    fit as well is given.
    """
    compared = {size: ns for size, ns in taken.items() if size <= COMPARED * mib}
    guess = max(1, round(mib * MIB_PAGES - taken[mib] / each_ns))

    def tried(one: Model) -> tuple[Model, float]:
        return _nearest(one, compared, guess, each_ns)

    found = (
        [tried(model)] if model.slc_pages else model.nearest_phases(PHASES, tried, _rms, math.inf)
    )
    best, rms = min(found, key=_rms)
    alike = [one.buffer_pages for one, off in found if off <= AS_GOOD * rms + AS_GOOD_PLUS]
    low, high = _same_time(best, mib, each_ns)
    low, high = min(low, *alike), max(high, *alike)
    return Buffer((low + high) // 2, low, high, model.pages_per_block)


def _rms(found: tuple[Model, float]) -> float:
    return found[1]


def _simulated(model: Model, sizes: Mapping[int, float]) -> dict[int, float]:
    steps = model.simulate(("write-qd1", *OVER, *(f"burst-{mib}" for mib in sizes)))
    return {mib: steps[f"burst-{mib}"].mean_ns * steps[f"burst-{mib}"].requests for mib in sizes}


def _nearest(
    model: Model, taken: Mapping[int, float], guess: int, each_ns: float
) -> tuple[Model, float]:
    """The buffer by least squares of the log differences of the bursts, and their RMS."""
    best, pages, seen = (model, math.inf), guess, set[int]()
    while len(seen) < ROUNDS and pages not in seen:
        seen.add(pages)
        trial = model.with_(buffer_pages=pages)
        found = _simulated(trial, taken)
        off = {mib: math.log(found[mib] / ns) for mib, ns in taken.items()}
        rms = math.sqrt(sum(one * one for one in off.values()) / len(off))
        if rms < best[1]:
            best = (trial, rms)
        # A page more of the buffer saves the time of a page, in bursts that fill it.
        slopes = {
            mib: -each_ns / ns
            for mib, ns in found.items()
            if max(ns, taken[mib]) >= 0.2 * mib * MIB_PAGES * each_ns
        }
        if not slopes:
            break
        change = -sum(slope * off[mib] for mib, slope in slopes.items())
        pages = max(1, pages + round(change / sum(slope * slope for slope in slopes.values())))
    return best


def _same_time(model: Model, mib: int, each_ns: float) -> tuple[int, int]:
    """The smallest and the largest buffer whose burst takes as long as this one's."""
    sizes = {size: 0.0 for size in SIZES if size <= mib}
    known: dict[int, float] = {}

    def taken(pages: int) -> float:
        if pages not in known:
            known[pages] = _simulated(model.with_(buffer_pages=pages), sizes)[mib]
        return known[pages]

    own = taken(model.buffer_pages)
    low = _furthest(model.buffer_pages, -1, lambda at: taken(at) <= own + each_ns / 4)
    high = _furthest(model.buffer_pages, 1, lambda at: taken(at) >= own - each_ns / 4)
    return low, high


def _furthest(begin: int, way: int, holds: Callable[[int], bool]) -> int:
    """How far a condition holds that does at the begin, in one direction."""
    inside, step = begin, 1
    while (outside := inside + way * step) >= 1 and holds(outside):
        inside, step = outside, 2 * step
    outside = max(outside, 0)
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside
