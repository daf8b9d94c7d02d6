"""`devices fit` and a map cache: reads over growing ranges, on simulated and on emulated SSDs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_fit import MIB, PAGE, Hidden, near, probed
from test_fit_emulated import DEVICE, MOST_ADDED, SINGLE_READS, SLOWER, measured
from test_serve import needed, ran

import destage as ds
from destage.fit.fio import read_fio
from destage.fit.maps import map_cache_of

#: A quarter of the map in memory.
QUARTER = Hidden(units=4, capacity=256 * MIB, map_pages=16)

#: What shows a map cache, in few requests, after everything was written.
RANGES = """\
[global]
ioengine=nbd
uri={uri}
bs=4k
iodepth=1

[fill-1]
stonewall
rw=write
bs=128k
iodepth=8

[read-qd1]
stonewall
rw=randread
number_ios=1000
"""


def test_a_map_cache_comes_back(tmp_path: Path) -> None:
    made = ds.fit(probed(QUARTER, tmp_path, collector=False), steady=False)
    model = made.model
    assert (model.units, model.stripe) == (QUARTER.units, QUARTER.stripe)
    assert near(model.map_pages, QUARTER.map_pages, 0.03, 1)
    assert near(model.unit_read_ns - model.transfer_ns, QUARTER.read_ns, 0.02)
    assert near(model.firmware_read_ns, QUARTER.firmware_read_ns, 0.1)
    value = next(value for value in made.values if value.key == "map_cache")
    assert (value.status, value.steps) == ("measured", "read-range-N")
    assert f"map_cache = {model.map_pages * PAGE:_}" in made.device_toml
    # A miss costs a page read: the simulated curve over ranges is the measured one.
    ranges = [step for step in made.steps if step.step.startswith("read-range-")]
    assert len(ranges) == 22
    assert max(abs(step.residual) for step in ranges) < 0.05


def test_reads_beside_writes_behind_a_map_cache_are_predicted(tmp_path: Path) -> None:
    made = ds.fit(probed(QUARTER, tmp_path, collector=False))
    mixed = {step.step: step for step in made.steps if step.step.startswith("mix-")}
    assert set(mixed) == {"mix-qd8", "mix-qd32"}
    assert all(not step.fitted for step in mixed.values())
    assert max(abs(step.residual) for step in mixed.values()) < 0.05


def test_a_device_with_the_whole_map_in_memory_shows_no_misses(tmp_path: Path) -> None:
    hidden = replace(QUARTER, map_pages=0)
    made = ds.fit(probed(hidden, tmp_path, collector=False), steady=False)
    assert made.model.map_pages == 0
    value = next((value for value in made.values if value.key == "map_cache"), None)
    assert value is None or value.status == "not identifiable"
    assert "map_cache" not in made.device_toml


def ranges(uri: str) -> str:
    """Few reads over each range."""
    lines = [RANGES.format(uri=uri)]
    for share in (256, 64, 16, 8, 4, 2, 1):
        region = f"stonewall\nrw=randread\nsize={DEVICE.capacity // share}\n"
        lines.append(f"[read-range-warm-{share}]\n{region}iodepth=8\nio_size=8m\nnumber_ios=1200\n")
        lines.append(f"[read-range-{share}]\n{region}io_size=8m\nnumber_ios=1000\n")
    mixed = "stonewall\nrw=randrw\nrwmixread=70\niodepth=8\nnumber_ios=2000\n"
    return "\n".join([*lines, f"[mix-qd8]\n{mixed}"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="serve needs Unix")
def test_an_emulated_map_cache_comes_back(tmp_path: Path) -> None:
    needed("fio")
    if "nbd" not in ran("fio", "--enghelp").split():
        pytest.skip("fio is built without NBD: the map cache of an emulated SSD is not tried")
    device = replace(DEVICE, map_pages=16)
    for slower in SLOWER:
        _, added = measured(tmp_path, slower, lambda uri: SINGLE_READS.format(uri=uri))
        if added <= MOST_ADDED:
            data, added = measured(tmp_path, slower, ranges, device)
            break
    else:
        pytest.skip(f"the host adds {added:.0%} to a read: too busy to emulate an SSD")
    path = tmp_path / "ranges.json"
    path.write_text(json.dumps(data))
    made = read_fio([str(path)])
    found = map_cache_of(made)
    assert found is not None
    assert near(found.share, device.map_pages / 64, 0.2)
    read_ns = device.read_ns + PAGE * 625 // 1000
    assert near(found.miss_ns, read_ns, 0.3)
    # Beside writes a read takes longer than alone: programs and map pages are in its way.
    alone, mixed = made.steps["read-range-1"], made.steps["mix-qd8"]
    assert mixed.read is not None
    assert mixed.read.mean_ns > alone.mean_ns
