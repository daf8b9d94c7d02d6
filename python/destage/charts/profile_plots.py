"""Charts of a trace's profile in a notebook, and figures for a paper, each with its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from destage.charts.plots import Figures, rows_text
from destage.errors import DataError
from destage.io.extras import need_extra
from destage.model.profile import FIGURES, rows_of

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

    def block_heat(self) -> LayerChart:
        """Heat of erase blocks over time (BPAC, figure 2)."""
        return self._chart("block_heat")

    def unique_blocks(self) -> LayerChart:
        """Erase blocks that hold the hottest pages (BPAC, figure 3)."""
        return self._chart("unique_blocks")

    def pird_deviation(self) -> LayerChart:
        """Pages by the standard deviation of their PIRDs (BPAC, figure 4a)."""
        return self._chart("pird_deviation")

    def bird_deviation(self) -> LayerChart:
        """Blocks by the standard deviation of their BIRDs (BPAC, figure 4b)."""
        return self._chart("bird_deviation")

    def pird_distribution(self) -> LayerChart:
        """How often each PIRD occurs (BPAC, figure 5a)."""
        return self._chart("pird_distribution")

    def bird_distribution(self) -> LayerChart:
        """How often each BIRD occurs."""
        return self._chart("bird_distribution")

    def pird_frequency(self) -> LayerChart:
        """Pages by references and mean PIRD (BPAC, figure 5b)."""
        return self._chart("pird_frequency")

    def pird_sparseness(self) -> LayerChart:
        """Sparseness of the PIRDs, with the inflection point."""
        return self._chart("pird_sparseness")

    def bird_sparseness(self) -> LayerChart:
        """Sparseness of the BIRDs, with the inflection point (BPAC, figure 6)."""
        return self._chart("bird_sparseness")

    def read_ratio(self) -> LayerChart:
        """Share of reads, period by period (AALRU, figure 1)."""
        return self._chart("read_ratio")

    def hottest_blocks(self) -> LayerChart:
        """Hot and cold pages of the most accessed blocks (AALRU, figure 2)."""
        return self._chart("hottest_blocks")

    def padding(self) -> LayerChart:
        """Pages that padding adds to a destage (AALRU, figure 3a)."""
        return self._chart("padding")

    def padding_writes(self) -> LayerChart:
        """Pages written by padding, and dirty ones (AALRU, figure 3b)."""
        return self._chart("padding_writes")

    def _spec(self, name: str) -> dict[str, Any]:
        return self._chart(name).to_dict()

    def _csv(self, name: str) -> str:
        return rows_text(rows_of(self._data, name))

    def _chart(self, name: str) -> LayerChart:
        need_extra("drawing")
        from destage.charts.profile import chart

        found = chart(self._data, name)
        if found is None:
            raise DataError(f"this trace has no {name}; it has {', '.join(self.names())}")
        return cast("LayerChart", found)
