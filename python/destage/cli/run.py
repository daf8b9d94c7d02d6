"""`destage run`: one run, everything recorded."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path
from typing import Any

import click

from destage import _destage
from destage.base.errors import UsageError
from destage.base.io.files import write_whole
from destage.base.io.names import printable
from destage.cli.load import TRACES, load_one
from destage.cli.options import (
    COMMON,
    DEVICE,
    ONE_TIERS,
    RUN,
    Command,
    apply,
    drive_of,
    flag,
    no_size_without_a_cache,
    run_values,
)
from destage.cli.output import FILES, REPORT, Outputs, file_flag
from destage.cli.policy_options import SIZE, policy_flag, say_warnings
from destage.cli.reading import TRACE
from destage.cli.screen import note, progress
from destage.lab.checks import check_run
from destage.model.choice import grouped
from destage.model.host_interface import repeats_waf
from destage.model.metrics import WRITES, Metric, metrics
from destage.model.naming import parts
from destage.model.run import Run, measured_text
from destage.model.values import cell
from destage.model.words import counted, plain, size, time_unit
from destage.questions.runs import Recorded
from destage.questions.runs import run as run_policy
from destage.show.tables.frames import csv_text

__all__ = ["run"]

#: Flags of recordings beside the results.
RECORDED = ("decisions", "series", "timeline")

#: Periods of a series unless `--period` says how long one is.
PERIODS = 200

RECORDS = [
    file_flag(
        "--decisions",
        metavar="FILE.jsonl",
        help="Write every decision, one JSON object per line.",
    ),
    file_flag(
        "--timeline",
        metavar="FILE.json.gz",
        help="Write the SSD's operations over time for ui.perfetto.dev. FILE may end in .gz.",
    ),
    file_flag(
        "--series",
        help="Counters per period, warm-up too, as CSV or .parquet.",
    ),
    flag(
        "--period",
        type=int,
        metavar="N",
        section="Output",
        help=f"Page accesses per period. [1/{PERIODS} of the trace]",
    ),
]

ALL = [flag("--all", is_flag=True, section="Output", help="Print every metric.")]

ONE = policy_flag("the device file's", several=False)

EPILOG = """\b
Examples:
  destage run hm_0.csv.gz -p arc -c 10%
  destage run hm_0.csv.gz -p cflru -c 16MiB --decisions d.jsonl --series s.csv
  destage run hm_0.csv.gz -p ecr -c 16MiB --device small \\
      --timeline t.json.gz --for 10s
