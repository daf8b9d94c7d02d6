"""`destage compare`: the main job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from destage.base.errors import UsageError
from destage.cli import signals
from destage.cli.load import TRACES, load_for, sources
from destage.cli.options import (
    COMMON,
    DEVICES,
    RUN,
    SSD,
    TIERS,
    Command,
    apply,
    drives_of,
    flag,
    run_values,
    sizes_flag,
)
from destage.cli.output import FILES, REPORT, Outputs, print_table
from destage.cli.planned import planned_table
from destage.cli.policy_options import note_left_out, policy_flag, say_warnings
from destage.cli.reading import TRACE
from destage.cli.screen import note, note_interrupted, progress
from destage.cli.screening import SAMPLE, check_screened, screened
from destage.cli.store import JOBS, STORE, experiment_of
from destage.experiment.experiment import Experiment
from destage.experiment.results import Results
from destage.lab.checks import USUAL, Exclusions, asked, check_request, suiting
from destage.lab.ssd import Device
from destage.lab.traces import Trace
from destage.model.choice import LIFE, VIEWS, chosen, metric_named
from destage.model.run import Run
from destage.questions.runs import Interrupted, Pair, compare_pairs

if TYPE_CHECKING:
    from destage.questions.curves.screening import Screened

__all__ = ["compare"]


ENDURANCE = [
    flag(
        "--pe-cycles",
        type=int,
        metavar="N",
        section=SSD,
        help="P/E cycle rating of a block. Adds drive writes per day and years of life.",
    )
]

COLUMNS = [
    flag(
        "--show",
        metavar="NAME,...",
        section="Output",
        help="Metrics to show as columns. Short names: hit, mean, p50 .. p99.99, max, waf, erases,"
        " wear, writes, life.",
    ),
    flag("--sort", metavar="NAME", section="Output", help="Sort the rows of a size, best first."),
    flag(
        "--view",
        metavar="|".join(VIEWS),
        section="Output",
        help="Columns about hits, response times, or wear and lifetime.",
    ),
]

BASELINE = [
    flag(
        "--baseline",
        metavar="NAME",
        section="Output",
        help="Policy that + and - compare with. [the first]",
    ),
    flag(
        "--against",
        metavar="NAME",
        section="Output",
        help="Differences from this policy or device, with intervals.",
    ),
    flag(
        "--stability",
        is_flag=True,
        section="Output",
        help="Check the order of policies at half and twice each size.",
    ),
]

MERGE = [
    flag(
        "--merge",
        is_flag=True,
        section="Reading the trace",
        help="Merge several files into one trace, by time.",
    )
]

DRY = [
    flag("--dry-run", is_flag=True, help="Print the planned runs and their duration, then stop.")
]

EPILOG = """\b
Examples:
  destage compare hm_0.csv.gz
  destage compare hm_0.csv.gz -p lru,acr-h -c 4MiB --cost read=1,write=118
  destage compare hm_0.csv.gz -p none,lru,ecr -c 32MiB -d small --view latency
  destage compare hm_0.csv.gz -p lru,cflru -c 32MiB -d small --ftl page,bast
  destage compare before.csv after.csv -p lru,arc -c 10% --csv - --quiet

