"""The flags of every command whose runs a store can keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from destage.cli.options import OUTPUT, flag
from destage.cli.output import look_at_folder
from destage.cli.screen import warn
from destage.errors import UsageError
from destage.experiment.experiment import ENGINES, Experiment
from destage.options import ProgressCallback

__all__ = ["JOBS", "STORE", "experiment_of"]

_SECTION = "Where runs are done and kept"

JOBS = [flag("--jobs", type=int, metavar="N", help="Threads. [as many as processors]")]

#: `--store` and what needs it.
STORE = [
    flag(
        "--store",
        type=OUTPUT,
        metavar="DIR",
        section=_SECTION,
        help="A folder that keeps each run: those that it has are not done again.",
    ),
    flag(
        "--shard",
        metavar="I/N",
        section=_SECTION,
        help="Only the I-th of N parts of the work, I from 1.",
    ),
    flag(
        "--engine",
        metavar="|".join(ENGINES),
        default="local",
        section=_SECTION,
        help="Who works. [local]",
    ),
    flag(
        "--scheduler",
        metavar="ADDRESS",
        section=_SECTION,
        help="The scheduler of a Dask cluster: tcp://host:8786. [a cluster of this machine]",
    ),
    flag(
        "--memory",
        metavar="SIZE",
        section=_SECTION,
        help="What tasks take together. [most of what is free]",
    ),
    flag("--retry-failed", is_flag=True, section=_SECTION, help="Run once more what has failed."),
]


def experiment_of(
    arguments: Mapping[str, Any], progress: ProgressCallback | None = None
) -> Experiment:
    """The experiment that a command's arguments ask for. Raises `UsageError` and `OutputError`."""
    if arguments["engine"] not in ENGINES:
        raise UsageError(f"--engine {arguments['engine']}: expected {' or '.join(ENGINES)}")
    if arguments["store"] is not None:
        look_at_folder(arguments["store"])
    names = ("store", "shard", "engine", "scheduler", "memory", "retry_failed", "jobs")
    given: Any = {name: arguments[name] for name in names}
    return Experiment(**given, progress=progress, warn=warn)
