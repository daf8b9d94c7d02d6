"""The loads of an evaluation: originals where they are, stand-ins made to their counts elsewhere.

An original is recognised by its name and checked against what is published of it. Whatever is made
instead is called a stand-in, and says how well it fits. Loads that a paper specifies exactly are
made as it says, in full.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from destage.device import Drive
from destage.errors import DataError, MissingFile
from destage.options import ProgressCallback
from destage.reproduce.claims import OwnWorkload, Paper, RunSet
from destage.reproduce.published import (
    FEWEST,
    PAGE,
    Catalogue,
    Fit,
    TraceSpec,
    catalogue,
    check_counts,
    fits,
    rate_of,
    requests_of,
)
from destage.trace import Trace, open_trace, synth

__all__ = ["Load", "Loads", "own_axis", "standin"]

#: Endings that are no part of a trace's name.
ENDINGS = (".gz", ".xz", ".zst", ".bz2", ".zip", ".tar", ".tgz")
#: Requests of the recording that ships with the package.
SHIPPED_REQUESTS = 100_000
#: Requests of the presets that are ACR's traces.
PRESET_REQUESTS = 3_000_000


@dataclass(frozen=True)
class Load:
    """A load of an evaluation, and where it comes from."""

    name: str
    kind: str
    """`original`, `stand-in`, `specified`, `recording` or `excerpt`."""
    title: str
    note: str
    """For a stand-in what it stands in for and where that is to be had."""
    paths: tuple[Path, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    spec: TraceSpec | None = None
    synth: Mapping[str, Any] | None = None
    share: float = 1.0
    """Share of the whole load's requests."""

    @property
    def random(self) -> bool:
        """Whether it is drawn: another seed gives another one."""
        return self.kind in ("stand-in", "specified")


class Loads:
    """Finds, checks and opens the loads of one run of the evaluation."""

    def __init__(
        self,
        *,
        traces: Path | None = None,
        recordings: Path | None = None,
        scale: float = 1.0,
        shorten: float = 1.0,
        recorded: bool = True,
        catalogue_: Catalogue | None = None,
    ) -> None:
        """Look into `traces` for originals and excerpts, into `recordings` for our recordings.

        `scale` is of stand-ins and recordings, `shorten` of loads that a paper specifies; without
        `recorded` there are no recordings.
        """
        self.catalogue = catalogue_ or catalogue()
        self.scale = scale
        self.shorten = shorten
        self.with_recordings = recorded
        self.traces = _walk(traces)
        self.folder = traces
        self.recordings = _walk(recordings)
        self.checked: set[str] = set()
        self.fits: dict[str, list[Fit]] = {}
        self.made: dict[str, dict[str, Any]] = {}
        """What each made load was made of, by name: as `destage trace synth` takes it."""
        self.opened: dict[tuple[Any, ...], Trace] = {}

    def load(self, name: str, paper: Paper) -> Load:
        """Return the load of a name as a paper means it.

        Raises `DataError` for a name that nothing is known of.
        """
        for own in paper.workloads:
            if own.name == name:
                return Load(name, "specified", own.note, "", synth=own.synth)
        spec = self.catalogue.traces.get(name)
        if spec is None:
            raise DataError(f"{paper.name}.toml: runs: there is no load {name!r}")
        found = self._find(spec)
        if found:
            return Load(name, "original", spec.title, spec.cite, found, spec.use, spec)
        note = f"to be had from {spec.get}"
        return Load(name, "stand-in", spec.title, note, spec=spec, share=self.scale)

    def recorded(self, runs: RunSet) -> list[Load]:
        """Return the recordings and excerpts that are there, for runs in which a stand-in stands.

        Excerpts are short: they are run whole.
        """
        loads = []
        for name in runs.recordings if self.with_recordings else ():
            known = self.catalogue.recordings[name]
            folders = self.recordings if known.kind == "recording" else self.traces
            path = next((p for p in folders if p.name in known.files), None)
            options: dict[str, Any] = dict(known.use)
            share = self.scale if known.kind == "recording" else 1.0
            if path is not None:
                options["requests"] = max(FEWEST, round(known.requests * share))
            elif known.shipped is not None:
                with as_file(files("destage") / "data" / known.shipped) as shipped:
                    path = Path(shipped)
                share = SHIPPED_REQUESTS / known.requests
            if path is not None:
                load = Load(name, known.kind, known.title, "", (path,), options, share=share)
                loads.append(load)
        return loads

    def _find(self, spec: TraceSpec) -> tuple[Path, ...]:
        """The files of an original: one, or all parts of a trace that comes in parts."""
        found = [
            path
            for path in self.traces
            if any(fnmatch.fnmatch(_stem(path), p.lower()) for p in spec.files)
        ]
        parts = any("*" in p for p in spec.files)
        if len(found) > 1 and not parts:
            names = ", ".join(str(p) for p in found)
            raise DataError(f"{spec.title}: expected one file, found {names}")
        return tuple(found)

    def open(
        self,
        load: Load,
        *,
        seed: int,
        drive: Drive | None = None,
        intensity: float = 1.0,
        narrow: bool = False,
        changes: Mapping[str, Any] | None = None,
        progress: ProgressCallback | None = None,
    ) -> Trace:
        """Open a load for a drive, or for pages of 4 KiB; originals are checked the first time.

        `narrow` makes the footprint of a stand-in smaller with its requests.

        Raises `DataError` for an original that is damaged or something else than its name says.
        """
        page = drive.page_bytes if drive else None
        size = (drive.logical_pages, drive.block_bytes) if drive else 0
        drawn = seed if load.random else 0
        key = (load.name, load.kind, drawn, page, size, intensity, narrow, repr(changes))
        if key not in self.opened:
            # One at a time: a decoded trace is mapped from the cache folder in an instant.
            self.opened = {key: self._open(load, seed, drive, intensity, narrow, changes, progress)}
        return self.opened[key]

    def _open(
        self,
        load: Load,
        seed: int,
        drive: Drive | None,
        intensity: float,
        narrow: bool,
        changes: Mapping[str, Any] | None,
        progress: ProgressCallback | None,
    ) -> Trace:
        wrap = "extend" if drive else None
        if load.paths:
            self._check(load, progress)
            return open_trace(
                list(load.paths), drive=drive, wrap=wrap, progress=progress, **load.options
            )
        if load.synth is not None:
            parameters = dict(load.synth)
            if self.shorten != 1:
                whole = int(parameters.get("requests", PRESET_REQUESTS))
                parameters["requests"] = max(FEWEST, round(whole * self.shorten))
            if drive is not None:
                parameters.setdefault("page_bytes", drive.page_bytes)
        else:
            assert load.spec is not None
            parameters = standin(load.spec, self.scale, drive.page_bytes if drive else PAGE)
            if narrow:
                parameters["pages"] = max(FEWEST, round(parameters["pages"] * load.share))
        parameters |= dict(changes or {})
        _hasten(parameters, intensity)
        if intensity == 1 and not changes:
            self.made.setdefault(load.name, dict(parameters))
        kind = parameters.pop("preset", None) or parameters.pop("kind")
        parameters["seed"] = seed
        trace = synth(kind, drive=drive, wrap=wrap, progress=progress, **parameters)
        if load.spec is not None and intensity == 1 and not changes:
            self._fit(load.spec, trace)
        return trace

    def _check(self, load: Load, progress: ProgressCallback | None) -> None:
        """Hold an original against what is published of it."""
        spec = load.spec
        if spec is None or load.name in self.checked:
            return
        if spec.whole:
            whole = open_trace(list(load.paths), progress=progress)
            check_counts(spec, load.paths, spec.whole, whole.info(progress=progress))
        trace = open_trace(list(load.paths), progress=progress, **load.options)
        info = trace.info(progress=progress)
        check_counts(spec, load.paths, spec.counts, info)
        self.fits[spec.name] = fits(spec, info, 1.0)
        self.checked.add(load.name)

    def _fit(self, spec: TraceSpec, trace: Trace) -> None:
        if spec.name not in self.fits:
            self.fits[spec.name] = fits(spec, trace.info(), self.scale)


