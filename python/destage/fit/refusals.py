"""Measurements that would mislead a fit (`docs/spec/fit.md` 9)."""

from __future__ import annotations

import math
from typing import NoReturn

from destage.base.errors import DataError
from destage.base.io.names import printable
from destage.fit.fio import Direction, Measured, Measurement
from destage.fit.fiotext import UNKNOWN
from destage.model.words import duration, plain

__all__ = ["check", "two_classes"]

SYNCHRONOUS = {"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"}
#: X(2) over X(1) beyond which something slept at depth 1.
SLEEPS = 2.1


def _refuse(step: Measured, why: str) -> NoReturn:
    raise DataError(f"{printable(step.file)}: step {printable(step.job)} {why}")


def two_classes(bins: tuple[tuple[float, int], ...]) -> float | None:
    """The cut that maximises the between-class variance of log time (Otsu)."""
    total = sum(count for _, count in bins)
    if len(bins) < 2 or not total:
        return None
    logs = [(math.log(max(time, 1.0)), count) for time, count in bins]
    whole = sum(value * count for value, count in logs)
    best, cut = -1.0, None
    below, sum_below = 0, 0.0
    for at, (value, count) in enumerate(logs[:-1]):
        below += count
        sum_below += value * count
        above = total - below
        gap = sum_below / below - (whole - sum_below) / above
        variance = below * above * gap * gap
        # In a run of empty bins the cut may be anywhere: it is behind the last fast one.
        if variance > best * (1 + 1e-12):
            best, cut = variance, (bins[at][0] + bins[at + 1][0]) / 2
    return cut


def _us(ns: float) -> str:
    return plain(duration(ns))


def _each(made: Measurement) -> list[Measured]:
    steps = [*made.steps.values(), *made.grid["read"], *made.grid["write"]]
    return sorted(steps, key=lambda step: step.order)


def _first_read(made: Measurement) -> Measured | None:
    alone = [step for step in made.grid["read"] if step.in_flight == 1]
    return made.get("read-qd1") or (alone[0] if alone else None)


def _first_write(made: Measurement) -> Measured | None:
    alone = [step for step in made.grid["write"] if step.in_flight == 1]
    return made.get("write-qd1") or (alone[0] if alone else None)


def check(made: Measurement, *, assume_written: bool, steady: bool, capacity: int | None) -> None:
    """Raise `DataError` for what would mislead; leave out steps and add warnings otherwise."""
    for step in _each(made):
        if step.options.get("direct", "0") not in ("1", UNKNOWN):
            _refuse(
                step,
                "ran without direct=1: it measured the page cache. Run it again with direct=1",
            )
        engine = step.options.get("ioengine", "psync")
        if engine in SYNCHRONOUS and step.depth > 1:
            _refuse(
                step,
                f"has ioengine={engine}, which has one request in flight, whatever iodepth says."
                " Use libaio or io_uring",
            )
    _depths(made)
    _never_written(made, assume_written)
    _throttled(made)
    if steady:
        _steady(made)
    if made.capacity is None and capacity is None:
        raise DataError(
            f"the device's capacity is not in {printable(made.files[0])}: give --capacity"
        )
    _warnings(made)


def _depths(made: Measurement) -> None:
    """Steps that did not run at their depth measure a limit of the host."""
    curve = made.series("read-qd")
    low = [s for d, s in curve.items() if d > 1 and (s.level_percent or 100.0) < 90]
    for step in low:
        share = f"only {step.level_percent:.0f} % of its requests ran at depth {step.depth}"
        if len(low) == len([d for d in curve if d > 1]) and not made.series("read-stride-"):
            _refuse(step, f"{share}: a limit of the host, not of the device")
        made.left_out[step.job] = f"{share}: a limit of the host"
        del made.steps[step.name]


