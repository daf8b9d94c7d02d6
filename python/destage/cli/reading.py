"""How a trace is read: its flags, in one place, and the `--config` file.

Every command that reads a trace takes every reader option. The help of a command shows those that
most need; `destage trace options` shows all of them.

In a `--config` file the keys of `[trace]` are the reader options (and `page_size`), those of
`[cache]`, `[tier2]`, `[tier3]` and `[kv]` are in `CACHE_KEYS`, `TIER2_KEYS` and so on. If it has a
table `[device]` it is a device's file as well, and that device is behind the cache: then `[cache]`,
`[host]` and `[ftl]` may have what a device's file has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from destage.base.errors import DataError
from destage.base.io.files import SETTINGS_BYTES, read_text
from destage.base.io.names import printable
from destage.base.unknown import unknown
from destage.cli.file_types import Input
from destage.cli.options import (
    ALLOW_CODE,
    CONFIG,
    READER,
    READING,
    SHARED,
    Decorated,
    flag,
)
from destage.lab.options import ReaderOption, reader_options, run_options
from destage.lab.ssd import CACHE_KEYS as DRIVE_CACHE_KEYS

__all__ = ["COMMON_READING", "TRACE", "TRACE_ALONE"]

#: Reader options that the help of each command shows.
COMMON_READING = ("format", "on_error", "device", "from", "for", "requests", "wrap", "trim")

#: Tables that only a device's file has.
DRIVE_TABLES = ("device", "host", "placement", "ftl")

#: Keys of the tables `[tier2]`, `[tier3]` and `[kv]`, and the flag that each stands for.
TIER2_KEYS = {
    "policy": "tier2",
    "cache": "tier2_cache",
    **{key: key for key in ("admit", "offer", "promote", "admit_dirty")},
    **{key: key for key in ("backing", "backing_read_ns", "backing_write_ns")},
    "clean": "tier2_clean",
    "pin": "tier2_pin",
    "read_ns": "tier2_read_ns",
}
TIER3_KEYS = {
    "policy": "tier3",
    **{
        key: f"tier3_{key}"
        for key in ("cache", "admit", "offer", "promote", "admit_dirty", "read_ns", "write_ns")
    },
}
KV_KEYS = {
    "enabled": "kv",
    **{key: key for key in ("touch", "token_ns", "double_tokens")},
}

#: Keys of the `[cache]` table, and the flag that each stands for.
CACHE_KEYS = {
    "policy": "policy",
    "size": "cache",
    **{
        option.name: option.name
        for option in run_options()
        if option.flag
        and option.name not in (*TIER2_KEYS.values(), *TIER3_KEYS.values(), *KV_KEYS.values())
    },
    "jobs": "jobs",
}


def _reader_flag(option: ReaderOption) -> Decorated:
    name = READER + option.key
    about = f"{option.about[0].upper()}{option.about[1:]}."
    if option.default and option.values != "true or false":
        about += f" [{option.default}]"
    if option.formats:
        about += f" ({', '.join(option.formats)})"
    shared: dict[str, Any] = {"section": READING, "default": None, "help": about}
    shared["hidden"] = option.key not in COMMON_READING
    if option.values == "true or false":
        return flag(f"{option.flag}/--no-{option.flag[2:]}", name, **shared)
    if option.is_list:
        shared |= {"default": (), "multiple": True}
    metavar = {"format": "NAME", "volume": "NAME,...", "requests": "N", "max_errors": "N"}
    words = option.values.replace(", or several", "").replace(" or ", ", ").split(", ")
    is_choice = all(len(w.split()) == 1 for w in words) and len(words) > 1
    default = "|".join(words) if is_choice else "VALUE"
    return flag(option.flag, name, metavar=metavar.get(option.key, default), **shared)


def _trace_flags(drive: bool) -> list[Decorated]:
    """Flags of commands that read a trace, for a device or only to look at it."""
    with_drive = ", or the device's" if drive else ""
    is_drive = ", [device]" if drive else ""
    options = [o for o in reader_options() if drive or o.key not in DRIVE_OPTIONS]
    return [
        flag(
            "--page-size",
            metavar="SIZE",
            section=READING,
            help=f"Page size: 4KiB, 512. [4KiB, or the trace's own unit{with_drive}]",
        ),
        flag(
            "--config",
            type=Input("the file of --config"),
            metavar="FILE.toml",
            is_eager=True,
            expose_value=False,
            callback=_config,
            section=READING,
            help=f"Defaults from [trace], [cache]{is_drive} of this file.",
        ),
        flag(
            "--trace-cache/--no-trace-cache",
            default=True,
            section=READING,
            help="Keep the decoded trace for the next run. [keep]",
        ),
        *([ALLOW_CODE] if drive else []),
        *(_reader_flag(o) for o in options),
    ]


#: Reader options that mean something in front of a device only.
DRIVE_OPTIONS = ("wrap",)


def _config(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    import tomllib

    try:
        data = tomllib.loads(read_text(path, "TOML", SETTINGS_BYTES).decode())
    except tomllib.TOMLDecodeError as e:
        raise DataError(f"{printable(path)}: expected a TOML file: {e}") from e
    except UnicodeDecodeError as e:
        raise DataError(f"{printable(path)}: expected a TOML file, found no UTF-8") from e
    except RecursionError as e:
        raise DataError(
            f"{printable(path)}: expected a TOML file, found one nested too deeply"
        ) from e
    values, others = _flat(path, data)
    if "device" in data and any(p.name == "device" for p in ctx.command.params):
        ctx.meta[SHARED] = (path, others)
        values["device"] = path
    ctx.meta[CONFIG] = path
    ctx.default_map = {**(ctx.default_map or {}), **values}


def _flat(path: str, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Values of a file by the name of the command's argument, and the keys that they stand under.

    Keys of the device are left out; the device's reader takes them.
    """
    values: dict[str, Any] = {}
    taken: list[tuple[str, str]] = []
    reader = {o.key: READER + o.key for o in reader_options()} | {"page_size": "page_size"}
    of_tiers = {"tier2": TIER2_KEYS, "tier3": TIER3_KEYS, "kv": KV_KEYS}
    tables = {"trace": reader, "cache": CACHE_KEYS, **of_tiers}
    known_tables = [*tables, *DRIVE_TABLES]
    for table, entries in data.items():
        if table not in known_tables:
            raise DataError(f"{path}: {unknown('table', table, known_tables)}")
        if not isinstance(entries, dict):
            raise DataError(f"{path}: {table}: expected a table, found {entries!r}")
        if table in DRIVE_TABLES and "device" not in data:
            raise DataError(f"{path}: [{table}] needs a table [device]")
        if table in DRIVE_TABLES:
            continue
        known = tables[table]
        if table == "cache" and "device" in data:
            known = _not_the_drives(entries)
        for key, value in entries.items():
            if key in known:
                values[known[key]] = _texts(value) if known[key] in LISTS else _text(value)
                taken.append((table, key))
            elif table != "cache" or "device" not in data:
                meant = unknown("key", key, list(known))
                if (table, key) == ("cache", "frames"):
                    meant = "unknown key 'frames': the cache size is size here"
                raise DataError(f"{path}: [{table}]: {meant}")
    return values, taken


