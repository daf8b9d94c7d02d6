"""Sentences of `destage check-sim`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from destage.model.words import counted, number, percent, plain

__all__ = ["checked_text"]

#: Pages of a list that are shown.
MOST_PAGES = 12


def checked_text(found: Mapping[str, Any]) -> str:
    """The first difference, both states, and known variants."""
    accesses, first = found["accesses"], found["first"]
    head = (
        f"{found['trace']}: {counted(accesses, 'page access', 'page accesses')},"
        f" {found['policy']} with {counted(found['frames'], 'frame')}"
    )
    if first is None:
        hits = f"{number(found['hits'])} hits ({percent(found['hits'] / accesses, 2)})"
        return plain(f"{head}\nEqual at every access: {hits}.")
    here, there = ("hit", "miss") if first["hit"] else ("miss", "hit")
    lines = [
        head,
        f"First difference: access {number(first['access'])}, a {first['op']} of page"
        f" {first['page']}: {here} by the specification, {there} in the list.",
        f"  specification: {_ours(first)}",
        f"  list: {_theirs(first)}",
        f"{number(found['differing'])} of {number(accesses)} accesses differ"
        f" ({percent(found['differing'] / accesses, 2)}); hits {number(found['hits'])} by the"
        f" specification, {number(found['listed_hits'])} in the list.",
    ]
    if first["lists"] is not None:
        lines.append(f"Lists of the specification before access {number(first['access'])}:")
        lines += [f"  {name}: {_pages(pages)}" for name, pages in first["lists"].items()]
    lines += _variants(found)
    return plain("\n".join(lines))


def _ours(first: Mapping[str, Any]) -> str:
    page, last = f"page {first['page']}", first["last_access"]
    if last is None:
        return f"{page} was not accessed before"
    if first["evicted_at"] is not None:
        return (
            f"{page}, last accessed at {number(last)}, was evicted at"
            f" {number(first['evicted_at'])} for page {first['evicted_for']}"
        )
    if first["hit"]:
        return f"{page}, last accessed at {number(last)}, is in the cache"
    return f"{page}, last accessed at {number(last)}, was not admitted"


def _theirs(first: Mapping[str, Any]) -> str:
    if first["hit"]:
        return "the page is not in its cache: it was evicted earlier, or not admitted"
    if first["last_access"] is None:
        return "the page is in its cache, though no earlier access was of it"
    return "the page is still in its cache"


def _pages(pages: list[Any]) -> str:
    if any(isinstance(page, list) for page in pages):
        return " | ".join(map(_pages, pages))
    shown = " ".join(str(page) for page in pages[:MOST_PAGES])
    more = len(pages) - MOST_PAGES
    return (shown or "-") + (f" and {number(more)} more" if more > 0 else "")


def _variants(found: Mapping[str, Any]) -> list[str]:
    lines = []
    for one in found["variants"]:
        differing = one["differing"]
        said = "equal at every access" if not differing else f"differs at {number(differing)}"
        lines.append(f"The list beside {one['policy']} ({one['whose']}): {said}.")
    for one in found["known"]:
        lines.append(f"Known: {one['whose']}'s {one['policy']} {one['text']}.")
    return lines
