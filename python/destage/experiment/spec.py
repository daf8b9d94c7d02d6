"""SPEC.toml: the configurations of a sweep, read and validated."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from destage.base.errors import DataError
from destage.base.io.files import SETTINGS_BYTES, read_text
from destage.base.io.names import path_of, printable
from destage.base.io.path_conflicts import reading
from destage.base.unknown import unknown
from destage.experiment.grid import Axis
from destage.experiment.policies import policy_texts
from destage.experiment.traces import TraceAsked, traces_asked
from destage.lab.options import device_options, reader_options, run_options

__all__ = ["SPEC_DRIVE", "Place", "SweepSpec", "load_spec"]

#: Tables of a device's file; each may also stand below `[sweep]`, with lists: those are axes.
DRIVE_TABLES = ("device", "ftl", "host", "cache", "placement")
TABLES = ("sweep", "trace", *DRIVE_TABLES)

#: Axes by the key of `[sweep]`, and what one of their values is.
LISTS = {
    "traces": "a path or a table",
    "devices": "a preset or FILE.toml",
    "ftls": "a name such as 'bast'",
    "placements": "a name such as 'sepbit'",
    **{
        option.axis: "a whole number from 1 or 'trace'" if option.kind == "depth" else "a text"
        for option in device_options()
        if option.axis not in ("ftls", "placements")
    },
    "policies": "a name or a table",
    "cache": "a size such as '32MiB'",
    "seeds": "a whole number from 0",
}
RULES = ("zip", "where", "repeat", "resample")

#: Stands for the device that SPEC itself describes, in `[device]`.
SPEC_DRIVE = "[device]"


@dataclass(frozen=True)
class Place:
    """A place of SPEC, for messages."""

    called: str
    table: str = ""
    key: str = ""

    def at(self, key: str) -> Place:
        """A key of this table."""
        return Place(self.called, self.table, key)

    def __str__(self) -> str:
        """`sweep.toml: [sweep] traces`."""
        return f"{self.called}: [{self.table}]" + (f" {self.key}" if self.key else "")

    def wrong(self, expected: str, found: object) -> DataError:
        """The error for a value of another type."""
        return DataError(f"{self}: expected {expected}, found {_shown(found)}")


#: Error of a file that is not TOML: usually a trace.
_NO_SPEC = "expected a TOML file with a table [sweep] (a trace is named in it)"


def _shown(found: object) -> str:
    try:
        text = json.dumps(found)
    except (TypeError, ValueError):
        text = repr(found)
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass(frozen=True)
class SweepSpec:
    """A sweep as it was asked for."""

    called: str
    """Name of the specification in messages."""
    folder: Path
    """Where its relative paths begin."""
    data: Mapping[str, Any]
    """All of it, as it was given."""
    axes: tuple[Axis, ...]
    zipped: tuple[tuple[str, ...], ...]
    where: tuple[str, ...]
    """Conditions, all of which hold of a run that is wanted."""
    reader: Mapping[str, Any]
    """Options of `[trace]`."""
    changes: Mapping[str, Any]
    """Keys that devices take from SPEC, by their whole name: `device.gc_mode`."""
    drive: str | None
    """The device of `[device]` as the text of a device's file; None if devices are named."""
    options: Mapping[str, Any]
    """Run options that all runs have."""
    resample: bool = False
    """Whether a seed also makes another trace of each file."""
    is_file: bool = False
    """Whether it was read from a file, which may be anybody's."""


def load_spec(given: str | os.PathLike[str] | Mapping[str, Any]) -> SweepSpec:
    """Read a SPEC file, or take what one would hold.

    Raises `MissingFile`, and `DataError` with table, key, found and expected value.
    """
    if isinstance(given, Mapping):
        return _spec(dict(given), "the spec", Path.cwd())
    path = path_of(given, "spec")
    reading("the SPEC", path)
    called = printable(path)
    try:
        data = tomllib.loads(read_text(path, "TOML", SETTINGS_BYTES).decode())
    except tomllib.TOMLDecodeError as e:
        raise DataError(f"{called}: {_NO_SPEC}: {e}") from e
    except UnicodeDecodeError as e:
        raise DataError(f"{called}: {_NO_SPEC}: it is not UTF-8") from e
    except RecursionError as e:
        raise DataError(f"{called}: {_NO_SPEC}: it is nested too deeply") from e
    return replace(_spec(data, called, Path(path).resolve().parent), is_file=True)


