"""What a sweep will take, before it runs: `destage sweep --dry-run`.

Each policy is run once, over the beginning of a trace, and its time for an access is taken for all
of its runs; the drives are filled, which is kept. Memory follows from pages and frames.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from destage.experiment.execute import execute
from destage.experiment.experiment import shard_of
from destage.experiment.memory import memory_of, memory_text
from destage.experiment.plan import planned
from destage.experiment.recipes import TraceRecipe
from destage.experiment.spec import load_spec
from destage.experiment.sweep import SpecLike
from destage.experiment.task import Entry, Task
from destage.model.words import counted, duration, number, size
from destage.options import ProgressCallback, thread_count
from destage.tables.frames import Tabled, by_column
from destage.tables.table import Cell, Column, Table
from destage.trace import opened_again

__all__ = ["SweepEstimate", "TaskEstimate", "estimate"]

#: Requests of a sample: long enough that a clock tells it, and over at once.
SAMPLE = 20_000
#: Seconds for an access of a policy in Python that is not run: about as long as a plain one takes.
OWN_SECONDS = 2e-6


@dataclass(frozen=True)
class TaskEstimate:
    """A task, and what it will take."""

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
    """On one core."""


@dataclass(frozen=True, repr=False)
class SweepEstimate(Tabled):
    """A sweep, and what it will take."""

    tasks: tuple[TaskEstimate, ...]
    jobs: int
    memory: int
    """Bytes that tasks may take together."""
    filling: float
    """Seconds that filling the drives took, once."""

    @property
    def runs(self) -> int:
        """Runs in all."""
        return sum(task.runs for task in self.tasks)

    @property
    def seconds(self) -> float:
        """With so many jobs, one task each."""
        alone = max((task.seconds / self.jobs for task in self.tasks), default=0.0)
        return max(sum(task.seconds for task in self.tasks) / self.jobs, alone)

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
        return {"runs": self.runs, "seconds": self.seconds, "tasks": self.to_dicts()}

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
    """Count the runs of a sweep, and say how long they take and how much memory.

    Parameters and errors as in `sweep`; nothing is kept but decoded traces and filled drives. A
    policy in a file that only SPEC names is not run: its time is a guess.
    """
    part, threads, budget = shard_of(shard), thread_count(jobs), memory_text(memory)
    plan = planned(load_spec(spec), progress, allow_code=allow_code, dry_run=True)
    tasks = plan.tasks if part is None else plan.shard(*part)
    began = time.monotonic()
    for record in dict.fromkeys(task.drive for task in tasks if task.drive is not None):
        record.open().fill(progress)
    filling = time.monotonic() - began
    rates = _rates(tasks)
    told = [
        TaskEstimate(
            trace=task.trace_name,
            device=task.device,
            seed=task.seed,
            policies=tuple(entry.policy.label for entry in task.entries),
            runs=task.runs,
            accesses=task.trace.accesses,
            memory=memory_of(task),
            seconds=sum(
                rates[_kind(task, entry)] * task.trace.accesses * len(entry.sizes)
                for entry in task.entries
            ),
        )
        for task in tasks
    ]
    return SweepEstimate(tuple(told), threads, budget, filling)


def _kind(task: Task, entry: Entry) -> tuple[str, str]:
    """Runs of one kind take the same time for an access, about."""
    return entry.policy.label, task.device or ""


def _rates(tasks: Sequence[Task]) -> dict[tuple[str, str], float]:
    """Seconds for an access, of each kind of run."""
    rates: dict[tuple[str, str], float] = {}
    beginnings: dict[str, TraceRecipe] = {}
    for task in tasks:
        for entry in task.entries:
            kind = _kind(task, entry)
            if kind in rates:
                continue
            if not entry.policy.may_run:
                rates[kind] = OWN_SECONDS
                continue
            whole = task.trace
            if whole.identity not in beginnings:
                beginnings[whole.identity] = _beginning(whole)
            sample = beginnings[whole.identity]
            middle = entry.sizes[len(entry.sizes) // 2]
            frames = max(1, middle.frames * sample.unique_pages // max(1, whole.unique_pages))
            alone = Entry(entry.policy, (replace(middle, frames=frames),))
            began = time.monotonic()
            execute(replace(task, trace=sample, entries=(alone,)))
            rates[kind] = (time.monotonic() - began) / max(1, sample.accesses)
    return rates


def _beginning(recipe: TraceRecipe) -> TraceRecipe:
    """The first requests of a trace as a trace of its own."""
    known = recipe.known
    if int(known["requests"]) <= SAMPLE:
        return recipe
    options = json.loads(json.dumps(known["options"]))
    if "synth" in options:
        options["synth"]["requests"] = SAMPLE
    else:
        options["reader"]["requests"] = SAMPLE
    opened = opened_again({**known, "options": options}, [Path(p) for p in recipe.paths])
    return TraceRecipe.of(opened)


def _table(told: SweepEstimate) -> Table:
    several = len({task.seed for task in told.tasks}) > 1
    drives = any(task.device for task in told.tasks)
    columns = [Column("trace", right=False, key=True)]
    columns += [Column("drive", right=False)] if drives else []
    columns += [Column("seed")] if several else []
    columns += [Column("policies", right=False), Column("runs"), Column("accesses")]
    columns += [Column("memory"), Column("time")]
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
        f" about {_time(told.seconds)} on {counted(told.jobs, 'core')}",
        f"a task takes up to {size(largest)} of memory, all together at most {size(told.memory)}",
    ]
    return Table("", columns, [rows], notes)


def _time(seconds: float) -> str:
    """A guess has two digits at best."""
    return duration(float(f"{seconds * 1e9:.2g}"))
