"""Program time, write buffer, SLC cache, erase time (`docs/spec/fit.md` 6.5 to 6.8)."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from destage.base.errors import DestageError
from destage.fit.buffer import BURSTS, OVER, Buffer, buffer_of, first_full, taken_ns
from destage.fit.fio import Measured, Measurement
from destage.fit.model import Model, Simulated
from destage.fit.reads import command_of_writes
from destage.fit.script import BATCH
from destage.fit.slc import DEPTH, REQUEST_PAGES, Classes, classes_of, fast_again

__all__ = [
    "ENDS",
    "Written",
    "blocks_of",
    "longest_off",
    "refined",
    "sampled",
    "tail_off",
    "writes_of",
]

FILL = ("fill-1", "fill-2")
#: Collectors at the ends of the range: one moves the fewest pages, one the oldest.
ENDS = ("greedy", "fifo")
#: Blocks that are tried.
BLOCKS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768)
#: Corrections of a rate by simulation.
ROUNDS = 4
#: Over-provisioning of these simulations: sequential writes leave blocks empty, however many.
ROOMY_OP = 0.28
#: Commands of reads and writes that take as long to within this share are one key.
ALIKE = 0.02


@dataclass
class Written:
    """Values fitted to the write steps, and how each was found."""

    model: Model
    said: dict[str, str] = field(default_factory=dict)
    """Key: `measured`, or why it is not."""
    steps: dict[str, str] = field(default_factory=dict)
    buffer: Buffer | None = None
    slc_aside: int = 0
    """Classes of the fill's fastest requests that are the buffer's."""
    block_known: bool = False
    """The random writes said how many pages a block has."""


def _usual_block(model: Model) -> int:
    """The base's pages a block, or fewer where the device is too small for them."""
    own = int(model.base["pages_per_block"])
    most = model.pages // model.units // 48
    return own if own <= most else max([n for n in BLOCKS if n <= most], default=BLOCKS[0])


def pages_per_s(step: Measured) -> float:
    """Pages a second of a sequential write step of 128 KiB."""
    return step.rate * REQUEST_PAGES


def writes_of(made: Measurement, model: Model) -> Written:
    """Everything that the write steps identify, in the order of the chain."""
    own_op = model.op
    out = Written(model.with_(pages_per_block=_usual_block(model), op=ROOMY_OP))
    fill = made.get("fill-2")
    if fill is None:
        for key in ("program_ns", "buffer_pages", "erase_ns", "pages_per_block"):
            out.said[key] = "not identifiable: fill-2 was not measured"
        out.model = out.model.with_(op=own_op)
        return out
    write = made.get("write-qd1")
    _program(out, fill, write, made)
    if write is not None:
        _command(out, made)
        late = write.mean_ns - out.model.write_command_ns - out.model.link_ns
        if not out.model.buffer_pages:
            late -= out.model.unit_program_ns
        out.model = out.model.with_(firmware_write_ns=max(0.0, late))
        out.said["firmware_write_ns"], out.steps["firmware_write_ns"] = "measured", "write-qd1"
    _erase(out, made)
    _slc(out, made)
    if out.model.buffer_pages and not out.model.slc_pages:
        each = (out.model.unit_program_ns + out.model.erase_page_ns) / out.model.units
        out.model = out.model.with_(buffer_pages=max(1, _buffer_behind(made, each)))
    _blocks(out, made)
    _slc_size(out, made)
    _buffer(out, made)
    _slc_size(out, made)
    out.model = out.model.with_(op=own_op)
    return out


def _command(out: Written, made: Measurement) -> None:
    """Command time of writes, where they are complete in a buffer."""
    found = command_of_writes(made, out.model.link_ns) if out.model.buffer_pages else None
    if found is None:
        return
    out.steps["command_write_ns"] = f"write-batch-{BATCH}"
    out.said["command_write_ns"] = "measured" if found else f"at most {out.model.link_ns:.0f} ns"
    if abs(found - out.model.command_ns) > ALIKE * found:
        out.model = out.model.with_(command_write_ns=found)


