"""The first thing a newcomer runs: policies in front of a simulated SSD, on a real trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from destage.base.io.files import Destination, write_whole
from destage.experiment.results import Results
from destage.lab.options import ProgressCallback
from destage.lab.ssd import DeviceLike
from destage.lab.traces import Trace, open_trace
from destage.questions.runs import compare

__all__ = [
    "COLUMNS",
    "DEPTH",
    "DEVICE",
    "POLICIES",
    "SIZE",
    "TRACE",
    "at_its_times",
    "copy_trace",
    "demo",
    "demo_trace",
]

#: 400,000 requests of PostgreSQL under pgbench; its origin is in `python/destage/data/README.md`.
TRACE = "pgtpcb_first400k.csv.xz"

#: A device that is ready in a second and collects from the first write on.
DEVICE = "small"

#: The baseline, the policy with the most hits, two flash-aware ones, ECR, and the offline bound.
POLICIES = "lru,arc,cflru,gcar-cflru,ecr,min"

#: `docs/asking.md` says how it was chosen, and what changes at other sizes.
SIZE = "256MiB"

#: A closed loop: requests wait for others, so that times show the device and no queue's length.
DEPTH = 8

#: Columns of the demo's table.
COLUMNS = "hit,mean,p99,flash_writes,erases"


def demo_trace(
    device: DeviceLike = DEVICE,
    *,
    requests: int | None = None,
    progress: ProgressCallback | None = None,
) -> Trace:
    """Open the trace that ships with the package, for the demo's device or another one.

    `requests`: only this many from its beginning.

    >>> demo_trace(requests=1000).requests
    1000
    """
    path = Path(__file__).parents[1] / "data" / TRACE
    cut: dict[str, Any] = {} if requests is None else {"requests": requests}
    return open_trace(path, device=device, progress=progress, **cut)


def demo(*, progress: ProgressCallback | None = None) -> Results:
    """Compare six policies on `demo_trace`; takes a few seconds."""
    trace = demo_trace(progress=progress)
    return compare_demo(trace, progress=progress)


def compare_demo(
    trace: Trace, *, profile: bool = False, progress: ProgressCallback | None = None
) -> Results:
    """Compare them on the demo's trace when it is open."""
    return compare(
        trace,
        POLICIES,
        cache=SIZE,
        device=trace.device,
        queue_depth=DEPTH,
        profile=profile,
        progress=progress,
    )


def at_its_times(trace: Trace, *, progress: ProgressCallback | None = None) -> str:
    """Say in a line what the trace's own arrivals do to the same cache and device."""
    lru, ecr = compare(trace, "lru,ecr", cache=SIZE, device=trace.device, progress=progress)
    times = " and ".join(f"{run['mean'] / 1e6:.3g} ms ({run.label})" for run in (lru, ecr))
    return (
        f"At the trace's own times the mean is {times}: bursts come faster than this SSD writes,\n"
        "and requests wait in a queue that grows. Closed loops (--queue-depth 8) compare policies."
    )


def copy_trace(to: Destination) -> None:
    """Write the trace that ships with the package to a file. Raises `OutputError`."""
    write_whole(to, (Path(__file__).parents[1] / "data" / TRACE).read_bytes())
