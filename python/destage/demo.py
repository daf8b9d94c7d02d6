"""The first thing a newcomer runs: policies compared on a small real trace that ships here."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from destage.results import Results
from destage.runs import ProgressCallback, compare
from destage.trace import Trace, open_trace

__all__ = ["COST", "POLICIES", "SIZES", "TRACE", "demo", "demo_trace"]

#: 100,000 requests of PostgreSQL under pgbench; its origin is in `data/README.md`.
TRACE = "pgtpcb_first100k.csv.xz"

#: One that everybody knows, good general ones, those that look at flash, and the bound.
POLICIES = "lru,arc,s3-fifo,cflru,lru-wsr,acr-h,min"

#: From a cache that hardly helps to one that holds a third of what is touched.
SIZES = "1%,5%,10%,30%"

#: A page write costs as much as three reads: of the order of what flash takes (ECR, table 2).
COST = "read=1,write=3"


def demo_trace(*, progress: ProgressCallback | None = None) -> Trace:
    """Open the trace that ships with the package.

    >>> demo_trace().requests
    100000
    """
    with resources.as_file(resources.files("destage") / "data" / TRACE) as path:
        return open_trace(Path(path), progress=progress)


def demo(*, progress: ProgressCallback | None = None) -> Results:
    """Compare seven policies at four sizes on `demo_trace`; takes a few seconds."""
    trace = demo_trace(progress=progress)
    return compare(trace, POLICIES, cache=SIZES, cost=COST, progress=progress)
