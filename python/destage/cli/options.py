"""Flags that several commands have, and where their values come from.

Precedence: flag > environment > `--config` file > default. The environment variable of a flag is
`DESTAGE_` and its name in capitals, but for `--cache`: `DESTAGE_CACHE_SIZE`, since `DESTAGE_CACHE`
is the folder of decoded traces. What a file may say is in `cli.reading`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, cast

import click

from destage import _destage
from destage.base.errors import DataError, OutputError, UsageError
from destage.base.io.files import together
from destage.base.io.names import printable
from destage.base.io.path_conflicts import Named, watching
from destage.cli.candidates import completed
from destage.cli.elsewhere import meant_elsewhere, meant_here
from destage.cli.file_types import File, Input, Inputs, Output, flag_of, listed
from destage.cli.signals import arm
from destage.cli.streams import is_closed
from destage.lab import checks
from destage.lab.checks import Exclusions
from destage.lab.options import RunOption, RunOptions, device_options, run_options
from destage.lab.ssd import Device, open_device, open_shared
from destage.lab.user_policies.trust import from_command_line
from destage.model.naming import parts
from destage.model.provenance import commanded

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = [
    "ALLOW_CODE",
    "CODE",
    "COMMON",
    "DEVICE",
    "DEVICES",
    "ONE_TIERS",
    "RUN",
    "RUN_ADVISED",
    "RUN_ALONE",
    "TIERS",
    "FOLDER",
    "OUTPUT",
    "Command",
    "apply",
    "drive_of",
    "drives_of",
    "no_size_without_a_cache",
    "placed",
    "reader_values",
    "sizes_flag",
]

#: Before the name of a reader option in a command's arguments, so that none collides.
READER = "reader_"

#: Sections of the help.
READING = "Reading the trace"
SSD = "Simulated SSD"
ADVANCED = "Advanced"
LAST = "Common flags"

#: Key of a context's notes: the `--config` file that is a device, and its keys that are not.
SHARED = "destage.shared_file"

#: Key of a context's notes: whether the help has every flag.
EVERY_FLAG = "destage.every_flag"

#: Key of a context's notes: the `--config` file.
CONFIG = "destage.config"

Decorated = Callable[..., Any]


OUTPUT = Output()
#: The type of every flag that names a folder to read from.
FOLDER = File()


def _named_files(ctx: click.Context) -> tuple[list[Named], list[Named]]:
    """Outputs and inputs of a command, from its arguments."""
    outputs: list[Named] = []
    inputs = [Named.input("the file of --config", ctx.meta[CONFIG])] if CONFIG in ctx.meta else []
    for param in ctx.command.params:
        if not isinstance(param.type, File):
            continue
        value = ctx.params.get(param.name or "")
        given = [] if value is None else [value] if isinstance(value, str) else list(value)
        if isinstance(param.type, Output):
            outputs += [Named.output(flag_of(param), path) for path in given]
        elif isinstance(param.type, Input):
            inputs += [Named.input(param.type.what, path) for path in param.type.names(given)]
    return outputs, inputs


@contextmanager
def _trusted(ctx: click.Context) -> Iterator[None]:
    """Let no policy in a file run but those that the user typed, or allowed."""
    typed: list[str] = []
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name or "")
        if isinstance(param.type, File) or source not in _TYPED:
            continue
        value = ctx.params.get(param.name or "")
        words = [value] if isinstance(value, str) else value if isinstance(value, tuple) else ()
        typed += [part.strip() for word in words if isinstance(word, str) for part in parts(word)]
    given = ctx.meta.get(CONFIG, "this file")
    allow, dry = (bool(ctx.params.get(name)) for name in ("allow_code", "dry_run"))
    with from_command_line(typed, printable(given), allow_code=allow, dry_run=dry):
        yield


#: Flags that change no number.
_SILENT = ("jobs", "quiet", "verbose", "color", "trace_cache", "memory")


def _command(ctx: click.Context) -> str:
    """The command line for results: every flag by its long name, without what changes no number."""
    words = ctx.command_path.split()
    for param in ctx.command.params:
        name = param.name or ""
        typed = ctx.get_parameter_source(name) in _TYPED
        if not typed or name in _SILENT or isinstance(param.type, Output):
            continue
        value = ctx.params.get(name)
        values = list(value) if isinstance(value, tuple) else [value]
        if isinstance(param, click.Option) and param.is_flag:
            opts = param.opts if value else param.secondary_opts
            words += [max(opts, key=len)] if opts else []
        elif isinstance(param, click.Option):
            words += [word for one in values for word in (max(param.opts, key=len), str(one))]
        else:
            words += map(str, values)
    return shlex.join(words)


#: Where a parameter's value is from the `--config` file.
_FROM_FILE = click.core.ParameterSource.DEFAULT_MAP

#: Where a parameter's value is what the user typed, as opposed to what a file says.
_TYPED = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)


def no_size_without_a_cache(policy: str | None) -> None:
    """Raise `UsageError` for a typed `--cache` of the policy `none`."""
    ctx = click.get_current_context()
    if (policy or "").strip() == "none" and ctx.get_parameter_source("cache") in _TYPED:
        raise UsageError(f"--cache {ctx.params['cache']}: none is no cache, and has no size")


def _by_flag(ctx: click.Context, message: str) -> str | None:
    """A message about a key (`queue_depth: ...`) by its flag, unless a file may have the key."""
    key, colon, _ = message.partition(":")
    for param in ctx.command.params if colon else ():
        is_named = isinstance(param, click.Option) and param.name in (key, READER + key)
        in_file = ctx.get_parameter_source(param.name or "") is _FROM_FILE
        if is_named and not in_file:
            return f"{flag_of(param)}{message.removeprefix(key)}"
    return None


class Command(click.Command):
    """A command that knows near misses of its flags, and lists its flags in sections.

    Nothing that it writes is something that it reads, nor another thing that it writes.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Check that no output is an input, then run."""
        outputs, inputs = _named_files(ctx)
        closed = next((o for o in outputs if isinstance(o.file, int) and is_closed(o.file)), None)
        if closed is not None:
            raise OutputError(f"{closed.says}: standard output is closed")
        arm()
        # An entry of the cache may be cut while a run has it mapped.
        _destage.report_shrunk_files()
        whole = together([o.file for o in outputs if isinstance(o.file, str)])
        with watching(outputs, inputs), _trusted(ctx), commanded(_command(ctx)), whole:
            try:
                return super().invoke(ctx)
            except UsageError as e:
                named = _by_flag(ctx, str(e))
                if named is None:
                    raise
                raise type(e)(named) from e

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take all that click takes; with flags that the help leaves out, `--help-all` too."""
        super().__init__(*args, **kwargs)
        if any(isinstance(param, Flag) and param.hidden for param in self.params):
            self.params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    hidden=True,
                    callback=_help_all,
                    help="Show every flag and exit.",
                )
            )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the nearest flag."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as e:
            said = meant_elsewhere(ctx, e.option_name) or meant_here(ctx, e.option_name)
            raise click.UsageError(f"unknown flag {e.option_name}{said}", ctx) from e
        except click.UsageError as e:
            # The parser does not say which command it parses for.
            e.ctx = e.ctx or ctx
            raise

    def make_parser(self, ctx: click.Context) -> Any:
        """Refuse a flag that is typed twice: click would drop the first value without a word."""
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def once(args: list[str]) -> tuple[dict[str, Any], list[str], list[click.Parameter]]:
            values, rest, order = parse(args)
            if not ctx.resilient_parsing:
                _refuse_repeated(ctx, order)
            return values, rest, order

        parser.parse_args = once  # type: ignore[method-assign]
        return parser

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the flags of the command, of the trace, rare ones, and common ones."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.params:
            # Arguments are in the usage line.
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                section = getattr(param, "section", "Flags")
                sections.setdefault(section, []).append(record)
        self._point_to_the_rest(ctx, sections)
        helps = self.get_help_option(ctx)
        record = helps.get_help_record(ctx) if helps else None
        if record:
            sections.setdefault(LAST, []).append(record)
        end = {ADVANCED: 1, LAST: 2}
        for section, records in sorted(sections.items(), key=lambda item: end.get(item[0], 0)):
            with formatter.section(section):
                formatter.write_dl(records)

    def _point_to_the_rest(
        self, ctx: click.Context, sections: dict[str, list[tuple[str, str]]]
    ) -> None:
        """Say where the flags are that the help leaves out."""
        if ctx.meta.get(EVERY_FLAG):
            return
        left = Counter(p.section for p in self.params if isinstance(p, Flag) and p.hidden)
        for section, count in left.items():
            where = "`destage trace options` lists them."
            where = where if section == READING else f"`{ctx.command_path} --help-all` shows them."
            sections.setdefault(section, []).append((f"and {count} more", where))