def _never_written(made: Measurement, assume_written: bool) -> None:
    read, write = _first_read(made), _first_write(made)
    fill = made.get("fill-2")
    if assume_written:
        return
    if read is not None and fill is not None and fill.file == read.file and fill.order < read.order:
        return
    if write is None or read is None:
        raise DataError(
            "nothing shows that the addresses read were ever written. --assume-written if they were"
        )
    if read.mean_ns <= 1.3 * write.mean_ns or _reads_are_of_two_kinds(read.direction):
        raise DataError(
            f"reads take {_us(read.mean_ns)}, no longer than writes"
            f" ({_us(write.mean_ns)}): these addresses were probably never written, and the device"
            " answered without reading flash. Write the device once (fill-1, fill-2), or give"
            " --assume-written"
        )


def _reads_are_of_two_kinds(one: Direction) -> bool:
    cut = two_classes(one.bins)
    if cut is None:
        return False
    parts = [[(t, c) for t, c in one.bins if (t < cut) is fast] for fast in (True, False)]
    counts = [sum(c for _, c in part) for part in parts]
    if min(counts) < 0.05 * sum(counts):
        return False
    fast, slow = (sum(t * c for t, c in p) / n for p, n in zip(parts, counts, strict=True))
    return slow >= 1.5 * fast


def _usual_ns(one: Direction) -> float:
    """The median of the bins.

    Programs and collections of the steps before a read step hold up its first reads, which moves
    the mean: a device that throttles, or is shared, is slower throughout.
    """
    total = sum(count for _, count in one.bins)
    mean = sum(time * count for time, count in one.bins) / total
    seen, median = 0, mean
    for time, count in one.bins:
        seen += count
        if 2 * seen >= total:
            median = time
            break
    return median * one.mean_ns / mean


def _throttled(made: Measurement) -> None:
    first, again = made.get("read-qd1"), made.get("read-again")
    if first is None or again is None:
        return
    both = (again.direction, first.direction)
    after, before = (
        map(_usual_ns, both) if all(one.bins for one in both) else (one.mean_ns for one in both)
    )
    change = after / before - 1
    if abs(change) > 0.1:
        way = "slower" if change > 0 else "faster"
        raise DataError(
            f"the device became {100 * abs(change):.0f} % {way} during the measurement: it"
            " throttles (temperature), or other programs used it"
        )


def _steady(made: Measurement) -> None:
    last = [made.get(f"uniform-{part}") for part in (5, 6, 7, 8)]
    rates = [step.rate for step in last if step is not None]
    if len(rates) == 4 and max(rates) > 1.15 * min(rates):
        shown = ", ".join(f"{rate * 4096 / 1e6:.0f}" for rate in rates)
        raise DataError(
            f"random writes were not steady: {shown} MB/s. The device throttles, or 4 capacities"
            " are not enough (--no-steady leaves over-provisioning and GC policy out)"
        )


def _warnings(made: Measurement) -> None:
    say = made.warnings.append
    if made.target and not made.target.startswith("/dev/"):
        say(f"filename={made.target} is not below /dev: a file system lies between")
    one, two = made.get("read-qd1"), made.get("read-qd2")
    grid = {step.in_flight: step for step in made.grid["read"]}
    one, two = one or grid.get(1), two or grid.get(2)
    if one is not None and two is not None and two.rate > SLEEPS * one.rate:
        say(
            f"two requests in flight are {two.rate / one.rate:.2f} times as fast as one: the"
            " processor or the link slept between requests (cpupower idle-set -D 0)"
        )
    fill, over = made.get("fill-2"), made.get("overwrite-2")
    if fill is not None and over is not None and over.rate > 1.1 * fill.rate:
        say("fill-2 is slower than overwrite-2: the device was not discarded first")
    if any(step.options.get("direct") == UNKNOWN for step in _each(made)):
        say("nothing says that fio ran with direct=1: without it the page cache was measured")
    for step in _each(made):
        options = step.options
        if "refill_buffers" not in options and (
            "zero_buffers" in options or "buffer_compress_percentage" in options
        ):
            say("the data written can be compressed: some controllers do (refill_buffers=1)")
            break
    for name, why in made.left_out.items():
        say(f"step {name} is left out: {why}")
