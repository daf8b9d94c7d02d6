"""What becomes of a claim in front of made-up numbers: zeros, ties, gaps, one case among many."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from destage.model.estimates import estimate, ratios, spearman
from destage.reproduce.claims import Check, Claim, Condition, Expectation, RunSet
from destage.reproduce.looking import Case
from destage.reproduce.pages import verdict_cells
from destage.reproduce.rows import Row, Rows
from destage.reproduce.verdicts import Verdict, decide
from destage.reproduce.wording import cases_in_words, half_of, measured, number

#: By load and policy a value for each seed; None for a value: that seed was not run.
Cells = Mapping[tuple[str, str], list[float | None]]


def framed(
    cells: Cells,
    kind: str = "specified",
    metric: str = "m",
    kinds: Mapping[str, str] | None = None,
) -> Rows:
    """Made-up numbers as rows."""
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
        if value is not None
    ]
    runs = RunSet("r", loads, policies, ("8p",), {"d": "small"}, {})
    return Rows(runs, rows)


def verdict(
    check: Check,
    cells: Cells,
    kind: str = "specified",
    metric: str = "m",
    kinds: Mapping[str, str] | None = None,
) -> Verdict:
    """Decide over made-up numbers."""
    frame = framed(cells, kind, metric, kinds)
    return decide(Claim("c", "section 1", "", check), {"r": frame})


def expecting(text: str) -> Mapping[str, Expectation]:
    e = Expectation.parse(text)
    assert e is not None
    return {"": e}


def compared(expect: str, **more: Any) -> Check:
    form = more.pop("form", "reduction")
    return Check(
        "compare",
        ("r",),
        metric="m",
        of=("A",),
        to=("B",),
        form=form,
        expect=expecting(expect),
        **more,
    )


def one(found: Verdict) -> Case:
    """The only case."""
    (case,) = found.cases
    return case


def many(*values: float) -> Cells:
    """A load for each value of A; B has 2 on all of them."""
    cells: dict[tuple[str, str], list[float | None]] = {}
    for k, value in enumerate(values):
        cells |= {(f"w{k}", "A"): [value], (f"w{k}", "B"): [2.0]}
    return cells


LOWER: Cells = {("w", "A"): [1.0], ("w", "B"): [2.0]}
HIGHER: Cells = {("v", "A"): [3.0], ("v", "B"): [2.0]}
ORDER = Check("order", ("r",), metric="m", order=(("A",), ("B",)), sense="lower")
NEAR = Check("near", ("r",), metric="m", of=("A",), among=("A", "B"), sense="lower", within=0.1)
RANK = Check("rank", ("r",), metric="m", of=("A",), among=("A", "B"), expect=expecting("<=1"))


# -- Scaled runs ----------------------------------------------------------------------------------


def shrunk(check: Check, *small: str) -> Verdict:
    """A verdict where runs of A on some loads have too few blocks."""
    frame = framed(many(1.0, 1.0, 3.0))
    rows = [
        dataclasses.replace(row, coarse="few blocks") if row.workload in small else row
        for row in frame.rows
    ]
    runs = {"r": Rows(frame.runs, rows)}
    return decide(Claim("c", "section 1", "", check), runs)


def test_a_run_that_shrank_too_far_is_no_case_and_is_named() -> None:
    assert shrunk(compared(">0")).verdict == "partly"
    found = shrunk(compared(">0"), "w2")
    assert (found.verdict, len(found.cases)) == ("holds", 2)
    assert found.own.coarse == "scaled too far, few blocks: w2"
    # A number of several runs needs them all, and nothing is left of all.
    for check, small in ((compared(">0", over="mean"), ("w2",)), (ORDER, ("w0", "w1", "w2"))):
        found = shrunk(check, *small)
        assert found.verdict == "can't be tested here"
        assert found.own.why.startswith("scaled too far, few blocks: w")


# -- Verdicts -------------------------------------------------------------------------------------


def test_a_relation_holds_if_every_case_meets_it_and_partly_if_half_of_them_do() -> None:
    assert verdict(compared(">0"), LOWER).verdict == "holds"
    assert verdict(compared(">0"), HIGHER).verdict == "does not hold"
    mixed = verdict(compared(">0"), {**LOWER, **HIGHER})
    assert mixed.verdict == "partly"
    assert [c.status for c in mixed.cases] == ["met", "not met"]
    assert cases_in_words(mixed.claim, mixed.own) == "met: w"


@pytest.mark.parametrize(
    ("met", "need", "expected"),
    [
        (0, 1.0, "does not hold"),
        (1, 1.0, "does not hold"),
        (9, 1.0, "does not hold"),
        (10, 1.0, "partly"),
        (19, 1.0, "partly"),
        (20, 1.0, "holds"),
        (9, 0.5, "does not hold"),
        (10, 0.5, "partly"),
        (11, 0.5, "holds"),
        (14, 0.7, "partly"),
        (15, 0.7, "holds"),
        # However little a claim needs, nothing is not enough.
        (0, 0.0, "does not hold"),
    ],
)
def test_half_of_the_cases_are_a_part_and_one_among_many_is_none(
    met: int, need: float, expected: str
) -> None:
    cells = many(*(1.0 if k < met else 3.0 for k in range(20)))
    for check in (compared(">0", need=need), replace(ORDER, need=need), replace(NEAR, need=need)):
        assert verdict(check, cells).verdict == expected


def test_what_holds_partly_names_every_case() -> None:
    found = verdict(compared(">0"), many(*([1.0] * 9 + [3.0] * 8)))
    assert found.verdict == "partly"
    words = cases_in_words(found.claim, found.own)
    assert words == "not met: " + ", ".join(f"w{k}" for k in range(9, 17))
    even = verdict(ORDER, many(*([1.0] * 9 + [3.0] * 9)))
    assert cases_in_words(even.claim, even.own).startswith(
        "met: " + ", ".join(f"w{k}" for k in range(9)) + "; A is not lower than B (9 x)"
    )


def test_a_verdict_is_open_where_its_undecided_cases_could_turn_it() -> None:
    unclear: Cells = {("v", "A"): [1.0, 2.6, 1.6], ("v", "B"): [2.0, 2.0, 2.0]}
    check = compared(">0")
    # Alone it would hold; with one that is not met, partly; with two, not even that.
    others: tuple[float, ...]
    for others, left in (((), 1), ((1.0,), 1), ((3.0,), 1), ((3.0, 3.0), 0), ((1.0, 1.0, 3.0), 0)):
        found = verdict(check, {**many(*others), **unclear})
        assert found.own.open == left, others
        assert any(case.status == "undecided" for case in found.cases)
    assert verdict(check, LOWER).own.open == 0
    assert verdict(check, HIGHER).own.open == 0
    # Elsewhere does not change what is open on the paper's loads.
    assert verdict(ORDER, {**many(1.0, 1.0), **unclear}).own.open == 1


def test_cases_that_are_not_met_are_named_beside_undecided_ones() -> None:
    cells: Cells = {
        **many(3.0, 3.0),
        ("v", "A"): [1.0, 2.6, 1.6],
        ("v", "B"): [2.0, 2.0, 2.0],
    }
    found = verdict(compared(">0"), cells)
    assert cases_in_words(found.claim, found.own) == "undecided: v; not met: w0, w1"


def test_loads_from_elsewhere_have_their_own_verdict_and_leave_the_papers_alone() -> None:
    cells = {**LOWER, **HIGHER}
    for check in (compared(">0"), ORDER, NEAR, RANK):
        for kinds, own, elsewhere in (
            ({"w": "surrogate", "v": "recording"}, "holds", "does not hold"),
            ({"v": "surrogate", "w": "excerpt"}, "does not hold", "holds"),
        ):
            found = verdict(check, cells, kinds=kinds)
            assert found.elsewhere is not None
            assert (found.verdict, found.elsewhere.verdict) == (own, elsewhere)
            assert (len(found.cases), len(found.elsewhere.cases)) == (1, 1)
            assert (set(found.own.loads), set(found.elsewhere.loads)) == (
                {"surrogate"},
                {k for k in kinds.values() if k != "surrogate"},
            )
    assert verdict(compared(">0"), cells, "surrogate").elsewhere is None


def test_each_verdict_is_followed_by_its_own_cases() -> None:
    claim: dict[str, Any] = {"verdict": "holds", "cases_met": 6, "cases_all": 6}
    claim["elsewhere"] = {"verdict": "partly", "cases_met": 2, "cases_all": 3}
    assert verdict_cells(claim) == ["holds", "6 of 6", "partly", "2 of 3"]
    assert verdict_cells(claim | {"elsewhere": None}) == ["holds", "6 of 6", "-", "-"]
    untested = {"verdict": "can't be tested here", "cases_met": 0, "cases_all": 0}
    cells = verdict_cells(untested | {"elsewhere": None})
    assert cells == ["can't be tested here", "-", "-", "-"]


def test_numbers_and_ranges_of_the_paper_are_about_its_loads_only() -> None:
    cells = {**LOWER, ("v", "A"): [1.9], ("v", "B"): [2.0]}
    kinds = {"w": "surrogate", "v": "recording"}
    for check in (compared("~0.5"), compared("~0.5..0.5"), compared(">0.4", over="mean")):
        found = verdict(check, cells, kinds=kinds)
        assert (found.verdict, found.elsewhere) == ("holds", None)
    alone = verdict(compared("~0.5"), LOWER, "recording")
    assert (alone.verdict, alone.own.why) == (
        "can't be tested here",
        "none of its workloads was run",
    )


def test_chance_is_not_taken_for_a_relation() -> None:
    # Lower on average, but not beyond the interval of three seeds.
    noisy: Cells = {("w", "A"): [1.0, 2.6, 1.6], ("w", "B"): [2.0, 2.0, 2.0]}
    found = verdict(compared(">0"), noisy)
    assert (found.verdict, one(found).status) == ("undecided", "undecided")
    clear: Cells = {("w", "A"): [1.0, 1.1, 1.2], ("w", "B"): [2.0, 2.0, 2.0]}
    assert verdict(compared(">0"), clear).verdict == "holds"
    # What lies between two bounds has to do so with its interval, too.
    between = compared("0.44..0.46", form="reduction")
    assert verdict(between, clear).verdict == "does not hold"
    steady: Cells = {("w", "A"): [1.1, 1.1, 1.1], ("w", "B"): [2.0, 2.0, 2.0]}
    assert one(verdict(between, steady)).status == "met"
    wide: Cells = {("w", "A"): [1.0, 1.0, 0.9], ("w", "B"): [1.0, 1.0, 1.0]}
    assert one(verdict(compared("0.98..1.02", form="ratio"), wide)).status == "undecided"
    assert one(verdict(compared("1.2..1.5", form="ratio"), wide)).status == "not met"


def test_an_effect_of_less_than_a_hundredth_is_none() -> None:
    tiny: Cells = {("w", "A"): [1.99], ("w", "B"): [2.0]}
    for check in (compared(">0"), ORDER):
        found = verdict(check, tiny)
        assert found.verdict == "right order, lead under 1 %"
        assert one(found).status == "too small"
        # Unless the paper's is smaller.
        assert verdict(replace(check, least=0.001), tiny).verdict == "holds"
    # A bound that the paper gives is one.
    assert verdict(compared(">=0"), tiny).verdict == "holds"
    assert verdict(compared(">0.001"), tiny).verdict == "holds"


def test_half_to_twice_the_papers_amount_is_told_and_meets_nothing() -> None:
    half: Cells = {("w", "A"): [1.4], ("w", "B"): [2.0]}  # 0.3 lower
    for expect in ("~0.5", "0.4..0.6", ">0.4", "~0.16"):
        found = verdict(compared(expect), half)
        assert (found.verdict, one(found).status) == ("does not hold", "in part")
    assert one(verdict(compared("~0.1"), half)).status == "not met"
    for a in (1.9, 2.1):
        case = one(verdict(compared("~0.5"), {("w", "A"): [a], ("w", "B"): [2.0]}))
        assert case.status == "not met"
    assert verdict(compared("~0.5"), LOWER).verdict == "holds"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # Reductions of 0.2 to 0.6 are said.
        ((1.6, 1.0, 0.8), "holds"),
        ((1.55, 0.9), "holds"),  # 0.225 to 0.55
        ((1.6, 1.0), "holds"),  # 0.5 is within a quarter of 0.6
        ((1.6, 1.2), "partly"),  # the greatest, 0.4, is not
        ((1.0, 1.2), "partly"),  # the least, 0.4, is not
        ((1.9, 1.8), "does not hold"),
        ((1.6, 1.0, 0.1), "partly"),  # one case beyond
    ],
)
def test_a_range_of_the_paper_is_met_at_its_ends(values: tuple[float, ...], expected: str) -> None:
    found = verdict(compared("~0.2..0.6"), many(*values))
    assert found.verdict == expected
    assert [c.label.split()[0] for c in found.cases] == ["least", "greatest"]


def test_an_average_is_that_of_the_cases_and_a_mean_that_of_the_sums() -> None:
    # A reduction by half of a small number, and by a tenth of a large one.
    cells: Cells = {("w", "A"): [1.0, 1.0], ("w", "B"): [2.0, 2.0]}
    cells = {**cells, ("v", "A"): [90.0, 90.0], ("v", "B"): [100.0, 100.0]}
    average = one(verdict(compared("~0.3", over="average"), cells))
    mean = one(verdict(compared("~0.3", over="mean"), cells))
    assert average.measured is not None
    assert mean.measured is not None
    assert average.measured.mean == pytest.approx(0.3)
    assert mean.measured.mean == pytest.approx(11 / 102)
    assert (average.status, average.note) == ("met", "mean of 2 cases")


def test_the_interval_of_an_undecided_case_is_not_that_of_a_verdict() -> None:
    wide: Cells = {("v", "A"): [1.0, 2.6, 1.6], ("v", "B"): [2.0, 2.0, 2.0]}
    exact: Cells = {("w", "A"): [1.0, 1.0, 1.0], ("w", "B"): [2.0, 2.0, 2.0]}
    both, alone = (verdict(compared(">0"), cells) for cells in ({**exact, **wide}, wide))
    assert both.verdict == alone.verdict == "undecided"
    assert measured(both.claim, both.own) == "50.0 % (95 % interval at most ±0 %, 3 seeds)"
    assert "±100 %" in measured(alone.claim, alone.own)
    assert [half_of(half, share=True) for half in (1.3e-21, 5.6e-4)] == ["0 %", "0.056 %"]


# -- What is zero, undefined or missing -----------------------------------------------------------


def test_something_against_nothing_is_judged_and_infinite() -> None:
    # 147,419 erases against 0 are not near the best.
    cells: Cells = {("w", "A"): [147_419.0], ("w", "B"): [0.0]}
    far = one(verdict(NEAR, cells))
    assert far.measured is not None
    assert (far.status, far.measured.mean) == ("not met", math.inf)
    assert far.note == "best: B with 0, A has 1.474e+05"
    for expect in (">0", ">=-0.1", "-0.1..0.1", "~0.5"):
        case = one(verdict(compared(expect), cells))
        assert (case.status, case.note) == ("not met", "against 0")
    assert one(verdict(compared(">0", form="gain"), cells)).status == "met"
    assert one(verdict(ORDER, cells)).status == "not met"
    assert one(verdict(replace(ORDER, sense="higher"), cells)).status == "met"
    assert one(verdict(RANK, cells)).status == "not met"
    # A draw of 0 among others neither decides nor makes the interval explode.
    drawn: Cells = {("w", "A"): [10.0, 12.0, 11.0], ("w", "B"): [0.0, 1.0, 2.0]}
    found = one(verdict(NEAR, drawn)).measured
    assert found is not None
    assert found.mean == pytest.approx(33 / 3 - 1)
    assert math.isfinite(found.high)


@pytest.mark.parametrize(
    "check", [compared(">0"), compared("-0.1..0.1"), compared("~0.5"), ORDER, NEAR, RANK]
)
def test_nothing_against_nothing_is_a_status_of_its_own_and_meets_nothing(check: Check) -> None:
    nothing: Cells = {("w", "A"): [0.0], ("w", "B"): [0.0]}
    found = verdict(check, nothing)
    assert one(found).status == "zero"
    assert (found.verdict, found.own.why[:5]) == ("can't be tested here", "zero:")
    # Beside a case that meets the claim it is counted, named and not met.
    met = 1.0 if check.expect is None or not check.expect[""].met(0.0) else 2.0
    both = verdict(check, {**nothing, ("v", "A"): [met], ("v", "B"): [2.0]})
    assert (both.own.met, len(both.cases), both.verdict) == (1, 2, "partly")
    words = cases_in_words(both.claim, both.own)
    assert "zero: w" in words or "A and B are both 0" in words


def test_the_best_among_some_with_numbers_may_have_none() -> None:
    best: Cells = {("w", "A"): [0.0], ("w", "B"): [5.0]}
    assert one(verdict(NEAR, best)).status == "met"
    equal: Cells = {("w", "A"): [0.0], ("w", "B"): [0.0], ("w", "C"): [5.0]}
    assert one(verdict(replace(NEAR, among=("A", "B", "C")), equal)).status == "met"
    assert one(verdict(replace(RANK, among=("A", "B", "C")), equal)).status == "met"


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_undefined_and_named(broken: float) -> None:
    cells: Cells = {**many(1.0), ("v", "A"): [broken], ("v", "B"): [2.0]}
    for check in (compared(">0"), compared("0..1"), ORDER, NEAR, RANK):
        found = verdict(check, cells)
        assert [c.status for c in found.cases] == ["met", "undefined"]
        assert found.verdict == "partly"
        assert "not a number" in found.cases[1].note
    for over in ("mean", "max", "min"):
        case = one(verdict(compared(">0", over=over), cells))
        assert case.status == "undefined"
        assert "v: A has something that is not a number" in case.note


def test_a_run_that_is_missing_is_undefined_and_so_is_a_seed() -> None:
    cells: Cells = {**many(1.0), ("v", "B"): [2.0]}
    for check in (compared(">0"), ORDER, NEAR, RANK):
        found = verdict(check, cells)
        assert [c.status for c in found.cases] == ["met", "undefined"]
        assert found.cases[1].note == "no number of A"
    torn: Cells = {("w", "A"): [1.0, None, 1.0], ("w", "B"): [2.0, 2.0, 2.0]}
    for check in (compared(">0"), ORDER, NEAR, RANK):
        case = one(verdict(check, torn))
        assert (case.status, case.note) == ("undefined", "no number of A with seed 1")
    uneven: Cells = {
        ("w", "A"): [1.0] * 2,
        ("w", "B"): [2.0] * 2,
        ("v", "A"): [1.0] * 3,
        ("v", "B"): [2.0] * 3,
    }
    case = one(verdict(compared(">0", over="mean"), uneven))
    assert case.note == "the workloads were not generated with the same seeds"


def test_seeds_stay_paired() -> None:
    # A is a tenth below B in every draw, however much the draws differ.
    cells: Cells = {("w", "A"): [90.0, 9.0, 0.9], ("w", "B"): [100.0, 10.0, 1.0]}
    case = one(verdict(compared(">0"), cells))
    assert case.status == "met"
    assert case.measured is not None
    assert case.measured.mean == pytest.approx(0.1)
    assert case.measured.half == pytest.approx(0, abs=1e-12)
    assert one(verdict(ORDER, cells)).status == "met"


def test_a_ratio_is_that_of_sums_and_not_a_mean_of_ratios_with_tiny_denominators() -> None:
    assert math.fsum(ratios([1.0, 1.0], [2.0, 0.001])) / 2 == pytest.approx(2 / 2.001)
    cells: Cells = {("w", "A"): [1.0, 1.0, 1.1], ("w", "B"): [2.0, 2.0, 0.0001]}
    found = one(verdict(compared(">0"), cells)).measured
    assert found is not None
    assert found.mean == pytest.approx(1 - 3.1 / 4.0001)
    over: Cells = {("v", "A"): [50.0], ("v", "B"): [100.0], ("w", "A"): [1.0], ("w", "B"): [0.001]}
    case = one(verdict(compared("~0.49", over="mean"), over))
    assert case.status == "met"
    assert "the mean of their reductions is 500.2 times as much" in case.note


def test_a_share_of_no_gain_is_undefined() -> None:
    check = compared(">0.5", form="share", than="C")
    cells: Cells = {("w", "A"): [1.5], ("w", "B"): [2.0], ("w", "C"): [1.2]}
    assert one(verdict(check, cells)).status == "met"
    case = one(verdict(check, {**cells, ("w", "C"): [2.0]}))
    assert (case.status, case.note) == ("undefined", "C has no gain that a share could be of")


def test_factors_instead_of_percentages_from_a_thousand_on() -> None:
    assert number(9.99, True) == "999.0 %"
    assert number(75.295, True) == "76.3 times as much"
    assert number(-91.446, True) == "92.45 times as much"
    assert number(-math.inf, True) == "infinitely much"
    cells: Cells = {("w", "A"): [100.0, 300.0, 500.0], ("w", "B"): [1.0, 1.0, 1.0]}
    found = verdict(compared(">0"), cells)
    words = measured(found.claim, found.own)
    assert words == "300 times as much (95 % interval at most ±496.9 times, 3 seeds)"


# -- Conditions -----------------------------------------------------------------------------------


def test_only_loads_that_fulfil_a_condition_are_cases() -> None:
    unbalanced = Condition("m", "none", ">0.3", "channels are unbalanced", "facts")
    claim = Claim("c", "section 1", "", compared(">0", when=(unbalanced,)))
    cells = framed(many(1.0, 3.0, 3.0))
    facts = framed({("w0", "none"): [0.5], ("w1", "none"): [0.1]})
    found = decide(claim, {"r": cells, "facts": facts})
    assert found.verdict == "holds"
    assert [c.label for c in found.cases] == ["w0"]
    assert found.own.supposed == (
        "channels are unbalanced: m >0.3 under none (here 0.1 to 0.5) (not known of 1 of 3 places),"
        " which is so at 1 of 3 places (w0)"
    )
    balanced = framed({("w0", "none"): [0.2], ("w1", "none"): [0.3]})
    none = decide(claim, {"r": cells, "facts": balanced})
    assert (none.verdict, none.cases) == ("can't be tested here", ())
    assert none.own.why.startswith(
        "no workload fulfils its condition: channels are unbalanced: m >0.3"
    )
    broken = framed({("w0", "none"): [math.nan]})
    assert decide(claim, {"r": cells, "facts": broken}).verdict == "can't be tested here"


# -- Kinds of check -------------------------------------------------------------------------------


def test_mean_and_maximum_are_one_case_over_all_loads() -> None:
    cells: Cells = {("v", "A"): [1.0], ("v", "B"): [2.0], ("w", "A"): [2.0], ("w", "B"): [2.0]}
    mean = verdict(compared("~0.25", over="mean"), cells)
    assert (len(mean.cases), mean.verdict) == (1, "holds")
    assert verdict(compared("~0.5", over="max"), cells).verdict == "holds"
    assert verdict(compared(">0.1", over="min"), cells).verdict == "does not hold"


def test_a_place_without_any_run_is_a_case_without_a_number() -> None:
    def row(load: str, cache: str, policy: str, value: float) -> Row:
        return Row(load, "d", "own", cache, policy, None, "specified", {"m": value})

    rows = [row(w, c, p, v) for w in "vw" for c in ("8p", "9p") for p, v in (("A", 1), ("B", 2))]
    runs = RunSet("r", ("v", "w"), ("A", "B"), ("8p", "9p"), {"d": "small"}, {})
    gone = [r for r in rows if (r.workload, r.cache) != ("w", "9p")]
    found = decide(Claim("c", "section 1", "", compared(">0")), {"r": Rows(runs, gone)})
    assert [c.status for c in found.cases] == ["met", "met", "met", "undefined"]
    assert found.verdict == "partly"
    assert cases_in_words(found.claim, found.own) == "undefined: w 9p (no number of A)"


def test_the_most_is_looked_for_where_something_happened_and_gaps_hide_it() -> None:
    cells: Cells = {**many(1.0, 1.8), ("z", "A"): [0.0], ("z", "B"): [0.0]}
    for over, wanted in (("max", "~0.5"), ("min", "~0.1")):
        case = one(verdict(compared(wanted, over=over), cells))
        assert case.status == "met"
        assert case.note.endswith("0 against 0, left out: z")
    ends = verdict(compared("~0.1..0.5"), cells)
    assert ends.verdict == "holds"
    assert all("left out: z" in case.note for case in ends.cases)
    # Something that is not a number, or was not run, may have been the most.
    for gap in ([math.nan], [None], [math.inf]):
        gapped = {**cells, ("y", "A"): gap, ("y", "B"): [2.0]}
        case = one(verdict(compared("~0.5", over="max"), gapped))
        assert case.status == "undefined"
    nothing: Cells = {("z", p): [0.0] for p in "AB"} | {("y", p): [0.0] for p in "AB"}
    found = verdict(compared("~0.5", over="max"), nothing)
    assert (found.verdict, one(found).status) == ("can't be tested here", "zero")


def test_an_order_needs_every_pair_of_neighbours() -> None:
    order = replace(ORDER, order=(("A",), ("B", "C")))
    good: Cells = {("w", "A"): [1.0], ("w", "B"): [2.0], ("w", "C"): [3.0]}
    assert verdict(order, good).verdict == "holds"
    part = verdict(order, {**good, ("w", "C"): [0.5]})
    # A pair that is right in every case is told, and is no case.
    assert (part.verdict, one(part).status) == ("does not hold", "in part")
    assert "A is not lower than C" in one(part).note
    tied = verdict(order, {**good, ("w", "C"): [1.0]})
    assert (tied.verdict, one(tied).status) == ("does not hold", "in part")
    bad: Cells = {**good, ("w", "A"): [9.0]}
    assert verdict(order, bad).verdict == "does not hold"
    assert verdict(replace(order, sense="higher"), bad).verdict == "holds"


@pytest.mark.parametrize(
    ("values", "rises", "falls", "flat"),
    [
        ([1, 2, 3, 4], "holds", "does not hold", "does not hold"),
        ([4, 3, 2, 1], "does not hold", "holds", "does not hold"),
        ([1, 3, 1, 2], "does not hold", "does not hold", "does not hold"),
        ([1, 1.001, 1.002, 1.003], "right order, lead under 1 %", "does not hold", "holds"),
        ([2, 2, 2, 2], "does not hold", "does not hold", "holds"),
        ([0, 0, 0, 0], "does not hold", "does not hold", "holds"),
        ([-1, 0, 0, 1], "holds", "does not hold", "can't be tested here"),
    ],
)
def test_a_trend_rises_falls_or_is_flat(
    values: list[float], rises: str, falls: str, flat: str
) -> None:
    cells = {(f"w{k}", "A"): [float(v)] for k, v in enumerate(values)}
    for expected, outcome in (("rises", rises), ("falls", falls), ("flat", flat)):
        check = Check("trend", ("r",), metric="m", of=("A",), along="workload", names=(expected,))
        assert verdict(check, cells).verdict == outcome, expected  # type: ignore[arg-type]


def test_an_extreme_is_where_it_is_said_to_be_and_told_from_the_rest() -> None:
    cells: Cells = {("v", "A"): [1.0], ("w", "A"): [3.0], ("x", "A"): [2.0]}
    check = Check("extreme", ("r",), metric="m", of=("A",), along="workload", names=("w",))
    assert verdict(check, cells).verdict == "holds"
    assert one(verdict(replace(check, names=("x",)), cells)).status == "not met"
    assert verdict(replace(check, names=("v",), pick="min"), cells).verdict == "holds"
    assert one(verdict(check, cells)).note == "it is w: v 1, w 3, x 2"
    against: Cells = {**cells, ("v", "B"): [2.0], ("w", "B"): [2.0], ("x", "B"): [2.5]}
    gains = replace(check, form="gain", to=("B",))
    assert one(verdict(gains, against)).note == "it is w: v -50.0 %, w 50.0 %, x -20.0 %"
    for values, status in (
        ([[1.0, 3.0, 2.0], [2.0, 4.0, 1.5]], "undecided"),
        ([[2.0], [2.01]], "too small"),
        ([[2.0], [2.0]], "not met"),
        ([[0.0], [0.0]], "zero"),
        ([[math.nan], [2.0]], "undefined"),
    ):
        two: Any = {("v", "A"): values[0], ("w", "A"): values[1]}
        assert one(verdict(check, two)).status == status


def test_two_numbers_agree_or_run_against_each_other() -> None:
    cells: Cells = {(f"w{k}", "A"): [float(v)] for k, v in enumerate((3, 1, 4, 2, 5))}
    agree = Check("agree", ("r",), metric="m", with_="other", of=("A",))
    for expect, outcome in (("<=-0.8", "holds"), (">0", "does not hold")):
        assert verdict(replace(agree, expect=expecting(expect)), cells).verdict == outcome
    same: Cells = {(f"w{k}", "A"): [2.0] for k in range(5)}
    found = verdict(replace(agree, expect=expecting(">0")), same)
    assert (one(found).status, found.verdict) == ("undefined", "can't be tested here")
    assert "does not vary" in found.own.why


def test_near_and_rank_look_at_all_rivals() -> None:
    among = ("A", "B", "C")
    cells: Cells = {("w", "A"): [1.05], ("w", "B"): [1.0], ("w", "C"): [3.0]}
    near, rank = replace(NEAR, among=among), replace(RANK, among=among, expect=expecting("<=2"))
    assert verdict(near, cells).verdict == "holds"
    assert verdict(near, {**cells, ("w", "A"): [1.2]}).verdict == "does not hold"
    assert verdict(rank, cells).verdict == "holds"
    assert verdict(rank, {**cells, ("w", "A"): [4.0]}).verdict == "does not hold"


def test_places_spreads_and_steadiness_respect_their_intervals() -> None:
    first = replace(RANK, among=("A", "B", "C"))
    clear: Cells = {("w", "A"): [1.0] * 3, ("w", "B"): [2.0] * 3, ("w", "C"): [3.0] * 3}
    assert one(verdict(first, clear)).status == "met"
    noisy: Cells = {**clear, ("w", "B"): [0.8, 1.9, 1.2]}
    assert one(verdict(first, noisy)).status == "undecided"
    assert one(verdict(replace(first, expect=expecting("<=2")), noisy)).status == "met"
    # Equals share the better place.
    assert one(verdict(first, {**clear, ("w", "B"): [1.0] * 3})).status == "met"
    rocky: Cells = {
        ("v", "A"): [3.0] * 3,
        ("v", "B"): [9.0, 1.0, 6.0],
        ("w", "A"): [9.0] * 3,
        ("w", "B"): [1.0, 5.0, 9.0],
    }
    steady = Check("steady", ("r",), metric="m", among=("A", "B"), order=(("A",), ("B",)))
    assert one(verdict(steady, rocky)).status == "undecided"
    spread = Check("spread", ("r",), metric="m", of=("A", "B"), along="workload", names=("larger",))
    assert one(verdict(spread, rocky)).status == "undecided"
    wide: Cells = {("v", "A"): [1.0], ("v", "B"): [1.1], ("w", "A"): [9.0], ("w", "B"): [9.1]}
    assert one(verdict(spread, wide)).status == "met"


def test_who_varies_less_is_steadier_and_what_is_zero_is_said() -> None:
    cells: Cells = {
        ("v", "A"): [2.0],
        ("v", "B"): [4.0],
        ("w", "A"): [2.0],
        ("w", "B"): [1.0],
        ("x", "A"): [0.0],
        ("x", "B"): [0.0],
    }
    steady = Check("steady", ("r",), metric="m", among=("A", "B"), order=(("A",), ("B",)))
    case = one(verdict(steady, cells))
    assert case.status == "not met"  # 0.5 and 1, against 1 and 0.5
    assert "all are 0 on x" in case.note
    level: Cells = {**cells, ("w", "A"): [1.0], ("w", "B"): [2.0], ("x", "B"): [1.0]}
    assert one(verdict(replace(steady, order=(("B",), ("A",))), level)).status == "met"


def test_a_statement_about_originals_cannot_be_tested_on_stand_ins() -> None:
    check = compared(">0", originals=True)
    assert verdict(check, LOWER, "surrogate").verdict == "can't be tested here"
    assert verdict(check, LOWER, "original").verdict == "holds"


def test_a_number_that_no_run_gives_cannot_be_tested() -> None:
    found = verdict(compared(">0"), LOWER, metric="n")
    assert (found.verdict, found.own.why) == ("can't be tested here", "no run gives m")


def test_a_claim_without_a_check_says_why() -> None:
    found = decide(Claim("c", "", "", Check("none", why="it is not modelled")), {})
    assert (found.verdict, found.own.why) == ("can't be tested here", "it is not modelled")


def test_intervals_are_those_of_student() -> None:
    e = estimate([1.0, 2.0, 3.0])
    # Mean 2, deviation 1, t(2) = 4.303.
    assert e.mean == 2.0
    assert e.half == pytest.approx(4.303 / math.sqrt(3))
    assert estimate([5.0]).half == 0
    assert estimate([math.inf, math.inf]).mean == math.inf


def test_rank_correlation_of_ties_and_of_nothing() -> None:
    assert spearman([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert spearman([1, 2, 2], [3, 1, 1]) == pytest.approx(-1)
    assert spearman([1, 1, 1], [1, 2, 3]) is None
