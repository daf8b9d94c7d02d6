"""Devices of other simulators as device files (`docs/spec/fit.md` 16).

Every key of the other simulator's file is in the result: for a key that is exact or approximated,
or as refused, with the reason.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from destage.base.errors import DataError, DestageError, UsageError
from destage.base.io.files import SETTINGS_BYTES, read_text
from destage.base.io.names import path_of, printable
from destage.fit.devicefile import literal
from destage.lab.ssd import open_device
from destage.model.provenance import made_by

__all__ = ["ImportedDevice", "ImportedKey", "Source", "imported"]

EXACT, APPROXIMATED, REFUSED = "exact", "approximated", "refused"


@dataclass(frozen=True)
class ImportedKey:
    """A key of the device file, or keys of the other simulator that no key stands for."""

    key: str | None
    """None where it was refused, or where it says what every device here does."""
    value: Any
    status: str
    """`exact`, `approximated` or `refused`."""
    source: tuple[str, ...]
    """Keys of the other simulator."""
    note: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class ImportedDevice:
    """A device of another simulator."""

    device_toml: str
    """The device file, with a status and the source's key for every key."""
    keys: tuple[ImportedKey, ...]

    @property
    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"keys": [key.data for key in self.keys], "device_toml": self.device_toml}


@dataclass
class Source:
    """The keys of another simulator's file, and those translated so far."""

    path: str
    keys: Mapping[str, str]
    made: list[ImportedKey] = field(default_factory=list)

    def error(self, key: str, expected: str) -> DataError:
        """The error of a key that is missing or has another value."""
        found = self.keys.get(key)
        said = "it is missing" if found is None else f"found {printable(found)}"
        return DataError(f"{printable(self.path)}: {printable(key)}: expected {expected}, {said}")

    def number(self, key: str, scale: Mapping[str, int] | None = None) -> float:
        """A number, whose suffix may scale it. Raises `DataError`."""
        text = self.keys.get(key, "").strip()
        times = 1
        for suffix, factor in (scale or {}).items():
            if text.endswith(suffix) and suffix:
                text, times = text.removesuffix(suffix).strip(), factor
                break
        try:
            return float(text) * times
        except ValueError:
            raise self.error(key, "a number") from None

    def whole(self, key: str, scale: Mapping[str, int] | None = None, least: int = 1) -> int:
        """A whole number of at least so much. Raises `DataError`."""
        value = self.number(key, scale)
        if value != int(value) or value < least:
            raise self.error(key, f"a whole number of at least {least}")
        return int(value)

    def given(self, *keys: str) -> bool:
        """Whether the file has all of them."""
        return all(self.keys.get(key, "").strip() for key in keys)

    def exact(self, key: str | None, value: Any, *source: str, note: str = "") -> None:
        """A key that means the same here."""
        self.made.append(ImportedKey(key, value, EXACT, source, note))

    def near(self, key: str | None, value: Any, *source: str, note: str) -> None:
        """A key that means about the same."""
        self.made.append(ImportedKey(key, value, APPROXIMATED, source, note))

    def refuse(self, note: str, *source: str) -> None:
        """Keys of the source, if it has them, that nothing stands for."""
        for key in source:
            if key in self.keys:
                self.made.append(ImportedKey(None, None, REFUSED, (key,), note))

    def word(self, key: str, meanings: Mapping[str, tuple[str, str]], ours: str) -> None:
        """A key whose value is a word: ours, and what differs, nothing if it is exact."""
        found = self.keys[key].strip()
        if found not in meanings:
            self.refuse(f"{printable(found)}: nothing here does that", key)
            return
        word, differs = meanings[found]
        if differs:
            self.near(ours, word, key, note=differs)
        else:
            self.exact(ours, word, key)

    def rest(self) -> None:
        """Refuse the remaining options."""
        known = {key for one in self.made for key in one.source}
        self.refuse("unknown to this import", *(key for key in self.keys if key not in known))

    @property
    def values(self) -> dict[str, Any]:
        """Our keys."""
        return {one.key: one.value for one in self.made if one.key is not None}


def imported(
    simulator: str,
    path: str | os.PathLike[str],
    parse: Callable[[str, str], Mapping[str, str]],
    convert: Callable[[Source], None],
) -> ImportedDevice:
    """The device of a file. Raises `DataError` if Destage cannot represent it."""
    name = path_of(os.fspath(path))
    text = read_text(name, f"a configuration of {simulator}", SETTINGS_BYTES)
    source = Source(name, parse(text.decode("utf-8", "replace"), name))
    convert(source)
    source.rest()
    toml = _toml(simulator, source)
    _checked(toml, name)
    return ImportedDevice(toml, tuple(source.made))


def _toml(simulator: str, source: Source) -> str:
    lines = [
        f"# {printable(os.path.basename(source.path))} of {simulator}.",
        f"# {made_by().get('command', 'made in Python')}",
        "# Each key: exact, approximated or refused, and the key that it comes from.",
        "",
        "[device]",
    ]
    lines += map(_line, (one for one in source.made if one.key is not None))
    # A device file without a preset collects in steps unless it says otherwise.
    lines.append(f"{'gc_step_pages = 0':<34} # approximated: whole blocks")
    lines += _without_key(source, "\n# Exact, without a key of their own:", EXACT)
    lines += _without_key(source, "\n# Approximated by doing without:", APPROXIMATED)
    lines += _without_key(source, "\n# Refused:", REFUSED)
    return "\n".join(lines) + "\n"


def _line(one: ImportedKey) -> str:
    said = f"{one.status} ({', '.join(one.source)})" if one.source else one.status
    said += f"; {one.note}" if one.note else ""
    return f"{f'{one.key} = {literal(one.value)}':<34} # {printable(said)}"


def _without_key(source: Source, title: str, status: str) -> Iterator[str]:
    some = [one for one in source.made if one.key is None and one.status == status]
    if some:
        yield title
    for one in some:
        for key in one.source:
            note = f": {one.note}" if one.note else ""
            yield printable(f"# {key} = {source.keys[key].strip()}{note}")


def _checked(toml: str, name: str) -> None:
    """Open it: errors are raised now."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "imported.toml"
        file.write_text(toml)
        try:
            open_device(file)
        except DestageError as e:
            said = str(e).replace(str(file), printable(name))
            raise DataError(f"{printable(name)}: no device here has all of it: {said}") from e


def one_of(name: str, known: Iterable[str]) -> None:
    """Raise `UsageError` for a simulator that is not known."""
    if name not in known:
        raise UsageError(f"expected {', '.join(known)}, found {printable(name)}")
