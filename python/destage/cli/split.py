"""`destage trace split`: a trace in parts."""

from __future__ import annotations

from typing import Any

import click

from destage.cli.load import TRACES
from destage.cli.options import COMMON, OUTPUT, Command, apply, flag, placed, reader_values
from destage.cli.output import look_at_folder, print_table
from destage.cli.reading import TRACE_ALONE
from destage.cli.screen import progress
from destage.lab.splitting import split_trace
from destage.model.words import counted, number
from destage.show.tables.table import Cell, Column, Table

__all__ = ["split"]

EPILOG = """\b
Examples:
  destage trace split tencent.csv.gz --by volume -o volumes
  destage trace split long.csv --by time=1h -o hours
  destage trace split huge.csv.zst --by hash=8 -o eighths --gzip
"""

#: A part has requests, which have no page size yet.
READING = TRACE_ALONE[1:]

FLAGS = [
    flag(
        "--by",
        metavar="HOW",
        required=True,
        help="Criterion. time=1h (s, min, h, d), volume, hash=8 (parts, by volume and address) or"
        " requests=1000000.",
    ),
    flag("-o", "--output", type=OUTPUT, required=True, metavar="DIR", help="Folder for the parts."),
    flag("--gzip", "packed", is_flag=True, help="Compress the parts."),
]


@click.command(cls=Command, epilog=EPILOG)
@TRACES
@apply(FLAGS, READING, COMMON)
def split(trace: tuple[str, ...], by: str, output: str, packed: bool, **arguments: Any) -> None:
    """Split a trace into several files, in one pass."""
    look_at_folder(output)
    with progress(arguments["quiet"]) as callback, placed():
        parts = split_trace(
            list(trace),
            output,
            by=by,
            packed=packed,
            progress=callback,
            **reader_values(arguments),
        )
    columns = [Column("file", right=False), Column("part", right=False), Column("requests")]
    rows = [[Cell(p.path.name), Cell(p.part), Cell(number(p.requests))] for p in parts]
    note = f"{counted(len(parts), 'part')} of {counted(sum(p.requests for p in parts), 'request')}"
    print_table(Table("", columns, [rows], [note]))
