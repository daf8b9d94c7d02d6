"""`destage advise --smart`: writes, WAF and life left of a real SSD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from destage.base.errors import UsageError
from destage.cli.file_types import Input
from destage.cli.options import (
    flag,
)
from destage.cli.output import Outputs, print_table
from destage.questions.smart import read_smart

__all__ = ["SMART", "needs_trace", "say_smart"]

SMART = [
    flag(
        "--smart",
        metavar="FILE",
        type=Input("the reading"),
        multiple=True,
        section="SMART",
        help="Writes, WAF and life left of an SSD, without a trace. JSON of smartctl or nvme-cli."
        " Two files: the change between them.",
    )
]
#: Flags that go with it: the rating, and the outputs.
_OWN = {"smart", "price", "trace", "quiet", "within", "seeds"}


def needs_trace(trace: Sequence[str]) -> None:
    """Raise for a command without a trace."""
    if not trace:
        raise click.MissingParameter(
            param_hint="'TRACE...'", param_type="argument", ctx=click.get_current_context()
        )


def say_smart(trace: Sequence[str], arguments: Mapping[str, Any]) -> None:
    """Print the answer, and write the files that were asked for."""
    if trace:
        raise UsageError(f"--smart excludes a trace, got {trace[0]}")
    context = click.get_current_context()
    for name, value in arguments.items():
        source = context.get_parameter_source(name)
        is_given = source is click.core.ParameterSource.COMMANDLINE
        if is_given and name not in _OWN and not name.endswith("_file"):
            raise UsageError(f"--smart excludes --{name.replace('_', '-')}, got {value}")
    outputs = Outputs.of(dict(arguments))
    if "report" in outputs.files:
        raise UsageError("--smart has no report: take --json, --csv, --parquet or --markdown")
    answer = read_smart(list(arguments["smart"]), price=arguments["price"])
    outputs.write(answer)
    if outputs.to_screen:
        print_table(answer.as_table())
