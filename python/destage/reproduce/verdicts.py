"""Verdicts on claims, case by case, with confidence intervals where a workload is generated.

Every claim has a verdict on the paper's workloads, originals or surrogates, and one on independent
traces, recordings and excerpts; neither changes the other. A claim *holds* if every case meets it
(or more than the share that the claim needs). It is *undecided* if it would hold with its undecided
cases met, and shows the *right order* if it would hold with leads under 1 % counted. Otherwise it
holds *partly* if at least half of the cases meet it, and *does not hold* if fewer do. A case whose
numbers are all 0, or undefined, meets nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from destage.reproduce.cases import KINDS_OF_CHECK
from destage.reproduce.claims import Check, Claim, Condition
from destage.reproduce.looking import MET, SMALL, UNDECIDED, Case, Judgement, Look
from destage.reproduce.published import RECORDED
from destage.reproduce.rows import Cell, Rows

__all__ = [
    "FAILS",
    "HOLDS",
    "OPEN",
    "ORDER",
    "PARTLY",
    "SLIGHT",
    "UNTESTED",
    "Judgement",
    "Verdict",
    "decide",
    "verdict_of",
]

#: Least share of cases for a claim that holds in part.
PART = 0.5

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "partly", "does not hold", "can't be tested here"
SLIGHT, OPEN = "right order, lead under 1 %", "undecided"
#: The verdicts in the order of reports.
ORDER = (HOLDS, PARTLY, SLIGHT, OPEN, FAILS, UNTESTED)

#: Kinds of load that are the paper's own, stand in for them, or are generated beside them.
OWN = ("original", "surrogate", "specified", "ours")

_ORIGINALS = (
    "a statement about the content of the original traces; a surrogate trace has only their counts"
)


@dataclass(frozen=True)
class Verdict:
    """The verdicts of a claim."""

    claim: Claim
    own: Judgement
    """On the paper's workloads."""
    elsewhere: Judgement | None = None
    """On recordings and excerpts; None if it is not looked for there."""

    @property
    def verdict(self) -> str:
        """The verdict on the paper's workloads."""
        return self.own.verdict

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases on the paper's workloads."""
        return self.own.cases

    @property
    def restates(self) -> bool:
        """Whether it restates a table of original traces, and these are not there."""
        return self.claim.check.originals and self.verdict == UNTESTED


def decide(claim: Claim, sets: Mapping[str, Rows]) -> Verdict:
    """Return the verdict on a claim; `sets` by the ids of the runs."""
    check = claim.check
    if check.kind == "none":
        return Verdict(claim, Judgement(UNTESTED, why=check.why))
    if all(sets[name].runs.as_compare for name in check.runs):
        # A claim of ours: recordings are its workloads.
        found = _judgement(check, sets, (*OWN, *RECORDED))
        return Verdict(claim, found or Judgement(UNTESTED, why="none of its workloads was run"))
    own = _judgement(check, sets, OWN)
    # Numbers of the paper are about its workloads; relations are looked for elsewhere, too.
    of_the_paper = (
        check.originals
        or check.kind in ("extreme", "steady", "agree")
        or check.over != "each"
        or check.by
        or any(e.of_the_paper for e in (check.expect or {}).values())
    )
    elsewhere = None if of_the_paper else _judgement(check, sets, RECORDED)
    return Verdict(
        claim, own or Judgement(UNTESTED, why="none of its workloads was run"), elsewhere
    )


