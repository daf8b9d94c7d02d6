"""Charts of results in a notebook, and figures for a paper, each with its data beside it.

    results.plot.hit_ratio()              # an Altair chart, to change and to save
    results.plot.response_cdf("read")     # with a device: how long reads took
    results.plot.over_size("gc_runs")     # any metric
    results.plot.save("figures")          # hit_ratio.svg, .png and .csv, and so on

Charts and figures are drawn without a browser or a network, and the same results give the same
bytes. Needs the extra `report`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from destage.base.errors import DataError, UsageError
from destage.base.io.extras import need_extra
from destage.model import drive as data
from destage.model.choice import check_renamed
from destage.model.host_interface import handle_wafs, slc_developments
from destage.model.metrics import METRICS, WRITES, Metric
from destage.model.results import ResultSet
from destage.model.rows import Row
from destage.show.charts.figures import Figures, drawn, offline, rows_text

if TYPE_CHECKING:
    from altair import LayerChart, VConcatChart

    from destage.show.charts.host_interface import HostInterfaceCharts

__all__ = [
    "Plots",
    "save_figures",
]

#: Metrics that have a figure of their own, in the order of the files; other charted ones follow.
_FIGURES = ("hit_ratio", "physical_reads", "physical_writes", WRITES, "cost")
#: The same of runs in front of a device.
_TIMED_FIGURES = (
    *("response_ns_mean", "read_response_ns_mean", "write_response_ns_mean", "response_ns_p99"),
    *("response_ns_p999", "hit_ratio", "eviction_wait_ns_mean", "victim_in_gc_ratio"),
    *("physical_writes", WRITES, "waf", "erases", "gc_moves"),
)
#: The same of policies that write pages back in groups, with a device or without.
_GROUPED_FIGURES = ("destages", "mean_destage_pages", "padding_writes")

#: Requests that a distribution is of.
Kind = Literal["all", "read", "write"]

_FIXED_COLUMNS = ("label", "policy", "cache", "frames", "cache_bytes", "cache_share")


def _at_one_size(name: str, about: str) -> Callable[..., LayerChart]:
    """The method that draws a chart that looks at one cache size (`frames=`, in pages)."""

    def draw(plots: Plots, *, frames: int | None = None) -> LayerChart:
        return plots._detail(name, frames)

    draw.__name__, draw.__doc__ = name, about
    return draw


class Plots(Figures):
    """The charts of one result set; a metric that no run has raises `DataError`."""

    def __init__(self, results: ResultSet) -> None:
        """Take what to draw."""
        self._results = results

    def __repr__(self) -> str:
        return f"<Plots of {self._results.name}: {', '.join(self.names())}>"

    def names(self) -> list[str]:
        """The charts that these results have, by the names of their methods."""
        return list(self._names)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        result = self._results
        wanted: tuple[str, ...] = _TIMED_FIGURES if result.timed else _FIGURES
        if data.destage_curves(result):
            wanted += _GROUPED_FIGURES
        known = {m.name for m in result.metrics()}
        listed = {*_FIGURES, *_TIMED_FIGURES, *_GROUPED_FIGURES, "writes_vs_lru"}
        others = (m.name for m in METRICS if m.charted and m.name not in listed)
        wanted += tuple(name for name in others if len({run[name] for run in result.runs}) > 1)
        names = [name for name in wanted if name in known]
        if len(result.labels) > 1 and len(result.sizes) > 1:
            names += ["writes_vs_lru"] if "writes_vs_lru" in known else []
            names += ["response_over_hits"] if result.timed and "hit_ratio" in known else []
        return (*names, *(name for name, detail in _DETAILS.items() if detail.rows(result)))

    hit_ratio = drawn(
        "hit_ratio", "Hit ratio over cache size, one line a policy; bars if there is only one size."
    )
    mrc = drawn(
        "hit_ratio", "Hit ratio over cache size, under the name by which such curves are known."
    )
    physical_reads = drawn("physical_reads", "Pages read from flash, over cache size.")
    physical_writes = drawn("physical_writes", "Pages written to flash, over cache size.")
    flash_writes = drawn(
        WRITES, "Pages written, and the change of the pending writes, over cache size."
    )
    cost = drawn("cost", "Cost of physical reads and flash writes, over cache size.")
    writes_vs_lru = drawn(
        "writes_vs_lru", "Flash writes over lru's at the same cache size, as bars."
    )
    response_ns_mean = drawn("response_ns_mean", "Mean response over cache size.")
    read_response_ns_mean = drawn(
        "read_response_ns_mean", "Mean response of reads over cache size."
    )
    write_response_ns_mean = drawn(
        "write_response_ns_mean", "Mean response of writes over cache size."
    )
    response_ns_p99 = drawn(
        "response_ns_p99", "Response within which 99 % were answered, over cache size."
    )
    response_ns_p999 = drawn(
        "response_ns_p999", "Response within which 99.9 % were answered, over cache size."
    )
    eviction_wait_ns_mean = drawn(
        "eviction_wait_ns_mean", "Mean wait for the destage of a dirty victim, over cache size."
    )
    victim_in_gc_ratio = drawn(
        "victim_in_gc_ratio", "Share of dirty victims whose unit was in GC, over cache size."
    )
    waf = drawn("waf", "Write amplification over cache size.")
    erases = drawn("erases", "Blocks erased, over cache size.")
    gc_moves = drawn("gc_moves", "Pages moved by GC, over cache size.")
    destages = drawn("destages", "Destages, whatever their size, over cache size.")
    mean_destage_pages = drawn("mean_destage_pages", "Mean pages of a destage over cache size.")
    padding_writes = drawn("padding_writes", "Pages written to complete blocks, over cache size.")

    def over_size(self, metric: str) -> LayerChart:
        """Any metric of `destage.metrics()` over cache size.

        Raises `UsageError` if there is no such metric, `DataError` if no run has it.
        """
        need_extra("drawing")
        found = next((m for m in METRICS if m.name == metric), None)
        check_renamed(metric)
        if found is None:
            raise UsageError(f"there is no metric {metric}; destage.metrics() has them all")
        if found not in self._results.metrics():
            raise DataError(f"these results have no {metric}")
        if found.name == "writes_vs_lru":
            return self.writes_vs_lru()
        return offline(cast("LayerChart", self._charts(None).over_size(found)))

    response_over_hits = drawn(
        "response_over_hits",
        "Mean response over hit ratio: whether hits are the cause of a policy's speed.",
    )

    def response_cdf(self, kind: Kind = "all", *, frames: int | None = None) -> LayerChart:
        """Cumulative distribution of response times; time is logarithmic.

        `kind` is `all`, `read` or `write`; `frames` is one of the cache sizes in pages, by default
        the size at which policies differ most. So in all charts below.
        """
        return self._detail("response_cdf", frames, kind=_kind(kind))

    def response_tail(self, kind: Kind = "all", *, frames: int | None = None) -> LayerChart:
        """The upper half of response times, by percentile, on an axis of nines."""
        return self._detail("response_tail", frames, kind=_kind(kind))

    response_over_time = _at_one_size(
        "response_over_time", "Mean response of each period of the run."
    )
    longest_over_time = _at_one_size(
        "longest_over_time", "Longest response of each period of the run."
    )
    collections_over_time = _at_one_size(
        "collections_over_time", "Share of the units' time in GC, over the run."
    )
    unbalance_cdf = _at_one_size(
        "unbalance_cdf",
        "Share of the dirty evictions with at most such an unbalance of the queues.",
    )
    destage_cdf = _at_one_size(
        "destage_cdf",
        "Cumulative distribution of pages per destage, of policies that write in groups.",
    )
    wear = _at_one_size(
        "wear", "Erases of a block: mean, one deviation to each side, least and most worn."
    )
    throughput_over_time = _at_one_size(
        "throughput_over_time",
        "Host data programmed in each period: less where an SLC cache is full.",
    )
    slc_over_time = _at_one_size("slc_over_time", "How far the SLC cache is filled, over the run.")
    handle_wafs = _at_one_size("handle_wafs", "WAF of each placement handle, as bars.")

    def units(self, label: str | None = None, *, frames: int | None = None) -> VConcatChart:
        """Load of each unit of the device over time, as heat maps.

        Of the policy with this label, or of lru and the fastest.
        """
        if label is not None and label not in self._results.labels:
            raise UsageError(
                f"there is no policy {label} in these results; there are "
                f"{', '.join(self._results.labels)}"
            )
        return cast("VConcatChart", self._detail("units", frames, label=label))

    def _spec(self, name: str) -> dict[str, Any]:
        return self._chart(name).to_dict()

    def _must_have(self, name: str) -> None:
        need_extra("drawing")
        if name not in self._names:
            raise DataError(f"these results have no {name}; they have {', '.join(self._names)}")

    def _charts(self, frames: int | None) -> HostInterfaceCharts:
        from destage.show.charts.host_interface import HostInterfaceCharts

        if frames is not None and frames not in self._results.sizes:
            sizes = ", ".join(map(str, self._results.sizes))
            raise UsageError(f"no run has a cache of {frames} pages; the sizes are {sizes}")
        return HostInterfaceCharts(self._results, frames=frames)

    def _chart(self, name: str) -> LayerChart:
        self._must_have(name)
        if name in _DETAILS:
            return self._detail(name, None)
        charts = self._charts(None)
        if name == "response_over_hits":
            return cast("LayerChart", charts.response_over_hits())
        metric = _metric(name)
        relative = name == "writes_vs_lru"
        chart = charts.relative_writes(metric) if relative else charts.over_size(metric)
        return cast("LayerChart", chart)

    def _detail(self, name: str, frames: int | None, **how: str | None) -> LayerChart:
        """A chart that looks at one cache size."""
        self._must_have(name)
        return offline(cast("LayerChart", _DETAILS[name].draw(self._charts(frames), **how)))

    def _csv(self, name: str) -> str:
        """The data of a chart: all cache sizes, also where it shows one of them."""
        if name in _DETAILS:
            return rows_text(_DETAILS[name].rows(self._results))
        names = ["hit_ratio", "response_ns_mean"] if name == "response_over_hits" else [name]
        runs = [r for r in self._results.by_size if all(r[n] is not None for n in names)]
        return rows_text(
            [
                {key: getattr(r, key) for key in _FIXED_COLUMNS} | {n: r[n] for n in names}
                for r in runs
            ]
        )


@dataclass(frozen=True)
class _Detail:
    """A chart that looks at one cache size, and the rows that it is made of."""

    draw: Callable[..., Any]
    rows: Callable[[ResultSet], list[Row]]


def _over_time(what: str) -> _Detail:
    def rows(result: ResultSet) -> list[Row]:
        found = data.flat(data.developments(result))
        idle = what == "collecting" and not any(r[what] for r in found)
        return [] if idle else [r for r in found if r[what] is not None]

    return _Detail(lambda charts: charts.over_time(what), rows)


#: By name. Their rows exist where the engine kept what they need.
_DETAILS: dict[str, _Detail] = {
    "response_cdf": _Detail(
        lambda charts, kind="all": charts.response_cdf(kind),
        lambda result: data.flat(data.response_curves(result)),
    ),
    "response_tail": _Detail(
        lambda charts, kind="all": charts.response_tail(kind),
        lambda result: [r for r in data.flat(data.response_curves(result)) if r["share"] >= 0.5],
    ),
    "response_over_time": _over_time("mean_us"),
    "longest_over_time": _over_time("max_us"),
    "collections_over_time": _over_time("collecting"),
    "unbalance_cdf": _Detail(
        lambda charts: charts.unbalance_cdf(),
        lambda result: data.flat(data.unbalance_curves(result)),
    ),
    "destage_cdf": _Detail(
        lambda charts: charts.destage_cdf(),
        lambda result: data.flat(data.destage_curves(result)),
    ),
    "wear": _Detail(lambda charts: charts.wear(), lambda result: data.wear(result)),
    "throughput_over_time": _Detail(
        lambda charts: charts.slc_over_time("mb_s"),
        lambda result: [r for r in data.flat(slc_developments(result)) if r["mb_s"] is not None],
    ),
    "slc_over_time": _Detail(
        lambda charts: charts.slc_over_time("filled"),
        lambda result: data.flat(slc_developments(result)),
    ),
    "handle_wafs": _Detail(lambda charts: charts.handle_wafs(), handle_wafs),
    "units": _Detail(
        lambda charts, label=None: charts.utilisation(label),
        lambda result: data.flat(data.utilisations(result, None)),
    ),
}


def _kind(kind: str) -> str:
    if kind not in data.KINDS:
        raise UsageError(f"kind: expected {', '.join(data.KINDS)}, got {kind!r}")
    return kind


def save_figures(
    folder: str | os.PathLike[str],
    *,
    results: Sequence[ResultSet],
    curves: Sequence[ResultSet] = (),
    **style: Any,
) -> list[Path]:
    """Write the figures of several result sets and curves, on the same axes; return the files.

    With more than one result set each file's name begins with its number, from 1; the files of
    curves have `mrc-` before their name. `style` and errors as in `Plots.save`.
    """
    from destage.show.charts.comparison import same_axes

    written = []
    with same_axes(results):
        for k, result in enumerate(results):
            prefix = f"{k + 1}-" if len(results) > 1 else ""
            written += Plots(result).save(folder, prefix=prefix, **style)
    for k, curve in enumerate(curves):
        prefix = f"{k + 1}-mrc-" if len(curves) > 1 else "mrc-"
        written += Plots(curve).save(folder, prefix=prefix, **style)
    return written


def _metric(name: str) -> Metric:
    return next(m for m in METRICS if m.name == name)
