"""Tables that go with figures: the paper's own, the sums of the claims, the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from destage.reproduce.digits import number
from destage.reproduce.figures import Drawing, Point
from destage.reproduce.words import VERDICTS

__all__ = ["Cells", "about_figure", "printed_rows", "sums_rows", "table_of"]

#: A table as text, the first row being its head.
Cells = list[list[str]]


def table_of(drawn: Drawing) -> Cells:
    """A table of the paper: the head, then a row for each place on its x axis."""
    series = drawn.series_order
    found = {(p.x, p.series): p for p in drawn.points}
    rows: Cells = [["", *series]]
    for x in drawn.x_order:
        cells = [found.get((x, s)) for s in series]
        rows.append([x, *(_with_the_paper(c) if c else "-" for c in cells)])
    return rows


def _with_the_paper(point: Point) -> str:
    """A cell of a table: ours, and what the paper prints."""
    if point.printed is None:
        return number(point.y)
    return f"{number(point.y)} (paper: {number(point.printed)})"


def sums_rows(data: Mapping[str, Any]) -> Cells:
    """What became of the claims, figure by figure."""
    words = list(VERDICTS)
    rows = [["figure or table", "claims", *words]]
    for figure in data["figures"]:
        counts = [str(figure["verdicts"][w] or "-") for w in words]
        rows.append([_called(figure), str(len(figure["claims"]) or "-"), *counts])
    named = {name for figure in data["figures"] for name in figure["claims"]}
    rest = [c for c in data["claims"] if c["id"] not in named]
    if rest:
        counts = [str(sum(c["verdict"] == w for c in rest) or "-") for w in words]
        rows.append(["in the text, or about what is not drawn", str(len(rest)), *counts])
    return rows


def _called(figure: Mapping[str, Any]) -> str:
    return f"{figure['where'].capitalize()}: {figure['title']}"


def about_figure(figure: Mapping[str, Any]) -> str:
    """The claims about a figure in a sentence, with their names."""
    found = figure["claims"]
    return f"{figure['told']} ({', '.join(found)})" if found else str(figure["told"])


def printed_rows(figure: Mapping[str, Any]) -> Cells:
    """The numbers that the paper prints beside ours; none where its table has both already."""
    if not figure["printed"] or (figure["mark"] == "table" and figure["printed_in_table"]):
        return []
    rows = [["claim", "case", "the paper's", "ours", "ours over the paper's", "status"]]
    for p in figure["printed"]:
        ours = number(p["mean"], p["share"])
        if p["low"] < p["high"]:
            low, high = number(p["low"], p["share"]), number(p["high"], p["share"])
            ours += f" [{low}, {high}]"
        over = f"{p['mean'] / p['paper']:.2f}"
        cells = [number(p["paper"], p["share"]), ours, over, p["status"]]
        rows.append([p["claim"], p["case"], *cells])
    return rows
