"""MQSim: `ssdconfig.xml` (Tavakkol et al., FAST 2018; its keys as in the project's README)."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping

from destage.base.errors import DataError
from destage.base.io.names import printable
from destage.fit.importing import Source

__all__ = ["convert", "parse"]

_SIZES = {
    "Flash_Channel_Count": "channels",
    "Chip_No_Per_Channel": "chips_per_channel",
    "Die_No_Per_Chip": "dies_per_chip",
    "Plane_No_Per_Die": "planes_per_die",
    "Block_No_Per_Plane": "blocks_per_plane",
    "Page_No_Per_Block": "pages_per_block",
    "Page_Capacity": "page_bytes",
}
#: Page types of a block by technology.
_TYPES = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "CSB", "MSB")}
_VICTIMS = {
    "GREEDY": ("greedy", ""),
    "RGA": ("d-choices", "the best of log2(blocks) sampled blocks"),
    "RANDOM": ("random", ""),
    "RANDOM_P": ("random", "MQSim takes sealed blocks only, as every GC policy here"),
    "RANDOM_PP": ("random", "MQSim also asks for some invalid pages"),
    "FIFO": ("fifo", ""),
}


def parse(text: str, path: str) -> Mapping[str, str]:
    """Tags and their texts. Raises `DataError` with the line."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise DataError(f"{printable(path)}: expected MQSim's ssdconfig.xml, found a document type")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as e:
        line, column = e.position
        raise DataError(f"{printable(path)}:{line}:{column + 1}: expected XML: {e}") from e
    found = {one.tag: (one.text or "").strip() for one in root.iter() if len(one) == 0}
    if "Flash_Channel_Count" not in found:
        raise DataError(
            f"{printable(path)}: expected MQSim's ssdconfig.xml, with Flash_Channel_Count"
        )
    return found


def convert(source: Source) -> None:
    """MQSim's keys as ours."""
    for theirs, ours in _SIZES.items():
        source.exact(ours, source.whole(theirs), theirs)
    source.near(
        "queue_level", "die", note="MQSim's dies work side by side; its multi-plane commands do not"
    )
    _times(source)
    _room(source)
    _collector(source)
    _placement(source)
    _interface(source)
    _refused(source)


def _times(source: Source) -> None:
    technology = source.keys.get("Flash_Technology", "MLC")
    if technology not in _TYPES:
        raise source.error("Flash_Technology", "SLC, MLC or TLC")
    for what, ours in (("Read", "read_ns"), ("Program", "program_ns")):
        names = [f"Page_{what}_Latency_{one}" for one in _TYPES[technology]]
        values = [source.whole(name, least=0) for name in names]
        if len(set(values)) == 1:
            source.exact(ours, values[:1], *names)
        else:
            source.near(ours, values, *names, note="page types take turns in a block")
        unused = [f"Page_{what}_Latency_{one}" for one in _TYPES["TLC"]]
        source.refuse(f"{technology} has no such page", *(n for n in unused if n not in names))
    source.exact(None, technology, "Flash_Technology", note="as the lists of times")
    source.exact("erase_ns", source.whole("Block_Erase_Latency", least=0), "Block_Erase_Latency")
    if source.given("Block_PE_Cycles_Limit"):
        limit = source.whole("Block_PE_Cycles_Limit", least=0)
        source.exact("pe_cycles", limit, "Block_PE_Cycles_Limit")
    rate = source.number("Channel_Transfer_Rate") * source.number("Flash_Channel_Width")
    if rate <= 0:
        raise source.error("Channel_Transfer_Rate", "a number above 0")
    keys = ("Channel_Transfer_Rate", "Flash_Channel_Width")
    note = "without the commands' own cycles and the pages' metadata"
    source.near("bus_ps_per_byte", round(1e6 / rate), *keys, note=note)
    source.near("bus", "shared", note="MQSim's channel serves the unit that is ready")


def _room(source: Source) -> None:
    share = source.number("Overprovisioning_Ratio")
    if not 0 <= share < 1:
        raise source.error("Overprovisioning_Ratio", "a share below 1")
    permille = round(1000 * share)
    if abs(1000 * share - permille) < 1e-9:
        source.exact("op_permille", permille, "Overprovisioning_Ratio")
    else:
        note = f"{share:g} in thousandths"
        source.near("op_permille", permille, "Overprovisioning_Ratio", note=note)


def _collector(source: Source) -> None:
    values = source.values
    blocks, pages = values["blocks_per_plane"], values["pages_per_block"]
    if source.given("GC_Exec_Threshold"):
        free = math.floor(source.number("GC_Exec_Threshold") * blocks)
        # Looked at when a block has been opened: its first page is programmed then.
        low = max(2 * pages, (free - 1) * pages + pages - 1)
        note = "MQSim counts free blocks when it opens one"
        source.near("gc_low_pages", low, "GC_Exec_Threshold", note=note)
    if source.given("GC_Block_Selection_Policy"):
        source.word("GC_Block_Selection_Policy", _VICTIMS, "gc_victim")
        if source.values.get("gc_victim") == "d-choices":
            source.near("gc_choices", max(1, int(math.log2(blocks))), note="MQSim's log2(blocks)")
    if source.given("Use_Copyback_for_GC"):
        copies = source.keys["Use_Copyback_for_GC"].strip().lower() == "true"
        source.exact("copyback", copies, "Use_Copyback_for_GC")
    source.near("gc_stream", "own", note="MQSim fills separate blocks with moved pages")
    if source.given("Dynamic_Wearleveling_Enabled"):
        note = "the free block with the fewest erases is opened"
        source.exact(None, None, "Dynamic_Wearleveling_Enabled", note=note)
    note = "a device here moves no cold blocks to spread erases"
    source.refuse(note, "Static_Wearleveling_Enabled", "Static_Wearleveling_Threshold")
    note = "GC here is of whole blocks, or steps between writes: gc_step_pages"
    source.refuse(note, "Preemptible_GC_Enabled", "GC_Hard_Threshold")


