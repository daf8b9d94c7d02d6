"""The tail of a real SSD with more spare area, predicted from its tail with less.

Six runs of the Aerospike Certification Tool on a Samsung 845DC PRO (`tests/data/fit`): reads of
1.5 KiB, and reads and writes of 128 KiB, each at a fixed rate, with 376.4 and with 294.4 GiB of the
drive in use. A simulated SSD is fitted to the three runs with
376.4 GiB; what it predicts for the other three is printed beside what was measured: the share of
all reads that took longer than 128 us, 256 us, ... 4 ms.

    python benches/tail_beside_spare.py
    python benches/tail_beside_spare.py --fit 200   # fit again, 200 candidates

The drive is a miniature with the same effective over-provisioning: the tail depends on units, times
and spare area, not on the capacity.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import destage

DATA = Path(__file__).parents[1] / "tests/data/fit/act_845dc_pro.csv"
LIMITS_US = (128, 256, 512, 1024, 2048, 4096)
PAGE_BYTES = 8192
PAGES_PER_BLOCK = 256
LARGE_BYTES = 128 * 1024
#: Bytes of user data in a record; 85 records fill a large block (`tests/data/fit/README.md`).
RECORD_BYTES, RECORDS_PER_BLOCK = 1536, 85
FITTED, PREDICTED = (1, 2, 4), (13, 15, 17)


@dataclass(frozen=True)
class Run:
    """One run of the tool: rates, and the share of all reads that took longer than each limit."""

    number: int
    visible_gib: float
    reads_per_s: int
    writes_per_s: int
    above: tuple[float, ...]


@dataclass(frozen=True)
class Candidate:
    """What is fitted; everything else is the same for all candidates."""

    chips_per_channel: int
    read_ns: int
    program_ns: int
    erase_ns: int
    raw_gib: float
    step: str
    sched: str


START = Candidate(4, 60_000, 700_000, 3_000_000, 512, "auto", "fcfs")
#: What `--fit 500` had found after 190 of its steps, 2026-11-24.
FITTED_DEVICE = replace(
    START, chips_per_channel=2, read_ns=98_223, erase_ns=4_056_662, raw_gib=503.5
)
#: Keys that the fit changes.
CHANGED = ("chips_per_channel", "read_ns", "program_ns", "erase_ns", "raw_gib", "sched")


def measured(path: Path) -> dict[int, Run]:
    """The six runs of the file: small and large reads together, as a run's histogram has them."""
    rows: dict[int, list[dict[str, str]]] = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            if row["histogram"] in ("raw_read", "large_block_read"):
                rows.setdefault(int(row["run"]), []).append(row)
    return {number: _run(number, both) for number, both in rows.items()}


def _run(number: int, rows: Sequence[dict[str, str]]) -> Run:
    total = sum(int(row["operations"]) for row in rows)

    def above(limit: int) -> float:
        columns = [c for c in rows[0] if c.startswith("below_") and int(c[6:-3]) > limit]
        return sum(int(row[c]) for row in rows for c in columns) / total

    first = rows[0]
    return Run(
        number,
        float(first["visible_gib"]),
        int(first["read_requests_per_s"]),
        int(first["write_requests_per_s"]),
        tuple(above(limit) for limit in LIMITS_US),
    )


