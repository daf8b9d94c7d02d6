"""Decides claims from rows: case by case, with confidence intervals where a load is random.

A claim *holds* if every case meets it (or more than the share that the claim needs), holds *partly*
if enough of them do for the table to say where, or if some come near the paper's numbers, and *does
not hold* otherwise. With several seeds a case meets `> 0` only if the whole 95 % interval does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from destage.reproduce.cases import KINDS_OF_CHECK, MET, PARTIAL, Case, Look
from destage.reproduce.claims import Check, Claim
from destage.reproduce.frame import Frame

__all__ = ["UNTESTED", "Verdict", "decide"]

#: A claim holds in part from this share of its cases on: a few among many are no part of it.
SOME = 0.1

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "partly", "does not hold", "can't be tested here"


@dataclass(frozen=True)
class Verdict:
    """What became of a claim."""

    claim: Claim
    verdict: str
    cases: tuple[Case, ...] = ()
    loads: tuple[str, ...] = ()
    """Kinds of the loads behind it."""
    why: str = ""
    """Why it cannot be tested."""

    @property
    def met(self) -> int:
        """Cases that meet the claim."""
        return sum(c.status == MET for c in self.cases)


def decide(claim: Claim, frames: Mapping[str, Frame]) -> Verdict:
    """Return the verdict on a claim; `frames` by the ids of the runs."""
    check = claim.check
    if check.kind == "none":
        return Verdict(claim, UNTESTED, why=check.why)
    cases: list[Case] = []
    kinds: dict[str, None] = {}
    for name in check.runs:
        frame = frames[name]
        look = Look(check, frame, frames[check.base] if check.base else frame)
        kinds |= dict.fromkeys(frame.kinds[cell[0]] for cell in look.cells)
        if check.originals and any(frame.kinds[cell[0]] != "original" for cell in look.cells):
            why = (
                "a statement about what is in the original traces; a stand-in has only their counts"
            )
            return Verdict(claim, UNTESTED, loads=tuple(kinds), why=why)
        prefix = f"{name}: " if len(check.runs) > 1 else ""
        cases += [_prefixed(case, prefix) for case in KINDS_OF_CHECK[check.kind](look)]
    if not cases:
        return Verdict(claim, UNTESTED, loads=tuple(kinds), why=f"no run gives {check.metric}")
    return Verdict(claim, _verdict(check, cases), tuple(cases), tuple(kinds))


def _prefixed(case: Case, prefix: str) -> Case:
    if not prefix:
        return case
    return replace(case, label=prefix + case.label)


def _verdict(check: Check, cases: Sequence[Case]) -> str:
    met = sum(c.status == MET for c in cases)
    enough = met == len(cases) if check.need >= 1 else met > check.need * len(cases)
    if enough:
        return HOLDS
    # What is said of most cases holds in part if it does for half of those that it needs.
    some = SOME if check.need >= 1 else check.need / 2
    if check.kind == "order":
        # A pair that is right in every case is a part that holds; one that is so here and there
        # is not.
        part = bool(frozenset.intersection(*(c.right for c in cases)))
        enough = met >= max(1, some * len(cases))
    else:
        part = False
        near = sum(c.status == PARTIAL for c in cases)
        enough = met + near >= max(1, some * len(cases))
    return PARTLY if enough or part else FAILS
