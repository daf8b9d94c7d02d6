"""A run over time, drawn; and what policies that write in groups make of a report."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage
from test_report import Page, render_report

import destage as ds
from destage.base.errors import DataError, UsageError
from destage.model.series import GAUGES, gauges, names, rows_of


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("oltp", requests=20_000, pages=4000, read_ratio=0.3)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("arc", {"p"}),
        ("acr-h", {"beta", "delta_c", "delta_d"}),
        ("bpac", {"pird_thd", "bird_thd", "alpha"}),
        ("aalru", {"tau", "th", "wf"}),
    ],
)
def test_what_a_policy_adapts_is_drawn_over_time(
    trace: ds.Trace, policy: str, expected: set[str]
) -> None:
    recorded = ds.run(trace, policy, cache="512p", series=3000)
    drawn = recorded.plot.names()
    assert drawn[:3] == ["hit_ratio", "physical_reads", "physical_writes"]
    assert expected <= set(drawn[3:]) <= set(GAUGES)
    for name in drawn:
        assert recorded.plot(name).to_dict()["description"]


def test_periods_are_those_of_the_run(trace: ds.Trace) -> None:
    recorded = ds.run(trace, "arc", cache="512p", series=3000)
    rows = rows_of(recorded.series, "hit_ratio")
    assert rows[0]["from_access"] == 0
    assert rows[-1]["to_access"] == trace.accesses
    assert all(a["to_access"] == b["from_access"] for a, b in pairwise(rows))
    hits = sum(r["value"] * (r["to_access"] - r["from_access"]) for r in rows)
    assert hits == pytest.approx(float(recorded.run.hit_ratio or 0) * trace.accesses)
    writes = sum(r["value"] for r in rows_of(recorded.series, "physical_writes"))
    assert writes == recorded.run.physical_writes
    columns = recorded.series_columns()
    assert len({len(column) for column in columns.values()}) == 1


def test_above_a_flash_tier_a_series_is_said_to_be_of_tier_1(
    trace: ds.Trace, destage: Destage, msr: Path, tmp_path: Path
) -> None:
    below: Any = {"tier2": "lru", "tier2_cache": "20%"}
    for options, title in ((below, "Hit ratio of tier 1 (%)"), ({}, "Hit ratio (%)")):
        recorded = ds.run(trace, "lru", cache="5%", series=3000, **options)
        chart = json.dumps(recorded.plot("hit_ratio").to_dict())
        assert f'"title": "{title}"' in chart
    tiers = ("--tier2", "lru", "--tier2-cache", "5p")
    series = ("run", msr, "-p", "lru", "-c", "2p", "--series", tmp_path / "s.csv")
    assert "--series counts tier 1" in destage(*series, *tiers).err
    assert "tier 1" not in destage(*series).err


def test_a_policy_that_does_not_adapt_has_no_gauges(trace: ds.Trace) -> None:
    recorded = ds.run(trace, "lru", cache="512p", series=3000)
    assert gauges(recorded.series) == []
    assert names(recorded.series) == ["hit_ratio", "physical_reads", "physical_writes"]
    with pytest.raises(UsageError, match="there is no 'tau' over time; there are hit_ratio"):
        recorded.plot("tau")
    with pytest.raises(DataError, match="no series was recorded"):
        ds.run(trace, "lru", cache="512p").plot("hit_ratio")


def test_series_are_saved_with_their_data(trace: ds.Trace, tmp_path: Path) -> None:
    recorded = ds.run(trace, "arc", cache="512p", series=3000)
    written = recorded.plot.save(tmp_path)
    assert {f.name for f in written} >= {"p.svg", "p.png", "p.csv", "hit_ratio.csv"}
    with (tmp_path / "p.csv").open(newline="") as f:
        rows = list(csv.DictReader(f))
    assert [float(r["value"]) for r in rows] == [r["value"] for r in rows_of(recorded.series, "p")]


def test_the_report_of_a_run_shows_it_over_time(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "".join(
            f"{128166372000000000 + k},d,0,Write,{k * 37 % 50 * 4096},4096,0\n" for k in range(900)
        )
    )
    done = destage("run", "t.csv", "-p", "arc", "-c", "20p", "--report", "r.html")
    assert done.status == 0, done
    page = Page((tmp_path / "r.html").read_text())
    assert "Over the run" in page.texts["h3"]
    (group,) = (g for g in page.model()["groups"] if g["id"] == "o0")
    assert [c["name"] for c in group["charts"]] == [
        *("hit_ratio", "physical_reads", "physical_writes", "p"),
    ]


def test_a_report_of_policies_that_write_in_groups_shows_their_destages(trace: ds.Trace) -> None:
    results = ds.compare(trace, "lru,fab,bplru", cache=["256p", "1024p"])
    page = Page(render_report(results=results.sets))
    assert "How pages are written back, over cache size" in page.texts["h3"]
    group = page.model()["groups"][0]
    names = {c["name"] for c in group["charts"]}
    assert {"destages", "mean_destage_pages", "padding_writes", "destage_cdf"} <= names
    curves = group["data"]["destages"]
    assert {c["label"] for c in curves} == {"fab", "bplru"}
    for curve in curves:
        (run,) = (r for r in results if (r.label, r.frames) == (curve["label"], curve["frames"]))
        assert curve["pages"][-1] == run["destage_pages_max"]
        assert curve["share"][-1] == 1
    assert "destage_cdf" in results.plot.names()
    assert results.plot.destage_cdf(frames=256).to_dict()


def test_a_report_of_page_policies_says_nothing_of_groups(trace: ds.Trace) -> None:
    results = ds.compare(trace, "lru,arc", cache=["256p", "1024p"])
    page = Page(render_report(results=results.sets))
    assert not [t for t in page.texts["h3"] if t.startswith("How pages are written back")]
    assert "destage_cdf" not in results.plot.names()


def test_the_reads_of_all_periods_are_the_reads_of_the_run() -> None:
    trace = ds.synth("zipf", requests=2_000, pages=300, seed=1)
    for how in ({}, {"fetch_on_write_miss": True}):
        recorded = ds.run(trace, "lru", cache="10%", series=300, **how)  # type: ignore[arg-type]
        reads = sum(period["physical_reads"] for period in recorded.series)
        assert reads == recorded.run.physical_reads
