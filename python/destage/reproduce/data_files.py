"""Strict reading of data files: each error has file, key, found and expected value."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import ValidationError

from destage import _destage
from destage.base.errors import DataError, MissingFile

__all__ = ["Declared", "Texts", "read"]

T = TypeVar("T")

if TYPE_CHECKING:
    Texts = tuple[str, ...]
else:

    class Texts(tuple):
        """Several texts; a file may have one text for a list of one."""


class Declared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a data file: exactly these keys."""


def read(path: Path | Traversable, kind: type[T]) -> T:
    """Read a TOML file as a `kind`. Raises `MissingFile`, or `DataError` with file and key."""
    name = path.name
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise MissingFile(f"{name}: {e.strerror}") from e
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise DataError(f"{name}: {e}") from e
    try:
        return _converted(data, kind)
    except ValidationError as e:
        raise DataError(f"{name}: {_explained('', data, kind, e)}") from e


def _converted(data: Any, kind: type[T]) -> T:
    return msgspec.convert(data, kind, dec_hook=_texts)


def _texts(kind: type, given: Any) -> Any:
    found = [given] if isinstance(given, str) else given
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ValueError("Expected `texts`")
    return kind(found)


#: Types as messages have them.
_NAMES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "texts": "a list of texts",
}


def _explained(place: str, data: Any, kind: Any, error: ValidationError) -> str:
    """The key of an error of `msgspec`, with the expected and the found value."""
    said, _, path = str(error).replace(" - at `key` in", " (key) - at").partition(" - at `$")
    for name, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", path):
        if name:
            place, data, kind = _joined(place, name), data[name], _fields(kind)[name]
        elif index != "...":
            data, kind = data[int(index)], get_args(kind)[0]
            names = [
                data[k] for k in ("id", "name", "knob") if isinstance(data, dict) and k in data
            ]
            place += f"[{[*names, int(index) + 1][0]}]"
        else:
            # The first wrong entry of a table, without its key.
            kind = get_args(_bare(kind))[-1]
            for key, value in data.items():
                try:
                    _converted(value, kind)
                except ValidationError as e:
                    return _explained(_joined(place, key), value, kind, e)
    quoted = re.search(r"[`'](\w+)[`']", said)
    key = quoted[1] if quoted else ""
    is_table = isinstance(data, Mapping) and "(key)" in said
    if said.startswith("Object contains unknown field") or is_table:
        known = list(get_args(get_args(kind)[0]) if is_table else _fields(kind))
        near = _destage.nearest(key, known)
        hint = f"did you mean {near}?" if near else f"known: {', '.join(known)}"
        return f"{_joined(place, key)}: there is no such key; {hint}"
    if said.startswith("Object missing required field"):
        wanted = getattr(_bare(_fields(kind)[key]), "__name__", "").lower()
        return f"{_joined(place, key)}: expected {_NAMES.get(wanted, 'a value')}, found nothing"
    if said.startswith("Invalid enum value"):
        values = [str(value) for value in get_args(_bare(kind)) if value != ""]
        said = f"expected {'one of ' if len(values) > 1 else ''}{', '.join(values)}"
    said = re.sub(r"`(\w+)`", lambda m: _NAMES.get(m[1], m[0]), said.partition(", got")[0])
    return f"{place}: {said[:1].lower()}{said[1:]}, found {data!r}"


def _joined(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _fields(kind: Any) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(_bare(kind))}


def _bare(kind: Any) -> Any:
    """A type without `| None` and without bounds."""
    while get_origin(kind) in (Union, UnionType, Annotated):
        kind = get_args(kind)[0]
    return kind
