"""What a reader of the page finds his way by: contents, axes that say so, phases, wide tables."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds
from destage.model.metrics import ORACLE
from destage.model.words import ordinal
from destage.show.charts.series import names_axis
from destage.show.charts.theme import DARK, LIGHT, styles
from destage.show.charts.value_axes import ROOM
from destage.show.pages.blocks import article, section, text
from destage.show.pages.layout import page_of
from destage.show.pages.parts import parts_of_run
from destage.show.pages.phases import phases_of_run, segments
from destage.show.tables.summary import summary

pytest.importorskip("altair")


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=6000, pages=500, read_ratio=0.5, seed=3)


@pytest.fixture(scope="module")
def page(trace: ds.Trace, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "p.html"
    options: Any = {"device": "small", "warmup": "none", "profile": True}
    recorded = ds.run(trace, "lru", cache="20%", series=200, **options)
    ds.write_report(path, recorded.results, traces=[trace], series=[recorded.series])
    return path.read_text(encoding="utf-8")


def test_the_contents_lead_to_every_section(page: str) -> None:
    nav = re.search(r'<nav class="contents".*?</nav>', page)
    assert nav is not None
    links = re.findall(r'<a href="#([\w-]+)">(.*?)</a>', nav[0])
    assert len(links) > 4
    for target, title in links:
        assert f'<section id="{target}" ' in page
        section = page.split(f'<section id="{target}" ')[1]
        assert section.split("<h3>")[1].startswith(title)
    assert "<!--contents-->" not in page


def test_every_so_many_th_is_an_ordinal() -> None:
    counts = (2, 3, 4, 11, 12, 13, 21, 22, 23, 101, 111)
    ends = ("nd", "rd", "th", "th", "th", "th", "st", "nd", "rd", "st", "th")
    assert [ordinal(n) for n in counts] == [f"{n}{e}" for n, e in zip(counts, ends, strict=True)]


def test_what_differs_between_sizes_is_said_of_the_sizes() -> None:
    trace = ds.synth("zipf", requests=3000, pages=500, read_ratio=0.5, seed=3)
    results = ds.compare(trace, "lru,arc", cache=["5%", "20%"], device="small")
    first, second = (run.warmup_requests for run in results if run.label == "lru")
    text = results.report().replace("\u00a0", " ")
    full = "auto: until the caches are full"
    assert f"{full}, {first:,} requests (5%); {full}, {second:,} requests (20%)" in text


def test_a_run_says_what_was_measured(destage: Destage) -> None:
    keys = ("--requests", "3000", "--pages", "500", "--seed", "3", "-o", "t.csv")
    assert destage("trace", "synth", "zipf", *keys).status == 0
    base = ("run", "t.csv", "-p", "lru", "-c", "10%")
    with_device = destage(*base, "-d", "small").out
    assert re.search(r"^measured: requests [1-9]\d* to 3,000$", with_device, re.MULTILINE)
    assert "measured" not in destage(*base).out, "without a device all requests are"


def test_contents_of_little_are_left_out() -> None:
    two, three = (
        page_of(
            [article("t0", "T", [section(c, text("note", "`x` of <y>")) for c in titles])],
            {"groups": []}, eyebrow="E", title="T", version="0", command=None,
        )
        for titles in ("AB", "ABC")
    )  # fmt: skip
    assert '<nav class="contents"' not in two
    assert '<a href="#t0-3">C</a>' in three
    assert '<p class="note"><code>x</code> of &lt;y&gt;</p>' in three, "commands are code"


def _log_axes(node: object) -> list[tuple[str, str]]:
    """Field and title of every logarithmic axis of a chart."""
    found: list[tuple[str, str]] = []
    if isinstance(node, dict):
        scale, axis = node.get("scale"), node.get("axis")
        if isinstance(scale, dict) and scale.get("type") == "log" and isinstance(axis, dict):
            found.append((str(node.get("field")), str(axis.get("title"))))
        for value in node.values():
            found += _log_axes(value)
    elif isinstance(node, list):
        for value in node:
            found += _log_axes(value)
    return found


def test_every_log_axis_says_so(trace: ds.Trace) -> None:
    timed = ds.compare(trace, "lru,bplru", cache="5%,20%", device="small", profile=True)
    seen = 0
    for plots in (timed.plot, ds.compare(trace, "lru,arc", cache="5%,20%").plot):
        for name in plots.names():
            axes = _log_axes(plots._spec(name))
            seen += len(axes)
            assert all("log scale" in title for _, title in axes), (name, axes)
    assert seen > 8


def test_min_has_a_colour_of_its_own() -> None:
    labels = ["lru", ORACLE, *(f"p{k}" for k in range(30))]
    for theme in (LIGHT, DARK):
        look = styles(labels, theme)
        others = {style.color for label, style in look.items() if label != ORACLE}
        assert look[ORACLE].color == theme.oracle
        assert theme.oracle not in others


def test_phases_are_filling_and_where_the_run_changes() -> None:
    assert segments([1.0] * 20 + [3.0] * 20) == [20]
    assert segments([1.0] * 12 + [3.0] * 12 + [2.0] * 12, offset=4) == [16, 28]
    assert segments([2.0] * 40) == []
    assert segments([2.0, 2.01] * 20) == []


def test_the_page_of_a_run_has_its_phases(page: str) -> None:
    phases = page.split("<h3>Phases of the run</h3>")[1].split("</section>")[0]
    assert ">filling</th>" in phases
    assert ">phase 1</th>" in phases
    assert "Mean response" in phases


def test_several_runs_have_no_phases_of_a_run(trace: ds.Trace) -> None:
    results = ds.compare(trace, "lru,arc", cache="20%")
    assert phases_of_run(results.result_sets[0]) is None


def test_phases_cover_the_run_and_add_up(trace: ds.Trace) -> None:
    (run,) = results = ds.compare(trace, "lru", cache="20%")
    table = phases_of_run(results.result_sets[0])
    assert table is not None
    spans = [re.findall(r"\d+", row[1]) for row in table["blocks"][0]["rows"]]
    assert spans[0][0] == "0"
    assert spans[-1][1] == "100"
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    assert run.windows is not None


def test_tunes_figure_has_a_zero_line_or_says_that_there_is_none(
    trace: ds.Trace, tmp_path: Path
) -> None:
    low = ds.tune(trace, "clc", {"alpha": "0:1:0.5"}, "destages", cache="10%").plot().to_dict()
    assert '"zero"' in json.dumps(low["layer"])
    assert not low["title"].get("subtitle")
    near = ds.tune(trace, "cflru", {"window_fraction": "0.2,0.4"}, "hit", cache="50%")
    spec = near.plot().to_dict()
    assert spec["title"]["subtitle"] == "the axis does not begin at zero"
    assert '"zero": 0' not in json.dumps(spec["layer"])
    x = spec["layer"][-1]["encoding"]["x"]["scale"]
    assert x["padding"] >= 12  # The winner's diamond is whole.
    assert x["nice"] is False  # No value beyond those that the parameter takes.


def test_an_axis_over_cache_sizes_begins_at_zero_or_says_that_it_does_not() -> None:
    trace = ds.synth("zipf", requests=4000, pages=300, read_ratio=0.5, seed=3)
    results = ds.compare(trace, "lru,arc", cache=["5%", "6%", "60%"])
    near = ds.compare(trace, "lru,arc", cache=["5%", "6%"])
    for made, says in ((results, False), (near, True)):
        text = json.dumps(made.plot.over_size("physical_reads").to_dict())
        assert ("(pages, not from 0)" in text) is says
        domains = re.findall(r'"domain": \[([\d.]+), [\d.]+\], "nice": false, "zero"', text)
        assert domains
        assert {float(low) > 0 for low in domains} == {says}


def _bars(made: Any) -> dict[str, list[str]]:
    """The lines of each name beside the bars of a chart."""
    axis = made.to_dict()["layer"][0]["encoding"]["y"]["axis"]
    found: dict[str, list[str]] = json.loads(axis["labelExpr"].partition("[datum.value]")[0])
    return found


def test_long_names_beside_bars_are_in_lines_and_differ() -> None:
    trace = ds.synth("zipf", requests=2000, pages=300, read_ratio=0.7, seed=3)
    how: Any = {"tier2": "lru", "tier2_cache": "40%", "admit": "always,nth[n=4],nth[n=14]"}
    results = ds.compare(trace, "lru,arc", cache="5%", **how)
    lines = _bars(results.plot.over_size("overall_hit_ratio"))
    assert sorted(lines) == sorted(results.result_sets[0].labels)
    assert len({tuple(each) for each in lines.values()}) == len(lines) == 6
    assert all(len(line) <= 28 for each in lines.values() for line in each)
    alike = "lru[" + "w" * 60 + "=1]", "lru[" + "w" * 60 + "=2]"
    axis, count = names_axis(alike)
    assert count == 2
    assert axis.labelExpr.count("\\u2026") == 2
    assert "=1]" in axis.labelExpr
    assert "=2]" in axis.labelExpr
    assert names_axis(["lru", "arc"])[1] == 1


def test_two_tiers_are_judged_by_the_hits_of_both() -> None:
    trace = ds.synth("zipf", requests=2000, pages=300, read_ratio=0.7, seed=3)
    how: Any = {"tier2": "lru", "tier2_cache": "40%"}
    several, one = (ds.compare(trace, p, cache="5%", **how) for p in ("lru,fifo", "lru"))
    for results in (several, one):
        first = summary(results.result_sets[0])[0]
        assert "hit ratio of all tiers" in first
        assert f"{100 * max(run['overall_hit_ratio'] for run in results):.2f}" in first
    text = several.report()
    assert text.index("<span>Overall hits<") < text.index("<span>Hit ratio<")


def test_parts_and_phases_of_two_tiers_have_the_hits_of_both() -> None:
    trace = ds.synth("zipf", requests=6000, pages=300, read_ratio=0.7, seed=3)
    how: Any = {"tier2": "lru", "tier2_cache": "40%", "warmup": "none"}
    (run,) = results = ds.compare(trace, "lru", cache="5%", **how)
    parts, phases = (make(results.result_sets[0]) for make in (parts_of_run, phases_of_run))
    assert parts is not None
    assert phases is not None
    assert parts["title"].startswith("Overall hits (%) in parts of the run")
    (row,) = parts["blocks"][0]["rows"]
    tenths = [float(text) for text in row[1:-1]]
    # Ten parts of equal length: their mean is that of the run.
    assert sum(tenths) / len(tenths) == pytest.approx(100 * run["overall_hit_ratio"], abs=0.2)
    assert run["overall_hit_ratio"] > run["hit_ratio"] + 0.05
    heads = [one if isinstance(one, str) else one["text"] for one in phases["blocks"][0]["heads"]]
    assert "Overall hits (%)" in heads
    ratios = [float(row[2]) for row in phases["blocks"][0]["rows"]]
    assert min(ratios) <= 100 * run["overall_hit_ratio"] <= max(ratios)


@pytest.mark.parametrize("room", [ROOM, 1.0])
def test_an_interval_beyond_the_axis_ends_in_an_arrow(
    room: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("destage.show.charts.value_axes.ROOM", room)
    trace = ds.synth("zipf", requests=2000, pages=600, read_ratio=0.5, seed=3)
    results = ds.compare(trace, "lru,cflru,arc", cache=["2%", "10%"], device="small", profile=True)
    arrows = 0
    for name in ("response_ns_mean", "read_response_ns_mean", "flash_writes", "hit_ratio"):
        chart = results.plot.over_size(name).to_dict()
        top = chart["layer"][0]["encoding"]["y"]["scale"]["domain"][1]
        rows = next(iter(chart["datasets"].values()))
        highs = [row[f"{name}_high"] for row in rows if f"{name}_high" in row]
        most = max(row[name] for row in rows)
        shapes = [layer["mark"].get("shape") for layer in chart["layer"]]
        assert highs
        assert ("triangle-up" in shapes) is (max(highs) > top)
        arrows += "triangle-up" in shapes
        assert top <= 1.63 * most
        assert max(highs) <= top or top >= room * most
    assert arrows or room > 1
