"""A few lines on one thing, for a prompt and a notebook: a title, and facts by name."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from destage.model.words import plain

__all__ = ["Card"]

#: Looks alike on light and on dark pages: it takes the page's colours.
_STYLE = (
    "display:inline-block;border:1px solid rgba(128,128,128,.45);border-radius:6px;"
    "padding:.5em .9em;font-family:system-ui,sans-serif;font-size:13px"
)


@dataclass(frozen=True)
class Card:
    """Summaries of objects for `repr` and notebooks."""

    title: str
    facts: Sequence[tuple[str, str]]

    def text(self) -> str:
        """The title, and a line for each fact."""
        width = max((len(name) for name, _ in self.facts), default=0)
        lines = [self.title, *(f"  {name:<{width}}  {value}" for name, value in self.facts)]
        return plain("\n".join(lines))

    def html(self) -> str:
        """The same as a small table."""
        rows = "".join(
            '<tr><td style="text-align:left;opacity:.7;padding:1px 1em 1px 0">'
            f'{html.escape(name)}</td><td style="text-align:left">{html.escape(value)}</td></tr>'
            for name, value in self.facts
        )
        return (
            f'<div style="{_STYLE}"><div><b>{html.escape(self.title)}</b></div>'
            f"<table>{rows}</table></div>"
        )
