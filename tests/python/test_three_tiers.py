"""A third tier below the flash tier: command, Python, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Destage

import destage as ds
from destage.model.winners import left_out

SMALL = ROOT / "tests" / "data" / "alibaba.csv"

BELOW: dict[str, Any] = {
    "tier2": "lru",
    "tier2_cache": "60p",
    "tier3": "lru",
    "tier3_cache": "200p",
}


@pytest.fixture(scope="module")
def reads() -> ds.Trace:
    return ds.synth("zipf", requests=20_000, pages=2_000, read_ratio=1.0, seed=1)


def test_three_lru_that_move_are_one_lru(reads: ds.Trace) -> None:
    moves: dict[str, Any] = {"promote": "move", "tier3_promote": "move"}
    (three,) = ds.compare(reads, "lru", cache="40p", **BELOW, **moves)
    (one,) = ds.compare(reads, "lru", cache="300p")
    assert three["overall_hit_ratio"] == one["hit_ratio"]
    assert three["backing_reads"] == one["misses"]
    assert min(three["tier2_hits"], three["tier3_hits"]) > 0


def test_the_first_two_tiers_do_what_they_do_alone(reads: ds.Trace) -> None:
    with_third = ds.compare(reads, "lru,arc", cache="40p", admit="nth", **BELOW)
    two: dict[str, Any] = {key: BELOW[key] for key in ("tier2", "tier2_cache")}
    for run, alone in zip(
        with_third, ds.compare(reads, "lru,arc", cache="40p", admit="nth", **two), strict=True
    ):
        for name in ("hit_ratio", "tier2_hits", "tier2_writes", "tier2_evictions", "admitted"):
            assert run[name] == alone[name], name
        assert run["tier3_hits"] + run["backing_reads"] == alone["backing_reads"]
        # What the filter of the flash tier declines goes on to the third.
        assert run["tier3_offers"] + run["tier3_offers_present"] >= run["offers"] - run["admitted"]
        assert alone["tier3_hits"] is None


def test_the_pending_share_of_each_tiers_writes_is_of_its_own() -> None:
    trace = ds.synth("zipf", requests=5_000, pages=2_000, read_ratio=0.3, seed=1)
    (run,) = ds.compare(trace, "lru", cache="40p", **BELOW)
    shares = [left_out(name, run) for name in ("tier2_writes", "tier3_writes")]
    change = run["pending_writes"] - run["pending_writes_at_start"]
    assert shares == [change / (run[n] + change) for n in ("tier2_writes", "tier3_writes")]
    assert shares[0] != shares[1]


def test_read_times_of_all_tiers_give_the_mean(reads: ds.Trace) -> None:
    times: dict[str, Any] = {
        "tier2_read_ns": 90_000,
        "tier3_read_ns": 400_000,
        "backing_read_ns": 5_000_000,
    }
    (run,) = ds.compare(reads, "lru", cache="40p", **BELOW, **times)
    spent = (
        90_000 * run["tier2_hits"] + 400_000 * run["tier3_hits"] + 5_000_000 * run["backing_reads"]
    )
    assert run["read_time_ns"] == pytest.approx(spent / run["accesses"], rel=1e-12)
    (untold,) = ds.compare(reads, "lru", cache="40p", **BELOW)
    assert untold["read_time_ns"] is None


def test_in_front_of_a_device_a_hit_in_tier_3_takes_its_time() -> None:
    trace = ds.synth("zipf", requests=3_000, pages=1_500, read_ratio=1.0, seed=1, device="small")
    fast, slow = (
        ds.compare(trace, "lru", cache="40p", device="small", tier3_read_ns=ns, **BELOW)[0]
        for ns in (100_000, 900_000)
    )
    assert fast["tier3_hits"] == slow["tier3_hits"] > 0
    assert slow["response_ns_mean"] > fast["response_ns_mean"]


def test_prompts_are_read_from_the_tier_that_has_them(tmp_path: Path, destage: Destage) -> None:
    path = tmp_path / "kv.jsonl"
    line = '{{"timestamp": {0}, "input_length": 1024, "hash_ids": [{1}, {2}]}}\n'
    path.write_text("".join(line.format(1000 * k, k % 7, k % 5 + 9) for k in range(1000)))
    asked = ["--block-bytes", "4096", "--kv", "-p", "lru", "-c", "2p", "--tier2", "lru"]
    asked += ["--tier2-cache", "4p", "--tier3", "lru", "--tier3-cache", "20p"]
    decisions = tmp_path / "decisions.jsonl"
    done = destage("run", str(path), *asked, "--decisions", str(decisions))
    assert done.status == 0, done.err
    lines = [json.loads(one) for one in decisions.read_text().splitlines()]
    assert {tier for one in lines for tier in one["tiers"]} >= {3}
    assert any(one["tier3_admitted"] for one in lines)
    trace = ds.open_trace(path, block_bytes=4096)
    below: dict[str, Any] = {
        "tier2": "lru",
        "tier2_cache": "4p",
        "tier3": "lru",
        "tier3_cache": "20p",
    }
    one, other = ds.compare(trace, "lru,fifo", cache="2p", kv=True, warmup="none", **below)
    assert one["tier3_hits"] == sum(one_.count(3) for one_ in (line["tiers"] for line in lines))
    # Blocks of prompts have intervals.
    assert one.windows is not None
    for total, listed in (("hit_blocks", "hit_blocks"), ("insertions", "insertions")):
        assert sum(one.windows["kv"][listed]) == one[total]
    for name in ("block_hit_ratio", "stranded_ratio", "full_hit_ratio", "insertions"):
        interval = other.minus(one, name)
        assert interval is not None, name
        assert interval[0] <= other[name] - one[name] <= interval[1]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--tier3", "lru", "--tier3-cache", "9p"], "add tier2 (--tier2)"),
        (["--tier2", "lru", "--tier2-cache", "9p", "--tier3", "lru"], "add tier3_cache"),
        (["--tier2", "lru", "--tier2-cache", "9p", "--tier3-admit", "nth"], "add tier3 (--tier3)"),
        (
            ["--tier2", "lru", "--tier2-cache", "9p", "--tier3", "min", "--tier3-cache", "9p"],
            "tier3 cannot be min: the accesses that reach it are not known",
        ),
        (["--tier2", "lru", "--tier2-cache", "9p", "--backing-write-ns", "5"], "add device"),
        (["--tier2", "lru", "--tier2-cache", "9p", "--tier2-read-ns", "5"], "add backing_read_ns"),
    ],
)
def test_wrong_tiers_are_one_sentence(destage: Destage, flags: list[str], said: str) -> None:
    done = destage("compare", str(SMALL), "-p", "lru", "-c", "9p", *flags)
    assert done.status == 2
    assert said in done.err.replace("\n", " ")
    assert "Traceback" not in done.err


def test_a_file_has_the_third_tier_as_a_table(tmp_path: Path, destage: Destage) -> None:
    config = tmp_path / "three.toml"
    config.write_text(
        '[cache]\npolicy = "lru"\nsize = "9p"\n'
        '[tier2]\npolicy = "lru"\ncache = "9p"\nread_ns = 5\nbacking_read_ns = 9\n'
        '[tier3]\npolicy = "fifo"\ncache = "19p"\nread_ns = 7\n'
    )
    done = destage("compare", str(SMALL), "--config", str(config), "--csv", "-")
    assert done.status == 0, done.err
    assert "tier3_policy" in done.out
    assert "fifo" in done.out


def test_advice_that_chooses_tiers_refuses_a_third(reads: ds.Trace) -> None:
    with pytest.raises(ds.UsageError, match="compare runs three"):
        ds.advise_kv(reads, tier3="lru", tier3_cache="9p")
