"""Estimate of a sweep's processor time, wall time and memory: `destage sweep --dry-run`.

Traces are decoded and SSDs prepared here, which is kept for the sweep and measured. Each policy is
run over two beginnings of each trace: the difference is its time for an access, the rest what every
run takes, such as its copy of the SSD. Memory follows from pages and frames.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from destage.base.memory import memory_text
from destage.experiment.experiment import shard_of
from destage.experiment.memory import memory_of
from destage.experiment.plan import planned
from destage.experiment.recipes import TraceRecipe
from destage.experiment.schedule import finished
from destage.experiment.spec import load_spec
from destage.experiment.sweep import SpecLike
from destage.experiment.task import Entry, Task
from destage.lab.options import ProgressCallback, thread_count
from destage.lab.traces import opened_again
from destage.model.provenance import document
from destage.model.words import counted, duration, number, size
from destage.show.tables.frames import Tabled, by_column
from destage.show.tables.table import Cell, Column, Table

__all__ = ["SweepEstimate", "TaskEstimate", "estimate"]

#: Requests of the two samples of a trace.
SAMPLES = (10_000, 40_000)
#: Processor time of samples after which other traces of the same policy and SSD lend theirs, s.
BUDGET_S = 20.0
#: Seconds for an access of a policy in Python that is not run: about as long as a plain one takes.
OWN_SECONDS = 2e-6


@dataclass(frozen=True)
class TaskEstimate:
    """A task, with its estimated time and memory."""

    trace: str
    device: str | None
    seed: int | None
    policies: tuple[str, ...]
    runs: int
    accesses: int
    """Page accesses of one run."""
    memory: int
    """Bytes, in one thread."""
    seconds: float
    """Processor time."""
    longest: float
    """Processor time of its longest run, seconds."""


@dataclass(frozen=True, repr=False)
class SweepEstimate(Tabled):
    """A sweep, with its estimated runs, time and memory."""

    tasks: tuple[TaskEstimate, ...]
    jobs: int
    memory: int
    """Bytes that tasks may take together."""
    opening: float
    """Processor time of decoding traces and preparing SSDs, seconds; both are kept."""
    warnings: tuple[str, ...] = ()
    """Doubts about the traces, each once."""

    @property
    def runs(self) -> int:
        """Runs in all."""
        return sum(task.runs for task in self.tasks)

    @property
    def processor_seconds(self) -> float:
        """Processor time of all runs; decoding and preparing (`opening`) come on top."""
        return sum(task.seconds for task in self.tasks)

    @property
    def seconds(self) -> float:
        """Wall time of all runs with so many jobs on cores of their own."""
        longest = max((task.longest for task in self.tasks), default=0.0)
        return max(self.processor_seconds / self.jobs, longest)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row a task."""
        return [
            {
                "trace": task.trace,
                "device": task.device,
                "seed": task.seed,
                "policies": ", ".join(task.policies),
                "runs": task.runs,
                "accesses": task.accesses,
                "memory_bytes": task.memory,
                "seconds": task.seconds,
            }
            for task in self.tasks
        ]

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return by_column(self.to_dicts())

    def _everything(self) -> Any:
        content = {
            "runs": self.runs,
            "seconds": self.seconds,
            "processor_seconds": self.processor_seconds,
            "opening_seconds": self.opening,
            "tasks": self.to_dicts(),
        }
        return document("plan", content)

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.sweep": json.dumps({"runs": self.runs, "jobs": self.jobs})}

    def as_table(self) -> Table:
        """Return the table that the command line prints."""
        return _table(self)


def estimate(
    spec: SpecLike,
    *,
    shard: str | tuple[int, int] | None = None,
    jobs: int | None = None,
    memory: str | None = None,
    allow_code: bool = False,
    progress: ProgressCallback | None = None,
) -> SweepEstimate:
    """Count the runs of a sweep, and estimate their time and memory.

    Parameters and errors as in `sweep`; only decoded traces and filled devices are kept. A policy
    in a file that only SPEC names is not run, and its time is a guess.
    """
    part, threads, budget = shard_of(shard), thread_count(jobs), memory_text(memory)
    began = time.process_time()
    plan = planned(load_spec(spec), progress, allow_code=allow_code, dry_run=True)
    tasks = plan.tasks if part is None else plan.shard(*part)
    for record in dict.fromkeys(task.drive for task in tasks if task.drive is not None):
        record.open().fill(progress)
    opening = time.process_time() - began
    samples = _Samples()
    tasks_estimated = tuple(map(samples.estimate, tasks))
    return SweepEstimate(tasks_estimated, threads, budget, opening, plan.warnings)


@dataclass(frozen=True)
class _Cost:
    """Processor time of a run: `start` and so much for each access, seconds."""

    start: float
    access: float

    def of(self, accesses: int) -> float:
        return self.start + self.access * accesses


