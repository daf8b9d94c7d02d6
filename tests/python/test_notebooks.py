"""The notebooks run from top to bottom and print and draw what is kept in them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

nbformat = pytest.importorskip("nbformat", reason="the extra 'docs' is not installed")
pytest.importorskip("nbclient", reason="the extra 'docs' is not installed")
pytest.importorskip("ipykernel", reason="the extra 'docs' is not installed")
pytest.importorskip("altair", reason="the extra 'report' is not installed")

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
#: In a process of its own: what a kernel's libraries warn of is not ours.
RUN = ROOT / ".ci" / "notebooks.py"


def cells(path: Path) -> list[Any]:
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]


def printed(path: Path) -> list[tuple[str, str]]:
    """What each cell of code gave as text, beside the cell."""
    found = []
    for cell in cells(path):
        texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs]
        found.append((cell.source, "".join(texts)))
    return found


def pictures(path: Path) -> list[str]:
    data = [o.get("data", {}) for cell in cells(path) for o in cell.outputs]
    return [bundle["image/svg+xml"] for bundle in data if "image/svg+xml" in bundle]


def drawn(svg: str) -> list[list[str]]:
    """Data, marks and texts of a picture: all but places, which follow the fonts of a system."""
    marks = re.findall(r'<path (?!class="(?:back|fore)ground")[^>]*? d="([^"]*)"', svg)
    return [
        re.findall(r'aria-label="([^"]*)"', svg),
        marks,
        re.findall(r"<text[^>]*>([^<]*)</text>", svg),
    ]


def test_there_are_four_with_pictures() -> None:
    assert len(NOTEBOOKS) == 4
    for path in NOTEBOOKS:
        assert path.stat().st_size < 50_000, f"{path.name}: outputs are kept small"
        assert pictures(path), f"{path.name} has no picture"
        assert not re.search(r"#{4}", json.dumps(printed(path))), f"{path.name} has bars of text"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_and_draws_what_is_in_it(path: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran.ipynb"
    command = [sys.executable, str(RUN), str(path), str(ran)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert any(text for _, text in printed(path))
    assert printed(ran) == printed(path), "renew them with .ci/notebooks.py"
    for now, kept in zip(pictures(ran), pictures(path), strict=True):
        assert all(drawn(now))
        assert drawn(now) == drawn(kept), "renew them with .ci/notebooks.py"


def test_the_site_shows_their_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    import notebooks
    from assemble import Assembly

    notebooks.write(Assembly(tmp_path / "source"))
    folder = tmp_path / "source" / "notebooks"
    for path in NOTEBOOKS:
        page = (folder / f"{path.stem}.md").read_text(encoding="utf-8")
        shown = re.findall(r"!\[([^\]]+)\]\(([^)]+\.svg)\)", page)
        assert [(folder / name).read_text("utf-8") for _, name in shown] == pictures(path)
        assert "Chart>" not in page, "a chart's text is shown beside its picture"
