"""What curves of samples cost, beside the exact ones: `make bench`, `make bench-long`.

Policies at eight sizes over a synthetic trace, all in one call, exactly and with `sample="auto"`:
processor time of both, and how many of the intervals hold what the exact runs counted.
"""

from __future__ import annotations

import argparse
import resource
import time

import destage

#: Policies whose intervals have been measured (docs/sampling.md); others run exactly either way, and LRU is one pass.
POLICIES = "fifo,clock,clock-sweep,2q,arc,lirs,s3-fifo,slru,lru-wsr,lfu-da"


def cpu_s() -> float:
    """Processor time of this process so far, seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Processor time of sampled and of exact curves.")
    parser.add_argument("--requests", type=int, default=10_000_000)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--policy", default=POLICIES)
    parser.add_argument("--error", type=float, default=0.005)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    trace = destage.synth("zipf", requests=args.requests, pages=args.pages, alpha=0.9, seed=1)
    print(f"zipf(0.9), {trace.accesses:,} accesses, {trace.unique_pages:,} pages, eight sizes")
    began = cpu_s()
    auto = destage.mrc(trace, args.policy, sample="auto", error=args.error, jobs=args.jobs)
    between = cpu_s()
    exact = destage.mrc(trace, args.policy, jobs=args.jobs)
    sampled_s, exact_s = between - began, cpu_s() - between
    pairs = list(zip(exact.to_dicts(), auto.to_dicts(), strict=True))
    print(f"exactly {exact_s:.1f} s, within {100 * args.error:g} points {sampled_s:.1f} s of CPU:")
    print(f"{sampled_s / exact_s:.3f} of it")
    told = [(a, b) for a, b in pairs if b["misses_low"] is not None]
    held = sum(b["misses_low"] <= a["misses"] <= b["misses_high"] for a, b in told)
    print(f"{len(pairs) - len(told)} of {len(pairs)} points from the whole trace,")
    print(f"{held} of {len(told)} intervals hold")
    for size in dict.fromkeys(b["cache"] for _, b in pairs):
        frames = [b["sample_frames"] for _, b in pairs if b["cache"] == size]
        shown = sorted({"whole trace" if f is None else f"{f:,.0f} frames" for f in frames})
        print(f"  {size:>6}: {', '.join(shown)}")
    print(time.strftime("%Y-%m-%d"))


if __name__ == "__main__":
    main()
