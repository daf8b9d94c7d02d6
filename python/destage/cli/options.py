"""Flags that several commands have, and where their values come from.

Precedence: flag > environment > `--config` file > default. The environment variable of a flag is
`DESTAGE_` and its name in capitals, but for `--cache`: `DESTAGE_CACHE_SIZE`, since `DESTAGE_CACHE`
is the folder of decoded traces. In a file the keys of `[trace]` are the reader options (and
`page_size`), those of `[cache]` are in `CACHE_KEYS`. If it has a table `[device]` it is a drive's
file as well, and that drive is behind the cache: then `[cache]`, `[host]` and `[ftl]` may have what
a drive's file has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import click

from destage import _destage
from destage.catalogue import ReaderOption, reader_options
from destage.cli.signals import arm
from destage.cli.streams import is_closed
from destage.device import CACHE_KEYS as DRIVE_CACHE_KEYS
from destage.device import Drive, open_device, open_shared
from destage.errors import DataError, OutputError, UsageError
from destage.io.clash import Named, watching
from destage.io.files import SETTINGS_BYTES, read_text
from destage.io.names import path_of, printable
from destage.options import RunOption, RunOptions, run_options

__all__ = [
    "COMMON",
    "DEVICE",
    "RUN",
    "TRACE",
    "TRACE_ALONE",
    "FOLDER",
    "OUTPUT",
    "Command",
    "Input",
    "Output",
    "apply",
    "drive_of",
    "placed",
    "reader_values",
    "sizes_flag",
]

#: Before the name of a reader option in a command's arguments, so that none collides.
READER = "reader_"

#: Tables that only a drive's file has.
DRIVE_TABLES = ("device", "host", "ftl")

#: Key of a context's notes: the `--config` file that is a drive, and its keys that are not.
SHARED = "destage.shared_file"

#: Key of a context's notes: the `--config` file.
CONFIG = "destage.config"

#: Keys of the `[cache]` table, and the flag that each stands for.
CACHE_KEYS = {
    "policy": "policy",
    "size": "cache",
    **{option.name: option.name for option in run_options() if option.flag},
    "jobs": "jobs",
}

Decorated = Callable[..., Any]


if TYPE_CHECKING:
    _Word = click.ParamType[str, str]
else:
    # Older versions of click have no type arguments.
    _Word = click.ParamType


class File(_Word):
    """A name that can be a file's. Which of the two it is, `Output` and `Input` say."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what no file can be called."""
        return path_of(value, _flag_of(param) if param else "file")


class Output(File):
    """A file, or a folder of them, that the command writes."""


class Input(File):
    """A file that the command reads; `what` is its word in a sentence: `the trace`."""

    def __init__(self, what: str) -> None:
        """Take the word."""
        self.what = what


#: The type of every flag that names a file to write, or a folder for several.
OUTPUT = Output()
#: The type of every flag that names a folder to read from.
FOLDER = File()


