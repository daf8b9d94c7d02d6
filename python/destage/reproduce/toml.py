"""Reads TOML tables strictly: every error names the file and the key, and no key is overlooked."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

from destage import _destage
from destage.errors import DataError, MissingFile

__all__ = ["Table", "read"]

T = TypeVar("T")


def read(path: Path | Traversable) -> Table:
    """Read a TOML file. Raises `MissingFile`, or `DataError` with line and column."""
    name = path.name
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise MissingFile(f"{name}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise DataError(f"{name}: no UTF-8 text: {e}") from e
    except tomllib.TOMLDecodeError as e:
        raise DataError(f"{name}: {e}") from e
    return Table(name, "", data)


class Table:
    """A table of a file. What is asked for counts as known; `done` refuses the rest."""

    def __init__(self, file: str, place: str, data: Mapping[str, Any]) -> None:
        """Wrap `data`, which stands at `place` in `file`."""
        self.file = file
        self.place = place
        self.data = data
        self.asked: dict[str, None] = {}

    def at(self, key: str) -> str:
        """Return where a key stands, for messages."""
        return f"{self.file}: {self.place}.{key}" if self.place else f"{self.file}: {key}"

    def wrong(self, key: str, expected: str) -> DataError:
        """Return the error for what stands under a key."""
        found = repr(self.data[key]) if key in self.data else "nothing"
        return DataError(f"{self.at(key)}: expected {expected}, found {found}")

    def has(self, key: str) -> bool:
        """Say whether the key is there."""
        return key in self.data

    def _take(self, key: str, expected: str, default: T | None, fits: Callable[[Any], bool]) -> T:
        self.asked[key] = None
        if key not in self.data and default is not None:
            return default
        if key not in self.data or not fits(self.data[key]):
            raise self.wrong(key, expected)
        value: T = self.data[key]
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; without a default it must be there."""
        return self._take(key, "a text", default, lambda v: isinstance(v, str) and v != "")

    def word(self, key: str, words: Sequence[str], default: str | None = None) -> str:
        """Return one of some words."""
        word = self.text(key, default)
        if word not in words:
            raise self.wrong(key, f"one of {', '.join(words)}")
        return word

    def whole(self, key: str, default: int | None = None) -> int:
        """Return a whole number that is not negative."""
        fits = lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0  # noqa: E731
        return self._take(key, "a whole number", default, fits)

    def real(self, key: str, default: float | None = None) -> float:
        """Return a number."""
        fits = lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)  # noqa: E731
        return float(self._take(key, "a number", default, fits))

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return a truth value."""
        return self._take(key, "true or false", default, lambda v: isinstance(v, bool))

    def texts(self, key: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return a list of texts; a single text stands for a list of one."""
        self.asked[key] = None
        value = self.data.get(key, default)
        if isinstance(value, str):
            return (value,)
        if value is None or not isinstance(value, Sequence):
            raise self.wrong(key, "a list of texts")
        if not all(isinstance(v, str) for v in value):
            raise self.wrong(key, "a list of texts")
        return tuple(value)

    def names(self, key: str, default: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return a table of texts."""
        self.asked[key] = None
        value = self.data.get(key, default)
        if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
            raise self.wrong(key, "a table of texts")
        return dict(value)

    def table(self, key: str) -> Table | None:
        """Return a table, if it is there."""
        self.asked[key] = None
        if key not in self.data:
            return None
        if not isinstance(self.data[key], Mapping):
            raise self.wrong(key, "a table")
        return Table(self.file, f"{self.place}.{key}" if self.place else key, self.data[key])

    def need(self, key: str) -> Table:
        """Return a table that must be there."""
        found = self.table(key)
        if found is None:
            raise self.wrong(key, "a table")
        return found

    def tables(self, key: str) -> list[Table]:
        """Return an array of tables, empty if there is none; each is placed by its id or number."""
        self.asked[key] = None
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, Mapping) for v in value):
            raise self.wrong(key, "an array of tables")
        found = []
        for k, one in enumerate(value):
            name = one.get("id") or one.get("name") or one.get("knob") or str(k + 1)
            found.append(Table(self.file, f"{key}[{name}]", one))
        return found

    def any(self, key: str) -> Any:
        """Return whatever stands there, or None."""
        self.asked[key] = None
        return self.data.get(key)

    def children(self) -> list[tuple[str, Table]]:
        """Return all entries, each of which must be a table."""
        return [(key, self.need(key)) for key in self.data]

    def done(self) -> None:
        """Raise `DataError` for a key that nobody asked for."""
        for key in self.data:
            if key not in self.asked:
                near = _destage.nearest(key, list(self.asked))
                hint = f"did you mean {near}?" if near else f"known: {', '.join(self.asked)}"
                raise DataError(f"{self.at(key)}: there is no such key; {hint}")
