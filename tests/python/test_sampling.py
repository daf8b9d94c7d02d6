"""Sampled curves: an interval wherever a number is shown, and no winner that it does not tell."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from conftest import Destage

import destage as ds
from destage.model.metrics import METRICS
from destage.model.winners import change, winner
from destage.model.words import uncertain
from destage.show.charts.comparison_rows import chart_rows

CACHES = "0.4%,30%,45%"


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=60_000, pages=20_000, alpha=0.6, read_ratio=0.6, seed=4)


@pytest.fixture(scope="module")
def curves(trace: ds.Trace) -> ds.Curves:
    return ds.mrc(trace, "lru,fifo,clock", cache=CACHES, sample=0.125)


@pytest.mark.parametrize(
    ("value", "low", "high", "most", "said"),
    [
        (39.63, 37.5, 41.7, 2, "39.6 ± 2.2"),
        (39.63, 39.5912, 39.67, 2, "39.63 ± 0.04"),
        (39.63, 39.63, 39.63, 2, "39.63 ± 0"),
        (39.63, 20.0, 59.0, 2, "40 ± 20"),
        (12_345.0, 11_901.0, 12_789.0, 0, "12,340 ± 450"),
        (12_345.0, 12_338.0, 12_352.0, 0, "12,345 ± 7"),
        (0.0, 0.0, 3.7, 2, "0.0 ± 3.7"),
    ],
)
def test_a_number_has_no_digit_that_its_interval_does_not_know(
    value: float, low: float, high: float, most: int, said: str
) -> None:
    assert uncertain(value, low, high, most) == said


def test_every_number_has_its_interval_where_one_is_known(curves: ds.Curves) -> None:
    names = ("hit_ratio", "miss_ratio", "misses", "physical_reads", "physical_writes", "evictions")
    for row in curves.to_dicts():
        for name in names:
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            if row["cache"] == "0.4%":
                assert low is high is row["miss_ratio_error"] is None
            else:
                assert low < row[name] < high, name


def test_an_exact_curve_has_no_interval(trace: ds.Trace) -> None:
    exact = ds.mrc(trace, "lru,fifo", cache="10%")
    assert all(row["hit_ratio_low"] is None for row in exact.to_dicts())
    assert "±" not in exact.as_table().text()


def test_table_page_and_tooltip_say_how_far_a_number_may_be_off(curves: ds.Curves) -> None:
    text = curves.as_table().text()
    assert len(re.findall(r"\d ± \d", text)) == 8, text
    assert len(re.findall(r"\d ± \?", text)) == 3, text
    assert "±: 95 % confidence interval; ± ?: no interval for this policy or sample (docs" in text
    assert "± " in curves.as_table().markdown()
    rows = [row for row in chart_rows(curves.result_set) if "hit_ratio_low" in row]
    assert len(rows) == 6
    assert all(" ± " in row["hit_ratio_text"] for row in rows)
    assert all(" ± " in row["physical_writes_text"] for row in rows)


def test_two_policies_that_the_sample_cannot_tell_apart_have_no_star(trace: ds.Trace) -> None:
    found = ds.mrc(trace, "lru,clock,clock-sweep", cache=CACHES, sample=0.125)
    text = found.as_table().text()
    assert re.search(r"not significant \(clock and clock-sweep: 0\.\d+ ± 0\.\d+\)", text), text
    assert not any(cell.best for row in found.as_table().rows() for cell in row)


def test_one_curve_says_its_best_with_the_interval(trace: ds.Trace) -> None:
    one = ds.mrc(trace, "fifo", cache="30%,45%", sample=0.125)
    assert re.search(
        r"fifo: at most \(\d+(\.\d+)? ± \d+(\.\d+)?\) % hits at these sizes", one.summary[0]
    )


def test_files_have_the_ends_as_columns(destage: Destage) -> None:
    made = destage(
        "trace",
        "synth",
        "zipf",
        "--requests",
        "40000",
        "--pages",
        "8000",
        "--alpha",
        "0.5",
        "-o",
        "z.csv",
    )
    assert made.status == 0, made
    flags = ("z.csv", "-p", "lru,fifo", "-c", "45%", "--sample", "25%")
    done = destage("mrc", *flags, "--csv", "-")
    assert done.status == 0, done
    for row in csv.DictReader(io.StringIO(done.out)):
        low, value, high = (float(row[f"hit_ratio{end}"]) for end in ("_low", "", "_high"))
        assert low < value < high
    done = destage("mrc", *flags, "--json", "-")
    for curve in json.loads(done.out)["mrc"]["curves"]:
        sampled = curve["points"][0]["sampled"]
        assert sampled["misses_low"] < curve["points"][0]["misses"] < sampled["misses_high"]


def test_what_the_intervals_leave_open_has_no_winner(curves: ds.Curves) -> None:
    metric = next(m for m in METRICS if m.name == "hit_ratio")
    found = curves.result_set
    small, *others = found.sizes
    lru, fifo, _ = found.at(small)
    assert fifo.minus(lru, "hit_ratio") is None
    assert change("hit_ratio", fifo, lru) is None, "too few frames to tell anything"
    for frames in others:
        lru, fifo, _ = found.at(frames)
        interval = lru.minus(fifo, "hit_ratio")
        assert interval is not None
        # They were off together on the same sample: surer than both ends.
        ends = [run.bounds["hit_ratio"] for run in (lru, fifo)]
        assert interval[1] - interval[0] < sum(high - low for low, high in ends)
        assert interval[0] < lru["hit_ratio"] - fifo["hit_ratio"] < interval[1]
        told = not interval[0] <= 0 <= interval[1]
        assert (change("hit_ratio", lru, fifo) is not None) == told
    best = winner(found.at(small), metric)
    assert best is not None
    assert best.measured
    assert not best.sole
    first = next(curves.as_table().rows())
    assert not any(cell.best for cell in first)
    assert first[-1].text == "± ?"


def test_a_wide_lead_is_told_with_the_error_of_the_difference(trace: ds.Trace) -> None:
    told = ds.mrc(trace, "fifo,slru", cache="30%", sample=0.25)
    (row,) = told.as_table().rows()
    assert [cell.best for cell in row] == [False, False, False, False, True, False]
    assert re.fullmatch(r"\d+\.\d+ ± \d+\.\d+ \(fifo\)", row[-1].text), row[-1].text
    assert told.summary[0].startswith("Highest hit ratio: slru")


def test_a_policy_without_an_interval_wins_nothing_and_takes_no_lead_from_others(
    trace: ds.Trace,
) -> None:
    told = ds.mrc(trace, "fifo,sieve,slru,clock", cache="0.4%,30%", sample=0.25)
    small, large = told.as_table().rows()
    _, sieve, slru, _ = found = told.result_set.at(told.result_set.sizes[1])
    assert sieve.bounds == {}
    assert (sieve.hit_ratio or 0) > (slru.hit_ratio or 0), "or it tests nothing"
    assert [cell.best for cell in large] == [False] * 5 + [True, False, False]
    # The lead that is told is the one over the policy that is named.
    lead, rival = re.fullmatch(r"(\d+\.\d+) ± \d+\.\d+ \((\w+)\)", large[-1].text).groups()
    (named,) = (run for run in found if run.label == rival)
    off = 100 * ((slru.hit_ratio or 0) - (named.hit_ratio or 0))
    assert abs(float(lead) - off) < 0.1
    # Too few frames for anybody.
    assert small[-1].text == "± ?"
    assert not any(cell.best for cell in small)
    assert told.summary[0].startswith("Highest hit ratio: slru at")
    assert "No interval is known for " in told.summary[1]
    assert "sieve at every size" in told.summary[1]
    alone = ds.mrc(trace, "larc,sieve", cache="30%", sample=0.25)
    assert list(alone.summary) == [
        "No interval is known for larc and sieve: the sample cannot rank them."
    ]


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(trace: ds.Trace) -> None:
    def made(jobs: int, seed: int) -> str:
        curves = ds.mrc(trace, "lru,2q", cache="30%", sample=0.125, seed=seed, jobs=jobs)
        return json.dumps(curves.data)

    assert made(1, 7) == made(3, 7) != made(1, 8)


def test_of_a_policy_whose_curve_jumps_no_interval_is_claimed(trace: ds.Trace) -> None:
    found = ds.mrc(trace, "sieve,lru", cache="40%", sample=0.25)
    sieve, lru = found.to_dicts()
    assert sieve["hit_ratio_low"] is None
    assert lru["hit_ratio_low"] is not None
    text = found.as_table().text()
    assert re.search(r"\d ± \? ", text)
    assert not any(cell.best for row in found.as_table().rows() for cell in row)


def test_lru_over_the_whole_trace_puts_a_sample_right(trace: ds.Trace, curves: ds.Curves) -> None:
    right = ds.mrc(trace, "lru,fifo,clock", cache=CACHES, sample=0.125, control="lru")
    exact = ds.mrc(trace, "lru", cache=CACHES).to_dicts()
    rows = right.to_dicts()
    assert [row for row in rows if row["policy"] == "lru"] == exact
    assert set(right.every_size) == {"lru"}

    def wide(of: ds.Curves) -> float:
        sampled = [row for row in of.to_dicts() if row["policy"] == "clock" and row["misses_low"]]
        return sum(row["misses_high"] - row["misses_low"] for row in sampled)

    assert wide(right) < 0.9 * wide(curves)
    text = right.as_table().text()
    assert "from a sample of 2,126 pages, and LRU over the whole trace" in text, text
    assert "without ±: exact, of the whole trace (3 of 9)" in text
    assert right.data["mrc"]["control"] == "lru"
    assert "control" not in curves.data["mrc"]


def test_without_a_sample_there_is_nothing_to_put_right(trace: ds.Trace, destage: Destage) -> None:
    with pytest.raises(ds.UsageError, match="control: it needs a sample"):
        ds.mrc(trace, "lru,fifo", control="lru")
    with pytest.raises(ds.UsageError, match="control: expected \"lru\", got 'fifo'"):
        ds.mrc(trace, "lru,fifo", sample=0.1, control="fifo")  # type: ignore[arg-type]
    done = destage("mrc", "z.csv", "-p", "fifo", "--control", "lru")
    assert done.status == 2
    assert "--control needs a sample: add --sample" in done.err
    done = destage("mrc", "z.csv", "-p", "fifo", "--seed", "2")
    assert done.status == 2
    assert "--seed is of a sample: add --sample" in done.err


def test_where_lru_is_not_known_in_one_pass_it_is_no_control(trace: ds.Trace) -> None:
    with pytest.raises(ds.UsageError, match="lru as control: it begins to count"):
        ds.mrc(trace, "fifo", cache="30%", sample=0.1, control="lru", warmup="full")
    exact = ds.mrc(trace, "fifo", cache="30%", sample="auto", control="lru", warmup="full")
    assert "control" not in exact.data["mrc"]


@pytest.mark.parametrize("warmup", ["none", "20%"])
def test_a_small_sample_estimates_nothing_impossible(warmup: str) -> None:
    trace = ds.synth("zipf", requests=60_000, pages=5_000, seed=3)
    curves = ds.mrc(trace, "lru,fifo", cache="50p,100p,2000p", sample=0.02, warmup=warmup)
    for row in curves.to_dicts():
        writes = row["accesses"] - row["misses"] + row["write_misses"]
        assert row["evictions"] <= row["misses"]
        assert row["physical_writes"] <= writes + row["frames"]


def test_no_interval_holds_what_cannot_be() -> None:
    trace = ds.synth("uniform", requests=40_000, pages=400_000, seed=3, read_ratio=0.0)
    for row in ds.mrc(trace, "lru,fifo", cache="3000p", sample=0.2, warmup="20%").to_dicts():
        assert row["evictions"] <= row["evictions_high"] <= row["accesses"]
        assert row["physical_writes"] <= row["physical_writes_high"] <= row["accesses"] + 3000


def test_a_cache_below_one_page_of_the_sample_has_no_number(destage: Destage) -> None:
    trace = ds.synth("zipf", requests=60_000, pages=5_000, seed=3)
    curves = ds.mrc(trace, "lru,s3-fifo", cache="1p,49p,50p", sample=0.02)
    known = [row["frames"] for row in curves.to_dicts() if row["misses"] is not None]
    assert known == [50, 50]
    for row in curves.to_dicts():
        unknown = [row["hit_ratio"], row["misses"], row["physical_writes"], row["evictions"]]
        assert (None in unknown) == (row["frames"] < 50)
    assert "no number: the sample has less than one page of such a cache" in str(curves)
