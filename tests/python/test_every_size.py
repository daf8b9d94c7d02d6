"""LRU at every cache size: exact, how large is enough, where it bends; as table, page, figure."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds
from destage.model.every_size import SHARES, EverySize


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=6000, pages=500, read_ratio=0.5, seed=3)


@pytest.fixture(scope="module")
def curves(trace: ds.Trace) -> ds.Curves:
    return ds.mrc(trace, "lru,min", cache="1%,10%,50%")


def every_size(curves: ds.Curves) -> dict[str, object]:
    found: dict[str, object] = curves.data["mrc"]["curves"][0]["every_size"]
    return found


def test_every_point_of_the_curve_is_what_a_run_hits(trace: ds.Trace, curves: ds.Curves) -> None:
    points = every_size(curves)["points"]
    assert isinstance(points, list)
    assert len(points) > 200
    assert points[-1][0] == trace.unique_pages
    chosen = random.Random(1).sample(points, 25)
    runs = ds.compare(trace, "lru", cache=[f"{frames}p" for frames, *_ in chosen])
    assert [run.physical_writes for run in runs] == [writes for *_, writes in chosen]
    assert [run.hit_ratio for run in runs] == [ratio for _, ratio, _ in chosen]


def test_enough_is_the_smallest_size_that_is(trace: ds.Trace, curves: ds.Curves) -> None:
    every = every_size(curves)
    best = ds.run(trace, "lru", cache=f"{trace.unique_pages}p")
    assert every["best_hit_ratio"] == best.hit_ratio
    enough = every["enough"]
    assert isinstance(enough, list)
    assert [at["share"] for at in enough] == list(SHARES)
    for at in enough:
        here = ds.run(trace, "lru", cache=f"{at['frames']}p")
        before = ds.run(trace, "lru", cache=f"{at['frames'] - 1}p")
        assert here["read_hits"] + here["write_hits"] >= at["share"] * (
            best["read_hits"] + best["write_hits"]
        )
        assert before.hit_ratio < at["share"] * best.hit_ratio


def test_knees_of_a_curve_of_stairs() -> None:
    hits = [0] * 9 + [50] * 40 + [80] * 50 + [100]
    assert EverySize(hits, 200).knees() == [10, 50]
    # A loop of 120 pages hits nothing before it fits, and everything from there on.
    assert EverySize([0] * 119 + [1000] * 281, 1200).knees() == [120]
    assert EverySize([k + 1 for k in range(1000)], 2000).knees() == []
    assert EverySize([], 0).to_json()["points"] == []
    assert EverySize([0, 0], 4).to_json()["enough"] == []


def test_a_sample_and_a_warm_up_until_full_claim_nothing_of_every_size(trace: ds.Trace) -> None:
    for given in ({"sample": 0.5}, {"warmup": "full"}):
        curves = ds.mrc(trace, "lru", cache="10%,50%", **given)  # type: ignore[arg-type]
        assert "every_size" not in curves.data["mrc"]["curves"][0]
        assert "hits at these sizes" in curves.summary[0]


def test_the_table_says_how_large_is_enough(destage: Destage, msr: Path) -> None:
    done = destage("mrc", msr, "-p", "lru,arc", "-c", "10%,50%", "--json", "m.json", "-q")
    assert done.status == 0, done
    for said in ("size for", "90 %", "95 %", "99 %", "knees", "≤ ", "≥ "):
        assert said in done.out, said
    assert "Highest hit ratio:" in done.out


def test_the_page_and_the_figure_have_the_exact_line_and_a_summary(
    curves: ds.Curves, trace: ds.Trace, tmp_path: Path
) -> None:
    pytest.importorskip("altair")
    ds.write_report(tmp_path / "m.html", (), curves=[curves], traces=[trace])
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    summary = page.split('<div class="summary">')[1].split("</div>")[0]
    assert "Size for a share of these" in summary
    assert "Highest hit ratio:" not in summary  # min uses future accesses: nobody competes
    spec = json.dumps(curves.plot.mrc().to_dict())
    assert spec.count('"label": "lru", "cache_bytes"') > 200
    assert "knee at" in spec


def test_all_gives_a_column_for_each_number_equal_to_single_runs(trace: ds.Trace) -> None:
    for given in ({}, {"flush_at_end": True, "fetch_on_write_miss": True}, {"warmup": "20%"}):
        curves = ds.mrc(trace, "lru", cache="all", **given)  # type: ignore[arg-type]
        every = curves.every_size["lru"]
        assert list(every.cache_pages) == list(range(1, trace.unique_pages + 1))
        chosen = random.Random(2).sample(range(1, trace.unique_pages + 1), 12)
        runs = ds.compare(trace, "lru", cache=[f"{f}p" for f in chosen], **given)  # type: ignore[arg-type]
        for frames, run in zip(chosen, runs, strict=True):
            assert every.accesses == run["accesses"]
            assert every.hits[frames - 1] == run["read_hits"] + run["write_hits"]
            assert every.misses[frames - 1] == run["read_misses"] + run["write_misses"]
            assert every.physical_reads is not None
            assert every.physical_reads[frames - 1] == run["physical_reads"]
            assert every.physical_writes is not None
            assert every.physical_writes[frames - 1] == run["physical_writes"]


def test_all_is_written_a_row_a_size_and_shown_at_the_usual_ones(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    files = ["--csv", "a.csv", "--json", "a.json", "--parquet", "a.parquet"]
    done = destage("mrc", msr, "-p", "lru", "-c", "all", *files, "-q")
    assert done.status == 0, done
    assert "50%" in done.out
    assert "knee" in done.out
    columns = ["policy", "cache_pages", "hits", "misses", "physical_reads", "physical_writes"]
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == columns
    table = json.loads((tmp_path / "a.json").read_text())["every_size"]["lru"]
    assert [int(row["hits"]) for row in rows] == table["hits"]
    assert [int(row["cache_pages"]) for row in rows] == list(range(1, len(rows) + 1))
    polars = pytest.importorskip("polars")
    frame = polars.read_parquet(tmp_path / "a.parquet")
    assert frame.columns == columns
    assert frame["policy"].unique().to_list() == ["lru"]
    for name in columns[1:]:
        assert frame[name].to_list() == [int(row[name]) for row in rows], name


def test_all_is_refused_where_one_pass_does_not_tell(
    destage: Destage, msr: Path, trace: ds.Trace
) -> None:
    for more, said in (
        (["-p", "lru,arc"], "cache all: arc runs once per size, and only lru and min"),
        (["--warmup", "full"], "cache all: lru begins to count when its cache is full"),
        (["--check"], "cache all: lru is checked at one size at a time"),
        (["--trim", "drop"], "cache all: lru no longer holds in a small cache"),
        (["--sample", "10%"], "cache all: it is exact, and of the whole trace"),
    ):
        done = destage("mrc", "no-such-file.csv", "-c", "all", *more)
        assert done.status == 2, done
        assert said in done.err, done
    done = destage("compare", msr, "-c", "all")
    assert done.status == 2
    assert "every size at once is what mrc draws" in done.err
    named = ds.mrc(trace, "lru", cache="all,10%,20p")
    assert [point["cache"] for point in named.data["mrc"]["curves"][0]["points"]] == ["10%", "20p"]
    assert len(named.every_size["lru"].hits) == trace.unique_pages


def test_all_of_min_hits_what_single_runs_hit_and_says_nothing_of_writes(
    trace: ds.Trace, tmp_path: Path
) -> None:
    curves = ds.mrc(trace, "lru,min", cache="all", warmup="10%")
    every = curves.every_size["min"]
    chosen = random.Random(3).sample(range(1, trace.unique_pages + 1), 12)
    runs = ds.compare(trace, "min", cache=[f"{f}p" for f in chosen], warmup="10%")
    for frames, run in zip(chosen, runs, strict=True):
        assert every.hits[frames - 1] == run["read_hits"] + run["write_hits"]
        assert every.physical_reads is not None
        assert every.physical_reads[frames - 1] == run["physical_reads"]
    assert every.physical_writes is None
    assert all(m >= n for m, n in zip(every.hits, curves.every_size["lru"].hits, strict=True))
    columns = curves.columns()
    assert columns["policy"] == ["lru"] * trace.unique_pages + ["min"] * trace.unique_pages
    curves.to_parquet(tmp_path / "a.parquet")
    polars = pytest.importorskip("polars")
    frame = polars.read_parquet(tmp_path / "a.parquet")
    assert {name: frame[name].to_list() for name in frame.columns} == columns
    assert curves.to_csv().splitlines()[-1].endswith(",")
    assert "min" in curves.to_markdown()


def test_a_hit_ratio_is_to_the_last_bit_that_of_a_run() -> None:
    """One less the miss ratio may differ in its last bit from hits over accesses."""
    trace = ds.synth("zipf", requests=153, pages=40, seed=2)
    policies, sizes = "lru,arc", ",".join(f"{n}p" for n in range(1, 40))
    rows = ds.mrc(trace, policies, cache=sizes).to_dicts()
    curves = {(row["policy"], row["frames"]): row["hit_ratio"] for row in rows}
    assert any(row["hit_ratio"] != 1 - row["miss_ratio"] for row in rows)
    for run in ds.compare(trace, policies, cache=sizes):
        assert curves[run.policy, run.frames] == run.hit_ratio
