"""Findings of a comparison in plain words, a sentence each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from destage.model.metrics import ALL_HITS, BASELINE, ORACLE, WRITES
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.values import valued
from destage.model.winners import TIE, Winner, change, held_back, winners
from destage.model.words import NBSP, duration, join, number, percent, significant, size

__all__ = ["alike", "outcome", "summary", "where", "who"]

#: A difference, relative to the larger value, that a reader takes for one.
STRIKING = 0.1
#: How the best value of a metric is called; the mean response has a verdict of its own.
_BEST = {
    "response_ns_p99": "the shortest p99 response",
    "hit_ratio": "the highest hit ratio",
    ALL_HITS: "the highest hit ratio of all tiers",
    "physical_writes": "the fewest flash writes",
    WRITES: "the fewest flash writes",
    "erases": "the fewest erases",
    "cost": "the lowest cost",
}


def summary(result: ResultSet) -> list[str]:
    """Findings of a comparison, a sentence each."""
    sizes, count = result.sizes, len(result.labels)
    if not sizes:
        return ["The result set holds no runs."]
    metrics = {m.name: m for m in result.metrics()}
    rivals = {"hit_ratio", ALL_HITS, "physical_writes", WRITES}
    others = rivals - {result.hits_metric, result.writes_metric}
    asked = [name for name in _BEST if name in metrics and name not in others]
    contests = {name: winners(result, metrics[name]) for name in asked}
    contests = {name: found for name, found in contests.items() if found and not _idle(found)}
    if not contests:
        sentences = [_single(result)]
    elif len(sizes) == 1:
        sentences = [_at_one_size(result, contests)]
    else:
        sentences = _over_sizes(result, contests)
    if contests and not result.timed:
        sentences += _against_lru(result, contests)
    sentences += _held_back(result)
    if count > 1 and ORACLE in result.policies.values():
        # Other policies can answer faster: few misses are not all that a device asks for.
        bound = "the hit ratio, not the response time" if result.timed else "the hit ratio"
        sentences.append(
            f"min uses future accesses: it bounds {bound}, and is not among the winners."
        )
    return sentences


def _held_back(result: ResultSet) -> list[str]:
    """Leads that pending writes take away."""
    held: dict[str, None] = {}
    share = 0.0
    for metric in (m for m in result.metrics() if m.name in (*_BEST, "response_ns_mean")):
        for frames in result.sizes:
            runs = result.at(frames)
            if held_back(runs, metric) is not None:
                held[metric.title.lower()] = None
                share = max(share, *(run.deferred_share for run in runs))
    if not held:
        return []
    return [
        f"No policy is named best in {join(list(held))} where pending writes may account for its"
        f" lead: up to {percent(share, 0)} of the flash writes are pending, or come after the last"
        " request."
    ]


def _idle(found: Iterable[Winner]) -> bool:
    """No policy erased a block."""
    return all(w.metric.name == "erases" and w.value == 0 and len(w.labels) == w.of for w in found)


def _single(result: ResultSet) -> str:
    """One policy: its numbers at the largest size."""
    row = result.by_size[-1]
    parts = []
    if row["response_ns_mean"] is not None:
        parts.append(f"has a mean response time of {duration(row['response_ns_mean'])}")
    if row[result.hits_metric] is not None:
        of = " of all tiers" if result.hits_metric == ALL_HITS else ""
        parts.append(f"has a hit ratio{of} of {percent(row[result.hits_metric])}")
    if row.writes is not None:
        parts.append(f"writes {number(row.writes)} pages to flash")
    if row["cost"] is not None:
        parts.append(f"costs {number(row['cost'])} units")
    place = where(row) if result.has_cache else "Without a cache"
    return f"{place}, {row.label} {join(parts) or 'has no numbers'}."


def where(row: Run) -> str:
    """`At 64 MiB (12 % of the trace's pages)`."""
    share = row.cache_share
    within = (
        f" ({significant(100 * share)}{NBSP}% of the trace's pages)" if share is not None else ""
    )
    return f"At {size(row.cache_bytes)}{within}"


def who(winner: Winner) -> str:
    """The policies that share a best value."""
    labels = winner.labels
    if len(labels) == winner.of:
        return "both policies" if winner.of == 2 else f"all {winner.of} policies"
    return _listed(labels)


def _listed(labels: Sequence[str]) -> str:
    return join(labels) if len(labels) <= 4 else f"{join(labels[:3])} and {len(labels) - 3} more"


def alike(winner: Winner) -> str:
    """`lru and car do not differ significantly from arc`, the best; each is compared with it."""
    best, *others = winner.labels
    if len(others) == winner.of - 1 > 1:
        return f"no policy differs significantly from {best}"
    does = "do" if len(others) > 1 else "does"
    return f"{_listed(others)} {does} not differ significantly from {best}"


def _share(winner: Winner) -> str:
    """The policies that share a best value, with the verb; measured ones need not tie."""
    if winner.sole:
        return f"{who(winner)} has"
    return f"{alike(winner)}, which has" if winner.measured else f"{who(winner)} tie for"


def _nothing_written(found: Iterable[Winner]) -> bool:
    return all(
        w.metric.name in ("physical_writes", WRITES) and w.value == 0 and len(w.labels) == w.of
        for w in found
    )


def _at_one_size(result: ResultSet, contests: dict[str, list[Winner]]) -> str:
    feats: dict[str, list[str]] = {}
    for name, found in contests.items():
        winner = found[0]
        if _nothing_written(found):
            feats["nothing"] = ["was written to flash"]
        else:
            value = valued(winner.metric, winner.value)
            feats.setdefault(_share(winner), []).append(f"{_BEST[name]} ({value})")
    parts = [f"{whose} {join(what)}" for whose, what in feats.items()]
    return f"{where(result.by_size[0])}, {'; '.join(parts)}."


def _over_sizes(result: ResultSet, contests: dict[str, list[Winner]]) -> list[str]:
    """A sentence for each metric; one for all that have the same winners."""
    outcomes: dict[str, list[str]] = {}
    for name, found in contests.items():
        outcomes.setdefault(outcome(result, found), []).append(_BEST[name])
    sentences = []
    for ending, feats in outcomes.items():
        lead = join(feats)
        sentences.append(f"{lead[0].upper()}{lead[1:]}: {ending}.")
    return sentences


def outcome(result: ResultSet, found: list[Winner]) -> str:
    """The best policies by size, as the end of a sentence, and the sizes left out of it."""
    judged = {winner.frames for winner in found}
    metric = found[0].metric
    every = {w.frames for w in winners(result, metric, pending=False)}
    # Samples without an interval are not judged either, for another reason.
    every -= judged | {w.frames for w in winners(result, metric)}
    left = [size(frames * result.trace.page_bytes) for frames in sorted(every)]
    said = _outcome(result, found)
    return f"{said}; not judged at {join(left)}: too many writes are pending" if left else said


def _outcome(result: ResultSet, found: list[Winner]) -> str:
    if _nothing_written(found):
        return "nothing was written to flash"
    tie = "no significant difference" if any(w.measured for w in found) else "a tie"
    sole = Counter(w.labels[0] for w in found if w.sole)
    ties = len(found) - sum(sole.values())
    if not sole:
        always = set.intersection(*(set(w.labels) for w in found))
        if all(len(w.labels) == w.of for w in found):
            alike = "all within 1\u00a0% at every size"
            # Two of several may differ: none is ahead of all others.
            ahead = "no policy is significantly ahead" if found[0].of > 2 else tie
            return alike if tie == "a tie" else ahead + _in_doubt(found)
        among = f" (top group: {join(sorted(always))})" if 1 < len(always) <= 3 else ""
        if len(always) == 1 and tie != "a tie":
            among = f" ({always.pop()} is never significantly behind)"
        return f"{'a tie at every' if tie == 'a tie' else 'no single winner at any'} size{among}"
    spans = _spans(found)
    if len(spans) <= 3:
        places: dict[str, list[str]] = {}
        for label, first, last in spans:
            places.setdefault(label, []).append(_span(result, first, last))
        parts = [f"{label} {join(where)}" for label, where in places.items()]
    else:
        parts = [f"{label} at {n} of {len(found)} sizes" for label, n in sole.most_common(4)]
        rest = sum(sole.values()) - sum(n for _, n in sole.most_common(4))
        if rest:
            parts.append(f"others at {rest}")
    tail = ""
    if ties:
        within = f" (within 1{NBSP}%)" if tie == "a tie" else ""
        tail = f"; {tie}{within} at {ties} of {len(found)} sizes"
    return join(parts) + tail


def _in_doubt(found: list[Winner]) -> str:
    """The widest difference that chance may have made, where a reader would not expect that."""
    widest, said = STRIKING, ""
    for winner in found:
        best, last = winner.runs[0], winner.runs[-1]
        value, other = (float(run[winner.metric.name]) for run in (best, last))
        lead = abs(value - other) / max(abs(value), abs(other), 1e-300)
        between = best.minus(last, winner.metric.name)
        if lead >= widest and between is not None and between[0] <= 0 <= between[1]:
            widest = lead
            both = (
                f"{run.label} {valued(winner.metric, run[winner.metric.name])}"
                for run in (best, last)
            )
            said = f" (largest gap at {size(best.cache_bytes)}: {', '.join(both)})"
    return said


def _spans(found: list[Winner]) -> list[tuple[str, int, int]]:
    """Stretches of neighbouring sizes with the same sole winner: label, first, last frames."""
    spans: list[tuple[str, int, int]] = []
    before: str | None = None
    for winner in found:
        label = winner.labels[0] if winner.sole else None
        if label is not None and label == before:
            spans[-1] = (label, spans[-1][1], winner.frames)
        elif label is not None:
            spans.append((label, winner.frames, winner.frames))
        before = label
    return spans


def _span(result: ResultSet, first: int, last: int) -> str:
    page_bytes = result.trace.page_bytes
    if first == last:
        return f"at {size(first * page_bytes)}"
    if [first, last] == [result.sizes[0], result.sizes[-1]]:
        return "at every size"
    return f"from {size(first * page_bytes)} to {size(last * page_bytes)}"


def _against_lru(result: ResultSet, contests: dict[str, list[Winner]]) -> list[str]:
    """The largest gain over LRU in flash writes, if it is one worth a sentence."""
    rows = [
        r
        for r in result.by_size
        if r["writes_vs_lru"] is not None and r.policy not in (ORACLE, BASELINE)
    ]
    if result.writes_metric not in contests or not rows:
        return []
    best = min(rows, key=lambda r: r["writes_vs_lru"])
    saved = 1 - best["writes_vs_lru"]
    lru = next(r for r in result.at(best.frames) if r.label == BASELINE)
    if saved < TIE or change("writes_vs_lru", best, lru) is None:
        return []
    return [
        f"Against lru, {best.label} saves most flash writes: "
        f"{percent(saved, 1)} at {size(best.cache_bytes)}."
    ]
