"""The files of claims and their loader; test_reproduce_verdicts.py has what becomes of claims."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

import destage as ds
from destage.reproduce import PAPERS, load_paper, narrowed, paper
from destage.reproduce.claims import Check, Expectation
from destage.reproduce.measures import DERIVED
from destage.reproduce.published import catalogue
from destage.reproduce.scaling import with_keys

SMALL = """
schema = 1
[paper]
name = "small"
title = "A small paper"
cite = "Nobody, 2026"
question = "Does it load?"
differs = ["everything"]
[policies]
A = "lru"
B = "arc"
[[runs]]
id = "r"
workloads = ["w"]
policies = ["A", "B"]
cache = ["8p"]
[[figure]]
id = "f"
where = "figure 1"
title = "Hits"
runs = "r"
metric = "hit_ratio"
x = "cache"
[[claim]]
id = "c"
where = "section 1"
says = "A hits more often than B."

[claim.check]
kind = "compare"
runs = "r"
metric = "hit_ratio"
of = "A"
to = "B"
as = "gain"
expect = ">0"
"""


def loaded(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "small.toml"
    path.write_text(text)
    return load_paper(path)


def test_the_papers_load_and_have_claims_of_every_section_that_is_judged() -> None:
    for name in PAPERS:
        one = paper(name)
        assert len(one.claims) >= 25
        assert any(c.headline for c in one.claims)
        assert all(c.check.why for c in one.claims if c.check.kind == "none")
        headlines = {c.id for c in one.claims if c.headline}
        examined = {claim for knob in one.sensitivity for claim in knob.claims}
        unexamined = {
            c
            for c in headlines - examined
            # Found on readings that have no device or no knob.
            if one.claim(c).check.metric not in ("alpha",)
        }
        assert len(unexamined) <= 4, (name, unexamined)


def test_the_sentence_of_every_claim_stands_alone() -> None:
    leaning = re.compile(
        r"(\.\.\.|So |There |They |Its? |Yet |And |At best \d|By how much|The reason|Some |That )"
    )
    for name in PAPERS:
        for claim in paper(name).claims:
            assert claim.says.endswith("."), (name, claim.id)
            if claim.id not in ("fig12-merges",):  # "There are fewer merges ..."
                alone = leaning.match(claim.says)
                assert alone is None or claim.says.startswith("Some maximum"), (name, claim.id)


def bounds(check: Check) -> list[str]:
    """What is asked for beyond a mere effect, and is not a number of the paper."""
    found = []
    neutral = {"value": None, "ratio": 1.0}.get(check.form, 0.0)
    ordinals = check.kind == "rank"
    for e in (check.expect or {}).values():
        ends = [b for b in (e.low, e.high) if math.isfinite(b) and b != neutral]
        if not e.of_the_paper and not ordinals and ends:
            found += [f"{b:g}" for b in ends]
    if check.kind == "near" or (check.names == ("flat",) and check.within):
        found.append(f"{check.within:g}")
    return found


def test_every_reading_of_ours_is_marked() -> None:
    for name in PAPERS:
        for claim in paper(name).claims:
            told = [
                float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", claim.says)
            ]
            shares = told + [n / 100 for n in told] + [1.0, 0.0]
            asked = bounds(claim.check)
            open_ = [b for b in asked if not any(abs(abs(float(b)) - s) < 1e-9 for s in shares)]
            assert not open_ or "read as" in claim.says, (name, claim.id, open_)


def test_every_load_and_metric_of_the_papers_is_known() -> None:
    known = {m.name for m in ds.metrics()} | set(DERIVED)
    # Counters of block policies and FTLs, and what a result keeps of distributions.
    known |= {"alpha", "pird_thd_variation", "p_list_hits", "b_list_hits", "translation_writes"}
    known |= {"unbalance_permille", "wf_over_true", "wf_mean"}
    traces = catalogue().traces
    for name in PAPERS:
        one = paper(name)
        own = {w.name for w in one.workloads} | {w.name.rsplit(" ", 1)[0] for w in one.workloads}
        for runs in one.runs:
            assert all(w in own or w in traces for w in runs.workloads), runs.id
            assert all(r in catalogue().recordings for r in runs.recordings), runs.id
        for claim in one.claims:
            supposed = [condition.metric for condition in claim.check.when]
            for metric in (claim.check.metric, claim.check.with_, *supposed):
                assert not metric or metric in known, (name, claim.id, metric)
        for figure in one.figures:
            assert all(m in known for m in figure.metrics.values()), (name, figure.id)


def test_a_claim_names_loads_and_sizes_that_its_runs_have() -> None:
    for name in PAPERS:
        one = paper(name)
        own = {w.name for w in one.workloads}
        for claim in one.claims:
            for runs_id in claim.check.runs:
                runs = one.run_set(runs_id)
                axes = {
                    "workload": {*runs.workloads, *own},
                    "cache": set(runs.cache),
                    "device": set(runs.devices),
                    "ftl": set(runs.ftls),
                }
                for chosen in (claim.check.at or {}, claim.check.skip or {}):
                    for axis, values in chosen.items():
                        assert set(values) <= axes[axis], (name, claim.id, axis)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 2", "small.toml: schema: expected 1, found 2"),
        ('title = "A small paper"', "title = 3", "paper.title: expected a text, found 3"),
        ('A = "lru"', "A = 1", "policies.A: expected a text, found 1"),
        ('policies = ["A", "B"]', 'policies = ["A", "C"]', "runs[r].policies: there is no policy"),
        (
            'runs = "r"\nmetric',
            'runs = "q"\nmetric',
            "figure[f].runs: expected one of r, found 'q'",
        ),
        ('x = "cache"', 'x = "size"', "figure[f].x: expected one of workload"),
        ('expect = ">0"', 'expect = "more"', "claim[c].check.expect: expected a value such as >0"),
        ('of = "A"', 'off = "A"', "claim[c].check.off: there is no such key; did you mean of?"),
        ('as = "gain"', 'as = "gains"', "claim[c].check.as: expected one of value"),
        ('kind = "compare"', 'kind = "guess"', "claim[c].check.kind: expected one of compare"),
        (
            'says = "A hits',
            'sayz = "A hits',
            "claim[c].sayz: there is no such key; did you mean says?",
        ),
        ('title = "Hits"\n', "", "figure[f].title: expected a text, found nothing"),
        ('cache = ["8p"]', 'cache = ["8p"]\ncash = 1', "runs[r].cash: there is no such key"),
        ("[policies]", "[policies", "small.toml: "),
    ],
)
def test_a_wrong_key_is_an_error_with_file_and_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in SMALL
    with pytest.raises(ds.DataError) as error:
        loaded(tmp_path, SMALL.replace(old, new, 1))
    assert message in str(error.value)


def test_a_missing_file_and_an_unknown_paper_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ds.MissingFile):
        load_paper(tmp_path / "none.toml")
    with pytest.raises(ds.UsageError, match="unknown paper 'lru'"):
        paper("lru")


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        (">0", 0.001, 0.0),
        (">=0.5", 0.5, 0.49),
        ("<1", 0.99, 1.0),
        ("<=1", 1.0, 1.01),
        ("0.2..0.4", 0.2, 0.41),
        ("-0.1..0.1", -0.1, 0.11),
        ("~0.34", 0.26, 0.25),
        ("~0.34", 0.42, 0.43),
        ("2e6..1e7", 5e6, 1e6),
        (">0", math.inf, -math.inf),
        ("<=1", -math.inf, math.inf),
    ],
)
def test_an_expectation_is_met_from_its_bound_on(text: str, yes: float, no: float) -> None:
    e = Expectation.parse(text)
    assert e is not None
    assert e.met(yes)
    assert not e.met(no)


def test_what_is_no_expectation_is_none() -> None:
    assert all(Expectation.parse(t) is None for t in ("", "0.3", "much", "1..0", "~", ">x"))


def test_keys_are_added_to_the_name_of_a_drive() -> None:
    assert with_keys("ecr", None) == "ecr"
    assert with_keys("ecr", "a=1") == "ecr[a=1]"
    assert with_keys("ecr[b=2]", "a=1") == "ecr[b=2;a=1]"
    assert with_keys("ecr[b=2;c=3]", "b=1;a=1") == "ecr[b=1;c=3;a=1]"


def test_a_figure_alone_brings_its_claims_and_runs() -> None:
    one = narrowed(paper("ecr"), figures=[12])
    assert [f.id for f in one.figures] == ["fig12"]
    assert {c.id[:5] for c in one.claims} == {"fig12"}
    assert {r.id for r in one.runs} == {"background", "background-light"}
    table = narrowed(paper("ecr"), tables=[4])
    assert {c.id for c in table.claims} >= {"table4-wait", "table4-response"}
    with pytest.raises(ds.UsageError, match="ecr has no figure 99"):
        narrowed(paper("ecr"), figures=[99])
    # Figure 7 is also one of "figures 7 and 9" and in "figures 8 to 10".
    assert any(c.id == "fig9-inverse" for c in narrowed(paper("bpac"), figures=[7]).claims)
    assert any(c.id == "fig9-padding-pays" for c in narrowed(paper("aalru"), figures=[9]).claims)
