"""What an examination says of one thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    about: str
    """What was looked at, in a word or two."""
    status: Literal["ok", "note", "wrong"]
    """`note` is worth knowing; only `wrong` fails."""
    said: str
    """What was found, in a sentence."""
    data: Mapping[str, Any]
    """The same as values."""
