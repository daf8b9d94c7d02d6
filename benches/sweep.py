"""What a sweep costs beside the runs in it: for each run, in memory, and on more than one core.

    python benches/sweep.py                 # 10,000 tiny runs, and what they would cost alone
    python benches/sweep.py --runs 1000 --dask

The runs are so small that nearly all of it is the sweep's own: planning, tasks, rows, parts. Bars:
below 5 ms a run; 10,000 within 5 minutes; memory that does not grow with the number of runs; at
least 1.9 times as fast on 2 cores, for runs that take their time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POLICIES = ["lru", "fifo", "arc", "lirs", "sieve", "s3-fifo", "clock", "2q", "cflru", "random"]
SIZES = ["1%", "2%", "5%", "10%", "15%", "20%", "25%", "30%", "40%", "50%"]
SWEEP = [sys.executable, "-c", "from destage.cli import main; main()", "sweep"]


def spec(runs: int, requests: int) -> str:
    """A sweep of so many runs, a hundred for each seed."""
    return (
        f'[sweep]\ntraces = [{{synth = "zipf", requests = {requests}, pages = {requests // 5}}}]\n'
        f"policies = {POLICIES!r}\ncache = {SIZES!r}\nrepeat = {max(1, runs // 100)}\n"
    )


def swept(folder: Path, name: str, text: str, *flags: str) -> tuple[float, float, float]:
    """Wall time, CPU time and largest memory of a sweep, in a process of its own."""
    (folder / f"{name}.toml").write_text(text)
    began = time.monotonic()
    command = [*SWEEP, f"{name}.toml", "--store", name, "--quiet", *flags]
    process = subprocess.Popen(command, cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"the sweep ended with status {process.returncode}")
    cpu = used.ru_utime + used.ru_stime
    return time.monotonic() - began, cpu, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--dask", action="store_true", help="the same on a Dask cluster of ours")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DESTAGE_CACHE"] = str(folder / "cache")
        small = swept(folder, "few", spec(given.runs // 10, given.requests))
        large = swept(folder, "many", spec(given.runs, given.requests))
        more = given.runs - given.runs // 10
        print(f"{given.runs:,} runs of {given.requests:,} requests: {large[0]:.1f} s wall")
        print(
            f"a run more: {(large[0] - small[0]) / more * 1e3:.2f} ms wall,"
            f" {(large[1] - small[1]) / more * 1e3:.2f} ms CPU"
        )
        print(f"memory: {small[2]:.0f} MB for {given.runs // 10:,}, {large[2]:.0f} MB for all")
        long = spec(200, 400_000)
        one = swept(folder, "one", long, "--jobs", "1")
        two = swept(folder, "two", long, "--jobs", "2")
        print(f"2 jobs against 1: {one[0] / two[0]:.2f} times as fast")
        if given.dask:
            few = swept(folder, "dask", spec(given.runs, given.requests), "--engine", "dask")
            tasks = max(1, given.runs // 100) * 2
            print(f"Dask: {few[0]:.1f} s, {few[0] / tasks * 1e3:.0f} ms a task, start included")


if __name__ == "__main__":
    main()
