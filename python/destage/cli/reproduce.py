"""`destage reproduce`: papers re-run, claim by claim."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal

import click

from destage.base.errors import UsageError
from destage.base.io.files import folder_to_fill
from destage.cli.options import COMMON, FOLDER, OUTPUT, Command, apply, flag
from destage.cli.output import print_table
from destage.cli.screen import note, progress
from destage.cli.store import JOBS, STORE_OF_MANY, experiment_of
from destage.experiment.experiment import Experiment
from destage.lab.options import ProgressCallback
from destage.reproduce import OURS, PAPERS, checked, evaluate, narrowed, papers_of
from destage.reproduce.document import document
from destage.reproduce.evaluation import (
    Evaluation,
    Options,
    check_originals,
    seeds_of,
)
from destage.reproduce.first_screen import scaled_note
from destage.reproduce.runs import MissingRuns
from destage.reproduce.verdicts import HOLDS, UNTESTED
from destage.reproduce.wording import count_of, load_words, verdicts_in_words
from destage.show.tables.table import Cell, Column, Table

__all__ = ["reproduce"]

#: The name of the tables that no paper has.
BEYOND = "beyond"

EPILOG = f"""\b
Papers: {", ".join(PAPERS)}, all, {BEYOND}; {OURS}: our claims.

\b
Examples:
  destage reproduce acr
  destage reproduce all --scale 0.1
  destage reproduce ecr --figure 6 --figure 11 --scale 0.1
  destage reproduce ecr --traces ~/traces/msr
  destage reproduce all --store runs --shard 1/4

