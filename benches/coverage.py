"""How often 95 % intervals of samples hold the exact numbers: `make coverage`.

Over many seeds, nineteen policies, eight cache sizes and ten loads: the share of the samples whose
interval holds what a run over the whole trace counts, cell by cell (a load, a policy, a size), for
hits and for flash writes; and the same of how far two policies are apart. Recorded traces are looked for in `$DESTAGE_TRACES`; one that is not
there is left out, and said. Those of `coverage_loads.py` are generated.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any

from coverage_loads import MADE

import destage

POLICIES = (
    "lru,fifo,clock,clock-sweep,2q,arc,lirs,s3-fifo,slru,lru-wsr,car,mq,dual-queue,lfu-da,"
    "hyperbolic,random,cflru,cflru-e,watt"
)

#: Recorded loads, below `$DESTAGE_TRACES`.
RECORDED = {
    "pgtpcb": "own/pgtpcb.csv.xz",
    "devel": "own/devel.csv.xz",
    "arc_P6": "arc_P6.lis.xz",
    "cloudphysics": "cloudphysics_libcachesim.vscsi.xz",
    "msr_hm_0": "msr_hm_0_excerpt20k.csv.xz",
}

#: Cache sizes, shares of the pages; the smallest has `FRAMES` frames in the sample, that of a
#: generated load `FRAMES_MADE`: with that many ARC and CAR may have intervals.
SIZES = [0.05 * 10 ** (k / 7) for k in range(8)]
FRAMES = 512
FRAMES_MADE = 2048

#: A cell: load, policy, cache, what was counted.
Cell = tuple[str, str, str, str]

NUMBERS = ("misses", "physical_writes")

#: The targets: of all intervals, of the cells that hold in 90 % of the samples, of the worst.
OVERALL, GOOD, LEAST = (0.93, 0.99), 0.97, 0.85


def loads(wanted: list[str]) -> Iterator[tuple[str, destage.Trace]]:
    """The loads by name, the missing ones said."""
    if not wanted or "zipf" in wanted:
        yield "zipf", destage.synth("zipf", requests=1_000_000, pages=100_000, alpha=0.9, seed=1)
    folder = os.environ.get("DESTAGE_TRACES")
    for name, path in RECORDED.items():
        if wanted and name not in wanted:
            continue
        if folder is None or not (Path(folder) / path).exists():
            print(f"left out: {name} ($DESTAGE_TRACES has no {path})", file=sys.stderr)
            continue
        yield name, destage.open_trace(Path(folder) / path)
    for name, made in MADE.items():
        if not wanted or name in wanted:
            with tempfile.TemporaryDirectory() as folder:
                yield name, made.trace(name, Path(folder))


def points(curves: destage.Curves) -> Iterator[tuple[str, dict[str, Any]]]:
    """The points of some curves, each with its policy."""
    for curve in curves.data["mrc"]["curves"]:
        for point in curve["points"]:
            yield curve["label"], point


@dataclass
class Leads:
    """How far two policies are apart, and what samples say of it."""

    intervals: int = 0
    held: int = 0
    told: int = 0
    """Intervals without zero: they name a winner."""
    wrong: int = 0
    """Of these, the other one wins."""

    def add(self, found: destage.Curves, true: Sequence[dict[str, Any]], number: str) -> None:
        """Add the pairs of a call; `true` are all exact points, curve by curve."""
        metric = "hit_ratio" if number == "misses" else number
        for group in found.data["mrc"]["differences"]["groups"]:
            pairs = zip(combinations(group["runs"], 2), group["metrics"][metric], strict=True)
            for (a, b), interval in pairs:
                if interval is None:
                    continue
                apart = true[b][number] - true[a][number]
                if number == "misses":
                    apart /= -true[a]["accesses"]
                low, high = interval
                tells = not low <= 0 <= high
                self.intervals += 1
                self.held += low <= apart <= high
                self.told += tells
                self.wrong += tells and (low > 0) != (apart > 0)

    def text(self) -> str:
        """A line of the report."""
        if not self.intervals:
            return "differences: none"
        return (
            f"differences: {100 * self.held / self.intervals:.1f} % of {self.intervals:,} hold;"
            f" {self.told:,} name a winner, {self.wrong:,} of them the wrong one"
        )


def cover(
    name: str,
    trace: destage.Trace,
    args: argparse.Namespace,
    cells: dict[Cell, list[bool]],
    leads: dict[str, Leads],
) -> str:
    """Add the samples of a load to the cells and leads; says what was sampled."""
    sizes, frames = (MADE[name].sizes, FRAMES_MADE) if name in MADE else (SIZES, FRAMES)
    caches = [f"{round(share * trace.unique_pages)}p" for share in sizes]
    share = min(0.25, frames / round(sizes[0] * trace.unique_pages) + 1e-6)
    whole = list(points(destage.mrc(trace, args.policy, cache=caches, jobs=args.jobs)))
    exact = {(label, point["cache"]): point for label, point in whole}
    withheld: Counter[str] = Counter()
    sample: dict[str, Any] = {"sample": share, "control": args.control}
    if args.error is not None:
        sample = {"sample": "auto", "error": args.error, "control": args.control}
    exactly = 0
    for seed in range(args.first, args.first + args.seeds):
        found = destage.mrc(trace, args.policy, cache=caches, seed=seed, jobs=args.jobs, **sample)
        for number in NUMBERS:
            leads[number].add(found, [point for _, point in whole], number)
        for label, point in points(found):
            sampled, true = point["sampled"], exact[label, point["cache"]]
            if sampled is None:
                exactly += 1
                continue
            for number in NUMBERS:
                if f"{number}_low" not in sampled:
                    withheld[label] += number == NUMBERS[0]
                    continue
                # Nothing is written in a trace of reads: nothing to be told there.
                if true[number]:
                    low, high = sampled[f"{number}_low"], sampled[f"{number}_high"]
                    cell = (name, label, point["cache"], number)
                    cells.setdefault(cell, []).append(low <= true[number] <= high)
    each = args.seeds * len(caches)
    lacking = [f"{label} {100 * count / each:.0f} %" for label, count in withheld.most_common()]
    without = f", points without an interval: {', '.join(lacking)}" if lacking else ""
    if args.error is not None:
        of = exactly / (args.seeds * len(exact))
        return (
            f"samples within ± {100 * args.error:g} points of {trace.unique_pages:,} pages,"
            f" {100 * of:.0f} % of the points exact"
        )
    return f"{100 * share:.2g} % of {trace.unique_pages:,} pages{without}"


def told(cells: dict[Cell, list[bool]]) -> tuple[list[str], bool]:
    """What the cells say, and whether the targets are met."""
    lines, met = [], True
    for number in NUMBERS:
        here = {c: sum(held) / len(held) for c, held in cells.items() if c[3] == number}
        if not here:
            continue
        held = [h for cell, each in cells.items() if cell[3] == number for h in each]
        overall = sum(held) / len(held)
        good = sum(share >= 0.9 for share in here.values()) / len(here)
        worst = sorted(here.items(), key=lambda item: item[1])[:5]
        met &= OVERALL[0] <= overall <= OVERALL[1] and good >= GOOD and worst[0][1] >= LEAST
        lines += [
            f"* {number}: {100 * overall:.1f} % of {len(held):,} intervals hold;"
            f" {100 * good:.1f} % of {len(here)} cells at 90 % or more",
            "  lowest: " + ", ".join(f"{100 * s:.1f} % {' '.join(c[:3])}" for c, s in worst),
        ]
    return lines, met


def main() -> None:
    """Measure, print, and keep it if asked; status 1 if the targets are missed."""
    parser = argparse.ArgumentParser(description="How often intervals of samples hold.")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=1001, help="the first seed")
    parser.add_argument("--policy", default=POLICIES)
    parser.add_argument("--load", action="append", default=[], help="only these loads")
    parser.add_argument("--error", type=float, help='of `sample="auto"`, in place of one rate')
    parser.add_argument("--control", choices=["lru"], help="exact LRU as a control variate")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--record", action="store_true", help="keep it in benches/record")
    args = parser.parse_args()
    cells: dict[Cell, list[bool]] = {}
    asked = f"{args.seeds} seeds from {args.first}, {args.policy}"
    asked += f", error {args.error}" if args.error is not None else ""
    asked += ", LRU as a control variate" if args.control else ""
    leads = {number: Leads() for number in NUMBERS}
    lines = [f"# Coverage of 95 % intervals: {asked}", ""]
    for name, trace in loads(args.load):
        start = time.process_time()
        sampled = cover(name, trace, args, cells, leads)
        here = {cell: held for cell, held in cells.items() if cell[0] == name}
        of_load = [f"## {name}: {sampled}, {time.process_time() - start:.0f} s of CPU", ""]
        of_load += [*told(here)[0], ""]
        print("\n".join(of_load), flush=True)
        lines += of_load
    said, met = told(cells)
    of_leads = [f"* {number}, {leads[number].text()}" for number in NUMBERS]
    of_all = ["## All", "", *said, *of_leads, "", f"Targets {'met' if met else 'missed'}."]
    lines += of_all
    print("\n".join(of_all))
    if args.record:
        of = "coverage-control-variate" if args.control else "coverage"
        machine = f"{of}-{platform.machine()}-{os.cpu_count()}-cores-{date.today()}.md"
        (Path(__file__).parent / "record" / machine).write_text("\n".join(lines) + "\n")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
