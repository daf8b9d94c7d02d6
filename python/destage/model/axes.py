"""The axes of a sweep: what its runs differ in beside policy and cache size.

A key of a device, such as over-provisioning, is an axis of its own, though runs have it in the
device's name: `small[op_permille=70;host.queue_depth=8]`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from destage.model.settings import DIMENSIONS, differing

__all__ = ["Axis", "axes_of"]

#: The key of a device that runs have as a column, too.
_QUEUE_DEPTH = "host.queue_depth"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Axis:
    """What some runs differ in; without a column it is the dimension of its name."""

    name: str
    title: str
    of: str | None = None
    """The dimension that has the value in its own values."""
    column: Sequence[str] = ()
    """The value of each run; empty where a run has none."""
    rest: Sequence[str] = ()
    """The value of dimension `of` for each run, without that of the axis."""


def axes_of(runs: Sequence[Row]) -> list[Axis]:
    """The axes of these runs: keys that are numbers first, then queue depths, other keys, names."""
    devices = [_device(run.get("device")) for run in runs]
    options = [json.loads(run.get("options") or "{}") for run in runs]
    keys = []
    for key in _keys(given for _, given in devices):
        rest = [_named(base, given, key) for base, given in devices]
        if key == _QUEUE_DEPTH:
            continue
        keys.append(
            Axis(f"device.{key}", key, "device", [given.get(key, "") for _, given in devices], rest)
        )
    for key in _keys(options):
        rest = [json.dumps({k: v for k, v in o.items() if k != key}) for o in options]
        values = [_text(o[key]) if key in o else "" for o in options]
        keys.append(Axis(f"options.{key}", key, "options", values, rest))
    keys = [axis for axis in keys if len(set(axis.column)) > 1]
    depth_rest = [_named(base, given, _QUEUE_DEPTH) for base, given in devices]
    depths = Axis("queue_depth", DIMENSIONS["queue_depth"][0], "device", (), depth_rest)
    names = [Axis(n, DIMENSIONS[n][0]) for n in ("device", "ftl", "options", "trace", "seed")]
    several = differing(runs, DIMENSIONS)
    return [
        *(axis for axis in keys if _is_numeric(axis)),
        *(axis for axis in (depths,) if axis.name in several),
        *(axis for axis in keys if not _is_numeric(axis)),
        *(axis for axis in names if axis.name in several),
    ]


def _keys(several: Any) -> list[str]:
    return list(dict.fromkeys(key for keys in several for key in keys))


def _device(name: Any) -> tuple[str, dict[str, str]]:
    """The preset or file of a device, and the keys that its name gives."""
    base, bracket, inner = str(name or "").partition("[")
    pairs = [pair.partition("=") for pair in inner.removesuffix("]").split(";")] if bracket else []
    return base, {key: value for key, _, value in pairs}


def _named(base: str, keys: Mapping[str, str], without: str) -> str:
    left = ";".join(f"{key}={value}" for key, value in keys.items() if key != without)
    return f"{base}[{left}]" if left else base


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _is_numeric(axis: Axis) -> bool:
    try:
        return all(float(value) is not None for value in axis.column if value)
    except ValueError:
        return False
