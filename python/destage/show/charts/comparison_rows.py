"""The rows of charts of a result set: numbers that they draw, with their intervals."""

from __future__ import annotations

from destage.model.metrics import BASELINE, METRICS, Metric
from destage.model.results import ResultSet
from destage.model.rows import Row
from destage.model.run import Run
from destage.model.values import cell
from destage.model.words import plain, size, uncertain

__all__ = ["beside_baseline", "chart_rows", "is_sampled"]


def chart_rows(result: ResultSet) -> list[Row]:
    """The rows as the charts take them: numbers that they draw, and the size as text."""
    drawn = [m for m in METRICS if m.charted or m.name == result.hits_metric]
    # Of runs without a device half of the metrics would be a column of nothing.
    names = [m.name for m in drawn if any(run[m.name] is not None for run in result.runs)]
    sampled = [m for m in drawn if m.name in names and is_sampled(result, m)]
    rows = []
    for run in result.by_size:
        row: Row = {
            "label": run.label,
            "frames": run.frames,
            "cache_bytes": run.cache_bytes,
            "cache_share": run.cache_share,
        }
        row |= {name: run[name] for name in names}
        for metric in sampled:
            row |= _how_sure(metric, run)
        for name in names:
            if (found := beside_baseline(result, run, name)) is not None:
                row |= {f"{name}_low": found[0], f"{name}_high": found[1]}
        rows.append(row | {"size": size(run.cache_bytes)})
    return rows


def beside_baseline(result: ResultSet, run: Run, metric: str) -> tuple[float, float] | None:
    """Interval of a number's difference from the baseline, else lru, at the same size.

    With 95 % confidence; None where it is not known.
    """
    label = result.baseline or BASELINE
    if run.sampled or run.label == label:
        return None
    base = next((one for one in result.at(run.frames) if one.label == label), None)
    if base is None or base[metric] is None or run[metric] is None:
        return None
    found = run.minus(base, metric)
    return None if found is None else (max(0.0, base[metric] + found[0]), base[metric] + found[1])


def is_sampled(result: ResultSet, metric: Metric) -> bool:
    """Whether a run has this metric from a sample."""
    return any(run.sampled and run[metric.name] is not None for run in result.runs)


def _how_sure(metric: Metric, run: Run) -> Row:
    """Interval of a sampled number, and its tooltip; of an exact number the tooltip alone."""
    name, value = metric.name, run[metric.name]
    if value is None:
        return {}
    unit = " %" if metric.kind == "ratio" else ""
    if (bounds := run.bounds.get(name)) is None:
        if not run.sampled:
            return {f"{name}_text": plain(cell(metric, value)) + unit}
        # Of a ratio to another policy's number no interval is known either.
        shown = f"{100 * value:.0f}" if unit else plain(cell(metric, value))
        return {f"{name}_text": f"{shown} ± ?{unit}"}
    scale, most = (100, 2) if unit else (1, 0)
    low, high = bounds
    said = uncertain(scale * value, scale * low, scale * high, most)
    return {f"{name}_low": low, f"{name}_high": high, f"{name}_text": said + unit}
