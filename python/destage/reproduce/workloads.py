"""The loads of an evaluation: originals where they are, stand-ins drawn to their counts elsewhere.

An original is recognised by its name and checked against what is published of it. Whatever is made
instead is called a stand-in, and says how well it fits. Loads that a paper specifies exactly are
made as it says, in full.
"""

from __future__ import annotations

import fnmatch
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from destage.device import Drive
from destage.errors import DataError, MissingFile
from destage.options import ProgressCallback
from destage.reproduce.ahead import Ahead
from destage.reproduce.claims import Paper, RunSet
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
from destage.reproduce.standins import Channels, Recipe, apart, draw, opened, recipe
from destage.trace import Trace, open_trace, synth

if TYPE_CHECKING:
    from destage._destage import StandIn

__all__ = ["Asked", "Load", "Loads", "label_of"]

#: Endings that are no part of a trace's name.
ENDINGS = (".gz", ".xz", ".zst", ".bz2", ".zip", ".tar", ".tgz")
#: Requests of the recording that ships with the package.
SHIPPED_REQUESTS = 100_000
#: So many traces are kept open.
OPENED = 4
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


@dataclass(frozen=True)
class Asked:
    """In what way a load is wanted."""

    intensity: float = 1.0
    """All times are divided by it."""
    changes: Mapping[str, Any] | None = None
    """Other parameters of a load that a paper specifies."""
    draw: str | None = None
    """How stand-ins are drawn, if not as their trace says: one of `standins.KINDS`."""
    channels: str = ""
    """`published` or `balanced`: how stand-ins load a drive's channels."""
    burst: float | None = None
    """Requests of a stand-in's burst on average, if not as its trace says; 1: no bursts."""
    most_requests: int | None = None


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
        """What each made load was made of, by name: as `destage trace synth` takes it if a paper
        specifies it, as `standins.recipe` gives it if it is a stand-in."""
        self.opened: dict[tuple[Any, ...], Trace] = {}
        self.ahead = Ahead()
        self.drawn: dict[tuple[Any, ...], StandIn] = {}
        """The stand-in that was drawn last."""

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
            return Load(name, "original", spec.title, spec.origin.cite, found, spec.use, spec)
        note = f"to be had from {spec.origin.get}"
        share = requests_of(spec, self.scale) / requests_of(spec, 1.0)
        return Load(name, "stand-in", spec.title, note, spec=spec, share=share)

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
        asked: Asked | None = None,
        progress: ProgressCallback | None = None,
    ) -> Trace:
        """Open a load for a drive, or for pages of 4 KiB; originals are checked the first time.

        Raises `DataError` for an original that is damaged or something else than its name says.
        """
        asked = asked or Asked()
        page = drive.page_bytes if drive else None
        size = (drive.logical_pages, drive.block_bytes) if drive else 0
        drawn = seed if load.random else 0
        on = _channels(load, drive, asked)
        key = (load.name, load.kind, drawn, page, size, repr(asked), on)
        if key not in self.opened:
            # A few at a time: those of other sets of runs on the same load and drive.
            while len(self.opened) >= OPENED:
                del self.opened[next(iter(self.opened))]
            self.opened[key] = self._open(load, seed, drive, asked, on, progress)
        return self.opened[key]

    def _open(
        self,
        load: Load,
        seed: int,
        drive: Drive | None,
        asked: Asked,
        on: Channels | None,
        progress: ProgressCallback | None,
    ) -> Trace:
        wrap = "extend" if drive else None
        if load.paths:
            self.check(load, progress)
            return open_trace(
                list(load.paths), drive=drive, wrap=wrap, progress=progress, **load.options
            )
        if load.synth is None:
            return self._standin(load, seed, drive, asked, on, progress)
        parameters = dict(load.synth)
        if self.shorten != 1:
            whole = int(parameters.get("requests", PRESET_REQUESTS))
            parameters["requests"] = max(FEWEST, round(whole * self.shorten))
        if drive is not None:
            parameters.setdefault("page_bytes", drive.page_bytes)
        parameters |= dict(asked.changes or {})
        _hasten(parameters, asked.intensity)
        if asked == Asked():
            self.made.setdefault(load.name, dict(parameters))
        if parameters.pop("apart", False):
            drawn = draw(apart(parameters), seed, progress)
            return opened(drawn, drive=drive, progress=progress)
        kind = parameters.pop("preset", None) or parameters.pop("kind")
        parameters["seed"] = seed
        return synth(kind, drive=drive, wrap=wrap, progress=progress, **parameters)

    def prepare(self, load: Load, seed: int, drive: Drive | None, asked: Asked) -> None:
        """Begin to draw what will be opened soon, beside the runs that go on."""
        if load.spec is not None and not load.paths and load.synth is None:
            self.ahead.begin(self._recipe(load, drive, asked), seed)

    def _recipe(self, load: Load, drive: Drive | None, asked: Asked) -> Recipe:
        """What a stand-in is made of in front of a drive."""
        assert load.spec is not None
        page = drive.page_bytes if drive else PAGE
        made = recipe(load.spec, self.scale, page, asked.draw, asked.burst)
        if asked.most_requests is not None and asked.most_requests < made["requests"]:
            share = asked.most_requests / made["requests"]
            pages = max(FEWEST, round(made["unique_pages"] * share))
            made = {**made, "requests": asked.most_requests, "unique_pages": pages}
        return made

    def _standin(
        self,
        load: Load,
        seed: int,
        drive: Drive | None,
        asked: Asked,
        on: Channels | None,
        progress: ProgressCallback | None,
    ) -> Trace:
        """Draw a stand-in, place it and open it; it is drawn once for all drives."""
        made = self._recipe(load, drive, asked)
        assert load.spec is not None
        key = (load.name, seed, repr(made))
        if key not in self.drawn:
            self.drawn = {key: self.ahead.drawn(made, seed)}
        drawn = self.drawn[key]
        trace = opened(drawn, on, intensity=asked.intensity, drive=drive, progress=progress)
        if asked.intensity == 1 and load.name not in self.fits:
            self.made[load.name] = {"seed": seed, **made}
            self.fits[load.name] = fits(load.spec, trace.info(), self.scale, trace.page_bytes)
        return trace

    def check(self, load: Load, progress: ProgressCallback | None = None) -> None:
        """Hold an original against what is published of it; other loads pass.

        Raises `DataError` for one that is damaged or something else than its name says.
        """
        spec = load.spec
        if spec is None or not load.paths or load.name in self.checked:
            return
        try:
            if spec.whole:
                whole = open_trace(list(load.paths), progress=progress)
                check_counts(spec, load.paths, spec.whole, whole.info(progress=progress))
            trace = open_trace(list(load.paths), progress=progress, **load.options)
        except DataError as e:
            # No flag says of which format one of many files is.
            said, unclear, _ = str(e).partition("\n  --format NAME")
            if not unclear:
                raise
            hint = f"by its name it is {spec.title}; `destage trace convert` writes it anew"
            raise DataError(f"{said}\n  {hint}") from e
        info = trace.info(progress=progress)
        check_counts(spec, load.paths, spec.counts, info)
        self.fits[spec.name] = fits(spec, info, 1.0, trace.page_bytes)
        self.checked.add(load.name)


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


