"""What DuckDB says to a query over the rows of stores."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from destage import _destage
from destage.errors import MissingExtra, UsageError
from destage.experiment.rows import kinds
from destage.tables.frames import Tabled
from destage.tables.table import Cell, Column, Table

__all__ = ["Answer", "asked_in_sql"]


class Answer(Tabled):
    """An answer: columns and rows."""

    def __init__(self, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Take what a query gave."""
        self.names, self.rows = tuple(names), tuple(rows)

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return {name: [row[k] for row in self.rows] for k, name in enumerate(self.names)}

    def _everything(self) -> Any:
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def _provenance(self) -> Mapping[str, str]:
        return {}

    def as_table(self) -> Table:
        """Return the table that the command line prints."""
        columns = [
            Column(name, right=all(isinstance(row[k], (int, float)) for row in self.rows))
            for k, name in enumerate(self.names)
        ]
        cells = [[Cell("" if v is None else str(v)) for v in row] for row in self.rows]
        return Table("", columns, [cells])


def asked_in_sql(columns: Mapping[str, list[Any]], query: str) -> Answer:
    """The answer to a query; the table is called `runs`.

    Raises `MissingExtra` without the extra `sql`, and `UsageError` for what is no query.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingExtra(
            "a query needs duckdb, which is not installed: pip install 'destage[sql]'"
        ) from None
    known = {name: kind for name, kind in kinds().items() if name in columns}
    with tempfile.TemporaryDirectory(prefix="destage-sql-") as folder:
        file = Path(folder) / "runs.parquet"
        file.write_bytes(_destage.parquet_bytes(list(columns.items()), {}, known))
        with duckdb.connect() as connection:
            quoted = str(file).replace("'", "''")
            connection.execute(f"CREATE TABLE runs AS SELECT * FROM read_parquet('{quoted}')")
            try:
                answer = connection.execute(query)
                names = [column[0] for column in answer.description or ()]
                rows = answer.fetchall()
            except duckdb.Error as e:
                raise UsageError(f"sql: {e}") from None
    return Answer(names, [tuple(map(_plain, row)) for row in rows])


def _plain(value: Any) -> Any:
    """A value as a file has it: a number, a text, or nothing."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return float(value) if isinstance(value, Decimal) else str(value)
