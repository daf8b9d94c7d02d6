"""A paper's verdict in plain sentences: on its own workloads, and on independent traces.

The parts of the claim in the abstract are claims of their own; the whole holds if each part does,
and partly if any part holds or holds partly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from destage.reproduce.conditions import turns
from destage.reproduce.published import RECORDED
from destage.reproduce.verdicts import FAILS, HOLDS, OPEN, ORDER, PARTLY, SLIGHT, UNTESTED
from destage.reproduce.wording import number, verdicts_in_words

__all__ = [
    "abstract_of",
    "count_word",
    "elsewhere_sentence",
    "main_claims",
    "missed_aims",
    "own_sentence",
    "shorter",
    "span",
]

Data = Mapping[str, Any]

#: A count within this share of the published one matches it.
MATCHED = 0.05
#: An aim of ours is missed beyond this share of it.
MISSED = 0.25
#: Verdicts at the beginning of a sentence.
_WORDS = {
    HOLDS: "Holds",
    PARTLY: "Holds partly",
    SLIGHT: "Right order, lead under 1 %",
    OPEN: "Undecided",
    FAILS: "Does not hold",
    UNTESTED: "Not testable here",
}
_SPAN = re.compile(r"(?P<lead>[^:\d]*lead[^:\d]*: )?(-?[\d.,]+)(?: %)?(?: to (-?[\d.,]+)(?: %)?)?")
_COUNTS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
#: From here on a share in per cent has no decimals.
_WHOLE = 10.0


def main_claims(data: Data) -> list[tuple[str, Any]]:
    """The parts of the abstract's claim with their labels, or the first headline claim."""
    claims = data["claims"]
    by_id = {c["id"]: c for c in claims}
    found = [(label, by_id[name]) for label, name in data["paper"]["main"].items() if name in by_id]
    headlines = [c for c in claims if c["headline"]]
    return found or [("", (headlines or claims)[0])]


def abstract_of(data: Data) -> str:
    """The whole claim of the abstract; of claims of our own, the first of them."""
    return data["paper"].get("abstract") or str(main_claims(data)[0][1]["brief"])


def own_sentence(data: Data) -> str:
    """The verdict on the paper's workloads, with its conditions and shortened parts.

    Where the paper's text says more than our defaults follow, the paper-exact configuration leads.
    """
    parts = main_claims(data)
    exact = [(label, claim["faithful"]) for label, claim in parts if claim.get("faithful")]
    leads = len(exact) == len(parts)
    text = _verdict(exact, " in the paper-exact configuration") if leads else _verdict(parts)
    found = [turn for _, claim in parts for turn in turns(claim, data["sensitivity"])]
    if found:
        text += f" {_condition(found[0].values, '' if leads else found[0].base)}"
    others = dict.fromkeys(turn.knob for turn in found[1:] if turn.knob != found[0].knob)
    if others:
        text += f" Also depends on {', '.join(others)}."
    short = shorter(data)
    return text + (f" Surrogates are shorter: {', '.join(short)}." if short else "")


def elsewhere_sentence(data: Data) -> str:
    """The verdict on independent traces, and the verdicts of all claims tested there."""
    names = [
        load["name"] + (" (repeated)" if load["kind"] == "repeated" else "")
        for load in data["loads"]
        if load["kind"] in RECORDED
    ]
    if not names:
        return "Not tested: the paper specifies its workloads."
    counts = {word: n for word, n in data["summary_elsewhere"].items() if n}
    tested = sum(n for word, n in counts.items() if word != UNTESTED)
    if not tested:
        return f"No claim can be tested on {', '.join(names)}."
    counts.pop(UNTESTED, None)
    parts = [(label, c["elsewhere"]) for label, c in main_claims(data) if c["elsewhere"]]
    parts = [(label, found) for label, found in parts if found["verdict"] != UNTESTED]
    text = f"{_verdict(parts)} " if parts else ""
    return f"{text}Of {tested} claims on {', '.join(names)} {verdicts_in_words(counts)}."


