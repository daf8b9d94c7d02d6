"""The flags of every command whose runs a store can keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from destage.base.errors import UsageError
from destage.cli.options import ADVANCED, OUTPUT, Decorated, flag
from destage.cli.output import look_at_folder
from destage.cli.screen import warn
from destage.experiment.experiment import ENGINES, Experiment
from destage.lab.options import ProgressCallback

__all__ = ["JOBS", "STORE", "STORE_OF_MANY", "STORE_TOGETHER", "experiment_of"]

JOBS = [flag("--jobs", type=int, metavar="N", help="Threads. [number of processors]")]

#: The help of `--shard`.
PART = "Do only the I-th of N parts of the work (I from 1)."


def _store(section: str, rare: str, *, together: bool = False) -> list[Decorated]:
    """Return `--store` in one section, and the flags for shards and clusters in another.

    `together`: the command needs all its runs, and refuses shards.
    """
    return [
        flag(
            "--store",
            type=OUTPUT,
            metavar="DIR",
            section=section,
            help="Folder that keeps each run; finished runs are not repeated.",
        ),
        # Where it is refused no help lists it.
        click.option("--shard", hidden=True, envvar="DESTAGE_SHARD")
        if together
        else flag("--shard", metavar="I/N", section=rare, help=PART),
        flag(
            "--engine",
            metavar="|".join(ENGINES),
            default="local",
            section=rare,
            help="Run on this machine, or on a Dask cluster. [local]",
        ),
        flag(
            "--scheduler",
            metavar="ADDRESS",
            section=rare,
            help="Dask scheduler: tcp://host:8786. [a cluster of this machine]",
        ),
        flag(
            "--memory",
            metavar="SIZE",
            section=rare,
            help="Memory for all tasks together. [most of the free memory]",
        ),
        flag("--retry-failed", is_flag=True, section=rare, help="Repeat failed runs."),
    ]


#: Flags of commands that may keep their runs.
STORE = _store("Output", ADVANCED)
#: The same for commands that need all their runs together.
STORE_TOGETHER = _store("Output", ADVANCED, together=True)
#: The same for commands whose runs are many.
STORE_OF_MANY = _store("Store and cluster", "Store and cluster")


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
