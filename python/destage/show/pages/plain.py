"""Tables for readers without scripts, and the policy that scripts of a page run under.

A page holds everything that it needs, and says so to the browser: nothing is loaded or sent, no
code runs but the scripts whose hash stands in the policy, and none is made out of text (Vega's
expressions are interpreted). Charts are then drawn by scripts still; without them, the points
stand in tables.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from destage.model.drive import flat
from destage.model.words import ordinal
from destage.show.pages.blocks import Part, grid, head

__all__ = ["lines", "means", "points", "policy"]

#: Rows of a table in place of a chart; of more, every so many-th is shown.
ROWS = 100
#: Points of a line that are shown at least, however many lines there are.
LEAST = 10
#: Columns that only the drawing needs.
_HIDDEN = ("color", "dash", "marker", "rank")


def policy(styles: Sequence[str], scripts: Sequence[str] = ()) -> str:
    """The content-security policy of a page with these style and script elements, and no others."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(scripts)}",
            f"style-src-elem {_hashes(styles)}",
            # Attributes of charts: colours and sizes, no code.
            "style-src-attr 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hashes(elements: Sequence[str]) -> str:
    found = []
    for text in elements:
        digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()
        found.append(f"'sha256-{base64.b64encode(digest).decode()}'")
    return " ".join(found) or "'none'"


def points(rows: Sequence[Mapping[str, Any]]) -> Part | None:
    """A table of a chart's points, with a note on omitted rows."""
    if len(rows) < 2:
        # A line that was ruled, no points.
        return None
    heads = [k for k in rows[0] if k not in _HIDDEN and not k.startswith("_")]
    step = -(-len(rows) // ROWS)
    note = f"every {ordinal(step)} of {len(rows):,} rows" if step > 1 else ""
    return _table(heads, rows[::step], note)


def lines(rows: Sequence[Mapping[str, Any]]) -> Part | None:
    """The same of rows that hold lists, one a line: as many points of each."""
    if not rows:
        return None
    longest = max((len(v) for row in rows for v in row.values() if isinstance(v, list)), default=0)
    step = -(-longest // max(LEAST, ROWS // len(rows)))
    thinned = [
        {k: v[::step] if isinstance(v, list) else v for k, v in row.items()}
        | ({"step_s": row["step_s"] * step} if "step_s" in row else {})
        for row in rows
    ]
    found = [row for row in flat(thinned) if any(v is not None for v in row.values())]
    heads = [k for k in found[0] if k not in _HIDDEN and not k.startswith("_")]
    return _table(heads, found, f"every {ordinal(step)} point of each line" if step > 1 else "")


#: Keys of a chart's data that a reader has another word for.
_HEADS = {"collecting": "in GC", "host": "for the host"}


def means(rows: Sequence[Mapping[str, Any]], key: str) -> Part | None:
    """One row for each that holds a list: the mean of it, a share of time, in per cent."""
    held = ((row, [v for v in row[key] if v is not None]) for row in rows)
    found = [
        {k: row[k] for k in ("label", "frames", "unit", "last")}
        | {f"{_HEADS.get(key, key)}, % of the time": 100 * sum(values) / len(values)}
        for row, values in held
        if values
    ]
    return points(found)


def _table(heads: Sequence[str], rows: Sequence[Mapping[str, Any]], note: str) -> Part:
    cells = [[_text(row.get(k)) for k in heads] for row in rows]
    return grid(
        [head(_HEADS.get(k, k)) for k in heads], cells, notes=[note], css=" points", plain=True
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
