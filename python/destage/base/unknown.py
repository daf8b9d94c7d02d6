"""The sentence for a name that is none of those known."""

from __future__ import annotations

from collections.abc import Iterable

from destage import _destage

__all__ = ["unknown"]


def unknown(kind: str, word: object, known: Iterable[str], *, lists: str = "") -> str:
    """The unknown name, likely intended names, and the known ones; of many, the nearest.

    `lists`: the command that lists all of them.

    >>> unknown("paper", "ercs", ["ecr", "sac"])
    "unknown paper 'ercs', did you mean ecr? (known: ecr, sac)"
    """
    meant, listed = _destage.meant(str(word), list(known))
    return f"unknown {kind} {word!r}{meant} ({listed}{f'; `{lists}` lists all' if lists else ''})"
