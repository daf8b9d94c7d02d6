"""Advice for KV caches of language models: the rule of the choice, and all that it consists of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from destage.model.prices import YEAR_NS, Prices
from destage.model.run import Run, TraceIdentity

__all__ = [
    "ASSUMED_YEARS",
    "DAY_NS",
    "HIT",
    "KvAdvised",
    "KvConfiguration",
    "KvRan",
    "choose",
    "rated",
]

#: What advice for KV caches makes large.
HIT = "token_hit_ratio"
#: A shorter trace says nothing that a setting should be made of.
LEAST_NS = 600e9
#: Fewer hits save so little that no cache is worth it.
LEAST_HITS = 0.01
#: A day.
DAY_NS = 86_400e9
#: Rating of the drive where none is given: drive writes a day, over the years of its warranty. That
#: of SSDs for reading in data centres.
ASSUMED_WRITES_PER_DAY, ASSUMED_YEARS = 1.0, 5.0
#: Capacities in which SSDs are sold, bytes: those of data centres, less the smallest.
SOLD = tuple(int(tb * 1e12) for tb in (0.48, 0.96, 1.92, 3.84, 7.68, 15.36, 30.72, 61.44, 122.88))
#: Where no drive lasts: lives at least this share of the longest count as equal.
LONG_LIVED = 0.5


@dataclass(frozen=True)
class KvConfiguration:
    """A run as a cache that one can buy: DRAM, and flash below it or none."""

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
        """Rated writes of the drive; those of a drive write a day where none are given."""
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
        """Bytes of a cached token; those of a block's unused end among them."""
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
        """What of two that are near enough is less.

        Dollars where prices are given; else less DRAM, then less flash, then fewer flash writes.
        """
        sizes = (float(self.dram_bytes), float(self.flash_bytes), float(self.written), -self.hits)
        return sizes if self.dollars is None else (self.dollars, *sizes)


def rated(candidates: Sequence[KvConfiguration]) -> Sequence[KvConfiguration]:
    """Those that may be advised: with the rating of the drive given, those whose drive lasts."""
    lasting = [one for one in candidates if one.prices.tbw is None or one.lasts]
    return lasting or candidates


def choose(candidates: Sequence[KvConfiguration], within: float) -> KvConfiguration:
    """The cheapest whose hits are within a share of the most; of equals the first.

    Of those near enough, one whose drive lasts is preferred; if none lasts, one that lives at least
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


def _cost(one: KvConfiguration) -> tuple[float, ...]:
    return one.cost


@dataclass(frozen=True)
class KvRan:
    """The runs behind advice."""

    runs: int
    """Runs over the whole trace."""
    warmup: str
    """Part of the trace that is not measured."""
    interrupted: bool = False
    """Ctrl-C ended the runs."""


@dataclass(frozen=True, repr=False)
class KvAdvised:
    """Which policy, how much DRAM and flash, which admission filter, and how long a drive lasts."""

    trace: TraceIdentity
    """The trace that was replayed."""
    within: float
    """How near to the most hits is near enough, as a share of them."""
    prices: Prices
    """What was given of memory and drive."""
    chosen: KvConfiguration
    """The advice."""
    best: KvConfiguration
    """Most hits of all candidates; with a rating given, of those whose drive lasts."""
    dram_only: KvConfiguration
    """Most hits without flash, with at most the DRAM of the advice."""
    gain: tuple[float, float] | None
    """Where the hits of the advice less those without flash lie, with 95 % confidence."""
    bound: float | None
    """Share of the tokens that no policy passes at the largest size; None if it is not known."""
    curve: tuple[KvConfiguration, ...]
    """The choice at each pair of sizes, by the same rule among the runs of these sizes."""
    filters: tuple[KvConfiguration, ...]
    """The advice with each other filter."""
    candidates: tuple[KvConfiguration, ...]
    """Every configuration that could be advised."""
    ran: KvRan
    """The runs."""
    force: bool = False
    """Settings are printed whatever the trace."""
    servers: int = 1
    """Servers that each have such a cache and such a load."""
    prefill_tokens_per_s: float | None = None
    """Prompt tokens that a server computes in a second; None where it is not known."""
    doubts: tuple[Mapping[str, str], ...] = ()
    """Numbers of the trace that a workload can hardly have: `about`, `cause` and `remedy`."""

    @property
    def worth_reading_bytes_per_s(self) -> float | None:
        """Rate above which reading a token from flash takes less time than computing it."""
        rate = self.prefill_tokens_per_s
        return None if rate is None else rate * self.chosen.bytes_per_token

    @property
    def run(self) -> Run:
        """The run that is advised."""
        return self.chosen.run

    @property
    def rises(self) -> str:
        """The sizes that gain still at the largest that was tried: `DRAM`, `flash`; else empty.

        A size gains if all smaller ones have fewer hits than are near the most.
        """
        found = []
        for name in ("DRAM", "flash"):
            sizes = [(one.sizes[name == "flash"], one) for one in self.candidates]
            largest = max(size for size, _ in sizes)
            smaller = [one.hits for size, one in sizes if size < largest]
            most = max(one.hits for size, one in sizes if size == largest)
            if smaller and max(smaller) < most * (1 - self.within):
                found.append(name)
        whole = max(sum(one.sizes) for one in self.candidates)
        return "" if whole >= self.trace.footprint_bytes else " and ".join(found)

    @property
    def worth(self) -> bool:
        """Whether a cache saves a share of the tokens that is worth anything."""
        return self.chosen.hits >= LEAST_HITS

    @property
    def flash_worth(self) -> bool:
        """Whether flash is part of the advice, and its gain is significant where it is known."""
        return self.chosen.flash_bytes > 0 and (self.gain is None or self.gain[0] > 0)

    @property
    def withheld(self) -> str:
        """Why no settings are printed; empty if they are."""
        if self.force:
            return ""
        if not self.worth:
            return f"fewer than {100 * LEAST_HITS:.0f} % of the prompt tokens are hits"
        duration = self.trace.duration_ns
        if duration is None or duration < LEAST_NS:
            return "the trace is shorter than ten minutes"
        return ""
