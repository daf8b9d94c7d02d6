"""Figures for a paper, LaTeX tables and BibTeX."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds
from destage.model.metrics import METRICS

POLICIES = [p.name for p in ds.policies()]


def test_every_policy_has_an_entry_that_names_its_source_once() -> None:
    text = ds.bibtex(POLICIES)
    entries = re.findall(r"^@(\w+)\{(\S+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    keys = [key for _, key, _ in entries]
    assert len(keys) == len(set(keys))
    assert keys[-1] == "destage"
    assert len(keys) - 1 == len({p.source for p in ds.policies()})
    for kind, key, fields in entries:
        assert "title = {{" in fields, key
        assert fields.count("{") == fields.count("}"), key
        if kind == "article":
            assert "journal = " in fields, key
        if kind in ("article", "inproceedings"):
            assert "author = " in fields, key
            assert re.search(r"year = \{(19|20)\d\d\}", fields), key
    (wsr,) = [fields for _, key, fields in entries if key == "lru-wsr"]
    assert "Jung and Shim and Park and Kang and Cha" in wsr
    assert "journal = {IEEE Transactions on Consumer Electronics}" in wsr
    assert "volume = {54}" in wsr


def test_cite_takes_policies_and_results(destage: Destage, tmp_path: Path) -> None:
    results = ds.compare(ds.synth("zipf", requests=200, pages=50, seed=1), "lru,arc", cache="5p")
    results.to_json(tmp_path / "r.json")
    done = destage("cite", "r.json", "cflru")
    assert done.status == 0, done
    assert [f"{{{name}," in done.out for name in ("lru", "arc", "cflru")] == [True] * 3
    assert destage("cite", "lrru").status == 2


def test_a_table_is_latex_with_booktabs(destage: Destage, tmp_path: Path) -> None:
    results = ds.compare(ds.synth("zipf", requests=500, pages=90, seed=1), "lru,arc", cache="10%")
    text = results.to_latex()
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    (columns,) = re.findall(r"\\begin\{tabular\}\{(\w+)\}", text)
    assert {row.count(" & ") for row in rows} == {len(columns) - 1}
    assert r"10\%" in text
    assert not re.search(r"(?<!\\)%", re.sub(r"^%.*$", "", text, flags=re.MULTILINE))


def test_looks_differ_in_colour_and_in_black_and_white() -> None:
    pytest.importorskip("altair")
    from destage.show.charts.theme import LIGHT, styles

    labels = ["lru", "min", *(name for name in POLICIES if name not in ("lru", "min"))][:32]
    look = styles(labels, LIGHT)
    for a, b in combinations(labels, 2):
        one, other = look[a], look[b]
        if {a, b} == {"lru", "min"}:
            continue
        assert (one.dash, one.marker) != (other.dash, other.marker), (a, b)
    usual = styles(["lru", "arc", "cflru", "gcar-cflru", "ecr", "ecr-e", "2q", "min"], LIGHT)
    assert len({one.color for one in usual.values()}) == 8
    assert len({(*one.dash, one.marker) for one in usual.values()}) == 8


def test_a_policy_has_one_colour_in_every_chart() -> None:
    from destage.show.charts.theme import LIGHT, styles

    alone = {name: styles([name], LIGHT)[name].color for name in POLICIES}
    for labels in (POLICIES, POLICIES[::-1], [f"{name.upper()}[x=1]" for name in POLICIES]):
        for label, style in styles(labels, LIGHT).items():
            name = label.partition("[")[0].lower()
            assert style.color == alone[name] or name in ("lru", "min"), label


def test_a_figure_has_its_width_its_font_and_its_names(destage: Destage, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    trace = ds.synth("zipf", requests=900, pages=200, seed=1)
    results = ds.compare(trace, "lru,cflru", cache=["5%", "20%"])
    results.to_json(tmp_path / "r.json")
    flags = ("--width", "3.3in", "--font-size", "8", "--label", "lru=LRU")
    done = destage("report", "r.json", "--figures", "figures", *flags)
    assert done.status == 0, done
    pdf = (tmp_path / "figures" / "hit_ratio.pdf").read_bytes()
    (box,) = re.findall(rb"/MediaBox \[0 0 ([0-9.]+) ", pdf)
    assert float(box) == pytest.approx(3.3 * 72, abs=0.5)
    svg = (tmp_path / "figures" / "hit_ratio.svg").read_text()
    assert 'width="237.6pt"' in svg
    assert ">LRU</text>" in svg
    assert ">lru</text>" not in svg
    assert ">cflru</text>" in svg
    assert {float(size) for size in re.findall(r'font-size="([0-9.]+)px"', svg)} == {8.0}
    # At the usual size of text the title of the axis is too long for one line.
    assert ">Cache size, share of the pages (log scale)</text>" in svg
    assert destage("report", "r.json", "--figures", "figures", *flags[:2]).status == 0
    svg = (tmp_path / "figures" / "hit_ratio.svg").read_text()
    assert ">Cache size, share of the</" in svg
    assert ">pages (log scale)</" in svg
    for wrong, said in [
        (("--width", "wide"), "expected a length such as 3.3in"),
        (("--width", "0.1in"), "expected 1in to 100in"),
        (("--label", "lru"), "expected LABEL=NAME"),
        (("--font-size", "0"), "expected 1 to 100 points"),
    ]:
        done = destage("report", "r.json", "--figures", "other", *wrong)
        assert done.status == 2, done
        assert said in done.err
    done = destage("report", "r.json", "--width", "3in")
    assert (done.status, "add --figures" in done.err) == (2, True)


def test_a_distribution_names_its_cache_size() -> None:
    pytest.importorskip("altair")
    trace = ds.synth("zipf", requests=900, pages=200, seed=1, device="small")
    results = ds.compare(trace, "lru,cflru", cache=["20p", "64p"], device="small", profile=True)
    page = results[0].trace.page_bytes
    spec = results.plot.response_cdf(frames=64).to_dict()
    assert spec["title"] == f"Cache {64 * page // 1024} KiB"


def test_thirty_policies_and_the_bounds_look_different_in_black_and_white() -> None:
    from destage.show.charts.theme import LIGHT, styles

    looks = styles(["lru", "min", *(f"policy-{k}" for k in range(30))], LIGHT).values()
    assert len({(*look.dash, look.marker) for look in looks}) == 32


@pytest.mark.parametrize(
    ("values", "name", "divisor"),
    [((18.0, 20_000.0), "ns", 1.0), ((900.0, 2e6), "µs", 1e3), ((2e6, 2.1e6), "ms", 1e6)],
)
def test_an_axis_names_the_unit_that_its_labels_are_in(
    values: tuple[float, float], name: str, divisor: float
) -> None:
    pytest.importorskip("altair")
    from destage.show.charts.value_axes import value_axis

    metric = next(one for one in METRICS if one.name == "write_response_ns_mean")
    axis = value_axis(metric, values)["axis"].to_dict()
    assert f"({name}" in axis["title"]
    (by,) = set(re.findall(r"datum\.value / ([0-9.e+]+)", axis["labelExpr"]))
    assert float(by) == divisor
