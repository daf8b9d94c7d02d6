"""A simulated SSD behind the flash tier: command, Python, sweeps, prompts of a language model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Destage, msr_lines

import destage as ds

TIERS = ("--tier2", "lru", "--tier2-cache", "40p")
TIER2 = {"tier2": "lru", "tier2_cache": "400p"}


@pytest.fixture(scope="module")
def zipf() -> ds.Trace:
    return ds.synth("zipf", requests=20_000, pages=2_000, seed=1)


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    """A thousand prompts of 2 to 10 blocks that share their beginnings, ten a second."""
    lines = []
    for k in range(1_000):
        topic, length = k * k % 37, 2 + k % 9
        ids = [1_000 * topic + place for place in range(min(length, 6))]
        ids += [100_000 + 10 * k + place for place in range(length - len(ids))]
        tokens = 512 * len(ids)
        lines.append(json.dumps({"timestamp": 100 * k, "input_length": tokens, "hash_ids": ids}))
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_decisions_are_those_without_a_device_and_times_are_added(zipf: ds.Trace) -> None:
    both = [
        ds.compare(zipf, "lru,arc", cache="50p", **TIER2, admit="nth", device=d, warmup="none")
        for d in (None, "small")
    ]
    for alone, timed in zip(*both, strict=True):
        assert alone.counters == timed.counters
        for name, value in alone.metrics.items():
            assert value is None or timed[name] == value, name
        assert alone["waf"] is None
        assert timed["waf"] >= 1
        assert timed["flash_programs"] == timed["tier2_writes"]
        assert timed["flash_reads"] is None, "reads of dirty victims would be among them"
        assert timed.timing["counters"]["flash_reads"] == timed["tier2_reads"]
        assert timed["average_latency_ns"] is None, "a miss may be read from the store below"


@pytest.mark.parametrize("wait", ["program", "transfer", "none", "staged"])
@pytest.mark.parametrize("read_wait", ["frame", "data"])
def test_without_dram_a_write_waits_for_its_own_write(
    wait: str, read_wait: str, tmp_path: Path
) -> None:
    """A program takes 100 us on the one unit, a page of the store below 1 ms."""
    path = tmp_path / "one-unit.toml"
    device = "blocks_per_plane = 64\nread_ns = [0]\nprogram_ns = [100000]\nbus_ps_per_byte = 0\n"
    cache = f'[cache]\nevict_wait = "{wait}"\nread_wait = "{read_wait}"\n'
    path.write_text(f"[device]\n{device}{cache}")
    at = [0, 0, 10**7, 2 * 10**7]
    trace = ds.open_trace({"time_ns": at, "page": [0, 1, 0, 0], "op": ["w", "w", "r", "w"]})

    def means(admit: str, fetches: bool) -> tuple[float, float]:
        (run,) = ds.compare(
            trace,
            "none",
            tier2="lru",
            tier2_cache="2p",
            admit=admit,
            fetch_on_write_miss=fetches,
            device=path,
            warmup="none",
        )
        return run["read_response_ns_mean"], run["write_response_ns_mean"]

    assert means("always", fetches=False) == (0, (100_000 + 200_000 + 100_000) / 3)
    # The fetch of 1 ms ends after both programs.
    assert means("always", fetches=True) == (0, (10**6 + 10**6 + 100_000) / 3)
    for fetches in (False, True):
        assert means("probability[p=0]", fetches) == (10**6, 10**6)


def test_times_of_the_store_below_and_the_life_of_the_device_are_shown(
    zipf: ds.Trace,
) -> None:
    runs = [
        ds.compare(zipf, "lru", cache="50p", **TIER2, device="small", warmup="none", **times)
        for times in ({}, {"backing_read_ns": 5_000_000})
    ]
    assert runs[1][0]["read_response_ns_mean"] > runs[0][0]["read_response_ns_mean"]
    life = runs[0].enduring(3_000)[0].life
    assert life is not None
    assert life.years is not None
    assert life.years > 0


def test_the_flash_tier_is_as_large_as_the_device_unless_it_is_given(
    destage: Destage, tmp_path: Path
) -> None:
    trace = tmp_path / "hm.csv"
    trace.write_text("".join(msr_lines(400)))
    flags = ("-p", "lru", "-c", "10p", "--tier2", "lru", "-d", "small")
    done = destage("compare", trace, *flags, "--json", "-")
    assert done.status == 0, done.err
    (run,) = json.loads(done.out)["runs"]
    assert run["config"]["tier2_frames"] == ds.open_device("small").logical_pages
    assert run["metrics"]["waf"] is not None
    slow = ("--backing-read-ns", 9_000_000)
    done = destage("compare", trace, *flags, *slow, "--json", "-")
    assert done.status == 0, done.err
    (slower,) = json.loads(done.out)["runs"]
    assert slower["metrics"]["response_ns_mean"] > run["metrics"]["response_ns_mean"]
    done = destage("compare", trace, *flags, "--tier2-cache", "1TiB")
    assert done.status == 2
    assert "are more than the device small has" in done.err.replace("\n", " ")
    for device, said in [
        ("small[handles=4;placement=sepbit]", "excludes placement: policy"),
        ("small[host.writer=trickle]", "excludes host: writer"),
    ]:
        done = destage("compare", trace, *flags[:-1], device, "--tier2-cache", "40p")
        assert done.status == 2, done.out
        assert said in done.err.replace("\n", " "), done.err


def test_prompts_wait_for_their_blocks_on_flash(destage: Destage, prompts: Path) -> None:
    base = (prompts, "--bytes-per-token", "8", "--kv", "-c", "40p", *TIERS, "-p", "lru")
    runs = []
    for more in ((), ("-d", "small")):
        done = destage("compare", *base, *more, "--json", "-", "--warmup", "none")
        assert done.status == 0, done.err
        runs += json.loads(done.out)["runs"]
    alone, timed = runs
    for name, value in alone["metrics"].items():
        assert value is None or timed["metrics"][name] == value, name
    assert timed["kv"] == alone["kv"]
    metrics = timed["metrics"]
    assert metrics["requests"] == 1_000
    assert metrics["flash_reads"] == metrics["tier2_hits"] > 0
    assert metrics["flash_programs"] == metrics["tier2_writes"]
    assert metrics["response_ns_max"] > 0 == metrics["response_ns_p50"]
    # 4 KiB a block, 99.9 s.
    per_day = metrics["tier2_writes"] * 4096 * 86_400 / 99.9
    # Extrapolated to three digits.
    assert metrics["flash_bytes_per_day"] == float(f"{per_day:.2e}")


def test_a_block_may_take_several_pages_of_the_device(destage: Destage, prompts: Path) -> None:
    flags = ("--kv", "-c", "40p", *TIERS, "-p", "lru", "-d", "small", "--warmup", "none")
    found = []
    for size in (8, 20):
        done = destage("compare", prompts, "--bytes-per-token", size, *flags, "--json", "-")
        assert done.status == 0, done.err
        found.append(json.loads(done.out)["runs"][0]["metrics"])
    one, three = found
    assert three["token_hit_ratio"] == one["token_hit_ratio"]
    assert three["flash_programs"] == 3 * one["flash_programs"]
    assert three["response_ns_max"] >= one["response_ns_max"]


def test_a_device_behind_one_tier_of_prompts_is_refused(destage: Destage, prompts: Path) -> None:
    flags = ("--bytes-per-token", "8", "--kv", "-c", "40p", "-p", "lru", "-d", "small")
    done = destage("compare", prompts, *flags)
    assert done.status == 2
    assert "add tier2 (--tier2)" in done.err


def test_differences_and_series_of_prompts_are_of_cached_prefixes(
    destage: Destage, prompts: Path, tmp_path: Path
) -> None:
    base = (prompts, "--bytes-per-token", "8", "--kv", "-c", "60p", "--warmup", "none")
    done = destage("compare", *base, "-p", "lru,fifo", "--json", "-")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    (group,) = found["differences"]["groups"]
    assert "token_hit_ratio" in group["metrics"]
    assert not {"hit_ratio", "misses"} & set(group["metrics"])
    run = found["runs"][0]
    assert sum(run["windows"]["accesses"]) == run["metrics"]["tokens"]
    assert sum(run["windows"]["hits"]) == run["metrics"]["hit_tokens"]
    series = tmp_path / "series.csv"
    done = destage("run", *base, "-p", "lru", "--series", series, "--period", "500")
    assert done.status == 0, done.err
    rows = [line.split(",") for line in series.read_text().splitlines()]
    place = rows[0].index("read_hits")
    assert sum(int(row[place]) for row in rows[1:]) == run["metrics"]["hit_blocks"]


def test_a_sweep_keeps_the_flash_tier_in_its_labels(tmp_path: Path) -> None:
    asked = {
        "traces": [{"synth": "zipf", "requests": 2_000, "pages": 300}],
        "policies": ["lru"],
        "cache": ["20p"],
        "devices": ["small"],
        "tier2": ["lru", "s3-fifo"],
        "tier2_cache": ["100p"],
        "admit": ["always", "nth"],
    }
    done = ds.sweep({"sweep": asked}, tmp_path / "store")
    assert (done.done, done.failed) == (4, 0), done
    stored = ds.load_results(tmp_path / "store")
    labels = {run.label for run in stored}
    assert labels == {row["label"] for row in stored.rows}
    assert "lru over s3-fifo 100p, admit nth" in labels
    assert all(run["waf"] >= 1 for run in stored)
    again = ds.sweep({"sweep": asked}, tmp_path / "store", resume=True)
    assert (again.planned, again.missing) == (4, 0)


def test_screening_says_that_a_flash_tier_needs_whole_runs(zipf: ds.Trace) -> None:
    with pytest.raises(ds.UsageError, match=r"^screen: tier2 needs whole runs"):
        ds.screen(zipf, "lru,fifo", cache="10%", tier2="lru", tier2_cache="20%")


def test_results_are_run_again_and_a_report_shows_both_tiers(
    destage: Destage, prompts: Path, tmp_path: Path
) -> None:
    pytest.importorskip("altair")
    kept, page = tmp_path / "kept.json", tmp_path / "report.html"
    flags = ("--bytes-per-token", "8", "--kv", "-c", "40p", *TIERS, "-p", "lru,fifo")
    done = destage("compare", prompts, *flags, "-d", "small", "--json", kept, "--report", page)
    assert done.status == 0, done.err
    text = page.read_text()
    assert "lru over lru 40p" in text
    assert "Token hit ratio" in text
    done = destage("rerun", kept)
    assert done.status == 0, (done.out, done.err)


def test_the_vectors_with_a_device_behind_the_flash_tier_pass() -> None:
    vectors = Path(__file__).parents[1] / "vectors" / "tiers-device.jsonl"
    report = ds.conform([vectors])
    assert report.ok, report
    assert (report.passed, report.skipped) == (25, 0)


@pytest.mark.parametrize(("unit", "read_ns"), [("s", 5 * 10**9), ("ms", 5 * 10**6), ("ns", 1)])
def test_a_heading_has_the_unit_of_its_times(
    unit: str, read_ns: int, zipf: ds.Trace, tmp_path: Path
) -> None:
    """Letters of a title are no unit: "response" has an s, and ns."""
    path = tmp_path / "at-once.toml"
    device = "[device]\nread_ns = [0]\nprogram_ns = [0]\nbus_ps_per_byte = 0\n"
    path.write_text(device + '[cache]\nevict_wait = "none"\n')
    store = {"backing_read_ns": read_ns, "backing_write_ns": read_ns}
    results = ds.compare(zipf, "lru", cache="50p", **TIER2, device=path, warmup="none", **store)
    _, *headings = str(results).split("\n-", 1)[0].splitlines()
    titles = " ".join(headings).split()
    assert f"({unit})" in titles
    assert sum(one in ("(s)", "(ms)", "(µs)", "(ns)") for one in titles) == 3  # and eviction wait
    assert titles.count("response") == 2
