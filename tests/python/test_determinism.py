"""The same inputs and the same seed give the same bytes, whatever the machine is set to.

Threads, a warm or a cold cache of decoded traces, language, time zone, the seed of hashes and the
umask change no byte of any output; nor does running again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: One way to run: what the environment says. (A report repeats the flags of its command.)
WAYS: dict[str, dict[str, str]] = {
    "again, from a warm cache": {},
    "one thread": {"DESTAGE_JOBS": "1"},
    "eight threads": {"DESTAGE_JOBS": "8"},
    "a cold cache": {"DESTAGE_CACHE": "cold"},
    "another language": {"LC_ALL": "C", "LANGUAGE": "tr"},
    "another time zone": {"TZ": "Asia/Kathmandu"},
    "other hashes": {"PYTHONHASHSEED": "4711"},
    "a strict umask": {"DESTAGE_TEST_UMASK": "077"},
}
#: All of them in two runs, for commands that draw or simulate a drive.
EVERYTHING: dict[str, dict[str, str]] = {
    "one thread, and all else": {k: v for way in WAYS.values() for k, v in way.items()}
    | WAYS["one thread"],
    "eight threads, and the rest as it was": WAYS["eight threads"],
}

#: What is run, and what it writes.
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "compare": (
        ["compare", "TRACE", "-p", "lru,arc,random,lecar,min", "-c", "10%,40%"],
        ["--json", "--csv"],
    ),
    "compare in front of a device": (
        ["compare", "TRACE", "-p", "lru,ecr,bplru", "-c", "20%", "-d", "small"],
        ["--json", "--report"],
    ),
    "run": (
        ["run", "TRACE", "-p", "acr-h", "-c", "20%", "-d", "small"],
        ["--json", "--decisions", "--timeline"],
    ),
    "tune": (
        ["tune", "TRACE", "-p", "cflru", "--param", "window_fraction=0.1:0.9:0.4", "-c", "20%"],
        ["--json"],
    ),
    "mrc": (["mrc", "TRACE", "-p", "lru,s3-fifo", "-c", "5%,20%"], ["--json", "--csv"]),
}

#: Endings of the outputs by flag.
ENDINGS = {"--report": "html", "--csv": "csv"}


def run(
    trace: Path, folder: Path, cache: Path, command: str, way: dict[str, str]
) -> dict[str, bytes]:
    """All outputs of a command, standard output among them, by name."""
    words, outputs = COMMANDS[command]
    folder.mkdir()
    # The same name wherever it runs: outputs say where their trace was.
    (folder / "trace.csv").write_bytes(trace.read_bytes())
    files = {flag: f"{flag.strip('-')}.{ENDINGS.get(flag, 'json')}" for flag in outputs}
    given = [w.replace("TRACE", "trace.csv") for w in words]
    given += [word for pair in files.items() for word in pair]
    code = (
        "import os; os.umask(int(os.environ.get('DESTAGE_TEST_UMASK', '022'), 8));"
        "from destage.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *given],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "DESTAGE_CACHE": str(cache), **way},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = {name: (folder / name).read_bytes() for name in files.values()}
    return {"standard output": done.stdout, **found}


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_but_the_input_decides(command: str, msr: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = run(msr, tmp_path / "first", cache, command, {})
    ways = WAYS if command == "compare" else EVERYTHING
    for number, way in enumerate(ways):
        found = run(msr, tmp_path / str(number), cache, command, ways[way])
        differing = [name for name in first if first[name] != found[name]]
        assert differing == [], f"{command}, {way}"
