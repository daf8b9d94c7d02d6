"""Where two policies' decisions first diverge, the pages that differ, and the cost: `why`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, Unpack

from destage.base.errors import UsageError
from destage.experiment.experiment import StoreLike, experiment_of, with_context
from destage.experiment.results import Results
from destage.experiment.task import Question, Task
from destage.experiment.warmup import measured_alike
from destage.lab.checks import NO_SIZE, asked, asked_once, check_in_front, drive_of, one_trace
from destage.lab.options import (
    DeviceRunOptions,
    ProgressCallback,
    RunOptions,
    divided,
    options_json,
)
from destage.lab.policy_base import OwnPolicy, PolicyLike, is_none
from destage.lab.ssd import Device, DeviceLike
from destage.lab.traces import Trace
from destage.model.metrics import WRITES
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.questions.runs import run
from destage.show.tables.why import why_text

__all__ = ["Decision", "PageShare", "Parting", "Share", "Why", "why"]

#: Pages that are shown.
MOST_PAGES = 10


@dataclass(frozen=True)
class Decision:
    """The action of a policy at an access. Pages are LPNs."""

    hit: bool
    evicted: tuple[int, ...]
    flushed: tuple[tuple[int, ...], ...]
    """Flush groups: pages that were written to flash."""

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Decision:
        """A line of a log of decisions."""
        flushed = tuple(tuple(group) for group in line["flushed"])
        return cls(bool(line["hit"]), tuple(line["evicted"]), flushed)


@dataclass(frozen=True)
class Parting:
    """The first access at which the two decide differently."""

    access: int
    """Its number, from 0."""
    op: str
    """`read` or `write`."""
    page: int
    a: Decision
    b: Decision


@dataclass(frozen=True)
class PageShare:
    """The share of a page in the difference."""

    page: int
    only_a: int
    """Accesses that hit with A and missed with B."""
    only_b: int
    """Accesses that hit with B and missed with A."""
    written_a: int
    """Times that it was written to flash with A, where the two decided differently or in an idle
    instant."""
    written_b: int


@dataclass(frozen=True)
class Share:
    """A part of the difference: a count, or a time in nanoseconds."""

    what: str
    unit: str
    """`count`, `ns`, or `cost` (in the unit of the cost model)."""
    a: float
    b: float

    @property
    def saved(self) -> float:
        """Savings of B against A; negative: B has more."""
        return self.a - self.b


@dataclass(frozen=True)
class Why:
    """Two policies over one trace, side by side."""

    a: Run
    b: Run
    accesses: int
    """Page accesses, warm-up included: all of them are looked at."""
    differing: int
    """Those at which the two decided differently."""
    only_a: int
    """Those that hit with A alone."""
    only_b: int
    """Those that hit with B alone."""
    first: Parting | None
    """None if they decide alike throughout."""
    pages: tuple[PageShare, ...]
    """The pages with the largest difference in hits, largest first."""
    shares: tuple[Share, ...]
    """Savings of B over A: hits, dirty victims, collections, and the time of each."""
    results: Results
    """Both runs."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the runs' metrics as plain values."""
        return {
            "a": self.a.label,
            "b": self.b.label,
            "cache": self.a.cache,
            "accesses": self.accesses,
            "differing": self.differing,
            "only_a": self.only_a,
            "only_b": self.only_b,
            "first": None if self.first is None else asdict(self.first),
            "pages": [asdict(page) for page in self.pages],
            "shares": [{**asdict(share), "saved": share.saved} for share in self.shares],
        }

    def __str__(self) -> str:
        """Return what the command prints."""
        return why_text(self.to_dict())


