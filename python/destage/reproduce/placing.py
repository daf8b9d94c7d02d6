"""Where the extents of a stand-in lie, and the trace that they make.

By default groups of extents lie in a random order, without gaps. For SAC they are put so that the
reads of the channels are as unbalanced as its table 1 says: channel k gets a share in proportion to
r^k, where r is solved for the deviation. The heaviest units are placed first, each at the channel
that lacks most; units are groups, or single extents where the channels are to be unbalanced.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from destage.device import Drive
from destage.options import ProgressCallback
from destage.reproduce.standins import Drawn
from destage.trace import Trace, open_trace

__all__ = ["Channels", "opened", "place", "shares_of"]

#: Above this deviation SAC calls channels unbalanced: units are single extents then.
UNBALANCED = 0.3


@dataclass(frozen=True)
class Channels:
    """How the channels of a drive are to be loaded with reads."""

    count: int
    stretch_pages: int
    """Consecutive pages of one channel."""
    deviation: float
    """(max - min) / mean of the channels' reads: SAC's formula 1."""


def shares_of(count: int, deviation: float) -> list[float]:
    """Return shares of the channels in proportion to r^k that deviate so much.

    >>> [round(share, 3) for share in shares_of(2, 1.0)]
    [0.75, 0.25]
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        r = (low + high) / 2
        powers = [r**k for k in range(count)]
        off = (powers[0] - powers[-1]) * count / sum(powers)
        low, high = (r, high) if off > deviation else (low, r)
    powers = [high**k for k in range(count)]
    return [power / sum(powers) for power in powers]


def place(drawn: Drawn, seed: int, channels: Channels | None = None) -> tuple[array[int], int]:
    """Return the first page of every extent, and of the log behind them all."""
    random = Random(seed)
    if channels is None:
        return _side_by_side(drawn, random)
    return _on_channels(drawn, random, channels)


def _groups(drawn: Drawn) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for extent, group in enumerate(drawn.groups):
        found.setdefault(group, []).append(extent)
    return list(found.values())


def _side_by_side(drawn: Drawn, random: Random) -> tuple[array[int], int]:
    starts = array("Q", bytes(8 * len(drawn.extents)))
    groups = _groups(drawn)
    random.shuffle(groups)
    at = 0
    for group in groups:
        for extent in group:
            starts[extent] = at
            at += drawn.extents[extent]
    return starts, at


def _on_channels(drawn: Drawn, random: Random, on: Channels) -> tuple[array[int], int]:
    reads = array("Q", bytes(8 * len(drawn.extents)))
    for extent, writes in zip(drawn.asked, drawn.writes, strict=True):
        if extent >= 0 and not writes:
            reads[extent] += 1
    units = _groups(drawn)
    if on.deviation > UNBALANCED:
        units = [[extent] for extent in range(len(drawn.extents))]
    weights = [sum(reads[e] * drawn.extents[e] for e in unit) for unit in units]
    total = sum(weights)
    wanted = [share * total for share in shares_of(on.count, on.deviation)]
    cycle = on.count * on.stretch_pages
    stripes = max(1, -(-sum(drawn.extents) // cycle))
    starts = array("Q", bytes(8 * len(drawn.extents)))
    last = 0
    for k in sorted(range(len(units)), key=lambda k: -weights[k]):
        channel = max(range(on.count), key=wanted.__getitem__)
        length = sum(drawn.extents[e] for e in units[k])
        into = int(random.random() * max(1, on.stretch_pages - length + 1))
        at = int(random.random() * stripes) * cycle + channel * on.stretch_pages + into
        for extent in units[k]:
            starts[extent] = at
            _serve(wanted, on, at, drawn.extents[extent], reads[extent])
            at += drawn.extents[extent]
        last = max(last, at)
    return starts, -(-last // cycle) * cycle


def _serve(wanted: list[float], on: Channels, at: int, pages: int, reads: int) -> None:
    """Take what the reads of an extent give the channels from what they lack."""
    if not reads:
        return
    first, end = at, at + pages
    while first < end:
        stretch = first // on.stretch_pages
        behind = min(end, (stretch + 1) * on.stretch_pages)
        wanted[stretch % on.count] -= reads * (behind - first)
        first = behind


def opened(
    drawn: Drawn,
    placed: tuple[Sequence[int], int],
    *,
    intensity: float = 1.0,
    drive: Drive | None = None,
    progress: ProgressCallback | None = None,
) -> Trace:
    """Return the trace of a load for a drive, or for its own pages; times divided by `intensity`.

    Raises what reading a trace raises.
    """
    page = drawn.recipe["page_bytes"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standin.csv"
        with path.open("w", encoding="ascii", newline="") as file:
            file.write("time,op,offset,length\n")
            file.writelines(_lines(drawn, placed, intensity))
        columns = {"time": "time", "op": "op", "offset": "offset", "length": "length"}
        return open_trace(
            path,
            format="csv",
            columns=columns,
            time_unit="ns",
            offset_unit="byte",
            length_unit="byte",
            op_read="r",
            op_write="w",
            page_size=None if drive else page,
            cache=False,
            drive=drive,
            wrap="extend" if drive else None,
            progress=progress,
        )


def _lines(drawn: Drawn, placed: tuple[Sequence[int], int], intensity: float) -> Iterator[str]:
    starts, log = placed
    page = drawn.recipe["page_bytes"]
    rows = zip(drawn.times, drawn.asked, drawn.lengths, drawn.writes, strict=True)
    for time, extent, length, writes in rows:
        first = starts[extent] if extent >= 0 else log - 1 - extent
        at = time if intensity == 1 else round(time / intensity)
        yield f"{at},{'w' if writes else 'r'},{first * page},{length * page}\n"
