"""How claims, cases and numbers read in a report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from destage.reproduce.cases import MET, PARTIAL, UNDECIDED, UNMET, Case
from destage.reproduce.claims import Check, Expectation
from destage.reproduce.verdicts import Verdict

__all__ = ["VERDICTS", "cases_in_words", "expected", "load_words", "measured", "number"]

#: Forms and metrics whose numbers are shares.
_SHARES = ("reduction", "gain", "share")
#: Verdicts as they follow a number of claims.
VERDICTS = {
    "holds": "hold",
    "partly": "hold partly",
    "does not hold": "do not hold",
    "can't be tested here": "can't be tested here",
}
#: So many cases are named; of more the count is.
_NAMED = 6
_PLURAL = {
    "original": "originals",
    "stand-in": "stand-ins",
    "specified": "loads as specified",
    "recording": "recordings of ours",
    "excerpt": "excerpts",
}


def is_share(check: Check) -> bool:
    """Whether a check's numbers read as per cent."""
    if check.kind in ("near", "order"):
        return True
    if check.kind not in ("compare", "extreme"):
        return False
    if check.form in _SHARES:
        return True
    return check.form == "value" and (check.metric.endswith(("_ratio", "_share")))


def number(value: float, share: bool = False) -> str:
    """Return a number with three or four digits."""
    if not math.isfinite(value):
        return "-"
    if share:
        return f"{100 * value:.2f} %" if abs(value) < 0.1 else f"{100 * value:.1f} %"
    if value and (abs(value) >= 1e15 or abs(value) < 1e-3):
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def expectation(e: Expectation, share: bool) -> str:
    """Return what is expected, for people."""
    if e.value is not None:
        return f"{number(e.value, share)} (met: {number(e.low, share)} to {number(e.high, share)})"
    if math.isfinite(e.low) and math.isfinite(e.high):
        return f"{number(e.low, share)} to {number(e.high, share)}"
    if math.isfinite(e.low):
        return f"{'above' if e.open_low else 'at least'} {number(e.low, share)}"
    return f"{'below' if e.open_high else 'at most'} {number(e.high, share)}"


def expected(verdict: Verdict) -> str:
    """Return what the paper says, as the check has it."""
    check = verdict.claim.check
    if check.kind == "none":
        return "-"
    share = is_share(check)
    if check.expect:
        parts = [
            (f"{key}: " if key else "") + expectation(e, share) for key, e in check.expect.items()
        ]
        return "; ".join(parts)
    texts = dict.fromkeys(case.expected for case in verdict.cases)
    if check.kind == "extreme":
        return f"{check.pick} at {' or '.join(check.names)}"
    return "; ".join(texts) or ", ".join(check.names) or "-"


def measured(verdict: Verdict) -> str:
    """Return what was measured: the range over the cases, and how far chance reaches."""
    share = is_share(verdict.claim.check)
    found = [case.measured for case in verdict.cases if case.measured is not None]
    if not found:
        notes = [case.note for case in verdict.cases if case.note]
        return notes[0] if len(verdict.cases) == 1 and notes else "-"
    low, high = min(e.mean for e in found), max(e.mean for e in found)
    text = ("closest pair ahead by " if verdict.claim.check.kind == "order" else "") + number(
        low, share
    )
    if len(found) > 1 and number(high, share) != number(low, share):
        text += f" to {number(high, share)}"
    drawn = [e for e in found if e.count > 1]
    if drawn:
        widest = max(drawn, key=lambda e: e.half)
        text += f" (95 % interval at most ±{number(widest.half, share)}, {widest.count} seeds)"
    return text


def cases_in_words(verdict: Verdict) -> str:
    """Return which cases meet the claim, or which do not, whichever is shorter."""
    if verdict.why:
        return verdict.why
    cases = verdict.cases
    if len(cases) == 1:
        case = cases[0]
        return case.note or ("" if case.status == MET else case.status)
    met = [c for c in cases if c.status == MET]
    others = [c for c in cases if c.status != MET]
    if not others:
        return f"all {len(cases)}"
    text = f"{len(met)} of {len(cases)}{_by_kind(cases)}"
    if verdict.claim.check.kind == "order":
        return f"{text}: {_broken(others)}"
    if met and len(met) < len(others):
        return f"{text}: {_list(met)}"
    for status in (PARTIAL, UNDECIDED, UNMET):
        some = [c for c in others if c.status == status]
        if some:
            text += f"; {status}: {_list(some)}"
    return text


def _by_kind(cases: Sequence[Case]) -> str:
    """How many of each kind of load, where a claim is looked for in loads of several kinds."""
    kinds = [kind for kind in _PLURAL if any(c.kind == kind for c in cases)]
    if len(kinds) < 2:
        return ""
    counts = (
        f"{sum(c.status == MET for c in cases if c.kind == kind)}"
        f" of {sum(c.kind == kind for c in cases)} on {_PLURAL[kind]}"
        for kind in kinds
    )
    return f" ({', '.join(counts)})"


def _broken(cases: Sequence[Case]) -> str:
    """Which pairs of an order fail, the most frequent first."""
    counts = Counter(note for c in cases for note in c.note.split("; ") if note)
    told = [f"{note} ({n} x)" if n > 1 else note for note, n in counts.most_common(_NAMED)]
    more = len(counts) - len(told)
    return "; ".join(told) + (f"; {more} more" if more > 0 else "")


def _list(cases: Sequence[Case]) -> str:
    names = [c.label for c in cases[:_NAMED]]
    more = len(cases) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def load_words(verdict: Verdict) -> str:
    """Return what kinds of load are behind a verdict."""
    return ", ".join(_PLURAL[kind] for kind in verdict.loads) or "-"
