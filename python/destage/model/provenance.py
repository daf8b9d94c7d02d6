"""Origin of a result: version, commit, and the command line of the command that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from destage import _destage

__all__ = ["commanded", "document", "made_by"]

#: The command line that runs, without what changes no number; None in Python.
_command: ContextVar[str | None] = ContextVar("destage_command", default=None)


@contextmanager
def commanded(command: str) -> Iterator[None]:
    """Record the command line in files written within."""
    token = _command.set(command)
    try:
        yield
    finally:
        _command.reset(token)


def made_by() -> dict[str, str]:
    """Version, commit where the build knew it, command where there is one."""
    made = {
        "version": _destage.VERSION,
        "commit": getattr(_destage, "COMMIT", None),
        "command": _command.get(),
    }
    return {key: value for key, value in made.items() if value}


def document(kind: str, content: Mapping[str, Any], schema_version: int = 1) -> dict[str, Any]:
    """JSON of a command: its schema, its version, then its content."""
    head = {"schema": f"destage.{kind}", "schema_version": schema_version}
    return {**head, "version": _destage.VERSION, **content}
