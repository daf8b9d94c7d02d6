"""`destage devices validate` and `import`: a fit checked, a device of another simulator."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import click

from destage.base.io.files import write_whole
from destage.base.io.names import printable
from destage.cli.file_types import Input
from destage.cli.fit import FIO, look
from destage.cli.options import (
    COMMON,
    OUTPUT,
    Command,
    apply,
    flag,
)
from destage.cli.output import command_line, file_flag, print_table
from destage.cli.screen import note, warn
from destage.fit.comparison import Compared
from destage.fit.simulators import SIMULATORS, import_device
from destage.fit.validating import HOLD_OUT, OFF, Validation, error_of, validate_device
from destage.live.record.quantities import bytes_of
from destage.model.provenance import document
from destage.model.words import number, plain, significant
from destage.show.tables.table import Cell, Column, Table

__all__ = ["import_", "validate"]

VALIDATE = [
    flag(
        "--hold-out",
        type=click.Choice(HOLD_OUT),
        default="half",
        help="Part predicted: half of the points, or one group. [half]",
    ),
    flag("--by", metavar="COLUMN,...", help="CSV: columns that name a device."),
    flag("--capacity", metavar="SIZE", help="The device's size, where no file has it."),
    flag("--base", default="tlc-nvme", metavar="NAME", help="Preset for other keys. [tlc-nvme]"),
    flag("--assume-written", is_flag=True, help="All addresses read were written before."),
    flag("--seed", type=int, default=1, metavar="N", help="Seed of the split. [1]"),
]

EPILOG = """\b
Examples:
  destage devices validate fit.json
  destage devices validate grid.csv --assume-written --hold-out depth --report v.html
"""

SUMMARY = ("device", "fitted", "held out", "median (%)", "95 % (%)", "worst (%)", "within 30 % (%)")
POINTS = ("device", "point", "measured (1/s)", "simulated (1/s)", "difference (%)")


@click.command(cls=Command, epilog=EPILOG)
@click.argument("measured", nargs=-1, required=True, type=FIO, metavar="MEASURED...")
@apply(
    VALIDATE,
    [
        file_flag("--json", "json_file", help="Every device and point, as JSON."),
        file_flag("--csv", "csv_file", help="One row per point, as CSV."),
        file_flag("--report", "report_file", metavar="FILE.html", help="A page with charts."),
    ],
    COMMON,
)
def validate(measured: tuple[str, ...], hold_out: str, **arguments: Any) -> None:
    """Fit a part of the measurements and predict the rest."""
    files = [arguments[name] for name in ("json_file", "csv_file", "report_file")]
    look(*files)
    capacity = arguments["capacity"]
    found = validate_device(
        list(measured),
        hold_out=hold_out,
        by=[name.strip() for name in (arguments["by"] or "").split(",") if name.strip()],
        base=arguments["base"],
        seed=arguments["seed"],
        capacity=None if capacity is None else bytes_of(capacity, "--capacity"),
        assume_written=arguments["assume_written"],
    )
    for one in found:
        for message in one.fit.warnings:
            warn(f"{printable(one.device)}: {message}")
    json_file, csv_file, report_file = files
    if json_file is not None:
        write_whole(
            json_file,
            json.dumps(
                document("devices_validation", {"devices": [v.data for v in found]}), indent=1
            )
            + "\n",
        )
    if csv_file is not None:
        write_whole(csv_file, _csv(found))
    if report_file is not None:
        _draw(report_file, found)
    if "-" not in (json_file, csv_file):
        _print(found)


def _draw(file: str, found: Sequence[Validation]) -> None:
    from destage.fit.page import page

    steps = [step for one in found for step in one.steps]
    parts = {one.device: one.steps for one in found}
    title = f"Measured against simulated, held out: {found[0].hold_out}"
    write_whole(file, page(title, steps, (), command_line(), parts))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _print(found: Sequence[Validation]) -> None:
    rows = []
    for one in found:
        within = 1 - len(one.off) / len(one.steps)
        shares = (one.median, one.p95, error_of(one.worst), within)
        counts = (number(len(one.fit.steps)), number(len(one.steps)))
        rows.append([printable(one.device), *counts, *map(_percent, shares)])
    _table(SUMMARY, rows)
    far = [(one, step) for one in found for step in one.off]
    if far:
        click.echo(f"\nMore than {100 * OFF:.0f} % off:")
        _table(POINTS, [[printable(one.device), *_point(step)] for one, step in far])


def _point(step: Compared) -> list[str]:
    return [
        printable(step.step),
        plain(significant(step.measured["iops"])),
        plain(significant(step.simulated["iops"])),
        f"{100 * (_rate(step.simulated) / _rate(step.measured) - 1):+.1f}",
    ]


def _rate(side: Any) -> float:
    return float(side["iops"])


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    left = ("device", "point")
    columns = [Column(name, right=name not in left) for name in names]
    print_table(Table("", columns, [[[Cell(cell) for cell in row] for row in rows]]))


def _csv(found: Sequence[Validation]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("device", "rw", "block_bytes", "iodepth", "numjobs")
    writer.writerow([*names, "iops_measured", "iops_simulated", "error"])
    for one in found:
        for s in one.steps:
            point = [one.device, s.rw, s.bs, s.iodepth, s.numjobs]
            writer.writerow([*point, _rate(s.measured), _rate(s.simulated), error_of(s)])
    return text.getvalue()


IMPORT_EPILOG = """\b
Examples:
  destage devices import mqsim ssdconfig.xml -o mine.toml
  destage devices import femu run-blackbox.sh
  destage compare TRACE -p lru,ecr -d mine.toml
"""


@click.command("import", cls=Command, epilog=IMPORT_EPILOG)
@click.argument("simulator", type=click.Choice(SIMULATORS))
@click.argument("file", type=Input("a simulator's configuration"), metavar="FILE")
@apply(
    [
        flag("-o", "--output", type=OUTPUT, default="-", metavar="FILE.toml", help="The file. [-]"),
        file_flag("--json", "json_file", help="Every key with its source, as JSON."),
    ],
    COMMON,
)
def import_(
    simulator: str, file: str, output: str, json_file: str | None, quiet: bool, **_: Any
) -> None:
    """Import the SSD of another simulator as a device file."""
    look(output, json_file, None)
    made = import_device(simulator, file)
    if json_file is not None:
        write_whole(json_file, json.dumps(document("devices_import", made.data), indent=1) + "\n")
    if not (json_file == "-" and output == "-"):
        write_whole(output, made.device_toml)
    if not quiet and output != "-":
        counts = ", ".join(
            f"{sum(key.status == status for key in made.keys)} {status}"
            for status in ("exact", "approximated", "refused")
        )
        note(f"keys: {counts}")
