"""The first thing a newcomer runs: policies in front of a drive, on a small real trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from destage.device import DeviceLike
from destage.options import ProgressCallback
from destage.results import Results
from destage.runs import compare
from destage.trace import Trace, open_trace

__all__ = ["COST", "DEVICE", "POLICIES", "SIZES", "TRACE", "demo", "demo_trace"]

#: 400,000 requests of PostgreSQL under pgbench; its origin is in `data/README.md`.
TRACE = "pgtpcb_first400k.csv.xz"

#: A drive that is ready in a second and collects from the first write on.
DEVICE = "small"

#: One that everybody knows, a good general one, those that look at flash, one that looks at the
#: drive, and the bound.
POLICIES = "lru,arc,cflru,acr-h,ecr,min"

#: From a cache that hardly helps to one that holds much of what is touched.
SIZES = "10%,20%,40%"

#: A page write costs as much as three reads, the collections that it brings about among it: what
#: acr-h decides by.
COST = "read=1,write=3"


def demo_trace(
    drive: DeviceLike = DEVICE,
    *,
    requests: int | None = None,
    progress: ProgressCallback | None = None,
) -> Trace:
    """Open the trace that ships with the package, for the demo's device or another one.

    `requests`: only so many from its beginning.

    >>> demo_trace(requests=1000).requests
    1000
    """
    path = Path(__file__).with_name("data") / TRACE
    cut: dict[str, Any] = {} if requests is None else {"requests": requests}
    return open_trace(path, drive=drive, progress=progress, **cut)


def demo(*, progress: ProgressCallback | None = None) -> Results:
    """Compare six policies at three sizes on `demo_trace`; takes a few seconds."""
    trace = demo_trace(progress=progress)
    return compare_demo(trace, progress=progress)


def compare_demo(
    trace: Trace, *, profile: bool = False, progress: ProgressCallback | None = None
) -> Results:
    """Compare them on the demo's trace when it is open."""
    return compare(
        trace,
        POLICIES,
        cache=SIZES,
        device=trace.drive,
        profile=profile,
        cost=COST,
        flush_at_end=True,
        progress=progress,
    )
