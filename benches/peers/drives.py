"""One drive, said to each simulator in its own words.

DiskSim's SSD model keeps the last page of a block for itself and counts free blocks; MQSim has no
such page. The rest (geometry, times, greedy collection, static striping over the chips, channel
first) is the same everywhere. Neither has a read or write cache here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Device:
    """Chips with one plane each, a queue per chip, transfers that wait for nobody."""

    channels: int
    chips_per_channel: int
    blocks: int
    """Blocks of a chip."""
    pages_per_block: int = 64
    page_bytes: int = 4096
    reserve_percent: int = 15
    """Blocks of a chip that hold no data when the drive is full."""
    low_percent: int = 5
    """Collection starts when no more than this many blocks of a chip are free."""
    fewer: bool = False
    """Not when no more, but when fewer are."""
    read_ns: int = 25_000
    program_ns: int = 200_000
    erase_ns: int = 1_500_000
    bus_ps_per_byte: int = 25_000
    summary_page: bool = True
    copyback: bool = True
    full: bool = True
    """Every page is mapped before the first request, in order."""
    background: bool = False
    """Collect after the program that used up the room, not before the next one."""
    reads_first: bool = False

    @property
    def chips(self) -> int:
        """Chips of the whole drive."""
        return self.channels * self.chips_per_channel

    @property
    def logical_pages(self) -> int:
        """What the host sees: the data pages of all blocks but the reserve."""
        data = self.pages_per_block - self.summary_page
        return self.chips * (self.blocks - self.reserve_percent * self.blocks // 100) * data

    @property
    def low_blocks(self) -> int:
        """Free blocks of a chip at which collection starts."""
        return self.low_percent * self.blocks // 100 - self.fewer

    def table(self) -> dict[str, object]:
        """Our table [device].

        Both peers look at free blocks when a block has been opened. So F is what is free then,
        after its first page: the next program collects.
        """
        data = self.pages_per_block - self.summary_page
        return {
            "channels": self.channels,
            "chips_per_channel": self.chips_per_channel,
            "blocks_per_plane": self.blocks,
            "pages_per_block": self.pages_per_block,
            "page_bytes": self.page_bytes,
            "logical_pages": self.logical_pages,
            "read_ns": [self.read_ns],
            "program_ns": [self.program_ns],
            "erase_ns": self.erase_ns,
            "bus_ps_per_byte": self.bus_ps_per_byte,
            "summary_page": self.summary_page,
            "copyback": self.copyback,
            "striping": "CWDP",
            "sched": "read_first" if self.reads_first else "fcfs",
            "gc_mode": "background" if self.background else "foreground",
            "gc_low_pages": self.low_blocks * data + data - 1,
            "address_mode": "error",
            "precondition": "sequential" if self.full else "none",
        }

    def toml(self) -> str:
        """The same as a file."""

        def value(of: object) -> str:
            if isinstance(of, bool):
                return str(of).lower()
            return f'"{of}"' if isinstance(of, str) else str(of)

        return "[device]\n" + "".join(f"{key} = {value(v)}\n" for key, v in self.table().items())

    def for_mqsim(self) -> Device:
        """What MQSim does: no summary page, no copy-back, an empty drive, reads first.

        It has copy-back, but leaves a pointer unset there that its collector follows.
        """
        return replace(
            self,
            summary_page=False,
            copyback=False,
            full=False,
            fewer=True,
            reads_first=True,
        )
