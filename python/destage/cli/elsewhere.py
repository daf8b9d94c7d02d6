"""Flags that another command has."""

from __future__ import annotations

import click

__all__ = ["meant_elsewhere"]


#: Curves that no flag of this name draws, with their commands.
_CURVES = (
    ": destage mrc draws hits over cache size, destage advise --budget-writes hits over bytes"
    " written a day"
)


def meant_elsewhere(ctx: click.Context, flag: str) -> str:
    """End of the error for a flag that another command has; empty for another one."""
    if flag in ("--curve", "--curves"):
        return _CURVES
    if flag == "--report" and ctx.command_path.startswith("destage results"):
        return ": use destage report STORE -o FILE.html"
    above = ctx.find_root().command
    if not isinstance(above, click.Group) or ctx.info_name == "compare":
        return ""
    compare = above.get_command(ctx, "compare")
    if compare is None or all(flag not in param.opts for param in compare.params):
        return ""
    return ": it is a flag of destage compare"
