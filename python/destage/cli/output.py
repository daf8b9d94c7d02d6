"""Where results go: files that are written whole, and standard output."""

from __future__ import annotations

import dataclasses
import html
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from destage.base.errors import OutputError
from destage.base.io.files import write_whole
from destage.base.io.names import printable
from destage.cli import signals
from destage.cli.options import OUTPUT, Decorated, flag
from destage.model.provenance import document

if TYPE_CHECKING:
    from destage.experiment.results import Results
    from destage.lab.trace_profile import TraceProfile
    from destage.lab.traces import Trace
    from destage.questions.curves.drawn import Curves
    from destage.show.tables.frames import Tabled
    from destage.show.tables.table import Table

__all__ = ["FILES", "JSON", "REPORT", "Outputs", "file_flag", "print_table", "wrote_json"]


def file_flag(*names: str, metavar: str = "FILE", **kwargs: Any) -> Decorated:
    """The flag for a file that a command writes."""
    return flag(*names, type=OUTPUT, metavar=metavar, **{"section": "Output", **kwargs})


#: Flags for the files that a command writes.
FILES: list[Decorated] = [
    file_flag("--json", "json_file", help="Write all results as JSON."),
    file_flag("--csv", "csv_file", help="Write one row per run as CSV."),
    file_flag("--parquet", "parquet_file", help="Write one row per run as Parquet."),
    file_flag("--latex", "latex_file", help="Write the table as LaTeX (booktabs)."),
    file_flag(
        "--markdown",
        "markdown_file",
        help="Write the table as Markdown. In all of these, FILE may be -: standard output.",
    ),
]

REPORT = [
    file_flag(
        "--report",
        "report_file",
        metavar="FILE.html",
        help="Report that opens offline (needs the extra 'report').",
    )
]

JSON = [file_flag("--json", "json_file", help="Write JSON; - for stdout.")]


@dataclass
class Outputs:
    """Files that were asked for. Looked at before the work begins, written when it has ended."""

    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, arguments: dict[str, Any]) -> Outputs:
        """Take what a command's arguments name; raise early where writing cannot succeed."""
        files = {
            name.removesuffix("_file"): value
            for name, value in arguments.items()
            if name.endswith("_file") and value is not None
        }
        outputs = cls(files)
        outputs._look()
        return outputs

    def _look(self) -> None:
        for name in self.files.values():
            if name != "-":
                look_at(name)
        if "report" in self.files:
            from destage.base.io.names import check_page
            from destage.questions.reports import need_report

            need_report()
            check_page(self.files["report"])

    @property
    def to_screen(self) -> bool:
        """True if standard output is free for the table."""
        return "-" not in self.files.values()

    def write(self, made: Tabled, table: Table | None = None) -> None:
        """Write the files of what a command made; Markdown has the table that the screen has."""

        def markdown(path: str) -> None:
            write_whole(path, (table or made.as_table()).markdown())

        def latex(path: str) -> None:
            write_whole(path, (table or made.as_table()).latex())

        self.write_with(
            {
                "json": made.to_json,
                "csv": made.to_csv,
                "parquet": made.to_parquet,
                "markdown": markdown,
                "latex": latex,
            }
        )

    def write_with(self, writers: dict[str, Callable[[str], object]]) -> None:
        """Write the files that there is a writer for."""
        for kind, write in writers.items():
            if kind in self.files:
                write(self.files[kind])

    def write_report(
        self,
        results: Results | tuple[()],
        traces: Sequence[Trace],
        curves: Sequence[Curves] = (),
        profiles: Sequence[TraceProfile] = (),
        series: Sequence[Sequence[Mapping[str, int | float]]] = (),
    ) -> None:
        """Write the report, if one was asked for."""
        path = self.files.get("report")
        if path is not None and signals.is_heard():
            # The user waits for the end, and charts take long.
            write_whole(path, _without_charts([*([results] if results else []), *curves]))
        elif path is not None:
            from destage.questions.reports import write_report

            write_report(
                path,
                results,
                traces=traces,
                curves=curves,
                profiles=profiles,
                series=series,
                command=command_line(),
            )


def _without_charts(made: Sequence[Tabled]) -> str:
    """The page of an interrupted command: its tables, with a note on missing parts."""
    tables = "".join(one.to_html() for one in made)
    again = html.escape(command_line())
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Interrupted</title>\n'
        f"<h1>Interrupted</h1>\n{tables}<p>No charts: this command was interrupted."
        f" All of it: <code>{again}</code></p>\n"
    )


def command_line() -> str:
    """The command line as a shell would take it."""
    import shlex

    return shlex.join(["destage", *sys.argv[1:]])


def look_at(name: str) -> None:
    """Raise `OutputError` if a file of this name cannot be written, as far as one can see."""
    path = Path(name)
    folder, name = path.parent, printable(name)
    parent = printable(folder)
    with _seen(name):
        if path.is_dir():
            raise OutputError(f"{name}: expected a file, found a directory")
        if not folder.exists():
            raise OutputError(f"{name}: there is no folder {parent}")
        if not folder.is_dir():
            raise OutputError(f"{name}: {parent} is not a folder")
        if not os.access(folder, os.W_OK) and not (path.exists() and os.access(path, os.W_OK)):
            raise OutputError(f"{name}: the folder {parent} is read-only")


@contextmanager
def _seen(name: str) -> Iterator[None]:
    """Error of an output whose name the system refuses: too long, or a loop."""
    try:
        yield
    except OutputError:
        raise
    except OSError as e:
        raise OutputError(f"{name}: {e.strerror or e}") from e


def look_at_folder(name: str) -> None:
    """Raise `OutputError` if a folder of this name can be neither used nor made."""
    path, name = Path(name), printable(name)
    with _seen(name):
        there = next(p for p in (path, *path.absolute().parents) if p.exists())
    found = printable(there)
    if not there.is_dir():
        raise OutputError(f"{name}: expected a folder, found the file {found}")
    if not os.access(there, os.W_OK):
        raise OutputError(f"{name}: the folder {found} is read-only")


def print_table(table: Table) -> None:
    """Print a table on standard output: with rich where it is a terminal, else as plain text."""
    ctx = click.get_current_context()
    if ctx.color or sys.stdout.isatty():
        from rich.console import Console

        # Without colours a terminal is as narrow as with them.
        system: Literal["auto"] | None = None if ctx.color is False else "auto"
        console = Console(
            force_terminal=bool(ctx.color) or None, color_system=system, highlight=False
        )
        for part in table.parts(console.width):
            console.print(part.rich())
    else:
        # No terminal, which may have any width: a plain table never folds or cuts a cell.
        click.echo(table.text())


def wrote_json(json_file: str | None, kind: str, data: Any) -> bool:
    """Write a dataclass, or several, to a file if one is given; whether that was standard output.

    Several stand in a list that has the name of their kind.
    """

    def plain(value: Any) -> Any:
        is_instance = dataclasses.is_dataclass(value) and not isinstance(value, type)
        return dataclasses.asdict(value) if is_instance else str(value)

    if json_file is not None:
        several = isinstance(data, Sequence)
        content = {kind: data} if several else plain(data)
        text = json.dumps(document(kind, content), indent=1, default=plain)
        write_whole(json_file, text + "\n")
    return json_file == "-"