Original traces are detected by name and checked. A missing one is replaced by a surrogate trace,
which the page marks. docs/reference/paper-files.md lists the sources of the originals.
"""

RESULTS = [
    flag(
        "--out",
        type=OUTPUT,
        default="destage-reproduce",
        metavar="DIR",
        section="Output",
        help="Folder for printed output, JSON, figures. [destage-reproduce]",
    ),
    flag(
        "--pages",
        type=OUTPUT,
        metavar="DIR",
        section="Output",
        help="Folder for all claims, set-up and sensitivity.",
    ),
    flag(
        "--strict",
        is_flag=True,
        section="Output",
        help="Exit with status 1 if a claim does not hold fully.",
    ),
]

LOADS = [
    flag("--traces", type=FOLDER, metavar="DIR", help="Folder of original traces."),
    flag(
        "--recordings",
        type=FOLDER,
        metavar="DIR",
        help="Folder of this project's recordings. [--traces/own]",
    ),
    flag(
        "--scale",
        type=float,
        default=1.0,
        metavar="S",
        help="Share of the requests to replay, 0..1. [1]",
    ),
    flag("--seed", type=int, default=1, metavar="N", help="Seed of generated workloads. [1]"),
    flag(
        "--seeds",
        metavar="N",
        help="Number of seeds; auto: until significant, at most 30."
        " [3; 1 with --scale 0.1 and less]",
    ),
]

WHAT = [
    flag(
        "--figure",
        type=int,
        multiple=True,
        metavar="N",
        help="Reproduce only this figure; repeatable.",
    ),
    flag(
        "--table",
        type=int,
        multiple=True,
        metavar="N",
        help="Reproduce only this table; repeatable.",
    ),
    flag("--no-sensitivity", is_flag=True, help="Skip other interpretations of the papers."),
    flag("--no-beyond", is_flag=True, help="With all: skip the table beyond the papers."),
]


@click.command(cls=Command, epilog=EPILOG)
@click.argument("name", nargs=-1, required=True, metavar="PAPER...")
@apply(WHAT, JOBS, LOADS, RESULTS, STORE_OF_MANY, COMMON)
def reproduce(name: tuple[str, ...], **arguments: Any) -> None:
    """Reproduce a paper, claim by claim."""
    from destage.base.io.extras import need_extra
    from destage.reproduce.index_page import write_index
    from destage.reproduce.pages import write

    need_extra("the report")
    papers = papers_of([one for one in name if one != BEYOND])
    options = checked(_options(arguments))
    if (options.figures or options.tables) and len(papers) != 1:
        raise UsageError("figure, table: name one paper")
    papers = [narrowed(p, options.figures, options.tables) for p in papers]
    quiet = arguments["quiet"]
    experiment = experiment_of(arguments)
    done, missing = [], []
    with folder_to_fill(arguments["out"]) as out:
        with progress(quiet) as callback:
            check_originals(papers, options, progress=callback)
        for paper in papers:
            try:
                with progress(quiet) as callback:
                    told = callback or _teller(paper.name, quiet)
                    evaluation = evaluate(paper, options, experiment=experiment, progress=told)
            except MissingRuns as e:
                missing.append(f"{paper.name}: {e}")
                continue
            write(evaluation, out, pages=_folder(arguments["pages"]), indexed="all" in name)
            _say_stand_ins(evaluation, quiet)
            done.append(evaluation)
            if not quiet:
                note(f"{out / paper.name}.html: {_counts(evaluation)}")
        with_beyond = BEYOND in name or ("all" in name and not arguments["no_beyond"])
        if with_beyond:
            try:
                _beyond(options, experiment, out, _folder(arguments["pages"]), quiet)
            except MissingRuns as e:
                missing.append(f"beyond: {e}")
        if "all" in name and not missing:
            write_index([document(e) for e in done], with_beyond, out)
    for text in missing:
        note(f"{text}: other shards have to do them; without --shard the same command goes on")
    if not done:
        return
    print_table(_table(done))
    if arguments["strict"] and any(
        v.verdict not in (HOLDS, UNTESTED) for e in done for v in e.verdicts
    ):
        click.get_current_context().exit(1)


def _options(arguments: dict[str, Any]) -> Options:
    """How an evaluation is to be run. Raises `UsageError`."""
    return Options(
        scale=arguments["scale"],
        seed=arguments["seed"],
        seeds=seeds_of(arguments["scale"], _seeds(arguments["seeds"])),
        auto_seeds=arguments["seeds"] == "auto",
        traces=_folder(arguments["traces"]),
        recordings=_folder(arguments["recordings"]),
        jobs=arguments["jobs"],
        sensitivity=not arguments["no_sensitivity"],
        figures=arguments["figure"],
        tables=arguments["table"],
    )


def _beyond(
    options: Options, experiment: Experiment, out: Path, pages: Path | None, quiet: bool
) -> None:
    """Write the tables that no paper has."""
    from destage.reproduce.beyond import beyond
    from destage.reproduce.beyond_pages import write_beyond

    with progress(quiet) as callback:
        told = callback or _teller("beyond", quiet)
        found = beyond(options, experiment=experiment, progress=told)
    write_beyond(found, out, pages=pages)
    if not quiet:
        note(f"{out / 'beyond.html'}: every policy over every FTL")


def _seeds(given: str | None) -> int | Literal["auto"] | None:
    """The number of seeds as it was given. Raises `UsageError`."""
    if given is None or given == "auto":
        return "auto" if given else None
    if not given.isascii() or not given.isdigit():
        raise UsageError(f"--seeds: expected a number from 1 to 100, or auto, got {given}")
    return int(given)


def _folder(given: str | None) -> Path | None:
    return Path(given) if given else None


def _teller(name: str, quiet: bool) -> ProgressCallback | None:
    """Progress without a terminal: a line for each tenth of a step, with its time left."""
    began, before, told, step = time.monotonic(), 0, 0, 1

    def tell(done: int, total: int | None, _stage: str) -> None:
        nonlocal began, before, told, step
        if done < before:
            # Rates are found first; with --seeds auto every number of seeds is a step.
            began, told, step = time.monotonic(), 0, step + 1
        before = done
        tenths = 10 * done // total if total else 0
        if tenths > told:
            told = tenths
            left = (time.monotonic() - began) * (10 - tenths) / tenths
            at = f"step {step}, " if step > 1 else ""
            more = f", {left:.0f} s left" if left else ""
            note(f"{name}: {at}{10 * tenths} % replayed{more}")

    return None if quiet else tell


def _say_stand_ins(evaluation: Evaluation, quiet: bool) -> None:
    """Name the surrogate traces that were used, and the sources of the originals."""
    if quiet:
        return
    places: dict[str, list[str]] = {}
    for load in evaluation.loads:
        if load.kind == "surrogate":
            places.setdefault(load.note, []).append(load.name)
    for place, names in places.items():
        note(f"{evaluation.paper.name}: surrogate traces for {', '.join(names)} ({place})")


def _counts(evaluation: Evaluation) -> str:
    return verdicts_in_words(evaluation.counts())


def _table(evaluations: list[Evaluation]) -> Table:
    """The headline claims and their verdicts."""
    columns = [Column("paper", right=False), Column("claim", right=False)]
    columns += [Column("paper's loads", right=False), Column("cases"), Column("on", right=False)]
    columns += [Column("elsewhere", right=False), Column("cases")]
    table = Table("Headline claims", columns)
    if any(kind == "surrogate" for e in evaluations for v in e.verdicts for kind in v.own.loads):
        table.notes.append(
            "a verdict on surrogate traces describes the policies on workloads of that type, not"
            " the authors' measurements"
        )
    coarse = sum(bool(v.own.coarse) for e in evaluations for v in e.verdicts)
    least = min(evaluations, key=lambda e: e.options.scale).options
    if scaled := scaled_note(least.scale, coarse, least.seeds):
        table.notes.append(scaled)
    left = sum(e.open() for e in evaluations)
    if left:
        table.notes.append(
            f"{left} verdict{'s are' if left > 1 else ' is'} open: undecided cases could turn"
            f" {'them' if left > 1 else 'it'}, with more draws (--seeds); see the page"
        )
    for evaluation in evaluations:
        rows = []
        shown = [v for v in evaluation.verdicts if v.claim.headline] or evaluation.verdicts
        for v in shown:
            texts = [evaluation.paper.name, v.claim.says, v.verdict, count_of(v.own)]
            texts += [load_words(v.own), v.elsewhere.verdict if v.elsewhere else "-"]
            rows.append([Cell(text) for text in (*texts, count_of(v.elsewhere))])
        table.groups.append(rows)
    return table
