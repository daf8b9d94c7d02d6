#!/usr/bin/env python3
"""Instructions of six loops, an access: they do not depend on how busy a machine is.

    .venv/bin/python benches/instructions.py                   print them beside the record
    .venv/bin/python benches/instructions.py --check           status 1 if one takes 10 % more
    .venv/bin/python benches/instructions.py --record          keep them
    .venv/bin/python benches/instructions.py --beside PYTHON   ratios to another installation: a wheel's

Each loop runs twice under valgrind's callgrind, over few and over many accesses; the difference is
the loop's alone. Another compiler makes other numbers: then nothing is checked, and that is said.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

RECORD = Path(__file__).resolve().parent / "record" / "instructions.json"
#: Share by which a loop may take more than the record says.
MOST = 0.1
FEW, MANY = 100_000, 400_000

#: What runs between opening and the end, with `t` a trace of `n` accesses.
LOOPS = {
    "curve": "d.mrc(t, 'lru', jobs=1)",
    "info": "d.open_trace(p, cache=False).info()",
    "decode": "d.open_trace(p, cache=False)",
    "untimed": "d.compare(t, 's3-fifo', cache='10%', jobs=1)",
    "timed": "d.compare(t, 'lru', cache='1%', device=drive, queue_depth=8, jobs=1)",
    "steps": "d.compare(t, 'lru', cache='1%', device=drive, queue_depth=8, jobs=1)",
}
#: What makes a trace: subtracted from loops that replay it.
MAKING = "making"
#: Devices that traces are made for: one that is full and collects.
DEVICES = {"timed": "small[gc_step_pages=0]", "steps": "small[gc_step_pages=1]"}
#: Loops that read the file at `p`.
TEXT = ("info", "decode")

PROGRAM = """
import sys, destage as d
p, drive = sys.argv[1:]
{trace}
{loop}
"""


def write_msr(file: Path, accesses: int) -> None:
    """A trace as text, in the layout of MSR Cambridge."""
    draw = random.Random(1)
    with file.open("w", encoding="ascii") as out:
        for at in range(accesses):
            kind = "Read" if draw.random() < 0.5 else "Write"
            page = int(100_000 * draw.random() ** 3)
            out.write(f"{128166372003061629 + 10_000 * at},host,0,{kind},{4096 * page},4096,1000\n")


def instructions(python: str, loop: str, accesses: int, folder: Path) -> int:
    """Instructions of the whole process."""
    file = folder / f"{accesses}.csv"
    make = f"t = d.synth('zipf', requests={accesses}, pages=100_000, read_ratio=0.5, seed=1, cache=False"
    make += ", device=drive, wrap='modulo')" if loop in DEVICES else ")"
    environment = {**os.environ, "PYTHONHASHSEED": "0", "DESTAGE_CACHE": str(folder / "cache")}
    if loop in TEXT and not file.exists():
        write_msr(file, accesses)
    program = PROGRAM.format(trace="" if loop in TEXT else make, loop=LOOPS.get(loop, ""))
    if loop in DEVICES:
        # Its state at time 0 is kept: not in one count, and read in the other.
        words = [python, "-c", program, str(file), DEVICES[loop]]
        subprocess.run(words, check=True, env=environment)
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", python, "-c"]
    command += [program, str(file), DEVICES.get(loop, "")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or found is None:
        raise SystemExit(f"instructions: {loop} ended with status {done.returncode}\n{done.stderr}")
    return int(found[1])


@cache
def per_access(python: str, loop: str, folder: Path) -> float:
    """Instructions of an access in the loop; those of the trace's making are taken off."""
    few, many = (instructions(python, loop, count, folder) for count in (FEW, MANY))
    made = 0.0 if loop in TEXT or loop == MAKING else per_access(python, MAKING, folder)
    return (many - few) / (MANY - FEW) - made


def compiler() -> str:
    """The version of the compiler here."""
    return subprocess.run(
        ["rustc", "--version"], capture_output=True, text=True, check=True
    ).stdout.split()[1]


def main() -> int:
    """Measure, and do what was asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--beside", metavar="PYTHON")
    parser.add_argument("--only", choices=LOOPS, action="append")
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("instructions: valgrind is missing: nothing was counted", file=sys.stderr)
        return 0 if given.check else 1
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"loops": {}}
    same = known.get("rustc") == compiler()
    if given.check and not same:
        print(
            f"instructions: recorded with rustc {known.get('rustc')}, here is {compiler()}: nothing"
            " is checked",
            file=sys.stderr,
        )
        return 0
    found, worse = {}, []
    with tempfile.TemporaryDirectory() as made:
        for loop in given.only or LOOPS:
            count = found[loop] = per_access(sys.executable, loop, Path(made))
            before = known["loops"].get(loop)
            line = f"{loop:<8} {count:8.1f} instructions an access"
            if before is not None:
                line += f", {count / before:.3f} of the record"
                worse += [loop] if count > (1 + MOST) * before else []
            if given.beside:
                line += f", {count / per_access(given.beside, loop, Path(made)):.3f} of the other"
            print(line, flush=True)
    if given.record:
        data = {"rustc": compiler(), "profile": "setup", "loops": {**known["loops"], **found}}
        rounded = {name: round(count, 1) for name, count in data["loops"].items()}
        RECORD.write_text(json.dumps({**data, "loops": rounded}, indent=1) + "\n", encoding="utf-8")
    if given.check and worse:
        print(
            f"instructions: {', '.join(worse)}: more than {100 * MOST:.0f} % above the record. If"
            " that is meant: benches/instructions.py --record, and say why in the commit",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
