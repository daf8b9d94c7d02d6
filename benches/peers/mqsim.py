"""MQSim: its two files, a run, its figures.

No data cache, the whole mapping table in memory, no suspension, no static wear levelling and a host
bus that takes no time, so that what is compared is queues, flash and collection. MQSim serves reads
before programs and adds the commands themselves: a microsecond or two a page.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as Xml
from collections.abc import Mapping
from pathlib import Path

from peers.drives import Device
from peers.process import Served, run

PAGE_TYPES = ("LSB", "CSB", "MSB")


def settings(drive: Device) -> Xml.Element:
    """The drive; what is not said keeps MQSim's default."""
    flash: dict[str, object] = {
        "Flash_Technology": "SLC",
        "CMD_Suspension_Support": "NONE",
        **{f"Page_Read_Latency_{kind}": drive.read_ns for kind in PAGE_TYPES},
        **{f"Page_Program_Latency_{kind}": drive.program_ns for kind in PAGE_TYPES},
        "Block_Erase_Latency": drive.erase_ns,
        "Die_No_Per_Chip": 1,
        "Plane_No_Per_Die": 1,
        "Block_No_Per_Plane": drive.blocks,
        "Page_No_Per_Block": drive.pages_per_block,
        "Page_Capacity": drive.page_bytes,
        "Page_Metadat_Capacity": 128,
    }
    device: dict[str, object] = {
        "Seed": 1,
        "Enabled_Preconditioning": "false",
        "HostInterface_Type": "NVME",
        "IO_Queue_Depth": 65535,
        "Ideal_Mapping_Table": "true",
        "Plane_Allocation_Scheme": "CWDP",
        "Transaction_Scheduling_Policy": "OUT_OF_ORDER",
        "Overprovisioning_Ratio": drive.reserve_percent / 100,
        "GC_Exec_Threshold": drive.low_percent / 100,
        "GC_Block_Selection_Policy": "GREEDY",
        "Use_Copyback_for_GC": str(drive.copyback).lower(),
        "Preemptible_GC_Enabled": "false",
        "Static_Wearleveling_Enabled": "false",
        "Flash_Channel_Count": drive.channels,
        "Flash_Channel_Width": 1,
        "Channel_Transfer_Rate": 1_000_000 // drive.bus_ps_per_byte,  # million bytes a second
        "Chip_No_Per_Channel": drive.chips_per_channel,
    }
    root = Xml.Element("Execution_Parameter_Set")
    host = {"PCIe_Lane_Bandwidth": 1000.0, "PCIe_Lane_Count": 4}  # no wait for the host's bus
    put(Xml.SubElement(root, "Host_Parameter_Set"), host)
    parent = Xml.SubElement(root, "Device_Parameter_Set")
    put(parent, device)
    put(Xml.SubElement(parent, "Flash_Parameter_Set"), flash)
    return root


def workload(drive: Device, trace: Path) -> Xml.Element:
    """One flow that replays a trace with times in nanoseconds, over the whole drive."""

    def all_of(count: int) -> str:
        return ",".join(map(str, range(count)))

    root = Xml.Element("MQSim_IO_Scenarios")
    flow = Xml.SubElement(Xml.SubElement(root, "IO_Scenario"), "IO_Flow_Parameter_Set_Trace_Based")
    put(
        flow,
        {
            "Priority_Class": "HIGH",
            "Device_Level_Data_Caching_Mode": "TURNED_OFF",
            "Channel_IDs": all_of(drive.channels),
            "Chip_IDs": all_of(drive.chips_per_channel),
            "Die_IDs": 0,
            "Plane_IDs": 0,
            "Initial_Occupancy_Percentage": 0,
            "File_Path": trace.resolve(),
            "Percentage_To_Be_Executed": 100,
            "Relay_Count": 1,
            "Time_Unit": "NANOSECOND",
        },
    )
    return root


def put(parent: Xml.Element, keys: Mapping[str, object]) -> None:
    for key, value in keys.items():
        Xml.SubElement(parent, key).text = str(value)


def simulate(program: Path, drive: Device, trace: Path, folder: Path) -> Served:
    """Runs a trace in MQSim's format, times in nanoseconds."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, root in (("drive", settings(drive)), ("workload", workload(drive, trace))):
        Xml.indent(root)
        text = Xml.tostring(root, encoding="unicode")
        (folder / f"{name}.xml").write_text(f'<?xml version="1.0" encoding="us-ascii"?>\n{text}\n')
    output = folder / "workload_scenario_1.xml"
    output.unlink(missing_ok=True)
    ended = run([program, "-i", "drive.xml", "-w", "workload.xml"], folder)
    if not ended.well or not output.exists():
        return Served(cpu_s=ended.cpu_s, failed=ended.why or ended.printed[-120:])
    text = output.read_text()

    def figure(name: str) -> float:
        found = re.search(rf'\b{name}="([^"]*)"', text) or re.search(rf"<{name}>([^<]*)<", text)
        return float(found[1]) if found else float("nan")

    # The file repeats how many requests were made; only the terminal says how many were served.
    served = re.search(r"total requests serviced:\s*(\d+)", ended.printed)
    collections = int(figure("Total_GC_Executions"))
    moves = collections * figure("Average_Page_Movement_For_GC") if collections else 0
    return Served(
        cpu_s=ended.cpu_s,
        served=int(served[1]) if served else None,
        mean_ns=figure("Device_Response_Time") * 1e3,
        collections=collections,
        moves=round(moves),
        erases=int(figure("Issued_Flash_Erase_CMD")),
    )
