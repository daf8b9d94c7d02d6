"""Requests from their starts and ends, in the order of starts (`docs/spec/fit.md` 13.3)."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from destage.live.record.events import BIO, END, REQUEUE, SECTOR_BYTES, Event, kind_of, length_of

__all__ = ["Pairing", "Request"]

#: Requests that may wait for one before them.
WINDOW = 1 << 16


class Request:
    """A request between its start and its end."""

    __slots__ = (
        *("dev", "end_ns", "flags", "length_bytes", "left", "op", "pid", "process", "requeued"),
        *("sector", "start_ns"),
    )

    def __init__(self, event: Event, op: str, flags: str, length_bytes: int) -> None:
        """Take a start."""
        self.dev, self.sector, self.op, self.flags = event.dev, event.sector, op, flags
        self.start_ns, self.end_ns = event.time_ns, -1
        self.length_bytes = length_bytes
        self.left = (length_bytes + SECTOR_BYTES - 1) // SECTOR_BYTES
        self.pid, self.process = event.pid, event.process
        self.requeued = False

    @property
    def end_sector(self) -> int:
        """The first sector behind it."""
        return self.sector + (self.length_bytes + SECTOR_BYTES - 1) // SECTOR_BYTES


class Pairing:
    """Pairs starts and ends; `ready` returns complete requests and their predecessors."""

    def __init__(self, ops: frozenset[str], counts_after_ns: int = 0) -> None:
        """Keep requests of these kinds that start at this time or later."""
        self.ops, self.counts_after_ns = ops, counts_after_ns
        self.orphans = 0
        self.ignored: Counter[str] = Counter()
        self._waiting: deque[Request] = deque()
        # Open requests by device and direction, then by sector; oldest first.
        self._open: dict[tuple[int, str], dict[int, list[Request]]] = {}
        self.open = 0

    def take(self, event: Event) -> None:
        """Take the next event; times do not decrease."""
        kind = kind_of(event.rwbs)
        if event.sectors == 0 and kind.is_flush:
            # A leading F is the flush itself.
            self._flush(event, kind.flags.removeprefix("PF").lstrip("+"))
        elif not kind.op or (event.sectors == 0 and event.action != BIO):
            if event.action not in (END, BIO):
                self.ignored[event.rwbs or "-"] += 1
        elif event.action in (END, BIO):
            self._end(event, kind.op)
        elif event.action == REQUEUE:
            self._requeue(event, kind.op)
        else:
            self._start(event, kind.op, kind.flags)

    def ready(self) -> Iterator[Request]:
        """Return requests in the order of starts, up to the first open one."""
        waiting = self._waiting
        while waiting and (waiting[0].end_ns >= 0 or len(waiting) > WINDOW):
            request = waiting.popleft()
            if request.end_ns < 0:
                self._close(request)
            yield request

    def rest(self) -> Iterator[Request]:
        """Give all that is left, the open ones without an end."""
        while self._waiting:
            yield self._waiting.popleft()

    def _start(self, event: Event, op: str, flags: str) -> None:
        length = length_of(op, event.sectors, event.length_bytes)
        same = self._open.setdefault((event.dev, op), {}).setdefault(event.sector, [])
        for request in same:
            if request.requeued and request.length_bytes == length:
                request.requeued = False
                return
        self._add(Request(event, op, flags, length), same)

    def _add(self, request: Request, same: list[Request]) -> None:
        same.append(request)
        self.open += 1
        if request.op in self.ops and request.start_ns >= self.counts_after_ns:
            self._waiting.append(request)

    def _requeue(self, event: Event, op: str) -> None:
        for request in self._open.get((event.dev, op), {}).get(event.sector, ()):
            if not request.requeued:
                request.requeued = True
                return

    def _flush(self, event: Event, flags: str) -> None:
        # The end has another sector, on some kernels 2^64-1.
        same = self._open.setdefault((event.dev, "flush"), {}).setdefault(0, [])
        if event.action in (END, BIO):
            if same:
                self._finish(same[0], event.time_ns)
            else:
                self.orphans += 1
        elif event.action != REQUEUE:
            self._add(Request(event._replace(sector=0), "flush", flags, 0), same)

    def _end(self, event: Event, op: str) -> None:
        by_sector = self._open.get((event.dev, op), {})
        length = length_of(op, event.sectors, 0)
        for request in by_sector.get(event.sector, ()):
            if request.length_bytes == length or op == "trim":
                self._finish(request, event.time_ns)
                return
        if event.action == BIO:
            self._end_of_bio(event, by_sector)
            return
        # Part of a request, or several that were merged behind `queue`.
        at, end, found = event.sector, event.sector + event.sectors, False
        while at < end:
            holder = self._holding(by_sector, at)
            if holder is None:
                break
            found = True
            taken = min(end, holder.end_sector) - at
            holder.left -= taken
            at += taken
            if holder.left <= 0:
                self._finish(holder, event.time_ns)
        if not found:
            self.orphans += 1

    def _end_of_bio(self, event: Event, by_sector: dict[int, list[Request]]) -> None:
        """A bio that has been worked through: its sector is where it ended."""
        at = event.sector + event.sectors
        ended = [r for same in by_sector.values() for r in same if r.end_sector == at]
        if ended:
            self._finish(min(ended, key=lambda request: request.start_ns), event.time_ns)
        else:
            self.orphans += 1

    @staticmethod
    def _holding(by_sector: dict[int, list[Request]], at: int) -> Request | None:
        """The oldest open request that begins at a sector, else the oldest that holds it."""
        if same := by_sector.get(at):
            return same[0]
        holding = [r for same in by_sector.values() for r in same if r.sector < at < r.end_sector]
        return min(holding, key=lambda request: request.start_ns, default=None)

    def _finish(self, request: Request, time_ns: int) -> None:
        request.end_ns = time_ns
        self._close(request)

    def _close(self, request: Request) -> None:
        by_sector = self._open[request.dev, request.op]
        same = by_sector[request.sector]
        same.remove(request)
        self.open -= 1
        if not same:
            del by_sector[request.sector]
