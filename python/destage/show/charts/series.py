"""Parts that the charts of runs share: looks of policies, axes of cache sizes, the finish.

Needs the extra `report`.
"""

from __future__ import annotations

import json
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import altair as alt

from destage.show.charts.theme import Theme, styles

__all__ = [
    "LINE_PX",
    "SIZE",
    "Series",
    "configure",
    "finish",
    "names_axis",
    "size_axis",
    "size_ticks",
]

#: A byte count as a size, as a Vega expression.
SIZE = (
    "datum.value >= 1099511627776 ? format(datum.value / 1099511627776, '~g') + ' TiB' : "
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~g') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' KiB' : "
    "format(datum.value, '~g') + ' B'"
)


def _size_label(footprint_bytes: float | None) -> str:
    plain = SIZE.replace("'~g'", "'.3~r'")
    if not footprint_bytes:
        return plain
    return f"[{plain}, format(100 * datum.value / {footprint_bytes:.0f}, '.2~r') + ' %']"


#: Sizes that each have a tick of their own.
FEW_SIZES = 4


def size_ticks(sizes: Sequence[int], most: int = 8) -> list[int]:
    """Where a logarithmic size axis has its ticks: at a few sizes, else at powers of two."""
    low, high = min(sizes), max(sizes)
    if len(set(sizes)) <= FEW_SIZES:
        return sorted(set(sizes))
    powers = [1 << k for k in range(64) if low <= 1 << k <= high]
    if len(powers) < 3:
        return sorted(set(sizes))[:most]
    step = -(-len(powers) // most)
    return powers[::step]


def size_axis(
    sizes: Sequence[int], title: str, footprint_bytes: float | None = None
) -> dict[str, Any]:
    """A logarithmic axis of cache sizes: its scale and its axis."""
    low, high = min(sizes), max(sizes)
    # A little air left and right, so that markers are whole and labels stay inside.
    air = (high / low) ** 0.03 if high > low else 1.5
    return {
        "scale": alt.Scale(type="log", base=2, domain=[low / air, high * air], nice=False),
        "axis": alt.Axis(
            values=size_ticks(sizes),
            labelExpr=_size_label(footprint_bytes),
            labelOverlap="parity",
            labelSeparation=6,
            title=f"{title} (log scale)",
            grid=False,
        ),
    }


#: Letters of a line of a policy's name beside bars, and the height of a line.
LINE, LINE_PX = 26, 13


def _lines(label: str) -> list[str]:
    """A name in lines; a longer word loses its middle, as names differ at both ends."""
    words = label.replace(";", "; ").replace("[", " [")
    wrapped = textwrap.wrap(words, LINE, break_long_words=False, break_on_hyphens=False)
    lines = [line.replace(" [", "[") for line in wrapped]
    half = LINE // 2
    return [s if len(s) <= LINE + 2 else f"{s[:half]}\u2026{s[-half:]}" for s in lines] or [label]


def names_axis(labels: Sequence[str]) -> tuple[alt.Axis, int]:
    """An axis of policies' names, long ones in lines, and the lines of the longest."""
    lines = {label: _lines(label) for label in labels if len(label) > LINE}
    axis = alt.Axis(title=None, labelLimit=190, ticks=False, domain=False, grid=False)
    if lines:
        axis.labelExpr = f"{json.dumps(lines)}[datum.value] || datum.label"
        axis.labelLineHeight = LINE_PX
    return axis, max(map(len, lines.values()), default=1)


class Series(ABC):
    """Policies in charts, each with its look: colour, dash and marker."""

    def __init__(self, labels: Sequence[str], theme: Theme, *, page: bool) -> None:
        """Take the labels; `page` makes the charts for a page of HTML."""
        self.labels = list(labels)
        self.theme = theme
        self.page = page
        self.look = styles(self.labels, theme)

    def _scale(self, channel: str) -> alt.Scale:
        values = [getattr(self.look[label], channel) for label in self.labels]
        return alt.Scale(domain=self.labels, range=values)

    @abstractmethod
    def _legend(self) -> alt.Legend | None:
        """The legend of the policies; None where the page has one for all charts."""

    def _color(self) -> Any:
        return alt.Color("label:N", scale=self._scale("color"), legend=self._legend())

    def _dash(self) -> alt.StrokeDash:
        # Not in the legend, where it would outline the markers.
        return alt.StrokeDash("label:N", scale=self._scale("dash"), legend=None)

    def _shape(self) -> alt.Shape:
        return alt.Shape("label:N", scale=self._scale("marker"), legend=self._legend())


def finish(chart: Any, theme: Theme, name: str, about: str, height: int, *, page: bool) -> Any:
    """Size and look, the same for every chart."""
    sized = chart.properties(
        name=name, description=about, width="container" if page else 520, height=height
    )
    if page:
        sized = sized.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
    return configure(sized, theme, page=page)


def configure(chart: Any, theme: Theme, *, page: bool) -> Any:
    """The look alone."""
    return chart.configure(
        background="transparent" if page else "white",
        font="system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
        if page
        else "Liberation Sans, Helvetica, Arial, sans-serif",
        padding=2 if page else 10,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=theme.faint,
            labelFontSize=11,
            titleColor=theme.faint,
            titleFontSize=12,
            titleFontWeight="normal",
            titlePadding=8,
            gridColor=theme.grid,
            domainColor=theme.muted,
            tickColor=theme.muted,
            tickSize=4,
        ),
        axisY=alt.AxisConfig(domain=False, ticks=False, labelPadding=6),
        legend=alt.LegendConfig(labelColor=theme.ink, labelFontSize=12, rowPadding=3),
        text=alt.MarkConfig(fontSize=11),
        title=alt.TitleConfig(
            color=theme.ink, fontSize=12, fontWeight="normal", anchor="start", offset=6
        ),
    )
