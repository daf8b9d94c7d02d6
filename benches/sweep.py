"""What a sweep costs beside the runs in it: for each run, in memory, and on more than one core.

    python benches/sweep.py                 # everything but Dask
    python benches/sweep.py --only cores --rounds 8
    python benches/sweep.py --only dask     # a cluster of this machine (extra `cluster`)
    python benches/sweep.py --only kills    # 2,000 runs, killed ten times
    python benches/sweep.py --only report   # the page of 5,000 runs

Bars: below 5 ms a run; 10,000 runs within 5 minutes; memory that does not grow with the number of
runs; at least 1.9 times as fast on 2 cores, for runs that take their time; below 50 ms a task of
Dask; a sweep that is killed ends with the bytes of one that is not. Runs of the first three are so
small that nearly all of their time is the sweep's own: planning, tasks, rows, parts.

What other processes take of the machine meanwhile is said beside each time: a wall time is only as
good as that is small. CPU times are the sweep's own.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

POLICIES = ["lru", "fifo", "arc", "lirs", "sieve", "s3-fifo", "clock", "2q", "cflru", "random"]
SIZES = ["1%", "2%", "5%", "10%", "15%", "20%", "25%", "30%", "40%", "50%"]
MAIN = [sys.executable, "-c", "from destage.cli import main; main()"]
#: As the kernel counts the time of the cores.
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Took:
    """What a process took, and what the rest of the machine did meanwhile."""

    wall: float
    cpu: float
    memory_mb: float
    others: float
    """Cores that others kept busy, on average."""

    def __str__(self) -> str:
        return f"{self.wall:.1f} s wall, {self.cpu:.1f} s CPU (others: {self.others:.2f} cores)"


def spec(runs: int, requests: int, policies: int = 10, sizes: int = 10) -> str:
    """A sweep of so many runs, and a trace for each seed."""
    each = policies * sizes
    return (
        f'[sweep]\ntraces = [{{synth = "zipf", requests = {requests}, pages = {requests // 5}}}]\n'
        f"policies = {POLICIES[:policies]!r}\ncache = {SIZES[:sizes]!r}\n"
        f"repeat = {max(1, runs // each)}\n"
    )


def busy() -> float:
    """Seconds that all cores together have worked since the machine began."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, irq, soft = map(int, fields[:7])
    return (user + nice + system + irq + soft) / TICK


def took(folder: Path, *command: str) -> Took:
    """Run a command of Destage in a process of its own."""
    began, before = time.monotonic(), busy()
    process = subprocess.Popen([*MAIN, *command], cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"destage {' '.join(command)} ended with status {process.returncode}")
    wall, cpu = time.monotonic() - began, used.ru_utime + used.ru_stime
    # The children of a child are in neither, unless it has waited for them: Dask's workers are not.
    others = max(0.0, busy() - before - cpu) / wall
    return Took(wall, cpu, used.ru_maxrss / 1024, others)


def swept(folder: Path, name: str, text: str, *flags: str) -> Took:
    """A sweep into a new store."""
    (folder / f"{name}.toml").write_text(text)
    return took(folder, "sweep", f"{name}.toml", "--store", name, "--quiet", *flags)


