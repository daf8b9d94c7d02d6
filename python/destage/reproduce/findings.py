"""The three statements beyond the papers, each with its figure, from the tables of `beyond`.

They compare, over LRU's mean response time: the choice among seven common policies, the best
policy that asks the device, and MIN, which has the most hits of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from destage.model.metrics import BASELINE, ORACLE
from destage.reproduce.claims import Figure
from destage.reproduce.figures import Drawing, Point
from destage.reproduce.sums import Sums
from destage.reproduce.wording import number

__all__ = ["COMMON", "Findings", "Gains", "gains", "online_means", "picture"]

#: Policies that differ in whom they keep, and ask no device.
COMMON = ("lru", "arc", "2q", "s3-fifo", "car", "slru", "clock")
CHOICE, ASKING, HITS = "choice among seven policies", "asking the device", "most hits (MIN)"
#: Policies of each workload in the figure of rank reversals, beside LRU.
REVERSED = 1

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Gains:
    """Shares of LRU's mean response time, on one workload in front of one device."""

    choice: float
    """Between the slowest and the fastest of `COMMON`."""
    asking: float
    """Saved by the best device-aware policy; below 0: lost."""
    hits: float
    """Saved by MIN."""
    best: str
    """That policy."""


def online_means(table: Data, axis: str, label: str) -> dict[str, float]:
    """Mean response times of the policies that can run in practice, the lowest first."""
    found = _means(table, axis, label)
    online = {p: mean for p, mean in found.items() if p not in table["offline"]}
    return dict(sorted(online.items(), key=lambda item: (item[1], item[0])))


def _means(table: Data, axis: str, label: str) -> dict[str, float]:
    return {
        row["policy"]: float(row[axis][label]["response_ns_mean"])
        for row in table["rows"]
        if label in row[axis]
        and not isinstance(row[axis][label], str)
        and row[axis][label]["response_ns_mean"]
    }


def gains(data: Data, table: Data, axis: str, label: str) -> Gains | None:
    """What the three ways bring in front of one device; None where one of them did not run."""
    means = _means(table, axis, label)
    common = [means[p] for p in COMMON if p in means]
    aware = {p: means[p] for p in data["aware"] if p in means}
    if BASELINE not in means or ORACLE not in means or len(common) < 2 or not aware:
        return None
    lru, best = means[BASELINE], min(aware, key=lambda p: (aware[p], p))
    return Gains(
        (max(common) - min(common)) / lru,
        1 - aware[best] / lru,
        1 - means[ORACLE] / lru,
        best,
    )


