"""The cases of a claim by the kind of its check; `axes` has those along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from destage.model.estimates import Estimate, estimate
from destage.reproduce import axes
from destage.reproduce.looking import (
    MET,
    PARTIAL,
    SMALL,
    UNDECIDED,
    UNMET,
    Case,
    Look,
    judged,
)
from destage.reproduce.quantities import (
    UNDEFINED,
    ZERO,
    Quantity,
    SeedRows,
    combined,
    paired,
    quantity,
    undefined,
)
from destage.reproduce.rows import Cell
from destage.reproduce.wording import FACTORS

__all__ = ["KINDS_OF_CHECK"]

Named = tuple[str, Quantity]

# -- compare: a quantity meets an expectation ------------------------------------------------------


def _compare(look: Look) -> list[Case]:
    check = look.check
    if check.over != "each":
        return _aggregated(look)
    found = []
    for cell in look.cells:
        for of, to in look.pairs:
            e = look.expected(cell, of, to)
            if e is not None:
                q = look.quantity(cell, check.metric, of, to)
                found.append((look.label(cell, of, to), q, e, look.kind(cell), cell))
    if not found or not found[0][2].ends:
        return [judged(label, q, e, check, kind, cell=cell) for label, q, e, kind, cell in found]
    # A range of the paper: its ends are the least and the greatest number of all cases.
    least, greatest, without = _extremes([(label, q) for label, q, *_ in found])
    ends = zip(("least", "greatest"), (least, greatest), found[0][2].ends, strict=True)
    cases = [judged(f"{word} ({label})", q, e, check) for word, (label, q), e in ends]
    return [replace(case, note="; ".join(n for n in (case.note, without) if n)) for case in cases]


def _extremes(found: Sequence[Named]) -> tuple[Named, Named, str]:
    """The least and the greatest of some quantities, and those that are left out as 0 against 0.

    If one is no number for another reason, neither end is known.
    """
    for label, q in found:
        if q.status == UNDEFINED:
            broken = (label, undefined(f"{label}: {q.why}"))
            return broken, broken, ""
    empty = [label for label, q in found if q.status]
    ordered = sorted((one for one in found if not one[1].status), key=lambda o: o[1].estimate.mean)
    if not ordered:
        return found[0], found[0], ""
    without = f"0 against 0, left out: {', '.join(empty)}" if empty else ""
    return ordered[0], ordered[-1], without


def _aggregated(look: Look) -> list[Case]:
    """One case over all cells, or one for each value of an axis."""
    check = look.check
    groups: dict[str, list[tuple[Cell, str, str]]] = {}
    for cell in look.cells:
        for of, to in look.pairs:
            key = look.axes(cell, of, to)[check.per] if check.per else "all"
            groups.setdefault(key, []).append((cell, of, to))
    cases = []
    for key, places in groups.items():
        e = look.expected(*places[0])
        if e is None:
            continue
        if check.over == "mean":
            q, note = _mean(look, places)
        elif check.over == "average":
            each = [look.quantity(cell, check.metric, of, to) for cell, of, to in places]
            q, note = combined(each, _average), f"mean of {len(each)} cases"
        else:
            named = [(look.label(*p), look.quantity(p[0], check.metric, *p[1:])) for p in places]
            least, greatest, without = _extremes(named)
            note, q = greatest if check.over == "max" else least
            note += f"; {without}" if without else ""
        case = judged(check.over if key == "all" else f"{check.over}, {key}", q, e, check)
        cases.append(replace(case, note=case.note or (note if len(places) > 1 else "")))
    return cases


def _mean(look: Look, places: Sequence[tuple[Cell, str, str]]) -> tuple[Quantity, str]:
    """The quantity over all configurations: the ratio of sums, or the mean of values.

    The mean of the places' ratios is in the note: a tiny denominator makes it meaningless.
    """
    check = look.check
    rows: list[SeedRows] = []
    for cell, of, to in places:
        found, wrong = paired(look.parts(cell, check.metric, of, to))
        if wrong:
            return undefined(f"{look.label(cell, of, to)}: {wrong}"), ""
        rows.append(found)
    seeds = next((list(one) for one in rows if None not in one), [None])
    if any(set(one) != set(seeds) for one in rows if None not in one):
        return undefined("the workloads were not generated with the same seeds"), ""
    whole = len(places) if check.form in ("value", "difference") else 1
    sums = {
        f"part {k + 1}": {
            s: math.fsum((one[s] if s in one else one[None])[k] for one in rows) / whole
            for s in seeds
        }
        for k in range(len(next(iter(rows[0].values()))))
    }
    q = quantity(check.form, sums)
    if check.form in ("value", "difference", "share"):
        return q, ""
    each = [look.quantity(cell, check.metric, of, to) for cell, of, to in places]
    if any(one.status for one in each):
        return q, "over all workloads together"
    mean = math.fsum(one.estimate.mean for one in each) / len(each)
    told = f"{mean:.4g}" if check.form == "ratio" else f"{100 * mean:.3g} %"
    if check.form != "ratio" and abs(mean) >= FACTORS:
        told = f"{1 + abs(mean):.4g} times as much"
    return q, f"over all workloads together; the mean of their {check.form}s is {told}"


# -- order: policies follow each other -------------------------------------------------------------


def _order(look: Look) -> list[Case]:
    """Each pair of neighbouring groups must be in order; the closest lead is the measurement."""
    check = look.check
    expected = (" < " if check.sense == "lower" else " > ").join("/".join(g) for g in check.order)
    cases = []
    for cell in look.cells:
        found = [_lead(look, cell, a, b) for a, b in _neighbours(check.order)]
        leads = [lead for _, lead, _ in found if lead is not None]
        note = "; ".join(text for status, _, text in found if status != MET)
        closest = min(leads, key=lambda e: e.mean) if leads else None
        status = _of_all({status for status, _, _ in found})
        kind = look.kind(cell)
        cases.append(Case(look.label(cell), status, closest, expected, note, kind, cell))
    return cases


def _lead(look: Look, cell: Cell, a: str, b: str) -> tuple[str, Estimate | None, str]:
    """Whether a is ahead of b, by how much, and in words."""
    check = look.check
    form = "reduction" if check.sense == "lower" else "gain"
    lead = look.between(cell, form, a, b)
    if lead.status:
        return lead.status, None, f"{a} and {b} are both 0" if lead.status == ZERO else lead.why
    status = look.side(lead.estimate)
    text = {
        UNMET: f"{a} is not {check.sense} than {b}",
        UNDECIDED: f"{a} and {b} are not distinguishable",
        SMALL: f"{a} is less than {100 * check.least:g} % {check.sense} than {b}",
    }.get(status, "")
    return status, lead.estimate, text


def _of_all(statuses: set[str]) -> str:
    """The status of a case whose pairs have these."""
    if statuses <= {MET}:
        return MET
    if UNMET in statuses:
        return PARTIAL if MET in statuses else UNMET
    if UNDEFINED in statuses:
        return UNDEFINED
    if statuses == {ZERO}:
        return ZERO
    return SMALL if statuses <= {MET, SMALL} else UNDECIDED


def _neighbours(groups: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Pairs of a policy and one of the group behind it."""
    return [(a, b) for better, worse in pairwise(groups) for a in better for b in worse]


