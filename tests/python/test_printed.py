"""A report on paper: few pages, a small file, two charts abreast, headings with their charts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("altair")

import browser
from conftest import Destage

in_a_browser = pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed")


@in_a_browser
def test_a_report_prints_small_and_two_charts_abreast(destage: Destage, tmp_path: Path) -> None:
    """The demo's trace, a tenth of it: charts have as many marks as with all requests."""
    assert destage("demo", "--copy-trace", "demo.csv.xz").status == 0
    words = ("-p", "lru,arc,cflru,ecr,gcar-cflru", "-c", "2%,5%,10%,20%", "-d", "small")
    done = destage(
        "compare", "demo.csv.xz", "--requests", "40000", *words, "--report", "report.html"
    )
    assert done.status == 0, done
    report = tmp_path / "report.html"
    with browser.opened() as chromium, chromium.page(report) as page:
        page.wait("document.querySelectorAll('.vega svg').length > 20")
        heats = page.ask("document.querySelectorAll('.mark-rect path').length")
        pdf = page.printed()
        page.call("Emulation.setEmulatedMedia", media="print")
        page.size(720)
        columns = page.each(".charts", "getComputedStyle(e).gridTemplateColumns.split(' ').length")
        unseen = page.each(".vega svg [opacity='0']", "getComputedStyle(e).display")
    assert heats > 5000, "the page has heat maps"
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) <= 12
    assert len(pdf) < 2_000_000
    assert len(columns) > 3
    assert set(columns) <= {2, 3}
    assert unseen
    assert set(unseen) == {"none"}
