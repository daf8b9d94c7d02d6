"""Trims: what `--trim drop` takes out of the cache, from the command to the result."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds

PAGE = 4096

#: Operation, first page and pages of each request; "sync" is a flush. Small enough to follow.
REQUESTS: list[tuple[str, int, int]] = [
    ("write", 0, 2),
    ("read", 2, 2),
    ("trim", 0, 1),  # resident and dirty
    ("sync", 0, 0),
    ("read", 0, 1),  # a miss: its data are gone
    ("write", 4, 2),
    ("trim", 2, 100),  # several, of which some are resident
    ("read", 1, 1),
    ("read", 3, 1),
    ("write", 6, 3),
    ("trim", 50, 2),  # never accessed
    ("read", 4, 1),
]


def iolog(requests: list[tuple[str, int, int]]) -> str:
    lines = ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open"]
    for time, (op, first, pages) in enumerate(requests):
        extent = "" if op == "sync" else f" {first * PAGE} {pages * PAGE}"
        lines.append(f"{1000 * (time + 1)} /dev/x {'sync' if op == 'sync' else op}{extent}")
    return "\n".join([*lines, f"{10**6} /dev/x close", ""])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "trims.log"
    path.write_text(iolog(REQUESTS))
    return path


def many(seed: int) -> list[tuple[str, int, int]]:
    """Reads, writes and trims in no order but always the same."""
    requests, state = [], seed
    for _ in range(1500):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        op = ["read", "write", "write", "trim"][state >> 62] if state >> 60 & 3 else "read"
        requests.append((op, (state >> 40) % 60, 1 + (state >> 30) % 4))
    return requests


def lru(requests: list[tuple[str, int, int]], frames: int) -> dict[str, int]:
    """LRU as a dictionary, with trims."""
    held: OrderedDict[int, bool] = OrderedDict()
    names = ["hits", "misses", "evictions", "flushed", "trims", "drops", "dirty_drops"]
    count = dict.fromkeys(names, 0)
    for op, first, pages in requests:
        count["trims"] += op == "trim"
        for page in range(first, first + pages):
            if op == "trim":
                dirty = held.pop(page, None)
                count["drops"] += dirty is not None
                count["dirty_drops"] += bool(dirty)
                continue
            count["hits" if page in held else "misses"] += 1
            if page not in held and len(held) == frames:
                count["evictions"] += 1
                count["flushed"] += held.popitem(last=False)[1]
            held[page] = held.pop(page, False) or op == "write"
    return count


def counted(run: dict[str, Any]) -> dict[str, int]:
    """The counters of a result."""
    counters, trims = run["counters"], run["trims"]
    return {
        "hits": counters["read_hits"] + counters["write_hits"],
        "misses": counters["read_misses"] + counters["write_misses"],
        "evictions": counters["evictions"],
        "flushed": counters["destaged_pages"],
        "trims": trims["trim_requests"],
        "drops": trims["trim_cache_drops"],
        "dirty_drops": trims["trim_dirty_drops"],
    }


def runs(destage: Destage, *args: object) -> list[dict[str, Any]]:
    done = destage("compare", *args, "--json", "-")
    assert done.status == 0, done
    return list(json.loads(done.out)["runs"])


def test_a_small_trace_step_by_step(destage: Destage, log: Path) -> None:
    [run] = runs(destage, log, "-p", "lru", "-c", "4p", "--trim", "drop", "--check")
    assert run["config"]["trim"] == "drop"
    assert counted(run) == {
        "hits": 0,
        "misses": 13,
        "evictions": 5,
        "flushed": 1,
        "trims": 3,
        "drops": 4,
        "dirty_drops": 3,
    }
    assert counted(run) == lru(REQUESTS, 4)


@pytest.mark.parametrize("cache", ["1p", "7p", "40p"])
def test_lru_is_a_dictionary_with_trims(destage: Destage, tmp_path: Path, cache: str) -> None:
    requests = many(7)
    path = tmp_path / "many.log"
    path.write_text(iolog(requests))
    [run] = runs(destage, path, "-p", "lru", "-c", cache, "--trim", "drop")
    assert counted(run) == lru(requests, int(cache[:-1]))


def test_trims_that_are_ignored_leave_no_trace(destage: Destage, log: Path) -> None:
    without = log.with_name("none.log")
    without.write_text(iolog([r for r in REQUESTS if r[0] not in ("trim", "sync")]))
    policies = ["-p", "lru,arc,min", "-c", "4p"]
    plain = runs(destage, log, *policies)
    assert plain == runs(destage, without, *policies)
    assert plain == runs(destage, log, *policies, "--trim", "ignore")
    assert all("trims" not in run and "trim" not in run["config"] for run in plain)


def test_every_policy_forgets_and_min_is_the_bound(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "many.log"
    path.write_text(iolog(many(3)))
    names = [p.name for p in ds.policies() if not p.needs_device]
    trace = ds.open_trace(path)
    done = ds.compare(trace, names, cache="16p", trim="drop", check=True)
    admits_all = [r for r in done if not r.counters["bypasses"]]
    least = next(r for r in done if r.policy == "min").misses
    assert len(admits_all) > 20
    assert all(r.misses >= least for r in admits_all)


def test_a_curve_is_that_of_runs_and_a_sample_is_refused(destage: Destage, tmp_path: Path) -> None:
    requests = many(11)
    path = tmp_path / "many.log"
    path.write_text(iolog(requests))
    flags = ["-p", "lru", "-c", "2p,9p,30p", "--trim", "drop"]
    done = destage("mrc", path, *flags, "--json", "-")
    assert done.status == 0, done
    [curve] = json.loads(done.out)["mrc"]["curves"]
    misses = [point["misses"] for point in curve["points"]]
    assert misses == [lru(requests, frames)["misses"] for frames in (2, 9, 30)]
    refused = destage("mrc", path, *flags, "--sample", "0.5")
    assert refused.status == 2
    assert "trim = drop and a sampling rate exclude each other" in refused.err


def test_a_run_with_trims_is_made_again(destage: Destage, log: Path) -> None:
    flags = ["-p", "arc,min", "-c", "4p", "--trim", "drop"]
    done = destage("compare", log, *flags, "--json", "first.json")
    assert done.status == 0, done
    again = destage("rerun", "first.json", "--json", "-")
    assert again.status == 0, again
    first = json.loads((log.parent / "first.json").read_text())
    assert json.loads(again.out)["runs"] == first["runs"]


class Fifo(ds.Policy):
    """A policy of one's own that does not know of trims."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.pages: dict[int, bool] = {}

    def request(self, r: ds.Request) -> Any:
        if r.page not in self.pages:
            return ds.MISS
        self.pages[r.page] |= r.is_write
        return ds.HIT

    def evict(self, miss: Any, device: Any, plan: ds.Plan) -> None:
        page = next(iter(self.pages))
        plan.evict(page, dirty=self.pages.pop(page))

    def admit(self, r: ds.Request, miss: Any) -> None:
        self.pages[r.page] = r.is_write


class Forgetting(Fifo):
    """The same, that does."""

    def forget(self, page: int) -> None:
        self.pages.pop(page, None)


class Deaf(Fifo):
    """Says that it forgets, and does not."""

    def forget(self, page: int) -> None:
        pass


def test_a_policy_of_ones_own_forgets_or_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.log"
    path.write_text(iolog(many(5)))
    trace = ds.open_trace(path)
    own, native = (
        ds.compare(trace, policy, cache="9p", trim="drop")[0] for policy in (Forgetting, "fifo")
    )
    assert own.counters == native.counters
    with pytest.raises(ds.UsageError, match=r"needs a policy with a method forget\(page\)"):
        ds.compare(trace, Fifo, cache="9p", trim="drop")
    with pytest.raises(ds.CheckFailed):
        ds.compare(trace, Deaf, cache="9p", trim="drop")


def test_a_word_that_is_none_is_refused(destage: Destage, log: Path) -> None:
    done = destage("compare", log, "-p", "lru", "-c", "4p", "--trim", "discard")
    assert done.status == 2
    assert 'trim: expected ignore or drop, got "discard"' in done.err
