"""Figures of a store for a paper: curves, heat maps, spreads, a front; each with its data.

Every figure is drawn without a browser, with shared scales in all its panels, and the same runs
give the same bytes. What failed, is missing or has no number is a cross, or a hatched cell.

Needs the extra `report`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from destage.charts.comparison import configure, value_domain
from destage.charts.engine import engine
from destage.charts.pdf import settled
from destage.charts.plots import PNG_SCALE, numbered, rows_text
from destage.charts.theme import LIGHT, VEGA_LITE, styles
from destage.errors import UsageError
from destage.io.files import made_folder, write_whole
from destage.model.choice import chosen
from destage.model.metrics import Metric
from destage.model.settings import (
    OUTER,
    cache_order,
    differing,
    known_metrics,
    label_order,
    on_the_front,
    same_cover,
    setting_name,
    summed,
    usual_pair,
)
from destage.model.words import time_unit

__all__ = ["save_stored"]

Row = Mapping[str, Any]
#: Panels beside each other, and the width of one.
ABREAST, WIDTH, HEIGHT = 3, 230, 170
#: The least of a heat map.
_PALE = "#eef1fb"


def save_stored(
    folder: str | os.PathLike[str],
    rows: Sequence[Row],
    missing: Sequence[Row] = (),
    *,
    show: str | Sequence[str] | None = None,
) -> list[Path]:
    """Write every figure of these runs; return the files."""
    figures = _Figures([*rows, *missing])
    metrics = figures.metrics(show)
    if not metrics:
        raise UsageError("there are no figures to draw: no run has a number")
    target = made_folder(folder)
    written: list[Path] = []
    # The tests hold the charts against Altair's schema: here that would take most of the time.
    with debug_mode(False):
        for name, chart, data in figures.every(metrics):
            svg = numbered(engine().vegalite_to_svg(chart.to_dict(), vl_version=VEGA_LITE))
            for suffix, content in (
                (".svg", svg),
                (".pdf", settled(engine().svg_to_pdf(svg))),
                (".png", engine().svg_to_png(svg, scale=PNG_SCALE)),
                (".csv", rows_text(data)),
            ):
                path = target / f"{name}{suffix}"
                write_whole(path, content)
                written.append(path)
    return written


class _Figures:
    """The figures of some runs."""

    def __init__(self, runs: Sequence[Row]) -> None:
        self.runs = runs
        self.outer = differing(runs, OUTER)
        self.labels = sorted({str(run["label"]) for run in runs}, key=label_order)
        self.look = styles(self.labels, LIGHT)
        frames = {str(run["cache"]): run.get("frames") for run in runs}
        self.caches = sorted(frames, key=lambda given: cache_order(given, frames[given]))
        self.panels = list(dict.fromkeys(self._panel(run) for run in runs))

    def metrics(self, show: str | Sequence[str] | None) -> list[Metric]:
        known = known_metrics(self.runs)
        if show is not None:
            asked, _ = chosen(show, None, None)
            return [m for m in asked or () if m.name in {k.name for k in known}]
        timed = any(run.get("device") for run in self.runs)
        return [m for m in known if m.is_core(timed)]

    def every(self, metrics: Sequence[Metric]) -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
        """Name, chart and data of each."""
        for metric in metrics:
            data = self._means(metric)
            drawn = [row for row in data if row["mean"] is not None]
            if drawn and len(self.caches) > 1:
                yield f"curves-{metric.name}", self._curves(metric, data), data
                yield f"heat-{metric.name}", self._heat(metric, data), data
            if drawn:
                single = self._single(metric)
                yield f"spread-{metric.name}", self._spread(metric, single), single
        x, y = (self._named(name) for name in usual_pair(known_metrics(self.runs)))
        if x is not None and y is not None and x.name != y.name:
            settings = self._settings(x, y)
            if settings:
                yield "front", self._front(x, y, settings), settings

    def _named(self, name: str) -> Metric | None:
        return next((m for m in known_metrics(self.runs) if m.name == name), None)

    def _panel(self, run: Row) -> str:
        return setting_name(run, self.outer) or "all runs"

    # Data

    def _groups(self, *names: str) -> dict[tuple[Any, ...], list[Row]]:
        found: dict[tuple[Any, ...], list[Row]] = {}
        for run in self.runs:
            key = (self._panel(run), *(run[name] for name in names))
            found.setdefault(key, []).append(run)
        return found

    def _means(self, metric: Metric) -> list[dict[str, Any]]:
        """A row for each policy and size of each panel."""
        found = []
        for (panel, label, cache), group in self._groups("label", "cache").items():
            come = summed(group, metric.name)
            sizes = [run["cache_bytes"] for run in group if run.get("cache_bytes")]
            found.append(
                {
                    "panel": panel,
                    "label": label,
                    "cache": cache,
                    "cache_bytes": sum(sizes) / len(sizes) if sizes else None,
                    "mean": come.mean,
                    "low": min(come.values, default=None),
                    "high": max(come.values, default=None),
                    "runs": len(come.values),
                    "failed": come.failed,
                    "missing": come.missing,
                    "undefined": come.undefined,
                }
            )
        places = (self.panels.index, self.labels.index, self.caches.index)
        names = ("panel", "label", "cache")
        found.sort(key=lambda r: [f(r[n]) for f, n in zip(places, names, strict=True)])
        return found

    def _single(self, metric: Metric) -> list[dict[str, Any]]:
        """A row for each run, at the middle size: others would hide what seeds and traces do."""
        middle = self.caches[len(self.caches) // 2]
        return [
            {
                "panel": self._panel(run),
                "label": run["label"],
                "cache": run["cache"],
                "seed": run.get("seed"),
                "status": run["status"],
                "value": run.get(metric.name),
            }
            for run in self.runs
            if run["cache"] == middle
        ]

    def _settings(self, x: Metric, y: Metric) -> list[dict[str, Any]]:
        """A row for each policy at a size, means over traces and seeds; whole ones alone."""
        names = ["label", "cache", *(n for n in self.outer if n != "trace")]
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for run in self.runs:
            groups.setdefault(tuple(run[name] for name in names), []).append(run)
        found = []
        for key, group in groups.items():
            both = [run for run in group if run.get(x.name) is not None]
            both = [run for run in both if run.get(y.name) is not None]
            if both:
                means = {c: summed(both, m.name).mean for c, m in (("x", x), ("y", y))}
                row = dict(zip(names, key, strict=True)) | means | {"runs": len(both)}
                found.append((row, frozenset((run["trace"], run.get("seed")) for run in both)))
        covered = same_cover([cover for _, cover in found])
        rows = [row | {"whole": cover == covered} for row, cover in found]
        able = [(str(r["label"]), r["x"], r["y"]) for r in rows if r["whole"]]
        front = set(on_the_front(able, x, y))
        return [r | {"front": (r["label"], r["x"], r["y"]) in front} for r in rows]

    # Charts

    def _facet(self, layered: Any, title: str) -> Any:
        if len(self.panels) < 2:
            sized = layered.properties(width=420, height=280)
            return configure(sized.properties(title=title), LIGHT, page=False)
        facet = alt.Facet("panel:N", sort=self.panels, title=None)
        sized = layered.properties(width=WIDTH, height=HEIGHT)
        chart = sized.facet(facet=facet, columns=2 if len(self.panels) in (2, 4) else ABREAST)
        return configure(chart.properties(title=title), LIGHT, page=False)

    def _look(self, channel: str) -> alt.Scale:
        values = [getattr(self.look[label], channel) for label in self.labels]
        return alt.Scale(domain=self.labels, range=values)

    def _color(self) -> Any:
        return alt.Color("label:N", scale=self._look("color"), legend=_legend())

    def _curves(self, metric: Metric, data: list[dict[str, Any]]) -> Any:
        values = [v for row in data for v in (row["low"], row["high"]) if v is not None]
        domain = value_domain(values, metric.kind)
        scale = alt.Scale(domain=domain, nice=False, zero=False)
        base = alt.Chart(_inline(data)).transform_filter("isValid(datum.cache_bytes)")
        x = alt.X(
            "cache_bytes:Q",
            scale=alt.Scale(type="log", base=2, nice=False),
            axis=alt.Axis(
                labelExpr=_BYTES, title="Cache size (log scale)", grid=False, tickCount=5
            ),
        )
        axis = alt.Axis(tickCount=5, **_axis(metric, domain))
        color = self._color()
        dash = alt.StrokeDash("label:N", scale=self._look("dash"), legend=None)
        shape = alt.Shape("label:N", scale=self._look("marker"), legend=_legend())
        there = base.transform_filter("isValid(datum.mean)").encode(
            x=x, y=alt.Y("mean:Q", scale=scale, axis=axis), color=color, detail="label:N"
        )
        reach = there.mark_rule(opacity=0.45).encode(y=alt.Y("low:Q", axis=axis), y2="high:Q")
        lines = there.mark_line(strokeWidth=1.6).encode(strokeDash=dash)
        points = there.mark_point(filled=True, size=32, opacity=1).encode(shape=shape)
        lost = base.transform_filter("datum.failed + datum.missing + datum.undefined > 0")
        lost = lost.transform_calculate(foot=repr(domain[0])).mark_text(
            text="\u00d7", dy=-7, fontSize=10, color=LIGHT.warn
        )
        lost = lost.encode(x=x, y=alt.Y("foot:Q", axis=axis))
        note = f"{_title(metric)}; \u00d7 some runs failed, are missing or have no such number"
        return self._facet(alt.layer(reach, lines, points, lost), note)

    def _heat(self, metric: Metric, data: list[dict[str, Any]]) -> Any:
        means = [row["mean"] for row in data if row["mean"] is not None]
        low, high = min(means), max(means)
        length, unit = _factor(metric, means)
        form = "',.1f'" if metric.kind == "ratio" else "',.3~s'"
        shown = f"format({{}} / {length!r}, {form})"
        x = alt.X("cache:N", sort=self.caches, axis=alt.Axis(title="Cache size", labelAngle=0))
        y = alt.Y("label:N", sort=self.labels, axis=alt.Axis(title=None, labelLimit=170))
        scale = alt.Scale(range=[_PALE, LIGHT.series[0]], domain=[low, high], nice=False)
        legend = alt.Legend(
            title=unit or None, labelExpr=shown.format("datum.value"), gradientLength=HEIGHT
        )
        base = alt.Chart(_inline(data)).encode(x=x, y=y)
        there = base.transform_filter("isValid(datum.mean)")
        cells = there.mark_rect(stroke="white").encode(
            color=alt.Color("mean:Q", scale=scale, legend=legend)
        )
        deep = f"datum.mean > {low + 0.75 * (high - low)!r}"
        ink = alt.when(deep).then(alt.value("white")).otherwise(alt.value(LIGHT.ink))
        texts = there.transform_calculate(said=shown.format("datum.mean")).mark_text(fontSize=9)
        texts = texts.encode(text="said:N", color=ink)
        why = "datum.failed ? '\u00d7' : datum.missing ? '?' : '\u2013'"
        lost = base.transform_filter("!isValid(datum.mean)").transform_calculate(why=why)
        lost = lost.mark_text(fontSize=11, color=LIGHT.warn).encode(text="why:N")
        note = f"{_title(metric)}; \u00d7 failed, ? missing, \u2013 no such number"
        return self._facet(alt.layer(cells, texts, lost), note)

    def _spread(self, metric: Metric, data: list[dict[str, Any]]) -> Any:
        known = [row["value"] for row in data if row["value"] is not None]
        domain = value_domain(known, metric.kind)
        scale = alt.Scale(domain=domain, nice=False, zero=False)
        axis = alt.Axis(tickCount=4, **_axis(metric, domain))
        y = alt.Y("label:N", sort=self.labels, axis=alt.Axis(title=None, labelLimit=170))
        color = alt.Color("label:N", scale=self._look("color"), legend=None)
        base = alt.Chart(_inline(data)).encode(y=y)
        there = base.transform_filter("isValid(datum.value)").encode(color=color)
        x = alt.X("value:Q", scale=scale, axis=axis)
        strokes = there.mark_tick(thickness=1.2, size=13, opacity=0.6).encode(x=x)
        middle = there.mark_point(shape="diamond", filled=True, size=60, opacity=1)
        middle = middle.encode(x=alt.X("median(value):Q", axis=axis), y=y)
        lost = base.transform_filter("!isValid(datum.value)").transform_calculate(
            foot=repr(domain[0])
        )
        lost = lost.mark_text(text="\u00d7", color=LIGHT.warn, fontSize=10, dx=8)
        lost = lost.encode(x=alt.X("foot:Q", axis=axis))
        note = f"{_title(metric)}, at {data[0]['cache']}; a stroke is a run, the diamond the median"
        note += "; \u00d7 a run failed, is missing or has no such number"
        return self._facet(alt.layer(strokes, middle, lost), note)

    def _front(self, mx: Metric, my: Metric, data: list[dict[str, Any]]) -> Any:
        axes = []
        for key, metric in (("x", mx), ("y", my)):
            domain = value_domain([row[key] for row in data], metric.kind)
            scale = alt.Scale(domain=domain, nice=False, zero=False)
            axes.append((scale, alt.Axis(tickCount=6, **_axis(metric, domain))))
        base = alt.Chart(_inline(data)).encode(
            x=alt.X("x:Q", scale=axes[0][0], axis=axes[0][1]),
            y=alt.Y("y:Q", scale=axes[1][0], axis=axes[1][1]),
        )
        color = self._color()
        shape = alt.Shape("label:N", scale=self._look("marker"), legend=_legend())
        strength = alt.when("datum.front").then(alt.value(1)).otherwise(alt.value(0.55))
        points = base.mark_point(filled=True, size=48)
        points = points.encode(color=color, shape=shape, opacity=strength)
        front = base.transform_filter("datum.front")
        rings = front.mark_point(size=170, strokeWidth=1.2).encode(color=alt.value(LIGHT.ink))
        line = front.mark_line(
            interpolate="step-after", strokeDash=[5, 3], strokeWidth=1.2, color=LIGHT.ink
        )
        chart = alt.layer(line, points, rings).properties(width=460, height=320)
        title = "A point is a policy at a size; nobody beats those on the dashed front in both"
        return configure(chart.properties(title=title), LIGHT, page=False)


def _title(metric: Metric) -> str:
    better = "" if metric.better == "neither" else f" ({metric.better} is better)"
    return f"{metric.title}{better}"


def _legend() -> alt.Legend:
    return alt.Legend(title=None, labelLimit=240, symbolSize=80, symbolOpacity=1)


def _inline(rows: Sequence[Row]) -> alt.InlineData:
    return alt.InlineData(values=list(rows))


_BYTES = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~g') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' KiB' : "
    "format(datum.value, '~g') + ' B'"
)


def _factor(metric: Metric, domain: Sequence[float]) -> tuple[float, str]:
    """What numbers of a metric are divided by, and their unit then."""
    if metric.kind == "ratio":
        return 0.01, "%"
    if metric.kind == "time":
        unit = time_unit([max(domain, default=0.0)])
        return unit.ns, unit.name
    return 1.0, metric.unit


def _axis(metric: Metric, domain: Sequence[float]) -> dict[str, Any]:
    length, unit = _factor(metric, domain)
    form = "datum.value < 10000 ? ',.4~g' : '~s'" if metric.kind == "count" else "',.4~g'"
    title = f"{metric.title} ({unit})" if unit else metric.title
    return {"title": title, "labelExpr": f"format(datum.value / {length!r}, {form})"}
