"""Savings of placement handles (FDP): two published measurements, reproduced at scale.

    python examples/fdp.py lmcache      # nine writers of unlike objects on a Samsung PM9D3a
    python examples/fdp.py cachelib     # small and large objects of CacheLib on a 1.88-TB drive

`docs/validity.md` has the sources and the results. Unpublished parameters are options: `--spare`,
reclaim units of the drive beyond its capacity; `--order`, the order of overwrites; `--alike`, equal
bytes or objects for each writer; `--small`, the share of the written pages in small objects.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import destage

#: Reclaim units of the capacity: 960 GiB in units of 16 GiB, and as many for the other drive.
UNITS = 60
PLANES = 32  # of the preset `fdp`: a reclaim unit is a block of each
PAGE = 4096

Write = tuple[int, int]  # first page, pages


@dataclass(frozen=True)
class Setup:
    """How a drive assigns pages: who names the handle, and where collected pages go."""

    name: str
    placed: bool
    handles: int
    isolation: str = "initial"
    stream: str = "shared"

    @property
    def write_points(self) -> int:
        """Open blocks of a plane (`docs/spec/device-today.md` 7.1)."""
        if self.stream == "shared":
            return self.handles
        return self.handles + 1 if self.isolation == "initial" else 2 * self.handles

    def drive(self, block_pages: int, spare: int, thresholds: list[int], filled: bool) -> str:
        """The preset `fdp` of this scale, with so many reclaim units beyond its capacity."""
        keys: dict[str, object] = {
            "pages_per_block": block_pages,
            "blocks_per_plane": UNITS + spare,
            "logical_pages": UNITS * PLANES * block_pages,
            "gc_low_pages": self.write_points * block_pages,
            "handles": self.handles,
            "isolation": self.isolation,
            "gc_stream": self.stream,
            "precondition": "sequential" if filled else "none",
        }
        if self.placed:
            keys["placement.policy"] = "by-size"
            keys["placement.thresholds"] = thresholds
        return "fdp[" + ";".join(f"{key}={value}" for key, value in keys.items()) + "]"


def lmcache(order: str, rates: str, mib: int, seed: int = 1) -> Iterator[Write]:
    """Nine writers over 855 GiB until four times 960 GiB are written."""
    classes = [(4, 90)] * 2 + [(32, 180)] + [(16, 90)] * 2 + [(2, 90)] * 3 + [(1, 45)]
    draws = random.Random(seed)
    writers: list[tuple[int, int, list[int]]] = []
    base = 0
    for object_mib, area_gib in classes:
        pages = object_mib * mib
        count = area_gib * 1024 // object_mib
        writers.append((base, pages, list(range(count))))
        base += count * pages
    written = [0] * len(writers)
    rounds = [0] * len(writers)
    left = 4 * 960 * 1024 * mib
    while left > 0:
        # Alike many bytes of each, or alike many objects.
        which = min(range(len(writers)), key=lambda writer: written[writer])
        base, pages, objects = writers[which]
        if order == "uniform":
            number = draws.randrange(len(objects))
        else:
            if order == "shuffled" and rounds[which] == 0:
                draws.shuffle(objects)  # every object once, then all of them again
            number = objects[rounds[which]]
            rounds[which] = (rounds[which] + 1) % len(objects)
        yield base + number * pages, pages
        written[which] += pages if rates == "bytes" else 1
        left -= pages


def cachelib(used: float, small: float, capacity: int, seed: int = 1) -> Iterator[Write]:
    """BigHash, 4 % of the cache, at random; BlockCache, the rest, region by region in a ring."""
    draws = random.Random(seed)
    buckets = int(capacity * used * 0.04)
    regions = int(capacity * used * 0.96) // 2  # of 16 MiB of 1.88 TB: about two pages
    at = left = 0
    while left < 6 * capacity:
        if draws.random() < small / (small + (1 - small) / 2):
            yield draws.randrange(buckets), 1
            left += 1
        else:
            yield buckets + 2 * at, 2
            at = (at + 1) % regions
            left += 2


def waf(name: str, writes: Iterator[Write], drives: list[str]) -> list[float]:
    """Write amplification of the same writes on each drive."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.csv"
        with path.open("w") as file:
            for number, (page, pages) in enumerate(writes):
                file.write(f"0,W,{page * PAGE},{pages * PAGE},{number}\n")
        found = []
        for spec in drives:
            drive = destage.open_device(spec)
            trace = destage.open_trace(path, format="alibaba", device=drive, cache=False)
            found.append(destage.compare(trace, ["none"], device=drive)[0].waf or 0.0)
        return found


