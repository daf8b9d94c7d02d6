"""Draws hit-ratio curves over cache sizes: `mrc`."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, Literal, Unpack

from destage import _destage
from destage.base.errors import UsageError
from destage.experiment.experiment import Experiment, StoreLike, experiment_of
from destage.experiment.result_sets import only_so_many
from destage.experiment.results import Results
from destage.experiment.task import Question, Task
from destage.experiment.warmup import measured_alike
from destage.lab.checks import asked_curves, every_size_asked, one_trace, sizes_json
from destage.lab.options import ProgressCallback, RunOptions, options_json
from destage.lab.policy_base import OwnPolicy, PolicyLike, Spec
from destage.lab.traces import Trace
from destage.model.every_size import EverySize
from destage.model.metrics import BASELINE
from destage.model.run import Run
from destage.questions.curves.drawn import ESTIMATED, EXACT, Curves, point_row
from destage.questions.runs import Interrupted, compare

__all__ = ["USUAL_ERROR", "check_curves", "mrc"]

#: Default half-width of a sampled hit ratio's interval with `sample="auto"`.
USUAL_ERROR = 0.005


def mrc(
    trace: Trace,
    policies: str | PolicyLike | Sequence[PolicyLike] = BASELINE,
    *,
    cache: str | Sequence[str] = "auto",
    sample: float | Literal["auto"] | None = None,
    error: float | None = None,
    control: str | None = None,
    seed: int = 1,
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> Curves:
    """Draw hit-ratio curves over cache sizes.

    LRU is exact at every size in one pass (`every_size`; `summary` has its knees and sufficient
    sizes); other policies run once per size. With `sample`, a share of the pages is simulated, and
    every number is an estimate with a 95 % interval: `misses_low`, `misses_high` and so on
    (docs/sampling.md). With `sample="auto"` each policy and size has the smallest sample whose hit
    ratio meets `error`, else the whole trace.

    Parameters:
        cache: sizes, as in `compare`; `"all"` gives LRU and MIN at every size, an array a column:
            `curves.every_size["lru"].physical_writes[k]` is of a cache of k + 1 pages. Tables then
            show the sizes that are named beside it (`"all,64MiB"`), or `auto`.
        sample: share of the pages, above 0 and at most 1; None is the whole trace.
        error: with `sample="auto"`, half the width of the 95 % intervals of hit ratios: 0.005 (half
            a point) unless it is given.
        control: `"lru"` also runs LRU over the whole trace and uses it as a control variate:
            narrower intervals, one pass more.
        seed: of the sample.
        options: `RunOptions`, as in `compare`.
        others: as in `compare`; policies of your own are not sampled.

    Raises as `compare`; `Interrupted` on Ctrl-C has the finished points.
    """
    one_trace("mrc", trace, policies)
    check_curves(policies, cache=cache, sample=sample, **options)
    check_control(control, sample)
    specs = asked_curves(policies)
    has_all, cache = every_size_asked(cache)
    table = [spec for spec in specs if not isinstance(spec, OwnPolicy)]
    own: list[PolicyLike] = [(spec, {}) for spec in specs if isinstance(spec, OwnPolicy)]
    share, within = _check_sample(specs, sample, error, seed)
    sizes, text = sizes_json(cache), options_json("mrc", options)
    # Runs that policies of one's own will take.
    later = len(own) * len(json.loads(_destage.resolve_sizes(trace.raw, sizes))) if own else 0
    curves = Curves({})
    experiment = experiment_of(store, jobs, progress)
    if table:
        how = {"share": share, "within": within, "control": control is not None, "seed": seed}
        question = _question(has_all, how if sample is not None else {})
        (task,) = measured_alike([Task.of(trace, None, table, sizes, text, question)])
        curves = _of_the_table(task, experiment, later)
    if own:
        run = partial(compare, trace, own, cache=cache, store=experiment, **options)
        curves = replace(curves, data=_with_own({**curves.data}, specs, run, later))
    return curves


def _question(every_size: bool, sampled: Mapping[str, Any]) -> Question:
    return Question("mrc", json.dumps({"every_size": every_size, **sampled}), _answer, _numbers)


def _of_the_table(task: Task, experiment: Experiment, later: int) -> Curves:
    """Curves of policies of the table. Raises `Interrupted`; so many runs were to follow."""
    assert task.question is not None
    known: list[dict[str, Any]] = []

    def keep(told: dict[str, Any], ended: int, planned: int) -> None:
        told["mrc"]["warnings"].append(only_so_many(ended, planned + later))
        known.append(told)

    # Without a sample no curve depends on another: each is kept when it is known.
    alone = "share" not in json.loads(task.question.asked)
    tasks = [replace(task, entries=(e,)) for e in task.entries] if alone else [task]
    try:
        if experiment.store is None:
            return _curves(task, [_drawn(task, experiment.threads, experiment.progress, keep)])
        answers = experiment.answers(tasks)
    except KeyboardInterrupt:
        if experiment.store is not None:
            known = [answer for answer in experiment.kept_answers(tasks) if answer is not None]
            if known:
                known[0]["mrc"]["warnings"].append(only_so_many(len(known), len(tasks), "curves"))
        raise Interrupted(_curves(task, known)) from None
    known = [answer for answer in answers if answer is not None]
    if known and len(known) < len(tasks):
        known[0]["mrc"]["warnings"].append(
            only_so_many(len(known), len(tasks), "curves", shard=True)
        )
    return _curves(task, known)


def _curves(task: Task, answers: Sequence[Mapping[str, Any]]) -> Curves:
    """Curves out of answers, side by side."""
    if not answers:
        return Curves({})
    has_all = bool(json.loads(task.question.asked)["every_size"]) if task.question else False
    exact: dict[str, EverySize] = {}
    curves: list[dict[str, Any]] = []
    for answer in answers:
        found = [dict(curve) for curve in answer["mrc"]["curves"]]
        for place, accesses, *columns in answer["every_size"]:
            arrays = (b64decode(c) if isinstance(c, str) else c for c in columns)
            every = exact[found[place]["label"]] = EverySize.of_bytes(accesses, *arrays)
            found[place]["every_size"] = every.to_json()
        curves += found
    warnings = [said for answer in answers for said in answer["mrc"]["warnings"]]
    inner = {**answers[0]["mrc"], "curves": curves, "warnings": warnings}
    data = {"trace": dict(task.trace.open().identity), "mrc": inner}
    return Curves(data, exact, has_all)


def _answer(task: Task, jobs: int, progress: ProgressCallback | None) -> dict[str, Any]:
    """Curves as a store keeps them: columns at every size in base 64."""
    answer = _drawn(task, jobs, progress)
    for row in answer["every_size"]:
        row[2:] = [None if column is None else b64encode(column).decode() for column in row[2:]]
    return answer


def _drawn(
    task: Task,
    jobs: int,
    progress: ProgressCallback | None,
    keep: Callable[[dict[str, Any], int, int], None] | None = None,
) -> dict[str, Any]:
    """Curves as the engine reports them, with their values at every size.

    `keep` receives the state at a signal: curves, finished runs, runs in all.
    """
    assert task.question is not None
    how = json.loads(task.question.asked)
    sizes = json.dumps([vars(size) for size in task.entries[0].sizes])
    specs = [(entry.policy.name, entry.policy.params) for entry in task.entries]
    sampled = (how.get("share"), how.get("within"), how.get("control", False), how.get("seed", 1))

    def told(text: str, every_size: Any, *counts: int) -> dict[str, Any]:
        rows = [[place, *columns] for place, columns in every_size]
        answer = {"mrc": json.loads(text)["mrc"], "every_size": rows}
        _forget_unknown(answer["mrc"]["curves"])
        if keep is not None and counts:
            keep(answer, *counts)
        return answer

    where = (task.trace.open().raw, specs, sizes, how["every_size"], task.options)
    return told(*_destage.mrc(*where, *sampled, jobs, progress, told))


def _forget_unknown(curves: Iterable[dict[str, Any]]) -> None:
    """A sample does not know a cache of which it would hold less than one page."""
    for point in (point for curve in curves for point in curve["points"]):
        if round((point["sampled"] or {}).get("frames", 1), 3) < 1:
            point.update(dict.fromkeys(ESTIMATED))


def _numbers(task: Task, answer: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Points as rows of a store: their numbers where they are exact."""
    unique = task.trace.unique_pages
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for curve in answer["mrc"]["curves"]:
        for point in curve["points"]:
            row = point_row(curve, point, unique)
            if point["sampled"] is not None:
                numbers: Mapping[str, Any] = {"warnings": "sampled: destage mrc shows the interval"}
            else:
                numbers = {name: row[name] for name in ("params", "cache_share", *EXACT)}
            found[curve["label"], point["cache"]] = numbers
    return found


