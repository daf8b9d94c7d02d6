"""`destage new-policy`: a file with a policy that runs, to begin with."""

from __future__ import annotations

from typing import Any

import click

from destage.cli.options import COMMON, Command, apply, flag
from destage.lab.user_policies.template import new_policy as write_policy

__all__ = ["new_policy"]

EPILOG = """\b
Examples:
  destage new-policy Hyperbolic
  destage compare hm_0.csv.gz -p lru,hyperbolic.py:Hyperbolic
"""

RUST = [
    flag(
        "--rust",
        is_flag=True,
        help="Write a Rust policy into the repository. It has its catalogue entry, its reference"
        " model, its test and its first vector.",
    )
]


@click.command("new-policy", cls=Command, epilog=EPILOG)
@click.argument("name", metavar="NAME")
@apply(RUST, COMMON)
def new_policy(name: str, rust: bool, **_: Any) -> None:
    """Write a template for a policy of your own.

    NAME.py (in lower case) gets a class NAME that runs as it is.

    Writes to the current folder; never overwrites a file.
    """
    if rust:
        from destage.lab.user_policies.rust import new_rust_policy

        for line in new_rust_policy(name):
            click.echo(line)
        return
    path = write_policy(name)
    click.echo(f"wrote {path.name}: the class {name}, which begins as LRU. Try it:")
    click.echo("  destage trace synth zipf -o zipf.csv")
    click.echo(f"  destage compare zipf.csv -p lru,{path.name}:{name} -c 1%,10%")
