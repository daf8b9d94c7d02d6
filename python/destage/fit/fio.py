"""fio's results as measured steps: JSON, normal output, a grid as CSV (`docs/spec/fit.md` 4)."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from destage.base.errors import DataError
from destage.base.io.files import read_text
from destage.base.io.names import printable, shown
from destage.fit.contradictions import (
    check_document,
    check_rates,
    last_document,
    why_no_latency,
)
from destage.fit.fiotext import is_text, json_of
from destage.fit.gridcsv import Point, chosen, is_grid, points
from destage.fit.probing import bytes_of

__all__ = ["Direction", "Measured", "Measurement", "measurement", "of_points", "read_fio"]

#: Steps with fewer requests are left out.
FEWEST, FEWEST_SMALL = 1000, 100
_NAMED = re.compile(
    r"(write-qd1|write-batch-\d+|fill-[12]|overwrite-[12]|burst-\d+|read-(qd|bs|stride-)\d+|read-range-(warm-)?\d+|read-batch-\d+x\d+"
    r"|tail-erase|tail-collect|uniform-[1-8]|zones(80|95)-[1-8]|mix-qd\d+|read-again)"
)
_GRID = {"randread": "read", "randwrite": "write"}


@dataclass(frozen=True)
class Direction:
    """Latencies of the reads or the writes of a step."""

    requests: int
    mean_ns: float
    stddev_ns: float
    percentiles: Mapping[float, float]
    bins: tuple[tuple[float, int], ...]

    @property
    def p9999_ns(self) -> float | None:
        """The 99.99th percentile, where it was measured."""
        return self.percentiles.get(99.99)

    @property
    def p99_ns(self) -> float | None:
        """The 99th percentile, where it was measured."""
        return self.percentiles.get(99.0)


@dataclass(frozen=True)
class Measured:
    """One job of fio."""

    #: The step's name; `grid` for a point of a grid.
    name: str
    job: str
    file: str
    rw: str
    depth: int
    numjobs: int
    block_bytes: int
    options: Mapping[str, str]
    read: Direction | None
    write: Direction | None
    level_percent: float | None
    order: int
    map_share: float = 1.0
    """Of the map in memory."""

    @property
    def direction(self) -> Direction:
        """The measured direction: reads, if the step has any."""
        chosen = self.write if self.rw in ("write", "randwrite") else self.read
        assert chosen is not None, "steps without a direction are not read"
        return chosen

    @property
    def in_flight(self) -> int:
        """n: requests in flight."""
        return self.depth * self.numjobs

    @property
    def mean_ns(self) -> float:
        """m."""
        return self.direction.mean_ns

    @property
    def rate(self) -> float:
        """X, requests a second, by Little's law. In a mixed step all requests count."""
        both = [d for d in (self.read, self.write) if d is not None and d.requests]
        total = sum(d.requests for d in both)
        mean = sum(d.requests * d.mean_ns for d in both) / total
        return self.in_flight * 1e9 / mean

    @property
    def error(self) -> float:
        """Relative error of the mean (section 8)."""
        one = self.direction
        if self.name.startswith(("burst-", "fill-", "overwrite-")):
            return 0.003  # their sum counts: fast and slow requests are no scatter
        spread = 2 * one.stddev_ns / (one.mean_ns * math.sqrt(one.requests)) if one.requests else 0
        return max(0.003, spread)


@dataclass
class Measurement:
    """All jobs of some files."""

    steps: dict[str, Measured]
    grid: dict[str, list[Measured]]
    capacity: int | None
    files: tuple[str, ...]
    fio_version: str
    date: str
    target: str
    warnings: list[str] = field(default_factory=list)
    not_used: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def get(self, name: str) -> Measured | None:
        """A step, if it was measured."""
        return self.steps.get(name)

    def series(self, prefix: str) -> dict[int, Measured]:
        """Steps of one group by the number in their names."""
        found = {}
        for name, step in self.steps.items():
            if name.startswith(prefix) and name[len(prefix) :].isdecimal():
                found[int(name[len(prefix) :])] = step
        return dict(sorted(found.items()))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def _direction(one: object, called: str) -> Direction | None:
    """The latencies of a direction; a field that is absent is absent, never 0."""
    if not isinstance(one, Mapping):
        return None
    requests = _number(one.get("total_ios"))
    if not requests:
        return None
    if "clat" in one or "lat" in one:
        raise DataError(f"{called}: fio 2 gives times in microseconds: expected fio 3 or newer")
    lat = one.get("lat_ns")
    clat = one.get("clat_ns")
    lat = lat if isinstance(lat, Mapping) else {}
    clat = clat if isinstance(clat, Mapping) else {}
    mean = _number(lat.get("mean"))
    if mean is None:
        slat = one.get("slat_ns")
        sent = _number(slat.get("mean")) if isinstance(slat, Mapping) else None
        done = _number(clat.get("mean"))
        if done is None:
            return None
        mean = done + (sent or 0.0)
    if mean <= 0:
        return None
    source = lat if lat.get("bins") or lat.get("percentile") else clat
    bins = _table(source.get("bins"), f"{called}: bins")
    return Direction(
        int(requests),
        mean,
        _number(lat.get("stddev", clat.get("stddev"))) or 0.0,
        _table(source.get("percentile"), f"{called}: percentile"),
        tuple(sorted((middle, int(count)) for middle, count in bins.items())),
    )


