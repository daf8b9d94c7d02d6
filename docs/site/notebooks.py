"""Pages of the notebooks: their text, their code, and what it printed when they were last run."""

from __future__ import annotations

import json
from typing import Any

from assemble import DOCS, Assembly

FOLDER = DOCS / "notebooks"


def write(site: Assembly) -> None:
    """Write a page for each notebook, and one that lists them."""
    rows, names = [], []
    for path in sorted(FOLDER.glob("*.ipynb")):
        book = json.loads(path.read_text(encoding="utf-8"))
        site.write(f"notebooks/{path.stem}.md", "\n\n".join(map(_cell, book["cells"])) + "\n")
        title = "".join(book["cells"][0]["source"]).splitlines()[0].removeprefix("# ")
        rows.append(f"| [{title}]({path.stem}.md) | `docs/notebooks/{path.name}` |")
        names.append(path.stem)
    listed = "\n".join(names)
    site.write(
        "notebooks/index.md",
        "# Notebooks\n\nShort, runnable examples.\n\n| | |\n|---|---|\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
    )


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    parts = [f"```python\n{source}\n```"]
    printed = "\n".join(filter(None, map(_printed, cell["outputs"])))
    if printed:
        parts.append(f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(parts)


def _printed(output: dict[str, Any]) -> str:
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", []))
