"""One paper's evaluation, done again: runs, figures, verdicts, sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from destage.options import ProgressCallback
from destage.reproduce.claims import Claim, Paper, Sensitivity
from destage.reproduce.experiments import Rows, Runner
from destage.reproduce.figures import Drawing, drawing
from destage.reproduce.frame import Frame
from destage.reproduce.verdicts import ORDER, Verdict, decide
from destage.reproduce.workloads import Load, Loads

__all__ = ["SENSITIVITY_SHARE", "Evaluation", "Options", "Swing", "evaluate"]

#: Sensitivity runs have this share of the requests of the main ones, of every paper; stand-ins at
#: least so much of all of theirs, since with fewer nothing is left to compare. A load that a paper
#: specifies, which the main runs have in full at any scale, has this share of it.
SENSITIVITY_SHARE, SENSITIVITY_LEAST = 0.1, 0.02


@dataclass(frozen=True)
class Options:
    """How an evaluation is to be run."""

    scale: float = 1.0
    """Requests of stand-ins and recordings, as a share; specified loads are run in full."""
    seed: int = 1
    """Of the first draw of every random load."""
    seeds: int = 3
    """How many draws: seed, seed + 1, ..."""
    traces: Path | None = None
    recordings: Path | None = None
    jobs: int | None = None
    sensitivity: bool = True
    figures: tuple[int, ...] = ()
    tables: tuple[int, ...] = ()
    """Only these, and the claims about them; all without them."""

    @property
    def draws(self) -> tuple[int, ...]:
        """The seeds."""
        return tuple(self.seed + k for k in range(self.seeds))


@dataclass(frozen=True)
class Swing:
    """What the claims become under each value of a knob."""

    knob: Sensitivity
    verdicts: Mapping[str, Mapping[str, Verdict]]
    """By claim and value: the claims that the knob names, then those that it turns besides."""

    def one_reading_only(self, claim: str) -> str | None:
        """The only value under which a claim holds, if it does not hold under all."""
        holding = [v for v, one in self.verdicts[claim].items() if one.verdict == "holds"]
        several = len(self.verdicts[claim]) > 1
        return holding[0] if several and len(holding) == 1 else None


@dataclass(frozen=True)
class Evaluation:
    """Everything that a report needs."""

    paper: Paper
    options: Options
    loads: tuple[Load, ...]
    loading: Loads
    sets: Mapping[str, Rows]
    drawings: tuple[Drawing, ...]
    verdicts: tuple[Verdict, ...]
    swings: tuple[Swing, ...]
    faithful: Mapping[str, Verdict]
    """By claim, what becomes of it in the most faithful set-up; empty if there is none."""
    sensitivity_scale: float
    failed: tuple[str, ...]
    """Runs with which a drive could not go on."""

    def counts(self) -> dict[str, int]:
        """How many claims have which verdict."""
        return {word: sum(v.verdict == word for v in self.verdicts) for word in ORDER}

    def open(self) -> int:
        """How many claims could have a better verdict, were their undecided cases met."""
        return sum(v.own.open > 0 for v in self.verdicts)

    def counts_elsewhere(self) -> dict[str, int]:
        """How many claims have which verdict on recordings and excerpts."""
        found = [v.elsewhere.verdict for v in self.verdicts if v.elsewhere]
        return {word: found.count(word) for word in ORDER}


def evaluate(
    paper: Paper,
    options: Options,
    *,
    progress: ProgressCallback | None = None,
    began: Callable[[str], object] | None = None,
) -> Evaluation:
    """Run a paper's evaluation. Raises what runs raise, and `DataError` for a wrong original."""
    loading = Loads(traces=options.traces, recordings=options.recordings, scale=options.scale)
    runner = _runner(paper, loading, options, progress, began)
    runner.check(paper.runs)
    runner.total = sum(runner.count(runs) for runs in paper.runs)
    sets = runner.several(paper.runs)
    failed = tuple(runner.failed)
    frames = {name: Frame(rows, paper.composites) for name, rows in sets.items()}
    verdicts = tuple(decide(claim, frames) for claim in paper.claims)
    drawings = tuple(drawing(figure, frames[figure.runs], paper) for figure in paper.figures)
    loads = {load.name: load for rows in sets.values() for load in rows.loads}
    scale = min(options.scale, max(SENSITIVITY_LEAST, options.scale * SENSITIVITY_SHARE))
    swings: tuple[Swing, ...] = ()
    faithful: dict[str, Verdict] = {}
    if options.sensitivity:
        loads_alone = Loads(traces=options.traces, recorded=False, scale=options.scale)
        faithful = _faithful(paper, _runner(paper, loads_alone, options, progress, began))
        shorter = Loads(
            traces=options.traces, recorded=False, scale=scale, shorten=SENSITIVITY_SHARE
        )
        swings = _swings(paper, _runner(paper, shorter, options, progress, began))
    return Evaluation(
        paper,
        options,
        tuple(loads.values()),
        loading,
        sets,
        drawings,
        verdicts,
        swings,
        faithful,
        scale,
        failed,
    )


