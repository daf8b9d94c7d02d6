"""Marks of runs side by side: the best of a cache size, and differences from a baseline.

Both follow one rule (`model.winners`): a mark stands on a difference that is significant, 1 % or
more, and visible in the printed digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from destage import _destage
from destage.base.errors import UsageError
from destage.model.differences import Differences
from destage.model.metrics import METRICS, Metric
from destage.model.naming import catalogue, without_placement
from destage.model.run import Run, measured_alike
from destage.model.values import cell
from destage.model.winners import (
    LEAST_REQUESTS,
    TIE,
    change,
    held_back,
    is_too_short,
    source_of,
    winner,
)
from destage.model.words import NONE, TimeUnit, counted, percent, time_unit

__all__ = [
    "HIGHER",
    "LOWER",
    "Marks",
    "Place",
    "against_device",
    "baseline_of",
    "beside",
    "beside_each_other",
    "check_baseline",
    "compared",
    "device_of",
    "is_better",
    "marks_of",
    "side_by_side",
    "unmarked",
]

#: Signs of a table: significantly lower than the baseline, or higher.
LOWER, HIGHER = "-", "+"


@dataclass(frozen=True)
class Marks:
    """Names of the metrics in which a run is marked."""

    baseline: str | None
    """Label of the run that it is compared with; None where there is none."""
    best: tuple[str, ...]
    """Significantly better than every other run of its size."""
    better: tuple[str, ...]
    """Significantly better than the baseline."""
    worse: tuple[str, ...]
    """Significantly worse than the baseline."""

    def to_dict(self) -> dict[str, str | list[str] | None]:
        """As JSON has it."""
        lists = {name: list(getattr(self, name)) for name in ("best", "better", "worse")}
        return {"baseline": self.baseline, **lists}

    def row(self) -> dict[str, str | None]:
        """As columns of a table."""
        texts = {name: ",".join(getattr(self, name)) for name in ("best", "better", "worse")}
        return {"baseline": self.baseline, **texts}


#: Trace, device (its name includes the FTL), queue depth and frames: common to the runs that are
#: compared, by cache policy and by placement policy.
Place = tuple[str | int | None, ...]


def beside_each_other(run: Run) -> Place:
    """Key of runs that are compared with each other: trace, device, arrivals, cache size.

    Placement policies compare like cache policies: on one device.
    """
    return (run.trace.fingerprint + run.trace.name, device_of(run), run.queue_depth, run.frames)


def compared(runs: Sequence[Run]) -> dict[Place, dict[int, Run]]:
    """Runs that are compared, with intervals, by their numbers: a group a cache size.

    One without a cache is in each group that was measured over its part of the trace, under that
    size; in one of its own if there is no such group.
    """
    groups: dict[Place, list[int]] = {}
    for k, run in enumerate(runs):
        if not run.has_no_cache:
            groups.setdefault(beside_each_other(run), []).append(k)
    for k, run in enumerate(runs):
        if run.has_no_cache:
            place = beside_each_other(run)
            same = (one for one in groups if one[:-1] == place[:-1] and groups[one] != [k])
            beside = [one for one in same if measured_alike([runs[n] for n in groups[one]], run)]
            for one in beside or [place]:
                groups.setdefault(one, []).append(k)
    return {place: _sized(runs, numbers, place) for place, numbers in groups.items()}


def _sized(runs: Sequence[Run], numbers: Sequence[int], place: Place) -> dict[int, Run]:
    """Runs of one cache size in their order, those without a cache as if they had it."""
    frames = place[-1]
    assert isinstance(frames, int)
    order = sorted(numbers)
    some = [replace(r, frames=frames) if r.has_no_cache else r for r in (runs[k] for k in order)]
    return dict(zip(order, side_by_side(some), strict=True))


def baseline_of(runs: Sequence[Run], label: str | None = None) -> Run | None:
    """The run of one cache size that others are marked against: this one, or the first."""
    if len(runs) < 2:
        return None
    named = (r for r in runs if label in (None, r.label, r.label.partition(" over ")[0]))
    return next(named, None)


def check_baseline(
    baseline: str | None,
    labels: Iterable[str],
    called: str = "baseline",
    devices: Iterable[str] = (),
) -> bool:
    """Return whether a baseline is one of these devices; raise `UsageError` if it is nothing.

    A flash tier may be left out: `lru` is `lru over lru 10%` too. A policy goes before a device of
    the same name.
    """
    known = list(dict.fromkeys(labels))
    if baseline is None or baseline in (*known, *(k.partition(" over ")[0] for k in known)):
        return False
    others = list(dict.fromkeys(devices))
    if baseline in others:
        return True
    kinds = "policies or devices" if others else "policies"
    if baseline in {p["name"] for p in catalogue()}:
        added = ",".join([*known, baseline])
        raise UsageError(f"{called}: {baseline!r} is none of the {kinds}: add it, as in {added}")
    near = _destage.nearest(baseline, [*known, *others])
    meant = f", did you mean {near}?" if near else ""
    there = ", ".join([*known, *others])
    raise UsageError(f"{called}: {baseline!r} is none of the {kinds}{meant} (there are: {there})")


def against_device(runs: Sequence[Run], device: str) -> list[list[Run]]:
    """Runs of one policy and size on several devices, with intervals, the given one first.

    A group without the device, or with no other, is left out.
    """
    groups: dict[tuple[str | int | None, ...], list[Run]] = {}
    for run in runs:
        trace = run.trace.fingerprint + run.trace.name
        place = (trace, run.label, run.placement, run.queue_depth, run.frames)
        groups.setdefault(place, []).append(run)
    found = []
    for group in groups.values():
        first = [run for run in group if device_of(run) == device]
        others = [run for run in group if device_of(run) != device]
        if first and others:
            found.append(list(side_by_side([*first, *others])))
    return found


def device_of(run: Run) -> str | None:
    """The device of a run, without its placement."""
    return None if run.device is None else without_placement(run.device)


def side_by_side(runs: Sequence[Run]) -> Sequence[Run]:
    """Runs of one cache size with intervals of their differences, also those of several sets.

    Runs of several sets over one part of a trace (placement policies, say) are pairs as those of
    one set are.
    """
    records = [run.record for run in runs]
    if len({id(run.differences) for run in runs}) < 2 or any(r is None for r in records):
        return runs
    if any(run.windows is None for run in runs):
        return runs
    asked = json.dumps({**_EMPTY, "trace": vars(runs[0].trace), "runs": records})
    found = json.loads(_destage.assembled(asked)).get("differences")
    known = Differences(found)
    return [replace(run, place=k, differences=known) for k, run in enumerate(runs)]


#: A result set without runs.
_EMPTY = {"schema": "destage.results", "schema_version": 1, "version": _destage.VERSION}


def beside(metric: Metric, run: Run, base: Run | None) -> str:
    """`-` for lower than the baseline, `+` for higher; empty without a significant difference."""
    if base is None or base is run or metric.better == "neither":
        return ""
    if run.cache_not_full or base.cache_not_full:
        return ""
    moved = change(metric.name, run, base)
    if moved is None:
        return ""
    return LOWER if moved < 0 else HIGHER


def is_better(metric: Metric, sign: str) -> bool:
    """Whether a number that is lower, or higher, is better."""
    return (sign == LOWER) == (metric.better == "lower")


def marks_of(runs: Sequence[Run], label: str | None = None) -> list[Marks]:
    """The marks of the runs of one cache size, in every metric."""
    base = baseline_of(runs, label)
    found: list[dict[str, list[str]]] = [{"best": [], "better": [], "worse": []} for _ in runs]
    known = runs[0].differences.metrics_of(runs[0].place)
    for metric in METRICS:
        if metric.better == "neither" or all(run[metric.name] is None for run in runs):
            continue
        if known and source_of(metric.name) not in known:
            continue  # Without an interval nothing is marked.
        first = winner(runs, metric)
        for run, names in zip(runs, found, strict=True):
            if first is not None and first.sole and first.runs[0] is run:
                names["best"].append(metric.name)
            sign = beside(metric, run, base)
            if sign:
                names["better" if is_better(metric, sign) else "worse"].append(metric.name)
    return [
        Marks(
            baseline=None if base is None or base is run else base.label,
            **{name: tuple(metrics) for name, metrics in names.items()},
        )
        for run, names in zip(runs, found, strict=True)
    ]


def unmarked(runs: Sequence[Run], metric: Metric, base: Run | None, place: str = "") -> str | None:
    """Why no run of a cache size is marked in a metric, and what would help; None if one is.

    It is about the largest difference from the baseline; `place` names one size of several.
    """
    rivals = [r for r in runs if r[metric.name] is not None and not r.cache_not_full]
    if base is None or base not in rivals or len(rivals) < 2 or metric.better == "neither":
        return None
    first = winner(runs, metric)
    if (first is not None and first.sole) or any(beside(metric, r, base) for r in rivals):
        return None
    if held_back(runs, metric) is not None:
        return None  # A note says that pending writes take the mark away.
    others = [run for run in rivals if run is not base]
    far = max(others, key=lambda run: abs(run[metric.name] - base[metric.name]))
    title = metric.title
    named = title if title.split()[0].isupper() else title[0].lower() + title[1:]
    return f"no mark for {named}{place}: {_why(far, base, metric)}"


def _why(run: Run, base: Run, metric: Metric) -> str:
    new, old = float(run[metric.name]), float(base[metric.name])
    lead = abs(new - old) / max(abs(new), abs(old)) if new != old else 0.0
    if lead < TIE:
        return f"no policy differs from {base.label} by 1 %"
    if is_too_short(run) or is_too_short(base):
        return f"fewer than {LEAST_REQUESTS} requests were measured"
    far, side = (abs(new / old - 1), "above" if new > old else "below") if old else (0.0, "")
    gap = f"{run.label} is {percent(far, 0)} {side} {base.label}"
    gap = gap if old else f"{run.label} differs from {base.label}"
    if not run.has_intervals_against(base):
        return f"{gap}, without an interval: they come from separate runs"
    interval, parts = run.minus(base, metric.name), run.parts
    of = "" if parts is None else f", {counted(parts, 'independent part')} of the trace"
    if interval is None:
        few = "" if parts is None else f" ({parts})"
        return f"{gap}; the trace has too few parts{few} for an interval; {_help(run)}"
    low, high = _ends(metric, interval)
    if interval[0] <= 0 <= interval[1]:
        return f"{gap}, not significantly (95 % CI {low} to {high}{of}); {_help(run)}"
    return f"{gap}; pending writes may account for it; a longer trace has fewer"


def _help(run: Run) -> str:
    """Advice on how to narrow an interval."""
    if run.queue_grows:
        return "a closed loop (--queue-depth 8) or a longer trace narrows it"
    return "a longer trace narrows it"


def _ends(metric: Metric, interval: Sequence[float]) -> tuple[str, str]:
    """Both ends of an interval, signed, with the unit."""
    unit = time_unit([max(map(abs, interval))]) if metric.kind == "time" else None
    name = unit.name if unit else {"ratio": "points"}.get(metric.kind, "")
    low, high = (_signed(metric, end, unit) for end in interval)
    return low, f"{high} {name}".rstrip()


def _signed(metric: Metric, value: float, unit: TimeUnit | None) -> str:
    text = cell(metric, abs(value), unit)
    return text if text == NONE else ("-" if value < 0 else "+") + text
