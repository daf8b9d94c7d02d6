"""`destage.sweep`: from SPEC to a store, on any scheduler."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from destage.base.errors import UsageError
from destage.base.io.names import printable
from destage.experiment.experiment import Engine, Experiment, StoreLike, SweepResult, experiment_of
from destage.experiment.plan import planned
from destage.experiment.spec import load_spec
from destage.lab.options import ProgressCallback

__all__ = ["SpecLike", "sweep"]

SpecLike = str | os.PathLike[str] | Mapping[str, Any]


def sweep(
    spec: SpecLike,
    store: StoreLike,
    *,
    resume: bool = False,
    shard: str | tuple[int, int] | None = None,
    engine: Engine = "local",
    scheduler: str | None = None,
    jobs: int | None = None,
    memory: str | None = None,
    retry_failed: bool = False,
    allow_code: bool = False,
    progress: ProgressCallback | None = None,
    warn: Callable[[str], object] | None = None,
) -> SweepResult:
    """Run a sweep, and keep each run in a store.

    Parameters:
        spec: a SPEC file, or a mapping with its keys (docs/reference/sweep-spec.md).
        store: the folder that results are kept in, made if it is not there; or an `Experiment`.
        resume: continue a sweep: run only the missing runs.
        allow_code: run policies in Python files that a SPEC file, or a device's file, names. A
            policy is a program: allow it for files whose origin you trust.
        others: as in `Experiment`.

    Returns the number of runs in the store. A failed run is kept with its reason. After Ctrl-C the
    store is whole, and `resume` continues.

    Raises `UsageError`, `DataError` with table and key of SPEC, `MissingFile`, `OutputError`.
    """
    if isinstance(store, Experiment):
        experiment = experiment_of(store, jobs, progress)
    else:
        experiment = Experiment(
            store, shard, engine, scheduler, memory, retry_failed, jobs, progress, warn
        )
    asked = load_spec(spec)
    plan = planned(asked, progress, allow_code=allow_code)
    if experiment.warn is not None:
        for sentence in (*plan.left_out, *plan.warnings):
            experiment.warn(sentence)
    folder = experiment.opened()
    begun = folder.has_sweep(plan) and not resume
    if begun and experiment.part is None and not experiment.retry_failed:
        raise UsageError(
            f"store {printable(folder.folder)}: this sweep was begun there: --resume"
            " (resume=True) runs the missing runs"
        )
    return experiment.keep(plan, Path(asked.called).name)
