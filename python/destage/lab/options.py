"""Options of runs and of the device behind the cache: one TypedDict each, one table each in Rust.

`compare`, `run`, `mrc`, `tune`, `why` and `advise` share them. CONTRIBUTING.md lists the places
of a new one.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, TypedDict

from destage import _destage
from destage.base.errors import UsageError
from destage.base.io.names import shown
from destage.model.naming import canonical, parts

__all__ = [
    "DeviceOption",
    "DeviceOptions",
    "DeviceRunOptions",
    "ProgressCallback",
    "ReaderOption",
    "RunOption",
    "RunOptions",
    "device_options",
    "check_keywords",
    "divided",
    "is_separate",
    "json_of",
    "options_json",
    "page_size_text",
    "reader_json",
    "reader_options",
    "renamed_attribute",
    "run_options",
    "tier_grid",
    "thread_count",
]

#: Called some ten times a second with the finished part, the whole (None: unknown), and a label.
ProgressCallback = Callable[[int, int | None, str], object]


class DeviceOptions(TypedDict, total=False):
    """Options of the device, by keyword; None or left out: as in the device."""

    ftl: str | Sequence[str] | None
    """Flash translation layer, one of `ftls()`, with or without parameters: `"bast"`,
    `"dftl[cmt_entries=8192]"`."""
    queue_depth: int | str | Sequence[int | str] | None
    """Outstanding requests of a closed loop, which ignores timestamps; `"trace"` is an open loop,
    at the trace's arrival times. Several are a grid: `["trace", 8]`."""
    placement: str | Sequence[str] | None
    """Data placement (FDP), how writes get a handle on a device with several: `"sepbit"`,
    `"by-size[thresholds=[65536]]"`."""
    flush: str | None
    """Effect of the trace's flushes: none (`"ignore"`), or they wait for the host's programs
    (`"drain"`)."""


