"""Numbers, claims and cases in the words of a report."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from destage.model.words import supported
from destage.reproduce.claims import Check, Claim, Expectation
from destage.reproduce.looking import MET, STATUSES, UNDECIDED, Case, Judgement

__all__ = ["FACTORS", "VERDICTS", "brief", "is_share", "number", "verb", "verdicts_in_words"]

#: Verdicts as they follow a number of claims other than one.
VERDICTS = {
    "holds": "hold",
    "partly": "hold partly",
    "right order, lead under 1 %": "have the right order with a lead under 1 %",
    "undecided": "are undecided",
    "does not hold": "do not hold",
    "can't be tested here": "can't be tested here",
}
#: Shares from here on are worded as factors.
FACTORS = 10.0
#: Cases that are named where a claim does not hold; of more the number is.
_NAMED = 6
_PLURAL = {
    "original": "originals",
    "surrogate": "surrogate traces",
    "specified": "workloads as specified",
    "ours": "workloads of ours",
    "recording": "our recordings",
    "excerpt": "excerpts",
    "repeated": "repeated recordings",
}


#: A number whose digits can be cut.
_PLAIN = re.compile(r"-?[\d,]+(?:\.\d+)?(?: %)?")
#: How a claim was made testable: on the page of claims, and not on the first screen.
_READ_AS = re.compile(r" \((?:[^()]*[ ;])?read as:[^()]*(?:\([^()]*\)[^()]*)*\)")


def brief(says: str) -> str:
    """Return a claim without its operational definition and its full stop."""
    return _READ_AS.sub("", says).removesuffix(".")


def is_share(check: Check) -> bool:
    """Whether a check's numbers are shown in per cent."""
    if check.kind not in ("compare", "extreme"):
        return check.kind in ("near", "order")
    if check.form == "value":
        return check.metric.endswith(("_ratio", "_share"))
    return check.form in ("reduction", "gain", "share")


def number(value: float, share: bool = False) -> str:
    """Return a number with three or four digits; shares in per cent, or as factors from ten on."""
    if math.isinf(value):
        return "infinitely much" if value > 0 or share else "-"
    if math.isnan(value):
        return "-"
    if share and abs(value) >= FACTORS:
        return f"{number(1 + abs(value))} times as much"
    if share:
        return f"{100 * value:.2f} %" if abs(value) < 0.1 else f"{100 * value:.1f} %"
    if value and (abs(value) >= 1e15 or abs(value) < 1e-3):
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def verdicts_in_words(counts: Mapping[str, int]) -> str:
    """Return the number of claims with each verdict."""
    return ", ".join(f"{n} {verb(word, n)}" for word, n in counts.items() if n)


def verb(word: str, count: int) -> str:
    """Return a verdict as it follows a number of claims: `1 holds`, `2 hold`, `0 hold`."""
    if count != 1:
        return VERDICTS[word]
    singular = {
        "partly": "holds partly",
        "right order, lead under 1 %": "has the right order with a lead under 1 %",
        "undecided": "is undecided",
    }
    return singular.get(word, word)


def expectation(e: Expectation, share: bool) -> str:
    """Return an expectation in words."""
    if e.ends is not None:
        return "from {} to {}".format(*(expectation(end, share) for end in e.ends))
    low, high = (number(v, share) if v else "0" for v in (e.low, e.high))
    if e.value is not None:
        return f"{number(e.value, share)} (met: {low} to {high})"
    if math.isfinite(e.low) and math.isfinite(e.high):
        return f"{low} to {high}"
    if math.isfinite(e.low):
        return f"{'above' if e.open_low else 'at least'} {low}"
    return f"{'below' if e.open_high else 'at most'} {high}"


def expected(claim: Claim, cases: Sequence[Case]) -> str:
    """Return the paper's expectation, as the check has it."""
    check = claim.check
    if check.kind == "none":
        return "-"
    if check.expect:
        share = is_share(check)
        parts = ((f"{k}: " if k else "") + expectation(e, share) for k, e in check.expect.items())
        return "; ".join(parts)
    if check.kind == "extreme":
        return f"{check.pick} at {' or '.join(check.names)}"
    return "; ".join(dict.fromkeys(c.expected for c in cases)) or ", ".join(check.names) or "-"


