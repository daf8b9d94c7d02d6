"""`destage compare --sample auto`: samples first, then the finalists over the whole trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from destage.base.errors import UsageError
from destage.cli.options import flag, run_values
from destage.cli.sampling import ERROR, sampled
from destage.experiment.experiment import Experiment
from destage.lab.options import ProgressCallback, RunOption, run_options
from destage.lab.traces import Trace

if TYPE_CHECKING:
    from destage.questions.curves.screening import Screened

__all__ = ["SAMPLE", "check_screened", "screened"]

SAMPLE = [
    flag(
        "--sample",
        metavar="auto",
        help="Screen on a sample; rerun only possible winners in full.",
    ),
    ERROR,
    flag(
        "--finalists",
        type=int,
        metavar="N",
        help="Rerun at most N candidates per size in full. [all]",
    ),
]


def check_screened(arguments: Mapping[str, Any], *, has_drive: bool) -> bool:
    """Whether samples come first. Raises `UsageError` for what does not go with them."""
    if arguments["sample"] is None:
        for name in ("error", "finalists"):
            if arguments[name] is not None:
                raise UsageError(f"--{name} goes with --sample auto: add that")
        return False
    if arguments["sample"] != "auto":
        raise UsageError(
            f"--sample {arguments['sample']}: expected auto: compare shows what ran over the whole"
            " trace; mrc shows curves from a share of the pages"
        )
    if has_drive:
        raise UsageError("--sample excludes --device: a sample would split erase blocks")
    whole_only = [option.name for option in run_options() if not _is_sampled(option)]
    for name in ("dry_run", "baseline", *whole_only):
        if arguments.get(name):
            raise UsageError(f"--{name.replace('_', '-')} does not go with --sample auto")
    from destage.questions.curves.screening import check_finalists

    sampled(arguments)
    check_finalists(arguments["finalists"])
    return True


def screened(
    trace: Trace,
    arguments: Mapping[str, Any],
    experiment: Experiment,
    callback: ProgressCallback | None,
) -> Screened:
    """Samples, then the finalists."""
    from destage.questions.curves.screening import screen

    values: Mapping[str, Any] = run_values(arguments)
    return screen(
        trace,
        arguments["policy"],
        cache=arguments["cache"],
        error=sampled(arguments)[1],
        finalists=arguments["finalists"],
        store=experiment,
        progress=callback,
        **{option.name: values[option.name] for option in run_options() if _is_sampled(option)},
    )


def _is_sampled(option: RunOption) -> bool:
    """Whether curves from samples have the option: a flash tier and prompts are run whole."""
    return "mrc" in option.commands
