"""Tables of results: one layout, drawn as plain text, with rich, as HTML or as Markdown."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from destage.model.words import NBSP, plain

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["MARK", "Cell", "Column", "Table"]

#: Text is folded to this width, and no further, before columns go to another part.
FOLDED = 12

#: Beside the best value of a column; colour alone is not enough on paper.
MARK = "*"

#: Beside values that differ from the baseline: signs, and the words of a page.
WORDS = {"-": "lower", "+": "higher"}


@dataclass(frozen=True)
class Cell:
    """Text, and how it is marked in its group."""

    text: str
    best: bool = False
    sign: str = ""
    """`-` for significantly lower than the baseline, `+` for higher."""

    def __post_init__(self) -> None:
        """Take typeset text: tables are plain."""
        object.__setattr__(self, "text", plain(self.text))

    @property
    def marks(self) -> str:
        """The marks behind the text."""
        return (MARK if self.best else "") + self.sign


@dataclass(frozen=True)
class Column:
    """A heading, and on which side its cells are aligned."""

    title: str
    right: bool = True
    spare: bool = False
    """A terminal that is too narrow goes without it: other columns say the same."""
    key: bool = False
    """It says what a row is about: every part of a table that is too wide has it."""


@dataclass
class Table:
    """Rows in groups, which a line separates."""

    title: str
    columns: Sequence[Column]
    groups: list[list[list[Cell]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def rows(self) -> Iterable[list[Cell]]:
        """All rows, group after group."""
        return (row for group in self.groups for row in group)

    def _heads(self) -> list[list[str]]:
        """The headings in lines: a heading over numbers is no wider than it has to be."""
        widths = [0] * len(self.columns)
        for row in self.rows():
            widths = [max(w, len(cell.text)) for w, cell in zip(widths, row, strict=True)]
        heads = [
            _broken(c.title, w) if c.right else c.title.split("\n")
            for c, w in zip(self.columns, widths, strict=True)
        ]
        height = max(map(len, heads))
        # A short heading stands on the line above the rule.
        return [[""] * (height - len(h)) + h for h in heads]

    def _widths(self, heads: Sequence[Sequence[str]]) -> list[int]:
        """Width of each column, its mark not counted."""
        widths = [max(map(len, h)) for h in heads]
        for row in self.rows():
            widths = [max(w, len(cell.text)) for w, cell in zip(widths, row, strict=True)]
        return widths

    def _room_for_marks(self) -> list[int]:
        """Width of the marks of each column, at least one."""
        widths = [1] * len(self.columns)
        for row in self.rows():
            widths = [max(w, len(cell.marks)) for w, cell in zip(widths, row, strict=True)]
        return widths

    def _only(self, keep: Sequence[int]) -> Table:
        """The table with these columns."""
        groups = [[[row[k] for k in keep] for row in group] for group in self.groups]
        return Table(self.title, [self.columns[k] for k in keep], groups, self.notes)

    def parts(self, width: int) -> list[Table]:
        """Return the table in parts that a terminal of this width has room for, as far as can be.

        Spare columns go first. Then columns go to a part of their own, each part beginning with the
        key columns. Text may be folded; numbers never are.
        """
        marks = [w - 1 for w in self._room_for_marks()]
        whole = self._widths(self._heads())
        if _room(whole, marks) <= width:
            return [self]
        keep = [k for k, c in enumerate(self.columns) if not c.spare]
        least = [w if c.right else min(w, FOLDED) for c, w in zip(self.columns, whole, strict=True)]
        least = [w + m for w, m in zip(least, marks, strict=True)]
        if _room([least[k] for k in keep]) <= width:
            return [self._only(keep)]
        keys = [k for k in keep if self.columns[k].key] or keep[:1]
        split: list[list[int]] = [list(keys)]
        for k in keep:
            if k in keys:
                continue
            if len(split[-1]) > len(keys) and _room([least[j] for j in [*split[-1], k]]) > width:
                split.append(list(keys))
            split[-1].append(k)
        tables = [self._only(part) for part in split]
        for table in tables[1:]:
            table.title = ""
        for table in tables[:-1]:
            table.notes = []
        return tables

    def text(self) -> str:
        """Plain text, one space and the marks to the right of each number.

        Without rows it is the notes, if there are any.
        """
        if self.notes and not self.groups:
            return "\n".join([self.title, *self.notes] if self.title else self.notes)
        heads = self._heads()
        height = len(heads[0])
        widths, marks = self._widths(heads), self._room_for_marks()

        def line(cells: Iterable[tuple[str, str]]) -> str:
            parts = [
                (text.rjust(w) if c.right else text.ljust(w)) + mark.ljust(m)
                for (text, mark), w, m, c in zip(cells, widths, marks, self.columns, strict=True)
            ]
            return " ".join(parts).rstrip()

        rule = "-" * (sum(widths) + sum(marks) + len(widths) - 1)
        lines = [self.title] if self.title else []
        lines += [line((h[k], " ") for h in heads) for k in range(height)]
        for group in self.groups:
            lines.append(rule)
            lines.extend(line((c.text, c.marks) for c in row) for row in group)
        lines.extend(self.notes)
        return "\n".join(lines)

    def rich(self) -> RichTable:
        """Return it for a terminal, see `parts`: numbers are never cut, names go on several lines.

        Like plain text it has one space and a mark to the right of each cell.
        """
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        heads, marks = self._heads(), self._room_for_marks()
        drawn = RichTable(
            title=Text(self.title, style="bold") if self.title else None,
            title_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            padding=0,
            show_header=bool(self.groups or not self.notes),
            caption=Text("\n".join(self.notes), style="dim") if self.notes else None,
            caption_justify="left",
        )
        widths = self._widths(heads)
        for column, head, least, mark in zip(self.columns, heads, widths, marks, strict=True):
            drawn.add_column(
                "\n".join(line + " " * mark for line in head),
                justify="right" if column.right else "left",
                no_wrap=column.right,
                min_width=least + mark if column.right else min(least, FOLDED) + mark,
                overflow="fold",
            )
        for group in self.groups:
            for row in group:
                drawn.add_row(
                    *(
                        Text(c.text + c.marks.ljust(m), style="bold green" if c.best else "")
                        for c, m in zip(row, marks, strict=True)
                    )
                )
            drawn.add_section()
        return drawn

    def markdown(self) -> str:
        """Return it as a Markdown table; the best values are bold, signs are as in plain text."""

        def row(cells: Iterable[str]) -> str:
            return "| " + " | ".join(cells) + " |"

        def shown(cell: Cell) -> str:
            text = cell.text.replace("|", "\\|")
            return (f"**{text}**" if cell.best else text) + cell.sign

        lines = [row(c.title.replace("\n", " ") for c in self.columns)]
        lines.append("|" + "|".join("--:" if c.right else "---" for c in self.columns) + "|")
        lines.extend(row(shown(c) for c in r) for r in self.rows())
        if self.notes:
            lines += ["", *self.notes]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """Return it as a LaTeX tabular with the rules of booktabs; the best values are bold.

        Notes are comments above it.
        """

        def shown(cell: Cell) -> str:
            text = _latex(cell.text)
            text = f"\\textbf{{{text}}}" if cell.best else text
            return f"{text}$^{{{cell.sign}}}$" if cell.sign else text

        heads = [_latex(c.title.replace("\n", " ")) for c in self.columns]
        aligned = "".join("r" if c.right else "l" for c in self.columns)
        lines = [f"% {note}" for note in [self.title, *self.notes] if note]
        lines += [f"\\begin{{tabular}}{{{aligned}}}", "\\toprule", " & ".join(heads) + " \\\\"]
        for group in self.groups:
            lines.append("\\midrule")
            lines += [" & ".join(map(shown, row)) + " \\\\" for row in group]
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"

    def html(self) -> str:
        """Return it as an HTML table, for notebooks; signs are words."""
        out = [f"<table><caption>{html.escape(self.title)}</caption><thead><tr>"]
        out += [f"<th>{html.escape(c.title).replace(chr(10), ' ')}</th>" for c in self.columns]
        out.append("</tr></thead>")
        for group in self.groups:
            out.append("<tbody>")
            for row in group:
                out.append("<tr>")
                for cell, column in zip(row, self.columns, strict=True):
                    align = "right" if column.right else "left"
                    text = html.escape(cell.text)
                    text = f"<b>{text}</b>" if cell.best else text
                    text += f" <small>{WORDS[cell.sign]}</small>" if cell.sign else ""
                    out.append(f'<td style="text-align:{align}">{text}</td>')
                out.append("</tr>")
            out.append("</tbody>")
        out.append("</table>")
        out += [f"<p>{html.escape(note)}</p>" for note in self.notes]
        return "".join(out)


#: Characters that LaTeX does not take as they are.
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "µ": "$\\mu$",
    "\u00d7": "$\\times$",
    "<": "$<$",
    ">": "$>$",
    "±": "$\\pm$",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _room(widths: Sequence[int], more: Sequence[int] = ()) -> int:
    """Columns of a terminal that a table with these takes: a space and a mark beside each."""
    return sum(widths) + sum(more) + 2 * len(widths) + 1


def _broken(title: str, width: int) -> list[str]:
    """A heading in lines of this width, or of its longest word."""
    title = title.replace(" %", f"{NBSP}%")  # One word.
    width = max(width, *map(len, title.replace("\n", " ").split(" ")))
    lines: list[str] = []
    for line in title.split("\n"):
        lines.append("")
        for word in line.split(" "):
            longer = f"{lines[-1]} {word}".strip()
            if len(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(word)
    return [line.replace(NBSP, " ") for line in lines]
