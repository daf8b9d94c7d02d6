"""The runs that advice stands on: the grid, what deployed systems come near to, other seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from destage.base.errors import UsageError
from destage.experiment.experiment import Experiment
from destage.experiment.result_sets import together
from destage.experiment.results import Results
from destage.experiment.task import Task
from destage.experiment.warmup import AUTO, measured_alike
from destage.lab.options import options_json
from destage.lab.policy_base import OwnPolicy, PolicyLike, Spec, policy_specs, spec_label
from destage.lab.ssd import Device, restored
from destage.lab.traces import Trace
from destage.model.advice import Choice, Setting
from destage.model.deployed import WRITER, System, systems
from destage.model.goals import Goal
from destage.model.metrics import BASELINE
from destage.model.run import Run
from destage.model.words import plain
from destage.model.words import size as size_text
from destage.questions.advice.asking import like
from destage.questions.runs import Interrupted, compare

__all__ = [
    "ALIKE",
    "EXACTLY",
    "FINALISTS",
    "Pool",
    "Runner",
    "Stopped",
    "finalists_of",
    "seeds_of",
    "settings",
]

#: Page accesses with a device, over all runs, up to which every candidate runs at every size.
EXACTLY = 100_000_000
#: Candidates that do where that would be more.
FINALISTS = 4
#: Sizes at which all of them run then.
SCREENED_SIZES = 3
#: Up to this ratio the advised size stands for the size that a product rounds up to.
ALIKE = 1.05

#: What a ring of reads says anything about.
_OF_READS = frozenset({"read_hit_ratio"})


class Stopped(Exception):
    """Ctrl-C: no further run is done."""


@dataclass
class Runner:
    """One trace, one device, and how it is all run."""

    trace: Trace
    drive: Device | None
    options: dict[str, Any]
    experiment: Experiment
    pe_cycles: int | None
    count: int = 0
    """Runs that were done."""
    interrupted: bool = False
    """Ctrl-C came: what has run is all that there will be."""
    below: str = field(default="", init=False)
    """The flash tier below every cache, as the end of a label has it: `over lru 30%`."""
    _writing: Device | str | None = field(default=None, init=False)

    def measure_from(self, specs: Sequence[Spec], frames: Sequence[int]) -> bool:
        """Measure every run that follows from the same request; whether a warm-up is before it."""
        sizes = json.dumps([f"{one}p" for one in frames])
        asked = options_json("compare", self.options)
        (task,) = measured_alike([Task.of(self.trace, self.drive, specs, sizes, asked)])
        warmup = json.loads(task.options).get("warmup")
        self.options["warmup"] = warmup
        if isinstance(warmup, dict):
            return bool(warmup[AUTO]["requests"])
        return warmup not in (None, "none", "0")

    def runs(
        self, specs: Sequence[Spec], frames: Sequence[int], drive: Device | None = None
    ) -> Results:
        """The runs of policies at sizes, in front of the device or another one."""
        return self.compared([like(s) for s in specs], [f"{one}p" for one in frames], drive)

    def compared(
        self,
        policies: str | PolicyLike | Sequence[PolicyLike],
        cache: Sequence[str],
        drive: Device | None = None,
        tier: Mapping[str, Any] = MappingProxyType({}),
    ) -> Results:
        """The runs of policies at sizes, above a flash tier if one is given.

        Ctrl-C ends them: what had ended is returned, and `interrupted` is set. Raises `Stopped`
        where nothing had, or from then on.
        """
        if self.interrupted:
            raise Stopped
        try:
            found = compare(
                self.trace,
                policies,
                cache=list(cache),
                device=self.drive if drive is None else drive,
                store=self.experiment,
                **self.options,
                **tier,
            )
        except Interrupted as e:
            self.interrupted = True
            if not isinstance(e.results, Results) or not e.results:
                raise Stopped from e
            found = e.results
        self.count += len(found)
        return found

    def named(self, label: str, specs: Sequence[Spec]) -> str:
        """The name of a run's policy. All are above one flash tier, which their names leave out."""
        if self.options.get("tier2"):
            for name in map(spec_label, specs):
                if label.startswith(f"{name} over "):
                    self.below = label.removeprefix(f"{name} ")
                    return name
        return label

    def queues(self, frames: Sequence[int]) -> bool:
        """Whether the trace's times build up a queue in front of the device, behind lru.

        At the smallest of some sizes, or the largest. Ctrl-C is left to the next runs.
        """
        if self.drive is None or self.drive.queue_depth is not None:
            return False
        try:
            found = self.runs(policy_specs(BASELINE), sorted({min(frames), max(frames)}))
        except Stopped:
            return False
        return any(run.queue_grows for run in found)

    @property
    def writing(self) -> Device | str:
        """The device with a background writer, or why there is none."""
        if self._writing is None and self.options.get("tier2"):
            self._writing = "a background writer is above a device, not above a flash tier"
        elif self._writing is None:
            self._writing = _with_writer(self.drive)
        return self._writing


