"""The published measurements of `docs/validity.md`, small: savings of handles, and their limits."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def fdp() -> dict[str, Any]:
    """The example, not run."""
    return runpy.run_path(str(ROOT / "examples" / "fdp.py"))


def test_small_and_large_objects_on_two_handles_bring_waf_to_1(fdp: dict[str, Any]) -> None:
    setup: Callable[..., Any] = fdp["Setup"]
    pages = 16  # of a block
    capacity = fdp["UNITS"] * fdp["PLANES"] * pages
    writes: Iterator[tuple[int, int]] = fdp["cachelib"](1.0, 0.4, capacity)
    setups = [
        setup("mixed", placed=False, handles=1),
        setup("handles", placed=True, handles=2, isolation="persistent"),
    ]
    drives = [each.drive(pages, 10, [2 * fdp["PAGE"]], False) for each in setups]
    mixed, separated = fdp["waf"]("small", writes, drives)
    assert mixed > 2.5
    assert 1 <= separated < 1.05


def test_writers_fill_their_areas_and_four_times_the_capacity(fdp: dict[str, Any]) -> None:
    for order in ("sequential", "shuffled"):
        first, written, pages = set(), 0, 0
        for page, count in fdp["lmcache"](order, "bytes", 1):
            if page not in first:
                first.add(page)
                pages += count
            written += count
            if pages == 855 * 1024:
                break
        assert pages == 855 * 1024, "every object of every writer"
        assert written <= 4 * 960 * 1024


def test_the_command_prints_its_table(
    fdp: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    fdp["main"](["cachelib", "--small", "0.3", "--spare", "10", "--block-pages", "8"])
    table = capsys.readouterr().out.splitlines()
    assert table[0].startswith("published: half of the device 1.22")
    assert [line.split()[0] for line in table[2:]] == ["50%", "100%"]
