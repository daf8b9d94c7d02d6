"""The traces that papers published (`papers/workloads.toml`), and how near a trace is to one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from destage.errors import DataError
from destage.profile import TraceInfo
from destage.reproduce.toml import Table, read

__all__ = [
    "FEWEST",
    "RECORDED",
    "Catalogue",
    "Fit",
    "Recording",
    "TraceSpec",
    "catalogue",
    "check_counts",
    "counted",
    "fits",
    "load_catalogue",
    "requests_of",
]

#: Kinds of real traces that are no original: further cases, never a paper's load.
RECORDED = ("recording", "excerpt")
#: A stand-in has at least so many requests, however small the scale.
FEWEST = 1000
#: How far a count of an original may be from the published one: some are printed a request off.
COUNT_SLACK = 0.001


#: ... its write ratio, which is published to a per cent or a tenth of one ...
RATIO_SLACK = 0.006


#: ... its mean size, published to a hundredth of a KB, and its pages, which depend on alignment ...
SIZE_SLACK = 0.02


#: ... and its length, published in hours.
LENGTH_SLACK = 0.1


#: Stand-ins' footprints are given in pages of this size.
PAGE = 4096


@dataclass(frozen=True)
class TraceSpec:
    """What is published of a trace, and what its stand-in is made of."""

    name: str
    title: str
    files: tuple[str, ...]
    get: str
    cite: str
    counts: Mapping[str, float]
    """Published: `requests`, `write_ratio`, `mean_kib`, `accesses`, `unique_pages`, `seconds`."""
    published: str
    whole: Mapping[str, float]
    """Published counts of the whole file, where only a part is used."""
    use: Mapping[str, Any]
    """Reader options that choose the part."""
    assumed: Mapping[str, float]
    """What a stand-in needs and nobody publishes."""
    standin: Mapping[str, float]
    recency: Mapping[str, float]
    """How soon pages are asked for again, as fitted to a real trace; empty: independent draws."""
    fitted: str
    """What that was fitted to."""
    deviation: Mapping[str, float]
    """Published imbalance of a drive's channels (SAC, table 1), by the label of the drive."""
    seconds: float
    ours: str


@dataclass(frozen=True)
class Recording:
    """A real trace that is no original of a paper: of our own, or an excerpt that circulates."""

    name: str
    kind: str
    """`recording` or `excerpt`."""
    title: str
    files: tuple[str, ...]
    requests: int
    shipped: str | None = None
    use: Mapping[str, Any] = field(default_factory=dict)
    """Reader options."""


@dataclass(frozen=True)
class Catalogue:
    """All traces of all papers."""

    traces: Mapping[str, TraceSpec]
    recordings: Mapping[str, Recording]


@cache
def catalogue() -> Catalogue:
    """Return the catalogue that ships with the package."""
    return load_catalogue(files("destage") / "papers" / "workloads.toml")


_COUNTS = ("requests", "write_ratio", "mean_kib", "accesses", "unique_pages", "seconds")


def load_catalogue(path: Path | Traversable) -> Catalogue:
    """Read and check a catalogue. Raises `DataError` with file and key."""
    top = read(path)
    if top.whole("schema") != 1:
        raise top.wrong("schema", "1")
    sources = dict(top.need("source").children())
    fitted = {name: _recency(source) for name, source in sources.items()}
    traces = {name: _trace(name, t, sources, fitted) for name, t in top.need("trace").children()}
    recordings = {}
    for kind in RECORDED:
        table = top.table(kind)
        for name, t in table.children() if table else ():
            shipped = t.text("shipped", "-")
            use = t.table("use")
            recordings[name] = Recording(
                name,
                kind,
                t.text("title"),
                t.texts("files"),
                t.whole("requests"),
                None if shipped == "-" else shipped,
                dict(use.data) if use else {},
            )
            t.done()
    top.done()
    return Catalogue(traces, recordings)


def _numbers(t: Table, key: str, known: Sequence[str]) -> tuple[dict[str, float], str]:
    table = t.table(key)
    if table is None:
        return {}, ""
    found = {k: table.real(k) for k in known if table.has(k)}
    published = table.text("published", "-")
    table.asked |= dict.fromkeys(known)
    table.done()
    return found, published.strip("-")


#: What is fitted of how pages come again (`standins`).
_RECENCY = ("near", "depth", "sequential", "streams", "phases")


