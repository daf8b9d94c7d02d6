"""The notebooks run from top to bottom and print what is printed in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

nbformat = pytest.importorskip("nbformat", reason="the extra 'docs' is not installed")
pytest.importorskip("nbclient", reason="the extra 'docs' is not installed")
pytest.importorskip("ipykernel", reason="the extra 'docs' is not installed")

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

#: In a process of its own: what a kernel's libraries warn of is not ours.
RUN = """
import sys
import nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(book, timeout=300, resources={"metadata": {"path": sys.argv[2]}}).execute()
nbformat.write(book, sys.argv[3])
"""


def printed(book: object) -> list[tuple[str, str]]:
    """What each cell of code gave as text, beside the cell."""
    found = []
    for cell in book.cells:  # type: ignore[attr-defined]
        if cell.cell_type == "code":
            texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs]
            found.append((cell.source, "".join(texts)))
    return found


def test_there_are_four() -> None:
    assert len(NOTEBOOKS) == 4
    assert all(path.stat().st_size < 20_000 for path in NOTEBOOKS), "outputs are kept small"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_in_it(path: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran.ipynb"
    command = [sys.executable, "-c", RUN, str(path), str(tmp_path), str(ran)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kept, now = (printed(nbformat.read(p, as_version=4)) for p in (path, ran))
    assert any(text for _, text in kept)
    assert now == kept
