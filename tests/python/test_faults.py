"""Faults from outside: commands that are killed, files that fail to be read, disks that are full.

Nothing is half-written, nothing that was there is lost, and nothing is left lying about.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import MAIN

import destage as ds

SPEC = """
[sweep]
traces = ["trace.csv"]
policies = ["lru", "cflru"]
cache = ["1%", "5%"]
"""

#: What is run, and what it writes.
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "compare": (
        ["compare", "trace.csv", "-p", "lru,arc", "-c", "1%,5%", "--csv", "o.csv"],
        ["o.csv"],
    ),
    "run": (
        ["run", "trace.csv", "-p", "lru", "-c", "5%", "--decisions", "o.jsonl", "--json", "o.json"],
        ["o.jsonl", "o.json"],
    ),
    "mrc": (["mrc", "trace.csv", "-p", "lru,clock", "--csv", "o.csv"], ["o.csv"]),
    "tune": (
        [
            *("tune", "trace.csv", "-p", "cflru", "--param", "window_fraction=0.1,0.5"),
            *("-c", "5%", "--csv", "o.csv"),
        ],
        ["o.csv"],
    ),
    "convert": (["trace", "convert", "trace.csv", "--to", "csv", "-o", "o.csv"], ["o.csv"]),
    "synth": (["trace", "synth", "zipf", "--requests", "200000", "-o", "o.csv"], ["o.csv"]),
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace that takes some tenths of a second to decode."""
    path, draw = tmp_path_factory.mktemp("trace") / "trace.csv", random.Random(5)
    with open(path, "w") as file:
        for k in range(40_000):
            op, page = draw.choice(["Read", "Write"]), int(20_000 * draw.random() ** 3)
            file.write(f"{128166372000000000 + k * 10_000},demo,0,{op},{page * 4096},4096,2310\n")
    return path


def folder_for(place: Path, trace: Path) -> Path:
    """A folder with the trace in it, and a cache of its own beside it."""
    place.mkdir()
    (place / "trace.csv").symlink_to(trace)
    return place


def environment(place: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "DESTAGE_CACHE": str(place.with_suffix(".cache")), **more}


def begun(place: Path, words: list[str], **more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*MAIN, *words, "--quiet"],
        cwd=place,
        env=environment(place, **more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def ended(place: Path, words: list[str], **more: str) -> tuple[int, str]:
    """The status, and what was said but for warnings."""
    process = begun(place, words, **more)
    _, said = process.communicate()
    lines = said.decode().splitlines(keepends=True)
    return process.returncode, "".join(x for x in lines if not x.startswith("destage: warning: "))


def written(place: Path) -> dict[str, bytes]:
    """All that is there beside the trace."""
    return {p.name: p.read_bytes() for p in place.iterdir() if p.name != "trace.csv"}


def left_in_the_cache(place: Path) -> list[str]:
    return [path.name for path in place.with_suffix(".cache").rglob(".tmp-*")]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_killed_command_leaves_is_whole_or_goes_with_the_next(
    name: str, trace: Path, tmp_path: Path
) -> None:
    words, outputs = COMMANDS[name]
    undisturbed = folder_for(tmp_path / "undisturbed", trace)
    start = time.monotonic()
    assert ended(undisturbed, words) == (0, "")
    took = time.monotonic() - start
    whole = written(undisturbed)
    assert sorted(whole) == sorted(outputs)
    place, draw, killed = folder_for(tmp_path / "killed", trace), random.Random(name), 0
    for _ in range(3):
        # As long as the first time: what was decoded is decoded again.
        shutil.rmtree(place.with_suffix(".cache"), ignore_errors=True)
        for output in outputs:
            (place / output).write_bytes(b"old")
        process = begun(place, words)
        time.sleep(draw.uniform(0.2, 0.8) * took)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
        for output in outputs:
            assert (place / output).read_bytes() in (b"old", whole[output])
    assert killed > 0
    assert ended(place, words) == (0, "")
    assert written(place) == whole
    assert left_in_the_cache(place) == []


@pytest.mark.parametrize("after", [0, 1, 700_001])
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "synth"])
def test_a_read_that_fails_ends_a_command_with_a_sentence_and_no_output(
    name: str, after: int, trace: Path, tmp_path: Path, shim: Path
) -> None:
    words, outputs = COMMANDS[name]
    place = folder_for(tmp_path / "run", trace)
    (place / outputs[0]).write_bytes(b"old")
    fault = {"FAULT_KIND": "eio", "FAULT_PATH": "trace.csv", "FAULT_AFTER": str(after)}
    status, said = ended(place, words, LD_PRELOAD=str(shim), **fault)
    assert (status, said) == (66, "destage: trace.csv: Input/output error (os error 5)\n")
    assert written(place) == {outputs[0]: b"old"}
    assert left_in_the_cache(place) == []
    # Nothing that was read in part is taken for the whole by the next.
    assert ended(place, words) == (0, "")


@pytest.mark.parametrize("after", [0, 1, 5_000])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_is_full_ends_a_command_with_a_sentence_and_the_old_output(
    name: str, after: int, trace: Path, tmp_path: Path, shim: Path
) -> None:
    words, outputs = COMMANDS[name]
    place = folder_for(tmp_path / "run", trace)
    for output in outputs:
        (place / output).write_bytes(b"old")
    # Those of the cache are elsewhere: no room for them is no error.
    fault = {"FAULT_KIND": "enospc", "FAULT_PATH": "/run/.", "FAULT_AFTER": str(after)}
    status, said = ended(place, words, LD_PRELOAD=str(shim), **fault)
    small = name == "mrc" and after == 5_000
    if small:
        assert (status, said) == (0, "")
        return
    assert status == 74, said
    assert said.startswith("destage: "), said
    assert said.count("\n") == 1, said
    assert "No space left on device" in said
    assert written(place) == dict.fromkeys(outputs, b"old")


class Oldest(ds.ListPolicy):
    """LRU; its runs are processes."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.pages = self.new_list(on_hit="front")


@pytest.mark.parametrize("empty", ["clear", "remove the folder", "replace"])
def test_a_run_goes_on_with_its_mapping_when_the_cache_is_emptied(
    empty: str, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each report of progress: before, while and after runs in threads and processes begin."""
    monkeypatch.setenv("DESTAGE_CACHE", str(tmp_path / "cache"))

    def compared(progress: Callable[..., object] | None) -> dict[str, list[object]]:
        opened = ds.open_trace(trace, progress=progress)
        policies = ["lru", "min", Oldest]
        made = ds.compare(opened, policies, cache=["1%", "5%"], progress=progress, jobs=2)
        return made.columns()

    calls = 0

    def emptied(*_: object) -> None:
        nonlocal calls
        calls += 1
        entries = ds.trace_cache().entries
        if empty == "clear":
            ds.trace_cache().clear()
        elif empty == "remove the folder":
            shutil.rmtree(ds.trace_cache().folder, ignore_errors=True)
        for entry in entries if empty == "replace" else ():
            (tmp_path / "other").write_bytes(b"another file")
            os.replace(tmp_path / "other", entry.path)

    undisturbed = compared(None)
    assert compared(emptied) == undisturbed
    # Some ten reports a second: fewer of a run that ends sooner.
    assert calls >= 2
