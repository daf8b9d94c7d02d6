"""Figures for a paper: their width, the size of their text, and the names in their legends."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from destage.base.errors import UsageError

__all__ = ["UNSTYLED", "FigureStyle"]

#: Units of the drawing in an inch and in a point: the engine writes one as a point of a PDF.
INCH, POINT = 72.0, 1.0
#: Pixels of a length, by its unit.
_UNITS = {"in": INCH, "cm": INCH / 2.54, "mm": INCH / 25.4, "pt": POINT, "px": 0.75}
#: Below this width a legend stands under the chart and not beside it.
_NARROW = 5.0 * INCH
#: Width of an entry of such a legend, in widths of its text.
_ENTRY = 6.5


@dataclass(frozen=True)
class FigureStyle:
    """How figures are written; without values as they are on the screen."""

    width_pt: float | None = None
    """Width of the whole figure, points."""
    font_pt: float | None = None
    """Size of all text, points."""
    height_pt: float | None = None
    """Height of a figure's panels, points."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Names in the figure, by the policy's label."""

    @classmethod
    def of(
        cls,
        width: str | None = None,
        font_size: float | None = None,
        labels: Mapping[str, str] | None = None,
        height: str | None = None,
    ) -> FigureStyle:
        """Take the values that a user types, such as `"3.3in"`. Raises `UsageError`."""
        if font_size is not None and not 1 <= font_size <= 100:
            raise UsageError(f"font size: expected 1 to 100 points, got {font_size:g}")
        return cls(
            None if width is None else _pixels(width, "width"),
            None if font_size is None else font_size * POINT,
            None if height is None else _pixels(height, "height"),
            dict(labels or {}),
        )

    @property
    def narrow(self) -> bool:
        """Whether legends stand below, and panels one below the other."""
        return self.width_pt is not None and self.width_pt < _NARROW

    def styled(self, spec: dict[str, Any]) -> dict[str, Any]:
        """The specification of a chart in this style; what has several charts keeps its widths."""
        found: dict[str, Any] = json.loads(json.dumps(spec))
        if self.width_pt is not None and not found.keys() & {"vconcat", "facet"}:
            found["width"] = self.width_pt
            found["autosize"] = {"type": "fit-x", "contains": "padding"}
            found["height"] = min(float(found.get("height") or 260), 0.62 * self.width_pt)
            found.setdefault("config", {})["padding"] = 3
        if self.height_pt is not None and not found.keys() & {"vconcat", "facet"}:
            found["height"] = self.height_pt
        if self.font_pt is not None or self.width_pt is not None:
            self._set_text(found)
        if self.labels:
            _renamed(found, self.labels)
        return found

    def _set_text(self, spec: dict[str, Any]) -> None:
        config = spec.setdefault("config", {})
        font = self.font_pt
        if font is not None:
            for part in ("axis", "legend"):
                sizes = {"labelFontSize": font, "titleFontSize": font}
                config[part] = {**config.get(part, {}), **sizes}
            config["title"] = {**config.get("title", {}), "fontSize": font}
            config["text"] = {**config.get("text", {}), "fontSize": font}
        if self.width_pt is not None and self.narrow:
            entry = _ENTRY * (font or 12.0)
            legend = {
                "orient": "bottom",
                "columns": max(1, int(self.width_pt / entry)),
                "symbolSize": 40,
                "columnPadding": 6,
            }
            config["legend"] = {**config.get("legend", {}), **legend}
            for one in _legends(spec):
                one |= {key: legend[key] for key in ("orient", "columns")}
                one["symbolSize"] = one.get("symbolSize", 80) / 2
            most = int(_AXIS_PART * self.width_pt / (_LETTER * (font or 12.5)))
            for axis in _axes_below(spec):
                axis["title"] = _title_lines(axis.get("title"), most)
            for mark in _marks(spec):
                mark |= {key: mark[key] * part for key, part in _FINER.items() if key in mark}


#: Figures as they are on the screen.
UNSTYLED = FigureStyle()


def _pixels(text: str, what: str) -> float:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([a-z]*)\s*", text)
    unit = _UNITS.get(match[2] or "in") if match else None
    if match is None or unit is None:
        raise UsageError(f"{what}: expected a length such as 3.3in, 84mm or 240pt, got {text!r}")
    pixels = float(match[1]) * unit
    if not INCH <= pixels <= 100 * INCH:
        raise UsageError(f"{what}: expected 1in to 100in, got {text!r}")
    return pixels


#: Parts of line width and of a marker's area in a narrow figure.
_FINER = {"strokeWidth": 0.6, "size": 0.5}


#: Part of a figure's width that its horizontal axis has, and the width of a letter by its size.
_AXIS_PART, _LETTER = 0.8, 0.56


def _axes_below(spec: object) -> list[dict[str, Any]]:
    """The horizontal axes of all parts of a chart."""
    if isinstance(spec, list):
        return [one for part in spec for one in _axes_below(part)]
    if not isinstance(spec, dict):
        return []
    x = spec.get("x")
    own = [x["axis"]] if isinstance(x, dict) and isinstance(x.get("axis"), dict) else []
    return own + [one for key, part in spec.items() if key != "data" for one in _axes_below(part)]


def _title_lines(title: object, most: int) -> object:
    """A title in lines of so many letters, its parentheses whole if they fit."""
    if not isinstance(title, str) or len(title) <= most:
        return title
    head, mark, tail = title.partition(" (")
    if mark and max(len(head), len(tail) + 1) <= most:
        return [head, f"({tail}"]
    return textwrap.wrap(title, most)


def _marks(spec: object) -> list[dict[str, Any]]:
    """The marks of all parts of a chart."""
    if isinstance(spec, list):
        return [one for part in spec for one in _marks(part)]
    if not isinstance(spec, dict):
        return []
    own = [spec["mark"]] if isinstance(spec.get("mark"), dict) else []
    return own + [one for key, part in spec.items() if key != "data" for one in _marks(part)]


def _legends(spec: object) -> list[dict[str, Any]]:
    """The legends of all parts of a chart."""
    if isinstance(spec, list):
        return [one for part in spec for one in _legends(part)]
    if not isinstance(spec, dict):
        return []
    own = [spec["legend"]] if isinstance(spec.get("legend"), dict) else []
    return own + [one for key, part in spec.items() if key != "data" for one in _legends(part)]


def _renamed(spec: object, labels: Mapping[str, str]) -> None:
    """Show other names for labels: in legends, on axes, and before the colon of a title."""
    if isinstance(spec, list):
        for part in spec:
            _renamed(part, labels)
    if not isinstance(spec, dict):
        return
    title = spec.get("title")
    if isinstance(title, str) and ": " in title:
        label, colon, rest = title.partition(": ")
        spec["title"] = f"{labels.get(label, label)}{colon}{rest}"
    if spec.get("field") == "label":
        shown = f"({json.dumps(dict(labels))})[datum.label] || datum.label"
        for part in ("legend", "axis"):
            if isinstance(spec.get(part), dict):
                spec[part]["labelExpr"] = shown
    for key, part in spec.items():
        if key != "data":
            _renamed(part, labels)
