"""Workloads whose curves have steps or whose phases change: intervals of samples missed there.

Each is generated from one seed and written as a trace file; `sizes` are cache sizes, shares of the
pages, on both sides of its steps.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import destage

#: Pages of the largest footprint: 2,048 frames of the smallest cache are a tenth of it.
PAGES = 400_000

#: Share of the writes.
WRITES = 0.3

#: Time of the first request, 100-ns ticks since 1601; the others follow 0.1 ms apart.
BEGINNING = 128_166_372_000_000_000

#: First page and number of pages of a request.
Extent = tuple[int, int]


@dataclass(frozen=True)
class Made:
    """A generated workload."""

    requests: Callable[[random.Random], Iterator[Extent]]
    sizes: tuple[float, ...]

    def trace(self, name: str, folder: Path) -> destage.Trace:
        """Write it into a folder, and open it."""
        path, source = folder / f"{name}.csv", random.Random(1)
        with path.open("w") as file:
            for k, (page, pages) in enumerate(self.requests(source)):
                kind = "Write" if source.random() < WRITES else "Read"
                file.write(f"{BEGINNING + k * 1000},made,0,{kind},{page * 4096},{pages * 4096},0\n")
        return destage.open_trace(path, format="msr", page_size=4096)


def two_loops(_: random.Random) -> Iterator[Extent]:
    """A loop over two fifths of the pages and one over the rest, in turns."""
    edge = PAGES * 2 // 5
    for _turn in range(4):
        for first, last, rounds in ((0, edge, 3), (edge, PAGES, 2)):
            for _round in range(rounds):
                yield from ((page, 1) for page in range(first, last))


def shift(source: random.Random) -> Iterator[Extent]:
    """Four in five accesses go to a fifth of the pages, which is another fifth in the end."""
    for start in (0, PAGES // 2):
        for _access in range(3 * PAGES):
            reach = PAGES // 5 if source.random() < 0.8 else PAGES
            yield (start + source.randrange(reach)) % PAGES, 1


def one_depth(_: random.Random) -> Iterator[Extent]:
    """Every page four times, with the same number of pages between."""
    depth, uses = PAGES * 3 // 40, 4
    for now in range(PAGES + depth * (uses - 1)):
        for page in range(now, now - depth * uses, -depth):
            if 0 <= page < PAGES:
                yield page, 1


def media(source: random.Random) -> Iterator[Extent]:
    """Six streams read files of different popularity from end to end."""
    files, used = [], 0
    while used < PAGES:
        files.append((used, source.randrange(300, 3000)))
        used += files[-1][1]
    popular = [(k + 1) ** -0.8 for k in range(len(files))]
    source.shuffle(files)
    streams: list[list[int]] = []
    left = 4 * PAGES
    while left > 0:
        while len(streams) < 6:
            first, pages = source.choices(files, popular)[0]
            streams.append([first, first + pages])
        stream = source.choice(streams)
        pages = min(8, stream[1] - stream[0])
        yield stream[0], pages
        left -= pages
        stream[0] += pages
        if stream[0] == stream[1]:
            streams.remove(stream)


#: By name.
MADE = {
    "two_loops": Made(two_loops, (0.1, 0.2, 0.39, 0.398, 0.402, 0.41, 0.598, 0.602)),
    "shift": Made(shift, (0.05, 0.07, 0.1, 0.14, 0.19, 0.21, 0.3, 0.5)),
    "one_depth": Made(one_depth, (0.06, 0.0745, 0.0755, 0.077, 0.08, 0.1, 0.15, 0.226)),
    "media": Made(media, (0.05, 0.07, 0.1, 0.14, 0.19, 0.26, 0.36, 0.5)),
}