#: The orders in which docs/spec/device.md 5.2 stripes pages, as SAC numbers them.
STRIPINGS = ("CWDP", "PCWD", "PDCW", "PDWC")
#: SAC's drive that places writes where there is room, in its table 1.
DYNAMIC = "dynamic"


def label_of(drive: Drive) -> str:
    """Return what SAC's table 1 calls a drive: the number of its striping, or `dynamic`."""
    device = drive.record["device"]
    if device["alloc"] == DYNAMIC:
        return DYNAMIC
    order = device["striping"]
    return str(STRIPINGS.index(order)) if order in STRIPINGS else order


def _channels(load: Load, drive: Drive | None, asked: Asked) -> Channels | None:
    """How a stand-in is to load the channels of a drive; None: as it comes."""
    if asked.channels == "" or drive is None or load.kind != "stand-in":
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
    published = load.spec.deviation.get(label_of(drive), 0.0) if load.spec else 0.0
    return Channels(sizes["C"], stretch, published if asked.channels == "published" else 0.0)


def _hasten(parameters: dict[str, Any], intensity: float) -> None:
    """Divide all times between requests."""
    if intensity != 1:
        if "gap_ns" not in parameters:
            parameters["gap_ns"] = 1_000_000
        for key in ("gap_ns", "on_ns", "off_ns"):
            if key in parameters:
                parameters[key] = max(1, round(parameters[key] / intensity))
