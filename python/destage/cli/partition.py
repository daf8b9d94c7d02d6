"""`destage mrc --partition layer`: experts of a model, in one cache or one for each layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from destage.base.errors import UsageError
from destage.cli.load import load_one
from destage.cli.options import READER, flag
from destage.cli.output import Outputs, print_table
from destage.cli.policy_options import note_left_out
from destage.cli.screen import progress
from destage.questions.curves.partition import CACHES, ONLINE, check_partition, partition

__all__ = ["PARTITION", "print_partition"]

PARTITION = [
    flag(
        "--partition",
        metavar="layer",
        help=f"For moe-routing: a cache for each layer, and one for all. [-p {ONLINE} -c {CACHES}]",
    ),
    flag(
        "--token-time",
        metavar="KEY=VALUE,...",
        help="Adds ms per token: expert=18MB,read=3GB/s,top=8 (experts per token).",
    ),
]

#: Arguments that have an effect with `--partition`, beside the reader's.
_USED = frozenset(
    (
        *("trace", "policy", "cache", "partition", "token_time", "jobs", "config", "trace_cache"),
        *("json_file", "csv_file", "parquet_file", "latex_file", "markdown_file"),
        *("allow_code", "quiet", "verbose", "color"),
    )
)


def print_partition(trace: tuple[str, ...], arguments: Mapping[str, Any], outputs: Outputs) -> None:
    """Run and print the comparison. Raises `UsageError` for flags without effect on it."""
    _refuse_others()
    policies, cache = arguments["policy"] or ONLINE, arguments["cache"] or CACHES
    asked = {"by": arguments["partition"], "token_time": arguments["token_time"], "cache": cache}
    check_partition(policies, **asked)
    if not arguments["quiet"]:
        note_left_out(policies, None, {})
    opened = load_one(trace, arguments)
    with progress(arguments["quiet"]) as callback:
        found = partition(
            opened,
            policies,
            **asked,
            jobs=arguments["jobs"],
            progress=callback,
        )
    outputs.write(found)
    if outputs.to_screen:
        click.echo(found.answer)
        click.echo()
        print_table(found.as_table())


def _refuse_others() -> None:
    ctx = click.get_current_context()
    typed = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name in _USED or name.startswith(READER):
            continue
        if ctx.get_parameter_source(name) in typed:
            raise UsageError(f"{parameter.opts[0]} does not go with --partition")
