"""Run the notebooks and keep their output in them, pictures included.

    .venv/bin/python .ci/notebooks.py             run `docs/notebooks/*.ipynb` in place
    .venv/bin/python .ci/notebooks.py IN OUT      run one notebook into another file

Renewed outputs belong into the commit that changes them; `tests/python/test_notebooks.py` compares.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"


def run(source: Path, target: Path) -> None:
    """Run a notebook in an empty folder; keep its outputs, without times and versions."""
    book = nbformat.read(source, as_version=4)
    language = dict(book.metadata["language_info"])
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        NotebookClient(book, timeout=300, resources=where).execute()
    book.metadata["language_info"] = language
    for cell in book.cells:
        cell.metadata = {}
    nbformat.write(book, target)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        run(Path(sys.argv[1]), Path(sys.argv[2]))
    elif len(sys.argv) == 1:
        for path in sorted(FOLDER.glob("*.ipynb")):
            run(path, path)
    else:
        sys.exit(f"notebooks: expected no arguments or IN OUT, got {' '.join(sys.argv[1:])}")