def _program(out: Written, fill: Measured, write: Measured | None, made: Measurement) -> None:
    model, rate = out.model, pages_per_s(fill)
    each = model.units * 1e9 / rate
    out.steps["program_ns"] = fill.name
    buffered = write is not None and write.mean_ns < each / 2
    model = model.with_(buffer_pages=1024 if buffered else 0, unit_program_ns=each)
    if rate * model.link_ns >= 0.97e9:
        base = model.transfer_ns + model.base["program_ns"][0]
        model = model.with_(unit_program_ns=min(base, model.units * model.link_ns))
        out.said["program_ns"] = f"at most {model.units * model.link_ns:.0f} ns: the link is full"
    else:
        steps = [name for name in FILL if made.get(name)]
        for _ in range(ROUNDS):
            simulated = model.simulate(FILL)[steps[-1]]
            off = each - model.units * 1e9 / (simulated.rate * REQUEST_PAGES)
            model = model.with_(unit_program_ns=max(1.0, model.unit_program_ns + off))
        out.said["program_ns"] = "measured"
    out.model = model
    if not buffered:
        out.said["buffer_pages"] = "measured" if write is not None else "not identifiable"
        out.steps["buffer_pages"] = "write-qd1"


def _erase(out: Written, made: Measurement) -> None:
    """e: what the second overwrite takes longer than the fill, a page."""
    fill, over = made.get("fill-2"), made.get("overwrite-2")
    base = out.model.base
    own = base["erase_ns"] / base["pages_per_block"]
    each = None
    if fill is not None and over is not None:
        each = out.model.units * 1e9 * (1 / pages_per_s(over) - 1 / pages_per_s(fill))
    out.steps["erase_ns"] = "overwrite-2, fill-2"
    if each is None or each <= 0 or out.said.get("program_ns") != "measured":
        out.said["erase_ns"] = "not identifiable: an overwrite is no slower than a fill"
        out.model = out.model.with_(erase_page_ns=own)
        return
    out.said["erase_ns"] = "measured as erase_ns / pages_per_block"
    out.model = out.model.with_(erase_page_ns=each)


def blocks_of(model: Model) -> list[int]:
    """Pages of a block that leave the device room for its threshold."""
    return [count for count in BLOCKS if model.pages / model.units >= 16 * count]


def tail_off(made: Measurement, models: Sequence[Model]) -> float:
    """Log difference of the longest reads of `tail-erase`, of the model nearest to them."""
    tail = made.steps["tail-erase"]
    names = ("write-qd1", *OVER, *BURSTS, "tail-erase")
    least = math.inf
    for model in models:
        try:
            found = model.simulate(names)["tail-erase"]
        except DestageError:
            continue  # so few blocks leave no room for a collection
        least = min(least, longest_off(tail, found))
    return least


def longest_off(tail: Measured, found: Simulated) -> float:
    """Log difference of the longest reads: 99.9 and 99.99 %."""
    longest = tail.direction.p9999_ns
    assert longest is not None, "the caller has looked"
    often = tail.direction.percentiles.get(99.9, longest)
    pairs = ((found.p9999_ns, longest), (found.p999_ns, often))
    return round(sum(abs(math.log(max(there, 1) / here)) for there, here in pairs), 9)


def _blocks(out: Written, made: Measurement) -> None:
    """Pages of a block: how long one collection holds up the reads."""
    tail = made.get("tail-erase")
    if not out.said["erase_ns"].startswith("measured"):
        out.said["pages_per_block"] = "not identifiable: no erase time"
        return
    if tail is None or tail.direction.p9999_ns is None:
        out.said["pages_per_block"] = "not identifiable: tail-erase has no percentiles"
        return
    # The collector decides what overwritten bursts leave to be moved; it is not known yet.
    victims = sorted({out.model.gc_victim, *ENDS})

    def tried(count: int) -> float:
        trial = out.model.with_(pages_per_block=count)
        return tail_off(made, [trial.with_(gc_victim=victim) for victim in victims])

    counts = blocks_of(out.model)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        off = dict(zip(counts, pool.map(tried, counts), strict=True))
    if off and min(off.values()) < math.inf:
        out.model = out.model.with_(pages_per_block=min(off, key=lambda one: (off[one], one)))
    out.said["pages_per_block"] = "inferred"
    out.steps["pages_per_block"] = "tail-erase"


