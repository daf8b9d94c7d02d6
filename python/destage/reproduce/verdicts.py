"""Decides claims from rows: case by case, with confidence intervals where a load is random.

Every claim has a verdict on the paper's loads, originals or what stands in for them, and one on
loads from elsewhere, recordings and excerpts; neither changes the other. A claim *holds* if every
case meets it (or more than the share that the claim needs), holds *partly* if at least half of them
do, and *does not hold* otherwise. A case whose numbers are all 0, or not defined, meets nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from destage.reproduce.cases import KINDS_OF_CHECK
from destage.reproduce.claims import Check, Claim, Condition
from destage.reproduce.frame import Cell, Frame
from destage.reproduce.looking import MET, UNDECIDED, Case, Look
from destage.reproduce.published import RECORDED

__all__ = ["ORDER", "UNTESTED", "Judgement", "Verdict", "decide"]

#: A claim holds in part from this share of its cases on.
PART = 0.5

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "partly", "does not hold", "can't be tested here"
#: The verdicts in the order in which they are told.
ORDER = (HOLDS, PARTLY, FAILS, UNTESTED)

#: Kinds of load that are the paper's own, or stand in for them.
OWN = ("original", "stand-in", "specified")

_ORIGINALS = "a statement about what is in the original traces; a stand-in has only their counts"


@dataclass(frozen=True)
class Judgement:
    """What became of a claim on some loads."""

    verdict: str
    cases: tuple[Case, ...] = ()
    loads: tuple[str, ...] = ()
    """Kinds of the loads behind it."""
    why: str = ""
    """Why it cannot be tested."""
    supposed: str = ""
    """Where the claim's condition is fulfilled, if it has one."""
    saturated: str = ""
    """What was left out because a run was saturated."""
    open: int = 0
    """Undecided cases, if the verdict would be a better one were they met: with more draws it may
    become so. 0: however they turn out, the verdict stays."""

    @property
    def met(self) -> int:
        """Cases that meet the claim."""
        return sum(c.status == MET for c in self.cases)


@dataclass(frozen=True)
class Verdict:
    """What became of a claim: on the paper's loads, and elsewhere."""

    claim: Claim
    own: Judgement
    """On the paper's loads."""
    elsewhere: Judgement | None = None
    """On recordings and excerpts; None if it is not looked for there."""

    @property
    def verdict(self) -> str:
        """The verdict on the paper's loads."""
        return self.own.verdict

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases on the paper's loads."""
        return self.own.cases

    @property
    def met(self) -> int:
        """How many of them meet the claim."""
        return self.own.met

    @property
    def loads(self) -> tuple[str, ...]:
        """Kinds of the paper's loads behind it."""
        return self.own.loads

    @property
    def why(self) -> str:
        """Why it cannot be tested."""
        return self.own.why


def decide(claim: Claim, frames: Mapping[str, Frame]) -> Verdict:
    """Return the verdict on a claim; `frames` by the ids of the runs."""
    if claim.check.kind == "none":
        return Verdict(claim, Judgement(UNTESTED, why=claim.check.why))
    own = _judgement(claim.check, frames, OWN)
    elsewhere = None if _of_the_paper(claim.check) else _judgement(claim.check, frames, RECORDED)
    return Verdict(claim, own or Judgement(UNTESTED, why="none of its loads was run"), elsewhere)


def _of_the_paper(check: Check) -> bool:
    """Numbers of the paper are about its loads; relations are looked for elsewhere, too."""
    if check.originals or check.kind in ("extreme", "steady", "agree"):
        return True
    if check.over != "each" or check.by:
        return True
    return any(e.of_the_paper for e in (check.expect or {}).values())


