"""Published counts of the papers' traces (`papers/workloads.toml`), and the fit of a trace."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import replace

from destage.base.errors import DataError
from destage.lab.trace_profile import TraceInfo
from destage.reproduce.data_files import Declared, Texts, read

__all__ = [
    "FEWEST",
    "PAGE",
    "RECORDED",
    "Catalogue",
    "Fit",
    "Recording",
    "TraceSpec",
    "catalogue",
    "check_counts",
    "fits",
    "load_catalogue",
    "rate_of",
    "requests_of",
]

#: Kinds of real traces that no paper used: further cases, never a paper's workload. A repeated
#: recording is the user's own of the same workload.
RECORDED = ("recording", "excerpt", "repeated")
#: A surrogate trace has at least so many requests, however small the scale.
FEWEST = 1000
#: Relative deviations of an original trace from its published counts: some counts are printed a
#: request off, lengths in hours, sizes to a hundredth of a KB; pages depend on alignment.
SLACK = {"requests": 0.001, "seconds": 0.1}
SIZE_SLACK = 0.02
#: Absolute deviation of its write ratio, published to a per cent or a tenth of one.
RATIO_SLACK = 0.006
#: Footprints of surrogate traces are given in pages of this size.
PAGE = 4096

Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[float, Meta(gt=0)]


if TYPE_CHECKING:
    CountName = str
else:
    CountName = Literal[
        "requests", "write_ratio", "mean_kib", "accesses", "unique_pages", "seconds", "rate_per_s"
    ]


class Shape(Declared, frozen=True):
    """Parameters of a surrogate trace that are not published."""

    pages: float
    alpha: float
    cluster_pages: float
    log_share: float
    log_page_share: float
    burst: float
    burst_gap_us: float
    most_requests: float = math.inf
    draw: Literal["recency", "independent", ""] = ""
    """Kind of references; empty: by recency where the source has it."""


class Recency(Declared, frozen=True):
    """Recency of page references, fitted to a real trace."""

    near: Share
    depth: Positive
    sequential: Share
    streams: Positive
    phases: Positive
    fitted: str
    """The trace that it was fitted to."""


class Source(Declared, frozen=True):
    """An archive of traces."""

    get: str
    cite: str
    recency: Recency | None = None
    affinity: Share = 0.0
    """Correlation (phi) of successive operations on a page, measured on a real trace."""


class TraceSpec(Declared, frozen=True):
    """A published trace, and the parameters of its surrogate."""

    title: str
    source: str
    standin: Shape
    ours: str
    name: str = ""
    files: Texts = ()
    counts: Mapping[CountName, float] = {}
    """Published counts of the trace."""
    published: str = ""
    """Their source."""
    whole: Mapping[CountName, float] = {}
    """Published counts of the whole file, where only a part is used."""
    use: Mapping[str, Any] = {}
    """Reader options that choose a part."""
    assumed: Mapping[CountName, float] = {}
    """Counts that a surrogate trace needs and no publication has."""
    deviation: Mapping[str, Annotated[float, Meta(ge=0)]] = {}
    """Published imbalance of a device's channels (SAC, table 1), by the label of the device."""
    missed_deviation: Mapping[str, Annotated[float, Meta(ge=0)]] = {}
    """The same behind `missed_cache_mib` under ARC (SAC, table 3)."""
    missed_cache_mib: float = 2048.0
    seconds: float = 0.0
    origin: Source = Source("", "")

    @property
    def known(self) -> dict[str, float]:
        """Published and assumed counts."""
        return {**self.assumed, **self.counts}

    @property
    def recency(self) -> Recency | None:
        """Recency of page references; None: independent references."""
        return self.origin.recency


class Recording(Declared, frozen=True):
    """A real trace that no paper used: our own, or an excerpt that circulates."""

    title: str
    files: Texts
    requests: int
    name: str = ""
    kind: Literal["recording", "excerpt", ""] = ""
    shipped: str | None = None
    use: Mapping[str, Any] = {}
    """Reader options."""
    sha256: str = ""
    """Of the unpacked file."""
    origin: str = ""
    """Public repository and path of an excerpt."""
    made: str = ""
    """Programs and parameters of a recording of our own."""


class _File(Declared, frozen=True):
    schema: Literal[1]
    source: Mapping[str, Source]
    trace: Mapping[str, TraceSpec]
    recording: Mapping[str, Recording] = {}
    excerpt: Mapping[str, Recording] = {}


@dataclass(frozen=True)
class Catalogue:
    """All traces of all papers."""

    traces: Mapping[str, TraceSpec]
    recordings: Mapping[str, Recording]