def _walk(folder: Path | None) -> list[Path]:
    """All files below a folder, in the order of their names."""
    if folder is None:
        return []
    if not folder.is_dir():
        raise MissingFile(f"{folder}: there is no such folder")
    found = [Path(root) / name for root, _, names in os.walk(folder) for name in names]
    return sorted(found)


def _stem(path: Path) -> str:
    """A file's name in small letters, without what compression adds."""
    name = path.name.lower()
    while name.endswith(ENDINGS):
        name = name.rsplit(".", 1)[0]
    return name


def standin(spec: TraceSpec, scale: float, page_bytes: int) -> dict[str, Any]:
    """Return the workload that stands in for a trace: its counts, drawn from a seed.

    Requests scale; rates, sizes and footprint stay. Skewed data pages and one sequential stream of
    writes; requests of geometric length; bursts at the published mean rate.
    """
    known, shape = {**spec.assumed, **spec.counts}, spec.standin
    if "accesses" in known:
        mean_pages = known["accesses"] / known["requests"]
    else:
        mean_pages = known["mean_kib"] * 1024 / page_bytes
    rate = rate_of(spec)
    gap_ns = max(1000.0, shape["burst_gap_us"] * 1000)
    on_ns = shape["burst"] * gap_ns
    off_ns = shape["burst"] / rate * 1e9 - on_ns
    read = min(1 - known["write_ratio"], 1 - shape["log_share"])
    made: dict[str, Any] = {
        "kind": "oltp",
        "requests": requests_of(spec, scale),
        "pages": round(shape["pages"] * PAGE / page_bytes),
        "page_bytes": page_bytes,
        "read_ratio": round(max(0.0, read), 6),
        "size": f"~{max(1.0, mean_pages):.4f}",
        "alpha": shape["alpha"],
        "cluster_pages": max(1, round(shape["cluster_pages"] * PAGE / page_bytes)),
        "log_share": shape["log_share"],
        "log_page_share": shape["log_page_share"],
    }
    if shape["burst"] > 1 and off_ns > 0:
        made |= {"arrivals": "onoff", "gap_ns": round(gap_ns)}
        made |= {"on_ns": round(on_ns), "off_ns": round(off_ns)}
    else:
        made |= {"arrivals": "poisson", "gap_ns": round(1e9 / rate)}
    return made


def _hasten(parameters: dict[str, Any], intensity: float) -> None:
    """Divide all times between requests."""
    if intensity != 1:
        if "gap_ns" not in parameters:
            parameters["gap_ns"] = 1_000_000
        for key in ("gap_ns", "on_ns", "off_ns"):
            if key in parameters:
                parameters[key] = max(1, round(parameters[key] / intensity))


def own_axis(workloads: Sequence[OwnWorkload], name: str) -> str | None:
    """Return where a load of a series lies on its axis, as a label."""
    for own in workloads:
        if own.name == name and own.at:
            return own.at
    return None
