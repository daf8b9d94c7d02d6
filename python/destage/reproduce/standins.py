"""Stand-ins: requests drawn to what is published of a trace, in extents and without addresses.

An *extent* is a stretch of pages that a request asks for as a whole. Two kinds of drawing:

* `recency`: what is asked for again is taken from a stack of all extents, the latest on top, at a
  drawn depth. A share `near` of the depths is among the latest few; the others are n * u^(1/depth)
  of the n extents so far, u even in 0..1. A stack of x of all pages then catches of what comes
  again about near + (1 - near) * (x + x^d * (1 - x^(1 - d)) / (1 - d)), d being `depth`, since it
  holds everything while few pages are known. Requests come in runs over neighbours
  (`sequential`); new extents are born on several `streams` side by side, and most of them early
  in each of the `phases`. So many are born that the pages touched are as many as asked for.
* `independent`: every request draws an extent by its popularity, k^-alpha for the k-th, whatever
  came before.

A share of the requests writes a log, round and round. Requests come in bursts of so many on
average, `gap_ns` apart, with silence between. `placing` gives the extents their addresses.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from threading import Event
from typing import Any

from destage.errors import UsageError
from destage.reproduce.published import PAGE, TraceSpec, rate_of, requests_of

__all__ = ["KINDS", "Drawn", "apart", "draw", "recipe"]

#: How requests may be drawn.
KINDS = ("recency", "independent")

#: Extents that count as the latest few, and the size of the stack's uppermost level.
NEAR = 16
#: A request is at most so many times as long as the mean.
LONGEST_MEANS = 64.0
#: Requests between two looks at whether a load is still wanted.
LOOK = 4096
#: A log is read of nothing: of so much of its writes it can be as long at most.
LOG_FILLED = 0.9

#: ACR's table II, which `crates/destage-trace/src/synth/presets.rs` makes with one hot set.
_ACR = {"requests": 3_000_000, "pages": 32_768, "page_bytes": 2048}
PRESET: Mapping[str, Mapping[str, float]] = {
    "t1": {**_ACR, "read_ratio": 0.9, "access_share": 0.6, "page_share": 0.4},
    "t2": {**_ACR, "read_ratio": 0.8, "access_share": 0.5, "page_share": 0.5},
    "t3": {**_ACR, "read_ratio": 0.6, "access_share": 0.6, "page_share": 0.4},
    "t4": {**_ACR, "read_ratio": 0.8, "access_share": 0.8, "page_share": 0.2},
}

#: A description in numbers and words: with a seed it is all that a load is made of.
Recipe = Mapping[str, Any]


def recipe(
    spec: TraceSpec,
    scale: float,
    page_bytes: int,
    kind: str | None = None,
    burst: float | None = None,
) -> Recipe:
    """Return what the stand-in of a trace is made of: its counts, scaled; rates and sizes stay.

    `kind` and `burst` are other than the trace's if they are given.
    """
    known, shape = {**spec.assumed, **spec.counts}, dict(spec.standin)
    shape["burst"] = burst or shape["burst"]
    if "accesses" in known:
        mean_pages = known["accesses"] / known["requests"]
    else:
        mean_pages = known["mean_kib"] * 1024 / page_bytes
    requests = requests_of(spec, scale)
    share = requests / requests_of(spec, 1.0)
    pages = known.get("unique_pages", shape["pages"]) * share * PAGE / page_bytes
    gap_ns = max(1000.0, shape["burst_gap_us"] * 1000)
    off_ns = shape["burst"] * (1e9 / rate_of(spec) - gap_ns)
    if shape["burst"] <= 1 or off_ns <= 0:
        gap_ns, off_ns = 1e9 / rate_of(spec), 0.0
    made: dict[str, Any] = {
        "kind": kind or (KINDS[0] if spec.recency else KINDS[1]),
        "requests": requests,
        "unique_pages": max(64, round(pages)),
        "page_bytes": page_bytes,
        "write_ratio": known["write_ratio"],
        "mean_pages": round(max(1.0, mean_pages), 4),
        "cluster_pages": max(1, round(shape["cluster_pages"] * PAGE / page_bytes)),
        "log_share": min(shape["log_share"], known["write_ratio"]),
        "log_page_share": shape["log_page_share"],
        "gap_ns": round(gap_ns),
        "burst": shape["burst"] if off_ns else 1.0,
        "off_ns": round(off_ns),
    }
    if made["kind"] == "independent":
        made["alpha"] = shape["alpha"]
    else:
        made |= {k: spec.recency[k] for k in ("near", "depth", "sequential", "streams", "phases")}
    return made


@dataclass
class Drawn:
    """Requests in the order of their times, and the extents that they ask for."""

    recipe: Recipe
    times: array[int] = field(default_factory=lambda: array("Q"))
    asked: array[int] = field(default_factory=lambda: array("q"))
    """Extent of each request; -1 - page of the log for a write of the log."""
    lengths: array[int] = field(default_factory=lambda: array("L"))
    """Pages of each request."""
    writes: bytearray = field(default_factory=bytearray)
    extents: array[int] = field(default_factory=lambda: array("L"))
    """Pages of each extent."""
    groups: array[int] = field(default_factory=lambda: array("q"))
    """Group of each extent: what lies side by side, in the order of the extents."""
    log_pages: int = 0


class _Stack:
    """Extents, the latest on top, in levels of doubling size.

    Inside a level what came first leaves first, but for what was taken from the middle: an extent
    is at the depth where it belongs to within its level.
    """

    def __init__(self) -> None:
        self.cells: list[int] = []
        """Level by level; level k begins at `NEAR * (2^k - 1)`."""
        self.next: list[int] = []
        """Where each level that is full takes in the next."""
        self.at = array("L")
        """The cell of each extent."""

    def push(self, extent: int) -> None:
        """Put extent number `len(self.at)` on top, which is not there yet."""
        cells, at = self.cells, self.at
        at.append(0)
        for k, cell in enumerate(self.next):
            cells[cell], extent = extent, cells[cell]
            at[cells[cell]] = cell
            self._onwards(k, cell)
        at[extent] = len(cells)
        cells.append(extent)
        if len(cells) == NEAR * ((2 << len(self.next)) - 1):
            self.next.append(NEAR * ((1 << len(self.next)) - 1))

    def _onwards(self, k: int, cell: int) -> None:
        behind = NEAR * ((2 << k) - 1)
        self.next[k] = cell + 1 if cell + 1 < behind else NEAR * ((1 << k) - 1)

    def extent(self, depth: int) -> int:
        """Return the extent at a depth, from 0 on."""
        k = (depth // NEAR + 1).bit_length() - 1
        if k >= len(self.next):
            # The lowest level has not been full: what came last is at its end.
            first = NEAR * ((1 << k) - 1)
            return self.cells[len(self.cells) - 1 - (depth - first)]
        size, first = NEAR << k, NEAR * ((1 << k) - 1)
        return self.cells[first + (self.next[k] - 1 - depth) % size]

    def take(self, extent: int) -> None:
        """Put an extent on top that is in the stack; one of the uppermost level stays."""
        cells, at = self.cells, self.at
        hole = at[extent]
        carried = extent
        for k in range((hole // NEAR + 1).bit_length() - 1):
            cell = self.next[k]
            cells[cell], carried = carried, cells[cell]
            at[cells[cell]] = cell
            self._onwards(k, cell)
        cells[hole] = carried
        at[carried] = hole


def _length(random: Random, mean: float, longest: int) -> int:
    """Geometric from 1 on."""
    if mean <= 1:
        return 1
    pages = 1 + int(math.log(1 - random.random()) / math.log(1 - 1 / mean))
    return min(pages, longest)


class _Recency:
    """Draws extents by depth in a stack."""

    def __init__(self, made: Recipe, random: Random, pages: int, requests: int, to: Drawn) -> None:
        self.random, self.to, self.pages = random, to, pages
        self.near, self.exponent = made["near"], 1 / made["depth"]
        self.mean: float = made["mean_pages"]
        self.longest = max(1, min(pages // 4, round(LONGEST_MEANS * self.mean)))
        self.requests, self.left = max(1, requests), max(1, requests)
        self.phases = max(1, round(made["phases"]))
        log = made["log_share"]
        self.runs = max(0.0, (made["sequential"] - log) / (1 - log)) if log < 1 else 0.0
        self.parting = self.mean / made["cluster_pages"]
        self.stack = _Stack()
        self.successor = array("q")
        self.ends = [-1] * max(1, round(made["streams"]))
        self.open = [-1] * len(self.ends)
        """Youngest extent and group of each stream."""
        self.groups, self.stream, self.run, self.newborn = 0, 0, -1, False

    def draw(self) -> int:
        """Return the extent of the next request."""
        going = self.run >= 0 and self.random.random() < self.runs
        if going and not self.newborn:
            going = self.successor[self.run] >= 0
        if not going:
            self.newborn = self.random.random() < self._birth()
            self.stream = int(self.random.random() * len(self.ends))
        if self.pages > 0 and (self.newborn or not self.stack.cells):
            found = self._new()
        else:
            self.newborn = False
            found = self.successor[self.run] if going else self._old()
            if found < 0:
                found = self._old()
            self.stack.take(found)
        self.left -= 1
        self.run = found
        return found

    def _birth(self) -> float:
        """How likely a new extent is: as many as are wanted, and more early in a phase."""
        if self.pages <= 0 or self.left <= 0:
            return 0.0
        mean: float = self.pages / self.mean / self.left
        if mean >= 1:
            return 1.0
        if self.left * self.phases <= self.requests:
            # In the last phase evenly, so that none are left over.
            return mean
        into = (self.requests - self.left) * self.phases / self.requests % 1
        return float(mean * (1 + min(1.0, 1 / mean - 1) * (1 - 2 * into)))

    def _new(self) -> int:
        length = min(_length(self.random, self.mean, self.longest), self.pages)
        self.pages -= length
        extent, s = len(self.to.extents), self.stream
        if self.ends[s] < 0 or self.random.random() < self.parting:
            self.open[s], self.groups = self.groups, self.groups + 1
        else:
            self.successor[self.ends[s]] = extent
        self.successor.append(-1)
        self.ends[s] = extent
        self.to.extents.append(length)
        self.to.groups.append(self.open[s])
        self.stack.push(extent)
        return extent

    def _old(self) -> int:
        count = len(self.stack.cells)
        u = self.random.random()
        if self.random.random() < self.near:
            return self.stack.extent(int(u * min(NEAR, count)))
        return self.stack.extent(min(count - 1, int(count * u**self.exponent)))


class _Independent:
    """Draws extents by their popularity."""

    def __init__(self, made: Recipe, random: Random, pages: int, requests: int, to: Drawn) -> None:
        self.random, self.alpha = random, made["alpha"]
        mean: float = made["mean_pages"]
        self.count = _population(pages / mean, requests, self.alpha)
        longest = max(1, min(pages // 4, round(LONGEST_MEANS * mean)))
        together = max(1, round(made["cluster_pages"] / mean))
        for k in range(self.count):
            to.extents.append(_length(random, mean, longest))
            to.groups.append(k // together)
        self.first, self.last = _area(0.5, self.alpha), _area(self.count + 0.5, self.alpha)

    def draw(self) -> int:
        """Return the extent of the next request."""
        at = self.first + self.random.random() * (self.last - self.first)
        rank = round(_rank(at, self.alpha))
        return min(max(rank, 1), self.count) - 1


def _area(x: float, alpha: float) -> float:
    """The integral of x^-alpha: extent k has what lies between k - 1/2 and k + 1/2."""
    return math.log(x) if alpha == 1 else x ** (1 - alpha) / (1 - alpha)


def _rank(area: float, alpha: float) -> float:
    return math.exp(area) if alpha == 1 else ((1 - alpha) * area) ** (1 / (1 - alpha))


def _population(wanted: float, draws: int, alpha: float) -> int:
    """Of how many extents so many draws touch as many different ones as wanted."""

    def touched(count: float) -> float:
        total = _area(count + 0.5, alpha) - _area(0.5, alpha)
        found, low = 0.0, 0.5
        while low < count + 0.5:
            # Ranks of about the same popularity together.
            high = min(count + 0.5, max(low + 1, low * 1.02))
            share = (_area(high, alpha) - _area(low, alpha)) / total / (high - low)
            found += (high - low) * -math.expm1(draws * math.log1p(-min(share, 1 - 1e-12)))
            low = high
        return found

    low, high = max(1.0, wanted), 64 * max(1.0, wanted)
    if touched(high) < wanted:
        return round(high)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if touched(middle) < wanted else (low, middle)
    return max(1, round(high))


def draw(made: Recipe, seed: int, stopped: Event | None = None) -> Drawn:
    """Draw a load. The same description and seed give the same one.

    Raises `InterruptedError` soon after `stopped` is set.
    """
    random, clock = Random(seed), Random(~seed & (1 << 64) - 1)
    drawn = Drawn(made)
    requests, mean, log_share = made["requests"], made["mean_pages"], made["log_share"]
    logged = LOG_FILLED * requests * log_share * mean
    drawn.log_pages = int(min(made["log_page_share"] * made["unique_pages"], logged))
    pages = max(1, made["unique_pages"] - drawn.log_pages)
    by = _Recency if made["kind"] == "recency" else _Independent
    data = by(made, random, pages, round(requests * (1 - log_share)), drawn)
    reading = min(1.0, (1 - made["write_ratio"]) / (1 - log_share)) if log_share < 1 else 0.0
    at, now, longest = 0, 0.0, max(1, drawn.log_pages)
    for k in range(requests):
        if stopped is not None and k % LOOK == 0 and stopped.is_set():
            raise InterruptedError("not wanted any more")
        if drawn.log_pages and random.random() < log_share:
            length = _length(random, mean, longest)
            if at + length > drawn.log_pages:
                at = 0
            drawn.asked.append(-1 - at)
            at += length
            writes = True
        else:
            extent = data.draw()
            drawn.asked.append(extent)
            length = drawn.extents[extent]
            writes = random.random() >= reading
        drawn.lengths.append(length)
        drawn.writes.append(writes)
        drawn.times.append(int(now))
        now += _gap(clock, made)
    return drawn


def _gap(clock: Random, made: Recipe) -> float:
    """Time to the next request: exponential, and after the last one of a burst a silence."""
    gap: float = clock.expovariate(1.0) * made["gap_ns"]
    if made["burst"] > 1 and clock.random() * made["burst"] < 1:
        # A burst has `burst` gaps; the silence comes on top of the last.
        gap += clock.expovariate(1.0) * made["off_ns"]
    return gap


def apart(parameters: Mapping[str, Any], seed: int) -> tuple[Drawn, tuple[array[int], int]]:
    """Draw a load of locality in which reads and writes have hot sets of their own.

    `parameters` are those of the kind `locality`: a share of the reads goes to the first pages,
    and the same share of the writes to as many pages behind these.
    """
    given = {**PRESET[parameters["preset"]], **parameters} if "preset" in parameters else parameters
    pages, requests = int(given["pages"]), int(given["requests"])
    hot = round(given["page_share"] * pages)
    if 2 * hot > pages:
        raise UsageError(f"page_share: two hot sets of {hot} pages do not fit {pages} pages")
    random = Random(seed)
    made = {**given, "page_bytes": int(given["page_bytes"])}
    drawn = Drawn(made, extents=array("L", [1]) * pages, groups=array("q", range(pages)))
    for k in range(requests):
        writes = random.random() >= given["read_ratio"]
        first = hot if writes else 0
        page = first + int(random.random() * hot)
        if random.random() >= given["access_share"]:
            page = (first + hot + int(random.random() * (pages - hot))) % pages
        drawn.asked.append(page)
        drawn.lengths.append(1)
        drawn.writes.append(writes)
        drawn.times.append(k * 1_000_000)
    return drawn, (array("Q", range(pages)), pages)
