"""Marks against a baseline, the reason where there are none, and stars of equal configurations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds
from destage.model import winners
from destage.model.marks import baseline_of, beside, side_by_side, unmarked
from destage.model.metrics import METRICS
from destage.model.winners import change, decisive
from destage.show.tables.results import results_table

MEAN = next(metric for metric in METRICS if metric.name == "response_ns_mean")
HITS = next(metric for metric in METRICS if metric.name == "hit_ratio")


@pytest.fixture(scope="module")
def loop() -> ds.Trace:
    """A loop larger than the cache, in which lru never hits and lirs does."""
    return ds.synth("loop", requests=6000, pages=600, loop_pages=400, seed=1)


def test_marks_are_against_the_first_policy_or_the_one_that_is_named(loop: ds.Trace) -> None:
    for baseline, signs in ((None, ["", "", "+"]), ("lirs", ["-", "-", ""])):
        results = ds.compare(loop, "lru,fifo,lirs", cache="200p", baseline=baseline)
        table = results.as_table(show="hit")
        assert [row[-1].sign for row in table.rows()] == signs
        assert [row[-1].best for row in table.rows()] == [False, False, True]
        text = table.text()
        assert f"- lower, + higher than {baseline or 'lru'}: by the same rule" in text
        hits = [line.split()[-1] for line in text.splitlines() if line.startswith(("lru", "lirs"))]
        assert [mark.lstrip("0123456789.") for mark in hits] == [signs[0], f"*{signs[2]}"]


def test_a_mark_is_significant_at_least_one_per_cent_and_visible() -> None:
    seen = 0
    for seed in range(12):
        trace = ds.synth("oltp", requests=3000, pages=1500, seed=seed)
        results = ds.compare(trace, "lru,arc,cflru,2q", cache="5%,30%")
        for frames in results.result_sets[0].sizes:
            runs = results.result_sets[0].at(frames)
            base = baseline_of(runs)
            assert base is runs[0]
            for run in runs[1:]:
                for metric in METRICS:
                    sign = beside(metric, run, base)
                    if not sign:
                        continue
                    seen += 1
                    ours, theirs = run[metric.name], base[metric.name]
                    assert abs(ours - theirs) >= 0.01 * max(abs(ours), abs(theirs))
                    name = "flash_writes" if metric.name == "writes_vs_lru" else metric.name
                    interval = run.minus(base, name)
                    assert interval is not None
                    assert not interval[0] <= 0 <= interval[1]
                    assert (sign == "-") == (ours < theirs)
    assert seen > 50


def test_json_rows_and_pages_have_the_marks_as_words(loop: ds.Trace, tmp_path: Path) -> None:
    results = ds.compare(loop, "lru,lirs", cache="200p", baseline="lirs")
    data = json.loads(results.to_json())
    assert data["baseline"] == "lirs"
    lru, lirs = data["marks"]
    assert (lru["baseline"], lirs["baseline"]) == ("lirs", None)
    assert "hit_ratio" in lru["worse"]
    assert "hit_ratio" in lirs["best"]
    assert not lru["best"] + lru["better"] + lirs["worse"]
    rows = results.to_dicts()
    assert rows[0]["baseline"] == "lirs"
    assert "hit_ratio" in rows[0]["worse"].split(",")
    assert "hit_ratio" in rows[1]["best"].split(",")
    again = ds.Results.from_json(results.to_json())
    assert again.baseline == "lirs"
    assert again == results
    assert again.to_dicts() == rows
    assert "<small>lower</small>" in results.as_table().html()
    ds.write_report(tmp_path / "r.html", results)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count('class="worse"') + page.count('class="extra worse"') > 0
    assert 'td.worse::before { content: "worse "' in page
    assert "better, worse: than lirs" in page


def test_an_unknown_baseline_is_an_error_before_anything_runs(
    loop: ds.Trace, destage: Destage, tmp_path: Path
) -> None:
    with pytest.raises(ds.UsageError, match=r"baseline: 'lur' is none .* did you mean lru\?"):
        ds.compare(loop, "lru,lirs", cache="200p", baseline="lur")
    path = str(tmp_path / "t.csv")
    keys = ("--requests", "3000", "--pages", "600", "--loop-pages", "400")
    made = destage("trace", "synth", "loop", *keys, "-o", path)
    assert made.status == 0, made
    ran = destage("compare", path, "-p", "lru,lirs", "-c", "200p", "--baseline", "lur")
    assert ran.status == 2
    assert "baseline: 'lur' is none of the policies, did you mean lru?" in ran.err
    ran = destage("compare", path, "-p", "lru,lirs", "-c", "200p", "--baseline", "lirs")
    assert ran.status == 0
    assert "+ higher than lirs" in ran.out


@pytest.mark.parametrize(
    ("policies", "requests", "says"),
    [
        ("lru,lru[]", 3000, "no policy differs from lru by 1 %"),
        ("lru,arc", 500, "fewer than 600 requests were measured"),
        ("lru,random", 700, "independent parts of the trace); a longer trace narrows it"),
    ],
)
def test_where_nothing_is_marked_a_line_says_why(policies: str, requests: int, says: str) -> None:
    for seed in range(40):
        trace = ds.synth("oltp", requests=requests, pages=900, seed=seed)
        names = ["lru", "lru-k[k=1]"] if "[]" in policies else policies
        results = ds.compare(trace, names, cache="20%")
        runs = results.result_sets[0].runs
        base = baseline_of(runs)
        if any(beside(HITS, run, base) for run in runs):
            continue
        if runs[0].hit_ratio == runs[1].hit_ratio and "1 %" not in says:
            continue
        text = unmarked(runs, HITS, base)
        if text is not None and says in text:
            table = results_table(results.runs, show="hit").text()
            assert text.replace("\u00a0", " ") in table
            assert text.startswith("no mark for hit ratio: ")
            return
    pytest.fail(f"no comparison of 40 says {says!r}")


def test_a_line_on_no_mark_is_relative_to_the_baseline_and_names_the_trace(
    destage: Destage, tmp_path: Path
) -> None:
    said = []
    for seed in range(40):
        trace = ds.synth("oltp", requests=700, pages=900, seed=seed)
        runs = ds.compare(trace, "lru,random", cache="20%").result_sets[0].runs
        text = unmarked(runs, HITS, runs[0]) or ""
        share = runs[1].hit_ratio / runs[0].hit_ratio - 1
        if " random is " in text:
            side = "above" if share > 0 else "below"
            assert f"random is {100 * abs(share):.0f} % {side} lru" in text.replace("\u00a0", " ")
            said.append(seed)
    assert said
    for seed in (1, 2):
        made = ("trace", "synth", "oltp", "--requests", 500, "--pages", 900, "--seed", seed)
        assert destage(*made, "-o", tmp_path / f"{seed}.csv").status == 0
    done = destage("compare", "1.csv", "2.csv", "-p", "lru,arc", "-c", "20%", "--show", "hit")
    assert "no mark for hit ratio of 2.csv" in done.out


def starred(make: Callable[[int], ds.Results], draws: int) -> tuple[float, float]:
    """Shares of draws whose table has a star, and a sign."""
    tables = [[c for row in make(seed).as_table().rows() for c in row] for seed in range(draws)]
    stars = sum(any(cell.best for cell in cells) for cells in tables)
    return stars / draws, sum(any(cell.sign for cell in cells) for cells in tables) / draws


FILTERS = ",".join(f"probability[p=0.5;seed={seed}]" for seed in (1, 2, 3))


def test_flash_tiers_that_are_equal_get_no_star() -> None:
    def make(seed: int) -> ds.Results:
        trace = ds.synth("zipf", requests=6000, pages=3000, alpha=0.9, seed=seed)
        results = ds.compare(
            trace, "lru", cache="100p", tier2="lru", tier2_cache="400p", admit=FILTERS
        )
        assert len(results.sets) == 1
        assert len(results) == 3
        return results

    stars, signs = starred(make, 60)
    assert stars <= 0.08
    # Two filters beside the baseline, with 95 % each.
    assert signs <= 0.25


def test_flash_tiers_that_differ_are_marked() -> None:
    trace = ds.synth("zipf", requests=20_000, pages=3000, alpha=1.0, seed=1)
    results = ds.compare(
        trace, "lru", cache="100p", tier2="lru", tier2_cache="400p", admit="always,nth[n=4]"
    )
    always, nth = results.marks
    assert "tier2_writes" in nth.best
    assert "tier2_writes" in nth.better
    assert not always.best or "tier2_writes" not in always.best


def test_placements_are_compared_with_intervals_though_each_is_a_result_set() -> None:
    trace = ds.synth("oltp", requests=1500, pages=900, seed=1)
    how: Any = {"device": "small[handles=2]", "queue_depth": 4, "warmup": "none"}
    results = ds.compare(trace, "lru", cache="10%", placement=["none", "sepbit"], **how)
    assert len(results.sets) == 2
    both = side_by_side(results.runs)
    assert not results[0].has_intervals_against(results[1])
    assert both[0].has_intervals_against(both[1])
    assert both[0].minus(both[1], "response_ns_mean") is not None
    for metric in METRICS:
        assert change(metric.name, *results.runs) is None, "no interval, no mark"
        if change(metric.name, *both) is not None:
            interval = both[0].minus(both[1], metric.name)
            assert interval is not None
            assert not interval[0] <= 0 <= interval[1]
    (group,) = results.as_table().groups
    assert len(group) == 2


def test_the_interval_that_is_shown_decides() -> None:
    reached = shown = 0
    for seed in range(6):
        trace = ds.synth("oltp", requests=4000, pages=2500, read_ratio=0.4, seed=seed)
        how: Any = {"device": "small", "queue_depth": [4, 16]}
        results = ds.compare(trace, "lru,arc,cflru,ecr", cache="5%,20%", **how)
        table = results.as_table(against="lru", show="mean,p90,p99,hit,flash_writes")
        for row in table.rows():
            for cell in row:
                ends = re.fullmatch(r"([-+][\d.]+) \(([-+][\d.]+) to ([-+][\d.]+)\)", cell.text)
                if ends is None:
                    continue
                by, low, high = map(float, ends.groups())
                shown += 1
                assert low <= by <= high
                reached += 0.0 in (low, high)
                if cell.sign:
                    assert low >= 0 or high <= 0, cell
        for group in (results.result_sets[0].at(n) for n in results.result_sets[0].sizes):
            for run, metric in ((r, m) for r in group[1:] for m in METRICS):
                found = decisive(metric.name, run, group[0])
                if found is None or run[metric.name] is None or metric.better == "neither":
                    continue
                ours, theirs = run[metric.name], group[0][metric.name]
                large = abs(ours - theirs) >= 0.01 * max(abs(ours), abs(theirs))
                alike = not large or winners._is_visible(metric.name, ours, theirs) is False
                clear = not found[0] <= 0 <= found[1]
                assert bool(beside(metric, run, group[0])) == (clear and not alike), metric.name
    assert shown > 100
    assert reached > 0


def test_pending_writes_that_take_a_mark_away_reach_zero_in_the_table() -> None:
    trace = ds.demo_trace(requests=100_000)
    results = ds.compare(trace, "lru,cflru", cache="256MiB", device="small")
    lru, cflru = results.runs
    raw = cflru.minus(lru, "response_ns_p999")
    assert raw is not None
    assert raw[1] < 0
    assert decisive("response_ns_p999", cflru, lru) == (raw[0], 0.0)
    text = results.as_table(against="lru", show="response_ns_p999").text()
    assert "to +0.0)" in text
    assert "pending writes may account for the lead" in text
