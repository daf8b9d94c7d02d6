"""The files of claims, their loader, and what becomes of a claim in front of made-up numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import destage as ds
from destage.reproduce import PAPERS, load_paper, narrowed, paper
from destage.reproduce.claims import Check, Claim, Expectation, RunSet
from destage.reproduce.experiments import Row, Rows, with_keys
from destage.reproduce.frame import Frame
from destage.reproduce.measures import DERIVED
from destage.reproduce.published import catalogue
from destage.reproduce.statistics import estimate, spearman
from destage.reproduce.verdicts import Verdict, decide
from destage.reproduce.words import cases_in_words

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


def test_the_five_papers_load_and_have_claims_of_every_section_that_is_judged() -> None:
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
            # Found on readings that have no drive or no knob.
            if one.claim(c).check.metric not in ("alpha",)
        }
        assert len(unexamined) <= 4, (name, unexamined)


def test_every_load_and_metric_of_the_papers_is_known() -> None:
    known = {m.name for m in ds.metrics()} | set(DERIVED)
    # Counters of block policies and FTLs, and what a result keeps of distributions.
    known |= {"alpha", "pird_thd_variation", "p_list_hits", "b_list_hits", "translation_writes"}
    known |= {"unbalance_permille"}
    traces = catalogue().traces
    for name in PAPERS:
        one = paper(name)
        own = {w.name for w in one.workloads} | {w.name.rsplit(" ", 1)[0] for w in one.workloads}
        for runs in one.runs:
            assert all(w in own or w in traces for w in runs.workloads), runs.id
            assert all(r in catalogue().recordings for r in runs.recordings), runs.id
        for claim in one.claims:
            for metric in (claim.check.metric, claim.check.with_):
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
        ('A = "lru"', "A = 1", "policies: expected a table of texts"),
        ('policies = ["A", "B"]', 'policies = ["A", "C"]', "runs[r].policies: there is no policy"),
        (
            'runs = "r"\nmetric',
            'runs = "q"\nmetric',
            "figure[f].runs: expected one of r, found 'q'",
        ),
        ('x = "cache"', 'x = "size"', "figure[f].x: expected one of workload"),
        ('expect = ">0"', 'expect = "more"', "claim[c].check.expect: expected such as >0"),
        ('of = "A"', 'off = "A"', "claim[c].check.off: there is no such key; did you mean of?"),
        ('as = "gain"', 'as = "gains"', "claim[c].check.as: expected one of value"),
        ('kind = "compare"', 'kind = "guess"', "claim[c].check.kind: expected one of compare"),
        ('says = "A hits', 'sayz = "A hits', "claim[c].says: expected a text, found nothing"),
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
    ],
)
def test_an_expectation_is_met_from_its_bound_on(text: str, yes: float, no: float) -> None:
    e = Expectation.parse(text)
    assert e is not None
    assert e.met(yes)
    assert not e.met(no)


def test_what_is_no_expectation_is_none() -> None:
    assert all(Expectation.parse(t) is None for t in ("", "0.3", "much", "1..0", "~", ">x"))


# -- Verdicts -------------------------------------------------------------------------------------

Cells = Mapping[tuple[str, str], list[float]]


def verdict(
    check: Check,
    cells: Cells,
    kind: str = "specified",
    metric: str = "m",
    kinds: Mapping[str, str] | None = None,
) -> Verdict:
    """Decide over cells given by load or size and policy; a value for each seed."""
    of = kinds or {}
    loads = tuple(dict.fromkeys(place for place, _ in cells))
    policies = tuple(dict.fromkeys(policy for _, policy in cells))
    rows = [
        Row(
            place,
            "d",
            "own",
            "8p",
            policy,
            seed,
            of.get(place, kind),
            {metric: value, "other": -value},
        )
        for (place, policy), values in cells.items()
        for seed, value in enumerate(values)
    ]
    runs = RunSet("r", loads, policies, ("8p",), {"d": "small"}, {})
    frame = Frame(Rows(runs, tuple(rows), (), {}))
    return decide(Claim("c", "section 1", "", check), {"r": frame})


def compared(expect: str, **more: Any) -> Check:
    e = Expectation.parse(expect)
    assert e is not None
    return Check(
        "compare",
        ("r",),
        metric="m",
        of=("A",),
        to=("B",),
        form="reduction",
        expect={"": e},
        **more,
    )


def test_a_relation_holds_if_every_case_meets_it_and_partly_if_some_do() -> None:
    lower = {("w", "A"): [1.0], ("w", "B"): [2.0]}
    higher = {("v", "A"): [3.0], ("v", "B"): [2.0]}
    assert verdict(compared(">0"), lower).verdict == "holds"
    assert verdict(compared(">0"), higher).verdict == "does not hold"
    mixed = verdict(compared(">0"), {**lower, **higher})
    assert mixed.verdict == "partly"
    assert [c.status for c in mixed.cases] == ["met", "not met"]


def test_a_verdict_says_on_what_kind_of_load_a_claim_holds() -> None:
    cells = {
        ("w", "A"): [1.0],
        ("w", "B"): [2.0],
        ("v", "A"): [3.0],
        ("v", "B"): [2.0],
    }
    kinds = {"w": "stand-in", "v": "recording"}
    order = Check("order", ("r",), metric="m", order=(("A",), ("B",)), sense="lower")
    near = Check("near", ("r",), metric="m", of=("A",), among=("A", "B"), sense="lower")
    for check in (compared(">0"), order, near):
        words = cases_in_words(verdict(check, cells, kinds=kinds))
        assert words.startswith("1 of 2 (1 of 1 on stand-ins, 0 of 1 on recordings of ours)")
    assert "stand-ins" not in cases_in_words(verdict(compared(">0"), cells))


def test_most_cases_are_enough_where_the_claim_says_most() -> None:
    cells: dict[tuple[str, str], list[float]] = {}
    for k, a in enumerate((1.0, 1.0, 3.0)):
        cells |= {(f"w{k}", "A"): [a], (f"w{k}", "B"): [2.0]}
    assert verdict(compared(">0", need=0.5), cells).verdict == "holds"
    assert verdict(compared(">0", need=0.7), cells).verdict == "partly"


def test_chance_is_not_taken_for_a_relation() -> None:
    # Lower on average, but not beyond the interval of three seeds.
    noisy = {("w", "A"): [1.0, 2.6, 1.6], ("w", "B"): [2.0, 2.0, 2.0]}
    found = verdict(compared(">0"), noisy)
    assert found.verdict == "does not hold"
    assert found.cases[0].status == "undecided"
    clear = {("w", "A"): [1.0, 1.1, 1.2], ("w", "B"): [2.0, 2.0, 2.0]}
    assert verdict(compared(">0"), clear).verdict == "holds"


def test_half_to_twice_the_papers_amount_is_partly() -> None:
    half = {("w", "A"): [1.4], ("w", "B"): [2.0]}  # 0.3 lower
    assert verdict(compared("~0.5"), half).verdict == "partly"
    assert verdict(compared("0.4..0.6"), half).verdict == "partly"
    assert verdict(compared(">0.4"), half).verdict == "partly"
    assert verdict(compared("~0.16"), half).verdict == "partly"
    assert verdict(compared("~0.1"), half).verdict == "does not hold"
    less = {("w", "A"): [1.9], ("w", "B"): [2.0]}
    assert verdict(compared("~0.5"), less).verdict == "does not hold"
    assert verdict(compared("0.25..0.6"), less).verdict == "does not hold"
    more = {("w", "A"): [2.1], ("w", "B"): [2.0]}
    assert verdict(compared("~0.5"), more).verdict == "does not hold"
    right = {("w", "A"): [1.0], ("w", "B"): [2.0]}
    assert verdict(compared("~0.5"), right).verdict == "holds"


@pytest.mark.parametrize(
    ("good", "need", "expected"),
    [(1, 1.0, "does not hold"), (2, 1.0, "partly"), (4, 0.5, "does not hold"), (5, 0.5, "partly")],
)
def test_a_few_cases_among_many_are_no_part(good: int, need: float, expected: str) -> None:
    cells: dict[tuple[str, str], list[float]] = {}
    for k in range(20):
        cells |= {(f"w{k}", "A"): [1.0 if k < good else 3.0], (f"w{k}", "B"): [2.0]}
    assert verdict(compared(">0", need=need), cells).verdict == expected


def test_mean_and_maximum_are_one_case_over_all_loads() -> None:
    cells = {("v", "A"): [1.0], ("v", "B"): [2.0], ("w", "A"): [2.0], ("w", "B"): [2.0]}
    mean = verdict(compared("~0.25", over="mean"), cells)
    assert len(mean.cases) == 1
    assert mean.verdict == "holds"
    assert verdict(compared("~0.5", over="max"), cells).verdict == "holds"
    assert verdict(compared(">0.1", over="min"), cells).verdict == "does not hold"


def test_an_order_needs_every_pair_of_neighbours() -> None:
    order = Check("order", ("r",), metric="m", order=(("A",), ("B", "C")), sense="lower")
    good = {("w", "A"): [1.0], ("w", "B"): [2.0], ("w", "C"): [3.0]}
    assert verdict(order, good).verdict == "holds"
    part = verdict(order, {**good, ("w", "C"): [0.5]})
    assert part.verdict == "partly"
    assert "A is not lower than C" in part.cases[0].note
    # Right here and wrong there is no part that holds.
    other = {("v", "A"): [1.0], ("v", "B"): [0.5], ("v", "C"): [3.0]}
    assert verdict(order, {**good, ("w", "C"): [0.5], **other}).verdict == "does not hold"
    bad = {**good, ("w", "A"): [9.0]}
    assert verdict(order, bad).verdict == "does not hold"
    up = Check("order", ("r",), metric="m", order=(("A",), ("B", "C")), sense="higher")
    assert verdict(up, bad).verdict == "holds"


@pytest.mark.parametrize(
    ("values", "rises", "falls", "flat"),
    [
        ([1, 2, 3, 4], "holds", "does not hold", "does not hold"),
        ([4, 3, 2, 1], "does not hold", "holds", "does not hold"),
        ([1, 3, 1, 2], "partly", "does not hold", "does not hold"),
        ([2, 2, 2, 2], "does not hold", "does not hold", "holds"),
        ([0, 0, 0, 0], "does not hold", "does not hold", "holds"),
    ],
)
def test_a_trend_rises_falls_or_is_flat(
    values: list[float], rises: str, falls: str, flat: str
) -> None:
    cells = {(f"w{k}", "A"): [float(v)] for k, v in enumerate(values)}
    for expected, outcome in (("rises", rises), ("falls", falls), ("flat", flat)):
        check = Check("trend", ("r",), metric="m", of=("A",), along="workload", names=(expected,))
        assert verdict(check, cells).verdict == outcome, expected


def test_an_extreme_is_where_it_is_said_to_be() -> None:
    cells = {("v", "A"): [1.0], ("w", "A"): [3.0], ("x", "A"): [2.0]}
    for pick, name, outcome in (
        ("max", "w", "holds"),
        ("max", "x", "does not hold"),
        ("min", "v", "holds"),
    ):
        check = Check(
            "extreme", ("r",), metric="m", of=("A",), along="workload", pick=pick, names=(name,)
        )
        assert verdict(check, cells).verdict == outcome


def test_two_numbers_agree_or_run_against_each_other() -> None:
    cells = {(f"w{k}", "A"): [float(v)] for k, v in enumerate((3, 1, 4, 2, 5))}
    for expect, outcome in (("<=-0.8", "holds"), (">0", "does not hold")):
        e = Expectation.parse(expect)
        assert e is not None
        check = Check("agree", ("r",), metric="m", with_="other", of=("A",), expect={"": e})
        assert verdict(check, cells).verdict == outcome


def test_near_rank_and_steady_look_at_all_rivals() -> None:
    among = ("A", "B", "C")
    cells = {("w", "A"): [1.05], ("w", "B"): [1.0], ("w", "C"): [3.0]}
    near = Check("near", ("r",), metric="m", of=("A",), among=among, within=0.1)
    assert verdict(near, cells).verdict == "holds"
    assert verdict(near, {**cells, ("w", "A"): [1.2]}).verdict == "does not hold"
    second = Expectation.parse("<=2")
    assert second is not None
    rank = Check("rank", ("r",), metric="m", of=("A",), among=among, expect={"": second})
    assert verdict(rank, cells).verdict == "holds"
    assert verdict(rank, {**cells, ("w", "A"): [4.0]}).verdict == "does not hold"
    more = {("v", "A"): [1.0], ("v", "B"): [0.1], ("v", "C"): [3.0]}
    steady = Check("steady", ("r",), metric="m", among=among, order=(("A",), ("B",)))
    assert verdict(steady, {**cells, **more}).verdict == "holds"
    other = Check("steady", ("r",), metric="m", among=among, order=(("B",), ("A",)))
    assert verdict(other, {**cells, **more}).verdict == "does not hold"


def test_a_statement_about_originals_cannot_be_tested_on_stand_ins() -> None:
    cells = {("w", "A"): [1.0], ("w", "B"): [2.0]}
    check = compared(">0", originals=True)
    assert verdict(check, cells, "stand-in").verdict == "can't be tested here"
    assert verdict(check, cells, "original").verdict == "holds"


def test_recordings_are_cases_of_relations_and_not_of_the_papers_numbers() -> None:
    cells = {("w", "A"): [1.0], ("w", "B"): [2.0]}
    assert verdict(compared(">0"), cells, "recording").verdict == "holds"
    assert verdict(compared("~0.5"), cells, "recording").verdict == "can't be tested here"


def test_a_number_that_no_run_gives_cannot_be_tested() -> None:
    found = verdict(compared(">0"), {("w", "A"): [1.0], ("w", "B"): [2.0]}, metric="n")
    assert found.verdict == "can't be tested here"
    assert "no run gives m" in found.why


def test_a_claim_without_a_check_says_why() -> None:
    found = decide(Claim("c", "", "", Check("none", why="it is not modelled")), {})
    assert (found.verdict, found.why) == ("can't be tested here", "it is not modelled")


def test_intervals_are_those_of_student() -> None:
    e = estimate([1.0, 2.0, 3.0])
    # Mean 2, deviation 1, t(2) = 4.303.
    assert e.mean == 2.0
    assert e.half == pytest.approx(4.303 / math.sqrt(3))
    assert estimate([5.0]).half == 0


def test_rank_correlation_of_ties_and_of_nothing() -> None:
    assert spearman([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert spearman([1, 2, 2], [3, 1, 1]) == pytest.approx(-1)
    assert spearman([1, 1, 1], [1, 2, 3]) is None


def test_keys_are_added_to_the_name_of_a_drive() -> None:
    assert with_keys("ecr", None) == "ecr"
    assert with_keys("ecr", "a=1") == "ecr[a=1]"
    assert with_keys("ecr[b=2]", "a=1") == "ecr[b=2;a=1]"


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
