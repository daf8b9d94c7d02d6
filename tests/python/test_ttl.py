"""A time to live of cached pages: command, Python, files, errors."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage
from test_tiers import PROMPTS, prompts

import destage as ds

__all__ = ["prompts"]  # a fixture

TTL = 5


@pytest.fixture
def accesses(tmp_path: Path) -> tuple[Path, list[tuple[int, str, int]]]:
    """Two hundred accesses to twelve pages, one a second."""
    rows = [(k, "w" if k * 7 % 5 == 0 else "r", k * k % 12) for k in range(200)]
    path = tmp_path / "times.spc"
    path.write_text("".join(f"0,{8 * p},4096,{op},{t}.0\n" for t, op, p in rows))
    return path, rows


def lru(rows: list[tuple[int, str, int]], frames: int) -> dict[str, int]:
    """LRU with a time to live, counted by hand."""
    cache: OrderedDict[int, bool] = OrderedDict()
    since: dict[int, int] = {}
    hits = expired = dirty = 0
    for second, op, page in rows:
        if page in cache and second - since[page] > TTL:
            expired += 1
            dirty += cache.pop(page)
        if page in cache:
            hits += 1
        elif len(cache) == frames:
            cache.popitem(last=False)
        if page not in cache or op == "w":
            since[page] = second
        cache[page] = cache.pop(page, False) or op == "w"
    return {"all_hits": hits, "expired_hits": expired, "expired_writes": dirty}


def read(path: Path) -> ds.Trace:
    return ds.open_trace(path, format="spc")


def test_python_and_command_count_as_by_hand(
    destage: Destage, accesses: tuple[Path, list[tuple[int, str, int]]]
) -> None:
    path, rows = accesses
    expected = lru(rows, 6)
    assert expected["expired_writes"] > 0
    (run,) = ds.compare(read(path), "lru", cache="6p", ttl=f"{TTL}s")
    found_by = {"all_hits": run["read_hits"] + run["write_hits"]}
    found_by |= {name: run[name] for name in ("expired_hits", "expired_writes")}
    assert found_by == expected
    (without,) = ds.compare(read(path), "lru", cache="6p")
    assert (without["expired_hits"], without["expired_writes"]) == (None, None)
    (forever,) = ds.compare(read(path), "lru", cache="6p", ttl="1d")
    assert forever.counters == without.counters
    assert forever["expired_hits"] == 0
    flags = ("--format", "spc", "-p", "lru", "-c", "6p", "--ttl", f"{TTL}s", "--json", "-")
    done = destage("compare", path, *flags)
    assert done.status == 0, done.err
    (found,) = json.loads(done.out)["runs"]
    assert found["expiry"] == {k: expected[k] for k in ("expired_hits", "expired_writes")}
    assert found["config"]["ttl"] == f"{TTL}s"


def test_a_file_and_tiers_have_it(
    destage: Destage, accesses: tuple[Path, list[tuple[int, str, int]]], tmp_path: Path
) -> None:
    path, _ = accesses
    config = tmp_path / "ttl.toml"
    config.write_text(
        f'[cache]\npolicy = "lru"\nsize = "3p"\nttl = "{TTL}s"\n'
        '[tier2]\npolicy = "lru"\ncache = "6p"\n'
    )
    done = destage("compare", path, "--format", "spc", "--config", config, "--json", "-")
    assert done.status == 0, done.err
    (run,) = json.loads(done.out)["runs"]
    how: dict[str, Any] = {"cache": "3p", "tier2": "lru", "tier2_cache": "6p"}
    (same,) = ds.compare(read(path), "lru", ttl=f"{TTL}s", **how)
    assert run["expiry"]["expired_hits"] == same["expired_hits"] > 0
    (without,) = ds.compare(read(path), "lru", **how)
    assert same["backing_reads"] > without["backing_reads"]


def test_every_policy_runs_or_says_why_not(
    accesses: tuple[Path, list[tuple[int, str, int]]],
) -> None:
    trace = read(accesses[0])
    ran, refused = set(), {}
    for policy in ds.policies():
        try:
            (run,) = ds.compare(trace, policy.name, cache="6p", ttl=f"{TTL}s")
        except ds.UsageError as error:
            refused[policy.name] = str(error)
        else:
            assert run["expired_hits"] > 0, policy.name
            ran.add(policy.name)
    assert all(name in said for name, said in refused.items())
    assert {"lru", "arc", "s3-fifo", "w-tinylfu", "ace"} <= ran
    assert not {"min", "larc", "bplru", "aalru"} & ran


def test_prompts_expire_by_block(prompts: Path) -> None:
    trace = ds.open_trace(prompts, bytes_per_token=8)
    with pytest.raises(ds.UsageError, match="excludes prefix-min: it expects"):
        ds.compare(trace, "prefix-min", cache="100p", kv=True, ttl="2500ms")
    (run,) = ds.compare(trace, "lru", cache="100p", kv=True, ttl="2500ms")
    since: dict[int, int] = {}
    hit = expired = 0
    for k, (ids, _) in enumerate(PROMPTS):  # a prompt a second
        old = [block for block in ids if 1000 * k - since.get(block, 1000 * k) > 2500]
        expired += len(old)
        for block in old:
            del since[block]
        prefix = next((i for i, block in enumerate(ids) if block not in since), len(ids))
        hit += prefix
        since.update(dict.fromkeys(ids[prefix:], 1000 * k))
    assert (run["hit_blocks"], run["expired_hits"]) == (hit, expired)
    assert expired > 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--ttl", "5s", "--device", "small"), "ttl (--ttl) excludes device (--device)"),
        (("--ttl", "5s", "--check"), "excludes check"),
        (("--ttl", "5"), "expected a duration such as 60s"),
        (("--ttl", "0s"), "expected a duration such as 60s"),
        (("--ttl", "5s", "-p", "min"), "excludes min"),
        (("--ttl", "5s", "-p", "larc"), "it bypasses pages"),
        (("--ttl", "5s", "-p", "bplru"), "its pages leave by erase blocks"),
    ],
)
def test_an_option_that_does_not_apply_is_an_error(
    destage: Destage,
    accesses: tuple[Path, list[tuple[int, str, int]]],
    flags: tuple[str, ...],
    said: str,
) -> None:
    path, _ = accesses
    policy = () if "-p" in flags else ("-p", "lru")
    done = destage("compare", path, "--format", "spc", "-c", "6p", *policy, *flags)
    assert done.status == 2, done.out
    assert said in " ".join(done.err.split())


def test_a_trace_without_times_and_a_curve_have_none(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "pages.txt"
    path.write_text("".join(f"{k % 7}\n" for k in range(100)))
    trace = ds.synth("zipf", requests=300, pages=50, seed=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'ttl'"):
        ds.mrc(trace, "lru", ttl="1h")  # type: ignore[call-arg]
    done = destage("mrc", path, "--ttl", "1h")
    assert done.status == 2
    assert "--ttl" in done.err


@pytest.mark.parametrize("group", ["all", "classic", "flash"])
def test_a_group_of_policies_leaves_out_what_a_time_to_live_excludes(
    destage: Destage, accesses: tuple[Path, list[tuple[int, str, int]]], group: str
) -> None:
    flags = ("--format", "spc", "-p", group, "-c", "6p", "--ttl", "5s", "--json", "-")
    done = destage("compare", accesses[0], *flags)
    assert done.status == 0, done.err
    run = {one["config"]["policy"] for one in json.loads(done.out)["runs"]}
    assert not run & {"min", "larc", "fab", "bplru", "lb-clock"}
    assert "skipped, since --ttl excludes them: " in done.err.replace("\n", " ")
    results = ds.compare(read(accesses[0]), group, cache="6p", ttl="5s")
    assert {one.policy for one in results} == run
