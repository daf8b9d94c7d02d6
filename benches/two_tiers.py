"""Rate of two tiers beside one, and of prompts over one tier, a second of processor time.

    python benches/two_tiers.py [TRACE ...]

LRU in each tier, reads by Zipf over 2^20 pages, 1 % of them in tier 1 and 10 % in tier 2; prompts of
16 blocks, 10 % of the blocks cached. `cargo bench -p destage-engine --bench tiers` is the same
without Python.

With traces: a row of a table for each, the rate of one tier and the share of it that two tiers have,
at 1, 4 and 16 % of the pages in tier 1 and four times as many in tier 2. Reading the trace is left
out, setting up the page tables is in.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import destage

PAGES, ACCESSES, PROMPTS, CHAIN = 1 << 20, 8_000_000, 250_000, 16
ADMIT = ("always", "nth", "tinylfu", "larc")
ROUNDS = 5
TIER1_PERCENT = (1, 4, 16)


def rate(accesses: int, run: Callable[[], object]) -> float:
    """Accesses a second of processor time."""
    before = time.process_time()
    run()
    return accesses / (time.process_time() - before)


def prompts(path: Path) -> destage.Trace:
    """Prompts that are one of 2^16 chains each, the first of them more often."""
    draw = random.Random(1)
    with path.open("w") as file:
        for k in range(PROMPTS):
            head = int(draw.random() ** 3 * PAGES / CHAIN) * CHAIN
            ids = list(range(head, head + CHAIN))
            file.write(json.dumps({"timestamp": k, "hash_ids": ids}) + "\n")
    return destage.open_trace(path, bytes_per_token=8)


def shares(path: str) -> str:
    """A row of the table: medians over rounds, one tier and two in turn."""
    trace = destage.open_trace(path)
    row = [Path(path).name.split(".")[0], f"{trace.accesses:,}", f"{trace.unique_pages:,}"]
    for percent in TIER1_PERCENT:
        frames = trace.unique_pages * percent // 100
        alone = partial(destage.compare, trace, "lru", cache=f"{frames}p", jobs=1, warmup="none")
        both = partial(alone, tier2="lru", tier2_cache=f"{4 * frames}p")
        pairs = [[rate(trace.accesses, run) for run in (alone, both)] for _ in range(ROUNDS)]
        (one,) = alone()
        row += [
            f"{one.hit_ratio:.2f}",
            f"{median(pair[0] for pair in pairs) / 1e6:.1f}",
            f"{median(two / one for one, two in pairs):.2f}",
        ]
    return f"| {' | '.join(row)} |"


def main() -> None:
    """Print a row a trace, or without traces a line of JSON a round."""
    if sys.argv[1:]:
        print(*map(shares, sys.argv[1:]), sep="\n")
        return
    trace = destage.synth("zipf", requests=ACCESSES, pages=PAGES, read_ratio=1.0, seed=1)
    how: dict[str, Any] = {"jobs": 1, "warmup": "none"}
    tier2: dict[str, Any] = {"tier2": "lru", "tier2_cache": f"{PAGES // 10}p"}
    with tempfile.TemporaryDirectory() as folder:
        chains = prompts(Path(folder) / "prompts.jsonl")
        cache, of_kv = f"{PAGES // 100}p", {**how, "kv": True, "cache": f"{PAGES // 10}p"}
        for _ in range(ROUNDS):
            alone = partial(destage.compare, trace, "lru", cache=cache, **how)
            row = {"one_tier": rate(ACCESSES, alone)}
            for admit in ADMIT:
                row[f"two_tiers_{admit}"] = rate(ACCESSES, partial(alone, **tier2, admit=admit))
            row["prompts"] = rate(chains.accesses, partial(destage.compare, chains, "lru", **of_kv))
            print(json.dumps({name: round(value / 1e6, 1) for name, value in row.items()}))


if __name__ == "__main__":
    main()
