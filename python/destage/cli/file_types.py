"""Types of flags and arguments that name files: inputs and outputs of a command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from destage.base.errors import UsageError
from destage.base.io.names import path_of
from destage.model.naming import parts

__all__ = ["File", "Input", "Inputs", "Output", "flag_of", "listed"]

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _Word = click.ParamType[str, str]
else:
    # Older versions of click have no type arguments.
    _Word = click.ParamType


def flag_of(param: click.Parameter) -> str:
    """How a user calls it: `--csv`, `TRACE`."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.human_readable_name.rstrip(".")


class File(_Word):
    """A name that can be a file's. Which of the two it is, `Output` and `Input` say."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what no file can be called."""
        return path_of(value, flag_of(param) if param else "file")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell offer its files."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class Output(File):
    """A file, or a folder of them, that the command writes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse a flag where the name is missing: `--json -q`."""
        path = super().convert(value, param, ctx)
        if path.startswith("-") and path != "-":
            flag = flag_of(param) if param else "file"
            text = f"{flag}: expected a file, got {path}; a file of that name is ./{path}"
            raise UsageError(text)
        return path


class Input(File):
    """A file that the command reads; `what` is its word in a sentence: `the trace`."""

    def __init__(self, what: str) -> None:
        """Take the word."""
        self.what = what

    def names(self, given: Sequence[str]) -> Sequence[str]:
        """The files that values of the flag name."""
        return given


class Inputs(Input):
    """Files that the command reads, several in one value."""

    def names(self, given: Sequence[str]) -> Sequence[str]:
        """The files of all values."""
        return [name for one in given for name in listed(one)]


def listed(text: str) -> list[str]:
    """The parts of a list; a file that is called so is one, whatever commas its name has."""
    return [text] if os.path.exists(text) else [part.strip() for part in parts(text)]


#: The type of every flag that names a file to write, or a folder for several.
