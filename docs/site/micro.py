"""The micro-trace that every policy's page shows: what the policy does with it, step by step.

One trace for all policies, short enough to be followed by hand. Policies that gather whole erase
blocks get one of their own, since they keep what is written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import destage

PAGES = "r1 w2 r3 r1 w4 r5 r1 w2 r6 r7 r2 w5 r3 r8 w4 r1 r9 r5"
BLOCKS = "w0 w1 w4 w8 w5 r0 w9 w12 w0 w13 w14 w5 w16 r20 w1 w17 w8 w21"
#: Frames of the cache, and pages of an erase block, in the micro-traces.
FRAMES, OF_A_BLOCK = 4, 4
FRAMES_OF_BLOCKS = 6
#: The drive of policies that look into one: two chips, so that one can be busier than the other.
#: Requests are 20 us apart, so that queues form.
DRIVE = """\
[device]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 16
pages_per_block = 4
page_bytes = 4096
logical_pages = 64
read_ns = [25_000]
program_ns = [200_000]
erase_ns = 1_500_000
"""
APART_US = 20
PAGE_BYTES = 4096


@dataclass(frozen=True)
class Step:
    """One access and what came of it."""

    access: str
    hit: bool
    taken: bool
    evicted: tuple[int, ...]
    flushed: tuple[tuple[int, ...], ...]
    resident: tuple[tuple[int, bool], ...]
    gauges: tuple[float, ...]


@dataclass(frozen=True)
class Played:
    """A policy's way through the micro-trace."""

    steps: tuple[Step, ...]
    frames: int
    hits: int
    physical_writes: int
    drive: bool


def accesses(policy: destage.PolicyInfo) -> list[str]:
    """The micro-trace of a policy."""
    return (BLOCKS if policy.clusters else PAGES).split()


def play(policy: destage.PolicyInfo, folder: Path) -> Played:
    """Run the policy over its micro-trace."""
    drive = None
    if policy.needs_device:
        drive = folder / "drive.toml"
        drive.write_text(DRIVE, encoding="utf-8")
    shown = accesses(policy)
    trace = _trace(shown, drive, folder)
    frames = FRAMES_OF_BLOCKS if policy.clusters else FRAMES
    log = folder / "decisions.jsonl"
    options: Any = {"device": drive} if drive else {"pages_per_block": OF_A_BLOCK}
    run = destage.run(trace, policy.name, cache=f"{frames}p", decisions=log, series=1, **options)
    made = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
    decisions = [d for d in made if "index" in d]
    names = [g.name for g in policy.gauges]
    refused = [False] * len(shown)
    if policy.clusters or policy.admission:
        refused = _refused(policy, shown, f"{frames}p", options, folder)
    steps: list[Step] = []
    dirty: dict[int, bool] = {}
    for decision, period, left_out in zip(decisions, run.series, refused, strict=True):
        steps.append(_step(decision, left_out, dirty, [float(period[g]) for g in names]))
        assert len(dirty) <= frames, f"{policy.name}: more pages than frames in a micro-trace"
    counters = run.run.counters
    hits = counters["read_hits"] + counters["write_hits"]
    return Played(tuple(steps), frames, hits, counters["physical_writes"], drive is not None)


def _refused(
    policy: destage.PolicyInfo, shown: list[str], cache: str, options: Any, folder: Path
) -> list[bool]:
    """Of each access, whether it missed and its page was not taken in: counted over beginnings."""
    drive = options.get("device")
    before, found = 0, []
    for length in range(1, len(shown) + 1):
        trace = _trace(shown[:length], drive, folder)
        run = destage.run(trace, policy.name, cache=cache, **options).run
        found.append(run.counters["bypasses"] > before)
        before = run.counters["bypasses"]
    return found


def _step(decision: Any, refused: bool, dirty: dict[int, bool], gauges: list[float]) -> Step:
    """One step; `dirty` says of each page in the cache whether it is, and is brought up to date."""
    page, write = decision["page"], decision["op"] == "w"
    for group in decision["flushed"]:
        for flushed in group:
            if flushed in dirty:
                dirty[flushed] = False
    for evicted in decision["evicted"]:
        dirty.pop(evicted, None)
    taken = not refused
    if taken:
        dirty[page] = dirty.get(page, False) or write
    return Step(
        f"{decision['op']} {page}",
        decision["hit"],
        taken,
        tuple(decision["evicted"]),
        tuple(tuple(g) for g in decision["flushed"]),
        tuple(sorted(dirty.items())),
        tuple(gauges),
    )


def _trace(accesses: list[str], drive: Path | None, folder: Path) -> destage.Trace:
    lines = ["time,op,offset,length"]
    for number, access in enumerate(accesses):
        offset = int(access[1:]) * PAGE_BYTES
        lines.append(f"{number * APART_US},{access[0].upper()},{offset},{PAGE_BYTES}")
    path = folder / "micro.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = "time=time,op=op,offset=offset,length=length"
    units = {"time_unit": "us", "offset_unit": "byte", "length_unit": "byte"}
    names = {"op_read": "R", "op_write": "W"}
    return destage.open_trace(
        path, format="csv", columns=columns, cache=False, device=drive, **units, **names
    )
