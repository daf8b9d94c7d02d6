"""What the claims say of each figure: verdicts by figure and by panel, the paper's numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from destage.model.estimates import Estimate
from destage.reproduce.claims import Figure
from destage.reproduce.digits import is_share, number
from destage.reproduce.figures import SUFFIX, Drawing
from destage.reproduce.looking import MET, Case
from destage.reproduce.verdicts import FAILS, HOLDS, ORDER, PART, PARTLY, Verdict
from destage.reproduce.words import verb

__all__ = ["Panel", "Printed", "Sums", "names", "sums"]

#: `figures 7 and 9`, `tables 1 to 3`, `figure 7 (a)`.
_NAMED = re.compile(r"(figure|table)s? ((?:\d+|, | and | to |\s|\([^)]*\))+)")


def names(kind: str, number_: int, where: str) -> bool:
    """Whether `figure 7` is named by `figures 7 and 9` or `section 5, figure 7 (a)`."""
    return (kind, number_) in _named(where)


def _named(where: str) -> set[tuple[str, int]]:
    """The figures and tables that a place in a paper is."""
    found = set()
    for match in _NAMED.finditer(where):
        numbers = [int(n) for n in re.findall(r"\d+", match[2])]
        if " to " in match[2] and len(numbers) == 2:
            numbers = list(range(numbers[0], numbers[1] + 1))
        found |= {(match[1], n) for n in numbers}
    return found


def _letters(where: str) -> set[str]:
    """The parts of a figure: a and d of `figure 4 (a), (d)`."""
    return set(re.findall(r"\(([a-z])\)", where))


@dataclass(frozen=True)
class Printed:
    """A number that the paper prints, and ours."""

    claim: str
    case: str
    paper: float
    ours: Estimate
    share: bool
    """Both read as per cent."""
    status: str

    @property
    def label(self) -> str:
        """The case and both numbers."""
        paper, ours = number(self.paper, self.share), number(self.ours.mean, self.share)
        return f"{self.claim}, {self.case}: paper {paper}, ours {ours}"


@dataclass(frozen=True)
class Panel:
    """What the cases of the figure's claims in one panel came to."""

    met: int
    cases: int

    @property
    def verdict(self) -> str:
        """As that of a claim."""
        if self.met == self.cases:
            return HOLDS
        return PARTLY if self.met >= PART * self.cases else FAILS


@dataclass(frozen=True)
class Sums:
    """What became of the claims about a figure."""

    verdicts: tuple[Verdict, ...]
    panels: Mapping[str, Panel]
    printed: tuple[Printed, ...]

    def counts(self) -> dict[str, int]:
        """How many of them have which verdict."""
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
    """What the verdicts say of a figure: those of the claims that name it."""
    found = tuple(v for v in verdicts if _about(drawn.figure, v))
    cases = [case for v in found for case in v.own.cases]
    panels = {}
    for panel in drawn.panel_order if drawn.figure.panels else ():
        if panel.endswith(tuple(SUFFIX.values())):
            continue
        here = [case for case in cases if _names(case, panel)]
        if here:
            panels[panel] = Panel(sum(c.status == MET for c in here), len(here))
    return Sums(found, panels, tuple(p for v in found for p in _printed(v)))


def _about(figure: Figure, verdict: Verdict) -> bool:
    """Whether a claim names a figure, and the same parts of it if both name parts."""
    where = verdict.claim.where
    named = _named(figure.where)
    if not named:
        return figure.where in where and figure.runs in verdict.claim.check.needed_runs
    if not named & _named(where):
        return False
    ours, theirs = _letters(figure.where), _letters(where)
    return not ours or not theirs or bool(ours & theirs)


def _names(case: Case, panel: str) -> bool:
    """Whether a case is of a panel: its label has the panel's name among its words."""
    return re.search(rf"(?:^|[ :,(]){re.escape(panel)}(?:$|[ :,)])", case.label) is not None


def _printed(verdict: Verdict) -> list[Printed]:
    """The cases whose expectation is a number of the paper, which has a tilde."""
    share = is_share(verdict.claim.check)
    found = []
    for case in verdict.own.cases:
        if not re.fullmatch(r"~[-+.\de]+", case.expected) or case.measured is None:
            continue
        paper = float(case.expected[1:])
        if paper and math.isfinite(case.measured.mean):
            found.append(
                Printed(verdict.claim.id, case.label, paper, case.measured, share, case.status)
            )
    return found
