"""Traces: read from files or made from a seed, decoded once, mapped into memory."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from destage import _destage
from destage.base.errors import DataError, MissingFile, UsageError
from destage.base.io.columns import Columns, from_memory, naming_items
from destage.base.io.names import PathLike, paths_of
from destage.base.io.path_conflicts import reading
from destage.lab.decoded_traces import trace_cache
from destage.lab.options import (
    check_keywords,
    is_separate,
    page_size_text,
    reader_json,
    renamed_attribute,
)
from destage.lab.ssd import Device, DeviceLike, open_device
from destage.lab.trace_profile import Counted, TraceInfo, TraceProfile, profiled
from destage.model.card import Card
from destage.model.naming import default_padding
from destage.model.requests import Request, request_columns, requests_of
from destage.model.trace_identity import stored_reader, trace_name
from destage.model.words import duration, percent, size
from destage.show.tables.frames import pandas_frame, polars_frame

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = [
    "PathLike",
    "Progress",
    "Trace",
    "in_place",
    "open_trace",
    "open_volumes",
    "opened_again",
    "paths_of",
    "read_decoded",
    "reader_json",
    "reopened",
    "sources_of",
    "synth",
    "synth_decoded",
]

Progress = Callable[[int, int | None, str], object]


class Trace:
    """A decoded trace, for `compare`, `run` and `mrc`.

    It is mapped from a file, so it costs memory only where it is read, and is shared by all runs.
    Its reader gives `notes` and `warnings`.
    """

    def __init__(
        self, raw: _destage.Trace, notes: Sequence[str] = (), device: Device | None = None
    ) -> None:
        """Wrap what the native module returns; use `open_trace` or `synth`."""
        self.raw = raw
        self.device = device
        """The device it was opened for, made larger if it had to be; None without one."""
        self._said = tuple(notes)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise AttributeError(f"'Trace' has no attribute {name!r}{renamed_attribute(name)}")

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        """Everything but the columns, as the decoder has it: counts, volumes, clock, summary."""
        return dict(json.loads(self.raw.meta()))

    @cached_property
    def overview(self) -> Mapping[str, Any]:
        """The same without the volumes: their number, the first one's name and all their bytes."""
        return dict(json.loads(self.raw.overview()))

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """Sources, options and fingerprint: what results keep of it."""
        return dict(json.loads(self.raw.identity()))

    @property
    def name(self) -> str:
        """The name in tables: file names without folders, and the volume if one was chosen."""
        return trace_name(self.identity["sources"], self.identity["options"])

    @property
    def requests(self) -> int:
        """Read and write requests."""
        return int(self.overview["counts"]["requests"])

    @property
    def accesses(self) -> int:
        """Page accesses."""
        return int(self.overview["counts"]["accesses"])

    @property
    def unique_pages(self) -> int:
        """Different pages."""
        return int(self.overview["counts"]["unique_pages"])

    @property
    def page_bytes(self) -> int:
        """Page size."""
        return int(self.overview["page_bytes"])

    @property
    def end_page(self) -> int:
        """Pages that a device must have: the highest touched page, plus one."""
        return self.raw.end_page

    @property
    def wrapped_accesses(self) -> int:
        """Page accesses beyond the device, wrapped into it (`wrap="modulo"`)."""
        return int((self.overview["wrap"] or {}).get("accesses", 0))

    @property
    def fingerprint(self) -> str:
        """Hash of the accesses: the same however the file was named or compressed."""
        return str(self.overview["fingerprint"])

    @property
    def volumes(self) -> tuple[str, ...]:
        """Names of the volumes, in name order."""
        return tuple(d["name"] for d in self.meta["devices"])

    @property
    def duration_ns(self) -> int | None:
        """From the first to the last arrival; None if the trace has no times."""
        duration = self.identity["duration_ns"]
        return None if duration is None else int(duration)

    @property
    def from_cache(self) -> bool:
        """Whether it was decoded by an earlier run."""
        return self.raw.from_cache

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions of the reader."""
        return (*self.overview["summary"].get("notes", ()), *self._said)

    @property
    def doubts(self) -> tuple[Mapping[str, str], ...]:
        """Numbers that a workload can hardly have, each with its `cause` and `remedy`."""
        return tuple(self.overview["summary"].get("doubts", ()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings: reasons why a result may be wrong."""
        said = list(self.overview["summary"].get("warnings", ()))
        if self.wrapped_accesses:
            wrap = self.overview["wrap"]
            requests = f"{wrap['requests']:,} requests ({wrap['accesses']:,} page accesses)"
            beyond = f"go beyond the device's {wrap['logical_pages']:,} pages"
            said.append(f"{requests} {beyond} and were wrapped into it")
        return tuple(said)

    def __len__(self) -> int:
        """Return the number of requests; a request cut at the device's end counts twice."""
        return int(self.overview["counts"]["rows"])

    def __bool__(self) -> bool:
        """A trace is one, also without requests."""
        return True

    def __iter__(self) -> Iterator[Request]:
        """Iterate over the requests as a run sees them, in its order."""
        return requests_of(self.raw, len(self))

    def head(self, count: int = 10) -> list[Request]:
        """Return the first requests."""
        return list(requests_of(self.raw, min(count, len(self))))

    def to_polars(self) -> polars.DataFrame:
        """Return the requests as a polars data frame: `time_ns`, `op`, `page`, `pages`."""
        return polars_frame(request_columns(self.raw, len(self)))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the same as a pandas data frame."""
        return pandas_frame(request_columns(self.raw, len(self)))

    def info(self, *, progress: Progress | None = None) -> TraceInfo:
        """Look at every access: sizes, rates, sequentiality, how pages come again."""
        return TraceInfo(json.loads(self.raw.info(progress)))

    def profile(
        self,
        *,
        pages_per_block: int = 64,
        counted: Counted = "writes",
        epochs: int = 20,
        rows: int = 128,
        period_requests: int = 10_000,
        hottest_blocks: int = 24,
        hot_accesses: int = 10_000,
        cold_accesses: int = 100,
        padding: str | None = default_padding(),
        cache: str = "8MiB",
        progress: Progress | None = None,
    ) -> TraceProfile:
        """Look at every access: what figures 2 to 6 of BPAC and 1 to 3 of AALRU show.

        Parameters:
            pages_per_block: pages of an erase block, 1..1048576.
            counted: what a reference is: `"writes"`, page writes, or `"all"`, reads too.
            epochs: columns of the heat map, 1..2000.
            rows: most rows of the heat map, 1..2000.
            period_requests: requests of a period of the read ratio, from 1.
            hottest_blocks: most accessed blocks to look into, up to 10000.
            hot_accesses: a page accessed more often is hot.
            cold_accesses: a page accessed less often is cold.
            padding: policy whose padding is looked at; None: no policy is run.
            cache: cache size of that run, as in `compare`.
            progress: called some ten times a second with rows done, rows in all, and the stage.

        Raises `UsageError` for a value out of range, a bad policy or a bad size. Memory grows
        with unique pages only.
        """
        options = {
            "pages_per_block": pages_per_block,
            "counted": counted,
            "epochs": epochs,
            "rows": rows,
            "period_requests": period_requests,
            "hottest_blocks": hottest_blocks,
            "hot_accesses": hot_accesses,
            "cold_accesses": cold_accesses,
        }
        specs = profiled(options, padding)
        found = json.loads(self.raw.profile(json.dumps(options), progress))
        for spec in specs:
            sizes = json.dumps([cache])
            text = _destage.padding(self.raw, spec, sizes, pages_per_block, progress)
            found["padding"] = json.loads(text)
        return TraceProfile(found)

    def __reduce__(self) -> tuple[Callable[..., Trace], tuple[Any, ...]]:
        """Pickle identity and paths, never data: unpickling opens the files and compares."""
        return reopened, (self.identity, sources_of(self.identity), self.device, self._said)

    def card(self) -> Card:
        """The trace in a few lines; `info` reads every access."""
        counts = self.overview["counts"]
        share = percent(counts["reads"] / self.requests, 1) if self.requests else "none"
        lasts = "no times" if self.duration_ns is None else duration(self.duration_ns)
        touched = f"{self.unique_pages:,} of {self.page_bytes:,} bytes"
        facts = [
            ("Requests", f"{self.requests:,} ({share} reads), {lasts}"),
            ("Page accesses", f"{self.accesses:,}"),
            ("Pages", f"{touched} = {size(self.unique_pages * self.page_bytes)}"),
            ("Volumes", ", ".join(self.volumes[:4]) + (", ..." if len(self.volumes) > 4 else "")),
        ]
        facts += [("Device", self.device.name)] if self.device else []
        facts += [("Warning", message) for message in self.warnings]
        return Card(f"Trace {self.name}", facts)

    def __repr__(self) -> str:
        """Return a few lines of numbers."""
        return self.card().text()

    def _repr_html_(self) -> str:
        """Return the same as a card, for a notebook."""
        return self.card().html()


#: What becomes of pages beyond the device.
WRAPS = ("error", "modulo", "extend")


def _wrap(word: str) -> str:
    """The reader's value of a word: capitals do not matter, and `none` was `error` once."""
    plain = str(word).lower()
    return "error" if plain == "none" else plain


