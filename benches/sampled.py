"""What curves of samples cost, beside the exact ones: `make bench`, `make bench-long`.

Every policy at eight sizes over a synthetic trace, exactly and with `sample="auto"`: processor time
of both, policy by policy, and how many of the intervals hold what the exact runs counted.
"""

from __future__ import annotations

import argparse
import resource
import time

import destage


def cpu_s() -> float:
    """Processor time of this process so far, seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print, a row a policy."""
    parser = argparse.ArgumentParser(description="Processor time of sampled and of exact curves.")
    parser.add_argument("--requests", type=int, default=10_000_000)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--policy", default="all")
    parser.add_argument("--error", type=float, default=0.005)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    trace = destage.synth("zipf", requests=args.requests, pages=args.pages, alpha=0.9, seed=1)
    names = [run.policy for run in destage.plan(trace, args.policy, cache="1p")]
    print(f"zipf(0.9), {trace.accesses:,} accesses, {trace.unique_pages:,} pages, eight sizes")
    print(
        f"{'policy':<14}{'exact s':>9}{'sampled s':>11}{'ratio':>7}  exact points, intervals held"
    )
    sums: dict[bool, list[float]] = {False: [0.0, 0.0], True: [0.0, 0.0]}
    for name in names:
        times, rows = [], []
        for sample in (None, "auto"):
            began = cpu_s()
            error = args.error if sample else None
            curves = destage.mrc(trace, name, sample=sample, error=error, jobs=args.jobs)
            times.append(cpu_s() - began)
            rows.append(curves.to_dicts())
        sampled = [(a, b) for a, b in zip(*rows, strict=True) if b["misses_low"] is not None]
        held = sum(b["misses_low"] <= a["misses"] <= b["misses_high"] for a, b in sampled)
        whole = len(rows[0]) - len(sampled)
        for k in (0, 1):
            sums[bool(sampled)][k] += times[k]
        ratio = times[1] / max(times[0], 1e-9)
        print(
            f"{name:<14}{times[0]:>9.2f}{times[1]:>11.2f}{ratio:>7.2f}"
            f"  {whole} of {len(rows[0])}, {held} of {len(sampled)}",
            flush=True,
        )
    for known, (exact, auto) in sums.items():
        what = "with intervals" if known else "without any: run exactly"
        print(f"{what}: {exact:.1f} s exactly, {auto:.1f} s, {auto / max(exact, 1e-9):.3f}")
    print(time.strftime("%Y-%m-%d"))


if __name__ == "__main__":
    main()
