"""`destage devices fit`, `probe` and `compare`: a simulated SSD against a real one."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import click
from click.core import ParameterSource

from destage.base.errors import UsageError
from destage.base.io.files import write_whole
from destage.base.io.names import check_page, printable
from destage.cli.file_types import Input
from destage.cli.options import (
    COMMON,
    OUTPUT,
    Command,
    apply,
    flag,
)
from destage.cli.output import command_line, file_flag, look_at, print_table
from destage.cli.screen import note, progress, warn
from destage.fit.comparison import Compared, compare_fio, median_residual, worst_residual
from destage.fit.fitting import fit as fit_device
from destage.fit.probing import probe as probe_device
from destage.fit.script import fit_script
from destage.live.record.quantities import bytes_of
from destage.model.provenance import document
from destage.model.words import number, plain, significant
from destage.show.tables.table import Cell, Column, Table

__all__ = ["FIO", "compare", "fit", "look", "probe"]

FIO = Input("fio's results")

SCRIPT = [
    flag("--script", is_flag=True, help="Print the fio job file; open no device."),
    flag("--capacity", metavar="SIZE", help="The device's size: 1TB, 512MiB."),
    flag("--target", metavar="/dev/X", help="The device that fio measures."),
    flag("--read-only", is_flag=True, help="Script: only steps that write nothing."),
    flag("--no-collector", is_flag=True, help="Script: no GC steps (writes 6 capacities, not 14)."),
    flag(
        "--engine",
        type=click.Choice(["libaio", "io_uring"]),
        default="libaio",
        help="Script: fio's ioengine. [libaio]",
    ),
    flag(
        "--expect",
        default="seq=2000,random=400",
        metavar="seq=..,random=..",
        help="Script: write rates in MB/s, to estimate its duration.",
    ),
]

FIT = [
    flag("-o", "--output", type=OUTPUT, metavar="FILE.toml", help="The device file."),
    flag("--base", default="tlc-nvme", metavar="NAME", help="Preset for other keys. [tlc-nvme]"),
    flag("--name", metavar="TEXT", help="Name of the device in the file."),
    flag("--assume-written", is_flag=True, help="All addresses read were written before."),
    flag("--no-steady", is_flag=True, help="Leave out over-provisioning and GC policy."),
    flag("--seed", type=int, default=1, metavar="N", help="Seed of the intervals. [1]"),
]

WHERE = [
    flag(
        "--where",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="CSV: only rows with this value; repeatable.",
    )
]

FIT_EPILOG = """\b
Examples:
  destage devices fit --script --target /dev/nvme1n1 > fit.fio
  fio --output-format=json+ --output=fit.json fit.fio    # destroys all data
  destage devices fit fit.json -o mine.toml --report fit.html
  destage compare TRACE -p lru,ecr -d mine.toml
