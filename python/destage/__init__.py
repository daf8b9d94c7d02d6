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
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from destage.advise.calls import Advice, advise
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
    from destage.curves.calls import mrc
    from destage.curves.drawn import Curves
    from destage.curves.screening import Screened, screen
    from destage.demo import demo, demo_trace
    from destage.device import Drive, open_device
    from destage.divergence import Why, why
    from destage.doctor import Checkup, Finding, doctor
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
    from destage.experiment.difference import Difference, Differences, diff
    from destage.experiment.estimate import SweepEstimate, estimate
    from destage.experiment.experiment import Experiment, SweepResult
    from destage.experiment.joining import merge_results, pack_results
    from destage.experiment.sweep import sweep
    from destage.options import DeviceOptions, ProgressCallback, RunOptions
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
    from destage.results import Metric, Results, Run, TraceIdentity, load_results, metrics
    from destage.runs import Interrupted, Planned, Recorded, compare, plan, run
    from destage.trace import Trace, open_trace, open_volumes, synth, workloads
    from destage.trace_cache import CacheEntry, TraceCache, trace_cache
    from destage.trace_split import Part, split_trace
    from destage.tuning import Tuned, tune
    from destage.user_policies.template import new_policy

    __version__: str
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
    "split_trace",
    "Part",
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
    "screen",
    "tune",
    "advise",
    "plan",
    "rerun",
    "why",
    "Why",
    "demo",
    "demo_trace",
    "Recorded",
    "Curves",
    "Screened",
    "Tuned",
    "Advice",
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
    # sweeps
    "Experiment",
    "sweep",
    "estimate",
    "load_results",
    "merge_results",
    "pack_results",
    "diff",
    "SweepResult",
    "SweepEstimate",
    "Differences",
    "Difference",
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
    "DeviceOptions",
    "FtlInfo",
    "FormatInfo",
    "ReaderOption",
    # conformance
    "conform",
    "conform_emit",
    "ConformanceReport",
    "VectorFile",
    # this installation
    "doctor",
    "Checkup",
    "Finding",
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

#: Where each name of the API is; it is imported when it is first asked for.
_HOMES: dict[str, tuple[str, ...]] = {
    "destage.advise.calls": (
        "Advice",
        "advise",
    ),
    "destage.catalogue": (
        "Counter",
        "DeviceInfo",
        "DeviceKey",
        "FormatInfo",
        "FtlInfo",
        "Gauge",
        "Param",
        "PolicyInfo",
        "ReaderOption",
        "device",
        "device_keys",
        "devices",
        "formats",
        "ftl",
        "ftls",
        "policies",
        "policy",
        "reader_options",
    ),
    "destage.conformance": (
        "ConformanceReport",
        "VectorFile",
        "conform",
        "conform_emit",
    ),
    "destage.conversion": (
        "Converted",
        "convert",
        "trace_head",
        "trace_info",
        "write_workload",
    ),
    "destage.curves.calls": ("mrc",),
    "destage.curves.drawn": ("Curves",),
    "destage.curves.screening": (
        "Screened",
        "screen",
    ),
    "destage.demo": (
        "demo",
        "demo_trace",
    ),
    "destage.device": (
        "Drive",
        "open_device",
    ),
    "destage.doctor": (
        "Checkup",
        "Finding",
        "doctor",
    ),
    "destage.errors": (
        "CheckFailed",
        "DataError",
        "DestageError",
        "InternalError",
        "MissingExtra",
        "MissingFile",
        "OutputError",
        "UsageError",
    ),
    "destage.options": (
        "DeviceOptions",
        "ProgressCallback",
        "RunOptions",
    ),
    "destage.user_policies.template": ("new_policy",),
    "destage.divergence": (
        "Why",
        "why",
    ),
    "destage.policy": (
        "BYPASS",
        "Bypass",
        "DeviceView",
        "GhostList",
        "HIT",
        "Hit",
        "ListPolicy",
        "MISS",
        "Miss",
        "PageList",
        "Plan",
        "Policy",
        "PolicyLike",
        "Request",
    ),
    "destage.profile": (
        "TraceInfo",
        "TraceProfile",
    ),
    "destage.reports": ("write_report",),
    "destage.rerunning": (
        "Rerun",
        "rerun",
    ),
    "destage.results": (
        "load_results",
        "Metric",
        "Results",
        "Run",
        "TraceIdentity",
        "metrics",
    ),
    "destage.runs": (
        "Interrupted",
        "Planned",
        "Recorded",
        "compare",
        "plan",
        "run",
    ),
    "destage.experiment.experiment": (
        "Experiment",
        "SweepResult",
    ),
    "destage.experiment.sweep": ("sweep",),
    "destage.experiment.difference": (
        "Difference",
        "Differences",
        "diff",
    ),
    "destage.experiment.estimate": (
        "SweepEstimate",
        "estimate",
    ),
    "destage.experiment.joining": (
        "merge_results",
        "pack_results",
    ),
    "destage.trace_split": (
        "Part",
        "split_trace",
    ),
    "destage.trace": (
        "Trace",
        "open_trace",
        "open_volumes",
        "synth",
        "workloads",
    ),
    "destage.trace_cache": (
        "CacheEntry",
        "TraceCache",
        "trace_cache",
    ),
    "destage.tuning": (
        "Tuned",
        "tune",
    ),
}

#: Names of before, and what they are called now.
_RENAMED = {
    "StoredResults": "Results",
    "Swept": "SweepResult",
    "Foretold": "SweepEstimate",
    "foretell": "estimate",
}

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what is first asked for, and keep it: `import destage` alone is quick."""
    if name == "__version__":
        found: Any = importlib.import_module("destage._destage").VERSION
    elif name == "reproduce":
        return importlib.import_module("destage.reproduce")
    elif name in _HOME_OF:
        found = getattr(importlib.import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'destage' has no attribute {name!r}{_meant(name)}")
    globals()[name] = found
    return found


def _meant(name: str) -> str:
    """The nearest name of the API; nothing for the names that Python asks for by itself."""
    if name.startswith("_"):
        return ""
    if name in _RENAMED:
        return f": it is {_RENAMED[name]!r} now"
    near = importlib.import_module("destage._destage").nearest(name, __all__)
    return f", did you mean {near!r}?" if near else ""


def __dir__() -> list[str]:
    """The API, and nothing else."""
    return sorted(__all__)


class _Api(ModuleType):
    """A package whose calls stay what they are when a module of the same name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        """Keep a module from taking the place of a call: `destage.policy`, `destage.demo`."""
        if not (isinstance(value, ModuleType) and name in _HOME_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Api
