"""Draws hit-ratio curves over cache sizes: `mrc`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal, Unpack

from destage import _destage
from destage.checks import asked_curves, every_size_asked, one_trace, sizes_json
from destage.curves.drawn import Curves
from destage.errors import UsageError
from destage.model.every_size import EverySize
from destage.model.run import Run
from destage.options import ProgressCallback, RunOptions, options_json, thread_count
from destage.policy import OwnPolicy, PolicyLike, Spec
from destage.results import Results, only_so_many
from destage.runs import Interrupted, compare
from destage.trace import Trace

__all__ = ["USUAL_ERROR", "check_curves", "mrc"]

#: Half the width of a sampled hit ratio's interval, where `sample="auto"` is not told another one.
USUAL_ERROR = 0.005


def mrc(
    trace: Trace,
    policies: str | PolicyLike | Sequence[PolicyLike] = "lru",
    *,
    cache: str | Sequence[str] = "auto",
    sample: float | Literal["auto"] | None = None,
    error: float | None = None,
    control: Literal["lru"] | None = None,
    seed: int = 1,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> Curves:
    """Draw hit-ratio curves over cache sizes.

    LRU is exact at every size in one pass, also between those that are asked for (`every_size`, and
    the `summary`: how large is enough, where its knees are); other policies run once per size. With
    `sample`, a share of the pages is looked at, and every number is an estimate with a 95 %
    interval: `misses_low`, `misses_high` and so on; None where none has been shown to hold
    (docs/sampling.md). With `sample="auto"` each policy and size has the smallest sample that gives
    the hit ratio an interval as narrow as `error` wants, else the whole trace.

    Parameters:
        cache: sizes, as in `compare`; `"all"` gives LRU and MIN at every size, an array a column:
            `curves.every_size["lru"].physical_writes[k]` is of a cache of k + 1 pages. Tables then
            show the sizes that are named beside it (`"all,64MiB"`), or `auto`.
        sample: share of the pages, above 0 and at most 1; None is the whole trace.
        error: with `sample="auto"`, half the width of the 95 % intervals of hit ratios: 0.005 (half
            a point) unless it is given.
        control: `"lru"` runs over the whole trace too, and what the sample is off for it is taken
            out of the other estimates: narrower intervals, for one pass more.
        seed: of the sample.
        options: `RunOptions`, as in `compare`.
        others: as in `compare`; policies of your own are not sampled.

    Raises as `compare`; `Interrupted` on Ctrl-C has the points that were known by then.
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
    if table:
        asked = (trace.raw, table, sizes, has_all, text, share, within, control is not None, seed)
        rest = (thread_count(jobs), progress)
        curves = _of_the_table(lambda keep: _destage.mrc(*asked, *rest, keep), later, has_all)
    if own:

        def run() -> Results:
            return compare(trace, own, cache=cache, jobs=jobs, progress=progress, **options)

        curves = replace(curves, data=_with_own({**curves.data}, specs, run, later))
    return curves


#: By the place of a curve: accesses that were counted; hits, flash reads and writes at every size.
_Every = list[tuple[int, tuple[int, bytes, bytes, bytes | None]]]
#: Takes what was known when a signal came: curves, runs that had ended, runs in all.
_Keep = Callable[[str, _Every, int, int], None]


def _of_the_table(draw: Callable[[_Keep], tuple[str, _Every]], later: int, has_all: bool) -> Curves:
    """Curves of policies of the table. Raises `Interrupted`; so many runs were to follow."""
    known = Curves({})

    def keep(text: str, every_size: _Every, ended: int, planned: int) -> None:
        nonlocal known
        known = _with_every_size(text, every_size, has_all)
        known.data["mrc"]["warnings"].append(only_so_many(ended, planned + later))

    try:
        return _with_every_size(*draw(keep), has_all)
    except KeyboardInterrupt:
        raise Interrupted(known) from None


def _with_every_size(text: str, every_size: _Every, has_all: bool) -> Curves:
    """Curves as the engine tells them, those that are known at every size with it."""
    data: dict[str, Any] = json.loads(text)
    exact: dict[str, EverySize] = {}
    for place, columns in every_size:
        curve = data["mrc"]["curves"][place]
        exact[curve["label"]] = EverySize.of_bytes(*columns)
        curve["every_size"] = exact[curve["label"]].to_json()
    return Curves(data, exact, has_all)


def check_curves(
    policies: str | PolicyLike | Sequence[PolicyLike],
    *,
    cache: str | Sequence[str] = "auto",
    sample: float | Literal["auto"] | None = None,
    **options: Unpack[RunOptions],
) -> None:
    """Raise `UsageError` where every size is asked for, and one pass cannot tell of it."""
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
    if control not in (None, "lru"):
        raise UsageError(f'control: expected "lru", got {control!r}')
    if control is not None and sample is None:
        raise UsageError("control: it puts a sample right, and nothing is sampled: add sample")


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
    """The curves with those of one's own policies among them. Raises `Interrupted`."""
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
    """The curves of the table with those of one's own policies among them, as `specs` has them.

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