def why(
    trace: Trace,
    a: PolicyLike,
    b: PolicyLike,
    *,
    cache: str | None = None,
    device: DeviceLike | None = None,
    store: StoreLike | None = None,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[DeviceRunOptions],
) -> Why:
    """Run two policies at one size, and show where their decisions diverge and at what cost.

    Parameters:
        a, b: a policy each, as in `compare`.
        cache: one size; needed unless the device's file gives one.
        store: as in `compare`.
        others: as in `run`.

    Every decision of both is compared: some seconds and temporary disk space for each million
    accesses. Raises as `run`.

    >>> import destage
    >>> trace = destage.synth("loop", requests=1000, pages=100, loop_pages=20, seed=1)
    >>> found = destage.why(trace, "lru", "min", cache="10p")
    >>> found.first.access, found.only_a, found.only_b > 0
    (10, 0, True)
    """
    one_trace("why", trace, a)
    of_device, of_runs = divided(options)
    drive = drive_of(device, of_device)
    check_why(a, b, cache=cache, device=drive, **of_runs)
    check_in_front([trace], drive)
    experiment = experiment_of(store, jobs, progress)
    experiment.refuse_shards("why")
    (spec_a, sizes), (spec_b, _) = (asked_once(policy, cache, drive) for policy in (a, b))
    question = Question("why", "{}", _answer, _numbers)
    task = Task.of(trace, drive, [spec_a, spec_b], sizes, options_json("run", of_runs), question)
    (task,) = measured_alike([task])
    (answer,) = experiment.answers([task])
    assert answer is not None
    first = answer["first"]
    both = Results([with_context(task, answer["set"])])
    return Why(
        a=both[0],
        b=both[1],
        accesses=answer["accesses"],
        differing=answer["differing"],
        only_a=answer["only"][0],
        only_b=answer["only"][1],
        first=first and Parting(**first | {x: Decision.of(first[x]) for x in ("a", "b")}),
        pages=tuple(PageShare(*page) for page in answer["pages"]),
        shares=tuple(_shares(both, drive)),
        results=both,
    )