def _spec(data: dict[str, Any], called: str, folder: Path) -> SweepSpec:
    for table, entries in data.items():
        if table not in TABLES:
            raise DataError(f"{called}: {unknown('table', table, TABLES)}")
        if not isinstance(entries, Mapping):
            raise DataError(f"{called}: {table}: expected a table, found {_shown(entries)}")
    if "sweep" not in data:
        raise DataError(f"{called}: expected a table [sweep], found none")
    sweep, place = data["sweep"], Place(called, "sweep")
    _check_keys(sweep, place)
    reader = _reader(data.get("trace", {}), Place(called, "trace"))
    options, changes = _fixed(data, called)
    axes = [*_axes(sweep, data, place, folder), *_option_axes(sweep, place)]
    order = {name: k for k, name in enumerate(("traces", "devices", "ftls", "placements"))}
    last = {name: 10 + k for k, name in enumerate(("seeds", "policies", "cache"))}
    axes.sort(key=lambda axis: order.get(axis.name, last.get(axis.name, 5)))
    own = "device" in data and "devices" not in sweep
    if changes and not any(axis.name == "devices" and any(axis.values) for axis in axes):
        table, _, key = next(iter(changes)).partition(".")
        raise DataError(
            f"{called}: [{table}] {key}: it needs a simulated SSD, and there is none: name devices"
        )
    return SweepSpec(
        called=called,
        folder=folder,
        data=data,
        axes=tuple(axes),
        zipped=_zipped(sweep.get("zip", []), place.at("zip"), axes),
        where=_conditions(sweep.get("where", []), place.at("where")),
        reader=reader,
        changes={} if own else changes,
        drive=_drive_file(data) if own else None,
        options=options,
        resample=_resample(sweep, place.at("resample")),
    )


def _resample(sweep: Mapping[str, Any], place: Place) -> bool:
    asked = sweep.get("resample", False)
    if not isinstance(asked, bool):
        raise place.wrong("true or false", asked)
    if asked and "seeds" not in sweep and "repeat" not in sweep:
        raise DataError(f"{place}: expected seeds or repeat beside it: each seed is another trace")
    return asked


def _run_options() -> list[str]:
    return [o.name for o in run_options() if "compare" in o.commands and o.flag]


def _check_keys(sweep: Mapping[str, Any], place: Place) -> None:
    known = list(dict.fromkeys([*LISTS, *RULES, *_run_options(), *DRIVE_TABLES]))
    for key in sweep:
        if key not in known:
            raise DataError(f"{place}: {unknown('key', key, known)}")


def _reader(table: Mapping[str, Any], place: Place) -> dict[str, Any]:
    known = [*(o.key for o in reader_options()), "page_size"]
    for key in table:
        if key not in known:
            raise DataError(f"{place}: {unknown('key', key, known)}")
    return dict(table)


