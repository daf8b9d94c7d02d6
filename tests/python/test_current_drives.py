"""Presets of current SSDs: what `destage devices` says of them; papers' devices have none of it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Destage

import destage as ds


def test_devices_say_what_handles_cost_and_where_values_are_from(
    destage: Destage, tmp_path: Path
) -> None:
    def usable(name: str) -> float:
        done = destage("devices", name)
        found = re.search(r"effective over-provisioning ([\d.]+) %", done.out)
        assert found, done
        return float(found[1])

    assert usable("fdp") < usable("fdp[handles=1]") - 2
    three = destage("devices", "fdp[handles=3;placement=sepbit]")
    said = " ".join(three.out.split())
    assert "3, initial; gc_stream shared; each takes up to 2.9 % of the device" in said
    assert "Placement sepbit, window 16" in said
    assert usable("fdp[handles=3]") < usable("fdp") - 2
    for name in ("tlc-client", "qlc-client"):
        done = destage("devices", name)
        assert re.search(r"^    slc_blocks = \d+  # 32 planes x ", done.out, re.M)
        assert re.search(r"^    buffer_pages = \d+  # ", done.out, re.M)
        assert "Sources: (" in done.out
    (tmp_path / "mine.toml").write_text('[device]\npreset = "small"  # a base\n')
    assert "Sources of the values" not in destage("devices", "mine.toml").out


#: `docs/spec/device-today.md` 11.
SECTION_11 = {
    "tlc-client": {
        "slc_pages_per_block": 128,
        "slc_blocks": 1311,
        "slc_program_ns": 57_000,
        "program_ns": [218_000],
        "slc_read_ns": 25_000,
        "link_ps_per_byte": 298,
        "command_ns": 2_000,
        "buffer_pages": 256,
        "channels": 8,
    },
    "qlc-client": {
        "slc_pages_per_block": 24,
        "slc_blocks": 954,
        "slc_program_ns": 291_000,
        "program_ns": [5_243_000],
        "slc_read_ns": 25_000,
        "link_ps_per_byte": 298,
        "command_ns": 4_545,
        "buffer_pages": 64,
        "channels": 4,
    },
}


@pytest.mark.parametrize("name", SECTION_11)
def test_the_presets_are_those_of_section_11(name: str) -> None:
    device = ds.device(name).record["device"]
    assert {key: device[key] for key in SECTION_11[name]} == SECTION_11[name]
    assert device["slc_erase_ns"] == device["erase_ns"]
    assert (device["slc_policy"], device["slc_idle"]) == ("direct", True)
    assert device["gc_idle_ns"] == 100_000_000
    assert (device["firmware_read_ns"], device["firmware_write_ns"]) == (21_500, 4_460)
    # All else is the device that it is made from.
    base = ds.device(name.replace("client", "nvme")).record["device"]
    own = {*SECTION_11[name], "slc_erase_ns", "slc_policy", "slc_idle", "gc_idle_ns"}
    own |= {"firmware_read_ns", "firmware_write_ns", "link_duplex"}
    assert {k: v for k, v in device.items() if k not in own} == {
        k: v for k, v in base.items() if k not in own
    }


# ---- the papers


#: Keys of `docs/spec/device-today.md` 3 that a device has none of at its defaults.
INTERFACE = ("command_ns", "firmware_read_ns", "firmware_write_ns", "link_ps_per_byte",
         "buffer_pages", "slc_blocks", "handles", "isolation", "gc_stream")  # fmt: skip


def strings(value: Any) -> list[str]:
    """Every text in a table, and every key."""
    if isinstance(value, dict):
        return [text for k, v in value.items() for text in (k, *strings(v))]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


def test_the_papers_run_in_front_of_drives_without_any_of_it() -> None:
    papers = sorted((ROOT / "python" / "destage" / "papers").glob("*.toml"))
    papers = [paper for paper in papers if paper.stem != "destage"]  # our own, in front of these
    drives = {"ecr", "sac", "bpac", "aalru", "acr"}
    for paper in papers:
        document = tomllib.loads(paper.read_text(encoding="utf-8"))
        for runs in document.get("runs", ()):
            drives |= set(dict(runs.get("devices", {})).values())
            assert "trim" not in runs
            assert "flush" not in runs
            assert "placement" not in runs
        said = strings(document.get("sensitivity", [])) + strings(document.get("runs", []))
        for key in (*INTERFACE, "trim=", "flush=", "placement"):
            assert not [text for text in said if text.startswith(key)], (paper.name, key)
    assert len(drives) > 8
    for spec in drives:
        record = ds.open_device(spec, cache=False).record
        assert not set(INTERFACE) & set(record["device"]), spec
        assert not {"trim", "flush"} & set(record["host"]), spec
        assert "placement" not in record, spec