class Findings:
    """The statements and figures of the tables."""

    def __init__(self, data: Data) -> None:
        """Take the tables of `beyond`."""
        self.data = data
        self.tables: Sequence[Data] = data["tables"]

    def _along(self, axis: str) -> Iterator[tuple[str, str, Gains]]:
        """Value of the axis, workload, gains."""
        for label in self.data[axis]:
            for table in self.tables:
                found = gains(self.data, table, axis, label)
                if found is not None:
                    yield label, table["load"], found

    @cached_property
    def statements(self) -> list[tuple[str, str]]:
        """Sentences, each with the id of its figure."""
        found = [(self._asking(), "collectors"), (self._hits(), "waits"), (self._ranks(), "ranks")]
        return [(text, figure) for text, figure in found if text]

    def _asking(self) -> str:
        first = next(iter(self.data["collectors"]))
        rows = list(self._along("collectors"))
        base = [g for label, _, g in rows if label == first]
        if not base:
            return ""
        more = sum(g.asking > g.choice for _, _, g in rows)
        return (
            f"Asking the device brings more than the choice among {', '.join(COMMON)} in {more} of"
            f" {len(rows)} configurations of workload and collector. With the preset the choice"
            f" moves the mean response time by {_range(g.choice for g in base)} of LRU's, and the"
            f" best device-aware policy saves {_range(g.asking for g in base)}."
        )

    def _hits(self) -> str:
        """Whether the eviction wait decides if hits or queues bring more."""
        ahead: dict[str, tuple[int, int]] = {}
        parts = []
        rows = list(self._along("waits"))
        for label in self.data["waits"]:
            here = [g for one, _, g in rows if one == label]
            if here:
                count = sum(g.hits > g.asking for g in here)
                ahead[label] = (count, len(here))
                parts.append(
                    f"evict_wait={label}: {count} of {len(here)} (MIN saves"
                    f" {_range(g.hits for g in here)} of LRU's mean, asking the device"
                    f" {_range(g.asking for g in here)})"
                )
        ratios = []
        for table in self.tables:
            hits = {row["policy"]: row["hit_ratio"] for row in table["rows"]}
            if hits.get(BASELINE) and hits.get(ORACLE):
                ratios.append(round(hits[ORACLE] / hits[BASELINE], 1))
        if not ahead or not ratios:
            return ""
        decides = len({2 * count > every for count, every in ahead.values()}) > 1
        times = " to ".join(f"{r:g}" for r in sorted({min(ratios), max(ratios)}))
        return (
            f"What an eviction waits for {'decides' if decides else 'does not decide'} whether hits"
            f" or queues bring more. Workloads on which MIN, with {times} times LRU's hits, brings"
            f" more than asking the device: {'; '.join(parts)}."
        )

    def _ranks(self) -> str:
        found = [(len(ranks), name, load, ranks) for load, name, ranks in self._reversals()]
        if not found:
            return ""
        most = max(found, key=lambda f: (max(f[3].values()) - min(f[3].values()), f[1]))
        _, name, load, ranks = most
        places = ", ".join(f"number {rank} behind `{ftl}`" for ftl, rank in ranks.items())
        return (
            f"Ranks turn with the FTL: on {load} `{name}` is {places}, of"
            f" {self._compared(load)} online policies."
        )

    def _orders(self, table: Data) -> dict[str, list[str]]:
        """The online policies that ran behind every FTL, the fastest first, by FTL."""
        means = {ftl: online_means(table, "ftls", ftl) for ftl in self.data["ftls"]}
        everywhere = set.intersection(*(set(found) for found in means.values()))
        return {ftl: [p for p in found if p in everywhere] for ftl, found in means.items()}

    def _compared(self, load: str) -> int:
        table = next(t for t in self.tables if t["load"] == load)
        return len(next(iter(self._orders(table).values())))

    def _reversals(self) -> Iterator[tuple[str, str, dict[str, int]]]:
        """Workload, policy and its rank by FTL."""
        for table in self.tables:
            orders = self._orders(table)
            for name in next(iter(orders.values())):
                yield table["load"], name, {f: o.index(name) + 1 for f, o in orders.items()}

    @property
    def figures(self) -> list[Told]:
        """A figure for each statement."""
        return [
            Told(self._gains(figure), text) if figure != "ranks" else Told(self._places(), text)
            for text, figure in self.statements
        ]

    def _gains(self, axis: str) -> Drawing:
        points = []
        for label, load, g in self._along(axis):
            for series, y in ((CHOICE, g.choice), (ASKING, g.asking), (HITS, g.hits)):
                points.append(Point(load, label, series, y, y, y))
        figure = Figure(
            id=axis,
            where="",
            title=f"Share of LRU's mean response time, by {axis}",
            runs="",
            x="device",
            panels="workload",
            y_title="Share of LRU's mean response time (%)",
        )
        return _drawing(figure, points, percent=True)

    def _places(self) -> Drawing:
        points = []
        for table in self.tables:
            found = [(n, r) for load, n, r in self._reversals() if load == table["load"]]
            apart = sorted(found, key=lambda f: (min(f[1].values()) - max(f[1].values()), f[0]))
            for name, ranks in [*apart[:REVERSED], *(f for f in found if f[0] == BASELINE)]:
                points += [
                    Point(table["load"], ftl, name, rank, rank, rank) for ftl, rank in ranks.items()
                ]
        figure = Figure(
            id="ranks",
            where="",
            title="Rank by mean response time, behind each FTL",
            runs="",
            x="ftl",
            mark="line",
            panels="workload",
            y_title="Rank (1: fastest)",
        )
        return _drawing(figure, points, percent=False)


@dataclass(frozen=True)
class Told:
    """A figure and the sentence that it shows."""

    drawn: Drawing
    text: str

    @property
    def id(self) -> str:
        """Name of its file."""
        return self.drawn.figure.id


class _Sentence(Sums):
    """The title of a figure that is about no claim."""

    @property
    def told(self) -> str:
        return ""


def picture(one: Told) -> str:
    """The figure as SVG. Needs the extra `report`."""
    from destage.reproduce.panels import svg

    return svg(one.drawn, _Sentence((), {}, ()))


def _drawing(figure: Figure, points: Sequence[Point], *, percent: bool) -> Drawing:
    xs, series, panels = (
        tuple(dict.fromkeys(str(getattr(p, key)) for p in points))
        for key in ("x", "series", "panel")
    )
    return Drawing(figure, tuple(points), xs, series, panels, percent)


def _range(values: Any) -> str:
    found = sorted(values)
    low, high = (number(v, share=True) for v in (found[0], found[-1]))
    return low if low == high else f"{low} to {high}"
