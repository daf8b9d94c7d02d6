"""From a SPEC to the tasks of its sweep."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from destage import _destage
from destage.base.errors import DataError, DestageError, UsageError
from destage.experiment.drives import DriveAsked, drive_asked
from destage.experiment.filter import rows_where
from destage.experiment.grid import Point, points
from destage.experiment.policies import PolicyAsked, policies_asked
from destage.experiment.recipes import DriveRecipe, TraceRecipe
from destage.experiment.spec import SweepSpec
from destage.experiment.task import Entry, Plan, Size, Task, given_options, sizes_of
from destage.experiment.traces import TraceAsked
from destage.experiment.warmup import measured_alone
from destage.lab.checks import USUAL
from destage.lab.options import (
    ProgressCallback,
    RunOptions,
    device_options,
    options_json,
    run_options,
)
from destage.lab.traces import Trace
from destage.lab.user_policies.trust import from_data
from destage.model.naming import EXCLUDING, skipped

__all__ = ["planned"]


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
    for group in points(spec.axes, spec.zipped):
        maker.add(group)
    plan = Plan.of(measured_alone(list(maker.wanted(maker.tasks))))
    if not plan.tasks:
        raise DataError(f"{spec.called}: [sweep] where: no run is left")
    said = tuple(f"{why}: {', '.join(names)}" for why, names in maker.left_out.items())
    return replace(plan, left_out=said, warnings=tuple(maker.warnings))


class _Maker:
    """Makes tasks of points, and keeps opened traces and devices."""

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
        self.tasks: list[Task] = []
        #: Members of groups that are not run, by the reason.
        self.left_out: dict[str, dict[str, None]] = {}
        #: Warnings of traces, each with its trace.
        self.warnings: dict[str, None] = {}
        #: What conditions know of each run.
        self.rows: list[dict[str, Any]] = []

    def add(self, group: Sequence[Point]) -> None:
        """Add the tasks of points that differ in policies and sizes alone."""
        base = group[0]
        asked = self._drive(base)
        for opened in self._traces(base, asked):
            task = Task(
                trace_name=opened.name,
                trace=opened.recipe,
                device=None if asked is None else asked.device,
                ftl=None if asked is None else asked.ftl,
                drive=opened.drive,
                queue_depth=None if asked is None else asked.drive.queue_depth,
                options=self._options(base),
                seed=base["seeds"],
                entries=tuple(self._entries(group, opened, asked)),
            )
            self.tasks.append(task)

    def _drive(self, point: Point) -> DriveAsked | None:
        changes = {k: v for k, v in point.items() if "." in k}
        words = [point[k] for k in ("devices", "seeds")]
        words += [point.get(option.axis) for option in device_options()]
        key = json.dumps([*words, changes], default=str)
        if key not in self.drives:
            self.drives[key] = drive_asked(self.spec, point)
        return self.drives[key]

    def _traces(self, point: Point, asked: DriveAsked | None) -> list[_Opened]:
        trace: TraceAsked = point["traces"]
        is_other = trace.is_drawn or (self.spec.resample and trace.synth is None)
        seed = point["seeds"] if is_other else None
        drive = None if asked is None else asked.drive
        behind = "" if asked is None else json.dumps([asked.device, asked.drive.record])
        page_bytes, tier2 = None, bool(self._given(point, "tier2"))
        if drive is not None and tier2:
            # Its pages are slots of the flash tier, and none of the trace.
            page_bytes = None if self._given(point, "kv") else drive.page_bytes
            drive, behind = None, f"slots of {page_bytes} bytes: {behind}"
        key = (trace.key, seed, behind)
        if key not in self.traces:
            try:
                found = trace.open(
                    self.spec.reader, drive, seed, self.progress, page_bytes=page_bytes
                )
            except (TypeError, UsageError) as e:
                raise DataError(f"{self.spec.called}: trace {trace.name}: {e}") from e
            self.warnings |= {
                f"{name}: {said}": None for name, one in found for said in one.warnings
            }
            self.traces[key] = [_Opened.of(name, one, asked, tier2=tier2) for name, one in found]
        return self.traces[key]

    def _given(self, point: Point, option: str) -> object:
        """A run option of a point, or of all."""
        return point.get(option) or self.spec.options.get(option)

    def _options(self, point: Point) -> str:
        names = [o.name for o in run_options()]
        given: RunOptions = {**self.spec.options, **{k: point[k] for k in names if k in point}}  # type: ignore[typeddict-item]
        key = json.dumps(given, sort_keys=True, default=str)
        if key not in self.options_of:
            for tier in ("tier2", "tier3"):
                if given.get(tier) == "none":
                    less = f"leave {tier} out for a tier less, in a sweep of its own"
                    raise DataError(f"{self.spec.called}: run options: {tier} = none: {less}")
            try:
                options = json.loads(options_json("run", given))
            except (DestageError, TypeError) as e:
                raise DataError(f"{self.spec.called}: run options: {e}") from e
            self.options_of[key] = given_options(options)
        return self.options_of[key]

    def _entries(
        self, group: Sequence[Point], opened: _Opened, asked: DriveAsked | None
    ) -> list[Entry]:
        """Policies with their sizes."""
        found: dict[str, tuple[PolicyAsked, dict[Size, None]]] = {}
        for point in group:
            sizes = self._sizes(point["cache"], opened, asked)
            for policy in self._policies(point, asked):
                values = _values(point, opened, asked, policy) if self.spec.where else None
                for size in sizes_of(policy.name, sizes):
                    found.setdefault(policy.label, (policy, {}))[1][size] = None
                    if values is not None:
                        self.rows.append({**values, **self._sized(opened, size)})
        return [Entry(p, sizes_of(p.name, tuple(sizes))) for p, sizes in found.values()]

    def _policies(self, point: Point, asked: DriveAsked | None) -> list[PolicyAsked]:
        text: str | None = point["policies"]
        source = self.spec.called if self.spec.is_file else None
        if text is None and asked is not None and asked.drive.policy is not None:
            source = source or asked.device
            name, params = asked.drive.policy
            inside = ";".join(f"{key}={value}" for key, value in params.items())
            text = f"{name}[{inside}]" if inside else name
        texts = USUAL.split(",") if text is None else [text]
        options = {name: self._given(point, name) for name in EXCLUDING}
        trusted: AbstractContextManager[None] = nullcontext()
        if source is not None:
            trusted = from_data(source, allow_code=self.allow_code, dry_run=self.dry_run)
        with trusted:
            found, left = policies_asked(texts, asked is not None, options, self.spec.folder)
        for why, names in skipped(left, options).items():
            self.left_out.setdefault(why, {}).update(names)
        return found

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

    def _sized(self, opened: _Opened, size: Size) -> dict[str, Any]:
        unique, page = opened.recipe.unique_pages, opened.recipe.page_bytes
        frames = size.row["frames"]
        return {
            "task": len(self.tasks),
            **size.row,
            "cache_bytes": frames * page if frames else None,
            "cache_share": frames / unique if frames and unique else None,
        }

    def wanted(self, tasks: Sequence[Task]) -> Iterator[Task]:
        """The tasks with the runs of which all conditions hold."""
        if not self.spec.where:
            yield from tasks
            return
        try:
            places = rows_where(self.rows, self.spec.where)
        except UsageError as e:
            raise DataError(f"{self.spec.called}: [sweep] where: {e}") from None
        kept = {tuple(self.rows[k][name] for name in ("task", "label", "cache")) for k in places}
        for number, task in enumerate(tasks):
            entries = []
            for policy, sizes in ((e.policy, e.sizes) for e in task.entries):
                some = tuple(s for s in sizes if (number, policy.label, s.given) in kept)
                entries += [Entry(policy, some)] if some else []
            if entries:
                yield replace(task, entries=tuple(entries))


@dataclass(frozen=True)
class _Opened:
    """A trace that was opened, and the device that it is run in front of."""

    name: str
    recipe: TraceRecipe
    drive: DriveRecipe | None

    @classmethod
    def of(cls, name: str, trace: Trace, asked: DriveAsked | None, *, tier2: bool) -> _Opened:
        recipe = TraceRecipe.of(trace)
        if asked is not None and tier2:
            return cls(name, recipe, DriveRecipe.of(asked.drive, asked.device))
        if asked is None or trace.device is None:
            return cls(name, recipe, None)
        # It may have been made larger for the trace.
        return cls(name, recipe, DriveRecipe.of(trace.device, asked.device))


def _values(
    point: Point, opened: _Opened, asked: DriveAsked | None, policy: PolicyAsked
) -> dict[str, Any]:
    """Values of the names in a condition."""
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
