"""The cases of a claim, one kind of check after the other, each with what was measured.

Those along an axis are in `axes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from destage.reproduce import axes
from destage.reproduce.claims import AXES
from destage.reproduce.digits import FACTORS
from destage.reproduce.frame import Cell
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
    paired,
    quantity,
    undefined,
)
from destage.reproduce.statistics import Estimate, estimate

__all__ = ["KINDS_OF_CHECK"]

# -- compare: a quantity is what is expected -------------------------------------------------------


def _compare(look: Look) -> list[Case]:
    check = look.check
    if check.over != "each":
        return _aggregated(look)
    found = []
    for cell in look.cells:
        for of, to in look.pairs:
            e = look.expected(cell, of, to)
            if e is not None:
                quantity_ = look.quantity(cell, check.metric, of, to)
                found.append((look.label(cell, of, to), look.kind(cell), quantity_, e))
    if found and found[0][3].ends:
        return _ends(look, [(label, q) for label, _, q, _ in found])
    return [
        replace(judged(label, q, e, check, check.form), kind=kind) for label, kind, q, e in found
    ]


def _ends(look: Look, found: Sequence[tuple[str, Quantity]]) -> list[Case]:
    """A range of the paper: its ends are numbers, the least and the greatest of all cases."""
    check = look.check
    ends = (check.expect or {})[""].ends
    assert ends is not None
    least, greatest, without = _extremes(found)
    cases = [
        judged(f"{word} ({label})", q, e, check, check.form)
        for word, (label, q), e in (("least", least, ends[0]), ("greatest", greatest, ends[1]))
    ]
    return [replace(case, note="; ".join(n for n in (case.note, without) if n)) for case in cases]


def _extremes(
    found: Sequence[tuple[str, Quantity]],
) -> tuple[tuple[str, Quantity], tuple[str, Quantity], str]:
    """The least and the greatest of some quantities, and which of them had nothing to tell.

    Where it is 0 against 0 nothing happened: such places are left out, and named. If one is no
    number for another reason, neither end is known.
    """
    for label, q in found:
        if q.status == UNDEFINED:
            broken = (label, undefined(f"{label}: {q.why}"))
            return broken, broken, ""
    empty = [label for label, q in found if q.status]
    told = [(label, q) for label, q in found if not q.status]
    if not told:
        return found[0], found[0], ""
    ordered = sorted(told, key=lambda one: one[1].estimate.mean)
    without = f"0 against 0, left out: {', '.join(empty)}" if empty else ""
    return ordered[0], ordered[-1], without


def _aggregated(look: Look) -> list[Case]:
    """One case over all cells, or one for each value of an axis."""
    check = look.check
    groups: dict[str, list[tuple[Cell, str, str]]] = {}
    for cell in look.cells:
        for of, to in look.pairs:
            named = {**dict(zip(AXES, cell, strict=True)), "of": of, "to": to}
            groups.setdefault(named[check.per] if check.per else "all", []).append((cell, of, to))
    cases = []
    for key, places in groups.items():
        e = look.expected(*places[0])
        if e is None:
            continue
        if check.over == "mean":
            q, note = _mean(look, places)
        else:
            found = [
                (look.label(cell, of, to), look.quantity(cell, check.metric, of, to))
                for cell, of, to in places
            ]
            least, greatest, without = _extremes(found)
            note, q = greatest if check.over == "max" else least
            note += f"; {without}" if without else ""
        label = check.over if key == "all" else f"{check.over}, {key}"
        case = judged(label, q, e, check, check.form)
        cases.append(replace(case, note=case.note or (note if len(places) > 1 else "")))
    return cases


def _mean(look: Look, places: Sequence[tuple[Cell, str, str]]) -> tuple[Quantity, str]:
    """What comes out over all places: a ratio is that of the sums, a value the mean.

    The mean of the places' ratios is in the note: a tiny denominator makes it meaningless.
    """
    check = look.check
    rows: list[Mapping[int | None, Sequence[float]]] = []
    names: list[str] = []
    for cell, of, to in places:
        parts = look.parts(cell, check.metric, of, to)
        found, wrong = paired(parts)
        if wrong:
            return undefined(f"{look.label(cell, of, to)}: {wrong}"), ""
        rows.append(found)
        names = [f"part {k + 1}" for k in range(len(parts))]
    sums = _summed(rows, names)
    if sums is None:
        return undefined("the loads were not drawn with the same seeds"), ""
    if check.form in ("value", "difference"):
        n = len(places)
        sums = {name: {s: v / n for s, v in part.items()} for name, part in sums.items()}
    q = quantity(check.form, sums)
    if check.form in ("value", "difference", "share"):
        return q, ""
    each = [look.quantity(cell, check.metric, of, to) for cell, of, to in places]
    if any(one.status for one in each):
        return q, "over all loads together"
    mean = math.fsum(one.estimate.mean for one in each) / len(each)
    told = f"{mean:.4g}" if check.form == "ratio" else f"{100 * mean:.3g} %"
    if check.form != "ratio" and abs(mean) >= FACTORS:
        told = f"{1 + abs(mean):.4g} times as much"
    return q, f"over all loads together; the mean of their {check.form}s is {told}"


def _summed(
    places: Sequence[Mapping[int | None, Sequence[float]]], names: Sequence[str]
) -> dict[str, dict[int | None, float]] | None:
    """Sums over places, seed by seed, of each part; None if their seeds differ."""
    drawn = [rows for rows in places if None not in rows]
    if any(set(rows) != set(drawn[0]) for rows in drawn):
        return None
    seeds = list(drawn[0]) if drawn else [None]
    return {
        name: {
            s: math.fsum((rows[s] if s in rows else rows[None])[k] for rows in places)
            for s in seeds
        }
        for k, name in enumerate(names)
    }


# -- order: policies follow each other -------------------------------------------------------------


def _order(look: Look) -> list[Case]:
    """Each pair of neighbouring groups must be in order; what is measured is the closest lead."""
    check = look.check
    expected = (" < " if check.sense == "lower" else " > ").join("/".join(g) for g in check.order)
    cases = []
    for cell in look.cells:
        told = [_told(look, cell, a, b) for a, b in _neighbours(check.order)]
        leads = [lead for _, lead, _ in told if lead is not None]
        note = "; ".join(text for status, _, text in told if status != MET)
        closest = min(leads, key=lambda e: e.mean) if leads else None
        status = _of_all([status for status, _, _ in told])
        cases.append(Case(look.label(cell), status, closest, expected, note, look.kind(cell)))
    return cases


def _told(look: Look, cell: Cell, a: str, b: str) -> tuple[str, Estimate | None, str]:
    """Whether a is ahead of b, by how much, and in words."""
    check = look.check
    form = "reduction" if check.sense == "lower" else "gain"
    lead = quantity(form, {p: look.frame.values(cell, p, check.metric) for p in (a, b)})
    if lead.status == ZERO:
        return ZERO, None, f"{a} and {b} are both 0"
    if lead.status:
        return UNDEFINED, None, lead.why
    status = side(lead.estimate, check.least)
    text = {
        UNMET: f"{a} is not {check.sense} than {b}",
        UNDECIDED: f"{a} and {b} cannot be told apart",
        SMALL: f"{a} is less than {100 * check.least:g} % {check.sense} than {b}",
    }.get(status, "")
    return status, lead.estimate, text


def _of_all(statuses: Sequence[str]) -> str:
    """What a case is of which every pair has a status."""
    if all(s == MET for s in statuses):
        return MET
    if UNMET in statuses:
        return PARTIAL if MET in statuses else UNMET
    if UNDEFINED in statuses:
        return UNDEFINED
    if all(s == ZERO for s in statuses):
        return ZERO
    return SMALL if all(s in (MET, SMALL) for s in statuses) else UNDECIDED


def _neighbours(groups: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Pairs of a policy and one of the group behind it."""
    return [(a, b) for better, worse in pairwise(groups) for a in better for b in worse]


