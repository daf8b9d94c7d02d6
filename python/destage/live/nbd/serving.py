"""A file, or memory, as a block device behind a cache run by a policy."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from destage import _destage
from destage.base.errors import OutputError, UsageError
from destage.base.io.names import path_of, shown
from destage.lab.policy_base import OwnPolicy, Policy, live_policy
from destage.lab.ssd import Device, DeviceLike, open_device
from destage.lab.user_policies.trust import is_in_a_file
from destage.live.record.quantities import bytes_of
from destage.model.naming import catalogue

__all__ = ["MEMORY", "Server", "serve"]

#: In place of a file.
MEMORY = ":memory:"

#: Keywords of `serve`, their types, and the types in words.
_TYPES: tuple[tuple[tuple[str, ...], tuple[type, ...], str], ...] = (
    (("cache", "listen", "export"), (str,), "text"),
    (("read_only", "direct", "checksums", "emulate"), (bool,), "True or False"),
    (("max_connections", "pages_per_block"), (int,), "a whole number"),
    (("size",), (int, str), "a whole number of bytes, or text"),
    (("speed",), (int, float), "a number"),
)

#: Those that may be absent.
_OPTIONAL = ("listen", "pages_per_block", "size")

_numbers = itertools.count()


class _Stopped:
    """The last answers of a native server that has stopped."""

    def __init__(self, native: _destage.Server) -> None:
        self.replayed = native.replayed
        self._snapshot = native.snapshot()
        self._complaints = native.complaints()
        self._lost_file = native.lost_file()
        self._fault: BaseException | None = None
        try:
            native.check_policy()
        except Exception as e:
            # Without this frame, which has the native server.
            self._fault = e.with_traceback(e.__traceback__ and e.__traceback__.tb_next)

    def snapshot(self) -> str:
        return self._snapshot

    def complaints(self) -> tuple[int, str | None]:
        last, self._complaints = self._complaints, (0, None)
        return last

    def lost_file(self) -> str | None:
        return self._lost_file

    def check_policy(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault


class Server:
    """A running server. Leaving its `with` block ends it as SIGTERM ends `destage serve`.

    Attributes:
        uri: the server as NBD clients name it.
        export_bytes: size of the block device.
        frames: frames of the cache.
        is_open: the address is not of this machine alone; NBD has no authentication here.
        warning: who may connect besides the user, as a sentence; None with a Unix socket.
    """

    def __init__(
        self,
        native: _destage.Server,
        config: dict[str, Any],
        folder: str | None,
        *,
        replays: bool,
    ) -> None:
        """Take what `serve` has started; `folder` is the socket's own."""
        self._native: _destage.Server | _Stopped = native
        self._replays = replays
        self._config = config
        self._folder = folder
        self._last: dict[str, Any] | None = None
        self._process = os.getpid()
        self.uri = native.uri
        self.export_bytes = native.export_bytes
        self.frames = native.frames
        self.is_open = native.is_open
        self.warning = native.warning

    def stats(self) -> dict[str, Any]:
        """Counts so far, as `destage serve --stats` writes them."""
        return self._last or self._told(json.loads(self._native.snapshot()), None, self._device())

    def interval(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Counts so far, and what happened since the last call."""
        snapshot = json.loads(self._native.snapshot())
        return self._told(snapshot, None, snapshot["device"]), {
            "t_s": round(snapshot["seconds"], 3),
            "connections": snapshot["open_connections"],
            **snapshot["interval"],
        }

    def complaints(self) -> tuple[int, str | None]:
        """Errors since the last call: their number, and the last one as a sentence."""
        return self._native.complaints()

    def lost_file(self) -> str | None:
        """Where the file is if its name leads to another one, as a sentence."""
        return self._native.lost_file()

    def _device(self) -> dict[str, Any] | None:
        """The metrics of the simulated SSD, which take a copy of it."""
        if isinstance(self._native, _Stopped):
            return None
        metrics = self._native.device_metrics()
        return None if metrics is None else json.loads(metrics)

    def stop(self, ended: str = "signal") -> dict[str, Any]:
        """End all connections, flush, end the record; return the last counts.

        Raises `OutputError` if the flush or the record failed: `stats` has the counts then too;
        `UsageError` in a forked child: the server is its parent's.
        """
        if os.getpid() != self._process:
            raise UsageError(f"the server is of process {self._process}, which forked this one")
        if self._last is not None or isinstance(self._native, _Stopped):
            return self.stats()
        snapshot, failed = self._native.stop()
        try:
            device = self._device()
        except OutputError as e:
            device, failed = None, failed or str(e)
        self._last = self._told(json.loads(snapshot), "error" if failed else ended, device)
        # Without a reference to the native server its file is closed: another one may serve it.
        self._native = _Stopped(self._native)
        if self._folder is not None:
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)
        if failed:
            raise OutputError(failed)
        self.check()
        return self._last

    def check(self) -> None:
        """Raise what a policy of one's own has raised, once. No access has reached it since."""
        self._native.check_policy()

    def __enter__(self) -> Server:
        """Serve until the block ends."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the server; not in a forked child."""
        if os.getpid() == self._process:
            self.stop()

    def _told(
        self, snapshot: dict[str, Any], ended: str | None, device: dict[str, Any] | None
    ) -> dict[str, Any]:
        return {
            "schema": "destage.serve",
            "schema_version": 1,
            "version": _destage.VERSION,
            "config": self._config,
            "seconds": snapshot["seconds"],
            "ended": ended,
            "requests": snapshot["requests"],
            "bytes_read": snapshot["bytes_read"],
            "bytes_written": snapshot["bytes_written"],
            "counters": snapshot["policy"],
            "trims": snapshot["trims"],
            "pool": snapshot["store"],
            "response_ns": snapshot["response_ns"],
            "device": device,
            "connections": snapshot["connections"],
            "replay": self._replay(),
        }

    def _replay(self) -> str | None:
        """The command that gives the counters of the policy from the record."""
        config = self._config
        without_cache = config["policy"].strip() == "none" and config["device"] is None
        if config["record"] is None or without_cache or not self._replays:
            return None
        words = ["destage", "compare", config["record"], "-p", self._native.replayed]
        words += ["-c", f"{self.frames}p", "--page-size", f"{config['page_bytes']}"]
        words += ["--trim", "drop", "--warmup", "0"]
        if config["device"] is not None:
            words += ["-d", config["device"], "--flush", config["flush"]]
            return shlex.join(words)
        words += ["--pages-per-block", f"{config['pages_per_block']}"]
        words += ["--device-pages", f"{self.export_bytes // config['page_bytes']}"]
        return shlex.join(words)


def serve(
    file: str | os.PathLike[str],
    *,
    policy: str | Callable[..., Policy] | None = None,
    cache: str = "64MiB",
    size: str | int | None = None,
    page_size: str | None = None,
    pages_per_block: int | None = None,
    listen: str | None = None,
    export: str = "",
    read_only: bool = False,
    max_connections: int = 64,
    direct: bool = False,
    checksums: bool = False,
    record: str | os.PathLike[str] | None = None,
    device: DeviceLike | None = None,
    flush: str | None = None,
    emulate: bool = False,
    speed: float = 1.0,
) -> Server:
    """Serve a file, or memory (`:memory:`), as a network block device behind a cache.

    Parameters:
        file: the file or block device; it is byte for byte the export.
        policy: one without the future (LRU); `none`: no cache; your own class without `device`.
        cache: such as `64MiB`, `8192p` or `10%` of the export.
        size: bytes of memory, or of a file to make, sparse; absent: the device's capacity.
        page_size: a power of two, 512 bytes to 64 KiB (4 KiB, or the device's).
        pages_per_block: pages of an erase block (64, or the device's).
        listen: `unix:PATH`, `HOST:PORT`, or `PORT` of localhost; a Unix socket if it is absent.
        export: name of the export, besides the empty one.
        read_only: reject writes.
        max_connections: maximum number of connections.
        direct: bypass the operating system's page cache.
        checksums: compare each page that is fetched with the page that was written.
        record: a file for all requests, as a trace; `.gz` compresses it.
        device: a simulated SSD behind the cache: a preset, a TOML file, or a `Device`.
        flush: flushes of the simulated SSD: `ignore` them, or `drain` its writes.
        emulate: replies come when the simulated SSD would have answered.
        speed: simulated nanoseconds in a nanosecond.

    The server runs until `stop` or the end of its `with` block.
    Raises `UsageError`, `MissingFile`, and `OutputError` where a file or an address is in use.
    """
    _check_types(locals())
    name = None if str(file) == MEMORY else path_of(file, "FILE")
    drive = _drive(device, flush, emulate, speed, pages_per_block)
    own = _own(policy, drive)
    wanted: dict[str, Any] = {"cache": cache, "listen": listen, "export": export}
    wanted |= {"direct": direct, "checksums": checksums, "read_only": read_only, "speed": speed}
    wanted |= {"max_connections": max_connections, "emulate": emulate, "file": name}
    wanted |= {
        "bytes": _bytes(name, size, drive),
        "policy": policy if isinstance(policy, str) else own.name if own else _baseline(),
        "page_bytes": _page_bytes(page_size, drive),
        "pages_per_block": 64 if pages_per_block is None else pages_per_block,
        "record": None if record is None else path_of(record, "--record"),
    }
    given = device.name if isinstance(device, Device) else device
    return _started(wanted, drive, None if given is None else os.fspath(given), own)


def _check_types(given: Mapping[str, object]) -> None:
    """Raise `UsageError` for the first keyword of `serve` whose value is of another type."""
    for names, types, what in _TYPES:
        for name in names:
            value = given[name]
            is_odd = isinstance(value, bool) and types != (bool,)
            if value is None and name in _OPTIONAL:
                continue
            if is_odd or not isinstance(value, types):
                raise UsageError(f"{name}: expected {what}, got {shown(value)}")


def _own(policy: str | Callable[..., Policy] | None, drive: Device | None) -> OwnPolicy | None:
    """The policy, if it is the user's."""
    own = live_policy(policy)
    if own is None and not isinstance(policy, str | None):
        raise UsageError(f"policy: expected a name or a class of your own, got {shown(policy)}")
    if own is not None and drive is not None:
        raise UsageError(f"policy {own.name}: your own policy decides live without --device only")
    return own


def _drive(
    device: DeviceLike | None,
    flush: str | None,
    emulate: bool,
    speed: float,
    pages_per_block: int | None,
) -> Device | None:
    """The simulated SSD, if there is one."""
    if not (math.isfinite(speed) and speed > 0):
        raise UsageError(f"--speed: expected a number above 0, found {speed:g}")
    if device is not None:
        if pages_per_block is not None:
            raise UsageError("--pages-per-block: the erase block is the device's with --device")
        return open_device(device).with_options(flush=flush or "ignore")
    for name, given in (
        ("--emulate", emulate),
        ("--flush", flush is not None),
        ("--speed", speed != 1.0),
    ):
        if given:
            raise UsageError(f"{name} needs a simulated SSD: add --device")
    return None


def _bytes(file: str | None, size: str | int | None, drive: Device | None) -> int | None:
    """The given size; the device's for a new file, or for memory."""
    if size is not None:
        return bytes_of(size, "--size")
    is_new = file is None or not os.path.exists(file)
    return drive.logical_bytes if drive is not None and is_new else None


def _started(
    wanted: dict[str, Any], drive: Device | None, device: str | None, own: OwnPolicy | None
) -> Server:
    native = getattr(_destage, "Server", None)
    if native is None:
        raise UsageError("serve needs Unix")
    if wanted["max_connections"] < 1:
        said = f"--max-connections: expected a number from 1, found {wanted['max_connections']}"
        raise UsageError(said)
    if wanted["file"] is None and wanted["bytes"] is None:
        raise UsageError(f"{MEMORY} needs --size SIZE")
    if wanted["file"] is None and wanted["direct"]:
        raise UsageError(f"--direct: {MEMORY} has no page cache of the operating system")
    folder = None
    if wanted["listen"] is None:
        folder, wanted["listen"] = _socket()
    try:
        started = native(json.dumps(wanted), None if drive is None else drive.raw, own)
    except BaseException:
        if folder is not None:
            os.rmdir(folder)
        raise
    config = {**wanted, "file": wanted["file"] or MEMORY, "frames": started.frames}
    config["device"] = device
    config["flush"] = None if drive is None else drive.record["host"].get("flush", "ignore")
    # A class that is in no file has no name that a command takes.
    replays = own is None or is_in_a_file(wanted["policy"])
    return Server(started, config, folder, replays=replays)


def _baseline() -> str:
    """The policy that others are measured against."""
    return str(next(policy["name"] for policy in catalogue() if policy["baseline"]))


def _page_bytes(page_size: str | None, drive: Device | None) -> int:
    if page_size is None:
        return 4096 if drive is None else drive.page_bytes
    found = bytes_of(page_size, "--page-size")
    if not 512 <= found <= 65536 or found & (found - 1):
        said = f"--page-size: expected a power of two, 512 to 64KiB, found {page_size}"
        raise UsageError(said)
    return found


def _socket() -> tuple[str | None, str]:
    """A folder made for the socket, if there is none for such things, and the address."""
    number = next(_numbers)
    name = f"destage-{os.getpid()}{f'-{number}' if number else ''}.sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        return None, f"unix:{os.path.join(runtime, name)}"
    folder = tempfile.mkdtemp(prefix="destage-")
    return folder, f"unix:{os.path.join(folder, name)}"