def _flag_of(param: click.Parameter) -> str:
    """How a user calls it: `--csv`, `TRACE`."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.human_readable_name.rstrip(".")


def _named_files(ctx: click.Context) -> tuple[list[Named], list[Named]]:
    """What a command writes and what it reads, as far as its arguments say."""
    outputs: list[Named] = []
    inputs = [Named.input("the file of --config", ctx.meta[CONFIG])] if CONFIG in ctx.meta else []
    for param in ctx.command.params:
        if not isinstance(param.type, File):
            continue
        value = ctx.params.get(param.name or "")
        given = [] if value is None else [value] if isinstance(value, str) else list(value)
        if isinstance(param.type, Output):
            outputs += [Named.output(_flag_of(param), path) for path in given]
        elif isinstance(param.type, Input):
            inputs += [Named.input(param.type.what, path) for path in given]
    return outputs, inputs


class Command(click.Command):
    """A command that knows near misses of its flags, and lists its flags in sections.

    Nothing that it writes is something that it reads, nor another thing that it writes.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Hold outputs against inputs, then run."""
        outputs, inputs = _named_files(ctx)
        closed = next((o for o in outputs if isinstance(o.file, int) and is_closed(o.file)), None)
        if closed is not None:
            raise OutputError(f"{closed.says}: standard output is closed")
        arm()
        with watching(outputs, inputs):
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the nearest flag."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as e:
            # Without the dashes, which all have in common.
            known = [name[2:] for p in self.params for name in p.opts if name.startswith("--")]
            near = _destage.nearest(e.option_name.lstrip("-"), known)
            meant = f", did you mean --{near}?" if near else ""
            raise click.UsageError(f"unknown flag {e.option_name}{meant}", ctx) from e
        except click.UsageError as e:
            # The parser does not say which command it parses for.
            e.ctx = e.ctx or ctx
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Flags of the command, of the trace, and of every command, in this order."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.params:
            # Arguments are in the usage line.
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                section = getattr(param, "section", "Flags")
                sections.setdefault(section, []).append(record)
        helps = self.get_help_option(ctx)
        record = helps.get_help_record(ctx) if helps else None
        if record:
            sections.setdefault("Common flags", []).append(record)
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)


#: A number of which the program can say what is wrong with it; beyond, it is none of ours.
WHOLE = click.IntRange(-(1 << 63), (1 << 63) - 1)


class Flag(click.Option):
    """A flag with its section of the help and its environment variable."""

    def __init__(self, *args: Any, section: str = "Flags", **kwargs: Any) -> None:
        """Take the section, and all that click takes."""
        if kwargs.get("type") is int:
            kwargs["type"] = WHOLE
        super().__init__(*args, **kwargs)
        self.section = section
        long = max(self.opts, key=len).lstrip("-").replace("-", "_").upper()
        if self.envvar is None:
            self.envvar = "DESTAGE_" + ("CACHE_SIZE" if long == "CACHE" else long)


def apply(*groups: list[Decorated]) -> Callable[[Decorated], Decorated]:
    """Decorate a command with groups of flags, in the order of the help."""

    def decorate(function: Decorated) -> Decorated:
        for decorator in reversed([d for group in groups for d in group]):
            function = decorator(function)
        return function

    return decorate


def flag(*names: str, **kwargs: Any) -> Decorated:
    """Decorate with a `Flag`."""
    return click.option(*names, cls=Flag, **kwargs)


def _reader_flag(option: ReaderOption) -> Decorated:
    name = READER + option.key
    about = option.about
    if option.default and option.values != "true or false":
        about += f" [{option.default}]"
    if option.formats:
        about += f" ({', '.join(option.formats)})"
    shared: dict[str, Any] = {"section": "Reading the trace", "default": None, "help": about}
    if option.values == "true or false":
        return flag(f"{option.flag}/--no-{option.flag[2:]}", name, **shared)
    metavar = {"format": "NAME", "device": "NAME,...", "requests": "N", "max_errors": "N"}
    words = option.values.replace(", or several", "").replace(" or ", ", ").split(", ")
    is_choice = all(len(w.split()) == 1 for w in words) and len(words) > 1
    default = "|".join(words) if is_choice else "VALUE"
    return flag(option.flag, name, metavar=metavar.get(option.key, default), **shared)


def _config(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    import tomllib

    try:
        data = tomllib.loads(read_text(path, "TOML", SETTINGS_BYTES).decode())
    except tomllib.TOMLDecodeError as e:
        raise DataError(f"{printable(path)}: no TOML: {e}") from e
    except UnicodeDecodeError as e:
        raise DataError(f"{printable(path)}: no TOML: it is not UTF-8") from e
    except RecursionError as e:
        raise DataError(f"{printable(path)}: no TOML of ours: it is nested too deeply") from e
    values, others = _flat(path, data)
    if "device" in data and any(p.name == "device" for p in ctx.command.params):
        ctx.meta[SHARED] = (path, others)
        values["device"] = path
    ctx.meta[CONFIG] = path
    ctx.default_map = {**(ctx.default_map or {}), **values}


def _flat(path: str, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Values of a file by the name of the command's argument, and the keys that they stand under.

    What is the drive's is left out; the drive's reader looks at it.
    """
    values: dict[str, Any] = {}
    taken: list[tuple[str, str]] = []
    reader = {o.key: READER + o.key for o in reader_options()} | {"page_size": "page_size"}
    tables: dict[str, dict[str, str]] = {"trace": reader, "cache": CACHE_KEYS}
    known_tables = [*tables, *DRIVE_TABLES]
    for table, entries in data.items():
        if table not in known_tables:
            raise DataError(f"{path}: {_unknown('table', table, known_tables)}")
        if not isinstance(entries, dict):
            raise DataError(f"{path}: {table}: expected a table, found {entries!r}")
        if table in DRIVE_TABLES and "device" not in data:
            raise DataError(f"{path}: [{table}] is of a drive: a table [device] is missing")
        if table in DRIVE_TABLES:
            continue
        known = tables[table]
        if table == "cache" and "device" in data:
            known = _not_the_drives(entries)
        for key, value in entries.items():
            if key in known:
                values[known[key]] = _text(value)
                taken.append((table, key))
            elif table != "cache" or "device" not in data:
                raise DataError(f"{path}: [{table}]: {_unknown('key', key, list(known))}")
    return values, taken


