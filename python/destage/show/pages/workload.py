"""Workload statistics of the BPAC and AALRU papers, in the order of their figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from destage.model.words import number, size
from destage.show.charts.profile import chart
from destage.show.charts.theme import PAGE
from destage.show.pages.blocks import Part, charts, section, text
from destage.show.pages.comparison import chart_part, group_of

__all__ = ["workload"]

#: Figure, title, note; of each part of the page.
_PARTS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Where the heat is",
        (
            ("block_heat", "Heat of erase blocks over time", "BPAC, figure 2"),
            ("unique_blocks", "Blocks of the hottest pages", "BPAC, figure 3"),
        ),
    ),
    (
        "Distances between references",
        (
            ("pird_deviation", "Deviation of PIRD, page by page", "BPAC, figure 4a"),
            ("bird_deviation", "Deviation of BIRD, block by block", "BPAC, figure 4b"),
            ("pird_distribution", "All PIRDs", "BPAC, figure 5a"),
            ("bird_distribution", "All BIRDs", ""),
            ("pird_sparseness", "Sparseness of PIRD", ""),
            ("bird_sparseness", "Sparseness of BIRD", "BPAC, figure 6"),
            ("pird_frequency", "References and mean PIRD of pages", "BPAC, figure 5b"),
        ),
    ),
    (
        "Reads, and the hottest blocks",
        (
            ("read_ratio", "Read ratio", "AALRU, figure 1"),
            ("hottest_blocks", "Hot and cold pages of the hottest blocks", "AALRU, figure 2"),
        ),
    ),
    (
        "Padding",
        (
            ("padding", "Padded pages of a destage", "AALRU, figure 3a"),
            ("padding_writes", "What padding writes", "AALRU, figure 3b"),
        ),
    ),
)

_WIDE = ("block_heat", "unique_blocks", "pird_frequency", "read_ratio", "hottest_blocks")


def _meaning(name: str, data: Mapping[str, Any]) -> str:
    """The subject of a chart whose axes do not name it."""
    if name == "pird_frequency":
        return "; the stronger the colour, the more pages"
    padding = data.get("padding")
    if padding and name in ("padding", "padding_writes"):
        return f"; {padding['policy']}, {size(padding['frames'] * data['page_bytes'])}"
    return ""


def workload(group: str, data: Mapping[str, Any], groups: list[Part]) -> list[Part | None]:
    """The charts of a profile, part by part; adds to `groups` what the page's script draws."""
    parts: list[Part | None] = []
    every: list[Part] = []
    options = data["options"]
    what = "page writes" if options["counted"] == "writes" else "page accesses, reads too"
    block = size(options["pages_per_block"] * data["page_bytes"])
    note = (
        f"References are {what}: {number(data['references'])} to {number(data['pages'])} pages"
        f" of {number(data['blocks'])} erase blocks; a block has {options['pages_per_block']}"
        f" pages ({block}). A distance is the number of references between two: to the same"
        " page (PIRD), from a block's page to another of its pages (BIRD)."
    )
    for title, figures in _PARTS:
        drawn: list[Part] = []
        for name, heading, source in figures:
            made = chart(data, name, PAGE, page=True)
            if made is not None:
                part = chart_part(group, name, heading, made)
                part |= {"note": source + _meaning(name, data), "wide": name in _WIDE}
                drawn.append(part)
        if drawn:
            above = None if parts else text("note above", note)
            parts.append(section(title, above, charts(drawn)))
            every += drawn
    if every:
        groups.append(group_of(group, every))
    return parts
