"""`destage policies` and the lists of other commands."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import click

from destage.cli.options import COMMON, Command, apply
from destage.cli.output import JSON, wrote_json
from destage.cli.screen import wrapped
from destage.lab.catalogue import PolicyInfo
from destage.lab.catalogue import policies as all_policies
from destage.lab.catalogue import policy as one_policy
from destage.model.naming import FAMILIES, GROUPS

__all__ = ["policies"]

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
    """List the policies, or describe one.

    The description has source, parameters, defaults, ranges and units.
    """
    found = all_policies() if name is None else (one_policy(name),)
    if wrote_json(json_file, "policies", found if name is None else found[0]):
        return
    if name is None:
        _list(found)
    else:
        _describe(found[0])


def _list(found: tuple[PolicyInfo, ...]) -> None:
    for family, title in FAMILIES.items():
        group = [p for p in found if p.family == family]
        if not group:
            continue
        click.secho(title, bold=True)
        for p in group:
            source = re.sub(rf",? {p.year}(?!\d)", "", _short(p.source), count=1)
            named = f"{p.name:<11} {p.year or '':>4}  {p.title}. {source}"
            click.echo(textwrap.fill(named, 79, initial_indent="  ", subsequent_indent=" " * 20))
        click.echo()
    click.echo("destage policies NAME describes one. Device-aware policies need --device.")
    click.echo("-p takes groups as well:")
    for name, what in GROUPS.items():
        click.echo(f"  -p {name:<8} {what}")


#: Abbreviations whose point ends no sentence.
_POINTS = ("Trans.", "al.")


def _short(source: str) -> str:
    """Authors and journal: `Jung et al., IEEE Transactions on Consumer Electronics 54(3)`."""
    kept = source
    for word in _POINTS:
        kept = kept.replace(f"{word} ", f"{word}\u00a0")
    # Authors. Title. Venue year, what of it.
    authors, *rest = kept.split(". ")
    if len(rest) < 2:
        return source.removesuffix(".")
    names = authors.split(", ")
    who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{who}, {rest[-1]}".replace("\u00a0", " ").removesuffix(".")


def _describe(p: PolicyInfo) -> None:
    click.echo(f"{p.name}: {p.title}")
    click.echo(wrapped(p.about))
    click.echo(wrapped(f"Source: {p.source}"))
    click.echo(f"  Time per access: {p.time}")
    click.echo(f"  Clean/dirty-aware: {'yes' if p.flash_aware else 'no'}")
    click.echo(f"  Remembers evicted pages: {'yes' if p.ghosts else 'no'}")
    if p.clusters:
        click.echo("  Destages the pages of an erase block together (--pages-per-block)")
    if p.admission:
        click.echo("  Admission control: may bypass a page; a bypassed write goes through to flash")
    if p.needs_device:
        click.echo("  Device-aware: needs --device")
    if p.offline:
        click.echo("  Offline: uses future accesses; a bound")
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
