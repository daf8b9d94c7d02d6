"""Colours, dashes and markers: how series look, in light and dark, the same on a whole page.

A series keeps its look in every chart. lru, which papers draw as the reference, takes the ink's own
colour, and min, which no policy can reach, one of its own. These and six more keep apart
for protan, deutan and tritan eyes, too (at least 12 in OKLab x 100 under Machado's simulation), and
from the page by a contrast of at least 3; dashes and markers tell series of one colour from each
other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from destage.model.metrics import BASELINE, ORACLE
from destage.model.naming import catalogue

__all__ = [
    "DARK",
    "DASHES",
    "LIGHT",
    "MARKERS",
    "PAGE",
    "VEGA_LITE",
    "SeriesStyle",
    "Theme",
    "styles",
    "variables",
]

#: The grammar that Altair 6.3 writes, as vl-convert names it.
VEGA_LITE = "6.4"

#: Solid, which lru has, dashed, dotted, dash-dotted, long and short.
DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [13, 4], [4, 2])
#: That of min.
_BOUND_DASH = [1, 2]
#: Vega's names of the markers, and each as an SVG path around the origin.
MARKERS = {
    "circle": "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
    "square": "M-3.5 -3.5H3.5V3.5H-3.5Z",
    "triangle-up": "M0 -4.5L4.5 3.5H-4.5Z",
    "diamond": "M0 -5L4.5 0L0 5L-4.5 0Z",
    "cross": "M-1.5 -4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z",
    "triangle-down": "M0 4.5L4.5 -3.5H-4.5Z",
    "triangle-right": "M4.5 0L-3.5 4.5V-4.5Z",
    "triangle-left": "M-4.5 0L3.5 4.5V-4.5Z",
}


@dataclass(frozen=True)
class Theme:
    """The colours of a page and its charts."""

    #: Text; lru.
    ink: str
    #: min.
    oracle: str
    #: Axis labels, notes.
    faint: str
    #: Grid lines.
    grid: str
    #: Series that are not in colour.
    muted: str
    series: tuple[str, ...]
    page: str
    panel: str
    line: str
    link: str
    best: str
    warn: str


#: For paper, and for figures.
LIGHT = Theme(
    ink="#1d2129",
    oracle="#785a78",
    faint="#5b6472",
    grid="#e6e8ec",
    muted="#c3c8d0",
    series=("#3e5bc6", "#c37705", "#0fa692", "#a32003", "#a37ff2", "#721173"),
    page="#ffffff",
    panel="#f4f5f7",
    line="#d5d9df",
    link="#2f4bb0",
    best="#0b6e60",
    warn="#c37705",
)
DARK = Theme(
    ink="#eceff3",
    oracle="#d23c00",
    faint="#a0a9b6",
    grid="#2a2f38",
    muted="#4c5461",
    series=("#576fdd", "#edcd1e", "#22b699", "#ee7c18", "#baaeff", "#9e5876"),
    page="#14171c",
    panel="#1d2128",
    line="#363d48",
    link="#9db0ff",
    best="#4fd6bb",
    warn="#edcd1e",
)
_PLAIN = (
    *("ink", "oracle", "faint", "grid", "muted", "page", "panel", "line", "link", "best", "warn"),
)
#: For the report's charts: its style sheet says what they are, so that they change with it.
PAGE = Theme(
    **{name: f"var(--{name})" for name in _PLAIN},
    series=tuple(f"var(--s{k})" for k in range(len(LIGHT.series))),
)


def variables(theme: Theme) -> dict[str, str]:
    """The theme as CSS variables, by name."""
    plain = {f"--{name}": str(getattr(theme, name)) for name in _PLAIN}
    return plain | {f"--s{k}": color for k, color in enumerate(theme.series)}


@dataclass(frozen=True)
class SeriesStyle:
    """How one series is drawn."""

    color: str
    dash: list[int]
    marker: str

    def likeness(self, other: SeriesStyle) -> int:
        """How many pairs of colour, dash and marker two looks share: 0 if all keep them apart."""
        same = (self.color == other.color, self.dash == other.dash, self.marker == other.marker)
        return max(0, sum(same) - 1)


#: Policies that stand in one chart most often: they have different colours. The others follow in
#: the order of the catalogue.
_FIRST = (
    *("arc", "cflru", "gcar-cflru", "ecr", "ecr-e", "2q"),
    *("cflru-e", "gcar-lru", "s3-fifo", "sac", "bplru", "ace"),
)


@cache
def _numbers() -> dict[str, int]:
    """The number of each policy, which decides its colour."""
    rest = [p["name"] for p in catalogue() if p["name"] not in (BASELINE, ORACLE, *_FIRST)]
    return {name: k for k, name in enumerate((*_FIRST, *rest))}


def styles(labels: Sequence[str], theme: Theme) -> dict[str, SeriesStyle]:
    """A style for each label; a policy has the same colour everywhere, with any parameters.

    Five dashes and seven markers tell thirty labels apart in black and white, too. lru and min have
    looks beside these. Labels that are no policies have colours in their order.
    """
    found: dict[str, SeriesStyle] = {}
    others = 0
    for label in labels:
        name = label.partition("[")[0].casefold()
        if name == BASELINE and name not in map(str.casefold, found):
            found[label] = SeriesStyle(theme.ink, DASHES[0], "circle")
        elif name == ORACLE and name not in map(str.casefold, found):
            found[label] = SeriesStyle(theme.oracle, _BOUND_DASH, "circle")
        else:
            k = _numbers().get(name)
            if k is None:
                k, others = others, others + 1
            found[label] = _free(k, theme, found)
    return found


def _free(k: int, theme: Theme, taken: Mapping[str, SeriesStyle]) -> SeriesStyle:
    """A look in the colour of a number, with a dash and a marker that keep it apart from others."""
    color, markers, dashes = theme.series[k % len(theme.series)], list(MARKERS)[1:], DASHES[1:]
    every = (
        SeriesStyle(color, dashes[(k + d) % len(dashes)], markers[(k + d + m) % len(markers)])
        for d in range(len(dashes))
        for m in range(len(markers))
    )
    looks = [(style.dash, style.marker) for style in taken.values()]

    def alike(one: SeriesStyle) -> tuple[int, int]:
        return looks.count((one.dash, one.marker)), sum(map(one.likeness, taken.values()))

    return min(every, key=alike)
