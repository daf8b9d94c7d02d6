"""Where each policy stands in the table of all policies (`papers.py` makes it): places by trace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

#: Columns whose best value is the largest.
LARGEST_FIRST = {"hits"}
#: What is shown of the table: its column, and what it is called here.
SHOWN = {
    "page: mean (ms)": "mean response",
    "p99 (ms)": "99th percentile",
    "WAF": "write amplification",
    "erases": "erases",
    "hits": "hits",
}


@dataclass(frozen=True)
class Place:
    """A policy's place by one measure over one trace, the best first; ties share the better."""

    trace: str
    measure: str
    value: str
    place: int
    of: int


def places(page: Path) -> dict[str, list[Place]]:
    """Places of every policy, by its name, over the page-mapped FTL."""
    found: dict[str, list[Place]] = {}
    for trace, head, rows in _tables(page.read_text(encoding="utf-8")):
        for column, measure in SHOWN.items():
            if column not in head:
                continue
            at = head.index(column)  # The first of its name: that of the page-mapped FTL.
            values = {row[0].split()[0]: row[at] for row in rows if "offline" not in row[0]}
            order = sorted(map(_number, values.values()), reverse=column in LARGEST_FIRST)
            for name, value in values.items():
                place = order.index(_number(value)) + 1
                found.setdefault(name, []).append(Place(trace, measure, value, place, len(values)))
    return found


def _number(text: str) -> float:
    return float(re.sub(r"[,% ]", "", text))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _tables(text: str) -> list[tuple[str, list[str], list[list[str]]]]:
    """Title, head and rows of the tables that begin with hits and compare over FTLs."""
    found = []
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        lines = [line for line in part.splitlines() if line.startswith("|")]
        if lines and "page: mean (ms)" in _cells(lines[0]):
            rows = [_cells(line) for line in lines[2:]]
            whole = [r for r in rows if len(r) == len(_cells(lines[0]))]
            found.append((part.splitlines()[0].strip(), _cells(lines[0]), whole))
    return found
