"""The warm-up `auto`: each cache size is measured from the request at which it is full."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds
from destage.questions.runs import Pair, compare_pairs

#: Requests of every synthetic trace.
REQUESTS = 1200
PAGE = 4096


def iolog(asked: Sequence[tuple[str, int, int]]) -> str:
    """Requests (operation, first page, pages) as a log of fio."""
    lines = ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open"]
    for time, (op, first, pages) in enumerate(asked):
        lines.append(f"{1000 * (time + 1)} /dev/x {op} {first * PAGE} {pages * PAGE}")
    return "\n".join([*lines, f"{10**7} /dev/x close", ""])


def requests(seed: int) -> list[tuple[str, int, int]]:
    """Reads, writes and trims of a few pages each: few pages are used often."""
    made, state = [], seed * 7919 + 1
    for _ in range(REQUESTS):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        op = ("read", "write", "write", "trim")[state >> 62] if state >> 58 & 3 else "read"
        hot = state >> 40 & 1
        page = (state >> 20) % (40 if hot else 200 + 20 * (seed % 7))
        made.append((op, page, 1 + (state >> 50) % 3))
    return made


def counted(
    asked: Sequence[tuple[str, int, int]], sizes: Sequence[int], *, drops: bool
) -> tuple[int, int]:
    """Request by request with a set: requests before measurement, and pages accessed by then."""
    held: set[int] = set()
    done = most = 0
    found, full = (0, 0), 0
    accesses = sum(op != "trim" for op, *_ in asked)
    for op, first, pages in asked:
        touched = set(range(first, first + pages))
        if op == "trim":
            held -= touched if drops else set()
            continue
        done += 1
        held |= touched
        most = max(most, len(held))
        now = sum(size <= most for size in sizes)
        if now > full and 2 * done <= accesses:
            found = (done, most)
        full = now
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_naive_count_finds_the_same_request_with_trims_and_with_larc(
    seed: int, tmp_path: Path
) -> None:
    asked = requests(seed)
    (tmp_path / "some.log").write_text(iolog(asked))
    trace = ds.open_trace(tmp_path / "some.log", cache=False)
    sizes = (5 + seed, 40, 90 + 3 * seed, 400)
    for trim in ("ignore", "drop"):
        results = ds.compare(
            trace,
            "lru,larc,arc",
            cache=[f"{size}p" for size in sizes],
            warmup="auto",
            trim=trim,
        )
        for run in results:
            expected, pages = counted(asked, [run.frames], drops=trim == "drop")
            assert run.config["warmup"] == {"auto": {"requests": expected, "pages": pages}}
            assert run.measured is not None
            assert run.measured["first_request"] == expected + 1
            assert run.measured["cache_full"] == (run.frames <= pages)
            assert run.warmup_requests == expected


def test_a_run_has_one_number_whatever_runs_beside_it() -> None:
    trace = ds.synth("oltp", requests=6000, pages=2000, seed=4)
    for options in ({"device": "small", "queue_depth": 4}, {"warmup": "auto"}):
        how: Any = options
        alone = {
            (policy, size): ds.compare(trace, policy, cache=size, **how)[0]
            for policy in ("lru", "arc")
            for size in ("2%", "10%", "30%")
        }
        names = ",".join(dict.fromkeys(policy for policy, _ in alone))
        for sizes in ("2%,10%,30%", "30%,2%", "2%,10%"):
            for run in ds.compare(trace, names, cache=sizes, jobs=2, **how):
                one = alone[run.policy, run.cache]
                assert run.counters == one.counters, (run.label, run.cache, sizes)
                assert run.metrics == one.metrics
                assert run.measured == one.measured
    text = ds.compare(trace, "lru", cache="2%,30%", device="small", queue_depth=4).table()
    assert "measured: from the request that fills lru's cache (" in text


def test_a_cache_that_fills_more_slowly_than_lrus_is_named() -> None:
    trace = ds.synth("zipf", requests=4000, pages=2000, read_ratio=0.9, seed=4)
    results = ds.compare(trace, "lru,larc,bplru", cache="30%", warmup="auto")
    slow = [run.label for run in results if run.fills_late]
    assert slow == ["larc", "bplru"]
    note = "larc, bplru: still filling in the first half of the measured part"
    assert note in results.table()
    assert "still filling" not in ds.compare(trace, "lru,arc", cache="30%", warmup="auto").table()


def test_beside_no_cache_every_size_is_measured_from_one_request() -> None:
    trace = ds.synth("oltp", requests=6000, pages=2000, seed=4)
    how: Any = {"device": "small", "queue_depth": 4}
    alone = ds.compare(trace, "lru", cache="2%,10%,30%", **how)
    none, *beside = ds.compare(trace, "none,lru", cache="2%,10%,30%", **how)
    last = alone[-1].warmup_requests
    assert {run.warmup_requests for run in (none, *beside)} == {last}
    assert alone[0].warmup_requests < last
    assert beside[-1].counters == alone[-1].counters
    (late,) = ds.compare(trace, "lru", cache="2%", warmup=f"{last}r", **how)
    assert beside[0].counters == late.counters
    # One size is measured from its own request, with none or without.
    one = ds.compare(trace, "none,lru", cache="2%", **how)
    assert {run.warmup_requests for run in one} == {alone[0].warmup_requests}


def test_sizes_are_compared_over_the_part_that_all_measured() -> None:
    trace = ds.synth("oltp", requests=6000, pages=2000, seed=4)
    results = ds.compare(trace, "lru", cache="2%,30%", device="small", queue_depth=4)
    small, large = results
    start = large.warmup_requests
    assert small.warmup_requests < start
    assert large.mean_response_after(start) == pytest.approx(large.response_ns_mean)
    (late,) = ds.compare(
        trace, "lru", cache="2%", device="small", queue_depth=4, warmup=f"{start}r"
    )
    # To a window of sixty.
    assert small.mean_response_after(start) == pytest.approx(late.response_ns_mean, rel=0.05)
    assert small.mean_response_after(trace.requests) is None


def test_before_that_request_no_policy_evicts_and_lru_is_full() -> None:
    trace = ds.synth("zipf", requests=4000, pages=600, seed=3)
    (auto,) = ds.compare(trace, "lru", cache="100p", warmup="auto")
    (full,) = ds.compare(trace, "lru", cache="100p", warmup="full")
    assert auto.warmup_requests == full.warmup_requests > 100
    assert auto.counters == full.counters
    for name in ("lru", "cflru", "arc", "larc", "bplru"):
        before = ds.run(trace, name, cache="100p", series=auto.warmup_requests).series[0]
        assert before["evictions"] == 0, name


def test_it_is_the_default_in_front_of_a_device_alone() -> None:
    trace = ds.synth("zipf", requests=4000, pages=600, seed=3)
    for device, expected in ((None, "none"), ("small", "auto")):
        options: Any = {} if device is None else {"device": device}
        (one,) = ds.compare(trace, "lru", cache="100p", **options)
        once = ds.run(trace, "lru", cache="100p", **options).run
        reason = ds.why(trace, "lru", "arc", cache="100p", **options).a
        tuned = ds.tune(trace, "2q", {"in_fraction": [0.25]}, "hit", cache="100p", **options)
        advice = ds.advise(trace, "hit", policies="lru", cache="100p", **options)
        for run in (one, once, reason, tuned.results[0], advice.run):
            assert run.to_dict()["warmup"] == expected, device
            assert run.warmup_requests == (0 if device is None else one.warmup_requests)
    (none,) = ds.compare(trace, "lru", cache="100p", device="small", warmup="none")
    assert none.warmup_requests == 0


def test_a_cache_that_does_not_fill_is_measured_from_the_first_request_and_never_best() -> None:
    trace = ds.synth("zipf", requests=4000, pages=2000, alpha=0.8, seed=3)
    sizes = ["5%", "90%"]
    results = ds.compare(trace, "lru,cflru,arc", cache=sizes, device="small", queue_depth=4)
    small, large = (results.result_sets[0].by_size[k] for k in (0, -1))
    assert not small.cache_not_full
    assert large.cache_not_full
    assert large.warmup_requests == 0
    assert 0 < small.warmup_requests < trace.requests / 2
    text = str(results)
    assert "(not full): the cache takes longer than half of the requests to fill" in text
    for line in text.splitlines():
        if "90% (not full)" in line:
            assert "*" not in line
    assert f"measured: requests {small.warmup_requests + 1:,} to 4,000" in text
    with pytest.raises(ds.UsageError, match="no cache fills within half of the requests"):
        ds.advise(trace, "hit", policies="lru,arc", cache="90%", device="small", queue_depth=4)


def test_devices_with_other_pages_are_measured_each_from_its_own_request(tmp_path: Path) -> None:
    log = tmp_path / "some.log"
    log.write_text(iolog([r for r in requests(1) if r[0] != "trim"]))
    drives = [ds.open_device(f"small[page_bytes={size}]", queue_depth=2) for size in (4096, 16384)]
    pairs: list[Pair] = [(ds.open_trace(log, device=drive, cache=False), drive) for drive in drives]
    results = compare_pairs(pairs, policies="lru", cache=["64KiB", "128KiB", "8MiB"])
    assert {run.trace.page_bytes for run in results} == {4096, 16384}
    for (trace, drive), page_bytes in zip(pairs, (4096, 16384), strict=True):
        mine = [run for run in results if run.trace.page_bytes == page_bytes]
        for run in mine:
            (alone,) = ds.compare(trace, "lru", cache=run.cache, device=drive)
            assert run.warmup_requests == alone.warmup_requests


def test_a_rerun_measures_the_same_part(tmp_path: Path) -> None:
    trace = ds.synth("zipf", requests=4000, pages=600, seed=3)
    results = ds.compare(trace, "lru,arc", cache="5%,10%", device="small", queue_depth=2)
    results.to_json(tmp_path / "r.json")
    again = ds.rerun(tmp_path / "r.json")
    assert again.same, again.differences
    both = [json.loads((tmp_path / "r.json").read_text())["runs"], again.results.sets[0]["runs"]]
    assert [r["measured"] for r in both[0]] == [r["measured"] for r in both[1]]


def test_pending_writes_are_a_difference() -> None:
    trace = ds.synth("oltp", requests=8000, pages=2000, read_ratio=0.3, seed=3)
    for policy in ("lru", "fifo", "arc", "bplru"):
        (kept,) = ds.compare(trace, policy, cache="10%", warmup="auto", cost="read=1,write=10")
        (flushed,) = ds.compare(trace, policy, cache="10%", warmup="auto", flush_at_end=True)
        start, end = kept["pending_writes_at_start"], kept["pending_writes"]
        assert start > 0
        assert end > 0
        assert kept["flash_writes"] == kept.physical_writes + end - start
        assert kept["flash_writes"] == flushed["flash_writes"]
        assert kept.cost == kept.physical_reads + 10 * kept["flash_writes"]


def test_the_cheapest_policy_is_that_of_the_writes_that_the_table_shows() -> None:
    trace = ds.synth("oltp", requests=6000, pages=2000, read_ratio=0.2, seed=5)
    results = ds.compare(trace, "lru,arc,cflru", cache="5%,20%", cost="read=1,write=1000000")
    for size in (run.frames for run in results):
        here = [run for run in results if run.frames == size]
        cheapest = min(here, key=lambda run: run.cost or 0)
        assert cheapest["flash_writes"] == min(run["flash_writes"] for run in here)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("physical_writes_incl_owed", "flash_writes"),
        ("dirty_left", "pending_writes"),
        ("running_time", "cost"),
    ],
)
def test_an_old_name_is_refused_with_the_new_one(
    old: str, new: str, destage: Destage, msr: Path
) -> None:
    done = destage("compare", msr, "-c", "4p", "--show", old)
    assert done.status == 2, done
    assert f"{old} is called {new} now" in done.err
    (run,) = ds.compare(ds.synth("loop", requests=100, pages=10), "lru", cache="4p")
    with pytest.raises(KeyError, match=new):
        run[old]


def test_where_no_request_is_measured_no_number_is_known(destage: Destage, msr: Path) -> None:
    done = destage("compare", msr, "-p", "lru,arc", "-c", "10%", "--warmup", "9999s")
    assert done.status == 0, done
    assert "measured: no request" in done.out
    rows = [line.split() for line in done.out.splitlines() if line.startswith(("lru ", "arc "))]
    assert [row[-2:] for row in rows] == [["-", "-"], ["-", "-"]]
    results = ds.compare(ds.open_trace(msr), "lru", cache="10%", warmup="9999s")
    assert set(results[0].metrics.values()) == {None}
