"""Blocks that pages are made of: an article has sections, a section has blocks.

`templates/macros.html.j2` writes each kind of block once, for every page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from destage.show.tables.table import Table

__all__ = [
    "Part",
    "article",
    "bar",
    "cell",
    "charts",
    "control",
    "details",
    "fact",
    "grid",
    "head",
    "legend",
    "pairs",
    "section",
    "select",
    "table",
    "text",
]

Part = dict[str, Any]
Block = Part | None


def article(
    name: str,
    title: str,
    sections: Iterable[Block],
    *,
    lead: str = "",
    summary: Sequence[Sequence[str]] = (),
    warnings: Sequence[str] = (),
    tiles: Block = None,
) -> Part:
    """A trace, a store or an answer; `name` is its anchor, each of `summary` a box of sentences."""
    return {
        "id": name,
        "title": title,
        "lead": lead,
        "summary": [[line for line in lines if line] for lines in summary if lines],
        "warnings": warnings,
        "tiles": tiles,
        "sections": [part for part in sections if part],
    }


def section(title: str, *blocks: Block, label: str = "") -> Block:
    """A section of these blocks, without those that are None; None where none is left."""
    there = [block for block in blocks if block]
    return {"title": title, "label": label or title, "blocks": there} if there else None


def text(kind: str, *lines: str, title: str = "") -> Block:
    """Lines as a `note`, as one `above` other blocks, as `lines`, `list` or `typed` commands."""
    there = [line for line in lines if line]
    return {"kind": kind, "lines": there, "title": title} if there else None


def details(title: str, *blocks: Block) -> Part:
    """Blocks that a reader unfolds."""
    return {"kind": "details", "title": title, "blocks": [block for block in blocks if block]}


def charts(drawn: Sequence[Part], *, css: str = "charts") -> Block:
    """Charts beside each other."""
    return {"kind": "charts", "charts": drawn, "css": css} if drawn else None


def legend(group: str, chips: Sequence[Part], title: str = "Policies drawn in colour") -> Block:
    """The policies of a group of charts, to be switched; one alone has no legend."""
    return {"kind": "legend", "group": group, "chips": chips, "title": title} if chips[1:] else None


def fact(
    title: str, value: str, note: str = "", *, mono: bool | str = False, spans: Any = None
) -> Part:
    """A title with its value; `mono` if the value is code, `"both"` if the title is, too."""
    return {"title": title, "value": value, "note": note, "mono": mono, "spans": spans}


def pairs(kind: str, rows: Sequence[Part]) -> Block:
    """Facts, as `tiles`, `facts` or `made`."""
    return {"kind": "pairs", "css": kind, "rows": rows}


# Tables


def head(title: str, css: str = "", note: str | None = None, **sorts: str) -> Part:
    """The head of a column; with `name`, `kind`, `first` and `about` a reader sorts by it."""
    return {"text": title, "css": css, "note": note, "sorts": sorts}


def cell(shown: str, css: str = "", note: str = "", title: str = "", v: str | None = None) -> Part:
    """A cell that is more than text: `v` is the value that sorting and the CSV take."""
    return {"text": shown, "css": css, "note": note, "title": title, "v": v}


def grid(
    heads: Sequence[Part | str],
    rows: Sequence[Sequence[Part | str]],
    *,
    notes: Iterable[str] = (),
    css: str = "",
    **more: Any,
) -> Part:
    """A table, whose first column names the rows."""
    made: Part = {"frames": None, "first": None, "low": True, "plain": False}
    made |= {"title": "", "id": ""}
    named = [
        h if isinstance(h, dict) else head(h, "" if k else "text") for k, h in enumerate(heads)
    ]
    made |= {"kind": "grid", "heads": named, "rows": rows, "css": css}
    return made | {"notes": [note for note in notes if note]} | more


def table(made: Table | None) -> Block:
    """A table of the terminal; marked cells are bold."""
    if made is None:
        return None
    right = [c.right and k > 0 for k, c in enumerate(made.columns)]
    heads = [
        head(c.title.replace("\n", " "), "" if is_right else "text")
        for c, is_right in zip(made.columns, right, strict=True)
    ]
    rows = [
        [
            cell(
                c.text, f"{'' if is_right or not k else 'text '}{'best' if c.best else ''}".strip()
            )
            for k, (c, is_right) in enumerate(zip(row, right, strict=True))
        ]
        for row in made.rows()
    ]
    return grid(heads, rows, notes=made.notes)


# Controls


def bar(*controls: Block) -> Part:
    """Controls in a row."""
    return {"kind": "bar", "controls": [control for control in controls if control]}


def select(title: str, options: Iterable[tuple[str, ...]], chosen: str, **mark: str) -> Part:
    """A choice: each option has a value, its words, and the group that it stands in, if any."""
    groups: dict[str, list[Part]] = {}
    for value, words, *group in options:
        one = {"value": value, "text": words, "chosen": value == chosen}
        groups.setdefault("".join(group), []).append(one)
    return {"is": "select", "title": title, "groups": groups, "mark": _mark(mark)}


def control(kind: str, title: str = "", **mark: str) -> Part:
    """A `check` box, a `button`, or an `output` for words of a script."""
    return {"is": kind, "title": title, "mark": _mark(mark)}


def _mark(mark: Mapping[str, str]) -> dict[str, str]:
    """Attributes that scripts find a control by: `data_all` is `data-all`."""
    return {name.replace("_", "-"): value for name, value in mark.items()}
