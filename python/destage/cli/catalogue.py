"""`destage policies` and the lists of other commands."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import click

from destage.catalogue import PolicyInfo
from destage.catalogue import policies as all_policies
from destage.catalogue import policy as one_policy
from destage.cli.options import COMMON, Command, apply
from destage.cli.output import file_flag, print_table
from destage.io.files import write_whole
from destage.tables.table import Cell, Column, Table

__all__ = ["policies", "wrapped"]

JSON = [file_flag("--json", "json_file", help="As JSON; - for stdout.")]

EPILOG = """\b
Examples:
  destage policies
  destage policies cflru
  destage policies --json -
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("name", required=False)
@apply(JSON, COMMON)
def policies(name: str | None, json_file: str | None, **_: Any) -> None:
    """List the policies, or describe one: source, parameters, defaults, ranges, units."""
    found = all_policies() if name is None else (one_policy(name),)
    if json_file is not None:
        data: Any = [dataclasses.asdict(p) for p in found]
        write_whole(json_file, json.dumps(data if name is None else data[0], indent=1) + "\n")
        if json_file == "-":
            return
    if name is None:
        _list(found)
    else:
        _describe(found[0])


def _list(found: tuple[PolicyInfo, ...]) -> None:
    rows = []
    for p in found:
        looks = (
            ("flash", p.flash_aware),
            ("ghosts", p.ghosts),
            ("blocks", p.clusters),
            ("drive", p.needs_device),
        )
        marks = [m for m, on in looks if on]
        rows.append([Cell(p.name), Cell(", ".join(marks)), Cell(p.title)])
    columns = [Column(c, right=False) for c in ("policy", "looks at", "title")]
    print_table(Table("", columns, [rows]))
    click.echo(
        "destage policies NAME describes one. Those that look at the drive need one (--device)."
    )


def _describe(p: PolicyInfo) -> None:
    click.echo(f"{p.name}: {p.title}")
    click.echo(wrapped(p.about))
    click.echo(wrapped(f"Source: {p.source}"))
    click.echo(f"  Time per access: {p.time}")
    click.echo(f"  Looks at clean and dirty: {'yes' if p.flash_aware else 'no'}")
    click.echo(f"  Remembers evicted pages: {'yes' if p.ghosts else 'no'}")
    if p.clusters:
        click.echo("  Destages the pages of an erase block together (--pages-per-block)")
    if p.admission:
        click.echo("  May refuse a page; a write that it refuses goes through to flash")
    if p.needs_device:
        click.echo("  Looks into the drive: needs one (--device)")
    if p.offline:
        click.echo("  Knows the future: a bound, nothing to build")
    if not p.params:
        click.echo("  No parameters")
        return
    click.echo("\nParameters")
    for q in p.params:
        unit = f", {q.unit}" if q.unit else ""
        symbol = f" ({q.symbol})" if q.symbol else ""
        click.echo(f"  {q.name}{symbol}: {q.values}{unit}; default {q.default}")
        click.echo(wrapped(q.about, indent=6))
    first = p.params[0]
    default = first.default.split(" = ")[0]
    drive = " --device small" if p.needs_device else ""
    click.echo(f"\n  destage compare TRACE -p 'lru,{p.name}[{first.name}={default}]'{drive}")


def wrapped(text: str, indent: int = 2) -> str:
    """Return text as a paragraph of 80 columns."""
    import textwrap

    pad = " " * indent
    return textwrap.fill(text, 80, initial_indent=pad, subsequent_indent=pad)
