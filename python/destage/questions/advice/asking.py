"""Arguments of advice, checked before anything runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from destage import _destage
from destage.base.errors import DataError, UsageError
from destage.lab.checks import Exclusions, asked, sizes_json, suiting
from destage.lab.options import options_json
from destage.lab.policy_base import OwnPolicy, PolicyLike, Spec, is_none, policy_specs, spec_label
from destage.lab.ssd import Device
from destage.lab.traces import Trace
from destage.model.goals import COST, Goal, goals_of
from destage.model.metrics import BASELINE, offline
from destage.model.naming import catalogue, default_policies, excluded_by, need_a_drive
from destage.model.prices import Prices, prices_of
from destage.model.words import counted, finite, plain, size
from destage.questions.curves.calls import mrc

__all__ = [
    "ADVISED",
    "NEVER",
    "WITHIN",
    "KvGrid",
    "Sizes",
    "between",
    "candidates",
    "check_ahead",
    "check_servers",
    "check_trace",
    "kv_grid",
    "like",
    "looks_at_the_drive",
    "share_of",
    "sizes_of",
    "with_the_usual",
]

#: Candidates unless policies are named: classics, clean/dirty-aware policies, and the nearest ones
#: to deployed caches; with a device, also device-aware policies.
ADVISED = default_policies("advised")
#: Sizes that are tried between the smallest that will do and the next smaller one.
STEPS = 3
#: Shares of the trace's pages that are tried beyond the usual half where a cache is enlarged.
GROWN = (0.7, 1.0)
#: How near to the best is near enough.
WITHIN = 0.02

#: Of KV caches: candidates of tier 1, of tier 2, and filters.
KV_POLICIES, TIER2, ADMIT = (
    "lru,arc,s3-fifo,lirs",
    "lru,s3-fifo",
    "always,nth,tinylfu[threshold=2],larc",
)
#: Sizes, of the trace's unique blocks.
DRAM, FLASH = ("1%", "4%", "16%"), ("10%", "30%")
#: Default warm-up of KV caches: requests that fill them.
WARMUP = "50%"

#: Why no policy of those that were asked for is advised.
NOTHING = (
    "policies: nothing to advise: a policy that uses future accesses cannot be built, random is the"
    " baseline that a policy must beat, and none is no cache"
)
#: A baseline for others: it runs if it is named, and is never advised.
NEVER = frozenset({"random"})
#: Metrics that only a closed loop changes.
RATES = frozenset({"iops", "mb_per_s"})

#: What only counts where something is written.
_OF_WRITES = re.compile(
    r"waf|erases|flash_programs|gc_|physical_writes|flash_writes|pending|write_response|destage"
)


def share_of(within: float | str) -> float:
    """The share that `within` stands for: `2%`, `0.02`. Raises `UsageError`."""
    value: object = within
    if isinstance(within, str):
        text = within.strip()
        try:
            value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise UsageError(
            f"within: expected a share such as 2% or 0.02, below 100 %, got {within!r}"
        )
    return float(value)


def check_ahead(
    objective: str | Sequence[str] | None,
    price: str | None,
    drive: Device | None,
    pe_cycles: int | None,
    budget: str | None,
    tier2: object = None,
) -> tuple[Goal, ...]:
    """The objectives, with the prices of the device; above a flash tier (`tier2`) hits of both
    tiers count. Raises `UsageError` for what cannot be.
    """
    prices = Prices() if price is None else prices_of(price)
    if drive is not None:
        prices = prices.behind(drive.logical_bytes)
    usual = "mean" if drive is not None else "overall_hit_ratio" if tier2 else "hit"
    goals = goals_of(usual if objective is None else objective, prices)
    for goal in goals:
        if goal.needs_a_drive and drive is None:
            raise UsageError(f"objective {goal.name}: {goal.column} needs --device (device=)")
    if pe_cycles is not None and drive is None:
        raise UsageError("--pe-cycles needs --device (device=)")
    for goal in goals:
        if goal.column in RATES and drive is not None and drive.queue_depth is None:
            raise UsageError(
                f"objective {goal.name}: with the trace's own timestamps requests come at the rate"
                " of the trace, whatever the cache: add --queue-depth (queue_depth=)"
            )
    if any(goal.name == COST for goal in goals):
        _check_cost(prices, drive, pe_cycles)
    if budget is not None:
        _check_budget(budget)
    return goals


def _check_cost(prices: Prices, drive: Device | None, pe_cycles: int | None) -> None:
    assert drive is not None
    if prices.dram is None:
        raise UsageError(
            "objective cost: what memory costs is not given: add --price dram=3.0/GiB (price=)"
        )
    if prices.tbw is None and not pe_cycles and not drive.record["device"].get("pe_cycles"):
        raise UsageError(
            "objective cost: the device's endurance is not given: add tbw=600TB to --price, or"
            " --pe-cycles"
        )
    if drive.queue_depth is not None:
        raise UsageError(
            "objective cost: in a closed loop requests come as fast as the device takes them, which"
            " no year can be made of: leave out --queue-depth"
        )


def _check_budget(budget: str) -> None:
    if not isinstance(budget, str):
        raise UsageError(f'budget: expected a size such as "64MiB", got {budget!r}')
    if "," in budget or budget.strip().lower() == "auto":
        raise UsageError(f"budget: expected one size, such as 64MiB or 10%, got {budget!r}")
    _named("budget", budget)
    _destage.check_run(json.dumps([budget]), "{}")


def _named(what: str, text: str) -> None:
    if not text.strip():
        raise UsageError(f"{what}: expected a size such as 64MiB, got nothing")


def check_trace(trace: Trace, goals: Sequence[Goal]) -> None:
    """Raise for a trace that says nothing of the objectives."""
    if not trace.accesses:
        raise DataError(f"{trace.name}: there is no request in it that reads or writes")
    for goal in goals:
        column = goal.column
        if not trace.overview["counts"]["writes"] and _OF_WRITES.search(column):
            raise UsageError(
                f"objective {goal.name}: {trace.name} has no writes, so that nothing is written to"
                " flash or erased: take p99, mean or hit"
            )
        if goal.name == COST and not trace.duration_ns:
            raise UsageError(
                f"objective cost: {trace.name} has no times that a year could be made of"
            )


@dataclass(frozen=True)
class Sizes:
    """The cache sizes that are tried, and where they are from."""

    frames: tuple[int, ...]
    """Pages, ascending."""
    budget: int | None
    """Pages of the budget."""
    notes: tuple[str, ...]
    """Notes on the candidates."""

    @property
    def asked(self) -> list[str]:
        """As `compare` takes them."""
        return [f"{frames}p" for frames in self.frames]


def sizes_of(
    trace: Trace, cache: str | Sequence[str] | None, budget: str | None, *, grows: bool = False
) -> Sizes:
    """The sizes that are tried. Raises `UsageError` for a budget that holds none.

    A cache that grows may hold all pages: below its default nothing can be typed.
    """
    most = None if budget is None else _frames(trace, [budget])[0]
    unique = trace.unique_pages
    notes: list[str] = []
    if cache is not None:
        found = _frames(trace, json.loads(sizes_json(cache)))
        _check_asked(trace, found, most)
        return Sizes(tuple(sorted(set(found))), most, ())
    found = [*_frames(trace, ["auto"]), *_of_the_curve(trace)]
    if grows and most is None:
        found += [round(share * unique) for share in GROWN]
    top = max(found)
    if most is not None:
        top = min(most, unique)
        found = [f for f in found if f <= top] + [top]
        if most > unique:
            pages = counted(unique, "page")
            notes.append(
                plain(f"the budget holds all {pages} that the trace touches: sizes end there")
            )
    else:
        notes.append(
            f"no budget: sizes up to {size(top * trace.page_bytes)},"
            f" {'all' if grows else 'half of the'} pages that the trace touches, and the least"
            " sizes of products"
        )
    return Sizes(tuple(sorted(set(found))), most, tuple(plain(n) for n in notes))


def between(low: int, high: int) -> set[int]:
    """Sizes between two, evenly apart in their logarithm."""
    steps = STEPS + 1
    return {round(low * (high / low) ** (k / steps)) for k in range(1, steps)} - {low, high}


def _check_asked(trace: Trace, found: Sequence[int], most: int | None) -> None:
    page = trace.page_bytes
    for frames in found:
        if most is not None and frames > most:
            raise UsageError(
                plain(f"cache: {size(frames * page)} is above the budget of {size(most * page)}")
            )
        if frames > trace.unique_pages:
            raise UsageError(
                plain(
                    f"cache: {size(frames * page)} holds {counted(frames, 'page')}, and"
                    f" {trace.name} touches {trace.unique_pages:,}: nothing ever leaves a cache"
                    f" that large; take at most {size(trace.unique_pages * page)}"
                )
            )


def _frames(trace: Trace, sizes: Sequence[str]) -> list[int]:
    resolved = json.loads(_destage.resolve_sizes(trace.raw, json.dumps(list(sizes))))
    return [int(one["frames"]) for one in resolved]


def _of_the_curve(trace: Trace) -> list[int]:
    """Where the exact curve of LRU bends, and where it has 90, 95 and 99 % of its best hits."""
    curve = mrc(trace, BASELINE, cache="auto").data["mrc"]["curves"][0]
    every = curve.get("every_size") or {}
    half = max(1, trace.unique_pages // 2)
    found = [int(at["frames"]) for key in ("knees", "enough") for at in every.get(key, ())]
    return [frames for frames in found if frames <= half]


def candidates(
    policies: str | PolicyLike | Sequence[PolicyLike] | None,
    drive: Device | None,
    options: Mapping[str, object],
) -> list[Spec]:
    """The policies that may be advised, with these options of runs. Raises `UsageError`."""
    if policies is None:
        excluded = excluded_by(options)
        named = policy_specs(ADVISED)
        specs = [s for s in named if isinstance(s, OwnPolicy) or s[0] not in excluded]
        if drive is None:
            # Writing together what leaves together shows only in front of a device.
            over = {one["name"] for one in catalogue() if one["family"] == "over"}
            blind = [spec for spec in specs if not looks_at_the_drive(spec)]
            return [s for s in blind if isinstance(s, OwnPolicy) or s[0] not in over]
        return suiting(specs, drive, Exclusions())
    specs = asked(policies, "1p", drive, options)[0]
    known = [s for s in specs if not isinstance(s, OwnPolicy)]
    if len(known) == len(specs) and all(is_none(s) or s[0] in offline() | NEVER for s in known):
        raise UsageError(NOTHING)
    return specs


def with_the_usual(specs: Sequence[Spec]) -> list[Spec]:
    """The same with lru behind them, which others are measured against."""
    labels = {spec_label(spec) for spec in specs}
    return [*specs, *(s for s in policy_specs(BASELINE) if spec_label(s) not in labels)]


def like(spec: Spec) -> PolicyLike:
    """A policy as `compare` takes it, its parameters with it."""
    if isinstance(spec, OwnPolicy):
        own: PolicyLike = (spec, {})
        return own
    name, given = spec
    return (name, json.loads(given) if isinstance(given, str) else dict(given))


def looks_at_the_drive(spec: Spec) -> bool:
    """Whether a policy cannot be tried without a device."""
    if isinstance(spec, OwnPolicy):
        return spec.needs_device
    return spec[0] in need_a_drive()


@dataclass(frozen=True)
class KvGrid:
    """The candidates of advice on KV caches: every combination of these."""

    policies: str | PolicyLike | Sequence[PolicyLike]
    cache: tuple[str, ...]
    tiers: tuple[Mapping[str, Any], ...]
    """Options of the flash tier; of DRAM alone there are none."""
    options: dict[str, Any]
    """The other options of a run."""


def refuse_tier3(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for a third tier, where the tiers are chosen."""
    if any(options.get(key) is not None for key in options if key.startswith("tier3")):
        raise UsageError(
            "tier3 (--tier3): this advice chooses a DRAM cache and a flash tier; compare runs three"
            " tiers (destage compare TRACE --tier2 ... --tier3 ...)"
        )