def _not_the_drives(cache: Mapping[str, Any]) -> dict[str, str]:
    """Keys of a `[cache]` table that are no business of the drive beside it.

    A policy is the drive's if its parameters stand there; else it is a flag's, and may be several.
    """
    parameters = set(cache) - set(CACHE_KEYS) - set(DRIVE_CACHE_KEYS)
    return {k: v for k, v in CACHE_KEYS.items() if k != "policy" or not parameters}


def _unknown(kind: str, word: str, known: list[str]) -> str:
    near = _destage.nearest(word, known)
    meant = f", did you mean {near}?" if near else ""
    return f"unknown {kind} {word!r}{meant} (known: {', '.join(known)})"


def _text(value: Any) -> Any:
    """A value of TOML as a flag has it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        return ",".join(str(_text(v)) for v in value)
    if isinstance(value, dict):
        return ",".join(f"{k}={_text(v)}" for k, v in value.items())
    return str(value)


def reader_values(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The reader options among a command's arguments that were given, by key."""
    return {
        name.removeprefix(READER): value
        for name, value in arguments.items()
        if name.startswith(READER) and value is not None
    }


@contextmanager
def placed() -> Iterator[None]:
    """Name the `--config` file in an error about a reader option that it gave."""
    try:
        yield
    except UsageError as e:
        ctx = click.get_current_context()
        source = ctx.get_parameter_source(READER + str(e).partition(":")[0])
        if source is not click.core.ParameterSource.DEFAULT_MAP:
            raise
        raise DataError(f"{ctx.meta[CONFIG]}: [trace]: {e}") from e


def _color(ctx: click.Context, _: click.Parameter, color: bool | None) -> None:
    if color is None:
        # Before the command, or NO_COLOR; else whether it is a terminal decides.
        color = (
            ctx.color if ctx.color is not None else False if os.environ.get("NO_COLOR") else None
        )
    ctx.color = color


