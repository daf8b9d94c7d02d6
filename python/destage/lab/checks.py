"""Arguments of calls: checked, and converted to the extension's form, before anything runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any, TypeVar, Unpack

from destage import _destage
from destage.base.errors import DataError, ExcludedError, UsageError
from destage.base.io.names import shown
from destage.lab.options import RunOptions, device_options, options_json, thread_count
from destage.lab.policy_base import OwnPolicy, PolicyLike, Spec, expanded, is_none, policy_specs
from destage.lab.ssd import Device, DeviceLike, open_device
from destage.lab.traces import Trace
from destage.lab.user_policies.trust import from_data
from destage.model.metrics import BASELINE
from destage.model.naming import default_policies

__all__ = [
    "NO_SIZE",
    "USUAL",
    "Exclusions",
    "asked",
    "asked_curves",
    "asked_once",
    "check_in_front",
    "check_request",
    "check_run",
    "drive_of",
    "drives_of",
    "every_size_asked",
    "in_order",
    "one_trace",
    "sizes_json",
    "suiting",
    "traces_of",
]

T = TypeVar("T")

#: What `compare` runs unless it is told: the yardstick, two good general ones, one for flash.
USUAL = default_policies("compared")

#: The error of a call that needs a size.
NO_SIZE = "cache: missing; name a size, such as 10%, 32MiB or 8192p"

#: The sizes of a run without a cache, as JSON.
NO_CACHE = '["1p"]'


def sizes_json(cache: str | Sequence[str]) -> str:
    """Cache sizes as JSON; commas separate."""
    texts = [cache] if isinstance(cache, str) else cache
    if not isinstance(texts, Sequence) or not all(isinstance(t, str) for t in texts):
        raise UsageError(
            f'cache: expected a size such as "32MiB", "8192p", "10%" or "auto", got {cache!r}'
        )
    sizes = [size.strip() for text in texts for size in text.split(",") if size.strip()]
    if not sizes:
        raise UsageError("cache: expected at least one size")
    return json.dumps(list(dict.fromkeys(sizes)))


def every_size_asked(cache: str | Sequence[str]) -> tuple[bool, str | Sequence[str]]:
    """Whether every size is asked for (`all`), and the sizes that are named beside it, or auto."""
    texts = [cache] if isinstance(cache, str) else cache
    if not isinstance(texts, Sequence) or not all(isinstance(t, str) for t in texts):
        return False, cache
    sizes = [size.strip() for text in texts for size in text.split(",")]
    named = [size for size in sizes if size and size != "all"]
    return ("all" in sizes), (",".join(named) or "auto") if "all" in sizes else cache


def drive_of(device: DeviceLike | None, options: Mapping[str, Any]) -> Device | None:
    """The device of a single run, with its `DeviceOptions`, if it has one."""
    drives = drives_of(device, options)
    if len(drives) > 1:
        raise UsageError(f"expected one device, got {len(drives)}: compare takes several")
    return drives[0]


@dataclass
class Exclusions:
    """Configurations that a grid skips, as their options exclude each other; each reason once."""

    why: dict[str, ExcludedError] = field(default_factory=dict)

    def out(self, error: ExcludedError) -> None:
        """Leave out what has this error."""
        self.why.setdefault(str(error), error)

    def kept(self, what: list[T]) -> list[T]:
        """The part that remains. Raises `ExcludedError` where that is nothing."""
        if not what and self.why:
            raise next(iter(self.why.values()))
        return what

    @property
    def sentences(self) -> list[str]:
        """A sentence for each part left out, with the reason."""
        return [f"left out: {why}" for why in self.why]


def drives_of(
    device: DeviceLike | Sequence[DeviceLike] | None,
    options: Mapping[str, Any],
    left: Exclusions | None = None,
    opened: Callable[..., Device] = open_device,
) -> list[Device | None]:
    """The devices of a grid: each device with each value of its options; no device is one as well.

    Only where placement policies are given are combinations left out that exclude each other
    (`docs/spec/device-today.md` 2); elsewhere they are an error.
    """
    left = Exclusions() if left is None else left
    given = {o: options[o.name] for o in device_options() if options.get(o.name) is not None}
    axes = [_listed(device, "device")] + [
        _listed(value, o.name) if o.several else [value] for o, value in given.items()
    ]
    if None in axes[0] and given:
        raise UsageError(f"{next(iter(given)).name}: it needs a simulated SSD: add a device")
    drives: list[Device | None] = []
    for one, *values in product(*axes):
        chosen = dict(zip((option.name for option in given), values, strict=True))
        try:
            drives.append(None if one is None else opened(one, **chosen))
        except ExcludedError as e:
            if options.get("placement") is None:
                raise
            left.out(e)
    return left.kept(drives)


def _listed(given: Any, what: str) -> list[Any]:
    """The values of a list, equal ones once."""
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    if not listed:
        raise UsageError(f"{what}: expected at least one, got an empty list")
    return [one for k, one in enumerate(listed) if one not in listed[:k]]


def suiting(specs: Sequence[Spec], drive: Device | None, left: Exclusions) -> list[Spec]:
    """The policies that the device does not exclude."""
    if drive is None:
        return list(specs)
    found: list[Spec] = []
    for spec in specs:
        name, known = (spec.name, None) if isinstance(spec, OwnPolicy) else (spec[0], spec)
        try:
            _destage.check_suits(known, drive.raw)
        except ExcludedError as e:
            left.out(ExcludedError(f"{name} in front of {drive.name}: {e}"))
        else:
            found.append(spec)
    return found


def asked(
    policies: str | PolicyLike | Sequence[PolicyLike] | None,
    cache: str | Sequence[str] | None,
    drive: Device | None,
    options: Mapping[str, object] = MappingProxyType({}),
) -> tuple[list[Spec], str]:
    """Policies and sizes, checked; by default the device's, or the usual ones.

    Members of a group that `options` exclude are left out.
    """
    if policies is not None or drive is None or drive.policy is None:
        chosen, _ = expanded(USUAL if policies is None else policies, drive is not None, options)
        specs = policy_specs(chosen)
    else:
        name, params = drive.policy
        with from_data("it", allow_code=drive.allow_code):
            specs = _of_file(drive, lambda: policy_specs((name, params)))
    has_tier2 = bool(options.get("tier2"))
    for spec in specs:
        if not isinstance(spec, OwnPolicy):
            # A flash tier below shows what no cache does.
            _destage.check_needs(*spec, drive is not None or (is_none(spec) and has_tier2))
        elif spec.needs_device and drive is None:
            raise UsageError(f"{spec.name} is device-aware: add a device (device=)")
    if cache is None and all(is_none(spec) for spec in specs):
        # Without a cache there is nothing to size: one run.
        sizes = NO_CACHE
    elif cache is not None or drive is None or not drive.cache:
        sizes = sizes_json("auto" if cache is None else cache)
    else:
        sizes = sizes_json(drive.cache)
        _of_file(drive, lambda: _destage.check_run(sizes, "{}"))
    return specs, sizes


def _of_file(drive: Device, check: Callable[[], T]) -> T:
    """Raise errors as errors of the device's file."""
    try:
        return check()
    except UsageError as e:
        raise DataError(f"device {drive.name}: [cache]: {e}") from e


