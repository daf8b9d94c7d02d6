"""Rates of Destage, and ratios to its peers where they are found. See README.md beside this file.

Run by ``make bench``; needs the command ``destage`` and ``cargo`` on the path, nothing else.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import devices

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "bench"
ROUNDS = 3
SIZES = ("1%", "10%")

# Our name, libCacheSim's name, what we promise (design: section 8), times the peer's rate.
POLICIES = (
    ("lru", "lru", 5.0),
    ("fifo", "fifo", 5.0),
    ("clock", "clock", 5.0),
    ("sieve", "sieve", 5.0),
    ("arc", "arc", 5.0),
    ("2q", "2q", 8.0),
    ("lirs", "lirs", 8.0),
    ("s3-fifo", "s3fifo", 8.0),
    ("w-tinylfu", "wtinylfu", 8.0),
    ("min", "belady", 8.0),
)
PROMISED_TOTAL = 6.0

# The further policies, with libCacheSim's name where it has them; what is promised is their cost
# against LRU (benches/README.md). Those of sampled or learned choice state theirs.
FURTHER = (
    ("casa", None),
    ("larc", None),
    ("car", "car"),
    ("clock-sweep", None),
    ("clock-pro", "clockpro"),
    ("lfu", "lfu"),
    ("lfu-da", "lfuda"),
    ("slru", "slru"),
    ("random", "random"),
    ("lb-clock", None),
    ("watt", None),
    ("hyperbolic", "hyperbolic"),
    ("lecar", "lecar"),
)

# Cost against LRU over eight sizes, evenly spaced in the logarithm: our name, the most promised.
COSTS = (
    *(("cfdc", 4.0), ("lru-k", 4.0), ("mq", 2.5)),
    *((name, None if name in ("watt", "hyperbolic", "lecar") else 3.0) for name, _ in FURTHER),
)
COST_SIZES = "0.1%,0.243%,0.59%,1.434%,3.486%,8.469%,20.58%,50%"
PARTS = ("zipf", "arc", "curve", "further", "costs", "growth", "text", "drive", "ftls", "peers")


def say(text: str = "") -> None:
    print(text, flush=True)


def destage(*arguments: str) -> None:
    command = Path(sys.executable).with_name("destage")
    subprocess.run([str(command), *arguments], check=True)


def bench(binary: Path, *arguments: str) -> list[dict[str, object]]:
    done = subprocess.run(
        [str(binary), "--bench", *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def build(package: str = "destage-engine", name: str = "replay") -> Path:
    """A bench's binary, as cargo names it."""
    done = subprocess.run(
        [
            "cargo",
            "bench",
            "-p",
            package,
            "--bench",
            name,
            "--no-run",
            "--message-format",
            "json",
        ],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == name:
            return Path(message["executable"])
    raise SystemExit("cargo built no bench binary")


def cpu_of(command: list[str], cwd: Path | None = None) -> float:
    """User and system seconds of a process, the least of some rounds."""
    least = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def made(path: Path, *arguments: str) -> Path:
    """A file that a destage command writes, made once."""
    if not path.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        destage(*arguments, str(path))
    return path


def zipf_file() -> Path:
    requests = os.environ.get("DESTAGE_BENCH_REQUESTS", "20000000")
    return made(
        WORK / f"zipf-{requests}.oracleGeneral",
        *("trace", "synth", "zipf", "--pages", "1000000", "--alpha", "1.0", "--seed", "42"),
        *("--size", "1"),
        *("--requests", requests, "--read-ratio", "1", "--to", "oracle-general", "--output"),
    )


def arc_file(binary: Path) -> Path | None:
    folder = Path(os.environ.get("DESTAGE_TRACES", ROOT.parent / "shared" / "traces"))
    source = folder / "arc_P6.lis.xz"
    if not source.exists():
        return None
    path = WORK / "arc_P6.oracleGeneral"
    if not path.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        bench(binary, str(source), "--format", "arc", "--export", str(path))
    return path


def replay(binary: Path, name: str, file: Path, rows: list[dict[str, object]]) -> None:
    cachesim = os.environ.get("DESTAGE_BENCH_CACHESIM")
    reader = ("--format", "oracle-general", "--object", "opaque")
    decode = bench(binary, str(file), *reader, "--decode-only", "--no-trace-cache")[0]
    lines = bench(
        binary,
        *(str(file), *reader, "--cache", ",".join(SIZES), "--rounds", str(ROUNDS)),
        *("--policies", ",".join(p for p, _, _ in POLICIES)),
    )
    runs = [line for line in lines if line["what"] == "replay"]
    say(f"\n{name}: {decode['accesses']:,} accesses, {decode['unique_pages']:,} pages")
    say(f"  decoding, ids included: {decode['cpu_s']:.2f} s of CPU")
    say(
        f"  {'policy':<10} {'frames':>9} {'M acc/s':>8} {'misses':>12} {'peer M/s':>9} {'ratio':>6}  promised"
    )
    ours, theirs = float(decode["cpu_s"]), 0.0
    peer_names = {ours: (theirs, promise) for ours, theirs, promise in POLICIES}
    for run in runs:
        rate = run["accesses_per_s"] / 1e6
        row = {"workload": name, **run, "peer_cpu_s": None, "ratio": None}
        text = f"  {run['policy']:<10} {run['frames']:>9,} {rate:>8.1f} {run['misses']:>12,}"
        if run["policy"] in peer_names:
            peer, promise = peer_names[run["policy"]]
            ours += run["cpu_s"]
            if cachesim:
                cpu = cpu_of(
                    [
                        cachesim,
                        str(file),
                        "oracleGeneral",
                        peer,
                        str(run["frames"]),
                        "--ignore-obj-size",
                        "1",
                        "--num-thread",
                        "1",
                    ],
                    cwd=WORK,
                )
                theirs += cpu
                row["peer_cpu_s"], row["ratio"] = cpu, cpu / run["cpu_s"]
                text += (
                    f" {run['accesses'] / cpu / 1e6:>9.1f} {row['ratio']:>5.1f}x  {promise:.0f}x"
                )
        rows.append(row)
        say(text)
    lru = {run["frames"]: run for run in runs if run["policy"] == "lru"}
    for bare in (run for run in runs if run["policy"] == "bare-lru"):
        with_engine = lru[bare["frames"]]
        say(
            f"  LRU at {bare['frames']:,} frames takes {with_engine['cpu_s'] / bare['cpu_s']:.2f}x the bare loop (promised 1.3x on zipf)"
        )
    for run in lru.values():
        heap, pages, frames = run["heap_bytes"], run["unique_pages"], run["frames"]
        say(f"  LRU at {frames:,} frames: heap {heap:,} bytes; allowed {32 * (pages + frames):,}")
    if cachesim:
        say(f"  all runs, decoding included: {theirs / ours:.1f}x (promised {PROMISED_TOTAL:.0f}x)")
    else:
        say("  no ratios: set DESTAGE_BENCH_CACHESIM to libCacheSim's cachesim")


def further(binary: Path, name: str, file: Path, rows: list[dict[str, object]]) -> None:
    """The further policies over one workload, beside LRU of the same run and beside their peers."""
    cachesim = os.environ.get("DESTAGE_BENCH_CACHESIM")
    peers = dict(FURTHER)
    lines = bench(
        binary,
        *(str(file), "--format", "oracle-general", "--object", "opaque"),
        *("--cache", ",".join(SIZES), "--rounds", str(ROUNDS)),
        *("--policies", ",".join(("lru", *peers))),
    )
    runs = [line for line in lines if line.get("policy") in ("lru", *peers)]
    lru = {run["frames"]: run["cpu_s"] for run in runs if run["policy"] == "lru"}
    say(f"\nfurther policies, {name}")
    say(f"  {'policy':<12} {'frames':>9} {'M acc/s':>8} {'misses':>12} {'of LRU':>7} {'peer':>7}")
    for run in runs:
        cost = run["cpu_s"] / lru[run["frames"]]
        row = {"workload": f"{name} further", **run, "of_lru": cost}
        text = (
            f"  {run['policy']:<12} {run['frames']:>9,} {run['accesses_per_s'] / 1e6:>8.1f}"
            f" {run['misses']:>12,} {cost:>6.2f}x"
        )
        peer = peers.get(run["policy"])
        if cachesim and peer:
            command = [cachesim, str(file), "oracleGeneral", peer, str(run["frames"])]
            try:
                cpu = cpu_of([*command, "--ignore-obj-size", "1", "--num-thread", "1"], cwd=WORK)
            except subprocess.CalledProcessError:  # not every version has all of them
                text += "  it ends with an error"
            else:
                row["peer_cpu_s"], row["ratio"] = cpu, cpu / run["cpu_s"]
                text += f" {row['ratio']:>6.1f}x"
        rows.append(row)
        say(text)


def costs(binary: Path, rows: list[dict[str, object]]) -> None:
    """Time per access of what costs more than LRU, over eight sizes of a recorded trace."""
    folder = Path(os.environ.get("DESTAGE_TRACES", ROOT.parent / "shared" / "traces"))
    file = folder / "own" / "pgtpcb.csv.xz"
    if not file.exists():
        say("\ncosts: skipped, own/pgtpcb.csv.xz is not in DESTAGE_TRACES")
        return
    lines = bench(
        binary,
        *(str(file), "--format", "msr", "--page-bytes", "4096", "--no-trace-cache"),
        *("--cache", COST_SIZES, "--rounds", str(ROUNDS)),
        *("--policies", ",".join(("lru", *(name for name, _ in COSTS)))),
    )
    total: dict[object, float] = {}
    for run in (line for line in lines if line["what"] == "replay"):
        total[run["policy"]] = total.get(run["policy"], 0.0) + run["cpu_s"]
        rows.append({"workload": "pgtpcb costs", **run})
    say("\ncosts against LRU, own/pgtpcb, eight sizes from 0.1 % to 50 % of the pages together")
    for name, most in COSTS:
        promise = f"(promised {most:.1f}x)" if most else "(no promise)"
        say(f"  {name:<12} {total[name] / total['lru']:>6.2f}x  {promise}")


def curve(binary: Path, name: str, file: Path, rows: list[dict[str, object]]) -> None:
    """LRU at every size in one pass, against runs of it at single sizes in the same process."""
    reader = ("--format", "oracle-general", "--object", "opaque", "--no-trace-cache", "--curve")
    sizes = ("0.1%", "1%", "10%", "50%")
    asked = ("--policies", "lru", "--cache", ",".join(sizes), "--rounds", str(ROUNDS))
    lines = bench(binary, str(file), *reader, *asked)
    runs = [line for line in lines if line["what"] == "replay" and line["policy"] != "bare-lru"]
    rows.extend({"workload": f"{name} curve", **run} for run in runs)
    every, *single = runs
    say(f"\nLRU at every size, {name}: {every['frames']:,} sizes in one pass")
    for size, run in zip(sizes, single, strict=True):
        say(f"  {every['cpu_s'] / run['cpu_s']:>6.2f} runs at {size}  (promised 2 at 10 %)")
    shared(binary, name, file, rows)


def shared(binary: Path, name: str, file: Path, rows: list[dict[str, object]]) -> None:
    """Eight sizes of FIFO, CLOCK and SIEVE in one pass, against a run each in the same process."""
    reader = ("--format", "oracle-general", "--object", "opaque", "--no-trace-cache", "--shared")
    policies = ("fifo", "clock", "sieve")
    asked = ("--policies", ",".join(policies), "--cache", COST_SIZES, "--rounds", str(ROUNDS))
    lines = [line for line in bench(binary, str(file), *reader, *asked) if line["what"] == "replay"]
    rows.extend({"workload": f"{name} shared", **line} for line in lines)
    say(f"\neight sizes in one pass, {name}")
    for policy in policies:
        alone = sum(line["cpu_s"] for line in lines if line["policy"] == policy)
        together = next(line["cpu_s"] for line in lines if line["policy"] == f"{policy}-shared")
        say(f"  {policy:<10} {alone / together:>6.2f}x of eight runs")


def growth(binary: Path, rows: list[dict[str, object]]) -> None:
    say("\ngrowth: time per access over the same 100,000 pages, LRU, 1 %")
    for requests in (1_000_000, 10_000_000, 100_000_000):
        file = made(
            WORK / f"growth-{requests}.oracleGeneral",
            *("trace", "synth", "zipf", "--pages", "100000", "--seed", "1", "--read-ratio", "1"),
            *("--size", "1"),
            *("--requests", str(requests), "--to", "oracle-general", "--output"),
        )
        lines = bench(
            binary,
            *(str(file), "--format", "oracle-general", "--object", "opaque"),
            *("--policies", "lru", "--cache", "1%", "--rounds", "3"),
        )
        run = next(line for line in lines if line.get("policy") == "lru")
        nanoseconds = run["cpu_s"] / run["accesses"] * 1e9
        rows.append({"workload": f"growth-{requests}", **run})
        say(
            f"  {requests:>11,} accesses: {nanoseconds:5.2f} ns each, heap {run['heap_bytes']:,} bytes"
        )


def msr_file() -> Path:
    """A CSV in the MSR layout, written line by line from a fixed pattern of sizes and places."""
    size = int(os.environ.get("DESTAGE_BENCH_CSV_BYTES", "1000000000"))
    path = WORK / f"msr-{size}.csv"
    if not path.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        state, time, written = 88172645463325252, 128166372000000000, 0
        with temporary.open("w") as out:
            while written < size:
                lines = []
                for _ in range(10_000):
                    state ^= (state << 13) & (2**64 - 1)
                    state ^= state >> 7
                    state ^= (state << 17) & (2**64 - 1)
                    time += state % 20_000
                    kind = "Read" if state & 3 else "Write"
                    offset = (state >> 20) % 30_000_000 * 512
                    length = 512 << (state >> 8) % 8
                    lines.append(f"{time},demo,0,{kind},{offset},{length},{state % 90_000}\n")
                block = "".join(lines)
                written += len(block)
                out.write(block)
        temporary.rename(path)
    return path


POLARS = """
import resource, sys
import polars
columns = ["time", "host", "disk", "kind", "offset", "size", "response"]
before = resource.getrusage(resource.RUSAGE_SELF)
frame = polars.read_csv(sys.argv[1], has_header=False, new_columns=columns)
after = resource.getrusage(resource.RUSAGE_SELF)
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""


def text(binary: Path, rows: list[dict[str, object]]) -> None:
    file = msr_file()
    cpu = min(
        bench(binary, str(file), "--format", "msr", "--decode-only", "--no-trace-cache")[0]["cpu_s"]
        for _ in range(ROUNDS)
    )
    size = file.stat().st_size
    rows.append({"workload": "msr-csv", "policy": "decode", "cpu_s": cpu})
    say(f"\ntext: MSR layout, {size:,} bytes")
    say(f"  file to columns, ids included: {size / cpu / 1e9:.2f} GB per CPU second")
    python = os.environ.get("DESTAGE_BENCH_POLARS")
    if not python:
        say("  no ratio: set DESTAGE_BENCH_POLARS to a Python that has polars")
        return
    peer = min(
        float(subprocess.check_output([python, "-c", POLARS, str(file)], text=True))
        for _ in range(ROUNDS)
    )
    rows[-1].update(peer_cpu_s=peer, ratio=peer / cpu)
    say(
        f"  polars, the same columns, no ids: {size / peer / 1e9:.2f} GB per CPU second: {peer / cpu:.1f}x (promised 3x)"
    )


def record(rows: list[dict[str, object]]) -> None:
    machine = f"{platform.machine()}-{os.cpu_count()}-cores"
    path = ROOT / "benches" / "record" / machine / f"{datetime.date.today()}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, keys)
        writer.writeheader()
        writer.writerows(rows)
    say(f"\nkept in {path.relative_to(ROOT)}")


def parts(text: str) -> set[str]:
    """What `--only` names."""
    named = set(text.split(","))
    if unknown := named - set(PARTS):
        raise argparse.ArgumentTypeError(
            f"expected some of {', '.join(PARTS)}, got {', '.join(sorted(unknown))}"
        )
    return named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="keep the numbers in benches/record")
    parser.add_argument(
        "--only", metavar="PART[,PART]", type=parts, help=f"some parts only: {', '.join(PARTS)}"
    )
    arguments = parser.parse_args()
    if shutil.which("cargo") is None:
        raise SystemExit("benches need cargo on the path")
    binary = build()
    rows: list[dict[str, object]] = []
    wanted = arguments.only or set(PARTS)
    if "zipf" in wanted:
        replay(binary, "zipf(1.0)", zipf_file(), rows)
    if "arc" in wanted:
        file = arc_file(binary)
        if file:
            replay(binary, "arc_P6", file, rows)
        else:
            say("\narc_P6: skipped, arc_P6.lis.xz is not in DESTAGE_TRACES")
    if "curve" in wanted:
        curve(binary, "zipf(1.0)", zipf_file(), rows)
    if "further" in wanted:
        further(binary, "zipf(1.0)", zipf_file(), rows)
    if "costs" in wanted:
        costs(binary, rows)
    if "growth" in wanted:
        growth(binary, rows)
    if "text" in wanted:
        text(binary, rows)
    if "ftls" in wanted:
        devices.ftls(build("destage-ssd", "ftls"), rows, say)
    if wanted & {"drive", "peers"}:
        timed = build(name="timed")
        if "drive" in wanted:
            devices.steady(timed, build("destage-ssd", "device"), rows, say)
        if "peers" in wanted:
            devices.compared(timed, WORK, destage, rows, say)
    if arguments.record:
        record(rows)


if __name__ == "__main__":
    main()