def _answer(task: Task, jobs: int, progress: ProgressCallback | None) -> dict[str, Any]:
    """Both runs, and where their decisions differ."""
    drive = None if task.drive is None else task.drive.open()
    sets: list[Mapping[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="destage-why-") as folder:
        logs = [Path(folder) / "a.jsonl", Path(folder) / "b.jsonl"]
        for (policy, size), log in zip(task.every(), logs, strict=True):
            shared: Any = {"cache": f"{size.frames}p", "device": drive, "progress": progress}
            given = json.loads(task.options)
            done = run(task.trace.open(), policy.like(), decisions=log, **shared, **given)
            sets += done.results.sets
        found = _Difference()
        found.read(*logs)
    runs = [one["runs"][0] for one in sets]
    for made, (_, size) in zip(runs, task.every(), strict=True):
        made["config"]["cache"] = size.given
    return {
        "set": {**sets[0], "runs": runs},
        "accesses": found.accesses,
        "differing": found.differing,
        "only": found.only,
        "first": None if found.first is None else asdict(found.first),
        "pages": [list(astuple(page)) for page in found.largest()],
    }


def _numbers(task: Task, answer: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The numbers of both runs as rows of a store."""
    both = zip(task.every(), ResultSet.of(answer["set"]).runs, strict=True)
    return {(policy.label, size.given): run.to_dict() for (policy, size), run in both}


def check_why(
    a: PolicyLike,
    b: PolicyLike,
    *,
    cache: str | None = None,
    device: Device | None = None,
    **options: Unpack[RunOptions],
) -> None:
    """Raise `UsageError` for what can be right for no trace, before one is opened."""
    for policy in (a, b):
        specs, sizes = asked(policy, cache, device)
        if len(specs) != 1:
            raise UsageError(f"why: expected one policy on each side, got {len(specs)}")
        if not isinstance(specs[0], OwnPolicy) and is_none(specs[0]):
            raise UsageError("why: the policy none decides nothing: name two policies with a cache")
        if cache is None and (device is None or not device.cache):
            raise UsageError(NO_SIZE)
        if len(json.loads(sizes)) != 1:
            raise UsageError("cache: expected one size")
    options_json("run", options)


class _Difference:
    """Two logs of decisions, line by line."""

    def __init__(self) -> None:
        self.accesses = self.differing = 0
        self.only = [0, 0]
        self.first: Parting | None = None
        #: By page: hits of A alone, of B alone, writes of A, of B.
        self.pages: dict[int, list[int]] = {}

    def read(self, log_a: Path, log_b: Path) -> None:
        with log_a.open("rb") as lines_a, log_b.open("rb") as lines_b:
            both = zip(self._decisions(lines_a, 2), self._decisions(lines_b, 3), strict=True)
            for line_a, line_b in both:
                self.accesses += 1
                # Lines are written alike: most are equal, and need not be understood.
                if line_a != line_b:
                    self._differ(json.loads(line_a), json.loads(line_b))

    def _decisions(self, lines: Iterable[bytes], written: int) -> Iterator[bytes]:
        """The lines of accesses; a page written in an idle instant counts as a write."""
        for line in lines:
            if line.startswith(b'{"index":'):
                yield line
            else:
                self._of(json.loads(line)["idle_write"])[written] += 1

    def _differ(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
        self.differing += 1
        if self.first is None:
            op = "write" if a["op"] == "w" else "read"
            self.first = Parting(a["index"], op, a["page"], Decision.of(a), Decision.of(b))
        if a["hit"] != b["hit"]:
            side = 0 if a["hit"] else 1
            self.only[side] += 1
            self._of(a["page"])[side] += 1
        for side, line in ((2, a), (3, b)):
            for group in line["flushed"]:
                for page in group:
                    self._of(page)[side] += 1

    def _of(self, page: int) -> list[int]:
        return self.pages.setdefault(page, [0, 0, 0, 0])

    def largest(self) -> tuple[PageShare, ...]:
        def weight(item: tuple[int, list[int]]) -> tuple[int, int, int]:
            page, (only_a, only_b, written_a, written_b) = item
            return -abs(only_a - only_b), -abs(written_a - written_b), page

        chosen = sorted(self.pages.items(), key=weight)[:MOST_PAGES]
        return tuple(PageShare(page, *counts) for page, counts in chosen)


def _shares(both: Results, drive: Device | None) -> Iterator[Share]:
    """Differences, in the order of cause and effect."""
    a, b = both

    def counted(what: str, name: str) -> Share:
        return Share(what, "count", float(a[name] or 0), float(b[name] or 0))

    hits = [float(r["accesses"] or 0) - (r.misses or 0) for r in (a, b)]
    yield Share("hits", "count", *hits)
    dirty = [float(r.counters["evictions"] - r.counters["clean_evictions"]) for r in (a, b)]
    yield Share("dirty victims", "count", *dirty)
    yield counted("pages written to flash", "physical_writes")
    if a[WRITES] is not None and b[WRITES] is not None:
        # A policy that puts writes off saves them nowhere else.
        pending = [float(r[WRITES] or 0) - float(r["physical_writes"] or 0) for r in (a, b)]
        yield Share("change of pending writes", "count", *pending)
        yield counted("flash writes, pending included", WRITES)
    if drive is not None:
        yield counted("GC runs", "gc_runs")
        yield counted("erases", "erases")
        yield from _times([run.timing or {} for run in both], drive)
    elif a["cost"] is not None:
        cost = a.config["cost"]
        for what, name, each in (
            ("cost of reads", "physical_reads", cost["read"]),
            ("cost of writes", WRITES, cost["write"]),
        ):
            yield Share(what, "cost", float(a[name] or 0) * each, float(b[name] or 0) * each)
        yield Share("cost", "cost", float(a["cost"]), float(b["cost"] or 0))


def _times(timings: list[Mapping[str, Any]], drive: Device) -> Iterator[Share]:
    """The work of the device's units by purpose, and the total wait of requests."""
    device = drive.record["device"]
    read, program = (sum(device[key]) / len(device[key]) for key in ("read_ns", "program_ns"))
    counts = [timing["counters"] for timing in timings]
    busy = [float(sum(c["unit_busy_ns"])) for c in counts]
    reads = [c["flash_reads"] * read for c in counts]
    programs = [c["flash_programs"] * program for c in counts]
    rest = [t - r - p for t, r, p in zip(busy, reads, programs, strict=True)]
    waited = [float(c["read_response_ns_sum"] + c["write_response_ns_sum"]) for c in counts]
    yield Share("flash time of misses", "ns", *reads)
    yield Share("flash time of destages", "ns", *programs)
    yield Share("flash time of GC, transfers, other", "ns", *rest)
    yield Share("flash time of all units", "ns", *busy)
    yield Share("response time of all requests", "ns", *waited)
