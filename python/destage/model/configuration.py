"""Configurations of DRAM and flash: wear, cost, and the rule that chooses one.

Calculated from finished runs; `destage.advise_kv` makes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from destage.model.prices import YEAR_NS, Prices
from destage.model.run import Run

__all__ = [
    "ASSUMED_YEARS",
    "DAY_NS",
    "HIT",
    "Configuration",
    "cheapest",
    "chosen_by_size",
    "other_filters",
    "rated",
]

#: The metric that advice on KV caches maximises.
HIT = "token_hit_ratio"
#: A day.
DAY_NS = 86_400e9
#: Rating of the drive where none is given: drive writes a day, over the years of its warranty. That
#: of SSDs for reading in data centres.
ASSUMED_WRITES_PER_DAY, ASSUMED_YEARS = 1.0, 5.0
#: Capacities of SSDs for data centres, bytes, without the smallest.
SOLD = tuple(int(tb * 1e12) for tb in (0.48, 0.96, 1.92, 3.84, 7.68, 15.36, 30.72, 61.44, 122.88))
#: Where no drive lasts: lives at least this share of the longest count as equal.
LONG_LIVED = 0.5


@dataclass(frozen=True)
class Configuration:
    """A run as a cache to buy: DRAM, and flash below it or none."""

    run: Run
    """The run."""
    prices: Prices
    """What memory and the drive cost, and what the drive endures."""

    @property
    def hits(self) -> float:
        """Share of the prompt tokens that are in a cached prefix."""
        return float(self.run[HIT] or 0.0)

    @property
    def dram_bytes(self) -> int:
        """Size of tier 1."""
        return self.run.cache_bytes

    @property
    def flash_bytes(self) -> int:
        """Size of tier 2; 0 without one."""
        return int(self.run["tier2_frames"] or 0) * self.run.trace.page_bytes

    @property
    def sizes(self) -> tuple[int, int]:
        """DRAM and flash."""
        return self.dram_bytes, self.flash_bytes

    @property
    def written(self) -> int:
        """Blocks written to flash."""
        return int(self.run["tier2_writes"] or 0)

    @property
    def written_per_day(self) -> float | None:
        """Bytes written to flash in a day; None if the trace has no times."""
        if not self.flash_bytes or not self.written:
            return 0.0
        found = self.run["flash_bytes_per_day"]
        return None if found is None else float(found)

    @property
    def rated_bytes(self) -> float:
        """Rated writes of the drive; by default a drive write a day."""
        if self.prices.tbw is not None:
            return self.prices.tbw
        days = ASSUMED_YEARS * YEAR_NS / DAY_NS
        return ASSUMED_WRITES_PER_DAY * days * self.flash_bytes

    @property
    def life_years(self) -> float | None:
        """Years until the rated writes are used up.

        None without times, and where nothing is written: then it lasts.
        """
        if not self.written_per_day:
            return None
        return self.rated_bytes / self.written_per_day * DAY_NS / YEAR_NS

    @property
    def needed_bytes(self) -> float | None:
        """Rated writes that the years of the prices take; None where a day's are not known."""
        per_day = self.written_per_day
        return None if per_day is None else per_day * YEAR_NS / DAY_NS * self.prices.years

    @property
    def sold_bytes(self) -> int:
        """Capacity of the smallest drive that is sold and holds the flash; 0 without flash.

        Above the largest, as many of those as hold it.
        """
        if not self.flash_bytes:
            return 0
        fitting = (size for size in SOLD if size >= self.flash_bytes)
        return next(fitting, math.ceil(self.flash_bytes / SOLD[-1]) * SOLD[-1])

    @property
    def drive_writes_per_day(self) -> float | None:
        """Writes of a day over the capacity that is sold; None without flash, and without times."""
        per_day = self.written_per_day
        return None if per_day is None or not self.flash_bytes else per_day / self.sold_bytes

    @property
    def drives(self) -> int | None:
        """Drives of the given rating that together last the years; None without a rating."""
        if self.prices.tbw is None or not self.needed_bytes:
            return None
        return math.ceil(self.needed_bytes / self.prices.tbw)

    @property
    def flash_read_bytes_per_s(self) -> float | None:
        """Bytes read from flash in a second, on average; None without times."""
        per_day = self.written_per_day
        if not per_day:
            return None
        return per_day * int(self.run["tier2_reads"] or 0) / self.written * 1e9 / DAY_NS

    @property
    def bytes_per_token(self) -> float:
        """Bytes of a cached token, including the unused end of its block."""
        return self.run.trace.page_bytes * int(self.run["blocks"]) / int(self.run["tokens"])

    @property
    def wears_out(self) -> bool:
        """Whether the drive ends before the years that it is asked to last."""
        years = self.life_years
        return years is not None and years < self.prices.years

    @property
    def dollars(self) -> float | None:
        """Dollars a year: memory, and the wear of the drive; None without prices."""
        prices = self.prices.behind(self.flash_bytes)
        per_day = self.written_per_day
        if prices.dram is None or prices.tbw is None or per_day is None:
            return None
        wear = per_day * (YEAR_NS / DAY_NS) / prices.tbw
        return prices.memory(self.dram_bytes) + (prices.drive or 0.0) * wear

    @property
    def lasts(self) -> bool:
        """Whether the drive lasts as long as it is asked to; priced wear may be anything."""
        return self.dollars is not None or not self.wears_out

    @property
    def cost(self) -> tuple[float, ...]:
        """Order of configurations that are near enough, the cheapest first.

        Dollars where prices are given; else less DRAM, then less flash, then fewer flash writes.
        """
        sizes = (float(self.dram_bytes), float(self.flash_bytes), float(self.written), -self.hits)
        return sizes if self.dollars is None else (self.dollars, *sizes)