def workload(run: Run, pages: int, requests: int, seed: int) -> dict[str, list[object]]:
    """Three streams at fixed rates, each with a phase of its own; addresses are uniform."""
    draw = random.Random(seed)
    large_pages = LARGE_BYTES // PAGE_BYTES
    large_per_s = 2 * run.writes_per_s / RECORDS_PER_BLOCK
    duration_s = requests / run.reads_per_s

    def stream(op: str, per_s: float, size: int) -> Iterator[tuple[int, str, int, int]]:
        phase = draw.random()
        for i in range(int(duration_s * per_s)):
            page = draw.randrange(pages // size) * size
            yield int((i + phase) / per_s * 1e9), op, page, size

    small = stream("read", run.reads_per_s, 1)
    rows = sorted(
        [
            *small,
            *stream("read", large_per_s, large_pages),
            *stream("write", large_per_s, large_pages),
        ]
    )
    times, ops, first, sizes = zip(*rows, strict=True)
    return {"time_ns": list(times), "op": list(ops), "page": list(first), "pages": list(sizes)}


def device(candidate: Candidate, run: Run, directory: Path) -> tuple[Path, int]:
    """A miniature of the candidate under the run's share of visible pages, and its pages."""
    blocks = 64
    units = 8 * candidate.chips_per_channel
    raw_pages = units * blocks * PAGES_PER_BLOCK
    # The blocks that collection keeps free do not count as spare area of the real drive.
    reserve = units * 2 * PAGES_PER_BLOCK
    pages = int((raw_pages - reserve) * run.visible_gib / candidate.raw_gib)
    path = directory / "drive.toml"
    path.write_text(
        f"""[device]
channels = 8
chips_per_channel = {candidate.chips_per_channel}
blocks_per_plane = {blocks}
pages_per_block = {PAGES_PER_BLOCK}
page_bytes = {PAGE_BYTES}
logical_pages = {pages}
read_ns = [{candidate.read_ns}]
program_ns = [{candidate.program_ns}]
erase_ns = {candidate.erase_ns}
bus_ps_per_byte = 2500
sched = "{candidate.sched}"
gc_step_pages = "{candidate.step}"
precondition = "random"
[host]
mode = "open"
"""
    )
    return path, pages


def simulated(candidate: Candidate, run: Run, requests: int, seed: int = 1) -> tuple[float, ...]:
    """The share of reads above each limit."""
    with tempfile.TemporaryDirectory() as directory:
        path, pages = device(candidate, run, Path(directory))
        trace = destage.open_trace(
            workload(run, pages, requests, seed), device=str(path), cache=False
        )
        result = destage.run(trace, "none", device=str(path), warmup="10%")
        timing = result.run.timing
    assert timing is not None
    return tuple(1 - share_below(timing["read_response_ns"], 1000 * limit) for limit in LIMITS_US)


def share_below(summary: dict[str, Any], limit_ns: int) -> float:
    """The share of a distribution up to a limit, on straight lines between its quantiles."""
    pairs = [*map(tuple, summary["quantiles"]), (0.99, summary["p99"]), (0.999, summary["p999"])]
    pairs = sorted([*pairs, (0.9999, summary["p9999"])])
    for (share, value), (next_share, next_value) in itertools.pairwise(pairs):
        if next_value > limit_ns:
            if value > limit_ns:
                return 0.0
            part = (limit_ns - value) / (next_value - value)
            return float(share + (next_share - share) * part)
    return 1.0


def distance(found: Sequence[float], run: Run) -> float:
    """Sum of squared log differences of the shares that 20,000 requests resolve."""
    pairs = [(a, b) for a, b in zip(found, run.above, strict=True) if b >= 0.002]
    return sum(math.log(max(a, 1e-4) / b) ** 2 for a, b in pairs) / len(pairs)


def score(candidate: Candidate, runs: Sequence[Run], requests: int) -> float:
    return sum(distance(simulated(candidate, run, requests), run) for run in runs) / len(runs)


def neighbour(candidate: Candidate, draw: random.Random, spread: float) -> Candidate:
    """One or two keys changed: times and spare area by a factor, the others at random."""
    changes: dict[str, Any] = {}
    for key in draw.sample(CHANGED, draw.choice((1, 2))):
        value = getattr(candidate, key)
        if key == "chips_per_channel":
            changes[key] = draw.choice((2, 4, 8))
        elif key == "sched":
            changes[key] = draw.choice(("fcfs", "read_first"))
        elif key == "raw_gib":
            changes[key] = min(max(value + draw.uniform(-60, 60) * spread, 410), 700)
        else:
            changes[key] = int(value * math.exp(draw.uniform(-1, 1) * spread))
    return replace(candidate, **changes)


def fit(runs: Sequence[Run], candidates: int, requests: int) -> Candidate:
    """A random walk downhill, the steps shorter and shorter; prints each improvement."""
    draw = random.Random(1)
    best, least = START, score(START, runs, requests)
    for number in range(candidates):
        tried = neighbour(best, draw, 1.0 * (1 - number / candidates) + 0.05)
        try:
            found = score(tried, runs, requests)
        except destage.DestageError:
            continue  # a drive without room to collect
        if found < least:
            best, least = tried, found
            print(f"{number:4} {math.sqrt(least):.3f} {best}", flush=True)
    return best


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--fit", type=int, default=0, metavar="CANDIDATES")
    arguments.add_argument("--requests", type=int, default=200_000)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    runs = measured(given.data)
    chosen = FITTED_DEVICE
    if given.fit:
        chosen = fit([runs[n] for n in FITTED], given.fit, 40_000)
    print(chosen)
    print("| run | visible GiB | reads/s | " + " | ".join(f"> {n} us" for n in LIMITS_US) + " |")
    for number in (*FITTED, *PREDICTED):
        run = runs[number]
        found = simulated(chosen, run, given.requests, given.seed)
        cells = [f"{100 * a:.2f} ({100 * b:.2f})" for a, b in zip(found, run.above, strict=True)]
        start = f"| {number} | {run.visible_gib} | {run.reads_per_s:,} | "
        print(start + " | ".join(cells) + f" | {math.sqrt(distance(found, run)):.3f}")


if __name__ == "__main__":
    main()
