"""The charts of a store: curves, heat maps, spreads and a front, on the page and as figures.

A chart is one specification, whatever it shows: `filled` gives it rows and axes (`across`, `up`)
for a figure, and the page's script does so for the page, each time that a filter changes.
Runs that failed, are missing or have no such number are a cross, or a cell with a sign.

Figures are drawn without a browser, with shared scales in all their panels, and the same runs give
the same bytes. Needs the extra `report`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from destage.charts.comparison import (
    SIZE,
    Series,
    configure,
    finish,
    size_ticks,
    value_domain,
)
from destage.charts.engine import engine
from destage.charts.pdf import settled
from destage.charts.plots import PNG_SCALE, numbered, rows_text
from destage.charts.theme import LIGHT, VEGA_LITE, Theme
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

__all__ = ["StoredCharts", "save_stored"]

Row = Mapping[str, Any]
#: Panels beside each other, and the width of one.
ABREAST, WIDTH, HEIGHT = 3, 230, 170
#: The least of a heat map.
_PALE = "#eef1fb"
#: Titles that begin so are the signal behind it.
_SIGNAL = "signal:"
_FAILED, _MISSING, _UNDEFINED = "\u00d7", "?", "\u2013"
_WHY = {"failed": _FAILED, "missing": _MISSING, "undefined": _UNDEFINED}


class StoredCharts(Series):
    """The charts of runs of these policies; `panels` stand side by side in a figure."""

    #: The charts of a page, by the names of their methods.
    NAMES = ("curves", "heat", "spread", "front", "tail")

    def __init__(
        self, labels: Sequence[str], theme: Theme = LIGHT, *, page: bool, panels: Sequence[str] = ()
    ) -> None:
        """Take the policies, which keep their look whatever is shown of them."""
        super().__init__(labels, theme, page=page)
        self.panels = panels
        self._data = alt.NamedData("rows")

    def spec(self, name: str) -> dict[str, Any]:
        """A chart as Vega, without rows and axes."""
        chart = getattr(self, name)()
        spec: dict[str, Any] = engine().vegalite_to_vega(chart.to_dict(), vl_version=VEGA_LITE)
        spec.pop("$schema", None)
        for mark in spec["marks"]:
            if self.page and mark["type"] != "group":
                # Marks are moved and not made again when the rows change.
                mark["key"] = "told"
        return _signals(spec)  # type: ignore[no-any-return]

    def curves(self) -> Any:
        """A line a policy over cache size: means, and from the least to the largest run."""
        x = _axis(alt.X, "across", "at", grid=False, log=True, values=_expr("across.ticks"))
        base = self._rows().transform_filter("isValid(datum.at)").encode(x=x, detail="label:N")
        there = base.transform_filter("isValid(datum.mean)").encode(
            y=_axis(alt.Y, "up", "mean"), color=self._color()
        )
        reach = there.mark_rule(strokeOpacity=0.45).encode(y=_axis(alt.Y, "up", "low"), y2="high:Q")
        lines = there.mark_line(strokeWidth=1.8).encode(strokeDash=self._dash())
        points = self._points(there, size=36)
        lost = base.transform_filter("datum.lacks > 0 && !isValid(datum.mean)")
        crosses = lost.mark_text(text=_FAILED, dy=-7, fontSize=13, fill=self.theme.warn)
        layers = [reach, lines, *points, crosses.encode(y=alt.value("height"))]
        if self.page:
            # Where the policy stands that others are divided by.
            one = alt.Chart(alt.NamedData("ones")).encode(y=_axis(alt.Y, "up", "one"))
            layers.insert(0, one.mark_rule(strokeDash=[4, 3], stroke=self.theme.faint))
        return self._finish(layers, 280)

    def heat(self) -> Any:
        """A row a policy, a column a cache size: means."""
        x = alt.X("cache:N", sort=_by("column"), axis=alt.Axis(title="Cache size", labelAngle=0))
        y = self._policies()
        base = self._rows().encode(x=x, y=y)
        there = base.transform_filter("isValid(datum.mean)")
        fill = self.theme.series[0]
        if self.page:
            # Theme colours are style sheet variables, which no scale can mix.
            worse = self.theme.series[1]
            cells = there.mark_rect(stroke=self.theme.page).encode(
                fill=alt.when("datum.worse").then(alt.value(worse)).otherwise(alt.value(fill)),
                fillOpacity=alt.FillOpacity(
                    "depth:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 1]), legend=None
                ),
            )
        else:
            scale = alt.Scale(range=[_PALE, fill], domain=_domain("up"), nice=False)
            cells = there.mark_rect(stroke="white").encode(
                color=alt.Color(
                    "mean:Q",
                    scale=scale,
                    legend=alt.Legend(
                        title=f"{_SIGNAL}up.unit",
                        labelExpr=_TICK.replace("NAME", "up"),
                        gradientLength=HEIGHT,
                    ),
                )
            )
        ink = alt.when("datum.deep").then(alt.value("white")).otherwise(alt.value(self.theme.ink))
        texts = there.mark_text(fontSize=11 if self.page else 9).encode(text="said:N", fill=ink)
        lost = base.transform_filter("!isValid(datum.mean)")
        empty = lost.mark_rect(fill=self.theme.panel, stroke=self.theme.warn, strokeDash=[3, 3])
        signs = lost.mark_text(fontSize=12, fill=self.theme.warn).encode(text="why:N")
        corner = there.transform_filter("datum.lacks > 0").mark_text(
            text="\u25e5", align="right", baseline="top", fontSize=10, fill=self.theme.warn
        )
        corner = corner.encode(
            x=alt.X("cache:N", sort=_by("column"), bandPosition=1),
            y=alt.Y("label:N", sort=_by("place"), bandPosition=0),
        )
        return self._finish([cells, texts, empty, signs, corner], alt.Step(26))

    def spread(self) -> Any:
        """A row a policy: a stroke a run, a box from quartile to quartile, the median."""
        x = _axis(alt.X, "across", "value", ticks=4)
        base = self._rows().encode(y=self._policies())
        color = alt.Color("label:N", scale=self._scale("color"), legend=None)
        there = base.transform_filter("isValid(datum.value)")
        there = there.encode(color=color)
        strokes = there.transform_filter("datum.drawn").mark_tick(
            thickness=1.6, size=13, strokeOpacity=0.6
        )
        middle = there.transform_aggregate(
            groupby=["label", "place"],
            **{name: f"{name}(value)" for name in ("q1", "median", "q3", "count")},
        ).transform_calculate(told="datum.label")
        box = middle.transform_filter("datum.count > 3").mark_bar(
            fillOpacity=0.15, height={"band": 0.62}
        )
        box = box.encode(x=_axis(alt.X, "across", "q1", ticks=4), x2="q3:Q")
        median = middle.mark_tick(thickness=2.5, size=16).encode(
            x=_axis(alt.X, "across", "median", ticks=4), color=alt.value(self.theme.ink)
        )
        lost = base.transform_filter("datum.lacks > 0").mark_text(
            text=_FAILED, fill=self.theme.warn, fontSize=13, dx=9, align="left"
        )
        lost = lost.encode(x=alt.value("width"))
        return self._finish([box, strokes.encode(x=x), median, lost], alt.Step(26))

    def front(self) -> Any:
        """A point a setting; the dashed front joins those that none beats in both numbers."""
        base = self._rows().encode(x=_axis(alt.X, "across", "x"), y=_axis(alt.Y, "up", "y"))
        points = base.encode(color=self._color())
        front = base.transform_filter("datum.front")
        line = front.mark_line(
            interpolate="step-after", strokeDash=[5, 3], strokeWidth=1.4, color=self.theme.ink
        )
        rings = front.mark_point(size=170, strokeWidth=1.2).encode(color=alt.value(self.theme.ink))
        return self._finish([line, *self._points(points, size=48), rings], 400)

    def tail(self) -> Any:
        """Percentiles of one run's response times on an axis of nines: all, reads, writes."""
        kinds, series = ["all", "reads", "writes"], [self.theme.ink, *self.theme.series[:2]]
        share = "format(100 - 100 * pow(10, -datum.value), '.6~r') + ' %'"
        axis = alt.Axis(
            title="Cumulative distribution of response times",
            labelExpr=share,
            values=[0.30103, 1, 2, 3, 4],
            grid=False,
        )
        chart = self._rows().encode(
            x=alt.X("nines:Q", axis=axis, scale=alt.Scale(domain=[0, 4])),
            y=_axis(alt.Y, "up", "ns", log=True),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=series),
                legend=alt.Legend(title=None, symbolType="stroke"),
            ),
        )
        points = chart.mark_point(filled=True, size=40)
        return self._finish([chart.mark_line(strokeWidth=2), points], 170)

    def _rows(self) -> Any:
        return alt.Chart(self._data)

    def _policies(self) -> alt.Y:
        axis = alt.Axis(title=None, labelLimit=170, ticks=False, domain=False, grid=False)
        return alt.Y("label:N", sort=_by("place"), axis=axis)

    def _points(self, base: Any, size: int) -> list[Any]:
        """Markers: hollow where runs are lacking."""
        whole = base.transform_filter("datum.whole").mark_point(filled=True, opacity=1, size=size)
        part = base.transform_filter("!datum.whole").mark_point(
            fill=self.theme.page, strokeWidth=1.5, size=size
        )
        return [mark.encode(shape=self._shape()) for mark in (whole, part)]

    def _legend(self) -> alt.Legend | None:
        if self.page:
            return None
        return alt.Legend(title=None, labelLimit=240, symbolSize=80, symbolOpacity=1)

    def _finish(self, layers: Sequence[Any], height: Any) -> Any:
        params = {"across": {}, "up": {}, "note": ""}
        chart = alt.layer(*layers)
        if self.page:
            chart = finish(chart, self.theme, "stored", "", height, page=True)
        else:
            alone = len(self.panels) < 2
            size = (420, 280) if alone else (WIDTH, HEIGHT)
            chart = chart.properties(width=size[0], height=size[1])
            if not alone:
                facet = alt.Facet("panel:N", sort=list(self.panels), title=None)
                columns = 2 if len(self.panels) in (2, 4) else ABREAST
                chart = chart.facet(facet=facet, columns=columns)
            titled = chart.properties(title=f"{_SIGNAL}note")
            chart = configure(titled, self.theme, page=False)
        return chart.add_params(*(alt.param(name=n, value=v) for n, v in params.items()))


