"""`destage report`: results that were kept, drawn; files of them, or stores of thousands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from destage.base.errors import UsageError
from destage.base.io.names import check_page
from destage.cli.file_types import Input
from destage.cli.options import (
    COMMON,
    OUTPUT,
    Command,
    apply,
    flag,
)
from destage.cli.output import command_line, file_flag, look_at, look_at_folder
from destage.cli.screen import note
from destage.experiment.results import Results, load_results
from destage.experiment.store import is_store
from destage.questions.reports import need_report

__all__ = ["report"]

#: Where the page goes unless it is told.
PAGE = "destage-report.html"

EPILOG = """\b
Examples:
  destage compare hm_0.csv.gz -p lru,ecr -c 32MiB --device small --json r.json
  destage report r.json
  destage report monday.json tuesday.json --html week.html
  destage report r.json --figures figures    # PDF, SVG, PNG and CSV of each
  destage report r.json --figures f --width 3.3in --font-size 8
  destage report runs -o runs.html    # a store of `destage sweep`, to filter
  destage report runs --where "seed <= 3" --figures figures --show hit,p99

Charts over time need results that were made with --report and --json, or with
compare(..., profile=True).
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument(
    "result", nargs=-1, required=True, type=Input("the result"), metavar="RESULT.json|STORE..."
)
@apply(
    [
        file_flag(
            "-o",
            "--html",
            "html_file",
            metavar="FILE.html",
            help=f"Path of the page; - for stdout. [{PAGE}, unless --figures is given]",
        ),
        flag(
            "--figures",
            type=OUTPUT,
            metavar="FOLDER",
            section="Output",
            help="Write every chart as SVG, PDF and PNG, its data as CSV.",
        ),
        flag(
            "--width",
            metavar="LENGTH",
            section="Figures",
            help="Width of each figure with its legend: 3.3in, 84mm.",
        ),
        flag(
            "--height",
            metavar="LENGTH",
            section="Figures",
            help="Height of the panels of a figure: 2in, 50mm.",
        ),
        flag(
            "--font-size",
            type=float,
            metavar="POINTS",
            section="Figures",
            help="Size of all text.",
        ),
        flag(
            "--label",
            multiple=True,
            metavar="LABEL=NAME",
            section="Figures",
            help="Name of a policy in the figures: lru=LRU; repeatable.",
        ),
        flag(
            "--across",
            metavar="KEY",
            section="Output",
            help="Axis of charts: cache, queue_depth, any key of a device.",
        ),
        flag(
            "--log-y",
            is_flag=True,
            section="Output",
            help="Draw numbers on a logarithmic scale.",
        ),
        flag(
            "--where",
            metavar="CONDITION",
            section="Stores",
            help="Filter runs: \"policy == 'lru' and cache >= '10%'\".",
        ),
        flag(
            "--show",
            metavar="NAME,...",
            section="Figures",
            help="Metrics to draw. [the usual columns]",
        ),
    ],
    COMMON,
)
def report(
    result: tuple[str, ...],
    html_file: str | None,
    figures: str | None,
    where: str | None,
    show: str | None,
    across: str | None,
    log_y: bool,
    quiet: bool,
    **arguments: Any,
) -> None:
    """Draw saved results as a page or figures.

    A page is one file that opens offline; a result is a JSON file or a store.
    """
    need_report()
    if html_file is None and figures is None:
        html_file = PAGE
    if html_file not in (None, "-"):
        look_at(str(html_file))
        check_page(str(html_file))
    if figures is not None:
        look_at_folder(figures)
    style = _style(arguments, figures)
    if show is not None and figures is None:
        raise UsageError("--show is of figures: add --figures FOLDER")
    axis: dict[str, Any] = {"across": across, "log_y": log_y}
    found = _loaded(result, where)
    if not found.rows and not found.missing:
        raise UsageError(f"{', '.join(result)}: there are no runs to draw")
    if html_file is not None:
        found.report(html_file, **axis, command=command_line())
    files: Sequence[Path] = ()
    if figures is not None:
        files = found.save_figures(figures, show=show, **axis, **style)
    if html_file is not None and not quiet and html_file != "-":
        note(f"{html_file}: opens offline in any browser")
    if figures is not None and not quiet:
        note(f"{figures}: {len(files)} files")


def _style(arguments: Mapping[str, Any], figures: str | None) -> dict[str, Any]:
    """The style of figures as far as it was given. Raises `UsageError` where there are none."""
    given = {
        name: arguments[name]
        for name in ("width", "height", "font_size")
        if arguments[name] is not None
    }
    labels = {}
    for text in arguments["label"]:
        label, equals, name = text.partition("=")
        if not equals or not label.strip() or not name.strip():
            raise UsageError(f"--label {text}: expected LABEL=NAME, such as lru=LRU")
        labels[label.strip()] = name.strip().strip('"')
    given |= {"labels": labels} if labels else {}
    if given and figures is None:
        raise UsageError(
            "--width, --height, --font-size and --label are of figures: add --figures FOLDER"
        )
    return given


def _loaded(names: Sequence[str], where: str | None) -> Results:
    """The runs of result files, or of stores. Raises `UsageError` for both together."""
    stores = [name for name in names if is_store(name)]
    if stores and len(stores) < len(names):
        other = next(name for name in names if name not in stores)
        raise UsageError(f"{other} is not a result store: draw stores alone")
    if stores:
        return load_results(stores, where)
    if where is not None:
        raise UsageError(f"--where is for stores of results: {names[0]} is none")
    return Results([one for name in names for one in Results.load(name).sets])
