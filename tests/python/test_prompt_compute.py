"""Time of computing the blocks of prompts: command, Python, files, sweeps, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Destage
from test_tiers import PROMPTS, prompts

import destage as ds

__all__ = ["prompts"]  # a fixture

TOKEN_NS, DOUBLE = 100, 1_000
TIMES: dict[str, Any] = {"kv": True, "token_ns": TOKEN_NS, "double_tokens": DOUBLE}
BELOW: dict[str, Any] = {"tier2": "lru", "tier2_cache": "5p"}


def block_ns(tokens: int, depth: int) -> int:
    """Time of a block, token by token."""
    return sum(TOKEN_NS * (DOUBLE + depth + i) for i in range(tokens)) // DOUBLE


def first_times() -> dict[int, int]:
    """Times of the blocks, each where it first occurs."""
    times: dict[int, int] = {}
    for ids, tokens in PROMPTS:
        for place, block in enumerate(ids):
            depth = 512 * place
            times.setdefault(block, block_ns(min(512, tokens - depth), depth))
    return times


def vector(name: str) -> dict[str, Any]:
    lines = (ROOT / "tests/vectors/kv-compute.jsonl").read_text().splitlines()
    return next(found for found in map(json.loads, lines) if found["name"] == name)


def opened(path: Path) -> ds.Trace:
    return ds.open_trace(path, bytes_per_token=8)


def test_saved_time_is_that_of_the_blocks_of_prefixes(prompts: Path) -> None:
    (run,) = ds.compare(opened(prompts), "lru", cache="1000p", **TIMES)
    cached: set[int] = set()
    saved = total = 0
    of_block = first_times()
    for ids, _ in PROMPTS:
        times = [of_block[block] for block in ids]
        hit = next((k for k, block in enumerate(ids) if block not in cached), len(ids))
        saved, total = saved + sum(times[:hit]), total + sum(times)
        cached.update(ids)
    assert run["recompute_saved_ratio"] == pytest.approx(saved / total, rel=1e-12)
    assert run["recompute_saved_ns"] == pytest.approx(saved / len(PROMPTS), rel=1e-12)
    (plain,) = ds.compare(opened(prompts), "lru", cache="1000p", kv=True)
    assert (plain["recompute_saved_ratio"], plain["recompute_saved_ns"]) == (None, None)
    assert plain["hit_tokens"] == run["hit_tokens"]


def test_read_time_counts_missing_blocks_by_their_depth(prompts: Path) -> None:
    how = {"cache": "3p", **BELOW, **TIMES, "tier2_read_ns": 70_000}
    (run,) = ds.compare(opened(prompts), "lru", **how)
    of_block = first_times()
    total = sum(of_block[block] for ids, _ in PROMPTS for block in ids)
    computed = total - run["recompute_saved_ns"] * run["kv_requests"]
    spent = computed + 70_000 * run["tier2_hits"]
    assert run["read_time_ns"] == pytest.approx(spent / run["blocks"], rel=1e-12)


def test_command_file_and_sweep_agree_with_the_vector(
    destage: Destage, prompts: Path, tmp_path: Path
) -> None:
    lines = [
        json.dumps({"timestamp": 1000 * k, "input_length": tokens, "hash_ids": ids})
        for k, (ids, tokens) in enumerate(vector("worth")["requests"])
    ]
    prompts.write_text("\n".join(lines) + "\n")
    expected = vector("worth")["counters"]
    config = tmp_path / "kv.toml"
    config.write_text(
        '[trace]\nbytes_per_token = "8"\n[tier2]\npolicy = "lru"\ncache = "5p"\n'
        'admit = "worth"\nread_ns = 70000\n'
        f"[kv]\nenabled = true\ntoken_ns = {TOKEN_NS}\ndouble_tokens = {DOUBLE}\n"
    )
    done = destage("compare", prompts, "--config", config, "-p", "lru", "-c", "3p", "--json", "-")
    assert done.status == 0, done.err
    (run,) = json.loads(done.out)["runs"]
    assert run["kv"]["compute_ns"] == expected["compute_ns"]
    assert run["metrics"]["admitted"] == expected["admitted"] < run["metrics"]["offers"]
    spec = tmp_path / "sweep.toml"
    spec.write_text(
        f'[sweep]\ntraces = ["{prompts}"]\npolicies = ["lru", "pgdsf"]\ncache = ["6p"]\n'
        f"kv = [true]\ntoken_ns = [{TOKEN_NS}]\ndouble_tokens = [500, {DOUBLE}]\n"
        '[trace]\nbytes_per_token = "8"\n'
    )
    store = tmp_path / "store"
    done = destage("sweep", spec, "--store", store, "-q")
    assert done.status == 0, done.err
    found = ds.load_results(store)
    assert sorted({run["double_tokens"] for run in found}) == [500, DOUBLE]
    assert all(run["recompute_saved_ratio"] is not None for run in found)


def test_pgdsf_decides_as_its_vectors_and_says_so_in_the_catalogue(
    destage: Destage, prompts: Path
) -> None:
    wanted = vector("pgdsf-suffix")
    lines = [
        json.dumps({"timestamp": 1000 * k, "input_length": tokens, "hash_ids": ids})
        for k, (ids, tokens) in enumerate(wanted["requests"])
    ]
    prompts.write_text("\n".join(lines) + "\n")
    (run,) = ds.compare(opened(prompts), "pgdsf[value=suffix]", cache="6p", **TIMES)
    assert run["hit_blocks"] == wanted["counters"]["hit_blocks"]
    assert run["stranded_blocks"] == 0
    done = destage("policies", "pgdsf")
    assert done.status == 0, done.err
    assert "RAGCache" in done.out


KV = ("--kv", "-p", "lru", "-c", "3p")
WORTH = (*KV, "--tier2", "lru", "--tier2-cache", "5p", "--admit", "worth")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("-p", "lru", "-c", "3p", "--token-ns", "5"), "token_ns (--token-ns)"),
        ((*KV, "--double-tokens", "5"), "add token_ns (--token-ns)"),
        ((*KV, "--token-ns", "0"), "token"),
        (WORTH, "add kv (--kv) and token_ns (--token-ns)"),
        ((*WORTH, "--token-ns", "5"), "worth[read_ns=200us] or add tier2_read_ns"),
        ((*WORTH[:-1], "worth[n=3]"), "unknown parameter"),
        (
            (*WORTH, "--token-ns", "5", "--backing-read-ns", "9", "--tier2-read-ns", "9"),
            "excludes backing_read_ns",
        ),
        (
            ("--kv", "-p", "pgdsf", "-c", "3p", "--touch", "head-first"),
            "touch = head-first (--touch) excludes pgdsf",
        ),
        (("--kv", "-p", "pgdsf[value=all]", "-c", "3p"), "expected block, suffix"),
    ],
)
def test_an_option_that_does_not_apply_is_an_error(
    destage: Destage, prompts: Path, flags: tuple[str, ...], said: str
) -> None:
    done = destage("compare", prompts, "--bytes-per-token", "8", *flags)
    assert done.status == 2, done.out
    assert said in " ".join(done.err.split())


def test_a_group_leaves_out_policies_that_need_the_tail_first(
    destage: Destage, prompts: Path
) -> None:
    flags = ("--bytes-per-token", "8", "--kv", "-p", "all", "-c", "3p", "--touch", "head-first")
    done = destage("compare", prompts, *flags, "--csv", "-")
    assert done.status == 0, done.err
    assert "pgdsf" not in done.out
    assert "skipped, since --touch excludes them: pgdsf" in " ".join(done.err.split())
    tail = destage("compare", prompts, *flags[:-1], "tail-first", "--csv", "-")
    assert "pgdsf" in tail.out


def test_deep_blocks_are_worth_reading(prompts: Path) -> None:
    how = {"cache": "3p", **BELOW, **TIMES}
    trace = opened(prompts)
    (every, few, none) = (
        ds.compare(trace, "lru", admit=f"worth[read_ns={read}]", **how)[0]
        for read in ("1ns", "70us", "1s")
    )
    assert every["admitted"] == ds.compare(trace, "lru", **how)[0]["admitted"]
    assert 0 < few["admitted"] < every["admitted"]
    assert none["admitted"] == 0
