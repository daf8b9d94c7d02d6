"""What a reader of a store chooses from: filters, controls and sections, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from destage.model.axes import Axis, along, axes_of, axis_named
from destage.model.metrics import NO_CACHE, Metric
from destage.model.settings import DIMENSIONS, OUTER, differing, usual_pair
from destage.show.pages.blocks import Part, bar, control, grid, legend, section, select, text
from destage.show.pages.columns import Column
from destage.show.pages.comparison import looks

__all__ = ["Choices", "opens_on"]

Row = Mapping[str, Any]

#: Values that differ by less are of a number that does not vary.
LEAST = 0.05
#: Opens a page of runs with a device.
MEAN = "response_ns_mean"
#: Panels of a row that are drawn unasked.
MOST_PANELS = 12


def opens_on(
    runs: Sequence[Row], caches: Sequence[str], metrics: Sequence[Metric], across: str | None
) -> dict[str, Any]:
    """All that the page shows at first; its address says what else a reader chose."""
    axes, axis = axes_of(runs), None
    timed = [bool(run.get("device")) for run in runs]
    # Response times before hits, which decide less in front of a device.
    core = [m for m in metrics if m.is_core(any(timed))]
    core.sort(key=lambda m: all(timed) and m.name != MEAN)
    sized = [given for given in caches if given != NO_CACHE]
    x = "cache_share" if all(given.endswith("%") for given in sized) else "cache_bytes"
    if across not in (None, "cache"):
        axis = axis_named(runs, str(across))
    elif axes and len(sized) < 2:
        axis = axes[0]
    varied = _varied(runs, None if across == "cache" else axis, core)
    outer = differing(runs, OUTER)
    settings = {tuple(run.get(name) for name in outer) for run in runs}
    pair = usual_pair(metrics)
    metric = (varied or [*core, *metrics, None][0]) if metrics else None
    return {
        "metric": metric.name if metric else "cache_bytes",
        "against": "",
        "x": axis.name if axis else x,
        "x2": pair[0],
        "y2": pair[1],
        # Several sizes in one distribution would hide what traces and seeds do.
        "at": (sized or caches)[len(sized or caches) // 2],
        "panels": "each" if len(outer) > 1 and len(settings) <= MOST_PANELS else [*outer, ""][0],
        "log": False,
        "own": False,
        "log2": False,
    }


def _varied(runs: Sequence[Row], axis: Axis | None, metrics: Sequence[Metric]) -> Metric | None:
    """The first of these metrics that varies along an axis, by default cache size."""
    placed = list(runs) if axis is None else along(runs, axis)
    over = "cache" if axis is None else axis.name
    rest = [name for name in DIMENSIONS if name != over]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for run in placed:
        groups.setdefault(tuple(run.get(name) for name in rest), []).append(run)
    for metric in metrics:
        for some in groups.values():
            values = [v for run in some if (v := run.get(metric.name)) is not None]
            if values and max(values) - min(values) > LEAST * max(map(abs, values)):
                return metric
    return None


@dataclass
class Choices:
    """The sections and controls of the page, of runs with these columns, metrics and axes."""

    columns: Mapping[str, Column]
    metrics: Sequence[Metric]
    axes: Sequence[Axis]
    opens: Mapping[str, Any]

    def filters(self) -> Part:
        """Filters, and what is drawn of the runs that they let through."""
        labels = self.columns["label"].values
        several = [name for name, column in self.columns.items() if len(column.values) > 1]
        facets = [
            {"name": name, "title": title, "several": many, "words": self.columns[name].said}
            | {"looks": looks(labels) if name == "label" else None}
            for name, (title, many) in DIMENSIONS.items()
            if name in several
        ]
        named = {n: t if t == t.upper() else t.lower() for n, (t, _) in DIMENSIONS.items()}
        panels = [("", "one"), *((n, f"one per {named[n]}") for n in OUTER if n in several)]
        panels += [("each", "one per setting")] if len(panels) > 2 else []
        against = [("", "absolute"), *((label, f"relative to {label}") for label in labels)]
        controls = [
            self._select("Metric", "metric", self._named(self.metrics)),
            self._select("Scale", "against", against),
            self._select("Panels", "panels", panels),
            control("check", "log scale", id="log"),
            control("check", "own scales", id="own"),
        ]
        return {"facets": facets, "controls": controls}

    def _select(self, title: str, name: str, options: Sequence[tuple[str, ...]]) -> Part:
        return select(title, options, self.opens[name], id=name)

    def _named(self, metrics: Sequence[Metric]) -> list[tuple[str, str, str]]:
        timed = any(self.columns["device"].values)
        counts = Counter(m.title for m in metrics)
        # A share and its count may have one title.
        titles = [m.title + f" ({m.shown_unit})" * (counts[m.title] > 1) for m in metrics]
        every = list(zip(metrics, titles, strict=True))
        usual = [(m.name, title, "Usual") for m, title in every if m.is_core(timed)]
        return usual + [(m.name, title, "More") for m, title in every if not m.is_core(timed)]

    def sections(self) -> list[Part | None]:
        """Charts of what is chosen, and the runs."""
        caches = self.columns["cache"].values
        share, memory = "Cache size, share of the trace\u2019s pages", "Cache size, bytes"
        over = [("cache_share", share), ("cache_bytes", memory)]
        has_sizes = len(set(caches) - {NO_CACHE}) > 1
        over = over if has_sizes or not self.axes else []
        over += [(axis.name, axis.title) for axis in self.axes]
        weighed = self._named([m for m in self.metrics if m.better != "neither"])
        cache = ("cache_share", "Cache, of the trace\u2019s pages", "Cache")
        weighed = [("cache_bytes", "Cache size", "Cache"), cache, *weighed]
        at = [("", "all sizes"), *((cache, cache) for cache in caches)]
        chips = [look | {"shown": True} for look in looks(self.columns["label"].values)]
        x = bar(self._select("x axis", "x", over))
        curves = (x, legend("store", chips, "Policies"), _place("panels", "curves"))
        pair = (self._select(f"{k} axis", f"{k}2", weighed) for k in "xy")
        front = (
            bar(*pair, control("check", "log scales", id="log2")),
            legend("front", chips, "Policies of the front"),
            _place("place", "front"),
            _place("place", "front-note", css="note"),
            grid([], [], low=False, id="front-table", css=" front", title="Settings on the front"),
        )
        pages = (
            control("output", id="where"),
            control("button", "Previous", id="before", aria_label="Previous fifty"),
            control("button", "Next", id="behind", aria_label="The next fifty"),
            control("button", "All that are chosen", id="unpick", hidden=""),
            control("button", "Save as CSV", id="csv"),
        )
        opens = "A policy's name opens all numbers of its run."
        runs = grid([], [], id="runs", low=False, title="Runs", notes=[opens])
        key = _place("place", "key", css="key")
        at_size = bar(self._select("At", "at", at))
        return [
            section("Over cache size", *curves) if has_sizes or self.axes else None,
            section("Policies by cache size", key, _place("panels", "heat")),
            section("Trade-off", *front),
            section(_TITLE, at_size, _place("panels", "spread"), text("note", _SPREAD)),
            section("The runs", bar(*pages), runs),
        ]


def _place(kind: str, name: str, css: str = "shown") -> Part:
    """A place that the script fills."""
    return {"kind": kind, "mark": {"id": name, "class": css}}


_TITLE = "Spread over traces and seeds"
_SPREAD = (
    "A stroke is a run, a box reaches from quartile to quartile (of four runs or more), its bar is"
    " the median. The best median is on top. A row of more than 60 runs has strokes for the 30"
    " smallest and the 30 largest."
)
