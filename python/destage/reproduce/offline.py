"""The least cost that any policy can have on a short trace, future known.

A miss that reads costs `read`; evicting a dirty page costs `write`; a write miss reads nothing, and
what is dirty at the end is not written (docs/model.md). A page stays or leaves between two accesses
to it, an *interval*; at every access at most `frames` - 1 other pages can have stayed. Without
writes that is weighted paging, and the best choice of intervals a minimum-cost flow (Chrobak,
Karloff, Payne, Vishwanathan: New results on server problems, SIAM J. Discrete Math. 4, 1991). With
writes it is not: of the intervals between one write of a page and the next, a *chain*, the first
that is left out costs a write, and the others none. That makes the problem NP-hard (Farach-Colton,
Liberatore: On local register allocation, J. Algorithms 37, 2000; Beckmann, Gibbons, Haeupler,
McGuffey: Writeback-aware caching, APOCS 2020).

So the write of a chain is shared out over its intervals. However it is shared, the flow's cost is a
lower bound; what the flow's choice really costs is an upper one. Shares move towards the intervals
that are left out (a subgradient of the Lagrangian dual), and where the bounds do not meet, chains
are branched on: written, or kept whole. Where they meet the result is exact.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Access", "Optimum", "least_cost"]

#: An access: whether it writes, and its page.
Access = tuple[bool, int]

#: More than any interval is worth: it must stay.
_MUST = 1e9
#: Costs are whole numbers; bounds this close are equal.
_NEAR = 1e-6


@dataclass(frozen=True)
class Optimum:
    """The least cost, or its bounds."""

    low: int
    high: int

    @property
    def exact(self) -> bool:
        """Whether the bounds have met."""
        return self.low == self.high


@dataclass
class _Interval:
    """Between an access and the next one to the page, or the end."""

    start: int
    end: int
    fetch: int
    """Cost of the read at its end if the page has left."""
    chain: int
    """The chain it is of; -1: the page is clean."""


def least_cost(
    accesses: Sequence[Access],
    frames: int,
    *,
    read: int,
    write: int,
    steps: int = 60,
    branches: int = 40,
) -> Optimum:
    """Return the least cost with `frames` pages of cache.

    `steps` bounds the improvements of shares in each branch, `branches` the branches.

    >>> least_cost([(False, 1), (False, 2), (False, 1)], 1, read=1, write=8).low
    3
    """
    return _Search(accesses, frames, read, write).run(steps, branches)


class _Search:
    """Branch and bound over chains."""

    def __init__(self, accesses: Sequence[Access], frames: int, read: int, write: int) -> None:
        self.count, self.room, self.write = len(accesses), frames - 1, write
        self.fixed = 0
        self.intervals: list[_Interval] = []
        self.chains: list[list[int]] = []
        self._cut(accesses, read)
        self.best = self._real([i.end == i.start + 1 for i in self.intervals])

    def _cut(self, accesses: Sequence[Access], read: int) -> None:
        """Cut the accesses into intervals and chains."""
        last: dict[int, int] = {}
        chain: dict[int, int] = {}
        for k, (writes, page) in enumerate(accesses):
            if page in last:
                self._add(last[page], k, 0 if writes else read, chain[page])
            elif not writes:
                self.fixed += read
            if writes:
                chain[page] = len(self.chains)
                self.chains.append([])
            else:
                chain.setdefault(page, -1)
            last[page] = k
        for page, k in last.items():
            if chain[page] >= 0:
                self._add(k, self.count, 0, chain[page])

    def _add(self, start: int, end: int, fetch: int, chain: int) -> None:
        if chain >= 0:
            self.chains[chain].append(len(self.intervals))
        self.intervals.append(_Interval(start, end, fetch, chain))

    def _real(self, kept: Sequence[bool]) -> int:
        """Cost of a choice of intervals."""
        cost = self.fixed + sum(
            i.fetch for i, stays in zip(self.intervals, kept, strict=True) if not stays
        )
        return cost + self.write * sum(not all(kept[i] for i in c) for c in self.chains)

    def run(self, steps: int, branches: int) -> Optimum:
        """Return the bounds when they meet, or when the branches are used up."""
        counter = 0
        low, shares, doubtful = self._bound({}, self._even(), steps)
        open_branches: list[tuple[int, int, dict[int, bool], list[float], int]] = [
            (low, counter, {}, shares, doubtful)
        ]
        while open_branches and open_branches[0][0] < self.best and branches > 0:
            _, _, decided, shares, chain = heapq.heappop(open_branches)
            branches -= 1
            for written in (True, False):
                counter += 1
                further = {**decided, chain: written}
                low, better, doubtful = self._bound(further, list(shares), steps // 2)
                if low < self.best:
                    heapq.heappush(open_branches, (low, counter, further, better, doubtful))
        low = min((b[0] for b in open_branches), default=self.best)
        return Optimum(min(low, self.best), self.best)

    def _even(self) -> list[float]:
        """The write of each chain, shared alike."""
        shares = [0.0] * len(self.intervals)
        for chain in self.chains:
            for i in chain:
                shares[i] = self.write / len(chain)
        return shares

    def _bound(
        self, decided: dict[int, bool], shares: list[float], steps: int
    ) -> tuple[int, list[float], int]:
        """Return the best lower bound found, its shares, and a chain to branch on."""
        best, at, doubtful = -math.inf, shares, -1
        pace = 1.0
        for _ in range(max(1, steps)):
            kept = self._flow(decided, shares)
            if any(
                not kept[i] for c, written in decided.items() if not written for i in self.chains[c]
            ):
                # What must stay does not fit.
                return self.best, shares, -1
            bound = self._relaxed(decided, shares, kept)
            self.best = min(self.best, self._real(kept))
            if bound > best + _NEAR:
                best, at = bound, list(shares)
                doubtful = self._doubtful(decided, shares, kept)
            else:
                pace *= 0.7
            if math.ceil(best - _NEAR) >= self.best or pace < 1e-3:
                break
            shares = self._moved(decided, shares, kept, bound, pace)
        return math.ceil(best - _NEAR), at, doubtful

    def _relaxed(
        self, decided: dict[int, bool], shares: Sequence[float], kept: Sequence[bool]
    ) -> float:
        cost = self.fixed + float(self.write * sum(decided.values()))
        for i, interval in enumerate(self.intervals):
            if not kept[i]:
                cost += interval.fetch
                if interval.chain >= 0 and interval.chain not in decided:
                    cost += shares[i]
        return cost

    def _doubtful(
        self, decided: dict[int, bool], shares: Sequence[float], kept: Sequence[bool]
    ) -> int:
        """The open chain whose write the bound misses most."""
        most, found = -1.0, -1
        for c, chain in enumerate(self.chains):
            if c in decided or not chain:
                continue
            out = [shares[i] for i in chain if not kept[i]]
            missed = self.write - sum(out) if out else 0.0
            if missed > most:
                most, found = missed, c
        return found

    def _moved(
        self,
        decided: dict[int, bool],
        shares: Sequence[float],
        kept: Sequence[bool],
        bound: float,
        pace: float,
    ) -> list[float]:
        """Shares a step towards the intervals that are left out, on each chain's simplex."""
        open_chains = [c for k, c in enumerate(self.chains) if k not in decided and len(c) > 1]
        steepness = 0.0
        for chain in open_chains:
            out = sum(not kept[i] for i in chain)
            # Projected on the simplex's plane.
            steepness += out * (1 - out / len(chain))
        if steepness == 0:
            return list(shares)
        step = pace * max(self.best - bound, 0.5) / steepness
        moved = list(shares)
        for chain in open_chains:
            wanted = [shares[i] + (0.0 if kept[i] else step) for i in chain]
            for i, share in zip(chain, _on_simplex(wanted, self.write), strict=True):
                moved[i] = share
        return moved

    def _flow(self, decided: dict[int, bool], shares: Sequence[float]) -> list[bool]:
        """The best choice of intervals for these shares."""
        kept = [i.end == i.start + 1 for i in self.intervals]
        worth: list[tuple[int, float]] = []
        for i, interval in enumerate(self.intervals):
            value = float(interval.fetch)
            if interval.chain >= 0:
                state = decided.get(interval.chain)
                value += _MUST if state is False else 0.0 if state else shares[i]
            if not kept[i] and value > 0:
                worth.append((i, value))
            elif value <= 0 and not kept[i]:
                kept[i] = False
        net = _Net(self.count, self.room)
        arcs = [
            (i, net.add(self.intervals[i].start + 1, self.intervals[i].end, 1, -value))
            for i, value in worth
        ]
        net.push(self.room)
        for i, arc in arcs:
            kept[i] = net.room[arc] == 0
        return kept