def _table(given: object, called: str) -> dict[float, float]:
    """A table of numbers by numbers, perhaps absent. Raises `DataError` for another one."""
    if not given:
        return {}
    found: dict[float, float | None] = {0.0: None}
    if isinstance(given, Mapping):
        with contextlib.suppress(ValueError):
            found = {float(key): _number(value) for key, value in given.items()}
    if any(value is None for value in found.values()):
        raise DataError(f"{called}: expected a table of numbers, found {shown(given)[:60]}")
    return {key: value for key, value in found.items() if value is not None}


def _level(job: Mapping[str, Any], depth: int) -> float | None:
    """Share of the requests at the class of the depth that was asked for, percent."""
    levels = job.get("iodepth_level")
    if not isinstance(levels, Mapping):
        return None
    own = 0.0
    for name, share in levels.items():
        digits = str(name).lstrip(">=")
        if not digits.isdecimal():
            continue
        least = int(digits)
        if least <= depth < 2 * least or (least == 64 and depth >= 64):
            own += _number(share) or 0.0
    return own


def _name_of(job: str, rw: str) -> str | None:
    """Which step a job is: by its name, else a point of a grid by its options."""
    if _NAMED.fullmatch(job):
        return job
    return "grid" if rw in _GRID else None


def _job(
    job: Mapping[str, Any], common: Mapping[str, Any], file: str, made: Measurement
) -> Measured | None:
    own = job.get("job options")
    given = {**common, **(own if isinstance(own, Mapping) else {})}
    options = {str(k): str(v) for k, v in given.items()}
    called = str(job.get("jobname", "?"))
    where = f"{printable(file)}: step {printable(called)}"
    try:
        rw, _, _ = options.get("rw", options.get("readwrite", "read")).partition(":")
        block = bytes_of(options.get("bs", options.get("blocksize", "4k")).split(",")[0])
        depth, jobs = int(options.get("iodepth", "1")), int(options.get("numjobs", "1"))
    except (DataError, ValueError) as e:
        raise DataError(f"{where}: {e}") from e
    name = _name_of(called, rw)
    if name is None:
        made.not_used.append(called)
        return None
    if job.get("error") not in (0, None):
        made.left_out[called] = f"fio reports error {job['error']}"
        return None
    read, write = (_direction(job.get(d), where) for d in ("read", "write"))
    measures = write if rw in ("write", "randwrite") else read
    if measures is None:
        made.left_out[called] = why_no_latency(options)
        return None
    level = _level(job, depth)
    order = len(made.names)
    return Measured(name, called, file, rw, depth, jobs, block, options, read, write, level, order)


def _of_point(point: Point, order: int) -> Measured:
    """A row of a grid as CSV: its rate, by Little's law as a mean latency."""
    mean = point.depth * point.numjobs * 1e9 / point.iops
    # How many requests it had is not stated: a mean of one direction has no weight.
    one = Direction(1, mean, 0.0, point.percentiles, ())
    direction = _GRID[point.rw]
    job = f"{point.rw} {point.block_bytes // 1024}k {point.depth} x {point.numjobs}"
    if point.map_share < 1:
        job += f", map cache {point.map_cache_kib} KiB"
    return Measured(
        name="grid",
        job=job,
        file=point.path,
        rw=point.rw,
        depth=point.depth,
        numjobs=point.numjobs,
        block_bytes=point.block_bytes,
        options=point.options,
        read=one if direction == "read" else None,
        write=one if direction == "write" else None,
        level_percent=None,
        order=order,
        map_share=point.map_share,
    )


def measurement(files: Sequence[str]) -> Measurement:
    """No steps yet, of these files."""
    return Measurement({}, {"read": [], "write": []}, None, tuple(files), "", "", "")


def of_points(rows: Iterable[Point], made: Measurement) -> Measurement:
    """A measurement with these rows of a grid as CSV added to it."""
    for row in rows:
        _take(made, _of_point(row, len(made.names)))
    return made


def _mean_of(one: Measured, other: Measured) -> Measured:
    """Two jobs of one step: the mean of their logs."""
    a, b = one.direction, other.direction
    mean = math.sqrt(a.mean_ns * b.mean_ns)
    merged = Direction(a.requests, mean, a.stddev_ns, a.percentiles, a.bins)
    side = {"write": merged} if one.rw in ("write", "randwrite") else {"read": merged}
    return Measured(**{**one.__dict__, **side})