# -- near, rank, steady: one among rivals ----------------------------------------------------------


def _rivals(look: Look, cell: Cell) -> tuple[dict[str, Estimate], str, str]:
    """The mean of each rival in a cell; or the status of a case without numbers, and why."""
    parts = {p: look.rows.values(cell, p, look.check.metric) for p in look.check.among}
    _, wrong = paired(parts)
    if wrong:
        return {}, UNDEFINED, wrong
    rivals = {p: estimate(list(v.values())) for p, v in parts.items()}
    return rivals, *(("", "") if any(e.mean for e in rivals.values()) else (ZERO, "all are 0"))


def _near(look: Look) -> list[Case]:
    check, cases = look.check, []
    of, expected = check.of[0], f"within {check.within:g} of the best"
    for cell in look.cells:
        label, kind = look.label(cell), look.kind(cell)
        rivals, broken, why = _rivals(look, cell)
        if broken:
            cases.append(Case(label, broken, None, expected, why, kind, cell))
            continue
        choose = min if check.sense == "lower" else max
        best = choose(rivals, key=lambda p, r=rivals: r[p].mean)  # type: ignore[misc]
        form = "gain" if check.sense == "lower" else "reduction"
        numbers = {p: look.rows.values(cell, p, check.metric) for p in (of, best)}
        # The best itself, or as good: 0 against 0 while others are not 0.
        behind = Quantity(dict.fromkeys(numbers[of], 0.0))
        if numbers[of] != numbers[best]:
            behind = look.between(cell, form, of, best)
        measured = behind.estimate
        status = MET if measured.high <= check.within else UNDECIDED
        if measured.low > check.within:
            status = UNMET
        note = f"best: {best}"
        if math.isinf(measured.mean):
            note += f" with 0, {of} has {rivals[of].mean:.4g}"
        cases.append(Case(label, status, measured, expected, note, kind, cell))
    return cases