def _recency(source: Table) -> tuple[dict[str, float], str]:
    """How soon pages of a source's traces are asked for again, and what that was fitted to."""
    table = source.table("recency")
    if table is None:
        return {}, ""
    found = {key: table.real(key) for key in _RECENCY}
    for key, value in found.items():
        highest = 1.0 if key in ("near", "sequential") else math.inf
        if not 0 <= value <= highest or (key not in ("near", "sequential") and value == 0):
            raise table.wrong(key, "a share" if highest == 1 else "a number above 0")
    text = table.text("fitted")
    table.done()
    return found, text


def _deviation(t: Table) -> dict[str, float]:
    """SAC's table 1, drive by drive."""
    table = t.table("deviation")
    found = {drive: table.real(drive) for drive in table.data} if table else {}
    for drive, value in found.items():
        if table is not None and value < 0:
            raise table.wrong(drive, "a deviation, 0 or more")
    return found


def _trace(
    name: str,
    t: Table,
    sources: Mapping[str, Table],
    fitted: Mapping[str, tuple[dict[str, float], str]],
) -> TraceSpec:
    chosen = t.word("source", list(sources))
    source = sources[chosen]
    counts, published = _numbers(t, "counts", _COUNTS)
    whole, _ = _numbers(t, "whole", _COUNTS)
    assumed, _ = _numbers(t, "assumed", (*_COUNTS, "rate_per_s"))
    shape = ("pages", "alpha", "cluster_pages", "log_share", "log_page_share", "burst")
    standin, _ = _numbers(t, "standin", (*shape, "burst_gap_us", "most_requests"))
    for key in (*shape, "burst_gap_us"):
        if key not in standin:
            raise t.need("standin").wrong(key, "a number")
    merged = {**assumed, **counts}
    for key in ("requests", "write_ratio"):
        if key not in merged:
            raise t.wrong("counts", f"{key}, here or under assumed")
    use = t.table("use")
    found = TraceSpec(
        name=name,
        title=t.text("title"),
        files=t.texts("files", ()),
        get=source.text("get"),
        cite=source.text("cite"),
        counts=counts,
        published=published,
        whole=whole,
        use=dict(use.data) if use else {},
        assumed=assumed,
        standin=standin,
        recency=fitted[chosen][0],
        fitted=fitted[chosen][1],
        deviation=_deviation(t),
        seconds=t.real("seconds", counts.get("seconds", 0.0) or 1.0),
        ours=t.text("ours"),
    )
    t.done()
    return found


@dataclass(frozen=True)
class Fit:
    """What is published of a trace, and what the one at hand has."""

    what: str
    published: float | None
    target: float | None
    """What a stand-in of this scale aims at."""
    achieved: float


def counted(info: TraceInfo) -> dict[str, float]:
    """Return what a trace has, under the names of published counts."""
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
    slack = {"requests": COUNT_SLACK, "seconds": LENGTH_SLACK}
    # Counts of BPAC's table IV are rounded to ten thousands of requests.
    if published.get("requests", 1) % 1000 == 0:
        slack["requests"] = 0.01
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
    known = {**spec.assumed, **spec.counts}
    published = {**spec.counts, "seconds": spec.seconds}
    share = requests_of(spec, scale) / known["requests"]
    rows = []
    for what in ("requests", "accesses", "write_ratio", "mean_kib", "unique_pages", "seconds"):
        target = known.get(what) if what != "seconds" else seconds_of(spec)
        if what == "unique_pages":
            # Of pages of another size there are as many more or fewer.
            target = target or spec.standin["pages"]
            target *= requests_of(spec, scale) / requests_of(spec, 1.0) * PAGE / page_bytes
        elif target is not None and what in ("requests", "accesses", "seconds"):
            target *= share
        rows.append(Fit(what, published.get(what), target, has[what]))
    rows.append(Fit("requests_per_s", None, rate_of(spec), info.mean_rate_per_s))
    recency = spec.recency
    sequential = recency.get("sequential", spec.standin["log_share"])
    found = float(info["sequentiality"]["with_any_stream"])
    rows.append(Fit("sequential_share", None, sequential, found))
    skew = float(info["rereference"]["zipf_skew"] or 0)
    rows.append(Fit("zipf_skew", None, None if recency else spec.standin["alpha"], skew))
    return rows


def rate_of(spec: TraceSpec) -> float:
    known = {**spec.assumed, **spec.counts}
    return known.get("rate_per_s") or known["requests"] / spec.seconds


def seconds_of(spec: TraceSpec) -> float:
    known = {**spec.assumed, **spec.counts}
    return known["requests"] / rate_of(spec)


def requests_of(spec: TraceSpec, scale: float) -> int:
    """Return how many requests a stand-in has."""
    known = {**spec.assumed, **spec.counts}
    most = min(known["requests"], spec.standin.get("most_requests", math.inf))
    return max(FEWEST, round(most * scale))