@dataclass
class Pool:
    """Every run so far. Runs are added one set after another, and compared as one result."""

    runner: Runner
    sets: list[dict[str, Any]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    done: set[tuple[str, int]] = field(default_factory=set)
    _joined: tuple[int, Results] | None = field(default=None, init=False)

    def run(self, specs: Sequence[Spec], frames: Sequence[int], *, writer: bool = False) -> None:
        """Add the runs that are not there, with the background writer or without.

        Those that Ctrl-C ends are left out. Raises `UsageError` for what cannot be run.
        """
        mark = WRITER if writer else ""
        drive = self.runner.writing if writer else None
        if isinstance(drive, str):
            raise UsageError(drive)
        wanted: dict[tuple[int, ...], list[Spec]] = {}
        for spec in specs:
            label = spec_label(spec) + mark
            sizes = tuple(one for one in frames if (label, one) not in self.done)
            if sizes:
                wanted.setdefault(sizes, []).append(spec)
        for sizes, some in wanted.items():
            try:
                found = self.runner.runs(some, sizes, drive)
            except Stopped:
                return
            self.sets.append(dict(found.sets[0]))
            names = [self.runner.named(run.label, some) + mark for run in found]
            self.labels += names
            self.done |= {(name, run.frames) for name, run in zip(names, found, strict=True)}

    @property
    def results(self) -> Results:
        """All of them as one result, in the order in which they were asked for."""
        if self._joined is None or self._joined[0] != len(self.sets):
            self._joined = (len(self.sets), self._together())
        return self._joined[1]

    def _together(self) -> Results:
        whole = together(self.sets)
        for run, label in zip(whole["runs"], self.labels, strict=True):
            run["label"] = label
        results = Results([whole])
        cycles = self.runner.pe_cycles
        return results if cycles is None else results.enduring(cycles)


def finalists_of(
    pool: Pool,
    specs: Sequence[Spec],
    frames: Sequence[int],
    goals: Sequence[Goal],
    most: int | None,
) -> tuple[list[Spec], list[str]]:
    """The candidates that run at every size, and the labels of the others.

    All, unless that takes too long or `most` says how many. Then all of them run at a few sizes, in
    front of the device and over the whole trace; those stay that are most often among the first in
    an objective.
    """
    runner = pool.runner
    work = len(specs) * len(frames) * runner.trace.accesses
    if runner.drive is None or (most is None and work <= EXACTLY):
        return list(specs), []
    most = FINALISTS if most is None else most
    if len(specs) <= most or len(frames) <= 1:
        return list(specs), []
    count = min(SCREENED_SIZES, len(frames))
    few = [frames[(2 * k + 1) * len(frames) // (2 * count)] for k in range(count)]
    pool.run(specs, few)
    places: dict[str, int] = {spec_label(spec): 0 for spec in specs}
    for size in few:
        here = [run for run in pool.results if run.frames == size and run.label in places]
        for goal in goals:
            judged = [(run, j) for run in here if (j := goal.judged(run)) is not None]
            judged.sort(key=lambda pair: pair[1], reverse=goal.largest)
            for place, (run, _) in enumerate(judged):
                places[run.label] += max(0, most - place)
    # Stable: of equals those that were named first.
    best = sorted(places, key=lambda label: -places[label])[:most]
    kept = [spec for spec in specs if spec_label(spec) in best]
    return kept, [label for label in places if label not in best]


def settings(
    pool: Pool,
    choices: Sequence[Choice],
    advised: Run,
    within: float,
    most: int | None,
    now: Mapping[str, int],
) -> tuple[Setting, ...]:
    """Settings of each deployed system, and how far its nearest policy is from the best.

    With a budget of `most` bytes, systems without a setting within it are left out. Runs that this
    takes are added to the pool.
    """
    trace, why = pool.runner.trace, {}
    sizes = {}
    for system in systems():
        least = system.smallest(now)
        if most is not None and least > most:
            said = [plain(size_text(count)) for count in (least, most)]
            why[system] = f"its smallest setting ({said[0]}) is above the budget of {said[1]}"
            sizes[system] = (least, 0)
            continue
        room = system.room(advised.cache_bytes, most, now)
        frames = max(1, min(room // trace.page_bytes, trace.unique_pages))
        # A cache of the next unit would lack some pages to be full when measurement begins.
        frames = advised.frames if frames <= ALIKE * advised.frames else frames
        sizes[system] = (room, frames)
        try:
            pool.run(policy_specs(system.policy), [frames], writer=system.writer)
        except UsageError as e:
            why[system] = str(e)
    known = {(run.label, run.frames): run for run in pool.results}
    found = []
    for system, (room, frames) in sizes.items():
        made = known.get((system.label, frames)) or why.get(system, "the advice was interrupted")
        found.append(_setting(system, made, room, list(known.values()), choices, advised, within))
    return tuple(found)


def _with_writer(drive: Device | None) -> Device | str:
    """The device with a background writer, or why there is none."""
    if drive is None:
        return "a background writer needs a device (--device)"
    record = json.loads(json.dumps(drive.record))
    record["host"]["writer"] = "trickle"
    try:
        return restored(json.dumps(record))
    except UsageError as e:
        return str(e)


def _setting(
    system: System,
    made: Run | str,
    room: int,
    known: Sequence[Run],
    choices: Sequence[Choice],
    advised: Run,
    within: float,
) -> Setting:
    nothing = (None,) * len(choices)
    if isinstance(made, str):
        none = (False,) * len(choices)
        return Setting(system, None, made, room, nothing, nothing, none, nothing)
    values, worse, significant, near = [], [], [], []
    same = [run for run in known if run.label == system.label]
    for choice in choices:
        goal = choice.goal
        means = not system.reads_only or goal.column in _OF_READS
        value = goal.judged(made) if means else None
        values.append(value)
        worse.append(None if value is None else goal.worse_by(value, choice.best_value))
        significant.append(value is not None and goal.is_significant(made, choice.best))
        near.append(_smallest(same, choice, within) if means else None)
    return Setting(
        *(system, made, "", room),
        *(tuple(values), tuple(worse), tuple(significant), tuple(near)),
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
    by_label = {spec_label(spec) + mark: spec for spec in specs for mark in ("", WRITER)}
    mine, theirs = (by_label[run.label] for run in pair)
    drawing = [r.label for r, s in zip(pair, (mine, theirs), strict=True) if _draws(r, s)]
    drive = runner.drive
    filled = drive is not None and drive.record["device"]["precondition"] in ("random", "steady")
    what = " and ".join([*drawing, *(["the preconditioning"] if filled else [])])
    if count < 2 or not what or runner.interrupted:
        return what, ()
    values = [(goal.judged(pair[0]), goal.judged(pair[1]))]
    for k in range(1, count):
        numbers = []
        for spec, run in zip((mine, theirs), pair, strict=True):
            writing = run.label.endswith(WRITER)
            base = runner.writing if writing else drive
            other = _reseeded(base, k) if filled and isinstance(base, Device) else None
            if writing and other is None and isinstance(base, Device):
                other = base
            try:
                found = runner.runs([_seeded(spec, run, k)], [run.frames], other)
            except Stopped:
                return what, ()
            numbers.append(goal.judged(found[0]))
        values.append((numbers[0], numbers[1]))
    return what, tuple(values)


def _draws(run: Run, spec: Spec) -> bool:
    return "seed" in run.params and not isinstance(spec, OwnPolicy)


def _seeded(spec: Spec, run: Run, k: int) -> Spec:
    if not _draws(run, spec) or isinstance(spec, OwnPolicy):
        return spec
    name, given = spec
    params = {**json.loads(given), "seed": int(run.params["seed"]) + k}
    return policy_specs([(name, params)])[0]


def _reseeded(drive: Device, k: int) -> Device:
    record = json.loads(json.dumps(drive.record))
    record["device"]["precondition_seed"] += k
    return restored(json.dumps(record))
