"""Tidy tables: what every result can be written as, and their columns as CSV and data frames."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from destage import _destage
from destage.base.errors import MissingExtra
from destage.base.io.files import Destination, write_whole
from destage.model.provenance import made_by
from destage.show.tables.table import Table

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Tabled", "Tidy", "by_column", "csv_text", "install", "pandas_frame", "polars_frame"]

Columns = Mapping[str, list[Any]]


def by_column(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn rows with the same keys into columns."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}


def csv_text(columns: Columns) -> str:
    """Return CSV; truth values are `true` and `false`, absent values are empty."""
    import csv
    import io

    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_cell(v) for v in row] for row in zip(*columns.values(), strict=True)])
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def polars_frame(columns: Columns) -> polars.DataFrame:
    """Return a polars data frame."""
    try:
        import polars
    except ImportError as e:
        raise MissingExtra(install("polars")) from e
    return polars.DataFrame(dict(columns), infer_schema_length=None)


def pandas_frame(columns: Columns) -> pandas.DataFrame:
    """Return a pandas data frame."""
    try:
        import pandas
    except ImportError as e:
        raise MissingExtra(install("pandas")) from e
    return pandas.DataFrame(dict(columns))


def install(extra: str) -> str:
    """Return what to say when an extra is missing."""
    return f"{extra} is not installed: pip install 'destage[{extra}]'"


def _arrow(columns: Columns) -> Any:
    """A frame that gives an Arrow stream."""
    try:
        return polars_frame(columns)
    except MissingExtra:
        if find_spec("pyarrow") is None:
            raise
        return import_module("pyarrow").table(dict(columns))


def _written(text: str, path: Destination | None) -> str:
    if path is not None:
        write_whole(path, text)
    return text


class Tidy(ABC):
    """An object with a tidy table: one row a case, the units in the names of its columns."""

    #: Its JSON is indented on a terminal alone: a third of it would be spaces.
    _has_many_runs: ClassVar[bool] = False

    @abstractmethod
    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table by column."""

    @abstractmethod
    def _everything(self) -> Any:
        """The content of the JSON form."""

    @abstractmethod
    def _provenance(self) -> Mapping[str, str]:
        """Metadata of the Parquet form: JSON by key."""

    def to_polars(self) -> polars.DataFrame:
        """Return the tidy table as a polars data frame.

        Raises `MissingExtra` if polars is not installed.
        """
        return polars_frame(self.columns())

    def to_pandas(self) -> pandas.DataFrame:
        """Return the tidy table as a pandas data frame.

        Raises `MissingExtra` if pandas is not installed.
        """
        return pandas_frame(self.columns())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the tidy table as Arrow: `polars.DataFrame(results)`, DuckDB.

        Made by polars or pyarrow, whichever is there; raises `MissingExtra` if neither is.
        """
        return _arrow(self.columns()).__arrow_c_stream__(requested_schema)

    def to_json(self, path: Destination | None = None) -> str:
        """Return everything as JSON, and write it to `path` if given (`-`: standard output).

        Raises `OutputError`.
        """
        everything = self._everything()
        if isinstance(everything, dict):
            everything = {**made_by(), **everything}
        is_short = self._has_many_runs and not (path == "-" and sys.stdout.isatty())
        form: dict[str, Any] = {"separators": (",", ":")} if is_short else {"indent": 1}
        return _written(json.dumps(everything, allow_nan=False, **form) + "\n", path)

    def to_csv(self, path: Destination | None = None) -> str:
        """Return the tidy table as CSV, and write it to `path` if given (`-`: standard output).

        Truth values are `true` and `false`; absent values are empty. Raises `OutputError`.
        """
        return _written(csv_text(self.columns()), path)

    def to_parquet(self, path: Destination) -> None:
        """Write the tidy table as Parquet (`-`: standard output); needs no other package.

        The file's metadata says where it is from, as JSON. Raises `OutputError`.
        """
        columns = list(self.columns().items())
        metadata = {**self._provenance(), "destage.made_by": json.dumps(made_by())}
        write_whole(path, lambda: _destage.parquet_bytes(columns, metadata))


class Tabled(Tidy):
    """An object that also has a table for people."""

    @abstractmethod
    def as_table(self) -> Table:
        """The table that the command line prints."""

    def to_latex(self, path: Destination | None = None) -> str:
        """Return the table of the command line as LaTeX (package booktabs); write it if named.

        Raises `OutputError`.
        """
        return _written(self.as_table().latex(), path)

    def to_markdown(self, path: Destination | None = None) -> str:
        """Return the table as Markdown, and write it to `path` if given (`-`: standard output).

        Raises `OutputError`.
        """
        return _written(self.as_table().markdown(), path)

    def to_html(self, path: Destination | None = None) -> str:
        """Return the table as HTML, and write it to `path` if given (`-`: standard output).

        The page with charts is what `write_report` makes. Raises `OutputError`.
        """
        return _written(self.as_table().html() + "\n", path)

    def __repr__(self) -> str:
        """Return the table as plain text."""
        return self.as_table().text()

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return self.as_table().html()
