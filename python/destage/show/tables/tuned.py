"""The table of a tuned policy."""

from __future__ import annotations

from destage.model.tuned import Best, TunedCurve
from destage.model.words import counted, plain_value
from destage.show.tables.results import Numbers
from destage.show.tables.table import Cell, Column, Table
from destage.show.tables.words import title_of

__all__ = ["tuned_table"]


def tuned_table(tuned: TunedCurve) -> Table:
    """Return one row per combination of values; marked is one that is ahead of all of its size."""
    metric = tuned.objective.metric
    numbers = Numbers.of(metric, [point.run for point in tuned.points])
    columns = [Column(key, key=True) for key in ("cache", *tuned.ranges)]
    columns += [Column(numbers.title)]
    goal = "maximised" if tuned.objective.largest else "minimised"
    table = Table(f"{tuned.policy}: {title_of(metric.name)}, {goal} ({tuned.search})", columns)
    for size, points in tuned.by_size().items():
        best = tuned.best[size]
        table.groups.append(
            [
                [
                    Cell(size),
                    *(Cell(plain_value(value)) for value in point.values.values()),
                    Cell(numbers.text(point.run), point is best.point and best.alike == 0),
                ]
                for point in points
            ]
        )
    for size, best in tuned.best.items():
        values = ", ".join(
            f"{key} = {plain_value(value)}" for key, value in best.point.values.items()
        )
        is_marked = len(tuned.by_size()[size]) > 1 and best.alike == 0
        table.notes.append(f"{'* ' * is_marked}best at {size}: {values}{_others(best)}")
    return table


def _others(best: Best) -> str:
    """How many values are as good as the best one."""
    if best.alike is None:
        return "; without an interval: others may be as good"
    if not best.alike:
        return ""
    several = counted(best.alike, "other")
    if best.equal == best.alike:
        return f"; {several} {'is' if best.alike == 1 else 'are'} equal"
    return f"; {several} not significantly worse, or by less than 1 %"