def check_curves(
    policies: str | PolicyLike | Sequence[PolicyLike],
    *,
    cache: str | Sequence[str] = "auto",
    sample: float | Literal["auto"] | None = None,
    **options: Unpack[RunOptions],
) -> None:
    """Raise `UsageError` where one pass cannot give every size."""
    if not every_size_asked(cache)[0]:
        return
    if sample is not None:
        raise UsageError("cache all: it is exact, and of the whole trace: leave out the sample")
    for spec in asked_curves(policies):
        if isinstance(spec, OwnPolicy):
            raise UsageError(f"cache all: {spec.name} is a policy of your own: name sizes for it")
        _destage.check_every_size(spec, options_json("mrc", options))


def check_control(control: str | None, sample: float | str | None) -> None:
    """Raise `UsageError` where nothing is sampled that LRU could put right."""
    if control not in (None, BASELINE):
        raise UsageError(f'control: expected "{BASELINE}", got {control!r}')
    if control is not None and sample is None:
        raise UsageError("control: it needs a sample: add sample")


def _check_sample(
    specs: Sequence[Spec],
    sample: float | Literal["auto"] | None,
    error: float | None,
    seed: int,
) -> tuple[float | None, float | None]:
    """The share of the pages, or the error that is wanted in place of one."""
    is_auto = sample == "auto"
    if not is_auto and sample is not None and not _is_number(sample):
        raise UsageError(
            f'sample: expected a share of the pages, above 0, or "auto", got {sample!r}'
        )
    if error is not None and not is_auto:
        raise UsageError('error: it chooses the samples of sample="auto": add that')
    if error is not None and not (_is_number(error) and 0 < error < 1):
        raise UsageError(f"error: expected a share above 0 and below 1, got {error!r}")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 64:
        raise UsageError(f"seed: expected a whole number 0..2^64, got {seed!r}")
    own = [spec.name for spec in specs if isinstance(spec, OwnPolicy)]
    if own and sample is not None:
        raise UsageError(
            f"sample: {own[0]} is a policy of your own, and runs over the whole trace: leave out"
            " the sample"
        )
    if is_auto:
        return None, USUAL_ERROR if error is None else error
    return None if sample is None else float(sample), None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _with_own(
    data: dict[str, Any], specs: Sequence[Spec], run: Callable[[], Results], planned: int
) -> dict[str, Any]:
    """The curves, with user policies among them. Raises `Interrupted`."""
    try:
        results = run()
    except Interrupted as e:
        known = _among(data, specs, e.results)
        if known:
            ended = sum(len(curve["points"]) for curve in known["mrc"]["curves"])
            said = only_so_many(ended, ended + planned - len(e.results))
            known["mrc"]["warnings"].append(said)
        raise Interrupted(Curves(known)) from None
    return _among(data, specs, results)


