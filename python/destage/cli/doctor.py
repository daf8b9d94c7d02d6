"""`destage doctor`: is this installation right, how fast is this machine."""

from __future__ import annotations

import json
from typing import Any

import click

from destage.base.io.files import write_whole
from destage.cli.options import COMMON, Command, apply
from destage.cli.output import file_flag, look_at
from destage.doctor import doctor as examine
from destage.model.provenance import document

__all__ = ["doctor"]

EPILOG = """\b
Examples:
  destage doctor
  destage doctor --json doctor.json      # for a bug report
"""


@click.command(cls=Command, epilog=EPILOG)
@apply([file_flag("--json", "json_file", help="Write the findings as JSON.")], COMMON)
def doctor(json_file: str | None, **_: Any) -> None:
    """Check this installation and its speed.

    Checks versions, the processor and the cache folder, runs conformance vectors and a trace with a
    device against stored results, and compares the speed with a recorded one. Exit status 1 if
    a check fails; low speed is not a failure.
    """
    if json_file not in (None, "-"):
        look_at(str(json_file))
    found = examine()
    if json_file is not None:
        write_whole(json_file, json.dumps(document("doctor", found.to_dict()), indent=1) + "\n")
    if json_file != "-":
        click.echo(str(found))
    if not found.ok:
        click.get_current_context().exit(1)
