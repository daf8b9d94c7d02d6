"""`destage conform`: conformance vectors."""

from __future__ import annotations

import json
from typing import Any

import click

from destage.base.io.files import write_whole
from destage.cli.file_types import Input
from destage.cli.options import (
    COMMON,
    Command,
    apply,
    flag,
)
from destage.cli.output import file_flag, look_at
from destage.doctor.conformance import conform as run_vectors
from destage.doctor.conformance import conform_emit
from destage.model.provenance import document

__all__ = ["conform"]

#: Differences that are printed for each file; `--json` has them all.
SHOWN = 20

EPILOG = """\b
Examples:
  destage conform vectors/*.jsonl
  destage conform vectors/page-policies.jsonl --strict
  destage conform mine.jsonl --emit decisions.jsonl
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument(
    "vectors", nargs=-1, required=True, type=Input("the vectors"), metavar="VECTORS.jsonl..."
)
@apply(
    [
        flag("--strict", is_flag=True, help="Count a skipped vector as a failure."),
        file_flag(
            "--emit",
            metavar="OUT.jsonl",
            section="Flags",
            help="Write the decisions of every line; compare nothing.",
        ),
        file_flag("--json", "json_file", help="Write the report as JSON."),
    ],
    COMMON,
)
def conform(
    vectors: tuple[str, ...], strict: bool, emit: str | None, json_file: str | None, **_: Any
) -> None:
    """Run conformance vectors and report the first differences.

    Exit status 1 if one differs, or with --strict if one is skipped.
    """
    if emit is not None:
        if len(vectors) != 1:
            raise click.UsageError("--emit takes one file of vectors")
        if strict or json_file is not None:
            raise click.UsageError("--emit compares nothing: it takes no --strict and no --json")
        if emit != "-":
            look_at(emit)
        write_whole(emit, conform_emit(vectors[0]))
        return
    if json_file not in (None, "-"):
        look_at(str(json_file))
    report = run_vectors(list(vectors))
    if json_file is not None:
        write_whole(json_file, json.dumps(document("conformance", report.data), indent=1) + "\n")
    if json_file != "-":
        for file in report.files:
            click.echo(file.summary())
            for sentence in file.differences[:SHOWN]:
                click.echo(f"  {sentence}")
            if len(file.differences) > SHOWN:
                click.echo(f"  ... and {len(file.differences) - SHOWN:,} more")
    if not report.ok or (strict and report.skipped):
        click.get_current_context().exit(1)