#: Options of a flash tier that this advice chooses or takes.
TIER_KEYS = ("tier2", "tier2_cache", "admit", "offer", "promote")


def kv_grid(
    trace: Trace,
    policies: str | PolicyLike | Sequence[PolicyLike] | None,
    cache: str | Sequence[str] | None,
    budget: str | None,
    options: Mapping[str, Any],
) -> KvGrid:
    """The runs of advice. Raises `UsageError` for what cannot be."""
    if not trace.accesses:
        raise DataError(f"{trace.name}: there is no prompt in it")
    refuse_tier3(options)
    tiers = _flash_tiers(options)
    rest = {k: v for k, v in options.items() if k not in TIER_KEYS and v is not None}
    rest |= {"kv": True, "warmup": options.get("warmup") or WARMUP}
    sizes = tuple(json.loads(sizes_json(DRAM if cache is None else cache)))
    if budget is not None:
        most = _frames(trace, [budget])[0]
        sizes = tuple(s for s in sizes if _frames(trace, [s])[0] <= most)
        if cache is None and budget not in sizes:
            sizes = (*sizes, budget)
        if not sizes:
            raise UsageError(f"budget: no DRAM size that is tried is at most {budget}")
    options_json("compare", {**rest, **tiers})
    return KvGrid(
        KV_POLICIES if policies is None else policies, sizes, ({}, tiers) if tiers else ({},), rest
    )


def _flash_tiers(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the flash tiers to try; none for `tier2 = "none"`, which is DRAM alone."""
    given = {key: options[key] for key in TIER_KEYS if options.get(key)}
    if given.get("tier2") not in ("none", ["none"], ("none",)):
        return {"tier2": TIER2, "tier2_cache": ",".join(FLASH), "admit": ADMIT} | given
    if len(given) > 1:
        others = ", ".join(key for key in given if key != "tier2")
        raise UsageError(f"tier2 = none: there is no flash tier for {others}")
    return {}


def check_servers(servers: int, prefill_tokens_per_s: float | None) -> None:
    """Raise `UsageError` for an invalid number of servers, or rate."""
    if isinstance(servers, bool) or not isinstance(servers, int) or servers < 1:
        raise UsageError(f"servers: expected a whole number from 1, got {servers!r}")
    rate = prefill_tokens_per_s
    if rate is not None and (finite(rate) is None or rate <= 0):
        raise UsageError(f"prefill_tokens_per_s: expected a number above 0, got {rate!r}")