def _for_device(
    given: DeviceLike | None, wrap: str | None, page_size: str | None
) -> tuple[Device | None, str | None]:
    """The device, and the page size to open a trace with."""
    if wrap is not None and _wrap(wrap) not in WRAPS:
        raise UsageError(f"wrap: expected {', '.join(WRAPS)}, got {wrap!r}")
    if given is None:
        return None, page_size
    device = open_device(given)
    if page_size is not None and _destage.page_bytes(page_size) != device.page_bytes:
        raise UsageError(
            f"page size {page_size}: the device {device.name} has pages of {device.page_bytes}"
            " bytes, and a trace in front of it takes them: leave the page size out"
        )
    return device, str(device.page_bytes)


def _fitted(make: Callable[[int | None], Trace], device: Device | None, wrap: str | None) -> Trace:
    """A trace that fits its device, as `wrap` or the device's file says; else it is an error."""
    trace = make(None)
    if device is None:
        return trace
    trace.device = device
    if trace.end_page <= device.logical_pages:
        return trace
    how = _wrap(wrap or device.trace_options.get("wrap") or device.wrap or "error")
    if how == "extend":
        trace.device = device.extended(trace.end_page)
        return trace
    if how == "modulo":
        trace = make(device.logical_pages)
        trace.device = device
        return trace
    raise UsageError(
        f"{trace.name}: its pages go up to {trace.end_page - 1:,}, the device {device.name} has"
        f" {device.logical_pages:,}: --wrap modulo wraps them around, --wrap extend makes the"
        " device larger (wrap= in Python)"
    )


