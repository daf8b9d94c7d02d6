"""A run without a cache: it is done once, printed once, and compared at every size."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds

SIZES = ["2%", "10%", "30%"]
DRIVE: dict[str, Any] = {"device": "small[precondition=none]", "queue_depth": 4}


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=6000, pages=2000, read_ratio=0.5, seed=1)


def test_none_runs_and_prints_once(trace: ds.Trace) -> None:
    for warmup in ("none", "auto"):
        results = ds.compare(trace, "none,lru,cflru", cache=SIZES, warmup=warmup, **DRIVE)
        assert [run.policy for run in results] == ["none"] + ["lru"] * 3 + ["cflru"] * 3
        row = results.to_dicts()[0]
        assert row["cache"] == "none"
        assert [row[name] for name in ("frames", "cache_bytes", "cache_share")] == [None] * 3
        printed = [cells[0].text for cells in results.as_table(show="mean").rows()]
        assert printed == ["none", *["lru", "cflru"] * 3]
        assert [run.frames for run in results.result_sets[0].runs[1:4]] == results.result_sets[
            0
        ].sizes


def test_none_is_no_size_above_the_pages_of_a_trace(trace: ds.Trace) -> None:
    text = ds.compare(trace, "none,lru", cache=["2%", "9000p"], **DRIVE).table()
    assert "9000p exceeds the trace's pages: the cache never fills\n" in text + "\n"


def test_none_is_compared_at_each_size_that_is_measured_as_it_is(trace: ds.Trace) -> None:
    alike = ds.compare(trace, "none,lru", cache=SIZES, warmup="none", **DRIVE)
    none, *lru = alike
    assert all(run.has_intervals_against(none) for run in lru)
    assert all("response_ns_mean" in marks.better for marks in alike.marks[1:])
    low, high = lru[0].minus(none, "response_ns_mean") or (0.0, 0.0)
    assert low <= lru[0]["mean"] - none["mean"] <= high < 0
    # From full caches on, all sizes are measured over the part of the largest.
    filled = ds.compare(trace, "none,lru", cache=SIZES, **DRIVE)
    none, *lru = filled
    assert all(run.has_intervals_against(none) for run in lru)
    assert none.warmup_requests == lru[-1].warmup_requests == lru[0].warmup_requests > 0
    alone = ds.compare(trace, "none,lru", cache=SIZES[-1], **DRIVE)
    assert alone[0].counters == none.counters
    assert filled.marks[-1] == alone.marks[-1]


def test_a_sweep_runs_none_once_for_each_task(destage: Destage, tmp_path: Path) -> None:
    sweep = {
        "traces": [{"synth": "zipf", "requests": 800, "pages": 200, "name": "z"}],
        "policies": ["none", "lru"],
        "cache": ["5%", "20%"],
        "devices": ["small[precondition=none]"],
        "device": {"op_permille": [70, 280]},
    }
    ds.sweep({"sweep": sweep}, tmp_path / "runs")
    found = ds.load_results(tmp_path / "runs")
    assert [row["policy"] for row in found.rows].count("none") == 2
    assert not found.missing
    assert {row["cache"] for row in found.only(policy="none").rows} == {"none"}
    assert [row["frames"] for row in found.only(policy="none").rows] == [None, None]
    page = found.report()
    assert '"cache"' in page
    assert found.only(policy="none").pooled().rows[0]["cache_bytes"] is None


def test_results_can_be_run_again_and_read_again(trace: ds.Trace, tmp_path: Path) -> None:
    results = ds.compare(trace, "none,lru", cache=["2%", "10%"], **DRIVE)
    again = ds.Results.from_json(results.to_json())
    assert again == results
    assert ds.rerun(again).same
    kept = ds.compare(trace, "none,lru", cache=["2%", "10%"], store=tmp_path / "s", **DRIVE)
    assert [run.counters for run in kept] == [run.counters for run in results]


def test_a_page_without_a_cache_says_nothing_of_one(destage: Destage, trace: ds.Trace) -> None:
    pytest.importorskip("altair")
    results = ds.compare(trace, "none", cache=SIZES, profile=True, **DRIVE)
    assert len(results) == 1
    assert "cache" not in results.table().splitlines()[1]
    text = re.sub(
        r"<script.*?</script>|<style.*?</style>|<noscript>.*?</noscript>",
        " ",
        results.report(),
        flags=re.DOTALL,
    )
    said = re.sub(r"<[^>]*>", " ", text)
    assert "Without a cache, none has a mean response time of" in said
    assert not re.search(r"\bAt \d|at \d+(\.\d+)? [KM]iB|Cache size|Filling", said)


def test_parts_over_one_trace_are_named_by_what_they_differ_in(trace: ds.Trace) -> None:
    pytest.importorskip("altair")
    for how, names in (
        ({"queue_depth": [1, 8]}, ["queue depth 1", "queue depth 8"]),
        ({"queue_depth": ["trace", 8]}, ["queue depth of the trace", "queue depth 8"]),
    ):
        results = ds.compare(trace, "lru", cache="5%", device="small[precondition=none]", **how)
        page = results.report()
        found = re.findall(r'<a href="#t\d">(.*?)</a>', page)
        assert found == names
        assert f"<title>{trace.name}: 2 queue depths - Destage</title>" in page


def test_none_in_json_has_its_size_and_the_part_of_the_largest(trace: ds.Trace) -> None:
    data = json.loads(ds.compare(trace, "none,lru", cache=SIZES, **DRIVE).to_json())
    none, *lru = data["runs"]
    assert none["config"]["cache"] == "none"
    assert none["config"]["frames"] == max(run["config"]["frames"] for run in lru)


def test_no_cache_has_no_room_for_pages() -> None:
    trace = ds.synth("uniform", requests=700, pages=10, seed=1)
    how: dict[str, Any] = {"device": "small[precondition=none]", "cache": "20p"}
    none, lru = ds.compare(trace, "none,lru", **how)
    assert any("room for more pages" in said for said in lru.warnings)
    assert not any("room for more pages" in said for said in none.warnings)
