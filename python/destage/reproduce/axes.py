"""Cases of checks along an axis: trends, extremes, spreads; and of quantities that correlate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from destage.model.estimates import Estimate, estimate, spearman
from destage.reproduce.claims import AXES
from destage.reproduce.looking import MET, PARTIAL, SMALL, UNDECIDED, UNMET, Case, Look, judged
from destage.reproduce.quantities import UNDEFINED, ZERO, Quantity, across, combined
from destage.reproduce.wording import is_share, number

__all__ = ["agree", "extreme", "spread", "trend"]

#: Two lists are in the same order from this rank correlation on.
MONOTONE = 0.8


def trend(look: Look) -> list[Case]:
    """Whether a quantity rises, falls or stays along the axis, a case for each line."""
    check, (expected,) = look.check, look.check.names
    text = f"{expected} along {check.along}"
    if expected == "flat":
        text = f"spread <= {check.within:g}"
    k, cases = AXES.index(check.along), []
    for of, to in look.pairs:
        lines: dict[tuple[str, ...], list[Quantity]] = {}
        for cell in look.cells:
            rest = (*cell[:k], "", *cell[k + 1 :])
            lines.setdefault(rest, []).append(look.quantity(cell, check.metric, of, to))
        for rest, line in lines.items():
            if len(line) < 2:
                continue
            label = look.label(rest, of, to, but=check.along).strip() or of
            rows, broken = across(line)
            if broken is not None:
                cases.append(Case(label, broken.status, None, text, broken.why))
                continue
            values = list(rows.values())
            if expected == "flat":
                status, measured = _flat(values, check.within)
            else:
                status, measured = _rising(look, values, 1 if expected == "rises" else -1)
            note = " ".join(f"{q.estimate.mean:.4g}" for q in line)
            kind = look.rows.kinds.get(rest[0], "")
            cases.append(Case(label, status, measured, text, note, kind))
    return cases


def _flat(rows: Sequence[Sequence[float]], within: float) -> tuple[str, Estimate | None]:
    """Whether every seed's spread along a line, over its mean, is at most `within`."""
    spreads = []
    for row in rows:
        mean = abs(math.fsum(row) / len(row))
        moved = max(row) - min(row)
        if moved and not mean:
            return UNDEFINED, None
        spreads.append(moved / mean if moved else 0.0)
    measured = estimate(spreads)
    if measured.high <= within:
        return MET, measured
    return (UNMET if measured.low > within else UNDECIDED), measured


def _rising(look: Look, rows: Sequence[Sequence[float]], sign: int) -> tuple[str, Estimate]:
    """Whether a line rises (falls): its end against its beginning, and nearly every step."""
    moved = estimate([row[-1] - row[0] for row in rows])
    means = [estimate(column).mean for column in zip(*rows, strict=True)]
    rank = spearman(list(range(len(means))), means)
    status = look.side(moved if sign > 0 else -moved, look.size(means[0], means[-1]))
    if status == MET and (rank is None or sign * rank < MONOTONE):
        status = PARTIAL
    return status, moved


def extreme(look: Look) -> list[Case]:
    """Whether the largest (smallest) is where it should be."""
    check = look.check
    away = {AXES.index(axis) for axis in (check.along, check.mean) if axis in AXES}
    k = AXES.index(check.along)
    places: dict[tuple[str, ...], dict[str, list[Quantity]]] = {}
    for cell in look.cells:
        rest = tuple("" if i in away else v for i, v in enumerate(cell))
        here = places.setdefault(rest, {}).setdefault(cell[k], [])
        here += [look.quantity(cell, check.metric, of, to) for of, to in look.pairs]
    cases = []
    for rest, values in places.items():
        if len(values) < 2:
            # One place has no extreme.
            continue
        named = [r for r in rest if r and r not in ("none", "own")]
        label = ", ".join(named) if len(places) > 1 else f"{check.pick} along {check.along}"
        means = {v: combined(found, lambda r: math.fsum(r) / len(r)) for v, found in values.items()}
        cases.append(Case(label, *_found_at(look, means)))
    return cases


