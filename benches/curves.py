"""Processor time of miss-ratio curves, in runs at one size: benches/record/curves.md.

python benches/curves.py [TRACE...]    # default: a zipf trace, and that of the package
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path

import destage

SINGLE = ("0.1%", "1%", "10%", "50%")
EIGHT = ("0.1%", "0.3%", "0.6%", "1.4%", "3.5%", "8.5%", "20%", "50%")


def processor_seconds(work: Callable[[], object], rounds: int = 2) -> float:
    """Return the least processor time of some rounds."""
    found = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        work()
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
    return min(found)


def single(trace: destage.Trace, policy: str, size: str) -> float:
    """Return the processor time of one run."""
    return processor_seconds(lambda: destage.compare(trace, policy, cache=size, warmup="none"))


def rows(name: str, trace: destage.Trace) -> list[str]:
    """Return the rows of a trace: every size in single runs, and eight runs in one pass."""
    found = []
    for policy in ("lru", "min"):
        every = processor_seconds(lambda p=policy: destage.mrc(trace, p, cache="all"))
        ratios = [every / single(trace, policy, size) for size in SINGLE]
        found.append(f"| {name} | `{policy}` | {min(ratios):.1f} to {max(ratios):.1f} | |")
    for policy in ("fifo", "clock", "sieve"):
        together = processor_seconds(lambda p=policy: destage.mrc(trace, p, cache=EIGHT))
        alone = sum(single(trace, policy, size) for size in EIGHT)
        found.append(f"| {name} | `{policy}` | | {alone / together:.1f} |")
    return found


def main(paths: list[str]) -> None:
    """Print the table."""
    print("| trace | policy | every size: single runs | eight sizes: times less |")
    print("|---|---|--:|--:|")
    if paths:
        traces = {Path(path).name.partition(".")[0]: destage.open_trace(path) for path in paths}
    else:
        zipf = destage.synth("zipf", requests=1_000_000, pages=100_000, alpha=1.0, seed=1)
        traces = {"zipf": zipf, "demo": destage.demo_trace()}
    for name, trace in traces.items():
        print(*rows(name, trace), sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