def _among(data: dict[str, Any], specs: Sequence[Spec], results: Results) -> dict[str, Any]:
    """The curves of the table with user policies among them, in the order of `specs`.

    After an interrupt there may be fewer than it asks for.
    """
    if not results:
        return data
    own = sum(isinstance(spec, OwnPolicy) for spec in specs)
    each = len(results) // own
    whole = len(results) == own * each and not results.incomplete
    runs = (
        [results[k : k + each] for k in range(0, len(results), each)]
        if whole
        else [list(found) for _, found in groupby(results, key=lambda run: run.label)]
    )
    if not data:
        data = {"trace": results.sets[0]["trace"]}
        data["mrc"] = {"sample": None, "curves": [], "warnings": []}
    table, mine = iter(data["mrc"]["curves"]), map(_curve, runs)
    found = [next(mine if isinstance(spec, OwnPolicy) else table, None) for spec in specs]
    curves = [curve for curve in found if curve is not None]
    return {**data, "mrc": {**data["mrc"], "curves": curves}}


def _curve(runs: Sequence[Run]) -> dict[str, Any]:
    """The runs of a policy as its curve."""
    counted = ("accesses", "misses", "read_misses", "write_misses", "physical_reads")
    points = [
        {
            "frames": run.frames,
            "cache": run.cache,
            "cache_bytes": run.cache_bytes,
            "miss_ratio": run.misses / accesses if (accesses := run["accesses"]) else 0.0,
            "sampled": None,
            **{name: run[name] for name in (*counted, "physical_writes", "evictions")},
        }
        for run in runs
    ]
    first = runs[0]
    curve = {"policy": first.policy, "label": first.label, "params": dict(first.params)}
    return {**curve, "method": "runs", "points": points}
