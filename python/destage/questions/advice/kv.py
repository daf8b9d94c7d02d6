"""`advise --kv`: policy, DRAM, flash and admission filter for the prompts of a language model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from destage import _destage
from destage.base.errors import DataError, UsageError
from destage.base.io.files import Destination
from destage.experiment.experiment import Experiment, StoreLike, experiment_of
from destage.experiment.result_sets import together
from destage.experiment.results import Results
from destage.lab.checks import one_trace, sizes_json
from destage.lab.options import ProgressCallback, RunOptions, options_json, thread_count
from destage.lab.policy_base import PolicyLike
from destage.lab.traces import Trace
from destage.model.kv_advice import HIT, KvAdvised, KvConfiguration, KvRan, choose, rated
from destage.model.prices import Prices, prices_of
from destage.model.run import Run
from destage.model.words import finite
from destage.questions.advice.asking import WITHIN, share_of
from destage.questions.runs import Interrupted, compare
from destage.show.tables.advice import WIDE
from destage.show.tables.frames import Tabled, by_column
from destage.show.tables.kv_advice import everything, kv_table, kv_text, row_of
from destage.show.tables.table import Table

__all__ = ["KvAdvice", "KvGrid", "advise_kv", "check_servers", "kv_grid"]

#: Candidates of tier 1, of tier 2, and filters.
POLICIES, TIER2, ADMIT = (
    "lru,arc,s3-fifo,lirs",
    "lru,s3-fifo",
    "always,nth,tinylfu[threshold=2],larc",
)
#: Sizes, of the trace's unique blocks.
DRAM, FLASH = ("1%", "4%", "16%"), ("10%", "30%")
#: What is not measured unless the call says otherwise: requests that fill the caches.
WARMUP = "50%"


@dataclass(frozen=True, repr=False)
class KvAdvice(KvAdvised, Tabled):
    """Advice with every run behind it. As a table it has one row a configuration."""

    results: Results = field(default_factory=Results)
    """Every run."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per configuration: whether it is advised, and every metric."""
        return [row_of(self, one) for one in self.candidates]

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return by_column(self.to_dicts())

    def _everything(self) -> Any:
        return everything(self) | {"results": self.results._everything()}

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.kv_advice": json.dumps(everything(self))}

    def as_table(self) -> Table:
        """Return the choice at each pair of sizes."""
        return kv_table(self)

    def text(self, *, explain: bool = False, width: int = WIDE) -> str:
        """Return what the command line prints; `explain` adds filters, settings and method."""
        return kv_text(self, explain=explain, width=width)

    def write_page(self, path: Destination, command: str | None = None) -> None:
        """Write a page that opens offline: the advice, its curves, and the settings of each host.

        `command` is the command line that makes it again. Raises `MissingExtra` without the extra
        `report`, and `OutputError`.
        """
        from destage.base.io.files import write_whole
        from destage.base.io.names import check_page
        from destage.questions.reports import need_report

        need_report()
        check_page(path)
        from destage.show.pages.kv_advice import kv_advice_page

        write_whole(path, kv_advice_page(self, self.results.result_sets, command))

    def to_markdown(self, path: Destination | None = None) -> str:
        """Return all of it as Markdown, and write it to `path` if given."""
        from destage.base.io.files import write_whole

        text = kv_text(self, explain=True, markdown=True)
        if path is not None:
            write_whole(path, text)
        return text

    def __repr__(self) -> str:
        """Return what the command line prints."""
        return self.text()


@dataclass(frozen=True)
class KvGrid:
    """What is run."""

    policies: str | PolicyLike | Sequence[PolicyLike]
    cache: tuple[str, ...]
    tiers: Mapping[str, Any]
    """Options of the flash tier."""
    options: Mapping[str, Any]

    def run(self, trace: Trace, experiment: Experiment) -> tuple[list[Mapping[str, Any]], bool]:
        """Result sets without flash, then with it; and whether Ctrl-C ended them."""
        sets: list[Mapping[str, Any]] = []
        shared: dict[str, Any] = {"cache": list(self.cache), "store": experiment}
        try:
            for tiers in ({}, self.tiers):
                found = compare(trace, self.policies, **shared, **self.options, **tiers)
                sets += found.sets
        except Interrupted as e:
            if not isinstance(e.results, Results):
                raise
            return [*sets, *e.results.sets], True
        return sets, False


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
    tiers = {
        "tier2": options.get("tier2") or TIER2,
        "tier2_cache": options.get("tier2_cache") or ",".join(FLASH),
        "admit": options.get("admit") or ADMIT,
        **{k: options[k] for k in ("offer", "promote") if options.get(k)},
    }
    rest = {k: v for k, v in options.items() if k not in tiers and v is not None}
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
    return KvGrid(POLICIES if policies is None else policies, sizes, tiers, rest)


def _frames(trace: Trace, sizes: Sequence[str]) -> list[int]:
    resolved = json.loads(_destage.resolve_sizes(trace.raw, json.dumps(list(sizes))))
    return [int(one["frames"]) for one in resolved]


