"""The pictures by which BPAC and AALRU judge a workload, as data and as charts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from destage.errors import UsageError
from destage.io.frames import Tidy, by_column
from destage.model.profile import FIGURES, rows_of, warnings_of

if TYPE_CHECKING:
    from destage.charts.profile_plots import ProfilePlots

__all__ = ["TraceProfile"]

#: What counts as a reference: page writes, or page reads and page writes.
Counted = Literal["writes", "all"]


@dataclass(frozen=True, repr=False)
class TraceProfile(Tidy):
    """What figures 2 to 6 of BPAC and 1 to 3 of AALRU show, of one trace; docs/profile.md.

    Distances count references, in virtual time: page writes, or all accesses.
    """

    data: Mapping[str, Any]
    """Everything, as the JSON form has it."""

    def __getitem__(self, key: str) -> Any:
        """Return a part by its name."""
        return self.data[key]

    @property
    def references(self) -> int:
        """Page accesses that count, see `trace.profile(counted=...)`."""
        return int(self.data["references"])

    @property
    def pages(self) -> int:
        """Different pages among them."""
        return int(self.data["pages"])

    @property
    def blocks(self) -> int:
        """Different erase blocks among them."""
        return int(self.data["blocks"])

    @property
    def warnings(self) -> list[str]:
        """What a reader of the figures must know."""
        return warnings_of(self.data)

    @property
    def pird_threshold(self) -> int | None:
        """PIRD at the inflection point, references: how long a page stays hot."""
        return self._threshold("pird")

    @property
    def bird_threshold(self) -> int | None:
        """BIRD at the inflection point, references: how long a block's cluster grows."""
        return self._threshold("bird")

    def _threshold(self, kind: str) -> int | None:
        inflection = self.data[kind]["inflection"]
        return int(inflection["threshold"]) if inflection else None

    def figures(self) -> list[str]:
        """Names of the figures that this trace has something for."""
        return [name for name in FIGURES if rows_of(self.data, name)]

    def rows(self, figure: str) -> list[dict[str, Any]]:
        """What a figure shows, a dictionary a point.

        Raises `UsageError` if there is no such figure.
        """
        if figure not in FIGURES:
            raise UsageError(f"there is no figure {figure!r}; there are {', '.join(FIGURES)}")
        return rows_of(self.data, figure)

    def columns(self) -> dict[str, list[Any]]:
        """Every figure in one long table: `figure`, `series`, `x`, `x_to`, `y`, `y_to`, `value`.

        docs/profile.md says what they are in which figure.
        """
        long = [
            {"figure": name, "series": row["series"], **{key: _real(row, key) for key in _LONG}}
            for name in FIGURES
            for row in rows_of(self.data, name)
        ]
        return by_column(long) if long else {key: [] for key in ("figure", "series", *_LONG)}

    def _everything(self) -> Any:
        return self.data

    def _provenance(self) -> Mapping[str, str]:
        plain = {k: v for k, v in self.data.items() if isinstance(v, (str, int, float))}
        return {"destage.profile": json.dumps(plain | {"options": self.data["options"]})}

    @property
    def plot(self) -> ProfilePlots:
        """Charts: `profile.plot.block_heat()`, `profile.plot.save("figures")`.

        Drawing raises `MissingExtra` without the extra `report`.
        """
        from destage.charts.profile_plots import ProfilePlots

        return ProfilePlots(self.data)

    def __repr__(self) -> str:
        """Return a few lines of numbers."""
        from destage.model.profile import text

        return text(self.data)


#: Numbers of the long table. All are real, so that a column has one type.
_LONG = ("x", "x_to", "y", "y_to", "value")


def _real(row: Mapping[str, Any], key: str) -> float | None:
    value = row.get(key)
    return None if value is None else float(value)
