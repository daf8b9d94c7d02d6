"""`destage advise`: which cache to take, how sure that is, and what to type."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from typing import Any

import click

from destage.base.errors import UsageError
from destage.cli import signals
from destage.cli.budget import BUDGET, advised_within, check_figures, write_figures
from destage.cli.load import MAYBE_TRACES, load_one
from destage.cli.options import (
    COMMON,
    DEVICE,
    RUN_ADVISED,
    SSD,
    TIERS,
    Command,
    apply,
    drive_of,
    flag,
    run_values,
    sizes_flag,
)
from destage.cli.output import FILES, Outputs, command_line, file_flag, print_table
from destage.cli.planned import planned_kv_table, planned_table
from destage.cli.policy_options import note_left_out, policy_flag
from destage.cli.reading import TRACE
from destage.cli.screen import note_interrupted, progress, warn
from destage.cli.smart import SMART, needs_trace, say_smart
from destage.cli.store import JOBS, STORE_TOGETHER, experiment_of
from destage.lab.checks import check_request
from destage.lab.options import check_one_tier
from destage.lab.policy_base import spec_label
from destage.lab.ssd import Device
from destage.lab.traces import Trace
from destage.model.deployed import sizes_now
from destage.model.prices import prices_of
from destage.model.run import warnings_of
from destage.questions.advice.answers import Advice, KvAdvice
from destage.questions.advice.asking import (
    candidates,
    check_ahead,
    check_servers,
    kv_grid,
    share_of,
    sizes_of,
    with_the_usual,
)
from destage.questions.advice.budget import BudgetAdvice
from destage.questions.advice.calls import SEEDS, advise_kv
from destage.questions.advice.calls import advise as find_advice
from destage.show.tables.advice import WIDE

__all__ = ["advise"]

ASKED = [
    flag(
        "--objective",
        metavar="NAME,...",
        help="Metrics to optimise: mean, p99, hit, waf, erases, ..., cost. cost: dollars a year."
        " Several give a Pareto front. [mean with a device, else hit]",
    ),
    flag("--budget", metavar="SIZE", help="Largest cache. [half of the trace's pages]"),
    flag(
        "--within",
        metavar="SHARE",
        default="2%",
        help="Accepted distance to the best value. [2%]",
    ),
    flag(
        "--price",
        metavar="KEY=PRICE,...",
        help="Prices. dram=3.0/GiB, tbw=600TB (rated writes), device=60 (or 0.1/GiB), years=5"
        " (life of memory and SSD).",
    ),
]

SURE = [
    flag(
        "--finalists",
        type=int,
        metavar="N",
        help="Policies to run at every size. [all, or 4 if slow]",
    ),
    flag(
        "--seeds",
        type=int,
        default=SEEDS,
        metavar="N",
        help=f"Seeds of the two best policies, if random. [{SEEDS}]",
    ),
]

TYPED = [
    flag(
        "--now",
        metavar="SETTING=SIZE,...",
        help="Present cache: shared_buffers=16GB, zfs_arc_max=8GB.",
    ),
    flag("--explain", is_flag=True, help="Print certainty, other choices and commands."),
    flag("--force", is_flag=True, help="Print product settings even if hits or the trace are few."),
    flag("--dry-run", is_flag=True, help="Show what would run and how long, and stop."),
]

ENDURES = [
    flag(
        "--pe-cycles",
        type=int,
        metavar="N",
        section=SSD,
        help="P/E cycle rating of a block. [the device's]",
    )
]

PAGE = [
    file_flag(
        *("-o", "--report", "--html", "report_file"),
        metavar="FILE.html",
        help="Report that opens offline (needs the extra 'report').",
    )
]

#: Flags of advice on KV caches alone.
FLEET = [
    flag(
        "--servers",
        type=int,
        metavar="N",
        section="KV caches",
        help="Number of servers with this workload. [1]",
    ),
    flag(
        "--prefill",
        "prefill_tokens_per_s",
        type=float,
        metavar="TOKENS/S",
        section="KV caches",
        help="Tokens that a server computes per second.",
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

EPILOG = """\b
Examples:
  destage advise hm_0.csv.gz --budget 64MiB
  destage advise hm_0.csv.gz -d small --objective p99,waf -o advice.html
  destage advise hm_0.csv.gz -d small --objective cost \\
      --price dram=3.0/GiB,tbw=600TB,device=60
  destage advise hm_0.csv.gz --budget-writes 300GB/day --tier2-cache 1GiB
  destage advise prompts.jsonl --bytes-per-token 131072 --kv --price tbw=600TB
