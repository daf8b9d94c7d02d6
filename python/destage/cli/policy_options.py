"""Flags for policies and their size, the members of a group that are left out, and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from destage.cli.options import Decorated, flag
from destage.cli.screen import note, warn
from destage.lab.policy_base import expanded
from destage.model.naming import skipped
from destage.model.run import Run, warnings_of

if TYPE_CHECKING:
    from destage.experiment.results import Results
    from destage.lab.ssd import Device

__all__ = ["SIZE", "note_left_out", "policy_flag", "say_warnings", "size_flag"]


def policy_flag(default: str, *, several: bool = True) -> list[Decorated]:
    """The flag for policies, or for one, with its default in the help."""
    takes = (
        "Policies, such as lru,arc, or a group: all, flash, classic."
        " Parameters: 'cflru[window_fraction=0.75]'."
        if several
        else "Policy: lru, 'cflru[window_fraction=0.75]'."
    )
    return [
        flag(
            "-p",
            "--policy",
            metavar="NAME,..." if several else "NAME",
            help=f"{takes} none: no cache. FILE.py:CLASS: your own policy. [{default}]",
        )
    ]


def size_flag(default: str) -> list[Decorated]:
    """The flag for one cache size, with its default in the help."""
    return [
        flag(
            "-c",
            "--cache",
            metavar="SIZE",
            help=f"Cache size: 32MiB, 8192p (pages) or 10% (of unique pages). [{default}]",
        )
    ]


SIZE = size_flag("the device file's")


def note_left_out(
    policies: str | None, drive: Device | None, options: Mapping[str, object]
) -> None:
    """List the members of a group that are skipped: for lack of a device, or by the options."""
    left = expanded(policies or "", drive is not None, options)[1]
    for why, names in skipped(left, options, "--").items():
        note(f"{why}: {', '.join(names)}")


#: Beginnings of warnings that say no more than that a cache is larger than its trace.
_LARGER = "the cache has room for more pages than the trace"
#: Of a queue, which a note of the table is about too.
_QUEUE = "the device does not keep up with the trace's times"
_FOLLOWING = ("the cache is still filling", "more than 5 % of the flash writes")


def _is_said(run: Run, message: str, has_table: bool) -> bool:
    """Whether a note of the table, or another warning, covers this one."""
    if has_table and message.startswith(_QUEUE):
        return True
    is_larger = run.frames > run.trace.unique_pages > 0
    covered = (_LARGER, *_FOLLOWING) if has_table else _FOLLOWING
    return is_larger and message.startswith(covered)


def say_warnings(results: Results, *, has_table: bool) -> None:
    """Print the warnings of all runs, each once, with the policies that it is about if not all."""
    labels = list(dict.fromkeys(r.label for r in results))
    about: dict[str, dict[str, None]] = {}
    for run in results:
        for message in warnings_of([run]):
            if not _is_said(run, message, has_table):
                about.setdefault(message, {})[run.label] = None
    for message, named in about.items():
        all_of_several = len(named) == len(labels) > 1
        warn(message if all_of_several else f"{', '.join(named)}: {message}")
