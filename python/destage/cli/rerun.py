"""`destage rerun`: a result, made again and compared."""

from __future__ import annotations

from typing import Any

import click

from destage.cli.file_types import Input
from destage.cli.options import (
    CODE,
    COMMON,
    Command,
    apply,
    flag,
)
from destage.cli.output import FILES, Outputs, print_table
from destage.cli.screen import note, progress, warn
from destage.cli.store import JOBS
from destage.model.words import counted
from destage.questions.rerunning import rerun as run_again
from destage.show.tables.results import results_table

__all__ = ["rerun"]

#: Differences that are printed.
SHOWN = 20

EPILOG = """\b
Examples:
  destage rerun result.json
  destage rerun result.json --trace /data/hm_0.csv.gz
  destage rerun runs --where "policy == 'lru' and cache == '10%'"

Exit status 1 if a counter differs.
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("result", type=Input("the result"), metavar="RESULT")
@apply(
    [
        flag(
            "--trace",
            "traces",
            multiple=True,
            type=Input("the trace"),
            metavar="FILE",
            help="New path of the trace; repeat for several files.",
        ),
        flag(
            "--where",
            metavar="CONDITION",
            help="Repeat only these runs: \"policy == 'lru'\" (extra 'sql').",
        ),
    ],
    JOBS,
    FILES,
    [
        flag(
            "--trace-cache/--no-trace-cache",
            default=True,
            help="Keep the decoded trace for the next run. [keep]",
        )
    ],
    CODE,
    COMMON,
)
def rerun(result: str, traces: tuple[str, ...], jobs: int | None, **arguments: Any) -> None:
    """Repeat a saved result and compare every counter.

    RESULT is a JSON file of results, or a store.
    """
    outputs = Outputs.of(arguments)
    with progress(arguments["quiet"]) as callback:
        again = run_again(
            result,
            where=arguments["where"],
            trace=list(traces) or None,
            jobs=jobs,
            cache=arguments["trace_cache"],
            allow_code=arguments["allow_code"],
            progress=callback,
        )
    outputs.write(again.results)
    if outputs.to_screen:
        print_table(results_table(again.results))
    for sentence in again.differences[:SHOWN]:
        warn(sentence)
    if len(again.differences) > SHOWN:
        warn(f"and {len(again.differences) - SHOWN} more differences")
    if not again.same:
        click.get_current_context().exit(1)
    if not arguments["quiet"]:
        note(f"{counted(len(again.results), 'run')} repeated: all counters equal")
