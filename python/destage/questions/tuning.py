"""Find the best value of a policy's parameters for a trace: `tune`.

Papers report their policies at a value that was "found by experiment", CLC's alpha among them (BPAC
5.2.1). This does the experiment: every value of a grid, or a search, and the whole curve.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from destage import _destage
from destage.base.errors import MissingExtra, UsageError
from destage.base.io.files import Destination
from destage.experiment.experiment import StoreLike, experiment_of
from destage.experiment.result_sets import incomplete, together
from destage.experiment.results import Results
from destage.lab.catalogue import policy as policy_info
from destage.lab.checks import drive_of, one_trace
from destage.lab.options import DeviceRunOptions, ProgressCallback, divided
from destage.lab.policy_base import OwnPolicy, PolicyLike, policy_specs
from destage.lab.ssd import DeviceLike
from destage.lab.traces import Trace
from destage.model.metrics import Metric
from destage.model.provenance import document
from destage.model.ranges import LARGEST_GRID, Range, Value, range_of
from destage.model.run import Run
from destage.model.tuned import Best, Objective, Point, TunedCurve, objective_of
from destage.questions.runs import Interrupted, compare
from destage.show.tables.frames import Tabled, by_column
from destage.show.tables.table import Table
from destage.show.tables.tuned import tuned_table

if TYPE_CHECKING:
    from altair import LayerChart
    from optuna.trial import Trial

__all__ = ["Best", "Objective", "Point", "Range", "Tuned", "objective_of", "range_of", "tune"]

#: Trials that a search asks for at a time. A constant: a search then does not depend on how many
#: of them run side by side.
BATCH = 8


@dataclass(frozen=True, repr=False)
class Tuned(TunedCurve, Tabled):
    """The curve of an objective over a policy's parameters, and where it is best."""

    results: Results
    """All runs, in the order of points."""

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
        content = {
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
                    "alike": found.alike,
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
        return document("tuned", content)

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.tuned": json.dumps({"policy": self.policy, "search": self.search})}

    def as_table(self) -> Table:
        """Return the table that the command line prints, to be laid out otherwise."""
        return tuned_table(self)

    def plot(self, parameter: str | None = None) -> LayerChart:
        """Draw the objective over a parameter, a line per cache size, the best point marked.

        With several parameters, the best of the others at each value. Raises `UsageError` for a
        parameter that was not tuned, and `MissingExtra` without the extra `report`.
        """
        from destage.show.charts.tune import chart

        name = parameter if parameter is not None else next(iter(self.ranges))
        if name not in self.ranges:
            raise UsageError(f"{name} was not tuned (tuned: {', '.join(self.ranges)})")
        return chart(self, name)

    def save(self, folder: Destination) -> list[Path]:
        """Write a figure per parameter, as SVG and PNG with its data as CSV; return the files.

        Raises `OutputError`, and `MissingExtra` without the extra `report`.
        """
        from destage.show.charts.tune import save

        return save(self, folder)


def tune(
    trace: Trace,
    policy: PolicyLike,
    params: Mapping[str, str | Sequence[Value]],
    objective: str | None = None,
    *,
    cache: str | Sequence[str] | None = None,
    device: DeviceLike | None = None,
    trials: int | None = None,
    seed: int = 1,
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[DeviceRunOptions],
) -> Tuned:
    """Find the best values of a policy's parameters for a trace.

    Parameters:
        policy: a policy, with the parameters that stay as they are: `"bpac[seq_expiry=false]"`,
            `("bpac", {"seq_expiry": False})`; or a class of your own, whose parameters are the
            keyword arguments of its `__init__`.
        params: the parameters to tune, each with its values: a list, or text such as `"0:1:0.1"`
            (both ends included), `"16:4096:*2"`, `"lru,fifo"`; `"0:1"` needs `trials`.
        objective: a metric, also for short (`"p99"`), `"min:NAME"` or `"max:NAME"`; by default the
            mean response with a device, else the hit ratio.
        trials, seed: number of trials of a search by Optuna's TPE (the extra `tune`), at one cache
            size, and its seed; without it every combination runs.
        others: as in `compare`, with its errors; `MissingExtra` without Optuna.

    >>> import destage
    >>> trace = destage.synth("zipf", requests=10_000, pages=1_000, seed=1)
    >>> tuned = destage.tune(trace, "2q", {"in_fraction": "0.1:0.5:0.1"}, cache="10%")
    >>> len(tuned.points), 0.1 <= tuned.best["10%"].point.values["in_fraction"] <= 0.5
    (5, True)
    """
    one_trace("tune", trace, policy)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 32:
        raise UsageError(f"seed: expected a whole number below 2^32, got {seed!r}")
    if trials is None and seed != 1:
        raise UsageError("seed: it is of a search: add trials (--trials N)")
    goal = objective_of(objective or ("hit_ratio" if device is None else "response_ns_mean"))
    _check_goal(goal.metric, device is not None, options.get("cost") is not None)
    own, name, fixed = _policy(policy)
    ranges = _ranges(own or name, fixed, params)
    of_device, of_runs = divided(options)
    drive = drive_of(device, of_device)

    experiment = experiment_of(store, jobs, progress)
    if trials is not None:
        experiment.refuse_shards("a search")

    def run(combinations: Sequence[Mapping[str, Value]]) -> tuple[Results, list[Point]]:
        asked = [(own or name, {**fixed, **values}) for values in combinations]
        where: Any = {"cache": cache, "device": drive, **of_runs}
        results = compare(trace, asked, store=experiment, **where)
        return results, _points(results, combinations, goal)

    search = "grid" if trials is None else f"Optuna TPE, {trials} trials, seed {seed}"
    blank = Tuned(name, goal, ranges, (), search, Results([]))
    return _every(run, blank) if trials is None else _search(run, blank, trials, seed)


def _every(run: _Run, blank: Tuned) -> Tuned:
    """The whole grid."""
    grid = _grid(blank.ranges)
    try:
        results, points = run(grid)
    except KeyboardInterrupt as e:
        raise _interrupted(e, blank) from None
    return replace(blank, points=tuple(points), results=results)


def _interrupted(
    e: KeyboardInterrupt,
    blank: Tuned,
    before: Sequence[Mapping[str, Any]] = (),
    trials: int | None = None,
) -> Interrupted:
    """The exception with the finished runs: `before`, if a search was interrupted."""
    found = e.results if isinstance(e, Interrupted) else Results([])
    if trials is not None:
        sets = [one for one in (*before, *found.sets) if one["runs"]]
        if not sets:
            return Interrupted(blank)
        found = Results([together(incomplete([together(sets)], trials))])
    points = _points(found, [dict.fromkeys(blank.ranges, 0)], blank.objective)
    return Interrupted(replace(blank, points=tuple(points), results=found))


def _points(
    found: Results, combinations: Sequence[Mapping[str, Value]], goal: Objective
) -> list[Point]:
    """The points of runs, some of which may be missing."""
    if found.incomplete:
        return [_point({k: run.params[k] for k in combinations[0]}, run, goal) for run in found]
    each = len(found) // len(combinations)
    values = [one for one in combinations for _ in range(each)]
    return [_point(v, run, goal) for v, run in zip(values, found, strict=True)]


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
    own, name, fixed = _policy(policy)
    ranges = _ranges(own or name, fixed, params)
    if trials is None:
        for values in _grid(ranges):
            if own is None:
                _destage.check_policy(name, json.dumps({**fixed, **values}))
    else:
        _check_trials(trials)


def _check_goal(metric: Metric, has_device: bool, has_cost: bool) -> None:
    """Raise `UsageError` for a metric that runs without a device, or a cost, do not have."""
    if not has_device and (metric.kind == "time" or metric.shown == "with_device"):
        raise UsageError(f"objective {metric.name}: it is measured on a device: add a device")
    if not has_cost and metric.name == "cost":
        raise UsageError(f"objective {metric.name}: it is computed from a cost: add one")


def _check_trials(trials: int) -> None:
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise UsageError(f"trials: expected a whole number from 1, got {trials!r}")


def _policy(given: PolicyLike) -> tuple[OwnPolicy | None, str, dict[str, Any]]:
    """The policy if it is one of one's own; its name; the parameters that stay."""
    specs = policy_specs(given)
    if len(specs) != 1:
        raise UsageError(f"policy {given}: expected one policy, got {len(specs)}")
    spec = specs[0]
    if isinstance(spec, OwnPolicy):
        return replace(spec, params={}), spec.name, spec.params
    return None, spec[0], json.loads(spec[1])


def _ranges(
    policy: str | OwnPolicy,
    fixed: Mapping[str, Any],
    params: Mapping[str, str | Sequence[Value]],
) -> dict[str, Range]:
    is_own = isinstance(policy, OwnPolicy)
    called = policy.name if isinstance(policy, OwnPolicy) else policy
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
            raise UsageError(f"{called}: unknown parameter {key!r}{meant}{names}")
        if key in fixed:
            raise UsageError(f"{called}: {key} is given and tuned at once")
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


def _search(run: _Run, blank: Tuned, trials: int, seed: int) -> Tuned:
    _check_trials(trials)
    try:
        import optuna
    except ImportError:
        raise MissingExtra(
            "a search needs optuna, which is not installed: pip install 'destage[tune]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize" if blank.objective.largest else "minimize",
        sampler=optuna.samplers.TPESampler(seed=seed),
    )
    known: dict[str, Point] = {}  # what was run once is not run again
    points: list[Point] = []
    sets: list[Mapping[str, Any]] = []
    try:
        for first in range(0, trials, BATCH):
            asked = [study.ask() for _ in range(min(BATCH, trials - first))]
            suggested = [_suggested(one, blank.ranges) for one in asked]
            new = {_name(values): values for values in suggested if _name(values) not in known}
            if new:
                results, found = run(list(new.values()))
                if len(found) != len(new):
                    raise UsageError(
                        "a search is for one cache size: give one, or leave out trials"
                    )
                known |= dict(zip(new, found, strict=True))
                points += found
                sets.append(results.sets[0])
            for trial, values in zip(asked, suggested, strict=True):
                study.tell(trial, known[_name(values)].objective)
    except KeyboardInterrupt as e:
        raise _interrupted(e, blank, sets, trials) from None
    results = Results([together(sets)])
    # The runs of all batches side by side have intervals of their differences.
    whole = (replace(p, run=run) for p, run in zip(points, results, strict=True))
    return replace(blank, points=tuple(whole), results=results)


def _suggested(trial: Trial, ranges: Mapping[str, Range]) -> dict[str, Value]:
    return {key: _suggest(trial, key, found) for key, found in ranges.items()}


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
