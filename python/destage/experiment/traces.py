"""The traces of a sweep: files, folders of files, workloads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from destage.base.errors import MissingFile
from destage.base.io.names import home_path_of, printable
from destage.lab.options import ProgressCallback, is_separate, reader_options
from destage.lab.ssd import Device
from destage.lab.traces import Trace, open_trace, open_volumes, synth

__all__ = ["TraceAsked", "traces_asked"]

Wrong = Callable[[str, object], Exception]

EXPECTED = "a path, or a table with path, or with synth and its parameters"


@dataclass(frozen=True)
class TraceAsked:
    """One trace of a sweep."""

    name: str
    """Name of the trace in rows."""
    paths: tuple[Path, ...] = ()
    """Its files; none of a workload."""
    synth: str | None = None
    """Kind of a workload."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """How it is read, or parameters of the workload."""

    @property
    def key(self) -> str:
        """The same for the same trace."""
        return json.dumps([*map(str, self.paths), self.synth, self.options], sort_keys=True)

    @property
    def is_drawn(self) -> bool:
        """Whether a seed makes another trace of it."""
        return self.synth is not None and "seed" not in self.options

    def open(
        self,
        reader: Mapping[str, Any],
        drive: Device | None,
        seed: int | None,
        progress: ProgressCallback | None = None,
        *,
        page_bytes: int | None = None,
    ) -> list[tuple[str, Trace]]:
        """Open it for a device; several if its volumes are to be traces of their own.

        A seed makes another trace: of a workload, or by a block bootstrap of a file's requests.
        Without one, its pages have `page_bytes` unless it says otherwise.
        """
        given: dict[str, Any] = {"device": drive, "progress": progress}
        if page_bytes is not None:
            reader = {"page_size": page_bytes, **reader}
        if self.synth is not None:
            parameters = dict(self.options)
            if seed is not None and self.is_drawn:
                parameters["seed"] = seed
            for key in ("page_size", "wrap"):
                if key in reader:
                    given[key] = reader[key]
            return [(self.name, synth(self.synth, **given, **parameters))]
        options = {**reader, **self.options}
        if seed is not None:
            options["resample"] = seed
        # What is said of all traces need not mean something to each.
        if reader:
            options["defaults"] = [key for key in reader if key not in self.options]
        if is_separate(options) and drive is None:
            del given["device"]
            found = open_volumes(self.paths, **given, **options)
            if len(found) == 1:
                return [(self.name, found[0])]
            return [(f"{self.name}:{_volume(one)}", one) for one in found]
        return [(self.name, open_trace(self.paths, **given, **options))]


def _volume(trace: Trace) -> str:
    chosen = trace.identity["options"]["reader"].get("volume") or ["?"]
    return ",".join(map(str, chosen)) if isinstance(chosen, list) else str(chosen)


def traces_asked(given: object, folder: Path, wrong: Wrong) -> list[TraceAsked]:
    """The traces that SPEC names; a folder is every file in it, `*` and `?` stand for names.

    Raises `MissingFile`, and what `wrong` makes of what cannot be.
    """
    listed = given if isinstance(given, list) else [given]
    if not listed:
        raise wrong(f"at least one: {EXPECTED}", given)
    found: list[tuple[str, TraceAsked]] = []
    for one in listed:
        if isinstance(one, str) and one.strip():
            found += _files(one, folder, {})
        elif isinstance(one, Mapping):
            found += _table(one, folder, wrong)
        else:
            raise wrong(EXPECTED, one)
    # Traces of one name are distinguished by their options, and if need be by their paths.
    for by_path in (False, True):
        names = Counter(asked.name for _, asked in found)
        found = [
            (given, replace(asked, name=_longer(given if by_path else asked.name, asked)))
            if names[asked.name] > 1
            else (given, asked)
            for given, asked in found
        ]
    return [asked for _, asked in found]


def _longer(name: str, asked: TraceAsked) -> str:
    """The name, and how the trace is read."""
    if asked.synth is not None:
        return name  # It has its parameters.
    options = "".join(f" {key}={value}" for key, value in asked.options.items())
    return name if name.endswith(options) else name + options


def _table(
    table: Mapping[str, Any], folder: Path, wrong: Wrong
) -> Iterator[tuple[str, TraceAsked]]:
    options = dict(table)
    name, kind, path = (options.pop(key, None) for key in ("name", "synth", "path"))
    for key, value in (("name", name), ("synth", kind)):
        if value is not None and not isinstance(value, str):
            raise wrong(f"a text for {key}", value)
    if (kind is None) == (path is None):
        raise wrong(EXPECTED, dict(table))
    if kind is not None:
        shown = f"synth {kind}" + "".join(f" {k}={v}" for k, v in options.items())
        yield shown, TraceAsked(name or shown, synth=kind, options=options)
        return
    known = [*(o.key for o in reader_options()), "page_size"]
    for key in options:
        if key not in known:
            raise wrong(f"options of the reader (known: {', '.join(known)})", key)
    if isinstance(path, list):
        if not path or not all(isinstance(p, str) and p for p in path):
            raise wrong("paths of the files that are one trace", path)
        paths = tuple((folder / p).resolve() for p in path)
        _check_there(paths, path)
        shown = f"{paths[0].name} and {len(paths) - 1} more" if len(paths) > 1 else paths[0].name
        yield "+".join(path), TraceAsked(name or shown, paths, options=options)
        return
    if not isinstance(path, str) or not path:
        raise wrong("a path", path)
    some = list(_files(path, folder, options))
    for given, asked in some:
        yield given, replace(asked, name=name) if name and len(some) == 1 else asked


def _check_there(paths: Sequence[Path], given: Sequence[str]) -> None:
    for path, text in zip(paths, given, strict=True):
        if not path.exists():
            raise MissingFile(f"trace {printable(text)}: no such file ({printable(path)})")


def _files(text: str, folder: Path, options: Mapping[str, Any]) -> Iterator[tuple[str, TraceAsked]]:
    whole = folder / home_path_of(text, "trace")
    if whole.is_dir():
        inside = sorted(p for p in whole.iterdir() if p.is_file() and p.name[0] not in "._")
        if not inside:
            raise MissingFile(f"trace {printable(text)}: there is no file in this folder")
        each = [(f"{text.rstrip('/')}/{path.name}", path) for path in inside]
    elif not whole.exists() and any(c in text for c in "*?"):
        base = Path(whole.anchor) if whole.is_absolute() else folder
        pattern = str(whole.relative_to(base))
        matched = sorted(p for p in base.glob(pattern) if p.is_file())
        if not matched:
            raise MissingFile(f"trace {printable(text)}: no file is called so")
        each = [(str(path), path) for path in matched]
    else:
        file = Path(str(whole).partition("!")[0])
        _check_there([file if not whole.exists() else whole], [text])
        each = [(text, whole)]
    for given, path in each:
        resolved = path.resolve() if path.exists() else path
        yield given, TraceAsked(path.name, (resolved,), options=dict(options))
