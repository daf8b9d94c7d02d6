"""The axes of a sweep: what its runs differ in beside policy and cache size.

A key of a device, such as over-provisioning, is an axis of its own, though runs have it in the
device's name: `small[op_permille=70;host.queue_depth=8]`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from destage.base.errors import UsageError
from destage.model.settings import DIMENSIONS, differing

__all__ = ["Axis", "along", "axes_of", "axis_named", "device_columns", "device_keys", "is_number"]

#: The key of a device that runs have as a column, too.
_QUEUE_DEPTH = "host.queue_depth"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Axis:
    """A property in which runs differ; without a column it is the dimension of its name."""

    name: str
    title: str
    of: str | None = None
    """The dimension that has the value in its own values."""
    column: Sequence[str] = ()
    """The value of each run; empty where a run has none."""
    rest: Sequence[str] = ()
    """The value of dimension `of` for each run, without the axis's value."""

    @property
    def is_numeric(self) -> bool:
        """Whether all its values are numbers."""
        return _are_numbers(self.column)


def axes_of(runs: Sequence[Row]) -> list[Axis]:
    """The axes of these runs: keys that are numbers first, then queue depths, other keys, names."""
    devices = [device_keys(run.get("device")) for run in runs]
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
        *(axis for axis in keys if axis.is_numeric),
        *(axis for axis in (depths,) if axis.name in several),
        *(axis for axis in keys if not axis.is_numeric),
        *(axis for axis in names if axis.name in several),
    ]


def axis_named(runs: Sequence[Row], key: str) -> Axis:
    """The axis of these runs that a user calls so: `queue_depth`, `op_permille`, `trace`.

    Raises `UsageError` with those that there are.
    """
    found = axes_of(runs)
    for axis in found:
        if key in (axis.name, axis.title, axis.name.rpartition(".")[2]):
            return axis
    names = [axis.title if axis.of and axis.column else axis.name for axis in found]
    several = "cache, " if len({run.get("cache") for run in runs}) > 1 else ""
    known = several + ", ".join(names) if names else "the cache size alone: cache"
    raise UsageError(f"across: the runs do not differ in {key!r}; they differ in {known}")


def device_columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """The keys that the names of devices give, as columns; None where a row's has no such key."""
    named = [device_keys(row.get("device"))[1] for row in rows]
    columns = {}
    for key in _keys(named):
        texts = [keys.get(key, "") for keys in named]
        read = _number if _are_numbers(texts) else str
        columns[key] = [read(text) if text else None for text in texts]
    return columns


def along(runs: Sequence[Row], axis: Axis) -> list[dict[str, Any]]:
    """The runs with their value of an axis as `across`, and without it in their other names."""
    found = []
    for k, run in enumerate(runs):
        value = axis.column[k] if axis.column else run.get(axis.name)
        one = {**run, "across": "" if value is None else str(value)}
        found.append(one | ({axis.of: axis.rest[k]} if axis.of and axis.rest else {}))
    return found


def _keys(several: Any) -> list[str]:
    return list(dict.fromkeys(key for keys in several for key in keys))


def device_keys(name: Any) -> tuple[str, dict[str, str]]:
    """The preset or file of a device, and the keys that its name gives."""
    base, bracket, inner = str(name or "").partition("[")
    pairs = [pair.partition("=") for pair in inner.removesuffix("]").split(";")] if bracket else []
    return base, {key: value for key, _, value in pairs}


def _named(base: str, keys: Mapping[str, str], without: str) -> str:
    left = ";".join(f"{key}={value}" for key, value in keys.items() if key != without)
    return f"{base}[{left}]" if left else base


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _are_numbers(texts: Sequence[str]) -> bool:
    return all(is_number(text) for text in texts if text)


def is_number(text: str) -> bool:
    """Whether a value of an axis is a number."""
    return _number(text) is not None


def _number(text: str) -> int | float | None:
    """The number that a text is; None if it is none."""
    try:
        return int(text)
    except ValueError:
        with suppress(ValueError):
            return float(text)
    return None
