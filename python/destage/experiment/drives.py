"""The devices of a sweep: presets, files, or SPEC's own, each with changes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from destage.base.errors import DataError, UsageError
from destage.base.io.names import home_path_of, printable
from destage.experiment.spec import SPEC_DRIVE, SweepSpec, toml_value
from destage.lab.options import device_options
from destage.lab.ssd import Device, open_device

__all__ = ["DriveAsked", "drive_asked"]


@dataclass(frozen=True)
class DriveAsked:
    """A device, and what rows call it."""

    drive: Device
    device: str
    ftl: str


def drive_asked(spec: SweepSpec, point: Mapping[str, Any]) -> DriveAsked | None:
    """The device of a point of the grid, if it has one.

    Raises `UsageError`, `MissingFile` and `DataError` as `open_device`.
    """
    given = point["devices"]
    changed = {k: v for k, v in point.items() if k.partition(".")[0] in _TABLES and "." in k}
    if given is None:
        for what in (*changed, *(option.axis for option in device_options())):
            if point.get(what) not in (None, "page", "none"):
                raise UsageError(
                    f"{spec.called}: [sweep] {what}: it needs a simulated SSD, and there is none:"
                    " name devices"
                )
        return None
    changed |= {o.key: point[o.axis] for o in OTHER_OPTIONS if point.get(o.axis) is not None}
    if point.get("placements") is not None:
        changed = {**changed, **_placement(point["placements"])}
    changes = {**spec.changes, **changed}
    name, params = _ftl(point["ftls"])
    if name is not None:
        changes = {"device.ftl": name, **changes, **{f"ftl.{k}": v for k, v in params}}
    inside = ";".join(f"{_key(key)}={_typed(value)}" for key, value in changes.items())
    seed, depth = point["seeds"], point.get("queue_depth")
    if given == SPEC_DRIVE:
        shown = Path(spec.called).stem
        drive = _own(spec, inside, seed, depth)
    else:
        shown = given
        text = _placed(given, spec.folder)
        drive = open_device(_with(text, inside), queue_depth=depth)
        if _draws(drive, f"{given};{inside}", seed):
            seeded = f"{inside};precondition_seed={seed}".removeprefix(";")
            drive = open_device(_with(text, seeded), queue_depth=depth)
    only = [f"{_key(k)}={_typed(v)}" for k, v in changed.items()]
    device = _with(shown, ";".join(only))
    layer = point["ftls"] or str(drive.record["device"]["ftl"])
    return DriveAsked(drive, device, layer)


_TABLES = ("device", "ftl", "host", "cache", "placement")
#: Options of a device without a column of their own: the name of the device has them.
OTHER_OPTIONS = tuple(
    option for option in device_options() if option.name not in ("ftl", "placement", "queue_depth")
)


def _key(key: str) -> str:
    """A key of `[device]` needs no table before it."""
    return key.removeprefix("device.")


def _typed(value: object) -> str:
    return value if isinstance(value, str) else toml_value(value)


def _with(text: str, changes: str) -> str:
    """The name of a device with changes behind those that it has."""
    if not changes:
        return text
    if text.endswith("]"):
        return f"{text[:-1]};{changes}]"
    return f"{text}[{changes}]"


def _ftl(given: str | None) -> tuple[str | None, list[tuple[str, str]]]:
    """An FTL and its parameters. Raises `UsageError`."""
    return (None, []) if given is None else _with_keys(given, "FTL")


def _placement(given: str) -> dict[str, str]:
    """Keys of a device that a placement policy changes. Raises `UsageError`."""
    name, keys = _with_keys(given, "placement")
    return {"device.placement": name, **{f"placement.{key}": value for key, value in keys}}


def _with_keys(given: str, what: str) -> tuple[str, list[tuple[str, str]]]:
    """`NAME[key=value;...]` in its parts. Raises `UsageError`."""
    name, bracket, rest = given.strip().partition("[")
    if not bracket:
        return name.strip(), []
    pairs = [pair.partition("=") for pair in rest.rstrip().removesuffix("]").split(";") if pair]
    if not rest.rstrip().endswith("]") or not all(equals for _, equals, _ in pairs):
        raise UsageError(f"{what} {given}: expected NAME or NAME[key=value;...]")
    return name.strip(), [(key.strip(), value.strip()) for key, _, value in pairs]


def _placed(text: str, folder: Path) -> str:
    """A file's path from where SPEC is; a preset as it is."""
    name, bracket, rest = text.partition("[")
    if not name.endswith(".toml"):
        return text
    path = (folder / home_path_of(name, "device")).resolve()
    return f"{path}{bracket}{rest}"


def _draws(drive: Device, said: str, seed: int | None) -> bool:
    """Whether the sweep's seed generates the writes that fill the device."""
    drawn = drive.record["device"]["precondition"] in ("random", "steady")
    return seed is not None and drawn and "precondition_seed" not in said


def _own(spec: SweepSpec, inside: str, seed: int | None, depth: int | None) -> Device:
    """The device that SPEC describes."""
    assert spec.drive is not None
    handle, path = tempfile.mkstemp(suffix=".toml", prefix="destage-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(spec.drive)
        try:
            drive = open_device(_with(path, inside), queue_depth=depth)
            if _draws(drive, f"{spec.drive};{inside}", seed):
                seeded = f"{inside};precondition_seed={seed}".removeprefix(";")
                drive = open_device(_with(path, seeded), queue_depth=depth)
        except DataError as e:
            # A place in the temporary file would not help the user.
            said = str(e).replace(path, spec.called)
            raise DataError(printable(said)) from e
    finally:
        os.unlink(path)
    return drive
