"""Tasks: units of work, their runs, and the identity of each run.

A task is one trace, in front of one device or none, some policies, their sizes: the trace is opened
once, the device filled once, and the engine has all of it in one call. What a store keeps is cut so
that a piece takes some ten seconds; where the cuts are follows from the task alone, so that shards
on other machines come to the same pieces.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from destage import _destage
from destage.experiment.policies import PolicyAsked
from destage.experiment.recipes import DriveRecipe, TraceRecipe
from destage.lab.options import ProgressCallback
from destage.lab.policy_base import Spec
from destage.lab.ssd import Device
from destage.lab.traces import Trace
from destage.model.metrics import NO_CACHE

__all__ = [
    "SEMANTICS",
    "Entry",
    "Key",
    "Plan",
    "Question",
    "Size",
    "Task",
    "given_options",
    "sizes_of",
]

#: Raised when the same run gives other numbers than before (CHANGELOG: Results change): ids are
#: then others, and a store is filled again.
SEMANTICS = 1

#: Most runs of a piece, and most page accesses that they replay: some ten seconds on one core.
MOST_RUNS = 64
MOST_ACCESSES = 200_000_000
#: In front of a device an access costs some ten times as much, and a policy in Python a hundred.
DRIVE_COSTS, OWN_COSTS = 10, 200

#: A run as a store knows it: its id, and what it was called when it was asked for.
Key = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Size:
    """A cache size."""

    frames: int
    given: str

    @property
    def row(self) -> dict[str, Any]:
        """Its columns; a run without a cache has no size."""
        return {"cache": self.given, "frames": None if self.given == NO_CACHE else self.frames}


def sizes_of(policy: str, sizes: Sequence[Size]) -> tuple[Size, ...]:
    """The sizes of a policy; of no cache one, which has the measured part of the largest."""
    if policy != NO_CACHE or not sizes:
        return tuple(sizes)
    return (Size(max(size.frames for size in sizes), NO_CACHE),)


@dataclass(frozen=True)
class Entry:
    """A policy of a task, at its sizes."""

    policy: PolicyAsked
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class Question:
    """A question to several runs together, whose answer is kept as JSON: a curve, a divergence."""

    kind: str
    """Part of the id: `mrc`, `why`."""
    asked: str
    """Parameters of the answer beside the task, as a JSON object; part of the id."""
    answer: Callable[[Task, int, ProgressCallback | None], Mapping[str, Any]]
    """Answers a task on so many threads. A function of a module, so that it can travel."""
    rows: Callable[[Task, Mapping[str, Any]], Mapping[tuple[str, str], Mapping[str, Any]]]
    """Numbers of the table, by label and size as it was given."""


@dataclass(frozen=True)
class Task:
    """Runs over one trace, in front of one device or none; or a question to them."""

    trace_name: str
    trace: TraceRecipe
    device: str | None
    """Name of the device in rows."""
    ftl: str | None
    drive: DriveRecipe | None
    queue_depth: int | None
    options: str
    """Run options, as JSON."""
    seed: int | None
    entries: tuple[Entry, ...]
    number: int = 0
    order: int = 0
    """Tasks of a lower order begin first; equal orders by size."""
    question: Question | None = None

    @classmethod
    def of(
        cls,
        trace: Trace,
        drive: Device | None,
        specs: Sequence[Spec],
        sizes: str,
        options: str,
        question: Question | None = None,
    ) -> Task:
        """The task of policies at sizes over a trace that is open; `sizes` and `options` as JSON.

        Raises `UsageError` for a size that the trace cannot have.
        """
        resolved = json.loads(_destage.resolve_sizes(trace.raw, sizes))
        at = tuple(Size(int(one["frames"]), str(one["given"])) for one in resolved)
        return cls(
            trace_name=trace.name,
            trace=TraceRecipe.of(trace, keep=True),
            device=None if drive is None else drive.name,
            ftl=None if drive is None else str(drive.record["device"]["ftl"]),
            drive=None if drive is None else DriveRecipe.of(drive, drive.name, keep=True),
            queue_depth=None if drive is None else drive.queue_depth,
            options=given_options(json.loads(options)),
            seed=None,
            entries=tuple(Entry(PolicyAsked.of(spec), at) for spec in specs),
            question=question,
        )

    def sized(self) -> Task:
        """The task with one run without a cache, and not one a size."""
        entries = (Entry(e.policy, sizes_of(e.policy.name, e.sizes)) for e in self.entries)
        return replace(self, entries=tuple(entries))

    @property
    def row_options(self) -> str:
        """Run options as rows have them: as they were asked for, whichever the trace.

        Tasks of a question name it.
        """
        options = json.loads(self.options)
        warmup = options.get("warmup")
        if warmup == "auto" or (isinstance(warmup, dict) and "auto" in warmup):
            # The default in front of a device; the request that it ends with is in the run.
            options["warmup"] = None if self.drive is not None else "auto"
        if self.question is not None:
            options |= {**json.loads(self.question.asked), "question": self.question.kind}
        return given_options(options)

    @property
    def runs(self) -> int:
        """Runs of the task."""
        return sum(len(entry.sizes) for entry in self.entries)

    @property
    def cost(self) -> int:
        """Page accesses to replay, those that cost more counted several times."""
        each = self.trace.accesses * (1 if self.drive is None else DRIVE_COSTS)
        return sum(
            each * len(e.sizes) * (OWN_COSTS if e.policy.is_own else 1) for e in self.entries
        )

    @property
    def has_own(self) -> bool:
        """Whether a policy of one's own is in it."""
        return any(entry.policy.is_own for entry in self.entries)

    @cached_property
    def _below(self) -> str:
        options = json.loads(self.options)
        named: list[str] = [f", pin {options['pin']}"] if options.get("pin") else []
        for tier, prefix in (("tier2", ""), ("tier3", "tier3_")):
            if not options.get(tier):
                break
            named += [f" over {_named(options[tier])}"]
            named += [f" {options[f'{tier}_cache']}"] if options.get(f"{tier}_cache") else []
            rules = ((key, options.get(prefix + key)) for key in ("admit", "offer", "promote"))
            named += [f", {key} {_named(value)}" for key, value in rules if value]
            if tier == "tier2" and options.get("tier2_clean"):
                named += [f", clean {options['tier2_clean']}"]
            if tier == "tier2" and options.get("tier2_pin"):
                named += [f", pin {options['tier2_pin']}"]
        named += [f", backing {options['backing']}"] if options.get("backing") else []
        return "".join(named)

    @cached_property
    def _base(self) -> list[Any]:
        drive = None if self.drive is None else self.drive.identity
        base = [SEMANTICS, self.trace.fingerprint, drive, json.loads(self.options), self.seed]
        if self.question is not None:
            # Its numbers may depend on which others are asked for with them.
            every = [[e.policy.identity, [s.frames for s in e.sizes]] for e in self.entries]
            base += [self.question.kind, json.loads(self.question.asked), every]
        return base

    def id_of(self, policy: PolicyAsked, frames: int) -> str:
        """The id of a run: a hash of everything that determines its result."""
        whole = json.dumps([*self._base, policy.identity, frames], sort_keys=True)
        return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()

    def key_of(self, policy: PolicyAsked, size: Size) -> Key:
        """How a store knows a run."""
        run = self.id_of(policy, size.frames)
        return (run, self.trace_name, self.device or "", self.label_of(policy), size.given)

    def label_of(self, policy: PolicyAsked) -> str:
        """How tables call its runs: a flash tier is named beside the policy."""
        return policy.label + self._below

    def every(self) -> Iterator[tuple[PolicyAsked, Size]]:
        """All runs."""
        for entry in self.entries:
            for size in entry.sizes:
                yield entry.policy, size

    def every_key(self) -> Iterator[Key]:
        """All runs as a store knows them."""
        return (self.key_of(policy, size) for policy, size in self.every())

    def without(self, done: set[Key]) -> Task | None:
        """The task with the runs that are missing alone; None if none is."""
        if self.question is not None:
            return None if done.issuperset(self.every_key()) else self
        entries = []
        for entry in self.entries:
            sizes = tuple(s for s in entry.sizes if self.key_of(entry.policy, s) not in done)
            if sizes:
                entries.append(replace(entry, sizes=sizes))
        return replace(self, entries=tuple(entries)) if entries else None

    def pieces(self) -> Iterator[Task]:
        """The task in pieces that are kept one by one; classes of one's own in their own ones."""
        if self.question is not None:
            yield self
            return
        for own in (False, True):
            group: list[Entry] = []
            runs = cost = 0
            for entry in _cut(e for e in self.entries if e.policy.is_own == own):
                more = replace(self, entries=(entry,))
                if group and (runs + more.runs > MOST_RUNS or cost + more.cost > MOST_ACCESSES):
                    yield replace(self, entries=tuple(group))
                    group, runs, cost = [], 0, 0
                group.append(entry)
                runs, cost = runs + more.runs, cost + more.cost
            if group:
                yield replace(self, entries=tuple(group))