def _refuse_repeated(ctx: click.Context, order: Sequence[click.Parameter]) -> None:
    """Raise `UsageError` for a flag with one value that is typed more than once."""
    for param, count in Counter(order).items():
        if count > 1 and isinstance(param, click.Option) and not (param.multiple or param.is_flag):
            way = " (several values: with commas)" if "," in (param.metavar or "") else ""
            raise click.UsageError(f"{flag_of(param)}: expected once, got {count} times{way}", ctx)


def _help_all(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print the help with the flags that it leaves out otherwise."""
    if asked and not ctx.resilient_parsing:
        ctx.meta[EVERY_FLAG] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class _Whole(click.IntRange):
    """A number whose errors the program can explain; larger ones are left to click."""

    def _describe_range(self) -> str:
        """Say nothing in the help: the range is a machine word's."""
        return ""


WHOLE = _Whole(-(1 << 63), (1 << 63) - 1)


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

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return its line of the help, also of a flag that only `--help-all` shows."""
        if not self.hidden or not ctx.meta.get(EVERY_FLAG):
            return super().get_help_record(ctx)
        shown = copy(self)
        shown.hidden = False
        return shown.get_help_record(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the names that the flag takes."""
        found = completed(self.name or "", incomplete)
        return super().shell_complete(ctx, incomplete) if found is None else found


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


def reader_values(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The reader options among a command's arguments that were given, by key.

    `defaults` come from a `--config` file: without effect on a format that does not have them.
    """
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        if name.startswith(READER) and value not in (None, ()):
            # A flag that may come again has a tuple of texts, each with commas or without.
            several = isinstance(value, (tuple, list))
            parts = (
                [part.strip() for text in value for part in text.split(",")] if several else value
            )
            values[name.removeprefix(READER)] = parts
    ctx = click.get_current_context(silent=True)
    source = click.core.ParameterSource.DEFAULT_MAP
    stated = [key for key in values if ctx and ctx.get_parameter_source(READER + key) is source]
    return {**values, "defaults": stated} if stated else values


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
    """Also accept the flag before the command."""
    before: dict[str, bool] = ctx.find_root().obj or {}
    return value or bool(before.get(param.name or ""))


#: Flags of every command.
COMMON = [
    flag(
        *("-q", "--quiet"),
        is_flag=True,
        callback=_inherited,
        section=LAST,
        help="Print no progress and no notes.",
    ),
    flag(
        *("-v", "--verbose"),
        is_flag=True,
        callback=_inherited,
        section=LAST,
        help="Print notes on how the trace was read.",
    ),
    flag(
        "--color/--no-color",
        default=None,
        section=LAST,
        expose_value=False,
        callback=_color,
        help="Use colours, or none (also NO_COLOR). [on a terminal]",
    ),
]


#: The flag of commands that read files which may name a policy in a Python file.
ALLOW_CODE = flag(
    "--allow-code",
    is_flag=True,
    section=LAST,
    help="Allow all Python policies that a file names (as code).",
)

#: The same for commands that take policies from a file alone.
CODE = [
    flag(
        "-p",
        "--policy",
        multiple=True,
        metavar="NAME",
        help="Allow only this policy, FILE.py:CLASS, of the file.",
    ),
    ALLOW_CODE,
]


def _device_flags(more: str) -> list[Decorated]:
    """Flags of a device; `more` follows the names of those that take several values."""
    about = "SSD preset (`destage devices`) or FILE.toml. Changes: 'ecr[gc_mode=background]'."
    shared: dict[str, Any] = {"section": SSD, "type": Inputs("the device"), "help": about}
    return [
        flag("-d", "--device", metavar=f"DEVICE{more}", **shared),
        *(
            flag(o.flag, metavar=o.metavar + more * o.several, section=SSD, help=o.about)
            for o in device_options()
        ),
    ]


#: Flags of commands that can put a device behind the cache, and of those that compare devices.
DEVICE, DEVICES = _device_flags(""), _device_flags(",...")


def _is_on_the_command_line(argument: str) -> bool:
    source = click.get_current_context().get_parameter_source(argument)
    return source is click.core.ParameterSource.COMMANDLINE


def drive_of(arguments: Mapping[str, Any]) -> Device | None:
    """The device that a command's arguments name. Raises `UsageError` for several."""
    drives = drives_of(arguments)
    if len(drives) > 1:
        raise UsageError(
            f"expected one device, FTL and placement, got {len(drives)}: compare takes several"
        )
    return drives[0]


def drives_of(arguments: Mapping[str, Any], left: Exclusions | None = None) -> list[Device | None]:
    """The devices that a command's arguments name: each device with each value of its options."""
    given = {o: arguments[o.name] for o in device_options() if arguments[o.name] is not None}
    if arguments["device"] is None:
        flags = [option.flag for option in given]
        # A file may say it for runs with a device and without.
        flags += ["--wrap"] if _is_on_the_command_line(f"{READER}wrap") else []
        if flags:
            raise UsageError(f"{flags[0]} needs a simulated SSD: add --device")
        return [None]
    options = {
        option.name: [one.strip() for one in parts(value)] if option.several else value
        for option, value in given.items()
    }
    cache = bool(arguments.get("trace_cache", True))
    shared = click.get_current_context().meta.get(SHARED)

    def opened(device: str, **options: Any) -> Device:
        if shared is None or shared[0] != device:
            return open_device(device, cache=cache, **options)
        placement = options.get("placement")
        return open_device(open_shared(*shared, placement=placement, cache=cache), **options)

    return checks.drives_of(listed(arguments["device"]), options, left, opened)


def sizes_flag(default: str, more: str = "") -> list[Decorated]:
    """The flag for cache sizes, with its default in the help."""
    return [
        flag(
            "-c",
            "--cache",
            metavar="SIZE,...",
            help="Cache sizes: 32MiB, 8192p (pages), 10% (of unique pages). auto: eight from"
            f" 0.1 % to 50 %{more}. [{default}]",
        )
    ]


#: Options that few runs have; `--help-all` shows them.
_RARE = (
    *("tier2_clean", "backing", "backing_read_ns", "backing_write_ns"),
    *("tier2_read_ns", "tier3_read_ns", "tier3_write_ns", "pin", "tier2_pin"),
    *("tier3_cache", "tier3_admit", "tier3_offer", "tier3_promote"),
    *("admit_dirty", "tier3_admit_dirty", "token_ns", "double_tokens", "ttl"),
)

#: Run options that are no advanced ones.
_USUAL = ("cost", "warmup")
_AUTO = "; auto with -d"


def _run_flag(option: RunOption, with_device: str = _AUTO, *, several: bool = True) -> Decorated:
    """The flag of a run option; `with_device`: the second default of the warm-up."""
    about = option.about.replace(_AUTO, with_device)
    metavar = option.metavar if several else re.sub(r"^(NAME|SIZE),\.\.\.$", r"\1", option.metavar)
    section = "Flags" if option.name in _USUAL else ADVANCED
    shared: dict[str, Any] = {"help": about, "section": section}
    shared["hidden"] = option.name in _RARE
    if option.kind == "flag":
        return flag(option.flag, is_flag=True, **shared)
    whole = {"type": int} if option.kind == "whole" else {}
    return flag(option.flag, metavar=metavar, **shared, **whole)


_OF_RUNS = [o for o in run_options() if o.flag and "mrc" in o.commands]
_OF_TIERS = [o for o in run_options() if o.flag and "mrc" not in o.commands]

#: Flags of commands that run policies; `RUN_ALONE` is for commands without a device.
RUN, RUN_ALONE = [_run_flag(o) for o in _OF_RUNS], [_run_flag(o, "") for o in _OF_RUNS]
RUN_ADVISED = [_run_flag(o, f"{_AUTO}; 50% with --kv") for o in _OF_RUNS]

#: Flags of commands that compare runs: a flash tier, and language models. Then of a single run.
TIERS = [_run_flag(o) for o in _OF_TIERS]
ONE_TIERS = [_run_flag(o, several=False) for o in _OF_TIERS]


def run_values(arguments: Mapping[str, Any], **more: bool) -> RunOptions:
    """The flags of `RUN` and `TIERS` among a command's arguments, as `compare` takes them."""
    values = {o.name: arguments[o.name] for o in run_options() if o.name in arguments}
    return cast("RunOptions", values | more)
