"""Samples as small as an error allows, and the finalists exactly: `--sample auto`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds

CACHES = "2%,20%,50%"


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=200_000, pages=60_000, alpha=0.6, read_ratio=0.6, seed=4)


def test_every_point_is_as_sure_as_wanted_or_exact(trace: ds.Trace) -> None:
    exact = ds.mrc(trace, "fifo,slru,sieve", cache=CACHES).to_dicts()
    found = ds.mrc(trace, "fifo,slru,sieve", cache=CACHES, sample="auto", error=0.01)
    sampled = held = 0
    for row, true in zip(found.to_dicts(), exact, strict=True):
        if row["hit_ratio_low"] is None:
            assert row == true
            continue
        sampled += 1
        assert row["hit_ratio_high"] - row["hit_ratio_low"] <= 0.02 + 1e-9
        held += row["misses_low"] <= true["misses"] <= row["misses_high"]
    assert sampled == 4, "fifo and slru at the two large sizes"
    assert held >= 3
    assert [s["rate"] for s in found.data["mrc"]["samples"]] == sorted(
        (s["rate"] for s in found.data["mrc"]["samples"]), reverse=True
    )
    text = found.as_table().text()
    assert re.search(r"from samples of [\d,]+ to [\d,]+ pages", text), text
    assert "without ±: exact, of the whole trace (5 of 9)" in text


def test_a_smaller_error_takes_larger_samples(trace: ds.Trace) -> None:
    def frames(error: float) -> float:
        (row,) = ds.mrc(trace, "fifo", cache="50%", sample="auto", error=error).to_dicts()
        return float(row["sample_frames"])

    assert frames(0.01) >= 2 * frames(0.05)


def test_samples_of_every_policy_leave_policies_that_none_serves_exact(trace: ds.Trace) -> None:
    policies = "lru,min,cfdc,acr-h[file_pages=60000]"
    rows = ds.mrc(trace, policies, cache="50%", sample="auto", error=0.02).to_dicts()
    assert [row["hit_ratio_low"] is None for row in rows] == [False, True, True, True]
    assert rows[1:] == ds.mrc(trace, policies, cache="50%").to_dicts()[1:]


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"sample": 0.1, "error": 0.01}, "error: it chooses the samples of sample"),
        ({"sample": "auto", "error": 1.0}, "error: expected a share above 0 and below 1"),
        ({"sample": "auto", "error": True}, "error: expected a share"),
        ({"sample": "some"}, 'expected a share of the pages, above 0, or "auto"'),
        ({"sample": "auto", "cache": "all"}, "cache all: it is exact"),
    ],
)
def test_what_cannot_be_is_said(trace: ds.Trace, keywords: dict[str, object], said: str) -> None:
    with pytest.raises(ds.UsageError, match=re.escape(said)):
        ds.mrc(trace, "lru", **keywords)  # type: ignore[arg-type]


def test_finalists_are_the_policies_that_may_be_best_and_run_exactly(trace: ds.Trace) -> None:
    policies = "lru,fifo,slru,sieve,min"
    found = ds.screen(trace, policies, cache=CACHES, error=0.01)
    exact = {(r.label, r.frames): r for r in ds.compare(trace, policies, cache=CACHES)}
    sizes = sorted({frames for _, frames in exact})
    for frames in sizes:
        rivals = [r for (label, at), r in exact.items() if at == frames and label != "min"]
        ran = {run.label for run in found.results if run.frames == frames}
        best = max(rivals, key=lambda r: r.hit_ratio or 0)
        fewest = min(rivals, key=lambda r: r["flash_writes"])
        assert {best.label, fewest.label} <= ran
        assert "min" not in ran
    assert len(sizes) < len(found.results) < 3 * len(sizes), "fewer than ran by samples"
    for run in found.results:
        assert run.metrics == exact[run.label, run.frames].metrics
        assert run.cache == exact[run.label, run.frames].cache
    assert found.summary[0].startswith(
        f"Finalists, run over the whole trace: {len(found.results)} of 15"
    )
    assert not found.passed_over


def test_a_limit_names_what_it_passes_over(trace: ds.Trace) -> None:
    every = ds.screen(trace, "lru,fifo,slru,sieve", cache="50%", error=0.05)
    one = ds.screen(trace, "lru,fifo,slru,sieve", cache="50%", error=0.05, finalists=1)
    assert len(every.results) > len(one.results) == 1
    (passed,) = one.passed_over.values()
    assert {*passed, one.results[0].label} == {run.label for run in every.results}
    assert "for the limit alone" in one.summary[1]


def test_the_command_shows_both_tables_and_files_hold_what_ran(
    destage: Destage, tmp_path: Path
) -> None:
    synth = ("zipf", "--requests", "60000", "--pages", "20000", "--alpha", "0.6")
    assert destage("trace", "synth", *synth, "-o", "z.csv").status == 0
    flags = ("z.csv", "-p", "lru,fifo,slru", "-c", "40%,50%", "--sample", "auto", "--error", "2%")
    done = destage("compare", *flags)
    assert done.status == 0, done
    assert "hit % over cache size, from" in done.out
    assert "Finalists, run over the whole trace: " in done.out
    written = destage("compare", *flags, "--finalists", "1", "--json", "-", "--quiet")
    runs = json.loads(written.out)["runs"]
    assert [run["config"]["cache"] for run in runs] == ["40%", "50%"]
    again = destage("compare", *flags, "--finalists", "1", "--json", "-", "--quiet", "--jobs", "1")
    assert again.out == written.out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--sample", "1%"), "expected auto"),
        (("--sample", "auto", "-d", "small"), "--sample excludes --device"),
        (("--sample", "auto", "--finalists", "0"), "expected a whole number from 1"),
        (("--sample", "auto", "--error", "x"), "--error x: expected a share"),
        (("--sample", "auto", "--dry-run"), "--dry-run does not go with --sample auto"),
        (("--sample", "auto", "--kv"), "--kv does not go with --sample auto"),
        (
            ("--sample", "auto", "--tier2", "lru", "--tier2-cache", "9p"),
            "--tier2 does not go with --sample auto",
        ),
        (("--finalists", "2"), "--finalists goes with --sample auto"),
        (("--error", "1%"), "--error goes with --sample auto"),
    ],
)
def test_wrong_flags_are_said_in_one_sentence(
    destage: Destage, flags: tuple[str, ...], said: str
) -> None:
    synth = ("zipf", "--requests", "100", "--pages", "50")
    assert destage("trace", "synth", *synth, "-o", "z.csv").status == 0
    done = destage("compare", "z.csv", "-p", "lru", "-c", "10%", *flags)
    assert done.status == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) <= 2


def test_where_nothing_is_written_nobody_is_a_finalist_for_writing_nothing() -> None:
    reads = ds.synth("zipf", requests=60_000, pages=20_000, alpha=0.6, read_ratio=1.0, seed=4)
    found = ds.screen(reads, "fifo,slru,lru", cache="20%", error=0.02)
    assert [run.label for run in found.results] == ["slru"]
    assert found.summary == (
        "Finalists, run over the whole trace: 1 of 3 policies and sizes, with no"
        " significant difference from the best in hits.",
    )
    # Where nothing hits either, nobody is behind.
    once = ds.synth("sequential", requests=2_000, pages=2_000, read_ratio=1.0, seed=1)
    assert len(ds.screen(once, "fifo,lru", cache="20%").results) == 2
