"""Opening the trace of a command, and describing it on standard error."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from destage.base.errors import MissingFile, UsageError
from destage.base.io.names import printable
from destage.cli.file_types import Input
from destage.cli.options import (
    placed,
    reader_values,
)
from destage.cli.screen import note, progress, warn
from destage.lab.options import is_separate
from destage.lab.ssd import Device
from destage.lab.traces import Trace, open_trace, open_volumes
from destage.model.naming import catalogue
from destage.model.words import plain, size
from destage.questions.runs import Pair
from destage.show.tables.trace_info import plausibility

__all__ = ["MAYBE_TRACES", "TRACES", "load", "load_for", "load_one", "sources"]


#: The argument of commands that read a trace; several files are one.
TRACES, MAYBE_TRACES = (
    click.argument(
        "trace", nargs=-1, required=required, type=Input("the trace"), metavar="TRACE..."
    )
    for required in (True, False)
)


def load(
    paths: Sequence[str],
    arguments: Mapping[str, Any],
    drive: Device | None = None,
    said: set[str] | None = None,
) -> list[Trace]:
    """Open the files as one trace, or as one for each volume (`--volumes separate`).

    They are opened for the device, if there is one, which may be made larger: see `Trace.device`.
    Warnings in `said` are not printed again.
    """
    _check_names(paths)
    options = reader_values(arguments)
    quiet = bool(arguments.get("quiet"))
    page_size = arguments.get("page_size")
    if drive is not None and arguments.get("tier2"):
        # Its pages are slots of the flash tier, and none of the trace.
        if page_size is None and not arguments.get("kv"):
            page_size = str(drive.page_bytes)
        drive = None
    with progress(quiet) as callback, placed():
        shared: dict[str, Any] = {
            "page_size": page_size,
            "device": drive,
            "cache": bool(arguments.get("trace_cache", True)),
            "progress": callback,
            **options,
        }
        files = list(paths)
        if is_separate(options) and drive is None:
            del shared["device"]
            traces = open_volumes(files, **shared)
        else:
            traces = [open_trace(files, **shared)]
    if not quiet:
        for trace in traces:
            note(plausibility(trace.overview, trace.from_cache))
    for trace in traces:
        for message in trace.warnings:
            if said is None or message not in said:
                warn(message)
        if said is not None:
            said.update(trace.warnings)
        if drive is not None and trace.device is not None and trace.device is not drive:
            large = trace.device
            capacity = f"{large.logical_pages:,} pages ({size(large.logical_bytes)})"
            warn(plain(f"the device {drive.name} was made larger: {capacity}"))
        if arguments.get("verbose"):
            for message in trace.notes:
                note(message)
    return traces


def _check_names(paths: Sequence[str]) -> None:
    """Raise `MissingFile` for a policy in place of a trace, `UsageError` for a file twice."""
    _check_once(paths)
    for path in paths:
        if not os.path.lexists(path) and path.lower() in {p["name"] for p in catalogue()}:
            raise MissingFile(f"{path}: no such file; {path} is a policy: -p {path}")


def _check_once(paths: Sequence[str]) -> None:
    """Raise `UsageError` for a file twice: merged with itself it hits at every second access."""
    seen: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            other = "" if seen[real] == path else f", first as {printable(seen[real])}"
            raise UsageError(f"trace {printable(path)}: it is given twice{other}")
        seen[real] = path


#: Files of one recording: a part for each processor.
_PARTS = re.compile(r"(.+)\.blktrace\.\d+")


def sources(paths: Sequence[str]) -> list[list[str]]:
    """The files of each trace: one, or the parts that a recording has for each processor.

    Raises `UsageError` for a file that is given twice.
    """
    _check_once(paths)
    found: dict[str, list[str]] = {}
    for path in paths:
        part = _PARTS.fullmatch(path)
        found.setdefault(part[1] if part else path, []).append(path)
    return list(found.values())


def load_for(
    paths: Sequence[str], arguments: Mapping[str, Any], drives: Sequence[Device | None]
) -> list[Pair]:
    """Open the files for each device; a device may have been enlarged for its trace.

    Warnings of a trace are printed once.
    """
    pairs: list[Pair] = []
    said: set[str] = set()
    opened: list[list[Trace]] = []
    for k, drive in enumerate(drives):
        quiet = arguments if k == 0 else {**arguments, "quiet": True, "verbose": False}
        opened.append(load(paths, quiet, drive, said))
    for volumes in zip(*opened, strict=True):
        if arguments.get("tier2"):
            pairs += zip(volumes, drives, strict=True)
        else:
            pairs += [(one, one.device) for one in volumes]
    return pairs


def load_one(
    paths: Sequence[str], arguments: Mapping[str, Any], drive: Device | None = None
) -> Trace:
    """Open the files as one trace; `--volumes separate` is an error."""
    if is_separate(reader_values(arguments)):
        raise click.UsageError("--volumes separate gives several traces: this takes one (--volume)")
    return load(paths, arguments, drive)[0]
