"""`destage trace profile` and `Trace.profile`: the papers' pictures, their data, their charts."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage
from test_report import Page, many, render_report

import destage as ds
from destage.base.errors import DataError, UsageError
from destage.model.profile import FIGURES, merged_periods
from destage.show.charts.profile import CHARTS

#: BPAC, section 4.3: pages of blocks 0 (0 to 63) and 1.
EXAMPLE = [10, 13, 13, 4, 5, 8, 70, 75, 10, 64]
LONG = ["figure", "series", "x", "x_to", "y", "y_to", "value"]


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("oltp", requests=30_000, pages=6000, read_ratio=0.5)


@pytest.fixture(scope="module")
def profile(trace: ds.Trace) -> ds.TraceProfile:
    return trace.profile(hot_accesses=200, cold_accesses=5, cache="1MiB")


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "example.csv"
    start = 128166372000000000
    path.write_text(
        "".join(f"{start + k},d,0,Write,{p * 4096},4096,0\n" for k, p in enumerate(EXAMPLE))
    )
    return path


def test_the_papers_example_has_the_papers_distances(example: Path) -> None:
    found = ds.open_trace(example, cache=False).profile()
    assert (found.references, found.pages, found.blocks) == (10, 8, 2)
    bird = {(r["x"], r["value"]) for r in found.rows("bird_distribution")}
    assert bird == {(0, 5), (1, 1), (2, 1)}
    pird = {(r["x"], r["value"]) for r in found.rows("pird_distribution")}
    assert pird == {(0, 1), (7, 1)}
    # BIRDs 0 0 0 0 0 1 2: 71 % are 0, 85 % are at most 1.
    steps = {r["x"]: r["value"] for r in found.rows("bird_sparseness")}
    assert {p for p, step in steps.items() if step} == {72, 86}
    assert found["bird"]["inflection"] == {"percent": 71, "threshold": 0}
    assert found.bird_threshold == 0


def test_every_figure_adds_up(trace: ds.Trace, profile: ds.TraceProfile) -> None:
    """Each figure counts the same references, pages, blocks and requests."""
    assert profile.references == trace.meta["counts"]["write_accesses"]
    heat = [r for r in profile.rows("block_heat") if r["series"] == "references"]
    assert sum(r["value"] for r in heat) == profile.references
    again = sum(r["value"] for r in profile.rows("pird_distribution"))
    assert again == profile.references - profile.pages
    pages = sum(r["value"] for r in profile.rows("pird_frequency"))
    deviations = profile["pird_deviations"]
    assert pages == deviations["sequences"] + deviations["too_short"]
    last = [r for r in profile.rows("unique_blocks") if r["x"] == profile.pages]
    assert [r["value"] for r in last] == [profile.blocks] * 3
    periods = profile.rows("read_ratio")
    assert periods[-1]["x_to"] == trace.requests
    reads = sum(r["value"] * (r["x_to"] - r["x"]) for r in periods)
    assert reads == pytest.approx(trace.meta["counts"]["reads"])
    blocks: dict[int, int] = {}
    for r in profile.rows("hottest_blocks"):
        blocks[r["y"]] = blocks.get(r["y"], 0) + r["value"]
    assert len(blocks) == 24
    assert set(blocks.values()) == {64}


def test_what_counts_can_be_chosen(trace: ds.Trace) -> None:
    everything = trace.profile(counted="all", pages_per_block=128, epochs=5, rows=9)
    assert everything.references == trace.accesses
    assert everything.pages == trace.unique_pages
    rows = everything.rows("block_heat")
    assert {r["x"] for r in rows} <= {k * trace.accesses / 5 for k in range(5)}
    assert len({r["y"] for r in rows}) == 9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pages_per_block": 0}, "pages_per_block: expected 1..1048576, found 0"),
        ({"epochs": 5000}, "epochs: expected 1..2000, found 5000"),
        ({"counted": "reads"}, "counted: expected writes or all, got 'reads'"),
        ({"cold_accesses": 7, "hot_accesses": 3}, "cold_accesses: expected at most 4, found 7"),
    ],
)
def test_what_cannot_be_looked_for_is_refused(
    trace: ds.Trace, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        trace.profile(**options)


def test_the_long_table_holds_every_point(profile: ds.TraceProfile, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(profile.to_csv())))
    assert list(rows[0]) == LONG
    assert len(rows) == sum(len(profile.rows(name)) for name in FIGURES)
    assert {r["figure"] for r in rows} == set(profile.figures())
    profile.to_parquet(tmp_path / "p.parquet")
    polars = pytest.importorskip("polars")
    frame = polars.read_parquet(tmp_path / "p.parquet")
    assert frame.columns == LONG
    assert frame.height == len(rows)
    assert frame.equals(profile.to_polars().cast(frame.schema))
    with pytest.raises(UsageError, match="there is no figure 'heat'; there are block_heat, "):
        profile.rows("heat")


def test_periods_that_are_joined_keep_their_reads() -> None:
    rows = [{"series": "s", "x": k, "x_to": k + 1, "value": k % 2} for k in range(10)]
    merged = merged_periods(rows, 4)
    assert [(r["x"], r["x_to"]) for r in merged] == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert [r["value"] for r in merged] == [1 / 3, 2 / 3, 1 / 3, 1]
    assert merged_periods(rows, 10) == rows


def test_every_figure_has_a_chart_and_a_method(profile: ds.TraceProfile) -> None:
    assert set(CHARTS) == set(FIGURES) - {"inflection"}
    for name in profile.plot.names():
        spec = getattr(profile.plot, name)().to_dict()
        assert spec["description"], name


def test_the_inflection_point_is_marked(profile: ds.TraceProfile) -> None:
    for kind, threshold in (
        ("pird", profile.pird_threshold),
        ("bird", profile.bird_threshold),
    ):
        percent = profile[kind]["inflection"]["percent"]
        spec = json.dumps(getattr(profile.plot, f"{kind}_sparseness")().to_dict())
        assert f"inflection at {percent} %: {threshold:,}" in spec
        spec = json.dumps(getattr(profile.plot, f"{kind}_distribution")().to_dict())
        assert f"{percent} % within {threshold:,}" in spec


def test_figures_come_with_their_data(profile: ds.TraceProfile, tmp_path: Path) -> None:
    written = profile.plot.save(tmp_path / "figures", prefix="f1-")
    names = profile.plot.names()
    assert {f.name for f in written} == {
        f"f1-{n}.{s}" for n in names for s in ("svg", "pdf", "png", "csv")
    }
    with (tmp_path / "figures" / "f1-read_ratio.csv").open(newline="") as f:
        rows = list(csv.DictReader(f))
    assert [float(r["value"]) for r in rows] == [r["value"] for r in profile.rows("read_ratio")]


def test_padding_is_that_of_a_run_of_the_policy(trace: ds.Trace) -> None:
    found = trace.profile(cache="100p")
    (run,) = ds.compare(trace, "bplru", cache="100p")
    padded = {r["x"]: r["value"] for r in found.rows("padding")}
    assert sum(padded.values()) == run["destages"]
    assert sum(k * count for k, count in padded.items()) == run["padding_writes"]
    assert {r["series"]: r["value"] for r in found.rows("padding_writes")} == {
        "padding_writes": run["padding_writes"],
        "destaged_pages": run["destaged_pages"],
    }
    assert max(padded) < 64
    assert trace.profile(padding=None).rows("padding") == []
    with pytest.raises(UsageError, match="padding: expected one policy, got 'bplru,fab'"):
        trace.profile(padding="bplru,fab")


def test_a_cache_that_holds_everything_pads_nothing_and_says_so(trace: ds.Trace) -> None:
    found = trace.profile(cache="100%")
    assert found.rows("padding") == found.rows("padding_writes") == []
    assert any("destages nothing" in warning for warning in found.warnings)


def test_a_trace_that_only_reads_has_a_profile_and_a_warning() -> None:
    reads = ds.synth("uniform", requests=500, pages=100, read_ratio=1.0)
    found = reads.profile()
    assert found.references == 0
    assert found.pird_threshold is None
    assert set(found.figures()) == {"read_ratio", "hottest_blocks"}
    assert found.warnings[0] == (
        "the trace has no writes: there are no distances;"
        " --counted all (counted= in Python) takes reads, too"
    )
    with pytest.raises(DataError, match="this trace has no block_heat; it has read_ratio"):
        found.plot.block_heat()
    assert "PIRD            none: no page is referenced twice" in repr(found)


def test_a_profile_belongs_to_the_results_of_its_trace(trace: ds.Trace) -> None:
    results = ds.compare(trace, "lru", cache="64p")
    html = render_report(
        results=[many(["lru"], [10]), *results.sets], profiles=[trace.profile().data]
    )
    page = Page(html)
    groups = [g["id"] for g in page.model()["groups"]]
    assert "w1" in groups
    assert "w0" not in groups
    assert "Where the heat is" in page.texts["h3"]
    places = {a["id"] for tag, a in page.elements if tag == "div" and a.get("class") == "vega"}
    assert places == {c["id"] for g in page.model()["groups"] for c in g["charts"]}


def test_the_command_prints_numbers_and_writes_files(destage: Destage, example: Path) -> None:
    done = destage(
        *("trace", "profile", example, "--json", "p.json", "--csv", "p.csv"),
        *("--parquet", "p.parquet", "--report", "p.html", "--figures", "figures"),
    )
    assert done.status == 0, done
    assert "references      10 page writes" in done.out
    assert "inflection: 71 % of them are at most 0 references" in done.out
    folder = example.parent
    assert json.loads((folder / "p.json").read_text())["bird"]["samples"] == 7
    assert (folder / "p.csv").read_text().startswith(",".join(LONG))
    assert (folder / "p.parquet").read_bytes().startswith(b"PAR1")
    assert "Sparseness of BIRD" in (folder / "p.html").read_text()
    assert (folder / "figures" / "block_heat.svg").exists()


def test_the_command_writes_to_standard_output_alone(destage: Destage, example: Path) -> None:
    done = destage("trace", "profile", example, "--json", "-", "--quiet")
    assert done.status == 0, done
    assert json.loads(done.out)["pages"] == 8


def test_the_command_refuses_what_it_cannot_do(destage: Destage, example: Path) -> None:
    done = destage("trace", "profile", example, "--pages-per-block", "0")
    assert (done.status, "expected 1..1048576" in done.err) == (2, True), done
    assert destage("trace", "profile", "absent.csv").status == 66
    assert destage("trace", "profile", example, "--csv", "absent/p.csv").status == 74
