"""Fits of real drives: grids as CSV, fio's normal output, `destage devices validate`."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA, Destage
from test_fit import Hidden

import destage as ds
from destage.fit.curve import hosts_of, points_of
from destage.fit.fio import measurement, of_points, read_fio
from destage.fit.gridcsv import points

GRIDS = DATA / "fit"

#: What fio prints for two jobs of a read step, apart, and for a grouped write step.
NORMAL = """\
read-qd1: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
ioengine=libaio, iodepth=1
grid: (g=1): rw=randread, bs=(R) 128KiB-128KiB, (W) 128KiB-128KiB, (T) 128KiB-128KiB, \
ioengine=libaio, iodepth=16
...
writes: (g=2): rw=randwrite, bs=(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B, \
ioengine=libaio, iodepth=4
...
fio-3.33
Starting 5 processes

read-qd1: (groupid=0, jobs=1): err= 0: pid=7: Sat Nov 28 07:02:44 2026
  read: IOPS=12.5k, BW=48.8MiB/s (51.2MB/s)(1465MiB/30001msec)
    slat (nsec): min=900, max=13270, avg=1500.00, stdev=187.31
    clat (usec): min=60, max=400, avg=78.00, stdev= 5.10
     lat (usec): min=61, max=401, avg=79.50, stdev= 5.20
    clat percentiles (usec):
     |  1.00th=[   70], 50.00th=[   77], 99.00th=[  106], 99.90th=[  159],
     | 99.99th=[  390]
  cpu          : usr=0.00%, sys=0.00%, ctx=0, majf=0, minf=8
  IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=375000,0,0,0 short=0,0,0,0 dropped=0,0,0,0
grid: (groupid=1, jobs=1): err= 0: pid=8: Sat Nov 28 07:02:46 2026
  read: IOPS=9.9k, BW=1237MiB/s (1297MB/s)(36.2GiB/30001msec)
     lat (msec): min=1, max=20, avg= 1.60, stdev= 0.20
  IO depths    : 1=0.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=100.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=297000,0,0,0 short=0,0,0,0 dropped=0,0,0,0
grid: (groupid=1, jobs=1): err= 0: pid=9: Sat Nov 28 07:02:46 2026
  read: IOPS=9.9k, BW=1237MiB/s (1297MB/s)(36.2GiB/30001msec)
     lat (msec): min=1, max=20, avg= 1.62, stdev= 0.20
  IO depths    : 1=0.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=100.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=297000,0,0,0 short=0,0,0,0 dropped=0,0,0,0
writes: (groupid=2, jobs=2): err= 0: pid=10: Sat Nov 28 07:02:46 2026
  write: IOPS=160k, BW=1250MiB/s (1311MB/s)(36.6GiB/30001msec); 0 zone resets
     lat (nsec): min=900, max=90000, avg=50000.00, stdev=500.00
     issued rwts: total=0,4800000,0,0 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
   READ: bw=48.8MiB/s (51.2MB/s), io=1465MiB (1536MB), run=30001-30001msec
"""


def test_normal_output_is_read_as_its_json_is(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(NORMAL)
    made = read_fio([str(tmp_path / "out.txt")])
    alone = made.steps["read-qd1"]
    assert (alone.mean_ns, alone.direction.requests, alone.level_percent) == (79_500, 375_000, 100)
    assert alone.direction.percentiles[99.9] == 159_000
    first, second = made.grid["read"]
    assert (first.block_bytes, first.in_flight, first.mean_ns) == (131_072, 32, 1.6e6)
    assert second.mean_ns == 1.62e6
    (write,) = made.grid["write"]
    assert (write.block_bytes, write.in_flight, write.mean_ns) == (8192, 8, 50_000)
    assert made.fio_version == "fio-3.33"
    assert made.capacity is None


def test_normal_output_without_its_beginning_names_the_line(
    destage: Destage, tmp_path: Path
) -> None:
    (tmp_path / "out.txt").write_text(NORMAL[NORMAL.index("fio-3.33") :])
    done = destage("devices", "fit", "out.txt")
    assert done.status == 65
    assert "out.txt:4: no line before it has the options of job read-qd1" in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rw,iops\nrandread,abc\n", "g.csv:2: column iops: expected a number above 0, found abc"),
        ("rw,iops\nread,10\n", "g.csv:2: column rw: expected randread or randwrite, found read"),
        ("rw,iodepth,iops\nrandread,0,5\n", "column iodepth: expected a whole number of at least"),
        ("rw,iops\nrandread,10,11\n", "g.csv:2: expected 2 columns"),
        ("rw,iops\n", "g.csv: expected a row for each point"),
        ("drive,rw,iops\na,randread,9\nb,randread,9\n", "g.csv has 2 devices: a; b. Choose one"),
        ("rw,bandwidth\nrandread,1\n", "expected fio's JSON"),
    ],
)
def test_a_bad_grid_names_line_and_column(
    destage: Destage, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "g.csv").write_text(text)
    done = destage("devices", "fit", "g.csv", "--capacity", "1GiB", "--assume-written")
    assert (done.status, said in done.err) == (65, True), done


def grid(rows: Sequence[tuple[str, int, int, int, float]], path: Path) -> Path:
    """rw, block_bytes, iodepth, numjobs, iops."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["rw", "block_bytes", "iodepth", "numjobs", "iops"])
        writer.writerows(rows)
    return path


def test_the_limit_of_a_job_is_not_the_device_s(tmp_path: Path) -> None:
    """One job submits 95,000/s; the device gives 400,000/s, and more depth is never slower."""
    rows = [
        ("randread", 4096, depth, jobs, min(19_000.0 * depth * jobs, 95_000.0 * jobs, 400_000.0))
        for depth in (1, 4, 16)
        for jobs in (1, 2, 8)
    ]
    text = grid(rows, tmp_path / "g.csv").read_text()
    made = of_points(points(text, "g.csv"), measurement(["g.csv"]))
    found = hosts_of(points_of(made, "read"))
    assert found.read == pytest.approx(95_000)
    assert found.write is None
    assert found.limited(400_000, "read", 2) == pytest.approx(190_000)
    # A device that is slower for every job has no such limit.
    slow = [(rw, size, depth, jobs, min(iops, 60_000)) for rw, size, depth, jobs, iops in rows]
    text = grid(slow, tmp_path / "slow.csv").read_text()
    made = of_points(points(text, "slow.csv"), measurement(["slow.csv"]))
    assert hosts_of(points_of(made, "read")).read is None


def test_each_direction_has_a_ceiling_of_its_own(tmp_path: Path) -> None:
    depths = (1, 2, 4, 8, 16, 32, 64, 128)
    rows = [("randread", 4096, n, 1, min(12_000.0 * n, 450_000.0)) for n in depths]
    rows += [("randwrite", 4096, n, 1, min(60_000.0 * n, 220_000.0)) for n in depths]
    made = ds.fit(grid(rows, tmp_path / "g.csv"), capacity=1 << 30, assume_written=True)
    assert max(abs(step.residual) for step in made.steps) < 0.1
    assert made.hosts.read is None


def test_a_half_predicts_the_other(destage: Destage, tmp_path: Path) -> None:
    """The NVMe drive whose reads and writes saturate apart: issue 54's bar."""
    pytest.importorskip("jinja2", reason="needs the extra report")
    text = (GRIDS / "nvme_grids.csv").read_text().splitlines()
    own = [line for line in text if line.startswith(("drive,", "intel-p4510"))]
    (tmp_path / "p4510.csv").write_text("\n".join(own) + "\n")
    done = destage(
        *("devices", "validate", "p4510.csv", "--capacity", "1TB", "--json", "v.json"),
        *("--csv", "v.csv", "--report", "v.html"),
    )
    assert done.status == 0, done
    (found,) = json.loads((tmp_path / "v.json").read_text())["devices"]
    assert (found["device"], found["hold_out"]) == ("intel-p4510-1t", "half")
    assert found["fitted"] + found["held_out"] == len(own) - 1
    assert found["median_error"] <= 0.1
    assert found["within_30_percent"] >= 0.95
    rows = list(csv.DictReader((tmp_path / "v.csv").read_text().splitlines()))
    assert len(rows) == found["held_out"]
    far = [row for row in rows if float(row["error"]) > 0.3]
    assert done.out.count("randread") + done.out.count("randwrite") == len(far)
    assert (tmp_path / "v.html").read_text().count("data:image/svg+xml;base64,") >= 4


def test_held_out_depths_and_writes_are_not_fitted(tmp_path: Path) -> None:
    depths = (1, 2, 4, 8, 16, 32)
    rows = [("randread", 4096, n, 1, min(12_000.0 * n, 200_000.0)) for n in depths]
    rows += [("randwrite", 4096, n, 1, min(30_000.0 * n, 100_000.0)) for n in depths]
    path = grid(rows, tmp_path / "g.csv")
    for hold_out, expected in (
        ("depth", {(rw, n) for rw in ("randread", "randwrite") for n in (2, 8, 32)}),
        ("direction", {("randwrite", n) for n in depths}),
    ):
        (found,) = ds.validate_device(path, hold_out=hold_out, assume_written=True)
        assert {(step.rw, step.iodepth) for step in found.steps} == expected
        fitted = {(step.rw, step.iodepth) for step in found.fit.steps}
        assert not fitted & expected
        assert len(fitted) + len(expected) == len(rows)
        assert found.worst.residual == max((s.residual for s in found.steps), key=abs)


#: A device of 256 MiB, whose map has 64 pages.
MAPPED = Hidden(units=8)


def parts_of_a_map(folder: Path) -> Path:
    """Random reads of one device with its whole map in memory, a half and a quarter of it."""
    rows = []
    for pages in (64, 32, 16):
        hidden = replace(MAPPED, map_pages=0 if pages == 64 else pages)
        axes: dict[str, Any] = {"rw": ["randread"], "block_bytes": [4096], "state": ["fresh"]}
        axes |= {"depth": [1, 2, 4, 8, 16, 32, 64], "requests": 20_000}
        bench = ds.bench_device(hidden.write(folder / "hidden.toml"), **axes)
        rows += [("randread", 4 * pages, p.depth, p.iops) for p in bench.points]
    path = folder / "parts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("rw", "map_cache_kib", "iodepth", "iops"), *rows])
    return path


def test_the_whole_map_predicts_parts_of_it(destage: Destage, tmp_path: Path) -> None:
    path = parts_of_a_map(tmp_path)
    flags = ["--assume-written", "--capacity", "256MiB", "--json", "-", "--hold-out"]
    done = destage("devices", "validate", path.name, *flags, "map-cache")
    assert done.status == 0, done
    (found,) = json.loads(done.out)["devices"]
    assert (found["device"], found["fitted"], found["held_out"]) == ("parts.csv", 7, 14)
    sizes = {step["step"].partition(", ")[2] for step in found["steps"]}
    assert sizes == {"map cache 128 KiB", "map cache 64 KiB"}
    assert found["worst_error"] < 0.1, found["steps"]
    # Without a map cache the same device would be far off.
    quarter = [step for step in found["steps"] if step["step"].endswith("cache 64 KiB")]
    (alone,) = (step for step in quarter if step["iodepth"] == 1)
    assert alone["measured"]["iops"] < 0.7 * 1e9 / (MAPPED.read_ns + MAPPED.firmware_read_ns)
    # Otherwise each size is a device of its own.
    done = destage("devices", "validate", path.name, *flags, "half")
    each = json.loads(done.out)["devices"]
    names = [one["device"] for one in each]
    assert names == ["map cache 256 KiB", "map cache 128 KiB", "map cache 64 KiB"]
    assert max(one["worst_error"] for one in each) < 0.2


def test_held_out_parts_of_a_map_need_both_types_of_points(
    destage: Destage, tmp_path: Path
) -> None:
    path = grid([("randread", 4096, n, 1, 9_000.0 * n) for n in (1, 2, 4)], tmp_path / "g.csv")
    done = destage("devices", "validate", path.name, "--assume-written", "--hold-out", "map-cache")
    assert done.status == 65
    assert "with a part of it in memory (column map_cache_kib of a CSV), found 3 and 0" in done.err
    path.write_text("rw,map_cache_kib,iops\nrandread,-1,5\n")
    done = destage("devices", "fit", path.name, "--assume-written", "--capacity", "1GiB")
    assert "column map_cache_kib: expected a whole number of at least 0, found -1" in done.err
    path.write_text("rw,map_cache_kib,iops\nrandread,64,5\nrandread,0,9\n")
    done = destage("devices", "fit", path.name, "--assume-written", "--capacity", "1GiB")
    assert (
        "has 2 devices: map cache 64 KiB; whole map. Choose one: --where map_cache_kib=" in done.err
    )
