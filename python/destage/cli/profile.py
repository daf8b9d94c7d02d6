"""`destage trace profile`: the papers' pictures of a workload."""

from __future__ import annotations

import json
from typing import Any

import click

from destage.base.errors import UsageError
from destage.base.io.files import write_whole
from destage.cli.load import TRACES, load
from destage.cli.options import COMMON, OUTPUT, Command, apply, flag
from destage.cli.output import Outputs, file_flag, look_at_folder
from destage.cli.reading import TRACE_ALONE
from destage.cli.screen import note, progress, warn
from destage.lab.traces import Trace
from destage.model.naming import default_padding
from destage.model.provenance import document
from destage.questions.reports import need_report

__all__ = ["profile"]

PROFILE = [
    flag(
        "--pages-per-block",
        type=int,
        default=64,
        metavar="N",
        help="Pages of an erase block. [64]",
    ),
    flag(
        "--counted",
        type=click.Choice(["writes", "all"]),
        default="writes",
        help="References: page writes, or reads too. [writes]",
    ),
    flag("--epochs", type=int, default=20, metavar="N", help="Columns of the heat map. [20]"),
    flag("--rows", type=int, default=128, metavar="N", help="Maximum rows of the heat map. [128]"),
    flag(
        "--period",
        "period_requests",
        type=int,
        default=10_000,
        metavar="N",
        help="Requests per period of the read ratio. [10000]",
    ),
    flag(
        "--hottest",
        "hottest_blocks",
        type=int,
        default=24,
        metavar="N",
        help="Number of most accessed blocks to detail. [24]",
    ),
    flag(
        "--hot",
        "hot_accesses",
        type=int,
        default=10_000,
        metavar="N",
        help="Accesses above which a page is hot. [10000]",
    ),
    flag(
        "--cold",
        "cold_accesses",
        type=int,
        default=100,
        metavar="N",
        help="Accesses below which a page is cold. [100]",
    ),
    flag(
        "--padding",
        default=default_padding(),
        metavar="POLICY",
        help=f"Policy to count padding of, or none. [{default_padding()}]",
    ),
    flag(
        "-c",
        "--cache",
        metavar="SIZE",
        help="Cache size of the padding policy. [8MiB]",
    ),
]

FILES = [
    file_flag("--json", "json_file", help="Write all results as JSON."),
    file_flag(
        "--csv",
        "csv_file",
        help="Write the points of all figures as one CSV table.",
    ),
    file_flag(
        "--parquet",
        "parquet_file",
        help="Write the same as Parquet. In all of these, FILE may be -: standard output.",
    ),
    file_flag(
        "--report",
        "report_file",
        metavar="FILE.html",
        help="Report that opens offline (needs the extra 'report').",
    ),
    flag(
        "--figures",
        type=OUTPUT,
        metavar="FOLDER",
        section="Output",
        help="Write every chart as SVG and PNG, its data as CSV.",
    ),
]

EPILOG = """\b
Examples:
  destage trace profile hm_0.csv.gz
  destage trace profile hm_0.csv.gz --report profile.html
  destage trace profile f1.spc --pages-per-block 128 --figures figures
  destage trace profile f1.spc --counted all --csv - --quiet

Figures and definitions: docs/reference/profile-figures.md.
"""

_LOOKED_FOR = (
    "pages_per_block",
    "counted",
    "epochs",
    "rows",
    "period_requests",
    "hottest_blocks",
    "hot_accesses",
    "cold_accesses",
    "cache",
)


@click.command(cls=Command, epilog=EPILOG)
@TRACES
@apply(PROFILE, FILES, TRACE_ALONE, COMMON)
def profile(trace: tuple[str, ...], figures: str | None, **arguments: Any) -> None:
    """Draw block heat, reuse distances, hot and cold pages.

    These are the workload figures of the BPAC and AALRU papers.
    """
    outputs = Outputs.of(arguments)
    if figures is not None:
        need_report()
        look_at_folder(figures)
    quiet = bool(arguments["quiet"])
    wanted = {key: arguments.pop(key) for key in _LOOKED_FOR}
    padding = arguments.pop("padding")
    wanted["padding"] = None if padding == "none" else padding
    if wanted["cache"] is None:
        del wanted["cache"]
    elif wanted["padding"] is None:
        raise UsageError("--padding none has no cache: leave out --cache")
    traces = load(trace, {**arguments, "quiet": quiet or outputs.to_screen})
    one_file = {"csv", "parquet"} & outputs.files.keys()
    if one_file and len(traces) > 1:
        raise UsageError(
            f"--{min(one_file)} holds one trace, and there are {len(traces)};"
            " take --json, or a volume at a time"
        )
    with progress(quiet) as callback:
        profiles = [t.profile(**wanted, progress=callback) for t in traces]
    if "json" in outputs.files:
        data: Any = [p.data for p in profiles]
        content = {"traces": data} if len(data) > 1 else data[0]
        text = json.dumps(document("trace_profile", content), indent=1)
        write_whole(outputs.files["json"], text + "\n")
    outputs.write_with({"csv": profiles[0].to_csv, "parquet": profiles[0].to_parquet})
    if outputs.to_screen:
        click.echo("\n\n".join(_text(t, repr(p)) for t, p in zip(traces, profiles, strict=True)))
    for message in dict.fromkeys(w for p in profiles for w in p.warnings):
        warn(message)
    outputs.write_report((), traces, profiles=profiles)
    if figures is not None:
        files = 0
        for k, found in enumerate(profiles):
            prefix = f"{k + 1}-" if len(profiles) > 1 else ""
            files += len(found.plot.save(figures, prefix=prefix))
        if not quiet:
            note(f"{figures}: {files} files")


def _text(trace: Trace, numbers: str) -> str:
    return f"{trace.name}\n{numbers}"
