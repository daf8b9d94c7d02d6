"""Looking at traces without running them: their first requests, their numbers, other formats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from destage import _destage
from destage.base.errors import UsageError
from destage.base.io.path_conflicts import Named, refuse
from destage.lab.catalogue import workload_json
from destage.lab.trace_profile import TraceInfo
from destage.lab.traces import (
    PathLike,
    Progress,
    Trace,
    open_trace,
    paths_of,
    reader_json,
)

__all__ = ["Converted", "convert", "trace_head", "trace_info", "write_workload"]


def trace_head(
    paths: PathLike | Sequence[PathLike], *, count: int = 10, **options: Any
) -> list[dict[str, Any]]:
    """Read the first requests as a run replays them: sorted, rebased, filtered.

    Parameters:
        paths, options: as in `open_trace`.
        count: how many, at least 1.

    Returns dictionaries with `time_ns`, `volume`, `op`, `offset_bytes`, `length_bytes` and
    `response_ns` (None where the format has none). Raises as `open_trace`.
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < 1 << 63:
        raise UsageError(f"count: expected a whole number from 1, got {count!r}")
    rows: list[dict[str, Any]] = json.loads(
        _destage.trace_head(paths_of(paths), reader_json(options), count)
    )
    return rows


@dataclass(frozen=True)
class Converted:
    """The outcome of `convert`."""

    format: str
    """Name of the format."""
    requests: int
    """Requests read."""
    records: int
    """Records written."""
    losses: Mapping[str, int]
    """Losses that `lossy` allowed, each with its number of requests."""
    notes: tuple[str, ...]
    """Fields that the format cannot hold."""


def convert(
    paths: PathLike | Sequence[PathLike],
    destination: PathLike,
    *,
    to: str,
    lossy: bool = False,
    target_time_unit: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Converted:
    """Write a trace in another format.

    Parameters:
        paths, options: as in `open_trace`; several files become one.
        destination: the file, which appears when it is whole; `-` is standard output. An ending
            such as `.gz` or `.xz` compresses it.
        to: `mqsim`, `disksim`, `fio`, `blktrace`, `oracle-general`, `csv` or `parquet`.
        lossy: leave out what the format cannot hold, and count it, instead of an error.
        target_time_unit: unit of the times of `mqsim`: ns (default), us, ps.

    Raises as `open_trace`, and `OutputError`.
    """
    if not isinstance(to, str):
        raise UsageError(f"to: expected the name of a format, got {to!r}")
    (target,) = paths_of([destination])
    sources = paths_of(paths)
    refuse(
        [Named.output("the destination", str(target))],
        [Named.input("the trace", path) for path in sources],
    )
    data = json.loads(
        _destage.convert(
            sources,
            reader_json(options),
            to,
            target,
            bool(lossy),
            target_time_unit,
            progress,
        )
    )
    return Converted(**(data | {"notes": tuple(data["notes"])}))


def write_workload(
    kind: str,
    destination: PathLike,
    *,
    to: str = "csv",
    progress: Progress | None = None,
    **parameters: Any,
) -> Converted:
    """Make a workload from a seed, and write its requests to a file.

    Parameters: `kind` and `parameters` as in `synth`; `destination` and `to` as in `convert`.

    Raises `UsageError`, `OutputError`.
    """
    (target,) = paths_of([destination])
    text = _destage.convert_workload(workload_json(kind, parameters), to, target, progress)
    data = json.loads(text)
    return Converted(**(data | {"notes": tuple(data["notes"])}))


def trace_info(
    trace: Trace | PathLike | Sequence[PathLike],
    *,
    progress: Progress | None = None,
    **options: Any,
) -> TraceInfo:
    """Describe a trace, which may also be given as its files; options as in `open_trace`."""
    if not isinstance(trace, Trace):
        trace = open_trace(trace, progress=progress, **options)
    elif options:
        raise UsageError(f"{', '.join(options)}: the trace is open already")
    return trace.info(progress=progress)
