"""The pictures of the first pages are made by `examples/pictures.py`."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import ROOT

from destage.show.charts.theme import LIGHT, styles

IMAGES = ROOT / "docs" / "img"


@pytest.fixture(scope="module")
def pictures() -> dict[str, Any]:
    """The example, not run."""
    pytest.importorskip("altair")
    return runpy.run_path(str(ROOT / "examples" / "pictures.py"))


def test_the_stack_and_the_verdicts_are_as_they_are_drawn(pictures: dict[str, Any]) -> None:
    verdicts = json.loads(Path(pictures["VERDICTS"]).read_text("utf-8"))
    drawn = {"stack": pictures["stack"](), "waits": pictures["waits"](verdicts)}
    for name, text in drawn.items():
        ElementTree.fromstring(text)
        assert (IMAGES / f"{name}.svg").read_text("utf-8") == text, f"examples/pictures.py: {name}"


def test_a_policy_has_its_colour_in_each_picture(pictures: dict[str, Any]) -> None:
    look = styles(["lru", "ecr"], LIGHT)
    assert look["ecr"].color in (IMAGES / "waits.svg").read_text("utf-8")
    response = (IMAGES / "response.svg").read_text("utf-8")
    assert {style.color for style in look.values()} <= set(response.split('"'))


def test_the_script_writes_all_three(pictures: dict[str, Any], tmp_path: Path) -> None:
    main: Callable[[list[str]], None] = pictures["main"]
    main([str(tmp_path), "--requests", "3000"])
    assert {path.name for path in tmp_path.iterdir()} == {"stack.svg", "waits.svg", "response.svg"}
    text = (tmp_path / "response.svg").read_text("utf-8")
    assert "log scale" in text
    assert "units in GC (lru)" in text
