"""`destage record`: the block requests of a device as a trace."""

from __future__ import annotations

import json
import shlex
from typing import Any

import click

from destage.base.errors import UsageError
from destage.base.io.files import write_whole
from destage.base.io.names import printable
from destage.cli.options import COMMON, FOLDER, OUTPUT, Command, apply, flag
from destage.cli.output import file_flag, look_at
from destage.cli.screen import note, warn
from destage.live.record.alternatives import HOW
from destage.live.record.recording import record as make
from destage.model.words import number

__all__ = ["record"]

EPILOG = """\b
Examples:
  sudo destage record /dev/nvme0n1 --for 10m -o db.csv.zst
  sudo destage record /var/lib/postgresql -o db.csv.zst    # a mount point
  sudo destage record /dev/md0 --event queue --for 1h -o queue.csv.zst
  destage record --how                                     # other tools
"""

#: Exit status where events were lost.
LOST = 3

RECORDING = [
    flag(
        "-o", "--output", type=OUTPUT, metavar="FILE", help="Output file: .csv, .csv.zst, .parquet."
    ),
    flag("--for", "duration_s", metavar="TIME", help="Duration: 60s, 10m. [until Ctrl-C]"),
    flag("--max-bytes", metavar="SIZE", help="Stop at this size of the output."),
    flag("--rotate", "rotate_bytes", metavar="SIZE", help="Begin a new file at this size."),
    flag(
        "--event",
        type=click.Choice(["issue", "queue"]),
        default="issue",
        help="Record issued or queued requests. [issue]",
    ),
    flag("--ops", metavar="LIST", help="Requests to keep: read,write,trim,flush. [all]"),
    flag(
        "--buffer",
        "buffer_bytes",
        default="64MiB",
        metavar="SIZE",
        help="Size of the kernel buffers. [64MiB]",
    ),
    flag("--pid", is_flag=True, help="Also record process number and name."),
    flag("--anonymise", is_flag=True, help="Shuffle extents of 1 MiB; no names, no date."),
    flag("--include-output", is_flag=True, help="Allow the output on a recorded device."),
    flag(
        "--tracefs",
        type=FOLDER,
        metavar="FOLDER",
        help="Mount point of tracefs. [found or mounted]",
    ),
    flag("--how", is_flag=True, help="List other tools that record a trace."),
]


@click.command(cls=Command, epilog=EPILOG)
@click.argument("device", nargs=-1)
@apply(
    RECORDING,
    [file_flag("--json", "json_file", help="Write the summary as JSON.")],
    COMMON,
)
def record(
    device: tuple[str, ...],
    output: str | None,
    how: bool,
    json_file: str | None,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Record a block device's requests as a trace (root, Linux)."""
    if how:
        click.echo(HOW, nl=False)
        return
    if not device:
        raise UsageError("DEVICE: expected a block device or a mount point, such as /dev/nvme0n1")
    if output is None:
        raise UsageError("-o: expected the trace's file, such as -o trace.csv.zst")
    for name in (output, json_file):
        if name not in (None, "-"):
            look_at(str(name))
    made = make(device, output, **options, begun=None if quiet else note)
    if json_file is not None:
        write_whole(json_file, json.dumps(made.data, indent=1) + "\n")
    if json_file != "-":
        if made.ended_by == "--max-bytes":
            click.echo("the output has the size of --max-bytes: the recording ended")
        click.echo(made.summary)
        click.echo(printable(shlex.join(["destage", "advise", *made.files])))
    if made.lost_events:
        warn(
            f"{number(made.lost_events)} events were lost: --buffer 256MiB, or a faster disk for"
            " the output"
        )
        click.get_current_context().exit(LOST)