def _named(text: object) -> str:
    """A policy or a filter as a run names it: its name in lower case, its parameters as given."""
    name, bracket, rest = str(text).strip().partition("[")
    return f"{name.lower()}{bracket}{rest}"


def _cut(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Entries of no more sizes than a piece has runs."""
    for entry in entries:
        for first in range(0, len(entry.sizes), MOST_RUNS):
            yield Entry(entry.policy, entry.sizes[first : first + MOST_RUNS])


def given_options(options: Mapping[str, Any]) -> str:
    """Run options as JSON, those that have their default left out."""
    kept = {k: v for k, v in options.items() if v is not None and v is not False}
    if kept.get("pin") == "none":
        del kept["pin"]
    for key in ("tier2_clean", "tier2_pin"):
        if kept.get("tier2") and kept.get(key) == "none":
            del kept[key]  # Without a flash tier it stays: there it is an error.
    return json.dumps(kept, sort_keys=True)


@dataclass(frozen=True)
class Plan:
    """All tasks of an experiment, in pieces."""

    tasks: tuple[Task, ...]
    left_out: tuple[str, ...] = ()
    """A sentence for each reason to leave policies of a group out."""
    warnings: tuple[str, ...] = ()
    """Doubts about the traces, each once."""

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> Plan:
        """The tasks in numbered pieces."""
        pieces = (piece for task in tasks for piece in task.pieces())
        return cls(tuple(replace(piece, number=k) for k, piece in enumerate(pieces)))

    @property
    def runs(self) -> int:
        """Runs in all."""
        return sum(task.runs for task in self.tasks)

    @cached_property
    def id(self) -> str:
        """The same for all that asks for the same runs."""
        whole = hashlib.blake2b(digest_size=8)
        for key in sorted(key for task in self.tasks for key in task.every_key()):
            whole.update(json.dumps(key).encode())
        return whole.hexdigest()

    def shard(self, number: int, of: int) -> tuple[Task, ...]:
        """The tasks of a shard, counted from 1: the large ones are dealt first, in turn."""
        order = sorted(self.tasks, key=lambda task: (-task.cost, task.number))
        return tuple(sorted(order[number - 1 :: of], key=lambda task: task.number))
