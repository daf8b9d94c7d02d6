"""Find the best value of a policy's parameters for a trace: `tune`.

Papers report their policies at a value that was "found by experiment", CLC's alpha among them (BPAC
5.2.1). This does the experiment: every value of a grid, or a search, and the whole curve.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from destage import _destage
from destage.catalogue import policies
from destage.catalogue import policy as policy_info
from destage.device import DeviceLike
from destage.errors import MissingExtra, UsageError
from destage.io.files import Destination
from destage.io.frames import Tabled, by_column
from destage.policy import OwnPolicy, Policy
from destage.results import Metric, Results, Run, metrics, warnings_of
from destage.runs import PolicyLike, ProgressCallback, compare, policy_specs
from destage.trace import Trace

if TYPE_CHECKING:
    from altair import LayerChart
    from optuna.trial import Trial

    from destage.tables.table import Table

__all__ = ["Best", "Objective", "Point", "Range", "Tuned", "objective_of", "range_of", "tune"]

#: A parameter's value, as a policy takes it.
Value = bool | int | float | str

#: Combinations of a grid, at most: beyond it a search is what one wants.
LARGEST_GRID = 100_000

#: Trials that a search asks for at a time. A constant: a search then does not depend on how many
#: of them run side by side.
BATCH = 8

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
    if not all(number.is_finite() for number in (first, last, *step)) or first > last:
        raise UsageError(f"{key}={given}: {FORMS}, A no more than B")
    bounds = float(first), float(last)
    if not step:
        whole = first == first.to_integral() and last == last.to_integral() and "." not in given
        return Range((), bounds, whole)
    if (grows and (step[0] <= 1 or first <= 0)) or step[0] <= 0:
        raise UsageError(f"{key}={given}: the step leads nowhere")
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
    return _plain(number) if number.is_finite() else word


def _bounds(values: Sequence[Value]) -> tuple[float, float] | None:
    numbers = [float(v) for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return (min(numbers), max(numbers)) if len(numbers) == len(values) > 1 else None


def _unique(key: str, found: Range) -> Range:
    if len(set(map(repr, found.values))) < len(found.values):
        raise UsageError(f"{key}: a value is named twice")
    return found


@dataclass(frozen=True)
class Objective:
    """What is to be made small or large."""

    metric: Metric
    largest: bool

    def better(self, value: float, than: float) -> bool:
        """Whether a value is better than another."""
        return value > than if self.largest else value < than


def objective_of(text: str) -> Objective:
    """Read a metric's name, with `min:` or `max:` before it where the metric does not say itself.

    Raises `UsageError`.
    """
    way, colon, name = text.rpartition(":")
    if colon and way not in ("min", "max"):
        raise UsageError(f"objective {text}: expected a metric, min:METRIC or max:METRIC")
    known = {metric.name: metric for metric in metrics()}
    metric = known.get(name)
    if metric is None:
        near = _destage.nearest(name, list(known))
        meant = f", did you mean {near}?" if near else ""
        raise UsageError(f"unknown objective {name!r}{meant} (known: {', '.join(known)})")
    if not way and metric.better not in ("higher", "lower"):
        raise UsageError(f"objective {name}: say which way: min:{name} or max:{name}")
    return Objective(metric, way == "max" if way else metric.better == "higher")


@dataclass(frozen=True)
class Point:
    """One combination of values at one cache size."""

    values: Mapping[str, Value]
    """The parameters that are tuned."""
    run: Run
    """What came of it."""
    objective: float
    """The metric."""


@dataclass(frozen=True)
class Best:
    """The best point of a cache size."""

    point: Point
    equal: int
    """Other points that are exactly as good."""
    at_the_end: tuple[str, ...]
    """Parameters whose best value is the first or last of its range: it may lie beyond."""


@dataclass(frozen=True, repr=False)
class Tuned(Tabled):
    """The curve of an objective over a policy's parameters, and where it is best."""

    policy: str
    """The policy."""
    objective: Objective
    """What was to be made small or large."""
    ranges: Mapping[str, Range]
    """The parameters that were tuned."""
    results: Results
    """All runs, in the order of points."""
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
            equal = sum(point.objective == best.objective for point in points) - 1
            found[size] = Best(best, equal, self._at_the_end(best))
        return found

    def by_size(self) -> dict[str, list[Point]]:
        """The points by cache size, as it was given."""
        sizes: dict[str, list[Point]] = {}
        for point in self.points:
            sizes.setdefault(point.run.cache, []).append(point)
        return sizes

    def _at_the_end(self, best: Point) -> tuple[str, ...]:
        def ends(key: str, value: Value) -> bool:
            bounds = self.ranges[key].bounds
            if bounds is None or value not in bounds:
                return False
            # At the end of what the parameter may be there is nothing beyond.
            step = 1 if isinstance(value, int) else 1e-9 * max(1.0, abs(float(value)))
            beyond = float(value) + (step if value == bounds[1] else -step)
            return _can_be(self.policy, key, int(beyond) if isinstance(value, int) else beyond)

        return tuple(key for key, value in best.values.items() if ends(key, value))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the optimum must know."""
        said = [
            "the optimum was found on the very trace that it is reported for: on another it may be"
            " worse than the default; try it there (compare) before relying on it"
        ]
        for size, best in self.best.items():
            said += [
                f"{size}: the best {key} is at an end of its range: the optimum may lie beyond"
                for key in best.at_the_end
            ]
            if best.equal == len(self.by_size()[size]) - 1 and best.equal:
                said.append(f"{size}: all values are equally good: this trace does not tell them")
        labels = {run.label for run in self.results}
        # What is said of every value is said once.
        for message, named in warnings_of(self.results).items():
            who = self.policy if len(named) == len(labels) else ", ".join(named)
            said.append(f"{who}: {message}")
        return tuple(said)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per point: the parameters, the objective, and every metric."""
        best = {id(found.point) for found in self.best.values()}
        return [
            {
                **dict(point.values),
                "objective": self.objective.metric.name,
                "value": point.objective,
                "best": id(point) in best,
                **point.run.to_dict(),
            }
            for point in self.points
        ]

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return by_column(self.to_dicts())

    def _everything(self) -> Any:
        return {
            "policy": self.policy,
            "objective": {
                "metric": self.objective.metric.name,
                "goal": "max" if self.objective.largest else "min",
            },
            "search": self.search,
            "ranges": {
                key: list(r.values)
                or {"from": (r.bounds or (0, 0))[0], "to": (r.bounds or (0, 0))[1]}
                for key, r in self.ranges.items()
            },
            "best": [
                {
                    "cache": size,
                    "values": dict(found.point.values),
                    "value": found.point.objective,
                    "equal": found.equal,
                    "at_the_end": list(found.at_the_end),
                }
                for size, found in self.best.items()
            ],
            "points": [
                {"cache": p.run.cache, "values": dict(p.values), "value": p.objective}
                for p in self.points
            ],
            "warnings": list(self.warnings),
            "results": self.results._everything(),
        }

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.tuned": json.dumps({"policy": self.policy, "search": self.search})}

    def _table(self) -> Table:
        from destage.tables.table import tuned_table

        return tuned_table(self)

    def plot(self, parameter: str | None = None) -> LayerChart:
        """Draw the objective over a parameter, a line per cache size, the best point marked.

        With several parameters, the best of the others at each value. Raises `UsageError` for a
        parameter that was not tuned, and `MissingExtra` without the extra `report`.
        """
        from destage.charts.tune import chart

        name = parameter if parameter is not None else next(iter(self.ranges))
        if name not in self.ranges:
            raise UsageError(f"{name} was not tuned (tuned: {', '.join(self.ranges)})")
        return chart(self, name)

    def save(self, folder: Destination) -> list[Path]:
        """Write a figure per parameter, as SVG and PNG with its data as CSV; return the files.

        Raises `OutputError`, and `MissingExtra` without the extra `report`.
        """
        from destage.charts.tune import save

        return save(self, folder)


