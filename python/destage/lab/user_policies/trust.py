"""Which policies in files may run: a policy is a program, and data may name one.

A name in a call of Python, or on the command line, is the user's. A name in a result, a SPEC, a
device's file or a `--config` file may be anybody's: it runs only where the user has allowed that.
Every file of a policy comes through `may_run` before any of it is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

from destage.base.errors import UsageError
from destage.base.io.names import home_path_of, printable

__all__ = ["from_command_line", "from_data", "is_in_a_file", "may_run", "split_name"]

#: A file, a class in it, parameters.
_NAMED = re.compile(r"(?P<path>[^\[\]]+\.py)(?::(?P<name>[^\[\]:]*))?(?:\[(?P<params>.*)\])?")


@dataclass(frozen=True)
class _Rules:
    """Permission to run code, while names come from data."""

    source: str
    """The file that names policies, as messages call it."""
    typed: frozenset[tuple[Path, str | None]] = frozenset()
    """Files and classes on the command line; a file without a class is all of its classes."""
    allow_code: bool = False
    """Whatever is named may run."""
    dry_run: bool = False
    """Only typed names may run."""


#: None: names come from the caller.
_rules: ContextVar[_Rules | None] = ContextVar("destage_code", default=None)


def is_in_a_file(text: str) -> bool:
    """Whether this names a policy by its file, as opposed to one of the table."""
    return _NAMED.fullmatch(text.strip()) is not None


def split_name(text: str) -> tuple[str, str | None, str] | None:
    """The file, the class if one is named, and the parameters as text; None for other names."""
    found = _NAMED.fullmatch(text.strip())
    return None if found is None else (found["path"].strip(), found["name"], found["params"] or "")


def _resolved(path: str, name: str | None) -> tuple[Path, str | None]:
    # `load` takes a class in any case.
    return home_path_of(path, "policy").resolve(), None if name is None else name.lower()


@contextmanager
def from_command_line(
    typed: Iterable[str], source: str, *, allow_code: bool, dry_run: bool
) -> Iterator[None]:
    """Run only what these words name, or with `allow_code` whatever `source` names.

    A dry run never runs more than the words name.
    """
    files = [_resolved(found[0], found[1]) for found in map(split_name, typed) if found is not None]
    with _set(_Rules(source, frozenset(files), allow_code, dry_run)):
        yield


@contextmanager
def from_data(source: str, *, allow_code: bool = False, dry_run: bool = False) -> Iterator[None]:
    """Names come from data, which messages call `source`; what a command line allows still holds.

    Nothing else may run, unless with `allow_code`; then nothing does in a dry run.
    """
    rules = _rules.get() or _Rules(source)
    allow_code, dry_run = allow_code or rules.allow_code, dry_run or rules.dry_run
    with _set(replace(rules, source=source, allow_code=allow_code, dry_run=dry_run)):
        yield


@contextmanager
def _set(rules: _Rules) -> Iterator[None]:
    token = _rules.set(rules)
    try:
        yield
    finally:
        _rules.reset(token)


def may_run(path: str, name: str | None) -> bool:
    """Whether a class of a file may run; False in a dry run, which does without it.

    Raises `UsageError` for what only data name.
    """
    rules = _rules.get()
    if rules is None:
        return True
    file, cls = _resolved(path, name)
    if (file, cls) in rules.typed or (file, None) in rules.typed:
        return True
    if not rules.allow_code:
        called = printable(path if name is None else f"{path}:{name}")
        raise UsageError(
            f"{rules.source} names the policy {called}, a program, which is not run: to run it,"
            f" give -p {called} or --allow-code (in Python allow_code=True)"
        )
    return not rules.dry_run
