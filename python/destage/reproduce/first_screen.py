"""The first screen of a paper's page, from its document: verdict, headlines, conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from destage.reproduce.claims import OURS
from destage.reproduce.conditions import turns, verdict_text
from destage.reproduce.plain_words import (
    abstract_of,
    count_word,
    elsewhere_sentence,
    main_claims,
    missed_aims,
    own_sentence,
)
from destage.reproduce.verdicts import ORDER, UNTESTED
from destage.reproduce.wording import verdicts_in_words

__all__ = [
    "MOST_WORDS",
    "coarse_claims",
    "cut",
    "first_screen",
    "measured_briefly",
    "scaled_note",
    "statuses_in_words",
    "workloads_of",
]

Data = Mapping[str, Any]

#: Words of a table's cell.
MOST_WORDS = 25
#: Headline claims of the table, and conditions below it.
MOST_HEADLINES, MOST_CONDITIONS = 10, 4
_INTERVAL = re.compile(r"\(95 % (?:interval|CI) at most (±.*?), \d+ seeds\)")


def first_screen(data: Data) -> dict[str, Any]:
    """Return the parts of the first screen, as its templates take them."""
    paper, knobs = data["paper"], data["sensitivity"]
    headlines = [c for c in data["claims"] if c["headline"]]
    main = [claim for _, claim in main_claims(data)]
    own = data["paper"].get("name") == OURS
    return {
        "question": paper["question"].partition("?")[0] + "?",
        "claim": abstract_of(data),
        "verdict": own_sentence(data),
        "counts": _counts(data),
        "headlines": [_headline_row(c, knobs) for c in headlines[:MOST_HEADLINES]],
        "conditions": _conditions([*main, *(c for c in headlines if c not in main)], knobs),
        "elsewhere": "" if own else elsewhere_sentence(data),
        "workloads": workloads_of(data),
    }


def scaled_note(scale: float, undecided: int = 0, seeds: int = 0) -> str:
    """The line under a table of scaled runs; empty where all requests ran.

    `undecided` claims have lost cases because their runs shrank too far. One of `seeds` gives no
    interval over seeds.
    """
    if scale == 1:
        return ""
    text = f"Scaled to {scale:g} of the requests, with pages, caches, devices and periods; erase"
    text += " blocks keep their size."
    if seeds == 1:
        text += " One seed: generated workloads have no interval (--seeds 3)."
    if undecided:
        text += f" {undecided} {'claims have' if undecided > 1 else 'claim has'} no verdict, or"
        text += " one on fewer cases: their caches have under 16 blocks, or runs under 20 periods."
    return text


def coarse_claims(data: Data) -> int:
    """How many claims have lost cases because their runs shrank too far."""
    return sum(bool(c.get("coarse")) for c in data["claims"])


def measured_briefly(text: str) -> str:
    """Return a measurement with its interval in short: `3 % to 9 % (CI ±1 %)`."""
    return _INTERVAL.sub(r"(CI \1)", text)


def statuses_in_words(found: Data) -> str:
    """Return how many cases have which status; empty where there are none."""
    every = found.get("statuses") or {}
    if every:
        return ", ".join(f"{n} {status}" for status, n in every.items())
    return f"{found['cases_met']} of {found['cases_all']} met" if found["cases_all"] else ""


def cut(text: str, words: int = MOST_WORDS) -> str:
    """Return a text as a table's cell: its first words, where it has too many."""
    found = text.split()
    return text if len(found) <= words else " ".join(found[: words - 1]).rstrip(",;") + " ..."


def _headline_row(claim: Data, knobs: Data) -> list[str]:
    tested = claim["verdict"] != UNTESTED
    here = measured_briefly(claim["measured"]) if tested else claim["which"] or "-"
    if tested and claim["cases_all"] > 1:
        here += f"; {claim['cases_met']} of {claim['cases_all']} cases"
    paper = claim["paper"] or claim["expected"]
    cells = (claim["brief"], paper, here, verdict_text(claim, knobs))
    return [cut(cell) for cell in cells]


def _counts(data: Data) -> str:
    """The headline claims by verdict, then all."""
    headlines = [c["verdict"] for c in data["claims"] if c["headline"]]
    counts = {word: headlines.count(word) for word in ORDER}
    every = {word: data["summary"].get(word, 0) for word in ORDER}
    text = f"Of {len(headlines)} headline claims {verdicts_in_words(counts)};"
    text += f" of all {sum(every.values())}, {verdicts_in_words(every)}."
    if data["restates"]:
        text += f" {data['restates']} more about the original traces' content {_not_counted(data)}."
    return text


def _not_counted(data: Data) -> str:
    return "is not counted" if data["restates"] == 1 else "are not counted"


def _conditions(headlines: list[Any], knobs: Data) -> list[dict[str, Any]]:
    """The assumptions that turn a headline, with the numbers on both sides of the first of them."""
    found: dict[str, dict[str, Any]] = {}
    for claim in headlines:
        for turn in turns(claim, knobs):
            if turn.knob in found:
                found[turn.knob]["others"] += 1
                continue
            sides = [
                f"{one['verdict']} with {phrase} ({one['cases_met']} of {one['cases_all']},"
                f" {measured_briefly(one['measured'])})"
                for phrase, one in turn.values.items()
            ]
            found[turn.knob] = {"claim": claim["brief"], "sides": sides, "others": 0}
    for one in found.values():
        plural = "s change" if one["others"] > 1 else " changes"
        one["more"] = f"{count_word(one['others'])} more claim{plural} with it."
    return list(found.values())[:MOST_CONDITIONS]


def workloads_of(data: Data) -> str:
    """The workloads by kind, and the aims that they miss."""
    kinds: dict[str, list[str]] = {}
    for load in data["loads"]:
        kinds.setdefault(load["kind"], []).append(load["name"])
    named = {"original": "original traces", "surrogate": "surrogate traces"}
    named |= {"specified": "workloads as the paper specifies them", "ours": "workloads of ours"}
    if data["paper"].get("name") == OURS:
        named |= {"recording": "recordings", "excerpt": "public traces"}
    parts = [f"{len(kinds[kind])} {text}" for kind, text in named.items() if kind in kinds]
    text = ", ".join(parts) or "no workload of the paper"
    text = f"{text}; {data['options']['seeds']} seeds"
    missed = missed_aims(data)
    return text + (f". Surrogates miss their own aim in {', '.join(missed)}" if missed else "")
