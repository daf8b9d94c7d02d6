"""Block devices by name: disks, partitions, mapped devices, and mount points."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from destage.base.errors import MissingFile
from destage.base.io.names import printable

__all__ = ["BlockDevice", "block_device", "devices_below"]

SECTOR_BYTES = 512
SYS = Path("/sys/dev/block")


def _number(major: int, minor: int) -> int:
    """The kernel's own number, as events have it."""
    return major << 20 | minor


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class BlockDevice:
    """A block device, and its offset on the device that its events name."""

    path: str
    name: str
    #: The disk's number: events of partitions name the disk.
    dev: int
    first_sector: int
    sectors: int
    is_partition: bool
    model: str
    scheduler: str
    block_bytes: int

    @property
    def size_bytes(self) -> int:
        """Its size."""
        return self.sectors * SECTOR_BYTES

    def holds(self, sector: int, sectors: int) -> bool:
        """Whether a request of the disk is one of this device."""
        if not self.is_partition:
            return True
        return self.first_sector <= sector and sector + sectors <= self.first_sector + self.sectors

    @property
    def about(self) -> str:
        """Size, block size, model and scheduler for the header."""
        facts = [f"{self.size_bytes} bytes", f"logical block {self.block_bytes}"]
        return ", ".join([*facts, f"model {self.model or '-'}", f"scheduler {self.scheduler}"])


def _kind(mode: int) -> str:
    if stat.S_ISCHR(mode):
        return "a character device"
    return "a folder that is no mount point" if stat.S_ISDIR(mode) else "a file"


def block_device(name: str) -> BlockDevice:
    """The block device of this name, or under this mount point. Raises `MissingFile`."""
    shown = printable(name)
    try:
        found = os.stat(name)
    except OSError as e:
        raise MissingFile(f"{shown}: {e.strerror or e}") from e
    number = found.st_rdev
    if not stat.S_ISBLK(found.st_mode):
        if not (stat.S_ISDIR(found.st_mode) and os.path.ismount(name)):
            raise MissingFile(
                f"{shown}: expected a block device or a mount point, found {_kind(found.st_mode)}"
            )
        number = found.st_dev
    major, minor = os.major(number), os.minor(number)
    folder = SYS / f"{major}:{minor}"
    if not folder.exists():
        raise MissingFile(f"{shown}: there is no block device {major}:{minor} behind it")
    return _described(folder.resolve())


def _described(folder: Path) -> BlockDevice:
    is_partition = (folder / "partition").exists()
    disk = folder.parent if is_partition else folder
    major, minor = map(int, _text(disk / "dev").split(":"))
    scheduler = _text(disk / "queue/scheduler")
    chosen = scheduler.partition("[")[2].partition("]")[0] or scheduler or "none"
    uevent = _text(folder / "uevent")
    names = [line[8:] for line in uevent.splitlines() if line.startswith("DEVNAME=")]
    name = (names or [folder.name])[0]
    return BlockDevice(
        path=f"/dev/{name}",
        name=name,
        dev=_number(major, minor),
        first_sector=int(_text(folder / "start") or 0) if is_partition else 0,
        sectors=int(_text(folder / "size") or 0),
        is_partition=is_partition,
        model=_text(disk / "device/model"),
        scheduler=chosen,
        block_bytes=int(_text(disk / "queue/logical_block_size") or SECTOR_BYTES),
    )


def devices_below(path: str) -> set[str]:
    """Names of the block devices that a file's data reach, the disk of a partition not included.

    A file on a loop device reaches the device that holds the loop's own file, and so on.
    """
    found: set[str] = set()
    try:
        number = os.stat(path).st_dev
    except OSError:
        return found
    folder = SYS / f"{os.major(number)}:{os.minor(number)}"
    todo = [folder.resolve()] if folder.exists() else []
    while todo:
        folder = todo.pop()
        if folder.name in found:
            continue
        found.add(folder.name)
        slaves = folder / "slaves"
        todo += [one.resolve() for one in slaves.iterdir()] if slaves.is_dir() else []
        if backing := _text(folder / "loop/backing_file"):
            found |= devices_below(backing)
    return found
