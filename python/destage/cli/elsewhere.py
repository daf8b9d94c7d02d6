"""Flags that have another name here, or that another command has."""

from __future__ import annotations

import click

from destage import _destage

__all__ = ["meant_elsewhere", "meant_here"]


#: What other tools, and our own results, call a flag.
WORDS = {
    **dict.fromkeys(("cache-size", "cache-sizes", "cachesize", "size", "sizes"), "cache"),
    **dict.fromkeys(("frames", "capacity", "memory", "mem"), "cache"),
    **dict.fromkeys(("policies", "algorithm", "algo", "algos", "eviction"), "policy"),
    **dict.fromkeys(("drive", "ssd", "disk", "preset"), "device"),
    **dict.fromkeys(("threads", "workers", "parallel"), "jobs"),
    **dict.fromkeys(("limit", "num-requests", "max-requests"), "requests"),
    **dict.fromkeys(("iodepth", "depth", "qd"), "queue-depth"),
    **dict.fromkeys(("block-size", "bs", "pagesize"), "page-size"),
    **dict.fromkeys(("html", "output-html"), "report"),
    **dict.fromkeys(("output", "out", "export", "output-csv"), "csv"),
    **dict.fromkeys(("metrics", "metric", "columns-shown"), "show"),
    **dict.fromkeys(("order-by", "sort-by"), "sort"),
    **dict.fromkeys(("duration", "runtime"), "for"),
}

#: Curves that no flag of this name draws, with their commands.
_CURVES = (
    ": destage mrc draws hits over cache size, destage advise --budget-writes hits over bytes"
    " written a day"
)


def meant_here(ctx: click.Context, flag: str) -> str:
    """End of the error for an unknown flag: the nearest one of the command, if one is near."""
    known = [name[2:] for p in ctx.command.params for name in p.opts if name.startswith("--")]
    name = flag.lstrip("-")
    called = WORDS.get(name)
    near = called if called in known else _destage.nearest(name, known)
    return f", did you mean --{near}?" if near else ""


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
