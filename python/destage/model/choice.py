"""Choice of metrics: short names, views and groups.

One set of names for everything that takes a metric: columns and order of a table, what `tune` makes
small or large, and items of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from destage.base.errors import UsageError
from destage.base.unknown import unknown
from destage.model.metrics import (
    METRICS,
    RENAMED,
    Metric,
    MetricGroup,
    metric_groups,
    metrics,
    renamed_text,
    suggestion,
)

__all__ = [
    "LIFE",
    "SHORT",
    "VIEWS",
    "check_renamed",
    "chosen",
    "full_name",
    "grouped",
    "metric_named",
]

#: Short names of the numbers that people ask for most.
SHORT: Mapping[str, str] = {metric.short: metric.name for metric in metrics() if metric.short}

#: Stands for two columns that take the erases that a block endures: drive writes a day, years.
LIFE = "life"


def _views() -> dict[str, tuple[str, ...]]:
    places: dict[str, dict[int, str]] = {}
    for metric in metrics():
        for view, place in metric.views:
            places.setdefault(view, {})[place] = metric.name
    views = {view: tuple(names[k] for k in sorted(names)) for view, names in places.items()}
    return {**views, "endurance": (*views["endurance"], LIFE)}


#: Columns of `--view`.
VIEWS: Mapping[str, tuple[str, ...]] = _views()


def grouped(found: Iterable[Metric]) -> list[tuple[MetricGroup, list[Metric]]]:
    """Metrics in their groups; groups without one are left out."""
    ordered = sorted(found, key=lambda metric: metric.rank)
    members = ((group, [m for m in ordered if m.group == group]) for group in metric_groups())
    return [(group, ours) for group, ours in members if ours]


@cache
def _known() -> dict[str, Metric]:
    return {metric.name: metric for metric in METRICS}


def full_name(name: str) -> str:
    """The name of the column that a short name stands for; another one is left as it is."""
    return SHORT.get(name.strip().lower(), name.strip())


def check_renamed(name: str, what: str = "metric") -> None:
    """Raise `UsageError` for a name of an earlier version, which names the present one."""
    if name.strip() in RENAMED:
        raise UsageError(f"{what} {name.strip()} {renamed_text(name.strip())}")


def metric_named(name: str, what: str = "metric") -> Metric:
    """The metric of this name, short or whole. Raises `UsageError` with the nearest name."""
    known = _known()
    found = known.get(full_name(name))
    check_renamed(name, what)
    if found is None:
        meant = suggestion(name.strip(), [*SHORT, *known])
        raise UsageError(
            f"unknown {what} {name.strip()!r}{meant} (for short: {', '.join(SHORT)}; and every name"
            " that `destage run --all` prints, such as waf or erases)"
        )
    return found


def chosen(
    show: str | Sequence[str] | None, view: str | None, sort: str | None
) -> tuple[list[Metric] | None, bool]:
    """The columns of a table, None for the usual ones, and whether `life` is among them.

    What a table is sorted by is among them.
    """
    if view is not None and show is not None:
        raise UsageError("show and view both choose columns: give one")
    if view is not None and view not in VIEWS:
        raise UsageError(unknown("view", view, VIEWS))
    words = VIEWS[view] if view else [show] if isinstance(show, str) else show
    if words is None:
        return None, False
    names = [n.strip() for word in words for n in word.split(",") if n.strip()]
    if not names:
        raise UsageError("show: expected at least one metric, such as p99.9")
    for name in names:
        if name in VIEWS and full_name(name) == name:
            raise UsageError(f"show: {name} is a view of several columns: give --view {name}")
    life = LIFE in names
    names = [n for n in names if n != LIFE] + ([sort] if sort else [])
    return list(dict.fromkeys(metric_named(n) for n in names)), life
