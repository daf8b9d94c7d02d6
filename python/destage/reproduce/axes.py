"""Cases of checks along an axis: trends, extremes, spreads; and of quantities that go together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from destage.reproduce.claims import AXES
from destage.reproduce.digits import is_share, number
from destage.reproduce.looking import (
    MET,
    PARTIAL,
    SMALL,
    UNDECIDED,
    UNMET,
    Case,
    Look,
    judged,
    side,
)
from destage.reproduce.quantities import (
    UNDEFINED,
    ZERO,
    Quantity,
    combined,
    paired,
    undefined,
)
from destage.reproduce.statistics import Estimate, estimate, spearman

__all__ = ["agree", "extreme", "spread", "trend"]

#: Two lists are in the same order from this rank correlation on.
MONOTONE = 0.8


def _by_seed(found: Iterable[Quantity]) -> tuple[list[tuple[float, ...]], Quantity | None]:
    """Quantities seed by seed, side by side; or what is no number among them."""
    quantities = list(found)
    for one in quantities:
        if one.status:
            return [], one
    rows, wrong = paired({f"case {k + 1}": q.by_seed for k, q in enumerate(quantities)})
    return list(rows.values()), undefined(wrong) if wrong else None


def _lines(look: Look, of: str, to: str) -> dict[tuple[str, ...], list[tuple[str, Quantity]]]:
    """Quantities along an axis, for each place on the others."""
    k = AXES.index(look.check.along)
    found: dict[tuple[str, ...], list[tuple[str, Quantity]]] = {}
    for cell in look.cells:
        rest = (*cell[:k], "", *cell[k + 1 :])
        place = (cell[k], look.quantity(cell, look.check.metric, of, to))
        found.setdefault(rest, []).append(place)
    return {rest: line for rest, line in found.items() if len(line) > 1}


def trend(look: Look) -> list[Case]:
    """Whether a quantity rises, falls or stays along the axis, a case for each line."""
    check, (expected,) = look.check, look.check.names
    cases = []
    for of, to in look.pairs:
        for rest, line in _lines(look, of, to).items():
            label = look.label(rest, of, to, but=(check.along,)).strip() or of  # type: ignore[arg-type]
            text = (
                f"spread <= {check.within:g}"
                if expected == "flat"
                else f"{expected} along {check.along}"
            )
            rows, broken = _by_seed(q for _, q in line)
            if broken is not None:
                cases.append(Case(label, broken.status, None, text, broken.why))
                continue
            if expected == "flat":
                status, measured = _flat(rows, check.within)
            else:
                status, measured = _going(look, rows, 1 if expected == "rises" else -1)
            note = " ".join(f"{q.estimate.mean:.4g}" for _, q in line)
            kind = look.frame.kinds.get(rest[0], "")
            cases.append(Case(label, status, measured, text, note, kind))
    return cases


def _flat(rows: Sequence[Sequence[float]], within: float) -> tuple[str, Estimate | None]:
    """Whether the spread along a line, over its mean, is within what is allowed: every seed's."""
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


def _going(look: Look, rows: Sequence[Sequence[float]], sign: int) -> tuple[str, Estimate | None]:
    """Whether a line goes up (down): its end against its beginning, and nearly every step."""
    moved = estimate([row[-1] - row[0] for row in rows])
    means = [estimate(column).mean for column in zip(*rows, strict=True)]
    rank = spearman(list(range(len(means))), means)
    size = max(abs(means[0]), abs(means[-1])) if look.check.form in ("value", "difference") else 1
    status = side(_signed(moved, sign), look.check.least * size)
    if status == MET and (rank is None or sign * rank < MONOTONE):
        status = PARTIAL
    return status, moved


def _signed(e: Estimate, sign: int) -> Estimate:
    """An estimate, or that of its negative."""
    return e if sign > 0 else Estimate(-e.mean, -e.high, -e.low, e.count)


def extreme(look: Look) -> list[Case]:
    """Whether the largest (smallest) is where it should be."""
    check = look.check
    k = AXES.index(check.along)
    places: dict[tuple[str, ...], dict[str, list[Quantity]]] = {}
    for cell in look.cells:
        for of, to in look.pairs:
            away = (k, AXES.index(check.mean)) if check.mean else (k,)
            rest = tuple("" if i in away else v for i, v in enumerate(cell))
            here = places.setdefault(rest, {}).setdefault(cell[k], [])
            here.append(look.quantity(cell, check.metric, of, to))
    cases = []
    for rest, values in places.items():
        if len(values) < 2:
            # One place has no extreme.
            continue
        named = [r for r in rest if r and r not in ("none", "own")]
        label = ", ".join(named) if len(places) > 1 else f"{check.pick} along {check.along}"
        status, note = _found_at(look, {v: _averaged(found) for v, found in values.items()})
        cases.append(Case(label, status, None, " or ".join(check.names), note))
    return cases


def _averaged(found: Sequence[Quantity]) -> Quantity:
    """The mean of quantities, seed by seed."""
    for one in found:
        if one.status:
            return one
    rows, wrong = paired({f"case {k + 1}": q.by_seed for k, q in enumerate(found)})
    if wrong:
        return undefined(wrong)
    return Quantity({seed: math.fsum(row) / len(row) for seed, row in rows.items()})


