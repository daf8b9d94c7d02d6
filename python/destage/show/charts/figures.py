"""Charts as a notebook shows them, and as files: SVG, PDF and PNG, each with its data as CSV.

The same rows give the same bytes, without a browser or a network.
"""

from __future__ import annotations

import csv
import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from destage.base.io.extras import need_extra
from destage.base.io.files import made_folder, write_whole
from destage.model.rows import Row
from destage.show.charts.figure_style import FigureStyle
from destage.show.charts.pdf import settled
from destage.show.charts.theme import VEGA_LITE

if TYPE_CHECKING:
    from altair import LayerChart

__all__ = [
    "PNG_SCALE",
    "Figures",
    "drawn",
    "in_points",
    "numbered",
    "offline",
    "rows_text",
    "write_figure",
    "write_files",
]

T = TypeVar("T")

#: PNG pixels per CSS pixel: 300 dots per inch at the figure's natural width of some 7 inches.
PNG_SCALE = 3.0


class Figures(ABC):
    """Charts by name, and how all of them are written."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return what can be drawn."""

    @abstractmethod
    def _spec(self, name: str) -> dict[str, Any]:
        """The Vega-Lite specification of a chart."""

    @abstractmethod
    def _csv(self, name: str) -> str:
        """The data of a chart."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self.names())}>"

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        prefix: str = "",
        width: str | None = None,
        font_size: float | None = None,
        labels: Mapping[str, str] | None = None,
        height: str | None = None,
    ) -> list[Path]:
        """Write every chart as SVG, PDF and PNG with its data as CSV; return the files.

        Parameters:
            folder: made if it is not there.
            prefix: before the name of each file.
            width: of each figure, legend included: `"3.3in"`, `"84mm"`; charts of several panels
                keep theirs.
            font_size: of all text, in points.
            labels: names in the figures, by label: `{"lru": "LRU"}`.
            height: of each figure without axes: `"2in"`.

        Raises `OutputError` if a file cannot be written, and `UsageError`.
        """
        need_extra("saving figures")
        style = FigureStyle.of(width, font_size, labels, height)
        target = made_folder(folder)
        return [
            path
            for name in self.names()
            for path in write_figure(
                target / f"{prefix}{name}",
                style.styled(self._spec(name)),
                self._csv(name),
                points=style.width_pt is not None or style.height_pt is not None,
            )
        ]


def drawn(name: str, about: str) -> Callable[[Any], LayerChart]:
    """The method that draws the chart of this name."""

    def draw(plots: Any) -> LayerChart:
        return offline(cast("LayerChart", plots._chart(name)))

    draw.__name__, draw.__doc__ = name, about
    return draw


def offline(chart: T) -> T:
    """The chart, which a notebook shows as SVG: Altair's own way loads scripts from the network.

    It stays an Altair chart, to be changed and saved. The result of another call
    (`chart.properties(...)`) is shown in the same way.
    """
    kind = type(chart)
    if not hasattr(kind, "_drawn_offline"):
        ways = {"_repr_mimebundle_": _mimebundle, "_drawn_offline": True}
        # A plain assignment would be a key of the specification.
        object.__setattr__(chart, "__class__", type(kind.__name__, (kind,), ways))
    return chart


def _mimebundle(chart: Any, *_: object, **__: object) -> dict[str, str]:
    from destage.show.charts.engine import engine

    svg = numbered(engine().vegalite_to_svg(chart.to_dict(), vl_version=VEGA_LITE))
    return {"image/svg+xml": svg, "text/plain": f"<{type(chart).__name__}>"}


def write_figure(
    stem: Path, spec: dict[str, Any], rows: str, *, points: bool = False
) -> list[Path]:
    """Write one chart as SVG, PDF and PNG beside its data as CSV; return the files.

    With `points` the SVG says its size in points, as the PDF does.
    """
    from destage.show.charts.engine import engine

    svg = numbered(engine().vegalite_to_svg(spec, vl_version=VEGA_LITE))
    if points:
        svg = in_points(svg)
    return write_files(
        stem,
        svg,
        settled(engine().vegalite_to_pdf(spec, vl_version=VEGA_LITE)),
        engine().vegalite_to_png(spec, vl_version=VEGA_LITE, scale=PNG_SCALE),
        rows,
    )


def write_files(stem: Path, svg: str, pdf: bytes, png: bytes, rows: str) -> list[Path]:
    """Write a figure in each form, and its data; return the files."""
    written = []
    forms: dict[str, str | bytes] = {".svg": svg, ".pdf": pdf, ".png": png, ".csv": rows}
    for suffix, content in forms.items():
        path = stem.with_name(stem.name + suffix)
        write_whole(path, content)
        written.append(path)
    return written


def in_points(svg: str) -> str:
    """The SVG with its size in points, as a PDF's."""
    return re.sub(r'(<svg[^>]*? width="[0-9.]+)(" height="[0-9.]+)"', r'\1pt\2pt"', svg, count=1)


def rows_text(rows: Sequence[Row]) -> str:
    """Rows with the same keys as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def numbered(svg: str) -> str:
    """The SVG with its clip paths counted from 1: the renderer counts on from figure to figure."""
    seen: dict[str, str] = {}
    return re.sub(r"\bclip\d+\b", lambda m: seen.setdefault(m[0], f"clip{len(seen) + 1}"), svg)
