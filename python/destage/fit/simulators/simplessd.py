"""SimpleSSD: an .xml of 2.1 or later, or a .cfg of 2.0 (Gouk et al., MICRO 2018)."""

from __future__ import annotations

import configparser
import xml.etree.ElementTree as ET
from collections.abc import Mapping

from destage.base.errors import DataError
from destage.base.io.names import printable
from destage.fit.importing import Source

__all__ = ["convert", "parse"]

#: Our key, and theirs in the .xml and the .cfg.
_SIZES = {
    "channels": ("fil.Channel", "pal.Channel"),
    "chips_per_channel": ("fil.Way", "pal.Package"),
    "dies_per_chip": ("fil.nand.Die", "pal.Die"),
    "planes_per_die": ("fil.nand.Plane", "pal.Plane"),
    "blocks_per_plane": ("fil.nand.Block", "pal.Block"),
    "pages_per_block": ("fil.nand.Page", "pal.Page"),
    "page_bytes": ("fil.nand.PageSize", "pal.PageSize"),
}
#: Page types: .xml (level of tPROG and tR), .cfg.
_TYPES = {0: (("0", "LSB"),), 1: (("0", "LSB"), ("1", "MSB"))}
_TYPES[2] = (("0", "LSB"), ("1", "CSB"), ("2", "MSB"))
_COUNTS = {
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "K": 1 << 10,
    "M": 1 << 20,
    "G": 1 << 30,
    "T": 1 << 40,
}
#: Times in picoseconds: those with two letters first.
_TIMES = {"ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1, "s": 10**12}
_VICTIMS = {"0": ("greedy", ""), "1": ("random", ""), "2": ("d-choices", "")}
_OLD_VICTIMS = {
    "0": ("greedy", ""),
    "1": ("cost-benefit", "SimpleSSD's cost has no square of the age"),
    "2": ("random", ""),
    "3": ("d-choices", ""),
}
_YES = ("1", "t", "true", "y", "yes")
#: MB/s of a lane by PCIe generation, with the line code.
_LANE = {1: 250, 2: 500, 3: 985, 4: 1969, 5: 3938}


def parse(text: str, path: str) -> Mapping[str, str]:
    """Keys as `section.key`. Raises `DataError` with the line."""
    found = _of_xml(text, path) if "<simplessd" in text else _of_cfg(text, path)
    if not {"fil.Channel", "pal.Channel"} & set(found):
        raise DataError(
            f"{printable(path)}: expected a configuration of SimpleSSD, with Channel in fil or pal"
        )
    return found


def _of_xml(text: str, path: str) -> dict[str, str]:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise DataError(f"{printable(path)}: expected SimpleSSD's .xml, found a document type")
    declared = text.find("<?xml")
    # The project's own sample has comments before the declaration, which XML forbids.
    body = text if declared <= 0 else text[:declared] + text[text.index("?>", declared) + 2 :]
    try:
        root = ET.fromstring(body)
    except ET.ParseError as e:
        line, column = e.position
        raise DataError(f"{printable(path)}:{line}:{column + 1}: expected XML: {e}") from e
    found: dict[str, str] = {}

    def walk(section: ET.Element, name: str) -> None:
        for one in section:
            own = f"{name}.{one.get('name', '')}".lstrip(".")
            if one.tag == "section":
                walk(one, own)
            elif one.tag == "config":
                level = one.get("level")
                found[own if level is None else f"{own}[{level}]"] = (one.text or "").strip()

    walk(root, "")
    return found


def _of_cfg(text: str, path: str) -> dict[str, str]:
    reader = configparser.ConfigParser(interpolation=None, strict=False)
    reader.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        reader.read_string(text)
    except configparser.Error as e:
        said = str(e).replace("\n", " ").replace("<string>", printable(path))
        raise DataError(f"{printable(path)}: expected [section] and key = value: {said}") from e
    return {f"{s}.{key}": value for s in reader.sections() for key, value in reader[s].items()}


def convert(source: Source) -> None:
    """SimpleSSD's keys as ours."""
    is_xml = "fil.Channel" in source.keys
    for ours, names in _SIZES.items():
        theirs = names[0] if is_xml else names[1]
        source.exact(ours, source.whole(theirs, _COUNTS), theirs)
    note = "SimpleSSD's planes work together only in multi-plane operations"
    source.near("queue_level", "die", note=note)
    _times(source, is_xml)
    _bus(source, "fil" if is_xml else "pal")
    _room(source, is_xml)
    _placement(source, is_xml)
    _interface(source, is_xml)


def _times(source: Source, is_xml: bool) -> None:
    kind = "fil.nand.NANDType" if is_xml else "pal.NANDType"
    types = source.whole(kind, least=0)
    if types not in _TYPES:
        raise source.error(kind, "0, 1 or 2")
    source.exact(None, None, kind, note="as the lists of times")
    for ours, theirs in (("read_ns", ("tR", "Read")), ("program_ns", ("tPROG", "Write"))):
        names = [
            f"fil.nand.timing.{theirs[0]}[{level}]" if is_xml else f"pal.{name}{theirs[1]}"
            for level, name in _TYPES[types]
        ]
        values = [_ns(source, name) for name in names]
        if len(set(values)) == 1:
            source.exact(ours, values[:1], *names)
        else:
            source.near(ours, values, *names, note="page types take turns in a block")
    erase = "fil.nand.timing.tBERS" if is_xml else "pal.Erase"
    source.exact("erase_ns", _ns(source, erase), erase)
    unused = [f"fil.nand.timing.{one}[{level}]" for one in ("tR", "tPROG") for level in "012"]
    unused += [f"pal.{page}{one}" for one in ("Read", "Write") for page in ("LSB", "CSB", "MSB")]
    known = {key for one in source.made for key in one.source}
    source.refuse("no such page type", *(name for name in unused if name not in known))
    cycles = [one for one in source.keys if one.startswith("fil.nand.timing.")]
    known = {key for one in source.made for key in one.source}
    source.refuse("commands and addresses take no time", *(n for n in cycles if n not in known))


def _ns(source: Source, key: str) -> int:
    return round(source.number(key, _TIMES) / 1000)


def _bus(source: Source, section: str) -> None:
    speed, width = f"{section}.DMASpeed", f"{section}.DMAWidth"
    per_s = source.number(speed, _COUNTS) * (1 if section == "fil" else 10**6)
    bytes_per_s = per_s * source.number(width) / 8
    if bytes_per_s <= 0:
        raise source.error(speed, "a number above 0")
    source.near("bus_ps_per_byte", round(1e12 / bytes_per_s), speed, width, note="data alone")
    source.near("bus", "shared", note="SimpleSSD's channel serves the unit that is ready")


def _room(source: Source, is_xml: bool) -> None:
    section = "ftl.common" if is_xml else "ftl"
    share = source.number(f"{section}.OverProvisioningRatio")
    if not 0 <= share < 1:
        raise source.error(f"{section}.OverProvisioningRatio", "a share below 1")
    source.exact("op_permille", round(1000 * share), f"{section}.OverProvisioningRatio")
    gc = "ftl.gc" if is_xml else "ftl"
    values = source.values
    blocks, pages = values["blocks_per_plane"], values["pages_per_block"]
    if source.given(f"{gc}.GCThreshold"):
        low = max(pages, int(source.number(f"{gc}.GCThreshold") * blocks) * pages)
        note = "a share of all blocks, of each plane here"
        source.near("gc_low_pages", low, f"{gc}.GCThreshold", note=note)
    victim = "ftl.gc.VictimSelectionPolicy" if is_xml else "ftl.EvictPolicy"
    if source.given(victim):
        source.word(victim, _VICTIMS if is_xml else _OLD_VICTIMS, "gc_victim")
    choices = f"{gc}.DChoiceParam"
    if source.given(choices) and source.values.get("gc_victim") == "d-choices":
        source.exact("gc_choices", source.whole(choices), choices)
    source.refuse("of another GC policy", choices)
    names = ("GCMode", "GCReclaimBlocks", "GCReclaimThreshold", "EraseThreshold")
    source.refuse("a block at a time, as soon as room is needed", *(f"ftl.{n}" for n in names))


def _placement(source: Source, is_xml: bool) -> None:
    order = "fil.nand.PageAllocation" if is_xml else "pal.PageAllocation"
    if source.given(order):
        found = source.keys[order].strip()
        if sorted(found) != sorted("CWDP"):
            raise source.error(order, "a permutation of CWDP")
        source.exact("striping", found, order)
    mapping = "ftl.MappingMode"
    if source.given(mapping):
        source.word(mapping, {"0": ("page", "")}, "ftl")
    superpage = ("ftl.common.SuperpageAllocation", "pal.SuperblockSize")
    source.refuse("no superpages: a page is mapped alone", *superpage)
    source.refuse("no multi-plane operations", "pal.EnableMultiPlaneOperation")
    filling = "ftl.common.warmup.FillRatio" if is_xml else "ftl.FillRatio"
    if source.given(filling):
        full = source.number(filling) > 0
        word = "sequential" if full else "none"
        note = "filled whole, in order; no page is written twice"
        source.near("precondition", word, filling, note=note)
    names = ("ftl.common.warmup.FillingMode", "ftl.common.warmup.InvalidFillRatio")
    source.refuse("see precondition and precondition_writes", *names)
    source.refuse("see precondition_writes", "ftl.FillingMode", "ftl.InvalidPageRatio")


def _interface(source: Source, is_xml: bool) -> None:
    section = "hil.interface.pcie." if is_xml else "nvme.PCIE"
    generation, lanes = f"{section}Generation", f"{section}Lane"
    if source.given(generation, lanes):
        number = source.whole(generation, least=0) + (0 if is_xml else 1)
        if number not in _LANE:
            raise source.error(generation, "a generation of PCIe")
        ps = round(10**6 / (_LANE[number] * source.whole(lanes)))
        note = "the line code alone is taken off"
        source.near("link_ps_per_byte", ps, generation, lanes, note=note)
    cached = "icl.EnableCache" if is_xml else "icl.EnableWriteCache"
    size = "icl.CacheSize"
    if source.given(cached, size) and source.keys[cached].strip().lower() in (
        "1",
        "true",
        "t",
        "y",
    ):
        slots = int(source.whole(size, _COUNTS, 0) // source.values["page_bytes"])
        note = "a write buffer: it merges no rewrites and keeps no reads"
        source.near("buffer_pages", slots, cached, size, note=note)
    rest = ("cpu.", "memory.", "dram.", "sim.", "hil.", "nvme.", "icl.", "power.", "fil.", "sata.")
    known = {key for one in source.made for key in one.source}
    others = [key for key in source.keys if key.startswith(rest) and key not in known]
    source.refuse("firmware, DRAM, power and host are not described by keys", *others)
