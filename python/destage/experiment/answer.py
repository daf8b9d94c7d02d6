"""DuckDB's answer to a query over the rows of stores."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

from destage import _destage
from destage.base.errors import MissingExtra, UsageError
from destage.base.io.interruptible import interruptible
from destage.base.io.names import text_of
from destage.base.memory import available
from destage.lab.options import thread_count
from destage.model.columns import stored_kinds
from destage.model.metrics import RENAMED, renamed_text
from destage.model.provenance import document
from destage.show.tables.frames import Tabled
from destage.show.tables.table import Cell, Column, Table

__all__ = ["ADVICE", "Answer", "asked_in_sql"]


class Answer(Tabled):
    """An answer: columns and rows."""

    def __init__(self, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Take what a query gave."""
        self.names, self.rows = tuple(names), tuple(rows)

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return {name: [row[k] for row in self.rows] for k, name in enumerate(self.names)}

    def _everything(self) -> Any:
        rows = [dict(zip(self.names, row, strict=True)) for row in self.rows]
        return document("answer", {"rows": rows})

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


#: Values of the largest answer, beside as many as the table has: they are kept in memory.
_MOST = 50_000_000
#: Rows that are fetched at a time.
_PIECE = 10_000

#: What a query that reaches further is told.
ADVICE = (
    "; a query reaches the table runs and nothing else: write its answer with --csv, --json or"
    " --parquet, or give --sql-unrestricted (unrestricted=True)"
)

#: Statements that have an answer, by DuckDB's names.
_QUERIES = ("SELECT", "EXPLAIN", "RELATION", "LOGICAL_PLAN")
#: DuckDB's words for an unknown table; the name that it suggests is of its own catalogue.
_NO_TABLE = re.compile(r"^Catalog Error: Table with name (\S+) does not exist")

#: Settings under which a query reaches the table and nothing else: no file, no network, no
#: extension, and no way to change that. The last one locks the others.
CONFINED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    # Python variables are no tables.
    "python_enable_replacements": "false",
    # Nothing is moved to disk where memory ends.
    "temp_directory": "''",
    "enable_external_access": "false",
    "lock_configuration": "true",
}


def asked_in_sql(
    columns: Mapping[str, list[Any]], query: str, *, unrestricted: bool = False
) -> Answer:
    """The answer to a query over the table `runs`, without access to files or network.

    `unrestricted` gives it DuckDB whole: files, network, extensions. Raises `MissingExtra` without
    the extra `sql`, and `UsageError` for a query that fails or reaches further.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingExtra(
            "a query needs duckdb, which is not installed: pip install 'destage[sql]'"
        ) from None
    text_of(query, "sql")
    most = _MOST + sum(map(len, columns.values()))
    known = {name: kind for name, kind in stored_kinds().items() if name in columns}
    with tempfile.TemporaryDirectory(prefix="destage-sql-") as folder:
        file = Path(folder) / "runs.parquet"
        file.write_bytes(_destage.parquet_bytes(list(columns.items()), {}, known))
        with ExitStack() as stack:
            connection = duckdb.connect()
            # A query that a second signal left running keeps its connection.
            stack.callback(_close, connection, duckdb.Error)
            quoted = str(file).replace("'", "''")
            connection.execute(f"CREATE TABLE runs AS SELECT * FROM read_parquet('{quoted}')")
            if not unrestricted:
                # Before the last setting, which locks them.
                connection.execute(f"SET memory_limit = '{available() // 2 // 1_000_000} MB'")
                connection.execute(f"SET threads = {thread_count(None)}")
                for name, value in CONFINED.items():
                    connection.execute(f"SET {name} = {value}")
            try:
                asked = connection.extract_statements(query)
                answer = interruptible(lambda: connection.execute(query), connection.interrupt)
                if answer is None:
                    raise UsageError("sql: expected a query, found none")
                if not unrestricted and asked[-1].type.name not in _QUERIES:
                    raise UsageError(f"sql: expected a query, found {asked[-1].type.name}{ADVICE}")
                names = [column[0] for column in answer.description or ()]
                rows: list[tuple[Any, ...]] = []
                while piece := answer.fetchmany(_PIECE):
                    rows += piece
                    if len(rows) * len(names) > most and not unrestricted:
                        raise UsageError(
                            f"sql: the answer has more than {most:,} values: ask for fewer rows,"
                            " or give --sql-unrestricted (unrestricted=True)"
                        )
            except duckdb.PermissionException as e:
                raise UsageError(f"sql: {e}{ADVICE}") from None
            except duckdb.Error as e:
                for old in RENAMED:
                    if re.search(rf"\b{old}\b", query):
                        raise UsageError(f"sql: {old} {renamed_text(old)}") from None
                if unknown := _NO_TABLE.search(str(e)):
                    raise UsageError(f"sql: no table {unknown[1]}: the table is runs") from None
                raise UsageError(f"sql: {e}") from None
    return Answer(names, [tuple(map(_plain, row)) for row in rows])


def _close(connection: Any, busy: type[Exception]) -> None:
    with suppress(busy):
        connection.close()


def _plain(value: Any) -> Any:
    """A value as a file has it: a number, a text, or nothing."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return float(value) if isinstance(value, Decimal) else str(value)