class RunOptions(TypedDict, total=False):
    """Options of runs, by keyword; None or left out: the default."""

    cost: str | Mapping[str, int] | None
    """Cost of a page read and a page write, `"read=1,write=118"`, whole numbers in any unit: gives
    `cost`, and is the default of parameters that policies call a cost."""
    warmup: str | None
    """Warm-up, replayed and not measured: `"10%"`, `"100000r"` (requests), `"60s"`, `"full"`,
    `"none"`, or `"auto"`, the default in front of a device: each size until its cache is full,
    beside policy `"none"` all sizes until the largest cache is."""
    fetch_on_write_miss: bool
    """A write miss reads the page first; counts, never decides."""
    flush_at_end: bool
    """Dirty pages are written after the last access; counts, never decides."""
    pages_per_block: int | None
    """Pages of an erase block, for policies that cluster by it; 64 unless given, and the device's
    with a device."""
    device_pages: int | None
    """Pages that exist and may be padded; all unless given, and the device's with a device."""
    trim: str | None
    """Effect of the trace's trims (discards): nothing (`"ignore"`), or `"drop"` their pages, which
    then leave the cache unwritten."""
    ttl: str | None
    """Time to live of cached pages, `"1h"`: an access to a page that was written or fetched longer
    ago is a miss."""
    pin: str | Sequence[str] | None
    """Pages that stay in the cache from their first access on: those of a volume
    (`"volume=3"`), of its bytes (`"volume=3:0-1GiB"`), or of bytes of every volume (`"0-1GiB"`).
    `+` joins ranges; `"none"` is one of several."""
    tier2: str | Sequence[str] | None
    """Policy of a flash tier below the cache, as `policies` has it; without it there is one tier.
    Several of this and the next four are a grid."""
    tier2_cache: str | Sequence[str] | None
    """Size of the flash tier, as `cache`; by default the device's capacity."""
    admit: str | Sequence[str] | None
    """Admission to the flash tier: `"always"`, `"nth[n=3]"`, `"probability"`, `"tinylfu"`,
    `"larc"`, `"rate[bytes_per_day=300GB]"`, `"reject-first[window=1h]"`,
    `"worth[read_ns=200us]"`."""
    offer: str | Sequence[str] | None
    """Pages offered to the flash tier: those that tier 1 evicts (`"evicted"`), or those that come
    from the backing store (`"inserted"`)."""
    promote: str | Sequence[str] | None
    """What a hit in the flash tier does with the copy there: it stays (`"copy"`), or a clean one is
    dropped (`"move"`)."""
    admit_dirty: str | None
    """Dirty pages: admission is asked (`"ask"`), or they are taken (`"always"`)."""
    backing: str | Sequence[str] | None
    """With a device, the store below all tiers: `"constant"`, whose times are the next two, or a
    disk whose time depends on the distance: `"disk"`, `"disk[rpm=5400;capacity=4TB]"`."""
    backing_read_ns: int | None
    """Time of a read from the store below all tiers, ns; with a device 1,000,000. With `kv` and no
    device, the time to compute a block."""
    backing_write_ns: int | None
    """With a device, the time of a write to it, ns; 1,000,000."""
    tier2_clean: str | Sequence[str] | None
    """Dirty pages of the flash tier are written when they leave (`"none"`), or as soon as more than
    a share of its frames is dirty, and stay: `"dirty[max=0.1]"`."""
    tier2_pin: str | Sequence[str] | None
    """Pages that stay in the flash tier, as `pin`; no filter is asked for them."""
    tier2_read_ns: int | None
    """Without a device, the time of a read of the flash tier, ns. With the times of all tiers and
    of the store below, a run has `read_time_ns`."""
    tier3: str | Sequence[str] | None
    """Policy of a third tier, below the flash tier; it has the flash tier's options again."""
    tier3_cache: str | Sequence[str] | None
    """Size of the third tier, as `cache`."""
    tier3_admit: str | Sequence[str] | None
    """Admission to the third tier, as `admit`; also of pages that the flash tier declines."""
    tier3_offer: str | Sequence[str] | None
    """Pages offered to it: those that the flash tier evicts or declines (`"evicted"`), or those
    that come from the backing store (`"inserted"`)."""
    tier3_promote: str | Sequence[str] | None
    """What a hit in it does with the copy there, as `promote`."""
    tier3_admit_dirty: str | None
    """Dirty pages, as `admit_dirty`."""
    tier3_read_ns: int | None
    """Time of a read of it, ns; with a device 200,000."""
    tier3_write_ns: int | None
    """With a device, the time of a write to it, ns; 200,000."""
    kv: bool
    """Requests are prompts of a language model: a hit is a block of a cached prefix."""
    touch: str | None
    """With `kv`, the order in which a prompt's blocks meet the policy: `"tail-first"` or
    `"head-first"`."""
    token_ns: int | None
    """With `kv`, the time to compute a token, ns: gives `recompute_saved_ratio` and
    `recompute_saved_ns`, and is the cost of `pgdsf` and `worth`."""
    double_tokens: int | None
    """Depth in the prompt that doubles a token's time; None: a token deep in a prompt takes as long
    as the first."""
    check: bool
    """Assert the invariants of caching at every access; some ten times slower."""
    profile: bool
    """With a device, keep how the run developed (`Run.profile`): what a report draws."""


class DeviceRunOptions(DeviceOptions, RunOptions, total=False):
    """Options of a run, and of its device if it has one."""


@dataclass(frozen=True)
class DeviceOption:
    """An option of a device as Rust declares it (`DEVICE_OPTIONS`)."""

    name: str
    """Key of `DeviceOptions`."""
    key: str
    """Key of a device's file that it sets: `host.queue_depth`."""
    axis: str
    """Axis of a sweep."""
    several: bool
    """`compare` takes several values: they are a grid."""
    metavar: str
    """Placeholder of the value in the help."""
    about: str
    """Help of the flag."""
    kind: str
    """`text` or `depth`."""

    @property
    def flag(self) -> str:
        """The command line's flag."""
        return "--" + self.name.replace("_", "-")


@cache
def device_options() -> tuple[DeviceOption, ...]:
    """Every option of a device, in the order of the help.

    >>> [option.flag for option in device_options()]
    ['--ftl', '--queue-depth', '--placement', '--flush']
    """
    return tuple(DeviceOption(**row) for row in json.loads(_destage.device_options()))


