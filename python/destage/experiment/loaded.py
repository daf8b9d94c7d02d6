"""A store, or several, as one table: `destage.load_results`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from destage import _destage
from destage.errors import DataError, UsageError
from destage.experiment.answer import Answer, asked_in_sql
from destage.experiment.filter import rows_where
from destage.experiment.listing import stored_table
from destage.experiment.pooling import pooled_rows
from destage.experiment.rows import (
    CONTEXT,
    DONE,
    FAILED,
    MISSING,
    RECORD,
    Row,
    columns_of,
    key_of_row,
    kinds,
    order_of,
)
from destage.experiment.store import Store
from destage.experiment.task import Key
from destage.io.extras import need_extra
from destage.io.files import Destination, write_whole
from destage.model.naming import parts
from destage.options import run_options
from destage.results import Results
from destage.tables.frames import Tabled
from destage.tables.table import Table

__all__ = ["Hole", "StoredResults", "load_results"]

#: The places of the rows that it lets through.
_Filter = Callable[[Sequence[Row]], list[int]]

#: Columns of every row; the whole results are read only where they are asked for.
_HEAVY = (RECORD, CONTEXT)


@dataclass(frozen=True)
class Hole:
    """Runs that a sweep planned and the store has not."""

    sweep: str
    """The SPEC's name."""
    trace: str
    device: str | None
    policies: tuple[str, ...]
    missing: int
    runs: int
    """Of so many."""


class StoredResults(Tabled):
    """Rows of stores: one a run, in an order that does not depend on who made them."""

    def __init__(
        self,
        rows: Sequence[Row],
        stores: Sequence[Store],
        damaged: int = 0,
        *,
        there: frozenset[Key] | None = None,
        filters: Sequence[_Filter] = (),
    ) -> None:
        """Take rows; `load_results` makes them."""
        self.rows = tuple(sorted(rows, key=order_of))
        self.stores = tuple(stores)
        self.damaged = damaged
        """Parts that cannot be read; their runs are missing."""
        # What the stores have, before anything was filtered: that is no hole.
        self._there = frozenset(map(key_of_row, rows)) if there is None else there
        self._filters = tuple(filters)

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        """Iterate over the rows."""
        return iter(self.rows)

    @property
    def failed(self) -> tuple[Row, ...]:
        """Runs that failed; `reason` says why."""
        return tuple(row for row in self.rows if row["status"] == FAILED)

    def where(self, condition: str) -> StoredResults:
        """The rows of which a condition holds: `"policy == 'lru' and cache >= '10%'"`.

        Raises `UsageError` for what is none.
        """

        def fits(rows: Sequence[Row]) -> list[int]:
            try:
                return rows_where([_values(row) for row in rows], [condition])
            except UsageError as e:
                raise UsageError(f"where: {e}") from None

        return self._kept(fits)

    def only(self, **given: str | None) -> StoredResults:
        """The rows with these values; a comma separates several: `policy="lru,arc"`."""
        wanted = {name: _parts(text) for name, text in given.items() if text is not None}

        def fits(rows: Sequence[Row]) -> list[int]:
            return [k for k, row in enumerate(rows) if _is_among(row, wanted)]

        return self._kept(fits)

    def _kept(self, fits: _Filter) -> StoredResults:
        """The rows that a filter lets through; holes that it does not are none of theirs."""
        return StoredResults(
            [self.rows[k] for k in fits(self.rows)],
            self.stores,
            self.damaged,
            there=self._there,
            filters=(*self._filters, fits),
        )

    def pooled(self) -> StoredResults:
        """All traces as one: counters added up, ratios made of the sums; no percentiles."""
        return StoredResults(pooled_rows(self.rows), (), self.damaged)

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        names = [name for name in columns_of(self.rows) if name not in _HEAVY]
        return columns_of(self.rows, names)

    def to_dicts(self) -> list[Row]:
        """Return the rows; all have the same keys."""
        names = list(self.columns())
        return [{name: row.get(name) for name in names} for row in self.rows]

    def _everything(self) -> Any:
        return self.to_dicts()

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.store": json.dumps({"version": _destage.VERSION})}

    @cached_property
    def _lost(self) -> tuple[tuple[Any, Mapping[str, Any], tuple[Row, ...]], ...]:
        """Tasks of which something is missing: the sweep, the task, its runs."""
        sweeps = {sweep.id: sweep for store in reversed(self.stores) for sweep in store.sweeps()}
        found = [(s, t, _lost(s, t, self._there)) for s in sweeps.values() for t in s.tasks]
        rows: list[Row] = [row for _, _, some in found for row in some]
        for fits in self._filters:
            rows = [rows[k] for k in fits(rows)]
        kept = set(map(id, rows))
        some = ((s, t, tuple(row for row in lost if id(row) in kept)) for s, t, lost in found)
        return tuple(one for one in some if one[2])

    @property
    def missing(self) -> tuple[Row, ...]:
        """Runs that sweeps planned and the stores have not, as rows without numbers."""
        return tuple(row for _, _, rows in self._lost for row in rows)

    @property
    def holes(self) -> tuple[Hole, ...]:
        """What is missing of the sweeps that the stores have begun, task by task."""
        return tuple(
            Hole(
                sweep.called,
                task["trace"],
                task["device"],
                tuple(dict.fromkeys(row["label"] for row in rows)),
                len(rows),
                len(task["runs"]),
            )
            for sweep, task, rows in self._lost
        )

    def report(
        self,
        path: Destination | None = None,
        *,
        title: str | None = None,
        command: str | None = None,
    ) -> str:
        """Return these runs as one page that opens offline: filters, charts, every run.

        Parameters:
            path: where the page goes too, whole or not at all; `-` is standard output.
            title: by default the names of the stores.
            command: the command line that makes the page again.

        Raises `MissingExtra` without the extra `report`, and `OutputError`.
        """
        need_extra("the report")
        from destage.report.stored import stored_page

        shown = " + ".join(store.folder.resolve().name for store in self.stores)
        html = stored_page(
            self.rows,
            self.missing,
            title=title or shown or "results",
            damaged=self.damaged,
            command=command,
        )
        if path is not None:
            write_whole(path, html)
        return html

    def save_figures(
        self, folder: Destination, *, show: str | Sequence[str] | None = None
    ) -> list[Path]:
        """Write figures for a paper, each as SVG, PDF and PNG beside its data as CSV.

        Parameters:
            folder: made if it is not there.
            show: metrics, by name; by default those that tables show.

        Raises `MissingExtra` without the extra `report`, `UsageError` and `OutputError`.
        """
        need_extra("saving figures")
        from destage.charts.stored import save_stored

        return save_stored(folder, self.rows, self.missing, show=show)

    def results(self) -> Results:
        """The runs as `Results`: a set for each trace, drive, options and seed.

        Runs that failed, and answers to questions such as curves, are in none. Raises `DataError`
        for a store that has not kept them.
        """
        sets: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in self._whole_rows():
            if row["status"] != DONE or row[RECORD] is None:
                continue
            names = ("trace", "device", "ftl", "queue_depth", "options", "seed", CONTEXT)
            key = tuple(row[name] for name in names)
            if key not in sets:
                sets[key] = {**json.loads(row[CONTEXT]), "runs": []}
            sets[key]["runs"].append(json.loads(row[RECORD]))
        return Results(list(sets.values()))

    def _whole_rows(self) -> list[Row]:
        wanted = {key_of_row(row) for row in self.rows}
        found: dict[Key, Row] = {}
        for store in self.stores:
            for row in store.rows():
                if key_of_row(row) in wanted:
                    found[key_of_row(row)] = row
        if len(found) < len(wanted):
            raise DataError("the stores have changed since they were read: load them again")
        return sorted(found.values(), key=order_of)

    def sql(self, query: str, *, unrestricted: bool = False) -> Answer:
        """Return DuckDB's answer to a query over the table `runs`, which is all that it reaches.

        `unrestricted` gives it files, network and extensions too. Raises `MissingExtra` without the
        extra `sql`, and `UsageError` for a query that fails or reaches further.
        """
        return asked_in_sql(self.columns(), query, unrestricted=unrestricted)

    def as_table(
        self, *, show: str | Sequence[str] | None = None, view: str | None = None
    ) -> Table:
        """Return the table that the command line prints."""
        return stored_table(self.rows, show, view)


