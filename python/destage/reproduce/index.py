"""The pages over all papers: `README.md` for a repository, `index.html` for reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from destage import _destage
from destage.io.files import write_whole
from destage.report.plain import policy
from destage.reproduce.pages import COLUMNS, HOW, markdown_table, style, template, verdict_cells
from destage.reproduce.words import VERDICTS

__all__ = ["write_index"]

#: As a title has it.
NUMBERS = {k: f"{k} papers" for k in range(2, 10)} | {
    1: "A paper",
    5: "Five papers",
    6: "Six papers",
}

#: What a paper's authors call it, where that is not its name in capitals.
SHORT = {"gcar": "GCaR"}


def write_index(
    documents: Sequence[Mapping[str, Any]], with_beyond: bool, folder: Path
) -> tuple[Path, Path]:
    """Write `README.md` and `index.html`: the papers, their verdicts and their headline claims.

    `documents` are those of `document`, or what was read from their JSON. Returns the two files.
    """
    pages = folder / "README.md", folder / "index.html"
    write_whole(pages[0], _markdown(documents, with_beyond))
    write_whole(pages[1], _html(documents, with_beyond))
    return pages


def _markdown(documents: Sequence[Mapping[str, Any]], with_beyond: bool) -> str:
    words = list(VERDICTS)
    rows = [["paper", "claims", *words, "rests on", "command"]]
    for d in documents:
        name = d["paper"]["name"]
        kinds = dict.fromkeys(load["kind"] for load in d["loads"])
        counts = [str(d["summary"][w]) for w in words]
        link = f"[{SHORT.get(name, name.upper())}]({name}.md)"
        made = f"`{d['command']}`"
        rows.append([link, str(len(d["claims"])), *counts, ", ".join(kinds), made])
    out = [f"# {NUMBERS[len(documents)]} re-run", ""]
    out += [f"Destage {_destage.VERSION}."]
    out += ["", markdown_table(rows)]
    if with_beyond:
        out += ["[Beyond the papers](beyond.md): every policy over every FTL, and the distance to"]
        out += ["what is possible.", ""]
    out += ["## Headline claims", ""]
    heads = [["paper", "claim", *COLUMNS, "measured on the paper's loads"]]
    for d in documents:
        for c in d["claims"]:
            if c["headline"]:
                cells = [d["paper"]["name"], c["claim"], *verdict_cells(c), c["measured"]]
                heads.append(cells)
    out += [markdown_table(heads), HOW]
    return "\n".join(out).rstrip() + "\n"


def _html(documents: Sequence[Mapping[str, Any]], with_beyond: bool) -> str:
    text: str = template("papers.html.j2").render(
        title=f"{NUMBERS[len(documents)]} re-run",
        version=_destage.VERSION,
        papers=[
            {
                **d["paper"],
                "page": f"{d['paper']['name']}.html",
                "counts": [(word, d["summary"][word]) for word in VERDICTS],
                "rests": ", ".join(dict.fromkeys(load["kind"] for load in d["loads"])),
                "command": d["command"],
                "headlines": [c for c in d["claims"] if c["headline"]],
            }
            for d in documents
        ],
        verdicts=list(VERDICTS),
        beyond=with_beyond,
        how=HOW,
        policy=policy([style()]),
        css=style(),
    )
    return text