def _slc(out: Written, made: Measurement) -> None:
    first, second = made.get("fill-1"), made.get("fill-2")
    out.steps["slc_blocks"] = "fill-1"
    if first is None or not first.direction.bins:
        out.said["slc_blocks"] = "not identifiable: fill-1 has no bins (json+)"
        return
    # Where the buffer is large, the first class is the buffer, and the SLC cache is the next.
    for aside in range(2):
        classes, in_flight = _cut(first, second, aside)
        if classes is None:
            break
        out.slc_aside = aside
        if pages := _slc_pages(out, made, classes, in_flight):
            out.said["slc_blocks"] = out.said["slc_program_ns"] = "measured"
            out.steps["slc_program_ns"] = "fill-1"
            _slc_times(out, made, classes, pages)
            return
    over = made.get("overwrite-1")
    is_larger = over is not None and second is not None and second.rate > 1.3 * over.rate
    one_class = _cut(first, second, 0)[0] is None
    larger = "at least the capacity: overwrites are slower than fills"
    out.said["slc_blocks"] = larger if is_larger and one_class else "measured"  # there is none


def _cut(first: Measured, second: Measured | None, aside: int) -> tuple[Classes | None, int]:
    """Classes of the first fill, or of both, and the requests in flight at their ends."""
    bins = first.direction.bins
    classes = classes_of(bins, aside)
    if classes is None and second is not None and classes_of(second.direction.bins, aside):
        both: dict[float, int] = {}
        for time, count in (*bins, *second.direction.bins):
            both[time] = both.get(time, 0) + count
        return classes_of(tuple(sorted(both.items())), aside), 2 * DEPTH
    return classes, DEPTH


def _slc_pages(out: Written, made: Measurement, classes: Classes, in_flight: int) -> int:
    """Pages that went into an SLC cache; 0 where the fast class is the buffer."""
    before = 0
    if out.model.buffer_pages:
        own = (out.model.unit_program_ns + out.model.erase_page_ns) / out.model.units
        in_slc = classes.fast_median_ns / (DEPTH * REQUEST_PAGES)
        is_again = fast_again(made, classes, out.slc_aside)
        before = _buffer_behind(made, in_slc if is_again else own)
        # As fast as the way to the buffer is: the fast requests say nothing of the flash.
        way = max(out.model.link_ns, out.model.firmware_write_ns / (DEPTH * REQUEST_PAGES))
        if in_slc <= 1.1 * way:
            before = max(before, _buffer_behind(made, own))
    pages = classes.pages(before, in_flight)
    return 0 if pages < 0.01 * out.model.pages or pages < before else pages


def _buffer_behind(made: Measurement, each_ns: float) -> int:
    """The buffer by the bursts, if a page takes that long behind it: a closed form."""
    taken = taken_ns(made)
    mib = first_full(taken, each_ns)
    if mib is None:
        return 256 * max(taken, default=0)
    return max(0, round(mib * 256 - taken[mib] / each_ns))


def _slc_times(out: Written, made: Measurement, classes: Classes, pages: int) -> None:
    model = out.model
    rate = DEPTH * REQUEST_PAGES * 1e9 / classes.fast_median_ns
    each = model.units * 1e9 / rate
    model = model.with_(slc_pages=pages, slc_unit_program_ns=each)
    for _ in range(ROUNDS):
        found = classes_of(model.simulate(("fill-1",))["fill-1"].bins, out.slc_aside)
        if found is None:
            break
        simulated = DEPTH * REQUEST_PAGES * 1e9 / found.fast_median_ns
        off = each - model.units * 1e9 / simulated
        model = model.with_(slc_unit_program_ns=max(1.0, model.slc_unit_program_ns + off))
    fill, over = made.steps["fill-2"], made.get("overwrite-2")
    slower = over is not None and over.rate > fill.rate
    model = model.with_(
        slc_policy="fold" if slower else "direct", slc_idle=fast_again(made, classes, out.slc_aside)
    )
    out.model = model