# -- near, rank, steady: one among rivals ----------------------------------------------------------


def _rivals(look: Look, cell: Cell) -> tuple[dict[str, Estimate], str]:
    """The mean of each rival in a cell, and what is wrong with them: one without a number."""
    parts = {p: look.frame.values(cell, p, look.check.metric) for p in look.check.among}
    _, wrong = paired(parts)
    if wrong:
        return {}, wrong
    return {p: estimate(list(v.values())) for p, v in parts.items()}, ""


def _near(look: Look) -> list[Case]:
    check, cases = look.check, []
    of = check.of[0]
    expected = f"within {check.within:g} of the best"
    for cell in look.cells:
        label, kind = look.label(cell), look.kind(cell)
        rivals, wrong = _rivals(look, cell)
        if wrong:
            cases.append(Case(label, UNDEFINED, None, expected, wrong, kind))
            continue
        if not any(e.mean for e in rivals.values()):
            cases.append(Case(label, ZERO, None, expected, "all are 0", kind))
            continue
        choose = min if check.sense == "lower" else max
        best = choose(rivals, key=lambda p, r=rivals: r[p].mean)  # type: ignore[misc]
        form = "gain" if check.sense == "lower" else "reduction"
        numbers = {p: look.frame.values(cell, p, check.metric) for p in (of, best)}
        # The best itself, or as good: 0 against 0 while others are not 0.
        behind = Quantity(dict.fromkeys(numbers[of], 0.0))
        if numbers[of] != numbers[best]:
            behind = quantity(form, numbers)
        measured = behind.estimate
        status = MET if measured.high <= check.within else UNDECIDED
        if measured.low > check.within:
            status = UNMET
        note = f"best: {best}"
        if math.isinf(measured.mean):
            note += f" with 0, {of} has {rivals[of].mean:.4g}"
        cases.append(Case(label, status, measured, expected, note, kind))
    return cases


