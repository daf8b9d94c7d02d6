"""`destage devices bench`: a simulated SSD over depth, jobs, length and pattern."""

from __future__ import annotations

import json
from typing import Any

import click

from destage.base.errors import UsageError
from destage.base.io.files import write_whole
from destage.cli.fit import FIO, WHERE, look, where_of
from destage.cli.options import COMMON, Command, apply, flag
from destage.cli.output import command_line, file_flag, look_at_folder, print_table
from destage.cli.screen import note, progress, warn
from destage.fit.bench import PATTERNS, STATES, Bench, BenchPoint, bench_device
from destage.live.record.quantities import bytes_of
from destage.model.words import column_unit, plain, significant, size
from destage.show.tables.table import Cell, Column, Table

__all__ = ["bench"]

GRID = [
    flag("--rw", metavar="PATTERN,...", help=f"fio's patterns. [{','.join(PATTERNS)}]"),
    flag("--block", metavar="SIZE,...", help="Lengths of a request. [4KiB,128KiB]"),
    flag("--depth", metavar="N,...", help="Requests in flight of each job. [1,2,4,...,128]"),
    flag("--jobs", metavar="N,...", help="Concurrent jobs. [1]"),
    flag("--state", default=",".join(STATES), metavar="STATE,...", help="[fresh,steady]"),
    flag("--read-percent", type=int, default=70, metavar="N", help="Reads of randrw. [70]"),
    flag(
        "--requests",
        type=int,
        metavar="N",
        help="Measured requests per point. [enough for 100,000 pages]",
    ),
    flag("--full", is_flag=True, help="Simulate a large device whole, not as a miniature."),
    flag(
        "--against",
        multiple=True,
        type=FIO,
        metavar="FIO.json",
        help="fio results (or a CSV grid) to show beside it.",
    ),
]

EPILOG = """\b
Examples:
  destage devices bench tlc-nvme
  destage devices bench mine.toml tlc-nvme --rw randread,randwrite --report sheet.html
  destage devices bench mine.toml --against fio/*.json --figures figures --width 3.3in
  destage devices bench small --rw randwrite --depth 1,32 --jobs 1,4 --csv -

States: fresh is empty for writes, and written once in order for reads. Steady
follows random writes, until WAF is constant.
"""


def _whole(text: str | None, name: str) -> list[int] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UsageError(f"{name}: expected whole numbers of at least 1 such as 1,8,32: {text!r}")
    return [int(part) for part in parts]


def _apart(given: tuple[str, ...], against: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Devices and measurements: of `--against fio/*.json` the shell leaves all but one alone."""
    measured = [name for name in given if against and name.endswith((".json", ".csv", ".txt"))]
    devices = [name for name in given if name not in measured]
    if not devices:
        raise UsageError("DEVICE: expected a preset or a device file before --against")
    return devices, [*against, *measured]


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


@click.command(cls=Command, epilog=EPILOG)
@click.argument("device", nargs=-1, required=True, metavar="DEVICE...")
@apply(
    GRID,
    WHERE,
    [
        file_flag("--json", "json_file", help="Every point, as JSON."),
        file_flag("--csv", "csv_file", help="One row per point, as CSV."),
        file_flag("--report", "report_file", metavar="FILE.html", help="A page with charts."),
        file_flag("--figures", "figures", metavar="DIR", help="Every chart as SVG, PDF, PNG, CSV."),
        flag("--width", metavar="LENGTH", help="Width of a figure: 3.3in, 84mm."),
    ],
    COMMON,
)
def bench(device: tuple[str, ...], quiet: bool, **arguments: Any) -> None:
    """Measure simulated SSDs, as fio measures real ones."""
    json_file, csv_file, report_file, figures = (
        arguments[name] for name in ("json_file", "csv_file", "report_file", "figures")
    )
    look(json_file, csv_file, report_file)
    if arguments["width"] is not None and figures is None:
        raise UsageError("--width is the width of --figures, which is missing")
    if figures is not None:
        look_at_folder(figures)
    blocks = _names(arguments["block"])
    devices, against = _apart(device, arguments["against"])
    with progress(quiet) as callback:
        made = bench_device(
            devices,
            rw=_names(arguments["rw"]),
            block_bytes=None if blocks is None else [bytes_of(one, "--block") for one in blocks],
            depth=_whole(arguments["depth"], "--depth"),
            jobs=_whole(arguments["jobs"], "--jobs"),
            state=_names(arguments["state"]) or (),
            read_percent=arguments["read_percent"],
            requests=arguments["requests"],
            full=arguments["full"],
            against=against,
            where=where_of(arguments["where"]),
            progress=callback,
        )
    for message in made.warnings:
        warn(message)
    if json_file is not None:
        write_whole(json_file, json.dumps(made.data, indent=1) + "\n")
    if csv_file is not None:
        write_whole(csv_file, made.csv())
    if report_file is not None:
        from destage.fit.page import bench_page

        write_whole(report_file, bench_page(made, command_line()))
    if figures is not None:
        files = made.plot.save(figures, width=arguments["width"])
        if not quiet:
            note(f"{figures}: {len(files)} files")
    if "-" not in (json_file, csv_file):
        _print(made)


def _print(made: Bench) -> None:
    """A line for each pattern, length, state and number of jobs: rates over depth."""
    depths = sorted({point.depth for point in made.points})
    lines: dict[tuple[str, int, str, str, int], dict[int, BenchPoint]] = {}
    for point in made.points:
        place = (point.rw, point.block_bytes, point.state, point.device, point.jobs)
        lines.setdefault(place, {})[point.depth] = point
    several = len({point.device for point in made.points}) > 1
    jobs = len({point.jobs for point in made.points}) > 1
    heads = ["pattern", "block", "state"] + ["device"] * several + ["jobs"] * jobs
    last = max(depths)
    heads += [f"{depth}" for depth in depths]
    means = {key: points.get(depths[0]) for key, points in lines.items()}
    tails = {key: points.get(last) for key, points in lines.items()}
    mean = column_unit(point.mean_ns for point in means.values() if point)
    p99 = column_unit(point.p99_ns for point in tails.values() if point)
    heads += ["MB/s", f"mean, depth {depths[0]} ({plain(mean.name)})"]
    heads += [f"p99, depth {last} ({plain(p99.name)})", "WAF"]
    rows = []
    for key, points in lines.items():
        rw, block, state, name, count = key
        first, deep = means[key], tails[key]
        rows.append(
            [
                *(rw, plain(size(block)), state),
                *([name] if several else []),
                *([str(count)] if jobs else []),
                *(significant(points[depth].iops) if depth in points else "-" for depth in depths),
                significant(max(point.mb_per_s for point in points.values())),
                mean.text(first.mean_ns if first else None),
                p99.text(deep.p99_ns if deep else None),
                "-" if deep is None or deep.waf is None else f"{deep.waf:.2f}",
            ]
        )
    left = 3 + several
    columns = [Column(name, right=at >= left) for at, name in enumerate(heads)]
    title = "Requests a second over requests in flight of a job"
    print_table(Table(title, columns, [[[Cell(cell) for cell in row] for row in rows]]))
