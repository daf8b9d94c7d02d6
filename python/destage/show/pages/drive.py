"""The device behind the cache, for the report: its description, and every key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from destage import _destage
from destage.base.errors import DestageError
from destage.model.host_interface import interface_facts, steady_rule
from destage.model.results import ResultSet
from destage.model.words import duration, finite, number, percent, printable, significant, size
from destage.show.pages.blocks import Part, details, fact, pairs, section

__all__ = ["device_section", "drive_name"]

_ORDER = ("device", "cache", "host", "placement", "ftl")


def drive_name(result: ResultSet) -> str | None:
    """The device's name; `None` without a device."""
    drive = result.drive
    return None if drive is None else printable(drive.get("name") or "device")


def device_section(result: ResultSet) -> Part | None:
    """A few facts in words, and all keys; `None` without a device."""
    record, name = result.drive, drive_name(result)
    if record is None or name is None:
        return None
    tables = {key: record[key] for key in _ORDER if isinstance(record.get(key), Mapping)}
    every = [
        fact(printable(key if table == "device" else f"{table}.{key}"), _plain(value), mono="both")
        for table, values in tables.items()
        for key, value in values.items()
        if value is not None
    ]
    preset = record.get("preset")
    based = f"{name}, on the preset {printable(preset)}" if preset and preset != name else name
    facts = [fact("Device", based)]
    facts += _described(tables.get("device", {}))
    policy = next((run.placement for run in result.runs if run.placement), "none")
    more = interface_facts(tables.get("device", {}), policy)
    facts += [fact(title, value) for title, value in more.items()]
    facts += _saturation(result)
    behind = tables.get("cache", {}) if result.has_cache else {}
    facts += _in_front(behind, tables.get("host", {}))
    keys = details("Every key of the device, after defaults", pairs("made", every))
    return section(f"The device: {name}", pairs("facts", facts), keys, label="The device")


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return printable(value)


def _described(device: Mapping[str, Any]) -> list[Part]:
    """Geometry, times and collection, as far as they are stated."""
    found: list[Part] = []

    def add(title: str, value: str, note: str = "") -> None:
        found.append(fact(title, value, note))

    whole = {key: finite(value) for key, value in device.items()}
    page, block, logical = (
        whole.get(key) for key in ("page_bytes", "pages_per_block", "logical_pages")
    )
    levels = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")
    counts = [whole.get(key) for key in levels]
    per_plane = whole.get("blocks_per_plane")
    if None not in counts:
        planes = 1
        for count in counts:
            planes *= int(count or 0)
        if page and block and per_plane and logical:
            raw = planes * per_plane * block
            spare = percent(1 - logical / raw, 1)
            add("Capacity", size(logical * page), f"{spare} of {size(raw * page)} hidden")
        parts = [
            _counted(int(count or 0), word)
            for count, word in zip(counts, ("channel", "chip", "die", "plane"), strict=True)
        ]
        add("Geometry", parts[0], " \u00d7 ".join(parts[1:]))
    if page and block:
        add("Erase block", size(page * block), f"{number(block)} pages of {size(page)}")
    if device.get("queue_level"):
        order = {"fcfs": "first come, first served", "read_first": "reads first"}
        sched = device.get("sched")
        add("A queue for each", printable(device["queue_level"]), order.get(str(sched), ""))
    for key, title in (("read_ns", "Page read"), ("program_ns", "Page program")):
        if device.get(key):
            add(title, _times(device[key]))
    if whole.get("erase_ns") is not None:
        add("Block erase", duration(whole["erase_ns"]))
    speed = whole.get("bus_ps_per_byte")
    if speed:
        bus = device.get("bus")
        note = "shared by a channel's units" if bus == "shared" else "one for each unit"
        add("Bus", f"{significant(1e6 / speed)}\u00a0MB/s", note)
    if device.get("gc_mode"):
        low = whole.get("gc_low_pages")
        note = f"at {number(low)} free pages of a plane" if low is not None else ""
        add("GC", printable(device["gc_mode"]), note)
    if device.get("precondition"):
        writes = whole.get("precondition_writes")
        note = f"then {number(writes)} page writes" if writes else ""
        how = {
            "none": "empty",
            "sequential": "filled in order",
            "random": "filled",
            "steady": "filled, in a steady state",
        }
        kind = str(device["precondition"])
        notes = {"random": note, "steady": steady_rule(device)}
        add("Before the run", how.get(kind, printable(kind)), notes.get(kind, ""))
    return found


