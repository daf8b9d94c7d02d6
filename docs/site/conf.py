"""How Sphinx reads the assembled pages and what they look like; no page needs the network."""

from __future__ import annotations

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
