"""Rows of runs, and the records behind them, which are read when they are asked for.

`Results` has one, whatever its runs are from: a call (`Held`), or stores (`stored.Stored`).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from destage.experiment.result_sets import together
from destage.experiment.rows import DONE, distinguished, options_of
from destage.model.marks import Marks
from destage.model.provenance import made_by
from destage.model.results import ResultSet
from destage.model.rows import Row
from destage.model.run import INTERRUPTED, SHARD, Run
from destage.show.tables.frames import by_column
from destage.show.tables.results import results_table
from destage.show.tables.table import Table

if TYPE_CHECKING:
    from destage.experiment.store import Store

__all__ = ["Filter", "Held", "Hole", "MarksOf", "Source"]

#: The places of the rows that it lets through.
Filter = Callable[[Sequence[Mapping[str, Any]]], list[int]]
#: The marks of the runs, made when they are asked for.
MarksOf = Callable[[], Sequence[Marks]]


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


class Source(ABC):
    """Rows, runs and result sets of `Results`."""

    pe_cycles: int | None = None
    """P/E cycle rating of a block, for the life of a device."""
    stores: tuple[Store, ...] = ()
    damaged: int = 0
    """Parts of stores that cannot be read."""
    is_filtered_page: bool = False
    """Whether its page has filters."""
    has_runs: bool = True
    """Whether whole runs are available: a table may look at more than its rows."""

    @property
    @abstractmethod
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The table, row by row."""

    @property
    @abstractmethod
    def sets(self) -> tuple[Mapping[str, Any], ...]:
        """Result sets as the JSON schema has them. Raises `DataError`."""

    @property
    @abstractmethod
    def runs(self) -> tuple[Run, ...]:
        """All runs."""

    @property
    def count(self) -> int:
        """The number of runs."""
        return len(self.runs)

    @property
    def missing(self) -> tuple[Row, ...]:
        """Runs that were planned and are not there."""
        return ()

    @property
    def holes(self) -> tuple[Hole, ...]:
        """The same, task by task."""
        return ()

    @property
    def is_incomplete(self) -> bool:
        """Whether runs are missing."""
        return bool(self.missing)

    @cached_property
    def result_sets(self) -> tuple[ResultSet, ...]:
        """The runs of each trace, side by side."""
        several = len(self.sets) > 1
        return tuple(
            ResultSet.of(one, f"results[{i}]" if several else "results", self.pe_cycles)
            for i, one in enumerate(self.sets)
        )

    @property
    def baseline(self) -> str | None:
        """Label of the run that others are marked against; None: the first of each cache size."""
        return self.result_sets[0].baseline if self.sets else None

    @abstractmethod
    def kept(self, fits: Filter) -> Source:
        """The rows that a filter selects."""

    @abstractmethod
    def alone(self) -> Sequence[Mapping[str, Any]]:
        """The result sets, whose runs are all that there are."""

    @abstractmethod
    def drawn_rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows with all columns that a page and figures take."""

    @abstractmethod
    def dicts(self, marks: MarksOf) -> list[dict[str, Any]]:
        """The tidy table, row by row."""

    @abstractmethod
    def columns(self, marks: MarksOf) -> dict[str, list[Any]]:
        """The same by column."""

    @abstractmethod
    def everything(self, marks: MarksOf) -> Any:
        """The content of the JSON form."""

    @abstractmethod
    def provenance(self) -> Mapping[str, str]:
        """Metadata of the Parquet form."""

    @abstractmethod
    def table(
        self,
        show: str | Sequence[str] | None,
        sort: str | None,
        view: str | None,
    ) -> Table:
        """The table for people."""


class Held(Source):
    """Result sets that a call made."""

    def __init__(
        self, sets: Sequence[Mapping[str, Any]] = (), pe_cycles: int | None = None
    ) -> None:
        """Take result sets as the JSON schema has them."""
        self._sets, self.pe_cycles = tuple(sets), pe_cycles

    @property
    def sets(self) -> tuple[Mapping[str, Any], ...]:
        """As they were given."""
        return self._sets

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All runs."""
        return tuple(run for one in self.result_sets for run in one.runs)

    @cached_property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """A row a run."""
        return tuple(run.to_dict() for run in self.runs)

    @property
    def is_incomplete(self) -> bool:
        """Whether it was interrupted, or is of a shard."""
        every = (said for run in self.runs for said in run.warnings)
        return any(said.startswith((INTERRUPTED, SHARD)) for said in every)

    def kept(self, fits: Filter) -> Held:
        """The rows that a filter selects."""
        places, sets, first = set(fits(self.rows)), [], 0
        for one in self.sets:
            some = [run for k, run in enumerate(one["runs"], first) if k in places]
            first += len(one["runs"])
            sets += [together([{**one, "runs": some}])] if some else []
        return Held(sets, self.pe_cycles)

    def alone(self) -> Sequence[Mapping[str, Any]]:
        """The result sets."""
        return self.sets

    def drawn_rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows with the columns of stores."""
        blank = {"status": DONE, "id": "", "reason": None, "seed": None}
        return distinguished({**blank, "options": options_of(row), **row} for row in self.rows)

    def dicts(self, marks: MarksOf) -> list[dict[str, Any]]:
        """The rows with their marks."""
        both = zip(self.rows, marks(), strict=True)
        return [{**row, **some.row()} for row, some in both]

    def columns(self, marks: MarksOf) -> dict[str, list[Any]]:
        """The same by column."""
        return by_column(self.dicts(marks))

    def everything(self, marks: MarksOf) -> Any:
        """The result sets: `from_json` and `rerun` read both."""
        # What made them is in them, but for the command.
        made = {key: value for key, value in made_by().items() if key == "command"}
        each, sets = iter(marks()), []
        for one in self.sets:
            some = [next(each).to_dict() for _ in one["runs"]]
            sets.append({**made, **one, "marks": some})
        return sets[0] if len(sets) == 1 else sets

    def provenance(self) -> Mapping[str, str]:
        """The result sets without their runs."""
        sets = [{k: v for k, v in s.items() if k != "runs"} for s in self.sets]
        return {"destage.results": json.dumps(sets)}

    def table(
        self,
        show: str | Sequence[str] | None,
        sort: str | None,
        view: str | None,
    ) -> Table:
        """A row a run, with marks."""
        how: Any = {"show": show, "sort": sort, "view": view}
        return results_table(self.runs, **how, baseline=self.baseline)
