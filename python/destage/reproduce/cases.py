"""The cases of a claim, one kind of check after the other, each with what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from destage.reproduce.claims import AXES, Check, Expectation
from destage.reproduce.frame import Cell, Frame, combine, quantity
from destage.reproduce.published import RECORDED
from destage.reproduce.statistics import Estimate, estimate, spearman

__all__ = ["MET", "PARTIAL", "UNDECIDED", "UNMET", "Case", "KINDS_OF_CHECK", "Look"]

#: A case: meets the claim; meets a part of it; cannot be told from chance; does not meet it.
MET, PARTIAL, UNDECIDED, UNMET = "met", "in part", "undecided", "not met"


#: Two lists are in the same order from this rank correlation on.
MONOTONE = 0.8


@dataclass(frozen=True)
class Case:
    """One case of a claim."""

    label: str
    status: str
    measured: Estimate | None
    expected: str
    note: str = ""
    right: frozenset[str] = frozenset()
    """Of an order: the pairs that are in it."""
    kind: str = ""
    """Kind of its load, if it is a case of one."""


@dataclass
class Look:
    """A check in front of its rows."""

    check: Check
    frame: Frame
    base: Frame
    cells: list[Cell] = field(init=False)

    def __post_init__(self) -> None:
        check = self.check
        cells = list(self.frame.places(check.at, check.skip))
        if self._of_the_paper_only():
            cells = [c for c in cells if self.frame.kinds[c[0]] not in RECORDED]
        self.cells = cells

    def _of_the_paper_only(self) -> bool:
        """Numbers of the paper are about its loads; relations are looked for in recordings, too."""
        check = self.check
        if check.kind in ("extreme", "steady", "agree") or check.over != "each" or check.by:
            return True
        expected = (check.expect or {}).values()
        return any(math.isfinite(e.low) and math.isfinite(e.high) for e in expected)

    def seeds(self, cell: Cell, metric: str, of: str, to: str = "") -> list[float]:
        """The quantity of a cell, one value a seed."""
        check = self.check
        parts = [self.frame.values(cell, of, metric)]
        if check.form != "value":
            parts.append(self.base.values(cell, of if to == "self" else to, metric))
        if check.form == "share":
            parts.append(self.frame.values(cell, check.than or "", metric))
        found = (quantity(check.form, *numbers) for numbers in combine(parts))
        return [value for value in found if math.isfinite(value)]

    def kind(self, cell: Cell) -> str:
        """Kind of the load of a cell."""
        return self.frame.kinds[cell[0]]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Policies that are compared, `of` with `to`."""
        return [(of, to) for of in self.check.of for to in self.check.to or ("",)]

    def label(self, cell: Cell, of: str = "", to: str = "", but: Sequence[str] = ()) -> str:
        """Names a case by what differs between cases."""
        words = [
            value
            for k, (axis, value) in enumerate(zip(AXES, cell, strict=True))
            if axis not in but and (axis == "workload" or len({c[k] for c in self.cells}) > 1)
        ]
        if of and len(self.check.of) > 1:
            words.append(of)
        if to and to != "self" and len(self.check.to) > 1:
            words.append(f"against {to}")
        return " ".join(words) or of or "all"

    def expected(self, cell: Cell | None, of: str, to: str) -> Expectation | None:
        """What is expected of a case; None if the paper says nothing of it."""
        expect = self.check.expect or {}
        if self.check.by is None:
            return expect.get("")
        named = dict(zip(AXES, cell, strict=True)) if cell else {}
        return expect.get({**named, "of": of, "to": to}[self.check.by])


def _judged(label: str, values: Sequence[float], e: Expectation, form: str) -> Case:
    """A case of an expectation in numbers."""
    measured = estimate(values)
    neutral = {"value": None, "ratio": 1.0}.get(form, 0.0)
    bounded = math.isfinite(e.low) and math.isfinite(e.high)
    if bounded:
        status = MET if e.met(measured.mean) else UNMET
    elif e.met(measured.low) and e.met(measured.high):
        status = MET
    else:
        status = UNDECIDED if e.met(measured.mean) else UNMET
    if status != MET and neutral is not None:
        one_sided = e.direction(measured.low, neutral) and e.direction(measured.high, neutral)
        if one_sided and e.reached(measured.mean, neutral):
            status = PARTIAL
    return Case(label, status, measured, e.text)


