"""Runs that prove an installation: vectors, a trace with a device, a measurement of speed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from destage.doctor.conformance import conform
from destage.doctor.finding import Finding
from destage.lab.traces import synth
from destage.model.metrics import BASELINE
from destage.questions.demonstration import demo_trace
from destage.questions.runs import compare

__all__ = ["DATA", "STORED", "VECTORS", "drive", "measured", "speed", "speeds", "vectors"]

#: What ships with the package.
DATA = Path(__file__).parents[1] / "data"
#: One vector or two of each policy, FTL and part of the device, out of `tests/vectors`.
VECTORS = "doctor.jsonl"
#: Runs in front of a device (`policy/ftl`) with their numbers, and speeds of a recorded machine.
STORED = "doctor.json"

#: Requests of the shipped trace in those runs, and their cache.
REQUESTS, CACHE = 100_000, "20%"

#: Accesses of the load that LRU's speed is measured on, and how often: the best counts.
ACCESSES, REPEATS = 2_000_000, 3
#: Slower than the recorded machine by more than this, a build without optimisation is likely.
SLOW = 8.0


def vectors(folder: Path) -> Finding:
    """Whether conformance vectors, decision by decision, are as they should be."""
    report = conform(folder / VECTORS)
    data = {"passed": report.passed, "failed": report.failed, "skipped": report.skipped}
    if report.ok and report.passed and not report.skipped:
        said = f"all {report.passed} agree, decision by decision: policies, FTLs, parts of devices"
        return Finding("vectors", "ok", said, data)
    first = [sentence for file in report.files for sentence in file.differences[:1]]
    said = "; ".join([f"{report.failed} of {report.passed + report.failed} differ", *first])
    if not report.failed:
        said = f"{report.passed} were run and {report.skipped} skipped: expected all"
    return Finding("vectors", "wrong", said, data)


def _stored(folder: Path) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads((folder / STORED).read_text(encoding="utf-8"))
    return stored


def measured(folder: Path = DATA) -> dict[str, dict[str, Any]]:
    """Return all counts of the stored runs in front of a device, by `policy/ftl`."""
    trace = demo_trace(requests=REQUESTS)
    found = {}
    for name in _stored(folder)["drive"]:
        policy, ftl = name.split("/")
        where: Any = {"cache": CACHE, "device": trace.device, "ftl": ftl, "warmup": "none"}
        (run,) = compare(trace, policy, **where)
        assert run.timing is not None
        found[name] = {
            **run.counters,
            **run.timing["counters"],
            "response_ns_p99": run["p99"],
            "makespan_ns": run["makespan_ns"],
        }
    return found


def drive(folder: Path) -> Finding:
    """Whether runs in front of a device give the stored numbers."""
    stored = _stored(folder)["drive"]
    # Through JSON, as the stored values were.
    found = json.loads(json.dumps(measured(folder)))
    differing = list(_differences(stored, found))
    values = sum(len(numbers) for numbers in stored.values())
    data = {"compared": values, "differing": differing}
    if differing:
        said = f"{len(differing)} of {values} numbers differ, first {differing[0]}"
        return Finding("device", "wrong", said, data)
    runs = " and ".join(name.replace("/", " on FTL ") for name in stored)
    said = f"all {values} numbers equal the stored ones, to the nanosecond: {runs}"
    return Finding("device", "ok", said, data)


def _differences(stored: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    for run in sorted({*stored, *found}):
        expected, got = stored.get(run, {}), found.get(run, {})
        for name in sorted({*expected, *got}):
            if expected.get(name) != got.get(name):
                yield f"{run} {name}: expected {expected.get(name)}, found {got.get(name)}"


def speeds() -> dict[str, float]:
    """Return how fast this machine is now: million page accesses per second of processor time."""
    load = synth("zipf", requests=ACCESSES, pages=100_000, seed=1)
    ours = demo_trace(requests=REQUESTS)

    def cache() -> int:
        compare(load, BASELINE, cache="10%", jobs=1)
        return load.accesses

    def drive() -> int:
        compare(ours, BASELINE, cache=CACHE, device=ours.device, jobs=1)
        return ours.accesses

    found = {BASELINE: _rate(cache), f"{BASELINE} in front of a device": _rate(drive)}
    return {name: float(f"{rate:.3g}") for name, rate in found.items()}


def _rate(work: Callable[[], int]) -> float:
    """The best of some: what else the machine does only ever slows it down."""
    best = 0.0
    for _ in range(REPEATS):
        began = time.process_time()
        accesses = work()
        best = max(best, accesses / (time.process_time() - began) / 1e6)
    return best


def speed(folder: Path) -> Finding:
    """The machine's speed, beside the recorded one."""
    recorded = _stored(folder)["speed"]
    found = speeds()
    parts = [
        f"{name} {rate:.3g} M page accesses/s ({100 * rate / recorded['rates'][name]:.0f} % of the"
        f" recorded {recorded['rates'][name]:.3g})"
        for name, rate in found.items()
    ]
    said = f"{'; '.join(parts)}; recorded on {recorded['where']}"
    data = {"rates": found, "recorded": recorded}
    if any(rate * SLOW < recorded["rates"][name] for name, rate in found.items()):
        said += ": slow; is the native library built with optimisation (`make setup`)?"
        return Finding("speed", "note", said, data)
    return Finding("speed", "ok", said, data)


def write_stored(folder: Path, where: str) -> None:
    """Write `doctor.json` after a change of the simulated SSD; `where` is the machine."""
    stored = {"drive": measured(folder), "speed": {"where": where, "rates": speeds()}}
    text = json.dumps(stored, indent=1)
    (folder / STORED).write_text(text + "\n", encoding="utf-8")