"""


@click.command(cls=Command, epilog=EPILOG)
@TRACES
@apply(ONE, SIZE, RUN, ONE_TIERS, ALL, RECORDS, DEVICE, FILES, REPORT, TRACE, COMMON)
def run(trace: tuple[str, ...], **arguments: Any) -> None:
    """Run one policy once and record everything."""
    named = {k: v for k, v in arguments.items() if k in RECORDED}
    outputs = Outputs.of({**arguments, **{f"{k}_file": v for k, v in named.items()}})
    series, period = arguments["series"], arguments["period"]
    if period is not None and period < 1:
        raise UsageError(f"--period: expected at least 1 page access, found {period}")
    if series is not None and Path(series).suffix not in ("", ".csv", ".parquet"):
        raise UsageError(f"--series: expected a file .csv or .parquet, found {printable(series)}")
    no_size_without_a_cache(arguments["policy"])
    drive = drive_of(arguments)
    if len(list(parts(arguments["cache"] or ""))) > 1:
        raise UsageError(
            f"--cache {arguments['cache']}: run takes one size, `destage compare` takes several"
        )
    if drive is None and arguments["timeline"] is not None:
        raise UsageError("--timeline needs a simulated SSD: add --device")
    check_run(
        arguments["policy"],
        cache=arguments["cache"],
        device=drive,
        **run_values(arguments),
    )
    opened = load_one(trace, arguments, drive)
    # A report shows how the run developed.
    if (series is not None or "report" in outputs.files) and period is None:
        period = max(1, opened.accesses // PERIODS)
    with progress(arguments["quiet"]) as callback:
        recorded = run_policy(
            opened,
            arguments["policy"],
            cache=arguments["cache"],
            device=drive if arguments["tier2"] else opened.device,
            **run_values(arguments, profile=drive is not None and "report" in outputs.files),
            decisions=arguments["decisions"],
            timeline=arguments["timeline"],
            series=period,
            progress=callback,
        )
    if series is not None:
        _write_series(series, recorded)
        if recorded.run.counts_tier_1:
            note("--series counts tier 1; --json has the hits of all tiers (windows.overall_hits)")
    outputs.write(recorded.results)
    if outputs.to_screen:
        click.echo(_text(recorded.run, arguments["all"]))
    say_warnings(recorded.results, has_table=False)
    outputs.write_report(recorded.results, [opened], series=[recorded.series])


def _write_series(path: str, recorded: Recorded) -> None:
    columns = recorded.series_columns()
    if Path(path).suffix == ".parquet":
        table: list[tuple[str, list[Any]]] = list(columns.items())
        write_whole(path, lambda: _destage.parquet_bytes(table, {}))
    else:
        write_whole(path, csv_text(columns))


#: Metrics of the summary: the first eight of these that the run has.
SUMMARY = (
    *("response_ns_mean", "response_ns_p99", "iops", "token_hit_ratio", "overall_hit_ratio"),
    *("hit_ratio", "tier2_hit_ratio", "flash_writes", "waf", "erases", "read_hit_ratio"),
    *("write_hit_ratio", "misses", "physical_reads", "evictions", "destages"),
)


def _text(run: Run, every: bool) -> str:
    """The metrics of a run, one a line: a summary, or all of them in groups if `every`."""
    head = f"{run.trace.name}: {run.label}"
    if run.policy != "none":
        head += f", cache {size(run.cache_bytes)} ({counted(run.frames, 'page')})"
    if run.device:
        head += f", in front of {run.device}"
    if run.queue_depth is not None:
        head += f", {run.queue_depth} outstanding"
    lines = [head]
    if run.warmup_requests and run.measured is not None:
        lines.append(f"measured: {measured_text(run)}")
    known = {m.name: m for m in metrics() if run[m.name] is not None}
    if not known:
        return plain("\n".join(lines))
    if not every:
        summary = [known[name] for name in SUMMARY if name in known][:8]
        lines += ["", *(_line(metric, run) for metric in summary)]
        return plain("\n".join([*lines, "", f"--all prints all {len(known)} metrics."]))
    listed = [metric for metric in known.values() if not repeats_waf(metric, [run])]
    for group, members in grouped(listed):
        if group.is_rare and not any(run[metric.name] for metric in members):
            continue
        # Without a flash tier, the flash writes of a day belong to the prompts above.
        if group.group != "tiers" or run["tier2_policy"] is not None:
            about = f"{group.title}: {group.about}." if group.about else f"{group.title}:"
            lines += ["", textwrap.fill(about, 80)]
        lines += [_line(metric, run) for metric in members]
    return plain("\n".join(lines))


#: Columns before a metric's description, and the least that is left for it.
LEAD, LEAST = 55, 24


def _line(metric: Metric, run: Run) -> str:
    """Name, value, unit and description, within the terminal's width."""
    value = run[metric.name]
    unit = time_unit([value]) if metric.kind == "time" else None
    shown = cell(metric, value, unit)
    named = unit.name if unit else metric.shown_unit
    named = "" if shown.endswith("B") else named  # `18.2 GB` has its unit.
    start = f"  {metric.name:<25} {shown:>15} {named:<10} "
    width = max(shutil.get_terminal_size((120, 24)).columns, LEAD + LEAST)
    said = metric.about
    if metric.name == WRITES and run["kv_requests"] is not None:
        said = "blocks that the cache took in: its flash writes if it is on flash"
    about = textwrap.wrap(said, width, initial_indent=start, subsequent_indent=" " * LEAD)
    return "\n".join(about or [start.rstrip()])
