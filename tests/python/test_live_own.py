"""A policy of one's own where it is live: behind a block device, and stepped by a program."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_serve import DESTAGE, Client, replayed, served

import destage as ds

MINE = """
import destage as ds

class Mine(ds.ListPolicy):
    def __init__(self, frames):
        super().__init__(frames)
        self.pages = self.new_list(on_hit="front")

class Plain(ds.Policy):
    '''The oldest page leaves.'''
    def __init__(self, frames):
        self.frames, self.pages = frames, {}
    def request(self, r):
        if r.page not in self.pages:
            return ds.MISS
        self.pages[r.page] |= r.is_write
        return ds.HIT
    def evict(self, miss, device, plan):
        page = next(iter(self.pages))
        plan.evict(page, self.pages.pop(page))
    def admit(self, r, miss):
        self.pages[r.page] = r.is_write
    def forget(self, page):
        return self.pages.pop(page, None)

class Raises(Plain):
    def evict(self, miss, device, plan):
        raise ValueError("no page is good enough")

class Keeps(Plain):
    def evict(self, miss, device, plan):
        pass

class Stranger(Plain):
    def evict(self, miss, device, plan):
        plan.evict(200, False)

class Unforgetful(Plain):
    forget = None

class Seer(Plain):
    NEEDS_NEXT_USE = True
