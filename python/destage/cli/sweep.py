"""`destage sweep`: many runs, kept one by one."""

from __future__ import annotations

from typing import Any

import click

from destage.base.io.names import printable
from destage.cli import signals
from destage.cli.file_types import Input
from destage.cli.options import (
    CODE,
    COMMON,
    Command,
    apply,
    flag,
)
from destage.cli.output import print_table
from destage.cli.screen import note, progress, warn
from destage.cli.store import JOBS, STORE_OF_MANY, experiment_of
from destage.experiment.experiment import SweepResult, shard_of
from destage.experiment.sweep import sweep as run_sweep
from destage.model.words import counted

__all__ = ["sweep"]

WORK = [
    flag("--resume", is_flag=True, help="Continue: run only the missing runs."),
    flag(
        "--dry-run",
        is_flag=True,
        help="Print the number of runs, duration and memory, then stop.",
    ),
]

EPILOG = """\b
Examples:
  destage sweep sweep.toml --dry-run
  destage sweep sweep.toml --store runs
  destage sweep sweep.toml --store runs --resume
  destage sweep sweep.toml --store runs --shard 3/64
  destage sweep sweep.toml --store runs --engine dask \\
      --scheduler tcp://host:8786
  destage results runs --csv -

SPEC.toml has a table [sweep] with lists: traces, policies, cache, devices, ftls, seeds, ...; paths
in it are relative to it. Reference: docs/reference/sweep-spec.md.
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("spec", type=Input("the SPEC"), metavar="SPEC.toml")
@apply(WORK, JOBS, STORE_OF_MANY, CODE, COMMON)
def sweep(spec: str, **arguments: Any) -> None:
    """Run a grid of configurations into a result store.

    Its axes are traces, policies, cache sizes, devices, seeds and others.
    """
    shard_of(arguments["shard"])
    if arguments["dry_run"]:
        _estimate(spec, arguments)
        return
    store = arguments["store"]
    if store is None:
        raise click.UsageError("--store DIR is missing: where results are kept")
    experiment = experiment_of(arguments)
    try:
        with progress(arguments["quiet"]) as callback:
            done = run_sweep(
                spec,
                experiment,
                resume=arguments["resume"],
                allow_code=arguments["allow_code"],
                progress=callback,
            )
    except KeyboardInterrupt:
        note(f"{signals.said()}: finished runs are in {printable(store)}; --resume continues")
        click.get_current_context().exit(signals.status())
    if not arguments["quiet"]:
        note(_said(done))
    if done.failed or done.missing:
        click.get_current_context().exit(1)


def _said(done: SweepResult) -> str:
    """Outcome of a sweep, in a line."""
    parts = [f"{counted(done.done, 'run')} made"]
    parts += [f"{done.before:,} there before"] if done.before else []
    parts += [f"{done.failed:,} failed"] if done.failed else []
    parts += [f"{done.missing:,} missing"] if done.missing else []
    return f"{printable(done.store)}: {', '.join(parts)}, of {done.planned:,}"


def _estimate(spec: str, arguments: dict[str, Any]) -> None:
    from destage.experiment.estimate import estimate

    with progress(arguments["quiet"]) as callback:
        estimated = estimate(
            spec,
            shard=arguments["shard"],
            jobs=arguments["jobs"],
            memory=arguments["memory"],
            allow_code=arguments["allow_code"],
            progress=callback,
        )
    for sentence in estimated.warnings:
        warn(sentence)
    print_table(estimated.as_table())
