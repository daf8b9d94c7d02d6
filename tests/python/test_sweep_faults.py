"""Sweeps that are killed, interrupted, or run out of room: nothing lost, nothing counted twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import MAIN, Destage

import destage as ds
from destage.base.io.stale_files import host_mark
from destage.experiment.store import Store

SPEC = """
[sweep]
traces = [
    {synth = "zipf", requests = 60_000, pages = 9_000},
    {synth = "locality", requests = 60_000, pages = 9_000},
]
policies = ["lru", "arc", "cflru", "s3-fifo", "random"]
cache = ["1%", "2%", "5%", "10%", "20%", "30%"]
repeat = 4
"""
RUNS = 2 * 5 * 6 * 4


def parts(store: Path) -> list[str]:
    return sorted(path.name for path in store.glob("part-*.parquet"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SPEC, and the store that it makes undisturbed."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "s.toml").write_text(SPEC)
    assert ds.sweep(folder / "s.toml", folder / "whole").done == RUNS
    return folder


def begun(folder: Path, store: str, *flags: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*MAIN, "sweep", "s.toml", "--store", store, "--quiet", *flags],
        cwd=folder,
        start_new_session=True,
        stderr=subprocess.PIPE,
    )


def wait_for_a_part(process: subprocess.Popen[bytes], store: Path, more_than: int) -> None:
    """Until there are more parts than there were, or it has ended by itself."""
    for _ in range(6000):
        if process.poll() is not None or len(parts(store)) > more_than:
            return
        time.sleep(0.01)
    pytest.fail("no part within a minute")


@pytest.mark.slow
def test_a_sweep_that_is_killed_again_and_again_ends_with_the_same_bytes(folder: Path) -> None:
    store, draw, killed = folder / "killed", random.Random(19), 0
    for _ in range(4):
        process = begun(folder, "killed", "--resume", "--jobs", "2")
        wait_for_a_part(process, store, len(parts(store)))
        time.sleep(draw.uniform(0, 0.05))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
        # What a kill leaves can be read at any moment.
        there = ds.load_results(store)
        assert there.damaged == 0
        assert len(there) + sum(hole.missing for hole in there.holes) == RUNS
    assert killed > 0
    # What was begun and never renamed is no part.
    (store / ".tmp-cafe-1-0").write_bytes(b"half of")
    process = begun(folder, "killed", "--resume")
    process.communicate()
    assert process.returncode == 0
    assert parts(store) == parts(folder / "whole")
    assert ds.load_results(store).to_csv() == ds.load_results(folder / "whole").to_csv()


def test_an_interrupt_leaves_what_has_ended_and_says_how_to_go_on(folder: Path) -> None:
    store = folder / "interrupted"
    process = subprocess.Popen(
        [*MAIN, "sweep", "s.toml", "--store", "interrupted", "--jobs", "1"],
        cwd=folder,
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    wait_for_a_part(process, store, 0)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert b"--resume continues" in said
    assert 0 < len(ds.load_results(store)) < RUNS
    assert not list(store.glob(".tmp-*"))
    ds.sweep(folder / "s.toml", store, resume=True)
    assert ds.load_results(store).to_csv() == ds.load_results(folder / "whole").to_csv()


def test_a_signal_while_a_thread_starts_is_an_interrupt(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(thread: threading.Thread) -> None:
        signal.raise_signal(signal.SIGINT)
        started(thread)

    started = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        ds.sweep(folder / "s.toml", folder / "starting", jobs=1)


def test_shards_that_run_side_by_side_share_a_store(folder: Path) -> None:
    shards = [begun(folder, "shared", "--shard", f"{k}/3", "--jobs", "1") for k in (1, 2, 3)]
    for shard in shards:
        shard.communicate()
    assert [shard.returncode for shard in shards] == [0, 0, 0]
    assert ds.load_results(folder / "shared").to_csv() == ds.load_results(folder / "whole").to_csv()


@pytest.fixture
def little_room(tmp_path: Path) -> Iterator[Path]:
    """A file system that is full after some parts."""
    room = tmp_path / "room"
    room.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(room)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here: a full disk is not tried")
    try:
        yield room
    finally:
        subprocess.run(["umount", str(room)], check=True)


def test_a_full_disk_ends_a_sweep_with_a_sentence_and_room_lets_it_go_on(
    destage: Destage, folder: Path, little_room: Path
) -> None:
    done = destage("sweep", folder / "s.toml", "--store", little_room / "runs")
    assert done.status == 74, done
    assert "No space left on device" in done.err
    there = ds.load_results(little_room / "runs")
    assert 0 < len(there) < RUNS
    assert there.damaged == 0
    roomy = folder / "roomy"
    ds.merge_results([little_room / "runs"], roomy)
    ds.sweep(folder / "s.toml", roomy, resume=True)
    assert ds.load_results(roomy).to_csv() == ds.load_results(folder / "whole").to_csv()


def test_what_a_killed_process_was_writing_is_swept_up(tmp_path: Path) -> None:
    store = Store.begin(tmp_path / "runs")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    host = host_mark()
    dead, alive, other = (
        store.folder / f".tmp-{host}-{ended.pid}-0",
        store.folder / f".tmp-{host}-{os.getpid()}-9",
        store.folder / f".tmp-0badcafe-{ended.pid}-0",
    )
    for path in (dead, alive, other):
        path.write_bytes(b"half")
    old = store.folder / ".tmp-0badcafe-1-1"
    old.write_bytes(b"half")
    os.utime(old, (1, 1))
    Store.begin(tmp_path / "runs")
    assert [path.exists() for path in (dead, alive, other, old)] == [False, True, True, False]