def rated(candidates: Sequence[Configuration]) -> Sequence[Configuration]:
    """Those that may be advised: with the rating of the drive given, those whose drive lasts."""
    lasting = [one for one in candidates if one.prices.tbw is None or one.lasts]
    return lasting or candidates


def cheapest(candidates: Sequence[Configuration], within: float) -> Configuration:
    """The cheapest whose hits are within a share of the most; of equals the first.

    Of the near ones, one whose drive lasts is preferred; if none lasts, one that lives at least
    half as long as the longest-lived.
    """
    known = rated(candidates)
    best = max(one.hits for one in known)
    near = [one for one in known if one.hits >= best * (1 - within)]
    lasting = [one for one in near if one.lasts]
    if not lasting:
        longest = max(one.life_years or 0.0 for one in near)
        lasting = [one for one in near if (one.life_years or 0.0) >= LONG_LIVED * longest]
    return min(lasting, key=_cost)


def _cost(one: Configuration) -> tuple[float, ...]:
    return one.cost


def chosen_by_size(
    candidates: Sequence[Configuration], chosen: Configuration, within: float
) -> Iterator[Configuration]:
    """The choice at each pair of sizes, ascending; the advice at its own."""
    at: dict[tuple[int, int], list[Configuration]] = {}
    for one in candidates:
        at.setdefault(one.sizes, []).append(one)
    for sizes in sorted(at):
        yield chosen if sizes == chosen.sizes else cheapest(at[sizes], within)


def other_filters(
    candidates: Sequence[Configuration], chosen: Configuration
) -> Iterator[Configuration]:
    """The configurations that differ from the advice in the filter alone."""
    keys = ("policy", "frames", "tier2_policy", "tier2_frames", "offer", "promote")

    def but_filter(one: Configuration) -> tuple[Any, ...]:
        row = one.run.to_dict()
        return (json.dumps(dict(one.run.params)), *(row[key] for key in keys))

    if chosen.flash_bytes:
        yield from (one for one in candidates if but_filter(one) == but_filter(chosen))
