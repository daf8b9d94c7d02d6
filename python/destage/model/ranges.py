"""Values of a parameter that is tuned, as text or as a list."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from destage.base.errors import UsageError

__all__ = ["LARGEST_GRID", "Range", "Value", "range_of"]

#: A parameter's value, as a policy takes it.
Value = bool | int | float | str

#: Combinations of a grid, at most: beyond it a search is what one wants.
LARGEST_GRID = 100_000

#: Decimal exponent of a number that fits a float.
LARGEST_EXPONENT = 308

FORMS = "expected A:B:STEP (0:1:0.1), A:B:*FACTOR (16:4096:*2), A:B (with trials) or A,B,C"


@dataclass(frozen=True)
class Range:
    """Values of one parameter."""

    values: tuple[Value, ...] = ()
    """All values, in order; empty if the range has no steps."""
    bounds: tuple[float, float] | None = None
    """First and last value, if they are numbers in steps or a range without any."""
    whole: bool = False
    """Only whole numbers between the bounds."""


def range_of(key: str, given: str | Sequence[Value]) -> Range:
    """Read a range; `key` is what messages call it.

    Raises `UsageError`.

    >>> range_of("alpha", "0:0.3:0.1").values
    (0, 0.1, 0.2, 0.3)
    >>> range_of("window", "16:64:*2").values
    (16, 32, 64)
    """
    if not isinstance(given, str):
        values = tuple(given) if isinstance(given, Iterable) else ()
        if not values or not all(isinstance(v, (bool, int, float, str)) for v in values):
            raise UsageError(f"{key}: expected values, got {given!r}")
        return _unique(key, Range(values, _bounds(values)))
    if ":" not in given:
        words = [word.strip() for word in given.split(",")]
        if not all(words):
            raise UsageError(f"{key}={given}: {FORMS}")
        values = tuple(_value(word) for word in words)
        return _unique(key, Range(values, _bounds(values)))
    parts = [part.strip() for part in given.split(":")]
    if len(parts) not in (2, 3):
        raise UsageError(f"{key}={given}: {FORMS}")
    grows = len(parts) == 3 and parts[2].startswith("*")
    try:
        first, last, *step = (Decimal(part.removeprefix("*")) for part in parts)
    except InvalidOperation:
        raise UsageError(f"{key}={given}: {FORMS}") from None
    plain = all(n.is_finite() and n.adjusted() < LARGEST_EXPONENT for n in (first, last, *step))
    if not plain or first > last:
        raise UsageError(f"{key}={given}: {FORMS}, A no more than B")
    bounds = float(first), float(last)
    if not step:
        whole = first == first.to_integral() and last == last.to_integral() and "." not in given
        return Range((), bounds, whole)
    if (grows and (step[0] <= 1 or first <= 0)) or step[0] <= 0:
        raise UsageError(f"{key}={given}: the step must not be 0, and a factor must be above 1")
    numbers = itertools.takewhile(lambda number: number <= last, _steps(first, step[0], grows))
    # Decimals, so that 0.1 taken three times is 0.3.
    values = tuple(_plain(number) for number in itertools.islice(numbers, LARGEST_GRID + 1))
    return Range(values, bounds)


def _steps(first: Decimal, step: Decimal, grows: bool) -> Iterator[Decimal]:
    number = first
    while True:
        yield number
        number = number * step if grows else number + step


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral() else float(number)


def _value(word: str) -> Value:
    if word in ("true", "false"):
        return word == "true"
    try:
        number = Decimal(word)
    except InvalidOperation:
        return word
    # Of larger ones no float exists: the policy rejects the text.
    return _plain(number) if number.is_finite() and number.adjusted() < LARGEST_EXPONENT else word


def _bounds(values: Sequence[Value]) -> tuple[float, float] | None:
    numbers = [float(v) for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return (min(numbers), max(numbers)) if len(numbers) == len(values) > 1 else None


def _unique(key: str, found: Range) -> Range:
    if len(set(map(repr, found.values))) < len(found.values):
        raise UsageError(f"{key}: a value is named twice")
    return found
