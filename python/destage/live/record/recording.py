"""`destage record`: from the devices to the trace and its summary (`docs/spec/fit.md` 13)."""

from __future__ import annotations

import platform
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from destage.base.errors import DataError, OutputError, UsageError
from destage.base.io.names import path_of, printable
from destage.live.record.anonymous import Shuffle
from destage.live.record.devices import BlockDevice, block_device, devices_below
from destage.live.record.events import SECTOR_BYTES, Event
from destage.live.record.pairing import Pairing, Request
from destage.live.record.quantities import bytes_of, seconds_of
from destage.live.record.ring import Decoder, Lost
from destage.live.record.tracefile import Row, TraceFile
from destage.live.record.tracefs import EVENTS, Instance, found_tracefs
from destage.model.words import counted, duration, number, plain, size

__all__ = ["OPS", "Recording", "record"]

OPS = ("read", "write", "trim", "flush")
#: Time between two looks at the buffers, seconds.
_PERIOD_S = 0.05
#: An event may be that much later in its buffer than its time says.
_LATE_NS = 1_000_000
#: How long open requests are waited for at the end, seconds.
_WAIT_S = 1.0


@dataclass
class Recording:
    """Result of a recording."""

    files: tuple[str, ...]
    devices: tuple[str, ...]
    event: str
    start: str | None
    duration_s: float = 0.0
    requests: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OPS, 0))
    bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OPS, 0))
    orphans: int = 0
    """Ends without a start: of requests from before the recording, and second ends."""
    ignored: dict[str, int] = field(default_factory=dict)
    lost_events: int = 0
    open: int = 0
    """Requests without an end."""
    cpu_s: float = 0.0
    """Processor time of the recorder."""
    ended_by: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        return dict(self.__dict__)

    @property
    def summary(self) -> str:
        """The result in a line."""
        total = sum(self.requests.values())
        reads = 100 * self.requests["read"] / total if total else 0.0
        moved = self.bytes["read"] + self.bytes["write"]
        share = 100 * self.cpu_s / self.duration_s if self.duration_s else 0.0
        facts = [f"{number(total)} requests ({reads:.0f} % reads)", plain(size(moved))]
        facts += [f"{number(self.lost_events)} lost", f"{share:.1f} % of one core"]
        return ", ".join(facts)


