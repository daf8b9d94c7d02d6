"""The pages of re-run papers from made-up results: conditions, first screen, sizes of cells."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from destage.reproduce import paper
from destage.reproduce.claims import PAPERS
from destage.reproduce.conditions import turns, verdict_text
from destage.reproduce.first_screen import MOST_WORDS, cut, first_screen, scaled_note
from destage.reproduce.verdicts import verdict_of
from destage.reproduce.wording import brief

pytest.importorskip("jinja2")

from destage.reproduce.index_page import index_row
from destage.reproduce.pages import json_lines, markdown_table, sensitivity_lead, write_behind

HOLDS, PARTLY, SLIGHT, OPEN, FAILS = (
    "holds",
    "partly",
    "right order, lead under 1 %",
    "undecided",
    "does not hold",
)


def result(verdict: str, met: int = 3, of: int = 3, measured: str = "3 % to 9 %") -> dict[str, Any]:
    return {"verdict": verdict, "cases_met": met, "cases_all": of, "measured": measured}


def claim(name: str, verdict: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "where": "figure 1",
        "claim": f"{name} is faster.",
        "brief": f"{name} is faster",
        "headline": True,
        "restates": False,
        "expected": "above 0",
        "paper": "",
        "which": "",
        "elsewhere": None,
        "statuses": {},
        **result(verdict, 6, 6, "19.6 % to 47.5 % (95 % interval at most ±0.25 %, 3 seeds)"),
        **more,
    }


def knob(name: str, base: str, values: dict[str, str], claims: str = "A") -> dict[str, Any]:
    found = {label: result(verdict) for label, verdict in values.items()}
    return {
        "knob": name,
        "about": "",
        "base": base,
        "phrase": "bursts of {}" if name == "bursts" else f"{name} {{}}",
        "claims": [{"id": c, "only_under": None, "values": found} for c in claims],
    }


def document(claims: list[dict[str, Any]], knobs: list[dict[str, Any]]) -> dict[str, Any]:
    words = [HOLDS, PARTLY, SLIGHT, OPEN, FAILS, "can't be tested here"]
    return {
        "paper": {
            "question": "Is A faster? Yes or no.",
            "main": {"": "A"},
            "idea": "Asks the device.",
        },
        "claims": claims,
        "summary": {w: sum(c["verdict"] == w for c in claims) for w in words},
        "summary_elsewhere": {HOLDS: 1, FAILS: 16},
        "restates": 0,
        "options": {"seeds": 3, "scale": 1.0},
        "loads": [
            {"name": "long", "kind": "surrogate", "fit": [fit(1_000_000, 45_746_222)]},
            {"name": "whole", "kind": "surrogate", "fit": [fit(990, 1000)]},
            {"name": "minutes", "kind": "surrogate", "fit": [fit(1428, 86_400, "length (s)")]},
            {"name": "pgtpcb", "kind": "recording", "fit": []},
        ],
        "sensitivity": {"knobs": knobs},
    }


def fit(has: float, published: float, what: str = "requests") -> dict[str, Any]:
    return {"what": what, "has": has, "published": published, "aimed_at": None}


BURSTS = knob("bursts", "54", {"54": HOLDS, "8": PARTLY, "1": FAILS})


def test_every_scaled_table_says_so_and_how_many_verdicts_that_costs() -> None:
    assert scaled_note(1.0) == ""
    assert scaled_note(0.1).startswith("Scaled to 0.1 of the requests, with pages, caches, devices")
    assert "1 claim has no verdict" in scaled_note(0.1, 1)
    assert "2 claims have no verdict" in scaled_note(0.1, 2)


# -- Conditions ------------------------------------------------------------------------------------


def test_an_assumption_that_turns_a_verdict_is_part_of_it() -> None:
    data = document([claim("A", HOLDS)], [BURSTS])
    expected = "holds with bursts of 54, partly with bursts of 8, not with bursts of 1"
    assert verdict_text(data["claims"][0], data["sensitivity"]) == expected
    turned = knob("rate", "1", {"1": FAILS, "16": HOLDS})
    fails = document([claim("A", FAILS)], [turned])
    text = verdict_text(fails["claims"][0], fails["sensitivity"])
    assert text == "does not hold with rate 1, holds with rate 16"


def test_values_of_one_verdict_stand_together_and_other_knobs_are_named() -> None:
    rates = knob("rate", "1", {"1": HOLDS, "4": FAILS, "16": FAILS})
    data = document([claim("A", HOLDS)], [rates, BURSTS])
    text = verdict_text(data["claims"][0], data["sensitivity"])
    assert text == "holds with rate 1, not with rate 4 or rate 16; also depends on bursts"


@pytest.mark.parametrize(
    ("main", "values"),
    [
        (HOLDS, {"54": HOLDS, "8": HOLDS}),
        (HOLDS, {"54": HOLDS, "8": OPEN}),
        (HOLDS, {"54": HOLDS, "8": "can't be tested here"}),
        # Fewer workloads changed it, not the knob.
        (HOLDS, {"54": PARTLY, "8": FAILS}),
        # Neither holds.
        (PARTLY, {"54": PARTLY, "8": FAILS}),
        (OPEN, {"54": OPEN, "8": HOLDS}),
    ],
)
def test_what_does_not_turn_a_verdict_is_no_condition(main: str, values: dict[str, str]) -> None:
    data = document([claim("A", main)], [knob("bursts", "54", values)])
    assert list(turns(data["claims"][0], data["sensitivity"])) == []
    assert verdict_text(data["claims"][0], data["sensitivity"]) == main


# -- Verdicts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statuses", "need", "verdict"),
    [
        ("m m m", 1.0, HOLDS),
        ("m m u", 1.0, OPEN),
        ("u u u", 1.0, OPEN),
        ("u s", 1.0, OPEN),
        ("s s s", 1.0, SLIGHT),
        ("m s s", 1.0, SLIGHT),
        # Half are met: that is more than an order.
        ("m m s", 1.0, PARTLY),
        ("u u n", 1.0, FAILS),
        ("m s n", 1.0, FAILS),
        ("m m n", 1.0, PARTLY),
        ("n n n", 1.0, FAILS),
        ("m u n n", 0.4, OPEN),
        ("m u n n", 0.5, FAILS),
        ("m s n n", 0.4, SLIGHT),
    ],
)
def test_no_verdict_without_power_and_a_small_lead_is_named(
    statuses: str, need: float, verdict: str
) -> None:
    words = {"m": "met", "u": "undecided", "s": "too small", "n": "not met"}
    assert verdict_of([words[s] for s in statuses.split()], need) == verdict


# -- The first screen ------------------------------------------------------------------------------


def test_the_verdict_of_a_page_has_claim_condition_and_numbers() -> None:
    screen = first_screen(document([claim("A", HOLDS), claim("B", FAILS)], [BURSTS]))
    assert screen["question"] == "Is A faster?"
    assert screen["claim"] == "A is faster"
    assert screen["verdict"].startswith(
        "Holds in 6 of 6 cases (20 to 48 %). With bursts of 8: partly (3 of 3);"
        " with bursts of 1: does not hold (3 of 3). Surrogates are shorter: long 1,000,000 of"
    )
    assert screen["counts"].startswith("Of 2 headline claims 1 holds, 1 does not hold;")
    assert screen["elsewhere"] == "Of 17 claims on pgtpcb 1 holds, 16 do not hold."
    (condition,) = screen["conditions"]
    assert condition["sides"][2] == "does not hold with bursts of 1 (3 of 3, 3 % to 9 %)"


def test_the_papers_numbers_stand_where_a_relation_is_checked() -> None:
    data = document([claim("A", HOLDS, paper="26 % to 60 %"), claim("B", HOLDS)], [])
    assert [row[1] for row in first_screen(data)["headlines"]] == ["26 % to 60 %", "above 0"]


def test_a_page_names_the_workloads_that_are_shorter_than_published_and_missed_aims() -> None:
    data = document([claim("A", HOLDS)], [])
    data["loads"][0]["fit"] += [
        fit(0.4, 0.64, "sequential share") | {"published": None, "aimed_at": 0.64},
        fit(0.6, 0.64, "skew (Zipf)") | {"published": None, "aimed_at": 0.64},
    ]
    screen = first_screen(data)
    assert screen["workloads"] == (
        "3 surrogate traces; 3 seeds."
        " Surrogates miss their own aim in sequential share (long 0.4 for 0.64)"
    )
    assert screen["verdict"].endswith(
        " Surrogates are shorter: long 1,000,000 of 45,746,222 requests, minutes 1,428 of 86,400 s."
    )


def test_an_assumption_that_turns_several_headlines_is_told_once() -> None:
    both = knob("bursts", "54", {"54": HOLDS, "8": FAILS}, "AB")
    screen = first_screen(document([claim("B", HOLDS), claim("A", HOLDS)], [both]))
    (condition,) = screen["conditions"]
    assert condition["claim"] == "A is faster"
    assert condition["more"] == "One more claim changes with it."


def test_the_sensitivity_page_names_its_subset() -> None:
    data = document([claim("A", HOLDS)], [BURSTS])
    data["sensitivity"] |= {"scale": 1.0, "specified_share": 0.1, "seeds": 3, "loads": ["F2"]}
    lead = sensitivity_lead(data)
    assert "3 seeds, all requests of surrogate traces on F2, without independent traces" in lead
    data["loads"].append({"name": "T1", "kind": "specified", "fit": []})
    data["sensitivity"] |= {"scale": 0.1, "specified_share": 1.0, "loads": []}
    lead = sensitivity_lead(data)
    assert "0.1 of the requests of surrogate traces, all requests of specified workloads, " in lead


def test_the_table_of_papers_has_both_verdicts_in_a_sentence_each() -> None:
    two = {"against B": "A", "against C": "C"}
    order = {"measured": "lead over the next best: -20.4 % to 5.73 % (95 % interval at most ±1 %)"}
    other = claim("C", FAILS, elsewhere=result(PARTLY, 2, 3), **order)
    data = document([claim("A", HOLDS), other], [BURSTS])
    data["paper"] |= {"main": two, "abstract": "A is faster than B and C"}
    row = index_row(data)
    assert row[:2] == ["Asks the device", "A is faster than B and C"]
    assert row[2].startswith(
        "Holds partly: against B in 6 of 6 cases (20 to 48 %), against C in 6 of 6 cases"
        " (lead over the next best: -20 to +6 %). With bursts of 8: partly (3 of 3);"
    )
    assert row[2].endswith("minutes 1,428 of 86,400 s.")
    assert row[3] == (
        "Holds partly: against C in 2 of 3 cases (3 to 9 %)."
        " Of 17 claims on pgtpcb 1 holds, 16 do not hold."
    )
    data["loads"] = []
    assert index_row(data)[3] == "Not tested: the paper specifies its workloads."


def test_the_paper_exact_configuration_leads_where_there_is_one() -> None:
    exact = claim("A", FAILS, faithful=result(HOLDS))
    sentence = index_row(document([exact], []))[2]
    assert sentence.startswith(
        "Holds in the paper-exact configuration: in 3 of 3 cases (3 to 9 %)."
    )


def test_a_long_cell_is_cut_to_its_words() -> None:
    words = " ".join(map(str, range(40)))
    assert len(cut(words).split()) == MOST_WORDS
    assert cut(words).endswith("23 ...")
    assert cut("a b") == "a b"
    ten = document([claim(f"c{k}", HOLDS, brief=words) for k in range(12)], [])
    ten["paper"]["main"] = {"": "c0"}
    rows = first_screen(ten)["headlines"]
    assert len(rows) == 10
    assert all(len(cell.split()) <= MOST_WORDS for row in rows for cell in row)


def test_a_claim_in_brief_has_no_operational_definition() -> None:
    assert brief("A is fast (read as: 10 % (or so) below B).") == "A is fast"
    assert brief("A wins on most (heavy is read as: busy).") == "A wins on most"
    for name in PAPERS:
        for one in paper(name).claims:
            assert "read as:" not in brief(one.says), (name, one.id)
            assert not one.headline or len(brief(one.says).split()) <= MOST_WORDS, one.id


def test_every_paper_names_its_main_claim_and_figure() -> None:
    for name in PAPERS:
        head = paper(name).head
        assert head.abstract, name
        assert all(paper(name).claim(main).headline for main in head.main.values()), name
        assert head.figure in [f.id for f in paper(name).figures], name
        assert head.idea, name
        assert head.minutes > 0, name
        for one in paper(name).sensitivity:
            assert one.base, (name, one.knob)


def test_the_published_pages_are_short() -> None:
    pages = sorted((ROOT / "docs" / "papers").glob("*.md"))
    assert len(pages) == len(PAPERS) + 3
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if page.stem in PAPERS:
            assert len(text.split()) <= 1000, page.name
            assert text.count("\n|") <= 12, page.name
        for line in text.splitlines():
            if line.startswith("|") and page.stem != "README":
                cells = re.split(r"(?<!\\)\|", line)
                longest = max(cells, key=lambda cell: len(cell.split()))
                assert len(longest.split()) <= MOST_WORDS, f"{page.name}: {longest}"
    assert not list((ROOT / "docs" / "papers").glob("*/*.md")), "they are made from the JSON"


def test_the_pages_behind_a_screen_come_from_its_json(tmp_path: Path) -> None:
    for name in PAPERS:
        data = json.loads((ROOT / "docs" / "papers" / f"{name}.json").read_text(encoding="utf-8"))
        pages = {p.name: p.read_text(encoding="utf-8") for p in write_behind(data, tmp_path)}
        assert set(pages) == {"claims.md", "figures.md", "setup.md", "sensitivity.md"}
        assert all(one["id"] in pages["claims.md"] for one in data["claims"])
        for figure in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", pages["figures.md"]):
            assert (ROOT / "docs" / "papers" / name / figure).is_file(), figure
        assert pages["sensitivity.md"].count("\n## ") == len(data["sensitivity"]["knobs"])


def test_the_json_of_a_page_has_a_line_for_each_claim() -> None:
    text = json_lines({"a": 1, "claims": [{"id": "x"}, {"id": "y"}], "none": []})
    assert text.count("\n") == 8
    assert '  {"id": "x"},' in text
    assert markdown_table([["a"], ["b|c"]]).endswith("| b\\|c |\n")