class _Samples:
    """Short runs, measured once for each policy, SSD and trace."""

    def __init__(self) -> None:
        self.costs: dict[tuple[str, ...], _Cost] = {}
        self.beginnings: dict[tuple[str, int], TraceRecipe] = {}
        self.spent = 0.0

    def estimate(self, task: Task) -> TaskEstimate:
        accesses = task.trace.accesses
        runs = [(self._cost(task, e).of(accesses), len(e.sizes)) for e in task.entries]
        return TaskEstimate(
            trace=task.trace_name,
            device=task.device,
            seed=task.seed,
            policies=tuple(entry.policy.label for entry in task.entries),
            runs=task.runs,
            accesses=accesses,
            memory=memory_of(task),
            seconds=sum(seconds * count for seconds, count in runs),
            longest=max(seconds for seconds, _ in runs),
        )

    def _cost(self, task: Task, entry: Entry) -> _Cost:
        if not entry.policy.may_run:
            return _Cost(0.0, OWN_SECONDS)
        drive = "" if task.drive is None else task.drive.record
        kind = (entry.policy.label, drive, task.options)
        # Seeds of a workload are alike.
        trace = task.trace_name if task.seed is not None else task.trace.identity
        found = self.costs.get((*kind, trace))
        if found is None and self.spent > BUDGET_S:
            found = self.costs.get(kind)
        if found is None:
            before = time.process_time()
            found = self._measured(task, entry)
            self.spent += time.process_time() - before
        self.costs[*kind, trace] = self.costs[kind] = found
        return found

    def _measured(self, task: Task, entry: Entry) -> _Cost:
        seconds, accesses = [], []
        for requests in SAMPLES:
            sample = self._beginning(task.trace, requests)
            middle = entry.sizes[len(entry.sizes) // 2]
            whole = max(1, task.trace.unique_pages)
            frames = max(1, middle.frames * sample.unique_pages // whole)
            alone = Entry(entry.policy, (replace(middle, frames=frames),))
            began = time.process_time()
            finished(replace(task, trace=sample, entries=(alone,)))
            seconds.append(time.process_time() - began)
            accesses.append(max(1, sample.accesses))
        more = accesses[1] - accesses[0]
        access = max(0.0, seconds[1] - seconds[0]) / more if more else seconds[1] / accesses[1]
        # A sample has few accesses: its start is no more than the shorter one took.
        return _Cost(max(0.0, seconds[1] - access * accesses[1]), access)

    def _beginning(self, trace: TraceRecipe, requests: int) -> TraceRecipe:
        key = (trace.identity, requests)
        if key not in self.beginnings:
            self.beginnings[key] = _beginning(trace, requests)
        return self.beginnings[key]


def _beginning(recipe: TraceRecipe, requests: int) -> TraceRecipe:
    """The first requests of a trace as a trace of its own."""
    known = recipe.known
    if int(known["requests"]) <= requests:
        return recipe
    options = json.loads(json.dumps(known["options"]))
    if "synth" in options:
        options["synth"]["requests"] = requests
    else:
        options["reader"]["requests"] = requests
    opened = opened_again({**known, "options": options}, [Path(p) for p in recipe.paths])
    return TraceRecipe.of(opened)


def _table(told: SweepEstimate) -> Table:
    several = len({task.seed for task in told.tasks}) > 1
    drives = any(task.device for task in told.tasks)
    columns = [Column("trace", right=False, key=True)]
    columns += [Column("device", right=False)] if drives else []
    columns += [Column("seed")] if several else []
    columns += [Column("policies", right=False), Column("runs"), Column("accesses")]
    columns += [Column("memory"), Column("processor time")]
    rows = []
    for task in told.tasks:
        names = list(task.policies[:3]) + (["..."] if len(task.policies) > 3 else [])
        texts = [task.trace, *([task.device or "none"] if drives else [])]
        texts += [str(task.seed)] if several else []
        texts += [", ".join(names), number(task.runs), number(task.accesses)]
        texts += [size(task.memory), _time(task.seconds)]
        rows.append([Cell(text) for text in texts])
    largest = max((task.memory for task in told.tasks), default=0)
    notes = [
        f"{counted(told.runs, 'run')} in {counted(len(told.tasks), 'task')}:"
        f" about {_time(told.processor_seconds)} of processor time,"
        f" {_time(told.seconds)} on {counted(told.jobs, 'core')}",
        f"decoding traces and preparing SSDs took {_time(told.opening)} of processor time;"
        " the sweep reuses both",
        f"a task takes up to {size(largest)} of memory, all together at most {size(told.memory)}",
    ]
    return Table("", columns, [rows], notes)


def _time(seconds: float) -> str:
    """A guess has two digits at best."""
    return duration(float(f"{seconds * 1e9:.2g}"))
