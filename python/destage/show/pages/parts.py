"""A run in tenths: its metrics once the cache is full, and its pending writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from destage.model.drive import telling_size
from destage.model.metrics import ALL_HITS, METRICS
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.words import NONE, TimeUnit, ratio, size, time_unit
from destage.show.pages.blocks import Part, grid, section

__all__ = ["hits_of", "parts_of_run"]

PARTS = 10


def parts_of_run(result: ResultSet) -> Part | None:
    """A row a policy at the most telling size: mean response, or hit ratio, in tenths of the run.

    With several tiers it is the hit ratio of all. None where no run was long enough to be cut.
    """
    frames = telling_size(result) or max(result.sizes, default=None)
    runs = [] if frames is None else [run for run in result.at(frames) if run.windows]
    if not runs:
        return None
    timed = all("response_ns_sum" in (run.windows or {}) for run in runs)
    name = "response_ns_mean" if timed else result.hits_metric
    metric = next(m for m in METRICS if m.name == name)
    values = {
        run.label: _tenths(run, "response_ns_sum", "requests")
        if timed
        else _tenths(run, hits_of(result, run), "accesses")
        for run in runs
    }
    unit = time_unit(v for some in values.values() for v in some) if timed else None
    what = f"{metric.title} ({unit.name if unit else '%'})"
    at = f", at {size(runs[0].cache_bytes)}" if result.has_cache else ""
    heads = ["Policy", *(f"{k}0\u00a0%" for k in range(1, PARTS + 1)), "Cache"]
    note = "Ten parts of the measured requests, of equal length. A policy that postpones"
    note += " writes is fast at first and slower later; compare its flash writes."
    rows = [_row(run, values[run.label], unit) for run in runs]
    table = grid(heads, rows, notes=[note], css=" wins")
    return section(f"{what} in parts of the run{at}", table, label="Parts of the run")


def hits_of(result: ResultSet, run: Run) -> str:
    """The hits of a run's windows that judge it: those of all tiers, where it has several."""
    counts_all = result.hits_metric == ALL_HITS and "overall_hits" in (run.windows or {})
    return "overall_hits" if counts_all else "hits"


def _tenths(run: Run, upper: str, lower: str) -> list[float | None]:
    """The mean of each tenth, from the windows."""
    windows: Mapping[str, Sequence[float]] = run.windows or {}
    each = len(windows[lower]) // PARTS
    found: list[float | None] = []
    for k in range(PARTS):
        span = slice(k * each, (k + 1) * each)
        below = sum(windows[lower][span])
        found.append(sum(windows[upper][span]) / below if below else None)
    return found


def _row(run: Run, values: Sequence[float | None], unit: TimeUnit | None) -> list[str]:
    texts = [ratio(v) if unit is None else unit.text(v) for v in values]
    cache = NONE if run.has_no_cache else "still filling" if run.fills_late else "full"
    return [run.label, *texts, cache]
