"""A disk as the store below all tiers: command, Python, files, sweeps, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage, msr_lines

import destage as ds

FLAGS = ("-p", "lru", "-c", "10p", "--tier2", "lru", "--tier2-cache", "400p", "-d", "small")
TIERS: dict[str, Any] = {"tier2": "lru", "tier2_cache": "400p", "device": "small"}


@pytest.fixture(scope="module")
def zipf() -> ds.Trace:
    return ds.synth("zipf", requests=4_000, pages=2_000, read_ratio=0.6, seed=1)


def run_of(trace: ds.Trace, **options: Any) -> ds.Run:
    (run,) = ds.compare(trace, "lru", **{"cache": "50p", "warmup": "none", **TIERS, **options})
    return run


def test_a_disk_serves_each_page_of_the_backing_store_once(zipf: ds.Trace) -> None:
    constant, disk = run_of(zipf), run_of(zipf, backing="disk")
    for name in ("overall_hit_ratio", "tier2_writes", "backing_reads", "backing_writes"):
        assert disk[name] == constant[name], name
    assert disk["backing_writes"] > 0
    assert disk["disk_seeks"] + disk["disk_sequential"] == (
        disk["backing_reads"] + disk["backing_writes"]
    )
    assert constant["disk_seeks"] is None
    assert constant["disk_utilisation"] is None
    assert 0 < disk["disk_utilisation"] <= 1
    assert disk["response_ns_mean"] > constant["response_ns_mean"], "a seek takes longer than 1 ms"
    assert disk.label.endswith(", backing disk")
    measured = run_of(zipf, backing="disk", warmup="50%")
    assert measured["disk_seeks"] + measured["disk_sequential"] == (
        measured["backing_reads"] + measured["backing_writes"]
    )
    # Addresses decide: on a small disk the same pages are far apart.
    far = run_of(zipf, backing="disk[capacity=8192000B]")
    assert far["disk_busy_ns"] > disk["disk_busy_ns"]
    assert far["disk_seeks"] == disk["disk_seeks"]


def test_sequential_reads_take_their_transfer_alone(destage: Destage, tmp_path: Path) -> None:
    trace = tmp_path / "sequential.csv"
    # 200 reads of 16 KiB, one every 10 ms.
    rows = (
        f"{128166372000000000 + 100_000 * k},host,0,Read,{16_384 * k},16384,0\n" for k in range(200)
    )
    trace.write_text("".join(rows))
    flags = (*FLAGS, "--backing", "disk[rate=204800000B]", "--warmup", "none")
    done = destage("compare", trace, *flags, "--json", "-")
    assert done.status == 0, done.err
    (run,) = json.loads(done.out)["runs"]
    assert run["config"]["backing"] == "disk[rate=204800000B]"
    counted = run["disk"]
    # 4 KiB at 204.8 MB/s: 20 us a page, and of four pages the last waits for three.
    assert (counted["disk_seeks"], counted["disk_sequential"]) == (0, 800)
    assert counted["disk_busy_ns"] == 800 * 20_000
    assert counted["disk_wait_ns"] == 200 * (20_000 + 40_000 + 60_000)
    spread = run["metrics"]["response_ns_max"] - run["metrics"]["response_ns_p50"]
    assert spread == 0, "every request takes four transfers"
    assert run["metrics"]["disk_utilisation"] == counted["disk_busy_ns"] / counted["disk_span_ns"]


def test_a_file_and_rerun_have_the_disk(destage: Destage, tmp_path: Path) -> None:
    trace = tmp_path / "hm.csv"
    trace.write_text("".join(msr_lines(400)))
    config = tmp_path / "tiers.toml"
    config.write_text('[tier2]\npolicy = "lru"\ncache = "400p"\nbacking = "disk[rpm=5400]"\n')
    kept = tmp_path / "kept.json"
    base = ("compare", trace, "-p", "lru", "-c", "10p", "-d", "small", "--json")
    done = destage(*base, kept, "--config", config)
    assert done.status == 0, done.err
    by_flags = destage(*base, "-", *FLAGS[4:8], "--backing", "disk[rpm=5400]")
    assert by_flags.status == 0, by_flags.err
    ours, theirs = (json.loads(text)["runs"] for text in (kept.read_text(), by_flags.out))
    assert [run["disk"] for run in ours] == [run["disk"] for run in theirs]
    assert ours[0]["disk"]["disk_seeks"] > 0
    done = destage("rerun", kept)
    assert done.status == 0, (done.out, done.err)


def refused(destage: Destage, folder: Path, flags: tuple[str, ...], said: str) -> Path:
    """A run with these flags is an error that says this; its trace."""
    trace = folder / "hm.csv"
    trace.write_text("".join(msr_lines(50)))
    # A flag is typed once: one of these takes the place of the usual one.
    pairs = zip(FLAGS[::2], FLAGS[1::2], strict=True)
    usual = [word for flag, value in pairs if flag not in flags for word in (flag, value)]
    done = destage("compare", trace, *usual, *flags)
    assert done.status == 2, (done.out, done.err)
    assert said in " ".join(done.err.split()), done.err
    return trace


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--backing", "disc"), 'unknown backing store "disc", did you mean disk?'),
        (("--backing", "disk[rpm=0]"), "rpm = 0: expected integer 100..1000000, turns a minute"),
        (("--backing", "disk[sek_max=9ms]"), 'unknown parameter "sek_max", did you mean seek_max?'),
        (("--backing", "disk[seek_max=2s]"), "expected at most 1s, as in disk[seek_max=20ms]"),
        (("--backing", "disk[capacity=8KiB]"), "type disk[capacity="),
        (("--backing", "disk", "--backing-read-ns", "5"), "a disk has times of its own"),
        (("--backing", "disk", "--backing-write-ns", "5"), "excludes backing_write_ns"),
    ],
)
def test_mistakes_name_the_key_and_what_to_type(
    destage: Destage, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    refused(destage, tmp_path, flags, said)


def test_a_disk_needs_a_tier_and_a_device(zipf: ds.Trace) -> None:
    with pytest.raises(ds.UsageError, match=r"add tier2 \(--tier2\)"):
        ds.compare(zipf, "lru", cache="50p", backing="disk")
    with pytest.raises(ds.UsageError, match=r"add device \(--device\)"):
        ds.compare(zipf, "lru", cache="50p", backing="disk", tier2="lru", tier2_cache="90p")


def test_the_store_below_is_an_axis_of_a_sweep(tmp_path: Path) -> None:
    asked = {
        "traces": [{"synth": "zipf", "requests": 2_000, "pages": 300}],
        "policies": ["lru"],
        "cache": ["20p"],
        "devices": ["small"],
        "tier2": ["lru"],
        "tier2_cache": ["100p"],
        "backing": ["constant", "disk", "disk[rpm=5400;capacity=4TB]"],
    }
    done = ds.sweep({"sweep": asked}, tmp_path / "store")
    assert (done.done, done.failed) == (3, 0), done
    stored = ds.load_results(tmp_path / "store")
    rows = {row["backing"]: row for row in stored.rows}
    assert rows.keys() == set(asked["backing"])
    assert {run.label for run in stored} == {row["label"] for row in stored.rows}
    assert rows["constant"]["disk_seeks"] is None
    assert rows["disk"]["disk_busy_ns"] < rows["disk[rpm=5400;capacity=4TB]"]["disk_busy_ns"]


def test_the_vectors_of_a_disk_pass() -> None:
    vectors = Path(__file__).parents[1] / "vectors" / "tiers-disk.jsonl"
    report = ds.conform([vectors])
    assert report.ok, report
    assert (report.passed, report.skipped) == (10, 0)


def test_at_most_a_share_of_the_flash_tier_is_dirty(zipf: ds.Trace) -> None:
    tier2 = {"tier2": "lru", "tier2_cache": "400p", "device": None}
    plain = run_of(zipf, **tier2)
    runs = [run_of(zipf, **tier2, tier2_clean=f"dirty[max={share}]") for share in (1, 0.5, 0)]
    pending = [run["pending_tier2"] for run in runs]
    assert pending[0] == plain["pending_tier2"] > 200 >= pending[1] > pending[2] == 0
    writes = [run["backing_writes"] for run in runs]
    assert writes == sorted(writes)
    assert writes[0] == plain["backing_writes"] < writes[1]
    assert plain["tier2_cleaned"] is None
    assert runs[0]["tier2_cleaned"] == 0 < runs[1]["tier2_cleaned"] < runs[2]["tier2_cleaned"]
    for run in runs:
        assert run["overall_hit_ratio"] == plain["overall_hit_ratio"], "lru does not look at it"
        assert run["tier2_writes"] == plain["tier2_writes"]
    timed = run_of(zipf, tier2_clean="dirty[max=0.5]", backing="disk")
    for name in ("tier2_cleaned", "tier2_reads", "backing_writes", "pending_tier2"):
        assert timed[name] == runs[1][name], name
    assert timed["disk_seeks"] + timed["disk_sequential"] == (
        timed["backing_reads"] + timed["backing_writes"]
    )
    assert timed.label == "lru over lru 400p, clean dirty[max=0.5], backing disk"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--tier2-clean", "dirt"), 'unknown write-back "dirt", did you mean dirty?'),
        (("--tier2-clean", "dirty[max=2]"), "max = 2: expected 0..1, of frames"),
        (
            ("--tier2-clean", "dirty", "--tier3", "lru", "--tier3-cache", "9p"),
            "excludes tier3 (--tier3)",
        ),
        (("--tier2-clean", "dirty", "--tier2", "arc"), "excludes tier2 = arc: it keeps no page"),
    ],
)
def test_mistakes_of_a_share_say_what_to_type(
    destage: Destage, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    trace = refused(destage, tmp_path, flags, said)
    alone = destage("compare", trace, "-p", "lru", "-c", "10p", "--tier2-clean", "dirty")
    assert alone.status == 2
    assert "tier2_clean (--tier2-clean) needs a flash tier: add tier2 (--tier2)" in alone.err


def test_the_share_is_a_key_of_a_file_and_an_axis_of_a_sweep(
    destage: Destage, tmp_path: Path
) -> None:
    trace = tmp_path / "hm.csv"
    trace.write_text("".join(msr_lines(400)))
    config = tmp_path / "tiers.toml"
    config.write_text('[tier2]\npolicy = "lru"\ncache = "90p"\nclean = "dirty[max=0.1]"\n')
    kept = tmp_path / "kept.json"
    base = ("compare", trace, "-p", "lru", "-c", "10p", "--warmup", "none")
    done = destage(*base, "--config", config, "--json", kept)
    assert done.status == 0, done.err
    (run,) = json.loads(kept.read_text())["runs"]
    assert run["config"]["tier2_clean"] == "dirty[max=0.1]"
    assert run["tiers"]["tier2_cleaned"] > 0
    assert run["tiers"]["pending_tier2"] <= 9
    done = destage("rerun", kept)
    assert done.status == 0, (done.out, done.err)
    asked = {
        "traces": [{"synth": "zipf", "requests": 2_000, "pages": 300, "read_ratio": 0.5}],
        "policies": ["lru"],
        "cache": ["20p"],
        "tier2": ["lru"],
        "tier2_cache": ["100p"],
        "tier2_clean": ["none", "dirty", "dirty[max=0.5]"],
    }
    swept = ds.sweep({"sweep": asked}, tmp_path / "store")
    assert (swept.done, swept.failed) == (3, 0), swept
    stored = ds.load_results(tmp_path / "store")
    assert {row["tier2_clean"] for row in stored.rows} == set(asked["tier2_clean"])
    assert {run.label for run in stored} == {row["label"] for row in stored.rows}


def test_no_write_back_is_the_same_whether_it_is_named_or_not(
    destage: Destage, tmp_path: Path, zipf: ds.Trace
) -> None:
    tier2 = {"tier2": "lru", "tier2_cache": "400p", "device": None}
    plain, named = run_of(zipf, **tier2), run_of(zipf, **tier2, tier2_clean="none")
    assert named["tier2_cleaned"] is None
    assert "tier2_clean" not in named.config
    assert (named.label, named.metrics) == (plain.label, plain.metrics)
    once = {"traces": [{"synth": "zipf", "requests": 2_000, "pages": 300}], "policies": ["lru"]}
    once |= {"cache": ["20p"], "tier2": ["lru"], "tier2_cache": ["100p"]}
    for asked in (once, once | {"tier2_clean": ["none"]}):
        ds.sweep({"sweep": asked}, tmp_path / "store", resume=True)
    assert len(ds.load_results(tmp_path / "store")) == 1, "a store knows it as the same run"
    trace = tmp_path / "hm.csv"
    trace.write_text("".join(msr_lines(40)))
    alone = destage("compare", trace, "-p", "lru", "-c", "10p", "--tier2-clean", "none")
    assert alone.status == 2
    assert "tier2_clean (--tier2-clean) needs a flash tier: add tier2 (--tier2)" in alone.err


def test_the_vectors_of_a_share_of_dirty_pages_pass() -> None:
    vectors = Path(__file__).parents[1] / "vectors" / "tiers-clean.jsonl"
    report = ds.conform([vectors])
    assert report.ok, report
    assert (report.passed, report.skipped) == (10, 0)