def _judgement(check: Check, sets: Mapping[str, Rows], kinds: Sequence[str]) -> Judgement | None:
    """Judge the cases on some kinds of workload; None if there are no such workloads."""
    conditions = [(c, sets[c.runs] if c.runs else None) for c in check.when]

    def look_at(rows: Rows) -> Look:
        def fulfilled(cell: Cell) -> bool:
            facts = ((c, _fact(c, measured or rows, cell)) for c, measured in conditions)
            return all(fact is not None and c.bounds.met(fact) for c, fact in facts)

        return Look(check, rows, sets[check.base] if check.base else rows, fulfilled, kinds)

    looks = {name: look_at(sets[name]) for name in check.runs}
    every = [
        (look, cell)
        for look in looks.values()
        for cell in (*look.cells, *look.refused, *look.saturated, *look.coarse)
    ]
    if not every:
        return None
    loads = tuple(dict.fromkeys(look.kind(cell) for look, cell in every))
    if check.originals and set(loads) != {"original"}:
        return Judgement(UNTESTED, loads=loads, why=_ORIGINALS)
    supposed = _supposed(conditions, looks.values()) if check.when else ""
    left = dict.fromkeys(look.place(cell) for look in looks.values() for cell in look.saturated)
    saturated = f"left out as saturated: {', '.join(left)}" if left else ""
    coarse = _coarse(looks.values())

    def untested(why: str, cases: Sequence[Case] = ()) -> Judgement:
        shown = saturated if cases or why == saturated else ""
        return Judgement(UNTESTED, tuple(cases), loads, why, supposed, shown, coarse)

    if coarse and (_of_several(check) or not any(look.cells for look in looks.values())):
        return untested(coarse)

    if not any(look.cells for look in looks.values()):
        return untested(saturated or f"no workload fulfils its condition: {supposed}")
    if not all(look.known for look in looks.values() if look.cells):
        metrics = " or ".join(m for m in (check.metric, check.with_) if m)
        return untested(f"no run gives {metrics}")
    cases = [
        replace(case, label=f"{name}: {case.label}") if len(looks) > 1 else case
        for name, look in looks.items()
        if look.cells
        for case in KINDS_OF_CHECK[check.kind](look)
    ]
    if not cases:
        return untested("its runs have no case of it")
    if not any(case.decidable for case in cases):
        reasons = dict.fromkeys(f"{c.status}: {c.note or c.label}" for c in cases)
        return untested("; ".join(reasons), cases)
    statuses = [case.status for case in cases]
    verdict = verdict_of(statuses, check.need)
    better = verdict_of([MET if s == UNDECIDED else s for s in statuses], check.need)
    undecided = statuses.count(UNDECIDED) if ORDER.index(better) < ORDER.index(verdict) else 0
    return Judgement(verdict, tuple(cases), loads, "", supposed, saturated, coarse, undecided)


def _of_several(check: Check) -> bool:
    """Whether a case takes numbers of several configurations, so that none may be missing."""
    axes = ("trend", "extreme", "spread", "agree", "steady")
    return check.over != "each" or check.kind in axes


def _coarse(looks: Collection[Look]) -> str:
    """The configurations that shrank too far with `--scale`, by reason; empty: none."""
    reasons: dict[str, dict[str, None]] = {}
    for look in looks:
        for cell, why in look.coarse.items():
            reasons.setdefault(why, {})[look.place(cell)] = None
    return "; ".join(f"scaled too far, {why}: {', '.join(p)}" for why, p in reasons.items())


def verdict_of(statuses: Sequence[str], need: float = 1.0) -> str:
    """Return the verdict on cases with these statuses, of which a share must meet the claim."""
    met, every = statuses.count(MET), len(statuses)
    small, undecided = statuses.count(SMALL), statuses.count(UNDECIDED)

    def hold(count: int) -> bool:
        return count > 0 and (count == every if need >= 1 else count > need * every)

    if hold(met):
        return HOLDS
    if undecided and hold(met + small + undecided) and not hold(met + small):
        return OPEN
    if met and met >= PART * every:
        return PARTLY
    return SLIGHT if small and hold(met + small) else FAILS


def _fact(condition: Condition, rows: Rows, cell: Cell) -> float | None:
    """A fact of a cell: there, or at its workload and device with another cache; None: unknown."""
    for place in (cell, *(c for c in rows.cells if c[:2] == cell[:2])):
        values = rows.values(place, condition.of, condition.metric).values()
        if values:
            mean = math.fsum(values) / len(values)
            return mean if math.isfinite(mean) else None
    return None


def _supposed(conditions: Sequence[tuple[Condition, Rows | None]], looks: Collection[Look]) -> str:
    """The conditions in words, the cases that meet them, and the measurement."""
    places = [(look.rows, cell) for look in looks for cell in (*look.cells, *look.refused)]
    fulfilled = [look.label(cell) for look in looks for cell in look.cells]
    told = []
    for condition, measured in conditions:
        facts = [_fact(condition, measured or own, cell) for own, cell in places]
        known = [fact for fact in facts if fact is not None]
        unknown = len(facts) - len(known)
        bounds = condition.is_.replace("..", " to ")
        text = f"{condition.says}: {condition.metric} {bounds} under {condition.of}"
        if known:
            text += f" (here {min(known):.3g} to {max(known):.3g})"
        text += f" (not known of {unknown} of {len(facts)} places)" if unknown else ""
        told.append(text)
    where = f", which is so at {len(fulfilled)} of {len(places)} places"
    where += f" ({', '.join(dict.fromkeys(fulfilled))})" if fulfilled else ""
    return " and ".join(told) + where