def _rank(look: Look) -> list[Case]:
    """The place among rivals, and which places chance and small leads leave open."""
    check, cases = look.check, []
    of = check.of[0]
    e = (check.expect or {})[""]
    for cell in look.cells:
        label, kind = look.label(cell), look.kind(cell)
        rivals, wrong = _rivals(look, cell)
        if wrong or not any(r.mean for r in rivals.values()):
            status = UNDEFINED if wrong else ZERO
            cases.append(Case(label, status, None, e.text, wrong or "all are 0", kind))
            continue
        sign = 1 if check.sense == "lower" else -1
        better = {UNMET: 0, UNDECIDED: 0, MET: 0}
        for rival in rivals:
            if rival != of:
                better[_ahead(look, cell, rival, of)] += 1
        place = 1 + sum(sign * (r.mean - rivals[of].mean) < 0 for r in rivals.values())
        measured = Estimate(place, 1 + better[MET], 1 + better[MET] + better[UNDECIDED], 1)
        status = MET if e.met(measured.low) and e.met(measured.high) else UNDECIDED
        if e.below(measured.high) or e.above(measured.low):
            status = UNMET
        note = ", ".join(sorted(rivals, key=lambda p, r=rivals: sign * r[p].mean))  # type: ignore[misc]
        cases.append(Case(label, status, measured, e.text, note, kind))
    return cases


def _ahead(look: Look, cell: Cell, a: str, b: str) -> str:
    """Whether a is ahead of b: `MET`, `UNMET` (equals share a place), or `UNDECIDED`."""
    numbers = [look.frame.values(cell, p, look.check.metric) for p in (a, b)]
    if numbers[0] == numbers[1]:
        return UNMET
    statuses = [_told(look, cell, *pair)[0] for pair in ((a, b), (b, a))]
    if statuses[0] == MET:
        return MET
    return UNMET if statuses[1] == MET else UNDECIDED


def _steady(look: Look) -> list[Case]:
    """Standard deviation over all cells of a policy's number, relative to the worst of its cell."""
    check = look.check
    series: dict[str, list[Quantity]] = {p: [] for p in check.among}
    nothing = []
    for cell in look.cells:
        rivals, wrong = _rivals(look, cell)
        if wrong:
            note = f"{look.label(cell)}: {wrong}"
            return [Case("all", UNDEFINED, None, "varies less", note)]
        worst = max(rivals, key=lambda p, r=rivals: r[p].mean)  # type: ignore[misc]
        if not rivals[worst].mean:
            nothing.append(look.label(cell))
            continue
        numbers = {p: look.frame.values(cell, p, check.metric) for p in check.among}
        for p in check.among:
            ratio = {"of": numbers[p], "to": numbers[worst]}
            series[p].append(quantity("ratio", ratio))
    if len(look.cells) - len(nothing) < 2:
        why = "fewer than two cases with numbers above 0"
        return [Case("all", ZERO if nothing else UNDEFINED, None, "varies less", why)]
    varies = {p: _deviations(values) for p, values in series.items()}
    broken = next((q for q in varies.values() if q.status), None)
    if broken is not None:
        return [Case("all", broken.status, None, "varies less", broken.why)]
    cases = []
    for a, b in _neighbours(check.order):
        lead = quantity("reduction", {p: varies[p].by_seed for p in (a, b)})
        status = lead.status or side(lead.estimate, check.least)
        note = ", ".join(f"{p} {varies[p].estimate.mean:.3f}" for p in (a, b))
        note += f"; all are 0 on {', '.join(nothing)}" if nothing else ""
        cases.append(Case(f"{a} and {b}", status, None, f"{a} varies less", note))
    return cases


def _deviations(series: Sequence[Quantity]) -> Quantity:
    """The standard deviation over cells, for each draw."""
    for one in series:
        if one.status:
            return one
    rows, wrong = paired({f"case {k + 1}": q.by_seed for k, q in enumerate(series)})
    if wrong:
        return undefined(wrong)
    found = {}
    for seed, row in rows.items():
        mean = math.fsum(row) / len(row)
        found[seed] = math.sqrt(math.fsum((v - mean) ** 2 for v in row) / len(row))
    return Quantity(found)


KINDS_OF_CHECK: Mapping[str, Callable[[Look], list[Case]]] = {
    "compare": _compare,
    "order": _order,
    "trend": axes.trend,
    "extreme": axes.extreme,
    "spread": axes.spread,
    "agree": axes.agree,
    "near": _near,
    "rank": _rank,
    "steady": _steady,
}