def load_results(
    stores: Destination | Sequence[Destination], where: str | None = None
) -> StoredResults:
    """Read a store of results, or several as one; `where` is a condition as in `SPEC`.

    Raises `MissingFile`, `DataError` for what is no store, and `UsageError`.
    """
    given = [stores] if isinstance(stores, (str, os.PathLike)) else list(stores)
    opened = [Store.open(path) for path in given]
    rows: dict[Key, Row] = {}
    damaged = 0
    for store in opened:
        whole, bad = store.whole_parts()
        damaged += len(bad)
        for row in store.rows(parts=whole, without=_HEAVY):
            key = key_of_row(row)
            if key not in rows or rows[key]["status"] == FAILED:
                rows[key] = row
    found = StoredResults(list(rows.values()), opened, damaged)
    return found if where is None else found.where(where)


def _lost(sweep: Any, task: Mapping[str, Any], there: frozenset[Key]) -> tuple[Row, ...]:
    """Runs of a task that are not there, as rows; older stores know less of them."""
    device = task["device"] or ""
    shared = {name: task.get(name) for name in ("device", "ftl", "queue_depth", "seed")}
    found = []
    for run, label, cache in task["runs"]:
        if (run, task["trace"], device, label, cache) in there:
            continue
        row = dict.fromkeys(kinds()) | shared
        row |= {"id": run, "status": MISSING, "trace": task["trace"], "label": label}
        row |= {"policy": label.partition("[")[0], "cache": cache, "sweep": sweep.called}
        row |= {"options": task.get("options") or "{}", "params": "{}"}
        frames, page = (task.get("frames") or {}).get(cache), task.get("page_bytes")
        row |= {
            "frames": frames,
            "page_bytes": page,
            "trace_unique_pages": task.get("unique_pages"),
        }
        row["cache_bytes"] = frames * page if frames and page else None
        found.append(row)
    return tuple(found)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in parts(text)]


def _is_among(row: Row, wanted: Mapping[str, Sequence[str]]) -> bool:
    return all(
        str(row[name]) in values or (name == "policy" and str(row["label"]) in values)
        for name, values in wanted.items()
    )


def _values(row: Row) -> dict[str, Any]:
    """What the names of a condition are worth for a row."""
    params = json.loads(row["params"] or "{}")
    options = json.loads(row.get("options") or "{}")
    return {
        **dict.fromkeys(("question", "share", *(option.name for option in run_options()))),
        **options,
        **{name: value for name, value in row.items() if name not in _HEAVY},
        "unique_pages": row["trace_unique_pages"],
        "accesses": row["trace_accesses"],
        **{f"params.{key}": value for key, value in params.items()},
    }