def _placement(source: Source) -> None:
    if source.given("Plane_Allocation_Scheme"):
        scheme = source.keys["Plane_Allocation_Scheme"].strip()
        if sorted(scheme) == sorted("CWDP"):
            source.exact("striping", scheme, "Plane_Allocation_Scheme")
        elif set(scheme) <= set("CWDPF"):
            note = "the levels that it leaves open are chosen by workload"
            source.near("alloc", "dynamic", "Plane_Allocation_Scheme", note=note)
        else:
            raise source.error("Plane_Allocation_Scheme", "a permutation of CWDP")
    if source.given("Enabled_Preconditioning"):
        full = source.keys["Enabled_Preconditioning"].strip().lower() == "true"
        word = "random" if full else "none"
        note = "MQSim fills by the statistics of its workload" if full else ""
        if full:
            source.near("precondition", word, "Enabled_Preconditioning", note=note)
        else:
            source.exact("precondition", word, "Enabled_Preconditioning")
    _mapping(source)


def _mapping(source: Source) -> None:
    if source.given("Address_Mapping"):
        source.word("Address_Mapping", {"PAGE_LEVEL": ("page", "")}, "ftl")
    ideal = source.keys.get("Ideal_Mapping_Table", "false").strip().lower() == "true"
    note = "the whole map is in DRAM"
    if ideal:
        source.exact(None, None, "Ideal_Mapping_Table", note=note)
    elif "Ideal_Mapping_Table" in source.keys:
        source.near(None, None, "Ideal_Mapping_Table", note=note)
    source.refuse(f"{note}: nothing is looked up in flash", "CMT_Capacity", "CMT_Sharing_Mode")


def _interface(source: Source) -> None:
    if source.given("PCIe_Lane_Bandwidth", "PCIe_Lane_Count"):
        gb_per_s = source.number("PCIe_Lane_Bandwidth") * source.number("PCIe_Lane_Count")
        if gb_per_s <= 0:
            raise source.error("PCIe_Lane_Bandwidth", "a number above 0")
        names = ("PCIe_Lane_Bandwidth", "PCIe_Lane_Count")
        ps = round(1000 / gb_per_s)
        source.near("link_ps_per_byte", ps, *names, note="without the packets' headers")
    if source.given("HostInterface_Type"):
        kind = source.keys["HostInterface_Type"].strip()
        source.word(
            "HostInterface_Type", {"NVME": ("full", ""), "SATA": ("half", "")}, "link_duplex"
        )
        if kind == "SATA" and source.given("SATA_Processing_Delay"):
            delay = source.whole("SATA_Processing_Delay", least=0)
            note = "MQSim delays both ways"
            source.near("firmware_read_ns", delay, "SATA_Processing_Delay", note=note)
            source.near("firmware_write_ns", delay, note=f"as firmware_read_ns; {note}")
    if source.given("Data_Cache_Capacity") and source.keys.get("Caching_Mechanism") != "TURNED_OFF":
        slots = int(source.whole("Data_Cache_Capacity", least=0) // source.values["page_bytes"])
        note = "a write buffer: it merges no rewrites and keeps no reads"
        source.near("buffer_pages", slots, "Data_Cache_Capacity", note=note)


def _refused(source: Source) -> None:
    first = "sched = read_first excludes a shared bus and a link: requests are served as they come"
    source.refuse(first, "Transaction_Scheduling_Policy")
    source.refuse(f"suspension needs {first}", "CMD_Suspension_Support")
    suspension = ("for_read", "for_write")
    source.refuse("no suspension", *(f"Preferred_suspend_erase_time_{one}" for one in suspension))
    names = ("Preferred_suspend_write_time_for_read", "Suspend_Erase_Time", "Suspend_Program_Time")
    source.refuse("no suspension", *names)
    source.refuse("within the rate of the channel", "Flash_Comm_Protocol")
    source.refuse("a device here counts no spare bytes", "Page_Metadat_Capacity")
    dram = ("Row_Size", "Data_Rate", "Data_Busrt_Size", "tRCD", "tCL", "tRP")
    source.refuse("DRAM takes no time here", *(f"Data_Cache_DRAM_{one}" for one in dram))
    source.refuse("one host", "Data_Cache_Sharing_Mode", "Caching_Mechanism")
    source.refuse("the host's: --queue-depth of a run", "IO_Queue_Depth", "Queue_Fetch_Size")
    source.refuse("the link has no delay of its own", "SATA_Processing_Delay")
    names = ("Enable_ResponseTime_Logging", "ResponseTime_Logging_Period_Length", "Seed")
    source.refuse("of the simulator, not of the device", *names, "Memory_Type")