def _not_the_drives(cache: Mapping[str, Any]) -> dict[str, str]:
    """Keys of a `[cache]` table that are no business of the device beside it.

    A policy is the device's if its parameters stand there; else it is a flag's, and may be several.
    """
    parameters = set(cache) - set(CACHE_KEYS) - set(DRIVE_CACHE_KEYS)
    return {k: v for k, v in CACHE_KEYS.items() if k != "policy" or not parameters}


def _text(value: Any) -> Any:
    """A value of TOML as a flag has it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        return ",".join(str(_text(v)) for v in value)
    if isinstance(value, dict):
        return ",".join(f"{k}={_part(v)}" for k, v in value.items())
    return str(value)


def _part(value: Any) -> str:
    """A column of a mapping, or several that are one name."""
    return "+".join(map(str, value)) if isinstance(value, list) else str(_text(value))


def _texts(value: Any) -> list[str]:
    """A value of TOML as a flag that may come again has it."""
    return [str(v) for v in value] if isinstance(value, list) else [str(value)]


#: Flags that may come again.
LISTS = {READER + option.key for option in reader_options() if option.is_list}


#: Flags of commands that run a trace, with a device or without.
TRACE = _trace_flags(drive=True)

#: Flags of commands that read a trace and have no device.
TRACE_ALONE = _trace_flags(drive=False)
