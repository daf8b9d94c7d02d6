"""`destage devices` and `destage ftls`: what can be behind the cache."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from typing import Any

import click

from destage.base.errors import UsageError
from destage.cli.options import COMMON, Command, apply, flag
from destage.cli.output import JSON, print_table, wrote_json
from destage.cli.screen import wrapped
from destage.experiment.spec import toml_value
from destage.lab.catalogue import DeviceInfo, DeviceKey, FtlInfo, device_keys
from destage.lab.catalogue import device as one_device
from destage.lab.catalogue import devices as all_devices
from destage.lab.catalogue import ftl as one_ftl
from destage.lab.catalogue import ftls as all_ftls
from destage.lab.ssd import open_device
from destage.model.host_interface import interface_facts, steady_rule
from destage.model.words import counted, number, plain, printable, size
from destage.show.tables.table import Cell, Column, Table

__all__ = ["devices", "ftls"]

EPILOG = """\b
Examples:
  destage devices
  destage devices ecr
  destage devices mine.toml
  destage devices 'ecr[op_permille=70]'
  destage devices ecr --toml > mine.toml    # a file of your own to start from
  destage devices --keys
  destage devices bench --help      # a data sheet: rates over depth
  destage devices fit --help        # from fio measurements of a real SSD
  destage devices probe --help      # the same measurements, simulated
  destage devices compare --help    # measured against simulated
  destage devices validate --help   # fit a part, predict the rest
  destage devices import --help     # from MQSim, FEMU or SimpleSSD
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("name", required=False)
@apply(
    [
        flag("--keys", is_flag=True, help="List the keys of a device file: range, default, unit."),
        flag("--toml", is_flag=True, help="Print the device file."),
    ],
    JSON,
    COMMON,
)
def devices(name: str | None, keys: bool, toml: bool, json_file: str | None, **_: Any) -> None:
    """List the device presets, or describe one.

    NAME may be a file of your own; --toml prints it with every key.
    """
    if keys and (name is not None or toml):
        raise UsageError("--keys lists the keys of every device: it takes no name and no --toml")
    if toml and (name is None or json_file is not None):
        raise UsageError("--toml writes one device's file: it takes a name and no --json")
    if toml:
        one = _drive(str(name))
        click.echo(one.toml or _in_exact_keys(one.record), nl=False)
        return
    found = all_devices() if name is None else (_drive(name),)
    listed = found if name is None else found[0]
    if wrote_json(json_file, *(("device_keys", device_keys()) if keys else ("devices", listed))):
        return
    if keys:
        _list_keys(device_keys())
    elif name is None:
        _list(found)
    else:
        _describe(found[0])


def _drive(name: str) -> DeviceInfo:
    """A preset, or what a file or changes to either make of one."""
    if not (name.endswith(".toml") or "[" in name or os.path.isfile(name)):
        return one_device(name)
    drive = open_device(name)
    record = drive.record
    preset = record.get("preset")
    about = f"on the preset {preset}" if preset else "a device of its own"
    return DeviceInfo(printable(drive.name), about, printable(name), "", drive.size, record)


#: Tables of a device file.
_TABLES = ("device", "ftl", "cache", "host", "placement", "trace")


def _in_exact_keys(record: Mapping[str, Any]) -> str:
    """The file of a device with every key, in exact units."""
    tables = {name: dict(record.get(name) or {}) for name in _TABLES}
    if tables["device"]["ftl"] == "page":
        tables["device"].setdefault("gc_step_pages", 0)
    lines = [f"# {printable(str(record['name']))}: every key, in exact units."]
    for name, keys in tables.items():
        given = [f"{key} = {toml_value(value)}" for key, value in keys.items() if value is not None]
        lines += ["", f"[{name}]", *given] if given else []
    return "\n".join(lines) + "\n"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _list(found: tuple[DeviceInfo, ...]) -> None:
    columns = [Column("device", right=False), Column("raw"), Column("logical")]
    columns += [Column("op, % of raw"), Column("units"), Column("description", right=False)]
    rows = []
    for d in found:
        raw, logical = (plain(size(int(d.size[key]))) for key in ("raw_bytes", "logical_bytes"))
        op, units = f"{100 * d.size['op']:.1f}", number(d.size["units"])
        cells = [d.name, raw, logical, op, units, d.about]
        rows.append([Cell(c) for c in cells])
    print_table(Table("", columns, [rows]))
    click.echo("destage devices NAME describes one; --keys lists all keys of a device file.")


def _times(values: list[int]) -> str:
    """A list of nanoseconds, in microseconds, repetitions once."""
    distinct = list(dict.fromkeys(values))
    return "/".join(f"{v / 1000:,g}" for v in distinct) + " \u00b5s"


def _ftl(record: Mapping[str, Any]) -> str:
    """The FTL, and what decides how it works."""
    drive = record["device"]
    if drive["ftl"] == "page":
        return f"page, {drive['alloc']} allocation, {drive['gc_mode']} GC"
    parameters = [f"{key} {value}" for key, value in record["ftl"].items()]
    return ", ".join([drive["ftl"], *parameters])


def _collection(sizes: Mapping[str, Any]) -> str:
    """Effect of over-provisioning under random writes."""
    left, rate = _percent(sizes["effective_op"]), number(round(sizes["page_writes_per_s"]))
    waf = f"{sizes['greedy_waf']:.2f}"
    return f"effective over-provisioning {left}; random writes: WAF {waf}, at most {rate} pages/s"


#: What most traces of one volume fit into; in front of a smaller device they are wrapped.
ROOMY_BYTES = 16 << 30


def _placement(record: Mapping[str, Any]) -> str:
    """The placement policy with its keys."""
    table = dict(record.get("placement") or {})
    policy = table.pop("policy", "none")
    return ", ".join([policy, *(f"{key} {value}" for key, value in table.items())])


