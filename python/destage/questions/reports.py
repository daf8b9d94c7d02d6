"""The report of results: one HTML file that opens offline. Drawn by `destage.report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from destage.base.errors import UsageError
from destage.base.io.files import Destination
from destage.base.io.names import check_page

if TYPE_CHECKING:
    from destage.experiment.results import Results
    from destage.lab.trace_profile import TraceProfile
    from destage.lab.traces import Trace
    from destage.questions.curves.drawn import Curves

__all__ = ["need_report", "write_report"]


def need_report() -> None:
    """Raise `MissingExtra` if the extra `report` is not installed."""
    from destage.base.io.extras import need_extra

    need_extra("the report")


def write_report(
    path: Destination,
    results: Results | Sequence[Results] = (),
    *,
    traces: Sequence[Trace] = (),
    curves: Sequence[Curves] = (),
    profiles: Sequence[TraceProfile] = (),
    series: Sequence[Sequence[Mapping[str, int | float]]] = (),
    command: str | None = None,
) -> None:
    """Write the report of results.

    Parameters:
        path: the file, written whole or not at all; `-` is standard output.
        results: of `compare`, or of `load_results`: a page to filter.
        traces: traces of the results, to describe them in the report too.
        curves: curves of `mrc`.
        profiles: profiles of `Trace.profile`.
        series: the `series` of each single run (`run`), by the position of its result set.
        command: the command line that makes the report again.

    Raises `MissingExtra` if the extra `report` is not installed, and `OutputError`.
    """
    from destage.experiment.results import Results

    if isinstance(path, Results):
        raise UsageError(
            "write_report(path, results, ...): the arguments are in the wrong order: the path comes"
            " first"
        )
    need_report()
    check_page(path)

    if isinstance(results, Results) and results.stores:
        if traces or curves or profiles or series:
            raise UsageError("write_report: the page of a store has nothing but its runs")
        results.report(path, command=command)
        return
    from destage.show.pages import write_report as draw

    several = [results] if isinstance(results, Results) else list(results)
    draw(
        path,
        results=[s for one in several for s in one.result_sets],
        infos=[trace.info().data for trace in traces],
        curves=[c.result_set for c in curves],
        profiles=[p.data for p in profiles],
        series=series,
        command=command,
    )