#: Labels of an axis by its signal `NAME`: sizes in binary units, numbers divided by `length`.
_TICK = (
    f"NAME.kind === 'size' ? ({SIZE}) : format(datum.value / NAME.length,"
    " NAME.kind === 'count' && datum.value >= 10000 ? '~s' : NAME.form || ',.4~g')"
)


def _expr(text: str) -> alt.ExprRef:
    return alt.ExprRef(expr=text)


def _by(field: str) -> alt.EncodingSortField:
    return alt.EncodingSortField(field=field, op="min")


def _domain(name: str) -> list[Any]:
    return [_expr(f"{name}.domain[0]"), _expr(f"{name}.domain[1]")]


def _axis(
    channel: Any, name: str, field: str, *, log: bool = False, ticks: int = 5, **axis: Any
) -> Any:
    """An axis that the signal `name` describes: `domain`, `title`, `kind`, `length`, `ticks`."""
    kind: dict[str, Any] = {"type": "log"} if log else {}
    if log and channel is alt.X:
        kind["base"] = 2
    return channel(
        f"{field}:Q",
        scale=alt.Scale(domain=_domain(name), nice=False, zero=False, **kind),
        axis=alt.Axis(
            title=f"{_SIGNAL}{name}.title",
            labelExpr=_TICK.replace("NAME", name),
            labelOverlap="parity",
            tickCount=ticks,
            **axis,
        ),
    )


