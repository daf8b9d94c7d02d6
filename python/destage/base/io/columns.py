"""Traces from memory: page numbers, or columns of requests, written where the reader finds them.

The file is named by its content, in the folder of decoded traces: the same columns are the same
trace, which can be pickled, and made again, as long as the folder is kept.
"""

from __future__ import annotations

import hashlib
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from destage import _destage
from destage.base.errors import DataError, UsageError
from destage.base.io.files import made_folder, write_whole
from destage.base.io.names import shown

__all__ = ["Columns", "from_memory", "naming_items"]

Columns = Mapping[str, Sequence[Any]]

#: Columns that a trace in memory may have, and the reader's options for each.
_KNOWN: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "page": ("offset", {"offset_unit": "page"}),
    "offset_bytes": ("offset", {"offset_unit": "byte"}),
    "pages": ("length", {"length_unit": "page"}),
    "length_bytes": ("length", {"length_unit": "byte"}),
    "time_ns": ("time", {"time_unit": "ns"}),
    "time_us": ("time", {"time_unit": "us"}),
    "time_ms": ("time", {"time_unit": "ms"}),
    "time_s": ("time", {"time_unit": "s"}),
    "time": ("time", {}),
    "op": (
        "op",
        {
            "op_read": ["read", "r", "R", "Read", "0", "False"],
            "op_write": ["write", "w", "W", "Write", "1", "True"],
            "op_trim": ["trim", "D"],
            "op_flush": ["flush", "F"],
        },
    ),
    "device": ("device", {}),
    "response_ns": ("response", {"response_unit": "ns"}),
}

#: Lines that are put together at a time.
_LINES = 1 << 14


def from_memory(
    given: object, folder: Path, options: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Path, dict[str, Any]] | None:
    """The file of a trace in memory and the options that read it; None for paths.

    Takes whole numbers (pages that are read), and columns: a mapping, a data frame, an Arrow table.
    `columns` of the options says which column is what, as for a file; without it the columns have
    our names, and others are left out. Raises `UsageError` for columns that are unknown, missing or
    of different lengths.
    """
    columns = _columns(given)
    if columns is None:
        return None
    if not columns:
        raise UsageError("trace: expected page numbers or columns, got none")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {count:,}" for name, count in lengths.items())
        raise UsageError(f"trace: expected columns of one length, got {said}")
    found = {"format": "csv", "delimiter": ",", "header": True}
    if options.get("columns"):
        found |= _mapped(columns, options)
    else:
        columns = _known(columns)
        found |= _by_name(columns)
    return _written(columns, folder), found


@contextmanager
def naming_items(made: tuple[Path, object] | None) -> Iterator[None]:
    """Raise the error of a line of such a file as one of an item of the trace, from 0."""
    try:
        yield
    except DataError as e:
        file = re.escape(str(made[0])) if made else None
        found = re.match(rf"{file}:(\d+):\d+: (.*)", str(e)) if file else None
        if found is None:
            raise
        said = f"trace in memory: item {int(found[1]) - 2}: {found[2]}"
        hint = 'on_error="skip" would skip such items and count them'
        raise DataError(f"{said}\n  {hint}") from None


