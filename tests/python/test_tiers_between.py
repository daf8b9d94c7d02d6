"""What a flash tier does between two requests: stale pages are written back, and it is fed."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds

#: A DRAM-less flash tier of 100 pages.
FLAGS = ("-p", "none", "--tier2", "lru", "--tier2-cache", "100p", "--warmup", "none")

THIRD = ("--tier3", "lru", "--tier3-cache", "9p")

Rows = Iterable[tuple[float, str, int]]


def trace_of(folder: Path, rows: Rows) -> Path:
    """A trace of these seconds, operations and pages."""
    path = folder / "seconds.csv"
    at = 128166372000000000
    lines = (
        f"{at + round(second * 10_000_000)},host,0,{op},{page * 4096},4096,0\n"
        for second, op, page in rows
    )
    path.write_text("".join(lines))
    return path


def with_a_pause(folder: Path, seconds: float) -> Path:
    """20 writes, one a second, a pause and a read."""
    writes = [(second, "Write", 50 - second) for second in range(20)]
    return trace_of(folder, [*writes, (19 + seconds, "Read", 60)])


def run_of(trace: Path, clean: str | None, **more: Any) -> ds.Run:
    tier2: dict[str, Any] = {"tier2": "lru", "tier2_cache": "100p", "tier2_clean": clean}
    (run,) = ds.compare(ds.open_trace(trace), "none", **{"warmup": "none", **tier2, **more})
    return run


def test_stale_pages_are_written_back_in_a_pause(tmp_path: Path) -> None:
    trace = with_a_pause(tmp_path, 130)
    plain = run_of(trace, None)
    assert (plain["pending_tier2"], plain["tier2_cleaned"]) == (20, None)
    # Wake-ups at 20, 40, ...: at 120 no page is older than 120 s, at 140 all are.
    for clean, cleaned in [
        ("alru", 20),
        ("alru[staleness_time=121.5s]", 19),
        ("alru[wake_up_time=150s]", 0),
        ("alru[activity_threshold=121s]", 20),
        ("alru[activity_threshold=122s]", 0),
        ("alru[flush_max_buffers=5;page_time=1s]", 10),
        ("alru[flush_max_buffers=5]", 20),
    ]:
        run = run_of(trace, clean)
        counts = (run["tier2_cleaned"], run["pending_tier2"], run["backing_writes"])
        assert counts == (cleaned, 20 - cleaned, cleaned), clean
        assert run["tier2_reads"] == cleaned
        assert run["tier2_writes"] == plain["tier2_writes"]
        assert run.label == f"none over lru 100p, clean {clean}"
    # Measured from the read on, which the wake-ups precede.
    assert run_of(trace, "alru", warmup="20r")["tier2_cleaned"] == 20


def test_a_tier_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    steady = [(second, "Write" if second < 20 else "Read", second % 20) for second in range(300)]
    run = run_of(trace_of(tmp_path, steady), "alru")
    assert (run["tier2_cleaned"], run["pending_tier2"]) == (0, 20)
    rare = [(11 * second, op, page) for second, op, page in steady]
    assert run_of(trace_of(tmp_path, rare), "alru")["tier2_cleaned"] == 20


def test_decisions_show_what_was_due_before_an_access(destage: Destage, tmp_path: Path) -> None:
    trace, decisions = with_a_pause(tmp_path, 130), tmp_path / "decisions.jsonl"
    clean = "alru[staleness_time=121.5s;flush_max_buffers=3]"
    done = destage("run", trace, *FLAGS, "--tier2-clean", clean, "--decisions", decisions)
    assert done.status == 0, done.err
    rows = [json.loads(line) for line in decisions.read_text().splitlines()]
    written = [row["written_back"] for row in rows if row.get("written_back")]
    # At 140 the pages of the seconds 0 to 18, three at a time, each batch in order of address.
    expected = [page for k in range(50, 32, -3) for page in (k - 2, k - 1, k)] + [32]
    assert written == [expected]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--tier2-clean", "alur"), 'unknown write-back "alur", did you mean alru?'),
        (("--tier2-clean", "alru[wake=5s]"), 'alru: unknown parameter "wake"'),
        (("--tier2-clean", "alru[staleness_time=5]"), "staleness_time = 5: expected a duration"),
        (("--tier2-clean", "alru[flush_max_buffers=0]"), "expected integer 1..10000, pages"),
        (
            ("--tier2-clean", "alru", *THIRD),
            "tier2_clean (--tier2-clean) excludes tier3 (--tier3)",
        ),
        (("--tier2-clean", "alru", "--tier2", "arc"), "excludes tier2 = arc: it keeps no page"),
        (
            ("--tier2-clean", "alru", "-d", "small"),
            "tier2_clean = alru (--tier2-clean) excludes device (--device): when it reads",
        ),
    ],
)
def test_mistakes_say_what_to_type(
    destage: Destage, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    # A flag is typed once: one of these takes the place of the usual one.
    pairs = zip(FLAGS[::2], FLAGS[1::2], strict=True)
    usual = [word for flag, value in pairs if flag not in flags for word in (flag, value)]
    done = destage("compare", with_a_pause(tmp_path, 1), *usual, *flags)
    assert done.status == 2, (done.out, done.err)
    assert said in " ".join(done.err.split()), done.err


def test_a_trace_without_times_has_no_pauses(destage: Destage, tmp_path: Path) -> None:
    trace = trace_of(tmp_path, [(0, "Write", page) for page in range(9)])
    done = destage("compare", trace, *FLAGS, "--tier2-clean", "alru")
    assert done.status == 2, (done.out, done.err)
    said = "tier2_clean = alru (--tier2-clean) needs arrival times, and the trace has none"
    assert said in " ".join(done.err.split()), done.err


def test_it_is_an_axis_of_a_sweep_and_is_run_again(destage: Destage, tmp_path: Path) -> None:
    trace, kept = with_a_pause(tmp_path, 130), tmp_path / "kept.json"
    values = "none,alru,alru[staleness_time=121.5s]"
    done = destage("compare", trace, *FLAGS, "--tier2-clean", values, "--json", kept)
    assert done.status == 0, done.err
    runs = json.loads(kept.read_text())["runs"]
    assert [run["tiers"].get("tier2_cleaned", 0) for run in runs] == [0, 20, 19]
    done = destage("rerun", kept)
    assert done.status == 0, (done.out, done.err)


def test_the_vectors_of_stale_pages_pass() -> None:
    vectors = Path(__file__).parents[1] / "vectors" / "tiers-alru.jsonl"
    report = ds.conform([vectors])
    assert report.ok, report
    assert (report.passed, report.skipped) == (8, 0)


def fed(trace: Path, offer: str, tier1: str = "arc", **more: Any) -> ds.Run:
    tier2: dict[str, Any] = {"tier2": "fifo", "tier2_cache": "100p", "offer": offer, **more}
    (run,) = ds.compare(ds.open_trace(trace), tier1, cache="12p", warmup="none", **tier2)
    return run


def test_a_feed_copies_what_tier_1_evicts_next(tmp_path: Path) -> None:
    # Page 0 twice, then a page each 0.1 s, then all of them again.
    first = [(0.0, "Read", 0), (0.05, "Read", 0)]
    scan = [(k / 10, "Read", k) for k in range(1, 41)]
    again = [(5 + k / 10, "Read", k) for k in range(41)]
    trace = trace_of(tmp_path, [*first, *scan, *again])
    plain, feed = fed(trace, "evicted"), fed(trace, "feed")
    assert plain["hit_ratio"] == feed["hit_ratio"], "tier 1 sees nothing of it"
    # Twelve frames hold the pages of a second and more: the feed misses none.
    assert plain["tier2_hits"] == feed["tier2_hits"] == 40
    # A page a pass: one a second, or, after a pass that fed it, one in 200 ms.
    slow = fed(trace, "feed[write_max=4097B;write_boost=none;min_interval=1s]")
    assert 0 < slow["tier2_hits"] < 10
    # Nine passes; the last looks at two pages, which have copies.
    assert slow["offers"] == slow["admitted"] == slow["tier2_writes"] == 8
    fast = fed(trace, "feed[write_max=4097B;write_boost=none]")
    assert slow["tier2_hits"] < fast["tier2_hits"] <= 40
    mfu = fed(trace, "feed[lists=mfu]")
    assert mfu["tier2_writes"] < feed["tier2_writes"]
    assert mfu.label == "arc over fifo 100p, offer feed[lists=mfu]"


def test_dirty_pages_go_to_the_backing_store(tmp_path: Path) -> None:
    writes = [(k / 10, "Write", k) for k in range(40)]
    run = fed(trace_of(tmp_path, writes), "feed", "lru")
    assert (run["backing_writes"], run["tier2_writes"], run["pending_tier2"]) == (28, 0, 0)
    assert run["pending_tier1"] == 12


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--offer", "fead"), 'unknown offer "fead", did you mean feed?'),
        (("--offer", "feed[interval=1]"), "feed: interval = 1: expected a duration such as 60s"),
        (("-p", "2q"), "offer = feed (--offer) excludes tier 1 2q: it has no list of the pages"),
        (("-p", "none"), "offer = feed (--offer) excludes tier 1 none"),
        (("-p", "lru", "--offer", "feed[lists=mfu]"), "needs arc as tier 1: lru has one list"),
        (("-d", "small"), "offer = feed (--offer) excludes device (--device): when it reads"),
        (("--admit", "nth"), "offer = feed (--offer) excludes admit (--admit)"),
        (("--promote", "move"), "offer = feed (--offer) excludes promote = move"),
        (("--tier2-clean", "dirty", "--tier2", "lru"), "excludes tier2_clean (--tier2-clean)"),
        (THIRD, "excludes tier3 (--tier3)"),
        (
            ("--offer", "evicted", *THIRD, "--tier3-offer", "feed"),
            "tier3_offer = feed (--tier3-offer): only tier 2 is fed",
        ),
        (("--kv",), "kv (--kv) excludes offer = feed (--offer)"),
    ],
)
def test_mistakes_of_a_feed_say_what_to_type(
    destage: Destage, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    flat = ("-p", "arc", "-c", "10p", "--tier2", "fifo", "--tier2-cache", "100p", "--offer", "feed")
    given = dict(zip(flat[::2], flat[1::2], strict=True))
    bare = flags == ("--kv",)
    given |= {} if bare else dict(zip(flags[::2], flags[1::2], strict=True))
    words = [word for pair in given.items() for word in pair] + (["--kv"] if bare else [])
    done = destage("compare", with_a_pause(tmp_path, 1), *words)
    assert done.status == 2, (done.out, done.err)
    assert said in " ".join(done.err.split()), done.err


def test_a_feed_needs_times(destage: Destage, tmp_path: Path) -> None:
    trace = trace_of(tmp_path, [(0, "Read", page) for page in range(9)])
    flags = ("-p", "arc", "-c", "4p", "--tier2", "fifo", "--tier2-cache", "9p", "--offer", "feed")
    done = destage("compare", trace, *flags)
    assert done.status == 2, (done.out, done.err)
    assert "offer = feed (--offer) needs arrival times" in " ".join(done.err.split()), done.err


def test_a_feed_is_a_key_of_a_file_and_an_axis_of_a_sweep(destage: Destage, tmp_path: Path) -> None:
    trace, kept = with_a_pause(tmp_path, 5), tmp_path / "kept.json"
    config = tmp_path / "tiers.toml"
    config.write_text('[tier2]\npolicy = "fifo"\ncache = "90p"\noffer = "feed[headroom=4]"\n')
    base = ("compare", trace, "-p", "arc", "-c", "10p", "--warmup", "none")
    done = destage(*base, "--config", config, "--json", kept)
    assert done.status == 0, done.err
    (run,) = json.loads(kept.read_text())["runs"]
    assert run["config"]["offer"] == "feed[headroom=4]"
    done = destage("rerun", kept)
    assert done.status == 0, (done.out, done.err)
    asked = {
        "traces": [str(trace)],
        "policies": ["arc"],
        "cache": ["10p"],
        "tier2": ["fifo"],
        "tier2_cache": ["100p"],
        "offer": ["evicted", "inserted", "feed", "feed[lists=mfu]"],
    }
    swept = ds.sweep({"sweep": asked}, tmp_path / "store")
    assert (swept.done, swept.failed) == (4, 0), swept
    stored = ds.load_results(tmp_path / "store")
    assert {row["offer"] for row in stored.rows} == set(asked["offer"])


def test_the_vectors_of_a_feed_pass() -> None:
    vectors = Path(__file__).parents[1] / "vectors" / "tiers-feed.jsonl"
    report = ds.conform([vectors])
    assert report.ok, report
    assert (report.passed, report.skipped) == (8, 0)


def test_a_group_leaves_out_policies_that_cannot_feed(destage: Destage, tmp_path: Path) -> None:
    trace = with_a_pause(tmp_path, 5)
    below = ("--tier2", "fifo", "--tier2-cache", "90p", "--warmup", "none", "--csv", "-")

    def labels(offer: str) -> tuple[set[str], str]:
        done = destage("compare", trace, "-p", "all", "-c", "10p", "--offer", offer, *below)
        assert done.status == 0, done.err
        rows = csv.DictReader(done.out.splitlines())
        return {row["policy"] for row in rows}, " ".join(done.err.split())

    ordered = {p.name for p in ds.policies() if p.ordered}
    both = {p.name for p in ds.policies() if p.two_lists}
    assert ordered
    assert both == {"arc"}
    feeding, said = labels("feed")
    assert feeding == ordered | both
    assert "skipped, since --offer excludes them: lru-k, 2q" in said
    assert labels("feed[lists=mfu]")[0] == both
    assert labels("evicted,feed")[0] == feeding < labels("evicted")[0]
