"""The numbers that a check compares, seed by seed, and what follows from them.

Not every quantity is a number. 0 against 0 is `ZERO`: nothing happened that could distinguish
policies. A failed run, a missing seed, a share of a gain that does not exist are `UNDEFINED`. Both
are statuses of a case, with the reason in words; a number above 0 against 0 is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from destage.model.estimates import Estimate, estimate, ratios

__all__ = [
    "UNDEFINED",
    "Interval",
    "ZERO",
    "Quantity",
    "across",
    "combined",
    "paired",
    "quantity",
    "undefined",
    "within",
]

ZERO, UNDEFINED = "zero", "undefined"

#: The ends of a confidence interval.
Interval = tuple[float, float]
#: Numbers by seed; None: of a workload that is not generated.
Seeds = Mapping[int | None, float]
#: Several numbers by seed.
SeedRows = dict[int | None, tuple[float, ...]]


@dataclass(frozen=True)
class Quantity:
    """A value for each seed; or a status, and why there are none."""

    by_seed: Seeds
    status: str = ""
    why: str = ""
    interval: tuple[float, float] | None = None
    """Where it lies, if that follows from more than the seeds."""

    @property
    def estimate(self) -> Estimate:
        """Mean and interval of a quantity with values."""
        found = estimate(tuple(self.by_seed.values()))
        if self.interval is None:
            return found
        return Estimate(found.mean, *self.interval, found.count)


def within(
    found: Quantity, form: str, differences: Mapping[int | None, Interval], to: Seeds
) -> Quantity:
    """Return a quantity of two numbers with the intervals of their difference, seed by seed.

    Its interval covers the intervals of all seeds.
    """
    if found.status or form not in ("ratio", "reduction", "gain", "difference"):
        return found
    ends: list[float] = []
    for seed, (low, high) in differences.items():
        whole = 1.0 if form == "difference" else to[seed if seed in to else None]
        if not whole:
            return found
        ends += [low / whole, high / whole]
    turned = [{"ratio": 1 + end, "reduction": -end}.get(form, end) for end in ends]
    return replace(found, interval=(min(turned), max(turned)))


def undefined(why: str) -> Quantity:
    """Return a quantity that is no number."""
    return Quantity({}, UNDEFINED, why)


def paired(parts: Mapping[str, Seeds]) -> tuple[SeedRows, str]:
    """Put numbers of the same seed side by side; those without a seed go with all of them.

    Returns the rows in the order of the seeds; or the reason why there are none: a part without
    numbers, a missing seed, NaN or infinity.
    """
    for name, part in parts.items():
        if not part:
            return {}, f"no number of {name}"
        if any(not math.isfinite(v) for v in part.values()):
            return {}, f"{name} has something that is not a number"
    seeds: list[int | None]
    seeds = [*sorted({s for part in parts.values() for s in part if s is not None})] or [None]
    for name, part in parts.items():
        lacking = [s for s in seeds if s not in part and None not in part]
        if lacking:
            return {}, f"no number of {name} with seed {', '.join(map(str, lacking))}"
    return {s: tuple(p[s] if s in p else p[None] for p in parts.values()) for s in seeds}, ""


def across(found: Iterable[Quantity]) -> tuple[SeedRows, Quantity | None]:
    """Return quantities side by side, seed by seed; or the first that is no number."""
    every = list(found)
    broken = next((one for one in every if one.status), None)
    if broken is not None:
        return {}, broken
    rows, wrong = paired({f"case {k + 1}": one.by_seed for k, one in enumerate(every)})
    return rows, undefined(wrong) if wrong else None


def combined(found: Iterable[Quantity], of: Callable[[tuple[float, ...]], float]) -> Quantity:
    """Return a function of quantities, seed by seed."""
    rows, broken = across(found)
    return broken or Quantity({seed: of(row) for seed, row in rows.items()})


def quantity(form: str, parts: Mapping[str, Seeds]) -> Quantity:
    """Return `form` of the numbers of, against and than: the first part, the second, the third.

    A ratio is one of sums over the seeds, with the interval of a ratio.
    """
    rows, wrong = paired(parts)
    if wrong:
        return undefined(wrong)
    of, *others = zip(*rows.values(), strict=True)
    if form == "value":
        return Quantity(dict(zip(rows, of, strict=True)))
    to = others[0]
    if form == "difference":
        return Quantity({seed: row[0] - row[1] for seed, row in rows.items()})
    if form == "share":
        gains = [b - c for b, c in zip(to, others[1], strict=True)]
        whole = estimate(gains)
        if whole.low <= 0 <= whole.high:
            return undefined(f"{list(parts)[2]} has no gain that a share could be of")
        found = ratios([b - a for a, b in zip(of, to, strict=True)], gains)
    elif not any(to):
        if not any(of):
            return Quantity({}, ZERO, "0 against 0")
        found = [math.copysign(math.inf, math.fsum(of))] * len(of)
    elif math.fsum(to) == 0:
        return undefined("its reference adds up to 0")
    else:
        found = ratios(of, to)
    turned = {"reduction": lambda r: 1 - r, "gain": lambda r: r - 1}.get(form, lambda r: r)
    return Quantity(dict(zip(rows, map(turned, found), strict=True)))
