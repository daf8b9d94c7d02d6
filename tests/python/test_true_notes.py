"""Notes of tables and sentences hold for what is shown above them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Destage

import destage as ds
from destage.show.tables.curves import curves_table
from destage.show.tables.results import results_table
from destage.show.tables.stability import MOST_ORDERED


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=3_000, pages=700, read_ratio=0.5, seed=4, page_size=4096)


def test_a_sample_without_an_interval_is_not_put_down_to_pending_writes() -> None:
    reads = ds.synth("zipf", requests=40_000, pages=5_000, read_ratio=1.0, seed=3)
    told = ds.mrc(reads, "lru,sieve,slru", cache="0.4%,30%", sample=0.25)
    assert any(run.sampled and not run.bounds for run in told.result_set.runs)
    said = " ".join(told.summary)
    assert "No interval is known for " in said
    assert "pending" not in said


def test_an_exact_curve_of_an_automatic_sample_says_that_it_is_exact(trace: ds.Trace) -> None:
    exact = ds.mrc(trace, "lru,arc", cache="10%,30%").result_set
    tried = {"samples": [{"pages": 125}], "control": "lru"}
    text = curves_table(exact, tried, ()).text()
    assert "hit % over cache size, exact (no sample is precise enough)" in text
    assert "from a sample" not in text
    assert "lead in points (over)" in text
    assert "\n* ahead of every other policy.\n" in text + "\n"
    assert "±: " not in text


def test_years_are_explained_only_where_they_are_shown(trace: ds.Trace) -> None:
    found = ds.compare(trace, "lru,arc", cache="5%", device="small[precondition=none]")
    worn = list(found.enduring(3_000))
    for view, is_shown in (("endurance", True), ("hits", False), ("latency", False)):
        notes = results_table(worn, view=view).notes
        assert any(note.startswith("years until ") for note in notes) is is_shown, view


def test_a_cache_beyond_all_pages_has_one_reason_for_not_being_full(trace: ds.Trace) -> None:
    found = ds.compare(trace, "lru", cache="200%", warmup="auto")
    notes = results_table(found).notes
    assert "200% exceeds the trace's pages: the cache never fills" in notes
    assert "(not full): never best" in notes


def test_bytes_of_a_day_have_one_unit(destage: Destage, tmp_path: Path) -> None:
    ds.write_workload("zipf", tmp_path / "t.csv", requests=3_000, pages=700, seed=4)
    flags = ("-p", "lru", "-c", "2%", "--tier2", "lru", "--tier2-cache", "20%", "--all", "-q")
    done = destage("run", tmp_path / "t.csv", *flags)
    (line,) = [one for one in done.out.splitlines() if "flash_bytes_per_day" in one]
    assert line.split()[2] in ("MB", "GB", "TB"), line
    assert line.split()[3] == "bytes", line  # Of its description: bytes written to flash.
    assert line.split()[4] == "written", line


def test_stability_has_no_order_of_many_policies(trace: ds.Trace) -> None:
    names = ["lru", "fifo", "arc", "sieve", "2q", "mq"]
    assert len(names) > MOST_ORDERED
    found = ds.compare(trace, names, cache=["5%", "20%"], device="small[precondition=none]")
    (note,) = [one for one in found.as_table().notes if one.startswith("stability")]
    assert "the order" not in note
    few = ds.compare(trace, names[:3], cache=["5%", "20%"], device="small[precondition=none]")
    (note,) = [one for one in few.as_table().notes if one.startswith("stability")]
    assert "; the order " in note


def test_an_axis_of_few_sizes_has_a_tick_at_each_and_logarithms_few() -> None:
    pytest.importorskip("altair")
    from destage.model.metrics import METRICS
    from destage.show.charts.series import size_ticks
    from destage.show.charts.value_axes import MOST_TICKS, value_axis

    assert size_ticks([1_183_744, 11_821_056]) == [1_183_744, 11_821_056]
    assert size_ticks([1 << 20, 3 << 20, 5 << 20, 7 << 20, 64 << 20])[:2] == [1 << 20, 2 << 20]
    (mean,) = (m for m in METRICS if m.name == "response_ns_mean")
    for top in (1e6, 3e7, 2e9):
        values = value_axis(mean, [1e4, top])["axis"].to_dict()["values"]
        assert 2 <= len(values) <= MOST_TICKS, values
