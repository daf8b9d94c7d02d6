"""`destage demo`: the first thing a newcomer runs."""

from __future__ import annotations

from typing import Any

import click

from destage.base.errors import MissingExtra, OutputError
from destage.base.io.names import check_page, printable
from destage.cli.options import COMMON, Command, apply
from destage.cli.output import file_flag, look_at, print_table
from destage.cli.screen import note, progress, warn
from destage.questions.demonstration import (
    COLUMNS,
    at_its_times,
    compare_demo,
    copy_trace,
    demo_trace,
)
from destage.questions.reports import need_report, write_report
from destage.show.tables.results import results_table
from destage.show.tables.trace_info import plausibility

__all__ = ["demo"]

NEXT = """
A PostgreSQL server's disk traffic, replayed through a cache of 256 MiB in front of a
simulated 16 GiB SSD that is full, eight requests at a time. Measurement begins when
the cache has filled. Flash writes include pending writes.

lru is the baseline; arc adapts to reuse; cflru and gcar-cflru evict clean pages among
the oldest first, gcar-cflru also asks whether a page's unit is in GC; ecr
evicts the page whose unit has the least to do; min knows the future and bounds the
hits.

Next:
  destage demo --copy-trace demo.csv.xz      the trace, to try the commands on
  destage trace info YOUR_TRACE              describe your trace
  destage compare YOUR_TRACE -p lru,cflru,ecr -c 64MiB -d small --queue-depth 8
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
        ),
        file_flag("--copy-trace", "trace_file", help="Write the trace to FILE, and stop."),
    ],
    COMMON,
)
def demo(report_file: str, trace_file: str | None, quiet: bool, **_: Any) -> None:
    """Compare policies on a small real trace: start here.

    The trace ships with Destage.
    """
    if trace_file is not None:
        copy_trace(trace_file)
        if not quiet and trace_file != "-":
            note(f"{printable(trace_file)}: the trace of the demo, 400,000 requests (MSR, xz)")
        return
    check_page(report_file)
    with progress(quiet) as callback:
        trace = demo_trace(progress=callback)
        results = compare_demo(trace, profile=True, progress=callback)
        said_open = at_its_times(trace, progress=callback)
    if not quiet:
        note(plausibility(trace.overview, trace.from_cache))
    print_table(results_table(results, show=COLUMNS))
    click.echo(said_open)
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
