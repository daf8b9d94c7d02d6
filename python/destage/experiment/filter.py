"""Conditions on runs, as `where` takes them: an expression of SQL that DuckDB holds of each row.

`==` and `!=` compare what is not there as a value, `none` stands for it, texts are in either kind
of quotes, and a size may stand beside `cache`: `policy != 'min' or cache <= '10%'`. All else is
DuckDB's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from destage import _destage
from destage.base.errors import UsageError
from destage.base.memory import SIZE, UNITS
from destage.experiment.answer import ADVICE, asked_in_sql

__all__ = ["rows_where"]

_IN_QUOTES = re.compile(r"'[^']*'|\"([^\"]*)\"")

#: Tokens that are translated, outside of texts; a name with a dot is the name of a column.
_TOKENS = re.compile(
    r"""(?P<size>(?P<left>'[^']*')\s*(?P<turned>[<>]=?)\s*cache\b(?![._])
          |\bcache\s*(?P<straight>[<>]=?)\s*(?P<right>'[^']*'))
      |(?P<text>'[^']*')
      |(?P<dotted>\b(?:params|device|ftl|host|cache|placement)\.\w+(?:\.\w+)*)
      |(?P<none>\b(?:none|None)\b)|(?P<same>==)|(?P<other>!=)""",
    re.VERBOSE,
)
#: Reasons of the database: its unknown columns, and how it begins the others.
_UNKNOWN = re.compile(r'Binder Error: Referenced column "([^"]+)" not found')
_KIND = re.compile(r"^[A-Z]\w+ Error: ")
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _reason(said: str, names: Sequence[str]) -> str:
    """Why a condition is refused, in the words of other unknown names."""
    match = _UNKNOWN.match(said)
    if not match:
        # The parenthesis that it fails at is that around the condition.
        return _KIND.sub("", said).replace('at or near ")"', "at or before the end")
    near = _destage.nearest(match[1], names)
    return f"unknown column {match[1]!r}" + (f", did you mean {near}?" if near else "")


def rows_where(rows: Sequence[Mapping[str, Any]], conditions: Sequence[str]) -> list[int]:
    """The places of the rows of which all conditions hold.

    Beside their columns rows need `cache`, `cache_bytes`, `page_bytes` and `unique_pages`. Raises
    `UsageError` for an invalid condition, and `MissingExtra` without the extra `sql`.
    """
    if not conditions or not rows:
        return list(range(len(rows)))
    names = dict.fromkeys(name for row in rows for name in row)
    conditions = [_IN_QUOTES.sub(_text, condition) for condition in conditions]
    for text in conditions:
        names |= dict.fromkeys(m["dotted"] for m in _TOKENS.finditer(text) if m["dotted"])
    columns = {name: _alike([row.get(name) for row in rows]) for name in names}
    columns["cache_percent"] = [_percent(row["cache"]) for row in rows]
    columns["place"] = list(range(len(rows)))
    for text in conditions:
        if ";" in _IN_QUOTES.sub("", text):
            raise UsageError(f"{text!r} is not a condition: expected one expression, found a ;")
        try:
            found = asked_in_sql(
                columns, f"SELECT place FROM runs WHERE ({_TOKENS.sub(_translated, text)}\n)"
            )
        except UsageError as e:
            # Without the query that was made of it, and without advice on `--sql`.
            said = str(e).removeprefix("sql: ").removesuffix(ADVICE).partition("\n\nLINE ")[0]
            said = _reason(" ".join(said.split()), list(names))
            raise UsageError(f"{text!r} is not a condition: {said}") from None
        wanted = {place for (place,) in found.rows}
        kept = [k for k, place in enumerate(columns["place"]) if place in wanted]
        columns = {name: [values[k] for k in kept] for name, values in columns.items()}
    return columns["place"]


def _alike(values: list[Any]) -> list[Any]:
    """Values of one type: numbers, truth values, or texts."""
    known = [value for value in values if value is not None]
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in known)
    if numbers or all(isinstance(value, bool) for value in known):
        return values
    return [None if value is None else str(value) for value in values]


def _percent(cache: object) -> float | None:
    found = SIZE.fullmatch(str(cache))
    return float(found[1].replace("_", "")) if found is not None and found[2] == "%" else None


def _text(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else "'" + found[1].replace("'", "''") + "'"


def _translated(found: re.Match[str]) -> str:
    if found["size"]:
        if found["left"]:
            return _compared(_TURNED[found["turned"]], found["left"], found[0])
        return _compared(found["straight"], found["right"], found[0])
    if found["dotted"]:
        return f'"{found["dotted"]}"'
    if found["none"]:
        return "NULL"
    if found["same"] or found["other"]:
        return " IS NOT DISTINCT FROM " if found["same"] else " IS DISTINCT FROM "
    return found[0]


def _compared(sign: str, text: str, whole: str) -> str:
    """The cache compared with a size: as requested, else by its bytes."""
    size = SIZE.fullmatch(text[1:-1])
    if size is None:
        return whole
    count, unit = float(size[1].replace("_", "")), size[2].lower()
    if unit == "%":
        # What 2 % come to in pages is rounded.
        pages = f"greatest(1, floor({count / 100} * unique_pages + 0.5))"
        rounded = f"cache_bytes {sign} {pages} * page_bytes"
        return f"coalesce(cache_percent {sign} {count}, {rounded})"
    if unit == "p":
        return f"cache_bytes {sign} {math.floor(count)} * page_bytes"
    if unit not in UNITS:
        return whole
    size_bytes = count * UNITS[unit]
    # As sizes of caches are: whole pages, rounded down.
    pages = f"floor({size_bytes} / page_bytes) * page_bytes"
    return f"cache_bytes {sign} if({size_bytes} >= page_bytes, {pages}, {size_bytes})"
