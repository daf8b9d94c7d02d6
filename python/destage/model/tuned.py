"""A tuned policy: an objective over the values of its parameters, and where it is best."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from destage import _destage
from destage.base.errors import UsageError
from destage.model.choice import metric_named
from destage.model.metrics import Metric, metrics
from destage.model.ranges import Range, Value
from destage.model.run import Run, warnings_of
from destage.model.winners import change, source_of

__all__ = ["Best", "Objective", "Point", "TunedCurve", "objective_of"]


@dataclass(frozen=True)
class Objective:
    """The metric to minimise or maximise."""

    metric: Metric
    largest: bool

    def better(self, value: float, than: float) -> bool:
        """Whether a value is better than another."""
        return value > than if self.largest else value < than


def objective_of(text: str) -> Objective:
    """Read a metric's name, or a short one: `p99`.

    With `min:` or `max:` before it where the metric does not say itself. Raises `UsageError`.
    """
    way, colon, name = text.rpartition(":")
    if colon and way not in ("min", "max"):
        raise UsageError(f"objective {text}: expected a metric, min:METRIC or max:METRIC")
    metric = metric_named(name, "objective")
    if metric not in metrics():
        raise UsageError(f"objective {name}: it compares two runs, and this looks at one")
    if not way and metric.better not in ("higher", "lower"):
        raise UsageError(f"objective {name}: give a direction: min:{name} or max:{name}")
    return Objective(metric, way == "max" if way else metric.better == "higher")


@dataclass(frozen=True)
class Point:
    """One combination of values at one cache size."""

    values: Mapping[str, Value]
    """The parameters that are tuned."""
    run: Run
    """The run with these values."""
    objective: float
    """The metric."""


@dataclass(frozen=True)
class Best:
    """The best point of a cache size."""

    point: Point
    equal: int
    """Other points that are exactly as good."""
    alike: int | None
    """Other points that are not significantly worse, or by less than 1 %; the equal ones too. None
    where the metric has no interval on this trace."""
    at_the_end: tuple[str, ...]
    """Parameters whose best value is the first or last of its range: it may lie beyond. None where
    a value within the range is alike."""


@dataclass(frozen=True, repr=False)
class TunedCurve:
    """The curve of an objective over a policy's parameters, and where it is best."""

    policy: str
    """The policy."""
    objective: Objective
    """The metric that was minimised or maximised."""
    ranges: Mapping[str, Range]
    """The parameters that were tuned."""
    points: tuple[Point, ...] = field(repr=False)
    """Every combination at every cache size."""
    search: str
    """`grid`, or how the points were chosen."""

    @cached_property
    def best(self) -> Mapping[str, Best]:
        """The best point by cache size, as it was given; among equals the first."""
        found: dict[str, Best] = {}
        for size, points in self.by_size().items():
            best = points[0]
            for point in points[1:]:
                if self.objective.better(point.objective, best.objective):
                    best = point
            others = [point for point in points if point is not best]
            equal = [point for point in others if point.objective == best.objective]
            name = self.objective.metric.name
            alike = [p for p in others if change(name, best.run, p.run) is None]
            known = len(equal) == len(others) or any(
                best.run.minus(point.run, source_of(name)) for point in others
            )
            ends = self._at_the_end(best, alike if known else equal)
            found[size] = Best(best, len(equal), len(alike) if known else None, ends)
        return found

    def by_size(self) -> dict[str, list[Point]]:
        """The points by cache size, as it was given."""
        sizes: dict[str, list[Point]] = {}
        for point in self.points:
            sizes.setdefault(point.run.cache, []).append(point)
        return sizes

    def _at_the_end(self, best: Point, alike: Sequence[Point]) -> tuple[str, ...]:
        def ends(key: str, value: Value) -> bool:
            bounds = self.ranges[key].bounds
            if bounds is None or value not in bounds:
                return False
            if any(point.values[key] not in bounds for point in alike):
                return False
            # At the end of what the parameter may be there is nothing beyond.
            step = 1 if isinstance(value, int) else 1e-9 * max(1.0, abs(float(value)))
            beyond = float(value) + (step if value == bounds[1] else -step)
            return _can_be(self.policy, key, int(beyond) if isinstance(value, int) else beyond)

        return tuple(key for key, value in best.values.items() if ends(key, value))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the optimum."""
        said = [
            "tuned and evaluated on the same trace: validate the optimum on another"
            " (compare) before relying on it"
        ]
        for size, best in self.best.items():
            said += [
                f"{size}: the best {key} is at an end of its range: the optimum may lie beyond"
                for key in best.at_the_end
            ]
            if best.alike == len(self.by_size()[size]) - 1 and best.alike:
                said.append(f"{size}: no significant difference between values on this trace")
        runs = [point.run for point in self.points]
        labels = {run.label for run in runs}
        # A warning of every value is printed once.
        for message, named in warnings_of(runs).items():
            who = self.policy if len(named) == len(labels) else ", ".join(named)
            said.append(f"{who}: {message}")
        return tuple(said)


def _can_be(policy: str, key: str, value: Value) -> bool:
    try:
        _destage.check_policy(policy, json.dumps({key: value}))
    except UsageError:
        # A user policy's parameters are unknown.
        return policy not in {known["name"] for known in json.loads(_destage.policies())}
    return True
