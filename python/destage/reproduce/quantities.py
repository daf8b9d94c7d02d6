"""What a check looks at, as numbers: those of a seed side by side, and what can be made of them.

Not every quantity is a number. Nothing over nothing is `ZERO`: there was nothing to tell a policy
by. A run that failed, a seed without its like, a share of a gain that there is not, are
`UNDEFINED`. Both are statuses of a case, with the reason in words; something over nothing is
infinite, and is judged as such.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from destage.reproduce.statistics import Estimate, estimate, ratios

__all__ = ["UNDEFINED", "ZERO", "Quantity", "combined", "paired", "quantity"]

#: Nothing was measured that could tell; or what was measured gives no number.
ZERO, UNDEFINED = "zero", "undefined"

#: Numbers by seed; None: of a load that is not drawn.
Seeds = Mapping[int | None, float]


@dataclass(frozen=True)
class Quantity:
    """A value for each seed; or a status, and why there are none."""

    by_seed: Seeds
    status: str = ""
    why: str = ""

    @property
    def values(self) -> tuple[float, ...]:
        """The values in the order of the seeds."""
        return tuple(self.by_seed.values())

    @property
    def estimate(self) -> Estimate:
        """Mean and interval. Only of what has values."""
        return estimate(self.values)


def undefined(why: str) -> Quantity:
    """Return a quantity that is no number, and say why."""
    return Quantity({}, UNDEFINED, why)


def paired(parts: Mapping[str, Seeds]) -> tuple[dict[int | None, tuple[float, ...]], str]:
    """Put numbers of the same seed side by side; what has no seed goes with all of them.

    Returns the rows in the order of the seeds, and what is wrong: a part without numbers, a seed
    that is missing in one of them, something that is not a number.
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
    return {
        seed: tuple(p[seed] if seed in p else p[None] for p in parts.values()) for seed in seeds
    }, ""


def quantity(form: str, parts: Mapping[str, Seeds]) -> Quantity:
    """Return `form` of the numbers of, against and than: the first part, the second, the third.

    Ratios are those of sums over the seeds, with the interval of a ratio.
    """
    rows, wrong = paired(parts)
    if wrong:
        return undefined(wrong)
    of = [row[0] for row in rows.values()]
    if form == "value":
        return Quantity(dict(zip(rows, of, strict=True)))
    to = [row[1] for row in rows.values()]
    if form == "difference":
        return Quantity({s: row[0] - row[1] for s, row in rows.items()})
    if form == "share":
        than = [row[2] for row in rows.values()]
        found, why = _share(of, to, than, list(parts)[2])
        return undefined(why) if why else Quantity(dict(zip(rows, found, strict=True)))
    if not any(to) and not any(of):
        return Quantity({}, ZERO, "0 against 0")
    if any(to) and math.fsum(to) == 0:
        return undefined("what it is held against adds up to 0")
    found = _relation(form, of, to)
    return Quantity(dict(zip(rows, found, strict=True)))


def _share(
    of: Sequence[float], to: Sequence[float], than: Sequence[float], name: str
) -> tuple[list[float], str]:
    """What part of the gain of `than` over `to` `of` has; or why there is none."""
    gains = [b - c for b, c in zip(to, than, strict=True)]
    whole = estimate(gains)
    if whole.low <= 0 <= whole.high:
        return [], f"{name} has no gain that a share could be of"
    return ratios([b - a for a, b in zip(of, to, strict=True)], gains), ""


def _relation(form: str, of: Sequence[float], to: Sequence[float]) -> list[float]:
    found = ratios(of, to) if any(to) else [math.copysign(math.inf, math.fsum(of))] * len(of)
    if form == "ratio":
        return found
    return [1 - r if form == "reduction" else r - 1 for r in found]


def combined(first: Quantity, second: Quantity) -> Quantity:
    """Return the first less the second, seed by seed."""
    for one in (first, second):
        if one.status:
            return one
    rows, wrong = paired({"one": first.by_seed, "the other": second.by_seed})
    if wrong:
        return undefined(wrong)
    return Quantity({seed: a - b for seed, (a, b) in rows.items()})
