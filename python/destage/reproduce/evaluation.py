"""One paper's evaluation, done again: runs, figures, verdicts, sensitivity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from destage.experiment.experiment import Experiment
from destage.lab.options import ProgressCallback
from destage.reproduce.claims import Claim, Paper, Sensitivity
from destage.reproduce.figures import Drawing, drawing
from destage.reproduce.load import Load
from destage.reproduce.rows import Rows
from destage.reproduce.runs import Request, Runner
from destage.reproduce.verdicts import ORDER, Verdict, decide
from destage.reproduce.workloads import Loads

__all__ = ["Evaluation", "Options", "Swing", "evaluate", "seeds_of"]

#: Seeds of `auto`, one step after the other.
SEED_STEPS = (3, 6, 12, 30)


#: Largest scale with one seed unless more are asked for: such runs try a set-up out.
SMALL_SCALE = 0.1


def seeds_of(scale: float, given: int | Literal["auto"] | None) -> int:
    """The number of seeds at a scale; the first step of `auto`."""
    if given == "auto":
        return SEED_STEPS[0]
    if given is None:
        return 1 if scale <= SMALL_SCALE else SEED_STEPS[0]
    return given


@dataclass(frozen=True)
class Options:
    """How an evaluation is to be run."""

    scale: float = 1.0
    """Requests of all workloads, as a share."""
    seed: int = 1
    """Of the first draw of every random load."""
    seeds: int = 3
    """How many draws: seed, seed + 1, ..."""
    auto_seeds: bool = False
    """The next of `SEED_STEPS`, until no claim is undecided."""
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
    """Outcomes of the claims under each value of a knob."""

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
    """By claim, what becomes of it in the paper-exact configuration; empty if there is none."""
    sensitivity_scale: float
    failed: tuple[str, ...]
    """Runs with which a device could not go on."""

    def counts(self) -> dict[str, int]:
        """How many claims have which verdict; those that restate a table are not counted."""
        counted = [v for v in self.verdicts if not v.restates]
        return {word: sum(v.verdict == word for v in counted) for word in ORDER}

    def open(self) -> int:
        """How many claims could have a better verdict, were their undecided cases met."""
        return sum(v.own.open > 0 for v in self.verdicts)

    def counts_elsewhere(self) -> dict[str, int]:
        """How many claims have which verdict on recordings and excerpts."""
        found = [v.elsewhere.verdict for v in self.verdicts if v.elsewhere]
        return {word: found.count(word) for word in ORDER}


@contextmanager
def kept_in(experiment: Experiment | None, jobs: int | None) -> Iterator[Experiment]:
    """An experiment with a store; without one, its results are kept as long as they are needed."""
    if experiment is not None and experiment.store is not None:
        yield experiment
        return
    with TemporaryDirectory(prefix="destage-reproduce-") as folder:
        given = experiment or Experiment(jobs=jobs)
        yield replace(given, store=Path(folder) / "store")


def evaluate(
    paper: Paper,
    options: Options,
    *,
    experiment: Experiment | None = None,
    progress: ProgressCallback | None = None,
) -> Evaluation:
    """Run a paper's evaluation, in a store where `experiment` has one.

    Raises what runs raise, `DataError` for a wrong original, and `MissingRuns` where other shards
    have not done theirs.
    """
    with kept_in(experiment, options.jobs) as store:
        store = replace(store, progress=progress or store.progress)
        if options.auto_seeds:
            options = replace(options, seeds=_seeds_that_decide(paper, options, store))
        return _Evaluated(paper, options, store).all()


def _seeds_that_decide(paper: Paper, options: Options, store: Experiment) -> int:
    """The first of `SEED_STEPS` with which no claim is undecided, or the last."""
    main = replace(options, sensitivity=False)
    for seeds in SEED_STEPS[:-1]:
        found = _Evaluated(paper, replace(main, seeds=seeds), store).all()
        if not found.open():
            return seeds
    return SEED_STEPS[-1]


class _Evaluated:
    """An evaluation on its way."""

    def __init__(self, paper: Paper, options: Options, experiment: Experiment) -> None:
        self.paper, self.options = paper, options
        self.runner = Runner(
            paper, seeds=options.draws, experiment=experiment, progress=experiment.progress
        )
        self.scale = min(options.scale, paper.head.sensitivity_scale)
        self.loads = loads_of(options)
        self.main = {runs.id: Request(runs, self.loads) for runs in paper.runs}
        self.faithful: dict[str, Request] = {}
        self.knobs: list[_Knob] = []
        if options.sensitivity:
            alone = Loads(traces=options.traces, recorded=False, scale=options.scale)
            if paper.faithful is not None:
                self.faithful = {r.id: Request(r, alone, paper.faithful) for r in paper.runs}
            self.knobs = list(self._knobs())

    def _knobs(self) -> Iterator[_Knob]:
        """The sensitivity runs, on fewer requests and the seeds that `auto` begins with."""
        paper, only = self.paper, self.paper.head.sensitivity_loads
        shorter = Loads(
            traces=self.options.traces,
            recorded=False,
            scale=self.scale,
            specified=self.options.scale,
            shorten=paper.head.sensitivity_scale,
        )
        for knob in paper.sensitivity:
            named = [paper.claim(name) for name in knob.claims]
            needed = {name for claim in named for name in claim.check.needed_runs}
            compared = paper.compared(named)
            sets = [runs for runs in paper.runs if runs.id in needed]
            yield _Knob(
                knob,
                [
                    c
                    for c in paper.claims
                    if c in named
                    or (
                        c.check.runs
                        and set(c.check.needed_runs) <= needed
                        and paper.compared([c]) <= compared
                    )
                ],
                {
                    label: {
                        r.id: Request(r, shorter, variant, only, compared, SEED_STEPS[0])
                        for r in sets
                    }
                    for label, variant in knob.values.items()
                },
            )

    def all(self) -> Evaluation:
        paper = self.paper
        turned = [r for one in self.knobs for each in one.values.values() for r in each.values()]
        requests = dict.fromkeys([*self.main.values(), *self.faithful.values(), *turned])
        self.runner.check(list(self.main.values()))
        found = self.runner.rows(list(requests))
        sets = {name: found[request] for name, request in self.main.items()}
        failed = tuple(text for r, text in self.runner.failed if r in self.main.values())
        faithful = {name: found[request] for name, request in self.faithful.items()}
        return Evaluation(
            paper=paper,
            options=self.options,
            loads=tuple(
                {load.name: load for rows in sets.values() for load in rows.loads}.values()
            ),
            loading=self.loads,
            sets=sets,
            drawings=tuple(drawing(f, sets[f.runs], paper) for f in paper.figures),
            verdicts=tuple(decide(claim, sets) for claim in paper.claims),
            swings=tuple(one.swing(found) for one in self.knobs),
            faithful={c.id: decide(c, faithful) for c in paper.claims} if faithful else {},
            sensitivity_scale=self.scale,
            failed=failed,
        )


@dataclass
class _Knob:
    """A knob, the claims that its runs answer, and its runs by value and id."""

    knob: Sensitivity
    claims: list[Claim]
    values: dict[str, dict[str, Request]]

    def swing(self, found: Mapping[Request, Rows]) -> Swing:
        verdicts: dict[str, dict[str, Verdict]] = {c.id: {} for c in self.claims}
        for label, requests in self.values.items():
            sets = {name: found[request] for name, request in requests.items()}
            for claim in self.claims:
                verdicts[claim.id][label] = decide(claim, sets)
        named = {name: verdicts[name] for name in self.knob.claims}
        turned = {
            name: by_value
            for name, by_value in verdicts.items()
            if len({v.verdict for v in by_value.values()}) > 1
        }
        return Swing(self.knob, named | turned)


def loads_of(options: Options) -> Loads:
    """Return the workloads of the main runs."""
    return Loads(traces=options.traces, recordings=options.recordings, scale=options.scale)


def check_originals(
    papers: Sequence[Paper], options: Options, *, progress: ProgressCallback | None = None
) -> None:
    """Check the originals of several papers before the first of them runs.

    Raises `DataError` if a file is damaged or differs from its name.
    """
    loads = loads_of(options)
    for paper in papers:
        requests = [Request(runs, loads) for runs in paper.runs]
        Runner(paper, seeds=(), experiment=Experiment(), progress=progress).check(requests)
