"""The trace in the report: its numbers, and three small charts.

The input is what `trace info` gives as JSON. A number that is not there is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from destage.model.words import RECENT, duration, finite, number, percent, significant, size
from destage.show.charts.theme import PAGE
from destage.show.charts.trace import hottest, request_sizes, rereferences
from destage.show.pages.blocks import Part, fact

__all__ = ["facts", "profile_charts"]


def facts(info: Mapping[str, Any]) -> list[Part]:
    """Title, value and a note, in reading order."""
    return [*_requests(info), *_times(info), *_order(info)]


def _requests(info: Mapping[str, Any]) -> Iterable[Part]:
    """How much is asked for, and of what."""
    counts, page_bytes = _map(info, "counts"), finite(info.get("page_bytes"))
    requests, accesses = finite(counts.get("requests")), finite(counts.get("accesses"))
    if requests is not None:
        yield fact("Requests", number(requests))
    if accesses is not None:
        of = f"of {size(page_bytes)}" if page_bytes else ""
        yield fact("Page accesses", number(accesses), of)
    read_share = finite(info.get("read_share"))
    if read_share is not None:
        yield fact("Reads", percent(read_share, 1), f"{percent(1 - read_share, 1)} writes")
    unique = finite(counts.get("unique_pages"))
    if unique is not None and page_bytes:
        yield fact("Footprint", size(unique * page_bytes), f"{number(unique)} pages")
        for key, title in (("unique_read", "Pages read"), ("unique_written", "Pages written")):
            if finite(counts.get(key)) is not None:
                yield fact(title, number(counts[key]))
    if finite(info.get("span_bytes")) is not None:
        yield fact("Address span", size(info["span_bytes"]))


def _times(info: Mapping[str, Any]) -> Iterable[Part]:
    """How long it is, and how fast."""
    if not info.get("timed"):
        yield fact("Duration", "unknown", "the trace has no times")
        return
    yield fact("Duration", duration(finite(info.get("duration_ns"))))
    rate, gaps = finite(info.get("mean_rate_per_s")), _map(info, "interarrival")
    if rate is not None:
        yield fact("Mean rate", significant(rate), "requests/s")
    if gaps:
        within = duration(finite(gaps.get("p99_ns")))
        median = duration(finite(gaps.get("p50_ns")))
        yield fact("Between arrivals", median, f"median; 99 % within {within}")


def _order(info: Mapping[str, Any]) -> Iterable[Part]:
    """How large requests are, how they follow each other, how pages come again."""
    counts, again = _map(info, "counts"), _map(info, "rereference")
    sizes, sequential = _map(_map(info, "sizes"), "all"), _map(info, "sequentiality")
    if sizes:
        median = size(finite(sizes.get("p50_bytes")))
        yield fact("Request size", size(finite(sizes.get("mean_bytes"))), f"mean; median {median}")
    share = finite(sequential.get("with_previous"))
    if share is not None:
        stream = finite(sequential.get("with_any_stream"))
        note = f"{percent(stream, 1)} continue it or another {RECENT}" if stream is not None else ""
        yield fact("Sequential", percent(share, 1), note)
    repeated, accesses = finite(again.get("repeated_accesses")), finite(counts.get("accesses"))
    if repeated is not None and accesses:
        yield fact("Repeated accesses", percent(repeated / accesses, 1), "to a page seen before")
    once, unique = finite(again.get("once_pages")), finite(counts.get("unique_pages"))
    if once is not None and unique:
        yield fact("Pages used once", percent(once / unique, 1))
    skew = finite(again.get("zipf_skew"))
    if skew is not None:
        yield fact("Zipf skew", significant(skew))


def profile_charts(info: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """Name, title and chart; those that the trace has numbers for."""
    found = []
    for name, title, make in (
        ("request_sizes", "Request sizes", request_sizes),
        ("rereferences", "Reuse distance of pages", rereferences),
        ("hottest", "Hottest pages", hottest),
    ):
        chart = make(info, PAGE, page=True)
        if chart is not None:
            found.append((name, title, chart))
    return found


def _map(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}
