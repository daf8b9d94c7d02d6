"""What runs leave behind: typed, tidy, and ready to be written or drawn.

`Results` is a sequence of `Run`, one per policy and cache size. As a table it has one row per run;
the columns' names carry their units, and the same names are used in JSON, CSV, Parquet and here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from destage import _destage
from destage.errors import DataError, UsageError
from destage.io.files import Destination, read_text
from destage.io.names import path_of, printable
from destage.io.path_conflicts import reading
from destage.model.metrics import Metric, metrics
from destage.model.results import ResultSet
from destage.model.run import INTERRUPTED, SHARD, Run, TraceIdentity
from destage.tables.frames import Tabled, by_column
from destage.tables.results import results_table
from destage.tables.table import Table

if TYPE_CHECKING:
    from destage.charts.plots import Plots

__all__ = [
    "Metric",
    "Results",
    "Run",
    "TraceIdentity",
    "incomplete",
    "metrics",
    "only_so_many",
    "together",
]


class Results(Tabled):
    """Runs over one trace or several, in the order of traces, policies, sizes, as asked for.

    A sequence of runs in all but its class: as a table it has one row a run, and what makes frames
    (`polars.DataFrame(results)`) would take a `Sequence` apart instead of asking for it.

    As JSON one trace gives an object, several give an array of such objects.
    """

    def __init__(self, sets: Sequence[Mapping[str, Any]], pe_cycles: int | None = None) -> None:
        """Take result sets as the JSON schema has them; `compare` and `from_json` make them."""
        self.sets = tuple(sets)
        self._pe_cycles = pe_cycles

    def enduring(self, pe_cycles: int) -> Results:
        """Return the results with how long the drive lasts, whose blocks endure so many erases.

        Tables and the report then show it, and `Run.life` has it. Raises `UsageError`.
        """
        whole = isinstance(pe_cycles, int) and not isinstance(pe_cycles, bool)
        if not whole or pe_cycles < 1:
            raise UsageError(f"pe_cycles: expected a whole number from 1, got {pe_cycles!r}")
        return Results(self.sets, pe_cycles)

    @cached_property
    def result_sets(self) -> tuple[ResultSet, ...]:
        """The runs of each trace, side by side: what tables, charts and the report take."""
        several = len(self.sets) > 1
        return tuple(
            ResultSet.of(s, f"results[{i}]" if several else "results", self._pe_cycles)
            for i, s in enumerate(self.sets)
        )

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All runs."""
        return tuple(run for one in self.result_sets for run in one.runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        """Return a run, or several."""
        return self.runs[index]

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        """Iterate over the runs."""
        return iter(self.runs)

    def __reversed__(self) -> Iterator[Run]:
        """Iterate over the runs, the last first."""
        return reversed(self.runs)

    def __contains__(self, run: object) -> bool:
        """Return whether a run is among them."""
        return run in self.runs

    def index(self, run: Run) -> int:
        """Return the place of a run. Raises `ValueError` if it is not among them."""
        return self.runs.index(run)

    def __eq__(self, other: object) -> bool:
        """Compare everything, configuration included."""
        return isinstance(other, Results) and self.sets == other.sets

    __hash__ = None  # type: ignore[assignment]

    @property
    def incomplete(self) -> bool:
        """Whether runs are missing: it was interrupted, or is of a shard."""
        return any(
            said.startswith((INTERRUPTED, SHARD)) for run in self.runs for said in run.warnings
        )

    def as_table(
        self,
        *,
        show: str | Sequence[str] | None = None,
        sort: str | None = None,
        view: str | None = None,
    ) -> Table:
        """Return the table that the command line prints, to be laid out otherwise.

        Parameters:
            show: columns, by the names of metrics or short ones: `"p99.9,waf"`.
            sort: what the rows of a cache size are sorted by, the best first: `"p99.9"`.
            view: `"latency"`, `"endurance"` or `"hits"`: columns about that, instead of `show`.

        Raises `UsageError` for a name that there is not.
        """
        return results_table(self.runs, show=show, sort=sort, view=view)

    @property
    def plot(self) -> Plots:
        """Charts of the results: `results.plot.hit_ratio()`, `results.plot.save("figures")`.

        Raises `UsageError` for results over several traces; drawing raises `MissingExtra` without
        the extra `report`.
        """
        from destage.charts.plots import Plots

        if len(self.sets) != 1:
            raise UsageError(
                f"results over {len(self.sets)} traces: charts show one;"
                " take Results([results.sets[0]]).plot"
            )
        return Plots(self.result_sets[0])

    def table(
        self,
        *,
        show: str | Sequence[str] | None = None,
        sort: str | None = None,
        view: str | None = None,
    ) -> str:
        """Return the table that the command line prints, without colours; as `as_table`."""
        return self.as_table(show=show, sort=sort, view=view).text()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the tidy table: one dictionary per run, all with the same keys."""
        return [run.to_dict() for run in self.runs]

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table by column."""
        return by_column(self.to_dicts())

    def _everything(self) -> Any:
        # `from_json` and `rerun` read both.
        return self.sets[0] if len(self.sets) == 1 else list(self.sets)

    def _provenance(self) -> Mapping[str, str]:
        sets = [{k: v for k, v in s.items() if k != "runs"} for s in self.sets]
        return {"destage.results": json.dumps(sets)}

    @classmethod
    def from_json(cls, text: str | bytes, name: str = "result") -> Results:
        """Read what `to_json` wrote; `name` is what messages call it.

        Raises `DataError` if it is something else.
        """
        name = printable(name)
        try:
            data = json.loads(text)
            again = [json.dumps(s) for s in (data if isinstance(data, list) else [data])]
        except UnicodeDecodeError as e:
            raise DataError(f"{name}: no JSON: it is not UTF-8") from e
        except RecursionError as e:
            raise DataError(f"{name}: it is not a result: it is nested too deeply") from e
        except ValueError as e:
            what = f"no JSON: {e}" if text.strip() else "the file is empty: expected results"
            raise DataError(f"{name}: {what}") from e
        if not again:
            raise DataError(f"{name}: expected results, found an empty array")
        return cls([json.loads(_destage.read_result(one, name)) for one in again])

    @classmethod
    def load(cls, path: Destination) -> Results:
        """Read a file that `to_json` wrote.

        Raises `MissingFile` or `DataError`.
        """
        reading("the result", path_of(path, "result"))
        return cls.from_json(read_text(path, "a result"), os.fspath(path))


def together(
    sets: Sequence[Mapping[str, Any]], order: Callable[[Mapping[str, Any]], Any] | None = None
) -> dict[str, Any]:
    """One result set of several over one trace, with all that follows from its runs made again.

    `order` is what runs are sorted by; without it they stay as they are.
    """
    runs = [run for one in sets for run in one["runs"]]
    if order is not None:
        runs.sort(key=order)
    whole: dict[str, Any] = json.loads(_destage.assembled(json.dumps({**sets[0], "runs": runs})))
    return whole


def incomplete(sets: list[dict[str, Any]], every: int, shard: bool = False) -> list[dict[str, Any]]:
    """Results with a warning in each run that others are missing; an earlier one is replaced."""
    ended = sum(len(one["runs"]) for one in sets)
    said = only_so_many(ended, every, shard=shard)
    for one in sets:
        for run in one["runs"]:
            warnings = run.get("warnings") or ()
            others = [w for w in warnings if not w.startswith((INTERRUPTED, SHARD))]
            run["warnings"] = [*others, said]
    return [one for one in sets if one["runs"]]


def only_so_many(ended: int, every: int, what: str = "runs", shard: bool = False) -> str:
    """The warning of what an interrupt, or a shard, left."""
    if shard:
        return f"{SHARD}{ended} of {every} {what} are in the store"
    return f"{INTERRUPTED}only {ended} of {every} {what} had ended"