def _compare(look: Look) -> list[Case]:
    check = look.check
    if check.over != "each":
        return _aggregated(look)
    cases = []
    for cell in look.cells:
        for of, to in look.pairs:
            values = look.seeds(cell, check.metric, of, to)
            e = look.expected(cell, of, to)
            if values and e is not None:
                case = _judged(look.label(cell, of, to), values, e, check.form)
                cases.append(replace(case, kind=look.kind(cell)))
    return cases


def _aggregated(look: Look) -> list[Case]:
    """One case over all cells, or one for each value of an axis."""
    check = look.check
    groups: dict[str, list[list[float]]] = {}
    places: dict[str, tuple[Cell, str, str]] = {}
    for cell in look.cells:
        for of, to in look.pairs:
            values = look.seeds(cell, check.metric, of, to)
            named = {**dict(zip(AXES, cell, strict=True)), "of": of, "to": to}
            key = named[check.per] if check.per else "all"
            if values:
                groups.setdefault(key, []).append(values)
                places.setdefault(key, (cell, of, to))
    aggregate = _AGGREGATES[check.over]
    cases = []
    for key, parts in groups.items():
        e = look.expected(*places[key])
        if e is None:
            continue
        length = max(len(p) for p in parts)
        # What has one value only goes with every seed of the others.
        rows = [[p[k] if k < len(p) else p[-1] for p in parts] for k in range(length)]
        cases.append(_judged(f"{check.over}, {key}", [aggregate(r) for r in rows], e, check.form))
    return cases


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": _mean,
    "max": max,
    "min": min,
}


def _order(look: Look) -> list[Case]:
    """Each pair of neighbouring groups must be in order; what is measured is the closest lead."""
    check = look.check
    expected = (" < " if check.sense == "lower" else " > ").join("/".join(g) for g in check.order)
    cases = []
    for cell in look.cells:
        wrong, undecided, leads = [], [], []
        in_order: list[str] = []
        for a, b in _neighbours(check.order):
            lead = _lead(look, cell, a, b)
            if lead is None:
                continue
            leads.append(lead)
            if lead.mean <= 0:
                wrong.append(f"{a} is not {check.sense} than {b}")
            elif lead.low <= 0:
                undecided.append(f"{a} and {b} cannot be told apart")
            else:
                in_order.append(f"{a} {b}")
        if not leads:
            continue
        right = len(in_order)
        status = PARTIAL if right else UNMET
        if not wrong and not undecided:
            status = MET
        elif not wrong and not right:
            status = UNDECIDED
        closest = min(leads, key=lambda e: e.mean)
        cases.append(
            Case(
                look.label(cell),
                status,
                closest,
                expected,
                "; ".join([*wrong, *undecided]),
                frozenset(in_order),
                look.kind(cell),
            )
        )
    return cases


