"""Every policy behind every FTL, eviction wait and collector, and its distance from the optimum.

One device, one cache size for a million requests and proportionally less for fewer, some workloads,
generated ones with several seeds; hit ratios beside MIN's, and on short traces costs beside the
least possible ones (`offline`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from destage import _destage
from destage.base.errors import UsageError
from destage.experiment.experiment import Experiment
from destage.experiment.recipes import DriveRecipe, TraceRecipe
from destage.experiment.task import Entry, Question, Task
from destage.experiment.warmup import AUTO, measured_alike
from destage.lab.catalogue import PolicyInfo, policies
from destage.lab.options import ProgressCallback
from destage.lab.ssd import open_device
from destage.lab.traces import Trace, open_trace
from destage.model.metrics import BASELINE, ORACLE
from destage.questions.runs import compare, run
from destage.reproduce.claims import Head, Paper, RunSet
from destage.reproduce.document import command
from destage.reproduce.evaluation import Options, kept_in, loads_of
from destage.reproduce.findings import COMMON, UNPADDED
from destage.reproduce.load import Load, LoadOptions
from destage.reproduce.offline import Access, least_cost
from destage.reproduce.runs import Runner, entry_of
from destage.reproduce.scaling import scaled_size, with_keys
from destage.reproduce.workloads import Loads

__all__ = ["beyond", "page_accesses"]

#: The device: 16 GiB, full, in the midst of collecting. Requests come as fast as a queue of eight
#: lets them: open arrivals that one FTL stands would drown another.
DEVICE = "small"
QUEUE_DEPTH = 8
CACHE = "16MiB"
#: Workloads of the papers, mostly writing and mostly reading, and the recording that ships.
LOADS = ("hm_0", "Fin2")
RECORDING = "pgtpcb"
#: FTLs in the order of the table; `page-ideal` is an untimed yardstick. With DFTL's default of four
#: reserved blocks this full device runs full under a dozen policies: collecting a block whose pages
#: have their entries on as many translation pages takes more pages than it frees.
FTLS = {
    "page": "page",
    "dftl": "dftl[gc_reserve_blocks=16]",
    "bast": "bast",
    "fast": "fast",
}
#: Variants of the device, behind the FTL `page`: label and keys that differ from the preset. The
#: first of each axis is the preset itself, which is run behind every FTL.
WAITS = {"staged": "", "program": "evict_wait=program", "none": "evict_wait=none"}
COLLECTORS = {
    "greedy": "",
    "greedy, whole blocks": "gc_step_pages=0",
    "FIFO": "gc_victim=fifo",
    "cost-benefit": "gc_victim=cost-benefit;gc_stream=by-generation",
    "2R-FIFO": "gc_victim=2r-fifo",
}
#: Requests of a load at scale 1.
MOST_REQUESTS = 1_000_000
#: The exact optimum: page accesses, frames, and costs as ACR's two disks have them.
SHORT_ACCESSES = 600
MOST_SKIPPED = 100_000
SHORT_FRAMES = 16
COSTS = ((1, 2), (1, 118))
#: Numbers of a run in the tables.
NUMBERS = ("response_ns_mean", "response_ns_p99", "waf", "erases")
#: How long the bounds are improved.
STEPS, BRANCHES = 40, 12

#: The tables as JSON.
Json = dict[str, Any]


def beyond(
    options: Options,
    *,
    experiment: Experiment | None = None,
    progress: ProgressCallback | None = None,
) -> Json:
    """Run every policy over every FTL. Raises as `evaluate`."""
    loads, paper = loads_of(options), Paper(Head("beyond", "", "", "", ()), 1)
    chosen = [loads.load(name, paper) for name in LOADS]
    chosen += loads.recorded(RunSet("beyond", (), (), (), recordings=(RECORDING,)))
    with kept_in(experiment, options.jobs) as store:
        store = replace(store, progress=progress or store.progress)
        runner = Runner(paper, seeds=options.draws, experiment=store)
        tables = [_Table(load, list(_drawn(loads, load, options)), runner) for load in chosen]
        runner.do([task for one in tables for task in one.every()])
        return {
            "schema": 3,
            "version": _destage.VERSION,
            "command": command("beyond", options),
            "device": DEVICE,
            "queue_depth": QUEUE_DEPTH,
            "seeds": list(options.draws),
            "cache": CACHE,
            "ftls": FTLS,
            "waits": WAITS,
            "collectors": COLLECTORS,
            "aware": [p.name for p in policies() if _is_aware(p)],
            "tables": [one.rows() for one in tables],
            "optimum": [runner.answer(one.optimum) for one in tables],
        }


def _drawn(loads: Loads, load: Load, options: Options) -> Iterator[TraceRecipe]:
    """The workload, once for each seed, cut so that the whole table takes minutes."""
    most, drive = max(1000, round(MOST_REQUESTS * options.scale)), open_device(DEVICE)
    if load.paths:
        loads.check(load)
        given = {**load.options, "requests": min(most, load.options.get("requests", most))}
        yield loads.recipe(replace(load, options=given), options.seed, drive)
        return
    for seed in options.draws:
        yield loads.recipe(load, seed, drive, LoadOptions(most_requests=most))


#: Axis of the tables and its value.
_Place = tuple[str, str]


class _Table:
    """All policies over all FTLs on one workload, in all its draws."""

    def __init__(self, load: Load, traces: Sequence[TraceRecipe], runner: Runner) -> None:
        self.load, self.runner = load, runner
        self.trace, page_bytes = traces[0].open(), traces[0].page_bytes
        self.cache = scaled_size(CACHE, min(1.0, self.trace.requests / MOST_REQUESTS))
        names = [*(p.name for p in policies()), UNPADDED]
        self.varied = {p.name for p in policies() if _is_aware(p) or p.offline or _is_common(p)}
        self.entries: dict[str, Entry] = {n: entry_of(n, [self.cache], page_bytes) for n in names}
        self.draws = [self._tasks(trace) for trace in traces]
        first = next(iter(self.draws[0].values()))
        blank = replace(first, device=None, ftl=None, drive=None, queue_depth=None, options="{}")
        one = (entry_of("none", ["1p"], page_bytes),)
        self.optimum = replace(blank, entries=one, question=_OPTIMUM)

    def every(self) -> Iterator[Task]:
        """All tasks."""
        for tasks in self.draws:
            yield from tasks.values()
        yield self.optimum

    def _tasks(self, trace: TraceRecipe) -> dict[_Place, Task]:
        """The tasks of one draw."""
        tasks = {("ftls", ftl): self._behind(trace, ftl, "") for ftl in FTLS}
        for axis, values in (("waits", WAITS), ("collectors", COLLECTORS)):
            for label, keys in values.items():
                tasks[axis, label] = self._behind(trace, next(iter(FTLS)), keys)
        return dict(zip(tasks, measured_alike(list(tasks.values())), strict=True))

    def _behind(self, trace: TraceRecipe, ftl: str, keys: str) -> Task:
        """The policies in front of the device: all behind an FTL, fewer with other keys."""
        drive = open_device(with_keys(DEVICE, keys)).extended(trace.open().end_page)
        drive = open_device(drive.with_options(queue_depth=QUEUE_DEPTH), ftl=FTLS[ftl])
        return Task(
            trace_name=self.load.name,
            trace=trace,
            device=DEVICE,
            ftl=ftl,
            drive=DriveRecipe.of(drive, DEVICE),
            queue_depth=QUEUE_DEPTH,
            options="{}",
            seed=None,
            entries=tuple(e for n, e in self.entries.items() if not keys or n in self.varied),
        )

    def rows(self) -> Json:
        rows = [self._row(name, entry) for name, entry in self.entries.items()]
        best = next(row["hit_ratio"] for row in rows if row["policy"] == ORACLE) or 0.0
        for row in rows:
            row["of_min"] = (row["hit_ratio"] or 0.0) / best if best else None
        return {
            "load": self.load.name,
            "kind": self.load.kind,
            "title": self.load.title,
            "draws": len(self.draws),
            "requests": self.trace.requests,
            "warmup": _warmup(next(iter(self.draws[0].values()))),
            "cache": self.cache,
            "accesses": self.trace.accesses,
            "unique_pages": self.trace.unique_pages,
            "offline": [p.name for p in policies() if p.offline],
            "rows": rows,
        }

    def _row(self, name: str, entry: Entry) -> Json:
        """Row of a policy: means over the seeds, and the mean response time of each."""
        row: Json = {"policy": name, "hit_ratio": None, "ftls": {}, "waits": {}, "collectors": {}}
        for place, task in self.draws[0].items():
            if entry not in task.entries:
                continue
            axis, label = place
            try:
                runs = [self.runner.run(d[place], entry.policy, entry.sizes[0]) for d in self.draws]
            except UsageError as e:
                row[axis][label] = str(e)
                continue
            row[axis][label] = {
                key: _mean([getattr(one, key) for one in runs]) for key in NUMBERS
            } | {"response_ns_means": [one.response_ns_mean for one in runs]}
            # Hits hardly depend on the FTL; those over the first one are shown.
            if row["hit_ratio"] is None:
                row["hit_ratio"] = _mean([one.hit_ratio for one in runs])
        return row


def _mean(values: Sequence[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return fmean(found) if len(found) == len(values) else None


def _is_aware(policy: PolicyInfo) -> bool:
    """It asks the device, and is no policy around another: `ecr-over` around LRU is `ecr-e`."""
    return policy.needs_device and all(param.name != "base" for param in policy.params)


def _is_common(policy: PolicyInfo) -> bool:
    return policy.compared is not None or policy.name in COMMON


def _warmup(task: Task) -> int:
    """Requests until the cache is full, which are replayed and not measured."""
    return int(json.loads(task.options)["warmup"][AUTO]["requests"])


def page_accesses(trace: Trace, first: int = 0, most: int | None = None) -> list[Access]:
    """Return page accesses of a trace in order, as (writes, page): from `first`, at most `most`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.jsonl"
        run(trace, BASELINE, cache="1p", decisions=path)
        found: list[Access] = []
        with path.open(encoding="utf-8") as lines:
            for line in islice(lines, first, None if most is None else first + most):
                one = json.loads(line)
                found.append((one["op"] in ("w", "write"), int(one["page"])))
    return found