def _inherited(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    """The flag may stand before the command as well."""
    before: dict[str, bool] = ctx.find_root().obj or {}
    return value or bool(before.get(param.name or ""))


#: Flags of every command.
COMMON = [
    flag(
        *("-q", "--quiet"),
        is_flag=True,
        callback=_inherited,
        section="Common flags",
        help="No progress, no notes.",
    ),
    flag(
        *("-v", "--verbose"),
        is_flag=True,
        callback=_inherited,
        section="Common flags",
        help="Notes on what was read.",
    ),
    flag(
        "--color/--no-color",
        default=None,
        section="Common flags",
        expose_value=False,
        callback=_color,
        help="Colours, also where no terminal is; or none (also NO_COLOR). [on a terminal]",
    ),
]


def _trace_flags(drive: bool) -> list[Decorated]:
    """Flags of commands that read a trace, for a drive or only to look at it."""
    with_drive = "; with a drive the drive's" if drive else ""
    is_drive = "; with a table [device] it is the drive as well" if drive else ""
    options = [o for o in reader_options() if drive or o.key not in DRIVE_OPTIONS]
    return [
        flag(
            "--page-size",
            metavar="SIZE",
            section="Reading the trace",
            help="Page size, e.g. 4KiB, 512. [4KiB; the trace's own in page-reference traces"
            f"{with_drive}]",
        ),
        flag(
            "--config",
            type=Input("the file of --config"),
            metavar="FILE.toml",
            is_eager=True,
            expose_value=False,
            callback=_config,
            section="Reading the trace",
            help="Take what flags and environment leave open from [trace] and [cache] of this file"
            f"{is_drive}.",
        ),
        flag(
            "--trace-cache/--no-trace-cache",
            default=True,
            section="Reading the trace",
            help="Keep the decoded trace for the next time, or do not. [keep]",
        ),
        *(_reader_flag(o) for o in options),
    ]


#: Reader options that mean something in front of a drive only.
DRIVE_OPTIONS = ("wrap",)

#: Flags of commands that run a trace, with a drive or without.
TRACE = _trace_flags(drive=True)

#: Flags of commands that read a trace and have no drive.
TRACE_ALONE = _trace_flags(drive=False)

#: Flags of commands that can put a drive behind the cache.
DEVICE = [
    flag(
        "-d",
        "--device",
        type=Input("the drive"),
        metavar="DRIVE",
        section="Drive",
        help="The drive behind the cache: a preset (small, ecr, ...; `destage devices` lists them)"
        " or FILE.toml, with or without changes: 'ecr[gc_mode=background]'. [none: hits"
        " are counted, nothing is timed]",
    ),
    flag(
        "--ftl",
        metavar="NAME[key=value;...]",
        section="Drive",
        help="Flash translation layer, with or without parameters: 'dftl[cmt_entries=8192]';"
        " `destage ftls` lists them. [the drive's]",
    ),
    flag(
        "--queue-depth",
        type=int,
        metavar="N",
        section="Drive",
        help="Closed loop: so many requests are outstanding, whatever times the trace has."
        " [requests come when the trace says so]",
    ),
]


def _is_on_the_command_line(argument: str) -> bool:
    source = click.get_current_context().get_parameter_source(argument)
    return source is click.core.ParameterSource.COMMANDLINE


def drive_of(arguments: Mapping[str, Any]) -> Drive | None:
    """The drive that a command's arguments name."""
    device = arguments["device"]
    if device is None:
        for name in ("ftl", "queue_depth"):
            if arguments[name] is not None:
                raise UsageError(f"--{name.replace('_', '-')} is of a drive: add --device")
        if _is_on_the_command_line(f"{READER}wrap"):
            # A file may say it for runs with a drive and without.
            raise UsageError("--wrap is of a drive: add --device")
        return None
    cache = bool(arguments.get("trace_cache", True))
    shared = click.get_current_context().meta.get(SHARED)
    if shared is not None and shared[0] == device:
        device = open_shared(*shared, cache=cache)
    return open_device(
        device, ftl=arguments["ftl"], queue_depth=arguments["queue_depth"], cache=cache
    )


def sizes_flag(default: str) -> list[Decorated]:
    """Give the flag for cache sizes; the help says what is taken without it."""
    return [
        flag(
            "-c",
            "--cache",
            metavar="SIZE,...",
            help="Cache sizes: 32MiB, 8192p (pages), 10% (of the trace's unique pages), or auto:"
            f" eight from 0.1 % to 50 %. [{default}]",
        )
    ]


def _run_flag(option: RunOption) -> Decorated:
    if option.kind == "flag":
        return flag(option.flag, is_flag=True, help=option.about)
    whole = {"type": int} if option.kind == "whole" else {}
    return flag(option.flag, metavar=option.metavar, help=option.about, **whole)


#: Flags of commands that run policies.
RUN = [_run_flag(option) for option in run_options() if option.flag]


def run_values(arguments: Mapping[str, Any], **more: bool) -> RunOptions:
    """The flags of `RUN` among a command's arguments, as `compare` and its like take them."""
    values = {o.name: arguments[o.name] for o in run_options() if o.flag}
    return cast("RunOptions", values | more)
