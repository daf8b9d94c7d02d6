"""`destage demo`: the first thing a newcomer runs."""

from __future__ import annotations

from typing import Any

import click

from destage.base.errors import MissingExtra, OutputError
from destage.base.io.names import check_page
from destage.cli.options import COMMON, Command, apply
from destage.cli.output import file_flag, look_at, print_table
from destage.cli.screen import note, progress, warn
from destage.questions.demonstration import COLUMNS, compare_demo, demo_trace
from destage.questions.reports import need_report, write_report
from destage.show.tables.results import results_table
from destage.show.tables.trace_info import plausibility

__all__ = ["demo"]

NEXT = """
85 seconds of a PostgreSQL server's disk traffic, replayed through a cache of
256 MiB in front of a simulated 16 GiB SSD that is full. Measurement begins when the
cache has filled. Flash writes include pending writes.

lru is the baseline; arc has the most hits of the online policies; cflru and
gcar-cflru evict clean pages among the oldest first, gcar-cflru also asks whether a
page's unit collects garbage; ecr evicts every clean page before any dirty one, so
that its cache fills with dirty pages; min knows the future and bounds the hits.

Next:
  destage trace info YOUR_TRACE              describe your trace
  destage compare YOUR_TRACE -p lru,cflru,ecr -c 64MiB --device small --report r.html
  destage policies                           all policies; destage policies ecr: one
  destage devices                            the devices; --toml writes one's file
"""


@click.command(cls=Command)
@apply(
    [
        file_flag(
            "--report",
            "report_file",
            metavar="FILE.html",
            default="destage-report.html",
            help="Path of the report. [destage-report.html]",
        )
    ],
    COMMON,
)
def demo(report_file: str, quiet: bool, **_: Any) -> None:
    """Compare policies on a small real trace: start here.

    The trace ships with Destage.
    """
    check_page(report_file)
    with progress(quiet) as callback:
        trace = demo_trace(progress=callback)
        results = compare_demo(trace, profile=True, progress=callback)
    if not quiet:
        note(plausibility(trace.meta, trace.from_cache))
    print_table(results_table(results, show=COLUMNS))
    said = None
    try:
        need_report()
        look_at(report_file)
        write_report(report_file, results, traces=[trace], command="destage demo")
        said = f"The same with charts: {report_file} (opens offline in any browser)"
    except MissingExtra as e:
        warn(f"no report was written: {e}")
    except OutputError as e:
        # The table is what was asked for; a read-only folder must not spoil the first run.
        warn(f"no report was written: {e}")
    click.echo(NEXT.rstrip())
    if said:
        click.echo(f"\n{said}")
