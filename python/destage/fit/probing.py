"""The script on a simulated SSD, in fio's JSON shape (`docs/spec/fit.md` 10)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from destage import _destage
from destage.base.errors import DataError, UsageError
from destage.fit.miniature import LARGE_PAGES, miniature
from destage.fit.script import GLOBAL, GRAIN, SMALLEST, Job, fio_size, jobs_of, read_script
from destage.lab.options import ProgressCallback
from destage.lab.ssd import Device, DeviceLike, open_device, restored
from destage.model.words import plain, size

__all__ = ["bytes_of", "fio_json", "play", "probe", "scaled", "step_of"]

VERSION = "fio-3.33-destage"
#: Options that a step may have.
KNOWN = {
    *("rw", "bs", "iodepth", "number_ios", "startdelay", "offset", "size", "io_size"),
    *("thinktime", "thinktime_blocks", "rwmixread", "percentage_random", "random_distribution"),
    *("iodepth_batch_submit", "iodepth_batch_complete_min", "iodepth_batch_complete_max"),
    *("stonewall", "randseed", "runtime", "numjobs"),
}
PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99, 100.0)

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
Step = dict[str, Any]


def bytes_of(text: str) -> int:
    """A size as fio writes it: `128k`, `4096`, `64m`, `1g`. Raises `DataError`."""
    found = re.fullmatch(r"(\d+)([kmgt]?)i?b?", text.strip().lower())
    if found is None:
        raise DataError(f"expected a size such as 128k, found {text!r}")
    return int(found[1]) * _UNITS[found[2]]


def _zones(text: str) -> list[list[int]]:
    found = re.findall(r"(\d+)/(\d+)", text)
    if not text.startswith("zoned:") or not found:
        raise DataError(f"random_distribution={text}: expected zoned:80/20:20/80")
    return [[int(share), int(span)] for share, span in found]


def step_of(job: Job, index: int, capacity: int) -> Step:
    """A job as a step of the core. Raises `DataError` naming an unsupported option."""
    options = {**GLOBAL, **job.options}
    unknown = sorted(set(job.options) - KNOWN - set(GLOBAL))
    if unknown:
        raise DataError(f"step {job.name}: probe does not play the option {unknown[0]}")
    pattern, _, skip = options.get("rw", "").partition(":")
    kinds = {"read": 100, "randread": 100, "write": 0, "randwrite": 0}
    kinds |= {"randrw": int(options.get("rwmixread", "50"))}
    if pattern not in kinds:
        raise DataError(f"step {job.name}: probe does not play rw={pattern}")
    share = options.get("percentage_random", "100,100").split(",")
    is_random = [pattern.startswith("rand") and int(one) > 0 for one in (share[0], share[-1])]
    block = bytes_of(options["bs"])
    offset = bytes_of(options.get("offset", "0"))
    region = bytes_of(options["size"]) if "size" in options else capacity - offset
    count = bytes_of(options.get("io_size", str(region))) // block
    depth = int(options.get("iodepth", "1")) * int(options.get("numjobs", "1"))
    if "number_ios" in options:
        count = min(count, int(options["number_ios"]))
    return {
        "seed": int(options.get("randseed", index)),
        "requests": count,
        "depth": depth,
        "batch": "iodepth_batch_submit" in options and depth > 1,
        "read_percent": kinds[pattern],
        "random": is_random,
        "block_bytes": block,
        "offset_bytes": offset,
        "size_bytes": region,
        "skip_bytes": bytes_of(skip) if skip else 0,
        "think_ns": int(options.get("thinktime", "0")) * 1000,
        "delay_ns": int(options.get("startdelay", "0")) * 10**9,
        "zones": _zones(options["random_distribution"])
        if options.get("random_distribution", "random") != "random"
        else [],
    }


def scaled(capacity: int, share: float) -> int:
    """The capacity of a miniature: halves of it are multiples of 128 KiB."""
    return int(capacity * share) // (256 << 10) * (256 << 10)


def play(
    device: Device | Mapping[str, Any],
    steps: Sequence[Step],
    progress: ProgressCallback | None = None,
) -> list[dict[str, Any]]:
    """Play steps on a device, or on a record's; return the measurements."""
    drive = device if isinstance(device, Device) else restored(json.dumps(device))
    return list(json.loads(_destage.play_steps(drive.raw, json.dumps(steps), progress)))


def _statistics(bins: Sequence[tuple[int, int]], one: Mapping[str, Any]) -> dict[str, Any]:
    """`lat_ns` of one direction."""
    count, total = one["requests"], one["sum_ns"]
    mean = total / count if count else 0.0
    variance = max(0.0, one["square_sum"] / count - mean * mean) if count else 0.0
    percentiles = {}
    seen, at = 0, 0
    for percent in PERCENTILES if count else ():
        while seen < percent / 100 * count and at < len(bins):
            seen += bins[at][1]
            at += 1
        percentiles[f"{percent:.6f}"] = bins[max(at - 1, 0)][0]
    return {
        "min": one["min_ns"],
        "max": one["max_ns"],
        "mean": mean,
        "stddev": math.sqrt(variance),
        "N": count,
        "percentile": percentiles,
        "bins": {str(ns): requests for ns, requests in bins},
    }


