"""`advise_writes`: the best hit ratio within a budget of flash writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from destage.base.errors import DataError, UsageError
from destage.base.io.files import Destination
from destage.experiment.experiment import StoreLike, experiment_of
from destage.experiment.result_sets import together
from destage.experiment.results import Results
from destage.lab.checks import drive_of, one_trace
from destage.lab.options import ProgressCallback, RunOptions, thread_count
from destage.lab.policy_base import PolicyLike
from destage.lab.ssd import Device, DeviceLike
from destage.lab.traces import Trace
from destage.model.advised import Ran
from destage.model.budget import (
    BudgetAdvised,
    WriteBudget,
    Written,
    best_within,
    front_of,
    write_budget,
)
from destage.model.metrics import BASELINE, NO_CACHE
from destage.model.prices import Prices, prices_of
from destage.model.words import plain, significant, volume
from destage.questions.advice.answers import Answer
from destage.questions.advice.asking import refuse_tier3
from destage.questions.advice.running import Runner, Stopped
from destage.show.tables.budget import budget_table, budget_text
from destage.show.tables.table import Table

__all__ = ["FLASH", "TIER2", "BudgetAdvice", "advise_writes", "budget_of", "endurance_of"]

#: Candidates: no DRAM above a cache of pages, lru above one of blocks; policies of the flash tier.
ABOVE, ABOVE_PROMPTS = NO_CACHE, BASELINE
TIER2 = "lru,fifo,sieve,s3-fifo,arc,2q,w-tinylfu"
#: Size of the flash tier where none is given, of the trace's pages.
FLASH = "10%"
#: Filters that know no budget.
FILTERS = (
    "always,nth,nth[n=3],larc,tinylfu[threshold=2],reject-first"
    ",probability[p=0.5],probability[p=0.25],probability[p=0.1],probability[p=0.05]"
)
#: Windows of that filter in a trace that is too short for its own, of 60 s.
WINDOWS, SHORT_NS = 200, 200 * 60_000_000_000
#: Targets of the filter that has one, of the budget: what it writes lies on either side.
TARGETS = (1.0, 0.99, 0.97, 0.93, 0.85)


@dataclass(frozen=True, repr=False, kw_only=True)
class BudgetAdvice(Answer, BudgetAdvised):
    """Advice within a write budget, with every run behind it. As a table it has one row a run."""

    _schema = "destage.budget_advice"

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per run: writes of a day, life, place on the curve, and every metric."""
        return [self._row(one) for one in self.points]

    def _row(self, one: Written) -> dict[str, Any]:
        low, high = one.interval_from(self.chosen) or (None, None)
        return {
            "advised": one is self.chosen,
            "front": any(one is other for other in self.front),
            "within_budget": one.bytes_per_day <= self.budget.bytes_per_day,
            "hits": one.hits,
            "hits_from_advised_low": low,
            "hits_from_advised_high": high,
            "written_bytes_per_day": one.bytes_per_day,
            "life_years": one.years(self.endurance_bytes),
        } | one.run.to_dict()

    def as_table(self) -> Table:
        """Return the Pareto front and the advice."""
        return budget_table(self)

    def save_figure(self, folder: Destination) -> list[Any]:
        """Write the curve as SVG, PDF and PNG, with its data as CSV; return the files.

        Raises `MissingExtra` without the extra `report`, and `OutputError`.
        """
        from destage.show.charts.budget import save

        return list(save(self, folder))

    def _said(self) -> dict[str, Any]:
        def point(one: Written) -> dict[str, Any]:
            return {
                "label": one.run.label,
                "policy": one.run.policy,
                "cache_bytes": one.run.cache_bytes,
                "tier2_policy": one.run["tier2_policy"],
                "tier2_frames": one.run["tier2_frames"],
                "admit": one.run["admit"],
                "hits": one.hits,
                "hits_from_advised": one.interval_from(self.chosen),
                "written_bytes_per_day": one.bytes_per_day,
                "life_years": one.years(self.endurance_bytes),
            }

        return {
            "schema": self._schema,
            "schema_version": 1,
            "budget": {"text": self.budget.text, "bytes_per_day": self.budget.bytes_per_day},
            "endurance_bytes": self.endurance_bytes,
            "within_budget": self.is_kept,
            "advised": point(self.chosen),
            "most_hits": point(self.most),
            "front": [point(one) for one in self.front],
            "skipped": list(self.skipped),
            "runs": self.ran.runs,
            "interrupted": self.ran.interrupted,
        }

    def _text(self, *, explain: bool, width: int = 100, markdown: bool = False) -> str:
        return budget_text(self, explain=explain, width=width, markdown=markdown)

    def _page(self, command: str | None) -> str:
        from destage.show.pages.budget import budget_page

        return budget_page(self, self.results.result_sets[0], command)


def budget_of(budget_writes: str, drive: Device | None) -> WriteBudget:
    """The budget. Raises `UsageError`."""
    return write_budget(budget_writes, None if drive is None else drive.logical_bytes)


