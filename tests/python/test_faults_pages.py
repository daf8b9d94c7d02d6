"""Faults from outside where pages are written: `report` and `reproduce`, killed at random moments,
on a full disk, and with inputs that fail to be read.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import destage as ds

pytest.importorskip("altair")

#: A paper of a few tenths of a second: a drawn workload, a surrogate trace, and the recording that
#: is shipped.
PAPER = """
schema = 1
[paper]
name = "tiny"
title = "A tiny paper"
cite = "Nobody, 2026"
question = "Who hits more often?"
differs = ["It is a test."]
[policies]
LRU = "lru"
ARC = "arc"
[[workload]]
name = "zipf"
synth = { kind = "zipf", requests = 20000, pages = 3000, alpha = 1.0, size = "1", gap_ns = 100_000 }
note = "a test's"
[[runs]]
id = "counts"
workloads = ["zipf", "hm_0"]
recordings = ["pgtpcb"]
policies = ["LRU", "ARC"]
cache = ["16p", "64p"]
[[figure]]
id = "f1"
where = "figure 1"
title = "Hits"
runs = "counts"
metric = "hit_ratio"
mark = "line"
x = "cache"
panels = "workload"
[[claim]]
id = "more"
where = "figure 1"
says = "More cache, more hits."
[claim.check]
kind = "trend"
runs = "counts"
metric = "hit_ratio"
of = ["LRU", "ARC"]
along = "cache"
expect = "rises"
"""

#: The command, which knows one more paper.
MAIN = """
from pathlib import Path
import destage.cli.reproduce as command
from destage.cli import main
from destage.reproduce import load_paper
command.papers_of = lambda names: [load_paper(Path("tiny.toml"))]
main()
"""

#: The pages behind the first one, and its figure.
TINY = ("claims.md", "f1.svg", "figures.md", "setup.md")

#: What is run, what it writes, what it reads, and how it ends if that cannot be read.
COMMANDS: dict[str, tuple[list[str], list[str], str]] = {
    "report": (
        ["report", "r.json", "-o", "o.html"],
        ["o.html"],
        "r.json",
    ),
    "reproduce": (
        [
            *("reproduce", "tiny", "--scale", "0.002", "--seeds", "1", "--no-sensitivity"),
            *("--out", ".", "--pages", "."),
        ],
        ["tiny.html", "tiny.json", "tiny.md", *(f"tiny/{name}" for name in TINY)],
        "pgtpcb_first400k.csv.xz",
    ),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The paper, and a result."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "tiny.toml").write_text(PAPER)
    load = ds.synth("zipf", requests=3000, pages=500, seed=1)
    result = ds.compare(load, "lru,cflru", cache="5%,20%")
    (folder / "r.json").write_text(result.to_json())
    return folder


def folder_for(place: Path, inputs: Path, outputs: list[str]) -> Path:
    """A folder with links to the inputs, and old outputs."""
    place.mkdir()
    for path in inputs.iterdir():
        (place / path.name).symlink_to(path)
    renewed(place, outputs)
    return place


def renewed(place: Path, outputs: list[str]) -> None:
    for output in outputs:
        (place / output).parent.mkdir(exist_ok=True)
        (place / output).write_bytes(b"old")


def begun(place: Path, words: list[str], **more: str) -> subprocess.Popen[bytes]:
    # The recording that is read is the one that ships, whatever traces lie on this machine.
    cache = {"DESTAGE_CACHE": str(place.with_suffix(".cache")), "DESTAGE_TRACES": ""}
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, *words, "--quiet"],
        cwd=place,
        env={**os.environ, **cache, **more},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def ended(place: Path, words: list[str], **more: str) -> tuple[int, str]:
    """The status, and what was said but for warnings."""
    process = begun(place, words, **more)
    said = process.communicate()[1].decode().splitlines(keepends=True)
    return process.returncode, "".join(x for x in said if not x.startswith("destage: warning: "))


def written(place: Path) -> dict[str, bytes]:
    """All that is there beside the inputs."""
    files = (path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module", params=COMMANDS)
def undisturbed(
    request: pytest.FixtureRequest, inputs: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, bytes], float]:
    """A command, what it writes if nothing is in its way, and how long it takes."""
    words, outputs, _ = COMMANDS[request.param]
    place = folder_for(tmp_path_factory.mktemp("undisturbed") / "run", inputs, outputs)
    start = time.monotonic()
    assert ended(place, words) == (0, "")
    took, whole = time.monotonic() - start, written(place)
    assert sorted(whole) == outputs
    assert b"old" not in whole.values()
    return request.param, whole, took


@pytest.mark.slow
def test_a_killed_command_leaves_each_file_old_or_whole_and_the_next_writes_all(
    undisturbed: tuple[str, dict[str, bytes], float], inputs: Path, tmp_path: Path
) -> None:
    name, whole, took = undisturbed
    words, outputs, _ = COMMANDS[name]
    place, draw, killed = folder_for(tmp_path / "killed", inputs, outputs), random.Random(name), 0
    while killed < 3:
        renewed(place, outputs)
        process = begun(place, words)
        time.sleep(draw.uniform(0.3, 0.95) * took)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        else:
            # The undisturbed run was slower, since the machine was busier.
            took /= 2
        process.communicate()
        for output in outputs:
            assert (place / output).read_bytes() in (b"old", whole[output])
    assert ended(place, words) == (0, "")
    assert written(place) == whole


def test_an_input_that_cannot_be_read_ends_it_with_a_sentence_and_the_old_files(
    undisturbed: tuple[str, dict[str, bytes], float], inputs: Path, tmp_path: Path, shim: Path
) -> None:
    words, outputs, read = COMMANDS[undisturbed[0]]
    place = folder_for(tmp_path / "run", inputs, outputs)
    fault = {"FAULT_KIND": "eio", "FAULT_PATH": read, "FAULT_AFTER": "1000"}
    status, said = ended(place, words, LD_PRELOAD=str(shim), **fault)
    assert (status, said.count("\n")) == (66, 1), said
    assert said.startswith("destage: "), said
    assert f"{read}: Input/output error" in said
    assert written(place) == dict.fromkeys(outputs, b"old")


@pytest.mark.parametrize("after", [0, 20_000])
def test_a_full_disk_ends_it_with_a_sentence_and_each_file_old_or_whole(
    undisturbed: tuple[str, dict[str, bytes], float],
    after: int,
    inputs: Path,
    tmp_path: Path,
    shim: Path,
) -> None:
    name, whole, _ = undisturbed
    words, outputs, _ = COMMANDS[name]
    place = folder_for(tmp_path / "run", inputs, outputs)
    fault = {"FAULT_KIND": "enospc", "FAULT_PATH": "/run/", "FAULT_AFTER": str(after)}
    status, said = ended(place, words, LD_PRELOAD=str(shim), **fault)
    assert (status, said.count("\n")) == (74, 1), said
    assert said.startswith("destage: "), said
    assert "No space left on device" in said
    there = written(place)
    assert sorted(there) == outputs, "nothing is left that was begun"
    assert all(there[output] in (b"old", whole[output]) for output in outputs)
    assert b"old" in there.values()
