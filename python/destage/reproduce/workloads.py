"""The workloads of an evaluation: original traces where they are, surrogate traces elsewhere.

An original is recognised by its name and checked against its published counts. Workloads that a
paper specifies exactly are generated in full.
"""

from __future__ import annotations

import fnmatch
import math
import os
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from destage.base.errors import DataError, MissingFile
from destage.experiment.recipes import TraceRecipe
from destage.lab.options import ProgressCallback
from destage.lab.ssd import Device
from destage.lab.traces import Trace, open_trace
from destage.reproduce.claims import Paper, RunSet
from destage.reproduce.load import Load, LoadOptions
from destage.reproduce.published import (
    FEWEST,
    PAGE,
    Catalogue,
    Fit,
    TraceSpec,
    catalogue,
    check_counts,
    fits,
    requests_of,
)
from destage.reproduce.samples import repeated, verify
from destage.reproduce.standins import KINDS, Channels, Generated, Recipe, apart, recipe

__all__ = ["Loads", "label_of"]

#: Endings that are no part of a trace's name.
ENDINGS = (".gz", ".xz", ".zst", ".bz2", ".zip", ".tar", ".tgz")
#: Requests taken of the recording that ships with the package.
SHIPPED_REQUESTS = 100_000
#: Requests and pages of the presets that are ACR's traces.
PRESET_REQUESTS, PRESET_PAGES = 3_000_000, 32_768


class Loads:
    """Finds, checks and opens the workloads of one evaluation."""

    def __init__(
        self,
        *,
        traces: Path | None = None,
        recordings: Path | None = None,
        scale: float = 1.0,
        specified: float | None = None,
        shorten: float = 1.0,
        recorded: bool = True,
        catalogue_: Catalogue | None = None,
    ) -> None:
        """Look into `traces` for originals and excerpts, into `recordings` for our recordings.

        `scale` is of surrogates, recordings and our workloads, `specified` of those that a paper
        specifies (the same, if it is not given), of which `shorten` cuts requests alone; without
        `recorded` there are no recordings.
        """
        self.catalogue = catalogue_ or catalogue()
        self.specified = scale if specified is None else specified
        self.scale, self.shorten, self.with_recordings = scale, shorten, recorded
        self.traces, self.recordings = _files_below(traces), _files_below(recordings)
        self.fits: dict[str, list[Fit]] = {}
        """The fit of each trace to its published counts, by name."""
        self.made: dict[str, Mapping[str, Any]] = {}
        """Parameters of each generated workload, by name."""

    def load(self, name: str, paper: Paper) -> Load:
        """Return the workload of a name as a paper means it. Raises `DataError`."""
        for own in paper.workloads:
            if own.name == name:
                kind, share = ("ours", self.scale) if own.ours else ("specified", self.specified)
                return Load(name, kind, own.note, "", synth=own.synth, share=share)
        spec = self.catalogue.traces.get(name)
        if spec is None:
            raise DataError(f"{paper.name}.toml: runs: there is no load {name!r}")
        found = self._find(spec)
        if found:
            return Load(name, "original", spec.title, spec.origin.cite, found, spec.use, spec)
        note = f"available from {spec.origin.get}"
        share = requests_of(spec, self.scale) / requests_of(spec, 1.0)
        return Load(name, "surrogate", spec.title, note, spec=spec, share=share)

    def recorded(self, runs: RunSet) -> list[Load]:
        """Return the recordings and excerpts that are there, for runs with a surrogate.

        Excerpts are short: they are run whole. Raises `DataError` for a file with other content.
        """
        names = runs.recordings if self.with_recordings else ()
        found = (self.recording(name, runs.most_requests) for name in names)
        return [load for load in found if load is not None]

    def recording(self, name: str, most_requests: int = 0) -> Load | None:
        """Return a recording or an excerpt, cut to so many requests; None if it is not there.

        Raises `DataError` for a file with other content.
        """
        known = self.catalogue.recordings[name]
        kind, title, share = str(known.kind), known.title, 1.0
        folders = self.recordings if kind == "recording" else self.traces
        path = next((p for p in folders if p.name in known.files), None)
        if kind == "recording":
            share = self.scale
        if path is not None:
            verify(path, known)
        elif (path := repeated(known, folders)) is not None:
            kind, title = "repeated", f"{title.partition(' (')[0]} (recorded again)"
        elif known.shipped is not None:
            with as_file(files("destage") / "data" / known.shipped) as shipped:
                path = Path(shipped)
            if known.files:
                share = SHIPPED_REQUESTS / known.requests
        if path is None:
            return None
        requests = min(known.requests, most_requests or known.requests)
        options = {**known.use, "requests": max(FEWEST, round(requests * share))}
        return Load(name, kind, title, "", (path,), options, share=share)

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

    def open(self, load: Load, *, seed: int, drive: Device | None = None) -> Trace:
        """Open a workload for a device, or for pages of 4 KiB. Raises as `check`."""
        return self.recipe(load, seed, drive).open()

    def recipe(
        self,
        load: Load,
        seed: int,
        drive: Device | None = None,
        options: LoadOptions | None = None,
        progress: ProgressCallback | None = None,
    ) -> TraceRecipe:
        """Return the recipe of a workload: files are opened now, generated ones when they run."""
        options = options or LoadOptions()
        if load.paths:
            self.check(load, progress)
            paths, wrap = list(load.paths), "extend" if drive else None
            trace = open_trace(paths, device=drive, wrap=wrap, progress=progress, **load.options)
            return TraceRecipe.of(trace, keep=True)
        page = drive.page_bytes if drive else None
        if load.synth is None:
            made = self._surrogate(load, drive, options)
            if options.intensity == 1:
                self.made.setdefault(load.name, {"seed": seed, **made})
            channels = _channels(load, drive, options)
            return Generated.surrogate(made, seed, channels, options.intensity, page)
        parameters = self._fewer(load, drive)
        if page is not None:
            parameters.setdefault("page_bytes", page)
        parameters |= options.changes or {}
        if parameters.get("kind") in KINDS:
            part = parameters["requests"] / load.synth["requests"]
            parameters["unique_pages"] = round(parameters["unique_pages"] * part)
            self.made.setdefault(load.name, {"seed": seed, **parameters})
            channels = _channels(load, drive, options)
            return Generated.surrogate(parameters, seed, channels, options.intensity, page)
        if options.intensity != 1:
            parameters.setdefault("gap_ns", 1_000_000)
            for key in ("gap_ns", "on_ns", "off_ns"):
                if key in parameters:
                    parameters[key] = max(1, round(parameters[key] / options.intensity))
        if options == LoadOptions():
            self.made.setdefault(load.name, dict(parameters))
        if parameters.get("apart"):
            return Generated.surrogate(apart(parameters), seed, None, 1.0, page)
        return Generated.synth(parameters, seed, page)

    def _fewer(self, load: Load, drive: Device | None) -> dict[str, Any]:
        """A specified workload, or one of ours, with its share of requests and pages."""
        assert load.synth is not None
        made = dict(load.synth)
        share = load.share if load.kind == "ours" else min(load.share, self.shorten)
        if share != 1:
            whole = int(made.get("requests", PRESET_REQUESTS))
            made["requests"] = max(FEWEST, round(whole * share))
        if load.kind == "specified" and load.share != 1:
            pages = round(made.get("pages", PRESET_PAGES) * load.share)
            if drive is not None:
                pages = min(pages, drive.record["device"]["logical_pages"])
            made["pages"] = max(64, pages)
            if "phases" in made:
                made["phases"] = min(made["phases"], made["requests"])
        return made

    def _surrogate(self, load: Load, drive: Device | None, options: LoadOptions) -> Recipe:
        """The parameters of a surrogate in front of a device."""
        assert load.spec is not None
        page = drive.page_bytes if drive else PAGE
        changes = (options.draw, options.burst, options.affinity)
        made = recipe(load.spec, self.scale, page, *changes)
        most = options.most_requests
        if most is not None and most < made["requests"]:
            pages = max(FEWEST, round(made["unique_pages"] * most / made["requests"]))
            made = {**made, "requests": most, "unique_pages": pages}
        return made

    def check(self, load: Load, progress: ProgressCallback | None = None) -> None:
        """Compare an original with its published counts; other workloads pass.

        Raises `DataError` if a file is damaged or differs from its name.
        """
        spec = load.spec
        if spec is None or not load.paths or load.name in self.fits:
            return
        try:
            if spec.whole:
                whole = open_trace(list(load.paths), progress=progress)
                check_counts(spec, load.paths, spec.whole, whole.info(progress=progress))
            trace = open_trace(list(load.paths), progress=progress, **load.options)
        except DataError as e:
            # No flag says of which format one of many files is.
            said, unclear, _ = str(e).partition("\n  name it with --format")
            if not unclear:
                raise
            hint = f"by its name it is {spec.title}; `destage trace convert` writes it again"
            raise DataError(f"{said}\n  {hint}") from e
        info = trace.info(progress=progress)
        check_counts(spec, load.paths, spec.counts, info)
        self.fits[load.name] = fits(spec, info, 1.0, trace.page_bytes)


