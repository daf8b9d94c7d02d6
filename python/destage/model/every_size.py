"""A curve at every cache size: a column for each number, how large is enough, where it bends.

Knees are where the curve stands out most above the chord of a stretch, its axes scaled to one
(Satopaa, Albrecht, Irwin, Raghavan. Finding a "kneedle" in a haystack: detecting knee points in
system behavior. ICDCS workshops 2011, section II); first of the whole curve, then of what lies on
either side of a knee.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["SHARES", "EverySize"]

#: Shares of the best hits that one asks a size for.
SHARES = (0.9, 0.95, 0.99)
#: Most knees, and how far one stands out, of the whole curve's height, at least.
KNEES, STANDS_OUT = 3, 0.05
#: Points that are drawn: a step of hits, and of the size's logarithm, is at most one in so many.
STEPS = 600


@dataclass(frozen=True)
class EverySize:
    """Counts of a policy at every cache size from one page on: arrays of 64-bit numbers.

    Index k is a cache of k + 1 pages; one that is larger than the last counts as the last does.
    """

    hits: Sequence[int]
    """Accesses whose page was resident."""
    accesses: int
    """Page accesses that were counted: the same at every size."""
    physical_reads: Sequence[int] | None = None
    """Pages read from flash; None where one pass does not tell."""
    physical_writes: Sequence[int] | None = None
    """Pages written to flash; None where one pass does not tell."""

    @classmethod
    def of_bytes(
        cls, accesses: int, hits: bytes, reads: bytes | None = None, writes: bytes | None = None
    ) -> EverySize:
        """Take what the engine gives: columns of 64 bits a size, lowest byte first."""
        flash = [None if column is None else _array(column) for column in (reads, writes)]
        return cls(_array(hits), accesses, *flash)

    @property
    def cache_pages(self) -> Sequence[int]:
        """The sizes: 1 and on."""
        return range(1, len(self.hits) + 1)

    @property
    def misses(self) -> Sequence[int]:
        """Accesses whose page was not resident."""
        return array("Q", [self.accesses - hits for hits in self.hits])

    @property
    def best(self) -> int:
        """Hits of a cache that holds everything."""
        return self.hits[-1] if self.hits else 0

    def enough(self, share: float) -> int:
        """Frames of the smallest cache with this share of the best hits."""
        return bisect_left(self.hits, math.ceil(share * self.best)) + 1

    def knees(self) -> list[int]:
        """Frames where the curve bends, the smallest first."""
        if not self.best:
            return []
        found: list[tuple[float, int]] = []
        # Between two of these the curve has no feature of its own.
        self._stretch([0, *self._grid()], found)
        found.sort(key=lambda knee: (-knee[0], knee[1]))
        return sorted(frames for _, frames in found[:KNEES])

    def _stretch(self, grid: Sequence[int], found: list[tuple[float, int]]) -> None:
        """Add the knees of a stretch, with how far each stands out of its chord."""
        first, last = grid[0], grid[-1]
        low, high = self._hits(first), self._hits(last)
        if len(grid) < 3 or high <= low:
            return
        slope = (high - low) / (last - first)
        above, place = max(
            (self._hits(grid[k]) - low - slope * (grid[k] - first), -k)
            for k in range(1, len(grid) - 1)
        )
        if above < STANDS_OUT * self.best:
            return
        found.append((above, grid[-place]))
        self._stretch(grid[: 1 - place], found)
        self._stretch(grid[-place:], found)

    def _hits(self, frames: int) -> int:
        """Hits of a cache of so many frames; none of no cache."""
        return self.hits[frames - 1] if frames else 0

    def _grid(self) -> list[int]:
        """Sizes evenly apart in their logarithm and in hits, and those before a step."""
        most = len(self.hits)
        by_size = {round(most ** (k / STEPS)) for k in range(STEPS + 1)}
        by_hits = {bisect_left(self.hits, k * self.best / STEPS) + 1 for k in range(1, STEPS + 1)}
        # The size before a step as well, or a cliff would be a slope.
        before = {frames - 1 for frames in by_hits}
        return sorted(f for f in by_size | by_hits | before if 1 <= f <= most)

    def drawn(self) -> list[int]:
        """Frames of the points that a picture needs: beside a drawn one nothing is to be seen."""
        if not self.hits:
            return []
        named = {self.enough(share) for share in SHARES} | set(self.knees())
        return sorted({*self._grid(), *(named if self.best else ())})

    def ratio(self, frames: int) -> float | None:
        """Hit ratio of a cache of so many frames."""
        if not self.accesses or not self.hits:
            return None
        return self.hits[min(frames, len(self.hits)) - 1] / self.accesses

    def to_json(self) -> Mapping[str, Any]:
        """The part that a result keeps."""
        return {
            "accesses": self.accesses,
            "best_hit_ratio": self.ratio(len(self.hits)),
            "enough": [{"share": share, "frames": self.enough(share)} for share in SHARES]
            if self.best
            else [],
            "knees": [{"frames": f, "hit_ratio": self.ratio(f)} for f in self.knees()],
            "points": [[f, self.ratio(f), self._writes(f)] for f in self.drawn()],
        }

    def _writes(self, frames: int) -> int | None:
        writes = self.physical_writes
        return None if writes is None else writes[min(frames, len(writes)) - 1]


def _array(column: bytes) -> array[int]:
    counts = array("Q", column)
    if array("H", b"\1\0")[0] != 1:
        counts.byteswap()
    return counts
