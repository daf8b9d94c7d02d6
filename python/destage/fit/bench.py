"""A simulated SSD over depth, jobs, length and pattern: its data sheet (`docs/spec/fit.md` 17)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from destage.base.errors import UsageError
from destage.base.io.extras import need_extra
from destage.base.io.names import path_of, printable
from destage.fit.fio import Measured, read_fio
from destage.fit.miniature import LARGE_PAGES, miniature
from destage.fit.model import measured
from destage.fit.probing import play
from destage.lab.options import ProgressCallback
from destage.lab.ssd import Device, DeviceLike, open_device, restored
from destage.model.provenance import document
from destage.model.words import plain, size
from destage.show.charts.figures import Figures, rows_text

if TYPE_CHECKING:
    from altair import LayerChart

__all__ = ["PATTERNS", "STATES", "Bench", "BenchPlots", "BenchPoint", "bench_device"]

#: Share of reads, percent (None: as asked for), and whether addresses are random.
PATTERNS: dict[str, tuple[int | None, bool]] = {
    "randread": (100, True),
    "randwrite": (0, True),
    "read": (100, False),
    "write": (0, False),
    "randrw": (None, True),
}
STATES = ("fresh", "steady")
BLOCKS = (4 << 10, 128 << 10)
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)
#: Pages of a point, of which the first half does not count; and requests for each in flight.
PAGES, TURNS = 200_000, 8
#: A percentile needs so many requests beyond it.
BEYOND = 10


@dataclass(frozen=True)
class BenchPoint:
    """A pattern at one length, depth and number of jobs; unknown values are None."""

    device: str
    state: str
    """`fresh` or `steady`; `measured` for a point of a real device."""
    rw: str
    block_bytes: int
    depth: int
    """Requests in flight of each job."""
    jobs: int
    iops: float
    """Requests a second, by Little's law."""
    mean_ns: float
    p99_ns: float | None
    p9999_ns: float | None
    waf: float | None
    """Bytes programmed over bytes that the host wrote."""
    erases: int | None
    """Blocks erased while it was measured."""
    requests: int

    @property
    def in_flight(self) -> int:
        """Requests in flight of all jobs."""
        return self.depth * self.jobs

    @property
    def mb_per_s(self) -> float:
        """Million bytes a second."""
        return self.iops * self.block_bytes / 1e6

    @property
    def data(self) -> dict[str, Any]:
        """As JSON and CSV have it."""
        return {**asdict(self), "mb_per_s": self.mb_per_s}


