"""`destage report`: results that were kept, drawn."""

from __future__ import annotations

from typing import Any

import click

from destage.cli.options import COMMON, OUTPUT, Command, Input, apply, flag
from destage.cli.output import command_line, file_flag, look_at, look_at_folder
from destage.cli.screen import note
from destage.errors import UsageError
from destage.reports import need_report, write_report
from destage.results import Results

__all__ = ["report"]

#: Where the page goes unless it is told.
PAGE = "destage-report.html"

EPILOG = """\b
Examples:
  destage compare hm_0.csv.gz -p lru,ecr -c 32MiB --device small --json r.json
  destage report r.json
  destage report monday.json tuesday.json --html week.html
  destage report r.json --figures figures    # each chart as SVG, PNG and CSV

How a run developed over time is in results that were written with --report beside
--json, or come from compare(..., profile=True).
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument(
    "result", nargs=-1, required=True, type=Input("the result"), metavar="RESULT.json..."
)
@apply(
    [
        file_flag(
            "--html",
            "html_file",
            metavar="FILE.html",
            help=f"Where the page goes; - is standard output. [{PAGE}, unless --figures is given]",
        ),
        flag(
            "--figures",
            type=OUTPUT,
            metavar="FOLDER",
            section="Output",
            help="Every chart as SVG and PNG, each with its data as CSV.",
        ),
    ],
    COMMON,
)
def report(
    result: tuple[str, ...],
    html_file: str | None,
    figures: str | None,
    quiet: bool,
    **_: Any,
) -> None:
    """Draw results: a page that opens offline, or figures."""
    need_report()
    if html_file is None and figures is None:
        html_file = PAGE
    if html_file not in (None, "-"):
        look_at(str(html_file))
    if figures is not None:
        look_at_folder(figures)
    several = [Results.load(name) for name in result]
    if not any(several):
        raise UsageError(f"{', '.join(result)}: there are no runs to draw")
    if html_file is not None:
        write_report(html_file, several, command=command_line())
        if not quiet and html_file != "-":
            note(f"{html_file}: opens offline in any browser")
    if figures is not None:
        from destage.charts.plots import save_figures

        files = save_figures(figures, results=[s for one in several for s in one.result_sets])
        if not quiet:
            note(f"{figures}: {len(files)} files")
