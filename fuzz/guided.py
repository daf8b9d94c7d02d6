"""Fuzz the targets guided by coverage, with the address sanitizer and every sum checked.

    python fuzz/guided.py [--time SECONDS] [--jobs N] [--seed N] [TARGET...]

SECONDS are of processor time. Wants Linux, a nightly toolchain and cargo-fuzz (libFuzzer). Corpora
grow in `fuzz/corpus`; what breaks a target is written to `fuzz/finds/TARGET/`, and the status is 1.
Prints a line for each target: executions, processor time, edges of the program that inputs reached,
inputs kept, finds.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CARGO = os.environ.get("CARGO", "cargo")
#: Longest input, as the driver on the stable toolchain has it.
MOST_BYTES = 1 << 16
#: Seconds after which an input hangs: that driver's minute of processor time is ten times as long
#: under the sanitizer, and these are of a clock on the wall.
PATIENCE = 1200
#: What libFuzzer's status is if it is asked to end.
INTERRUPTED = 72


@dataclass(frozen=True)
class Run:
    """The message of libFuzzer about a target."""

    target: str
    executions: int
    processor_s: float
    edges: int
    kept: int
    broke: bool

    def __str__(self) -> str:
        return (
            f"{self.target:<12} {self.executions:>11,} inputs {self.processor_s:>7.0f} s of CPU "
            f"{self.edges:>7,} edges {self.kept:>6,} kept  {'a find' if self.broke else 'no find'}"
        )


def built() -> Path:
    """Build libFuzzer's driver; return its path."""
    target = HERE / "target"
    command = [CARGO, "+nightly", "fuzz", "build", "any", "--target-dir", str(target)]
    if subprocess.run(command, cwd=HERE.parent, check=False).returncode:
        sys.exit("guided.py: needs rustup toolchain install nightly, cargo install cargo-fuzz")
    return next(target.glob("*/release/any"))


def names() -> list[str]:
    """Every target, as its source names it."""
    sources = sorted((HERE.parent / "crates/destage-fuzz/src/targets").glob("*.rs"))
    text = "".join(source.read_text("utf-8") for source in sources)
    return re.findall(r'^    name: "([a-z-]+)",$', text, re.MULTILINE)


def processor_s(pid: int) -> float:
    """Processor time of a process so far; what it was, if it has just ended."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(driver: Path, target: str, seconds: int, seed: int) -> Run:
    """Feed a target for its time."""
    corpus, finds = HERE / "corpus" / target, HERE / "finds" / target
    finds.mkdir(parents=True, exist_ok=True)
    before = set(finds.iterdir())
    sampled = [CARGO, "run", "--release", "--quiet", "--locked", "-p", "destage-fuzz", "--", target]
    subprocess.run([*sampled, "--samples", str(corpus)], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(
            [
                str(driver),
                str(corpus),
                f"-max_len={MOST_BYTES}",
                f"-timeout={PATIENCE}",
                f"-report_slow_units={PATIENCE}",
                f"-artifact_prefix={finds}/",
                f"-seed={seed}",
                "-print_final_stats=1",
                "-rss_limit_mb=4096",
            ],
            env={**os.environ, "DESTAGE_FUZZ_TARGET": target},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            if processor_s(process.pid) >= seconds:
                process.send_signal(signal.SIGINT)  # it ends, and says what it did
            time.sleep(0.2)
        _, wait, used = ended
        status = os.waitstatus_to_exitcode(wait)
        said.seek(0)
        text = said.read()
    found = sorted(set(finds.iterdir()) - before)
    if status not in (0, INTERRUPTED) and not found:
        sys.exit(f"guided.py: {target} ended with status {status}:\n{text[-2000:]}")
    edges, kept = re.findall(r"\bcov: (\d+) .*?corp: (\d+)", text)[-1]
    executions = re.findall(r"number_of_executed_units: (\d+)", text) or re.findall(
        r"^#(\d+)", text, re.MULTILINE
    )
    for path in found:
        print(f"{target}: input in {path.relative_to(HERE.parent)}", file=sys.stderr)
    cpu_s = used.ru_utime + used.ru_stime
    return Run(target, int(executions[-1]), cpu_s, int(edges), int(kept), bool(found))


def main() -> int:
    """Run the targets that are named, or all; return the exit status."""
    known = names()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*known, []], metavar="TARGET")
    parser.add_argument("--time", type=int, default=10, metavar="SECONDS")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    driver = built()
    with ThreadPoolExecutor(asked.jobs) as pool:
        runs = [pool.submit(run, driver, t, asked.time, asked.seed) for t in asked.targets or known]
        for done in runs:
            print(done.result(), flush=True)
    return 1 if any(r.result().broke for r in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