def _saturation(result: ResultSet) -> list[Part]:
    """Free space of garbage collection, and the device's capacity beside the trace's demand.

    Only where a closed form is known: for the page-mapped FTL.
    """
    try:
        drive = _destage.drive_from_record(json.dumps(result.drive), False)
    except DestageError:  # of another version, or written by hand: its keys are still shown
        return []
    sizes = json.loads(drive.size())
    if "greedy_waf" not in sizes:
        return []
    waf, rate = sizes["greedy_waf"], sizes["page_writes_per_s"]
    note = f"steady random writes: WAF {number(waf, 2)} (greedy, closed form)"
    spare = percent(sizes["effective_op"], 1)
    found = [fact("Over-provisioning that GC can use", spare, note)]
    asked = _page_writes_per_s(result)
    note = "" if asked is None else f"the trace writes {number(round(asked))} pages/s"
    if asked is not None and asked > rate:
        note += ": more, if they were random and none was absorbed"
    value = f"{number(round(rate))} random page writes/s"
    return [*found, fact("Saturated at", value, note)]


def _page_writes_per_s(result: ResultSet) -> float | None:
    """Page writes that the trace asks for, each second; None if it has no times.

    Of the part that was measured, which a closed loop places elsewhere in time.
    """
    trace = result.trace
    known = [run for run in result.runs if not run.warmup_requests or run.queue_depth is None]
    if not known or not trace.duration_ns:
        return None
    counters = known[0].counters
    span_ns = trace.duration_ns
    if known[0].queue_depth is None:
        span_ns -= int((known[0].measured or {}).get("start_ns") or 0)
    if span_ns <= 0:
        return None
    return float(counters["write_hits"] + counters["write_misses"]) / (span_ns / 1e9)


def _counted(count: int, word: str) -> str:
    return f"{count} {word if count == 1 else word + 's'}"


def _times(value: object) -> str:
    """One time, or the least and the largest of the page types."""
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    times = [t for t in map(finite, values) if t is not None]
    if not times:
        return "unknown"
    low, high = duration(min(times)), duration(max(times))
    return low if low == high else f"{low} to {high}"


#: What a word of the configuration means to a reader.
_WAITS = {
    "program": "waits for the victim's program",
    "transfer": "waits for the victim's transfer",
    "none": "waits for no victim",
    "staged": "waits for a free staging page",
}


def _in_front(cache: Mapping[str, Any], host: Mapping[str, Any]) -> list[Part]:
    """Cache and host, as far as they decide about response times."""
    found = []
    if cache.get("evict_wait"):
        wait = str(cache["evict_wait"])
        staging = finite(cache.get("staging_pages"))
        note = (
            ""
            if staging is None
            else f"{_counted(int(staging), 'page')} hold dirty victims until they are written"
        )
        found.append(fact("A missed page", _WAITS.get(wait, printable(wait)), note))
    hit_ns = finite(cache.get("hit_ns"))
    if hit_ns is not None:
        found.append(fact("A page in DRAM", duration(hit_ns) if hit_ns else "no time"))
    if host.get("mode"):
        depth = finite(host.get("queue_depth"))
        closed = host["mode"] == "closed"
        come = "when an earlier one completes" if closed else "at the trace's times"
        found.append(fact("Requests come", come, f"{number(depth)} outstanding" if closed else ""))
    ahead = finite(host.get("writer_low_pages"))
    if ahead is not None:
        note = "by the host, while units are idle"
        found.append(fact("Written ahead", f"{number(ahead)} pages", note))
    return found
