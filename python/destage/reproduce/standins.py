"""Stand-ins: what loads are made of that are drawn to what is published of a trace.

The drawing, and the placing on the channels of a drive, is in `crates/destage-trace/src/standin`;
here are its descriptions. Requests ask for *extents*, stretches of pages that are asked for as a
whole, drawn in one of two ways:

* `recency`: what is asked for again is taken from a stack of all extents, the latest on top, at a
  drawn depth, in runs over neighbours; new extents are born on several streams side by side, and
  most of them early in each phase, so many that the pages touched are as many as asked for.
* `independent`: every request draws an extent by its popularity, k^-alpha for the k-th, whatever
  came before.

A share of the requests writes a log, round and round. Requests come in bursts of so many on
average, `gap_ns` apart, with silence between.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from destage import _destage
from destage.device import Drive
from destage.options import ProgressCallback
from destage.reproduce.published import PAGE, TraceSpec, rate_of, requests_of
from destage.trace import Trace

if TYPE_CHECKING:
    from destage._destage import StandIn

__all__ = ["KINDS", "Channels", "Recipe", "apart", "draw", "opened", "recipe"]

#: How requests may be drawn.
KINDS = ("recency", "independent")

RECENCY = ("near", "depth", "sequential", "streams", "phases")

#: ACR's table II, which `crates/destage-trace/src/synth/presets.rs` makes with one hot set.
_ACR = {"requests": 3_000_000, "pages": 32_768, "page_bytes": 2048}
PRESET: Mapping[str, Mapping[str, float]] = {
    "t1": {**_ACR, "read_ratio": 0.9, "access_share": 0.6, "page_share": 0.4},
    "t2": {**_ACR, "read_ratio": 0.8, "access_share": 0.5, "page_share": 0.5},
    "t3": {**_ACR, "read_ratio": 0.6, "access_share": 0.6, "page_share": 0.4},
    "t4": {**_ACR, "read_ratio": 0.8, "access_share": 0.8, "page_share": 0.2},
}

#: A description in numbers and words: with a seed it is all that a load is made of.
Recipe = Mapping[str, Any]


def recipe(
    spec: TraceSpec,
    scale: float,
    page_bytes: int,
    kind: str | None = None,
    burst: float | None = None,
) -> Recipe:
    """Return what the stand-in of a trace is made of: its counts, scaled; rates and sizes stay.

    `kind` and `burst` are other than the trace's if they are given.
    """
    known, shape = spec.known, spec.standin
    burst = burst or shape.burst
    if "accesses" in known:
        mean_pages = known["accesses"] / known["requests"]
    else:
        mean_pages = known["mean_kib"] * 1024 / page_bytes
    requests = requests_of(spec, scale)
    share = requests / requests_of(spec, 1.0)
    pages = known.get("unique_pages", shape.pages) * share * PAGE / page_bytes
    gap_ns = max(1000.0, shape.burst_gap_us * 1000)
    off_ns = burst * (1e9 / rate_of(spec) - gap_ns)
    if burst <= 1 or off_ns <= 0:
        gap_ns, off_ns = 1e9 / rate_of(spec), 0.0
    made: dict[str, Any] = {
        "kind": kind or (KINDS[0] if spec.recency else KINDS[1]),
        "requests": requests,
        "unique_pages": max(64, round(pages)),
        "page_bytes": page_bytes,
        "write_ratio": known["write_ratio"],
        "mean_pages": round(max(1.0, mean_pages), 4),
        "cluster_pages": max(1, round(shape.cluster_pages * PAGE / page_bytes)),
        "log_share": min(shape.log_share, known["write_ratio"]),
        "log_page_share": shape.log_page_share,
        "gap_ns": round(gap_ns),
        "burst": burst if off_ns else 1.0,
        "off_ns": round(off_ns),
    }
    if made["kind"] == "independent":
        made["alpha"] = shape.alpha
    elif spec.recency:
        made |= {k: getattr(spec.recency, k) for k in RECENCY}
    return made


@dataclass(frozen=True)
class Channels:
    """How the channels of a drive are to be loaded with reads: SAC's table 1."""

    count: int
    stretch_pages: int
    """Consecutive pages of one channel."""
    deviation: float
    """(max - min) / mean of the channels' reads: SAC's formula 1."""


def draw(made: Recipe, seed: int, progress: Callable[..., object] | None = None) -> StandIn:
    """Draw a load, without addresses, for `opened`: the same from the same description and seed.

    Raises `UsageError` for a description out of range, and what `progress` raises.
    """
    return _destage.draw_standin(json.dumps(made), seed, progress)


def opened(
    drawn: StandIn,
    channels: Channels | None = None,
    *,
    intensity: float = 1.0,
    drive: Drive | None = None,
    progress: ProgressCallback | None = None,
) -> Trace:
    """Return the trace of a load that lies on the channels of a drive, or as it comes.

    Times are divided by `intensity`; pages are the drive's or the load's own. It is placed once for
    all rates and for all drives of the same channels.
    """
    on = (channels.count, channels.stretch_pages, channels.deviation) if channels else None
    page = str(drive.page_bytes) if drive else None
    trace = Trace(*drawn.open(on, float(intensity), page, progress))
    if drive is not None:
        trace.drive = drive.extended(trace.end_page)
    return trace


def apart(parameters: Mapping[str, Any]) -> Recipe:
    """Return a load of locality in which reads and writes have hot sets of their own.

    `parameters` are those of the kind `locality`: a share of the reads goes to the first pages,
    and the same share of the writes to as many pages behind these.
    """
    given = {**PRESET[parameters["preset"]], **parameters} if "preset" in parameters else parameters
    return {
        "kind": "apart",
        "requests": int(given["requests"]),
        "unique_pages": int(given["pages"]),
        "page_bytes": int(given["page_bytes"]),
        "write_ratio": round(1 - given["read_ratio"], 12),
        "access_share": given["access_share"],
        "page_share": given["page_share"],
        "gap_ns": 1_000_000,
    }