def _known(columns: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """The columns of our names; a misspelt or missing one is an error."""
    for name in columns:
        near = None if name in _KNOWN else _destage.nearest(str(name), list(_KNOWN))
        if near:
            raise UsageError(
                f"trace: unknown column {shown(name)}, did you mean {near}?"
                f" (known: {', '.join(_KNOWN)}; columns= gives others a role)"
            )
    known = {name: values for name, values in columns.items() if name in _KNOWN}
    if not any(_KNOWN[name][0] == "offset" for name in known):
        others = [name for name in columns if name not in _KNOWN]
        found = f", found {', '.join(map(shown, others[:8]))}" if others else ""
        raise UsageError(
            f"trace: expected a column page or offset_bytes{found}: rename it, or say which column"
            " is what: columns={'offset': NAME, ...} with offset_unit and the other options of csv"
        )
    return known


def _by_name(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The options that read columns of our names."""
    roles = [_KNOWN[name][0] for name in columns]
    twice = next((role for role in roles if roles.count(role) > 1), None)
    if twice is not None:
        both = [name for name in columns if _KNOWN[name][0] == twice]
        raise UsageError(f"trace: columns {' and '.join(both)} mean the same: give one")
    options: dict[str, Any] = {"columns": dict(zip(roles, columns, strict=True))}
    for name, values in columns.items():
        options |= _KNOWN[name][1]
        if name == "time":
            options["time_unit"] = _unit_of(values)
    if "op" not in roles:
        options["default_op"] = "read"
    if "length" not in roles and "offset_bytes" in columns:
        raise UsageError("trace: offset_bytes needs length_bytes beside it; page does not")
    return options


def _mapped(columns: Mapping[str, Sequence[Any]], options: Mapping[str, Any]) -> dict[str, Any]:
    """Mapping derived from the values, beside the user's: the unit of a column of dates."""
    mapping = options["columns"]
    named = mapping.get("time") if isinstance(mapping, Mapping) else None
    if isinstance(named, int) and not isinstance(named, bool):
        named = list(columns)[named] if 0 <= named < len(columns) else None
    time = str(named)
    if time not in columns or options.get("time_unit"):
        return {}
    unit = _unit_of(columns[time])
    return {"time_unit": unit} if unit else {}


def _unit_of(times: Sequence[Any]) -> str | None:
    """The unit of times that are dates; None of numbers."""
    first = next((one for one in times if one is not None), None)
    return "date" if isinstance(first, str) or hasattr(first, "isoformat") else None


def _columns(given: object) -> dict[str, Sequence[Any]] | None:
    """The given values by the names of columns; None where they are paths."""
    if isinstance(given, (str, os.PathLike)):
        return None
    if isinstance(given, (bytes, bytearray)):
        raise UsageError(f"trace: expected a path as text, got {shown(given)}: os.fsdecode(path)")
    if isinstance(given, Mapping):
        for name, values in given.items():
            if not isinstance(values, Iterable):
                raise UsageError(f"trace: {name}: expected a column of values, got {shown(values)}")
        return {name: _listed(values) for name, values in given.items()}
    names = getattr(given, "column_names", None)  # Arrow; its `columns` have no names.
    names = getattr(given, "columns", None) if names is None else names
    if names is not None:
        return {str(name): _listed(given[name]) for name in names}  # type: ignore[index]
    if not hasattr(given, "__len__") or not hasattr(given, "__getitem__"):
        return None
    if len(given) == 0 or isinstance(given[0], (str, os.PathLike)):
        return None
    return {"page": _pages(_listed(given))}


def _listed(values: Any) -> Sequence[Any]:
    """A column as a list: of NumPy, polars, pandas and Arrow by their own ways."""
    dtype = getattr(values, "dtype", None)
    # Dates as text keep their nanoseconds, and are still dates.
    if getattr(dtype, "kind", None) == "M" and hasattr(values, "astype"):
        return [str(one) for one in values.astype(str)]
    is_temporal = getattr(dtype, "is_temporal", None)
    if "Duration" in str(dtype):
        raise UsageError(
            f"trace: expected dates or numbers, got a column of {dtype}: convert it to numbers,"
            " such as column.dt.total_nanoseconds() with time_unit='ns'"
        )
    if is_temporal is not None and is_temporal() and hasattr(values, "cast"):
        return list(values.cast(str).to_list())
    for way in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, way):
            return list(getattr(values, way)())
    return list(values)


def _pages(values: Iterable[Any]) -> list[int]:
    found = []
    for k, value in enumerate(values):
        try:
            page = operator.index(value)
        except TypeError:
            page = -1
        if page < 0:
            raise UsageError(
                f"trace: item {k}: expected a page number from 0, or a path, got {shown(value)}"
            )
        found.append(page)
    return found


def _lines(columns: Columns) -> Iterator[str]:
    yield ",".join(map(_field, columns)) or '""'
    for row in zip(*columns.values(), strict=True):
        # A blank line is no record: of one column, a missing value is an empty field.
        yield ",".join("" if value is None else _field(value) for value in row) or '""'


def _field(value: object) -> str:
    text = str(value)
    if any(mark in text for mark in ',"\n\r'):
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text


def _written(columns: Columns, folder: Path) -> Path:
    """The file with these columns, which is there if it was written before."""
    pieces, piece = [], []
    for line in _lines(columns):
        piece.append(line)
        if len(piece) == _LINES:
            pieces.append("\n".join(piece))
            piece = []
    content = "\n".join([*pieces, *piece, ""]).encode("utf-8", "surrogateescape")
    name = f"memory-{hashlib.sha256(content).hexdigest()[:16]}.csv"
    target = made_folder(folder) / name
    if not target.exists():
        write_whole(target, content)
    return target
