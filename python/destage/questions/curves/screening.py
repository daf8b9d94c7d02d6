"""Many policies, exactly where it matters: samples first, then the whole trace for finalists."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from destage.base.errors import UsageError
from destage.experiment.experiment import StoreLike, experiment_of
from destage.experiment.result_sets import incomplete, together
from destage.experiment.results import Results
from destage.lab.checks import asked, one_trace
from destage.lab.options import ProgressCallback, RunOptions, run_options
from destage.lab.policy_base import PolicyLike, spec_label
from destage.lab.traces import Trace
from destage.model.metrics import METRICS, Metric
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.winners import winner
from destage.model.words import counted, join
from destage.questions.curves.calls import mrc
from destage.questions.curves.drawn import Curves
from destage.questions.runs import Interrupted, compare

__all__ = ["Screened", "check_finalists", "screen"]

#: What a finalist may be best in.
DECIDES = ("hit_ratio", "physical_writes")


@dataclass(frozen=True)
class Screened:
    """Result of `screen`."""

    curves: Curves
    """Every policy at every size, from samples where they serve."""
    results: Results
    """The finalists, over the whole trace."""
    passed_over: Mapping[int, tuple[str, ...]]
    """By cache size, frames: what might be best as well, and is beyond the limit."""

    @property
    def summary(self) -> tuple[str, ...]:
        """Exact runs and skipped runs: a sentence for each."""
        points = self.curves.result_set.runs
        writes = ", or in flash writes" if len(_deciding(points)) > 1 else ""
        said = [
            f"Finalists, run over the whole trace: {len(self.results)} of {len(points)} policies"
            f" and sizes, with no significant difference from the best in hits{writes}."
        ]
        for frames, labels in self.passed_over.items():
            said.append(
                f"No finalists at {counted(frames, 'page')}, for the limit alone, though nothing"
                f" tells them from the best: {join(labels)}."
            )
        return tuple(said)


def screen(
    trace: Trace,
    policies: str | PolicyLike | Sequence[PolicyLike] | None = None,
    *,
    cache: str | Sequence[str] | None = None,
    error: float | None = None,
    finalists: int | None = None,
    seed: int = 1,
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> Screened:
    """Screen policies on samples, then run the possible winners exactly.

    Finalists of a size are the policies whose sample is not significantly behind the best in hit
    ratio, or in flash writes (pages dirty at the end are flushed). All others are behind in both,
    with 95 % confidence. Policies that need the future are never finalists.

    Parameters:
        trace, policies, cache, store, jobs, progress: as in `compare`, without a device: the erase
            blocks of one hold neighbours, which a sample takes apart.
        error, seed: as in `mrc` with `sample="auto"`.
        finalists: most candidates per size, the best by the samples; None is all.
        options: `RunOptions` of both `mrc` and `compare`.

    Raises as `mrc` and `compare`; `Interrupted` on Ctrl-C has `Curves` or `Screened`.
    """
    one_trace("screen", trace, policies)
    check_finalists(finalists)
    _check_sampled(options)
    experiment = experiment_of(store, jobs, progress)
    experiment.refuse_shards("screening")
    specs, sizes = asked(policies, cache, None)
    # The curves know nothing of pending writes: policies would win by them.
    counting_all: RunOptions = {**options, "flush_at_end": True}
    labels = ",".join(spec_label(spec) for spec in specs)
    curves = mrc(
        trace,
        labels,
        cache=json.loads(sizes),
        sample="auto",
        error=error,
        seed=seed,
        store=experiment,
        **counting_all,
    )
    chosen, passed_over = _chosen(curves.result_set, finalists)
    sets: list[Mapping[str, Any]] = []
    try:
        for together, at in chosen.items():
            found = compare(trace, ",".join(together), cache=at, store=experiment, **options)
            sets += found.sets
    except Interrupted as e:
        planned = sum(len(together) * len(at) for together, at in chosen.items())
        whole = incomplete([{**one} for one in (*sets, *e.results.sets)], planned)
        results = _together(whole, curves.result_set)
        raise Interrupted(Screened(curves, results, passed_over)) from None
    return Screened(curves, _together(sets, curves.result_set), passed_over)


def _chosen(
    points: ResultSet, finalists: int | None
) -> tuple[dict[tuple[str, ...], list[str]], dict[int, tuple[str, ...]]]:
    """The sizes at which policies run together, and by frames the policies beyond the limit."""
    chosen: dict[tuple[str, ...], list[str]] = {}
    passed_over: dict[int, tuple[str, ...]] = {}
    for frames in points.sizes:
        open_ones = [run.label for run in _may_be_best(points, frames)]
        kept = open_ones[:finalists]
        together = tuple(label for label in points.labels if label in kept)
        if together:
            chosen.setdefault(together, []).append(f"{frames}p")
        if len(kept) < len(open_ones):
            passed_over[frames] = tuple(open_ones[len(kept) :])
    return chosen, passed_over


def _check_sampled(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an option of `compare` that samples do not have."""
    for option in run_options():
        if option.name in options and "mrc" not in option.commands:
            raise UsageError(
                f"screen: {option.name} needs whole runs, and screening is by samples: use compare"
            )


def check_finalists(finalists: int | None) -> None:
    """Raise `UsageError` for an invalid number of finalists."""
    is_whole = isinstance(finalists, int) and not isinstance(finalists, bool)
    if finalists is not None and (not is_whole or finalists < 1):
        raise UsageError(f"finalists: expected a whole number from 1, got {finalists!r}")


def _deciding(runs: Sequence[Run]) -> list[Metric]:
    """Metrics in which a finalist may be best; a trace of reads has none in writes."""
    some = {"hit_ratio"} | {name for name in DECIDES if any(run[name] for run in runs)}
    return [metric for metric in METRICS if metric.name in some]


def _may_be_best(points: ResultSet, frames: int) -> list[Run]:
    """Runs not significantly different from the best of a size, by rank in hits or writes."""
    rivals = [run for run in points.at(frames) if not run.knows_the_future]
    ranks: dict[str, int] = {}
    for metric in _deciding(rivals):
        won = winner(rivals, metric)
        for rank, run in enumerate(won.runs if won else rivals):
            ranks[run.label] = min(rank, ranks.get(run.label, rank))
    of_size = [run for run in rivals if run.label in ranks]
    return sorted(of_size, key=lambda run: ranks[run.label])


def _together(sets: Sequence[Mapping[str, Any]], points: ResultSet) -> Results:
    """One result set: sizes ascending and called as asked for, policies as they were asked for."""
    some = [one for one in sets if one["runs"]]
    if not some:
        return Results([])
    given = {point.frames: point.cache for point in points.runs}
    place = {label: k for k, label in enumerate(points.labels)}
    for run in (run for one in some for run in one["runs"]):
        run["config"]["cache"] = given[run["config"]["frames"]]
    whole = together(some, lambda run: (run["config"]["frames"], place[run["label"]]))
    return Results([whole])
