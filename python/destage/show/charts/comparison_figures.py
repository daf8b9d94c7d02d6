"""The figures of a grid of runs: its charts with their rows, as SVG, PDF, PNG and CSV.

Figures are drawn without a browser, with shared scales in all their panels, and the same runs give
the same bytes. Needs the extra `report`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from altair.utils.schemapi import debug_mode

from destage.base.errors import UsageError
from destage.base.io.files import made_folder
from destage.model.axes import Axis, along, axis_named, is_number
from destage.model.choice import chosen
from destage.model.metrics import Metric
from destage.model.settings import (
    OUTER,
    at_every_size,
    cache_order,
    differing,
    known_metrics,
    label_order,
    natural_order,
    on_the_front,
    same_cover,
    setting_name,
    summed,
    usual_pair,
)
from destage.model.words import NONE, time_unit
from destage.show.charts.comparison_grid import FAILED, GridCharts, filled
from destage.show.charts.engine import engine
from destage.show.charts.figure_style import UNSTYLED, FigureStyle
from destage.show.charts.figures import PNG_SCALE, in_points, numbered, rows_text, write_files
from destage.show.charts.pdf import settled
from destage.show.charts.series import size_ticks
from destage.show.charts.value_axes import value_domain

__all__ = ["save_grid"]

#: Panels of a picture: more are in several.
MOST_PANELS = 12

_MISSING, _UNDEFINED = "?", "\u2013"
_WHY = {"failed": FAILED, "missing": _MISSING, "undefined": _UNDEFINED}

Row = Mapping[str, Any]


def save_grid(
    folder: str | os.PathLike[str],
    rows: Sequence[Row],
    missing: Sequence[Row] = (),
    *,
    show: str | Sequence[str] | None = None,
    style: FigureStyle = UNSTYLED,
    across: str | None = None,
    log_y: bool = False,
) -> list[Path]:
    """Write every figure of these runs; return the files.

    With `across`, the key of an axis, there is one figure a metric, over that axis.
    """
    figures = _Figures([*rows, *missing], style, across, log_y=log_y)
    metrics = figures.metrics(show)
    if not metrics:
        raise UsageError("there are no figures to draw: no run has a number")
    target = made_folder(folder)
    written: list[Path] = []
    # The tests hold the charts against Altair's schema: here that would take most of the time.
    with debug_mode(False):
        for name, chart, data in figures.every(metrics):
            svg = numbered(_fitted(chart, style.width_pt))
            written += write_files(
                target / name,
                svg if style.width_pt is None else in_points(svg),
                settled(engine().svg_to_pdf(svg)),
                engine().svg_to_png(svg, scale=PNG_SCALE),
                rows_text(data),
            )
    return written


def _fitted(chart: dict[str, Any], width_pt: float | None) -> str:
    """The chart as SVG; with a width its panels take what axes and legends leave of it."""
    chart = {**chart, "signals": [dict(signal) for signal in chart["signals"]]}
    svg: str = engine().vega_to_svg(chart)
    signal = next((s for s in chart["signals"] if s["name"] == "child_width"), None)
    if width_pt is None or signal is None:
        return svg
    columns = chart["layout"]["columns"]
    for _ in range(3):
        match = re.search(r'<svg[^>]*? width="([0-9.]+)"', svg)
        assert match
        signal["value"] = max(20.0, signal["value"] + (width_pt - float(match[1])) / columns)
        svg = engine().vega_to_svg(chart)
    return svg


class _Figures:
    """The figures of some runs."""

    def __init__(
        self, runs: Sequence[Row], style: FigureStyle, across: str | None, *, log_y: bool
    ) -> None:
        self.style, self.log_y = style, log_y
        level = at_every_size(runs)
        # Without a cache, a run is drawn at the sizes of the others.
        runs = [run for k, run in enumerate(runs) if k not in {number for number, _ in level}]
        runs += [run for _, run in level]
        self.only_curves = across is not None
        self.labels = sorted({str(run["label"]) for run in runs}, key=label_order)
        frames = {str(run["cache"]): run.get("frames") for run in runs}
        self.caches = sorted(frames, key=lambda given: cache_order(given, frames[given]))
        self.axis: Axis | None = None
        #: The column of the axis, its values from left to right.
        self.key, self.values = "cache", self.caches
        outer: tuple[str, ...] = OUTER
        if across is not None and across != "cache":
            self.axis = axis_named(runs, across)
            runs = along(runs, self.axis)
            outer = (*(name for name in OUTER if name != self.axis.name), "cache")
            self.key = "across"
            self.values = sorted({str(run["across"]) for run in runs}, key=natural_order)
        self.runs = runs
        self.outer = differing(runs, outer)
        self.panels = sorted({self._panel(run) for run in runs}, key=natural_order)
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
            if drawn and (len(self.values) > 1 or self.only_curves):
                for end, some in self._pictures(data):
                    yield f"curves-{metric.name}{end}", self._curves(metric, data, some), some
                if self.only_curves:
                    continue
                for end, some in self._pictures(data):
                    yield f"heat-{metric.name}{end}", self._heat(metric, data, some), some
            if drawn:
                single = self._single(metric)
                yield f"spread-{metric.name}", self._spread(metric, single), single
        if self.only_curves:
            return
        x, y = (self._named(name) for name in usual_pair(known_metrics(self.runs)))
        if x is not None and y is not None and x.name != y.name:
            settings = self._settings(x, y)
            if settings:
                yield "front", self._front(x, y, settings), settings

    def _pictures(self, rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """The rows of each picture, and the end of its name: so many panels can be looked at."""
        for k in range(0, len(self.panels), MOST_PANELS):
            some = set(self.panels[k : k + MOST_PANELS])
            end = f"-{k // MOST_PANELS + 1}" if len(self.panels) > MOST_PANELS else ""
            yield end, [row for row in rows if row["panel"] in some]

    def _named(self, name: str) -> Metric | None:
        return next((m for m in known_metrics(self.runs) if m.name == name), None)

    def _panel(self, run: Row) -> str:
        return setting_name(run, self.outer) or "all runs"

    @property
    def called(self) -> str:
        """The name of the axis in the data of a figure."""
        return self.key if self.axis is None else self.axis.name.rpartition(".")[2]

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
        for (panel, label, value), group in self._groups("label", self.key).items():
            come = summed(group, metric.name)
            sizes = [run["cache_bytes"] for run in group if run.get("cache_bytes")]
            size = sum(sizes) / len(sizes) if sizes else None
            of_axis = {"cache_bytes": size} if self.axis is None else {}
            row = {"panel": panel, "label": label, self.called: value, **of_axis, "mean": come.mean}
            row |= {"low": min(come.values, default=None), "high": max(come.values, default=None)}
            row |= {"runs": len(come.values), "failed": come.failed, "missing": come.missing}
            found.append(row | {"undefined": come.undefined})
        places = (self.panels.index, self.labels.index, self.values.index)
        names = ("panel", "label", self.called)
        found.sort(key=lambda r: [f(r[n]) for f, n in zip(places, names, strict=True)])
        return found

    def _single(self, metric: Metric) -> list[dict[str, Any]]:
        """A row for each run, at the middle size: others would hide what seeds and traces do."""
        middle = self.caches[len(self.caches) // 2]
        return [
            {"panel": self._panel(run), "label": run["label"], "cache": run["cache"]}
            | {"seed": run.get("seed"), "status": run["status"], "value": run.get(metric.name)}
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

    def _drawn(
        self, name: str, rows: Sequence[Row], note: str, *, logs: str = "", **axes: Any
    ) -> dict[str, Any]:
        there = {row.get("panel") for row in rows}
        panels = () if name == "front" else tuple(p for p in self.panels if p in there)
        key = f"{name} {logs} {panels}"
        if key not in self._specs:
            self._specs[key] = GridCharts(
                self.labels, page=False, panels=panels, style=self.style, logs=logs
            ).spec(name)
        placed = [{**row, "place": self.labels.index(str(row["label"]))} for row in rows]
        lines = note if self.style.width_pt is None else note.split("; ")
        return filled(self._specs[key], placed, note=lines, **axes)

    def _curves(
        self, metric: Metric, data: list[dict[str, Any]], some: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """Of all `data`, whose axes it has, some rows."""
        across, log = self._across(data)
        rows = [r | {"at": self._at(r)} | _lacking(r) for r in some]
        values = [v for row in data for v in (row["low"], row["high"]) if v is not None]
        up, note = _axis_of(metric, values), _title(metric)
        has_log = self.log_y and min(values) > 0
        if has_log:
            up |= {"domain": [min(values) / 1.3, max(values) * 1.3]}
            up["title"] += " (log scale)"
        if any(row["lacks"] for row in rows):
            note += f"; {FAILED} some runs failed, are missing or have no such number"
        logs = "x" * log + "y" * has_log
        return self._drawn("curves", rows, note, logs=logs, across=across, up=up)

    def _at(self, row: Row) -> float | None:
        """The place of a row on the axis."""
        if self.axis is None:
            return row["cache_bytes"]  # type: ignore[no-any-return]
        text = str(row[self.called])
        if self._is_numeric:
            return float(text) if text else None
        return self.values.index(text)

    @property
    def _is_numeric(self) -> bool:
        return all(value == "" or is_number(value) for value in self.values)

    def _across(self, data: list[dict[str, Any]]) -> tuple[dict[str, Any], bool]:
        """The axis from left to right, and whether it is logarithmic: wide ranges are."""
        ats = [at for at in map(self._at, data) if at is not None]
        if self.axis is None:
            sizes = [int(at) for at in ats if at]
            air = (max(sizes) / min(sizes)) ** 0.03 if sizes else 1.0
            return {
                "domain": [min(sizes) / air, max(sizes) * air] if sizes else [1, 2],
                "ticks": size_ticks(sizes) if sizes else [],
                "title": "Cache size (log scale)",
                "kind": "size",
            }, True
        first, last = min(ats, default=0.0), max(ats, default=1.0)
        log = self._is_numeric and 0 < 20 * first < last
        air = (last / first) ** 0.03 if log else 0.03 * (last - first) or 0.5
        air = air if self._is_numeric else 0.4
        names = {str(k): value or NONE for k, value in enumerate(self.values)}
        return {
            "domain": [first / air, last * air] if log else [first - air, last + air],
            "ticks": sorted(set(ats)),
            "title": self.axis.title + (" (log scale)" if log else ""),
            "kind": "real" if self._is_numeric else "name",
            "length": 1,
            "form": ",.6~g",
            "names": names,
        }, log

    def _heat(
        self, metric: Metric, every: list[dict[str, Any]], data: list[dict[str, Any]]
    ) -> dict[str, Any]:
        means = [row["mean"] for row in every if row["mean"] is not None]
        low, high = min(means), max(means)
        up = _axis_of(metric, means) | {"domain": [low, high], "form": ",.3r"}
        rows = []
        for row in data:
            more = {"column": self.caches.index(row["cache"])} | _lacking(row)
            if row["mean"] is not None:
                more["deep"] = row["mean"] > low + 0.75 * (high - low)
            rows.append(row | more)
        note = _title(metric)
        if any(row["lacks"] for row in rows):
            note += f"; {FAILED} failed, {_MISSING} missing, {_UNDEFINED} no such number"
        return self._drawn("heat", rows, note, across={"title": "Cache size"}, up=up)

    def _spread(self, metric: Metric, data: list[dict[str, Any]]) -> dict[str, Any]:
        known = [row["value"] for row in data if row["value"] is not None]
        rows = [r | {"drawn": True, "lacks": int(r["value"] is None)} for r in data]
        note = f"{_title(metric)}, at {data[0]['cache']}"
        if any(row["lacks"] for row in rows):
            note += f"; {FAILED} a run failed, is missing or has no such number"
        return self._drawn("spread", rows, note, across=_axis_of(metric, known))

    def _front(self, mx: Metric, my: Metric, data: list[dict[str, Any]]) -> dict[str, Any]:
        axes: dict[str, Any] = {
            name: _axis_of(metric, [row[key] for row in data])
            for name, key, metric in (("across", "x", mx), ("up", "y", my))
        }
        note = (
            "A point is a policy at a size; no point beats one on the dashed front in both numbers"
        )
        return self._drawn("front", data, note, **axes)


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