def _slc_size(out: Written, made: Measurement) -> None:
    """The SLC cache by the fast requests of the fill, measured less simulated."""
    model, first, second = out.model, made.get("fill-1"), made.get("fill-2")
    if not model.slc_pages or first is None:
        return
    counted = classes_of(first.direction.bins, out.slc_aside)
    found = classes_of(model.simulate(("fill-1",))["fill-1"].bins, out.slc_aside)
    if counted is None or found is None or second is None:
        return  # it is larger than half the capacity: the count of both fills stays
    own = model.slc_blocks * model.units * model.slc_pages_per_block
    pages = own + REQUEST_PAGES * (counted.fast - found.fast)
    out.model = model.with_(slc_pages=max(1, pages))


def _buffer(out: Written, made: Measurement) -> None:
    if not out.model.buffer_pages:
        return
    out.steps["buffer_pages"] = "burst"
    model, taken = out.model, taken_ns(made)
    each = model.slc_unit_program_ns if model.slc_pages else 0.0
    each = (each or model.unit_program_ns + model.erase_page_ns) / model.units
    if out.said.get("program_ns") != "measured" or not taken:
        out.said["buffer_pages"] = "not identifiable: the link is no faster than the flash"
        return
    mib = first_full(taken, each)
    if mib is None:
        largest = max(taken) * 256
        own = max(int(model.base["buffer_pages"]) if "buffer_pages" in model.base else 0, largest)
        out.model = model.with_(buffer_pages=own)
        out.said["buffer_pages"] = f"at least {largest} pages: no burst filled it"
        return
    out.buffer = buffer_of(model, taken, mib, each)
    out.model = model.with_(buffer_pages=out.buffer.pages)
    out.said["buffer_pages"] = "measured"
    out.steps["buffer_pages"] = f"burst-{mib}"


def refined(out: Written, made: Measurement, op: float) -> None:
    """Erase time, block and buffer once more, with the over-provisioning that was found."""
    out.model = model = out.model.with_(op=op)
    fill, over = made.get("fill-2"), made.get("overwrite-2")
    if out.said.get("erase_ns", "").startswith("measured") and fill and over:
        goal = 1 / pages_per_s(over) - 1 / pages_per_s(fill)
        for _ in range(ROUNDS):
            found = model.simulate(OVER)
            there, here = (1 / (found[n].rate * REQUEST_PAGES) for n in ("overwrite-2", "fill-2"))
            off = model.units * 1e9 * (goal - (there - here))
            model = model.with_(erase_page_ns=max(0.0, model.erase_page_ns + off))
        out.model = model
        # With zones the random writes say it, whatever is put in now.
        if not out.block_known and made.get("zones95-8") is None:
            _blocks(out, made)
    if out.buffer is None or out.buffer.pages_per_block != out.model.pages_per_block:
        _buffer(out, made)
    _slc_size(out, made)


def sampled(made: Measurement, model: Model, scale: Mapping[str, float]) -> dict[str, float]:
    """The closed forms of the write steps once more, with every rate multiplied."""
    values: dict[str, float] = {}
    fill, over, write = (made.get(name) for name in ("fill-2", "overwrite-2", "write-qd1"))

    def rate(step: Measured) -> float:
        return pages_per_s(step) * math.exp(scale.get(step.name, 0.0))

    if fill is not None:
        values["unit_program_ns"] = model.units * 1e9 / rate(fill)
        if over is not None:
            values["erase_page_ns"] = model.units * 1e9 * (1 / rate(over) - 1 / rate(fill))
    if write is not None:
        values["firmware_write_ns"] = write.mean_ns * math.exp(-scale.get(write.name, 0.0))
    each = (model.unit_program_ns + model.erase_page_ns) / model.units
    if model.slc_pages:
        each = model.slc_unit_program_ns / model.units
        first = made.get("fill-1")
        if first is not None:
            values["slc_unit_program_ns"] = math.exp(-scale.get(first.name, 0.0))
    taken = {k: ns * math.exp(-scale.get(f"burst-{k}", 0.0)) for k, ns in taken_ns(made).items()}
    mib = first_full(taken, each) if model.buffer_pages else None
    if mib is not None:
        values["buffer_pages"] = mib * 256 - taken[mib] / each
    return values