@cache
def catalogue() -> Catalogue:
    """Return the catalogue that ships with the package."""
    return load_catalogue(files("destage") / "papers" / "workloads.toml")


def load_catalogue(path: Path | Traversable) -> Catalogue:
    """Read and check a catalogue. Raises `DataError` with file and key."""
    found = read(path, _File)
    traces = {}
    for name, spec in found.trace.items():
        place = f"{path.name}: trace.{name}"
        if spec.source not in found.source:
            known = ", ".join(found.source)
            raise DataError(f"{place}.source: expected one of {known}, found {spec.source!r}")
        for key in ("requests", "write_ratio"):
            if key not in spec.known:
                raise DataError(f"{place}.counts: expected {key}, here or under assumed")
        seconds = spec.seconds or spec.counts.get("seconds", 0.0) or 1.0
        traces[name] = replace(spec, name=name, seconds=seconds, origin=found.source[spec.source])
    recordings = {
        name: replace(one, name=name, kind=kind)
        for kind in ("recording", "excerpt")
        for name, one in getattr(found, kind).items()
    }
    return Catalogue(traces, recordings)


@dataclass(frozen=True)
class Fit:
    """A count of a trace beside the published one."""

    what: str
    published: float | None
    aimed_at: float | None
    """The target of a surrogate trace at this scale."""
    has: float


def counted(info: TraceInfo) -> dict[str, float]:
    """Return the counts of a trace, under the names of published counts."""
    counts = info["counts"]
    return {
        "requests": info.requests,
        "write_ratio": 1 - info.read_share,
        "mean_kib": info["sizes"]["all"]["mean_bytes"] / 1024,
        "accesses": counts["accesses"],
        "unique_pages": counts["unique_pages"],
        "seconds": (info.duration_ns or 0) / 1e9,
    }


def check_counts(
    spec: TraceSpec, paths: Sequence[Path], published: Mapping[str, float], info: TraceInfo
) -> None:
    """Raise `DataError` unless a trace has the counts that are published of it."""
    has = counted(info)
    # Counts of BPAC's table IV are rounded to ten thousands of requests.
    rounded = published.get("requests", 1) % 1000 == 0
    slack = {**SLACK, "requests": 0.01 if rounded else SLACK["requests"]}
    for what, expected in published.items():
        if what == "write_ratio":
            off = abs(has[what] - expected) > RATIO_SLACK
        else:
            off = abs(has[what] - expected) > slack.get(what, SIZE_SLACK) * expected
        if off:
            name = ", ".join(p.name for p in paths[:3]) + (", ..." if len(paths) > 3 else "")
            found = "; ".join(f"{k} {_number(has[k])}" for k in published)
            wanted = "; ".join(f"{k} {_number(v)}" for k, v in published.items())
            raise DataError(
                f"{name}: this is not {spec.title}, or it is damaged: found {found};"
                f" expected {wanted} ({spec.published or 'as published'})"
            )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def fits(spec: TraceSpec, info: TraceInfo, scale: float, page_bytes: int) -> list[Fit]:
    """Return published, aimed at and achieved, count by count; pages of `page_bytes`."""
    has = counted(info)
    known = spec.known
    published = {**spec.counts, "seconds": spec.seconds}
    share = requests_of(spec, scale) / known["requests"]
    rows = []
    for what in ("requests", "accesses", "write_ratio", "mean_kib", "unique_pages", "seconds"):
        target = known.get(what) if what != "seconds" else known["requests"] / rate_of(spec)
        if what == "unique_pages":
            # Of pages of another size there are as many more or fewer.
            target = target or spec.standin.pages
            target *= requests_of(spec, scale) / requests_of(spec, 1.0) * PAGE / page_bytes
        elif target is not None and what in ("requests", "accesses", "seconds"):
            target *= share
        rows.append(Fit(what, published.get(what), target, has[what]))
    rows.append(Fit("requests_per_s", None, rate_of(spec), info.mean_rate_per_s))
    recency, shape = spec.recency, spec.standin
    sequential = recency.sequential if recency else shape.log_share
    found = float(info["sequentiality"]["with_any_stream"])
    rows.append(Fit("sequential_share", None, sequential, found))
    skew = float(info["rereference"]["zipf_skew"] or 0)
    rows.append(Fit("zipf_skew", None, None if recency else shape.alpha, skew))
    return rows


def rate_of(spec: TraceSpec) -> float:
    """Return the mean rate of a trace, in requests a second."""
    return spec.known.get("rate_per_s") or spec.known["requests"] / spec.seconds


def requests_of(spec: TraceSpec, scale: float) -> int:
    """Return the number of requests of a surrogate trace."""
    most = min(spec.known["requests"], spec.standin.most_requests)
    return max(FEWEST, round(most * scale))
