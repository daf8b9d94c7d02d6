"""Conclusions from runs in front of a device, in words: which policy, how large a cache, and why.

Who wins is decided by the rule of `model.winners`. What lies
behind a difference is not proven here; the sentences put beside it what moved with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from destage.model.drive import telling_size
from destage.model.metrics import (
    ALL_HITS,
    BASELINE,
    LARGEST_PENDING,
    METRICS,
    WRITES,
    Metric,
    offline,
)
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.values import valued
from destage.model.winners import Winner, change, winners
from destage.model.words import join, percent, printable, size
from destage.show.tables.summary import alike, outcome, where, who

__all__ = ["verdict"]

#: A cache is large enough that comes so near to the best mean response of any size.
NEAR = 0.05

_METRICS = {m.name: m for m in METRICS}


@dataclass(frozen=True)
class _Sign:
    """A number that may lie behind a difference in response, as a sentence says it."""

    metric: str
    #: With a smaller value, and with a larger one.
    less: str
    more: str


_SIGNS = (
    _Sign("read_response_ns_mean", "faster reads", "slower reads"),
    _Sign("write_response_ns_mean", "faster writes", "slower writes"),
    _Sign(ALL_HITS, "a lower hit ratio of all tiers", "a higher hit ratio of all tiers"),
    _Sign("hit_ratio", "a lower hit ratio", "a higher hit ratio"),
    _Sign("eviction_wait_ns_mean", "shorter waits of destages", "longer waits of destages"),
    _Sign(
        "victim_in_gc_ratio",
        "fewer dirty victims whose unit is in GC",
        "more dirty victims whose unit is in GC",
    ),
    _Sign("dirty_victim_ratio", "fewer victims that are dirty", "more victims that are dirty"),
    _Sign("unbalance_rate_mean", "more even queues", "less even queues"),
    _Sign(WRITES, "fewer flash writes", "more flash writes"),
    _Sign("tier2_writes", "fewer writes to the flash tier", "more writes to the flash tier"),
)


def verdict(result: ResultSet) -> list[str]:
    """The fastest policy by cache size, correlated metrics, the useful cache size.

    Empty where no two runs have response times at the same size.
    """
    found = winners(result, _METRICS["response_ns_mean"])
    if not found:
        return []
    pair = _pair(result, found)
    if pair and len(found) == 1:
        place = where(pair[0])
        sentences = [_begun(f"{_on(result)}{place[0].lower()}{place[1:]}, {_compared(*pair)}")]
    else:
        sentences = [_fastest(result, found)]
        if pair:
            sentences.append(f"{where(pair[0])}, {_compared(*pair)}")
    if pair:
        sentences += _behind(*pair)
    if len(result.sizes) > 1 and (large := _how_large(result)):
        sentences.append(large)
    return sentences


def _on(result: ResultSet) -> str:
    name = (result.drive or {}).get("name")
    return f"On SSD {printable(name)}, " if name else ""


def _begun(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _fastest(result: ResultSet, found: list[Winner]) -> str:
    """The policy with the shortest response time at each size."""
    on = _on(result)
    if len(found) == 1:
        first = found[0]
        at = where(result.at(first.frames)[0])
        value = valued(first.metric, first.value)
        place = f"{on}{at[0].lower()}{at[1:]}"
        if first.sole:
            return _begun(
                f"{place}, {first.labels[0]} has the shortest mean response time: {value}."
            )
        if first.measured:
            return _begun(
                f"{place}, {alike(first)}, which has the shortest mean response time: {value}."
            )
        return _begun(f"{place}, {who(first)} tie: mean response time {value}, within 1\u00a0%.")
    return _begun(f"{on}the shortest mean response time: {outcome(result, found)}.")


def _pair(result: ResultSet, found: list[Winner]) -> tuple[Run, Run] | None:
    """The fastest run at the most telling size, and lru's there; or the second's, if it is lru."""
    frames = telling_size(result)
    winner = next((w for w in found if w.frames == frames), None)
    if winner is None:
        return None
    rows = [
        r
        for r in result.at(winner.frames)
        if r.policy not in offline() and r["response_ns_mean"] is not None
    ]
    rows.sort(key=lambda r: r["response_ns_mean"])
    best = rows[0]
    other = next((r for r in rows if r.label == BASELINE and r is not best), rows[1])
    differs = change("response_ns_mean", best, other) is not None
    return (best, other) if differs else None


def _compared(best: Run, other: Run) -> str:
    """The mean and the tail of the two, to the end of the sentence."""
    mean = _METRICS["response_ns_mean"]
    less = -(change(mean.name, best, other) or 0.0)
    text = (
        f"{best.label} has a mean response time of {valued(mean, best[mean.name])}, "
        f"{percent(less, 1)} less than {other.label} ({valued(mean, other[mean.name])})"
    )
    tail = _METRICS["response_ns_p99"]
    if best[tail.name] is None or other[tail.name] is None:
        return f"{text}."
    moved = change(tail.name, best, other)
    mine, theirs = valued(tail, best[tail.name]), valued(tail, other[tail.name])
    within, against = f"99\u00a0% within {mine}", f"{other.label}: {theirs}"
    if moved is None and mine == theirs:
        return f"{text}; {within}, as {other.label}."
    if moved is None:
        return f"{text}; {within} ({against}): no significant difference."
    joined = "and" if moved < 0 else "but"
    return f"{text}, {joined} {within} ({against})."


def _behind(best: Run, other: Run) -> list[str]:
    """Metrics that moved with the response time, for and against."""
    gains: list[str] = []
    pains: list[str] = []
    tiered = best.metrics.get(ALL_HITS) is not None
    for sign in _SIGNS:
        if sign.metric not in best.metrics or (tiered and sign.metric == "hit_ratio"):
            continue
        moved_by = change(sign.metric, best, other)
        if moved_by is None:
            continue
        metric = _METRICS[sign.metric]
        words = sign.less if moved_by < 0 else sign.more
        text = f"{words} ({_values(metric, best, other)})"
        good = (moved_by < 0) == (metric.better == "lower")
        (gains if good else pains).append(text)
    sentences = []
    if gains:
        sentences.append(f"Correlated: {join(gains)}.")
    if pains:
        sentences.append(f"Worse: {join(pains)}.")
    return sentences


def _values(metric: Metric, best: Run, other: Run) -> str:
    theirs = valued(metric, other[metric.name])
    return f"{valued(metric, best[metric.name])}, {other.label} {theirs}"


def _how_large(result: ResultSet) -> str:
    """The smallest cache that comes near to the best that any size gives.

    Sizes that are measured from different requests are compared over their common part.
    """
    metric = _METRICS["response_ns_mean"]
    rows = [r for r in result.by_size if r[metric.name] is not None and r.policy not in offline()]
    rows = [row for row in rows if not row.cache_not_full and row.policy != "none"]
    start = max((row.warmup_requests for row in rows), default=0)
    means = {id(row): row.mean_response_after(start) or row[metric.name] for row in rows}

    def mean(row: Run) -> float:
        return means[id(row)]

    best: dict[int, Run] = {}
    for row in rows:
        if row.frames not in best or mean(row) < mean(best[row.frames]):
            best[row.frames] = row
    if len(best) < 2:
        return ""
    late = max(best.values(), key=lambda run: run.deferred_share)
    if late.deferred_share > LARGEST_PENDING:
        return (
            f"No recommended size: {late.label}, fastest at {size(late.cache_bytes)}, still has "
            f"{percent(late.deferred_share, 0)} of its flash writes pending at the end."
        )
    least = min(map(mean, best.values()))
    first, last = best[min(best)], best[max(best)]
    enough = next(row for _, row in sorted(best.items()) if mean(row) <= (1 + NEAR) * least)
    apart = len({r.warmup_requests for r in rows}) > 1
    over = f" (measured from request {start + 1:,})" if apart else ""
    if enough is last:
        return (
            f"A larger cache keeps helping: from {size(first.cache_bytes)} to "
            f"{size(last.cache_bytes)} the best mean response time falls from "
            f"{valued(metric, mean(first))} to {valued(metric, mean(last))}{over}."
        )
    if enough is first:
        return (
            f"The size matters little: {size(first.cache_bytes)} is within "
            f"{percent(NEAR, 0)} of the best mean response time of any size"
            f" ({valued(metric, least)}){over}."
        )
    return (
        f"{size(enough.cache_bytes)} is enough: its best mean response time is within "
        f"{percent(NEAR, 0)} of the best at any size ({valued(metric, least)}){over}."
    )