def check_in_front(traces: Sequence[Trace], drive: Device | None, *, tier2: bool = False) -> None:
    """Raise `UsageError` for a trace that cannot be run in front of the device.

    With a flash tier (`tier2`) the device's pages are the tier's slots, and none of the trace.
    """
    if drive is None:
        return
    _fits_in_memory(drive)
    for trace in traces:
        if not tier2:
            _check_pages(trace, drive)
        if trace.duration_ns is None and drive.queue_depth is None:
            raise UsageError(
                f"{trace.name} has no times: in front of a device it runs in a closed loop only:"
                " add a queue depth (--queue-depth, queue_depth=)"
            )


def _check_pages(trace: Trace, drive: Device) -> None:
    """Raise `UsageError` unless the pages of the trace are pages of the device."""
    if trace.page_bytes != drive.page_bytes:
        raise UsageError(
            f"{trace.name} was opened with pages of {trace.page_bytes} bytes, and device"
            f" {drive.name} has {drive.page_bytes}: open it for this device (device=)"
        )
    if trace.end_page > drive.logical_pages:
        larger = trace.device is not None and trace.end_page <= trace.device.logical_pages
        way = (
            "run it in front of the device that it was opened with (its attribute device)"
            if larger
            else 'open it for this device with wrap="modulo", or with wrap="extend"'
        )
        raise UsageError(
            f"{trace.name}: its pages go up to {trace.end_page - 1:,}, the device {drive.name}"
            f" has {drive.logical_pages:,}: {way}"
        )


#: What a device at work takes, bytes a physical page: its state, and the copy that a run works on.
_BYTES_A_PAGE = 2 * 8


