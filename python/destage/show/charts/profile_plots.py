"""Charts of a trace's profile in a notebook, and figures for a paper, each with its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from destage.base.errors import DataError
from destage.base.io.extras import need_extra
from destage.model.profile import FIGURES, rows_of
from destage.show.charts.figures import Figures, drawn, rows_text

if TYPE_CHECKING:
    from altair import LayerChart

__all__ = ["ProfilePlots"]

#: Rows without a chart of their own: other charts mark it.
_UNDRAWN = ("inflection",)


class ProfilePlots(Figures):
    """The charts of one trace's profile; a trace that has nothing for one raises `DataError`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Take the JSON form of a profile."""
        self._data = data

    def names(self) -> list[str]:
        """The charts that this trace has, by the names of their methods."""
        return [n for n in FIGURES if n not in _UNDRAWN and rows_of(self._data, n)]

    block_heat = drawn("block_heat", "Heat of erase blocks over time (BPAC, figure 2).")
    unique_blocks = drawn(
        "unique_blocks", "Erase blocks that hold the hottest pages (BPAC, figure 3)."
    )
    pird_deviation = drawn(
        "pird_deviation", "Pages by the standard deviation of their PIRDs (BPAC, figure 4a)."
    )
    bird_deviation = drawn(
        "bird_deviation", "Blocks by the standard deviation of their BIRDs (BPAC, figure 4b)."
    )
    pird_distribution = drawn("pird_distribution", "How often each PIRD occurs (BPAC, figure 5a).")
    bird_distribution = drawn("bird_distribution", "How often each BIRD occurs.")
    pird_frequency = drawn("pird_frequency", "Pages by references and mean PIRD (BPAC, figure 5b).")
    pird_sparseness = drawn(
        "pird_sparseness", "Sparseness of the PIRDs, with the inflection point."
    )
    bird_sparseness = drawn(
        "bird_sparseness", "Sparseness of the BIRDs, with the inflection point (BPAC, figure 6)."
    )
    read_ratio = drawn("read_ratio", "Share of reads, period by period (AALRU, figure 1).")
    hottest_blocks = drawn(
        "hottest_blocks", "Hot and cold pages of the most accessed blocks (AALRU, figure 2)."
    )
    padding = drawn("padding", "Pages that padding adds to a destage (AALRU, figure 3a).")
    padding_writes = drawn(
        "padding_writes", "Pages written by padding, and dirty ones (AALRU, figure 3b)."
    )

    def _spec(self, name: str) -> dict[str, Any]:
        return self._chart(name).to_dict()

    def _csv(self, name: str) -> str:
        return rows_text(rows_of(self._data, name))

    def _chart(self, name: str) -> LayerChart:
        need_extra("drawing")
        from destage.show.charts.profile import chart

        found = chart(self._data, name)
        if found is None:
            raise DataError(f"this trace has no {name}; it has {', '.join(self.names())}")
        return cast("LayerChart", found)