def _geometry(drive: Mapping[str, Any]) -> str:
    """`8 channels x 1 chip x ...`."""
    parts = [
        counted(drive["channels"], "channel"),
        counted(drive["chips_per_channel"], "chip"),
        counted(drive["dies_per_chip"], "die"),
        counted(drive["planes_per_die"], "plane"),
        counted(drive["blocks_per_plane"], "block"),
        f"{counted(drive['pages_per_block'], 'page')} of {drive['page_bytes']:,} bytes",
    ]
    return " x ".join(parts)


def _describe(d: DeviceInfo) -> None:
    drive, cache, host = (d.record[table] for table in ("device", "cache", "host"))
    raw, logical = (plain(size(int(d.size[key]))) for key in ("raw_bytes", "logical_bytes"))
    page_ns = drive["page_bytes"] * drive["bus_ps_per_byte"] / 1000
    frames = ", ".join(cache.get("frames", ())) or "no default size"
    units = counted(int(d.size["units"]), "unit")
    writes = (
        f", then {drive['precondition_writes']:,} random writes"
        if drive["precondition"] == "random"
        else ""
    )
    filled = {
        "none": "empty",
        "sequential": "full",
        "random": f"full{writes}",
        "steady": f"full, then {steady_rule(drive)}",
    }
    facts = {
        "Geometry": _geometry(drive),
        "Capacity": f"{logical} of {raw}; over-provisioning {_percent(d.size['op'])}",
        "Queues": f"{units}, one a {drive['queue_level']}; {drive['sched']}",
        "Read": _times(drive["read_ns"]),
        "Program": _times(drive["program_ns"]),
        "Erase": _times([drive["erase_ns"]]),
        "Transfer": f"{page_ns / 1000:,g} \u00b5s a page, {drive['bus']} bus",
        "FTL": _ftl(d.record),
        **({"GC": _collection(d.size)} if "greedy_waf" in d.size else {}),
        **interface_facts(drive, _placement(d.record)),
        "At time 0": filled[drive["precondition"]],
        "Cache": f"{frames}; eviction wait: {_eviction_wait(cache)}",
        "Host": host["mode"]
        + (f" loop, {host['queue_depth']} outstanding" if host["mode"] == "closed" else " loop")
        + (f"; writes {host['writer_low_pages']} pages ahead" if "writer" in host else "")
        + (f"; trims: {host['trim']}" if "trim" in host else "")
        + (f"; flushes: {host['flush']}" if "flush" in host else ""),
    }
    click.echo(f"{d.name}: {d.about}")
    click.echo(wrapped(f"Source: {d.source}"))
    for title, text in facts.items():
        lines = wrapped(text, indent=13).lstrip()
        click.echo(f"  {title:<10} {lines}")
    for line in _origins(d.toml):
        click.echo(line)
    given = d.name if d.toml else shlex.quote(d.source)
    wrap = " --wrap modulo" if int(d.size["logical_bytes"]) < ROOMY_BYTES else ""
    click.echo(f"\n  destage compare TRACE -p lru,ecr --device {given}{wrap}")
    if d.toml:
        click.echo(f"  destage devices {d.name} --toml > mine.toml")


def _eviction_wait(cache: Mapping[str, Any]) -> str:
    staging = cache.get("staging_pages")
    return f"{cache['evict_wait']}" + (f", {staging} pages" if staging else "")


def _origins(toml: str) -> list[str]:
    """Sources of a preset, and of each of its keys, from its file."""
    text = toml.partition("[device]")[0]
    paragraphs = re.split(r"^#\s*$", text, flags=re.M)
    sources = " ".join(
        " ".join(line.removeprefix("#").strip() for line in paragraph.splitlines()).strip()
        for paragraph in paragraphs
        if "Sources:" in paragraph
    )
    notes = re.findall(r"^(\w+) = ([^\n#]*?)\s*# (.+)$", toml, re.M)
    if not notes:
        return []
    lines = ["", "  Sources of the values (--toml prints all)"]
    lines += [f"    {key} = {value.strip()}  # {note}" for key, value, note in notes]
    return [*lines, wrapped(sources, indent=4)] if sources else lines


def _list_keys(found: tuple[DeviceKey, ...]) -> None:
    table = ""
    for k in found:
        if k.table != table:
            table = k.table
            click.echo(f"[{table}]")
        unit = f", {k.unit}" if k.unit else ""
        click.echo(f"  {k.name}: {k.values}{unit}; default {k.default}")
        click.echo(wrapped(k.about, indent=6))


@click.command(cls=Command, epilog="\b\nExamples:\n  destage ftls\n  destage ftls page --json -")
@click.argument("name", required=False)
@apply(JSON, COMMON)
def ftls(name: str | None, json_file: str | None, **_: Any) -> None:
    """List the flash translation layers, or describe one."""
    found = all_ftls() if name is None else (one_ftl(name),)
    if wrote_json(json_file, "ftls", found if name is None else found[0]):
        return
    if name is not None:
        _describe_ftl(found[0])
        return
    # The first sentence says how it maps.
    rows = [[Cell(f.name), Cell(f.about.partition(". ")[0].partition(": ")[0])] for f in found]
    print_table(Table("", [Column("ftl", right=False), Column("description", right=False)], [rows]))
    click.echo("destage ftls NAME describes one.")


def _describe_ftl(f: FtlInfo) -> None:
    click.echo(f"{f.name}: {f.title}")
    click.echo(wrapped(f.about))
    click.echo(wrapped(f"Source: {f.source}"))
    if not f.params:
        click.echo("  No parameters")
        return
    click.echo()
    _list_keys(f.params)