def divided(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the device, and the others."""
    names = {option.name for option in device_options()}
    of_device = {name: value for name, value in options.items() if name in names}
    return of_device, {name: value for name, value in options.items() if name not in names}


@dataclass(frozen=True)
class RunOption:
    """A run option as the engine declares it; the command line's flags are made of these."""

    name: str
    """Key of `RunOptions`."""
    flag: str
    """The command line's flag; empty for what only Python can ask for."""
    kind: str
    """`flag`, `whole` or `text`."""
    metavar: str
    """The placeholder of the value in the help."""
    default: str
    """The default value."""
    about: str
    """Help of the flag."""
    commands: tuple[str, ...]
    """Calls that take it."""
    several: bool
    """`compare` takes several values: they are a grid."""
    columns: tuple[str, ...]
    """Columns of a run that it fills."""


@cache
def run_options() -> tuple[RunOption, ...]:
    """Every run option, in the order of the help."""
    rows = json.loads(_destage.run_options())
    return tuple(
        RunOption(
            **row
            | {"commands": tuple(row["commands"])}
            | {"columns": tuple(column["name"] for column in row["columns"])}
        )
        for row in rows
    )


@dataclass(frozen=True)
class ReaderOption:
    """A key of the `[trace]` table: how a trace is read."""

    key: str
    """As in Python and TOML."""
    values: str
    """The values it takes."""
    default: str
    """Default, as it would be written."""
    about: str
    """Effect of the option."""
    formats: tuple[str, ...]
    """Formats it means something to; empty for all."""

    @property
    def is_list(self) -> bool:
        """Whether it is a list of texts, with a repeatable flag."""
        return self.key.startswith("op_")

    @property
    def flag(self) -> str:
        """As on the command line."""
        return "--" + self.key.replace("_", "-")


def reader_options() -> tuple[ReaderOption, ...]:
    """Every reader option.

    >>> [o.flag for o in reader_options() if o.key == "volumes"]
    ['--volumes']
    """
    return tuple(
        ReaderOption(**(o | {"formats": tuple(o["formats"])}))
        for o in json.loads(_destage.reader_options())
    )


def options_json(call: str, options: Mapping[str, Any]) -> str:
    """Options of a call (`compare`, `mrc`) as the boundary takes them.

    Raises `TypeError` for an option that the call lacks, as Python does for a keyword, and
    `UsageError` for a value that is none of its kind.
    """
    known = [option.name for option in run_options() if call in option.commands]
    for name in options:
        if name not in known:
            own = _named(call)
            of_device = [option.name for option in device_options() if "device" in own]
            every = [*own, *of_device, *known]
            near = _MEANT.get(name) or _destage.nearest(name, every)
            meant = f", did you mean {near}?" if near in every else ""
            raise TypeError(
                f"{call}() got an unexpected keyword argument {name!r}{meant}"
                f" (known: {', '.join(every)})"
            )
    if call != "compare":
        check_one_tier(options)
    grid = tier_grid(options)
    for one in grid:
        _destage.check_run("[]", json_of(one))
    if not grid:
        empty = next(name for name, value in options.items() if value in ([], ()))
        raise UsageError(f"{empty}: expected a value, got none")
    return json_of(options if call == "compare" else grid[0])


def _axes() -> list[str]:
    """Options of which `compare` takes several values."""
    return [option.name for option in run_options() if option.several]


def tier_grid(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the options of every combination of flash tiers, the last axis first.

    Raises `UsageError` for a value that is given twice.
    """
    axes = {name: _values(name, options[name]) for name in _axes() if options.get(name) is not None}
    for name, values in axes.items():
        twice = next((one for k, one in enumerate(values) if one in values[:k]), None)
        if twice is not None:
            raise UsageError(f"{name}: {twice} is given twice")
    return [{**options, **dict(zip(axes, one, strict=True))} for one in product(*axes.values())]


def check_one_tier(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for several flash tiers, which only `compare` takes."""
    grid = tier_grid(options)
    if len(grid) > 1:
        several = next(n for n in _axes() if len({str(one.get(n)) for one in grid}) > 1)
        raise UsageError(f"{several}: expected one value, got several: compare takes several")


def _values(name: str, given: object) -> list[object]:
    """The values of an axis: a list, or a text with commas; policies as the catalogue has them."""
    if isinstance(given, str):
        values: list[object] = [part.strip() for part in parts(given)]
    else:
        values = list(given) if isinstance(given, (list, tuple)) else [given]
    if name not in ("tier2", "tier3"):
        return values
    return [canonical(one.strip()) if isinstance(one, str) else one for one in values]


#: Keywords that others have, and ours.
_MEANT = {"drive": "device", "policy": "policies", "size": "cache", "sizes": "cache"}


def _named(call: str) -> list[str]:
    """The keywords of a call's own signature, without the options that follow from tables."""
    function = getattr(sys.modules.get("destage"), call, None)
    parameters = inspect.signature(function).parameters.values() if function else ()
    return [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]


def json_of(options: Mapping[str, Any]) -> str:
    """Options as JSON. Raises `UsageError` for values that JSON does not have."""
    try:
        return json.dumps(dict(options), allow_nan=False, default=_plain)
    except (TypeError, ValueError) as e:
        raise UsageError(_unfit(options) or f"options: {e}") from e


def _plain(value: object) -> object:
    """A number of NumPy as Python's own. Raises `TypeError` for anything else."""
    plain = getattr(value, "item", None)
    if getattr(value, "ndim", None) == 0 and callable(plain):
        return plain()
    raise TypeError(f"{type(value).__name__} is no value of an option")


def _unfit(options: Mapping[str, Any]) -> str | None:
    """The first option whose value JSON does not have, as an error names it."""
    for name, value in options.items():
        try:
            json.dumps(value, allow_nan=False, default=_plain)
        except (TypeError, ValueError):
            return f"{name}: expected a text, a number or a list of them, got {shown(value)}"
    return None


def reader_json(options: Mapping[str, Any]) -> str:
    """Reader options as the boundary takes them: JSON, without the underscore of Python's words."""
    given = {key.rstrip("_"): value for key, value in options.items() if value is not None}
    try:
        text = json.dumps(given, allow_nan=False, ensure_ascii=False, default=_plain)
        text.encode()  # bytes of a command line that are no UTF-8 come here as lone surrogates
        return text
    except (TypeError, ValueError) as e:
        raise UsageError(_unfit(given) or f"reader options: {e}") from e


def is_separate(options: Mapping[str, Any]) -> bool:
    """Whether each volume is to be a trace of its own."""
    return str(options.get("volumes", "")).lower() == "separate"


def check_keywords(given: Mapping[str, Any]) -> None:
    """Raise `UsageError` for the keyword of 0.2.0."""
    if "drive" in given:
        raise UsageError("drive: this keyword is device= now (a volume of the trace: volume=)")


def renamed_attribute(name: str) -> str:
    """The present name of an attribute that a trace had in 0.2.0, as the end of an error."""
    now = {"drive": "device", "devices": "volumes"}.get(name)
    return f": it is {now!r} now" if now else ""


def page_size_text(page_size: int | str | None) -> str | None:
    """A page size as the boundary takes it."""
    if page_size is None or isinstance(page_size, str):
        return page_size
    if isinstance(page_size, bool) or not isinstance(page_size, int):
        raise UsageError(f"page_size: expected bytes, such as 4096 or '4KiB', got {page_size!r}")
    return str(page_size)


#: More threads than any machine has processors.
MOST_JOBS = 1 << 16


def thread_count(jobs: int | None) -> int:
    """Return the threads that `jobs` stands for: by default as many as there are processors."""
    if jobs is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise UsageError(f"jobs: expected a whole number from 1, got {jobs!r}")
    if jobs > MOST_JOBS:
        raise UsageError(f"jobs: expected at most {MOST_JOBS:,} threads, got {jobs:,}")
    return jobs
