"""`destage devices import`: configurations of MQSim, FEMU and SimpleSSD as device files.

The files are written here from the projects' documented keys and defaults.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds

MQSIM_HOST = {
    "PCIe_Lane_Bandwidth": "1.00",
    "PCIe_Lane_Count": "4",
    "SATA_Processing_Delay": "400000",
    "Enable_ResponseTime_Logging": "false",
    "ResponseTime_Logging_Period_Length": "1000000",
}
MQSIM_DEVICE = {
    "Seed": "321",
    "Enabled_Preconditioning": "true",
    "Memory_Type": "FLASH",
    "HostInterface_Type": "NVME",
    "IO_Queue_Depth": "65535",
    "Queue_Fetch_Size": "512",
    "Caching_Mechanism": "ADVANCED",
    "Data_Cache_Sharing_Mode": "SHARED",
    "Data_Cache_Capacity": "268435456",
    "Data_Cache_DRAM_Row_Size": "8192",
    "Data_Cache_DRAM_Data_Rate": "800",
    "Data_Cache_DRAM_Data_Busrt_Size": "4",
    "Data_Cache_DRAM_tRCD": "13",
    "Data_Cache_DRAM_tCL": "13",
    "Data_Cache_DRAM_tRP": "13",
    "Address_Mapping": "PAGE_LEVEL",
    "Ideal_Mapping_Table": "false",
    "CMT_Capacity": "2097152",
    "CMT_Sharing_Mode": "SHARED",
    "Plane_Allocation_Scheme": "PWCD",
    "Transaction_Scheduling_Policy": "PRIORITY_OUT_OF_ORDER",
    "Overprovisioning_Ratio": "0.127",
    "GC_Exec_Threshold": "0.05",
    "GC_Block_Selection_Policy": "RGA",
    "Use_Copyback_for_GC": "false",
    "Preemptible_GC_Enabled": "true",
    "GC_Hard_Threshold": "0.005",
    "Dynamic_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Threshold": "100",
    "Preferred_suspend_erase_time_for_read": "700000",
    "Preferred_suspend_erase_time_for_write": "700000",
    "Preferred_suspend_write_time_for_read": "100000",
    "Flash_Channel_Count": "8",
    "Flash_Channel_Width": "1",
    "Channel_Transfer_Rate": "333",
    "Chip_No_Per_Channel": "4",
    "Flash_Comm_Protocol": "NVDDR2",
}
MQSIM_FLASH = {
    "Flash_Technology": "MLC",
    "CMD_Suspension_Support": "ERASE",
    "Page_Read_Latency_LSB": "75000",
    "Page_Read_Latency_CSB": "75000",
    "Page_Read_Latency_MSB": "75000",
    "Page_Program_Latency_LSB": "750000",
    "Page_Program_Latency_CSB": "750000",
    "Page_Program_Latency_MSB": "1500000",
    "Block_Erase_Latency": "3800000",
    "Block_PE_Cycles_Limit": "10000",
    "Suspend_Erase_Time": "700000",
    "Suspend_Program_Time": "100000",
    "Die_No_Per_Chip": "2",
    "Plane_No_Per_Die": "2",
    "Block_No_Per_Plane": "2048",
    "Page_No_Per_Block": "256",
    "Page_Capacity": "8192",
    "Page_Metadat_Capacity": "448",
}


def mqsim(**changes: str | None) -> str:
    def tags(keys: Mapping[str, str]) -> str:
        given = {key: changes.get(key, value) for key, value in keys.items()}
        return "".join(f"<{k}>{v}</{k}>\n" for k, v in given.items() if v is not None)

    flash = f"<Flash_Parameter_Set>\n{tags(MQSIM_FLASH)}</Flash_Parameter_Set>\n"
    device = f"<Device_Parameter_Set>\n{tags(MQSIM_DEVICE)}{flash}</Device_Parameter_Set>\n"
    host = f"<Host_Parameter_Set>\n{tags(MQSIM_HOST)}</Host_Parameter_Set>\n"
    declared = '<?xml version="1.0" encoding="us-ascii"?>\n'
    return f"{declared}<Execution_Parameter_Set>\n{host}{device}</Execution_Parameter_Set>\n"


FEMU = {
    "secsz": "512",
    "secs_per_pg": "8",
    "pgs_per_blk": "256",
    "blks_per_pl": "256",
    "pls_per_lun": "1",
    "luns_per_ch": "8",
    "nchs": "8",
    "ssd_size": "12288",
    "pg_rd_lat": "40000",
    "pg_wr_lat": "200000",
    "blk_er_lat": "2000000",
    "ch_xfer_lat": "0",
    "gc_thres_pcent": "75",
    "gc_thres_pcent_high": "95",
}


def femu(**changes: str) -> str:
    """A run script: variables, and the options made of them."""
    keys = {**FEMU, **changes}
    lines = ["#!/bin/bash", "# parameters=of the device", 'OSIMGF="$HOME/images/u20s.qcow2"']
    lines += [f"{key}={value} # explained" for key, value in keys.items()]
    lines += ['OPTIONS="-device femu"', 'OPTIONS=${OPTIONS}",devsz_mb=${ssd_size}"']
    lines += ['OPTIONS=${OPTIONS}",femu_mode=1"']
    lines += [f'OPTIONS=${{OPTIONS}}",{key}=${{{key}}}"' for key in keys if key != "ssd_size"]
    return "\n".join(lines) + "\n"


SIMPLESSD = """[cpu]
ClockSpeed = 400000000
[nvme]
PCIEGeneration = 2
PCIELane = 4
[icl]
EnableReadCache = 1
EnableWriteCache = 1
CacheSize = 33554432
[ftl]
MappingMode = 0
OverProvisioningRatio = 0.25
GCThreshold = 0.05
EvictPolicy = 0
FillRatio = 1.0
FillingMode = 0
GCMode = 0
[pal]
Channel = 8
Package = 4
Die = 2
Plane = 2
Block = 512
Page = 512
PageSize = 16384
EnableMultiPlaneOperation = 1
NANDType = 1
LSBRead = 40000000
LSBWrite = 500000000
MSBRead = 65000000
MSBWrite = 1300000000
Erase = 3500000000
DMASpeed = 400
DMAWidth = 8
SuperblockSize = C
PageAllocation = CWDP
"""


def simplessd_xml() -> str:
    """The same device in the newer format, with suffixes."""

    def section(name: str, keys: Mapping[str, str], inner: Iterable[str] = ()) -> str:
        lines = [f'<config name="{key}">{value}</config>' for key, value in keys.items()]
        return f'<section name="{name}">{"".join([*lines, *inner])}</section>'

    times = "".join(
        f'<config name="{name}" level="{level}">{value}</config>'
        for name, values in (("tPROG", ("500us", "1300us")), ("tR", ("40us", "65us")))
        for level, value in enumerate(values)
    )
    timing = f'<section name="timing">{times}<config name="tBERS">3500us</config></section>'
    nand = {"Die": "2", "Plane": "2", "Block": "512", "Page": "512", "PageSize": "16K"}
    nand |= {"NANDType": "1", "PageAllocation": "CWDP"}
    fil = {"Channel": "8", "Way": "4", "DMASpeed": "400m", "DMAWidth": "8"}
    gc = section("gc", {"VictimSelectionPolicy": "0", "GCThreshold": "0.05"})
    common = section("common", {"OverProvisioningRatio": "0.25"})
    pcie = section("pcie", {"Generation": "3", "Lane": "4"})
    return (
        '<!-- a comment --><?xml version="1.0" encoding="UTF-8" ?><simplessd version="2.1">'
        + section("hil", {}, [section("interface", {}, [pcie])])
        + section("icl", {"EnableCache": "true", "CacheSize": "32M"})
        + section("ftl", {"MappingMode": "0"}, [gc, common])
        + section("fil", fil, [section("nand", nand, [timing])])
        + "</simplessd>"
    )


def imported(simulator: str, text: str, folder: Path) -> tuple[ds.ImportedDevice, dict[str, Any]]:
    path = folder / "source"
    path.write_text(text)
    made = ds.import_device(simulator, path)
    return made, tomllib.loads(made.device_toml)["device"]


def test_mqsim_s_default_device(tmp_path: Path) -> None:
    made, keys = imported("mqsim", mqsim(), tmp_path)
    expected = {
        "channels": 8,
        "chips_per_channel": 4,
        "dies_per_chip": 2,
        "planes_per_die": 2,
        "blocks_per_plane": 2048,
        "pages_per_block": 256,
        "page_bytes": 8192,
        "read_ns": [75_000],
        "program_ns": [750_000, 1_500_000],
        "erase_ns": 3_800_000,
        "op_permille": 127,
        "copyback": False,
        "striping": "PWCD",
        "pe_cycles": 10_000,
        "gc_victim": "d-choices",
        "gc_choices": 11,
        "buffer_pages": 32_768,
        "bus_ps_per_byte": 3003,
        "link_ps_per_byte": 250,
        "link_duplex": "full",
    }
    assert {key: keys[key] for key in expected} == expected
    assert "channels = 8                       # exact (Flash_Channel_Count)" in made.device_toml
    # Every key of theirs is there, once.
    theirs = [one for key in made.keys for one in key.source]
    assert sorted(theirs) == sorted({*MQSIM_HOST, *MQSIM_DEVICE, *MQSIM_FLASH})
    status = {one: key.status for key in made.keys for one in key.source}
    assert status["Page_Read_Latency_LSB"] == "exact"
    assert status["GC_Block_Selection_Policy"] == "approximated"
    assert status["Static_Wearleveling_Enabled"] == "refused"
    assert "# Static_Wearleveling_Enabled = true: " in made.device_toml


def test_femu_s_default_device(tmp_path: Path) -> None:
    made, keys = imported("femu", femu(), tmp_path)
    expected = {
        "channels": 8,
        "chips_per_channel": 8,
        "planes_per_die": 1,
        "blocks_per_plane": 256,
        "pages_per_block": 256,
        "page_bytes": 4096,
        "logical_pages": 12288 * 256,
        "read_ns": [40_000],
        "program_ns": [200_000],
        "erase_ns": 2_000_000,
        "bus_ps_per_byte": 0,
        "gc_victim": "greedy",
    }
    assert {key: keys[key] for key in expected} == expected
    assert ds.open_device(written(made, tmp_path)).logical_bytes == 12288 << 20
    options, other = imported("femu", femu(gc_policy="fifo", pg_xfer_lat="4096"), tmp_path)
    assert (other["gc_victim"], other["bus"], other["bus_ps_per_byte"]) == ("fifo", "shared", 1000)
    assert {key.status for key in options.keys} == {"exact", "approximated", "refused"}


def written(made: ds.ImportedDevice, folder: Path) -> Path:
    path = folder / "mine.toml"
    path.write_text(made.device_toml)
    return path


def test_both_formats_of_simplessd_give_the_same_device(tmp_path: Path) -> None:
    expected = {
        "channels": 8,
        "chips_per_channel": 4,
        "dies_per_chip": 2,
        "planes_per_die": 2,
        "blocks_per_plane": 512,
        "pages_per_block": 512,
        "page_bytes": 16_384,
        "read_ns": [40_000, 65_000],
        "program_ns": [500_000, 1_300_000],
        "erase_ns": 3_500_000,
        "op_permille": 250,
        "gc_victim": "greedy",
        "striping": "CWDP",
        "bus_ps_per_byte": 2500,
        "buffer_pages": 2048,
        "link_ps_per_byte": 254,
        "gc_low_pages": 25 * 512,
    }
    for text in (SIMPLESSD, simplessd_xml()):
        made, keys = imported("simplessd", text, tmp_path)
        assert {key: keys[key] for key in expected} == expected
        assert ds.open_device(written(made, tmp_path)).size["units"] == 64


def test_the_command_writes_the_file(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "ssdconfig.xml").write_text(mqsim())
    done = destage(
        "devices", "import", "mqsim", "ssdconfig.xml", "-o", "m.toml", "--json", "m.json"
    )
    assert done.status == 0, done
    assert "exact" in done.err
    listed = json.loads((tmp_path / "m.json").read_text())["keys"]
    assert {one["status"] for one in listed} == {"exact", "approximated", "refused"}
    assert destage("devices", "m.toml").status == 0


@pytest.mark.parametrize(
    ("simulator", "text", "said"),
    [
        ("mqsim", "<a><b></a>", "expected XML"),
        ("mqsim", "<a><b>1</b></a>", "expected MQSim's ssdconfig.xml, with Flash_Channel_Count"),
        ("mqsim", mqsim(Page_Capacity=None), "Page_Capacity: expected a number, it is missing"),
        ("mqsim", mqsim(Flash_Technology="QLC"), "expected SLC, MLC or TLC, found QLC"),
        ("mqsim", mqsim(Overprovisioning_Ratio="1.5"), "expected a share below 1"),
        ("femu", "secsz=512\n", "nchs is missing"),
        ("femu", femu(nchs="many"), "nchs: expected a number, found many"),
        ("simplessd", "[a]\nb = 1\n", "with Channel in fil or pal"),
        ("simplessd", "no section\n", "expected [section] and key = value"),
        ("simplessd", SIMPLESSD.replace("0.25", "0.0"), "no device here has all of it"),
    ],
)
def test_what_is_none_is_refused(
    destage: Destage, tmp_path: Path, simulator: str, text: str, said: str
) -> None:
    (tmp_path / "source").write_text(text)
    done = destage("devices", "import", simulator, "source")
    assert (done.status, said in done.err) == (65, True), done


def test_words_that_are_unknown_are_usage_errors(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    assert destage("devices", "import", "disksim", "a").status == 2
    assert destage("devices", "import", "femu", "nowhere").status == 66
    with pytest.raises(ds.UsageError, match="expected mqsim, femu, simplessd"):
        ds.import_device("disksim", tmp_path / "a")
