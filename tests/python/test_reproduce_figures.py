"""The figures of re-run papers: scales, looks, the paper's numbers, verdicts by panel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from destage.model.estimates import Estimate
from destage.reproduce import paper
from destage.reproduce.claims import Claim, Expectation, Figure
from destage.reproduce.figures import Drawing, Point, drawing, names_of
from destage.reproduce.looking import Case, Judgement
from destage.reproduce.rows import Row, Rows
from destage.reproduce.sums import names, sums
from destage.reproduce.verdicts import Verdict, decide

pytest.importorskip("altair")

from destage.reproduce.index_page import write_index
from destage.reproduce.pages import style
from destage.reproduce.panels import _looks, highest_of_the_others, inline, rows_of, svg

FIGURE = replace(
    paper("sac").figures[1], id="f", where="figure 7", panels="workload", relative=None, unit=""
)


def drawn(values: Mapping[str, tuple[float, float]], figure: Figure = FIGURE) -> Drawing:
    """A figure with the given values at two sizes, by panel."""
    points = [
        Point(panel, x, "LRU", y, y, y)
        for panel, pair in values.items()
        for x, y in zip(("1", "2"), pair, strict=True)
    ]
    return Drawing(figure, tuple(points), ("1", "2"), ("LRU",), tuple(values), percent=False)


def verdict(name: str, where: str, *cases: Case, says: str = "holds") -> Verdict:
    claim = replace(paper("sac").claims[0], id=name, where=where)
    return Verdict(claim, Judgement(says, cases, ("surrogate",)))


def test_panels_of_a_row_share_a_scale_and_small_ones_have_rows_of_their_own() -> None:
    values = {"a": (1.0, 9.0), "b": (5.0, 100.0), "c": (20.0, 90.0), "x (ours)": (1.0, 99.0)}
    bars = drawn(values, replace(FIGURE, mark="bar"))
    rows = rows_of(bars)
    assert [row.panels for row in rows] == [("a",), ("b", "c"), ("x (ours)",)]
    assert [row.domain[0] for row in rows] == [0.0] * 3
    assert [round(row.domain[1]) for row in rows] == [10, 106, 105]
    nine = drawn({str(k): (1.0, 2.0) for k in range(9)}, replace(FIGURE, mark="bar"))
    assert [len(row.panels) for row in rows_of(nine)] == [3, 3, 3]


def test_an_axis_begins_at_zero_or_says_that_it_does_not() -> None:
    word = "(does not begin at zero)"
    near = replace(drawn({"a": (0.90, 0.95)}), percent=True)
    assert rows_of(near)[0].cut
    assert word in svg(near, sums(near, ()))
    assert not rows_of(replace(near, figure=replace(FIGURE, mark="bar")))[0].cut
    far = drawn({"a": (1.0, 95.0), "b": (2.0, 50.0)})
    text = svg(far, sums(far, ()))
    assert word not in text
    assert "The panels of a row share their scale." in text
    below = drawn({"a": (-3.0, 4.0)}, replace(FIGURE, mark="bar"))
    low, high = rows_of(below)[0].domain
    assert low < -3 < 0 < 4 < high


def test_no_two_series_look_alike() -> None:
    looks = _looks(["LRU", *(f"p{k}" for k in range(11))], {})
    assert len({(look.dash and tuple(look.dash), look.marker) for look in looks}) == 12
    first, second = looks[:2]
    assert (first.marker, first.dash, first.color) != (second.marker, second.dash, second.color)
    assert first.marker != second.marker
    assert first.dash != second.dash


def test_a_policy_has_one_colour_in_all_figures_whatever_its_label() -> None:
    names = names_of(paper("bpac"))
    assert (names["CLC"], names["CLC 0.1"], names["BPLRU"]) == ("clc", "clc", "bplru")
    every = dict(zip(names, _looks(list(names), names), strict=True))
    (alone,) = _looks(["BPAC"], names)
    assert alone.color == every["BPAC"].color
    assert every["CLC 0"].color == every["CLC 0.9"].color != every["BPAC"].color


def test_titles_stay_within_their_panels() -> None:
    long = "a load with a very long name that would run into the next panel if it were not broken"
    one = drawn({long: (1.0, 2.0), "b": (1.0, 2.0)})
    cases = [Case(f"{long} 1", "met", None, ">0"), Case(f"{long} 2", "not met", None, ">0")]
    text = svg(one, sums(one, [verdict("c", "figure 7", *cases)]))
    assert "partly: 1 of 2 cases" in text
    shown = [
        line for line in re.findall(r">([^<>]+)</t", text) if "load" in line or "next panel" in line
    ]
    assert shown
    assert all(len(line) < 45 for line in shown), shown


def test_claims_go_with_the_figures_that_they_name() -> None:
    for where, number, named in (
        ("figures 7 and 9", 9, True),
        ("section 5, figure 7 (a)", 7, True),
        ("figures 8 to 10", 9, True),
        ("figures 8 and 10", 9, False),
        ("table 7", 7, False),
        ("section 7", 7, False),
    ):
        assert names("figure", number, where) is named, where
    one = drawn({"a": (1.0, 2.0), "ab": (1.0, 2.0)})
    met, not_met = Case("a 4MiB", "met", None, ">0"), Case("ab 4MiB", "not met", None, ">0")
    found = sums(
        one,
        [
            verdict("one", "figures 7 and 9", met, not_met, says="partly"),
            verdict("other", "figure 8", met),
            verdict("part", "figure 7 (b)", met),
        ],
    )
    assert [v.claim.id for v in found.verdicts] == ["one", "part"]
    assert found.told == "2 claims: 1 holds, 1 holds partly"
    assert {k: (p.met, p.cases, p.verdict) for k, p in found.panels.items()} == {
        "a": (2, 2, "holds"),
        "ab": (0, 1, "does not hold"),
    }
    lettered = replace(one, figure=replace(FIGURE, where="figure 7 (a)"))
    assert [v.claim.id for v in sums(lettered, found.verdicts).verdicts] == ["one"]


def test_the_papers_numbers_stand_beside_ours() -> None:
    one = drawn({"a": (1.0, 2.0)})
    case = Case("a", "in part", Estimate(0.2, 0.1, 0.3, 3), "~0.4")
    bound = Case("a", "met", Estimate(0.2, 0.1, 0.3, 3), ">0")
    found = sums(one, [verdict("c", "figure 7", case, bound)])
    (printed,) = found.printed
    assert (printed.paper, printed.mean, printed.status) == (0.4, 0.2, "in part")
    text = svg(one, found)
    assert "Ours over the paper" in text
    assert printed.label in text.replace("&#39;", "'")
    # No id of a claim, and whose mark is which.
    assert ">c, a" not in text
    assert "All marks are our runs." in text


def numbers_of(policy: str, form: str, to: str, value: str, metric: str) -> Claim:
    """A claim with a number of the paper about one policy against another."""
    expected = Expectation.parse(value)
    assert expected is not None
    claim = next(c for c in paper("ecr").claims if c.check.kind == "compare" and c.check.to)
    check = replace(
        claim.check,
        runs=("real",),
        metric=metric,
        of=(policy,),
        to=(to,) if to else (),
        form=form,
        over="each",
        by=None,
        at=None,
        skip=None,
        when=(),
        base=None,
        expect={"": expected},
    )
    return replace(claim, id="n", where="figure 6", check=check)


@pytest.mark.parametrize(
    ("relative", "form", "value", "shown"),
    [
        ("LRU", "reduction", "~0.25", 0.75),
        ("LRU", "gain", "~0.25", 1.25),
        (None, "reduction", "~0.25", 0.003),  # ms: three quarters of LRU's 4 us
        (None, "value", "~2000", 0.002),
        ("CFLRU", "reduction", "~0.25", None),
        ("LRU", "value", "~2000", None),
        ("LRU", "reduction", "~0.2..0.4", None),
    ],
)
def test_a_number_of_the_paper_is_put_where_the_figure_would_show_it(
    relative: str | None, form: str, value: str, shown: float | None
) -> None:
    whole = paper("ecr")
    figure = next(f for f in whole.figures if f.id == "fig6")
    figure = replace(figure, relative=relative, unit="ms" if relative is None else "")
    rows = tuple(
        Row("hm_0", "d", "own", "16MiB", policy, None, "surrogate", {"response_ns_mean": y})
        for policy, y in (("LRU", 4000.0), ("CFLRU", 3000.0), ("ECR", 2000.0))
    )
    runs = next(r for r in whole.runs if r.id == "real")
    claim = numbers_of("ECR", form, "LRU", value, "response_ns_mean")
    one = replace(whole, claims=(claim,))
    found = drawing(figure, Rows(runs, rows, (), {}), one)
    by_series = {p.series: p.printed for p in found.points}
    assert by_series.pop("ECR") == (None if shown is None else pytest.approx(shown))
    assert set(by_series.values()) == {None}
    assert ("Hollow diamond" in svg(found, sums(found, ()))) is (shown is not None)
    frames = {"real": Rows(runs, rows, (), {})}
    assert decide(claim, frames).verdict


def test_a_figure_takes_the_colours_of_its_page() -> None:
    one = drawn({"a": (1.0, 2.0), "b": (1.0, 2.0)})
    found = sums(one, [verdict("c", "figure 7", Case("a 1", "met", None, ">0"))])
    text = inline(svg(one, found))
    assert not re.findall(r'"(?:#[0-9a-f]{6}|white)"', text)
    assert "var(--page)" in text
    assert svg(one, found) == svg(one, found)


def test_bars_that_would_leave_the_others_flat_are_cut_off_with_their_number_on_them() -> None:
    loads = ("1", "2", "3")
    heights = {"LRU": 1.0, "GCaR-LRU": 0.8, "BPLRU": 87.6}
    points = [Point("", x, s, y, y, y) for x in loads for s, y in heights.items()]
    bars = Drawing(
        replace(FIGURE, mark="bar", panels=""), tuple(points), loads, tuple(heights), ("",), False
    )
    (row,) = rows_of(bars)
    assert row.most is not None
    assert 1.0 < row.most < row.domain[1] < 2.0
    text = svg(bars, sums(bars, ()))
    assert text.count(">87.6</text>") == 3
    assert "A bar under a number is cut off: it is that high." in text
    # A number of the paper beyond it, or alone up there, is drawn where it belongs.
    for told in (replace(points[2], printed=70.0), replace(points[0], y=1.0, printed=9.0)):
        others = [p for p in points if p.series != "BPLRU" or told.series == "BPLRU"]
        kept = replace(bars, points=(*others, told))
        (row,) = rows_of(kept)
        assert row.most is None
        assert row.domain[1] > 9.0
    # Nothing is cut where high bars are the rule, or where lines are drawn.
    assert highest_of_the_others([1.0, 50.0, 60.0]) is None
    assert highest_of_the_others([1.0, 1.2, 2.9]) is None
    assert highest_of_the_others([-1.0, 1.0, 1.0, 90.0]) is None
    assert highest_of_the_others([0.0, 0.0, 0.0, 90.0]) is None
    assert rows_of(replace(bars, figure=FIGURE))[0].most is None


def document_of(name: str) -> dict[str, Any]:
    """What an index takes of a paper's document."""
    claims = [
        {"id": f"{name}-1", "claim": "A < B & C.", "headline": True, "verdict": "holds"}
        | {"measured": "3 %", "elsewhere": None, "cases_met": 1, "cases_all": 1}
        | {"brief": "A < B & C"},
        {"id": f"{name}-2", "claim": "Not shown.", "headline": False, "verdict": "partly"},
    ]
    counts = {"holds": 1, "partly": 1, "does not hold": 0, "can't be tested here": 0}
    told = {"name": name, "title": f"The paper {name}", "idea": "Asks.", "main": {"": f"{name}-1"}}
    return {
        "paper": told,
        "claims": claims,
        "summary": counts,
        "command": f"destage reproduce {name}",
        "version": "1.2.3",
        "options": {"scale": 1.0, "seeds": 3},
        "loads": [{"name": "T1", "kind": "specified", "fit": []}],
        "sensitivity": {"knobs": []},
    }


