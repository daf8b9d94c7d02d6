"""A trace's profile in a few lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from destage.model.profile import DISTANCES, TEMPERATURES
from destage.model.words import counted, number, percent, plain, significant, size

__all__ = ["profile_text"]

Data = Mapping[str, Any]
#: The next reference, at which a distance ends.
_NEXT = {"pird": "of the same page", "bird": "of another page of the block"}
#: A title and its text; without a title it continues the previous text.
Line = tuple[str, str]


def profile_text(data: Data) -> str:
    """A few lines of numbers, as the command line prints them."""
    lines = [*_distances(data), *_heat(data)]
    width = max(len(title) for title, _ in lines)
    return plain("\n".join(f"{title:<{width}}  {value}" for title, value in lines))


def _references(count: int, counted_what: str) -> str:
    if counted_what == "writes":
        return counted(count, "page write")
    return counted(count, "page access", "page accesses")


def _distances(data: Data) -> list[Line]:
    """How much is referenced, and how far apart references to the same are."""
    options = data["options"]
    block = size(options["pages_per_block"] * data["page_bytes"])
    references = data["references"]
    lines = [
        ("references", _references(references, options["counted"])),
        (
            "pages",
            f"{number(data['pages'])} in {counted(data['blocks'], 'erase block')} of"
            f" {counted(options['pages_per_block'], 'page')} ({block})",
        ),
    ]
    for kind, whose in DISTANCES.items():
        distances, deviations = data[kind], data[f"{kind}_deviations"]
        if not distances["samples"]:
            lines.append((kind.upper(), f"none: no {whose} is referenced twice"))
            continue
        median, inflection = distances["cover"][49], distances["inflection"]
        lines.append(
            (
                kind.upper(),
                f"{counted(distances['samples'], 'distance')} from a reference to the next"
                f" {_NEXT[kind]}: median {number(median)}",
            )
        )
        share, most = inflection["percent"], number(inflection["threshold"])
        lines.append(("", f"inflection: {share} % of them are at most {most} references"))
        if deviations["sequences"]:
            lines.append(
                (
                    "",
                    f"deviation of a {whose}'s: median {significant(deviations['median'])}"
                    f" ({counted(deviations['sequences'], whose)})",
                )
            )
    return lines


def _heat(data: Data) -> list[Line]:
    """Where the hot pages are, reads and writes over time, and what padding does."""
    options, lines = data["options"], list[Line]()
    half = next((p for p in data["ranked"] if 2 * p["pages"] >= data["pages"]), None)
    if half:
        lines.append(
            (
                "heat",
                f"the hotter half of the pages is in"
                f" {counted(half['blocks_by_frequency'], 'block')};"
                f" {number(half['blocks_at_least'])} could hold it",
            )
        )
    ratios = [reads / requests for requests, reads in data["read_ratio"]]
    if ratios:
        lines.append(
            (
                "read ratio",
                f"{percent(min(ratios), 1)} to {percent(max(ratios), 1)} over"
                f" {counted(len(ratios), 'period')} of"
                f" {counted(options['period_requests'], 'request')}",
            )
        )
    hottest = data["hottest"]
    if hottest:
        shares = [sum(b[key] for b in hottest) / len(hottest) for key in TEMPERATURES]
        lines.append(
            (
                "hottest blocks",
                f"of {len(hottest)}: {significant(shares[0])} hot pages a block,"
                f" {significant(shares[1])} warm, {significant(shares[2])} cold,"
                f" {significant(shares[3])} untouched",
            )
        )
    padding = data.get("padding")
    if padding:
        lines.append(
            (
                "padding",
                f"{padding['policy']} at {counted(padding['frames'], 'page')}:"
                f" {counted(padding['padding_writes'], 'page')} padded onto"
                f" {number(padding['destaged_pages'])} dirty in"
                f" {counted(padding['destages'], 'destage')}",
            )
        )
    return lines
