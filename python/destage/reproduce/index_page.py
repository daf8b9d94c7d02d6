"""The page over all re-run papers: a row for each, from their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from destage.base.io.files import write_whole
from destage.reproduce.conditions import verdict_text
from destage.reproduce.first_screen import (
    coarse_claims,
    cut,
    scaled_note,
    workloads_of,
)
from destage.reproduce.pages import rendered, short_of
from destage.reproduce.plain_words import abstract_of, elsewhere_sentence, own_sentence

__all__ = ["index_row", "write_index"]

#: The table of all papers, after the paper itself.
INDEX = ("idea", "claim of the abstract", "on the paper's workloads", "on independent traces")


def index_row(data: Mapping[str, Any]) -> list[str]:
    """A paper's row in the table of all papers, without its link."""
    idea = data["paper"]["idea"].removesuffix(".")
    claim = cut(abstract_of(data))
    return [cut(idea), claim, own_sentence(data), elsewhere_sentence(data)]


def write_index(
    documents: Sequence[Mapping[str, Any]], with_beyond: bool, folder: Path
) -> tuple[Path, Path]:
    """Write `README.md` and `index.html`: a table of the papers, and how to read verdicts.

    `documents` come from `document`, or from their JSON. Returns the two files.
    """
    count = {1: "A paper", 5: "Five papers", 6: "Six papers"}
    papers = [
        {
            **d["paper"],
            "short": short_of(d["paper"]["name"]),
            "page": f"{d['paper']['name']}.html",
            "row": index_row(d),
            "command": d["command"],
            "version": d["version"],
            "scale": d["options"]["scale"],
            "workloads": workloads_of(d),
            "headlines": [
                c | {"text": verdict_text(c, d["sensitivity"])}
                for c in d["claims"]
                if c["headline"]
            ],
        }
        for d in documents
    ]
    page = {
        "title": f"{count.get(len(documents), f'{len(documents)} papers')} re-run",
        "papers": papers,
        "heads": INDEX,
        "beyond": with_beyond,
        "scaled": scaled_note(
            min((d["options"]["scale"] for d in documents), default=1.0),
            sum(map(coarse_claims, documents)),
            min((d["options"]["seeds"] for d in documents), default=0),
        ),
    }
    pages = folder / "README.md", folder / "index.html"
    for path, name in zip(pages, ("papers.md.j2", "papers.html.j2"), strict=True):
        write_whole(path, rendered(name, **page))
    return pages
