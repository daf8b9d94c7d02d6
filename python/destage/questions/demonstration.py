"""The first thing a newcomer runs: policies in front of a simulated SSD, on a real trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from destage.experiment.results import Results
from destage.lab.options import ProgressCallback
from destage.lab.ssd import DeviceLike
from destage.lab.traces import Trace, open_trace
from destage.questions.runs import compare

__all__ = ["COLUMNS", "DEVICE", "POLICIES", "SIZE", "TRACE", "demo", "demo_trace"]

#: 400,000 requests of PostgreSQL under pgbench; its origin is in `python/destage/data/README.md`.
TRACE = "pgtpcb_first400k.csv.xz"

#: A device that is ready in a second and collects from the first write on.
DEVICE = "small"

#: The baseline, the one with the most hits, two flash-aware ones, ECR, and the offline bound.
POLICIES = "lru,arc,cflru,gcar-cflru,ecr,min"

#: `docs/asking.md` says how it was chosen, and what changes at other sizes.
SIZE = "256MiB"

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
        trace, POLICIES, cache=SIZE, device=trace.device, profile=profile, progress=progress
    )