def _direction(one: Mapping[str, Any], elapsed_ns: int) -> dict[str, Any]:
    latencies = _statistics([(ns, requests) for ns, requests in one["bins"]], one)
    elapsed_s = max(elapsed_ns, 1) / 1e9
    count = one["requests"]
    none = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    return {
        "io_bytes": one["bytes"],
        "io_kbytes": one["bytes"] >> 10,
        "bw_bytes": round(one["bytes"] / elapsed_s),
        "bw": round(one["bytes"] / elapsed_s / 1024),
        "iops": count / elapsed_s,
        "runtime": elapsed_ns // 10**6 if count else 0,
        "total_ios": count,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": none,
        "clat_ns": latencies,
        "lat_ns": latencies,
    }


def _levels(depth: int, requests: int) -> dict[str, float]:
    """fio's classes of depth: all requests of a closed loop run at its own."""
    classes = [1, 2, 4, 8, 16, 32, 64]
    own = max(level for level in classes if level <= max(depth, 1))
    return {
        (f">={level}" if level == 64 else str(level)): 100.0 if level == own and requests else 0.0
        for level in classes
    }


def fio_json(
    jobs: Sequence[Job],
    steps: Sequence[Step],
    played: Sequence[Mapping[str, Any]],
    common: Mapping[str, str],
    own: Mapping[str, Any],
) -> dict[str, Any]:
    """The results as fio's JSON+."""
    made: list[dict[str, Any]] = []
    for job, step, one in zip(jobs, steps, played, strict=True):
        elapsed = one["end_ns"] - one["begin_ns"]
        made.append(
            {
                "jobname": job.name,
                "groupid": len(made),
                "error": 0,
                "eta": 0,
                "elapsed": elapsed // 10**9 + 1,
                "job options": {"name": job.name, **job.options},
                "read": _direction(one["read"], elapsed),
                "write": _direction(one["write"], elapsed),
                "job_runtime": elapsed // 10**6,
                "usr_cpu": 0.0,
                "sys_cpu": 0.0,
                "iodepth_level": _levels(step["depth"], step["requests"]),
            }
        )
    return {"fio version": VERSION, "destage": own, "global options": dict(common), "jobs": made}


def probe(
    device: DeviceLike,
    *,
    script: str | None = None,
    full: bool = False,
    read_only: bool = False,
    collector: bool = True,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Play the measurement script on a simulated SSD; return the results as fio's JSON.

    Parameters:
        device: a preset, a file, or a `Device`.
        script: a job file of `fit_script`; by default one for the device's capacity.
        full: play a device of more than 2^22 raw pages as it is, not as a miniature of fewer
            blocks.
        read_only, collector: as in `fit_script`, without a script.
    """
    if script is not None and (read_only or not collector):
        which = "read_only" if read_only else "collector = False"
        raise UsageError(f"{which} excludes a script: it has its own steps")
    drive = device if isinstance(device, Device) else open_device(device)
    record = json.loads(json.dumps(drive.record))
    real = drive.logical_bytes
    keys = record["device"]
    if keys["ftl"] != "page":
        raise UsageError(f"probe: {drive.name} has ftl = {keys['ftl']}: expected page")
    if keys["sched"] != "fcfs":
        raise UsageError(f"probe: {drive.name} has sched = {keys['sched']}: expected fcfs")
    is_small = not full and int(drive.size["raw_pages"]) > LARGE_PAGES
    if is_small:
        record["device"] = keys = miniature(keys)
    own_size = real // GRAIN * GRAIN
    if own_size < SMALLEST:
        raise UsageError(f"probe: {drive.name} has {plain(size(real))}: expected at least 256 MiB")
    capacity = own_size
    if is_small:
        capacity = scaled(own_size, keys["logical_pages"] * keys["page_bytes"] / real)
    common = {
        **GLOBAL,
        "size": fio_size(own_size),
        "filename": f"/dev/simulated/{drive.name}",
    }
    if script is None:
        jobs = jobs_of(capacity, read_only=read_only, collector=collector)
    else:
        given, jobs = read_script(script)
        common = {**common, **given}
    writes = any(not job.options.get("rw", "").startswith(("read", "randread")) for job in jobs)
    keys["precondition"] = "none" if writes else "sequential"
    keys["precondition_writes"] = 0
    steps = [_fitted(step_of(job, at, capacity), capacity) for at, job in enumerate(jobs, 1)]
    played = play({**record, "device": keys}, steps, progress)
    own = {"device": drive.name, "miniature": is_small, "scale": own_size / capacity}
    return fio_json(jobs, steps, played, common, own)


def _fitted(step: Step, capacity: int) -> Step:
    """A step that was written for a larger device, on this one."""
    block = step["block_bytes"]
    if step["offset_bytes"] + step["size_bytes"] > capacity:
        step["offset_bytes"] = min(step["offset_bytes"], capacity // 2)
        step["size_bytes"] = (capacity - step["offset_bytes"]) // block * block
        span = (block + step["skip_bytes"]) if not any(step["random"]) else block
        step["requests"] = min(step["requests"], max(1, step["size_bytes"] // span))
    return step
