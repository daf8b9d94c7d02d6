"""Stability of the order of policies: at which sizes and depths, in which halves of the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from destage.model.choice import metric_named
from destage.model.run import Run
from destage.model.winners import is_too_short, winner
from destage.model.words import counted, number
from destage.show.tables.results import grouped

__all__ = ["stability"]

#: The ordered metric.
MEAN = "response_ns_mean"


def stability(runs: Sequence[Run]) -> list[str]:
    """The note of a table of response times; nothing where no two policies have any.

    Policies that know the future are no competitors. Settings in which not all policies that are
    compared have run are left out.
    """
    groups = [_named(group) for group in grouped(runs).values()]
    most = max((len(group) for group in groups), default=0)
    groups = [group for group in groups if len(group) == most]
    if most < 2:
        return []
    orders = [_order(group, _mean) for group in groups]
    halves = [[_order(group, _half(k)) for k in (0, 1)] for group in groups]
    # The order that most settings have; of several, that of the first.
    usual = Counter(orders).most_common(1)[0][0]
    best = usual[0]
    lowest = sum(order[0] == best for order in orders)
    known = [pair for pair in halves if all(pair)]
    both = sum(all(one[0] == best for one in pair) for pair in known)
    alone = sum(_is_sole(best, group) for group in groups)
    unknown = sum(_is_unknown(group) for group in groups)
    if len(orders) == 1:
        judged = "significance unknown" if unknown else f"{'' if alone else 'not '}significantly"
        said = f"{best} is fastest ({judged})"
        if known:
            said += f", {'also in each half' if both else 'but not in both halves'} of the trace"
    else:
        every = counted(len(orders), "configuration")
        said = f"{best} is fastest in {number(lowest)} of {every}, "
        if unknown == len(groups):
            said += "significance unknown"
        else:
            said += f"significantly in {alone}" if alone else "never significantly"
            said += f" (unknown in {unknown})" if unknown else ""
        if known:
            said += f"; in both halves of the trace in {both}"
            said += "" if len(known) == len(orders) else f" of {len(known)}"
        if 2 < most <= MOST_ORDERED:
            same = sum(order == usual for order in orders)
            said += f"; the order {', '.join(usual)} holds in {same}"
    return [f"stability (mean response): {said}"]


#: More policies than this have no order that a reader takes in.
MOST_ORDERED = 5
#: Competing runs by the name of their policy; several of one name are its seeds.
Named = Mapping[str, Sequence[Run]]


def _named(group: Sequence[Run]) -> Named:
    """Runs that compete; without a cache a run is a reference."""
    known = [r for r in group if r[MEAN] is not None and not r.knows_the_future]
    known = [r for r in known if not r.has_no_cache]
    has_one = len({r.placement for r in known}) < 2
    found: dict[str, list[Run]] = {}
    for run in known:
        name = run.label if has_one else f"{run.label} ({run.placement})"
        found.setdefault(name, []).append(run)
    return found


def _is_sole(best: str, group: Named) -> bool:
    """Whether a policy is ahead of all others by the rule of stars."""
    if best not in group or _is_unknown(group):
        return False
    found = winner([run for runs in group.values() for run in runs], metric_named(MEAN))
    return found is not None and found.sole and found.runs[0] is group[best][0]


def _is_unknown(group: Named) -> bool:
    """Whether differences from the fastest have no interval: seeds, or runs out of a store."""
    if any(len(runs) > 1 for runs in group.values()):
        return True
    runs = [run for (run,) in group.values()]
    best = min(runs, key=lambda run: run[MEAN])
    others = [r for r in runs if r is not best and not (is_too_short(r) or is_too_short(best))]
    return any(
        r.windows is not None and best.windows is not None and not best.has_intervals_against(r)
        for r in others
    )


def _mean(run: Run) -> float | None:
    value = run[MEAN]
    return None if value is None else float(value)


def _half(k: int) -> Callable[[Run], float | None]:
    """The mean response of one half of a run."""

    def mean(run: Run) -> float | None:
        halves = (run.steady or {}).get("halves") or ()
        value = halves[k].get(MEAN) if len(halves) == 2 else None
        return None if value is None else float(value)

    return mean


def _order(group: Named, mean: Callable[[Run], float | None]) -> tuple[str, ...]:
    """Names by mean response, over seeds, the shortest first; empty where one has none."""
    means: list[tuple[float, str]] = []
    for name, runs in group.items():
        values = [value for run in runs if (value := mean(run)) is not None]
        if len(values) < len(runs):
            return ()
        means.append((fmean(values), name))
    return tuple(name for _, name in sorted(means))
