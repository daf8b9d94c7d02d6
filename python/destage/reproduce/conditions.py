"""Conditions of verdicts: the assumptions under which a claim's verdict turns, from a document.

A knob's values are compared with its base value, that of the main runs. Where the base value's
verdict differs from that of the main table, fewer workloads or requests changed it, and the knob
says nothing about the main table: it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from destage.reproduce.verdicts import FAILS, HOLDS, OPEN, PARTLY, SLIGHT, UNTESTED

__all__ = ["Turn", "turns", "verdict_text"]

#: Verdicts before `with`: of the main runs, and of a value that turns it.
_BASE = {HOLDS: "holds", PARTLY: "holds partly", SLIGHT: SLIGHT, FAILS: "does not hold"}
_TURNED = {HOLDS: "holds", PARTLY: "partly", SLIGHT: SLIGHT, FAILS: "not"}

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Turn:
    """A knob that turns a claim's verdict between `holds` and another one."""

    knob: str
    base: str
    """The value of the main runs, as a phrase."""
    values: Mapping[str, Data]
    """By phrase: the results under the base value, then under those that turn the verdict."""

    @property
    def text(self) -> str:
        """The verdicts in words: `holds with bursts of 54, does not with no bursts`."""
        by_verdict: dict[str, list[str]] = {}
        for phrase, found in self.values.items():
            by_verdict.setdefault(found["verdict"], []).append(phrase)
        base = self.values[self.base]["verdict"]
        parts = [f"{_BASE[base]} with {_either(by_verdict.pop(base))}"]
        parts += [f"{_TURNED[verdict]} with {_either(p)}" for verdict, p in by_verdict.items()]
        return ", ".join(parts)


def turns(claim: Data, knobs: Data) -> Iterator[Turn]:
    """The knobs that turn a claim's verdict; `knobs` is the sensitivity of a document."""
    for knob in knobs["knobs"]:
        found = next((c for c in knob["claims"] if c["id"] == claim["id"]), None)
        if found is None or claim["verdict"] in (OPEN, UNTESTED):
            continue
        base = found["values"].get(knob["base"])
        if base is None or base["verdict"] != claim["verdict"]:
            continue
        values = {knob["base"]: base}
        for label, one in found["values"].items():
            decided = one["verdict"] not in (OPEN, UNTESTED, base["verdict"])
            if decided and HOLDS in (one["verdict"], base["verdict"]):
                values[label] = one
        if len(values) > 1:
            phrase = knob["phrase"]
            named = {phrase.format(label): one for label, one in values.items()}
            yield Turn(knob["knob"], phrase.format(knob["base"]), named)


def verdict_text(claim: Data, knobs: Data) -> str:
    """A claim's verdict with its condition: the first knob in full, the others by name."""
    found = list(turns(claim, knobs))
    if not found:
        return str(claim["verdict"])
    others = [turn.knob for turn in found[1:]]
    more = f"; also depends on {', '.join(others)}" if others else ""
    return found[0].text + more


def _either(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"
