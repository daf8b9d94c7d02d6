"""Every colour of a page is legible on its background, in light and dark.

Contrast as WCAG 2.2 defines it (relative luminance, from 1 to 21): at least 3 for lines, bars and
marks (success criterion 1.4.11), at least 4.5 for text (1.4.3).
"""

from __future__ import annotations

import re
import runpy

import pytest
from conftest import ROOT

import destage as ds
from destage.show.charts.theme import DARK, LIGHT, Theme, styles

POLICIES = [p.name for p in ds.policies()]
THEMES = [pytest.param(LIGHT, id="light"), pytest.param(DARK, id="dark")]
#: `color` of a rule of the site's style sheet that gives one in plain numbers.
RULE = re.compile(r"^([^{}\n]*)\{[^}]*?(?<![-\w])color: (#[0-9a-f]{6})", re.MULTILINE)


def luminance(color: str) -> float:
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def faint(colors: dict[str, str], backgrounds: tuple[str, ...], least: float) -> list[str]:
    """The colours that are too near to a background, with their contrast."""
    found = []
    for name, color in colors.items():
        for background in backgrounds:
            ratio = contrast(color, background)
            if ratio < least:
                found.append(f"{name} {color} on {background}: {ratio:.2f}")
    return found


def test_contrast_is_as_defined() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert faint({"grey": "#777777"}, ("#ffffff",), 4.5) == ["grey #777777 on #ffffff: 4.48"]


@pytest.mark.parametrize("theme", THEMES)
def test_a_line_of_each_policy_is_seen(theme: Theme) -> None:
    look = {name: style.color for name, style in styles(POLICIES, theme).items()}
    assert len(look) == len(POLICIES)
    assert set(theme.series) | {theme.ink, theme.oracle} == set(look.values())
    # Charts lie on the page; a legend's chips, on the panel, have their names beside the mark.
    assert faint(look, (theme.page,), 3) == []


def test_in_the_dark_a_mark_is_seen_on_a_chip() -> None:
    look = {name: style.color for name, style in styles(POLICIES, DARK).items()}
    assert faint(look, (DARK.panel,), 3) == []


@pytest.mark.parametrize("theme", THEMES)
def test_text_of_each_kind_can_be_read(theme: Theme) -> None:
    texts = {name: getattr(theme, name) for name in ("ink", "faint", "link", "best")}
    assert faint(texts, (theme.page, theme.panel), 4.5) == []
    assert faint({"warn": theme.warn}, (theme.page, theme.panel), 3) == []


def test_links_and_marks_of_the_site_are_seen() -> None:
    """Furo's pages are white, and #131416 in the dark."""
    options = runpy.run_path(str(ROOT / "docs" / "site" / "conf.py"))["html_theme_options"]
    for variables, page in (("light_css_variables", "#ffffff"), ("dark_css_variables", "#131416")):
        assert len(options[variables]) == 3
        assert faint(options[variables], (page,), 4.5) == []
    sheet = (ROOT / "docs" / "site" / "static" / "destage.css").read_text("utf-8")
    marks = {rule.strip(): color for rule, color in RULE.findall(sheet)}
    assert {".steps .hit", ".steps .dirty"} <= set(marks)
    assert faint(marks, ("#ffffff", "#131416"), 3) == []