def check_originals(
    papers: Sequence[Paper], options: Options, *, progress: ProgressCallback | None = None
) -> None:
    """Look at the originals of several papers before the first of them runs.

    Raises `DataError` for one that is damaged or something else than its name says.
    """
    loads = Loads(traces=options.traces, recordings=options.recordings, scale=options.scale)
    for paper in papers:
        _runner(paper, loads, options, progress, None).check(paper.runs)


def _runner(
    paper: Paper,
    loads: Loads,
    options: Options,
    progress: ProgressCallback | None,
    began: Callable[[str], object] | None,
) -> Runner:
    return Runner(
        paper, loads, seeds=options.draws, jobs=options.jobs, progress=progress, began=began
    )


def _faithful(paper: Paper, runner: Runner) -> dict[str, Verdict]:
    """Decide all claims on the paper's loads in its most faithful set-up."""
    if paper.faithful is None:
        return {}
    sets = runner.several(paper.runs, paper.faithful)
    frames = {name: Frame(rows, paper.composites) for name, rows in sets.items()}
    return {claim.id: decide(claim, frames) for claim in paper.claims}


def _swings(paper: Paper, runner: Runner) -> tuple[Swing, ...]:
    """Decide claims under each value of every knob, on fewer requests."""
    plain: dict[str, Rows] = {}
    swings = []
    for knob in paper.sensitivity:
        named = [paper.claim(name) for name in knob.claims]
        sets = [runs for runs in paper.runs if any(runs.id in _needed(c) for c in named)]
        run = {runs.id for runs in sets}
        answered = [c for c in paper.claims if c in named or (_needed(c) and _needed(c) <= run)]
        verdicts: dict[str, dict[str, Verdict]] = {c.id: {} for c in answered}
        for label, variant in knob.values.items():
            frames = {}
            for runs in sets:
                only = paper.head.sensitivity_loads or None
                if variant.changes:
                    rows = runner.rows(runs, variant, only=only)
                else:
                    # The value of the main runs: done once, for all knobs.
                    if runs.id not in plain:
                        plain[runs.id] = runner.rows(runs, only=only)
                    rows = plain[runs.id]
                frames[runs.id] = Frame(rows, paper.composites)
            for claim in answered:
                verdicts[claim.id][label] = decide(claim, frames)
        shown = {name: verdicts[name] for name in knob.claims}
        turned = {c.id: verdicts[c.id] for c in answered if _turns(verdicts[c.id])}
        swings.append(Swing(knob, shown | turned))
    return tuple(swings)


def _needed(claim: Claim) -> set[str]:
    return set(claim.check.needed_runs) if claim.check.kind != "none" else set()


def _turns(by_value: Mapping[str, Verdict]) -> bool:
    """Whether a claim's verdict is another one under some value."""
    return len({v.verdict for v in by_value.values()}) > 1
