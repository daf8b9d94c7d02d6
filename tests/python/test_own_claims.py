"""What our pages say is judged as the papers are: sentences, tables and numbers come from verdicts.

`docs/papers/destage.json` has the verdicts (`destage reproduce destage`). A small part of the runs
is made here again; `DESTAGE_WRITE_DOCS=1` writes its verdicts into `tests/data/own-claims.json`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from msgspec.structs import replace

import destage as ds
from destage.model.winners import change
from destage.reproduce import Options, document, evaluate, paper
from destage.reproduce.claims import OURS
from destage.reproduce.pages import markdown_table
from destage.reproduce.told import NUMBER, UNTOLD, section, sentence, table, untold

PAPERS = ROOT / "docs" / "papers"
#: Pages whose numbers and comparisons are claims. That beyond the papers is made from its own JSON.
PAGES = (
    *("README.md", "docs/site/index.md", "docs/asking.md", "docs/kv-on-flash.md"),
    *("docs/validity.md", "docs/curves.md"),
)
#: Of these pages, the part from this heading on; the rest has records of its own.
FROM = {"docs/validity.md": "## Published write amplification"}
#: The part that is made again, on so large a share of the trace that ships.
RUNS, SCALE = ("depths", "window"), 0.05
SMALL = ROOT / "tests" / "data" / "own-claims.json"
#: Read before the tests leave the environment of the caller.
WRITE = "DESTAGE_WRITE_DOCS" in os.environ

Data = dict[str, Any]


@pytest.fixture(scope="module")
def stored() -> Data:
    found: Data = json.loads((PAPERS / f"{OURS}.json").read_text("utf-8"))
    return found


def _plain(text: str) -> str:
    return " ".join(text.split())


def _told(stored: Data, page: str) -> tuple[list[str], list[str]]:
    """Sentences and tables that a page should have."""
    sentences = [sentence(c) for c in stored["claims"] if page in c.get("pages", ())]
    tables = [markdown_table(table(f)) for f in stored["figures"] if page in f.get("pages", ())]
    return sentences, tables


def _facts(page: str) -> list[str]:
    """Texts of a page that rest on something else than a verdict."""
    text = (ROOT / page).read_text("utf-8")
    facts = [fact for fact in paper(OURS).facts if page in fact.pages]
    return [section(text, fact.section) if fact.section else fact.text for fact in facts]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_the_sentences_and_tables_of_the_verdicts(page: str, stored: Data) -> None:
    text = _plain((ROOT / page).read_text("utf-8"))
    sentences, tables = _told(stored, page)
    for one in (*sentences, *tables):
        assert _plain(one) in text, f"{page} should read: {one}"
    assert all(_plain(fact) and _plain(fact) in text for fact in _facts(page))


@pytest.mark.parametrize("page", PAGES)
def test_every_number_and_comparison_of_a_page_is_a_claim_or_a_fact(
    page: str, stored: Data
) -> None:
    sentences, tables = _told(stored, page)
    told = [*sentences, *tables, *_facts(page)]
    text = (ROOT / page).read_text("utf-8")
    if page in FROM:
        text = text[text.index(FROM[page]) :]
    left = list(untold(text, told))
    assert not left, f"{page}: in no claim of papers/{OURS}.toml:\n" + "\n".join(left)


def test_a_number_that_is_in_no_claim_is_found() -> None:
    page = "A is 3 % faster than B.\n\n```\n7\n```\n`8` [x](y9)\n\nC has 12 ways."
    assert [one.split()[0] for one in untold(page, [])] == ["3", "12", "faster"]
    assert [one.split()[0] for one in untold(page, ["A is **3 %** faster\nthan B"])] == ["12"]
    assert not list(untold(page, ["A is 3 % faster than B", "C has 12 ways"]))


def test_facts_rest_on_files_that_are_there() -> None:
    for fact in paper(OURS).facts:
        assert set(fact.pages) <= set(PAGES), fact
        assert bool(fact.text) != bool(fact.section), fact
        assert (ROOT / fact.by).is_file(), fact


def _numbers(text: str) -> list[str]:
    for pattern in UNTOLD:
        text = pattern.sub(" ", text)
    return [found.rstrip(".,") for found in NUMBER.findall(text)]


def test_numbers_of_a_section_are_in_the_record_behind_it() -> None:
    for fact in paper(OURS).facts:
        if not fact.section:
            continue
        record = NUMBER.findall((ROOT / fact.by).read_text("utf-8"))
        known = {float(one.rstrip(".,").replace(",", "")) for one in record}
        for page in fact.pages:
            for number in _numbers(section((ROOT / page).read_text("utf-8"), fact.section)):
                value = float(number.replace(",", ""))
                half = 0.501 * 10.0 ** -len(number.partition(".")[2])
                assert any(abs(one - value) <= half for one in known), (page, number, fact.by)


def test_the_stored_verdicts_are_those_of_the_claims(stored: Data) -> None:
    claims = {c["id"]: c for c in stored["claims"]}
    assert list(claims) == [claim.id for claim in paper(OURS).claims]
    for claim in paper(OURS).claims:
        found = claims[claim.id]
        assert found["claim"] == claim.says
        assert (found.get("text", ""), found.get("pages", [])) == (claim.text, list(claim.pages))
        assert found["cases_all"] > 0, claim.id
        assert sum(found["statuses"].values()) == found["cases_all"]


def test_a_case_is_what_compare_prints() -> None:
    whole = paper(OURS)
    runs = replace(
        whole.run_set("depths"),
        devices={"depth 8": "small[mode=closed;queue_depth=8]"},
        cache=("4MiB",),
        most_requests=20_000,
    )
    part = replace(whole, runs=(runs,), claims=(whole.claim("ecr-closed"),), figures=())
    found = evaluate(part, Options(seeds=1, sensitivity=False))
    (case,) = found.verdicts[0].cases
    trace = ds.demo_trace(requests=20_000)
    policies = [part.policies[label] for label in runs.policies]
    results = ds.compare(trace, policies, cache="4MiB", device="small", queue_depth=8)
    lru, ecr = (next(run for run in results if run.label == name) for name in ("lru", "ecr"))
    assert case.measured is not None
    assert case.measured.mean == pytest.approx(1 - ecr["mean"] / lru["mean"])
    low, high = ecr.minus(lru, "response_ns_mean") or (0.0, 0.0)
    interval = sorted((-low / lru["mean"], -high / lru["mean"]))
    assert [case.measured.low, case.measured.high] == pytest.approx(interval)
    assert (case.status == "met") == (change("response_ns_mean", ecr, lru) is not None)


@pytest.fixture(scope="module")
def again() -> Data:
    """The verdicts on a part of the runs, made now."""
    whole = paper(OURS)
    claims = tuple(c for c in whole.claims if set(c.check.needed_runs) <= set(RUNS))
    runs = tuple(r for r in whole.runs if r.id in RUNS)
    part = replace(whole, runs=runs, claims=claims, figures=())
    return document(evaluate(part, Options(scale=SCALE, seeds=1, sensitivity=False)))


def test_the_verdicts_are_what_they_were(again: Data) -> None:
    keys = ("id", "verdict", "statuses", "by_axis")
    found = [{key: claim[key] for key in keys if key in claim} for claim in again["claims"]]
    for one, claim in zip(found, again["claims"], strict=True):
        one["means"] = [round(case["mean"], 9) for case in claim["cases"]]
    if WRITE:
        SMALL.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(SMALL.read_text("utf-8")), (
        "a verdict or a number of our claims changed: make `destage reproduce destage` again"
    )


def test_an_interval_decides_a_case(again: Data) -> None:
    claim = next(c for c in again["claims"] if c["id"] == "ecr-closed")
    for case in claim["cases"]:
        assert case["low"] is None or case["low"] <= case["mean"] <= case["high"]
        assert case["status"] != "met" or case["low"] > 0
        assert case["status"] != "undecided" or case["low"] is None or case["low"] <= 0
    assert {"met", "undecided"} >= set(claim["statuses"])


def test_the_page_beyond_the_papers_is_made_of_its_numbers(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    from destage.reproduce.beyond_pages import write_beyond

    data = json.loads((PAPERS / "beyond.json").read_text("utf-8"))
    for path in write_beyond(data, tmp_path):
        if path.suffix != ".html":
            there = PAPERS / path.relative_to(tmp_path)
            assert there.read_bytes() == path.read_bytes(), there.name
