"""The claims about each figure: verdicts by figure and panel, the paper's numbers beside ours."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from destage.reproduce.claims import Figure
from destage.reproduce.figures import SUFFIX, Drawing
from destage.reproduce.looking import MET
from destage.reproduce.verdicts import FAILS, HOLDS, ORDER, PART, PARTLY, Verdict
from destage.reproduce.wording import is_share, number, verb

__all__ = ["Panel", "Printed", "Sums", "names", "sums"]

#: `figures 7 and 9`, `tables 1 to 3`, `figure 7 (a)`.
_NAMED = re.compile(r"(figure|table)s? ((?:\d+|, | and | to |\s|\([^)]*\))+)")


def names(kind: str, number_: int, where: str) -> bool:
    """Whether `figure 7` is named by `figures 7 and 9` or `section 5, figure 7 (a)`."""
    return (kind, number_) in _named(where)


def _named(where: str) -> set[tuple[str, int]]:
    found = set()
    for match in _NAMED.finditer(where):
        numbers = [int(n) for n in re.findall(r"\d+", match[2])]
        if " to " in match[2] and len(numbers) == 2:
            numbers = list(range(numbers[0], numbers[1] + 1))
        found |= {(match[1], n) for n in numbers}
    return found


class Printed(Struct, frozen=True):
    """A number that the paper prints, and ours."""

    claim: str
    about: str
    """The policies that are compared."""
    case: str
    paper: float
    mean: float
    low: float
    high: float
    share: bool
    """Both are shown in per cent."""
    status: str

    @property
    def label(self) -> str:
        """The policies, the case and both numbers."""
        paper, ours = number(self.paper, self.share), number(self.mean, self.share)
        return f"{self.about}, {self.case}: paper {paper}, ours {ours}"


@dataclass(frozen=True)
class Panel:
    """The cases of the figure's claims in one panel."""

    met: int
    cases: int

    @property
    def verdict(self) -> str:
        """A verdict as on a claim."""
        if self.met == self.cases:
            return HOLDS
        return PARTLY if self.met >= PART * self.cases else FAILS


@dataclass(frozen=True)
class Sums:
    """The claims about a figure."""

    verdicts: tuple[Verdict, ...]
    panels: Mapping[str, Panel]
    printed: tuple[Printed, ...]

    def counts(self) -> dict[str, int]:
        """The number of claims with each verdict."""
        return {word: sum(v.verdict == word for v in self.verdicts) for word in ORDER}

    @property
    def told(self) -> str:
        """All in a sentence."""
        if not self.verdicts:
            return "No claim is about this alone"
        several = len(self.verdicts)
        parts = [f"{n} {verb(word, n)}" for word, n in self.counts().items() if n]
        return f"{several} claim{'s' if several > 1 else ''}: {', '.join(parts)}"


def sums(drawn: Drawing, verdicts: Sequence[Verdict]) -> Sums:
    """Sum up the verdicts on the claims that name a figure."""
    found = tuple(v for v in verdicts if _is_about(drawn.figure, v))
    cases = [case for v in found for case in v.own.cases]
    panels = {}
    for panel in drawn.panel_order if drawn.figure.panels else ():
        # The label of a case of a panel has the panel's name among its words.
        word = re.compile(rf"(?:^|[ :,(]){re.escape(panel)}(?:$|[ :,)])")
        here = [case for case in cases if word.search(case.label)]
        if here and not panel.endswith(tuple(SUFFIX.values())):
            panels[panel] = Panel(sum(c.status == MET for c in here), len(here))
    return Sums(found, panels, tuple(p for v in found for p in _printed(v)))


def _is_about(figure: Figure, verdict: Verdict) -> bool:
    """Whether a claim names a figure, and the same parts of it if both name parts."""
    where, named = verdict.claim.where, _named(figure.where)
    if not named:
        return figure.where in where and figure.runs in verdict.claim.check.needed_runs
    ours, theirs = (set(re.findall(r"\(([a-z])\)", text)) for text in (figure.where, where))
    return bool(named & _named(where)) and (not ours or not theirs or bool(ours & theirs))


def _printed(verdict: Verdict) -> list[Printed]:
    """The cases whose expectation is a number of the paper, which has a tilde."""
    check, found = verdict.claim.check, []
    share, against = is_share(check), [to for to in check.to if to != "self"]
    about = "/".join(check.of) + (f" against {'/'.join(against)}" if against else "")
    for case in verdict.own.cases:
        if not re.fullmatch(r"~[-+.\de]+", case.expected) or case.measured is None:
            continue
        paper, e = float(case.expected[1:]), case.measured
        if paper and math.isfinite(e.mean):
            numbers = (paper, e.mean, e.low, e.high, share, case.status)
            found.append(Printed(verdict.claim.id, about, case.label, *numbers))
    return found
