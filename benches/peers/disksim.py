"""DiskSim 4.0 with the SSD extension: its parameter file, a run, its figures.

Everything between the requests and the SSD (driver, buses, controller) takes no time here and has
no limit that could be met, so that what is compared is the SSD alone. DiskSim moves 528 bytes a
sector, spare area included; the time per byte is lowered so that a page takes as long as ours.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from peers.drives import Device
from peers.process import Served, run

SECTOR_BYTES = 512
MOVED_PER_SECTOR_BYTES = 528
NO_LIMIT = 1_000_000

# Histograms that DiskSim wants to be defined. Only the sum of one is looked at.
HISTOGRAMS = (
    *("Queue time", "Inter-sleep time", "Inter-think time", "Instantaneous queue length"),
    *("Response time", "Inter-arrival time", "Read inter-arrival", "Write inter-arrival"),
    *("Read request size", "Write request size", "Request size", "Access size"),
    *("Idle period length", "Streak length", "Trace queue time", "Trace response time"),
    *("Trace access time", "Trace access diff time", "Trace write access time"),
    *("Trace write access diff time", "Trace rotation miss time", "Physical access time"),
    *("Seek distance", "Sub-optimal mapping penalty", "Seek time", "Rotational latency"),
    *("Transfer time", "Positioning time", "Access time", "Arbitration wait time"),
    *("Bus idle period length", "Inter-request distance", "Time limit duration"),
    *("Empty queue delay", "Initiate next delay", "Batch size"),
)

# What to print: all of it stays off but reads and writes apart.
PRINTED = {
    "iodriver stats": (
        "disksim_iodriver_stats",
        "driver",
        "size locality blocking interference queue idle intarr streak stamp per-device",
    ),
    "bus stats": ("disksim_bus_stats", "bus", "idle arbwait"),
    "ctlr stats": (
        "disksim_ctlr_stats",
        "controller",
        "cache size locality blocking interference queue crit idle intarr streak stamp per-device",
    ),
    "device stats": (
        "disksim_device_stats",
        "device",
        "queue crit idle intarr size seek latency xfer acctime interfere buffer",
    ),
}


def block(kind: str, keys: dict[str, Any]) -> str:
    return f"{kind} {{ " + ",\n".join(f"{key} = {value}" for key, value in keys.items()) + " }"


def first_come_first_served() -> str:
    keys = (
        *("Cylinder mapping strategy", "Write initiation delay", "Read initiation delay"),
        *("Sequential stream scheme", "Maximum concat size", "Overlapping request scheme"),
        *("Sequential stream diff maximum", "Scheduling timeout scheme", "Timeout time/weight"),
        *("Timeout scheduling", "Scheduling priority scheme"),
    )
    settings: dict[str, Any] = {
        "Scheduling policy": 1,
        **dict.fromkeys(keys, 0),
        "Priority scheduling": 1,
    }
    settings["Write initiation delay"] = settings["Read initiation delay"] = "0.0"
    return block("disksim_ioqueue", settings)


def statistics() -> str:
    parts = {}
    for name, (kind, of, what) in PRINTED.items():
        keys = dict.fromkeys((f"Print {of} {word} stats" for word in what.split()), 0)
        if of == "driver":
            keys["Print driver crit stats"] = 1
        parts[name] = block(kind, keys)
    flow = ("Print per-process stats", "Print per-CPU stats", "Print all interrupt stats")
    parts["process flow stats"] = block(
        "disksim_pf_stats", dict.fromkeys((*flow, "Print sleep stats"), 0)
    )
    return block("disksim_stats Stats", parts)


def ssd(drive: Device) -> str:
    sectors = drive.page_bytes // SECTOR_BYTES
    ms_per_byte = drive.bus_ps_per_byte * SECTOR_BYTES / MOVED_PER_SECTOR_BYTES / 1e9
    return block(
        "ssdmodel_ssd SSD",
        {
            "Reserve pages percentage": drive.reserve_percent,
            "Minimum free blocks percentage": drive.low_percent,
            "Write policy": 2,  # a log of pages
            "Cleaning policy": 2,  # greedy
            "Planes per package": 1,
            "Blocks per plane": drive.blocks,
            "Plane block mapping": 3,
            "Copy back": int(drive.copyback),
            "Number of parallel units": 1,
            "Allocation pool logic": 2,  # a pool for each plane
            "Elements per gang": 1,
            "Gang share": 1,
            "Cleaning in background": int(drive.background),
            "Command overhead": "0.0",
            "Bus transaction latency": "0.0",
            "Bulk sector transfer time": 0,
            "Flash chip elements": drive.chips,
            "Page size": sectors,
            "Pages per block": drive.pages_per_block,
            "Blocks per element": drive.blocks,
            "Element stride pages": 1,
            "Never disconnect": 1,
            "Print stats": 1,
            "Max queue length": NO_LIMIT,
            "Scheduler": first_come_first_served(),
            "Timing model": 1,
            "Chip xfer latency": f"{ms_per_byte:.14f}",
            "Page read latency": f"{drive.read_ns / 1e6:.6f}",
            "Page write latency": f"{drive.program_ns / 1e6:.6f}",
            "Block erase latency": f"{drive.erase_ns / 1e6:.6f}",
        },
    )


def parameters(drive: Device) -> str:
    """A whole parameter file: one SSD behind a driver, two buses and a controller."""
    no_time = {
        "Arbitration type": 1,
        "Arbitration time": "0.0",
        "Read block transfer time": "0.0",
        "Write block transfer time": "0.0",
        "Print stats": 0,
    }
    parts = [
        block("disksim_global Global", {"Init Seed": 1, "Stat definition file": "histograms"}),
        block("disksim_iosim Sim", {"I/O Trace Time Scale": "1.0"}),
        statistics(),
        block(
            "disksim_iodriver DRIVER",
            {
                "type": 1,
                "Constant access time": "0.0",
                "Scheduler": first_come_first_served(),
                "Use queueing in subsystem": 1,
            },
        ),
        block("disksim_bus TOP", {"type": 1, **no_time}),
        block("disksim_bus HBA", {"type": 2, **no_time}),
        block(
            "disksim_ctlr CONTROLLER",
            {
                "type": 1,
                "Scale for delays": "0.0",
                "Bulk sector transfer time": "0.0",
                "Maximum queue length": NO_LIMIT,
                "Print stats": 0,
            },
        ),
        ssd(drive),
        "instantiate [ statistics ] as Stats",
        "instantiate [ ssd0 ] as SSD",
        "instantiate [ top0 ] as TOP",
        "instantiate [ hba0 ] as HBA",
        "instantiate [ driver0 ] as DRIVER",
        "instantiate [ controller0 ] as CONTROLLER",
        "topology disksim_iodriver driver0 [ disksim_bus top0 [ disksim_ctlr controller0 ["
        " disksim_bus hba0 [ ssdmodel_ssd ssd0 [] ] ] ] ]",
        organisation(),
        block("disksim_pf Proc", {"Number of processors": 1, "Process-Flow Time Scale": "1.0"}),
    ]
    return "\n".join(parts) + "\n"


def organisation() -> str:
    """One device, all of it."""
    return block(
        "disksim_logorg org0",
        {
            "Addressing mode": "Array",
            "Distribution scheme": "Striped",
            "Redundancy scheme": "Noredun",
            "devices": "[ ssd0 ]",
            "Stripe unit": 128,
            "Synch writes for safety": 0,
            "Number of copies": 2,
            "Copy choice on read": 6,
            "RMW vs. reconstruct": "0.5",
            "Parity stripe unit": 128,
            "Parity rotation type": 1,
        },
    )


def histograms() -> str:
    bounds = " ".join(str(bound) for bound in range(1, 10))
    return "".join(
        f"{name}\nDistribution size: 10\nScale/Equals: 1/0\n{bounds}\n\n" for name in HISTOGRAMS
    )


def simulate(program: Path, drive: Device, trace: Path, folder: Path) -> Served:
    """Runs a trace in DiskSim's ascii format."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "parameters").write_text(parameters(drive))
    (folder / "histograms").write_text(histograms())
    output = folder / "output"
    output.unlink(missing_ok=True)
    ended = run([program, "parameters", "output", "ascii", trace.resolve(), "0"], folder)
    if not ended.well or not output.exists():
        return Served(cpu_s=ended.cpu_s, failed=ended.why or ended.printed[-120:])
    text = output.read_text(errors="replace")

    def figure(name: str) -> float:
        found = re.search(rf"^{re.escape(name)}\s*(\S+)", text, re.MULTILINE)
        return float(found[1]) if found else float("nan")

    def over_elements(name: str) -> int:
        found = re.findall(rf"^ssd\s+#0 elem #\d+\s+{re.escape(name)}\s*(\d+)", text, re.MULTILINE)
        return sum(map(int, found))

    # DiskSim stops when the trace is at its end and says what arrived; what was completed is the sum
    # of the histogram of response times.
    system = "Overall I/O System"
    title = rf"^{system} Response time distribution\n.*\n(.*)$"
    histogram = re.search(title, text, re.MULTILINE)
    kind = f"{system} Non-Critical {{}} Response time average:"
    return Served(
        cpu_s=ended.cpu_s,
        served=sum(map(int, histogram[1].split())) if histogram else None,
        mean_ns=figure(f"{system} Response time average:") * 1e6,
        read_mean_ns=figure(kind.format("Read")) * 1e6,
        write_mean_ns=figure(kind.format("Write")) * 1e6,
        collections=over_elements("Number of cleans:"),
        moves=over_elements("Pages moved:"),
        erases=over_elements("Number of cleans:"),  # every clean erases one block
    )
