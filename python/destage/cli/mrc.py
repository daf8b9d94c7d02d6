"""`destage mrc`: miss-ratio curves."""

from __future__ import annotations

from typing import Any

import click

from destage.base.errors import UsageError
from destage.cli import signals
from destage.cli.load import TRACES, load_one
from destage.cli.options import (
    ALLOW_CODE,
    COMMON,
    RUN_ALONE,
    Command,
    apply,
    flag,
    run_values,
    sizes_flag,
)
from destage.cli.output import FILES, REPORT, Outputs, print_table
from destage.cli.partition import PARTITION, print_partition
from destage.cli.policy_options import note_left_out, policy_flag
from destage.cli.reading import TRACE_ALONE
from destage.cli.sampling import ERROR, SEED, sampled
from destage.cli.screen import note_interrupted, progress, warn
from destage.cli.store import JOBS, STORE, experiment_of
from destage.lab.checks import check_request, every_size_asked
from destage.model.metrics import BASELINE
from destage.questions.curves.calls import check_curves
from destage.questions.curves.calls import mrc as draw_curves
from destage.questions.runs import Interrupted

__all__ = ["mrc"]

SAMPLE = [
    flag(
        "--sample",
        metavar="SHARE|auto",
        help="Simulate this share of the pages: 1% or 0.01. Numbers have 95 % intervals, or ± ?"
        " where none is known. auto: per policy and size the smallest sample that meets --error."
        " [the whole trace]",
    ),
    ERROR,
    flag(
        "--control",
        type=click.Choice([BASELINE]),
        metavar=BASELINE,
        help="Correct the sample with exact LRU as a control variate. Narrower intervals.",
    ),
    SEED,
]

EPILOG = """\b
Examples:
  destage mrc hm_0.csv.gz
  destage mrc hm_0.csv.gz -p lru,arc,min -c 0.1%,1%,10% --csv curve.csv
  destage mrc hm_0.csv.gz -p lru,min -c all --parquet every_size.parquet
  destage mrc huge.csv.zst -p lru --sample 1%
  destage mrc huge.csv.zst -p lru,fifo,s3-fifo --sample auto --error 1%
  destage mrc routing.jsonl --partition layer

LRU is exact at all sizes in one pass; fifo, clock and sieve share one among up to eight sizes;
the others run once per size. With -c all the files have one row per size of LRU and MIN;
the table shows the usual sizes.
"""


@click.command(cls=Command, epilog=EPILOG)
@TRACES
@apply(
    policy_flag(BASELINE),
    sizes_flag("auto", "; all: every size (lru, min)"),
    SAMPLE,
    PARTITION,
    JOBS,
    RUN_ALONE,
    FILES,
    REPORT,
    STORE,
    TRACE_ALONE,
    [ALLOW_CODE],
    COMMON,
)
def mrc(trace: tuple[str, ...], **arguments: Any) -> None:
    """Print hit ratios over cache sizes: miss-ratio curves."""
    outputs = Outputs.of(arguments)
    if arguments["partition"] is not None:
        print_partition(trace, arguments, outputs)
        return
    if arguments["token_time"] is not None:
        raise UsageError("--token-time goes with --partition layer: add that")
    sample, error = sampled(arguments)
    policies, cache = arguments["policy"] or BASELINE, arguments["cache"] or "auto"
    check_request(
        policies,
        cache=every_size_asked(cache)[1],
        jobs=arguments["jobs"],
        curves=True,
        **run_values(arguments),
    )
    if arguments["control"] and sample is None:
        raise UsageError("--control needs a sample: add --sample")
    if arguments["seed"] is not None and sample is None:
        raise UsageError("--seed is of a sample: add --sample")
    check_curves(policies, cache=cache, sample=sample, **run_values(arguments))
    if not arguments["quiet"]:
        note_left_out(policies, None, {})
    experiment = experiment_of(arguments)
    opened = load_one(trace, arguments)
    interrupted = False
    try:
        with progress(arguments["quiet"]) as callback:
            curves = draw_curves(
                opened,
                policies,
                cache=cache,
                sample=sample,
                error=error,
                control=arguments["control"],
                seed=1 if arguments["seed"] is None else arguments["seed"],
                **run_values(arguments),
                store=experiment,
                progress=callback,
            )
    except Interrupted as e:
        if not e.results.data:
            raise
        curves, interrupted = e.results, True
        note_interrupted()
    outputs.write(curves)
    if outputs.to_screen:
        print_table(curves.as_table())
        click.echo()
        print_table(curves.sizes_table())
    else:
        for message in curves.warnings:
            warn(message)
    outputs.write_report((), [opened], [curves])
    if interrupted:
        click.get_current_context().exit(signals.status())
