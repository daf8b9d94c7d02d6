"""What results are called, and what decides that one of them is better."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage
from test_cli_errors import refused
from test_report import many, result, run

import destage as ds
from destage.lab.options import run_options
from destage.model.differences import Differences
from destage.model.life import life
from destage.model.metrics import METRICS, WRITES
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.winners import change, winner
from destage.show.tables.results import results_table
from destage.show.tables.summary import alike, outcome, summary


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("oltp", requests=3000, pages=800, read_ratio=0.3, seed=3)


# Names


def test_a_run_is_called_alike_wherever_it_is_shown(trace: ds.Trace, tmp_path: Path) -> None:
    label = "acr-h[file_pages=none]"
    results = ds.compare(trace, [("acr-h", {"file_pages": None}), "lru"], cache="10%")
    assert results[0].label == label
    assert label in results.table()
    assert label in results.to_csv()
    assert json.loads(results.to_json())["runs"][0]["label"] == label
    assert label in results.to_markdown()
    ds.write_report(tmp_path / "r.html", results)
    page = (tmp_path / "r.html").read_text()
    assert label in page
    assert not re.search(r"file_pages=(null|None)", page)
    assert ds.plan(trace, label, cache="10%")[0].policy == label


def test_a_policy_given_twice_is_refused(trace: ds.Trace, destage: Destage, msr: Path) -> None:
    with pytest.raises(ds.UsageError, match="lru is given twice"):
        ds.compare(trace, "lru,arc,lru", cache="10%")
    refused(destage("compare", msr, "-p", "lru,lru", "-c", "4p"), 2, "lru is given twice")
    # With other parameters it is another policy.
    assert len(ds.plan(trace, "lru-k,lru-k[k=3]", cache="10%")) == 2


# Options


def test_run_options_are_those_of_the_engine() -> None:
    assert set(ds.RunOptions.__annotations__) == {option.name for option in run_options()}


def test_an_option_that_there_is_not_is_no_keyword(trace: ds.Trace) -> None:
    given: Any = {"warm_up": "10%"}
    with pytest.raises(TypeError, match=r"compare\(\) .*'warm_up', did you mean warmup"):
        ds.compare(trace, "lru", cache="10%", **given)
    more: Any = {"profile": True}
    with pytest.raises(TypeError, match=r"mrc\(\) got an unexpected keyword argument 'profile'"):
        ds.mrc(trace, "lru", **more)


@pytest.mark.parametrize(
    "given", [{"cost": 3}, {"warmup": 5}, {"pages_per_block": 1.5}, {"device_pages": "many"}]
)
def test_a_value_of_another_kind_names_its_option(trace: ds.Trace, given: Any) -> None:
    with pytest.raises(ds.UsageError, match=next(iter(given))):
        ds.compare(trace, "lru", cache="10%", **given)


# Differences


def test_an_interval_is_found_by_the_place_of_its_runs() -> None:
    pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], None]
    group = {"frames": 8, "runs": [4, 7, 9, 11], "metrics": {"hit_ratio": pairs}}
    known = Differences({"groups": [group]})
    assert known.between("hit_ratio", 7, 4) == (0, 1)
    assert known.between("hit_ratio", 4, 7) == (-1, 0)
    assert known.between("hit_ratio", 11, 4) == (0, 3)
    assert known.between("hit_ratio", 9, 7) == (1, 2)
    assert known.between("hit_ratio", 11, 9) is None
    assert known.compares(11, 9)
    assert not known.compares(4, 5)
    assert known.between("waf", 4, 7) is None


def judged(interval: list[float] | None, **pending: float) -> list[Run]:
    """lru and arc at one size, arc with two per cent fewer writes and more hits."""
    given = result([run("lru", 100, 500_000, 1000), run("arc", 100, 510_000, 980)])
    for one in given["runs"]:
        writes = one["counters"]["physical_writes"]
        hits = one["counters"]["read_hits"]
        one["label"] = one["config"]["policy"]
        one["metrics"] = {"hit_ratio": hits / 1e6, "physical_writes": writes, "erases": writes}
        more = pending.get(one["label"], 0)
        one["metrics"] |= {"pending_write_ratio": more / (writes + more), WRITES: writes + more}
    told = {"physical_writes": [[-30, -10]], "erases": [[-30, -10]], WRITES: [[50, 110]]}
    group = {"frames": 100, "runs": [0, 1], "metrics": {"hit_ratio": [interval]} | told}
    return list(ResultSet.of(given | {"differences": {"groups": [group]}}).runs)


def metric(name: str) -> Any:
    return next(m for m in METRICS if m.name == name)


@pytest.mark.parametrize(
    ("interval", "told"), [([0.001, 0.02], True), ([-0.001, 0.02], False), (None, False)]
)
def test_a_lead_counts_if_its_interval_leaves_zero_out(
    interval: list[float] | None, told: bool
) -> None:
    runs = judged(interval)
    best = winner(runs, metric("hit_ratio"))
    assert best is not None
    assert best.sole == told
    assert best.measured != told
    assert (change("hit_ratio", runs[1], runs[0]) is not None) == told


def test_a_wide_difference_that_does_not_count_is_said() -> None:
    def said(interval: list[float] | None, lru: float = 0.4) -> str:
        runs = judged(interval)
        runs[0].metrics["hit_ratio"] = lru  # type: ignore[index]
        best = winner(runs, metric("hit_ratio"))
        assert best is not None
        return outcome(ResultSet(runs[0].config, runs[0].trace, tuple(runs)), [best])

    wide = "no significant difference (largest gap at 400 KiB: arc 51.00 %, lru 40.00 %)"
    assert said([-0.02, 0.3]).replace("\u00a0", " ") == wide
    # A difference of 4 % is narrow, and one without an interval is not known to be chance.
    assert said([-0.02, 0.3], lru=0.49) == said(None) == "no significant difference"


def test_of_three_policies_two_may_differ_where_none_is_ahead() -> None:
    """A `no significant difference` of all would contradict a mark between two of them."""
    runs = judged(None)
    best = winner(runs, metric("hit_ratio"))
    assert best is not None
    third = replace(best, runs=(*best.runs, best.runs[-1]), of=3)
    result_set = ResultSet(runs[0].config, runs[0].trace, tuple(runs))
    assert outcome(result_set, [replace(third, measured=True)]) == (
        "no policy is significantly ahead"
    )


def test_policies_that_do_not_differ_from_the_best_are_compared_with_it_alone() -> None:
    best = winner(judged([-0.001, 0.02]), metric("hit_ratio"))
    assert best is not None
    first, second = best.labels
    assert alike(best) == f"{second} does not differ significantly from {first}"
    three = replace(best, runs=(*best.runs, best.runs[-1]), of=3)
    assert alike(three) == f"no policy differs significantly from {first}"
    some = replace(three, of=4)
    assert alike(some) == f"{second} and {second} do not differ significantly from {first}"


def test_no_lead_counts_that_lies_within_pending_writes() -> None:
    clear = judged([0, 0])
    assert winner(clear, metric("physical_writes")).sole  # type: ignore[union-attr]
    assert winner(clear, metric("erases")).sole  # type: ignore[union-attr]
    # 30 of 1010 pages pending: three per cent, more than the lead of two.
    small = judged([0, 0], arc=30)
    assert not winner(small, metric("physical_writes")).sole  # type: ignore[union-attr]
    assert winner(small, metric(WRITES)).labels[0] == "lru"  # type: ignore[union-attr]
    # Beyond a twentieth nobody is compared by what leaves it out.
    large = judged([0, 0], arc=100)
    assert winner(large, metric("erases")) is None
    assert winner(large, metric("physical_writes")) is None
    assert winner(large, metric(WRITES)).labels == ("lru",)  # type: ignore[union-attr]
    sentences = summary(ResultSet(large[0].config, large[0].trace, tuple(large)))
    assert any("pending" in sentence for sentence in sentences)


def test_a_number_without_an_interval_decides_nothing_beside_others_that_have_one() -> None:
    runs = judged([0.001, 0.02])
    for one, p99 in zip(runs, (500_000, 100_000), strict=True):
        one.metrics["response_ns_p99"] = p99  # type: ignore[index]
    best = winner(runs, metric("response_ns_p99"))
    assert best is not None
    assert not best.sole
    assert best.measured
    # Where nothing has an interval, one per cent decides, and the table says so.
    short = [replace(r, differences=Differences(None)) for r in runs]
    assert winner(short, metric("response_ns_p99")).labels == ("arc",)  # type: ignore[union-attr]


def test_no_lead_in_time_counts_that_lies_within_the_pending_writes_of_the_faster_one() -> None:
    def fastest(flushed: int = 0, **pending: float) -> tuple[str, ...]:
        runs = judged([0, 0], **pending)
        runs[1].counters["end_flushes"] = flushed  # type: ignore[index]
        for one, mean in zip(runs, (100_000, 90_000), strict=True):
            one.metrics["response_ns_mean"] = mean  # type: ignore[index]
        known = {"groups": [{"runs": [0, 1], "metrics": {"response_ns_mean": [[-2e4, -5e3]]}}]}
        told = [replace(r, differences=Differences(known)) for r in runs]
        same = [replace(r, differences=told[0].differences) for r in told]
        found = winner(same, metric("response_ns_mean"))
        assert found is not None
        return found.labels

    assert fastest() == ("arc",)
    # Ten per cent faster, and a twelfth of the writes still pending: ahead. Of a ninth: not.
    assert fastest(arc=980 / 11) == ("arc",)
    assert fastest(arc=980 / 8) == ("arc", "lru")
    # What it flushed when no request waited any more is as good as pending.
    assert fastest(flushed=980 // 8) == ("arc", "lru")
    assert fastest(flushed=980 // 12) == ("arc",)
    # Pending writes of the slower one make no other policy slower.
    assert fastest(lru=1000) == ("arc",)


def test_every_number_that_a_table_marks_has_an_interval(tmp_path: Path) -> None:
    trace = ds.synth("oltp", requests=6000, pages=3000, read_ratio=0.3, seed=3, gap_ns=400_000)
    results = ds.compare(trace, "lru,arc,ecr", cache="5%", device="small", flush_at_end=True)
    table = results_table(results.runs)
    marked = [
        column.title
        for k, column in enumerate(table.columns)
        if any(row[k].best for row in table.rows())
    ]
    (group,) = results.sets[0]["differences"]["groups"]
    known = set(group["metrics"])
    shown = {m.name for m in METRICS if m.shown in ("always", "with_device")}
    # Numbers of a flash tier and of cached prefixes: there is none of either here.
    shown = {name for name in shown if any(run[name] is not None for run in results)}
    shown -= {"writes_vs_lru", "refused", "flash_writes_per_admission"}
    shown -= {"batch_writes", "idle_writes"}  # ACE's alone, and a background writer's
    assert shown <= known
    assert {"response_ns_p50", "read_response_ns_p99", "dirty_victim_ratio"} <= known
    for metric in METRICS:
        if metric.name not in known:
            found = winner(results.runs, metric)
            assert found is None or not found.sole or metric.name == "writes_vs_lru", metric.name
    assert marked  # lru and the others differ by more than chance in something
    # A percentile's interval lies around the difference of the percentiles.
    one, other = results.runs[0], results.runs[2]
    interval = other.minus(one, "response_ns_p99")
    assert interval is not None
    apart = other["response_ns_p99"] - one["response_ns_p99"]
    assert interval[0] <= apart <= interval[1]


def test_no_number_of_a_flash_tier_is_marked_without_an_interval() -> None:
    trace = ds.synth("oltp", requests=6000, pages=3000, read_ratio=0.3, seed=3)
    results = ds.compare(trace, "lru,arc,fifo", cache="5%", tier2="lru", tier2_cache="20%")
    (group,) = results.sets[0]["differences"]["groups"]
    unsure = [m for m in METRICS if m.group.group == "tiers" and m.name not in group["metrics"]]
    # They differ by far more than 1 %, and so would be marked by that alone.
    hits = sorted(run["tier2_hits"] for run in results)
    assert hits[-1] > 1.05 * hits[-2]
    assert "tier2_hits" in [metric.name for metric in unsure]
    for metric in unsure:
        found = winner(results.runs, metric)
        assert found is None or not found.sole, metric.name


def test_a_real_run_counts_its_pending_writes(trace: ds.Trace) -> None:
    kept, flushed = (
        ds.compare(trace, "lru", cache="40%", flush_at_end=flush)[0] for flush in (False, True)
    )
    assert kept["pending_writes"] > 0
    assert kept["pending_write_bytes"] == kept["pending_writes"] * trace.page_bytes
    assert kept.writes == flushed.physical_writes == flushed.writes
    assert (flushed["pending_writes"], flushed.pending_share) == (0, 0)


# Tables


def test_a_number_that_is_0_everywhere_is_said(trace: ds.Trace) -> None:
    reads = ds.synth("zipf", requests=500, pages=100, read_ratio=1.0)
    table = results_table(ds.compare(reads, "lru,arc", cache="10%").runs)
    assert any(
        note.startswith("not shown (0 in every run): ") and "writes" in note for note in table.notes
    )
    noted = [
        n for n in results_table(ds.compare(trace, "lru", cache="10%").runs).notes if "0 in" in n
    ]
    assert not any("pending writes" in note for note in noted)


def test_a_table_shows_sizes_in_bytes_and_those_beyond_the_trace(trace: ds.Trace) -> None:
    table = results_table(ds.compare(trace, "lru", cache=["16p", "200%"]).runs)
    sizes = [c.title for c in table.columns].index("size")
    assert next(row[sizes].text for row in table.rows()) == "64 KiB"
    assert "200% exceeds the trace's pages: the cache never fills" in table.notes


# Life


def test_life_is_what_wear_comes_to() -> None:
    year_ns = 365.25 * 86_400e9
    timing = {
        "counters": {"makespan_ns": year_ns / 10, "flash_programs": 3000, "erases": 200},
        "block_erases": {"blocks": 100},
    }
    drive = {"device": {"logical_pages": 1000}}
    found = life(drive, timing, 1000, {})
    assert found is not None
    # Two erases a block in a tenth of a year: 1000 of them take fifty years.
    assert found.years == pytest.approx(50)
    assert found.drive_writes_per_day == pytest.approx(3 / 36.525)
    assert life(drive, timing, None, {}) is None
    assert life(drive | {"device": {"logical_pages": 1000, "pe_cycles": 10}}, timing, None, {})
    assert life(None, None, 1000, {}) is None


def test_the_endurance_of_a_drive_is_shown_and_needs_one(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    refused(destage("compare", msr, "-c", "4p", "--pe-cycles", "10"), 2, "--pe-cycles", "--device")
    flags = (
        "-p",
        "lru,arc",
        "-c",
        "4p",
        "-d",
        "small",
        "--pe-cycles",
        "3000",
        "--report",
        "r.html",
    )
    done = destage("compare", msr, *flags)
    assert done.status == 0, done
    assert "years until every block was erased 3,000 times" in done.out
    assert 'data-name="drive_writes_per_day"' in (tmp_path / "r.html").read_text()
    # A device's file may say it, in place of the flag.
    (tmp_path / "mine.toml").write_text('[device]\npreset = "small"\npe_cycles = 1500\n')
    done = destage("compare", msr, "-p", "lru", "-c", "4p", "-d", "mine.toml")
    assert "years until every block was erased 1,500 times" in done.out
    done = destage("compare", msr, *flags[:-2], "-d", "mine.toml")
    assert "years until every block was erased 3,000 times" in done.out
    with pytest.raises(ds.UsageError, match="pe_cycles"):
        ds.Results([many(["lru"], [100])]).enduring(0)
