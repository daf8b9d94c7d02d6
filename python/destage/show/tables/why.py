"""Tables of `destage why`: the first difference of two policies, page by page, and its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from destage.model.words import counted, duration, number, plain
from destage.show.tables.table import Cell, Column, Table

__all__ = ["pages_table", "shares_table", "why_heading", "why_text"]

#: Pages of an eviction or a flush that are named.
MOST_NAMED = 8


def why_text(found: Mapping[str, Any]) -> str:
    """All of it as plain text."""
    tables = [pages_table(found), shares_table(found)]
    return "\n\n".join([why_heading(found), *(t.text() for t in tables if list(t.rows()))])


def why_heading(found: Mapping[str, Any]) -> str:
    """Where the two part, in sentences."""
    a, b, first = found["a"], found["b"], found["first"]
    head = f"A {a}, B {b}, cache {found['cache']}, "
    head += counted(found["accesses"], "access", "accesses")
    if first is None:
        return plain(f"{head}\nTheir decisions are equal at every access.")
    lines = [
        head,
        f"First different decision: access {number(first['access'])},"
        f" a {first['op']} of page {first['page']}:",
        f"  A {_decided(first['a'])}",
        f"  B {_decided(first['b'])}",
        f"Different decisions at {number(found['differing'])} accesses;"
        f" {number(found['only_a'])} hit with A alone, {number(found['only_b'])} with B alone.",
    ]
    return plain("\n".join(lines))


def _decided(decision: Mapping[str, Any]) -> str:
    said = "hits" if decision["hit"] else "misses"
    if decision["evicted"]:
        said += f", evicts {_named(decision['evicted'])}"
    for group in decision["flushed"]:
        said += f", writes {_named(group)}"
    return said


def _named(pages: Sequence[int]) -> str:
    shown = ", ".join(str(page) for page in pages[:MOST_NAMED])
    more = len(pages) - MOST_NAMED
    return shown + (f" and {more} more" if more > 0 else "")


def pages_table(found: Mapping[str, Any]) -> Table:
    """The pages with the largest difference."""
    titles = ("hits with A alone", "hits with B alone", "written with A", "written with B")
    columns = [Column("page", key=True), *(Column(title) for title in titles)]
    rows = [
        [
            Cell(str(page["page"])),
            *(Cell(number(page[k])) for k in ("only_a", "only_b", "written_a", "written_b")),
        ]
        for page in found["pages"]
    ]
    title = "Pages with the largest difference in hits"
    return Table(title, columns, [rows] if rows else [])


def shares_table(found: Mapping[str, Any]) -> Table:
    """Counts and times of both, and their differences."""
    columns = [Column("", right=False, key=True), Column("A"), Column("B"), Column("B minus A")]
    rows = [
        [
            Cell(share["what"]),
            *(Cell(_shown(share[k], share["unit"])) for k in ("a", "b")),
            Cell(_shown(share["b"] - share["a"], share["unit"])),
        ]
        for share in found["shares"]
    ]
    return Table("Counts and times", columns, [rows])


def _shown(value: float, unit: str) -> str:
    if unit == "ns":
        sign = "-" if value < 0 else ""
        return f"{sign}{duration(abs(value))}"
    return number(round(value)) if float(value).is_integer() else f"{value:,.1f}"