def advise_kv(
    trace: Trace,
    *,
    budget: str | None = None,
    within: float | str = WITHIN,
    price: str | None = None,
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    cache: str | Sequence[str] | None = None,
    force: bool = False,
    servers: int = 1,
    prefill_tokens_per_s: float | None = None,
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> KvAdvice:
    """Find policy, DRAM, flash and admission filter for the prompts of a language model.

    Of the configurations whose token hit ratio is within a share of the highest, those whose drive
    lasts `years` are preferred; of these, the one with the least DRAM is advised, then with the
    least flash, then with the fewest flash writes. A drive is assumed to be rated for one write of
    its whole capacity a day. With its rated writes (`tbw`), only configurations that last are
    candidates; with the price of memory too, the one that costs least a year is advised.

    Parameters:
        trace: prompts, opened with `bytes_per_token` of the model.
        budget: the largest DRAM.
        within: how near to the most hits is near enough.
        price: as in `advise`; `tbw=600TB` is the rating of the drive, `years` its least life.
        policies, cache: policies of tier 1, and sizes of DRAM.
        force: settings also where the trace is short or has few hits.
        servers: servers with such a cache and load each, for what they take together.
        prefill_tokens_per_s: prompt tokens that a server computes in a second, for the rate from
            which on reading flash is faster.
        options: those of `compare`; `tier2`, `tier2_cache` and `admit` are the flash tiers that are
            tried. `warmup` is half of the requests.

    Raises what `compare` raises.
    """
    one_trace("advise_kv", trace, policies)
    thread_count(jobs)
    check_servers(servers, prefill_tokens_per_s)
    near = share_of(within)
    prices = Prices() if price is None else prices_of(price)
    grid = kv_grid(trace, policies, cache, budget, options)
    experiment = experiment_of(store, jobs, progress)
    experiment.refuse_shards("advice")
    sets, interrupted = grid.run(trace, experiment)
    advice = _advised(trace, sets, grid, experiment, prices, near)
    ran = KvRan(len(advice.results), str(grid.options["warmup"]), interrupted)
    return replace(
        advice, ran=ran, force=force, servers=servers, prefill_tokens_per_s=prefill_tokens_per_s
    )


def check_servers(servers: int, prefill_tokens_per_s: float | None) -> None:
    """Raise `UsageError` for what is no number of servers, or no rate."""
    if isinstance(servers, bool) or not isinstance(servers, int) or servers < 1:
        raise UsageError(f"servers: expected a whole number from 1, got {servers!r}")
    rate = prefill_tokens_per_s
    if rate is not None and (finite(rate) is None or rate <= 0):
        raise UsageError(f"prefill_tokens_per_s: expected a number above 0, got {rate!r}")


def _advised(
    trace: Trace,
    sets: Sequence[Mapping[str, Any]],
    grid: KvGrid,
    experiment: Experiment,
    prices: Prices,
    near: float,
) -> KvAdvice:
    """What the runs say."""
    results = Results(list(sets))
    candidates = tuple(KvConfiguration(r, prices) for r in results if not r.knows_the_future)
    candidates = tuple(one for one in candidates if one.run[HIT] is not None)
    if not candidates:
        raise UsageError("nothing to advise: no request was measured")
    chosen = choose(candidates, near)
    alone = [one for one in candidates if not one.flash_bytes]
    alone = [one for one in alone if one.dram_bytes <= chosen.dram_bytes]
    dram_only = max(alone, key=lambda one: (one.hits, -one.dram_bytes))
    return KvAdvice(
        trace=results[0].trace,
        within=near,
        prices=prices,
        chosen=chosen,
        best=max(rated(candidates), key=lambda one: one.hits),
        dram_only=dram_only,
        gain=_gain(results, chosen.run, dram_only.run),
        bound=_bound(trace, candidates, grid, experiment),
        curve=tuple(_curve(candidates, chosen, near)),
        filters=tuple(_filters(candidates, chosen)),
        candidates=candidates,
        ran=KvRan(0, ""),
        doubts=trace.doubts,
        results=results,
    )


def _gain(results: Results, mine: Run, other: Run) -> tuple[float, float] | None:
    """Where the hits of a run less those of another lie; None where no interval is known."""
    if mine is other or mine.frames != other.frames:
        return None
    sets = [{**one, "runs": [run]} for one in results.sets for run in one["runs"]]
    both = [sets[k] for k, run in enumerate(results) if run is mine or run is other]
    pair = Results([together(both)])
    runs = {run.label: run for run in pair}
    return runs[mine.label].minus(runs[other.label], HIT)


def _bound(
    trace: Trace, candidates: Sequence[KvConfiguration], grid: KvGrid, experiment: Experiment
) -> float | None:
    """The token hit ratio of the bound with all that the largest configuration holds."""
    largest = max(candidates, key=lambda one: one.dram_bytes + one.flash_bytes)
    pages = (largest.dram_bytes + largest.flash_bytes) // trace.page_bytes
    try:
        found = compare(
            trace, "prefix-min", cache=f"{pages}p", store=experiment, **_of_one_tier(grid)
        )
    except (UsageError, Interrupted):
        return None  # A block with several predecessors has no bound.
    return None if not found else float(found[0][HIT] or 0.0)


def _of_one_tier(grid: KvGrid) -> dict[str, Any]:
    return {key: value for key, value in grid.options.items() if key not in grid.tiers}


def _curve(
    candidates: Sequence[KvConfiguration], chosen: KvConfiguration, within: float
) -> Iterable[KvConfiguration]:
    """The choice at each pair of sizes, ascending; the advice at its own."""
    at: dict[tuple[int, int], list[KvConfiguration]] = {}
    for one in candidates:
        at.setdefault(one.sizes, []).append(one)
    for sizes in sorted(at):
        yield chosen if sizes == chosen.sizes else choose(at[sizes], within)


def _filters(
    candidates: Sequence[KvConfiguration], chosen: KvConfiguration
) -> Iterable[KvConfiguration]:
    """The configurations that differ from the advice in the filter alone."""
    if not chosen.flash_bytes:
        return ()
    keys = ("label", "frames", "tier2_policy", "tier2_frames", "offer", "promote")

    def but_filter(one: KvConfiguration) -> tuple[Any, ...]:
        row = one.run.to_dict()
        return (row["policy"], json.dumps(dict(one.run.params)), *(row[key] for key in keys[1:]))

    return (one for one in candidates if but_filter(one) == but_filter(chosen))
