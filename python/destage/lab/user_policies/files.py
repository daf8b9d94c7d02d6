"""Policies in files: `mine.py:Hyperbolic[sample=16]`, wherever the name of a policy goes."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from destage.base.errors import DataError, MissingFile, UsageError
from destage.base.io.names import home_path_of, near_file, printable
from destage.lab.user_policies.trust import split_name
from destage.model.naming import members

__all__ = ["blame", "blamed", "load", "source_sha256", "split"]

#: What a policy has.
_CALLS = ("request", "evict", "admit")

#: Modules that were loaded: by path, with the SHA-256 of the file that they are of.
_loaded: dict[Path, tuple[str, ModuleType]] = {}


def split(text: str) -> tuple[str, str | None, dict[str, Any]]:
    """The file, the class if one is named, and the parameters. Raises `UsageError`."""
    found = split_name(text)
    if found is None:
        raise UsageError(f"policy {text}: expected FILE.py:CLASS or FILE.py:CLASS[key=value;...]")
    path, name, inside = found
    params: dict[str, Any] = {}
    for pair in inside.split(";") if inside else ():
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key.isidentifier() or not value:
            raise UsageError(f"policy {text}: expected key=value in the brackets, found {pair!r}")
        if key in params:
            raise UsageError(f"policy {text}: {key} is given twice")
        params[key] = _value(value)
    return path, name, params


def _value(text: str) -> bool | int | float | str:
    """A value as one types it: a truth value, a number, or else a text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def load(path: str, name: str | None) -> Callable[..., Any]:
    """The class `name` of a file, which `trust.may_run`; its only policy if no class is named.

    The file is run as a module of its own, once unless it changes, with its folder in reach of its
    imports. Raises `MissingFile`, `DataError` for a file that does not run, and `UsageError`.
    """
    module = _module(path)
    found = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and _is_policy(value)
    }
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name is not None:
        made = vars(module).get(name)
        alike = [key for key in found if key.lower() == name.lower()]
        if made is None and len(alike) == 1:
            made = found[alike[0]]
        if made is not None and (not inspect.isclass(made) or _is_policy(made)) and callable(made):
            return made  # type: ignore[no-any-return]
        if made is not None:
            # Of a base class with abstract methods those count as missing.
            open_ones = getattr(made, "__abstractmethods__", ())
            lacks = [c for c in _CALLS if c in open_ones or not callable(getattr(made, c, None))]
            lacks += sorted(set(open_ones) - set(lacks))
            what = f"it has no method {lacks[0]}" if inspect.isclass(made) else "it is no class"
            raise UsageError(f"policy {printable(path)}:{name}: {what}")
    known = ", ".join(found) or "none"
    wanted = f"there is no class {name} in it" if name is not None else "name a class of it"
    if not found:
        known += "; `destage new-policy Mine` writes one to start from"
    elif name is None:
        known += f"): -p {printable(path)}:{next(iter(found))}"
        raise UsageError(f"policy {printable(path)}: {wanted} (its policies: {known}")
    raise UsageError(f"policy {printable(path)}: {wanted} (its policies: {known})")


def _is_policy(made: type) -> bool:
    whole = not inspect.isabstract(made)
    return whole and all(callable(getattr(made, call, None)) for call in _CALLS)


def _meant(path: Path) -> str:
    """The policy of the table that a file's name says, or the file that has nearly this name."""
    if path.stem in members("all"):
        return f"; the policy {path.stem} needs no file: -p {path.stem}"
    return near_file(path)


def _module(path: str) -> ModuleType:
    """The file as a module."""
    where = home_path_of(path, "policy")
    try:
        text = where.read_bytes()
    except OSError as e:
        if isinstance(e, FileNotFoundError):
            raise MissingFile(f"policy {printable(path)}: no such file{_meant(where)}") from e
        raise MissingFile(f"policy {printable(path)}: {e.strerror or e}") from e
    whole = where.resolve()
    content = hashlib.sha256(text).hexdigest()
    if whole in _loaded and _loaded[whole][0] == content:
        return _loaded[whole][1]
    # A unique name: two folders may both have a `mine.py`.
    mark = hashlib.sha256(str(whole).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    name = f"destage_own_{re.sub(r'[^0-9A-Za-z_]', '_', where.stem)}_{mark}"
    spec = importlib.util.spec_from_file_location(name, whole)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(whole.parent))
    try:
        # Compiled here: no cache of byte code is left beside a user's file.
        exec(compile(text, str(whole), "exec"), vars(module))
    except Exception as e:
        sys.modules.pop(name, None)
        raise DataError(f"{printable(path)}{_line_of(e, whole)}: {type(e).__name__}: {e}") from e
    finally:
        sys.path.remove(str(whole.parent))
    _loaded[whole] = (content, module)
    return module


def source_sha256(path: str) -> str:
    """The SHA-256 of the file as it was loaded."""
    return _loaded[home_path_of(path, "policy").resolve()][0]


def _line_of(error: Exception, path: Path) -> str:
    """Where in the file it happened, as `:12`."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f":{error.lineno}"
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    return f":{lines[-1]}" if lines else ""


#: The attribute by which an exception says which policy it came out of, and from which call.
_BLAMED = "destage_policy"


def blame(error: BaseException, where: str) -> None:
    """Write into an exception out of a policy which policy, call and access it was; once."""
    if blamed(error) is None:
        setattr(error, _BLAMED, where)
        error.add_note(where)


def blamed(error: BaseException) -> str | None:
    """The policy that `blame` noted."""
    found = getattr(error, _BLAMED, None)
    return found if isinstance(found, str) else None