def endurance_of(
    prices: Prices, drive: Device | None, pe_cycles: int | None = None
) -> tuple[float | None, str]:
    """Bytes that a device endures, and where that is from."""
    if prices.tbw is not None:
        return prices.tbw, f"rated for {plain(volume(prices.tbw))} written"
    if drive is None and pe_cycles is not None:
        raise UsageError("--pe-cycles needs --device (device=)")
    cycles = None if drive is None else pe_cycles or drive.record["device"].get("pe_cycles")
    if drive is None or not cycles:
        return None, ""
    found = float(cycles) * float(drive.size["raw_bytes"])
    return found, f"{drive.name}: {significant(cycles)} erases of every block, at WAF 1"


def advise_writes(
    trace: Trace,
    budget_writes: str,
    *,
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    cache: str | Sequence[str] | None = None,
    device: DeviceLike | None = None,
    price: str | None = None,
    pe_cycles: int | None = None,
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> BudgetAdvice:
    """Find the flash cache with the most hits within a budget of flash writes.

    Every policy and filter that is asked for runs, and the filter `rate` at the budget and below
    it. Without `policies` there is no DRAM above the flash cache.

    Parameters:
        trace: with times; prompts with `kv=True`.
        budget_writes: `"300GB/day"`, or `"0.3dwpd"` of the capacity of `device`.
        policies, cache: policies of the DRAM cache above the flash cache, and its sizes.
        device: gives its capacity and endurance; it is not simulated.
        price: `"tbw=600TB"`, the rating of the SSD, for its life.
        pe_cycles: erases that a block of `device` endures, in place of its own number.
        options: of `compare`; `tier2`, `tier2_cache` and `admit` are the candidates.

    Raises what `compare` raises.
    """
    one_trace("advise_writes", trace, policies)
    thread_count(jobs)
    drive = None if device is None else drive_of(device, {})
    budget = budget_of(budget_writes, drive)
    prices = Prices() if price is None else prices_of(price)
    if not trace.duration_ns:
        raise DataError(f"{trace.name} has no times, so nothing is written in a day")
    given = {k: v for k, v in options.items() if v not in (None, False)}
    above, sizes, tiers = candidates(policies, cache, budget, given, trace.duration_ns)
    rest = {k: v for k, v in given.items() if k not in tiers[0]}
    experiment = experiment_of(store, jobs, progress)
    experiment.refuse_shards("advice")
    runner = Runner(trace, None, rest, experiment, None)
    results, skipped = _run(runner, above, sizes, tiers)
    points = tuple(one for run in results if (one := Written.of(run)) is not None)
    if not points:
        raise UsageError("nothing to advise: no request was measured")
    endurance, endurance_text = endurance_of(prices, drive, pe_cycles)
    return BudgetAdvice(
        trace=results[0].trace,
        budget=budget,
        chosen=best_within(points, budget.bytes_per_day),
        points=points,
        front=front_of(points),
        endurance_bytes=endurance,
        endurance_text=endurance_text,
        ran=Ran(len(results), interrupted=runner.interrupted),
        skipped=tuple(skipped),
        results=results,
    )


def candidates(
    policies: str | PolicyLike | Sequence[PolicyLike] | None,
    cache: str | Sequence[str] | None,
    budget: WriteBudget,
    given: Mapping[str, Any],
    span_ns: int,
) -> tuple[Any, Sequence[str], list[dict[str, Any]]]:
    """Policies of DRAM, its sizes, and the flash tiers to try. Raises `UsageError`."""
    refuse_tier3(given)
    has_dram = policies is not None or given.get("kv")
    if cache is not None and not has_dram:
        raise UsageError(
            "cache: the size of a DRAM cache, whose policy is missing: add --policy (policies=);"
            " the size of the flash cache is --tier2-cache (tier2_cache=)"
        )
    if cache is None and has_dram and policies != ABOVE:
        raise UsageError("cache: the DRAM cache has no size: add --cache (cache=)")
    above = (ABOVE_PROMPTS if given.get("kv") else ABOVE) if policies is None else policies
    window = f";window={max(1, span_ns // WINDOWS // 1_000_000)}ms" if span_ns < SHORT_NS else ""
    targets = dict.fromkeys(round(share * budget.bytes_per_day) for share in TARGETS)
    rates = [f"rate[bytes_per_day={target}{window}]" for target in targets]
    admit = given.get("admit") or ",".join((FILTERS, *rates))
    common = {
        "tier2_cache": given.get("tier2_cache") or FLASH,
        "admit": admit,
        **{k: given[k] for k in ("offer", "promote") if given.get(k)},
    }
    below = given.get("tier2") or TIER2
    names = below.split(",") if isinstance(below, str) and "[" not in below else [below]
    sizes = ["1p"] if cache is None else [cache] if isinstance(cache, str) else list(cache)
    return above, sizes, [{"tier2": name, **common} for name in names]


def _run(
    runner: Runner, above: Any, sizes: Sequence[str], tiers: Sequence[Mapping[str, Any]]
) -> tuple[Results, list[str]]:
    """The runs of every tier, and the tiers that cannot be."""
    sets: list[dict[str, Any]] = []
    skipped: list[str] = []
    for tier in tiers:
        try:
            sets += map(dict, runner.compared(above, sizes, tier=tier).sets)
        except Stopped:
            break
        except UsageError as e:
            if len(tiers) == 1:
                raise
            skipped.append(f"{tier['tier2']}: {e}")
    if not sets and skipped:
        raise UsageError(skipped[0])
    return Results([together(sets)] if sets else []), skipped
