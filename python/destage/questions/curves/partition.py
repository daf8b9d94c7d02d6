"""Experts of a model under one cache, and under a cache for each layer: `partition`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from destage.base.errors import UsageError
from destage.experiment.results import Results
from destage.lab.checks import asked_curves, every_size_asked, one_trace
from destage.lab.options import ProgressCallback
from destage.lab.policy_base import OwnPolicy, PolicyLike, Spec, spec_label
from destage.lab.traces import Trace, open_trace
from destage.model.metrics import ORACLE
from destage.model.partition import Gains, Layer, Point, TokenTime, best, gains_of, token_time_of
from destage.model.provenance import document
from destage.model.run import Run
from destage.model.words import counted
from destage.questions.runs import Interrupted, compare
from destage.show.tables.frames import Tabled, by_column
from destage.show.tables.partition import partition_answer, partition_table
from destage.show.tables.table import Table

__all__ = ["CACHES", "ONLINE", "Partitioned", "check_partition", "partition"]

#: Policies and cache sizes where none are named.
ONLINE, CACHES = "lru,lfu,arc,lirs,s3-fifo", "10%,25%,50%"

#: The format with experts, and its numbers of pages: layer x 4096 + expert.
FORMAT, MOST_EXPERTS = "moe-routing", 4096
#: Bytes of its pages where the reader has no other size.
PAGE_BYTES = 4096


@dataclass(frozen=True, repr=False)
class Partitioned(Tabled):
    """One cache for all layers against a cache for each, and what would gain more hits."""

    trace: Mapping[str, Any]
    """Identity of the trace."""
    layers: tuple[Layer, ...]
    points: tuple[Point, ...]
    """Every policy at every cache size."""
    gains: tuple[Gains, ...]
    """For each cache size, what MIN and what twice the size would gain."""
    token_time: TokenTime | None = None

    @property
    def answer(self) -> str:
        """A line for each cache size: policy failure or working-set failure."""
        return partition_answer(self.gains, self.layers)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per cache size and policy; times are None without `token_time`."""
        reads = sum(layer.reads for layer in self.layers)
        time, tokens = self.token_time, 0
        if time is not None:
            tokens = time.tokens(self.layers)
        rows = []
        for point in self.points:
            row: dict[str, Any] = {
                "policy": point.policy,
                "cache": point.cache,
                "cache_pages": point.frames,
                "layers": len(self.layers),
                "reads": reads,
            }
            for name, misses in (("one", point.misses), ("per_layer", sum(point.layer_misses))):
                row[f"misses_{name}"] = misses
                row[f"hit_ratio_{name}"] = (reads - misses) / reads
                row[f"ms_per_token_{name}"] = time.ms(misses, tokens) if time else None
            rows.append(row)
        return rows

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return by_column(self.to_dicts())

    def as_table(self) -> Table:
        """Return the table that the command line prints."""
        return partition_table(self.points, self.layers, self.token_time)

    def _everything(self) -> Any:
        gains = [{**asdict(one), "verdict": one.verdict} for one in self.gains]
        content = {
            "trace": dict(self.trace),
            "layers": [asdict(layer) for layer in self.layers],
            "points": [asdict(point) for point in self.points],
            "gains": gains,
            "token_time": None if self.token_time is None else asdict(self.token_time),
        }
        return document("partition", content)

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.trace": json.dumps(dict(self.trace))}

    def __repr__(self) -> str:
        """Return what the command prints."""
        return f"{self.answer}\n\n{self.as_table().text()}"


