"""The frame of every page: one file with style, scripts and data inside, that loads nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from destage.model.words import printable
from destage.show.charts.engine import engine
from destage.show.charts.theme import DARK, LIGHT, VEGA_LITE, variables
from destage.show.pages.blocks import Part
from destage.show.pages.plain import policy

__all__ = ["asset", "page_of", "style_variables"]


def page_of(
    articles: Sequence[Part],
    model: Mapping[str, Any],
    *,
    eyebrow: str,
    title: str,
    version: str,
    command: str | None,
    lead: str = "",
    choice: Part | None = None,
    bare: Part | None = None,
) -> str:
    """The page of some articles.

    Parameters:
        model: what the scripts draw.
        command: the command line that makes the page again.
        choice: the filters of a page whose reader chooses runs.
        bare: a table of the runs, where filters do not work without scripts.
    """
    style = "\n".join(
        [style_variables(), *map(asset, ["report.css", *["store.css"] * bool(choice)])]
    )
    run = [vega(), *map(asset, ("page.js", "store.js" if choice else "report.js"))]
    html: str = (
        _templates()
        .get_template("page.html.j2")
        .render(
            articles=articles,
            eyebrow=eyebrow,
            title=printable(title),
            lead=lead,
            version=version,
            choice=choice,
            bare=bare,
            command=printable(command) if command else None,
            policy=policy([style], run),
            style=Markup(style),
            scripts=[Markup(script) for script in run],
            model=Markup(_script_json({**_drawn(model), "paper": variables(LIGHT)})),
        )
    )
    # Lone surrogates, which file names may hold, have no place in UTF-8.
    return html.encode("utf-8", "backslashreplace").decode("utf-8")


def _coded(line: str) -> Markup:
    """A line of text in which commands stand between backticks, as the terminal shows it."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(line))))


def _drawn(model: Mapping[str, Any]) -> dict[str, Any]:
    """The model as scripts take it: tables of points are for where none runs."""
    groups = [
        {**g, "charts": [{k: v for k, v in c.items() if k != "points"} for c in g["charts"]]}
        for g in model.get("groups", ())
    ]
    return {**model, "groups": groups}


def asset(name: str) -> str:
    """A file of the folder `templates`, as text."""
    text = (files("destage") / "templates" / name).read_text(encoding="utf-8")
    if not name.endswith((".js", ".css")):
        return text
    # Readers of the page's source have ours: indentation and comments of a line are left out.
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


@cache
def _templates() -> Environment:
    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(asset),
    )
    made.filters["coded"] = _coded
    return made


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
