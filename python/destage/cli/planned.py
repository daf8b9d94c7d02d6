"""Output of `compare --dry-run`: the runs, and the time of runs and devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from destage.lab.options import thread_count, tier_grid
from destage.lab.policy_base import policy_specs
from destage.lab.ssd import Device
from destage.lab.traces import Trace
from destage.model.naming import is_foreseeing, without_placement
from destage.model.words import counted, duration, number, plain, size
from destage.questions.runs import Pair, plan_pairs
from destage.show.tables.table import Cell, Column, Table

__all__ = ["planned_kv_table", "planned_table"]

#: Page accesses that one thread replays in a second, to guess by; policies differ, up and down.
ACCESSES_PER_S = 20e6
#: The same in front of a device that is filled: what costs is the accesses' pages and collections.
TIMED_ACCESSES_PER_S = 2.8e6
#: Blocks of prompts that one thread replays in a second, over two tiers.
KV_BLOCKS_PER_S = 4e6
#: Times slower with `--check`.
CHECKED = 10

#: Page writes that fill a device in a second, by FTL, and for an FTL that is not listed. On one
#: core of a server of 2023, `small` and `ecr`, one run of a hundred requests.
FILLED_PER_S = {"page": 16e6, "fast": 7e6, "page-ideal": 6e6, "bast": 5e6}
SLOWEST_FILLED_PER_S = 4e6


def planned_table(pairs: Sequence[Pair], arguments: Mapping[str, Any]) -> Table:
    """One row a run, and under it how long all of it takes, device by device."""
    grid = arguments["placement"] is not None
    planned = plan_pairs(
        pairs, arguments["policy"], arguments["cache"], grid=grid, options=arguments
    )
    bases = {p.device and without_placement(p.device) for p in planned}
    ways = [p.placement for p in planned if p.placement is not None]
    drives = ("device",) if len(bases) > 1 else ()
    keys = ("trace", *drives, *(("placement",) if len(set(ways)) > 1 else ()), "policy")
    columns = [Column(key, right=False, key=True) for key in keys]
    columns += [Column("cache", key=True), Column("pages"), Column("size"), Column("accesses")]
    rows = []
    for p in planned:
        sizes = (p.cache, number(p.frames), size(p.cache_bytes))
        sizes = ("-", "-", "-") if p.policy == "none" else sizes
        of = {"trace": p.trace, "policy": p.policy, "placement": p.placement or "none"}
        of["device"] = without_placement(p.device) if p.device else "none"
        names = [of[key] for key in keys]
        rows.append([Cell(t) for t in (*names, *sizes, number(p.accesses))])
    notes = []
    for name in dict.fromkeys(p.device for p in planned):
        of_it = [p.accesses for p in planned if p.device == name]
        drive = next((d for _, d in pairs if d is not None and d.name == name), None)
        notes.append(plain(_told(drive, of_it, arguments)))
    if any(drive is not None for _, drive in pairs):
        notes.append("the filled device is stored; the next run loads it")
    return Table("", columns, [rows], notes)


def planned_kv_table(
    trace: Trace,
    policies: Any,
    sizes: Sequence[str],
    tiers: Mapping[str, Any],
    jobs: int | None,
) -> Table:
    """One row for DRAM alone and one for each flash tier, and how long all of it takes."""
    every = len(policy_specs(policies)) * len(sizes)
    columns = [Column("tier 2", right=False, key=True), Column("size"), Column("admission")]
    columns += [Column("runs")]
    rows = [[Cell(text) for text in ("none", "-", "-", number(every))]]
    grid = tier_grid(tiers)
    for one in grid:
        texts = (one["tier2"], one["tier2_cache"], one["admit"], number(every))
        rows.append([Cell(str(text)) for text in texts])
    runs = every * (1 + len(grid))
    threads = min(thread_count(jobs), runs)
    seconds = runs * trace.accesses / KV_BLOCKS_PER_S / threads
    told = f"{counted(runs, 'run')} on {counted(threads, 'thread')}: about {_guess(seconds)}"
    return Table("", columns, [rows], [plain(told)])


def _told(drive: Device | None, accesses: Sequence[int], arguments: Mapping[str, Any]) -> str:
    """How long the runs of a device take, and to fill it."""
    threads = min(thread_count(arguments["jobs"]), len(accesses))
    rate = ACCESSES_PER_S if drive is None else TIMED_ACCESSES_PER_S
    times = (CHECKED if arguments["check"] else 1) * (2 if _foresees(drive) else 1)
    seconds = sum(accesses) / rate / threads * times
    runs = (
        f"{counted(len(accesses), 'run')} on {counted(threads, 'thread')}: about {_guess(seconds)}"
    )
    if drive is None:
        return runs
    device = drive.record["device"]
    writes = {"none": 0, "sequential": drive.logical_pages}.get(
        device["precondition"], drive.logical_pages + int(device.get("precondition_writes") or 0)
    )
    filling = writes / FILLED_PER_S.get(device["ftl"], SLOWEST_FILLED_PER_S)
    fill = f"about {_guess(filling)} to fill it" if writes else "it begins empty"
    twice = ", each twice to know the future" if _foresees(drive) else ""
    layer = "" if "[ftl=" in drive.name else f", FTL {device['ftl']}"
    return f"{drive.name}{layer}: {fill}; {runs}{twice}"


def _foresees(drive: Device | None) -> bool:
    """Each run in front of it is done twice: its placement uses future accesses."""
    return drive is not None and is_foreseeing(drive.placement)


def _guess(seconds: float) -> str:
    """A guess has two digits at best."""
    return duration(float(f"{seconds * 1e9:.2g}"))
