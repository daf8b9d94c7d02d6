"""How numbers read in a report: in per cent, or as factors from ten times on."""

from __future__ import annotations

import math

from destage.reproduce.claims import Check

__all__ = ["FACTORS", "is_share", "number"]

#: Forms and metrics whose numbers are shares.
_SHARES = ("reduction", "gain", "share")
#: Shares from here on read as factors.
FACTORS = 10.0


def is_share(check: Check) -> bool:
    """Whether a check's numbers read as per cent."""
    if check.kind in ("near", "order"):
        return True
    if check.kind not in ("compare", "extreme"):
        return False
    if check.form in _SHARES:
        return True
    return check.form == "value" and (check.metric.endswith(("_ratio", "_share")))


def number(value: float, share: bool = False) -> str:
    """Return a number with three or four digits; shares in per cent, or as factors from ten on."""
    if math.isinf(value):
        return "infinitely much" if value > 0 or share else "-"
    if math.isnan(value):
        return "-"
    if share and abs(value) >= FACTORS:
        return f"{number(1 + abs(value))} times as much"
    if share:
        return f"{100 * value:.2f} %" if abs(value) < 0.1 else f"{100 * value:.1f} %"
    if value and (abs(value) >= 1e15 or abs(value) < 1e-3):
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