def _fewest(name: str) -> int:
    if name.startswith(("read-bs", "write-qd1")):
        return FEWEST_SMALL
    # The size of these says how many there are.
    sized = ("fill-", "overwrite-", "burst-", "uniform-", "zones", "read-batch", "write-batch")
    return 1 if name.startswith(sized) else FEWEST


def _load(text: str, path: str, made: Measurement) -> Mapping[str, Any]:
    if is_text(text):
        return json_of(text, path)
    begin = text.find("{")
    if begin < 0:
        raise DataError(
            f"{printable(path)}: expected fio's JSON (--output-format=json+), its normal output,"
            " or a grid as CSV with the columns rw, iodepth, numjobs, iops"
        )
    documents: list[Any] = []
    while begin >= 0:
        try:
            one, end = json.JSONDecoder().raw_decode(text[begin:])
        except json.JSONDecodeError as e:
            if documents:  # the run was stopped while it wrote the next one
                made.warnings.append(
                    f"{printable(path)}: its last document (of fio --status-interval) is not"
                    " complete: the previous one, of a part of the run, is used"
                )
                break
            line = text[:begin].count("\n") + e.lineno
            raise DataError(f"{printable(path)}:{line}:{e.colno}: fio's JSON: {e.msg}") from e
        documents.append(one)
        begin = text.find("{", begin + end)
    data, warning = last_document(path, documents)
    made.warnings += [warning] if warning else []
    if isinstance(data, dict):
        check_document(path, data)
    if not isinstance(data, dict) or not isinstance(data.get("jobs"), list):
        raise DataError(f"{printable(path)}: expected fio's JSON with jobs")
    return data


def read_fio(
    paths: Sequence[str], *, needs_reads: bool = True, where: Mapping[str, str] | None = None
) -> Measurement:
    """Read fio's results in one or several files. Raises `DataError` and `MissingFile`.

    `where` has columns of a grid as CSV and the values that its rows must have there.
    """
    made = measurement(paths)
    too_short = []
    for path in paths:
        text = read_text(path, "fio's results").decode("utf-8", "replace")
        if is_grid(text):
            of_points(chosen(points(text, path), where or {}), made)
            continue
        data = _load(text, path, made)
        steps: list[tuple[str, float, int, Mapping[str, Any]]] = []
        version = str(data.get("fio version", ""))
        if version.startswith("fio-2"):
            raise DataError(f"{printable(path)}: {version}: expected fio 3 or newer")
        made.fio_version = made.fio_version or version
        made.date = made.date or str(data.get("time", ""))
        common = data.get("global options")
        common = common if isinstance(common, Mapping) else {}
        for job in data["jobs"]:
            one = _job(job, common, path, made) if isinstance(job, Mapping) else None
            if one is None:
                continue
            steps.append((one.name, one.rate, one.numjobs, job))
            if one.direction.requests < _fewest(one.name):
                made.left_out[one.job] = f"it has {one.direction.requests} requests"
                too_short.append(one)
                continue
            _take(made, one)
        check_rates(path, data, steps)
    if not needs_reads and any(True for _ in _all(made)):
        return made
    reads = [s for s in _all(made) if s.rw in ("read", "randread")]
    if not reads and any(s.rw in ("read", "randread") for s in too_short):
        raise DataError("every read step has fewer than 1,000 requests")
    if not reads and made.left_out:
        job, why = next(iter(made.left_out.items()))
        raise DataError(f"{printable(paths[0])}: no read step: {printable(job)}: {why}")
    if not reads and made.not_used:
        raise DataError(
            f"{printable(paths[0])}: no read step: {printable(made.not_used[0])} mixes reads and"
            " writes (rw), or is of no step: expected read-qd1 or rw=randread"
        )
    if not reads:
        raise DataError(f"{printable(paths[0])}: no read step: expected read-qd1 or random reads")
    return made


def _all(made: Measurement) -> Iterable[Measured]:
    yield from made.steps.values()
    yield from made.grid["read"]
    yield from made.grid["write"]


def _take(made: Measurement, one: Measured) -> None:
    made.names.append(one.job)
    made.target = made.target or one.options.get("filename", "")
    whole = one.options.get("size", "")
    if (
        made.capacity is None
        and re.fullmatch(r"\d+[kmgtKMGT]?", whole)
        and "offset" not in one.options
        and not one.name.startswith("read-range")  # whose size is that of the range
    ):
        made.capacity = bytes_of(whole)
    if one.name == "grid":
        made.grid[_GRID[one.rw]].append(one)
        return
    known = made.steps.get(one.name)
    if known is None:
        made.steps[one.name] = one
        return
    if abs(math.log(known.mean_ns / one.mean_ns)) > 0.1:
        change = 100 * abs(known.mean_ns / one.mean_ns - 1)
        made.warnings.append(f"step {one.name} was measured twice and differs by {change:.0f} %")
    made.steps[one.name] = _mean_of(known, one)
