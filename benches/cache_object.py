"""Accesses a second of `destage.Cache` from Python, beside an `OrderedDict` LRU that returns the same.

    python benches/cache_object.py

Processor time of this process, best of some rounds: other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

import destage


class Outcome:
    """What `destage.Access` has."""

    __slots__ = ("admitted", "destaged", "evicted", "groups", "hit")

    def __init__(self, hit: bool, evicted: tuple = (), destaged: tuple = ()) -> None:
        """Take what left the cache, and what of it was dirty."""
        self.hit, self.admitted, self.evicted, self.destaged = hit, not hit, evicted, destaged
        self.groups = (destaged,) if destaged else ()


class OrderedLru:
    """LRU with dirty bits in an `OrderedDict`; plain hits and misses are shared objects."""

    HIT, MISS = Outcome(True), Outcome(False)

    def __init__(self, frames: int) -> None:
        """Start with an empty cache."""
        self.frames, self.pages = frames, OrderedDict[object, bool]()

    def access(self, key: object, write: bool = False) -> Outcome:
        """One page access."""
        pages = self.pages
        if key in pages:
            pages.move_to_end(key)
            if write:
                pages[key] = True
            return self.HIT
        if len(pages) < self.frames:
            pages[key] = write
            return self.MISS
        victim, dirty = pages.popitem(last=False)
        pages[key] = write
        return Outcome(False, (victim,), (victim,) if dirty else ())


def rate(make: Callable[[], Callable[[object], object]], keys: Sequence[object]) -> float:
    """Million accesses a second, best of five rounds over a cache that is warm."""
    best = float("inf")
    for _ in range(5):
        access = make()
        for key in keys:
            access(key)
        began = time.process_time()
        for key in keys:
            access(key)
        best = min(best, time.process_time() - began)
    return len(keys) / best / 1e6


def loads(count: int) -> dict[str, list[object]]:
    """Keys of several kinds: how many are hits, and what a key is."""
    draw = random.Random(1)
    skewed = [int(draw.paretovariate(0.3)) % 100_000 for _ in range(count)]
    return {
        "integers, all hits": [draw.randrange(9_000) for _ in range(count)],
        "integers, half of them hits": skewed,
        "integers, no hits": [n % 100_000 for n in range(count)],
        "bytes, half of them hits": [key.to_bytes(32, "big") for key in skewed],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Rates of destage.Cache and of an OrderedDict.")
    parser.add_argument("--accesses", type=int, default=400_000)
    parser.add_argument("--policy", default="lru,arc,s3-fifo,w-tinylfu,lirs")
    args = parser.parse_args()
    frames = 10_000
    print(
        "| keys, cache of 10,000 frames | "
        + " | ".join(["OrderedDict", *args.policy.split(",")])
        + " |"
    )
    for name, keys in loads(args.accesses).items():
        rates = [rate(lambda: OrderedLru(frames).access, keys)]
        for policy in args.policy.split(","):
            rates.append(rate(lambda policy=policy: destage.Cache(policy, frames).access, keys))
        print(f"| {name} | " + " | ".join(f"{r:.2f}" for r in rates) + " |")
    print("million accesses a second")


if __name__ == "__main__":
    main()
