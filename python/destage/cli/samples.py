"""`destage trace fetch-samples`: the recordings and excerpts of "independent traces"."""

from __future__ import annotations

from typing import Any

import click

from destage.cli.options import COMMON, OUTPUT, Command, apply, flag
from destage.cli.output import print_table
from destage.cli.screen import note
from destage.model.words import counted, number
from destage.reproduce.samples import MISSING, REPEATED, fetch
from destage.show.tables.table import Cell, Column, Table

__all__ = ["fetch_samples"]

EPILOG = """\b
Examples:
  destage trace fetch-samples samples                   # check a folder
  destage trace fetch-samples samples --from ~/release  # copy and check
  destage reproduce bpac --traces samples --recordings samples
"""

FLAGS = [
    flag(
        "--from",
        "source",
        metavar="SOURCE",
        help="Folder or URL to copy missing files from.",
    ),
]


@click.command("fetch-samples", cls=Command, epilog=EPILOG)
@click.argument("folder", type=OUTPUT, metavar="DIR")
@apply(FLAGS, COMMON)
def fetch_samples(folder: str, source: str | None, **arguments: Any) -> None:
    """Fetch and check the recordings that reproductions use.

    A file own-NAME replaces the recording NAME. Status 1 if one is missing.
    """
    found = fetch(folder, source)
    columns = [Column("name", right=False), Column("file", right=False), Column("requests")]
    columns += [Column("state", right=False), Column("origin", right=False)]
    rows = [
        [
            Cell(one.name),
            Cell(one.path.name if one.path else one.recording.files[0]),
            Cell("-" if one.state == REPEATED else number(one.recording.requests)),
            Cell(one.state),
            Cell(one.recording.origin or "recorded by this project"),
        ]
        for one in found
    ]
    print_table(Table("", columns, [rows]))
    missing = [one.recording for one in found if one.state == MISSING]
    if not missing:
        return
    if not arguments["quiet"]:
        note(
            f"{counted(len(missing), 'file')} missing: --from SOURCE takes them from the files of a"
            " release; excerpts are in the public repositories of their origin"
        )
        ours = [one.name for one in missing if one.kind == "recording"]
        if ours:
            note(
                f"to record again (root): python examples/record_samples.py {' '.join(ours)}"
                f" -o {folder}. These are other requests with another checksum, named own-NAME;"
                " benches/record/recordings.md has the verdicts that stay"
            )
    click.get_current_context().exit(1)