def _found_at(look: Look, values: Mapping[str, Quantity]) -> tuple[str, str]:
    """Whether the extreme is where it should be, ahead of everything that it should not be."""
    check = look.check
    for place, q in values.items():
        if q.status:
            return UNDEFINED, f"{place}: {q.why}"
    means = {place: q.estimate.mean for place, q in values.items()}
    share = is_share(check)
    note = ", ".join(f"{place} {number(mean, share)}" for place, mean in means.items())
    if len(set(means.values())) < 2:
        return (UNMET if any(means.values()) else ZERO), f"all alike: {note}"
    choose = max if check.pick == "max" else min
    found = choose(means, key=lambda place: means[place])
    if found not in check.names:
        wanted = [place for place in check.names if place in values]
        told = _apart(look, values, found, wanted)
        return (UNMET if told == MET else UNDECIDED if wanted else UNDEFINED), (
            f"it is {found}: {note}"
        )
    others = [place for place in values if place not in check.names]
    return _apart(look, values, found, others), f"it is {found}: {note}"


def _apart(look: Look, values: Mapping[str, Quantity], place: str, others: Sequence[str]) -> str:
    """Whether a place is told from all of some others, and by enough."""
    check = look.check
    sign = 1 if check.pick == "max" else -1
    worst = MET
    for other in others:
        lead = combined(values[place], values[other])
        if lead.status:
            return UNDECIDED
        ahead = _signed(lead.estimate, sign)
        size = abs(values[place].estimate.mean) if check.form in ("value", "difference") else 1.0
        status = side(ahead, check.least * size)
        if status != MET:
            worst = SMALL if status == SMALL and worst in (MET, SMALL) else UNDECIDED
    return worst


def spread(look: Look) -> list[Case]:
    """How much a quantity varies along an axis: by itself, or against the policies' difference."""
    check = look.check
    k = AXES.index(check.along)
    grid: dict[tuple[str, ...], dict[str, dict[str, Quantity]]] = {}
    for cell in look.cells:
        rest = (*cell[:k], "", *cell[k + 1 :])
        for of in check.of:
            found = look.quantity(cell, check.metric, of)
            grid.setdefault(rest, {}).setdefault(of, {})[cell[k]] = found
    cases = []
    for rest, policies in grid.items():
        label = (look.label(rest, but=(check.along,)) or "all").strip()  # type: ignore[arg-type]
        expected = check.expect[""].text if check.expect else "larger along the axis"
        kind = look.frame.kinds.get(rest[0], "")
        places = [(p, v) for p, line in policies.items() for v in line]
        rows, broken = _by_seed(policies[p][v] for p, v in places)
        if broken is not None:
            cases.append(Case(label, broken.status, None, expected, broken.why, kind))
            continue
        moved, between = _varied(places, rows)
        if check.expect is not None:
            quantity = Quantity(dict(enumerate(moved)))
            case = judged(label, quantity, check.expect[""], check, "value")
            cases.append(replace(case, kind=kind))
            continue
        size = max(estimate(moved).mean, estimate(between).mean)
        lead = estimate([a - b for a, b in zip(moved, between, strict=True)])
        status = side(lead, check.least * size) if size else ZERO
        note = (
            f"along {check.along} {estimate(moved).mean:.4g},"
            f" between policies {estimate(between).mean:.4g}"
        )
        cases.append(Case(label, status, None, expected, note, kind))
    return cases


def _varied(
    places: Sequence[tuple[str, str]], rows: Sequence[Sequence[float]]
) -> tuple[list[float], list[float]]:
    """For each seed the mean range along the axis, and the mean range between policies."""
    moved: list[float] = []
    between: list[float] = []
    for row in rows:
        lines: dict[str, list[float]] = {}
        across: dict[str, list[float]] = {}
        for (policy, place), value in zip(places, row, strict=True):
            lines.setdefault(policy, []).append(value)
            across.setdefault(place, []).append(value)
        for ranges, found in ((lines, moved), (across, between)):
            each = [max(values) - min(values) for values in ranges.values()]
            found.append(math.fsum(each) / len(each))
    return moved, between


# -- agree: two quantities go together -------------------------------------------------------------


def agree(look: Look) -> list[Case]:
    """Rank correlation of two quantities: within each load with enough cells, else over all."""
    check = look.check
    e = (check.expect or {})[""]
    points: dict[str, list[tuple[Quantity, Quantity]]] = {}
    for cell in look.cells:
        for of, to in look.pairs:
            pair = tuple(look.quantity(cell, m, of, to) for m in (check.metric, check.with_))
            points.setdefault(cell[0], []).append(pair)  # type: ignore[arg-type]
    if any(len(p) < 4 for p in points.values()):
        points = {"over all cases": [pair for p in points.values() for pair in p]}
    cases = []
    for label, pairs in points.items():
        rows, broken = _by_seed(q for pair in pairs for q in pair)
        if broken is not None or len(pairs) < 3:
            why = broken.why if broken else f"{len(pairs)} points are too few for an order"
            cases.append(Case(label, UNDEFINED, None, e.text, why))
            continue
        ranks = [spearman(row[::2], row[1::2]) for row in rows]
        known: dict[int | None, float] = {
            k: rank for k, rank in enumerate(ranks) if rank is not None
        }
        if len(known) < len(ranks):
            cases.append(Case(label, UNDEFINED, None, e.text, "one of the two does not vary"))
        else:
            case = judged(label, Quantity(known), e, check, "value")
            cases.append(replace(case, note=f"rank correlation of {len(pairs)} points"))
    return cases