@dataclass(frozen=True)
class Bench:
    """Results of `bench_device`: every point, and warnings."""

    points: tuple[BenchPoint, ...]
    warnings: tuple[str, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        points = [point.data for point in self.points]
        content = {"points": points, "warnings": list(self.warnings)}
        return document("devices_bench", content)

    def csv(self) -> str:
        """One row a point."""
        return rows_text([point.data for point in self.points])

    @property
    def plot(self) -> BenchPlots:
        """Its charts: `bench.plot.save("figures", width="3.3in")`."""
        return BenchPlots(self)


def bench_device(
    devices: DeviceLike | Sequence[DeviceLike],
    *,
    rw: Sequence[str] | None = None,
    block_bytes: Sequence[int] | None = None,
    depth: Sequence[int] | None = None,
    jobs: Sequence[int] | None = None,
    state: Sequence[str] = STATES,
    read_percent: int = 70,
    requests: int | None = None,
    full: bool = False,
    against: Sequence[str | os.PathLike[str]] = (),
    where: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
) -> Bench:
    """Measure simulated SSDs as fio measures real ones: rates, latencies and WAF of a grid.

    Parameters:
        devices: presets, files, or `Device`s.
        rw: fio's patterns, of `PATTERNS`; by default all.
        block_bytes: lengths of a request; 4 KiB and 128 KiB.
        depth: requests in flight of each job, 1..65536; powers of two up to 128.
        jobs: jobs at once; 1.
        state: `fresh`: empty, or written once in order where something is read; `steady`: after
            random writes until the state is steady (`precondition = "steady"`), before writes that
            follow each other after every address was written in order twice.
        read_percent: share of reads of `randrw`.
        requests: counted requests of a point; by default as many as 100,000 pages. As many before
            them do not count.
        full: play a device of more than 2^22 raw pages as it is, not as a miniature.
        against: fio's results, or a grid as CSV, of a real device: its points stand beside those
            that are simulated. Its points then give the axes that are not given.
        where: rows of that CSV, by column.

    Raises `UsageError` for an axis that does not fit, `DataError` and `MissingFile`.
    """
    given = [devices] if isinstance(devices, (str, os.PathLike, Device, Mapping)) else devices
    drives = [one if isinstance(one, Device) else open_device(one) for one in given]
    if not drives:
        raise UsageError("expected at least one device")
    if where and not against:
        raise UsageError("where= chooses rows of against=, which is missing")
    real = _real(against, where)
    axes = _axes(real, rw, block_bytes, depth, jobs)
    _check(axes, state, read_percent, requests)
    mixed = read_percent if "randrw" in axes["rw"] else None
    plans = [
        _Plan(drive, how, pattern, length, deep, count, mixed, requests, full)
        for drive in drives
        for how in state
        for pattern, length, deep, count in product(*axes.values())
    ]
    points = _played(plans, progress)
    shown = [point for point in real if point.rw in axes["rw"]]
    return Bench((*points, *shown), tuple(_warnings(points, plans)))


def _played(plans: Sequence[_Plan], progress: ProgressCallback | None) -> list[BenchPoint]:
    points: list[BenchPoint] = []
    # Points that begin in the same state share the device, which is filled once.
    mounted = {plan.record: restored(plan.record) for plan in plans}
    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        for point in pool.map(lambda plan: plan.play(mounted[plan.record]), plans):
            points.append(point)
            if progress is not None:
                progress(len(points), len(plans), "measuring")
    return points


def _real(
    against: Sequence[str | os.PathLike[str]], where: Mapping[str, str] | None
) -> list[BenchPoint]:
    """The points of a real device."""
    if not against:
        return []
    paths = [path_of(os.fspath(path)) for path in against]
    made = read_fio(paths, needs_reads=False, where=where)
    steps = [*made.steps.values(), *made.grid["read"], *made.grid["write"]]
    name = printable(os.path.basename(paths[0]))
    found = [_measured(step, name) for step in steps if step.rw in PATTERNS]
    if not found:
        raise UsageError(f"{name} has no step of {', '.join(PATTERNS)}")
    return found


def _measured(step: Measured, name: str) -> BenchPoint:
    side = step.direction
    return BenchPoint(
        device=name,
        state="measured",
        rw=step.rw,
        block_bytes=step.block_bytes,
        depth=step.depth,
        jobs=step.numjobs,
        iops=step.rate,
        mean_ns=step.mean_ns,
        p99_ns=side.percentiles.get(99.0),
        p9999_ns=side.percentiles.get(99.99),
        waf=None,
        erases=None,
        requests=side.requests,
    )


#: Requests in flight of a job, and jobs: as many as a queue of NVMe has.
MOST_IN_FLIGHT = 65_536

Axes = dict[str, Sequence[Any]]


def _axes(
    real: Sequence[BenchPoint],
    rw: Sequence[str] | None,
    block_bytes: Sequence[int] | None,
    depth: Sequence[int] | None,
    jobs: Sequence[int] | None,
) -> Axes:
    """The requested axes, else the real device's, else the defaults."""
    given: dict[str, tuple[Sequence[Any] | None, Sequence[Any]]] = {
        "rw": (rw, tuple(PATTERNS)),
        "block_bytes": (block_bytes, BLOCKS),
        "depth": (depth, DEPTHS),
        "jobs": (jobs, (1,)),
    }
    axes: Axes = {}
    for name, (asked, usual) in given.items():
        there = sorted({getattr(point, name) for point in real})
        axes[name] = list(dict.fromkeys(asked if asked is not None else there or usual))
    return axes


def _check(axes: Axes, state: Sequence[str], read_percent: int, requests: int | None) -> None:
    for name, values in axes.items():
        if not values:
            raise UsageError(f"{name}: expected at least one value")
        if name == "rw":
            continue
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name}: expected whole numbers of at least 1, found {value!r}")
            if name in ("depth", "jobs") and value > MOST_IN_FLIGHT:
                raise UsageError(f"{name}: expected at most {MOST_IN_FLIGHT}, found {value}")
    for known, name, found in ((PATTERNS, "rw", axes["rw"]), (STATES, "state", state)):
        if not found or any(one not in known for one in found):
            raise UsageError(f"{name}: expected {', '.join(known)}, found {', '.join(found)!r}")
    if not 1 <= read_percent <= 99:
        raise UsageError(f"read_percent: expected 1 to 99, found {read_percent}")
    if requests is not None and requests < 1:
        raise UsageError(f"requests: expected at least 1, found {requests}")


