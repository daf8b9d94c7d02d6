"""How far runs of one policy differ between two traces, with an interval.

A run is cut into sixty windows. Over two traces nothing is paired, so the interval is that of two
ratios, each with the standard error of its batches (Cochran: Sampling techniques, 1977, 6.4), and
Welch's degrees of freedom. Totals grow with a trace's length and have no interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from destage.model.estimates import student_t
from destage.model.run import Run

__all__ = ["WINDOWED", "apart"]

#: Metrics that are a sum over a sum in the windows.
WINDOWED: Mapping[str, tuple[str, str]] = {
    "hit_ratio": ("hits", "accesses"),
    "token_hit_ratio": ("hits", "accesses"),  # whose windows count tokens
    "read_hit_ratio": ("read_hits", "read_accesses"),
    "overall_hit_ratio": ("overall_hits", "accesses"),
    "response_ns_mean": ("response_ns_sum", "requests"),
    "read_response_ns_mean": ("read_response_ns_sum", "read_requests"),
    "waf": ("programs", "host_programs"),
}

#: Windows of a batch: neighbours depend on each other, and longer batches hide that.
BATCH = 3


def apart(metric: str, run: Run, other: Run) -> tuple[float, float] | None:
    """95 % interval of the number of `other` minus `run`'s.

    None for totals and percentiles, and for runs without windows.
    """
    parts = [_ratio(metric, one) for one in (run, other)]
    if parts[0] is None or parts[1] is None:
        return None
    (a, error_a, free_a), (b, error_b, free_b) = parts[0], parts[1]
    spread = error_a**2 + error_b**2
    if spread == 0:
        return b - a, b - a
    freedom = spread**2 / (error_a**4 / free_a + error_b**4 / free_b)
    half = student_t(max(1, math.floor(freedom))) * math.sqrt(spread)
    return b - a - half, b - a + half


def _ratio(metric: str, run: Run) -> tuple[float, float, int] | None:
    """A ratio, its standard error and degrees of freedom, from batches of windows."""
    if metric not in WINDOWED or run.windows is None:
        return None
    flash: Any = run.windows.get("flash")
    known = {**run.windows, **(flash if isinstance(flash, Mapping) else {})}
    tops, belows = (_batches(known.get(name)) for name in WINDOWED[metric])
    whole = sum(belows)
    if len(tops) < 2 or not whole:
        return None
    ratio = sum(tops) / whole
    squares = sum((t - ratio * b) ** 2 for t, b in zip(tops, belows, strict=True))
    count = len(tops)
    return ratio, math.sqrt(count / (count - 1) * squares) / whole, count - 1


def _batches(values: object) -> list[float]:
    if not isinstance(values, Sequence):
        return []
    return [float(sum(values[k : k + BATCH])) for k in range(0, len(values), BATCH)]
