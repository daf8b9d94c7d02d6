"""`destage completion`: what a shell needs to complete commands and flags."""

from __future__ import annotations

from typing import Any

import click

from destage.cli.options import COMMON, Command, apply

__all__ = ["completion"]

EPILOG = """\b
Examples:
  eval "$(destage completion bash)"
  destage completion fish > ~/.config/fish/completions/destage.fish
  destage completion powershell | Out-String | Invoke-Expression
  destage completion nushell | save destage-completion.nu
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "powershell", "nushell"]))
@apply(COMMON)
def completion(shell: str, **_: Any) -> None:
    """Print a shell completion script."""
    from click.shell_completion import get_completion_class

    from destage.cli.root import root
    from destage.cli.shells import register

    register()
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(root, {}, "destage", "_DESTAGE_COMPLETE").source())
