"""Numbers as people read them, and what a comparison says in plain words.

Differences below 1 % of the better value are ties, here as in every table: no trace is so typical
that a smaller one would decide for a policy. MIN, which knows the future, never wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from destage.model.view import BASELINE, ORACLE, Metric, ResultView, Row

__all__ = [
    "NBSP",
    "TIE",
    "TimeUnit",
    "Winner",
    "duration",
    "join",
    "number",
    "outcome",
    "percent",
    "shown",
    "significant",
    "size",
    "summary",
    "time_unit",
    "valued",
    "where",
    "who",
    "winners",
]

#: Difference, relative to the larger one, below which two values tie.
TIE = 0.01

NBSP = "\u00a0"
#: Stands for a number that a run does not have.
NONE = "\u2013"

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
#: How the best value of a metric is called; the mean response has a verdict of its own.
_BEST = {
    "response_ns_p99": "the shortest p99 response",
    "hit_ratio": "the highest hit ratio",
    "physical_writes": "the fewest flash writes",
    "erases": "the fewest erases",
    "running_time": "the shortest running time",
}


def number(value: float | int | None, digits: int = 0) -> str:
    """`1,234,567`."""
    return NONE if value is None else f"{value:,.{digits}f}"


def significant(value: float | int | None, digits: int = 3) -> str:
    """At most so many significant digits, all of those before the point: `3.17`, `1,234`."""
    if value is None:
        return NONE
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:.12f}".rstrip("0").rstrip(".") if abs(rounded) >= 1e-9 else f"{rounded:g}"


def percent(share: float | int | None, digits: int = 2) -> str:
    """A share of one as `71.23 %`."""
    return NONE if share is None else f"{100 * share:,.{digits}f}{NBSP}%"


def size(size_bytes: float | int | None) -> str:
    """Bytes in the largest binary unit that leaves at least one: `64 MiB`, `3.17 MiB`."""
    if size_bytes is None:
        return NONE
    value, unit = float(size_bytes), 0
    while value >= 1024 and unit < len(_BINARY) - 1:
        value, unit = value / 1024, unit + 1
    return f"{significant(value)}{NBSP}{_BINARY[unit]}"


def duration(nanos: float | int | None) -> str:
    """A time span in the unit that suits it: `168 h`, `3.2 s`, `250 us`."""
    if nanos is None:
        return NONE
    if nanos >= 172_800e9:
        return f"{significant(nanos / 86_400e9)}{NBSP}days"
    for unit, scale in (("h", 3600e9), ("min", 60e9), ("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanos >= scale:
            return f"{significant(nanos / scale)}{NBSP}{unit}"
    return f"{nanos:,.0f}{NBSP}ns"


@dataclass(frozen=True)
class TimeUnit:
    """A unit that times of one column or axis share."""

    name: str
    ns: int
    #: Decimals that leave the largest some four digits.
    decimals: int

    def text(self, nanos: float | int) -> str:
        """The number without its unit."""
        return number(nanos / self.ns, self.decimals)


def time_unit(nanos: Iterable[float | int | None]) -> TimeUnit:
    """Microseconds, milliseconds or seconds: the one in which the largest has few digits."""
    largest = max((n for n in nanos if n is not None), default=0)
    name, ns = "µs", 1000
    if largest >= 100 * 10**9:
        name, ns = "s", 10**9
    elif largest >= 10**6:
        name, ns = "ms", 10**6
    scale = largest / ns
    return TimeUnit(
        name, ns, 0 if scale >= 1000 else 1 if scale >= 100 else 2 if scale >= 10 else 3
    )


def shown(metric: Metric, value: float | int | None) -> str:
    """A metric's value without its unit, as a table shows it; of times, with it."""
    if value is None:
        return NONE
    if metric.kind == "ratio":
        return f"{100 * value:,.2f}"
    if metric.kind == "time":
        return duration(value)
    return number(value, 0 if metric.kind == "count" else 3)


def valued(metric: Metric, value: float | int | None) -> str:
    """A metric's value as a sentence has it, with the unit where a reader needs one."""
    if value is None:
        return NONE
    if metric.kind == "ratio":
        return percent(value)
    if metric.kind == "real":
        return significant(value)
    return shown(metric, value)


