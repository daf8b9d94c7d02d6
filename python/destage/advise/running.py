"""The runs that advice stands on: the grid, what deployed systems come near to, other seeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from destage.advise.asking import like, looks_at_the_drive
from destage.device import Drive, restored
from destage.errors import UsageError
from destage.experiment.experiment import Experiment
from destage.model.advice import Choice, Setting
from destage.model.deployed import System, systems
from destage.model.goals import Goal
from destage.model.metrics import WRITES
from destage.model.run import Run
from destage.policy import OwnPolicy, Spec, policy_specs, spec_label
from destage.results import Results, together
from destage.runs import compare
from destage.trace import Trace

__all__ = ["EXACTLY", "FINALISTS", "Runner", "screened", "seeds_of", "settings"]

#: Page accesses in front of a drive, over all runs, up to which every candidate runs there.
EXACTLY = 100_000_000
#: Candidates that run in front of it where that would be more.
FINALISTS = 4

#: What a ring of reads says anything about.
_OF_READS = frozenset({"read_hit_ratio"})


@dataclass
class Runner:
    """One trace, one drive, and how it is all run."""

    trace: Trace
    drive: Drive | None
    options: dict[str, Any]
    experiment: Experiment
    pe_cycles: int | None
    count: int = 0
    """Runs that were done."""

    def runs(
        self, specs: Sequence[Spec], frames: Sequence[int], drive: Drive | None = None
    ) -> Results:
        """The runs of policies at sizes, in front of the drive or another one."""
        results = self._compared(specs, frames, self.drive if drive is None else drive)
        return results if self.pe_cycles is None else results.enduring(self.pe_cycles)

    def joined(self, known: Results, specs: Sequence[Spec], frames: Sequence[int]) -> Results:
        """The runs that are there with those of the same policies at more sizes, as one result."""
        more = self.runs(specs, frames)
        place = {spec_label(spec): k for k, spec in enumerate(specs)}
        sets = (known.sets[0], more.sets[0])
        joined = Results([together(sets, lambda r: (place[r["label"]], r["config"]["frames"]))])
        return joined if self.pe_cycles is None else joined.enduring(self.pe_cycles)

    def without(self, specs: Sequence[Spec], frames: Sequence[int]) -> Results:
        """The same without any drive."""
        return self._compared(specs, frames, None)

    def _compared(
        self, specs: Sequence[Spec], frames: Sequence[int], drive: Drive | None
    ) -> Results:
        found = compare(
            self.trace,
            [like(spec) for spec in specs],
            cache=[f"{one}p" for one in frames],
            device=drive,
            store=self.experiment,
            **self.options,
        )
        self.count += len(found)
        return found


def screened(
    runner: Runner, specs: Sequence[Spec], frames: Sequence[int], finalists: int | None
) -> tuple[list[Spec], list[str]]:
    """The candidates that run in front of the drive, and the labels of those that do not.

    All, unless that takes too long or `finalists` says how many. Then they run without the drive
    first; those stay that are most often among the first in hits, or in flash writes, and those
    that look at the drive, of which nothing is known without it.
    """
    work = len(specs) * len(frames) * runner.trace.accesses
    if runner.drive is None or (finalists is None and work <= EXACTLY):
        return list(specs), []
    most = FINALISTS if finalists is None else finalists
    blind = [spec for spec in specs if not looks_at_the_drive(spec)]
    if len(blind) <= most:
        return list(specs), []
    found = runner.without(blind, frames)
    places: dict[str, int] = {spec_label(spec): 0 for spec in blind}
    for size in sorted({run.frames for run in found}):
        here = [run for run in found if run.frames == size]
        for name, sign in (("hit_ratio", -1), (WRITES, 1)):
            order = sorted(here, key=lambda run: sign * float(run[name] or 0))
            for place, run in enumerate(order):
                places[run.label] += max(0, most - place)
    # Stable: of equals those that were named first.
    best = sorted(places, key=lambda label: -places[label])[:most]
    kept = [s for s in specs if looks_at_the_drive(s) or spec_label(s) in best]
    return kept, [label for label in places if label not in best]


def settings(
    runner: Runner, known: Sequence[Run], choices: Sequence[Choice], advised: Run, within: float
) -> tuple[Setting, ...]:
    """Settings for each deployed system, and the distance of its nearest policy from the best."""
    made: dict[tuple[str, int, bool], Run | str] = {
        (run.label, run.frames, False): run for run in known
    }
    writing: Drive | str | None = None
    found = []
    for system in systems():
        page = runner.trace.page_bytes
        size = system.room(advised.cache_bytes)
        frames = max(1, min(size // page, runner.trace.unique_pages))
        key = (system.policy, frames, system.writer)
        if key not in made:
            if system.writer and writing is None:
                writing = _with_writer(runner.drive)
            drive = writing if system.writer else None
            made[key] = drive if isinstance(drive, str) else _ran(runner, system, frames, drive)
        found.append(_setting(system, made[key], size, known, choices, advised, within))
    return tuple(found)


def _with_writer(drive: Drive | None) -> Drive | str:
    """The drive with a background writer, or why there is none."""
    if drive is None:
        return "writing ahead shows only in front of a drive (--device)"
    record = json.loads(json.dumps(drive.record))
    record["host"]["writer"] = "trickle"
    try:
        return restored(json.dumps(record))
    except UsageError as e:
        return str(e)


def _ran(runner: Runner, system: System, frames: int, drive: Drive | None) -> Run | str:
    try:
        return runner.runs(policy_specs(system.policy), [frames], drive)[0]
    except UsageError as e:
        return str(e)


def _setting(
    system: System,
    made: Run | str,
    size: int,
    known: Sequence[Run],
    choices: Sequence[Choice],
    advised: Run,
    within: float,
) -> Setting:
    typed = system.typed(advised.cache_bytes)
    nothing = (None,) * len(choices)
    if isinstance(made, str):
        untold = (False,) * len(choices)
        return Setting(system, None, made, typed, size, nothing, nothing, untold, nothing)
    values, worse, told, near = [], [], [], []
    same = [run for run in known if run.label == system.policy and not system.writer]
    for choice in choices:
        goal = choice.goal
        means = not system.reads_only or goal.column in _OF_READS
        value = goal.value(made) if means else None
        values.append(value)
        worse.append(None if value is None else goal.worse_by(value, choice.best_value))
        told.append(value is not None and goal.told(made, choice.best))
        near.append(_smallest(same, choice, within) if means else None)
    return Setting(
        *(system, made, "", typed, size),
        *(tuple(values), tuple(worse), tuple(told), tuple(near)),
    )


def _smallest(runs: Sequence[Run], choice: Choice, within: float) -> Run | None:
    """The smallest of some runs that is within the share of the best."""
    goal = choice.goal
    top = goal.judged(choice.best)
    assert top is not None
    near = [r for r in runs if (j := goal.judged(r)) is not None and goal.near(j, top, within)]
    return min(near, key=lambda run: run.frames, default=None)


def seeds_of(
    runner: Runner, specs: Sequence[Spec], pair: tuple[Run, Run], goal: Goal, count: int
) -> tuple[str, tuple[tuple[float | None, float | None], ...]]:
    """The number of two runs under so many seeds, and what those are of; nothing if none draws."""
    by_label = {spec_label(spec): spec for spec in specs}
    mine, theirs = (by_label[run.label] for run in pair)
    drawing = [r.label for r, s in zip(pair, (mine, theirs), strict=True) if _draws(r, s)]
    drive = runner.drive
    filled = drive is not None and drive.record["device"]["precondition"] == "random"
    what = " and ".join([*drawing, *(["the writes that filled the drive"] if filled else [])])
    if count < 2 or not what:
        return what, ()
    values = [(goal.value(pair[0]), goal.value(pair[1]))]
    for k in range(1, count):
        other = _reseeded(drive, k) if filled and drive is not None else None
        both = [_seeded(s, r, k) for s, r in zip((mine, theirs), pair, strict=True)]
        runs = runner.runs(both, [pair[0].frames], other)
        values.append((goal.value(runs[0]), goal.value(runs[1])))
    return what, tuple(values)


def _draws(run: Run, spec: Spec) -> bool:
    return "seed" in run.params and not isinstance(spec, OwnPolicy)


def _seeded(spec: Spec, run: Run, k: int) -> Spec:
    if not _draws(run, spec) or isinstance(spec, OwnPolicy):
        return spec
    name, given = spec
    params = {**json.loads(given), "seed": int(run.params["seed"]) + k}
    return policy_specs([(name, params)])[0]


def _reseeded(drive: Drive, k: int) -> Drive:
    record = json.loads(json.dumps(drive.record))
    record["device"]["precondition_seed"] += k
    return restored(json.dumps(record))