def _fits_in_memory(drive: Device) -> None:
    """Raise `UsageError` for a device that this machine cannot hold."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return  # Not known here.
    takes = int(drive.size["raw_pages"]) * _BYTES_A_PAGE
    if 0 < there < takes:
        raise UsageError(
            f"the device {drive.name} has {drive.size['raw_pages']:,} physical pages, and a run"
            f" takes some {takes >> 30} GiB of memory: this machine has {there >> 30} GiB"
        )


def check_request(
    policies: str | None,
    *,
    cache: str | Sequence[str] | None = None,
    device: Device | None = None,
    jobs: int | None = None,
    curves: bool = False,
    **options: Unpack[RunOptions],
) -> None:
    """Raise `UsageError` for what can be right for no trace, before one is opened."""
    if curves:
        asked_curves(BASELINE if policies is None else policies)
    _, sizes = asked(policies, cache, device, options)
    check_in_front((), device)
    thread_count(jobs)
    options_json("mrc" if curves else "compare", options)
    _destage.check_run(sizes, "{}")


def check_run(
    policy: str | None,
    *,
    cache: str | None = None,
    device: Device | None = None,
    **options: Unpack[RunOptions],
) -> None:
    """Raise `UsageError` for a single run that can be of no trace, before one is opened."""
    _, size = asked_once(policy, cache, device, options)
    check_in_front((), device)
    _destage.check_run(size, options_json("run", options))


def asked_once(
    policy: PolicyLike | None,
    cache: str | None,
    drive: Device | None,
    options: Mapping[str, object] = MappingProxyType({}),
) -> tuple[Spec, str]:
    """The policy and the size of a single run."""
    if policy is None and (drive is None or drive.policy is None):
        raise UsageError("policy: missing; name one, such as lru")
    specs, sizes = asked(policy, cache, drive, options)
    if len(specs) != 1:
        raise UsageError(f"policy: expected one, got {len(specs)}; compare takes several")
    if cache is None and drive is not None and len(drive.cache) > 1 and not is_none(specs[0]):
        raise UsageError(
            f"cache: the device {drive.name} names {len(drive.cache)} sizes"
            f" ({', '.join(drive.cache)}), and a run takes one: name it"
        )
    if cache is None and (drive is None or not drive.cache):
        if not is_none(specs[0]):
            raise UsageError(NO_SIZE)
        sizes = NO_CACHE
    return specs[0], sizes


_LOOKS = "is device-aware"


def asked_curves(policies: str | PolicyLike | Sequence[PolicyLike]) -> list[Spec]:
    """Policies, of which curves can be drawn."""
    specs: list[Spec] = []
    for spec in policy_specs(expanded(policies, False)[0]):
        why = ""
        if isinstance(spec, OwnPolicy):
            why = _LOOKS if spec.needs_device else ""
        else:
            try:
                _destage.check_needs(*spec, False)
            except UsageError:
                why = "is no cache" if is_none(spec) else _LOOKS
        if why:
            name = spec.name if isinstance(spec, OwnPolicy) else spec[0]
            raise UsageError(f"{name} {why}, and there is no device here: use compare")
        specs.append(spec)
    return specs


def one_trace(call: str, trace: Trace, second: object) -> Trace:
    """The trace of a call that takes one. Raises `UsageError` for another type."""
    in_order(call, trace, second)
    if not isinstance(trace, Trace):
        raise no_trace(trace)
    return trace


def in_order(call: str, trace: object, second: object) -> None:
    """Raise `UsageError` if the trace is not the first argument."""
    if isinstance(second, Trace) and not isinstance(trace, Trace):
        raise UsageError(
            f"{call}(trace, policy, ...): the arguments are in the wrong order: the trace comes"
            f" first, then {shown(trace)}"
        )


def no_trace(given: object) -> UsageError:
    """The error for an argument that is no trace."""
    way = ""
    if isinstance(given, (str, os.PathLike)):
        way = f": open it first, open_trace({str(given)!r})"
    return UsageError(f"trace: expected what open_trace or synth returns, got {shown(given)}{way}")


def traces_of(trace: Trace | Sequence[Trace]) -> list[Trace]:
    """One trace or several, as several. Raises `UsageError` for another type."""
    traces = [trace] if isinstance(trace, Trace) else trace
    if not isinstance(traces, Sequence) or not all(isinstance(t, Trace) for t in traces):
        raise no_trace(trace)
    if not traces:
        raise UsageError("trace: expected at least one")
    return list(traces)