def overhead(folder: Path, given: argparse.Namespace) -> None:
    """What a run more costs in time and memory."""
    small = swept(folder, "few", spec(given.runs // 10, 1000))
    large = swept(folder, "many", spec(given.runs, 1000))
    more = given.runs - given.runs // 10
    print(f"{given.runs:,} runs of 1,000 requests, end to end: {large}")
    print(
        f"a run more: {(large.wall - small.wall) / more * 1e3:.2f} ms wall,"
        f" {(large.cpu - small.cpu) / more * 1e3:.2f} ms CPU"
    )
    print(f"memory: {small.memory_mb:.0f} MB for a tenth, {large.memory_mb:.0f} MB for all")


def cores(folder: Path, given: argparse.Namespace) -> None:
    """Two threads against one, in turn; the best of each, and every round."""
    long = spec(400, given.requests)
    swept(folder, "warm", long)  # the traces are decoded and kept
    best: dict[str, Took] = {}
    for number in range(1, given.rounds + 1):
        for jobs in ("1", "2"):
            now = swept(folder, f"jobs-{jobs}-{number}", long, "--jobs", jobs)
            print(f"  round {number}, --jobs {jobs}: {now}", flush=True)
            if jobs not in best or now.wall < best[jobs].wall:
                best[jobs] = now
    one, two = best["1"], best["2"]
    print(
        f"400 runs of {given.requests:,} requests: 2 cores are {one.wall / two.wall:.2f} times as"
        f" fast as 1 (best of {given.rounds} each: {one.wall:.2f} and {two.wall:.2f} s)"
    )
    print(f"CPU time of 2 over 1: {two.cpu / one.cpu:.3f}")


def dask(folder: Path, given: argparse.Namespace) -> None:
    """What a task more costs, on a cluster of this machine and without; tasks of one tiny run."""
    for engine in ("local", "dask"):
        few, many = (
            swept(folder, f"{engine}-{count}", spec(count, 1000, 1, 1), "--engine", engine)
            for count in (100, 500)
        )
        wall, cpu = (many.wall - few.wall) / 400, (many.cpu - few.cpu) / 400
        print(f"{engine}: 100 tasks {few}; 500 tasks {many}")
        print(f"  a task more: {wall * 1e3:.1f} ms wall, {cpu * 1e3:.1f} ms CPU")


def kills(folder: Path, given: argparse.Namespace) -> None:
    """A sweep that is killed at ten moments, and one that is not: the same bytes of results."""
    draw = random.Random(given.seed)
    (folder / "k.toml").write_text(spec(2000, 20_000))
    whole = took(folder, "sweep", "k.toml", "--store", "whole", "--quiet")
    print(f"2,000 runs, undisturbed: {whole}")
    killed = 0
    for _ in range(200):
        command = [*MAIN, "sweep", "k.toml", "--store", "killed", "--resume", "--quiet"]
        process = subprocess.Popen(command, cwd=folder, start_new_session=True)
        try:
            # A tenth of the whole and more: some are killed while they begin, or while they end.
            process.wait(draw.uniform(0.1, 0.1 + 0.25 * whole.wall) if killed < 10 else None)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
            there = len(list((folder / "killed").glob("part-*")))
            print(f"  kill {killed}: {there} parts", flush=True)
            continue
        if process.returncode == 0 and killed >= 10:
            break
        # It came to its end before it was killed ten times: from the beginning.
        for path in (folder / "killed").iterdir():
            path.unlink()
    sums = []
    for store in ("whole", "killed"):
        out = subprocess.run(
            [*MAIN, "results", store, "--csv", "-"], cwd=folder, capture_output=True, check=True
        ).stdout
        sums.append(hashlib.sha256(out).hexdigest())
        print(f"{store}: {out.count(bytes([10])) - 1:,} runs, sha256 {sums[-1][:16]}")
    parts = [sorted(p.name for p in (folder / s).glob("part-*")) for s in ("whole", "killed")]
    print(f"killed {killed} times: rows {'equal' if sums[0] == sums[1] else 'DIFFER'},", end=" ")
    print(f"parts {'equal' if parts[0] == parts[1] else 'not the same files'}")
    if sums[0] != sums[1]:
        sys.exit(1)


def report(folder: Path, given: argparse.Namespace) -> None:
    """The page of 5,000 runs."""
    swept(folder, "page", spec(5000, 1000))
    drawn = took(folder, "report", "page", "-o", "page.html", "--quiet")
    size = (folder / "page.html").stat().st_size
    print(f"the page of 5,000 runs: {drawn}, {size / 1e6:.2f} MB")


PARTS: dict[str, Callable[[Path, argparse.Namespace], None]] = {
    "overhead": overhead,
    "cores": cores,
    "kills": kills,
    "report": report,
    "dask": dask,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=1_000_000, help="of a run that takes time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=19, help="of the moments at which it is killed")
    given = parser.parse_args()
    for name in given.only or [part for part in PARTS if part != "dask"]:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["DESTAGE_CACHE"] = str(Path(folder) / "cache")
            PARTS[name](Path(folder), given)


if __name__ == "__main__":
    main()
