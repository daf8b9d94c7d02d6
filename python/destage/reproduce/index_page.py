"""The page over all re-run papers: a row for each, from their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from destage.base.io.files import write_whole
from destage.reproduce.conditions import turns, verdict_text
from destage.reproduce.first_screen import (
    coarse_claims,
    cut,
    main_claim,
    measured_briefly,
    scaled_note,
    workloads_of,
)
from destage.reproduce.pages import rendered, short_of

__all__ = ["index_row", "write_index"]

#: The table of all papers, after the paper itself.
INDEX = (
    "idea",
    "its headline",
    "here",
    "verdict",
    "what decides it",
    "holds, partly, no, untestable",
)


def index_row(data: Mapping[str, Any]) -> list[str]:
    """A paper's row in the table of all papers, without its link."""
    main = main_claim(data)
    decides = [turn.knob for turn in turns(main, data["sensitivity"])]
    counts = data["summary"]
    refuted = ("right order, lead under 1 %", "does not hold")
    each = [counts["holds"], counts["partly"], sum(counts.get(word, 0) for word in refuted)]
    claims = ", ".join(map(str, [*each, counts["can't be tested here"]]))
    if counts.get("undecided"):
        claims += f"; {counts['undecided']} undecided"
    here = measured_briefly(main["measured"])
    if main["cases_all"] > 1:
        here = f"{main['cases_met']} of {main['cases_all']} cases; {here}"
    cells = (
        data["paper"]["idea"].removesuffix("."),
        main["brief"],
        here,
        verdict_text(main, data["sensitivity"]),
        ", ".join(decides) or "no tested assumption",
        claims,
    )
    return [cut(cell) for cell in cells]


def write_index(
    documents: Sequence[Mapping[str, Any]], with_beyond: bool, folder: Path
) -> tuple[Path, Path]:
    """Write `README.md` and `index.html`: a table of the papers, and how to read verdicts.

    `documents` are those of `document`, or what was read from their JSON. Returns the two files.
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
        ),
    }
    pages = folder / "README.md", folder / "index.html"
    for path, name in zip(pages, ("papers.md.j2", "papers.html.j2"), strict=True):
        write_whole(path, rendered(name, **page))
    return pages
