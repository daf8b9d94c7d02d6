"""Charts of results in a notebook, and figures for a paper, each with its data beside it.

    results.plot.hit_ratio()              # an Altair chart: shown, changed, saved as one likes
    results.plot.save("figures")          # hit_ratio.svg, .png and .csv, and so on

Figures are drawn without a browser, and the same results give the same bytes. Needs the extra
`report`.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ._files import write_whole
from ._tidy import METRICS, Metric, ResultView, Row, curve_view, view
from .errors import DataError, OutputError
from .report import need_extra

if TYPE_CHECKING:
    from altair import LayerChart

__all__ = ["Plots", "save_figures"]

#: Metrics that have a figure of their own, in the order of the files.
_FIGURES = ("hit_ratio", "physical_reads", "physical_writes", "running_time")

#: PNG pixels per CSS pixel: 300 dots per inch at the figure's natural width of some 7 inches.
_PNG_SCALE = 3.0

_FIXED_COLUMNS = ("label", "policy", "cache", "frames", "cache_bytes", "cache_share")


class Plots:
    """The charts of one result set.

    Takes the JSON form of a result set or of what `mrc` gives. A metric that no run has (the
    running time without costs) raises `DataError`.
    """

    def __init__(self, results: Mapping[str, Any]) -> None:
        """Take the results apart. Raises `DataError` if they are not of a known schema."""
        is_curve = isinstance(results, Mapping) and ("mrc" in results or "curves" in results)
        self._view: ResultView = curve_view(results) if is_curve else view(results)

    def __repr__(self) -> str:
        return f"<Plots of {self._view.name}: {', '.join(self.names())}>"

    def names(self) -> list[str]:
        """The charts that these results have, by the names of their methods."""
        names = [m.name for m in self._view.metrics() if m.name in _FIGURES]
        if len(self._view.series) > 1 and len(self._view.sizes) > 1:
            names += [m.name for m in self._view.metrics() if m.name == "writes_vs_lru"]
        return names

    def hit_ratio(self) -> LayerChart:
        """Hit ratio over cache size, one line a policy; bars if there is only one size."""
        return self._chart("hit_ratio")

    def mrc(self) -> LayerChart:
        """The same as `hit_ratio`: the name by which such curves are known."""
        return self._chart("hit_ratio")

    def physical_reads(self) -> LayerChart:
        """Pages read from flash, over cache size."""
        return self._chart("physical_reads")

    def physical_writes(self) -> LayerChart:
        """Pages written to flash, over cache size."""
        return self._chart("physical_writes")

    def running_time(self) -> LayerChart:
        """The cost model's running time, over cache size."""
        return self._chart("running_time")

    def writes_vs_lru(self) -> LayerChart:
        """Flash writes over those of lru at the same cache size, as bars."""
        return self._chart("writes_vs_lru")

    def save(self, folder: str | os.PathLike[str], *, prefix: str = "") -> list[Path]:
        """Write every chart as SVG and PNG with its data as CSV; return the files.

        The folder is made if it is not there. Raises `OutputError` if a file cannot be written.
        """
        need_extra("saving figures")
        import vl_convert

        from .report._page import VEGA_LITE

        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise OutputError(f"{target}: {e.strerror or e}") from e
        written = []
        for name in self.names():
            spec = self._chart(name).to_dict()
            stem = target / f"{prefix}{name}"
            for suffix, data in (
                (".svg", _numbered(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE))),
                (".png", vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=_PNG_SCALE)),
                (".csv", self._csv(_metric(name))),
            ):
                path = stem.with_name(stem.name + suffix)
                write_whole(path, data)
                written.append(path)
        return written

    def _chart(self, name: str) -> LayerChart:
        need_extra("drawing")
        from ._charts import Charts

        if name not in self.names():
            raise DataError(f"these results have no {name}; they have {', '.join(self.names())}")
        charts, metric = Charts(self._view), _metric(name)
        relative = name == "writes_vs_lru"
        chart = charts.relative_writes(metric) if relative else charts.over_size(metric)
        return cast("LayerChart", chart)

    def _csv(self, metric: Metric) -> str:
        out = io.StringIO()
        columns = [*_FIXED_COLUMNS, metric.name]
        rows: list[Row] = [r for r in self._view.rows if r[metric.name] is not None]
        writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()


def _numbered(svg: str) -> str:
    """The SVG with its clip paths counted from 1: the renderer counts on from figure to figure."""
    seen: dict[str, str] = {}
    return re.sub(r"\bclip\d+\b", lambda m: seen.setdefault(m[0], f"clip{len(seen) + 1}"), svg)


def save_figures(
    folder: str | os.PathLike[str],
    *,
    results: Sequence[Mapping[str, Any]],
    curves: Sequence[Mapping[str, Any]] = (),
) -> list[Path]:
    """Write the figures of several result sets and curves; return the files.

    With more than one result set each file's name begins with its number, from 1; the files of
    curves have `mrc-` before their name. See `Plots.save`.
    """
    written = []
    for k, result in enumerate(results):
        written += Plots(result).save(folder, prefix=f"{k + 1}-" if len(results) > 1 else "")
    for k, curve in enumerate(curves):
        prefix = f"{k + 1}-mrc-" if len(curves) > 1 else "mrc-"
        written += Plots(curve).save(folder, prefix=prefix)
    return written


def _metric(name: str) -> Metric:
    return next(m for m in METRICS if m.name == name)
