"""`destage tune`: the best value of a policy's parameters."""

from __future__ import annotations

from typing import Any

import click

from destage.base.errors import UsageError
from destage.cli import signals
from destage.cli.load import TRACES, load_one
from destage.cli.options import (
    COMMON,
    DEVICE,
    OUTPUT,
    RUN,
    Command,
    apply,
    drive_of,
    flag,
    run_values,
    sizes_flag,
)
from destage.cli.output import FILES, Outputs, look_at_folder, print_table
from destage.cli.reading import TRACE
from destage.cli.screen import note_interrupted, progress, warn
from destage.cli.store import JOBS, STORE, experiment_of
from destage.lab.checks import check_request
from destage.questions.reports import need_report
from destage.questions.runs import Interrupted
from destage.questions.tuning import check_tune
from destage.questions.tuning import tune as find_best
from destage.show.tables.tuned import tuned_table

__all__ = ["tune"]

TUNE = [
    flag("-p", "--policy", required=True, metavar="NAME", help="Policy: clc, bpac[a=1;b=2]."),
    flag(
        "--param",
        multiple=True,
        metavar="KEY=RANGE",
        help="Parameter and values. alpha=0:1:0.1 (both ends), window=16:4096:*2,"
        " victim=lru,fifo; may be repeated: all combinations.",
    ),
    flag(
        "--objective",
        metavar="METRIC",
        help="Metric to optimise: METRIC, min:METRIC or max:METRIC."
        " [response_ns_mean with a device, else hit_ratio]",
    ),
    flag(
        "--trials",
        type=int,
        metavar="N",
        help="Search with N trials (Optuna, extra 'tune'), not the grid.",
    ),
    flag("--seed", type=int, default=1, metavar="N", help="Seed of the search. [1]"),
]

FIGURES = [
    flag(
        "--figures",
        type=OUTPUT,
        metavar="FOLDER",
        section="Output",
        help="Write each parameter's curve as SVG, PNG and CSV. Needs the extra 'report'.",
    )
]

EPILOG = """\b
Examples:
  destage tune hm_0.csv.gz -p clc --param alpha=0:1:0.05 -c 8MiB \\
      --objective destages
  destage tune hm_0.csv.gz -p bpac --param sampling_period=1024:262144:*2 \\
      -c 16MiB --device bpac --wrap modulo
  destage tune hm_0.csv.gz -p 2q --param in_fraction=0:1 \\
      --param out_fraction=0:1 --trials 60 -c 10%
"""


@click.command(cls=Command, epilog=EPILOG)
@TRACES
@apply(
    TUNE,
    sizes_flag("the device file's, else auto"),
    *(JOBS, RUN, DEVICE, FILES, FIGURES, STORE, TRACE, COMMON),
)
def tune(trace: tuple[str, ...], **arguments: Any) -> None:
    """Find the best value of a policy's parameter.

    Prints the whole curve.
    """
    outputs = Outputs.of(arguments)
    if arguments["figures"] is not None:
        need_report()
        look_at_folder(arguments["figures"])
    params = _params(arguments["param"])
    drive = drive_of(arguments)
    check_request(
        arguments["policy"],
        cache=arguments["cache"],
        device=drive,
        jobs=arguments["jobs"],
        **run_values(arguments),
    )
    check_tune(
        arguments["policy"],
        params,
        arguments["objective"],
        has_device=drive is not None,
        has_cost=arguments["cost"] is not None,
        trials=arguments["trials"],
    )
    experiment = experiment_of(arguments)
    opened = load_one(trace, arguments, drive)
    interrupted = False
    try:
        with progress(arguments["quiet"]) as callback:
            tuned = find_best(
                opened,
                arguments["policy"],
                params,
                arguments["objective"],
                cache=arguments["cache"],
                # It may have been made larger for the trace.
                device=opened.device,
                trials=arguments["trials"],
                seed=arguments["seed"],
                **run_values(arguments),
                store=experiment,
                progress=callback,
            )
    except Interrupted as e:
        if not e.results.points:
            raise
        tuned, interrupted = e.results, True
        note_interrupted()
    outputs.write(tuned)
    if outputs.to_screen:
        print_table(tuned_table(tuned))
    for message in tuned.warnings:
        warn(message)
    if arguments["figures"] is not None:
        tuned.save(arguments["figures"])
    if interrupted:
        click.get_current_context().exit(signals.status())


def _params(given: tuple[str, ...]) -> dict[str, str]:
    params: dict[str, str] = {}
    for one in given:
        key, equals, values = one.partition("=")
        if not equals or not key.strip() or not values.strip():
            raise UsageError(f"--param {one}: expected KEY=RANGE, such as alpha=0:1:0.1")
        if key.strip() in params:
            raise UsageError(f"--param {key.strip()} is given twice")
        params[key.strip()] = values.strip()
    return params