def join(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


@dataclass(frozen=True)
class Winner:
    """Who is best in one metric at one cache size."""

    metric: Metric
    frames: int
    #: The best value.
    value: float | int
    #: All within `TIE` of it, the best first.
    labels: tuple[str, ...]
    #: Policies that had a value.
    of: int

    @property
    def sole(self) -> bool:
        """One policy is ahead of the others by at least `TIE`."""
        return len(self.labels) == 1 and self.of > 1


def winners(result: ResultView, metric: Metric) -> list[Winner]:
    """The best at every cache size at which at least two policies compare."""
    if metric.better == "neither":
        return []
    found = []
    for frames in result.sizes:
        entered = [r for r in result.at(frames) if r["policy"] != ORACLE]
        values = [(r[metric.name], r["label"]) for r in entered if r[metric.name] is not None]
        if len(values) < 2:
            continue
        values.sort(key=lambda pair: -pair[0] if metric.better == "higher" else pair[0])
        best = values[0][0]
        tied = [label for value, label in values if _ties(value, best)]
        found.append(Winner(metric, frames, best, tuple(tied), len(values)))
    return found


def _ties(value: float, best: float) -> bool:
    return value == best or abs(value - best) < TIE * max(abs(value), abs(best))


def summary(result: ResultView) -> list[str]:
    """What the comparison says, a sentence for each thing worth knowing."""
    sizes, count = result.sizes, len(result.series)
    if not sizes:
        return ["The result set holds no runs."]
    metrics = {m.name: m for m in result.metrics()}
    contests = {name: winners(result, metrics[name]) for name in _BEST if name in metrics}
    contests = {name: found for name, found in contests.items() if found and not _idle(found)}
    if not contests:
        sentences = [_single(result)]
    elif len(sizes) == 1:
        sentences = [_at_one_size(result, contests)]
    else:
        sentences = _over_sizes(result, contests)
    if contests and not result.timed:
        sentences += _against_lru(result, contests)
    if count > 1 and ORACLE in result.policies.values():
        # Other policies can answer faster: few misses are not all that a drive asks for.
        bound = "the hit ratio, not the response time" if result.timed else "the hit ratio"
        sentences.append(f"min knows the future: it bounds {bound}, and is not among the winners.")
    return sentences


def _idle(found: Iterable[Winner]) -> bool:
    """Nobody erased anything: no contest."""
    return all(w.metric.name == "erases" and w.value == 0 and len(w.labels) == w.of for w in found)


def _single(result: ResultView) -> str:
    """One policy: say what it did, at the largest size."""
    row = result.rows[-1]
    parts = []
    if row["response_ns_mean"] is not None:
        parts.append(f"answers in {duration(row['response_ns_mean'])} on average")
    if row["hit_ratio"] is not None:
        parts.append(f"has a hit ratio of {percent(row['hit_ratio'])}")
    if row["physical_writes"] is not None:
        parts.append(f"writes {number(row['physical_writes'])} pages to flash")
    if row["running_time"] is not None:
        parts.append(f"runs for {number(row['running_time'])} cost units")
    return f"{where(row)}, {row['label']} {join(parts) or 'has no numbers'}."


def where(row: Row) -> str:
    """`At 64 MiB (12 % of the trace's pages)`."""
    share = row["cache_share"]
    within = (
        f" ({significant(100 * share)}{NBSP}% of the trace's pages)" if share is not None else ""
    )
    return f"At {size(row['cache_bytes'])}{within}"


def who(winner: Winner) -> str:
    """The policies that share a best value."""
    labels = winner.labels
    if len(labels) == winner.of:
        return "both policies" if winner.of == 2 else f"all {winner.of} policies"
    return join(labels) if len(labels) <= 4 else f"{join(labels[:3])} and {len(labels) - 3} more"


def _nothing_written(found: Iterable[Winner]) -> bool:
    found = list(found)
    return all(
        w.metric.name == "physical_writes" and w.value == 0 and len(w.labels) == w.of for w in found
    )


def _at_one_size(result: ResultView, contests: dict[str, list[Winner]]) -> str:
    feats: dict[str, list[str]] = {}
    for name, found in contests.items():
        winner = found[0]
        if _nothing_written(found):
            feats["nothing"] = ["was written to flash"]
        else:
            whose = f"{who(winner)} {'has' if winner.sole else 'tie for'}"
            value = valued(winner.metric, winner.value)
            feats.setdefault(whose, []).append(f"{_BEST[name]} ({value})")
    parts = [f"{whose} {join(what)}" for whose, what in feats.items()]
    return f"{where(result.rows[0])}, {'; '.join(parts)}."


def _over_sizes(result: ResultView, contests: dict[str, list[Winner]]) -> list[str]:
    """A sentence for each metric; one for all that have the same winners."""
    outcomes: dict[str, list[str]] = {}
    for name, found in contests.items():
        outcomes.setdefault(outcome(result, found), []).append(_BEST[name])
    sentences = []
    for ending, feats in outcomes.items():
        lead = join(feats)
        sentences.append(f"{lead[0].upper()}{lead[1:]}: {ending}.")
    return sentences


def outcome(result: ResultView, found: list[Winner]) -> str:
    """Who wins at which sizes, as the end of a sentence."""
    if _nothing_written(found):
        return "nothing was written to flash"
    sole = Counter(w.labels[0] for w in found if w.sole)
    ties = len(found) - sum(sole.values())
    if not sole:
        always = set.intersection(*(set(w.labels) for w in found))
        if all(len(w.labels) == w.of for w in found):
            return "all tie at every size"
        among = f" ({join(sorted(always))} always among the best)" if 0 < len(always) <= 3 else ""
        return f"a tie at every size{among}"
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
        tail = f"; a tie at {ties} of {len(found)} sizes"
    return join(parts) + tail


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


def _span(result: ResultView, first: int, last: int) -> str:
    page_bytes = result.trace["page_bytes"]
    if first == last:
        return f"at {size(first * page_bytes)}"
    if [first, last] == [result.sizes[0], result.sizes[-1]]:
        return "at every size"
    return f"from {size(first * page_bytes)} to {size(last * page_bytes)}"


def _against_lru(result: ResultView, contests: dict[str, list[Winner]]) -> list[str]:
    """The largest gain over LRU in flash writes, if it is one worth a sentence."""
    rows = [
        r
        for r in result.rows
        if r["writes_vs_lru"] is not None and r["policy"] not in (ORACLE, BASELINE)
    ]
    if "physical_writes" not in contests or not rows:
        return []
    best = min(rows, key=lambda r: r["writes_vs_lru"])
    saved = 1 - best["writes_vs_lru"]
    if saved < TIE:
        return []
    return [
        f"Against lru, {best['label']} saves most flash writes: "
        f"{percent(saved, 1)} at {size(best['cache_bytes'])}."
    ]
