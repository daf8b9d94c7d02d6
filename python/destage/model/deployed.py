"""What one types into systems that cache blocks, and which policy here comes nearest to each.

None of them is simulated as it is. What each runs by its own documents stands beside the policy
that comes nearest to it, with what that leaves out; `docs/advise.md` has the sources in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["SYSTEMS", "System"]

KIB = 1 << 10
MIB = 1 << 20


@dataclass(frozen=True)
class System:
    """A deployed cache, under one of its settings."""

    name: str
    """The system, as people call it."""
    setting: str
    """Which of its settings."""
    policy: str
    """The policy here that comes nearest."""
    unit_bytes: int
    """Its sizes are multiples of this."""
    least_bytes: int
    """The smallest that it takes."""
    command: str
    """What one types: `{size}`, `{kib}`, `{mib}`, `{bytes}` stand for the size."""
    lacks: str
    """What the policy leaves out, in plain words."""
    source: str
    """Where the system's own rules are told."""
    writer: bool = False
    """It writes dirty pages ahead: run with the background writer in front of a drive."""
    reads_only: bool = False
    """It never holds a page that is newer than the store: only hits of reads mean anything."""

    def room(self, cache_bytes: int) -> int:
        """The smallest size it takes that holds so many bytes."""
        size = max(cache_bytes, self.least_bytes)
        return -(-size // self.unit_bytes) * self.unit_bytes

    def typed(self, cache_bytes: int) -> str:
        """What to type for a cache of so many bytes."""
        room = self.room(cache_bytes)
        whole = room % MIB == 0
        size = f"{room // MIB}M" if whole else f"{room // KIB}k"
        sizes = {"size": size, "kib": room // KIB, "mib": -(-room // MIB), "bytes": room}
        return self.command.format(**sizes, pg=f"{size}B")


_DM = "Linux, Documentation/admin-guide/device-mapper/cache.rst and cache-policies.rst"
_CAS = "Open CAS, casadm(8); open-cas.com, Configuration Tool Details; OCF, inc/ocf_def.h"
_BCACHE = "Linux, Documentation/admin-guide/bcache.rst"
_ZFS = "OpenZFS, zfs(4); module/zfs/arc.c, comment on the Level 2 ARC"
_PG = "PostgreSQL, Resource Consumption: Memory; src/backend/storage/buffer/README, freelist.c"

_BCACHE_LACKS = (
    "buckets of 512 KiB or more go as one and dirty data are written back in order in the"
    " background; sequential requests go past it unless sequential_cutoff is 0"
)


def _bcache(policy: str) -> System:
    return System(
        "bcache",
        f"{policy}, writeback",
        policy,
        512 * KIB,
        512 * KIB,
        f"bcache make -C CACHE -B STORE  # CACHE of {{size}}; then, under /sys:"
        f" echo {policy} > block/CACHE/bcache/cache_replacement_policy;"
        " echo writeback > block/bcache0/bcache/cache_mode",
        _BCACHE_LACKS,
        _BCACHE,
    )


SYSTEMS: Sequence[System] = (
    System(
        "dm-cache",
        "smq, writeback",
        "mq",
        32 * KIB,
        32 * KIB,
        "lvcreate --type cache-pool -L {kib}k -c 32k -n fast VG CACHE;"
        " lvconvert --type cache --cachepool fast --cachemode writeback --cachepolicy smq VG/STORE",
        "smq counts no hits, rises once a period of the clock and promotes in the background, in"
        " blocks of 32 KiB or more; its rules stand in its program alone. mq is the family that it"
        " comes from, no more",
        _DM,
    ),
    System(
        "Open-CAS",
        "lru, cleaning nop",
        "lru",
        4 * KIB,
        20 * MIB,
        "casadm -S -i 1 -d CACHE -c wb -x 4; casadm -A -i 1 -d STORE;"
        " casadm -X -n cleaning -i 1 -p nop  # CACHE of {size}",
        "its lines are spread over several LRU lists that take turns; long sequential requests go"
        " past it (seq-cutoff). It takes no less than 20 MiB",
        _CAS,
    ),
    System(
        "Open-CAS",
        "lru, cleaning acp",
        "lru",
        4 * KIB,
        20 * MIB,
        "casadm -S -i 1 -d CACHE -c wb -x 4; casadm -A -i 1 -d STORE;"
        " casadm -X -n cleaning -i 1 -p acp  # CACHE of {size}; alru, the default, waits 120 s",
        "as above; acp writes every 10 ms from the dirtiest chunk, the writer here whenever a unit"
        " of the drive is idle; alru cleans what was not written for 120 s, later than both",
        _CAS,
        writer=True,
    ),
    _bcache("lru"),
    _bcache("fifo"),
    _bcache("random"),
    System(
        "ZFS ARC",
        "zfs_arc_max",
        "arc",
        1,
        64 * MIB,
        "echo {bytes} > /sys/module/zfs/parameters/zfs_arc_max",
        "ZFS's ARC keeps blocks of any size, data and metadata apart, and writes dirty data with"
        " its transaction groups, not on eviction; from OpenZFS 2.2 on the balance is worked out"
        " otherwise. It takes no less than 64 MiB",
        _ZFS,
    ),
    System(
        "ZFS L2ARC",
        "cache device",
        "fifo",
        1,
        64 * MIB,
        "zpool add POOL cache CACHE  # CACHE of {mib} MiB",
        "L2ARC is a ring that is fed from the tails of the ARC above it, at l2arc_write_max, and"
        " never holds dirty data: writes are not its business. What the ARC holds already is"
        " missing here",
        _ZFS,
        reads_only=True,
    ),
    System(
        "PostgreSQL",
        "shared_buffers",
        "clock-sweep",
        8 * KIB,
        128 * KIB,
        "ALTER SYSTEM SET shared_buffers = '{pg}';  -- and restart; bgwriter_lru_maxpages = 0",
        "the same sweep, in pages of the trace instead of 8 KiB, without the rings of large scans"
        " and without checkpoints. A trace of blocks has nothing of what the database's own buffers"
        " answered already",
        _PG,
    ),
    System(
        "PostgreSQL",
        "with bgwriter",
        "clock-sweep",
        8 * KIB,
        128 * KIB,
        "ALTER SYSTEM SET shared_buffers = '{pg}';  -- and restart; bgwriter at its defaults",
        "as above; the background writer goes by the clock and guesses how much is needed, the one"
        " here by the drive's idle time",
        _PG,
        writer=True,
    ),
)
