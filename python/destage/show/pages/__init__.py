"""The report: one HTML file with charts, tables and provenance, which loads nothing.

The same inputs give the same bytes: no clock, no random ids. The charts are Altair specifications,
compiled to Vega here, so that the page carries Vega alone; their rows stand in the page once.

Needs the extra `report` (Altair, vl-convert, Jinja2).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from destage.base.io.extras import need_extra
from destage.base.io.files import write_whole
from destage.model.results import ResultSet

__all__ = ["render_report", "write_report"]


def render_report(
    *,
    results: Sequence[ResultSet],
    infos: Sequence[Mapping[str, Any]] = (),
    curves: Sequence[ResultSet] = (),
    profiles: Sequence[Mapping[str, Any]] = (),
    series: Sequence[Sequence[Mapping[str, int | float]]] = (),
    command: str | None = None,
) -> str:
    """Return the report as HTML.

    `results` are one for each trace. `infos` (what `trace info` says, as JSON), `curves` and
    `profiles` (what `trace profile` says, as JSON) belong to them by fingerprint or, without one,
    by position; those that belong to no result set get a part of their own. `series` are the
    periods of single runs, by the position of their result set. `command` is the command line that
    makes the report again.

    Raises `DataError` if an input is not of its schema, `MissingExtra` without the extra `report`.
    """
    need_extra("the report")
    from destage.show.pages.page import page

    return page(results, infos, curves, profiles, series, command)


def write_report(path: str | os.PathLike[str], **parts: Any) -> None:
    """Write the report to `path`, whole or not at all; see `render_report` for its `parts`.

    Raises `OutputError` if it cannot be written.
    """
    write_whole(path, render_report(**parts))
