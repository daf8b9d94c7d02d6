"""Miss-ratio curves: the result of `mrc`."""

from __future__ import annotations

import csv
import io
import json
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from destage import _destage
from destage.base.io.files import Destination, write_whole
from destage.model.every_size import EverySize
from destage.model.provenance import document
from destage.model.results import ResultSet
from destage.model.words import plain
from destage.show.tables.curves import curves_summary, curves_table, sizes_table
from destage.show.tables.frames import Tabled, by_column
from destage.show.tables.table import Table

if TYPE_CHECKING:
    from destage.show.charts.plots import Plots

__all__ = ["ESTIMATED", "EXACT", "Curves", "point_row"]


@dataclass(frozen=True, repr=False)
class Curves(Tabled):
    """Hit ratio over cache size, for some policies; `data` has everything."""

    data: Mapping[str, Any]
    """`trace`: identity; `mrc`: sample, curves with their points, warnings. A curve of LRU over the
    whole trace has `every_size`: the best hit ratio, frames that are `enough` for 90, 95 and 99 %
    of its hits, its knees, and the points of the exact curve that a picture needs."""
    every_size: Mapping[str, EverySize] = field(default_factory=dict)
    """By label, what one pass over the whole trace counted at every size: an array a column."""
    has_all: bool = False
    """Every size was asked for (`cache="all"`): it is what columns, files and data frames hold, and
    tables and charts show the usual sizes."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes for a reader of these numbers."""
        return tuple(self.data["mrc"]["warnings"])

    @cached_property
    def result_set(self) -> ResultSet:
        """The points as runs: what tables, charts and the report take."""
        return ResultSet.of_curves(self.data)

    @property
    def plot(self) -> Plots:
        """Charts of the curves: `curves.plot.mrc()`, `curves.plot.save("figures")`.

        Drawing raises `MissingExtra` without the extra `report`.
        """
        from destage.show.charts.plots import Plots

        return Plots(self.result_set)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per policy and size.

        Where a sample estimates a number, `_low` and `_high` of its name hold the 95 % interval;
        where it is exact they are None.
        """
        if self.has_all:
            columns = self.columns()
            each = zip(*columns.values(), strict=True)
            return [dict(zip(columns, row, strict=True)) for row in each]
        unique = self.data["trace"]["unique_pages"]
        return [
            point_row(curve, point, unique)
            for curve in self.data["mrc"]["curves"]
            for point in curve["points"]
        ]

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        if not self.has_all:
            return by_column(self.to_dicts())
        columns: dict[str, list[Any]] = {name: [] for name in ("policy", "cache_pages", *_COUNTS)}
        for label, every in self.every_size.items():
            columns["policy"] += [label] * len(every.hits)
            columns["cache_pages"] += every.cache_pages
            for name in _COUNTS:
                counts = getattr(every, name)
                columns[name] += [None] * len(every.hits) if counts is None else counts
        return columns

    def to_csv(self, path: Destination | None = None) -> str:
        """Return the tidy table as CSV, and write it to `path` if given (`-`: standard output).

        Truth values are `true` and `false`; absent values are empty. Raises `OutputError`.
        """
        if not self.has_all:
            return super().to_csv(path)
        # A row a page of the trace: without a look at each cell.
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        columns = self.columns()
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        if path is not None:
            write_whole(path, buffer.getvalue())
        return buffer.getvalue()

    def to_parquet(self, path: Destination) -> None:
        """Write the tidy table as Parquet (`-`: standard output); needs no other package.

        The file's metadata says where it is from, as JSON. Raises `OutputError`.
        """
        if not self.has_all:
            super().to_parquet(path)
            return
        curves = [(label, len(every.hits)) for label, every in self.every_size.items()]
        columns = [
            (name, [_bytes(getattr(every, name)) for every in self.every_size.values()])
            for name in _COUNTS
        ]
        metadata = dict(self._provenance())
        write_whole(path, lambda: _destage.counts_parquet(curves, columns, metadata))

    def _everything(self) -> Any:
        if not self.has_all:
            return document("curves", self.data)
        every = {
            label: {"accesses": every.accesses, "cache_pages": [1, len(every.hits)]}
            | {name: _list(getattr(every, name)) for name in _COUNTS}
            for label, every in self.every_size.items()
        }
        return document("curves", {**self.data, "every_size": every})

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.trace": json.dumps(self.data["trace"])}

    def as_table(self) -> Table:
        """Return the table of hit ratios that the command line prints."""
        table = curves_table(self.result_set, self.data["mrc"], self.warnings)
        said = curves_summary(self.result_set, sizes=False)
        table.notes[:0] = [plain(sentence) for sentence in said]
        return table

    def sizes_table(self) -> Table:
        """Return the table of sizes: each policy's most hits, the size for 90, 95 and 99 % of them,
        and the knees of its curve where every size is known.
        """
        return sizes_table(self.result_set)

    @property
    def summary(self) -> tuple[str, ...]:
        """Sizes that are enough, knees, and the best policies: a sentence each."""
        return tuple(plain(sentence) for sentence in curves_summary(self.result_set))


#: Columns of a curve at every size, beside its policy and the pages of the cache.
_COUNTS = ("hits", "misses", "physical_reads", "physical_writes")


def _list(counts: Sequence[int] | None) -> list[int] | None:
    return None if counts is None else list(counts)


def _bytes(counts: Sequence[int] | None) -> bytes | None:
    """As the engine takes them: 64 bits each, lowest byte first."""
    if counts is None:
        return None
    data = array("Q", counts)
    if sys.byteorder == "big":
        data.byteswap()
    return data.tobytes()


#: Numbers of a point, as its row has them.
_COUNTED = (
    "miss_ratio",
    "accesses",
    "misses",
    "read_misses",
    "write_misses",
    "physical_reads",
    "physical_writes",
    "evictions",
)

#: Of these, what a sample estimates.
ESTIMATED = tuple(name for name in _COUNTED if name != "accesses")

#: Of these, and of hits, what a row of a store has.
EXACT = ("hit_ratio", *(name for name in ESTIMATED if name != "miss_ratio"))


def _hit_ratio(point: Mapping[str, Any], *, is_estimate: bool) -> float | None:
    """Hits over accesses, to the last bit that of a run where the misses are exact."""
    if not point["accesses"] or point["misses"] is None:
        return None
    if is_estimate:
        return float(1 - point["miss_ratio"])
    return float((point["accesses"] - point["misses"]) / point["accesses"])


def point_row(curve: Mapping[str, Any], point: Mapping[str, Any], unique: int) -> dict[str, Any]:
    """A point of a curve as a row, with the ends of its intervals."""
    sampled = point.get("sampled") or {}
    row = {
        "policy": curve["policy"],
        "label": curve["label"],
        "params": json.dumps(curve["params"], sort_keys=True),
        "method": curve["method"],
        "cache": point["cache"],
        "frames": point["frames"],
        "cache_bytes": point["cache_bytes"],
        "cache_share": point["frames"] / unique if unique else None,
        "hit_ratio": _hit_ratio(point, is_estimate=bool(sampled)),
        **{name: point[name] for name in _COUNTED},
        "miss_ratio_error": sampled.get("miss_ratio_error"),
        "physical_writes_error": sampled.get("physical_writes_error"),
        "sample_frames": sampled.get("frames"),
    }
    low, high = sampled.get("miss_ratio_low"), sampled.get("miss_ratio_high")
    row["hit_ratio_low"] = None if high is None else 1 - high
    row["hit_ratio_high"] = None if low is None else 1 - low
    ends = [f"{name}_{end}" for name in ESTIMATED for end in ("low", "high")]
    return row | {end: sampled.get(end) for end in ends}