def _signals(spec: Any) -> Any:
    """The specification with its marked titles as signals, which Vega-Lite does not know."""
    if isinstance(spec, dict):
        return {key: _signals(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_signals(value) for value in spec]
    if isinstance(spec, str) and spec.startswith(_SIGNAL):
        return {"signal": spec.removeprefix(_SIGNAL)}
    return spec


def filled(spec: Mapping[str, Any], rows: Sequence[Row], **signals: Any) -> dict[str, Any]:
    """A chart with its rows and the values of its signals."""
    data = [d | {"values": rows} if d["name"] == "rows" else d for d in spec["data"]]
    told = [
        s | {"value": signals[s["name"]]} if s["name"] in signals else s for s in spec["signals"]
    ]
    return {**spec, "data": data, "signals": told}


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
            svg = numbered(engine().vega_to_svg(chart))
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
        frames = {str(run["cache"]): run.get("frames") for run in runs}
        self.caches = sorted(frames, key=lambda given: cache_order(given, frames[given]))
        self.panels = list(dict.fromkeys(self._panel(run) for run in runs))
        self._specs: dict[str, dict[str, Any]] = {}

    def metrics(self, show: str | Sequence[str] | None) -> list[Metric]:
        known = known_metrics(self.runs)
        if show is not None:
            asked, _ = chosen(show, None, None)
            return [m for m in asked or () if m.name in {k.name for k in known}]
        timed = any(run.get("device") for run in self.runs)
        return [m for m in known if m.is_core(timed)]

    def every(
        self, metrics: Sequence[Metric]
    ) -> Iterator[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
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

    def _drawn(self, name: str, rows: Sequence[Row], note: str, **axes: Any) -> dict[str, Any]:
        if name not in self._specs:
            panels = () if name == "front" else self.panels
            self._specs[name] = StoredCharts(self.labels, page=False, panels=panels).spec(name)
        placed = [{**row, "place": self.labels.index(str(row["label"]))} for row in rows]
        return filled(self._specs[name], placed, note=note, **axes)

    def _curves(self, metric: Metric, data: list[dict[str, Any]]) -> dict[str, Any]:
        sizes = [row["cache_bytes"] for row in data if row["cache_bytes"]]
        air = (max(sizes) / min(sizes)) ** 0.03 if sizes else 1.0
        across = {
            "domain": [min(sizes) / air, max(sizes) * air] if sizes else [1, 2],
            "ticks": size_ticks(sizes) if sizes else [],
            "title": "Cache size (log scale)",
            "kind": "size",
        }
        rows = [r | {"at": r["cache_bytes"]} | _lacking(r) for r in data]
        values = [v for row in data for v in (row["low"], row["high"]) if v is not None]
        note = _title(metric)
        if any(row["lacks"] for row in rows):
            note += f"; {_FAILED} some runs failed, are missing or have no such number"
        return self._drawn("curves", rows, note, across=across, up=_axis_of(metric, values))

    def _heat(self, metric: Metric, data: list[dict[str, Any]]) -> dict[str, Any]:
        means = [row["mean"] for row in data if row["mean"] is not None]
        low, high = min(means), max(means)
        up = _axis_of(metric, means) | {"domain": [low, high]}
        rows = []
        for row in data:
            more = {"column": self.caches.index(row["cache"])} | _lacking(row)
            if row["mean"] is not None:
                more["said"] = _short(row["mean"] / up["length"])
                more["deep"] = row["mean"] > low + 0.75 * (high - low)
            rows.append(row | more)
        note = _title(metric)
        if any(row["lacks"] for row in rows):
            note += f"; {_FAILED} failed, {_MISSING} missing, {_UNDEFINED} no such number"
        return self._drawn("heat", rows, note, up=up)

    def _spread(self, metric: Metric, data: list[dict[str, Any]]) -> dict[str, Any]:
        known = [row["value"] for row in data if row["value"] is not None]
        rows = [r | {"drawn": True, "lacks": int(r["value"] is None)} for r in data]
        note = f"{_title(metric)}, at {data[0]['cache']}"
        if any(row["lacks"] for row in rows):
            note += f"; {_FAILED} a run failed, is missing or has no such number"
        return self._drawn("spread", rows, note, across=_axis_of(metric, known))

    def _front(self, mx: Metric, my: Metric, data: list[dict[str, Any]]) -> dict[str, Any]:
        axes = {
            name: _axis_of(metric, [row[key] for row in data])
            for name, key, metric in (("across", "x", mx), ("up", "y", my))
        }
        note = "A point is a policy at a size; none beats those on the dashed front in both"
        return self._drawn("front", data, note, **axes)


def _short(value: float) -> str:
    """A number of three digits, written out: no exponent, no prefix on top of its unit."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 6)}f}"


def _lacking(row: Row) -> dict[str, Any]:
    """Runs without the number, and the sign for it."""
    lacks = sum(row[name] for name in _WHY)
    why = next((sign for name, sign in _WHY.items() if row[name]), "")
    return {"lacks": lacks, "whole": not lacks, "why": why}


def _title(metric: Metric) -> str:
    better = "" if metric.better == "neither" else f" ({metric.better} is better)"
    return f"{metric.title}{better}"


def _axis_of(metric: Metric, values: Sequence[float]) -> dict[str, Any]:
    """The signal of an axis of a metric."""
    length, unit = 1.0, metric.unit
    if metric.kind == "ratio":
        length, unit = 0.01, "%"
    elif metric.kind == "time":
        found = time_unit([max(values, default=0.0)])
        length, unit = found.ns, found.name
    title = f"{metric.title} ({unit})" if unit else metric.title
    domain = value_domain(values, metric.kind)
    return {"domain": domain, "title": title, "kind": metric.kind, "length": length, "unit": unit}
