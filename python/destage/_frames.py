"""Columns of a tidy table as CSV and as data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from destage.errors import MissingExtra

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["by_column", "csv_text", "install", "pandas_frame", "polars_frame"]

Columns = Mapping[str, list[Any]]


def by_column(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn rows with the same keys into columns."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}


def csv_text(columns: Columns) -> str:
    """Return CSV; truth values are `true` and `false`, what is not there is empty."""
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
