"""The three statements beyond the papers, each with its figure, from the tables of `beyond`.

They compare, over LRU's mean response time: the choice among seven common policies, one policy
that asks the device and does nothing else, and MIN, which has the most hits of all. Of a workload
that is drawn with several seeds each share is a mean with its 95 % interval; a recording has one
value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

from destage.model.estimates import Estimate, estimate
from destage.model.metrics import BASELINE, ORACLE
from destage.model.naming import default_padding
from destage.reproduce.claims import Figure
from destage.reproduce.figures import Drawing, Point
from destage.reproduce.sums import Sums
from destage.reproduce.wording import number

__all__ = [
    "COMMON",
    "LEVEL",
    "PADDED",
    "UNPADDED",
    "Findings",
    "Gains",
    "ahead",
    "gains",
    "online_means",
    "picture",
    "saved",
]

#: Differences up to this share of LRU's mean count as none.
LEVEL = 0.01

#: Policies that differ in whom they keep, and ask no device.
COMMON = ("lru", "arc", "2q", "s3-fifo", "car", "slru", "clock")
#: BPLRU as it is, and without the pages that it reads and writes to fill blocks.
PADDED = default_padding()
UNPADDED = f"{PADDED}[padding=false]"
#: LRU that asks each unit for the length of its queue.
AWARE = "ecr-e"
CHOICE, ASKING, HITS = "choice among seven policies", f"asking ({AWARE})", "most hits (MIN)"
#: Policies of each workload in the figure of rank reversals, beside LRU.
REVERSED = 1

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Gains:
    """Shares of LRU's mean response time, on one workload in front of one device."""

    choice: Estimate
    """Between the slowest and the fastest of `COMMON`."""
    asking: Estimate
    """Saved by `AWARE`; below 0: lost."""
    hits: Estimate
    """Saved by MIN."""
    asking_over_choice: Estimate
    hits_over_asking: Estimate


def online_means(table: Data, axis: str, label: str) -> dict[str, float]:
    """Mean response times of the policies that can run in practice, the lowest first."""
    found = _means(table, axis, label)
    online = {p: mean for p, mean in found.items() if p not in table["offline"]}
    return dict(sorted(online.items(), key=lambda item: (item[1], item[0])))


def _means(table: Data, axis: str, label: str) -> dict[str, float]:
    return {p: fmean(means) for p, means in _drawn(table, axis, label).items()}


def _drawn(table: Data, axis: str, label: str) -> dict[str, list[float]]:
    """Mean response times of each policy, one for each draw of the workload."""
    return {
        row["policy"]: row[axis][label]["response_ns_means"]
        for row in table["rows"]
        if label in row[axis]
        and not isinstance(row[axis][label], str)
        and all(row[axis][label]["response_ns_means"])
    }


def saved(table: Data, axis: str, label: str, policy: str, than: str = BASELINE) -> Estimate:
    """Saving of a policy over another one, as a share of LRU's mean; all three ran."""
    drawn = _drawn(table, axis, label)
    every = zip(drawn[policy], drawn[than], drawn[BASELINE], strict=True)
    return estimate([(other - mine) / lru for mine, other, lru in every])


def ahead(difference: Estimate) -> bool:
    """Whether a difference is significant and at least `LEVEL`."""
    return difference.low > 0 and difference.mean >= LEVEL


def gains(data: Data, table: Data, axis: str, label: str) -> Gains | None:
    """Gain of the three ways in front of one device; None where one of them did not run."""
    means = _means(table, axis, label)
    common = sorted((p for p in COMMON if p in means), key=lambda p: means[p])
    if len(common) < 2 or any(p not in means for p in (BASELINE, ORACLE, AWARE)):
        return None
    drawn = _drawn(table, axis, label)
    every = zip(*(drawn[p] for p in (BASELINE, common[0], common[-1], AWARE, ORACLE)), strict=True)
    shares = [
        ((slow - fast) / lru, 1 - ask / lru, 1 - least / lru)
        for lru, fast, slow, ask, least in every
    ]
    choices, askings, hits = (estimate(column) for column in zip(*shares, strict=True))
    return Gains(
        choices,
        askings,
        hits,
        estimate([asking - choice for choice, asking, _ in shares]),
        estimate([most - asking for _, asking, most in shares]),
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
        more = sum(ahead(g.asking_over_choice) for _, _, g in rows)
        less = sum(ahead(-g.asking_over_choice) for _, _, g in rows)
        return (
            f"Device-aware eviction (`{AWARE}`: LRU with each unit's queue length) saves"
            f" {_range(g.asking for g in base)} of LRU's mean response time with the preset;"
            f" choosing among {', '.join(COMMON)} changes it by {_range(g.choice for g in base)}."
            f" Device-awareness saves more in {more} of {len(rows)} configurations of workload and"
            f" collector{f', less in {less}' if less else ''}."
        )

    def _hits(self) -> str:
        """Whether the eviction wait decides if hits or queues bring more."""
        counts: dict[str, tuple[int, int]] = {}
        parts = []
        rows = list(self._along("waits"))
        for label in self.data["waits"]:
            here = [g for one, _, g in rows if one == label]
            if here:
                count = sum(ahead(g.hits_over_asking) for g in here)
                counts[label] = (count, len(here))
                parts.append(
                    f"`evict_wait={label}` on {count} of {len(here)} workloads (MIN"
                    f" {_range(g.hits for g in here)}, `{AWARE}` {_range(g.asking for g in here)})"
                )
        ratios = []
        for table in self.tables:
            hits = {row["policy"]: row["hit_ratio"] for row in table["rows"]}
            if hits.get(BASELINE) and hits.get(ORACLE):
                ratios.append(round(hits[ORACLE] / hits[BASELINE], 1))
        if not counts or not ratios:
            return ""
        decides = len({2 * count > every for count, every in counts.values()}) > 1
        times = " to ".join(f"{r:g}" for r in sorted({min(ratios), max(ratios)}))
        return (
            f"The eviction-wait model {'changes' if decides else 'does not change'} this. MIN, with"
            f" {times} times LRU's hits, saves more than `{AWARE}` with {'; '.join(parts)}."
        )

    def _ranks(self) -> str:
        found = [(len(ranks), name, load, ranks) for load, name, ranks in self._reversals()]
        if not found:
            return ""
        most = max(found, key=lambda f: (max(f[3].values()) - min(f[3].values()), f[1]))
        _, name, load, ranks = most
        places = ", ".join(f"{_ordinal(rank)} with `{ftl}`" for ftl, rank in ranks.items())
        return (
            f"The FTL changes the ranking: on {load} `{name}` is {places}, of"
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
                points.append(Point(load, label, series, y.mean, y.low, y.high))
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


def _ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `11th`."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def _range(values: Iterable[Estimate]) -> str:
    """The least and the greatest mean."""
    found = sorted(value.mean for value in values)
    low, high = (number(v, share=True) for v in (found[0], found[-1]))
    return low if low == high else f"{low} to {high}"
