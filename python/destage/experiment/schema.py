"""JSON schemas of the files that people write: a device's file, and SPEC of a sweep.

An editor checks and completes a TOML file whose first line is `#:schema FILE`. Everything here is
made of the tables of keys, so that a new key is in the schema at once.
"""

from __future__ import annotations

import re
from typing import Any

from destage.experiment.spec import DRIVE_TABLES, LISTS
from destage.lab.catalogue import DeviceKey, device_keys, devices
from destage.lab.options import reader_options, run_options

__all__ = ["device_schema", "sweep_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEXT = {"type": "string"}
SCALAR = {"type": ["string", "number", "boolean"]}


def device_schema() -> dict[str, Any]:
    """Return the JSON schema of a device's file (`-d FILE.toml`): every table, key and range.

    >>> import destage
    >>> destage.device_schema()["properties"]["device"]["properties"]["sched"]["enum"]
    ['fcfs', 'read_first']
    """
    tables = _tables(lambda key: _described(_values(key), key))
    device = tables["device"]["properties"]
    device["preset"] = {"enum": [d.name for d in devices()]}
    _policy_parameters(tables)
    return _document("A simulated SSD", {**tables, "trace": _reader()})


def sweep_schema() -> dict[str, Any]:
    """Return the JSON schema of the SPEC of `destage sweep`.

    >>> import destage
    >>> sorted(destage.sweep_schema()["required"])
    ['sweep']
    """

    def axis(key: DeviceKey) -> dict[str, Any]:
        one = _values(key)
        return _described({"anyOf": [one, _several(one)]}, key)

    texts = {name: _one_or_several(TEXT) for name in ("devices", "ftls", "placements", "cache")}
    axes = {name: _one_or_several(SCALAR) for name in LISTS} | texts
    axes["traces"] = axes["policies"] = _one_or_several({"type": ["string", "object"]})
    axes["seeds"] = _one_or_several({"type": "integer", "minimum": 0})
    options = {o.name: o for o in run_options() if "compare" in o.commands and o.flag}
    below = _tables(axis)
    _policy_parameters(below)
    sweep = {
        **{
            name: {"description": o.about, **_one_or_several(SCALAR | {"type": _ANY})}
            for name, o in options.items()
        },
        **axes,
        **below,
        # A size, or the device's keys of the cache.
        "cache": {"anyOf": [texts["cache"], below["cache"]]},
        "zip": {"type": "array"},
        "where": _one_or_several(TEXT),
        "repeat": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
        "resample": {"type": "boolean"},
    }
    fixed = device_schema()["properties"]
    for name in options:
        fixed["cache"]["properties"].setdefault(name, {})
    part = {"type": "object", "properties": sweep, "additionalProperties": False}
    return _document("A sweep", {**fixed, "sweep": part}, required=["sweep"])


_ANY = ["string", "number", "boolean", "object"]


def _document(title: str, properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    shape = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"$schema": DIALECT, "title": f"{title} of Destage", **shape, **more}


def _tables(of: Any) -> dict[str, dict[str, Any]]:
    """A schema a table, of its keys and their spellings with a unit."""
    tables: dict[str, dict[str, Any]] = {
        name: {"type": "object", "properties": {}, "additionalProperties": False}
        for name in DRIVE_TABLES
    }
    for key in device_keys():
        tables[key.table]["properties"][key.name] = of(key)
        if key.spelled is not None:
            with_unit = {"description": f"{key.name}, with a unit", **_one_or_several(TEXT)}
            tables[key.table]["properties"][key.spelled] = with_unit
    # FTLs have keys of their own.
    tables["ftl"]["additionalProperties"] = True
    return tables


def _policy_parameters(tables: dict[str, dict[str, Any]]) -> None:
    """`[cache]` has the policy's parameters, and the size, beside its keys."""
    tables["cache"]["additionalProperties"] = True
    tables["cache"]["properties"]["size"] = _one_or_several(TEXT)
    frames = tables["cache"]["properties"]["frames"]
    tables["cache"]["properties"]["frames"] = {
        "description": frames["description"],
        **_one_or_several({"type": ["integer", "string"]}),
    }


def _reader() -> dict[str, Any]:
    known = {option.key: {"description": option.about} for option in reader_options()}
    known["page_size"] = {"description": "Page size."}
    return {"type": "object", "properties": known, "additionalProperties": False}


def _several(one: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": one, "minItems": 1}


def _one_or_several(one: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [one, _several(one)]}


def _described(schema: dict[str, Any], key: DeviceKey) -> dict[str, Any]:
    unit = f", {key.unit}" if key.unit else ""
    return {"description": f"{key.about}{unit} (default {key.default})", **schema}


def _values(key: DeviceKey) -> dict[str, Any]:
    """The schema of what a key takes, from the words that describe it."""
    said = key.values
    number = _integer(said)
    if number is not None:
        return number
    if said == "true or false":
        return {"type": "boolean"}
    if said.startswith("a non-empty list of integers"):
        each = _integer(said.removeprefix("a non-empty list of ").replace("integers", "integer"))
        assert each is not None, said
        return {"anyOf": [each, _several(each)]}
    if said.startswith("bytes, a size"):
        return {"anyOf": [{"type": "integer", "minimum": 0}, TEXT]}
    if said.endswith("a policy's name"):
        return TEXT
    if said.endswith("letters CWDP"):
        letters = {"type": "string", "pattern": "^[CWDP]{4}$"}
        return {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 3}, letters]}
    return {"enum": said.split(", ")}


def _integer(said: str) -> dict[str, Any] | None:
    """`integer 1..8`, `integer >= 2`, either `, or auto`."""
    match = re.fullmatch(r"integer (?:(\d+)\.\.(\d+)|>= (\d+))(?:, or (\w+))?", said)
    if match is None:
        return None
    least, most, only_least, word = match.groups()
    number: dict[str, Any] = {"type": "integer", "minimum": int(least or only_least)}
    if most is not None:
        number["maximum"] = int(most)
    return number if word is None else {"anyOf": [number, {"const": word}]}
