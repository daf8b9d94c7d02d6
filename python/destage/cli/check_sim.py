"""`destage check-sim`: another simulator's hits and misses beside the specification's."""

from __future__ import annotations

import json
from typing import Any

import click

from destage.base.io.files import write_whole
from destage.cli.file_types import Input
from destage.cli.load import load_one
from destage.cli.options import (
    COMMON,
    RUN_ALONE,
    Command,
    apply,
    flag,
    run_values,
)
from destage.cli.output import file_flag, look_at
from destage.cli.policy_options import size_flag
from destage.cli.reading import TRACE
from destage.cli.screen import progress
from destage.cli.why import FILES
from destage.model.provenance import document
from destage.questions.simulators import check_simulator

__all__ = ["check_sim"]

EPILOG = """\b
Examples:
  destage check-sim hits.txt -p s3-fifo --trace hm_0.csv.gz -c 1000p
  destage check-sim theirs.csv.gz -p lirs --trace hm_0.csv.gz -c 10%

DECISIONS has one line per page access, in the trace's order: 1 or 0, hit or miss;
or CSV with a column hit, and page to check the order.
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("decisions", metavar="DECISIONS", type=Input("the decisions"))
@apply(
    [
        flag(
            "-p",
            "--policy",
            required=True,
            metavar="NAME",
            help="Policy to check against.",
        )
    ],
    FILES,
    size_flag("the --config file's"),
    RUN_ALONE,
    [file_flag("--json", "json_file", help="Write the answer as JSON.")],
    TRACE,
    COMMON,
)
def check_sim(decisions: str, policy: str, trace: tuple[str, ...], **arguments: Any) -> None:
    """Compare another simulator with a policy's specification.

    Prints the first access that differs, both states, and known differences. Status 1 if one
    differs.
    """
    json_file = arguments["json_file"]
    if json_file not in (None, "-"):
        look_at(json_file)
    opened = load_one(trace, arguments, None)
    with progress(arguments["quiet"]) as callback:
        found = check_simulator(
            opened,
            decisions,
            policy,
            cache=arguments["cache"],
            progress=callback,
            **run_values(arguments),
        )
    if json_file is not None:
        write_whole(json_file, json.dumps(document("check-sim", found.to_dict()), indent=1) + "\n")
    if json_file != "-":
        click.echo(str(found))
    if found.first is not None:
        click.get_current_context().exit(1)