def _fixed(data: Mapping[str, Any], called: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run options of `[cache]`, and what all devices take from SPEC's tables."""
    options: dict[str, Any] = {}
    changes: dict[str, Any] = {}
    known = _run_options()
    for table in DRIVE_TABLES:
        for key, value in data.get(table, {}).items():
            if table == "cache" and key in ("policy", "size", "jobs", "frames"):
                raise DataError(
                    f"{called}: [cache] {key}: a sweep has its policies and sizes in [sweep]"
                    " (policies, cache), and its threads from --jobs"
                )
            if table == "cache" and key in known:
                options[key] = value
            elif not (table == "device" and key == "preset"):
                changes[f"{table}.{key}"] = value
    return options, changes


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _axes(
    sweep: Mapping[str, Any], data: Mapping[str, Any], place: Place, folder: Path
) -> list[Axis]:
    """The axes that a sweep always has, and those below `[sweep]` that change devices."""
    texts = {key: _texts(sweep[key], place.at(key), LISTS[key]) for key in _TEXTS if key in sweep}
    if "traces" not in sweep:
        raise DataError(f"{place}: expected traces, found none")
    asked = traces_asked(sweep["traces"], folder, lambda e, f: place.at("traces").wrong(e, f))
    policies: list[str | None] = [None]
    if "policies" in sweep:
        at = place.at("policies")
        policies = [*policy_texts(sweep["policies"], lambda e, f: at.wrong(e, f))]
    drives = [SPEC_DRIVE] if "device" in data else [None]
    axes = [
        Axis("traces", tuple(asked)),
        Axis("devices", tuple(texts.get("devices", drives))),
        Axis("ftls", tuple(texts.get("ftls", [None]))),
        *([Axis("placements", tuple(texts["placements"]))] if "placements" in texts else []),
        Axis("policies", tuple(policies)),
        Axis("cache", tuple(texts.get("cache", [None]))),
        Axis("seeds", tuple(_seeds(sweep, place))),
    ]
    for table in DRIVE_TABLES:
        entries = sweep.get(table)
        if table == "cache" and not isinstance(entries, Mapping):
            continue
        for key, value in _table(entries, place.at(table)).items():
            axes.append(Axis(f"{table}.{key}", tuple(_listed(value))))
    return [_distinct(axis, place) for axis in axes]


#: Axes whose values are texts.
_TEXTS = ("devices", "ftls", "placements", "cache")


def _table(entries: object, place: Place) -> Mapping[str, Any]:
    if entries is None:
        return {}
    if not isinstance(entries, Mapping):
        raise place.wrong("a table of keys of devices with lists", entries)
    for key, value in entries.items():
        if value == []:
            raise place.wrong(f"values of {key}", value)
    return entries


def _texts(value: object, place: Place, what: str) -> list[Any]:
    if place.key == "cache" and isinstance(value, Mapping):
        return [None]
    if isinstance(value, str) and place.key == "cache":
        value = [word.strip() for word in value.split(",")]
    listed = _listed(value)
    if not listed:
        raise place.wrong(f"at least one: {what}", value)
    for one in listed:
        if not isinstance(one, str) or not one.strip():
            raise place.wrong(what, one)
    return [None if place.key == "devices" and one == "none" else one for one in listed]


def _distinct(axis: Axis, place: Place) -> Axis:
    seen: list[object] = []
    for value in axis.values:
        key = value.key if isinstance(value, TraceAsked) else value
        if key in seen:
            called = value.name if isinstance(value, TraceAsked) else value
            raise DataError(f"{place.at(axis.name)}: {_shown(called)} is there twice")
        seen.append(key)
    return axis


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 1 << 63


def _seeds(sweep: Mapping[str, Any], place: Place) -> list[int | None]:
    seeds = _listed(sweep["seeds"]) if "seeds" in sweep else []
    for seed in seeds:
        if not _whole(seed, 0):
            raise place.at("seeds").wrong(LISTS["seeds"], seed)
    if "seeds" in sweep and not seeds:
        raise place.at("seeds").wrong("at least one", sweep["seeds"])
    if "repeat" not in sweep:
        return seeds or [None]
    count = sweep["repeat"]
    if not _whole(count, 1) or count > 1_000_000:
        raise place.at("repeat").wrong("a whole number from 1 to 1000000", count)
    if len(seeds) > 1:
        raise DataError(
            f"{place.at('repeat')}: [sweep] seeds names {len(seeds)} seeds: give one to begin"
            " with, or leave repeat out"
        )
    first = seeds[0] if seeds else 1
    return list(range(first, first + count))


def _option_axes(sweep: Mapping[str, Any], place: Place) -> list[Axis]:
    axes = [
        _distinct(Axis(name, tuple(_listed(sweep[name]))), place)
        for name in _run_options()
        if name in sweep
    ]
    for option in device_options():
        if option.axis in ("ftls", "placements") or option.axis not in sweep:
            continue
        values = _listed(sweep[option.axis])
        for value in values:
            is_text = isinstance(value, str)
            if not (_whole(value, 1) or value == "trace" if option.kind == "depth" else is_text):
                raise place.at(option.axis).wrong(LISTS[option.axis], value)
        axes.append(_distinct(Axis(option.axis, tuple(values)), place))
    for axis in axes:
        if not axis.values:
            raise place.at(axis.name).wrong("at least one value", [])
    return axes


def _zipped(value: object, place: Place, axes: Sequence[Axis]) -> tuple[tuple[str, ...], ...]:
    groups = _listed(value)
    if groups and all(isinstance(one, str) for one in groups):
        groups = [groups]
    known = {axis.name: len(axis.values) for axis in axes}
    taken: set[str] = set()
    for group in groups:
        if not isinstance(group, list) or len(group) < 2:
            raise place.wrong("the names of two axes or more, or lists of them", group)
        for name in group:
            if name not in known:
                raise DataError(f"{place}: {unknown('axis', name, list(known))}")
            if name in taken:
                raise DataError(f"{place}: {name} is there twice")
            taken.add(name)
        if len({known[name] for name in group}) > 1:
            counts = ", ".join(f"{name} has {known[name]}" for name in group)
            raise DataError(f"{place}: expected axes of the same length: {counts}")
    return tuple(tuple(group) for group in groups)


def _conditions(value: object, place: Place) -> tuple[str, ...]:
    texts = _listed(value)
    for text in texts:
        if not isinstance(text, str):
            raise place.wrong("a condition such as \"policy != 'min' or seed == 1\"", text)
    return tuple(texts)


def _drive_file(data: Mapping[str, Any]) -> str:
    """The device that SPEC describes, as the text of a file of its own."""
    lines = []
    options = _run_options()
    for table in DRIVE_TABLES:
        entries = {
            key: value
            for key, value in data.get(table, {}).items()
            if not (table == "cache" and key in options)
        }
        if entries:
            lines.append(f"[{table}]")
            lines += [f"{json.dumps(key)} = {toml_value(value)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"


def toml_value(value: object) -> str:
    """A value as TOML has it, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return str(value)