def partition(
    trace: Trace,
    policies: str | PolicyLike | Sequence[PolicyLike] = ONLINE,
    *,
    by: str = "layer",
    cache: str | Sequence[str] = CACHES,
    token_time: str | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Partitioned:
    """Compare one cache for all experts of a model with a cache for each layer.

    MIN runs beside the policies. The caches of the layers have equal shares: of a size that the
    layers do not divide, the first layers have one expert more.

    Parameters:
        trace: of format `moe-routing`.
        policies: as in `mrc`; at least one online policy.
        by: `"layer"`.
        cache: sizes, as in `mrc`, of all layers together; at least an expert for each layer.
        token_time: `"expert=18MB,read=3GB/s,top=8"` gives milliseconds per token: bytes of an
            expert, read rate, experts that a token reads in each layer.
        jobs, progress: as in `compare`.

    Raises as `mrc`; on Ctrl-C `KeyboardInterrupt`.

    >>> import destage
    >>> destage.partition(destage.open_trace([1, 2, 3]))
    Traceback (most recent call last):
        ...
    destage.base.errors.UsageError: partition: expected a trace of format moe-routing, found csv
    """
    one_trace("partition", trace, policies)
    time = check_partition(policies, by=by, cache=cache, token_time=token_time)
    parts = _layers(trace)
    layers = tuple(Layer(n, len(reads), len(set(reads))) for n, reads in parts.items())
    if time is not None:
        time.tokens(layers)
    shown = [spec for spec in asked_curves(policies) if spec_label(spec) != ORACLE]
    by_label: dict[str, PolicyLike] = {spec_label(spec): _named(spec) for spec in shown}
    run: list[PolicyLike] = [*by_label.values(), ORACLE]
    whole = _compared(trace, run, cache, jobs, progress)
    marked = ["hit_ratio" in marks.best for marks in whole.marks]
    sizes = {one.cache: one.frames for one in whole}
    _check_shares(sizes, len(layers))
    misses = _per_layer(list(parts.values()), run, sorted(set(sizes.values())), jobs)
    points, gains = list[Point](), list[Gains]()
    for size, frames in sizes.items():
        at = [one for one in zip(whole, marked, strict=True) if one[0].cache == size]
        found = [_point(*one, of) for one, of in zip(at, misses[frames], strict=True)]
        points += found
        chosen = run[found.index(best(found))]
        twice = _compared(trace, [chosen], f"{2 * frames}p", jobs)[0]
        gains.append(gains_of(found, int(twice["misses"]), sum(one.reads for one in layers)))
    return Partitioned(trace.identity, layers, tuple(points), tuple(gains), time)


def _point(run: Run, is_best: bool, layer_misses: Sequence[int]) -> Point:
    where = (run.label, run.policy == ORACLE, run.cache, run.frames, is_best)
    return Point(*where, int(run["misses"]), tuple(layer_misses))


def _compared(
    trace: Trace,
    run: Sequence[PolicyLike],
    cache: str | Sequence[str],
    jobs: int | None,
    progress: ProgressCallback | None = None,
) -> Results:
    """Runs of one cache; after Ctrl-C there is no part of the answer."""
    try:
        return compare(trace, run, cache=cache, jobs=jobs, progress=progress)
    except Interrupted:
        raise KeyboardInterrupt from None


def _check_shares(sizes: Mapping[str, int], layers: int) -> None:
    """Raise `UsageError` for a size that leaves a layer without a cache."""
    for size, frames in sizes.items():
        if frames < layers:
            raise UsageError(
                f"cache {size}: {counted(frames, 'expert')} for {counted(layers, 'layer')}:"
                f" expected at least one for each, such as {layers}p"
            )


def check_partition(
    policies: str | PolicyLike | Sequence[PolicyLike],
    *,
    by: str,
    cache: str | Sequence[str],
    token_time: str | None,
) -> TokenTime | None:
    """Raise `UsageError` for what cannot be, before a trace is opened."""
    if by != "layer":
        raise UsageError(f"partition: expected layer, got {by!r}")
    if every_size_asked(cache)[0]:
        raise UsageError(f"cache all: a partition is of named sizes, such as {CACHES}")
    if all(spec_label(spec) == ORACLE for spec in asked_curves(policies)):
        raise UsageError(
            f"partition: {ORACLE} alone is a bound: name a policy that does not know the future,"
            f" such as {ONLINE}"
        )
    return None if token_time is None else token_time_of(token_time)


def _named(spec: Spec) -> PolicyLike:
    return (spec, {}) if isinstance(spec, OwnPolicy) else spec_label(spec)


def _layers(trace: Trace) -> dict[int, list[int]]:
    """The experts that each layer read, in order. Raises `UsageError` for another trace."""
    found = trace.identity
    if found["format"] != FORMAT:
        raise UsageError(f"partition: expected a trace of format {FORMAT}, found {found['format']}")
    own = found["options"].get("reader", {}).get("page_bytes", PAGE_BYTES)
    if found["page_bytes"] != own:
        raise UsageError(
            f"partition: expected a page for each expert, found pages of {found['page_bytes']}"
            f" bytes for experts of {own}: leave out the page size"
        )
    parts: dict[int, list[int]] = defaultdict(list)
    for request in trace:
        parts[request.page // MOST_EXPERTS].append(request.page)
    return dict(sorted(parts.items()))


def _per_layer(
    parts: Sequence[list[int]], run: Sequence[PolicyLike], sizes: Sequence[int], jobs: int | None
) -> dict[int, list[list[int]]]:
    """Misses by size of all layers together, then by policy, then by layer."""
    found: dict[int, list[list[int]]] = {frames: [[] for _ in run] for frames in sizes}
    for k, pages in enumerate(parts):
        trace = open_trace(pages, cache=False)
        shares = {f: f // len(parts) + (k < f % len(parts)) for f in sizes}
        distinct = sorted(set(shares.values()))
        results = _compared(trace, run, [f"{share}p" for share in distinct], jobs)
        for frames, share in shares.items():
            at = [int(one["misses"]) for one in results if one.frames == share]
            for policy, misses in zip(found[frames], at, strict=True):
                policy.append(misses)
    return found