"""


@click.command(cls=Command, epilog=EPILOG)
@MAYBE_TRACES
@apply(
    ASKED,
    policy_flag("lru, arc, s3-fifo, cflru, ..."),
    sizes_flag("auto, up to the budget"),
    *(
        BUDGET,
        SMART,
        TYPED,
        SURE,
        JOBS,
        RUN_ADVISED,
        TIERS,
        FLEET,
        DEVICE,
        ENDURES,
        FILES,
        PAGE,
        STORE_TOGETHER,
        TRACE,
        COMMON,
    ),
)
def advise(trace: tuple[str, ...], **arguments: Any) -> None:
    """Recommend a policy and a cache size.

    Prints the choice, its certainty and the command.
    """
    if _advised_otherwise(trace, arguments):
        return
    for name, flag_name in (*((n, n) for n in ("touch", "servers")), _PREFILL):
        if arguments[name] is not None:
            raise UsageError(f"--{flag_name} of advise needs --kv")
    outputs = Outputs.of(arguments)
    drive = drive_of(arguments)
    share_of(arguments["within"])
    sizes_now(arguments["now"])
    asked = {key: arguments[key] for key in ("objective", "price", "pe_cycles", "budget")}
    check_ahead(**asked, drive=drive, tier2=arguments["tier2"])
    policies = arguments["policy"]
    check_one_tier(arguments)
    check_request(
        "all" if policies is None else policies,
        cache=arguments["cache"] or "auto",
        device=drive,
        jobs=arguments["jobs"],
        **run_values(arguments),
    )
    if not arguments["quiet"]:
        note_left_out(policies, drive, arguments)
    experiment = experiment_of(arguments)
    opened = load_one(trace, arguments, drive)
    if arguments["dry_run"]:
        _say_plan(opened, drive if arguments["tier2"] else opened.device, arguments)
        return
    with progress(arguments["quiet"]) as callback:
        advice = find_advice(
            opened,
            **asked,
            within=arguments["within"],
            policies=policies,
            cache=arguments["cache"],
            # It may have been made larger for the trace, whose pages are not behind a flash tier.
            device=drive if arguments["tier2"] else opened.device,
            finalists=arguments["finalists"],
            seeds=arguments["seeds"],
            now=arguments["now"],
            force=arguments["force"],
            queue_depth=arguments["queue_depth"],
            **run_values(arguments),
            store=experiment,
            progress=callback,
        )
    _write(outputs, advice, explain=arguments["explain"])


def _advised_otherwise(trace: tuple[str, ...], arguments: Mapping[str, Any]) -> bool:
    """Give advice of another kind, if it is asked for; whether it was."""
    if arguments["smart"]:
        say_smart(trace, arguments)
        return True
    needs_trace(trace)
    check_figures(arguments)
    if arguments["budget_writes"] is not None:
        within = advised_within(trace, arguments)
        _write(Outputs.of(dict(arguments)), within, explain=arguments["explain"])
        write_figures(within, arguments)
    elif arguments["kv"]:
        _advise_kv(trace, arguments)
    return arguments["kv"] or arguments["budget_writes"] is not None


def _say_plan(trace: Trace, drive: Device | None, arguments: Mapping[str, Any]) -> None:
    """Print the first runs that there would be: the grid, before sizes between its own."""
    sizes = sizes_of(trace, arguments["cache"], arguments["budget"], grows=bool(arguments["now"]))
    specs = with_the_usual(candidates(arguments["policy"], drive, arguments))
    labels = ",".join(spec_label(spec) for spec in specs)
    planned = {**arguments, "policy": labels, "cache": ",".join(sizes.asked)}
    print_table(planned_table([(trace, drive)], planned))


def _advise_kv(trace: Sequence[str], arguments: Mapping[str, Any]) -> None:
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
        tier = grid.tiers[-1]
        table = planned_kv_table(opened, grid.policies, grid.cache, tier, arguments["jobs"])
        print_table(table)
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
    _write(outputs, advice, explain=arguments["explain"])


def _write(outputs: Outputs, advice: Advice | KvAdvice | BudgetAdvice, *, explain: bool) -> None:
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
    for message in warnings_of(advice.results) if isinstance(advice, Advice) else ():
        if "--kv" in message:
            warn(f"{message}; advise --kv is advice on KV caches")
    if advice.ran.interrupted:
        note_interrupted()
        click.get_current_context().exit(signals.status())
