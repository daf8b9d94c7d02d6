"""Rows of stores: filtered, with the missing runs of their sweeps, as result sets."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from destage import _destage
from destage.base.errors import DataError, UsageError
from destage.base.io.files import Destination
from destage.experiment.filter import rows_where
from destage.experiment.listing import stored_table
from destage.experiment.result_sets import together
from destage.experiment.rows import (
    DONE,
    FAILED,
    MISSING,
    columns_of,
    distinguished,
    key_of_row,
    order_of,
)
from destage.experiment.source import Filter, Hole, MarksOf, Source
from destage.experiment.store import Store, StoredSweep
from destage.experiment.task import Key
from destage.lab.options import run_options
from destage.model.axes import device_columns
from destage.model.choice import chosen
from destage.model.columns import CONTEXT, RECORD, stored_kinds
from destage.model.life import Life
from destage.model.naming import parts
from destage.model.rows import Row
from destage.model.run import Run
from destage.show.tables.table import Table

__all__ = ["HEAVY", "Stored", "among", "where"]

#: Columns with whole results: they are read only where they are asked for.
HEAVY = (RECORD, CONTEXT)


class Stored(Source):
    """Rows of stores: one a run, in an order that does not depend on who made them."""

    is_filtered_page = True
    #: Most runs that are read whole for a table.
    MOST_READ = 500

    def __init__(
        self,
        rows: Sequence[Row],
        stores: tuple[Store, ...] = (),
        damaged: int = 0,
        there: frozenset[Key] = frozenset(),
        filters: tuple[Filter, ...] = (),
        stored: Mapping[int, Key] | None = None,
    ) -> None:
        """Take rows; `there` are the keys of all rows of the stores: a filtered one is there.

        `stored` are the keys of these rows in the stores, by their identity.
        """
        self._rows, self.stores, self.damaged = tuple(rows), stores, damaged
        self.there, self.filters, self.stored = there, filters, stored or {}
        self.has_runs = bool(stores) and len(self._rows) <= self.MOST_READ

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The rows."""
        return self._rows

    @classmethod
    def open(cls, stores: Destination | Sequence[Destination]) -> Stored:
        """All rows of a store, or of several. Raises `MissingFile` and `DataError`."""
        given = [stores] if isinstance(stores, (str, os.PathLike)) else list(stores)
        opened = tuple(Store.open(path) for path in given)
        rows: dict[Key, Row] = {}
        damaged = 0
        for store in opened:
            whole, bad = store.whole_parts()
            damaged += len(bad)
            for row in store.rows(parts=whole, without=HEAVY):
                key = key_of_row(row)
                if key not in rows or rows[key]["status"] == FAILED:
                    rows[key] = row
        named = distinguished(rows.values())
        stored = {id(row): key for row, key in zip(named, rows, strict=True)}
        order = tuple(sorted(named, key=order_of))
        return cls(order, opened, damaged, frozenset(rows), stored=stored)

    def kept(self, fits: Filter) -> Stored:
        """The rows that a filter lets through; holes that it does not are none of theirs."""
        rows = tuple(self._rows[k] for k in fits(self._rows))
        there, filters = self.there, (*self.filters, fits)
        return Stored(rows, self.stores, self.damaged, there, filters, self.stored)

    @cached_property
    def lost(self) -> tuple[tuple[Any, Mapping[str, Any], tuple[Row, ...]], ...]:
        """Tasks of which something is missing: the sweep, the task, its runs."""
        sweeps: dict[str, StoredSweep] = {}
        for sweep in (sweep for store in self.stores for sweep in store.sweeps()):
            sweeps.setdefault(sweep.id, sweep)
        found = [(s, t, _lost(s, t, self.there)) for s in sweeps.values() for t in s.tasks]
        rows: list[Row] = [row for _, _, some in found for row in some]
        for fits in self.filters:
            rows = [rows[k] for k in fits(rows)]
        kept = set(map(id, rows))
        some = ((s, t, tuple(row for row in lost if id(row) in kept)) for s, t, lost in found)
        return tuple(one for one in some if one[2])

    @property
    def missing(self) -> tuple[Row, ...]:
        """Runs of sweeps that the stores have not, as rows without numbers."""
        return tuple(row for _, _, rows in self.lost for row in rows)

    @property
    def count(self) -> int:
        """Runs that are done; answers to questions are none."""
        asked = (json.loads(row["options"] or "{}") for row in self.rows if row["status"] == DONE)
        return sum("question" not in options for options in asked)

    @property
    def holes(self) -> tuple[Hole, ...]:
        """Missing runs of the sweeps that the stores have begun, task by task."""
        return tuple(
            Hole(
                sweep.called,
                task["trace"],
                task["device"],
                tuple(dict.fromkeys(row["label"] for row in rows)),
                len(rows),
                len(task["runs"]),
            )
            for sweep, task, rows in self.lost
        )

    @cached_property
    def _read(self) -> list[tuple[dict[str, Any], list[Row]]]:
        """Result sets, one per trace, device, options and seed, each with the rows of its runs.

        Runs that failed, and answers to questions such as curves, are in none. Raises `DataError`
        for stores that have changed.
        """
        wanted = {self.stored[id(row)]: row for row in self._rows}
        whole = {
            key_of_row(row): row
            for store in self.stores
            for row in store.rows()
            if key_of_row(row) in wanted
        }
        if len(whole) < len(wanted):
            raise DataError("the stores have changed since they were read: load them again")
        names = ("trace", "device", "ftl", "queue_depth", "options", "seed", CONTEXT)
        sets: dict[tuple[Any, ...], tuple[dict[str, Any], list[Row]]] = {}
        for row in sorted(whole.values(), key=order_of):
            if row["status"] != DONE or row[RECORD] is None:
                continue
            key = tuple(row[name] for name in names)
            if key not in sets:
                sets[key] = ({**json.loads(row[CONTEXT]), "runs": []}, [])
            sets[key][0]["runs"].append(json.loads(row[RECORD]))
            sets[key][1].append(wanted[key_of_row(row)])
        return list(sets.values())

    @property
    def sets(self) -> tuple[Mapping[str, Any], ...]:
        """The result sets, read from the stores."""
        return tuple(one for one, _ in self._read)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The runs, each with its row, in the order of the rows."""
        runs = (run for one in self.result_sets for run in one.runs)
        rows = (row for _, some in self._read for row in some)
        by_row = {id(row): replace(run, row=row) for run, row in zip(runs, rows, strict=True)}
        return tuple(by_row[id(row)] for row in self._rows if id(row) in by_row)

    def alone(self) -> Sequence[Mapping[str, Any]]:
        """The result sets, with all that follows from their runs made again."""
        return [together([one]) for one in self.sets]

    def drawn_rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows."""
        return self._rows

    def dicts(self, marks: MarksOf) -> list[dict[str, Any]]:
        """The rows, all with the same keys; runs of several traces and seeds have no marks."""
        names = list(self.columns(marks))
        return [{name: row.get(name) for name in names} for row in self._rows]

    def columns(self, marks: MarksOf) -> dict[str, list[Any]]:
        """The same by column."""
        return columns_of(self._rows, [n for n in columns_of(self._rows) if n not in HEAVY])

    def everything(self, marks: MarksOf) -> Any:
        """The table."""
        return self.dicts(marks)

    def provenance(self) -> Mapping[str, str]:
        """The version that read the stores."""
        return {"destage.store": json.dumps({"version": _destage.VERSION})}

    def table(
        self,
        show: str | Sequence[str] | None,
        sort: str | None,
        view: str | None,
    ) -> Table:
        """A row a run, or a row for all seeds of one."""
        has_life = chosen(show, view, sort)[1]
        return stored_table(self._rows, show, view, sort, self._lives() if has_life else None)

    def _lives(self) -> dict[Key, Life | None]:
        """How long devices last under the runs; nothing of pooled ones."""
        if not self.stores:
            return {}
        runs = (run for one in self.result_sets for run in one.runs)
        rows = (row for _, some in self._read for row in some)
        return {key_of_row(row): run.life for row, run in zip(rows, runs, strict=True)}