"""


def where_of(given: tuple[str, ...]) -> dict[str, str]:
    """Columns and values. Raises `UsageError` for anything else."""
    for one in given:
        if "=" not in one:
            raise UsageError(f"--where: expected COLUMN=VALUE, found {one!r}")
    return {name: value for name, _, value in (one.partition("=") for one in given)}


def _expected(text: str) -> tuple[float, float]:
    rates = dict(part.partition("=")[::2] for part in text.split(","))
    try:
        found = float(rates["seq"]), float(rates["random"])
    except (KeyError, ValueError):
        found = 0.0, 0.0
    if len(rates) != 2 or not all(math.isfinite(rate) and rate > 0 for rate in found):
        said = f"--expect: expected rates above 0, as in seq=2000,random=400, found {text!r}"
        raise UsageError(said)
    return found


#: Parameters of `fit` with `--script`, and with results of fio.
_OF_SCRIPT = ("target", "read_only", "no_collector", "engine", "expect")
_OF_FILES = ("output", "report_file", "json_file")
_OF_FIT = (*_OF_FILES, "base", "name", "assume_written", "no_steady", "seed", "where")


def _check_use(script: bool) -> None:
    """Raise `UsageError` for a typed flag of the other use of `fit`."""
    ctx = click.get_current_context()
    others = _OF_FIT if script else _OF_SCRIPT
    for param in ctx.command.params:
        typed = ctx.get_parameter_source(param.name or "") is not ParameterSource.DEFAULT
        if typed and param.name in others:
            name = max(param.opts, key=len)
            raise UsageError(
                f"{name} excludes --script, which prints a job file"
                if script
                else f"{name} needs --script"
            )


@click.command(cls=Command, epilog=FIT_EPILOG)
@click.argument("fio", nargs=-1, type=FIO, metavar="[FIO.json]...")
@apply(
    SCRIPT,
    FIT,
    WHERE,
    [
        file_flag(
            "--report", "report_file", metavar="FILE.html", help="Report that opens offline."
        ),
        file_flag("--json", "json_file", help="Values and steps, as JSON."),
    ],
    COMMON,
)
def fit(fio: tuple[str, ...], script: bool, **arguments: Any) -> None:
    """Fit a simulated SSD to fio measurements of a real one."""
    capacity = arguments["capacity"]
    size = None if capacity is None else bytes_of(capacity, "--capacity")
    _check_use(script)
    if script:
        if fio:
            raise UsageError("--script prints a job file: it takes no fio results")
        text = fit_script(
            size,
            arguments["target"],
            read_only=arguments["read_only"],
            collector=not arguments["no_collector"],
            engine=arguments["engine"],
            expect_mb_per_s=_expected(arguments["expect"]),
        )
        click.echo(text, nl=False)
        return
    if not fio:
        raise UsageError("FIO.json: expected fio's JSON, or --script")
    look(arguments["output"], arguments["json_file"], arguments["report_file"])
    made = fit_device(
        list(fio),
        base=arguments["base"],
        seed=arguments["seed"],
        capacity=size,
        assume_written=arguments["assume_written"],
        steady=not arguments["no_steady"],
        name=arguments["name"],
        where=where_of(arguments["where"]),
    )
    for message in made.warnings:
        warn(message)
    if arguments["output"] is None and arguments["json_file"] != "-":
        click.echo(made.device_toml, nl=False)
    if arguments["output"] is not None:
        write_whole(arguments["output"], made.device_toml)
    if arguments["json_file"] is not None:
        write_whole(
            arguments["json_file"], json.dumps(document("devices_fit", made.data), indent=1) + "\n"
        )
    if arguments["report_file"] is not None:
        from destage.fit.page import page

        title = arguments["name"] or f"Fit of {_first(fio)}"
        html = page(title, made.steps, made.values, command_line())
        write_whole(arguments["report_file"], html)
    if arguments["output"] is not None and not arguments["quiet"]:
        _say(made.steps)
        note(f"next: destage compare TRACE -p lru,ecr -d {arguments['output']}")


def look(*names: str | None) -> None:
    """Check that files can be written; of a report, the third, that it can be made."""
    for name in names:
        if name not in (None, "-"):
            look_at(str(name))
    if names[2] is not None:
        from destage.questions.reports import need_report

        need_report()
        check_page(str(names[2]))


def _first(files: tuple[str, ...]) -> str:
    """One file, and how many more: a title is read."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{printable(os.path.basename(files[0]))}{more}"


def _say(steps: tuple[Compared, ...]) -> None:
    for fitted, what in ((True, "fitted"), (False, "not fitted")):
        middle = median_residual(steps, fitted=fitted)
        worst = worst_residual(steps, fitted=fitted)
        if middle is not None and worst is not None:
            count = sum(step.fitted is fitted for step in steps)
            note(
                f"{count} steps {what}: difference in rate {100 * middle:.2g} % (median),"
                f" {100 * abs(worst.residual):.2g} % (worst: {printable(worst.step)})"
            )


