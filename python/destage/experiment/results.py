"""Results of runs: typed, tidy, and ready to be written or drawn.

`Results` is a sequence of `Run`, one per policy and cache size, made by a call or kept in stores.
As a table it has one row per run; the columns' names carry their units, and the same names are used
in JSON, CSV, Parquet and here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from destage import _destage
from destage.base.errors import DataError, UsageError
from destage.base.io.extras import need_extra
from destage.base.io.files import Destination, read_text, write_whole
from destage.base.io.names import check_page, path_of, printable
from destage.base.io.path_conflicts import reading
from destage.experiment.answer import Answer, asked_in_sql
from destage.experiment.pooling import pooled_rows
from destage.experiment.rows import FAILED, order_of
from destage.experiment.source import Held, Hole, Source
from destage.experiment.store import Store
from destage.experiment.stored import Stored, among, where
from destage.model.axes import device_columns
from destage.model.marks import Marks, check_baseline, compared, marks_of
from destage.model.metrics import Metric, metrics
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.trace_identity import TraceIdentity
from destage.show.tables.against import against_table
from destage.show.tables.frames import Tabled
from destage.show.tables.stability import stability
from destage.show.tables.table import Table

if TYPE_CHECKING:
    from destage.show.charts.plots import Plots

__all__ = [
    "Metric",
    "Results",
    "Run",
    "TraceIdentity",
    "load_results",
    "metrics",
]


class Results(Tabled):
    """Runs over one trace or several, in the order of traces, policies, sizes, as asked for.

    A sequence of runs, but not a `Sequence`, so that `polars.DataFrame(results)` makes one row a
    run.

    As JSON one trace gives an object, several give an array of such objects.

    Those of stores (`load_results`) also know which runs failed or are missing. Their table has a
    row for failed ones too, and more columns (`id`, `status`, `reason`, `seed`, `options`), which
    are items of a run as its metrics are; as JSON they are that table. Whole runs are read on
    access.
    """

    def __init__(
        self,
        sets: Sequence[Mapping[str, Any]] = (),
        pe_cycles: int | None = None,
        source: Source | None = None,
    ) -> None:
        """Take result sets as the JSON schema has them; `compare` and `from_json` make them."""
        self._source = Held(sets, pe_cycles) if source is None else source

    @property
    def sets(self) -> tuple[Mapping[str, Any], ...]:
        """The result sets as the JSON schema has them.

        Raises `DataError` for stores that have changed since.
        """
        return self._source.sets

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The table, row by row: runs, and in stores those that failed."""
        return self._source.rows

    @property
    def stores(self) -> tuple[Store, ...]:
        """The stores of the runs; empty for results of a call."""
        return self._source.stores

    @property
    def damaged(self) -> int:
        """Parts of stores that cannot be read; their runs are missing."""
        return self._source.damaged

    @property
    def failed(self) -> tuple[Mapping[str, Any], ...]:
        """Rows of failed runs; `reason` has the cause."""
        return tuple(row for row in self.rows if row.get("status") == FAILED)

    @property
    def missing(self) -> tuple[Mapping[str, Any], ...]:
        """Planned runs that the stores lack, as rows without numbers."""
        return self._source.missing

    @property
    def holes(self) -> tuple[Hole, ...]:
        """The missing runs of stores, task by task."""
        return self._source.holes

    def where(self, condition: str) -> Results:
        """Return the runs that meet a condition: `"policy == 'lru' and cache >= '10%'"`.

        Raises `UsageError` for an invalid one, and `MissingExtra` without the extra `sql`.
        """
        return Results(source=self._source.kept(where(condition)))

    def only(self, **given: str | None) -> Results:
        """Return the runs with these values; a comma separates several: `policy="lru,arc"`."""
        return Results(source=self._source.kept(among(given)))

    def pooled(self) -> Results:
        """Return all traces as one: counters added up, ratios of the sums; no percentiles."""
        return Results(source=Stored(sorted(pooled_rows(self.rows), key=order_of)))

    def results(self) -> Results:
        """Return the runs alone, read from their stores."""
        return Results(self._source.alone(), self._source.pe_cycles)

    def sql(self, query: str, *, unrestricted: bool = False) -> Answer:
        """Return DuckDB's answer to a query over the table `runs`, without files or network.

        Changed device keys are columns too, such as `op_permille`.
        `unrestricted` gives it files, network and extensions too. Raises `MissingExtra` without the
        extra `sql`, and `UsageError` for a query that fails or reaches further.
        """
        columns = {**device_columns(self.rows), **self.columns()}
        return asked_in_sql(columns, query, unrestricted=unrestricted)

    def enduring(self, pe_cycles: int) -> Results:
        """Return the results with the life of the device, from the P/E cycle rating of its blocks.

        Tables and the report then show it, and `Run.life` has it. Raises `UsageError`.
        """
        whole = isinstance(pe_cycles, int) and not isinstance(pe_cycles, bool)
        if not whole or pe_cycles < 1:
            raise UsageError(f"pe_cycles: expected a whole number from 1, got {pe_cycles!r}")
        return Results(self.sets, pe_cycles)

    @property
    def result_sets(self) -> tuple[ResultSet, ...]:
        """The runs of each trace, side by side: what tables, charts and the report take."""
        return self._source.result_sets

    @property
    def baseline(self) -> str | None:
        """Label of the run that others are marked against; None: the first of each cache size."""
        return self._source.baseline

    def against(self, baseline: str | None) -> Results:
        """Return the results with marks against another baseline; None: the first of each size.

        Raises `UsageError` for a label that no run has.
        """
        sets = [{k: v for k, v in one.items() if k != "baseline"} for one in self.sets]
        if baseline is not None:
            check_baseline(baseline, [run.label for run in self.runs])
            sets = [{**one, "baseline": baseline} for one in sets]
        return Results(sets, self._source.pe_cycles)

    @cached_property
    def marks(self) -> tuple[Marks, ...]:
        """The marks of every run, in their order: the metrics in which it is the best of its size,
        and those in which it differs from the baseline."""
        found: dict[int, Marks] = {}
        for group in compared(self.runs).values():
            marks = marks_of(list(group.values()), self.baseline)
            for (k, run), some in zip(group.items(), marks, strict=True):
                # One without a cache has those beside the size whose measured part it has.
                if k not in found or run.frames == self.runs[k].frames:
                    found[k] = some
        return tuple(found[k] for k in range(len(self.runs)))

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs."""
        return self._source.runs

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        """Return a run, or several."""
        return self.runs[index]

    def __len__(self) -> int:
        """Return the number of runs."""
        return self._source.count

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
        return self._source.is_incomplete

    def as_table(
        self,
        *,
        show: str | Sequence[str] | None = None,
        sort: str | None = None,
        view: str | None = None,
        against: str | None = None,
        beside: Sequence[Run] = (),
    ) -> Table:
        """Return the table that the command line prints, to be laid out otherwise.

        Parameters:
            show: columns, by the names of metrics or short ones: `"p99.9,waf"`.
            sort: metric that sorts the rows of a cache size, best first: `"p99.9"`.
            view: `"latency"`, `"endurance"` or `"hits"`: columns about that, instead of `show`.
            against: a policy, or a device: of the others, the differences from it, with 95 %
                intervals. On devices a policy is compared with itself.
            beside: further runs, of other sizes or depths, for the line that says where the order
                by mean response holds.

        Raises `UsageError` for an unknown name.
        """
        if against is not None:
            table = against_table(self.runs, against, show=show, sort=sort, view=view)
        else:
            table = self._source.table(show, sort, view)
        if self._source.has_runs:
            table.notes += stability([*self.runs, *beside])
        return table

    @property
    def plot(self) -> Plots:
        """Charts of the results: `results.plot.hit_ratio()`, `results.plot.save("figures")`.

        Raises `UsageError` for results over several traces; drawing raises `MissingExtra` without
        the extra `report`.
        """
        from destage.show.charts.plots import Plots

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
        against: str | None = None,
    ) -> str:
        """Return the table that the command line prints, without colours; as `as_table`."""
        return self.as_table(show=show, sort=sort, view=view, against=against).text()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the tidy table: one dictionary per run, all with the same keys."""
        return self._source.dicts(lambda: self.marks)

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table by column."""
        return self._source.columns(lambda: self.marks)

    def _everything(self) -> Any:
        return self._source.everything(lambda: self.marks)

    def _provenance(self) -> Mapping[str, str]:
        return self._source.provenance()

    def report(
        self,
        path: Destination | None = None,
        *,
        title: str | None = None,
        across: str | None = None,
        log_y: bool = False,
        command: str | None = None,
    ) -> str:
        """Return the runs as one page that opens offline.

        Those of stores, and all with one of `title`, `across` and `log_y`, as filters, charts over
        any axis, and every run; else a part for each trace, with charts over cache size.

        Parameters:
            path: where the page goes too, whole or not at all; `-` is standard output.
            title: by default the names of the stores.
            across: the axis of the charts: `"queue_depth"`, `"op_permille"`, a key of a device.
            log_y: whether its numbers are on a logarithmic scale at first.
            command: the command line that makes the page again.

        Raises `UsageError` for an unknown axis, `MissingExtra` without the extra
        `report`, and `OutputError`.
        """
        need_extra("the report")
        if path is not None:
            check_page(path)
        has_filters = self._source.is_filtered_page or title is not None
        if not (has_filters or across is not None or log_y):
            from destage.show.pages import render_report

            html = render_report(results=self.result_sets, command=command)
        else:
            from destage.show.pages.stored import stored_page

            shown = " + ".join(store.folder.resolve().name for store in self.stores)
            how: dict[str, Any] = {"across": across, "log_y": log_y, "command": command}
            html = stored_page(
                self._source.drawn_rows(),
                self.missing,
                title=title or shown or "results",
                damaged=self.damaged,
                **how,
            )
        if path is not None:
            write_whole(path, html)
        return html

    def save_figures(
        self,
        folder: Destination,
        *,
        show: str | Sequence[str] | None = None,
        across: str | None = None,
        log_y: bool = False,
        width: str | None = None,
        height: str | None = None,
        font_size: float | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[Path]:
        """Write figures for a paper, each as SVG, PDF and PNG beside its data as CSV.

        Parameters:
            folder: made if it is not there.
            show: metrics, by name; by default those that tables show.
            across: an axis: a figure a metric, over `"queue_depth"`, `"op_permille"` or another
                key of a device, `"cache"`; bars reach from the least to the largest run.
            log_y: whether metrics are on a logarithmic scale, if all their values are above 0.
            width: of each figure, legend included: `"3.3in"`, `"84mm"`.
            height: of its panels: `"2in"`.
            font_size: of all text, in points.
            labels: names in the figures, by label: `{"lru": "LRU"}`.

        Raises as `report`, and `UsageError` for an unknown name.
        """
        need_extra("saving figures")
        style: dict[str, Any] = {"width": width, "font_size": font_size, "labels": labels}
        style["height"] = height
        over_any_axis = self._source.is_filtered_page or show is not None or across is not None
        if not (over_any_axis or log_y):
            from destage.show.charts.plots import save_figures

            return save_figures(folder, results=self.result_sets, **style)
        from destage.show.charts.comparison_figures import save_grid
        from destage.show.charts.figure_style import FigureStyle

        how: dict[str, Any] = {"show": show, "style": FigureStyle.of(**style), "across": across}
        if log_y and across is None:
            how["across"] = "cache"
        return save_grid(folder, self._source.drawn_rows(), self.missing, **how, log_y=log_y)

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
            raise DataError(f"{name} is not JSON: not UTF-8") from e
        except RecursionError as e:
            raise DataError(f"{name}: it is not a result: it is nested too deeply") from e
        except ValueError as e:
            expected = ": expected a JSON file of results, or a store"
            said = (
                f" is not JSON ({e}){expected}"
                if text.strip()
                else ": the file is empty: expected results"
            )
            raise DataError(f"{name}{said}") from e
        if not again:
            raise DataError(f"{name}: expected results, found an empty array")
        sets = [json.loads(_destage.read_result(one, name)) for one in again]
        return cls([{k: v for k, v in one.items() if k != "marks"} for one in sets])

    @classmethod
    def load(cls, path: Destination) -> Results:
        """Read a file that `to_json` wrote.

        Raises `MissingFile` or `DataError`.
        """
        reading("the result", path_of(path, "result"))
        return cls.from_json(read_text(path, "a result"), os.fspath(path))


def load_results(stores: Destination | Sequence[Destination], where: str | None = None) -> Results:
    """Read a store of results, or several as one; `where` is a condition as in `SPEC`.

    Raises `MissingFile`, `DataError` for a path that is not a store, and `UsageError`.
    """
    found = Results(source=Stored.open(stores))
    return found if where is None else found.where(where)
