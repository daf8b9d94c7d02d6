"""Pages of the notebooks: their text, their code, and its output: text and pictures."""

from __future__ import annotations

import json
import re
from typing import Any

from assemble import DOCS, Assembly

FOLDER = DOCS / "notebooks"
SVG = "image/svg+xml"


def write(site: Assembly) -> None:
    """Write a page for each notebook, and one that lists them."""
    rows, names = [], []
    for path in sorted(FOLDER.glob("*.ipynb")):
        book = json.loads(path.read_text(encoding="utf-8"))
        parts = [_cell(site, f"{path.stem}-{k}", cell) for k, cell in enumerate(book["cells"])]
        site.write(f"notebooks/{path.stem}.md", "\n\n".join(parts) + "\n")
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


def _cell(site: Assembly, name: str, cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    parts = [f"```python\n{source}\n```"]
    drawn = [output for output in cell["outputs"] if SVG in output.get("data", {})]
    printed = "\n".join(filter(None, (_printed(o) for o in cell["outputs"] if o not in drawn)))
    if printed:
        parts.append(f"```text\n{printed.rstrip()}\n```")
    for k, output in enumerate(drawn):
        file = f"{name}-{k}.svg"
        svg = "".join(output["data"][SVG])
        site.write(f"notebooks/{file}", svg)
        parts.append(f"![{_description(svg)}]({file})")
    return "\n\n".join(parts)


def _printed(output: dict[str, Any]) -> str:
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", []))


def _description(svg: str) -> str:
    """The titles of a chart's axes, for readers that do not see the picture."""
    titles = re.findall(r"aria-label=\"[XY]-axis titled '([^']*)'", svg)
    return f"Chart: {', '.join(reversed(titles))}" if titles else "Chart"