@dataclass(frozen=True)
class _Options:
    event: str
    seconds: float | None
    anonymise: bool


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Count signals: the first ends the recording, the second does not wait for open requests."""
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    each = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    numbers = [n for n in each if signal.getsignal(n) != signal.SIG_IGN]
    before = {n: signal.signal(n, lambda number, _: heard.append(number)) for n in numbers}
    # Who counts signals (`end_at_second_signal`) would end the process.
    wakeup = signal.set_wakeup_fd(-1)
    try:
        yield heard
    finally:
        if wakeup != -1:
            signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for which, handler in before.items():
            signal.signal(which, handler)


class _Recorder:
    """Reads the buffers of all CPUs and writes paired requests."""

    def __init__(
        self,
        devices: Sequence[BlockDevice],
        instance: Instance,
        out: TraceFile,
        pairing: Pairing,
        options: _Options,
    ) -> None:
        self.instance, self.out, self.pairing, self.options = instance, out, pairing, options
        self.by_dev: dict[int, list[BlockDevice]] = {}
        for device in devices:
            self.by_dev.setdefault(device.dev, []).append(device)
        names = {d: f"d{i}" if options.anonymise else d.name for i, d in enumerate(devices)}
        self.names = names
        self.shuffles = {d: Shuffle(d.size_bytes) for d in devices if options.anonymise}
        cpus = range(len(instance.cpus))
        self.decoders = [Decoder(instance.page, instance.layouts) for _ in cpus]
        self.last_ns, self.told_lost = [0 for _ in cpus], [0 for _ in cpus]
        self.pending: list[tuple[int, int, int, Event]] = []
        self.taken = 0
        self.requests, self.bytes = dict.fromkeys(OPS, 0), dict.fromkeys(OPS, 0)
        self.open = 0
        self.began_ns = pairing.counts_after_ns = time.monotonic_ns()

    def pump(self, *, everything: bool = False) -> None:
        """Take what has come; all but the newest is paired."""
        now = time.monotonic_ns()
        for cpu, decoder in enumerate(self.decoders):
            while page := self.instance.read(cpu):
                for event in decoder.events(page):
                    if isinstance(event, Lost):
                        self._lost(cpu, event.number, event.before_ns)
                    else:
                        self.last_ns[cpu] = event.time_ns
                        if self._is_ours(event):
                            self.taken += 1
                            self.pending.append((event.time_ns, cpu, self.taken, event))
                if self.last_ns[cpu] > now:
                    break
        self.pending.sort()
        sure = len(self.pending)
        if not everything:
            limit = now - _LATE_NS
            sure = next((i for i, one in enumerate(self.pending) if one[0] >= limit), sure)
        for _, _, _, event in self.pending[:sure]:
            self.pairing.take(event)
        del self.pending[:sure]
        self.out.rows(map(self._row, self.pairing.ready()))

    def look_for_losses(self) -> None:
        """Report what the buffers say they lost and no page has said."""
        for cpu, count in enumerate(self.instance.lost()):
            if count > self.told_lost[cpu]:
                self._lost(cpu, count - self.told_lost[cpu], time.monotonic_ns())

    def end(self) -> None:
        """Write the remaining requests."""
        self.out.rows(map(self._row, self.pairing.rest()))

    def _lost(self, cpu: int, count: int, before_ns: int) -> None:
        self.told_lost[cpu] += count
        if count:
            first, last = ((t - self.began_ns) / 1e9 for t in (self.last_ns[cpu], before_ns))
            self.out.comment(
                f"lost {number(count)} events on CPU {self.instance.cpus[cpu].name[3:]}"
                f" between {max(first, 0):.3f} s and {last:.3f} s"
            )

    def _is_ours(self, event: Event) -> bool:
        """An event of a device that is recorded; a flush is one of the whole disk."""
        devices = self.by_dev.get(event.dev, ())
        if event.sectors == 0:
            return bool(devices)
        return any(device.holds(event.sector, event.sectors) for device in devices)

    def _row(self, request: Request) -> Row:
        self.requests[request.op] += 1
        self.bytes[request.op] += request.length_bytes
        devices = self.by_dev[request.dev]
        device = devices[0]
        if request.op != "flush":
            device = next(d for d in devices if d.holds(request.sector, request.left))
        offset = (request.sector - device.first_sector) * SECTOR_BYTES
        if request.op == "flush":
            offset = 0
        elif device in self.shuffles:
            offset = self.shuffles[device].offset(offset)
        response = None
        if request.end_ns >= 0:
            response = max(0, request.end_ns - request.start_ns)
        else:
            self.open += 1
        return (
            *(request.start_ns - self.began_ns, self.names[device], request.op, offset),
            *(request.length_bytes, response, request.flags, request.pid, request.process),
        )

    def run(self, heard: list[int]) -> str:
        """Record until something ends it; say what."""
        self.instance.start()
        synced = looked = time.monotonic()
        limit = None if self.options.seconds is None else looked + self.options.seconds
        why = ""
        while not why:
            time.sleep(_PERIOD_S if limit is None else max(0.0, min(_PERIOD_S, limit - looked)))
            self.pump()
            looked = time.monotonic()
            if looked - synced >= 1:
                synced = looked
                self.look_for_losses()
                self.out.sync()
            if heard:
                why = signal.Signals(heard[0]).name
            elif limit is not None and looked >= limit:
                why = "--for"
            elif self.out.is_full:
                why = "--max-bytes"
        self.instance.stop_starts()
        ended = time.monotonic()
        while self.pairing.open and len(heard) < 2 and time.monotonic() - ended < _WAIT_S:
            time.sleep(_PERIOD_S)
            self.pump()
        self.instance.stop()
        self.pump(everything=True)
        self.look_for_losses()
        self.end()
        return why


def _header(
    devices: Sequence[BlockDevice], event: str, options: _Options, start: str | None, ops: str
) -> list[str]:
    first, last = EVENTS[event][0][0], EVENTS[event][1][0]
    lines = ["destage record 1", f"kernel: {platform.system()} {platform.release()}"]
    for at, device in enumerate(devices):
        about, name = device.about, device.name
        if options.anonymise:
            about = f"logical block {device.block_bytes}"
            name = f"d{at}"
        lines.append(f"device: {name}, {about}")
    lines.append(f"event: {event} ({first} to {last})")
    if start is not None:
        lines.append(f"start: {start} is time 0")
    given = sys.argv[1:] if sys.argv[1:2] == ["record"] else []
    said = shlex.join(given) if given and not options.anonymise else f"ops {ops}"
    return [*lines, f"options: {said}"]


def _checked_ops(ops: str | Sequence[str] | None) -> frozenset[str]:
    given = OPS if ops is None else ops.split(",") if isinstance(ops, str) else tuple(ops)
    for one in given:
        if one not in OPS:
            raise UsageError(f"ops: expected {', '.join(OPS)}, found {one!r}")
    return frozenset(given)


def _checked_devices(names: Sequence[str]) -> list[BlockDevice]:
    if not names:
        raise UsageError("record: expected a block device, such as /dev/nvme0n1")
    found = [block_device(path_of(name, "device")) for name in names]
    for at, device in enumerate(found):
        for other in found[:at]:
            if device.dev == other.dev and (device == other or not other.is_partition):
                raise UsageError(f"{device.path} is part of {other.path}: name one of them")
            if device.dev == other.dev and not device.is_partition:
                raise UsageError(f"{other.path} is part of {device.path}: name one of them")
    return found


def _check_output(path: str, devices: Sequence[BlockDevice]) -> None:
    """The recording would record itself."""
    below = devices_below(str(Path(path).absolute().parent))
    for device in devices:
        name = device.name.replace("/", "!")
        disks = {one.parent.name for n in below for one in Path("/sys/block").glob(f"*/{n}")}
        if name in below or (not device.is_partition and name in disks):
            raise OutputError(
                f"{printable(path)} lies on {device.path}, which is recorded: it would record"
                " itself. Write to another device, or give --include-output"
            )


def record(
    devices: str | Sequence[str],
    output: str,
    *,
    duration_s: float | str | None = None,
    max_bytes: int | str | None = None,
    rotate_bytes: int | str | None = None,
    event: str = "issue",
    ops: str | Sequence[str] | None = None,
    buffer_bytes: int | str = "64MiB",
    pid: bool = False,
    anonymise: bool = False,
    tracefs: str | None = None,
    include_output: bool = False,
    begun: Callable[[str], None] | None = None,
) -> Recording:
    """Record the block requests of Linux block devices as a trace (root).

    Parameters:
        devices: block devices or mount points.
        output: the trace's file; `.gz`, `.xz`, `.zst` compress it, `.parquet` is Parquet.
        duration_s: seconds, or text such as `"10m"`; without it until SIGINT or SIGTERM.
        max_bytes, rotate_bytes: size of the output that ends the recording, and that begins the
            next file.
        event: `issue` (requests given to the device) or `queue` (requests submitted to the block
            layer).
        ops: kinds of requests to keep: `read`, `write`, `trim`, `flush`.
        buffer_bytes: total size of the kernel's buffers.
        pid: also record process number and name.
        anonymise: shuffle extents of 1 MiB, and leave out names, model and date.
        tracefs: where tracefs is mounted.
        include_output: allow an output on a device that is recorded.
        begun: called with a line when the recording has begun.

    Raises `NotPermitted`, `Unavailable`, `MissingFile` unless it is a block device, `DataError` if
    there was no request, `OutputError`, `UsageError`.
    """
    if event not in EVENTS:
        raise UsageError(f"event: expected issue or queue, found {event!r}")
    if anonymise and pid:
        raise UsageError("--anonymise leaves out who submitted a request: it takes no --pid")
    seconds = None if duration_s is None else seconds_of(duration_s, "--for")
    most = None if max_bytes is None else bytes_of(max_bytes, "--max-bytes")
    options = _Options(event, seconds, anonymise)
    kept = _checked_ops(ops)
    rotate = None if rotate_bytes is None else bytes_of(rotate_bytes, "--rotate")
    out = TraceFile(path_of(output, "output"), rotate_bytes=rotate, most_bytes=most, with_pid=pid)
    found = _checked_devices([devices] if isinstance(devices, str) else list(devices))
    if not include_output:
        _check_output(output, found)
    buffers = bytes_of(buffer_bytes, "--buffer")
    with ExitStack() as stack:
        place = stack.enter_context(found_tracefs(tracefs))
        instance = Instance(place, event, [device.dev for device in found], buffers)
        stack.callback(instance.remove)
        return _recorded(found, instance, out, kept, options, begun)


def _recorded(
    found: Sequence[BlockDevice],
    instance: Instance,
    out: TraceFile,
    kept: frozenset[str],
    options: _Options,
    begun: Callable[[str], None] | None,
) -> Recording:
    """Record with an instance that is set up."""
    event, anonymise = options.event, options.anonymise
    with ExitStack() as stack:
        recorder = _Recorder(found, instance, out, Pairing(kept), options)
        start = None
        if not anonymise:
            start = datetime.now(UTC).isoformat(timespec="microseconds")
        stack.callback(out.discard)
        heard = stack.enter_context(_signals())
        with _kept(out):
            out.begin(_header(found, event, options, start, ",".join(sorted(kept))))
            if begun is not None:
                for left in out.left:
                    begun(f"{printable(left)}: a recording that was killed has left it")
                begun(_announced(found, EVENTS[event][0][0], options.seconds))
            cpu_s, clock = time.process_time(), time.monotonic()
            why = recorder.run(heard)
            made = _result(recorder, event, start, time.monotonic() - clock)
            made.ended_by, made.cpu_s = why, time.process_time() - cpu_s
            if sum(made.requests.values()):
                out.finish(_footer(made))
                made.files = tuple(out.files)
                return made
        raise DataError(_nothing(found, made.duration_s))


@contextmanager
def _kept(out: TraceFile) -> Iterator[None]:
    """After an error of the output, keep what can be read of it, and say where it is."""
    try:
        yield
    except OutputError as failed:
        with suppress(OutputError):
            out.keep_whole()
        if not out.files:
            raise
        names = ", ".join(map(printable, out.files))
        raise OutputError(f"{failed}; the recording ended there: {names} can be read") from failed
    except BaseException:
        with suppress(OutputError):
            out.keep_whole()
        raise


def _announced(devices: Sequence[BlockDevice], event: str, seconds: float | None) -> str:
    named = [
        f"{d.path} ({d.model + ', ' if d.model else ''}{plain(size(d.size_bytes))})"
        for d in devices
    ]
    until = "until Ctrl-C"
    if seconds is not None:
        until += f" or {plain(duration(seconds * 1e9))}"
    return f"recording {', '.join(named)}, {event}, {until}"


def _nothing(devices: Sequence[BlockDevice], seconds: float) -> str:
    named = ", ".join(device.path for device in devices)
    return (
        f"0 requests in {seconds:.0f} s on {named}: is this the device that the file system is on?"
        " (findmnt -T PATH)"
    )


def _result(recorder: _Recorder, event: str, start: str | None, seconds: float) -> Recording:
    return Recording(
        files=(),
        devices=tuple(recorder.names.values()),
        event=event,
        start=start,
        duration_s=seconds,
        requests=recorder.requests,
        bytes=recorder.bytes,
        orphans=recorder.pairing.orphans,
        ignored=dict(recorder.pairing.ignored),
        lost_events=sum(recorder.told_lost),
        open=recorder.open,
    )


def _footer(made: Recording) -> list[str]:
    lines = [
        f"{op}: {counted(made.requests[op], 'request')}, {made.bytes[op]} bytes"
        for op in OPS
        if made.requests[op]
    ]
    ignored = ", ".join(f"{count} {rwbs}" for rwbs, count in sorted(made.ignored.items()))
    lines.append(f"orphans: {made.orphans}; ignored: {ignored or 0}; open: {made.open}")
    return [*lines, f"lost events: {made.lost_events}; duration: {made.duration_s:.3f} s"]
