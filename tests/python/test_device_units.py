"""Device files as people write them, a steady state with an SLC cache, and GC that had no work."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Destage

import destage as ds

#: A drive that combines all that a current SSD has.
WHOLE = """
[device]
channels = 4
pages_per_block = 32
page = "16KiB"
read = "60us"
program = ["400us", "600us"]
erase = "3.5ms"
op = "20%"
capacity = "256MiB"
link = "7GB/s"
channel = "1.2GB/s"
buffer = "1MiB"
sched = "read_first"
suspend = "program"
slc_blocks = 4
slc_read = "25us"
slc_policy = "fold"
precondition = "steady"
"""

EXACT = {
    "page_bytes": 16384,
    "read_ns": [60_000],
    "program_ns": [400_000, 600_000],
    "erase_ns": 3_500_000,
    "logical_pages": 16384,
    "link_ps_per_byte": 143,
    "bus_ps_per_byte": 833,
    "buffer_pages": 64,
    "slc_read_ns": 25_000,
    "gc_step_pages": "auto",
}


@pytest.fixture(name="whole")
def _whole(tmp_path: Path) -> Path:
    path = tmp_path / "whole.toml"
    path.write_text(WHOLE)
    return path


def test_a_file_with_units_is_the_device_of_its_exact_keys(
    destage: Destage, whole: Path, tmp_path: Path
) -> None:
    drive = ds.open_device(whole)
    device = drive.record["device"]
    assert {key: device[key] for key in EXACT} == EXACT
    assert 0.1999 < drive.size["op"] < 0.23
    done = destage("devices", whole, "--toml")
    assert done.status == 0, done
    again = tmp_path / "again.toml"
    again.write_text(done.out)
    exact = ds.open_device(again)
    for table in ("device", "cache", "host"):
        assert exact.record[table] == drive.record[table], table


def test_over_provisioning_as_an_axis_keeps_the_capacity(whole: Path) -> None:
    small, large = (ds.open_device(f"{whole}[op={op}]").record["device"] for op in ("10%", "40%"))
    assert small["logical_pages"] == large["logical_pages"] == EXACT["logical_pages"]
    assert small["blocks_per_plane"] < large["blocks_per_plane"]


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ("page_bytes = 4096", ("page excludes page_bytes", "one of the two")),
        ("op_permille = 70", ("op excludes op_permille",)),
        ("blocks_per_plane = 70", ("capacity excludes blocks_per_plane",)),
        ('cmd = "3"', ('cmd = "3"', "a time in whole nanoseconds")),
        ('gc_idle = "7GB/s"', ('gc_idle = "7GB/s"', "a time")),
    ],
)
def test_a_key_that_is_given_twice_or_cannot_be_read_is_named(
    destage: Destage, whole: Path, change: str, parts: tuple[str, ...]
) -> None:
    whole.write_text(f"{WHOLE}{change}\n")
    done = destage("devices", whole)
    assert done.status == 65, done
    assert all(part in done.err for part in parts), done.err


def _random_writes(requests: int) -> ds.Trace:
    return ds.synth(
        "uniform", requests=requests, pages=16_000, read_ratio=0.3, seed=1, page_size=16384
    )


def test_a_steady_device_with_an_slc_cache_has_its_waf_from_the_beginning(whole: Path) -> None:
    wafs = []
    for requests in (10_000, 20_000):
        trace = _random_writes(requests)
        run = ds.compare(trace, "none", device=str(whole), queue_depth=16).runs[0]
        wafs.append(run.metrics["waf"])
    assert wafs[0] > 1.5
    assert wafs[0] == pytest.approx(wafs[1], rel=0.1)
    assert (run.metrics["slc_folds"] or 0) > 0
    assert not any("WAF is exactly" in w or "no block was erased" in w for w in run.warnings)


def test_a_full_device_without_an_erase_and_a_waf_of_one_are_warnings(whole: Path) -> None:
    few = ds.compare(_random_writes(4), "none", device=str(whole), queue_depth=4).runs[0]
    assert any("no block was erased in the measured part" in w for w in few.warnings)
    empty = f"{whole}[precondition=none;slc_policy=direct;slc_blocks=64]"
    fresh = ds.compare(_random_writes(2_000), "none", device=empty, queue_depth=4).runs[0]
    assert fresh.metrics["waf"] == 1.0
    assert len([w for w in fresh.warnings if "steady" in w]) == 1, fresh.warnings
