"""Words that sentences about runs share."""

from __future__ import annotations

from destage.model.metrics import METRICS
from destage.model.run import Run
from destage.model.words import NBSP, significant, size

__all__ = ["place", "share_text", "title_of"]


def place(run: Run) -> str:
    """`8 MiB of arc`."""
    return f"{size(run.cache_bytes)} of {run.label}"


def share_text(share: float) -> str:
    """A share that somebody typed: `2 %`."""
    return f"{significant(100 * share)}{NBSP}%"


def title_of(name: str) -> str:
    """The name of a metric within a sentence."""
    title = next((m.title for m in METRICS if m.name == name), name)
    return title if title.split()[0].isupper() else title[0].lower() + title[1:]