def _found_at(look: Look, values: Mapping[str, Quantity]) -> tuple[str, None, str, str]:
    """Whether the extreme is where it should be, ahead of every place where it should not be."""
    check = look.check
    expected = " or ".join(check.names)
    for place, q in values.items():
        if q.status:
            return UNDEFINED, None, expected, f"{place}: {q.why}"
    means = {place: q.estimate.mean for place, q in values.items()}
    share = is_share(check)
    note = ", ".join(f"{place} {number(mean, share)}" for place, mean in means.items())
    if len(set(means.values())) < 2:
        return (UNMET if any(means.values()) else ZERO), None, expected, f"all alike: {note}"
    choose = max if check.pick == "max" else min
    found = choose(means, key=lambda place: means[place])
    wanted = [place for place in check.names if place in values]
    if found in check.names:
        status = _ahead(look, values, found, [p for p in values if p not in check.names])
    else:
        status = UNDECIDED if wanted else UNDEFINED
        if _ahead(look, values, found, wanted) == MET:
            status = UNMET
    return status, None, expected, f"it is {found}: {note}"


def _ahead(look: Look, values: Mapping[str, Quantity], place: str, others: Sequence[str]) -> str:
    """Whether a place is ahead of all of some others, and by enough."""
    worst = MET
    for other in others:
        lead = combined((values[place], values[other]), lambda pair: pair[0] - pair[1])
        if lead.status:
            return UNDECIDED
        ahead = lead.estimate if look.check.pick == "max" else -lead.estimate
        status = look.side(ahead, look.size(values[place].estimate.mean))
        if status != MET:
            worst = SMALL if status == SMALL and worst in (MET, SMALL) else UNDECIDED
    return worst


def spread(look: Look) -> list[Case]:
    """The variation of a quantity along an axis: by itself, or against that between policies."""
    check = look.check
    k = AXES.index(check.along)
    grid: dict[tuple[str, ...], dict[tuple[str, str], Quantity]] = {}
    for of in check.of:
        for cell in look.cells:
            rest = (*cell[:k], "", *cell[k + 1 :])
            grid.setdefault(rest, {})[of, cell[k]] = look.quantity(cell, check.metric, of)
    cases = []
    for rest, line in grid.items():
        label = look.label(rest, but=check.along).strip()
        expected = check.expect[""].text if check.expect else "larger along the axis"
        kind = look.rows.kinds.get(rest[0], "")
        rows, broken = across(line.values())
        if broken is not None:
            cases.append(Case(label, broken.status, None, expected, broken.why, kind))
            continue
        moved, between = ([_ranges(line, row, k) for row in rows.values()] for k in (0, 1))
        if check.expect is not None:
            found = Quantity(dict(enumerate(moved)))
            cases.append(judged(label, found, check.expect[""], check, kind, form="value"))
            continue
        size = max(estimate(moved).mean, estimate(between).mean)
        lead = estimate([a - b for a, b in zip(moved, between, strict=True)])
        status = look.side(lead, size) if size else ZERO
        note = (
            f"along {check.along} {estimate(moved).mean:.4g},"
            f" between policies {estimate(between).mean:.4g}"
        )
        cases.append(Case(label, status, None, expected, note, kind))
    return cases


def _ranges(places: Mapping[tuple[str, str], Quantity], row: Sequence[float], by: int) -> float:
    """The mean range along the axis for each policy (`by` 0), or across policies (1)."""
    groups: dict[str, list[float]] = {}
    for place, value in zip(places, row, strict=True):
        groups.setdefault(place[by], []).append(value)
    return math.fsum(max(values) - min(values) for values in groups.values()) / len(groups)


def agree(look: Look) -> list[Case]:
    """Rank correlation of two quantities: within each workload with enough cells, else over all."""
    check = look.check
    e = (check.expect or {})[""]
    points: dict[str, list[Quantity]] = {}
    for cell in look.cells:
        for of, to in look.pairs:
            pair = [look.quantity(cell, m, of, to) for m in (check.metric, check.with_)]
            points.setdefault(cell[0], []).extend(pair)
    if any(len(p) < 2 * 4 for p in points.values()):
        points = {"over all cases": [q for p in points.values() for q in p]}
    cases = []
    for label, found in points.items():
        rows, broken = across(found)
        count = len(found) // 2
        if broken is not None or count < 3:
            why = broken.why if broken else f"{count} points are too few for an order"
            cases.append(Case(label, UNDEFINED, None, e.text, why))
            continue
        ranks = [spearman(row[::2], row[1::2]) for row in rows.values()]
        known: dict[int | None, float]
        known = {k: rank for k, rank in enumerate(ranks) if rank is not None}
        if len(known) < len(ranks):
            cases.append(Case(label, UNDEFINED, None, e.text, "one of the two does not vary"))
            continue
        case = judged(label, Quantity(known), e, check, form="value")
        note = f"rank correlation of {count} points"
        cases.append(Case(case.label, case.status, case.measured, case.expected, note))
    return cases
