"""Requests of a decoded trace, as rows and as columns."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from destage import _destage

__all__ = ["Request", "request_columns", "requests_of"]

#: Rows that are taken from the trace at a time.
_ROWS = 1 << 16


class Request(NamedTuple):
    """A request of a trace."""

    time_ns: int
    """Arrival, from the start of the trace; 0 in a trace without times."""
    op: str
    """`read` or `write`."""
    page: int
    """Its first page."""
    pages: int
    """Its pages."""


def _columns(raw: _destage.Trace, start: int, count: int) -> tuple[array[int], ...]:
    columns = array("Q"), array("Q"), array("I"), array("B")
    for column, content in zip(columns, raw.rows(start, count), strict=True):
        column.frombytes(content)
    return columns


def requests_of(raw: _destage.Trace, rows: int) -> Iterator[Request]:
    """The first so many requests, one after another."""
    for start in range(0, rows, _ROWS):
        count = min(_ROWS, rows - start)
        for time_ns, page, pages, write in zip(*_columns(raw, start, count), strict=True):
            yield Request(time_ns, "write" if write else "read", page, pages)


def request_columns(raw: _destage.Trace, rows: int) -> dict[str, list[int | str]]:
    """All requests, by the columns of `Request`."""
    times, firsts, pages, writes = _columns(raw, 0, rows)
    words = ("read", "write")
    ops: list[int | str] = [words[write] for write in writes]
    return {"time_ns": list(times), "op": ops, "page": list(firsts), "pages": list(pages)}