def _files_below(folder: Path | None) -> list[Path]:
    """All files below a folder, in the order of their names."""
    if folder is None:
        return []
    if not folder.is_dir():
        raise MissingFile(f"{folder}: there is no such folder")
    return sorted(Path(root) / name for root, _, names in os.walk(folder) for name in names)


def _stem(path: Path) -> str:
    """A file's name in small letters, without the endings of compression."""
    name = path.name.lower()
    while name.endswith(ENDINGS):
        name = name.rsplit(".", 1)[0]
    return name


#: The orders in which docs/spec/device.md 5.2 stripes pages, as SAC numbers them.
STRIPINGS = ("CWDP", "PCWD", "PDCW", "PDWC")
#: SAC's device with dynamic allocation, in its table 1.
DYNAMIC = "dynamic"


def label_of(drive: Device) -> str:
    """Return the name of a device in SAC's table 1: the number of its striping, or `dynamic`."""
    device = drive.record["device"]
    if device["alloc"] == DYNAMIC:
        return DYNAMIC
    order = device["striping"]
    return str(STRIPINGS.index(order)) if order in STRIPINGS else order


def _channels(load: Load, drive: Device | None, options: LoadOptions) -> Channels | None:
    """The distribution of a surrogate over the channels of a device; None: as generated."""
    if options.channels == "" or drive is None or not load.random:
        return None
    device = drive.record["device"]
    sizes = {
        "C": device["channels"],
        "W": device["chips_per_channel"],
        "D": device["dies_per_chip"],
        "P": device["planes_per_die"],
    }
    if sizes["C"] == 1:
        return None
    before = device["striping"].partition("C")[0]
    stretch = device["stripe_pages"] * math.prod(sizes[letter] for letter in before)
    spec, label = load.spec, label_of(drive)
    if options.channels == "balanced":
        return (sizes["C"], stretch, 0.0, 0.0, 1)
    if spec is None:
        return (sizes["C"], stretch, options.deviation, options.deviation, 1)
    deviation = spec.deviation.get(label, 0.0)
    missed = spec.missed_deviation.get(label, deviation)
    cache_pages = round(spec.missed_cache_mib * 2**20 * load.share / drive.page_bytes)
    return (sizes["C"], stretch, deviation, missed, cache_pages)
