"""How often 95 % intervals of samples hold the exact numbers: `make coverage`.

Over many seeds, ten policies, eight cache sizes and six loads: the share of the samples whose
interval holds what a run over the whole trace counts, cell by cell (a load, a policy, a size), for
hits and for flash writes. Recorded traces are looked for in `$DESTAGE_TRACES`; one that is not
there is left out, and said.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import destage

POLICIES = "lru,fifo,clock,2q,arc,lirs,s3-fifo,slru,lru-wsr,clock-sweep"

#: Recorded loads, below `$DESTAGE_TRACES`.
RECORDED = {
    "pgtpcb": "own/pgtpcb.csv.xz",
    "devel": "own/devel.csv.xz",
    "arc_P6": "arc_P6.lis.xz",
    "cloudphysics": "cloudphysics_libcachesim.vscsi.xz",
    "msr_hm_0": "msr_hm_0_excerpt20k.csv.xz",
}

#: Cache sizes, shares of the pages; the smallest has `FRAMES` frames in the sample.
SIZES = [0.05 * 10 ** (k / 7) for k in range(8)]
FRAMES = 512

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


def points(curves: destage.Curves) -> Iterator[tuple[str, dict[str, Any]]]:
    """The points of some curves, each with its policy."""
    for curve in curves.data["mrc"]["curves"]:
        for point in curve["points"]:
            yield curve["label"], point


def cover(
    name: str, trace: destage.Trace, args: argparse.Namespace, cells: dict[Cell, list[bool]]
) -> str:
    """Add the samples of a load to the cells; says what was sampled."""
    caches = [f"{round(share * trace.unique_pages)}p" for share in SIZES]
    share = min(0.25, FRAMES / round(SIZES[0] * trace.unique_pages) + 1e-6)
    exact = {
        (label, point["cache"]): point
        for label, point in points(destage.mrc(trace, args.policy, cache=caches, jobs=args.jobs))
    }
    unsure = set()
    sample: dict[str, Any] = {"sample": share}
    if args.error is not None:
        sample = {"sample": "auto", "error": args.error}
    exactly = 0
    for seed in range(args.first, args.first + args.seeds):
        found = destage.mrc(trace, args.policy, cache=caches, seed=seed, jobs=args.jobs, **sample)
        for label, point in points(found):
            sampled, true = point["sampled"], exact[label, point["cache"]]
            if sampled is None:
                exactly += 1
                continue
            for number in NUMBERS:
                if f"{number}_low" not in sampled:
                    unsure.add((label, point["cache"]))
                    continue
                # Nothing is written in a trace of reads: nothing to be told there.
                if true[number]:
                    low, high = sampled[f"{number}_low"], sampled[f"{number}_high"]
                    cell = (name, label, point["cache"], number)
                    cells.setdefault(cell, []).append(low <= true[number] <= high)
    without = f", {len(unsure)} points without an interval" if unsure else ""
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
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--record", action="store_true", help="keep it in benches/record")
    args = parser.parse_args()
    cells: dict[Cell, list[bool]] = {}
    asked = f"{args.seeds} seeds from {args.first}, {args.policy}"
    asked += f", error {args.error}" if args.error is not None else ""
    lines = [f"# Coverage of 95 % intervals: {asked}", ""]
    for name, trace in loads(args.load):
        start = time.process_time()
        sampled = cover(name, trace, args, cells)
        here = {cell: held for cell, held in cells.items() if cell[0] == name}
        of_load = [f"## {name}: {sampled}, {time.process_time() - start:.0f} s of CPU", ""]
        of_load += [*told(here)[0], ""]
        print("\n".join(of_load), flush=True)
        lines += of_load
    said, met = told(cells)
    lines += ["## All", "", *said, "", f"Targets {'met' if met else 'missed'}."]
    print("\n".join(lines[-len(said) - 4 :]))
    if args.record:
        machine = f"coverage-{platform.machine()}-{os.cpu_count()}-cores-{date.today()}.md"
        (Path(__file__).parent / "record" / machine).write_text("\n".join(lines) + "\n")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
