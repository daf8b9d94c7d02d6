"""FEMU in black-box mode: a run script, or the options of `-device femu` (Li et al., FAST 2018)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from destage.base.errors import DataError
from destage.base.io.names import printable
from destage.fit.importing import Source

__all__ = ["convert", "parse"]

_SIZES = {
    "nchs": "channels",
    "luns_per_ch": "chips_per_channel",
    "pls_per_lun": "planes_per_die",
    "blks_per_pl": "blocks_per_plane",
    "pgs_per_blk": "pages_per_block",
}
_TIMES = {"pg_rd_lat": "read_ns", "pg_wr_lat": "program_ns", "blk_er_lat": "erase_ns"}
#: Other keys that are FEMU's; a script sets variables of the shell's own besides.
_OTHERS = (
    *("secsz", "secs_per_pg", "devsz_mb", "ssd_size", "ch_xfer_lat", "cmd_addr_lat"),
    *("pg_xfer_lat", "status_lat", "gc_thres_pcent", "gc_thres_pcent_high", "gc_policy"),
    *("mapping", "mapping_cache_mb", "femu_mode", "namespaces", "queues", "multipoller_enabled"),
)
_VICTIMS = {
    "greedy": ("greedy", "FEMU's GC takes a line: the blocks of one number on all chips"),
    "random": ("random", "FEMU's GC takes whole lines"),
    "cost-benefit": ("cost-benefit", "FEMU's GC takes whole lines"),
    "fifo": ("fifo", "FEMU's GC takes whole lines"),
    "d-choice": ("d-choices", "FEMU's GC takes whole lines"),
}
_PAIR = re.compile(r"(?:^|[\s,;\"'])(?:let\s+)?(\w+)=([\w.${}+-]*)", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")


def parse(text: str, path: str) -> Mapping[str, str]:
    """Options of the device, with the script's variables put in. Raises `DataError`."""
    lines = [re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines()]
    pairs = _PAIR.findall("\n".join(lines))
    variables = {name: value for name, value in pairs if "$" not in value}
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in (*_SIZES, *_TIMES, *_OTHERS):
            put_in = _VARIABLE.sub(lambda one: variables.get(one[1], one[0]), value)
            found[name] = put_in or found.get(name, "")
    if "nchs" not in found:
        raise DataError(
            f"{printable(path)}: expected a run script of FEMU, or options such as"
            " nchs=8,luns_per_ch=8: nchs is missing"
        )
    return found


def convert(source: Source) -> None:
    """FEMU's keys as ours."""
    if source.given("femu_mode") and source.whole("femu_mode", least=0) != 1:
        raise source.error("femu_mode", "1, the black-box SSD: only it has an FTL")
    for theirs, ours in _SIZES.items():
        source.exact(ours, source.whole(theirs), theirs)
    page = source.whole("secsz") * source.whole("secs_per_pg")
    source.exact("page_bytes", page, "secsz", "secs_per_pg")
    for theirs, ours in _TIMES.items():
        value = source.whole(theirs, least=0)
        source.exact(ours, value if ours == "erase_ns" else [value], theirs)
    source.exact("queue_level", "chip", note="FEMU's LUNs serve one operation each")
    _bus(source, page)
    _room(source, page)
    note = "FEMU writes round all chips, wherever a page was before"
    source.near("alloc", "dynamic", note=note)
    if source.given("gc_policy"):
        source.word("gc_policy", _VICTIMS, "gc_victim")
    else:
        source.near("gc_victim", "greedy", note=_VICTIMS["greedy"][1])
    source.exact("copyback", value=True, note="FEMU moves pages inside the chip")
    _mapping(source)
    source.refuse("the black-box SSD", "femu_mode")
    source.refuse("of the emulator's host", "namespaces", "queues", "multipoller_enabled")


def _bus(source: Source, page: int) -> None:
    phases = ("cmd_addr_lat", "pg_xfer_lat", "status_lat")
    values = {name: source.whole(name, least=0) for name in phases if source.given(name)}
    ps = 1000 * values.get("pg_xfer_lat", 0) // page
    if any(values.values()):
        source.near("bus", "shared", note="FEMU's channel takes operations in time order")
        names = [name for name in ("cmd_addr_lat", "status_lat") if name in values]
        note = "both phases at once"
        source.near("cmd_ns", sum(values[name] for name in names), *names, note=note)
        source.near("bus_ps_per_byte", ps, "pg_xfer_lat", note="the time of a page, per byte")
    else:
        source.exact("bus_ps_per_byte", 0, *values, note="transfers take no time in FEMU")
    source.refuse("FEMU ignores it", "ch_xfer_lat")


def _room(source: Source, page: int) -> None:
    size = "devsz_mb" if source.given("devsz_mb") else "ssd_size"
    logical = source.whole(size) * (1 << 20) // page
    source.exact("logical_pages", logical, size)
    source.refuse("devsz_mb is the device's size", *({"ssd_size"} - {size}))
    if not source.given("gc_thres_pcent"):
        return
    values = source.values
    planes = values["channels"] * values["chips_per_channel"] * values["planes_per_die"]
    data, blocks = values["pages_per_block"], values["blocks_per_plane"]
    wanted = int((100 - source.number("gc_thres_pcent")) / 100 * blocks) * data
    # A plane has room for its pages, its threshold and an open block.
    most = blocks * data - -(-logical // planes) - 2 * data
    low = max(data, min(wanted, most // data * data))
    note = f"FEMU begins at {wanted} free pages a plane, of lines that all chips share"
    source.near("gc_low_pages", low, "gc_thres_pcent", note=note)
    source.refuse("a device here has one threshold", "gc_thres_pcent_high")


def _mapping(source: Source) -> None:
    if source.given("mapping"):
        found = source.keys["mapping"].strip()
        if found == "page":
            source.exact("ftl", "page", "mapping")
        else:
            source.refuse(f"{found}: choose --ftl, whose rules differ", "mapping")
    source.refuse("the whole map is in DRAM", "mapping_cache_mb")