Several files are compared side by side. --merge makes them one trace, by time.
Missing flags are read from the environment (DESTAGE_ and the name in capitals;
DESTAGE_CACHE_SIZE for --cache), then from the --config file.
"""


@click.command(cls=Command, epilog=EPILOG)
@TRACES
@apply(
    policy_flag(f"the device file's, else {USUAL}"),
    sizes_flag("the device file's, else auto"),
    *(JOBS, RUN, TIERS, DRY, SAMPLE, DEVICES, ENDURANCE, COLUMNS, BASELINE, FILES, REPORT, STORE),
    *(MERGE, TRACE, COMMON),
)
def compare(trace: tuple[str, ...], **arguments: Any) -> None:
    """Compare policies over cache sizes, devices and placements."""
    outputs = Outputs.of(arguments)
    _check_against(arguments)
    policies, left, grid = arguments["policy"], Exclusions(), arguments["placement"] is not None
    drives = drives_of(arguments, left)
    _check_requests(policies, drives, arguments)
    experiment = experiment_of(arguments)
    screens = check_screened(arguments, has_drive=drives[0] is not None)
    if grid:
        behind = [(asked(policies, None, d, arguments)[0], d) for d in drives]
        left.kept([s for specs, d in behind for s in suiting(specs, d, left)])
    if not arguments["quiet"]:
        note_left_out(policies, drives[0], arguments)
        for sentence in left.sentences if grid else ():
            note(sentence)
    groups = [trace] if arguments["merge"] else sources(trace)
    pairs = [pair for files in groups for pair in load_for(files, arguments, drives)]
    if arguments["dry_run"]:
        print_table(planned_table(pairs, arguments))
        return
    interrupted, found = False, None
    profile = drives[0] is not None and "report" in outputs.files
    try:
        with progress(arguments["quiet"]) as callback:
            if screens:
                found = screened(pairs[0][0], arguments, experiment, callback)
                results = found.results
            else:
                results = compare_pairs(
                    pairs,
                    policies,
                    cache=arguments["cache"],
                    grid=grid,
                    baseline=arguments["against"] or arguments["baseline"],
                    called="against" if arguments["against"] else "baseline",
                    **run_values(arguments, profile=profile),
                    store=experiment,
                    progress=callback,
                )
    except Interrupted as e:
        from destage.questions.curves.screening import Screened

        found = e.results if isinstance(e.results, Screened) else None
        results = found.results if found else e.results
        if not isinstance(results, Results) or not results:
            raise
        interrupted = True
        note_interrupted()
    if arguments["pe_cycles"] is not None:
        results = results.enduring(arguments["pe_cycles"])
    traces = [one for one, _ in pairs]
    further = () if interrupted else _further(results, pairs, arguments, experiment)
    interrupted |= further is None
    _write(results, outputs, arguments, traces, found, further or (), apart=len(groups) > 1)
    if interrupted:
        click.get_current_context().exit(signals.status())


def _further(
    results: Results,
    pairs: Sequence[Pair],
    arguments: Mapping[str, Any],
    experiment: Experiment | None,
) -> Sequence[Run] | None:
    """Runs at half and twice each size, for `--stability`; None where Ctrl-C ended them."""
    if not arguments["stability"]:
        return ()
    known = {run.frames for run in results if not run.has_no_cache}
    others = {n for frames in known for n in (frames // 2, 2 * frames)} - known - {0}
    try:
        with progress(arguments["quiet"]) as callback:
            found = compare_pairs(
                pairs,
                arguments["policy"],
                cache=",".join(f"{frames}p" for frames in sorted(others)),
                grid=arguments["placement"] is not None,
                **run_values(arguments),
                store=experiment,
                progress=callback,
            )
    except Interrupted:
        note_interrupted()
        return None
    return list(found)


def _write(
    results: Results,
    outputs: Outputs,
    arguments: Mapping[str, Any],
    traces: Sequence[Trace],
    found: Screened | None,
    further: Sequence[Run],
    *,
    apart: bool,
) -> None:
    """Write files, table and report, the report last: where it cannot be, nothing else is lost."""
    shown = ("show", "sort", "view", "against")
    table = results.as_table(**{key: arguments[key] for key in shown}, beside=further)
    if found:
        table.notes[:0] = found.summary
    outputs.write(results, table)
    if outputs.to_screen:
        if found:
            print_table(found.curves.as_table())
            click.echo()
        print_table(table)
        if apart:
            _print_differences(results, arguments["show"])
    say_warnings(results, has_table=outputs.to_screen)
    outputs.write_report(
        results,
        list({one.fingerprint + one.name: one for one in traces}.values()),
        [found.curves] if found else (),
    )


def _print_differences(results: Results, shown: str | None) -> None:
    """Print how the traces differ, a table each."""
    from destage.questions.difference import between_traces

    for beside in between_traces(results, show=shown):
        click.echo()
        print_table(beside.as_table())


def _check_requests(
    policies: str | None, drives: Sequence[Device | None], arguments: Mapping[str, Any]
) -> None:
    """Raise `UsageError` for runs that cannot be, before a trace is opened."""
    for drive in drives:
        check_request(
            policies,
            cache=arguments["cache"],
            device=drive,
            jobs=arguments["jobs"],
            **run_values(arguments),
        )
        _check_table(arguments, drive)
    modes = {drive.record["host"]["mode"] for drive in drives if drive is not None}
    if arguments["pe_cycles"] is not None and modes == {"closed"}:
        raise UsageError(
            "--pe-cycles: a closed loop runs as fast as the device, and has no years: leave out"
            " --queue-depth"
        )


def _check_against(arguments: Mapping[str, Any]) -> None:
    """Raise `UsageError` for what does not go with `--against`."""
    if arguments["against"] is None:
        return
    if arguments["baseline"] not in (None, arguments["against"]):
        raise UsageError("--against names the baseline: leave out --baseline")
    if arguments["sample"] is not None:
        raise UsageError("--against needs whole runs: leave out --sample")


def _check_table(arguments: Mapping[str, Any], drive: Device | None) -> None:
    """Raise `UsageError` for columns that these runs cannot have, before they run."""
    if arguments["pe_cycles"] is not None and drive is None:
        raise UsageError("--pe-cycles needs a simulated SSD: add --device")
    columns, life = chosen(arguments["show"], arguments["view"], arguments["sort"])
    columns = columns or []
    columns += [metric_named(arguments["sort"])] if arguments["sort"] else []
    timed = [m.name for m in columns if m.group.of_device] + ([LIFE] if life else [])
    if timed and drive is None and arguments["view"] is None:
        rated = ", or use advise --kv --price tbw=600TB" if arguments["kv"] and life else ""
        raise UsageError(f"{timed[0]} needs a simulated SSD: add --device{rated}")
    if drive is None and arguments["stability"]:
        raise UsageError("--stability needs response times of a simulated SSD: add --device")
    if arguments["stability"] and arguments["sample"] is not None:
        raise UsageError("--stability needs whole runs: leave out --sample")
    needs = {"latency": "response times", "endurance": "wear and lifetime"}.get(arguments["view"])
    if drive is None and needs is not None:
        raise UsageError(
            f"--view {arguments['view']} shows {needs} of a simulated SSD: add --device"
        )
