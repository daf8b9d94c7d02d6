"""`destage advise`: which cache to take, how sure that is, and what to type."""

from __future__ import annotations

from typing import Any

import click

from destage.advise.asking import check_ahead, share_of
from destage.advise.calls import SEEDS
from destage.advise.calls import advise as find_advice
from destage.checks import check_request
from destage.cli.compare import note_left_out, policy_flag
from destage.cli.load import TRACES, load_one
from destage.cli.options import (
    COMMON,
    DEVICE,
    RUN,
    Command,
    apply,
    drive_of,
    flag,
    run_values,
    sizes_flag,
)
from destage.cli.output import FILES, Outputs, command_line, file_flag
from destage.cli.reading import TRACE
from destage.cli.screen import progress
from destage.cli.store import JOBS, STORE, experiment_of

__all__ = ["advise"]

ASKED = [
    flag(
        "--objective",
        metavar="NAME,...",
        help="What is to be good: mean, p99, hit, waf, erases, ... as in --sort, or cost (dollars"
        " a year); several give a Pareto front. [mean with a device, else hit]",
    ),
    flag("--budget", metavar="SIZE", help="The largest cache. [half of the trace's pages]"),
    flag(
        "--within",
        metavar="SHARE",
        default="2%",
        help="How near to the best is near enough. [2%]",
    ),
    flag(
        "--price",
        metavar="KEY=PRICE,...",
        help="dram=3.0/GiB, tbw=600TB (the drive's rating), drive=60 (or 0.1/GiB), years=5 (until"
        " memory is written off).",
    ),
]

SURE = [
    flag(
        "--finalists",
        type=int,
        metavar="N",
        help="Run only so many policies in front of the drive, chosen without it. [all, or 4 where"
        " that takes long]",
    ),
    flag(
        "--seeds",
        type=int,
        default=SEEDS,
        metavar="N",
        help=f"Runs of the two best where they or the drive are drawn. [{SEEDS}]",
    ),
]

ENDURES = [
    flag(
        "--pe-cycles",
        type=int,
        metavar="N",
        section="Drive",
        help="Erases that a block endures: how long the drive lasts. [the drive's]",
    )
]

PAGE = [
    file_flag(
        *("-o", "--report", "--html", "report_file"),
        metavar="FILE.html",
        help="A page that opens offline (needs the extra 'report').",
    )
]

EPILOG = """\b
Examples:
  destage advise hm_0.csv.gz --budget 64MiB
  destage advise hm_0.csv.gz -d small --objective p99,waf -o advice.html
  destage advise hm_0.csv.gz -d small --objective cost \\
      --price dram=3.0/GiB,tbw=600TB,drive=60
"""


@click.command(cls=Command, epilog=EPILOG)
@TRACES
@apply(
    ASKED,
    policy_flag("fifteen: lru, arc, s3-fifo, cflru, ..."),
    sizes_flag("auto, up to the budget"),
    *(SURE, JOBS, RUN, DEVICE, ENDURES, FILES, PAGE, STORE, TRACE, COMMON),
)
def advise(trace: tuple[str, ...], **arguments: Any) -> None:
    """Say which policy and how small a cache are near the best, how sure that is, what to type."""
    outputs = Outputs.of(arguments)
    drive = drive_of(arguments)
    share_of(arguments["within"])
    asked = {key: arguments[key] for key in ("objective", "price", "pe_cycles", "budget")}
    check_ahead(**asked, drive=drive)
    policies = arguments["policy"]
    check_request(
        "all" if policies is None else policies,
        cache=arguments["cache"] or "auto",
        device=drive,
        jobs=arguments["jobs"],
        **run_values(arguments),
    )
    if not arguments["quiet"]:
        note_left_out(policies, drive)
    experiment = experiment_of(arguments)
    opened = load_one(trace, arguments, drive)
    with progress(arguments["quiet"]) as callback:
        advice = find_advice(
            opened,
            **asked,
            within=arguments["within"],
            policies=policies,
            cache=arguments["cache"],
            # It may have been made larger for the trace.
            device=opened.drive,
            finalists=arguments["finalists"],
            seeds=arguments["seeds"],
            **run_values(arguments),
            store=experiment,
            progress=callback,
        )
    outputs.write_with(
        {
            "json": advice.to_json,
            "csv": advice.to_csv,
            "parquet": advice.to_parquet,
            "markdown": advice.to_markdown,
        }
    )
    if outputs.to_screen:
        click.echo(advice.text(), nl=False)
    outputs.write_with({"report": lambda path: advice.write_page(path, command_line())})