def tune(
    trace: Trace,
    policy: PolicyLike,
    params: Mapping[str, str | Sequence[Value]],
    objective: str | None = None,
    *,
    cache: str | Sequence[str] | None = None,
    device: DeviceLike | None = None,
    ftl: str | None = None,
    queue_depth: int | None = None,
    trials: int | None = None,
    seed: int = 1,
    cost: str | Mapping[str, int] | None = None,
    warmup: str | None = None,
    fetch_on_write_miss: bool = False,
    flush_at_end: bool = False,
    pages_per_block: int | None = None,
    device_pages: int | None = None,
    check: bool = False,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Tuned:
    """Find the best values of a policy's parameters for a trace.

    Parameters:
        trace: what `open_trace` or `synth` returns.
        policy: a policy, with the parameters that stay as they are: `"bpac[seq_expiry=false]"`,
            `("bpac", {"seq_expiry": False})`; or a class of your own, whose parameters are the
            keyword arguments of its `__init__`.
        params: the parameters to tune, each with its values: a list, or text such as `"0:1:0.1"`
            (both ends included), `"16:4096:*2"`, `"lru,fifo"`; `"0:1"` needs `trials`.
        objective: a metric of `metrics()`, `"min:NAME"` or `"max:NAME"`; by default the mean
            response with a device, else the hit ratio.
        trials: without it, every combination is run; with it, a search by Optuna's TPE runs so many
            (the extra `tune`), at one cache size.
        seed: of the search.

    The others are those of `compare`. The same call gives the same bytes on any number of threads.

    Raises `UsageError`, `MissingExtra` without Optuna, and what `compare` raises.

    >>> import destage
    >>> trace = destage.synth("zipf", requests=10_000, pages=1_000, seed=1)
    >>> tuned = destage.tune(trace, "2q", {"in_fraction": "0.1:0.5:0.1"}, cache="10%")
    >>> len(tuned.points), 0.1 <= tuned.best["10%"].point.values["in_fraction"] <= 0.5
    (5, True)
    """
    goal = objective_of(objective or ("hit_ratio" if device is None else "response_ns_mean"))
    _check_goal(goal.metric, device is not None, cost is not None)
    own, name, fixed = _policy(policy)
    ranges = _ranges(own or name, fixed, params)

    def run(combinations: Sequence[Mapping[str, Value]]) -> tuple[Results, list[Point]]:
        results = compare(
            trace,
            [(own or name, {**fixed, **values}) for values in combinations],
            cache=cache,
            device=device,
            ftl=ftl,
            queue_depth=queue_depth,
            cost=cost,
            warmup=warmup,
            fetch_on_write_miss=fetch_on_write_miss,
            flush_at_end=flush_at_end,
            pages_per_block=pages_per_block,
            device_pages=device_pages,
            check=check,
            jobs=jobs,
            progress=progress,
        )
        each = len(results) // len(combinations)
        values = [combination for combination in combinations for _ in range(each)]
        points = [_point(v, r, goal) for v, r in zip(values, results, strict=True)]
        return results, points

    if trials is None:
        results, points = run(_grid(ranges))
        search = "grid"
    else:
        results, points = _search(run, ranges, goal, trials, seed)
        search = f"Optuna TPE, {trials} trials, seed {seed}"
    return Tuned(name, goal, ranges, results, tuple(points), search)


def check_tune(
    policy: str,
    params: Mapping[str, str | Sequence[Value]],
    objective: str | None = None,
    *,
    has_device: bool = False,
    has_cost: bool = False,
    trials: int | None = None,
) -> None:
    """Raise `UsageError` for what can be right for no trace, before one is opened."""
    goal = objective_of(objective or ("response_ns_mean" if has_device else "hit_ratio"))
    _check_goal(goal.metric, has_device, has_cost)
    _, name, fixed = _policy(policy)
    ranges = _ranges(name, fixed, params)
    if trials is None:
        for values in _grid(ranges):
            _destage.check_policy(name, json.dumps({**fixed, **values}))
    else:
        _check_trials(trials)


def _check_goal(metric: Metric, has_device: bool, has_cost: bool) -> None:
    """Raise `UsageError` for a metric that runs without a device, or a cost, do not have."""
    if not has_device and (metric.kind == "time" or metric.shown == "with_device"):
        raise UsageError(f"objective {metric.name}: it is measured on a drive: add a device")
    if not has_cost and metric.name == "running_time":
        raise UsageError(f"objective {metric.name}: it is computed from a cost: add one")


def _check_trials(trials: int) -> None:
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise UsageError(f"trials: expected a whole number from 1, got {trials!r}")


def _can_be(policy: str, key: str, value: Value) -> bool:
    try:
        _destage.check_policy(policy, json.dumps({key: value}))
    except UsageError:
        # Nobody knows what a policy of one's own takes.
        return policy not in {known.name for known in policies()}
    return True


def _policy(given: PolicyLike) -> tuple[Callable[..., Policy] | None, str, dict[str, Any]]:
    """The class of a policy of one's own, if it is one; its name; the parameters that stay."""
    specs = policy_specs(given)
    if len(specs) != 1:
        raise UsageError(f"policy {given}: expected one policy, got {len(specs)}")
    spec = specs[0]
    if isinstance(spec, OwnPolicy):
        return spec.factory, spec.name, spec.params
    return None, spec[0], json.loads(spec[1])


def _ranges(
    policy: str | Callable[..., Policy],
    fixed: Mapping[str, Any],
    params: Mapping[str, str | Sequence[Value]],
) -> dict[str, Range]:
    is_own = not isinstance(policy, str)
    values_of = {} if is_own else {p.name: p.values for p in policy_info(str(policy)).params}
    known = list(params) if is_own else list(values_of)
    if not isinstance(params, Mapping):
        raise UsageError(f"params: expected parameters with their values, got {params!r}")
    if not params:
        which = f" ({policy} has {', '.join(known) or 'none'})" if not is_own else ""
        raise UsageError(f"nothing to tune: name a parameter{which}")
    ranges: dict[str, Range] = {}
    for key, given in params.items():
        if key not in known:
            near = _destage.nearest(key, known)
            meant = f", did you mean {near}?" if near else ""
            names = f" (known: {', '.join(known)})" if known else ": it has none"
            raise UsageError(f"{policy}: unknown parameter {key!r}{meant}{names}")
        if key in fixed:
            raise UsageError(f"{policy}: {key} is given and tuned at once")
        found = range_of(key, given)
        # 0:1 of a share is not two values; of a number of pages it is.
        whole = is_own or "integer" in values_of[key]
        ranges[key] = replace(found, whole=found.whole and whole)
    return ranges


def _grid(ranges: Mapping[str, Range]) -> list[dict[str, Value]]:
    for key, found in ranges.items():
        if not found.values:
            raise UsageError(f"{key}: a grid needs a step (A:B:STEP), a search a number of trials")
    count = math.prod(len(found.values) for found in ranges.values())
    if count > LARGEST_GRID:
        raise UsageError(
            f"the grid has {count:,} combinations, more than {LARGEST_GRID:,}: take larger"
            " steps, or search (trials)"
        )
    combinations = itertools.product(*(found.values for found in ranges.values()))
    return [dict(zip(ranges, values, strict=True)) for values in combinations]


def _point(values: Mapping[str, Value], run: Run, goal: Objective) -> Point:
    value = run.metrics[goal.metric.name]
    if value is None:
        needs = "" if run.device else "; some metrics need a device or a cost"
        raise UsageError(f"objective {goal.metric.name}: {run.label} has no such number{needs}")
    return Point(values, run, float(value))


_Run = Callable[[Sequence[Mapping[str, Value]]], tuple[Results, list[Point]]]


def _search(
    run: _Run, ranges: Mapping[str, Range], goal: Objective, trials: int, seed: int
) -> tuple[Results, list[Point]]:
    _check_trials(trials)
    try:
        import optuna
    except ImportError:
        raise MissingExtra(
            "a search needs optuna, which is not installed: pip install 'destage[tune]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize" if goal.largest else "minimize",
        sampler=optuna.samplers.TPESampler(seed=seed),
    )
    known: dict[str, Point] = {}  # what was run once is not run again
    points: list[Point] = []
    sets: list[Mapping[str, Any]] = []
    for first in range(0, trials, BATCH):
        asked = [study.ask() for _ in range(min(BATCH, trials - first))]
        suggested = [{key: _suggest(t, key, r) for key, r in ranges.items()} for t in asked]
        new = {_name(values): values for values in suggested if _name(values) not in known}
        if new:
            results, found = run(list(new.values()))
            if len(found) != len(new):
                raise UsageError("a search is for one cache size: give one, or leave out trials")
            known |= dict(zip(new, found, strict=True))
            points += found
            sets.append(results.sets[0])
        for trial, values in zip(asked, suggested, strict=True):
            study.tell(trial, known[_name(values)].objective)
    return Results([{**sets[0], "runs": [run for s in sets for run in s["runs"]]}]), points


def _name(values: Mapping[str, Value]) -> str:
    return json.dumps(values, sort_keys=True)


def _suggest(trial: Trial, key: str, found: Range) -> Value:
    if found.values:
        if found.bounds is None:
            return found.values[trial.suggest_categorical(key, list(range(len(found.values))))]
        # By position: TPE then knows which values are neighbours.
        return found.values[trial.suggest_int(key, 0, len(found.values) - 1)]
    first, last = found.bounds or (0.0, 0.0)
    if found.whole:
        return trial.suggest_int(key, int(first), int(last))
    # A ten-thousandth of the range is as near as a trace can tell, and can be read.
    digits = 4 - math.floor(math.log10(last - first)) if last > first else 4
    return min(last, max(first, round(trial.suggest_float(key, first, last), digits)))
