"""The SLC cache, from the latencies of the first fill (`docs/spec/fit.md` 6.7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from destage.fit.fio import Measurement
from destage.fit.refusals import two_classes

__all__ = ["Classes", "classes_of", "fast_again"]

#: Pages of a request of the fill, and its requests in flight.
REQUEST_PAGES, DEPTH = 32, 8
#: Means of the classes are at least that far apart, and each has this share of the requests.
APART, SHARE = 1.3, 0.02
#: Smallest SLC cache, as a share of the capacity.
SMALLEST = 0.01
#: How often a small class of the fastest requests is set aside.
_MOST_EARLY = 3


@dataclass(frozen=True)
class Classes:
    """Fast and slow requests of a fill."""

    fast: int
    fast_median_ns: float

    def pages(self, buffer_pages: int, in_flight: int = DEPTH) -> int:
        """Pages that went into the SLC cache."""
        return REQUEST_PAGES * max(0, self.fast - in_flight) - buffer_pages


def classes_of(bins: tuple[tuple[float, int], ...], aside: int = 0) -> Classes | None:
    """The two classes, if there are two.

    Requests at the begin go into the empty write buffer, and may be a class of their own: it
    counts as fast ones, if it is small, or as often as `aside` says.
    """
    total = sum(count for _, count in bins)
    early = 0
    for at in range(_MOST_EARLY + aside):
        cut = two_classes(bins)
        if cut is None:
            return None
        fast = [(time, count) for time, count in bins if time < cut]
        slow = [(time, count) for time, count in bins if time >= cut]
        counts = [sum(count for _, count in part) for part in (fast, slow)]
        if at >= aside and counts[0] >= SHARE * total:
            return _classes(fast, slow, early) if counts[1] >= SHARE * total else None
        early += counts[0]
        bins = tuple(slow)
    return None


def _classes(
    fast: Sequence[tuple[float, int]], slow: Sequence[tuple[float, int]], early: int
) -> Classes | None:
    counts = [sum(count for _, count in part) for part in (fast, slow)]
    means = [
        math.exp(sum(math.log(max(t, 1.0)) * c for t, c in part) / n)
        for part, n in zip((fast, slow), counts, strict=True)
    ]
    if means[1] < APART * means[0]:
        return None
    seen, median = 0, fast[-1][0]
    for time, count in fast:
        seen += count
        if 2 * seen >= counts[0]:
            median = time
            break
    return Classes(counts[0] + early, median)


def fast_again(made: Measurement, fast: Classes, aside: int = 0) -> bool:
    """The fast class is there again after idle time: the cache was emptied."""
    again = made.get("overwrite-1")
    found = classes_of(again.direction.bins, aside) if again is not None else None
    return found is not None and abs(math.log(found.fast_median_ns / fast.fast_median_ns)) < 0.3
