"""The pages behind the screens of `docs/papers`, from the numbers that lie there as JSON."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from assemble import DOCS, Assembly

from destage.reproduce.beyond_pages import write_all
from destage.reproduce.pages import write_behind

PAPERS = DOCS / "papers"


def write(site: Assembly) -> None:
    """Write them, with the figures that they show."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for path in sorted(PAPERS.glob("*.json")):
            data = json.loads(path.read_text(encoding="utf-8"))
            if "paper" in data:
                write_behind(data, folder)
            else:
                write_all(data, folder)
        for page in sorted(folder.rglob("*.md")):
            site.write(f"papers/{page.relative_to(folder)}", page.read_text(encoding="utf-8"))
    for figure in PAPERS.glob("*/*.svg"):
        target = site.source / "papers" / figure.relative_to(PAPERS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(figure, target)