@click.command(
    cls=Command,
    epilog="\b\nExamples:\n  destage devices probe mine.toml -o probe.json\n"
    "  destage devices fit probe.json -o again.toml",
)
@click.argument("device", metavar="DEVICE")
@apply(
    [
        flag("-o", "--output", type=OUTPUT, default="-", metavar="FILE", help="The JSON. [-]"),
        flag("--script", type=FIO, metavar="FILE", help="A job file of `fit --script`."),
        flag("--full", is_flag=True, help="Simulate a large device whole, not as a miniature."),
        flag("--read-only", is_flag=True, help="Only the steps that write nothing."),
        flag("--no-collector", is_flag=True, help="Without the GC steps."),
    ],
    COMMON,
)
def probe(
    device: str,
    output: str,
    script: str | None,
    full: bool,
    read_only: bool,
    no_collector: bool,
    quiet: bool,
    **_: Any,
) -> None:
    """Run the measurement script on a simulated SSD; write fio JSON."""
    look(output, None, None)
    with progress(quiet) as callback:
        made = probe_device(
            device,
            script=script,
            full=full,
            read_only=read_only,
            collector=not no_collector,
            progress=callback,
        )
    write_whole(output, json.dumps(made, indent=1) + "\n")


COLUMNS = ("step", "rw", "depth", "measured (1/s)", "simulated (1/s)", "difference (%)")


@click.command(
    cls=Command,
    epilog="\b\nExamples:\n  destage devices compare mine.toml fit.json --report c.html",
)
@click.argument("device", metavar="DEVICE")
@click.argument("fio", nargs=-1, required=True, type=FIO, metavar="FIO.json...")
@apply(
    WHERE,
    [
        file_flag("--json", "json_file", help="Every step, as JSON."),
        file_flag("--csv", "csv_file", help="One row per step, as CSV."),
        file_flag("--report", "report_file", metavar="FILE.html", help="A page with charts."),
    ],
    COMMON,
)
def compare(
    device: str,
    fio: tuple[str, ...],
    where: tuple[str, ...],
    json_file: str | None,
    csv_file: str | None,
    report_file: str | None,
    quiet: bool,
    **_: Any,
) -> None:
    """Compare a simulated SSD with fio measurements, step by step."""
    look(json_file, csv_file, report_file)
    steps = compare_fio(device, list(fio), where=where_of(where))
    worst = worst_residual(steps, fitted=True)
    data = {
        "steps": [step.data for step in steps],
        "median_abs_residual": median_residual(steps, fitted=True),
        "median_abs_residual_not_fitted": median_residual(steps, fitted=False),
        "worst": worst.data if worst else None,
    }
    rows = [_cells(step) for step in steps]
    columns = [Column(name, right=at > 1) for at, name in enumerate(COLUMNS)]
    if json_file is not None:
        write_whole(json_file, json.dumps(document("devices_comparison", data), indent=1) + "\n")
    if csv_file is not None:
        write_whole(csv_file, _csv(steps))
    if report_file is not None:
        from destage.fit.page import page

        title = f"{printable(device)} against {_first(fio)}"
        write_whole(report_file, page(title, steps, (), command_line()))
    if "-" not in (json_file, csv_file):
        print_table(Table("", columns, [[[Cell(c) for c in row] for row in rows]]))
    if not quiet:
        _say(steps)


def _cells(step: Compared) -> list[str]:
    return [
        step.step,
        step.rw,
        number(step.iodepth * step.numjobs),
        plain(significant(step.measured["iops"])),
        plain(significant(step.simulated["iops"])),
        f"{100 * math.expm1(step.residual):+.2f}",
    ]


def _csv(steps: tuple[Compared, ...]) -> str:
    names = ("iops", "lat_mean_ns", "lat_p99_ns")
    lines = [
        "step,rw,iodepth,numjobs,bs,"
        + ",".join(f"{name}_{side}" for side in ("measured", "simulated") for name in names)
        + ",residual,fitted"
    ]
    for s in steps:
        sides = [side[name] for side in (s.measured, s.simulated) for name in names]
        cells = [s.step, s.rw, s.iodepth, s.numjobs, s.bs, *sides, s.residual, s.fitted]
        lines.append(",".join("" if cell is None else str(cell) for cell in cells))
    return "\n".join(lines) + "\n"
