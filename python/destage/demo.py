"""The first thing a newcomer runs: policies compared on a small real trace that ships here."""

from __future__ import annotations

from pathlib import Path

from destage.results import Results
from destage.runs import ProgressCallback, compare
from destage.trace import Trace, open_trace

__all__ = ["COST", "POLICIES", "SIZES", "TRACE", "demo", "demo_trace"]

#: 100,000 requests of PostgreSQL under pgbench; its origin is in `data/README.md`.
TRACE = "pgtpcb_first100k.csv.xz"

#: One that everybody knows, good general ones, those that look at flash, and the bound.
POLICIES = "lru,arc,s3-fifo,cflru,acr-h,min"

#: From a cache that hardly helps to one that holds much of what is touched.
SIZES = "10%,20%,40%"

#: A page write costs as much as three reads: of the order of what flash takes (ECR, table 2).
COST = "read=1,write=3"


def demo_trace(*, progress: ProgressCallback | None = None) -> Trace:
    """Open the trace that ships with the package.

    >>> demo_trace().requests
    100000
    """
    return open_trace(Path(__file__).with_name("data") / TRACE, progress=progress)


def demo(*, progress: ProgressCallback | None = None) -> Results:
    """Compare six policies at three sizes on `demo_trace`; takes a few seconds."""
    trace = demo_trace(progress=progress)
    return compare(trace, POLICIES, cache=SIZES, cost=COST, progress=progress)
