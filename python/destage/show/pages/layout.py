"""The frame of every page: one file with style, scripts and data inside, that loads nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from destage.model.words import printable
from destage.show.charts.engine import engine
from destage.show.charts.theme import DARK, LIGHT, VEGA_LITE, variables
from destage.show.pages.plain import policy

__all__ = ["asset", "drawn", "page_of", "style_variables"]


def page_of(
    template: str,
    scripts: Sequence[str],
    model: Mapping[str, Any],
    *,
    styles: Sequence[str] = (),
    command: str | None,
    **parts: Any,
) -> str:
    """The page of a template.

    Parameters:
        scripts, styles: names of files, beside those that every page has.
        model: what the scripts draw.
        command: the command line that makes the page again.
        parts: what the template names.
    """
    style = "\n".join([style_variables(), *map(asset, ("report.css", *styles))])
    run = [vega(), *map(asset, ("page.js", *scripts))]
    html: str = (
        _templates()
        .get_template(template)
        .render(
            command=printable(command) if command else None,
            policy=policy([style], run),
            style=Markup(style),
            scripts=[Markup(script) for script in run],
            model=Markup(_script_json({**model, "paper": variables(LIGHT)})),
            **parts,
        )
    )
    # Lone surrogates, which file names may hold, have no place in UTF-8.
    return html.encode("utf-8", "backslashreplace").decode("utf-8")


def drawn(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Groups of charts as scripts take them: tables of points are for where none runs."""
    return [
        {
            **group,
            "charts": [
                {k: v for k, v in chart.items() if k != "points"} for chart in group["charts"]
            ],
        }
        for group in groups
    ]


def asset(name: str) -> str:
    """A file of the folder `templates`, as text."""
    return (files("destage") / "templates" / name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(asset),
    )


@cache
def vega() -> str:
    """Vega-Embed, which brings Vega, as one script, from vl-convert's own copy."""
    script: str = engine().javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def style_variables() -> str:
    """The colours, light and dark, as style sheet."""

    def block(selector: str, scheme: str, colors: Mapping[str, str]) -> str:
        body = "; ".join(f"{name}: {color}" for name, color in colors.items())
        return f"{selector} {{ color-scheme: {scheme}; {body}; }}"

    light, dark = variables(LIGHT), variables(DARK)
    return "\n".join(
        [
            block(":root", "light", light),
            "@media screen and (prefers-color-scheme: dark) {",
            block(':root:not([data-theme="light"])', "dark", dark),
            "}",
            "@media screen {",
            block(':root[data-theme="dark"]', "dark", dark),
            "}",
        ]
    )


def _script_json(data: object) -> str:
    """JSON that can stand in a script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
