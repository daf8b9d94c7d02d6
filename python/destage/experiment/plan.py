"""From a sweep to tasks: what is run, in what pieces, and how each run is known.

A task is one trace, a group of policies, all sizes: the trace is opened once, the drive filled
once. Which run is in which task follows from SPEC and the traces alone, so that shards on other
machines come to the same tasks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from destage import _destage
from destage.checks import USUAL
from destage.errors import DataError, DestageError, UsageError
from destage.experiment.conditions import NoCondition
from destage.experiment.drives import DriveAsked, drive_asked
from destage.experiment.grid import Point, points
from destage.experiment.policies import PolicyAsked, policies_asked
from destage.experiment.recipes import DriveRecipe, TraceRecipe
from destage.experiment.spec import SweepSpec
from destage.experiment.traces import TraceAsked
from destage.options import ProgressCallback, RunOptions, options_json, run_options
from destage.trace import Trace
from destage.user_policies.trust import from_data

__all__ = ["SEMANTICS", "Entry", "Key", "Plan", "Size", "Task", "planned"]

#: Raised when the same run gives other numbers than before (CHANGELOG: Results change): ids are
#: then others, and a store is filled anew.
SEMANTICS = 1

#: Most runs of a task, and most page accesses that they replay: some ten seconds on one core.
MOST_RUNS = 64
MOST_ACCESSES = 200_000_000
#: In front of a drive an access costs some ten times as much, and a policy in Python a hundred.
DRIVE_COSTS, OWN_COSTS = 10, 200

#: A run as a store knows it: its id, and what it was called when it was asked for.
Key = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Size:
    """A cache size."""

    frames: int
    given: str


@dataclass(frozen=True)
class Entry:
    """A policy of a task, at its sizes."""

    policy: PolicyAsked
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class Task:
    """A piece of work: one trace in front of one drive, or none, some policies, their sizes."""

    trace_name: str
    trace: TraceRecipe
    device: str | None
    """What rows call the drive."""
    ftl: str | None
    drive: DriveRecipe | None
    queue_depth: int | None
    options: str
    """Run options, as JSON."""
    seed: int | None
    entries: tuple[Entry, ...]
    number: int = 0

    @property
    def runs(self) -> int:
        """Runs of the task."""
        return sum(len(entry.sizes) for entry in self.entries)

    @property
    def cost(self) -> int:
        """Page accesses to replay, those that cost more counted several times."""
        each = self.trace.accesses * (1 if self.drive is None else DRIVE_COSTS)
        return sum(
            each * len(e.sizes) * (1 if e.policy.file is None else OWN_COSTS) for e in self.entries
        )

    @property
    def has_own(self) -> bool:
        """Whether a policy of one's own is in it."""
        return any(entry.policy.file is not None for entry in self.entries)

    @cached_property
    def _base(self) -> list[Any]:
        drive = None if self.drive is None else self.drive.identity
        options = json.loads(self.options)
        return [SEMANTICS, self.trace.fingerprint, drive, options, self.seed]

    def id_of(self, policy: PolicyAsked, frames: int) -> str:
        """The id of a run: a hash of everything that determines its result."""
        whole = json.dumps([*self._base, policy.identity, frames], sort_keys=True)
        return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()

    def key_of(self, policy: PolicyAsked, size: Size) -> Key:
        """How a store knows a run."""
        run = self.id_of(policy, size.frames)
        return (run, self.trace_name, self.device or "", policy.label, size.given)

    def every_key(self) -> Iterator[Key]:
        """All runs."""
        for entry in self.entries:
            for size in entry.sizes:
                yield self.key_of(entry.policy, size)

    def without(self, done: set[Key]) -> Task | None:
        """The task with the runs that are missing alone; None if none is."""
        entries = []
        for entry in self.entries:
            sizes = tuple(s for s in entry.sizes if self.key_of(entry.policy, s) not in done)
            if sizes:
                entries.append(replace(entry, sizes=sizes))
        return replace(self, entries=tuple(entries)) if entries else None


@dataclass(frozen=True)
class Plan:
    """All tasks of a sweep."""

    tasks: tuple[Task, ...]

    @property
    def runs(self) -> int:
        """Runs in all."""
        return sum(task.runs for task in self.tasks)

    @cached_property
    def id(self) -> str:
        """The same for every SPEC that asks for the same runs."""
        whole = hashlib.blake2b(digest_size=8)
        for key in sorted(key for task in self.tasks for key in task.every_key()):
            whole.update(json.dumps(key).encode())
        return whole.hexdigest()

    def shard(self, number: int, of: int) -> tuple[Task, ...]:
        """The tasks of a shard, counted from 1: the large ones are dealt first, in turn."""
        order = sorted(self.tasks, key=lambda task: (-task.cost, task.number))
        return tuple(sorted(order[number - 1 :: of], key=lambda task: task.number))


