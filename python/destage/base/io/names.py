"""Names of files: what can be one, and how it is shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from destage.base.errors import UsageError

__all__ = [
    "PathLike",
    "check_page",
    "home_path_of",
    "near_file",
    "path_of",
    "paths_of",
    "printable",
    "shown",
    "text_of",
]

PathLike = str | os.PathLike[str]


def printable(text: object) -> str:
    """Text without characters that cannot be shown; they appear as escapes."""
    whole = str(text)
    if whole.isprintable():  # as nearly every text is
        return whole
    return "".join(
        c if c.isprintable() or c == "\u00a0" else c.encode("unicode_escape").decode("ascii")
        for c in whole
    )


def shown(value: object) -> str:
    """A value as a sentence has it: what takes several lines is called by the first one."""
    return repr(value).partition("\n")[0]


def path_of(name: object, what: str = "file") -> str:
    """The path that is meant.

    Raises `UsageError` for an invalid file name: empty, with a NUL byte, or no text.
    """
    if not isinstance(name, (str, os.PathLike)) or not isinstance(os.fspath(name), str):
        raise UsageError(f"{what}: expected a path, got {shown(name)}")
    path = os.fspath(name)
    if path == "":
        raise UsageError(f"{what}: expected a path, got an empty one")
    if "\0" in path:
        raise UsageError(f"{what}: {printable(path)}: a path cannot hold a NUL character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as e:
        raise UsageError(f"{what}: {printable(path)}: no file can have this name") from e
    return path


def home_path_of(name: object, what: str = "file") -> Path:
    """The path that is meant, `~` and `~user` in front expanded. Raises `UsageError`."""
    path = path_of(name, what)
    try:
        return Path(path).expanduser()
    except RuntimeError as e:
        raise UsageError(f"{what}: {printable(path)}: there is no such home folder") from e


def text_of(value: object, what: str) -> str:
    """The text. Raises `UsageError` for another type, and for lone surrogates."""
    if not isinstance(value, str):
        raise UsageError(f"{what}: expected a text, got {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as e:
        raise UsageError(f"{what}: {printable(value)}: not Unicode text") from e
    return value


def paths_of(paths: PathLike | Sequence[PathLike]) -> list[Path]:
    """One path or several, as several. Raises `UsageError` for another type."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(given, Sequence):
        raise UsageError(f"paths: expected a path or several, got {shown(paths)}")
    if not given:
        raise UsageError("paths: expected at least one")
    return [Path(path_of(p, "paths")) for p in given]


def near_file(path: PathLike) -> str:
    """The file of the same folder that has nearly this name, as a question; empty without one."""
    from difflib import get_close_matches

    folder, name = os.path.split(os.fspath(path))
    try:
        near = get_close_matches(name, os.listdir(folder or "."), n=1, cutoff=0.8)
    except (OSError, TypeError):
        return ""
    return f"; did you mean {printable(os.path.join(folder, near[0]))}?" if near else ""


#: Names of files that are no page.
_OTHERS = {
    *(".pdf", ".png", ".svg", ".jpg", ".jpeg", ".ps", ".eps", ".doc", ".docx", ".xlsx"),
    *(".csv", ".json", ".jsonl", ".parquet", ".md", ".txt", ".toml", ".ipynb", ".gz"),
}


def check_page(path: str | os.PathLike[str]) -> None:
    """Raise `UsageError` for a name that promises something else than a page."""
    name = os.fspath(path)
    ending = os.path.splitext(name)[1]
    if ending.lower() in _OTHERS and (os.path.isfile(name) or not os.path.exists(name)):
        raise UsageError(
            f"{printable(name)}: a report is an HTML page: name it"
            f" {printable(name.removesuffix(ending))}.html; a browser prints it as PDF"
        )