def open_trace(
    paths: PathLike | Sequence[PathLike] | Sequence[int] | Columns,
    *,
    page_size: int | str | None = None,
    device: DeviceLike | None = None,
    wrap: str | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> Trace:
    """Read a trace, or map it if an earlier run has decoded it.

    Several files are one trace: they are merged on one clock (`time_origin`), each volume with an
    address space of its own (`volumes`). To compare traces, open each and give `compare` a list.

    Parameters:
        paths: a file or several; archives and compressed files are unpacked; `-` is standard input.
            Or a trace in memory: page numbers (a list, a NumPy array), all reads, or columns
            (a mapping, a data frame, an Arrow table): `page` or `offset_bytes`, `pages` or
            `length_bytes`, `op`, `time_ns` to `time_s` or `time` (dates), `device`, `response_ns`.
            With `columns=` and units the columns have any names, as in a CSV file.
        page_size: bytes, or text such as `"4KiB"`; the default is 4096, and the trace's own unit in
            page-reference traces. With a device it is the device's.
        device: the SSD to run it in front of, as in `open_device`; give `compare` the same.
        wrap: pages beyond the device: `"error"`, `"modulo"` (page numbers are taken modulo the
            device's; the trace counts them) or `"extend"` (the device gets more blocks: run in
            front of the trace's `device`). By default as the device's file has it
            (`address_mode`), else an error. No effect without a device.
        cache: keep the decoded trace for the next time (`$DESTAGE_CACHE`).
        progress: called some ten times a second with the work done, the total, and the stage.
        options: reader options, by the keys of `reader_options()`: `format="msr"`,
            `on_error="skip"`, `volume="hm_0"`. Python's own words take an underscore:
            `from_="1h"`, `for_="30m"`.

    Raises `MissingFile`, `DataError` with the place of the first malformed record, `UsageError`.

    >>> trace = open_trace([1, 2, 3, 1])
    >>> len(trace), trace.unique_pages, trace.head(1)[0].page
    (4, 3, 1)
    """
    made = from_memory(paths, _memory_folder(), options)
    options = (made[1] if made else {}) | options
    files = paths_of(cast("PathLike", made[0] if made else paths))
    opened, size = _for_device(device, wrap, page_size_text(page_size))
    given = _reader_options(opened, {**options, "wrap": wrap})
    align = opened.block_bytes if opened else None

    def make(wrap_pages: int | None) -> Trace:
        return read_decoded(files, given, size, cache, progress, wrap_pages, align)

    with naming_items(made):
        return _fitted(make, opened, wrap)


def _memory_folder() -> Path:
    """Folder of traces from memory."""
    try:
        return trace_cache().folder
    except UsageError:
        return Path(tempfile.gettempdir())


def read_decoded(
    paths: Sequence[Path],
    reader: str,
    page_size: str | None,
    cache: bool,
    progress: Progress | None,
    wrap_pages: int | None,
    span_align_bytes: int | None,
) -> Trace:
    """Read a trace as a result says it was read; `reader` is JSON."""
    reading("the trace", *paths)
    raw, notes = _destage.open_trace(
        paths, reader, page_size, bool(cache), progress, wrap_pages, span_align_bytes
    )
    return Trace(raw, notes)


def opened_again(
    identity: Mapping[str, Any],
    paths: Sequence[Path],
    cache: bool = True,
    progress: Progress | None = None,
) -> Trace:
    """Open a trace as its identity says that it was; workloads have no files."""
    options, page_size = identity["options"], str(identity["page_bytes"])
    wrap, align = options.get("wrap_pages"), options.get("span_align_bytes")
    if "synth" in options:
        return synth_decoded(json.dumps(options["synth"]), page_size, cache, progress, wrap)
    if "reader" not in options:
        raise DataError("result: trace.options: expected how the trace was read (reader or synth)")
    reader = stored_reader(options["reader"])
    # Old results hold options without effect on their format.
    text = json.dumps({**reader, "defaults": list(reader)})
    return read_decoded(paths, text, page_size, cache, progress, wrap, align)


def sources_of(identity: Mapping[str, Any]) -> tuple[str, ...]:
    """The files of a trace by their whole paths; none of a workload."""
    drawn = "synth" in identity["options"]
    return () if drawn else tuple(os.path.abspath(name) for name in identity["sources"])


def reopened(
    identity: Mapping[str, Any],
    paths: Sequence[str],
    device: Device | None = None,
    notes: Sequence[str] = (),
) -> Trace:
    """The trace of this identity, from its files; where they are not, from `$DESTAGE_TRACES`.

    Raises `MissingFile`, and `DataError` if the files hold another trace.
    """
    trace = opened_again(identity, found := [in_place(path) for path in paths])
    if trace.fingerprint != identity["fingerprint"]:
        raise DataError(
            f"trace {', '.join(map(str, found)) or trace.name}: it is another one here: its"
            f" fingerprint is {trace.fingerprint}, expected {identity['fingerprint']}"
        )
    return Trace(trace.raw, notes, device)


def in_place(path: str) -> Path:
    """The file, or one of its name in `$DESTAGE_TRACES`. Raises `MissingFile`."""
    held = path.partition("!")[0]
    if any(map(os.path.exists, (path, held))):
        return Path(path)
    folder = os.environ.get("DESTAGE_TRACES")
    other = os.path.join(folder, os.path.basename(held)) if folder else ""
    if other and os.path.exists(other):
        return Path(other + path[len(held) :])
    where = f"here, nor in DESTAGE_TRACES ({folder})" if folder else "here"
    raise MissingFile(f"trace {path}: no such file {where}")


def synth_decoded(
    workload: str,
    page_size: str | None,
    cache: bool,
    progress: Progress | None,
    wrap_pages: int | None,
) -> Trace:
    """Make a workload as a result says it was made; `workload` is JSON."""
    raw, notes = _destage.synth(workload, page_size, bool(cache), progress, wrap_pages)
    return Trace(raw, notes)


def _reader_options(device: Device | None, options: Mapping[str, Any]) -> str:
    """Options as JSON; the call's override the device file's."""
    stated = device.trace_options if device else {}
    given = {k.rstrip("_"): v for k, v in options.items() if v is not None}
    check_keywords(given)
    defaults = [*given.get("defaults", ()), *(k for k in stated if k not in given)]
    given = {**stated, **given} | ({"defaults": defaults} if defaults else {})
    if device is not None and is_separate(given):
        raise UsageError(
            f"--volumes separate (volumes=): in front of the device {device.name} the volumes of a"
            " trace stand one after another (stack), or one is chosen (--volume)"
        )
    return reader_json(given)


def open_volumes(
    paths: PathLike | Sequence[PathLike],
    *,
    page_size: int | str | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> list[Trace]:
    """Read a trace as one `Trace` for each of its volumes, in name order (`volumes="separate"`).

    That is without a device: in front of one, volumes stand one after another, or one is chosen.
    Parameters and errors as in `open_trace`.
    """
    shared: dict[str, Any] = {"page_size": page_size, "cache": cache, "progress": progress}
    options = {**options, "volumes": "stack"}
    whole = open_trace(paths, **shared, **options)
    if len(whole.volumes) == 1:
        return [whole]
    return [open_trace(paths, **shared, **{**options, "volume": [name]}) for name in whole.volumes]


def synth(
    kind: str,
    *,
    page_size: int | str | None = None,
    device: DeviceLike | None = None,
    wrap: str | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    **parameters: Any,
) -> Trace:
    """Generate a workload from a seed.

    Parameters:
        kind: `uniform`, `normal`, `zipf`, `locality`, `sequential`, `loop`, `scan`, `bursts`,
            `oltp`, or a preset: `t1` to `t4`, ACR's traces.
        page_size: as in `open_trace`; the default is the workload's own page size.
        device, wrap, progress: as in `open_trace`.
        cache: keep the decoded trace for the next time (`$DESTAGE_CACHE`).
        parameters: `requests`, `pages`, `seed`, `read_ratio`, ..., as `destage trace synth --list`
            shows them, with units and ranges.

    Raises `UsageError` for an unknown kind or parameter, or a value out of its range.

    >>> trace = synth("zipf", requests=1000, pages=100, alpha=1.0, seed=7)
    >>> trace.requests
    1000
    """
    from destage.lab.catalogue import workload_json

    check_keywords(parameters)
    workload = workload_json(kind, parameters)
    opened, size = _for_device(device, wrap, page_size_text(page_size))

    def make(wrap_pages: int | None) -> Trace:
        return synth_decoded(workload, size, cache, progress, wrap_pages)

    return _fitted(make, opened, wrap)