def _neighbours(groups: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Pairs of a policy and one of the group behind it."""
    return [(a, b) for better, worse in pairwise(groups) for a in better for b in worse]


def _lead(look: Look, cell: Cell, a: str, b: str) -> Estimate | None:
    """By how much of b's number a is ahead of b; None where one is not known."""
    check = look.check
    both = combine([look.frame.values(cell, p, check.metric) for p in (a, b)])
    form = "reduction" if check.sense == "lower" else "gain"
    leads = [quantity(form, x, y) for x, y in both]
    finite = [lead for lead in leads if math.isfinite(lead)]
    return estimate(finite) if finite else None


def _lines(look: Look, of: str, to: str) -> dict[tuple[str, ...], list[tuple[str, list[float]]]]:
    """Values along an axis, for each place on the others."""
    k = AXES.index(look.check.along)
    found: dict[tuple[str, ...], list[tuple[str, list[float]]]] = {}
    for cell in look.cells:
        values = look.seeds(cell, look.check.metric, of, to)
        if values:
            rest = (*cell[:k], "", *cell[k + 1 :])
            found.setdefault(rest, []).append((cell[k], values))
    return {rest: line for rest, line in found.items() if len(line) > 1}


def _trend(look: Look) -> list[Case]:
    check, (expected,) = look.check, look.check.names
    cases = []
    for of, to in look.pairs:
        for rest, line in _lines(look, of, to).items():
            means = [estimate(values).mean for _, values in line]
            pairs = combine([dict(enumerate(line[-1][1])), dict(enumerate(line[0][1]))])
            moved = estimate([last - first for last, first in pairs])
            if expected == "flat":
                mean = math.fsum(means) / len(means)
                spread = (max(means) - min(means)) / abs(mean) if mean else 0.0
                status = MET if spread <= check.within else UNMET
                measured, text = estimate([spread]), f"spread <= {check.within:g}"
            else:
                sign = 1 if expected == "rises" else -1
                rank = spearman(list(range(len(means))), means)
                going = sign * (moved.low if sign > 0 else moved.high) > 0
                if going and rank is not None and sign * rank >= MONOTONE:
                    status = MET
                else:
                    status = PARTIAL if sign * moved.mean > 0 else UNMET
                measured, text = moved, f"{expected} along {check.along}"
            label = look.label(rest, of, to, but=(check.along,))  # type: ignore[arg-type]
            note = " ".join(f"{m:.4g}" for m in means)
            cases.append(Case(label.strip() or of, status, measured, text, note))
    return cases


def _extreme(look: Look) -> list[Case]:
    check = look.check
    k = AXES.index(check.along)
    by_value: dict[str, dict[tuple[str, ...], list[float]]] = {}
    for cell in look.cells:
        for of, to in look.pairs:
            values = look.seeds(cell, check.metric, of, to)
            if values:
                away = (k, AXES.index(check.mean)) if check.mean else (k,)
                place = tuple("" if i in away else v for i, v in enumerate(cell))
                by_value.setdefault(cell[k], {}).setdefault(place, []).extend(values)
    rests = dict.fromkeys(rest for found in by_value.values() for rest in found)
    cases = []
    for rest in rests:
        means = {v: estimate(f[rest]).mean for v, f in by_value.items() if rest in f}
        if len(set(means.values())) < 2:
            # One place, or nothing that differs: there is no extreme.
            continue
        choose = max if check.pick == "max" else min
        found = choose(means, key=lambda v: means[v])
        status = MET if found in check.names else UNMET
        note = ", ".join(f"{v} {m:.4g}" for v, m in means.items())
        named = [r for r in rest if r and r not in ("none", "own")]
        label = ", ".join(named) if len(rests) > 1 else f"{check.pick} along {check.along}"
        expected = " or ".join(check.names)
        cases.append(Case(label, status, None, expected, f"it is {found}: {note}"))
    return cases


def _spread(look: Look) -> list[Case]:
    """How much a quantity varies along an axis: by itself, or against the policies' difference."""
    check = look.check
    k = AXES.index(check.along)
    grid: dict[tuple[str, ...], dict[str, dict[str, float]]] = {}
    for cell in look.cells:
        for of in check.of:
            values = look.seeds(cell, check.metric, of)
            if values:
                rest = (*cell[:k], "", *cell[k + 1 :])
                grid.setdefault(rest, {}).setdefault(of, {})[cell[k]] = estimate(values).mean
    cases = []
    for rest, policies in grid.items():
        along = [max(line.values()) - min(line.values()) for line in policies.values()]
        moved = math.fsum(along) / len(along)
        label = look.label(rest, but=(check.along,)) or "all"  # type: ignore[arg-type]
        if check.expect is not None:
            cases.append(_judged(label.strip(), [moved], check.expect[""], "value"))
            continue
        places = dict.fromkeys(v for line in policies.values() for v in line)
        across = [[line[v] for line in policies.values() if v in line] for v in places]
        between = math.fsum(max(c) - min(c) for c in across) / len(across)
        status = MET if moved > between else UNMET
        note = f"along {check.along} {moved:.4g}, between policies {between:.4g}"
        cases.append(Case(label.strip(), status, None, "larger along the axis", note))
    return cases


def _agree(look: Look) -> list[Case]:
    """Rank correlation of two quantities: within each load with enough cells, else over all."""
    check = look.check
    points: dict[str, list[tuple[float, float]]] = {}
    for cell in look.cells:
        for of, to in look.pairs:
            first = look.seeds(cell, check.metric, of, to)
            second = look.seeds(cell, check.with_, of, to)
            if first and second:
                pair = (estimate(first).mean, estimate(second).mean)
                points.setdefault(cell[0], []).append(pair)
    if not points:
        return []
    if any(len(p) < 4 for p in points.values()):
        points = {"over all cases": [pair for p in points.values() for pair in p]}
    cases = []
    for label, pairs in points.items():
        if len(pairs) < 3:
            continue
        rank = spearman([p[0] for p in pairs], [p[1] for p in pairs])
        e = (check.expect or {})[""]
        if rank is None:
            cases.append(Case(label, UNMET, None, e.text, "one of the two does not vary"))
        else:
            note = f"rank correlation of {len(pairs)} points"
            judged = _judged(label, [rank], e, "difference")
            cases.append(Case(label, judged.status, judged.measured, e.text, note))
    return cases


def _rivals(look: Look, cell: Cell) -> dict[str, dict[int | None, float]]:
    values = {p: look.frame.values(cell, p, look.check.metric) for p in look.check.among}
    return {p: v for p, v in values.items() if v}


def _near(look: Look) -> list[Case]:
    check, cases = look.check, []
    of = check.of[0]
    for cell in look.cells:
        rivals = _rivals(look, cell)
        if of not in rivals or len(rivals) < 2:
            continue
        means = {p: estimate(list(v.values())).mean for p, v in rivals.items()}
        choose = min if check.sense == "lower" else max
        best = choose(means, key=lambda p: means[p])
        behind = [
            quantity("gain" if check.sense == "lower" else "reduction", a, b)
            for a, b in combine([rivals[of], rivals[best]])
        ]
        measured = estimate([b for b in behind if math.isfinite(b)] or [0.0])
        status = MET if measured.high <= check.within else UNMET
        if status == UNMET and measured.mean <= check.within:
            status = UNDECIDED
        expected = f"within {check.within:g} of the best"
        note = f"best: {best}"
        cases.append(Case(look.label(cell), status, measured, expected, note, kind=look.kind(cell)))
    return cases


def _rank(look: Look) -> list[Case]:
    check, cases = look.check, []
    of = check.of[0]
    sign = 1 if check.sense == "lower" else -1
    for cell in look.cells:
        rivals = _rivals(look, cell)
        if of not in rivals or len(rivals) < len(check.among):
            continue
        means = {p: sign * estimate(list(v.values())).mean for p, v in rivals.items()}
        # Equals share the better place.
        place = 1 + sum(m < means[of] for p, m in means.items() if p != of)
        e = (check.expect or {})[""]
        note = ", ".join(sorted(means, key=lambda p: means[p]))
        judged = _judged(look.label(cell), [float(place)], e, "value")
        cases.append(replace(judged, note=note, kind=look.kind(cell)))
    return cases


def _steady(look: Look) -> list[Case]:
    """Standard deviation over all cells of a policy's number, relative to the worst of its cell."""
    check = look.check
    series: dict[str, list[float]] = {}
    for cell in look.cells:
        rivals = _rivals(look, cell)
        if len(rivals) < len(check.among):
            continue
        means = {p: estimate(list(v.values())).mean for p, v in rivals.items()}
        worst = max(means.values())
        for p, m in means.items():
            series.setdefault(p, []).append(m / worst if worst else 0.0)
    if not series or len(next(iter(series.values()))) < 2:
        return []
    varies = {}
    for p, values in series.items():
        mean = math.fsum(values) / len(values)
        varies[p] = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
    cases = []
    for a, b in _neighbours(check.order):
        status = MET if varies[a] < varies[b] else UNMET
        note = f"{a} {varies[a]:.3f}, {b} {varies[b]:.3f}"
        cases.append(Case(f"{a} and {b}", status, None, f"{a} varies less", note))
    return cases


KINDS_OF_CHECK: Mapping[str, Callable[[Look], list[Case]]] = {
    "compare": _compare,
    "order": _order,
    "trend": _trend,
    "extreme": _extreme,
    "spread": _spread,
    "agree": _agree,
    "near": _near,
    "rank": _rank,
    "steady": _steady,
}
