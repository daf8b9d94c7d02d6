"""What a trace looks like, for the report: its numbers, and three small charts.

The input is what `trace info` gives as JSON. A number that is not there is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from destage.charts.trace import hottest, request_sizes, rereferences
from destage.model.words import duration, finite, number, percent, significant, size

__all__ = ["facts", "profile_charts"]


def facts(info: Mapping[str, Any]) -> list[dict[str, str]]:
    """Title, value and a note, in reading order."""
    counts = _map(info, "counts")
    sizes = _map(_map(info, "sizes"), "all")
    again = _map(info, "rereference")
    sequential = _map(info, "sequentiality")
    gaps = _map(info, "interarrival")
    page_bytes = finite(info.get("page_bytes"))
    found: list[dict[str, str]] = []

    def add(title: str, value: str, note: str = "") -> None:
        found.append({"title": title, "value": value, "note": note})

    requests, accesses = finite(counts.get("requests")), finite(counts.get("accesses"))
    if requests is not None:
        add("Requests", number(requests))
    if accesses is not None:
        add("Page accesses", number(accesses), f"of {size(page_bytes)}" if page_bytes else "")
    read_share = finite(info.get("read_share"))
    if read_share is not None:
        add("Reads", percent(read_share, 1), f"{percent(1 - read_share, 1)} writes")
    unique = finite(counts.get("unique_pages"))
    if unique is not None and page_bytes:
        add("Footprint", size(unique * page_bytes), f"{number(unique)} pages")
        for key, title in (("unique_read", "Pages read"), ("unique_written", "Pages written")):
            if finite(counts.get(key)) is not None:
                add(title, number(counts[key]))
    if finite(info.get("span_bytes")) is not None:
        add("Address span", size(info["span_bytes"]))
    if info.get("timed"):
        add("Duration", duration(finite(info.get("duration_ns"))))
        rate = finite(info.get("mean_rate_per_s"))
        if rate is not None:
            add("Mean rate", significant(rate), "requests/s")
        if gaps:
            add(
                "Between arrivals",
                duration(finite(gaps.get("p50_ns"))),
                f"median; 99 % within {duration(finite(gaps.get('p99_ns')))}",
            )
    else:
        add("Duration", "unknown", "the trace has no times")
    if sizes:
        add(
            "Request size",
            size(finite(sizes.get("mean_bytes"))),
            f"mean; median {size(finite(sizes.get('p50_bytes')))}",
        )
    share = finite(sequential.get("with_previous"))
    if share is not None:
        any_stream = finite(sequential.get("with_any_stream"))
        note = f"{percent(any_stream, 1)} with any stream" if any_stream is not None else ""
        add("Sequential", percent(share, 1), note)
    repeated = finite(again.get("repeated_accesses"))
    if repeated is not None and accesses:
        add("Repeated accesses", percent(repeated / accesses, 1), "to a page seen before")
    once = finite(again.get("once_pages"))
    if once is not None and unique:
        add("Pages used once", percent(once / unique, 1))
    skew = finite(again.get("zipf_skew"))
    if skew is not None:
        add("Zipf skew", significant(skew))
    return found


def profile_charts(info: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """Name, title and chart; those that the trace has numbers for."""
    from destage.charts.theme import PAGE

    found = []
    for name, title, make in (
        ("request_sizes", "Request sizes", request_sizes),
        ("rereferences", "How far back pages come from", rereferences),
        ("hottest", "Hottest pages", hottest),
    ):
        chart = make(info, PAGE, page=True)
        if chart is not None:
            found.append((name, title, chart))
    return found


def _map(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}
