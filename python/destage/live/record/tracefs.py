"""An instance of the kernel's event buffers in tracefs (`docs/spec/fit.md` 13.2)."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from destage.base.errors import NotPermitted, Unavailable
from destage.live.record.events import BIO, END, REQUEUE, START
from destage.live.record.ring import Layout, PageLayout

__all__ = ["EVENTS", "Instance", "found_tracefs"]

#: Events of the block layer for each choice: name, what it does to a request. On devices with
#: requests the end of a bio is the end of its request.
EVENTS = {
    "issue": (
        ("block_rq_issue", START),
        ("block_rq_complete", END),
        ("block_rq_requeue", REQUEUE),
    ),
    "queue": (
        ("block_bio_queue", START),
        ("block_bio_complete", BIO),
        ("block_rq_complete", END),
    ),
}

PLACES = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
PREFIX = "destage-"
HOW = "destage record --how lists other ways"

# System calls that the C library of older systems has no name for; the numbers are those of all
# architectures but alpha.
_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432
_CLOEXEC, _CREATE = 1, 6


@contextmanager
def found_tracefs(given: str | None) -> Iterator[Path]:
    """The folder of tracefs: as given, where it is mounted, or mounted here.

    A mount of our own is attached to no folder: it is private, and ends with its last open
    file. Raises `NotPermitted` and `Unavailable`.
    """
    if not sys.platform.startswith("linux"):
        raise Unavailable(f"destage record reads Linux's tracefs, which is not here. {HOW}")
    if os.geteuid() != 0 and given is None:
        raise NotPermitted(
            "destage record needs root (or CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH) to read tracefs:"
            " sudo destage record .."
        )
    for place in [given] if given else [*PLACES, *_mounted()]:
        if (Path(place) / "events").is_dir() and (Path(place) / "instances").is_dir():
            yield Path(place)
            return
    if given:
        raise Unavailable(f"{given}: expected tracefs with the folders events and instances")
    descriptor = _mount()
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _mounted() -> list[str]:
    try:
        lines = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return []
    fields = [line.split(" ") for line in lines]
    return [field[1] for field in fields if len(field) > 2 and field[2] == "tracefs"]


def _mount() -> int:
    libc = ctypes.CDLL(None, use_errno=True)

    def call(*arguments: object) -> int:
        result = int(libc.syscall(*arguments))
        if result < 0:
            why = os.strerror(ctypes.get_errno()).lower()
            raise Unavailable(f"tracefs is not there (mount: {why}). {HOW}")
        return result

    filesystem = call(_FSOPEN, b"tracefs", _CLOEXEC)
    try:
        call(_FSCONFIG, filesystem, _CREATE, None, None, 0)
        return call(_FSMOUNT, filesystem, _CLOEXEC, 0)
    finally:
        os.close(filesystem)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Instance:
    """Buffers of our own, one a CPU, with the events of some devices."""

    def __init__(self, tracefs: Path, event: str, devs: Sequence[int], buffer_bytes: int) -> None:
        """Set it up; `start` begins. Raises `Unavailable` and `NotPermitted`."""
        self._sweep(tracefs)
        self.folder = tracefs / "instances" / f"{PREFIX}{os.getpid()}"
        self.events = EVENTS[event]
        try:
            self.folder.mkdir()
        except PermissionError as e:
            raise NotPermitted(
                "tracefs: permission denied: destage record needs root (lockdown forbids it too)"
            ) from e
        except OSError as e:
            raise Unavailable(f"tracefs: {self.folder.name}: {e.strerror}. {HOW}") from e
        try:
            self._set_up(tracefs, devs, buffer_bytes)
        except BaseException:
            self.remove()
            raise

    @staticmethod
    def _sweep(tracefs: Path) -> None:
        """Remove what dead processes have left."""
        for folder in (tracefs / "instances").glob(f"{PREFIX}*"):
            number = folder.name.removeprefix(PREFIX)
            if number.isdecimal() and not _is_alive(int(number)):
                with suppress(OSError):
                    folder.rmdir()

    def _set_up(self, tracefs: Path, devs: Sequence[int], buffer_bytes: int) -> None:
        self._write("tracing_on", "0")
        clocks = (self.folder / "trace_clock").read_text()
        if not re.search(r"\bmono\b", clocks):
            raise Unavailable(f"tracefs: the clock mono is not there (found: {clocks.strip()})")
        self._write("trace_clock", "mono")
        page = PageLayout.of((tracefs / "events/header_page").read_text())
        cpus = sorted(self.folder.glob("per_cpu/cpu*"), key=lambda path: int(path.name[3:]))
        self._write("buffer_size_kb", str(max(64, buffer_bytes // 1024 // max(1, len(cpus)))))
        chosen = " || ".join(f"dev == {dev}" for dev in sorted(set(devs)))
        self.layouts: dict[int, Layout] = {}
        for name, action in self.events:
            folder = self.folder / "events/block" / name
            if not folder.is_dir():
                raise Unavailable(
                    f"tracefs has no event block:{name}: the kernel needs"
                    f" CONFIG_BLK_DEV_IO_TRACE. {HOW}"
                )
            layout = Layout((folder / "format").read_text(), action)
            self.layouts[layout.id] = layout
            (folder / "filter").write_text(chosen)
            (folder / "enable").write_text("1")
        self.page, self.cpus = page, cpus
        self.pipes = [
            os.open(cpu / "trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            for cpu in cpus
        ]
        self.page_bytes = self._page_bytes(page)

    def _page_bytes(self, page: PageLayout) -> int:
        """Bytes of a page: newer kernels let them be chosen."""
        try:
            return int((self.folder / "buffer_subbuf_size_kb").read_text()) * 1024
        except (OSError, ValueError):
            return os.sysconf("SC_PAGE_SIZE")

    def _write(self, name: str, value: str) -> None:
        (self.folder / name).write_text(value)

    def start(self) -> None:
        """Begin to record."""
        self._write("tracing_on", "1")

    def stop(self) -> None:
        """No further events; those in the buffers stay."""
        self._write("tracing_on", "0")

    def stop_starts(self) -> None:
        """No further starts of requests; their ends still come."""
        for name, action in self.events:
            if action == START:
                (self.folder / "events/block" / name / "enable").write_text("0")

    def read(self, cpu: int) -> bytes:
        """The next page of a CPU; empty if there is none."""
        try:
            return os.read(self.pipes[cpu], self.page_bytes)
        except OSError as e:
            if e.errno in (errno.EAGAIN, errno.EINTR):
                return b""
            raise

    def lost(self) -> list[int]:
        """Events that each CPU's buffer says it lost."""
        counts = []
        for cpu in self.cpus:
            text = (cpu / "stats").read_text()
            names = ("overrun", "commit overrun", "dropped events")
            found = [re.search(rf"^{name}: (\d+)", text, re.M) for name in names]
            counts.append(sum(int(one[1]) for one in found if one))
        return counts

    def remove(self) -> None:
        """Remove it, whatever state it is in."""
        for pipe in getattr(self, "pipes", []):
            with suppress(OSError):
                os.close(pipe)
        self.pipes = []
        with suppress(OSError):
            self.folder.rmdir()
