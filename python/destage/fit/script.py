"""The measurement script: a fio job file, step by step (`docs/spec/fit.md` 3)."""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from destage.base.errors import DataError, MissingFile, UsageError
from destage.base.io.files import SETTINGS_BYTES, read_text
from destage.base.io.names import printable
from destage.model.words import number, plain, size

__all__ = ["BATCH", "Job", "fio_size", "fit_script", "jobs_of", "read_script", "rounded", "script"]

MIB, KIB = 1 << 20, 1 << 10
PAGE = 4096
#: The capacity is a multiple of this, and at least `SMALLEST`.
GRAIN, SMALLEST = 64 * MIB, 256 * MIB
#: Writes that are issued together.
BATCH = 8
#: Ranges of the reads that show a map cache: the capacity over each of these.
RANGES = tuple(1 << power for power in range(10, -1, -1))

#: Options of every job.
GLOBAL: dict[str, str] = {
    "direct": "1",
    "ioengine": "libaio",
    "bs": "4k",
    "thread": "1",
    "group_reporting": "1",
    "norandommap": "1",
    "randrepeat": "1",
    "refill_buffers": "1",
    "lat_percentiles": "1",
    "clat_percentiles": "1",
    "percentile_list": "50:90:99:99.9:99.99:100",
}

#: What each group of steps is for, by the beginning of its names.
GROUPS = {
    "write-qd1": "time of one write: firmware, and whether there is a write buffer",
    "fill": "program time and SLC cache, from an empty device",
    "overwrite": "erase time",
    "burst": "write buffer",
    "read-qd1": "time of one read",
    "read-bs": "link",
    "read-qd": "depth curve",
    "read-stride": "units, stripe and read time",
    "read-batch": "command processor",
    "tail-erase": "pages of an erase block",
    "uniform": "over-provisioning",
    "tail-collect": "GC under reads",
    "zones80": "GC policy: 80 % of the writes to 20 % of the addresses",
    "zones95": "GC policy: 95 % of the writes to 5 % of the addresses",
    "mix": "reads and writes together: not fitted, shown",
    "read-again": "the first read step again: throttling",
    "write-batch": "command processor: writes",
    "read-range": "map cache: reads over growing ranges, each once before it is measured",
}


@dataclass(frozen=True)
class Job:
    """One step: its name and its options beyond the global ones."""

    name: str
    options: Mapping[str, str]


def rounded(capacity: int) -> int:
    """C: a capacity down to a multiple of 64 MiB. Raises `UsageError` below 256 MiB."""
    if capacity < SMALLEST:
        raise UsageError(f"a capacity of {plain(size(capacity))}: expected at least 256 MiB")
    return capacity // GRAIN * GRAIN


def _job(name: str, rw: str, **options: object) -> Job:
    return Job(name, {"rw": rw, **{key: str(value) for key, value in options.items()}})


