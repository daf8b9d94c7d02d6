"""Sentences and tables of Destage's own pages, from the document of an evaluation.

A claim's `text` has places for numbers of its verdict; `sentence` fills them, and the tests compare
the pages with the result. A page is right if each of its numbers is in such a sentence or table, or
in a fact that names the test or the record behind it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from destage.reproduce.looking import MET

__all__ = ["NUMBER", "UNTOLD", "WORDS", "axes_of", "section", "sentence", "table", "untold"]

Data = Mapping[str, Any]

#: Words of a comparison: a sentence with one is a claim, too.
WORDS = re.compile(
    r"\b(?:fast(?:er|est)|slow(?:er|est)|low(?:er|est)|high(?:er|est)|fewest|best|better|worst|worse"
    r"|most|least|always|never|(?:more|less|fewer) than|twice)\b"
)
#: Parts of a page that are no statements: code, commands, pictures, targets of links.
UNTOLD = (
    re.compile(r"^```.*?^```$", re.M | re.S),
    re.compile(r"`[^`\n]+`"),
    re.compile(r"!\[[^\]]*\]\([^)]*\)"),
    re.compile(r"(?<=\])\([^)\s]+\)"),
    re.compile(r"<[^>\n]+>"),
)
#: A number, with what follows it.
NUMBER = re.compile(r"\d[\d,.]*")


def sentence(claim: Data) -> str:
    """The text of a claim with the numbers of its verdict.

    `{met}` and `{all}` are its cases, `{low}` and `{high}` the least and the greatest number of
    all, `{device}`, `{cache}` and `{workload}` how many are met by each value of an axis.
    """
    found = [case["mean"] for case in claim["cases"] if case["mean"] is not None]
    form = claim["form"]
    places: dict[str, str] = {
        "met": str(claim["cases_met"]),
        "all": str(claim["cases_all"]),
        "low": _shown(min(found), form) if found else "-",
        "high": _shown(max(found), form) if found else "-",
    }
    for axis, values in claim["by_axis"].items():
        places[axis] = ", ".join(f"{value}: {met} of {n}" for value, (met, n) in values.items())
    return str(claim["text"]).format_map(places)


def _shown(value: float, form: str) -> str:
    """A number with as many digits as a sentence wants: shares as whole per cent from ten on."""
    if form in ("percent", "reduction", "gain", "share"):
        return f"{100 * value:.0f} %" if abs(value) >= 0.0995 else f"{100 * value:.1f} %"
    if form == "ns":
        return f"{_three(value / 1e6)} ms" if value >= 1e6 else f"{_three(value / 1e3)} µs"
    return f"{value:.2f}" if form == "ratio" else _three(value)


def _three(value: float) -> str:
    """Three significant digits."""
    if not value:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{round(value, digits):,.{digits}f}" if digits else f"{float(f'{value:.3g}'):,.0f}"


def table(figure: Data) -> list[list[str]]:
    """The cells of a table figure: a row for each series, a column for each place of the x axis.

    A value with several panels has one after another, as the note says.
    """
    points = figure["points"]
    order: dict[str, list[str]] = {
        name: list(dict.fromkeys(p[name] for p in points)) for name in ("series", "x", "panel")
    }
    found = {(p["series"], p["x"], p["panel"]): p for p in points}

    def cell(series: str, x: str) -> str:
        shown = [found.get((series, x, panel)) for panel in order["panel"]]
        return "/".join("-" if p is None else _point(p, figure) for p in shown)

    rows = [[s, *(cell(s, x) for x in order["x"])] for s in order["series"]]
    return [["policy", *order["x"]], *rows]


def _point(point: Data, figure: Data) -> str:
    if figure["percent"]:
        return _three(100 * point["y"])
    text = _shown(point["y"], "ratio" if figure["relative_to"] else "value")
    low, high = point["low"], point["high"]
    # JSON has no infinite ends: such an interval is unknown.
    if not figure["relative_to"] or None in (low, high) or low <= 1 <= high:
        return text
    return f"**{text}**" if high < 1 else f"{text}+"


def section(page: str, heading: str) -> str:
    """The text below a heading of a page; empty if there is none."""
    parts = re.split(rf"^###? {re.escape(heading)}$", page, maxsplit=1, flags=re.M)
    return re.split(r"^###? ", parts[1], maxsplit=1, flags=re.M)[0] if len(parts) > 1 else ""


def untold(page: str, told: Sequence[str]) -> Iterator[str]:
    """Numbers and comparisons of a page that are in none of some sentences and tables."""
    text = page
    for pattern in UNTOLD:
        text = pattern.sub(" ", text)
    text = _plain(text)
    for one in sorted(map(_plain, told), key=len, reverse=True):
        for pattern in UNTOLD:
            one = pattern.sub(" ", one)
        text = text.replace(_plain(one), " ~ ")
    for found in [*NUMBER.finditer(text), *WORDS.finditer(text)]:
        around = text[max(0, found.start() - 40) : found.end() + 40]
        yield f"{found[0]} in ...{around}..."


def _plain(text: str) -> str:
    """The text without emphasis, its blanks single."""
    return " ".join(text.replace("**", "").split())


def axes_of(cases: Sequence[Any]) -> dict[str, dict[str, list[int]]]:
    """How many cases are met, of all, by each value of each axis that varies."""
    found: dict[str, dict[str, list[int]]] = {}
    for k, axis in enumerate(("workload", "device", "ftl", "cache")):
        values: dict[str, list[int]] = {}
        for case in cases:
            if case.cell is not None:
                count = values.setdefault(case.cell[k], [0, 0])
                count[0] += case.status == MET
                count[1] += 1
        if len(values) > 1:
            found[axis] = values
    return found
