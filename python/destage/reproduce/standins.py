"""Surrogate traces: workloads that are generated to match the published statistics of a trace.

Drawing and placing on the channels of a device are in `crates/destage-synth/src/surrogate`;
here are its descriptions. Requests ask for *extents*, stretches of pages that are asked for as a
whole, drawn in one of two ways:

* `recency`: repeated extents are taken from a stack of all extents, the latest on top, at a
  drawn depth, in runs over neighbours; new extents are born on several streams side by side, and
  most of them early in each phase, so many that the pages touched are as many as asked for.
* `independent`: every request draws an extent by its popularity, k^-alpha for the k-th, whatever
  came before.

A share of the requests writes a log, round and round. Successive operations on a page have a
correlation (phi, `affinity`), which is measured on a real trace of the source. Requests come in
bursts of so many on average, `gap_ns` apart, with silence between.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from destage import _destage
from destage.experiment.recipes import Recent, TraceRecipe
from destage.lab.traces import Trace, synth
from destage.reproduce.published import PAGE, TraceSpec, rate_of, requests_of

if TYPE_CHECKING:
    from destage._destage import StandIn

__all__ = ["KINDS", "Channels", "Generated", "Recipe", "apart", "draw", "recipe"]

#: How requests may be drawn.
KINDS = ("recency", "independent")

RECENCY = ("near", "depth", "sequential", "streams", "phases")

#: ACR's table II, which `crates/destage-synth/src/workload/presets.rs` makes with one hot set.
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
    affinity: float | None = None,
) -> Recipe:
    """Return the parameters of a surrogate trace: counts, scaled; rates and sizes stay.

    `kind`, `burst` and `affinity` are other than the trace's if they are given.
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
        "kind": kind or shape.draw or (KINDS[0] if spec.recency else KINDS[1]),
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
    affinity = spec.origin.affinity if affinity is None else affinity
    # Where all requests are of one operation there is nothing to correlate.
    if affinity and 0 < known["write_ratio"] < 1:
        made["affinity"] = affinity
    if made["kind"] == "independent":
        made["alpha"] = shape.alpha
    elif spec.recency:
        made |= {k: getattr(spec.recency, k) for k in RECENCY}
    return made


#: The channels of a device, consecutive pages of one channel, the imbalance of the channels' reads,
#: (max - min) / mean: SAC's formula 1, that of the reads that miss in a cache, and its pages.
Channels = tuple[int, int, float, float, int]


def draw(made: Recipe, seed: int) -> StandIn:
    """Generate a trace without addresses. Raises `UsageError` for a parameter out of range."""
    return _destage.draw_standin(json.dumps(made), seed, None)


_traces, _drawn = Recent(), Recent()


@dataclass(frozen=True)
class Generated(TraceRecipe):
    """A trace that each process generates where it needs it."""

    @classmethod
    def surrogate(
        cls,
        made: Recipe,
        seed: int,
        channels: Channels | None = None,
        intensity: float = 1.0,
        page_bytes: int | None = None,
    ) -> Generated:
        """The surrogate trace of a description, on the channels of a device or as generated.

        Times are divided by `intensity`.
        """
        how = {"made": made, "channels": channels, "intensity": float(intensity)}
        page = page_bytes or made["page_bytes"]
        pages = made.get("mean_pages", 1.0) * made["page_bytes"] / page
        counts = (made["requests"], made["requests"] * pages, made["unique_pages"])
        return cls._by({**how, "page_bytes": page_bytes}, seed, page, *counts)

    @classmethod
    def synth(cls, parameters: Mapping[str, Any], seed: int, page_bytes: int | None) -> Generated:
        """The workload that a paper specifies."""
        requests = parameters.get("requests", _ACR["requests"])
        counts = (requests, requests, parameters.get("pages", requests))
        page = page_bytes or parameters.get("page_bytes", PAGE)
        how = {"synth": dict(parameters), "page_bytes": page_bytes}
        return cls._by(how, seed, page, *counts)

    @classmethod
    def _by(
        cls,
        how: Mapping[str, Any],
        seed: int,
        page: int,
        requests: int,
        accesses: float,
        pages: int,
    ) -> Generated:
        # Another version may generate another trace.
        text = json.dumps([_destage.VERSION, how, seed], sort_keys=True)
        known = {
            "fingerprint": hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
            "how": how,
            "seed": seed,
            "page_bytes": page,
            "requests": requests,
            "accesses": round(accesses),
            "unique_pages": pages,
            "sources": [],
        }
        return cls(json.dumps(known), ())

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as a description."""
        return Generated, (self.identity, ())

    def open(self) -> Trace:
        """Generate it, once for all who use it at a time."""
        return _traces.get(self.identity, self._generated)

    def _generated(self) -> Trace:
        how, seed = self.known["how"], self.known["seed"]
        page = None if how["page_bytes"] is None else str(how["page_bytes"])
        if "synth" in how:
            parameters = dict(how["synth"])
            kind = parameters.pop("preset", None) or parameters.pop("kind")
            return synth(kind, page_size=page, seed=seed, **parameters)
        key = json.dumps([how["made"], seed])
        drawn = _drawn.get(key, lambda: draw(how["made"], seed))
        channels = how["channels"]
        on = None if channels is None else tuple(channels)
        return Trace(*drawn.open(on, how["intensity"], page, None))


def apart(parameters: Mapping[str, Any]) -> Recipe:
    """Return a load of locality in which reads and writes have pages of their own.

    `parameters` as for the kind `locality`: a share of the reads goes to the first pages,
    and the same share of the writes to as many pages behind these; with `apart = "pages"` reads and
    writes have a half of the pages each. In every second of `phases` reads and writes exchange
    their shares.
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
        "phases": given.get("phases", 1),
        "gap_ns": 1_000_000,
        **({"halves": True} if given.get("apart") == "pages" else {}),
    }
