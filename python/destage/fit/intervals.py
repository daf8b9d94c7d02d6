"""How far each value may be off (`docs/spec/fit.md` 8)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from destage.fit.comparison import Compared
from destage.fit.fio import Measurement

__all__ = ["errors_of", "intervals"]

SAMPLES = 1000
_MASK = (1 << 64) - 1


def _words(seed: int) -> Iterator[int]:
    """SplitMix64."""
    state = seed & _MASK
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        yield z ^ (z >> 31)


def _normal(seed: int) -> Iterator[float]:
    """Standard normal numbers (Box-Muller)."""
    words = _words(seed)
    while True:
        u, v = ((next(words) >> 11) + 1) / (1 << 53), (next(words) >> 11) / (1 << 53)
        length = math.sqrt(-2 * math.log(u))
        yield length * math.cos(2 * math.pi * v)
        yield length * math.sin(2 * math.pi * v)


def errors_of(made: Measurement, steps: Sequence[Compared] = ()) -> dict[str, float]:
    """Relative error of each step's mean: at least what the fitted SSD is off there.

    Not of bursts, which meet a collection or do not: the buffer's interval has that.
    """
    errors = {name: step.error for name, step in made.steps.items()}
    first, again = made.get("read-qd1"), made.get("read-again")
    if first is not None and again is not None:
        half = abs(math.log(again.mean_ns / first.mean_ns)) / 2
        for name in ("read-qd1", "read-again"):
            errors[name] = max(errors[name], half)
    for step in steps:
        if step.step in errors and not step.step.startswith("burst-"):
            errors[step.step] = max(errors[step.step], abs(step.residual))
    return errors


def intervals(
    errors: Mapping[str, float],
    values: Callable[[Mapping[str, float]], Mapping[str, float]],
    seed: int,
) -> dict[str, tuple[float, float]]:
    """2.5 % and 97.5 % points of what closed forms give for perturbed steps, over the nominal."""
    nominal = values({})
    draws = _normal(seed)
    seen: dict[str, list[float]] = {key: [] for key in nominal}
    for _ in range(SAMPLES):
        scale = {name: next(draws) * error for name, error in errors.items()}
        for key, value in values(scale).items():
            if key in seen:
                seen[key].append(value)
    found = {}
    for key, all_values in seen.items():
        ordered = sorted(all_values)
        low = ordered[int(0.025 * len(ordered))]
        high = ordered[min(len(ordered) - 1, int(0.975 * len(ordered)))]
        found[key] = (low - nominal[key], high - nominal[key])
    return found
