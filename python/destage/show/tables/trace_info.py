"""The facts of a trace, in words and numbers."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from destage import _destage
from destage.model.words import RECENT, counted, duration, number, percent, plain, significant, size

__all__ = ["info_text", "plausibility"]

Data = Mapping[str, Any]
#: A title and its text.
Line = tuple[str, str]


def plausibility(overview: Data, from_cache: bool) -> str:
    """Return the line that is always shown, so that a wrong unit or column is noticed.

    Duration, rate, mean size, highest address, volumes, share of reads, and records that were
    left out or sorted.
    """
    counts, clock = overview["counts"], overview["clock"]
    requests = counts["requests"]
    formats = list(dict.fromkeys(_formats(overview["summary"])))
    # A prompt is a request of each of its blocks.
    is_prompts = all(name.partition(" ")[0] == "mooncake" for name in formats)
    parts = [f"{number(requests)} {'blocks of prompts' if is_prompts else 'requests'}"]
    if clock["timed"]:
        ns = clock["last_ns"] - clock["first_ns"]
        rate = f", {significant(requests / (ns / 1e9))}/s" if ns else ""
        parts.append(f"{duration(ns)}{_taken(overview['summary'])}{rate}")
    else:
        parts.append("no times")
    moved = counts["read_bytes"] + counts["write_bytes"]
    if requests:
        share = f"{percent(counts['reads'] / requests, 1)} reads"
        parts.append(_ALL_READ if _has_no_operations(overview["summary"]) else share)
        parts.append(f"mean {size(moved / requests)}")
    volumes = overview["volumes"]
    named = volumes["first"] if volumes["count"] == 1 else f"{volumes['count']} volumes"
    parts.append(f"addresses to {size(volumes['span_bytes'])} of {named}")
    parts.append(f"{size(counts['footprint_bytes'])} touched")
    parts += _repaired(overview["summary"])
    cached = ", from the cache" if from_cache else ""
    names = [s["name"] for s in overview["sources"]]
    name = names[0] if len(names) == 1 else f"{len(names)} files"
    return plain(f"{name}: {', '.join(formats)}{cached}: " + ", ".join(parts))


def _repaired(summary: Data) -> Iterable[str]:
    """Records that the reader left out, or put in the order of their times."""
    if count := summary.get("zero_length", 0):
        yield f"{counted(count, 'request')} of length 0 left out"
    if count := summary.get("stepped_back", 0):
        yield f"{counted(count, 'time')} out of order"


#: Of a format without operations.
_ALL_READ = "no operations in the file: all read"


def _has_no_operations(summary: Data) -> bool:
    files = summary.get("files", ())
    return bool(files) and {file["format"] for file in files} <= _formats_of_reads()


@cache
def _formats_of_reads() -> frozenset[str]:
    found = json.loads(_destage.formats())
    return frozenset(f["name"] for f in found if not f["has_ops"])


def _taken(summary: Data) -> str:
    """The unit that times were taken in where the file does not have it."""
    said = " ".join((*summary.get("notes", ()), *summary.get("warnings", ())))
    found = re.search(r"times taken as (\w+)", said)
    return f" (times taken as {found[1]}: --time-unit)" if found else ""


def _formats(summary: Data) -> Iterable[str]:
    for file in summary.get("files", ()):
        yield f"{file['format']} (detected)" if file.get("reason") else file["format"]
    if not summary.get("files"):
        yield "synthetic"


def info_text(data: Data) -> str:
    """Return what `destage trace info` prints."""
    rows = [*_requests(data), *_times(data), *_pages(data), *_order(data), _reading(data)]
    lines = [", ".join(source["name"] for source in data["sources"])]
    lines += [_row(name, plain(text)) for name, text in rows]
    lines += _volumes(data["volumes"])
    lines.append(_row("fingerprint", data["fingerprint"]))
    return "\n".join(lines)


#: Volumes that are listed.
MOST_VOLUMES = 10


def _volumes(volumes: Sequence[Data]) -> Iterable[str]:
    """The volumes of a trace that has several; of many, the largest."""
    if len(volumes) < 2:
        return
    many = len(volumes) > MOST_VOLUMES
    largest = sorted(volumes, key=lambda v: -v["requests"])[:MOST_VOLUMES] if many else volumes
    which = f", the {MOST_VOLUMES} with the most requests:" if many else ""
    yield f"  {number(len(volumes))} volumes{which}"
    for v in largest:
        yield plain(
            f"    {v['name']:<15} {number(v['requests'])} requests,"
            f" {number(v['unique_pages'])} pages, addresses to {size(v['span_bytes'])}"
        )


def _row(name: str, text: str) -> str:
    """A name and its text, in lines of 80 columns."""
    first, rest = f"  {name:<19} ", " " * 22
    return textwrap.fill(text, 80, initial_indent=first, subsequent_indent=rest)


def _requests(data: Data) -> Iterable[Line]:
    """How many, and how large."""
    counts, sizes = data["counts"], data["sizes"]
    yield "format", ", ".join(dict.fromkeys(_formats(data["summary"])))
    told = (
        f"{counted(counts['reads'], 'read')},"
        f" {counted(counts['writes'], 'write')} ({percent(data['read_share'], 1)} reads);"
        f" {counted(counts['trims'], 'trim')}, {counted(counts['flushes'], 'flush', 'flushes')}"
    )
    told = _ALL_READ if _has_no_operations(data["summary"]) else told
    yield "requests", f"{number(counts['requests'])}: {told}"
    yield "bytes", f"{size(counts['read_bytes'])} read, {size(counts['write_bytes'])} written"
    for name in ("reads", "writes"):
        s = sizes[name]
        if s["count"]:
            yield (
                f"size of {name}",
                f"mean {size(s['mean_bytes'])}, p50 {size(s['p50_bytes'])},"
                f" p99 {size(s['p99_bytes'])}, {size(s['min_bytes'])} to {size(s['max_bytes'])}",
            )


def _times(data: Data) -> Iterable[Line]:
    """When requests came, and how long they took where the trace says so."""
    if data["timed"]:
        rate = significant(data["mean_rate_per_s"])
        taken = _taken(data["summary"])
        yield "time", f"{duration(data['duration_ns'])}{taken}, {rate} requests/s"
        if data["interarrival"]:
            yield "between arrivals", _gaps(data["interarrival"])
    else:
        yield "time", "the trace has no times"
    if data["response"]:
        yield "measured response", _gaps(data["response"])


def _gaps(gaps: Data) -> str:
    return (
        f"mean {duration(gaps['mean_ns'])}, p50 {duration(gaps['p50_ns'])},"
        f" p99 {duration(gaps['p99_ns'])}, max {duration(gaps['max_ns'])}"
    )


def _pages(data: Data) -> Iterable[Line]:
    """Lines on the pages that the trace touches."""
    counts = data["counts"]
    yield (
        "pages",
        f"{number(counts['unique_pages'])} of {size(data['page_bytes'])}"
        f" ({size(counts['footprint_bytes'])}): {number(counts['unique_read'])} read,"
        f" {number(counts['unique_written'])} written, {number(counts['unique_both'])} both",
    )
    yield (
        "page accesses",
        f"{number(counts['accesses'])}, {number(counts['write_accesses'])} of them writes;"
        f" {counted(counts['partial_reads'], 'read')} and"
        f" {counted(counts['partial_writes'], 'write')} of part of a page",
    )
    yield (
        "highest address",
        f"{size(data['span_bytes'])} in {counted(len(data['volumes']), 'volume')}",
    )


def _order(data: Data) -> Iterable[Line]:
    """How requests follow each other, and how pages come again."""
    s, r = data["sequentiality"], data["rereference"]
    yield (
        "sequential",
        f"{percent(s['with_previous'], 1)} continue the previous request,"
        f" {percent(s['with_any_stream'], 1)} continue it or another {RECENT}",
    )
    yield (
        "re-references",
        f"{number(r['mean_accesses_per_page'], 2)} accesses a page;"
        f" {counted(r['once_pages'], 'page')} once; median LRU distance at most"
        f" {counted(r['median_distance_pages'], 'page')}; Zipf skew {number(r['zipf_skew'], 2)}",
    )
    shares = [f"{100 * p:g} %: {percent(a, 1)}" for p, a in r["hottest"]]
    yield "hottest pages", ", ".join([f"{shares[0]} of accesses", *shares[1:]])


#: Faults whose names are short for others.
_MALFORMED = {"unknown_op": "unknown operation"}


def _reading(data: Data) -> Line:
    """Records that the reader dropped or repaired."""
    summary = data["summary"]
    titles = {
        "stepped back": "stepped_back",
        "zero length": "zero_length",
        "filtered out": "filtered_out",
        "blank": "blank",
        "comments": "comment",
    }
    seen = {title: summary.get(key, 0) for title, key in titles.items()}
    malformed = {
        f"malformed ({_MALFORMED.get(k, k).replace('_', ' ')})": (
            e["count"] if isinstance(e, Mapping) else e
        )
        for k, e in summary.get("errors", {}).items()
    }
    skipped = {f"skipped ({k})": n for k, n in summary.get("ignored_events", {}).items()}
    dropped = {**seen, **skipped, **malformed}
    told = [f"{number(n)} {what}" for what, n in dropped.items() if n]
    if seen["stepped back"]:
        told[0] += f" (at most {duration(summary['largest_step_ns'])})"
    if header := summary.get("header", 0):
        told.append(counted(header, "header line"))
    return "reading", ", ".join(told) or "all records kept, in time order"