def _verdict(parts: Sequence[tuple[str, Data]], where: str = "") -> str:
    """The verdict on all parts and the evidence of each: `Holds: 6 of 6 cases (16 to 47 %).`"""
    shown = []
    for label, found in parts:
        counts = f"in {found['cases_met']} of {found['cases_all']} cases"
        measured = "" if found["measured"] == "-" else span(found["measured"])
        if found["verdict"] == UNTESTED:
            counts, measured = "not testable here", ""
        if found["cases_all"] > 1 or not measured:
            measured = f"{counts} ({measured})" if measured else counts
        met = "met " if found["verdict"] == OPEN and measured.startswith("in ") else ""
        shown.append(f"{label} {met}{measured}".strip())
    whole = _whole([found["verdict"] for _, found in parts])
    colon = ":" if any(label for label, _ in parts) or where or whole == OPEN else ""
    return f"{_WORDS[whole]}{where}{colon} {', '.join(shown)}."


def _whole(verdicts: Sequence[str]) -> str:
    """The verdict on a claim whose parts have these."""
    if len(set(verdicts)) == 1:
        return verdicts[0]
    if any(v in (HOLDS, PARTLY) for v in verdicts):
        return OPEN if set(verdicts) == {HOLDS, OPEN} else PARTLY
    return max(verdicts, key=ORDER.index) if UNTESTED not in verdicts else FAILS


def _condition(values: Mapping[str, Data], base: str) -> str:
    """The verdict under other values of an assumption: `With bursts of 8: partly (2 of 3).`"""
    texts = [
        f"{phrase}: {one['verdict']} ({one['cases_met']} of {one['cases_all']})"
        for phrase, one in values.items()
        if phrase != base
    ]
    return f"With {'; with '.join(texts)}."


def span(measured: str) -> str:
    """A measured range without its interval, in whole per cent from ten on: `16 to 47 %`."""
    text = measured.partition(" (95 %")[0]
    found = _SPAN.fullmatch(text)
    if found is None:
        return text
    lead, *ends = found.groups()
    unit = " %" if text.endswith("%") else ""
    values = [end.replace(",", "") for end in ends if end is not None]
    if unit and any(abs(float(v)) >= _WHOLE for v in values):
        values = [f"{float(v):.0f}" for v in values]
    if lead:
        values = [v if float(v) <= 0 else f"+{v}" for v in values]
    return f"{lead or ''}{' to '.join(values)}{unit}"


def shorter(data: Data) -> list[str]:
    """The workloads of which a part is replayed, by their requests or their length."""
    return [text for load in data["loads"] if (text := _shorter(load))]


def _shorter(load: Data) -> str:
    by_what = {row["what"]: row for row in load["fit"]}
    for what, unit in (("requests", "requests"), ("length (s)", "s")):
        row = by_what.get(what)
        if row is not None and row["published"]:
            if row["has"] < (1 - MATCHED) * row["published"]:
                return f"{load['name']} {number(row['has'])} of {number(row['published'])} {unit}"
            return ""
    return ""


def missed_aims(data: Data) -> list[str]:
    """Targets of surrogates, not published, that are missed by more than a quarter."""
    found: dict[str, list[str]] = {}
    for load in data["loads"]:
        for row in load["fit"] if load["kind"] == "surrogate" else ():
            aim, has = row["aimed_at"], row["has"]
            if aim and row["published"] is None and abs(has - aim) > MISSED * abs(aim):
                text = f"{load['name']} {number(has)} for {number(aim)}"
                found.setdefault(row["what"], []).append(text)
    return [f"{what} ({', '.join(each)})" for what, each in found.items()]


def count_word(count: int) -> str:
    """A count at the beginning of a sentence: `Three`."""
    return _COUNTS[count] if count < len(_COUNTS) else str(count)
