"""IOPS of `destage serve FILE` beside `nbdkit file`: fio through NBD, the two in turn.

    python benches/serve_beside_nbdkit.py --folder /dev/shm --folder .
    python benches/serve_beside_nbdkit.py --rw randwrite --fsync 2048   # a flush every 2,048 writes

Each run has a fresh server over a file of its own, written whole and synced before. `--end-fsync`
and `--fsync` make both servers bring the data to the disk; without them nbdkit's writes stay in the
page cache of the operating system. Rows are medians, ratios medians of the pairs' ratios. Needs
fio with the engine `nbd`, nbdkit, Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """One run of fio: requests per second until the last is durable, if it is asked for."""

    iops: float
    cpu_us: float  #: of the server, per request


@contextmanager
def serving(program: str, file: Path, socket: Path, cache: str) -> Iterator[int]:
    """A server and its process number."""
    if program == "serve":
        destage = Path(sys.executable).with_name("destage")
        address = ["--listen", f"unix:{socket}", "--every", "0"]
        command = [str(destage), "serve", str(file), "-c", cache, *address]
    else:
        command = ["nbdkit", "--foreground", "--unix", str(socket), "file", str(file)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            while not socket.exists():
                if server.poll() is not None:
                    raise SystemExit(f"{command[0]}: ended with status {server.returncode}")
                time.sleep(0.01)
            yield server.pid
        finally:
            server.send_signal(signal.SIGTERM)


def cpu_s(process: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def measured(program: str, rw: str, folder: Path, args: argparse.Namespace) -> Run:
    """One run, in files that are gone afterwards."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        file, socket = Path(name, "disk.img"), Path(name, "socket")
        with file.open("wb") as disk:
            for _ in range(args.mib):
                disk.write(os.urandom(MIB))
            os.fsync(disk.fileno())
        fio = ["fio", "--name=nbd", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={socket}"]
        fio += [f"--rw={rw}", "--bs=4k", f"--iodepth={args.depth}", f"--size={args.mib}m"]
        fio += ["--norandommap", "--time_based", f"--runtime={args.seconds}"]
        fio += ["--output-format=json"]
        fio += [f"--fsync={args.fsync}"] if args.fsync else []
        fio += ["--end_fsync=1"] if args.end_fsync else []
        with serving(program, file, socket, args.cache) as server:
            before, began = cpu_s(server), time.monotonic()
            text = subprocess.run(fio, check=True, capture_output=True, text=True).stdout
            seconds, cpu = time.monotonic() - began, cpu_s(server) - before
    job = json.loads(text[text.index("{") :])["jobs"][0]
    requests = job["read"]["total_ios"] + job["write"]["total_ios"]
    if not args.end_fsync:  # fio's own time excludes its start, and the last sync too
        seconds = max(job["read"]["runtime"], job["write"]["runtime"]) / 1000
    return Run(requests / seconds, cpu * 1e6 / requests)


def row(rw: str, folder: Path, args: argparse.Namespace) -> str:
    """Medians of the pairs, as a row of a Markdown table."""
    pairs = []
    for number in range(args.pairs):
        order = ("serve", "nbdkit")[:: 1 if number % 2 == 0 else -1]
        pairs.append({program: measured(program, rw, folder, args) for program in order})
    ratios = [pair["serve"].iops / pair["nbdkit"].iops for pair in pairs]

    def median(program: str, field: str) -> float:
        values: list[float] = [getattr(pair[program], field) for pair in pairs]
        return statistics.median(values)

    cells = [rw, str(folder), *(f"{median(of, 'iops'):,.0f}" for of in ("serve", "nbdkit"))]
    cells += [f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"]
    cells += [f"{median(of, 'cpu_us'):.1f}" for of in ("serve", "nbdkit")]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, action="append", help="on which file system")
    parser.add_argument("--rw", action="append", help="fio's patterns")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--depth", type=int, default=16)
    parser.add_argument("--mib", type=int, default=256, help="size of the file")
    parser.add_argument("--cache", default="64MiB", help="of serve")
    parser.add_argument("--fsync", type=int, help="writes from one flush to the next")
    parser.add_argument("--end-fsync", action="store_true", help="the time of a last flush counts")
    args = parser.parse_args()
    print("| fio | file on | serve, IOPS | nbdkit, IOPS | ratio | serve, CPU us | nbdkit |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for folder in args.folder or [Path.cwd()]:
        for rw in args.rw or ["randread", "randrw", "randwrite"]:
            print(row(rw, folder, args), flush=True)


if __name__ == "__main__":
    main()
