"""How claims, cases and numbers read in a report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from destage.reproduce.claims import Claim, Expectation
from destage.reproduce.digits import FACTORS, is_share, number
from destage.reproduce.looking import MET, STATUSES, Case
from destage.reproduce.verdicts import Judgement

__all__ = [
    "VERDICTS",
    "cases_in_words",
    "count_of",
    "expected",
    "load_words",
    "measured",
    "verb",
    "verdicts_in_words",
]

#: Verdicts as they follow a number of claims other than one.
VERDICTS = {
    "holds": "hold",
    "partly": "hold partly",
    "does not hold": "do not hold",
    "can't be tested here": "can't be tested here",
}
#: So many cases are named where a claim does not hold; of more the count is.
_NAMED = 6
_PLURAL = {
    "original": "originals",
    "stand-in": "stand-ins",
    "specified": "loads as specified",
    "recording": "recordings of ours",
    "excerpt": "excerpts",
}


def verdicts_in_words(counts: Mapping[str, int]) -> str:
    """Return how many claims have which verdict."""
    return ", ".join(f"{n} {verb(word, n)}" for word, n in counts.items())


def verb(word: str, count: int) -> str:
    """Return a verdict as it follows a number of claims: `1 holds`, `2 hold`, `0 hold`."""
    if count != 1:
        return VERDICTS[word]
    return {"partly": "holds partly"}.get(word, word)


def _reach(half: float, share: bool) -> str:
    """Half an interval; a factor's is one of factors."""
    return f"{number(half)} times" if share and half >= FACTORS else number(half, share)


def expectation(e: Expectation, share: bool) -> str:
    """Return what is expected, for people."""
    if e.ends is not None:
        least, greatest = (expectation(end, share) for end in e.ends)
        return f"from {least} to {greatest}"
    if e.value is not None:
        return f"{number(e.value, share)} (met: {number(e.low, share)} to {number(e.high, share)})"
    if math.isfinite(e.low) and math.isfinite(e.high):
        return f"{number(e.low, share)} to {number(e.high, share)}"
    if math.isfinite(e.low):
        return f"{'above' if e.open_low else 'at least'} {number(e.low, share)}"
    return f"{'below' if e.open_high else 'at most'} {number(e.high, share)}"


def expected(claim: Claim, cases: Sequence[Case]) -> str:
    """Return what the paper says, as the check has it."""
    check = claim.check
    if check.kind == "none":
        return "-"
    share = is_share(check)
    if check.expect:
        parts = [
            (f"{key}: " if key else "") + expectation(e, share) for key, e in check.expect.items()
        ]
        return "; ".join(parts)
    texts = dict.fromkeys(case.expected for case in cases)
    if check.kind == "extreme":
        return f"{check.pick} at {' or '.join(check.names)}"
    return "; ".join(texts) or ", ".join(check.names) or "-"


def measured(claim: Claim, judgement: Judgement) -> str:
    """Return what was measured: the range over the cases, and how far chance reaches."""
    share = is_share(claim.check)
    cases = judgement.cases
    found = [case.measured for case in cases if case.measured is not None]
    if not found:
        notes = [case.note for case in cases if case.note]
        return notes[0] if len(cases) == 1 and notes else "-"
    low, high = min(e.mean for e in found), max(e.mean for e in found)
    text = "closest pair ahead by " if claim.check.kind == "order" else ""
    text += number(low, share)
    if len(found) > 1 and number(high, share) != number(low, share):
        text += f" to {number(high, share)}"
    drawn = [e for e in found if e.count > 1 and math.isfinite(e.mean)]
    if drawn:
        widest = max(drawn, key=lambda e: e.half)
        text += f" (95 % interval at most ±{_reach(widest.half, share)}, {widest.count} seeds)"
    return text


def count_of(judgement: Judgement | None) -> str:
    """Return how many cases meet a claim, of how many; `-` where there are none."""
    if judgement is None or not judgement.cases:
        return "-"
    return f"{judgement.met} of {len(judgement.cases)}"


def cases_in_words(claim: Claim, judgement: Judgement) -> str:
    """Return which cases meet the claim and which do not: all by name if it holds partly."""
    if judgement.why:
        return judgement.why
    cases = judgement.cases
    if len(cases) == 1:
        case = cases[0]
        # Without a number the note is what was measured, and told as such.
        note = case.note if case.measured is not None else ""
        return "; ".join(text for text in (case.status, note) if text and text != MET)
    met = [c for c in cases if c.status == MET]
    others = [c for c in cases if c.status != MET]
    if not others:
        return f"all {len(cases)}"
    most = len(cases) if judgement.verdict == "partly" else _NAMED
    parts = [f"met: {_list(met, most)}"] if met and len(met) <= len(others) else []
    if claim.check.kind == "order":
        return "; ".join([*parts, _broken(others)])
    # Those that are named to meet it leave those that do not.
    told = STATUSES[1:-1] if parts else STATUSES[1:]
    for status in told:
        some = [c for c in others if c.status == status]
        if some:
            parts.append(f"{status}: {_list(some, most)}{_reasons(some)}")
    return "; ".join(parts)


def _reasons(cases: Sequence[Case]) -> str:
    """Why cases are no numbers."""
    notes = dict.fromkeys(c.note for c in cases if not c.decidable and c.note)
    return f" ({'; '.join(notes)})" if notes else ""


def _broken(cases: Sequence[Case]) -> str:
    """Which pairs of an order fail, the most frequent first."""
    counts = Counter(note for c in cases for note in c.note.split("; ") if note)
    told = [f"{note} ({n} x)" if n > 1 else note for note, n in counts.most_common(_NAMED)]
    more = len(counts) - len(told)
    return "; ".join(told) + (f"; {more} more" if more > 0 else "")


def _list(cases: Sequence[Case], most: int) -> str:
    names = [c.label for c in cases[:most]]
    more = len(cases) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def load_words(judgement: Judgement) -> str:
    """Return what kinds of load are behind a verdict."""
    return ", ".join(_PLURAL[kind] for kind in judgement.loads) or "-"
