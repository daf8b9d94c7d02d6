"""The map cache: random reads over growing ranges (`docs/spec/fit.md` 6.10)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from destage.fit.fio import Measured, Measurement

__all__ = ["MapCache", "map_cache_of", "without_misses"]

#: Least time of the misses of the whole device, as a share of a hit's.
LEAST = 0.02
#: Most of the scatter of the means that a map cache leaves unexplained.
UNEXPLAINED = 0.05
#: Shares of the map that are tried in turn, and how often the best interval is divided.
GRID, ROUNDS = 96, 24


@dataclass(frozen=True)
class MapCache:
    """A part of the map in memory."""

    share: float
    """Of the whole map."""
    hit_ns: float
    miss_ns: float
    """What a miss costs more."""

    @property
    def missing_ns(self) -> float:
        """Mean time that misses add to a read of the whole device."""
        return self.miss_ns * (1 - self.share)


#: Share of the device and mean time of a read in it.
_Points = Sequence[tuple[float, float]]


def map_cache_of(made: Measurement, scale: Mapping[str, float] | None = None) -> MapCache | None:
    """A map cache fitted to the ranges; None where reads over all take as long as over a part."""
    scale = scale or {}
    steps = made.series("read-range-")
    points = [
        (1 / n, one.mean_ns * math.exp(-scale.get(one.name, 0.0))) for n, one in steps.items()
    ]
    if len(points) < 4:
        return None
    shares = [2.0 ** (-12 * at / GRID) for at in range(1, GRID)]
    best = min(range(len(shares)), key=lambda at: _fitted(points, shares[at])[0])
    low, high = shares[min(best + 1, len(shares) - 1)], shares[max(best - 1, 0)]
    for _ in range(ROUNDS):
        third = (high - low) / 3
        if _fitted(points, low + third)[0] < _fitted(points, high - third)[0]:
            high -= third
        else:
            low += third
    rest, found = _fitted(points, (low + high) / 2)
    mean = sum(log for _, log in points) / len(points)
    scatter = sum((m / mean - 1) ** 2 for _, m in points)
    is_seen = found.missing_ns > LEAST * found.hit_ns and found.hit_ns > 0
    return found if is_seen and rest < UNEXPLAINED * scatter else None


def _fitted(points: _Points, share: float) -> tuple[float, MapCache]:
    """Least squares of relative distances: times of hits and misses with this share in memory."""
    # A range that is larger than what the cache covers misses in proportion to the rest.
    rows = [(1 / m, max(0.0, 1 - share / part) / m) for part, m in points]
    aa, ab, bb = (sum(r[i] * r[j] for r in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a1, b1 = sum(r[0] for r in rows), sum(r[1] for r in rows)
    over = aa * bb - ab * ab
    if over <= 1e-12 * aa * bb or bb == 0:
        return math.inf, MapCache(share, 0.0, 0.0)
    hit, miss = (a1 * bb - b1 * ab) / over, (b1 * aa - a1 * ab) / over
    rest = sum((hit * r[0] + miss * r[1] - 1) ** 2 for r in rows)
    return rest, MapCache(share, hit, miss)


def without_misses(made: Measurement, found: MapCache) -> Measurement:
    """The steps that read the whole device at random one by one, as if all places were known."""
    steps = dict(made.steps)
    for name, one in made.steps.items():
        if name in ("read-qd1", "read-again"):
            steps[name] = _taking(one, found.hit_ns)
        elif name.startswith("read-bs"):
            steps[name] = _taking(one, max(1.0, one.mean_ns - found.missing_ns))
    return replace(made, steps=steps)


def _taking(one: Measured, mean_ns: float) -> Measured:
    return replace(one, read=replace(one.direction, mean_ns=mean_ns))