def show_lmcache(orders: list[str], rates: list[str], spares: list[int], mib: int) -> None:
    """Mixed and separated, for each order and rate of overwrites and each spare."""
    setups = [
        Setup("mixed", placed=False, handles=1),
        Setup("mixed, five open", placed=False, handles=5),
        Setup("initial", placed=True, handles=5),
        Setup("persistent", placed=True, handles=5, isolation="persistent"),
    ]
    thresholds = [size * mib * PAGE for size in (2, 4, 16, 32)]
    print("published: mixed 2.600, five handles initially isolated 1.425")
    names = (f"{setup.name:>16}" for setup in setups)
    print(f"{'order':<10} {'alike':<7} {'spare':>5}", *names)
    for order, rate, spare in product(orders, rates, spares):
        drives = [setup.drive(512 * mib, spare, thresholds, True) for setup in setups]
        row = waf("lmcache", lmcache(order, rate, mib), drives)
        found = (f"{value:>16.3f}" for value in row)
        print(f"{order:<10} {rate:<7} {spare:>5}", *found, flush=True)


def show_cachelib(smalls: list[float], spares: list[int], block_pages: int) -> None:
    """One handle and two, half of the device in use and all of it."""
    setups = [
        Setup("one handle", placed=False, handles=1),
        Setup("initial", placed=True, handles=2),
        Setup("persistent", placed=True, handles=2, isolation="persistent"),
    ]
    print("published: half of the device 1.22 and 1.03 with handles, all of it 3.22 and 1.03")
    print(f"{'used':>5} {'small':>5} {'spare':>5}", *(f"{setup.name:>11}" for setup in setups))
    capacity = UNITS * PLANES * block_pages
    for used, small, spare in product((0.5, 1.0), smalls, spares):
        drives = [setup.drive(block_pages, spare, [2 * PAGE], False) for setup in setups]
        row = waf("cachelib", cachelib(used, small, capacity), drives)
        found = (f"{value:>11.3f}" for value in row)
        print(f"{used:>5.0%} {small:>5.0%} {spare:>5}", *found, flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Make the tables of `docs/validity.md`."""
    parser = argparse.ArgumentParser(
        description="What placement handles save, as published and here."
    )
    parser.add_argument("what", choices=["lmcache", "cachelib"])
    parser.add_argument("--spare", type=int, nargs="+", default=[12, 20], help="reclaim units")
    orders = ["sequential", "shuffled", "uniform"]
    parser.add_argument("--order", nargs="+", choices=orders, default=orders)
    parser.add_argument(
        "--alike", nargs="+", choices=["bytes", "objects"], default=["bytes", "objects"]
    )
    parser.add_argument("--small", type=float, nargs="+", default=[0.1, 0.3, 0.4, 0.5])
    parser.add_argument("--scale", type=int, default=1, help="lmcache: pages of a MiB")
    parser.add_argument("--block-pages", type=int, default=128, help="cachelib: pages of a block")
    given = parser.parse_args(arguments)
    if given.what == "lmcache":
        show_lmcache(given.order, given.alike, given.spare, given.scale)
    else:
        show_cachelib(given.small, given.spare, given.block_pages)


if __name__ == "__main__":
    main()