def planned(
    spec: SweepSpec,
    progress: ProgressCallback | None = None,
    *,
    allow_code: bool = False,
    dry_run: bool = False,
) -> Plan:
    """Every task of a sweep. Opens its traces, which are decoded once and kept.

    Policies in files that a SPEC file or a device's file names run only with `allow_code`, or if
    the command line names them too; in a dry run only the latter.

    Raises `UsageError`, `MissingFile` and `DataError` for what can never be run.
    """
    maker = _Maker(spec, progress, allow_code, dry_run)
    tasks: list[Task] = []
    for group in points(spec.axes, spec.zipped):
        for task in maker.tasks(group):
            tasks.append(replace(task, number=len(tasks)))
    if not tasks:
        raise DataError(f"{spec.called}: [sweep] where: no run is left")
    return Plan(tuple(tasks))


class _Maker:
    """Makes tasks of points, and remembers what was opened."""

    def __init__(
        self,
        spec: SweepSpec,
        progress: ProgressCallback | None,
        allow_code: bool,
        dry_run: bool,
    ) -> None:
        self.spec, self.progress = spec, progress
        self.allow_code, self.dry_run = allow_code, dry_run
        self.drives: dict[str, DriveAsked | None] = {}
        self.traces: dict[tuple[str, int | None, str], list[_Opened]] = {}
        self.sizes: dict[tuple[str, str], list[Size]] = {}
        self.options_of: dict[str, str] = {}

    def tasks(self, group: Sequence[Point]) -> Iterator[Task]:
        base = group[0]
        asked = self._drive(base)
        for opened in self._traces(base, asked):
            entries = self._entries(group, opened, asked)
            if not entries:
                continue
            drive = opened.drive
            whole = Task(
                trace_name=opened.name,
                trace=opened.recipe,
                device=None if asked is None else asked.device,
                ftl=None if asked is None else asked.ftl,
                drive=drive,
                queue_depth=None if asked is None else asked.drive.queue_depth,
                options=self._options(base),
                seed=base["seeds"],
                entries=(),
            )
            for part in _packed(entries, whole):
                yield replace(whole, entries=tuple(part))

    def _drive(self, point: Point) -> DriveAsked | None:
        changes = {k: v for k, v in point.items() if "." in k}
        words = [point[k] for k in ("devices", "ftls", "seeds")]
        words += [point.get(k) for k in ("placements", "queue_depth")]
        key = json.dumps([*words, changes], default=str)
        if key not in self.drives:
            self.drives[key] = drive_asked(self.spec, point)
        return self.drives[key]

    def _traces(self, point: Point, asked: DriveAsked | None) -> list[_Opened]:
        trace: TraceAsked = point["traces"]
        seed = point["seeds"] if trace.is_drawn else None
        drive = None if asked is None else asked.drive
        behind = "" if asked is None else json.dumps([asked.device, asked.drive.record])
        key = (trace.key, seed, behind)
        if key not in self.traces:
            try:
                found = trace.open(self.spec.reader, drive, seed, self.progress)
            except (TypeError, UsageError) as e:
                raise DataError(f"{self.spec.called}: trace {trace.name}: {e}") from e
            self.traces[key] = [_Opened.of(name, one, asked) for name, one in found]
        return self.traces[key]

    def _options(self, point: Point) -> str:
        names = [o.name for o in run_options()]
        given: RunOptions = {**self.spec.options, **{k: point[k] for k in names if k in point}}  # type: ignore[typeddict-item]
        key = json.dumps(given, sort_keys=True, default=str)
        if key not in self.options_of:
            try:
                options_json("compare", given)
            except (DestageError, TypeError) as e:
                raise DataError(f"{self.spec.called}: run options: {e}") from e
            kept = {k: v for k, v in given.items() if v is not None and v is not False}
            self.options_of[key] = json.dumps(kept, sort_keys=True)
        return self.options_of[key]

    def _entries(
        self, group: Sequence[Point], opened: _Opened, asked: DriveAsked | None
    ) -> list[Entry]:
        """Policies with the sizes at which the conditions hold."""
        found: dict[str, tuple[PolicyAsked, dict[Size, None]]] = {}
        for point in group:
            sizes = self._sizes(point["cache"], opened, asked)
            for policy in self._policies(point["policies"], asked):
                values = _values(point, opened, asked, policy)
                for size in sizes:
                    if self._wanted(values, size, opened):
                        found.setdefault(policy.label, (policy, {}))[1][size] = None
        return [Entry(policy, tuple(sizes)) for policy, sizes in found.values()]

    def _policies(self, text: str | None, asked: DriveAsked | None) -> list[PolicyAsked]:
        source = self.spec.called if self.spec.is_file else None
        if text is None and asked is not None and asked.drive.policy is not None:
            source = source or asked.device
            name, params = asked.drive.policy
            inside = ";".join(f"{key}={value}" for key, value in params.items())
            text = f"{name}[{inside}]" if inside else name
        texts = USUAL.split(",") if text is None else [text]
        if source is None:
            return policies_asked(texts, asked is not None, self.spec.folder)
        with from_data(source, allow_code=self.allow_code, dry_run=self.dry_run):
            return policies_asked(texts, asked is not None, self.spec.folder)

    def _sizes(self, text: str | None, opened: _Opened, asked: DriveAsked | None) -> list[Size]:
        texts = (text,) if text is not None else (asked.drive.cache if asked else ()) or ("auto",)
        key = (opened.recipe.identity, json.dumps(texts))
        if key not in self.sizes:
            try:
                rows = json.loads(
                    _destage.resolve_sizes(opened.recipe.open().raw, json.dumps(texts))
                )
            except UsageError as e:
                raise DataError(f"{self.spec.called}: [sweep] cache: {e}") from e
            self.sizes[key] = [Size(int(row["frames"]), str(row["given"])) for row in rows]
        return self.sizes[key]

    def _wanted(self, values: dict[str, Any], size: Size, opened: _Opened) -> bool:
        if not self.spec.where:
            return True
        page, unique = opened.recipe.page_bytes, opened.recipe.unique_pages
        values["cache"], values["frames"] = size.given, size.frames
        values["cache_bytes"] = size.frames * page
        values["cache_share"] = size.frames / unique if unique else None
        try:
            return all(condition.holds(values) for condition in self.spec.where)
        except NoCondition as e:
            raise DataError(f"{self.spec.called}: [sweep] where: {e}") from None


