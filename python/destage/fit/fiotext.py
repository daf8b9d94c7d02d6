"""fio's normal output, as its JSON would have it (`docs/spec/fit.md` 4.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from destage.base.errors import DataError
from destage.base.io.names import printable

__all__ = ["UNKNOWN", "is_text", "json_of"]

#: The normal output has neither `direct` nor the device's size.
UNKNOWN = "not stated"

_JOB = re.compile(
    r"(?P<name>.*): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err=\s*(?P<err>-?\d+)"
)
_STARTED = re.compile(
    r"(?P<name>.*): \(g=(?P<group>\d+)\): rw=(?P<rw>\w+), bs=\(R\) (?P<read>\S+)-\S+ "
    r"\(W\) (?P<write>\S+?)-\S+ .*ioengine=(?P<engine>\w+), iodepth=(?P<depth>\d+)"
)
_DIRECTION = re.compile(r"\s+(?P<name>read|write)\s*: IOPS=(?P<iops>[\d.]+)(?P<unit>[kMG]?),")
_LATENCY = re.compile(
    r"\s+(?P<name>[sc]?lat) \((?P<unit>[num]sec)\): min=.*avg=\s*(?P<avg>[\d.]+[kM]?),"
    r" stdev=\s*(?P<stdev>[\d.]+[kM]?)"
)
_PERCENTILES = re.compile(r"\s+(?P<name>c?lat) percentiles \((?P<unit>[num]sec)\):")
_PERCENTILE = re.compile(r"([\d.]+)th=\[\s*(\d+)\]")
_DEPTHS = re.compile(r"\s+IO depths\s+: (?P<levels>.*)")
_LEVEL = re.compile(r"(>?=?\d+)=([\d.]+)%")
_ISSUED = re.compile(r"\s+issued rwts: total=(?P<read>\d+),(?P<write>\d+),")
_VERSION = re.compile(r"fio-\d\S*$")

_NS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6}
_TIMES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


def is_text(text: str) -> bool:
    """Whether it is fio's normal output."""
    return '"jobs"' not in text and any(map(_JOB.match, text.splitlines()))


def json_of(text: str, path: str) -> dict[str, Any]:
    """The jobs, with the fields that the normal output has. Raises `DataError` naming the line."""
    lines = text.splitlines()
    options = _options(lines)
    version = next((line for line in lines if _VERSION.match(line)), "")
    jobs = [_job(block, at, options, path) for at, block in _blocks(lines)]
    alike: dict[tuple[str, int], int] = {}
    for job in jobs:
        own = (job["jobname"], job["groupid"])
        alike[own] = alike.get(own, 0) + job.pop("jobs")
    for job in jobs:
        job["job options"]["numjobs"] = str(alike[job["jobname"], job["groupid"]])
    return {"fio version": version, "global options": {}, "jobs": jobs}


def _options(lines: list[str]) -> dict[tuple[str, int], dict[str, str]]:
    """Options of each job, from the lines at the beginning."""
    found = {}
    for line in lines:
        if started := _STARTED.match(line):
            is_write = started["rw"] in ("write", "randwrite")
            size = re.sub(r"i?B$", "", started["write" if is_write else "read"])
            found[started["name"], int(started["group"])] = {
                "rw": started["rw"],
                "bs": size,
                "ioengine": started["engine"],
                "iodepth": started["depth"],
                "direct": UNKNOWN,
            }
    return found


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines of each job's results, and the number of the first."""
    begin: int | None = None
    for at, line in enumerate([*lines, ""]):
        if _JOB.match(line) or not line.strip() or line.startswith("Run status"):
            if begin is not None:
                yield begin + 1, lines[begin:at]
            begin = at if _JOB.match(line) else None


def _job(
    lines: list[str], at: int, options: dict[tuple[str, int], dict[str, str]], path: str
) -> dict[str, Any]:
    head = _JOB.match(lines[0])
    assert head is not None, "blocks begin with it"
    own = options.get((head["name"], int(head["group"])))
    if own is None:
        raise DataError(
            f"{printable(path)}:{at}: no line before it has the options of job"
            f" {printable(head['name'])}: expected all that fio printed, from"
            f" '{printable(head['name'])}: (g={head['group']}): rw=..' on"
        )
    job: dict[str, Any] = {
        "jobname": head["name"],
        "groupid": int(head["group"]),
        "jobs": int(head["jobs"]),
        "error": int(head["err"]),
        "job options": dict(own),
    }
    direction: dict[str, Any] = {}
    times: dict[str, Any] = {}
    scale = 1.0
    for line in lines[1:]:
        if found := _DIRECTION.match(line):
            rate = float(found["iops"]) * _TIMES[found["unit"]]
            direction = job.setdefault(found["name"], {"iops": rate})
        elif found := _LATENCY.match(line):
            times = direction.setdefault(f"{found['name']}_ns", {})
            for key, name in (("mean", "avg"), ("stddev", "stdev")):
                times[key] = _number(found[name]) * _NS[found["unit"]]
        elif found := _PERCENTILES.match(line):
            times = direction.setdefault(f"{found['name']}_ns", {})
            times, scale = times.setdefault("percentile", {}), _NS[found["unit"]]
        elif pairs := _PERCENTILE.findall(line):
            times |= {share: float(value) * scale for share, value in pairs}
        elif found := _DEPTHS.match(line):
            job["iodepth_level"] = {
                level: float(share) for level, share in _LEVEL.findall(found["levels"])
            }
        elif found := _ISSUED.match(line):
            for name in ("read", "write"):
                if name in job:
                    job[name]["total_ios"] = int(found[name])
    return job


def _number(text: str) -> float:
    unit = text[-1] if text[-1] in "kM" else ""
    return float(text.removesuffix(unit)) * _TIMES[unit]
