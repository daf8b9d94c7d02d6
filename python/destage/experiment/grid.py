"""Axes of a sweep, and every point of their grid."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["INNER", "Axis", "Point", "points"]

#: Axes within one task; every value of the others is a task of its own.
INNER = ("policies", "cache")

#: A value for each axis, by its name.
Point = dict[str, Any]


@dataclass(frozen=True)
class Axis:
    """An axis of the grid: a key with several values."""

    name: str
    """As in SPEC: `traces`, `device.gc_mode`."""
    values: tuple[Any, ...]


def points(axes: Sequence[Axis], zipped: Sequence[Sequence[str]]) -> Iterator[tuple[Point, ...]]:
    """Every point of the outer axes, each with the points of the inner ones.

    Axes that are zipped go forward together. The first axis is the slowest.
    """
    by_name = {axis.name: axis for axis in axes}
    together = {name: tuple(group) for group in zipped for name in group}
    bundles: dict[tuple[str, ...], list[Point]] = {}
    for axis in axes:
        names = together.get(axis.name, (axis.name,))
        if names not in bundles:
            columns = [by_name[name].values for name in names]
            bundles[names] = [
                dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)
            ]
    outer = [rows for names, rows in bundles.items() if not set(names) <= set(INNER)]
    inner = [rows for names, rows in bundles.items() if set(names) <= set(INNER)]
    for chosen in itertools.product(*outer):
        base = _joined(chosen)
        yield tuple({**base, **_joined(rest)} for rest in itertools.product(*inner))


def _joined(parts: Sequence[Mapping[str, Any]]) -> Point:
    return {name: value for part in parts for name, value in part.items()}