@dataclass(frozen=True)
class _Opened:
    """A trace that was opened, and the drive that it is run in front of."""

    name: str
    recipe: TraceRecipe
    drive: DriveRecipe | None

    @classmethod
    def of(cls, name: str, trace: Trace, asked: DriveAsked | None) -> _Opened:
        recipe = TraceRecipe.of(trace)
        if asked is None or trace.drive is None:
            return cls(name, recipe, None)
        # It may have been made larger for the trace.
        return cls(name, recipe, DriveRecipe.of(trace.drive, asked.device))


def _values(
    point: Point, opened: _Opened, asked: DriveAsked | None, policy: PolicyAsked
) -> dict[str, Any]:
    """What the names of a condition are worth."""
    recipe = opened.recipe
    params = {f"params.{key}": value for key, value in json.loads(policy.params).items()}
    axes = {k: v for k, v in point.items() if k not in ("traces", "policies")}
    return {
        **axes,
        **params,
        "trace": opened.name,
        "traces": opened.name,
        "policy": policy.name,
        "policies": policy.label,
        "label": policy.label,
        "device": point["devices"],
        "ftl": None if asked is None else asked.ftl,
        "placement": None if asked is None else asked.drive.placement,
        "queue_depth": None if asked is None else asked.drive.queue_depth,
        "seed": point["seeds"],
        "unique_pages": recipe.unique_pages,
        "accesses": recipe.accesses,
        "page_bytes": recipe.page_bytes,
    }


def _packed(entries: Sequence[Entry], whole: Task) -> Iterator[list[Entry]]:
    """Entries in groups, each of which is a task; classes of one's own in groups of their own."""
    for own in (False, True):
        group: list[Entry] = []
        runs = cost = 0
        for entry in _cut(e for e in entries if (e.policy.file is not None) == own):
            more = replace(whole, entries=(entry,))
            if group and (runs + more.runs > MOST_RUNS or cost + more.cost > MOST_ACCESSES):
                yield group
                group, runs, cost = [], 0, 0
            group.append(entry)
            runs, cost = runs + more.runs, cost + more.cost
        if group:
            yield group


def _cut(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Entries of no more sizes than a task has runs."""
    for entry in entries:
        for first in range(0, len(entry.sizes), MOST_RUNS):
            yield Entry(entry.policy, entry.sizes[first : first + MOST_RUNS])
