"""Means, ratios and their 95 % confidence intervals by Student's t; rank correlation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Estimate", "estimate", "kendall", "ranks", "ratios", "spearman", "student_t"]

#: The 97.5 % quantile of Student's t, by degrees of freedom from 1.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.960


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % confidence interval; of one value the value itself."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def half(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2 if self.high > self.low else 0.0

    def __neg__(self) -> Estimate:
        """Return the estimate of the negative."""
        return Estimate(-self.mean, -self.high, -self.low, self.count)


def student_t(freedom: int) -> float:
    """Return Student's quantile of a 95 % interval; beyond the table, the normal one."""
    return _T[max(freedom, 1) - 1] if freedom <= len(_T) else _NORMAL


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of independent values with its interval; an infinite one has none."""
    n = len(values)
    if any(math.isinf(v) for v in values):
        mean = sum(values) / n
        return Estimate(mean, mean, mean, n)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, mean, mean, 1)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    reach = student_t(n - 1) * deviation / math.sqrt(n)
    return Estimate(mean, mean - reach, mean + reach, n)


def ratios(of: Sequence[float], to: Sequence[float]) -> list[float]:
    """Return a value for each pair, so that their mean is the sum of `of` / the sum of `to`.

    They deviate from it as the ratio estimator does (Cochran, Sampling Techniques, 6.4), so that
    `estimate` gives its interval: a tiny denominator has little weight. The sum of `to` is not 0.
    """
    n = len(of)
    over, under = math.fsum(of), math.fsum(to)
    ratio, mean = over / under, under / n
    return [ratio + (a - ratio * b) / mean for a, b in zip(of, to, strict=True)]


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the rank correlation; None where one of the two does not vary."""
    a, b = ranks(first), ranks(second)
    mean_a, mean_b = math.fsum(a) / len(a), math.fsum(b) / len(b)
    together = math.fsum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    alone = math.fsum((x - mean_a) ** 2 for x in a) * math.fsum((y - mean_b) ** 2 for y in b)
    return together / math.sqrt(alone) if alone > 0 else None


def kendall(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; None where one of the two does not vary.

    M. G. Kendall: The treatment of ties in ranking problems, Biometrika 33, 1945.
    """
    agree = alone_a = alone_b = 0
    for (a, b), (c, d) in itertools.combinations(zip(first, second, strict=True), 2):
        one, other = (a > c) - (a < c), (b > d) - (b < d)
        agree += one * other
        alone_a += one != 0
        alone_b += other != 0
    return agree / math.sqrt(alone_a * alone_b) if alone_a and alone_b else None


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    ordered = sorted(values)
    first = {value: k for k, value in reversed(list(enumerate(ordered)))}
    last = {value: k for k, value in enumerate(ordered)}
    return [(first[value] + last[value]) / 2 + 1 for value in values]