def where(condition: str) -> Filter:
    """The rows of which a condition holds. It raises `UsageError` for an invalid one."""

    def fits(rows: Sequence[Mapping[str, Any]]) -> list[int]:
        try:
            keys = device_columns(rows)
            given = [{key: values[k] for key, values in keys.items()} for k in range(len(rows))]
            known = [{**some, **_values(row)} for some, row in zip(given, rows, strict=True)]
            return rows_where(known, [condition])
        except UsageError as e:
            raise UsageError(f"where: {e}") from None

    return fits


def among(given: Mapping[str, str | None]) -> Filter:
    """The rows with these values; a comma separates several."""
    wanted = {
        name: [part.strip() for part in parts(text)]
        for name, text in given.items()
        if text is not None
    }

    def fits(rows: Sequence[Mapping[str, Any]]) -> list[int]:
        return [k for k, row in enumerate(rows) if _is_among(row, wanted)]

    return fits


def _lost(sweep: Any, task: Mapping[str, Any], there: frozenset[Key]) -> tuple[Row, ...]:
    """Runs of a task that are not there, as rows; older stores know less of them."""
    device = task["device"] or ""
    shared = {name: task.get(name) for name in ("device", "ftl", "queue_depth", "seed")}
    found = []
    for run, label, cache in task["runs"]:
        if (run, task["trace"], device, label, cache) in there:
            continue
        row = dict.fromkeys(stored_kinds()) | shared
        row |= {"id": run, "status": MISSING, "trace": task["trace"], "label": label}
        row |= {
            "policy": re.split(r"\[| over ", label, maxsplit=1)[0],
            "cache": cache,
            "sweep": sweep.called,
        }
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


def _is_among(row: Mapping[str, Any], wanted: Mapping[str, Sequence[str]]) -> bool:
    return all(
        str(row.get(name)) in values or (name == "policy" and str(row["label"]) in values)
        for name, values in wanted.items()
    )


def _values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the names in a condition, for a row."""
    params = json.loads(row["params"] or "{}")
    options = json.loads(row.get("options") or "{}")
    return {
        **dict.fromkeys(("question", "share", *(option.name for option in run_options()))),
        **options,
        **{name: value for name, value in row.items() if name not in HEAVY},
        "unique_pages": row["trace_unique_pages"],
        "accesses": row["trace_accesses"],
        **{f"params.{key}": value for key, value in params.items()},
    }
