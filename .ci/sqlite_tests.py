#!/usr/bin/env python3
"""Run SQLite's own test scripts under Destage's page cache (`docs/spec/pool.md` 15).

SQLite's test program has SQLite inside, where no library reaches it. So its source is built once
more: SQLite as a shared library, with the test hooks, and the test program without it. Needs a
source folder of SQLite (3.40), Tcl with its headers, a C compiler and make; `make sqlite-tests
SQLITE=FOLDER` calls it. Ends with 1 if a script has an error that SQLite's own page cache has not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

#: The scripts. Those with `malloc` in their name count the allocations of the built-in cache.
SCRIPTS = (
    *("pager1", "wal*", "crash*", "savepoint*", "backup*", "corrupt*", "ioerr*", "shared*"),
    *("vacuum*", "thread*"),
)
LEFT_OUT = ("malloc", "pcache2", "memsubsys1")
#: Scripts whose errors say nothing, with the reason.
EXPECTED = {
    "walcrash2": "it counts the pages that are spilled from 15 frames, of which the built-in cache "
    "pins 13 and this one 14",
}

#: A statement that succeeded although one allocation failed. The built-in cache marks such an
#: allocation of its own as benign, and these tests count the others; a library has no such mark.
SUCCEEDED = re.compile(r"^! (\S+\.transient\.\d+) got: +\[0 \{\}\]$", re.MULTILINE)

#: On top of SQLite's own Makefile, with its flags.
RULES = """
include Makefile
libsqlite3.so.0: sqlite3.c
\t$(TCC) -fPIC -shared -Wl,-soname,$@ $(TEMP_STORE) $(TESTFIXTURE_FLAGS) -o $@ sqlite3.c $(TLIBS)
fixture: $(TESTSRC) libsqlite3.so.0
\t$(TCC) $(TEMP_STORE) $(TESTFIXTURE_FLAGS) -DSQLITE_NO_SYNC=1 -o $@ $(TESTSRC) \\
\t\t$(TOP)/src/tclsqlite.c ./libsqlite3.so.0 -Wl,-rpath,'$$ORIGIN' $(LIBTCL) $(TLIBS)
"""


@dataclass(frozen=True)
class Ran:
    """How a script ended: its count of tests, and the names of those with an error."""

    script: str
    tests: int | None
    errors: frozenset[str]


def build(source: Path, folder: Path) -> Path:
    """Build the test program; return it."""
    (folder / "destage.mk").write_text(RULES, encoding="utf-8")
    flags = {"CFLAGS": "-O1 -w", **os.environ}
    if not (folder / "Makefile").exists():
        run([str(source / "configure"), "--enable-all"], folder, flags)
    run(["make", "-f", "destage.mk", "fixture"], folder, flags)
    return folder / "fixture"


def run(command: list[str], folder: Path, env: dict[str, str]) -> None:
    """Run a command; end with its own words where it fails."""
    print(f"sqlite-tests: {Path(command[0]).name} {' '.join(command[1:])}", flush=True)
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
        raise SystemExit(f"sqlite-tests: {Path(command[0]).name} ended with {done.returncode}")


def scripts(source: Path, wanted: list[str]) -> Iterator[Path]:
    """Return the scripts of these names, in order."""
    for pattern in wanted:
        found = sorted((source / "test").glob(f"{pattern}.test"))
        if not found:
            raise SystemExit(f"sqlite-tests: {source}/test/{pattern}.test: no such script")
        yield from (path for path in found if not any(part in path.name for part in LEFT_OUT))


def played(fixture: Path, script: Path, env: dict[str, str], seconds: float) -> Ran:
    """Run a script in a folder of its own, and not as root: root may write what others may not."""
    with tempfile.TemporaryDirectory(prefix="sqlite-") as name:
        nobody = 65534 if os.geteuid() == 0 else None
        if nobody is not None:
            os.chown(name, nobody, nobody)
        try:
            done = subprocess.run(
                [str(fixture), str(script)],
                cwd=name,
                env=env,
                capture_output=True,
                timeout=seconds,
                user=nobody,
                group=nobody,
                extra_groups=[] if nobody is not None else None,
            )
        except subprocess.TimeoutExpired:
            return Ran(script.stem, None, frozenset({"too long"}))
    said = (done.stdout + done.stderr).decode(errors="replace")
    total = re.search(r"^(\d+) errors out of (\d+) tests", said, re.MULTILINE)
    if total is None:
        last = said.strip().splitlines()[-1:] or ["no output"]
        return Ran(script.stem, None, frozenset({f"no count, status {done.returncode}: {last[0]}"}))
    wrong = re.findall(r"^!Failures on these tests:(.*)$", said, re.MULTILINE)
    names = frozenset(name for line in wrong for name in line.split())
    names = names or frozenset(["?"] * (int(total[1]) > 0))
    return Ran(script.stem, int(total[2]), names - frozenset(SUCCEEDED.findall(said)))


def compared(fixture: Path, script: Path, given: argparse.Namespace) -> tuple[Ran, frozenset[str]]:
    """Run a script under the policy; its errors that SQLite's own page cache has not."""
    kept = {k: v for k, v in os.environ.items() if "PRELOAD" not in k and "DESTAGE" not in k}
    env = {**kept, "LD_PRELOAD": str(given.library), "DESTAGE_PCACHE": given.policy}
    ran = played(fixture, script, env, given.seconds)
    own = played(fixture, script, kept, given.seconds).errors if ran.errors else frozenset()
    return ran, ran.errors - own


def main() -> int:
    """Build, run, print; return the exit status."""
    parser = argparse.ArgumentParser(description="SQLite's test scripts under a policy.")
    parser.add_argument("source", type=Path, help="source folder of SQLite")
    parser.add_argument("script", nargs="*", default=list(SCRIPTS), help="names, as in wal*")
    parser.add_argument("--library", type=Path, required=True, help="what destage pcache prints")
    parser.add_argument("--policy", default="s3-fifo")
    parser.add_argument("--build", type=Path, required=True, help="folder of the build, kept")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=1800, help="most for a script")
    parser.add_argument("--json", type=Path, help="results")
    given = parser.parse_args()
    given.library, source = given.library.resolve(strict=True), given.source.resolve(strict=True)
    given.build.mkdir(parents=True, exist_ok=True)
    fixture = build(source, given.build.resolve())
    tests, wrong, results = 0, 0, []
    with ThreadPoolExecutor(given.jobs) as pool:
        found = list(scripts(source, given.script))
        for ran, errors in pool.map(lambda script: compared(fixture, script, given), found):
            tests, wrong = tests + (ran.tests or 0), wrong + len(errors)
            reason = EXPECTED.get(ran.script)
            if errors and reason:
                wrong -= len(errors)
                said = f"{len(errors)} errors, expected: {reason}"
            else:
                said = ", ".join([*sorted(errors)[:5], *(["..."] * (len(errors) > 5))]) or "ok"
            also = len(ran.errors - errors)
            said += f" ({also} errors with SQLite's own page cache, too)" if also else ""
            print(f"sqlite-tests: {ran.script}: {ran.tests} tests: {said}", flush=True)
            results.append({"script": ran.script, "tests": ran.tests, "errors": sorted(errors)})
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(
        f"sqlite-tests: {len(results)} scripts, {tests} tests under {given.policy}: {wrong} errors"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
