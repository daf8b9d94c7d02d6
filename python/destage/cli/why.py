"""`destage why`: where two policies' decisions diverge, and the cost."""

from __future__ import annotations

import json
from typing import Any

import click

from destage.base.io.files import write_whole
from destage.cli.file_types import Input
from destage.cli.load import load_one
from destage.cli.options import (
    COMMON,
    DEVICE,
    RUN,
    Command,
    apply,
    drive_of,
    flag,
    run_values,
)
from destage.cli.output import file_flag, look_at, print_table
from destage.cli.policy_options import SIZE
from destage.cli.reading import TRACE
from destage.cli.screen import progress
from destage.cli.store import JOBS, STORE_TOGETHER, experiment_of
from destage.model.provenance import document
from destage.questions.divergence import check_why
from destage.questions.divergence import why as part
from destage.show.tables.why import pages_table, shares_table, why_heading

__all__ = ["why"]

EPILOG = """\b
Examples:
  destage why lru cflru --trace hm_0.csv.gz -c 10%
  destage why lru mine.py:Mine --trace hm_0.csv.gz -c 10%
  destage why lru ecr --trace hm_0.csv.gz -c 16MiB --device small
"""

FILES = [
    flag(
        "--trace",
        "trace",
        multiple=True,
        required=True,
        type=Input("the trace"),
        metavar="TRACE",
        help="The trace; repeat for several files (one trace).",
    )
]


@click.command(cls=Command, epilog=EPILOG)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@apply(
    FILES,
    SIZE,
    RUN,
    DEVICE,
    [file_flag("--json", "json_file", help="Write all results as JSON.")],
    JOBS,
    STORE_TOGETHER,
    TRACE,
    COMMON,
)
def why(a: str, b: str, trace: tuple[str, ...], **arguments: Any) -> None:
    """Show where two policies' decisions diverge, and the cost.

    Lists the first differing decision and the pages that made the difference.

    A and B are policies, written as for -p.
    """
    json_file = arguments["json_file"]
    if json_file not in (None, "-"):
        look_at(json_file)
    drive = drive_of(arguments)
    check_why(a, b, cache=arguments["cache"], device=drive, **run_values(arguments))
    experiment = experiment_of(arguments)
    opened = load_one(trace, arguments, drive)
    with progress(arguments["quiet"]) as callback:
        found = part(
            opened,
            a,
            b,
            cache=arguments["cache"],
            # It may have been made larger for the trace.
            device=opened.device,
            **run_values(arguments),
            store=experiment,
            progress=callback,
        ).to_dict()
    if json_file is not None:
        write_whole(json_file, json.dumps(document("why", found), indent=1) + "\n")
    if json_file != "-":
        click.echo(why_heading(found))
        for table in (pages_table(found), shares_table(found)):
            if list(table.rows()):
                click.echo()
                print_table(table)