def _judgement(check: Check, frames: Mapping[str, Frame], kinds: Sequence[str]) -> Judgement | None:
    """Judge the cases on some kinds of load; None if there are no such loads."""
    looks = {}
    for name in check.runs:
        frame = frames[name]
        base = frames[check.base] if check.base else frame
        looks[name] = Look(check, frame, base, _fulfilled(check, frames, frame), kinds)
    places = [
        (look, cell)
        for look in looks.values()
        for cell in (*look.cells, *look.refused, *look.saturated)
    ]
    if not places:
        return None
    loads = tuple(dict.fromkeys(look.kind(cell) for look, cell in places))
    if check.originals and set(loads) != {"original"}:
        return Judgement(UNTESTED, loads=loads, why=_ORIGINALS)
    supposed = _supposed(check, frames, looks) if check.when else ""
    stood = _saturated_in_words(looks)
    if stood and not any(look.cells for look in looks.values()):
        return Judgement(UNTESTED, loads=loads, why=stood, supposed=supposed, saturated=stood)
    if not any(look.cells for look in looks.values()):
        why = f"no load fulfils its condition: {supposed}"
        return Judgement(UNTESTED, loads=loads, why=why, supposed=supposed)
    if not all(look.known for look in looks.values() if look.cells):
        missing = " or ".join(m for m in (check.metric, check.with_) if m)
        return Judgement(UNTESTED, loads=loads, why=f"no run gives {missing}", supposed=supposed)
    cases: list[Case] = []
    for name, look in looks.items():
        found = KINDS_OF_CHECK[check.kind](look) if look.cells else []
        cases += [_prefixed(case, f"{name}: " if len(looks) > 1 else "") for case in found]
    if not cases:
        why = "its runs have no case of it"
        return Judgement(UNTESTED, loads=loads, why=why, supposed=supposed)
    if not any(case.decidable for case in cases):
        why = "; ".join(dict.fromkeys(f"{c.status}: {c.note or c.label}" for c in cases))
        return Judgement(UNTESTED, tuple(cases), loads, why, supposed, stood)
    verdict, left = _verdict(check, cases), _open(check, cases)
    return Judgement(verdict, tuple(cases), loads, "", supposed, stood, left)


def _saturated_in_words(looks: Mapping[str, Look]) -> str:
    """Which places are left out since requests came faster there than a unit could work."""
    names = [look.place(cell) for look in looks.values() for cell in look.saturated]
    if not names:
        return ""
    return f"left out as saturated: {', '.join(dict.fromkeys(names))}"


def _prefixed(case: Case, prefix: str) -> Case:
    return replace(case, label=prefix + case.label) if prefix else case


def _verdict(check: Check, cases: Sequence[Case]) -> str:
    met = sum(c.status == MET for c in cases)
    if met and (met == len(cases) if check.need >= 1 else met > check.need * len(cases)):
        return HOLDS
    return PARTLY if met and met >= PART * len(cases) else FAILS


def _open(check: Check, cases: Sequence[Case]) -> int:
    """How many cases are undecided, if the verdict hangs on them."""
    turned = [replace(case, status=MET) if case.status == UNDECIDED else case for case in cases]
    better = ORDER.index(_verdict(check, turned)) < ORDER.index(_verdict(check, cases))
    return sum(case.status == UNDECIDED for case in cases) if better else 0


# -- Conditions -----------------------------------------------------------------------------------


def _fulfilled(check: Check, frames: Mapping[str, Frame], own: Frame) -> Callable[[Cell], bool]:
    """Say of a place whether the facts that the runs measured there are what the claim supposes."""

    def fulfilled(cell: Cell) -> bool:
        for condition in check.when:
            fact = _fact(condition, _measuring(condition, frames, own), cell)
            if fact is None or not condition.bounds.met(fact):
                return False
        return True

    return fulfilled


def _measuring(condition: Condition, frames: Mapping[str, Frame], own: Frame) -> Frame:
    """The runs that measure a fact: those that the condition names, or the claim's own."""
    return frames[condition.runs] if condition.runs else own


def _fact(condition: Condition, frame: Frame, cell: Cell) -> float | None:
    """A fact of a place: there, or at the same load and drive with another cache; None: unknown."""
    places = [cell, *(c for c in frame.cells if c[:2] == cell[:2])]
    for place in places:
        values = frame.values(place, condition.of, condition.metric).values()
        if values:
            mean = math.fsum(values) / len(values)
            return mean if math.isfinite(mean) else None
    return None


def _supposed(check: Check, frames: Mapping[str, Frame], looks: Mapping[str, Look]) -> str:
    """What is supposed, where that is so, and what was measured."""
    places = [
        (frames[name], cell)
        for name, look in looks.items()
        for cell in (*look.cells, *look.refused)
    ]
    fulfilled = [look.label(cell) for look in looks.values() for cell in look.cells]
    told = []
    for condition in check.when:
        facts = [_fact(condition, _measuring(condition, frames, own), cell) for own, cell in places]
        known = [fact for fact in facts if fact is not None]
        unknown = len(facts) - len(known)
        text = f"{condition.says}: {condition.metric} {_bounds(condition)} under {condition.of}"
        if known:
            text += f" (here {min(known):.3g} to {max(known):.3g})"
        text += f" (not known of {unknown} of {len(facts)} places)" if unknown else ""
        told.append(text)
    where = f", which is so at {len(fulfilled)} of {len(places)} places"
    where += f" ({', '.join(dict.fromkeys(fulfilled))})" if fulfilled else ""
    return " and ".join(told) + where


def _bounds(condition: Condition) -> str:
    return condition.is_.replace("..", " to ")