def _rewritten(heads: Sequence[Access], page_bytes: int) -> Trace:
    """The accesses as a trace of their own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "head.csv"
        lines = ["time,op,offset,length\n"]
        lines += [
            f"{k},{'w' if writes else 'r'},{page * page_bytes},{page_bytes}\n"
            for k, (writes, page) in enumerate(heads)
        ]
        path.write_text("".join(lines), encoding="utf-8")
        columns = {"time": "time", "op": "op", "offset": "offset", "length": "length"}
        return open_trace(
            path,
            format="csv",
            columns=columns,
            time_unit="ns",
            offset_unit="byte",
            length_unit="byte",
            op_read="r",
            op_write="w",
            page_size=page_bytes,
            cache=False,
        )


def _distance(task: Task, jobs: int, _progress: ProgressCallback | None) -> Json:
    """Costs of all policies on some accesses, beside the least possible."""
    trace = task.trace.open()
    # From the middle: many workloads begin by reading everything once.
    first = min(trace.accesses // 2, MOST_SKIPPED)
    heads = page_accesses(trace, first, SHORT_ACCESSES)
    short = _rewritten(heads, trace.page_bytes)
    names = [p.name for p in policies() if not p.needs_device]
    found = []
    for read, write in COSTS:
        best = least_cost(
            heads, SHORT_FRAMES, read=read, write=write, steps=STEPS, branches=BRANCHES
        )
        cost = {"read": read, "write": write}
        results = compare(short, names, cache=f"{SHORT_FRAMES}p", cost=cost, jobs=jobs)
        # As the least possible: without pending writes.
        costs = {
            name: (one.physical_reads or 0) * read + (one.physical_writes or 0) * write
            for name, one in zip(names, results, strict=True)
        }
        found.append({**cost, "least": best.low, "least_at_most": best.high, "costs": costs})
    counts = {"first": first, "accesses": len(heads), "frames": SHORT_FRAMES}
    return {"load": task.trace_name, **counts, "costs": found}


_OPTIMUM = Question(
    "optimum",
    json.dumps({"accesses": SHORT_ACCESSES, "steps": STEPS, "branches": BRANCHES}),
    _distance,
    lambda _task, _answer: {},
)
