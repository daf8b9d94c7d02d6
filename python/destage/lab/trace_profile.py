"""The profile of a trace: numbers, and the figures by which BPAC and AALRU judge one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from destage import _destage
from destage.base.errors import UsageError
from destage.base.io.files import Destination, write_whole
from destage.model.naming import canonical, need_a_drive
from destage.model.profile import FIGURES, rows_of, warnings_of
from destage.model.provenance import document
from destage.show.tables.frames import Tidy, by_column
from destage.show.tables.profile import profile_text
from destage.show.tables.trace_info import info_text

if TYPE_CHECKING:
    from destage.show.charts.profile_plots import ProfilePlots

__all__ = ["Counted", "TraceInfo", "TraceProfile", "profiled"]

#: What counts as a reference: page writes, or page reads and page writes.
Counted = Literal["writes", "all"]


@dataclass(frozen=True, repr=False)
class TraceInfo:
    """A trace in numbers; `data` has all of them, by the names of the JSON form."""

    data: Mapping[str, Any]
    """Everything: counts, sizes, rates, gaps, sequentiality, re-references, volumes."""

    def __getitem__(self, key: str) -> Any:
        """Return a part by its name."""
        return self.data[key]

    @property
    def requests(self) -> int:
        """Read and write requests."""
        return int(self.data["counts"]["requests"])

    @property
    def read_share(self) -> float:
        """Share of requests that read, 0..1."""
        return float(self.data["read_share"])

    @property
    def unique_pages(self) -> int:
        """Different pages, read or written."""
        return int(self.data["counts"]["unique_pages"])

    @property
    def footprint_bytes(self) -> int:
        """Different pages, in bytes."""
        return int(self.data["counts"]["footprint_bytes"])

    @property
    def duration_ns(self) -> int | None:
        """From the first to the last arrival; None if the trace has no times."""
        return int(self.data["duration_ns"]) if self.data["timed"] else None

    @property
    def mean_rate_per_s(self) -> float:
        """Requests per second over the duration; 0 without times."""
        return float(self.data["mean_rate_per_s"])

    def to_json(self, path: Destination | None = None) -> str:
        """Return everything as JSON, and write it to `path` if given (`-`: standard output)."""
        text = json.dumps(document("trace_info", self.data), indent=1) + "\n"
        if path is not None:
            write_whole(path, text)
        return text

    def __repr__(self) -> str:
        """Return what `destage trace info` prints."""
        return info_text(self.data)


@dataclass(frozen=True, repr=False)
class TraceProfile(Tidy):
    """Statistics of figures 2 to 6 of BPAC and 1 to 3 of AALRU, of one trace.

    docs/reference/profile-figures.md has the definitions. Distances count references, in virtual
    time: page writes, or all accesses.
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
        """Warnings about the figures."""
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
        """The points of a figure, a dictionary each.

        Raises `UsageError` if there is no such figure.
        """
        if figure not in FIGURES:
            raise UsageError(f"there is no figure {figure!r}; there are {', '.join(FIGURES)}")
        return rows_of(self.data, figure)

    def columns(self) -> dict[str, list[Any]]:
        """Every figure in one long table: `figure`, `series`, `x`, `x_to`, `y`, `y_to`, `value`.

        docs/reference/profile-figures.md lists them by figure.
        """
        long = [
            {"figure": name, "series": row["series"], **{key: _real(row, key) for key in _LONG}}
            for name in FIGURES
            for row in rows_of(self.data, name)
        ]
        return by_column(long) if long else {key: [] for key in ("figure", "series", *_LONG)}

    def _everything(self) -> Any:
        return document("trace_profile", self.data)

    def _provenance(self) -> Mapping[str, str]:
        plain = {k: v for k, v in self.data.items() if isinstance(v, (str, int, float))}
        return {"destage.profile": json.dumps(plain | {"options": self.data["options"]})}

    @property
    def plot(self) -> ProfilePlots:
        """Charts: `profile.plot.block_heat()`, `profile.plot.save("figures")`.

        Drawing raises `MissingExtra` without the extra `report`.
        """
        from destage.show.charts.profile_plots import ProfilePlots

        return ProfilePlots(self.data)

    def __repr__(self) -> str:
        """Return a few lines of numbers."""
        return profile_text(self.data)


#: Numbers of the long table. All are real, so that a column has one type.
_LONG = ("x", "x_to", "y", "y_to", "value")


def _real(row: Mapping[str, Any], key: str) -> float | None:
    value = row.get(key)
    return None if value is None else float(value)


def profiled(options: Mapping[str, Any], padding: str | None) -> list[tuple[str, str]]:
    """The policy whose padding a profile looks at, if any, when its options can be."""
    if options["counted"] not in ("writes", "all"):
        raise UsageError(f"counted: expected writes or all, got {options['counted']!r}")
    for key, value in options.items():
        if key == "counted":
            continue
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not 0 <= int(value) < 1 << 32:
            raise UsageError(f"{key}: expected a whole number below 2^32, got {value!r}")
    specs = [] if padding is None else _destage.parse_policies(canonical(padding))
    if padding is not None and len(specs) != 1:
        raise UsageError(f"padding: expected one policy, got {padding!r}")
    for name, _ in specs:
        if name in need_a_drive():
            raise UsageError(
                f"padding: {name} is device-aware, and a profile has no device;"
                " take one such as bplru"
            )
    return specs
