"""The exact curve of LRU beside points of others: its line, and its knees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from destage.model.results import ResultSet
from destage.model.rows import Row
from destage.model.words import number, size
from destage.show.charts.theme import Theme

__all__ = ["exact_knees", "exact_labels", "exact_layers", "exact_rows"]


def _curves(result: ResultSet) -> list[tuple[str, Mapping[str, Any]]]:
    """Label and exact curve of each policy that has one."""
    inner = result.source.get("mrc")
    curves = inner.get("curves") if isinstance(inner, Mapping) else None
    found = ((str(c.get("label")), c.get("every_size")) for c in curves or ())
    return [(label, every) for label, every in found if isinstance(every, Mapping)]


def exact_labels(result: ResultSet) -> list[str]:
    """The policies whose curve is known at every size."""
    return [label for label, every in _curves(result) if every.get("points")]


def exact_rows(result: ResultSet) -> list[Row]:
    """The points of exact curves, from the smallest size that was asked for, or the first knee."""
    knees = [knee["frames"] for _, every in _curves(result) for knee in every.get("knees", ())]
    least = min([*(run.frames for run in result.runs), *knees], default=1)
    page_bytes = result.trace.page_bytes
    return [
        {"label": label, "cache_bytes": frames * page_bytes, "hit_ratio": ratio}
        for label, every in _curves(result)
        for frames, ratio, *_ in every.get("points", ())
        if frames >= least and ratio is not None
    ]


def exact_knees(result: ResultSet) -> list[Row]:
    """Where they bend, with what stands beside it."""
    page_bytes = result.trace.page_bytes
    sizes = [row["cache_bytes"] for row in exact_rows(result)]
    # The word stands where the plot has room for it.
    middle = math.sqrt(min(sizes) * max(sizes)) if sizes else 0.0
    return [
        {
            "label": label,
            "left": knee["frames"] * page_bytes <= middle,
            "cache_bytes": knee["frames"] * page_bytes,
            "hit_ratio": knee["hit_ratio"],
            "pages": number(knee["frames"]),
            "knee": f"knee at {size(knee['frames'] * page_bytes)}",
        }
        for label, every in _curves(result)
        for knee in every.get("knees", ())
        if knee["hit_ratio"] is not None
    ]


def exact_layers(
    result: ResultSet, x: Any, y: Any, theme: Theme, color: Any, in_colour: str
) -> Sequence[Any]:
    """The lines, and a diamond at each knee."""
    line = (
        alt.Chart(alt.InlineData(values=exact_rows(result)))
        .transform_filter(in_colour)
        .mark_line(strokeWidth=1.8, interpolate="step-after", clip=True)
        .encode(x=x, y=y, detail="label:N", color=color)
    )
    bends = alt.Chart(alt.InlineData(values=exact_knees(result))).transform_filter(in_colour)
    mark = bends.mark_point(
        shape="diamond", size=90, filled=False, strokeWidth=2, stroke=theme.ink, opacity=1
    ).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("label:N", title="Policy"),
            alt.Tooltip("knee:N", title="Bends"),
            alt.Tooltip("pages:N", title="Pages"),
            alt.Tooltip("hit_ratio:Q", title="Hit ratio", format=".2%"),
        ],
    )
    right, left = bends.transform_filter("datum.left"), bends.transform_filter("!datum.left")
    words = [
        right.mark_text(align="left", dx=0, dy=-14, fill=theme.ink),
        left.mark_text(align="right", dx=-9, dy=-6, fill=theme.ink),
    ]
    return [line, mark, *(word.encode(x=x, y=y, text="knee:N") for word in words)]
