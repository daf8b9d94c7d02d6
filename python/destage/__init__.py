"""Destage: a trace-driven lab for flash-aware cache and write-buffer management.

>>> import destage
>>> trace = destage.synth("zipf", requests=20_000, pages=2_000, read_ratio=0.6, seed=1)
>>> results = destage.compare(trace, ["lru", "cflru", "arc"], cache=["1%", "10%"])
>>> len(results), results[0].policy
(6, 'lru')

`open_trace` reads a trace of your own; `device="small"` puts a drive behind the cache. `results` is
a sequence of runs, and one tidy table: `results.to_polars()`, `.to_pandas()`, `.to_json(path)`,
`.to_csv(path)`, `.to_parquet(path)`.
"""

from __future__ import annotations

import importlib

from destage import _destage
from destage.catalogue import (
    Counter,
    DeviceInfo,
    DeviceKey,
    FormatInfo,
    FtlInfo,
    Gauge,
    Param,
    PolicyInfo,
    ReaderOption,
    device_keys,
    devices,
    formats,
    ftl,
    ftls,
    policies,
    reader_options,
)
from destage.catalogue import device as _one_device
from destage.catalogue import policy as _one_policy
from destage.conformance import ConformanceReport, VectorFile, conform, conform_emit
from destage.conversion import Converted, convert, trace_head, trace_info, write_workload
from destage.curves import Curves, mrc
from destage.demo import demo, demo_trace
from destage.device import Drive, open_device
from destage.errors import (
    CheckFailed,
    DataError,
    DestageError,
    InternalError,
    MissingExtra,
    MissingFile,
    OutputError,
    UsageError,
)
from destage.options import ProgressCallback, RunOptions
from destage.own.template import new_policy
from destage.policy import (
    BYPASS,
    HIT,
    MISS,
    Bypass,
    DeviceView,
    GhostList,
    Hit,
    ListPolicy,
    Miss,
    PageList,
    Plan,
    Policy,
    PolicyLike,
    Request,
)
from destage.profile import TraceInfo, TraceProfile
from destage.reports import write_report
from destage.rerunning import Rerun, rerun
from destage.results import Metric, Results, Run, TraceIdentity, metrics
from destage.runs import Interrupted, Planned, Recorded, compare, plan, run
from destage.trace import Trace, open_trace, open_volumes, synth, workloads
from destage.trace_cache import CacheEntry, TraceCache, trace_cache
from destage.tuning import Tuned, tune
from destage.why import Why, why

__version__ = _destage.VERSION

# The calls win over the modules of that name, which nobody needs by attribute.
policy = _one_policy
device = _one_device

__all__ = [
    # traces
    "open_trace",
    "open_volumes",
    "synth",
    "workloads",
    "write_workload",
    "trace_info",
    "trace_head",
    "convert",
    "trace_cache",
    "Trace",
    "TraceInfo",
    "TraceProfile",
    "Converted",
    "TraceCache",
    "CacheEntry",
    # drives
    "open_device",
    "Drive",
    # runs
    "compare",
    "run",
    "mrc",
    "tune",
    "plan",
    "rerun",
    "why",
    "Why",
    "demo",
    "demo_trace",
    "Recorded",
    "Curves",
    "Tuned",
    "Rerun",
    "Planned",
    "PolicyLike",
    "ProgressCallback",
    "RunOptions",
    # results
    "Results",
    "Run",
    "TraceIdentity",
    "Metric",
    "metrics",
    "write_report",
    # catalogues
    "policies",
    "policy",
    "formats",
    "reader_options",
    "devices",
    "device",
    "device_keys",
    "ftls",
    "ftl",
    "PolicyInfo",
    "Counter",
    "Gauge",
    "Param",
    "DeviceInfo",
    "DeviceKey",
    "FtlInfo",
    "FormatInfo",
    "ReaderOption",
    # conformance
    "conform",
    "conform_emit",
    "ConformanceReport",
    "VectorFile",
    # policies of one's own
    "new_policy",
    "Policy",
    "ListPolicy",
    "PageList",
    "GhostList",
    "Request",
    "Plan",
    "DeviceView",
    "Hit",
    "Miss",
    "Bypass",
    "HIT",
    "MISS",
    "BYPASS",
    # errors
    "DestageError",
    "UsageError",
    "MissingExtra",
    "DataError",
    "MissingFile",
    "OutputError",
    "CheckFailed",
    "InternalError",
    "Interrupted",
    "__version__",
]


def __getattr__(name: str) -> object:
    """Import `destage.reproduce` when it is first asked for: it reads the papers' files."""
    if name == "reproduce":
        return importlib.import_module("destage.reproduce")
    raise AttributeError(f"module 'destage' has no attribute {name!r}")