@dataclass(frozen=True)
class _Plan:
    """A point before it is measured."""

    drive: Device
    state: str
    rw: str
    block_bytes: int
    depth: int
    jobs: int
    read_percent: int | None
    requests: int | None
    full: bool

    @cached_property
    def step(self) -> dict[str, Any]:
        """The step as the core runs it."""
        keys = self._keys
        share, random = PATTERNS[self.rw]
        pages = -(-self.block_bytes // int(keys["page_bytes"]))
        most = TURNS * self.depth * self.jobs
        counted = self.requests or max(most, PAGES // 2 // pages)
        uncounted = max(most, counted)
        capacity = int(keys["logical_pages"]) * int(keys["page_bytes"])
        region = capacity // self.block_bytes * self.block_bytes
        if region // self.block_bytes < self.jobs:
            raise UsageError(
                f"block_bytes: {self.drive.name} has {plain(size(capacity))}: expected a block for"
                f" each of {self.jobs} jobs, found {self.block_bytes}"
            )
        return {
            "seed": 1,
            "requests": counted + uncounted,
            "uncounted": uncounted,
            "depth": self.depth,
            "jobs": self.jobs,
            "read_percent": self.read_percent if share is None else share,
            "random": [random, random],
            "block_bytes": self.block_bytes,
            "offset_bytes": 0,
            "size_bytes": region,
        }

    @cached_property
    def _keys(self) -> dict[str, Any]:
        keys: dict[str, Any] = json.loads(json.dumps(self.drive.record["device"]))
        if keys["sched"] != "fcfs":
            raise UsageError(
                f"{self.drive.name} has sched = {keys['sched']}: expected fcfs, since requests in"
                " flight are a closed loop"
            )
        if self.is_small:
            keys = miniature(keys)
        keys["precondition_writes"] = 0
        if self.state == "steady":
            keys["precondition"] = "sequential" if self.rw == "write" else "steady"
        else:
            keys["precondition"] = "none" if PATTERNS[self.rw][0] == 0 else "sequential"
        return keys

    @property
    def is_small(self) -> bool:
        """Whether a miniature is played."""
        return not self.full and int(self.drive.size["raw_pages"]) > LARGE_PAGES

    @cached_property
    def record(self) -> str:
        """The device in the state in which the point begins, as JSON."""
        return json.dumps({**self.drive.record, "device": self._keys})

    def _before(self) -> list[dict[str, Any]]:
        """Steady writes that follow each other come after a whole round of them."""
        if self.state == "fresh" or self.rw != "write":
            return []
        region = self.step["size_bytes"]
        block = min(region, max(self.block_bytes, 128 << 10))
        again = {"depth": 32, "jobs": 1, "block_bytes": block, "uncounted": 0}
        again |= {"size_bytes": region // block * block, "requests": region // block}
        return [{**self.step, **again}]

    def play(self, device: Device) -> BenchPoint:
        """Measure it."""
        *_, one = play(device, [*self._before(), self.step])
        step = {**self.step, "depth": self.depth * self.jobs}
        seen = measured(step, one)
        wrote = one["write"]["bytes"]
        programmed = one["programs"] * int(self._keys["page_bytes"])
        return BenchPoint(
            device=self.drive.name,
            state=self.state,
            rw=self.rw,
            block_bytes=self.block_bytes,
            depth=self.depth,
            jobs=self.jobs,
            iops=seen.rate,
            mean_ns=seen.mean_ns,
            p99_ns=seen.p99_ns if seen.requests >= 100 * BEYOND else None,
            p9999_ns=seen.p9999_ns if seen.requests >= 10_000 * BEYOND else None,
            waf=programmed / wrote if wrote else None,
            erases=one["erases"],
            requests=one["read"]["requests"] + one["write"]["requests"],
        )


def _warnings(points: Sequence[BenchPoint], plans: Sequence[_Plan]) -> Iterable[str]:
    """Warnings of points without a steady state."""
    for device in dict.fromkeys(point.device for point in points):
        idle = [
            f"{point.rw} of {plain(size(point.block_bytes))}"
            for point in points
            if (point.device, point.state, point.erases) == (device, "steady", 0)
            and point.rw in ("randwrite", "randrw", "write")
        ]
        if idle:
            named = ", ".join(dict.fromkeys(idle))
            yield (
                f"{device}, steady: no block was erased while {named} was measured:"
                " write more (--requests N)"
            )
    for name in dict.fromkeys(plan.drive.name for plan in plans if plan.is_small):
        yield f"{name} was played with fewer blocks and the same effective over-provisioning"


class _Chart(NamedTuple):
    """A number over requests in flight."""

    name: str
    field: str
    title: str
    scale: float
    """The divisor."""
    is_ratio: bool = False
    """Its axis is linear and begins at 0."""


CHARTS = (
    _Chart("iops", "iops", "Requests a second", 1.0),
    _Chart("mean", "mean_ns", "Mean latency (µs)", 1e3),
    _Chart("p99", "p99_ns", "99th percentile (µs)", 1e3),
    _Chart("p9999", "p9999_ns", "99.99th percentile (µs)", 1e3),
    _Chart("waf", "waf", "Write amplification", 1.0, is_ratio=True),
)


class BenchPlots(Figures):
    """A chart for each number, pattern and length: a line for each device, state and jobs."""

    def __init__(self, bench: Bench) -> None:
        """Take the points."""
        self._bench = bench

    def names(self) -> list[str]:
        """`iops-randread-4KiB` and so on, those with more than one point on a line."""
        return [name for name in self._names if len({row["x"] for row in self._rows(name)}) > 1]

    def title(self, name: str) -> str:
        """Title of its chart: `Requests a second, randread of 4 KiB`."""
        chart, rw, block = self._parts(name)
        return f"{chart.title.removesuffix(' (µs)')}, {rw} of {plain(size(block))}"

    def __call__(self, name: str) -> LayerChart:
        """Draw one of `names()`. Raises `UsageError` if there is no such chart."""
        need_extra("drawing")
        if name not in self.names():
            raise UsageError(f"there is no chart {name!r}; there are {', '.join(self.names())}")
        from destage.show.charts.depth import over_chart

        kind = self._parts(name)[0]
        chart: LayerChart = over_chart(
            self._rows(name),
            name,
            ("Requests in flight", kind.title),
            self.title(name),
            from_zero=kind.is_ratio,
        )
        return chart

    def _parts(self, name: str) -> tuple[_Chart, str, int]:
        chart, (rw, block) = self._names[name]
        return chart, rw, block

    @cached_property
    def _names(self) -> dict[str, tuple[_Chart, tuple[str, int]]]:
        kinds = dict.fromkeys((point.rw, point.block_bytes) for point in self._bench.points)
        return {
            f"{chart.name}-{rw}-{plain(size(block)).replace(' ', '')}": (chart, (rw, block))
            for rw, block in kinds
            for chart in CHARTS
        }

    def _rows(self, name: str) -> list[dict[str, Any]]:
        chart, rw, block = self._parts(name)
        several = len({point.jobs for point in self._bench.points}) > 1
        rows = []
        for point in self._bench.points:
            value = getattr(point, chart.field)
            if (point.rw, point.block_bytes) == (rw, block) and value:
                jobs = f", {point.jobs} jobs" if several and point.jobs > 1 else ""
                row = {"line": f"{point.device}{jobs}", "kind": point.state}
                rows.append({**row, "x": point.in_flight, "y": value / chart.scale})
        return rows

    def _spec(self, name: str) -> dict[str, Any]:
        spec: dict[str, Any] = self(name).to_dict()
        return spec

    def _csv(self, name: str) -> str:
        return rows_text(self._rows(name))
