"""`destage advise --budget-writes`: the most hits within a budget of flash writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from destage.base.errors import UsageError
from destage.cli.load import load_one
from destage.cli.options import drive_of, flag, run_values
from destage.cli.output import Outputs, file_flag, look_at_folder
from destage.cli.screen import note, progress
from destage.cli.store import experiment_of
from destage.lab.checks import check_request
from destage.model.prices import prices_of
from destage.model.words import counted
from destage.questions.advice.budget import (
    FLASH,
    TIER2,
    BudgetAdvice,
    advise_writes,
    budget_of,
)

__all__ = ["BUDGET", "advised_within", "check_figures", "write_figures"]

BUDGET = [
    flag(
        "--budget-writes",
        metavar="RATE",
        section="Write budget",
        help="Flash write limit: 300GB/day, or 0.3dwpd of --device.",
    ),
    file_flag(
        "--figures",
        "figures",
        metavar="DIR",
        section="Write budget",
        help="Hits over writes as SVG, PDF, PNG, CSV.",
    ),
]

#: Flags that say nothing within a write budget.
OTHERS = {
    "objective": "the objective are hits",
    "budget": "sizes are --cache and --tier2-cache",
    "finalists": "every configuration runs",
    "now": "no setting depends on it",
    "queue_depth": "the device is not simulated",
    "servers": "it is of advise --kv alone",
    "prefill_tokens_per_s": "it is of advise --kv alone",
}


def check_figures(arguments: Mapping[str, Any]) -> None:
    """Raise `UsageError` for figures of no curve."""
    if arguments["figures"] is not None and arguments["budget_writes"] is None:
        raise UsageError("--figures of advise needs --budget-writes")


def advised_within(trace: Sequence[str], arguments: Mapping[str, Any]) -> BudgetAdvice:
    """Run the grid. Raises `UsageError` for flags that exclude each other."""
    for name, why in OTHERS.items():
        if arguments[name] is not None:
            raise UsageError(f"--budget-writes excludes --{name.replace('_', '-')}: {why}")
    if arguments["dry_run"]:
        raise UsageError("--budget-writes excludes --dry-run: compare --dry-run shows a grid")
    Outputs.of(dict(arguments))
    if arguments["figures"] is not None:
        look_at_folder(arguments["figures"])
    if arguments["price"] is not None:
        prices_of(arguments["price"])
    drive = drive_of(arguments)
    budget_of(arguments["budget_writes"], drive)
    options: dict[str, Any] = {
        k: v for k, v in run_values(arguments).items() if v not in (None, False)
    }
    policies, cache = arguments["policy"], arguments["cache"]
    if policies is not None and cache is not None:
        # With the flash tier that there is by default: its options are not stray without a name.
        tier: dict[str, Any] = {"tier2": TIER2, "tier2_cache": FLASH} | options
        check_request(policies, cache=cache, jobs=arguments["jobs"], **tier)
    experiment = experiment_of(arguments)
    opened = load_one(trace, arguments)
    with progress(arguments["quiet"]) as callback:
        return advise_writes(
            opened,
            arguments["budget_writes"],
            policies=policies,
            cache=cache,
            device=drive,
            **{key: arguments[key] for key in ("price", "pe_cycles")},
            **options,
            store=experiment,
            progress=callback,
        )


def write_figures(advice: BudgetAdvice, arguments: Mapping[str, Any]) -> None:
    """Write the figures, if they were asked for."""
    if arguments["figures"] is not None:
        files = advice.save_figure(arguments["figures"])
        note(f"wrote {counted(len(files), 'file')} to {arguments['figures']}")
