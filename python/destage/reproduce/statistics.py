"""Means and ratios with confidence intervals, and rank correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Estimate", "estimate", "ratios", "spearman"]

#: Student's t for a two-sided interval of 95 %, by degrees of freedom from 1.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip
_NORMAL95 = 1.960


@dataclass(frozen=True)
class Estimate:
    """A mean, and the 95 % confidence interval around it; of one value the value itself."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def half(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2 if self.high > self.low else 0.0


def estimate(values: Sequence[float]) -> Estimate:
    """Return mean and interval of independent values, by Student's t.

    A mean that is infinite has no interval.
    """
    n = len(values)
    if any(math.isinf(v) for v in values):
        mean = sum(values) / n
        return Estimate(mean, mean, mean, n)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, mean, mean, 1)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    t = _T95[n - 2] if n - 2 < len(_T95) else _NORMAL95
    reach = t * deviation / math.sqrt(n)
    return Estimate(mean, mean - reach, mean + reach, n)


def ratios(of: Sequence[float], to: Sequence[float]) -> list[float]:
    """Return a value for each pair, so that their mean is the sum of `of` over that of `to`.

    They deviate from it as the ratio estimator does (Cochran, Sampling Techniques, 6.4), so that
    `estimate` gives its interval: a pair with a tiny denominator weighs as little as it is. The sum
    of `to` is not 0.
    """
    n = len(of)
    over, under = math.fsum(of), math.fsum(to)
    ratio, mean = over / under, under / n
    return [ratio + (a - ratio * b) / mean for a, b in zip(of, to, strict=True)]


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the rank correlation; None where one of the two does not vary."""
    a, b = _ranks(first), _ranks(second)
    mean_a, mean_b = math.fsum(a) / len(a), math.fsum(b) / len(b)
    together = math.fsum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    alone = math.fsum((x - mean_a) ** 2 for x in a) * math.fsum((y - mean_b) ** 2 for y in b)
    return together / math.sqrt(alone) if alone > 0 else None


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda k: values[k])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for k in order[start : end + 1]:
            ranks[k] = (start + end) / 2 + 1
        start = end + 1
    return ranks
