"""The phases of a single run: while the cache fills, then stretches in which it goes about alike.

The engine cuts a run into sixty windows of equal requests. Stretches are found by binary
segmentation (Scott, Knott. A cluster analysis method for grouping means in the analysis of
variance. Biometrics 30, 1974): cut where the squares around the means fall most, as long as that is
worth it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from destage.model.metrics import METRICS
from destage.model.results import ResultSet
from destage.model.words import NBSP, number, ratio, time_unit
from destage.show.pages.blocks import Part, grid, section
from destage.show.pages.parts import hits_of

__all__ = ["phases_of_run"]

#: Most phases after the cache is full, and windows of the shortest.
MOST, SHORTEST = 4, 4
#: A cut takes away this share of the squares at least, and its sides differ by this share.
WORTH, DIFFERS = 0.2, 0.05


def phases_of_run(result: ResultSet) -> Part | None:
    """A row a phase; None for several runs, and for a run too short to be cut."""
    run = result.runs[0] if len(result.runs) == 1 else None
    windows = run.windows if run is not None else None
    if run is None or not windows:
        return None
    timed, hits = "response_ns_sum" in windows, hits_of(result, run)
    upper, lower = ("response_ns_sum", "requests") if timed else (hits, "accesses")
    count = len(windows[lower])
    after = windows.get("filled_after")
    full = count if after is None else min(count, -int(-after * count // 1))
    full = full if result.has_cache else 0
    values = [
        up / low if low else 0.0 for up, low in zip(windows[upper], windows[lower], strict=True)
    ]
    cuts = [full, *segments(values[full:], offset=full), count]
    spans = [("filling", 0, full)] if full else []
    stretches = [(a, b) for a, b in pairwise(cuts) if b > a]
    spans += [(f"phase {k}", a, b) for k, (a, b) in enumerate(stretches, start=1)]
    unit = time_unit(v for v in values if v) if timed else None
    title = next(m.title for m in METRICS if m.name == result.hits_metric)
    heads = ["Phase", "Part of the run", f"{title} (%)"]
    heads += [f"Mean response ({unit.name})"] if unit else []
    rows = []
    for label, first, last in spans:
        total = {k: sum(windows[k][first:last]) for k in (upper, lower, hits, "accesses")}
        at = f"{100 * first / count:.0f} to {100 * last / count:.0f}{NBSP}%"
        cells = [at, ratio(total[hits] / total["accesses"] if total["accesses"] else None)]
        if unit:
            mean = total[upper] / total[lower] if total[lower] else None
            cells.append(unit.text(mean))
        if run.tiers is None:  # above a flash tier these are dirty pages that leave tier 1
            written = sum(windows["physical_writes"][first:last]) / (last - first) * count / 100
            cells.append(number(round(written)))
        rows.append([label, *cells])
    heads += [f"Flash writes per 1{NBSP}% of the requests"] if run.tiers is None else []
    number_of = "mean response" if timed else "hit ratio"
    note = f"A phase begins where the {number_of} changes for long."
    if result.has_cache:
        note = "Filling ends when every frame of the cache has been taken. After that a" + note[1:]
    return section("Phases of the run", grid(heads, rows, notes=[note]))


def segments(values: Sequence[float], offset: int = 0) -> list[int]:
    """Where phases begin, the first left out."""
    whole = _squares(values)
    cuts: list[int] = []
    while len(cuts) < MOST - 1 and whole > 0:
        bounds = [0, *sorted(cuts), len(values)]
        found = [_best_cut(values, a, b) for a, b in pairwise(bounds)]
        gain, place = max((f for f in found if f), default=(0.0, 0))
        if gain < WORTH * whole:
            break
        cuts.append(place)
    return [cut + offset for cut in sorted(cuts)]


def _best_cut(values: Sequence[float], first: int, last: int) -> tuple[float, int] | None:
    """The variance that the best cut of a stretch removes, and its place."""
    best: tuple[float, int] | None = None
    around = _squares(values[first:last])
    for place in range(first + SHORTEST, last - SHORTEST + 1):
        left, right = values[first:place], values[place:last]
        means = sum(left) / len(left), sum(right) / len(right)
        if abs(means[0] - means[1]) < DIFFERS * max(means):
            continue
        gain = around - _squares(left) - _squares(right)
        if best is None or gain > best[0]:
            best = gain, place
    return best


def _squares(values: Sequence[float]) -> float:
    """Squared distances from the mean, in all."""
    if not values:
        return 0.0
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values)
