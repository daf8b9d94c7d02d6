"""LRU at every cache size: exact, how large is enough, where it bends; as table, page, figure."""

from __future__ import annotations

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
    runs = ds.compare(trace, "lru", cache=[f"{frames}p" for frames, _ in chosen])
    assert [run.hit_ratio for run in runs] == [ratio for _, ratio in chosen]


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
        assert "at best of these sizes" in curves.summary[0]


def test_the_table_says_how_large_is_enough(destage: Destage, msr: Path) -> None:
    done = destage("mrc", msr, "-p", "lru,arc", "-c", "10%,50%", "--json", "m.json", "-q")
    assert done.status == 0, done
    for said in ("at best; of these hits it takes", "for 90 %", "for 95 %", "for 99 %", "knee"):
        assert said in done.out, said
    assert "The highest hit ratio:" in done.out


def test_the_page_and_the_figure_have_the_exact_line_and_a_summary(
    curves: ds.Curves, trace: ds.Trace, tmp_path: Path
) -> None:
    pytest.importorskip("altair")
    ds.write_report(tmp_path / "m.html", (), curves=[curves], traces=[trace])
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    summary = page.split('<div class="summary">')[1].split("</div>")[0]
    assert "at best; of these hits it takes" in summary
    assert "The highest hit ratio:" not in summary  # min knows the future: nobody competes
    spec = json.dumps(curves.plot.mrc().to_dict())
    assert spec.count('"label": "lru", "cache_bytes"') > 200
    assert "knee at" in spec