def _reads(capacity: int) -> Iterator[Job]:
    yield _job("read-qd1", "randread", iodepth=1, number_ios=100_000, startdelay=10)
    for kib in (8, 16, 32, 64, 128, 256, 512, 1024):
        yield _job(f"read-bs{kib}", "randread", bs=f"{kib}k", iodepth=1, number_ios=5000)
    for depth in (2, 4, 8, 16, 32, 64, 128, 256):
        yield _job(f"read-qd{depth}", "randread", iodepth=depth, number_ios=200_000)
    for stride in (*range(1, 65), *range(68, 257, 4)):
        count = min(20_000, capacity // (PAGE * stride))
        if count >= 1000:
            yield _job(f"read-stride-{stride}", _strided(stride), iodepth=8, number_ios=count)
    for stride in (1, 2, 4, 8, 16):
        for batch in (2, 4, 8):
            yield _job(
                f"read-batch-{stride}x{batch}",
                _strided(stride),
                iodepth=batch,
                iodepth_batch_submit=batch,
                iodepth_batch_complete_min=batch,
                iodepth_batch_complete_max=batch,
                number_ios=2000 * batch,
            )


def _ranges(capacity: int) -> Iterator[Job]:
    for share in RANGES:
        size = fio_size(capacity // share // PAGE * PAGE)
        for name, depth, count in (("read-range-warm", 32, 100_000), ("read-range", 1, 10_000)):
            # More requests than the range has pages.
            sizes = {"size": size, "io_size": fio_size(count * PAGE), "number_ios": count}
            is_first = share == RANGES[0] and depth > 1
            delay = {"startdelay": 10} if is_first else {}
            yield _job(f"{name}-{share}", "randread", iodepth=depth, **sizes, **delay)


def fio_size(count: int) -> str:
    """Bytes as fio takes them."""
    return f"{count // MIB}m" if count % MIB == 0 else f"{count // KIB}k"


def _strided(stride: int) -> str:
    return "read" if stride == 1 else f"read:{4 * (stride - 1)}k"


def _sequential(name: str, capacity: int) -> Iterator[Job]:
    half = fio_size(capacity // 2)
    common = {"bs": "128k", "iodepth": 8}
    yield _job(f"{name}-1", "write", **common, offset=0, size=half, startdelay=10)
    yield _job(f"{name}-2", "write", **common, offset=half, size=half)


def _random(name: str, capacity: int, **options: object) -> Iterator[Job]:
    half = fio_size(capacity // 2)
    for part in range(1, 9):
        yield _job(f"{name}-{part}", "randwrite", iodepth=32, io_size=half, **options)


def jobs_of(capacity: int, *, read_only: bool = False, collector: bool = True) -> list[Job]:
    """The steps for a device of this capacity (C), in order."""
    again = _job("read-again", "randread", iodepth=1, number_ios=100_000)
    if read_only:
        return [*_reads(capacity), again, *_ranges(capacity)]
    half = capacity // 2
    qd1 = {"thinktime": 20_000, "thinktime_blocks": 1, "number_ios": 500}
    jobs = [_job("write-qd1", "write", iodepth=1, **qd1)]
    jobs += [*_sequential("fill", capacity), *_sequential("overwrite", capacity)]
    for mib in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        if mib * MIB <= half:
            burst = {"bs": "128k", "iodepth": 1, "offset": fio_size(half), "size": f"{mib}m"}
            jobs.append(_job(f"burst-{mib}", "write", **burst, startdelay=10))
    jobs += _reads(capacity)
    tail = {"rwmixread": 95, "iodepth": 4, "number_ios": 400_000}
    jobs.append(_job("tail-erase", "randrw", percentage_random="100,0", **tail))
    jobs += _random("uniform", capacity)
    jobs.append(_job("tail-collect", "randrw", **tail))
    if collector:
        jobs += _random("zones80", capacity, random_distribution="zoned:80/20:20/80")
        jobs += _random("zones95", capacity, random_distribution="zoned:95/5:5/95")
    for depth in (8, 32):
        mix = {"rwmixread": 70, "iodepth": depth, "number_ios": 400_000}
        jobs.append(_job(f"mix-qd{depth}", "randrw", **mix))
    batch = {
        "iodepth": BATCH,
        "iodepth_batch_submit": BATCH,
        "iodepth_batch_complete_min": BATCH,
        "iodepth_batch_complete_max": BATCH,
        "thinktime": 20_000,
        "thinktime_blocks": BATCH,
        "number_ios": 100 * BATCH,
        "startdelay": 10,
    }
    writes = _job(f"write-batch-{BATCH}", "write", **batch)
    return [*jobs, again, writes, *_ranges(capacity)]


def _written(jobs: list[Job], capacity: int) -> tuple[float, float]:
    """Sequential and random writes, in multiples of the capacity."""
    names = [job.name for job in jobs]
    random = sum(0.5 for name in names if name.startswith(("uniform", "zones")))
    return 2.0 if "fill-1" in names else 0.0, random


def script(
    capacity: int,
    target: str | None = None,
    *,
    read_only: bool = False,
    collector: bool = True,
    engine: str = "libaio",
    expect_mb_per_s: tuple[float, float] = (2000.0, 400.0),
) -> str:
    """The job file for a device of this many bytes."""
    capacity = rounded(capacity)
    jobs = jobs_of(capacity, read_only=read_only, collector=collector)
    device = target or "${TARGET}"
    sequential, random = _written(jobs, capacity)
    lines = []
    if not read_only:
        lines += [
            f"# THIS JOB FILE DESTROYS ALL DATA ON {device}."
            f" It writes the device {sequential + random:.0f} times over.",
            f"# Run  blkdiscard {device}  first, then"
            "  fio --output-format=json+ --output=fit.json fit.fio",
        ]
    else:
        lines.append("# Reads only. Run  fio --output-format=json+ --output=fit.json fit.fio")
    per_s = [rate * 1e6 for rate in expect_mb_per_s]
    hours = capacity * (sequential / per_s[0] + random / per_s[1]) / 3600 + 0.2
    written = capacity * (sequential + random)
    lines += [
        f"# To be written: {sequential + random:.0f} x {plain(size(capacity))}"
        f" = {plain(size(written))}. Time: about {hours:.1f} h",
        f"# at {number(expect_mb_per_s[0])} MB/s in order and {number(expect_mb_per_s[1])} MB/s"
        " at random.",
        "",
        "[global]",
        f"filename={device}",
    ]
    common = {**GLOBAL, "ioengine": engine, "size": fio_size(capacity)}
    lines += [f"{key}={value}" for key, value in common.items()]
    if target is None:
        lines.append("# filename is taken from the environment: TARGET=/dev/X fio ..")
    previous = ""
    for index, job in enumerate(jobs, 1):
        group = _group(job.name)
        if group != previous:
            lines += ["", f"# {group}: {GROUPS[group]}"]
            previous = group
        lines += [f"[{job.name}]", "stonewall", f"randseed={index}"]
        lines += [f"{key}={value}" for key, value in job.options.items()]
        if job.name.startswith("read-"):
            lines.append("runtime=60")
    return "\n".join(lines) + "\n"


def _group(name: str) -> str:
    """The longest group that a name begins with."""
    return max((group for group in GROUPS if name.startswith(group)), key=len)


def fit_script(
    capacity: int | None = None,
    target: str | None = None,
    *,
    read_only: bool = False,
    collector: bool = True,
    engine: str = "libaio",
    expect_mb_per_s: tuple[float, float] = (2000.0, 400.0),
) -> str:
    """Return the fio job file whose results `fit` reads. Destage never runs it.

    Parameters:
        capacity: bytes of the device; by default the size of `target`, a block device.
        read_only: only the steps that write nothing.
        collector: with the steps that distinguish garbage collectors.
        engine: fio's `ioengine`: `libaio` or `io_uring`.
        expect_mb_per_s: sequential and random write rates, for the time in the header.
    """
    if engine not in ("libaio", "io_uring"):
        raise UsageError(f"engine: expected libaio or io_uring, found {engine!r}")
    if not all(math.isfinite(rate) and rate > 0 for rate in expect_mb_per_s):
        raise UsageError(f"expect_mb_per_s: expected rates above 0, found {expect_mb_per_s}")
    if capacity is None:
        if target is None:
            raise UsageError("expected the capacity of the device (--capacity) or the --target")
        capacity = _size_of(target)
    return script(
        capacity,
        target,
        read_only=read_only,
        collector=collector,
        engine=engine,
        expect_mb_per_s=expect_mb_per_s,
    )


def _size_of(target: str) -> int:
    try:
        mode = os.stat(target).st_mode
        if not stat.S_ISBLK(mode) and not stat.S_ISREG(mode):
            raise MissingFile(f"{printable(target)}: expected a block device or a file")
        descriptor = os.open(target, os.O_RDONLY)
        try:
            return os.lseek(descriptor, 0, os.SEEK_END)
        finally:
            os.close(descriptor)
    except MissingFile:
        raise
    except OSError as e:
        raise MissingFile(f"{printable(target)}: {e.strerror or e}") from e


_SECTION = re.compile(r"\[(?P<name>[^\]]+)\]$")


def read_script(path: str) -> tuple[dict[str, str], list[Job]]:
    """The global options and the jobs of a job file. Raises `DataError` for another file."""
    common: dict[str, str] = {}
    jobs: list[Job] = []
    current: dict[str, str] | None = None
    text = read_text(path, "a fio job file", SETTINGS_BYTES).decode("utf-8", "replace")
    for at, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].partition(";")[0].strip()
        if not line:
            continue
        if found := _SECTION.match(line):
            current = common if found["name"] == "global" else {}
            if current is not common:
                jobs.append(Job(found["name"], current))
            continue
        if current is None:
            raise DataError(f"{printable(path)}:{at}: expected [global] or [a job], found {line!r}")
        key, _, value = line.partition("=")
        current[key.strip()] = value.strip() or "1"
    if not jobs:
        raise DataError(f"{printable(path)}: expected a fio job file with at least one job")
    return common, jobs
