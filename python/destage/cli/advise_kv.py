"""`destage advise --kv`: advice on KV caches of language models."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from typing import Any

import click

from destage.base.errors import UsageError
from destage.cli import signals
from destage.cli.load import load_one
from destage.cli.options import flag, run_values
from destage.cli.output import Outputs, command_line, print_table
from destage.cli.planned import planned_kv_table
from destage.cli.screen import note_interrupted, progress
from destage.cli.store import experiment_of
from destage.lab.traces import Trace
from destage.model.prices import prices_of
from destage.questions.advice.asking import share_of
from destage.questions.advice.calls import Advice
from destage.questions.advice.kv import KvAdvice, KvGrid, advise_kv, check_servers, kv_grid
from destage.show.tables.advice import WIDE

__all__ = ["FLEET", "is_kv_advice"]

#: What only advice on KV caches has.
FLEET = [
    flag(
        "--servers",
        type=int,
        metavar="N",
        section="KV caches",
        help="Servers with such a load. [1]",
    ),
    flag(
        "--prefill",
        "prefill_tokens_per_s",
        type=float,
        metavar="TOKENS/S",
        section="KV caches",
        help="Tokens that a server computes in a second.",
    ),
]

#: Flags of `advise` that advice on KV caches does not have.
OTHERS = {
    "objective": "the objective is the token hit ratio",
    "device": "give the rating of the drive: --price tbw=600TB",
    "pe_cycles": "give the rating of the drive: --price tbw=600TB",
    "finalists": "every configuration runs",
    "now": "no setting depends on it",
}


_PREFILL = ("prefill_tokens_per_s", "prefill")


def _say_kv_advice(trace: Sequence[str], arguments: Mapping[str, Any]) -> None:
    """Run the grid and print the advice."""
    for name, why in OTHERS.items():
        if arguments[name] is not None:
            raise UsageError(f"--kv excludes --{name.replace('_', '-')}: {why}")
    share_of(arguments["within"])
    if arguments["price"] is not None:
        prices_of(arguments["price"])
    fleet = {
        "servers": 1 if arguments["servers"] is None else arguments["servers"],
        "prefill_tokens_per_s": arguments["prefill_tokens_per_s"],
    }
    check_servers(**fleet)
    outputs = Outputs.of(dict(arguments))
    experiment = experiment_of(arguments)
    opened = load_one(trace, arguments)
    options: dict[str, Any] = {
        k: v for k, v in run_values(arguments).items() if v not in (None, False)
    }
    asked = {"policies": arguments["policy"], "cache": arguments["cache"]}
    if arguments["dry_run"]:
        grid = kv_grid(opened, **asked, budget=arguments["budget"], options=options)
        _say_plan(opened, grid, arguments)
        return
    with progress(arguments["quiet"]) as callback:
        advice = advise_kv(
            opened,
            **asked,
            **{key: arguments[key] for key in ("budget", "within", "price", "force")},
            **fleet,
            **options,
            store=experiment,
            progress=callback,
        )
    write_advice(outputs, advice, explain=arguments["explain"])
    if advice.ran.interrupted:
        note_interrupted()
        click.get_current_context().exit(signals.status())


def write_advice(outputs: Outputs, advice: Advice | KvAdvice, *, explain: bool) -> None:
    """Write the files that were asked for, and the answer on the screen unless one took it."""
    outputs.write_with(
        {
            "json": advice.to_json,
            "csv": advice.to_csv,
            "parquet": advice.to_parquet,
            "markdown": advice.to_markdown,
        }
    )
    if outputs.to_screen:
        width = get_terminal_size().columns if sys.stdout.isatty() else WIDE
        click.echo(advice.text(explain=explain, width=width), nl=False)
    outputs.write_with({"report": lambda path: advice.write_page(path, command_line())})


def is_kv_advice(trace: Sequence[str], arguments: Mapping[str, Any]) -> bool:
    """Print the advice on KV caches if --kv asks for it; whether it does.

    Raises `UsageError` for a prompt's order without --kv.
    """
    if arguments["kv"]:
        _say_kv_advice(trace, arguments)
    else:
        for name, flag_name in (*((n, n) for n in ("touch", "servers")), _PREFILL):
            if arguments[name] is not None:
                raise UsageError(f"--{flag_name} of advise needs --kv")
    return bool(arguments["kv"])


def _say_plan(trace: Trace, grid: KvGrid, arguments: Mapping[str, Any]) -> None:
    print_table(planned_kv_table(trace, grid.policies, grid.cache, grid.tiers, arguments["jobs"]))
