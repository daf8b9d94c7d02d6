"""Flags that another command has."""

from __future__ import annotations

import click

__all__ = ["meant_elsewhere"]


def meant_elsewhere(ctx: click.Context, flag: str) -> str:
    """End of the error for a flag that `destage compare` alone has; empty for another one."""
    above = ctx.find_root().command
    if not isinstance(above, click.Group) or ctx.info_name == "compare":
        return ""
    compare = above.get_command(ctx, "compare")
    if compare is None or all(flag not in param.opts for param in compare.params):
        return ""
    return f": {ctx.command_path} does not have it, destage compare does"
