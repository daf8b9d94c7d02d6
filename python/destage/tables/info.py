"""What a trace looks like, in words and numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from destage.trace import Trace, TraceInfo

__all__ = ["duration", "info_text", "plausibility", "size"]


def size(count: float) -> str:
    """Return bytes in the largest binary unit that leaves a whole digit."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:,.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.3g} {unit}"
        count /= 1024
    raise AssertionError("the last unit takes everything")


def duration(ns: float) -> str:
    """Return a time in a unit that people read."""
    for unit, scale in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        if ns < scale * 1000:
            return f"{ns / scale:.4g} {unit}"
    seconds = ns / 1e9
    if seconds < 3 * 3600:
        return f"{seconds:,.0f} s"
    return f"{seconds / 3600:,.1f} h" if seconds < 72 * 3600 else f"{seconds / 86400:,.1f} days"


def plausibility(trace: Trace) -> str:
    """Return the line that is always shown, so that a wrong unit or column is noticed.

    Duration, rate, mean size, span of addresses, devices, share of reads.
    """
    counts, clock = trace.meta["counts"], trace.meta["clock"]
    requests = counts["requests"]
    parts = [f"{requests:,} requests"]
    if clock["timed"]:
        ns = clock["last_ns"] - clock["first_ns"]
        rate = f", {requests / (ns / 1e9):,.0f}/s" if ns else ""
        parts.append(f"{duration(ns)}{rate}")
    else:
        parts.append("no times")
    moved = counts["read_bytes"] + counts["write_bytes"]
    if requests:
        parts.append(f"{100 * counts['reads'] / requests:.1f} % reads")
        parts.append(f"mean {size(moved / requests)}")
    span = sum(d["span_bytes"] for d in trace.meta["devices"])
    devices = trace.devices
    named = devices[0] if len(devices) == 1 else f"{len(devices)} devices"
    parts.append(f"{size(span)} span of {named}")
    parts.append(f"{size(counts['footprint_bytes'])} touched")
    formats = ", ".join(dict.fromkeys(_formats(trace.meta["summary"])))
    cached = ", from the cache" if trace.from_cache else ""
    names = [s["name"] for s in trace.meta["sources"]]
    name = names[0] if len(names) == 1 else f"{len(names)} files"
    return f"{name}: {formats}{cached}: " + ", ".join(parts)


def _formats(summary: Mapping[str, Any]) -> Iterable[str]:
    for file in summary.get("files", ()):
        yield f"{file['format']} (detected)" if file.get("reason") else file["format"]
    if not summary.get("files"):
        yield "synthetic"


def info_text(info: TraceInfo) -> str:
    """Return what `destage trace info` prints."""
    d = info.data
    counts, sizes = d["counts"], d["sizes"]
    rows: list[tuple[str, str]] = []
    add = rows.append
    requests = counts["requests"]
    add(("format", ", ".join(dict.fromkeys(_formats(d["summary"])))))
    add(
        (
            "requests",
            f"{requests:,}: {counts['reads']:,} reads, {counts['writes']:,} writes"
            f" ({100 * d['read_share']:.1f} % reads); {counts['trims']:,} trims,"
            f" {counts['flushes']:,} flushes",
        )
    )
    add(
        (
            "bytes",
            f"{size(counts['read_bytes'])} read, {size(counts['write_bytes'])} written",
        )
    )
    for name in ("reads", "writes"):
        s = sizes[name]
        if s["count"]:
            add(
                (
                    f"size of {name}",
                    f"mean {size(s['mean_bytes'])}, p50 {size(s['p50_bytes'])},"
                    f" p99 {size(s['p99_bytes'])},"
                    f" {size(s['min_bytes'])} to {size(s['max_bytes'])}",
                )
            )
    if d["timed"]:
        add(("time", f"{duration(d['duration_ns'])}, {d['mean_rate_per_s']:,.1f} requests/s"))
        if d["interarrival"]:
            add(("between arrivals", _gaps(d["interarrival"])))
    else:
        add(("time", "the trace has no times"))
    if d["response"]:
        add(("measured response", _gaps(d["response"])))
    add(
        (
            "pages",
            f"{counts['unique_pages']:,} of {size(d['page_bytes'])}"
            f" ({size(counts['footprint_bytes'])}): {counts['unique_read']:,} read,"
            f" {counts['unique_written']:,} written, {counts['unique_both']:,} both",
        )
    )
    add(
        (
            "page accesses",
            f"{counts['accesses']:,}, {counts['write_accesses']:,} of them writes;"
            f" {counts['partial_reads']:,} reads and {counts['partial_writes']:,} writes in part",
        )
    )
    devices = "1 device" if len(d["devices"]) == 1 else f"{len(d['devices']):,} devices"
    add(("span", f"{size(d['span_bytes'])} in {devices}"))
    s = d["sequentiality"]
    add(
        (
            "sequential",
            f"{100 * s['with_previous']:.1f} % go on with the request before,"
            f" {100 * s['with_any_stream']:.1f} % with a recent stream",
        )
    )
    r = d["rereference"]
    add(
        (
            "re-references",
            f"{r['mean_accesses_per_page']:.2f} accesses a page; {r['once_pages']:,} pages once;"
            f" median LRU distance {r['median_distance_pages']:,} pages; Zipf skew"
            f" {r['zipf_skew']:.2f}",
        )
    )
    hottest = ", ".join(f"{100 * p:g} % of pages: {100 * a:.1f} %" for p, a in r["hottest"])
    add(("accesses that go to", f"the hottest {hottest}"))
    summary = d["summary"]
    counted = {
        "stepped back": summary.get("stepped_back", 0),
        "zero length": summary.get("zero_length", 0),
        "filtered out": summary.get("filtered_out", 0),
        "blank": summary.get("blank", 0),
        "comments": summary.get("comment", 0),
    }
    malformed = {
        k: e["count"] if isinstance(e, Mapping) else e for k, e in summary.get("errors", {}).items()
    }
    dropped = {**counted, **summary.get("ignored_events", {}), **malformed}
    told = ", ".join(f"{n:,} {what}" for what, n in dropped.items() if n)
    add(("reading", told or "nothing dropped, nothing out of order"))
    lines = [", ".join(source["name"] for source in d["sources"])]
    lines += [_row(name, text) for name, text in rows]
    if len(d["devices"]) > 1:
        lines.append("  devices")
        lines += [
            f"    {v['name']:<15} {v['requests']:,} requests, {v['unique_pages']:,} pages,"
            f" span {size(v['span_bytes'])}"
            for v in d["devices"]
        ]
    lines.append(_row("fingerprint", d["fingerprint"]))
    return "\n".join(lines)


def _row(name: str, text: str) -> str:
    """A name and what is to be said, in lines of 80 columns."""
    first, rest = f"  {name:<19} ", " " * 22
    return textwrap.fill(text, 80, initial_indent=first, subsequent_indent=rest)


def _gaps(gaps: Mapping[str, Any]) -> str:
    return (
        f"mean {duration(gaps['mean_ns'])}, p50 {duration(gaps['p50_ns'])},"
        f" p99 {duration(gaps['p99_ns'])}, max {duration(gaps['max_ns'])}"
    )
