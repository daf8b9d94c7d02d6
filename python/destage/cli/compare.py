"""`destage compare`: the main job."""

from __future__ import annotations

from typing import Any

import click

from destage.checks import USUAL, check_request
from destage.cli import signals
from destage.cli.load import TRACES, load
from destage.cli.options import (
    COMMON,
    DEVICE,
    RUN,
    Command,
    Decorated,
    apply,
    drive_of,
    flag,
    run_values,
    sizes_flag,
)
from destage.cli.output import FILES, Outputs, file_flag, print_table
from destage.cli.reading import TRACE
from destage.cli.screen import note, progress, warn
from destage.device import Drive
from destage.errors import UsageError
from destage.model.run import warnings_of
from destage.model.words import counted, duration, number, plain, size
from destage.options import thread_count
from destage.policy import expanded
from destage.results import Results
from destage.runs import Interrupted, plan
from destage.runs import compare as compare_policies
from destage.tables.results import results_table
from destage.tables.table import Cell, Column, Table
from destage.trace import Trace

__all__ = ["JOBS", "REPORT", "compare", "note_left_out", "policy_flag", "say_warnings"]


def policy_flag(default: str) -> list[Decorated]:
    """The flag for policies; the help says what is taken without it."""
    return [
        flag(
            "-p",
            "--policy",
            metavar="NAME,...",
            help="Policies: lru,arc,cflru[window_fraction=0.75], or a group: all, flash, classic;"
            " FILE.py:CLASS is one of yours;"
            f" `destage policies` lists them; none is no cache. [{default}]",
        )
    ]


JOBS = [flag("--jobs", type=int, metavar="N", help="Threads. [as many as processors]")]

REPORT = [
    file_flag(
        "--report",
        "report_file",
        metavar="FILE.html",
        help="A report in one file that opens offline (needs the extra 'report').",
    )
]

LIFE = [
    flag(
        "--pe-cycles",
        type=int,
        metavar="N",
        section="Drive",
        help="Erases that a block endures: shows drive writes a day, and the years that the drive"
        " lasts at this load.",
    )
]

DRY = [flag("--dry-run", is_flag=True, help="Show what would run and how long, and stop.")]

EPILOG = """\b
Examples:
  destage compare hm_0.csv.gz
  destage compare hm_0.csv.gz -p lru,acr-h -c 4MiB,16MiB --cost read=1,write=118
  destage compare hm_0.csv.gz -p none,lru,ecr -c 32MiB --device small
  destage compare a.csv b.csv -p lru,arc -c 10% --csv - --quiet

Several files are one trace: merged by time, each volume with its own addresses.
A flag left out is looked up in the environment (DESTAGE_ and its name in capitals;
DESTAGE_CACHE_SIZE for --cache), then in the --config file.
"""


@click.command(cls=Command, epilog=EPILOG)
@TRACES
@apply(
    policy_flag(f"the drive's, else {USUAL}"),
    sizes_flag("the drive's, else auto"),
    *(JOBS, RUN, DRY, DEVICE, LIFE, FILES, REPORT, TRACE, COMMON),
)
def compare(trace: tuple[str, ...], **arguments: Any) -> None:
    """Compare policies over cache sizes on a trace."""
    outputs = Outputs.of(arguments)
    drive = drive_of(arguments)
    check_request(
        arguments["policy"],
        cache=arguments["cache"],
        device=drive,
        jobs=arguments["jobs"],
        **run_values(arguments),
    )
    if arguments["pe_cycles"] is not None and drive is None:
        raise UsageError("--pe-cycles is of a drive: add --device")
    if not arguments["quiet"]:
        note_left_out(arguments["policy"], drive)
    traces = load(trace, arguments, drive)
    # It may have been made larger for the trace.
    drive = traces[0].drive
    if arguments["dry_run"]:
        print_table(_planned(traces, drive, arguments))
        return
    interrupted = False
    try:
        with progress(arguments["quiet"]) as callback:
            results = compare_policies(
                traces,
                arguments["policy"],
                cache=arguments["cache"],
                device=drive,
                **run_values(arguments, profile=drive is not None and "report" in outputs.files),
                jobs=arguments["jobs"],
                progress=callback,
            )
    except Interrupted as e:
        if not e.results or not outputs.to_screen:
            raise
        results, interrupted = e.results, True
    if arguments["pe_cycles"] is not None:
        results = results.enduring(arguments["pe_cycles"])
    if not interrupted:
        outputs.write(results)
    if outputs.to_screen:
        print_table(results_table(results))
    say_warnings(results)
    if not interrupted:
        # Last: where it cannot be drawn, nothing else is lost.
        outputs.write_report(results, traces)
    if interrupted:
        note(f"{signals.said()}: only the runs that had ended are shown, and no file was written")
        click.get_current_context().exit(signals.status())


#: Page accesses that one thread replays in a second, to guess by; policies differ, up and down.
ACCESSES_PER_S = 20e6
#: The same in front of a drive, without the time to fill it.
TIMED_ACCESSES_PER_S = 4e6


def _planned(traces: list[Trace], drive: Drive | None, arguments: dict[str, Any]) -> Table:
    planned = plan(traces, arguments["policy"], cache=arguments["cache"], device=drive)
    columns = [Column(key, right=False, key=True) for key in ("trace", "policy")]
    columns += [Column("cache", key=True), Column("pages"), Column("size"), Column("accesses")]
    rows = []
    for p in planned:
        sizes = (p.cache, number(p.frames), size(p.cache_bytes))
        sizes = ("-", "-", "-") if p.policy == "none" else sizes
        rows.append([Cell(t) for t in (p.trace, p.policy, *sizes, number(p.accesses))])
    threads = min(thread_count(arguments["jobs"]), len(planned))
    rate = ACCESSES_PER_S if drive is None else TIMED_ACCESSES_PER_S
    seconds = sum(p.accesses for p in planned) / rate / threads
    seconds *= 10 if arguments["check"] else 1
    # A guess has two digits at best.
    guess = duration(float(f"{seconds * 1e9:.2g}"))
    filling = ", and the time to fill the drive" if drive is not None else ""
    runs, on = counted(len(planned), "run"), counted(threads, "thread")
    note = plain(f"{runs} on {on}: about {guess}{filling}")
    return Table("", columns, [rows], [note])


def note_left_out(policies: str | None, drive: Drive | None) -> None:
    """Say which members of a group are not run, because there is no drive that they look at."""
    left = expanded(policies or "", drive is not None)[1]
    if left:
        note(f"{', '.join(left)} look at the drive and are left out: add --device")


def say_warnings(results: Results) -> None:
    """Print the warnings of all runs, each once, with the policies that it is about if not all."""
    labels = list(dict.fromkeys(r.label for r in results))
    for message, named in warnings_of(results).items():
        all_of_several = len(named) == len(labels) > 1
        warn(message if all_of_several else f"{', '.join(named)}: {message}")
