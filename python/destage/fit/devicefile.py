"""The device file: every key with its status, interval and steps (`docs/spec/fit.md` 11.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from destage.base.io.names import printable
from destage.fit.fio import Measurement
from destage.fit.model import Model
from destage.lab.catalogue import device_keys
from destage.model.provenance import made_by
from destage.model.words import duration, number, plain, significant

__all__ = ["Value", "device_file", "literal"]

#: Keys that no measurement of the script separates, and why.
UNSEEN = {
    "cmd_ns": "only sums with read_ns and program_ns",
    "bus_ps_per_byte": "only sums with read_ns and program_ns",
    "copyback": "absorbed by the over-provisioning",
    "gc_mode": "see the mix steps",
    "gc_step_pages": "whole blocks, as simulated here",
    "link_duplex": "see the mix steps",
    "page_bytes": "see docs/spec/fit.md 14",
    "slc_read_ns": "as the flash",
    "slc_erase_ns": "as the flash",
    "slc_pages_per_block": "a third of a block",
}


@dataclass(frozen=True)
class Value:
    """A key of the file, and how it was found."""

    key: str
    status: str
    """`measured`, `inferred` or `not identifiable`."""
    steps: str = ""
    note: str = ""
    value: Any = None
    low: float | None = None
    high: float | None = None

    def with_interval(self, low: float, high: float) -> Value:
        """The same with an interval, as distances from the value."""
        return replace(self, low=low, high=high)

    @property
    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        return dict(self.__dict__)

    @property
    def comment(self) -> str:
        """`measured 59.9 us .. 60.3 us (read-stride-N)`."""
        text = self.status
        if self.low is not None and self.high is not None:
            low, high = _shown(self.key, self.low), _shown(self.key, self.high)
            text += f" {low}" if low == high else f" {low} .. {high}"
            text += " % over-provisioning" if self.key == "blocks_per_plane" else ""
        if self.steps:
            text += f" ({self.steps})"
        return f"{text}; {self.note}" if self.note else text


def _shown(key: str, value: float) -> str:
    if key == "blocks_per_plane":
        return f"{100 * value:.1f}"
    if key.endswith("_ns"):
        return plain(duration(max(0.0, value)))
    return significant(max(0.0, value))


def literal(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(literal(one) for one in value)}]"
    return f"{value:_}"


def device_file(
    model: Model,
    said: Mapping[str, Value],
    made: Measurement,
    header: Mapping[str, Any],
) -> tuple[str, list[Value]]:
    """The TOML text, and its keys in order."""
    keys = model.keys()
    if model.slc_pages:
        keys["slc_blocks"] = model.slc_blocks
    if "map_cache" in said:
        keys.setdefault("map_cache", "all")
    defaults = {k.name: k.default for k in device_keys() if k.table == "device"}
    only_inferred = made.get("fill-2") is None and bool(made.grid["write"])
    if only_inferred or not made.get("fill-2"):
        keys["precondition"] = "none" if only_inferred else "sequential"
    else:
        keys["precondition"], keys["precondition_writes"] = "random", 2 * model.pages
    derived = {
        "logical_pages": Value("logical_pages", "measured", "", "size of the target"),
        "precondition": Value("precondition", "inferred", "", _state(only_inferred)),
    }
    values = []
    lines = _header(model, made, header)
    for key in defaults:
        if key not in keys or key == "gc_high_pages":
            continue
        value = keys[key]
        found = {**derived, **said}.get(key) or _unseen(key, header["base"])
        found = _absolute(replace(found, value=value), model)
        # A device file without a preset collects in steps unless it says otherwise.
        is_shown = key in said or key == "gc_step_pages"
        is_default = not is_shown and literal(value).strip('[]"') == defaults[key]
        if is_default and found.status == "not identifiable":
            continue
        values.append(found)
        lines.append(f"{key + ' = ' + literal(value):<34} # {printable(found.comment)}")
    return "\n".join(lines) + "\n", values


def _absolute(found: Value, model: Model) -> Value:
    """The interval's ends in place of distances."""
    if found.low is None or found.high is None:
        return found
    middle = model.op if found.key == "blocks_per_plane" else found.value
    middle = middle[0] if isinstance(middle, list) else middle
    return found.with_interval(middle + found.low, middle + found.high)


def _state(only_inferred: bool) -> str:
    return "the program time includes GC" if only_inferred else "in use"


def _unseen(key: str, base: str) -> Value:
    structural = {
        "chips_per_channel": "one unit each",
        "dies_per_chip": "one unit each",
        "planes_per_die": "one unit each",
        "queue_level": "one unit each",
        "bus": "one unit each",
        "precondition_writes": "two capacities",
        "gc_low_pages": "two blocks and what rounding adds",
    }
    note = structural.get(key) or UNSEEN.get(key) or ""
    own = "" if key in (*structural, "gc_step_pages") else f"{base}'s"
    return Value(key, "not identifiable", "", "; ".join(part for part in (own, note) if part))


def _header(model: Model, made: Measurement, header: Mapping[str, Any]) -> list[str]:
    name = header.get("name") or made.target or ", ".join(made.files)
    op = 100 * (1 - model.pages / _raw_pages(model))
    lines = [
        f"# {name}, fitted by destage devices fit.",
        f"# Measured: {made.date or 'no date'}, {made.fio_version or 'fio'};"
        f" base {header['base']}, seed {header['seed']}.",
        f"# {made_by().get('command', 'made in Python')}",
        "# Each key: status, 95 % interval, steps. not identifiable: the base's value.",
        f"# Over-provisioning {op:.1f} % of {number(_raw_pages(model))} raw pages.",
    ]
    hosts = header["hosts"]
    for what, most in (("reads", hosts.read), ("writes", hosts.write)):
        if most is not None:
            lines.append(f"# The host, not the device: a job submits {most:.0f} {what}/s at most.")
    return [*(printable(line) for line in lines), "", "[device]"]


def _raw_pages(model: Model) -> int:
    keys = model.keys()
    return int(model.units * keys["blocks_per_plane"] * keys["pages_per_block"])
