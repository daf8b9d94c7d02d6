"""The finding of one check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """One finding of a check."""

    about: str
    """The subject of the check, in a word or two."""
    status: Literal["ok", "note", "wrong"]
    """`note` is worth knowing; only `wrong` fails."""
    said: str
    """The finding, in a sentence."""
    data: Mapping[str, Any]
    """The same as values."""
