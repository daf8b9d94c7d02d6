"""`destage schema`: JSON schemas of the files that people write."""

from __future__ import annotations

import json
from typing import Any

import click

from destage.base.io.files import write_whole
from destage.cli.options import COMMON, Command, apply
from destage.cli.output import file_flag

__all__ = ["schema"]

EPILOG = """\b
Examples:
  destage schema device -o device.schema.json
  destage schema sweep

The first line `#:schema device.schema.json` in a TOML file makes editors check
and complete it.
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("kind", type=click.Choice(["device", "sweep", "claims"]), metavar="KIND")
@apply(
    [file_flag("-o", "schema_file", metavar="FILE.json", help="Output file. [standard output]")],
    COMMON,
)
def schema(kind: str, schema_file: str | None, **_: Any) -> None:
    """Print the JSON schema of a device, sweep or claims file.

    KIND is device (-d FILE.toml), sweep (SPEC.toml), or claims (a paper's claims).
    """
    if kind == "claims":
        from destage.reproduce.schema import claims_schema as made
    elif kind == "sweep":
        from destage.experiment.schema import sweep_schema as made
    else:
        from destage.experiment.schema import device_schema as made
    write_whole(schema_file or "-", json.dumps(made(), indent=1) + "\n")
