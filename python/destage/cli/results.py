"""`destage results`: list, filter, ask, merge, pack and compare stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from destage.base.errors import UsageError
from destage.base.io.names import printable
from destage.cli.file_types import Input
from destage.cli.options import (
    COMMON,
    FOLDER,
    OUTPUT,
    Command,
    Decorated,
    apply,
    flag,
)
from destage.cli.output import FILES, Outputs, look_at_folder, print_table
from destage.cli.root import LazyGroup, Place
from destage.cli.screen import note, warn
from destage.experiment.results import Results, load_results
from destage.experiment.source import Hole
from destage.model.words import counted, number

__all__ = ["diff", "listed", "merge", "pack", "results", "subset"]

#: Commands of the group; every other word is a store.
PLACES = {
    "list": Place("destage.cli.results", "listed", "List the runs of one or several stores."),
    "merge": Place("destage.cli.results", "merge", "Merge stores and list missing runs."),
    "pack": Place("destage.cli.results", "pack", "Compact the files of a store."),
    "diff": Place("destage.cli.results", "diff", "Compare two stores or results."),
    "subset": Place(
        "destage.cli.results", "subset", "Find the fewest traces that keep the ranking."
    ),
}


class _Results(LazyGroup):
    """A group whose first word may be a store."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take other words than commands for a store to list."""
        if args and args[0] not in self.places:
            args = ["list", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave flags before the store to `list`."""
        if args and args[0] not in (*self.places, "-h", "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


EPILOG = """\b
Examples:
  destage results runs
  destage results runs --where "policy == 'lru' and cache >= '10%'" --csv -
  destage results runs \\
      --sql "select label, avg(hit_ratio) from runs group by label"
  destage results runs --pooled --show hit,writes
  destage results merge shard-1 shard-2 -o runs
  destage results pack runs
  destage results diff before after
  destage results subset runs
"""

LIST_EPILOG = """\b
Examples:
  destage results list runs --failed
  destage results list runs --where "policy == 'lru'" --sort hit
  destage results list runs \\
      --sql "select label, avg(hit_ratio) from runs group by label"
  destage results list runs --pooled --show hit,writes
"""

results = _Results(
    name="results",
    places=PLACES,
    help="List, query, merge and compare result stores.\n\n"
    "A STORE in place of a command is listed.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

FILTERS: list[Decorated] = [
    flag(
        "--where",
        metavar="CONDITION",
        help="Filter rows: \"policy == 'lru' and cache >= '10%'\".",
    ),
    flag(
        "--policy", metavar="NAME,...", help="Show only these policies, with or without parameters."
    ),
    flag("--trace", metavar="NAME,...", help="Show only these traces."),
    flag("--device", metavar="NAME,...", help="Show only these devices."),
    flag("--failed", is_flag=True, help="List failed runs and the reason."),
]

#: Filters by equality.
FIELDS = ("policy", "trace", "device")

VIEW: list[Decorated] = [
    flag("--show", metavar="NAME,...", section="Output", help="Metrics to show as columns."),
    flag(
        "--sort",
        metavar="NAME",
        section="Output",
        help="Sort the rows of a trace and device, best first.",
    ),
    flag(
        "--pooled",
        is_flag=True,
        help="Pool all traces: sum counters, then compute ratios.",
    ),
    flag("--sql", metavar="QUERY", help="Query the table `runs` with DuckDB (extra 'sql')."),
    flag(
        "--sql-unrestricted",
        is_flag=True,
        help="Allow the query files, network and extensions.",
    ),
]


@click.command(name="list", cls=Command, epilog=LIST_EPILOG)
@click.argument("store", nargs=-1, required=True, type=FOLDER, metavar="STORE...")
@apply(FILTERS, VIEW, FILES, COMMON)
def listed(store: tuple[str, ...], **arguments: Any) -> None:
    """List the runs of stores; filter or query them."""
    outputs = Outputs.of(arguments)
    found = load_results(list(store))
    _say_damaged(found)
    all_runs = len(found.rows)
    if arguments["where"] is not None:
        found = found.where(arguments["where"])
    found = found.only(**{k: arguments[k] for k in FIELDS})
    if arguments["failed"]:
        found = found.only(status="failed")
    if all_runs and not found.rows:
        _say_none(arguments, all_runs)
        return
    if arguments["sql"] is not None:
        if arguments["pooled"] or arguments["show"] or arguments["sort"]:
            raise UsageError("--sql selects the columns itself: leave out --show, --sort, --pooled")
        answer = found.sql(arguments["sql"], unrestricted=arguments["sql_unrestricted"])
        outputs.write(answer)
        if outputs.to_screen:
            print_table(answer.as_table())
        return
    if arguments["sql_unrestricted"]:
        raise UsageError("--sql-unrestricted is of a query: add --sql")
    if arguments["pooled"]:
        found = found.pooled()
    table = found.as_table(show=arguments["show"], sort=arguments["sort"])
    outputs.write(found, table)
    if outputs.to_screen:
        print_table(table)
    _say_holes(found.holes)


def _say_none(arguments: dict[str, Any], runs: int) -> None:
    """A selection without a run; no failed run is good news."""
    asked = [f"--{name}" for name in ("where", *FIELDS) if arguments[name]]
    if not asked:
        note(f"None of the {counted(runs, 'run')} failed.")
        return
    asked += ["--failed"] * arguments["failed"]
    note(f"No run matches {' '.join(asked)}; the store has {counted(runs, 'run')}.")
    click.get_current_context().exit(1)


def _say_damaged(found: Results) -> None:
    if found.damaged:
        warn(
            f"{counted(found.damaged, 'part')} cannot be read, and their runs are missing:"
            " destage sweep --resume makes them again"
        )


def _say_holes(holes: Sequence[Hole]) -> None:
    for hole in holes[:10]:
        where = f"{hole.trace}, {hole.device}" if hole.device else hole.trace
        policies = ", ".join(hole.policies)
        warn(
            f"{printable(hole.sweep)}: {number(hole.missing)} of {counted(hole.runs, 'run')} of a"
            f" task are missing: {printable(where)}: {printable(policies)}"
        )
    if len(holes) > 10:
        rest = sum(hole.missing for hole in holes[10:])
        warn(f"and {counted(rest, 'run')} of {counted(len(holes) - 10, 'other task')}")


@click.command(cls=Command)
@click.argument("store", nargs=-1, required=True, type=FOLDER, metavar="STORE...")
@apply(
    [
        flag(
            "-o",
            "--output",
            type=OUTPUT,
            metavar="DIR",
            help="Target store. [none: list the missing runs of STORE]",
        )
    ],
    COMMON,
)
def merge(store: tuple[str, ...], output: str | None, **arguments: Any) -> None:
    """Merge stores and list missing runs.

    Exit status 1 if runs of their sweeps are missing.
    """
    from destage.questions.joining import merge_results as put_together

    if output is None and len(store) > 1:
        raise click.UsageError("-o DIR is missing: the store that takes all of them")
    if output is not None:
        look_at_folder(output)
    found = load_results(store[0]) if output is None else put_together(store, output)
    _say_damaged(found)
    missing = sum(hole.missing for hole in found.holes)
    if not arguments["quiet"]:
        said = f"{number(missing)} missing" if missing else "nothing missing"
        note(f"{printable(output or store[0])}: {counted(len(found.rows), 'run')}, {said}")
    _say_holes(found.holes)
    if missing:
        click.get_current_context().exit(1)


@click.command(cls=Command)
@click.argument("store", type=OUTPUT, metavar="STORE")
@apply(COMMON)
def pack(store: str, **arguments: Any) -> None:
    """Compact the files of a store."""
    from destage.questions.joining import pack_results as put_into_few

    done = put_into_few(store)
    if done.damaged:
        warn(
            f"{counted(done.damaged, 'damaged part')} removed: destage sweep --resume makes it new"
        )
    if not arguments["quiet"]:
        parts = f"merged {counted(done.before, 'part')} into {number(done.after)}"
        note(f"{printable(store)}: {counted(done.runs, 'run')}; {parts}")


@click.command(
    cls=Command,
    epilog="\b\nExamples:\n  destage results diff before after\n"
    "  destage results diff runs results.json --show hit,p99 --csv -",
)
@click.argument("a", metavar="A", type=Input("A"))
@click.argument("b", metavar="B", type=Input("B"))
@apply(
    [flag("--show", metavar="NAME,...", help="Metrics to compare. [the usual columns]")],
    FILES,
    COMMON,
)
def diff(a: str, b: str, show: str | None, **arguments: Any) -> None:
    """Compare two stores, or two JSON results.

    Exit status 1 if they differ.

    Where runs have seeds, differences have 95 % intervals.
    """
    from destage.questions.difference import diff as held_against

    outputs = Outputs.of(arguments)
    found = held_against(a, b, show=show)
    outputs.write(found)
    if outputs.to_screen:
        print_table(found.as_table())
    if not found.same:
        click.get_current_context().exit(1)


@click.command(
    cls=Command,
    epilog="\b\nExamples:\n  destage results subset runs\n"
    "  destage results subset runs --sort writes --tau 0.9 --json -",
)
@click.argument("store", metavar="STORE", type=Input("STORE"))
@apply(
    [
        flag("--sort", default="hit", metavar="NAME", help="Metric to rank policies by. [hit]"),
        flag(
            "--tau",
            type=float,
            default=0.95,
            metavar="T",
            help="Least rank correlation (Kendall's tau-b) with all traces. [0.95]",
        ),
    ],
    FILES,
    COMMON,
)
def subset(store: str, sort: str, tau: float, **arguments: Any) -> None:
    """Find the fewest traces that keep the ranking of policies.

    Policies are ranked by mean rank over sizes, devices and traces. STORE is a store or a JSON
    file of results. Traces are added greedily, and checked on the traces left out.
    """
    from destage.questions.subsets import trace_subset

    outputs = Outputs.of(arguments)
    found = trace_subset(store, sort, tau=tau)
    outputs.write(found)
    if outputs.to_screen:
        print_table(found.as_table())
