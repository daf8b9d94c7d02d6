"""`destage devices bench`: a simulated SSD over depth, jobs, length and pattern."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds

#: One unit, every time known: a read takes 100 us, a program 300 us, an erase 2 ms.
ONE_UNIT = """\
[device]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 96
pages_per_block = 32
page_bytes = 4096
logical_pages = 2048
read_ns = [100000]
program_ns = [300000]
erase_ns = 2000000
cmd_ns = 0
bus_ps_per_byte = 0
gc_mode = "foreground"
gc_step_pages = 0
"""


@pytest.fixture
def one_unit(tmp_path: Path) -> Path:
    path = tmp_path / "one.toml"
    path.write_text(ONE_UNIT)
    return path


def test_one_unit_has_the_closed_forms(one_unit: Path) -> None:
    made = ds.bench_device(
        one_unit, rw=["randread", "randwrite"], block_bytes=[4096], depth=[1, 4], state=["fresh"]
    )
    reads, deep, *_ = made.points
    assert (reads.iops, reads.mean_ns, reads.waf) == (10_000.0, 100_000.0, None)
    # One unit serves one page at a time: four in flight wait four times as long.
    assert deep.iops == pytest.approx(10_000, rel=1e-3)
    assert deep.mean_ns == pytest.approx(400_000, rel=1e-3)


def test_steady_writes_cost_what_the_spare_blocks_say(one_unit: Path) -> None:
    made = ds.bench_device(one_unit, rw=["randwrite", "write"], block_bytes=[4096], depth=[8])
    by_kind = {(point.state, point.rw): point for point in made.points}
    steady = by_kind["steady", "randwrite"]
    expected = ds.open_device(one_unit).size["greedy_waf"]
    assert steady.waf == pytest.approx(expected, rel=0.12)
    assert steady.erases is not None
    assert steady.erases > 100
    in_order = by_kind["steady", "write"]
    assert in_order.waf == 1.0
    assert in_order.erases is not None
    assert in_order.erases > 0
    # The unit does nothing else: programs, moves (a read and a program) and erases take all time.
    assert in_order.iops == pytest.approx(1e9 / (300_000 + 2_000_000 / 32), rel=0.02)


def test_jobs_multiply_the_requests_in_flight() -> None:
    made = ds.bench_device(
        "small", rw=["randread"], block_bytes=[4096], depth=[2, 8], jobs=[1, 4], state=["fresh"]
    )
    by_kind = {(point.depth, point.jobs): point for point in made.points}
    assert by_kind[2, 4].iops == by_kind[8, 1].iops
    again = ds.bench_device(
        "small", rw=["randread"], block_bytes=[4096], depth=[2, 8], jobs=[1, 4], state=["fresh"]
    )
    assert made == again


def test_too_few_requests_leave_a_percentile_unknown() -> None:
    made = ds.bench_device(
        "small", rw=["read"], block_bytes=[4096], depth=[1], state=["fresh"], requests=5000
    )
    (point,) = made.points
    assert (point.requests, point.p9999_ns) == (5000, None)
    assert point.p99_ns is not None


def test_a_real_device_stands_beside_it(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text(
        "rw,block_bytes,iodepth,numjobs,iops\nrandread,4096,1,1,15000\nrandread,4096,16,4,300000\n"
    )
    done = destage(
        *("devices", "bench", "small", "--against", "real.csv", "--csv", "b.csv"),
        *("--json", "b.json", "--state", "fresh", "--report", "b.html", "--figures", "figs"),
        *("--width", "3.3in"),
    )
    assert done.status == 0, done
    rows = list(csv.DictReader((tmp_path / "b.csv").read_text(encoding="utf-8").splitlines()))
    # The axes are those of the real device's points: two depths, two numbers of jobs.
    assert [row["device"] for row in rows] == ["small"] * 4 + ["real.csv"] * 2
    assert {row["rw"] for row in rows} == {"randread"}
    assert rows[-1]["iops"] == "300000.0"
    assert rows[-1]["waf"] == ""
    data = json.loads((tmp_path / "b.json").read_text())
    assert data["schema"] == "destage.devices_bench"
    assert len(data["points"]) == 6
    page = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "real.csv" in page
    assert page.count("data:image/svg+xml;base64,") >= 2
    svg = (tmp_path / "figs" / "iops-randread-4KiB.svg").read_text(encoding="utf-8")
    assert 'width="237.6pt"' in svg


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rw", "randred"], "rw: expected randread, randwrite, read, write, randrw"),
        (["--depth", "0"], "--depth: expected whole numbers of at least 1"),
        (["--state", "old"], "state: expected fresh, steady"),
        (["--read-percent", "100"], "--read-percent: expected 1 to 99"),
        (["--width", "3in"], "--width is the width of --figures, which is missing"),
        (["--where", "a=b"], "which is missing"),
        (["--block", "1TiB"], "block_bytes: small has"),
    ],
)
def test_an_axis_that_does_not_fit_is_an_error(
    destage: Destage, words: list[str], said: str
) -> None:
    done = destage("devices", "bench", "small", *words)
    assert (done.status, said in done.err) == (2, True), done


def test_the_screen_has_a_line_for_each_pattern(destage: Destage) -> None:
    done = destage("devices", "bench", "small", "--rw", "randwrite,randrw", "--depth", "1,8")
    assert done.status == 0, done
    lines = [line for line in done.out.splitlines() if line.startswith("rand")]
    # Two patterns, two lengths, two states.
    assert len(lines) == 8
    assert "MB/s" in done.out


def test_a_ratio_begins_at_zero_and_a_rate_is_on_a_logarithmic_axis(one_unit: Path) -> None:
    plots = ds.bench_device(one_unit, rw=["randwrite"], block_bytes=[4096], depth=[1, 4]).plot
    scales = {
        name: plots(f"{name}-randwrite-4KiB").to_dict()["layer"][0]["encoding"]["y"]["scale"]
        for name in ("waf", "iops")
    }
    assert scales["waf"] == {"zero": True}
    assert scales["iops"]["type"] == "log"