def test_the_papers_have_an_index_that_leads_to_their_pages(tmp_path: Path) -> None:
    readme, page = write_index([document_of("acr"), document_of("gcar")], True, tmp_path)
    # Sizes are said of each paper: `all requests` would hide workloads shorter than published.
    (command,) = (row for row in readme.read_text().splitlines() if row.startswith("* ACR:"))
    assert command.endswith(" 1 workloads as the paper specifies them; 3 seeds.")
    assert "all requests" not in command
    assert {p.name for p in tmp_path.iterdir()} == {"README.md", "index.html"}
    text = page.read_text(encoding="utf-8")
    for name, short in (("acr", "ACR"), ("gcar", "GCaR")):
        assert text.count(f'href="{name}.html"') >= 2
        assert f'href="{name}.html#{name}-1"' in text
        assert f"[{short}]({name}.md)" in readme.read_text(encoding="utf-8")
    assert 'href="beyond.html"' in text
    assert "A &lt; B &amp; C." in text
    assert "Not shown" not in text
    assert "Not tested: the paper specifies its workloads." in text
    assert "http:" not in text
    assert "https:" not in text
    alone = write_index([document_of("acr")], False, tmp_path)[1].read_text(encoding="utf-8")
    assert "beyond" not in alone


def test_a_narrow_page_says_that_its_figures_go_on_sideways() -> None:
    css = str(style())
    narrow = css[css.index("@media (max-width: 700px)") :]
    assert "the figure goes on to the right: scroll" in narrow
    # That is where a figure is wider than its place.
    assert "min-width: 620px" in css
