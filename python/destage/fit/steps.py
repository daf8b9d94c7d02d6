"""Whether collections move whole blocks or steps of them (`docs/spec/fit.md` 7)."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

from destage.base.errors import DestageError
from destage.fit.collector import UNIFORM, before_random, first_op
from destage.fit.fio import Measurement
from destage.fit.model import Model
from destage.fit.writes import ENDS, longest_off

__all__ = ["SHOWN_BY", "steps_of"]

#: The step whose longest reads wait for a collection that moves pages.
SHOWN_BY = "tail-collect"
#: `gc_step_pages` that is tried beside whole blocks.
IN_STEPS = "auto"

Root = tuple[float, float]


def steps_of(made: Measurement, model: Model, first: Root) -> tuple[Model, Root] | None:
    """The model with `gc_step_pages` by its longest reads, and what `first_op` gives with it.

    A whole block holds up a read for all pages that it moves, a step for a few of them: with each
    at the rate that was measured, under the two collectors at the ends of the range. None where the
    percentiles are missing, or neither reaches that rate.
    """
    tail = made.get(SHOWN_BY)
    if tail is None or tail.direction.p9999_ns is None:
        return None
    stepped = model.with_(gc_step_pages=IN_STEPS)

    def tried(one: Model, root: Root | None) -> tuple[float, Model, Root]:
        root = root or first_op(made, one)
        return (math.inf, one, first) if root is None else (_off(made, one, root), one, root)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(tried, (model, stepped), (first, None)))
    off, best, root = min(found, key=lambda one: one[0])
    return (best, root) if math.isfinite(off) else None


def _off(made: Measurement, model: Model, first: Root) -> float:
    """Log difference of the longest reads, with the nearer one of two collectors."""
    names = (*before_random(made), *UNIFORM, SHOWN_BY)
    least = math.inf
    for victim in ENDS:
        trial = model.with_(gc_victim=victim)
        root = first if victim == model.gc_victim else first_op(made, trial, first)
        if root is None:
            continue
        try:
            found = trial.with_(op=root[0]).simulate(names, unread=("tail-erase",))
        except DestageError:
            continue  # so few blocks leave no room for a collection
        least = min(least, longest_off(made.steps[SHOWN_BY], found[SHOWN_BY]))
    return least