def _on_simplex(values: Sequence[float], total: float) -> list[float]:
    """The nearest point that is not negative and adds up to `total`."""
    ordered = sorted(values, reverse=True)
    running, cut = 0.0, 0.0
    for k, value in enumerate(ordered, start=1):
        running += value
        level = (running - total) / k
        if value > level:
            cut = level
    return [max(0.0, v - cut) for v in values]


class _Net:
    """A line of nodes, each joined to the next, with shortcuts; minimum-cost flow along it."""

    def __init__(self, length: int, idle: int) -> None:
        self.nodes = length + 1
        self.heads: list[list[int]] = [[] for _ in range(self.nodes)]
        self.to: list[int] = []
        self.room: list[int] = []
        self.cost: list[float] = []
        for k in range(length):
            self.add(k, k + 1, idle, 0.0)

    def add(self, start: int, end: int, room: int, cost: float) -> int:
        """Add an arc and its reverse; return its number."""
        arc = len(self.to)
        for tail, head, free, price in ((start, end, room, cost), (end, start, 0, -cost)):
            self.heads[tail].append(len(self.to))
            self.to.append(head)
            self.room.append(free)
            self.cost.append(price)
        return arc

    def push(self, units: int) -> None:
        """Send so many units from the first node to the last at the least cost."""
        potential = self._in_order()
        while units > 0:
            distance, came = self._shortest(potential)
            end = self.nodes - 1
            if math.isinf(distance[end]):
                return
            for node, far in enumerate(distance):
                potential[node] += min(far, distance[end])
            if potential[end] >= -_NEAR:
                # Only idle ways are left.
                return
            sent, node = units, end
            while node:
                sent = min(sent, self.room[came[node]])
                node = self.to[came[node] ^ 1]
            node = end
            while node:
                self.room[came[node]] -= sent
                self.room[came[node] ^ 1] += sent
                node = self.to[came[node] ^ 1]
            units -= sent

    def _in_order(self) -> list[float]:
        """Distances from the first node: every arc leads forward."""
        distance = [math.inf] * self.nodes
        distance[0] = 0.0
        for node in range(self.nodes):
            for arc in self.heads[node]:
                if self.room[arc] > 0:
                    far = distance[node] + self.cost[arc]
                    if far < distance[self.to[arc]]:
                        distance[self.to[arc]] = far
        return distance

    def _shortest(self, potential: Sequence[float]) -> tuple[list[float], list[int]]:
        """Dijkstra over reduced costs."""
        distance = [math.inf] * self.nodes
        came = [-1] * self.nodes
        distance[0] = 0.0
        heap = [(0.0, 0)]
        to, room, cost = self.to, self.room, self.cost
        while heap:
            far, node = heapq.heappop(heap)
            if far > distance[node]:
                continue
            if node == self.nodes - 1:
                break
            here = far + potential[node]
            for arc in self.heads[node]:
                if room[arc] > 0:
                    head = to[arc]
                    reduced = max(here + cost[arc] - potential[head], far)
                    if reduced < distance[head]:
                        distance[head] = reduced
                        came[head] = arc
                        heapq.heappush(heap, (reduced, head))
        return distance, came
