"""How Sphinx reads the assembled pages and what they look like; no page needs the network."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

import destage

project = "Destage"
author = "The Destage developers"
copyright = "The Destage developers"
release = version = destage.__version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "attrs_block"]
myst_heading_anchors = 6
highlight_language = "text"
# A lexer's opinion of an excerpt is not a fault of the page.
suppress_warnings = ["misc.highlighting_failure"]
python_maximum_signature_line_length = 80

html_theme = "furo"
html_title = "Destage"
html_static_path = ["static"]
html_css_files = ["destage.css"]
html_favicon = "static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#8a3b12",
        "color-brand-content": "#8a3b12",
        "color-brand-visited": "#6d4a7a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#f2a76b",
        "color-brand-content": "#f2a76b",
        "color-brand-visited": "#c9a3d9",
    },
    "light_logo": "mark.svg",
    "dark_logo": "mark.svg",
}


def _branch_of_the_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """The sidebar has the branch that the page is in, not all pages: those are most of a build."""
    whole = context.get("toctree")
    if whole is not None:
        context["toctree"] = lambda **options: whole(**{**options, "collapse": True})


def setup(app: Sphinx) -> None:
    """Go before the theme, which asks for the whole tree."""
    app.connect("html-page-context", _branch_of_the_page, priority=400)