def measured(claim: Claim, judgement: Judgement) -> str:
    """Return the range of the measured values, with the widest interval.

    Undecided cases are left out beside decided ones: their intervals support no verdict.
    """
    share, every = is_share(claim.check), judgement.cases
    cases = tuple(c for c in every if c.status != UNDECIDED) or every
    found = [case.measured for case in cases if case.measured is not None]
    if not found:
        notes = [case.note for case in cases if case.note]
        return notes[0] if len(cases) == 1 and notes else "-"
    several = [e for e in found if e.count > 1 and math.isfinite(e.mean)]
    widest = max(several, key=lambda e: e.half, default=None)
    half = 0.0 if widest is None else widest.half
    low, high = (within(f(e.mean for e in found), half, share) for f in (min, max))
    text = lead_of(claim.check)
    text += low if high == low else f"{low} to {high}"
    if widest is not None:
        factor = share and half >= FACTORS
        shown = f"{number(half)} times" if factor else half_of(half, share)
        text += f" (95 % interval at most ±{shown}, {widest.count} seeds)"
    return text


def lead_of(check: Check) -> str:
    """Words for the measured range of an order; empty for other checks."""
    if check.kind != "order":
        return ""
    one = len(check.order) == 2 and len(check.order[0]) == 1
    return "lead over the next best: " if one else "smallest lead: "


def within(value: float, half: float, share: bool = False) -> str:
    """Return a number with the digits that half its interval supports; without one, all of them."""
    said = number(value, share)
    if not half or not _PLAIN.fullmatch(said):
        return said
    scale, most = (100 if share else 1), len(said.partition(" ")[0].partition(".")[2])
    return supported(scale * value, scale * half, most)[0] + (" %" if share else "")


def half_of(half: float, share: bool = False) -> str:
    """Return half an interval, to two digits; 0 where only rounding makes it differ from 0."""
    scale = 100 if share else 1
    shown = "0" if scale * half < 1e-9 else supported(0.0, scale * half, 9)[1]
    return shown + (" %" if share else "")


def count_of(judgement: Judgement | None) -> str:
    """Return the number of cases that meet a claim, of all; `-` where there are none."""
    if judgement is None or not judgement.cases:
        return "-"
    return f"{judgement.met} of {len(judgement.cases)}"


def cases_in_words(claim: Claim, judgement: Judgement) -> str:
    """Return the cases that meet the claim, and those that do not; all if it holds partly."""
    cases = judgement.cases
    if judgement.why or not cases:
        return judgement.why
    if len(cases) == 1:
        # Without a number the note is the measurement.
        note = cases[0].note if cases[0].measured is not None else ""
        return "; ".join(text for text in (cases[0].status, note) if text and text != MET)
    met, others = ([c for c in cases if (c.status == MET) is is_met] for is_met in (True, False))
    if not others:
        return f"all {len(cases)}"
    most = len(cases) if judgement.verdict == "partly" else _NAMED
    parts = [f"met: {_list(met, most)}"] if met and len(met) <= len(others) else []
    if claim.check.kind == "order":
        # The pairs that fail, the most frequent first.
        counts = Counter(note for c in others for note in c.note.split("; ") if note)
        pairs = [f"{note} ({n} x)" if n > 1 else note for note, n in counts.most_common(_NAMED)]
        more = [f"{len(counts) - _NAMED} more"] if len(counts) > _NAMED else []
        return "; ".join([*parts, *pairs, *more])
    # Where those that meet it are named, the others do not.
    for status in STATUSES[1:-1] if parts else STATUSES[1:]:
        some = [c for c in others if c.status == status]
        notes = dict.fromkeys(c.note for c in some if not c.decidable and c.note)
        reasons = f" ({'; '.join(notes)})" if notes else ""
        parts += [f"{status}: {_list(some, most)}{reasons}"] if some else []
    return "; ".join(parts)


def _list(cases: Sequence[Case], most: int) -> str:
    more = len(cases) - most
    return ", ".join(c.label for c in cases[:most]) + (f" and {more} more" if more > 0 else "")


def load_words(judgement: Judgement) -> str:
    """Return the kinds of workload behind a verdict."""
    return ", ".join(_PLURAL[kind] for kind in judgement.loads) or "-"