def _rank(look: Look) -> list[Case]:
    """The place among rivals, and the places that chance and small leads leave open."""
    check, cases = look.check, []
    of, e = check.of[0], (check.expect or {})[""]
    for cell in look.cells:
        label, kind = look.label(cell), look.kind(cell)
        rivals, broken, why = _rivals(look, cell)
        if broken:
            cases.append(Case(label, broken, None, e.text, why, kind, cell))
            continue
        sign = 1 if check.sense == "lower" else -1
        ahead = [_ahead(look, cell, rival, of) for rival in rivals if rival != of]
        place = 1 + sum(sign * (r.mean - rivals[of].mean) < 0 for r in rivals.values())
        first = 1 + ahead.count(MET)
        measured = Estimate(place, first, first + ahead.count(UNDECIDED), 1)
        status = MET if e.met(measured.low) and e.met(measured.high) else UNDECIDED
        if e.below(measured.high) or e.above(measured.low):
            status = UNMET
        note = ", ".join(sorted(rivals, key=lambda p, r=rivals: sign * r[p].mean))  # type: ignore[misc]
        cases.append(Case(label, status, measured, e.text, note, kind, cell))
    return cases


def _ahead(look: Look, cell: Cell, a: str, b: str) -> str:
    """Whether a is ahead of b: `MET`, `UNMET` (equals share a place), or `UNDECIDED`."""
    numbers = [look.rows.values(cell, p, look.check.metric) for p in (a, b)]
    if numbers[0] == numbers[1]:
        return UNMET
    if _lead(look, cell, a, b)[0] == MET:
        return MET
    return UNMET if _lead(look, cell, b, a)[0] == MET else UNDECIDED


def _steady(look: Look) -> list[Case]:
    """Standard deviation over all cells of a policy's number, relative to the worst of its cell."""
    check = look.check
    series: dict[str, list[Quantity]] = {p: [] for p in check.among}
    nothing = []
    for cell in look.cells:
        rivals, broken, why = _rivals(look, cell)
        if broken == UNDEFINED:
            return [Case("all", UNDEFINED, None, "varies less", f"{look.label(cell)}: {why}")]
        if broken:
            nothing.append(look.label(cell))
            continue
        worst = max(rivals, key=lambda p, r=rivals: r[p].mean)  # type: ignore[misc]
        numbers = {p: look.rows.values(cell, p, check.metric) for p in check.among}
        for p in check.among:
            series[p].append(quantity("ratio", {"of": numbers[p], "to": numbers[worst]}))
    if len(look.cells) - len(nothing) < 2:
        why = "fewer than two cases with numbers above 0"
        return [Case("all", ZERO if nothing else UNDEFINED, None, "varies less", why)]
    varies = {p: combined(values, _deviation) for p, values in series.items()}
    wrong = next((q for q in varies.values() if q.status), None)
    if wrong is not None:
        return [Case("all", wrong.status, None, "varies less", wrong.why)]
    cases = []
    for a, b in _neighbours(check.order):
        lead = quantity("reduction", {p: varies[p].by_seed for p in (a, b)})
        status = lead.status or look.side(lead.estimate)
        note = ", ".join(f"{p} {varies[p].estimate.mean:.3f}" for p in (a, b))
        note += f"; all are 0 on {', '.join(nothing)}" if nothing else ""
        cases.append(Case(f"{a} and {b}", status, None, f"{a} varies less", note))
    return cases


def _average(row: Sequence[float]) -> float:
    return math.fsum(row) / len(row)


def _deviation(row: Sequence[float]) -> float:
    mean = math.fsum(row) / len(row)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in row) / len(row))


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