"""

serves = pytest.mark.skipif(sys.platform == "win32", reason="serve needs Unix")
PAGES = 64


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def worked(uri: str, count: int) -> bytes:
    """Write, read, trim and flush; what the device holds then."""
    draw, held = random.Random(3), bytearray(PAGES * 4096)
    client = Client(uri)
    with client.socket:
        for number in range(count):
            page = int(PAGES * draw.random() ** 2)
            at = page * 4096
            if number % 50 == 49:
                client.call(4, at, 4096)
                held[at : at + 4096] = bytes(4096)
            elif draw.random() < 0.5:
                data = struct.pack(">I", number) * 1024
                client.call(1, at, 4096, data)
                held[at : at + 4096] = data
            else:
                client.call(5, at, 4096)
        client.call(3)
    return bytes(held)


@serves
@pytest.mark.parametrize("name", ["Mine", "Plain"])
def test_it_decides_behind_a_block_device_as_in_a_run(
    tmp_path: Path, mine: Path, name: str
) -> None:
    file, stats = tmp_path / "disk.img", tmp_path / "stats.json"
    flags: list[str | Path] = ["--size", f"{PAGES * 4}KiB", "-c", "16p", "-p", f"{mine}:{name}"]
    flags += ["--stats", stats, "--record", tmp_path / "record.csv"]
    with served(file, *flags) as (ready, _):
        held = worked(ready["uri"], 600)
    assert file.read_bytes() == held
    told = json.loads(stats.read_text())
    assert told["counters"]["destaged_pages"] > 50
    assert told["trims"]["trim_requests"] == 12
    assert replayed(told, tmp_path) == told["counters"]


@serves
@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("Raises", 1, "no page is good enough"),
        ("Keeps", 1, "an eviction gives up no page"),
        ("Stranger", 1, "page 200 is evicted: it is not resident"),
    ],
)
def test_its_fault_ends_the_server_and_loses_no_byte(
    tmp_path: Path, mine: Path, name: str, status: int, said: str
) -> None:
    file = tmp_path / "disk.img"
    words = [*DESTAGE, "serve", str(file), "--size", f"{PAGES * 4}KiB", "-c", "16p"]
    process = subprocess.Popen(
        [*words, "-p", f"{mine}:{name}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        held = worked(ready["uri"], 100)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == status, error
    assert said in error
    assert file.read_bytes() == held


@serves
def test_what_cannot_decide_live_is_usage(mine: Path) -> None:
    for name, said, more in (
        ("Seer", "does not know the future", {}),
        ("Unforgetful", r"needs a method forget\(page\)", {}),
        ("Mine", "without --device only", {"device": "small"}),
    ):
        keywords: dict[str, Any] = {"size": "1MiB", **more}
        with pytest.raises(ds.UsageError, match=said):
            ds.serve(":memory:", policy=f"{mine}:{name}", **keywords)


class Lru(ds.ListPolicy):
    """LRU."""

    def __init__(self, frames: int) -> None:
        """One list."""
        super().__init__(frames)
        self.recent = self.new_list(on_hit="front")


@serves
def test_a_class_serves_in_python_and_its_replay_has_no_name(tmp_path: Path) -> None:
    record = tmp_path / "record.csv"
    with ds.serve(":memory:", size="256KiB", cache="16p", policy=Lru, record=record) as server:
        worked(server.uri, 200)
        told = server.stats()
    assert told["config"]["policy"] == "Lru"
    assert told["replay"] is None
    options: dict[str, Any] = {"trim": "drop", "warmup": "0", "device_pages": PAGES}
    again = ds.run(ds.open_trace(record), Lru, cache="16p", **options)
    assert again.counters["read_hits"] == told["counters"]["read_hits"]


def test_a_cache_over_it_decides_as_the_native_policy(mine: Path) -> None:
    for policy, native in ((Lru, "lru"), (f"{mine}:Plain", "fifo")):
        own, other, draw = ds.Cache(policy, 5), ds.Cache(native, 5), random.Random(1)
        for _ in range(500):
            key, write = draw.choice("abcdefghij"), draw.random() < 0.3
            assert repr(own.access(key, write)) == repr(other.access(key, write))
            assert own.get(key) == other.get(key)
            if draw.random() < 0.05:
                assert own.forget(key) == other.forget(key)
        assert own.counters == other.counters
        assert set(own) == set(other)
        own.clear()
        assert (len(own), own.counters["read_misses"]) == (0, 0)
        assert not own.access("a").hit
    assert ds.Cache(Lru, 2).policy == "Lru"


def test_a_fault_of_it_is_raised_by_the_access(mine: Path) -> None:
    for name, error, said in (
        ("Raises", ValueError, "no page is good enough"),
        ("Keeps", ds.CheckFailed, "an eviction gives up no page"),
    ):
        cache = ds.Cache(f"{mine}:{name}", 1)
        cache.access("a")
        with pytest.raises(error, match=said):
            cache.access("b")
        assert not cache.access("c").admitted
    with pytest.raises(ds.UsageError, match="future"):
        ds.Cache(f"{mine}:Seer", 1)
    cache = ds.Cache(f"{mine}:Unforgetful", 1)
    cache.access("a")
    with pytest.raises(ds.UsageError, match=r"a method forget\(page\)"):
        cache.forget("a")


def test_steps_show_the_lists_after_each_access() -> None:
    steps = ds.Cache("arc", 2).steps("aabcb", write="b")
    assert [step.result for step in steps] == ["miss", "hit", "miss", "miss", "miss"]
    assert [step.write for step in steps] == [False, False, True, False, True]
    assert steps[3].evicted == steps[3].destaged == ("b",)
    assert steps[4].state == {"T1": "c", "T2": "b*", "B1": "", "B2": "a", "p": "1"}
    lines = repr(steps).splitlines()
    assert lines[:2] == [
        "arc, 2 frames",
        "access   result  evicted  destaged  T1  T2  B1  B2  p",
    ]
    assert steps._repr_html_().count("<tr>") == 6
    # Pages have the mark, the numbers of their blocks have none.
    fab = ds.Cache("fab", frames=4, pages_per_block=2).steps([2, 4, 1, 6], write=True)
    assert [step.state["clusters"] for step in fab] == [
        "[1 [2*]]",
        "[2 [4*]] [1 [2*]]",
        "[0 [1*]] [2 [4*]] [1 [2*]]",
        "[3 [6*]] [0 [1*]] [2 [4*]] [1 [2*]]",
    ]
    own = ds.Cache(Lru, 2).steps(["x", "y", "x"])
    assert own[2].state == {"recent": "x y"}


def test_a_notebook_shows_a_cache_with_its_lists() -> None:
    cache = ds.Cache("2q", 4)
    for key in ("<b>", "c", "<b>"):
        cache.access(key, write=True)
    html = cache._repr_html_()
    assert "2 of 4 frames, 2 dirty" in html
    assert "&lt;b&gt;*" in html
    assert all(f">{name}</td>" in html for name in cache.lists)
