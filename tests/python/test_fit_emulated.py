"""Real fio against `destage serve --emulate`: `devices fit` gives the device's keys back."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_fit import PAGE, Hidden, near
from test_serve import needed, ran

import destage as ds

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="serve needs Unix"),
    pytest.mark.slow,
]

DEVICE = Hidden(
    units=4,
    read_ns=50_000,
    program_ns=200_000,
    erase_ns=3_000_000,
    link=500,
    firmware_read_ns=20_000,
    firmware_write_ns=10_000,
    buffer=512,
    op=0.2,
)

#: Picoseconds a byte on the bus of a hidden device.
BUS_PS = 625

#: How much slower than the device the server replies: what the host adds to a reply is the smaller
#: beside it. The next one is taken where that is still too much; the script takes 68 s times this.
SLOWER = (4, 6)
#: Most that host, socket and fio may add to a single read. Times of single requests contain it;
#: times of units do not, since some requests always wait there.
MOST_ADDED = 0.35
#: Least rate of sixteen reads in flight, as a share of the device's own: a host that keeps them
#: back shows a device with fewer units.
LEAST_RATE = 0.75
#: Steps that no key rests on, and those beyond the sixteen requests of a connection under way.
LEFT_OUT = re.compile(r"\[(mix|read-again|tail-collect|burst-(32|64|128)|read-qd(32|64|128|256))")


def script(uri: str) -> str:
    """The script of a fit with fewer reads and shorter pauses, for an NBD server."""
    text = ds.fit_script(DEVICE.capacity, "X", collector=False)
    parts = [part for part in re.split(r"(?m)^(?=\[)", text) if not LEFT_OUT.match(part)]
    text = "".join(parts).replace("ioengine=libaio", "ioengine=nbd")
    text = re.sub(r"^filename=.*$", f"uri={uri}", text, flags=re.MULTILINE)
    text = re.sub(r"startdelay=\d+", "startdelay=1", text)
    return re.sub(r"number_ios=(\d+)", lambda found: f"number_ios={fewer(int(found[1]))}", text)


def fewer(requests: int) -> int:
    return 40_000 if requests == 400_000 else min(requests, 1500)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Threads and processes that begin here come before all others, where the system allows it:
    they sleep most of the time, and have to wake in time."""
    try:
        before = os.sched_getscheduler(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, PermissionError):
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, before, os.sched_param(0))


#: Single reads, as those of the script, of a megabyte that was written before.
SINGLE_READS = """\
[global]
ioengine=nbd
uri={uri}
bs=4k
size=1m
iodepth=1

[fill]
stonewall
rw=write

[read-qd1]
stonewall
rw=randread
number_ios=256
"""


def measured(
    folder: Path, slower: int, wanted: Callable[[str], str] = script
) -> tuple[dict[str, Any], float]:
    """The output of fio in the device's time, and how much the host added to a single read."""
    device, job, output = folder / "hidden.toml", folder / "fit.fio", folder / "fio.json"
    with (
        undisturbed(),
        ds.serve(
            ":memory:", policy="none", device=DEVICE.write(device), emulate=True, speed=1 / slower
        ) as server,
    ):
        job.write_text(wanted(server.uri))
        ran("fio", "--output-format=json+", f"--output={output}", job, timeout=3600)
    text = output.read_text()
    data = json.loads(text[text.index("{") :])
    for step in data["jobs"]:
        for direction in ("read", "write"):
            for kind in ("slat_ns", "clat_ns", "lat_ns"):
                step[direction][kind] = faster(step[direction][kind], slower)
            # Of a time that is as much shorter, and so in agreement with the latencies.
            for rate in ("iops", "iops_min", "iops_max", "iops_mean", "bw", "bw_bytes"):
                step[direction][rate] *= slower
    single = next(step for step in data["jobs"] if step["jobname"] == "read-qd1")
    transfers_ns = PAGE * (BUS_PS + DEVICE.link) / 1000
    alone_ns = DEVICE.read_ns + DEVICE.firmware_read_ns + transfers_ns
    return data, single["read"]["lat_ns"]["mean"] / alone_ns - 1


def kept_up(data: dict[str, Any]) -> bool:
    """Whether the host let the device serve sixteen reads at once.

    Sixteen requests on n units at random keep 16 / (16 + n - 1) of them busy.
    """
    deep = next(step for step in data["jobs"] if step["jobname"] == "read-qd16")
    busy = DEVICE.units * 16 / (16 + DEVICE.units - 1)
    own = busy * 1e9 / (DEVICE.read_ns + PAGE * BUS_PS / 1000)
    return float(deep["read"]["iops"]) >= LEAST_RATE * own


def faster(times: dict[str, Any], by: int) -> dict[str, Any]:
    """Times of fio, nanoseconds, divided."""

    def key(name: str) -> str:
        return str(round(int(name) / by))

    changed = {name: times[name] / by for name in ("min", "max", "mean", "stddev")}
    if "percentile" in times:
        changed["percentile"] = {name: value / by for name, value in times["percentile"].items()}
    if "bins" in times:
        bins: dict[str, int] = {}
        for name, count in times["bins"].items():
            bins[key(name)] = bins.get(key(name), 0) + count
        changed["bins"] = bins
    return {**times, **changed}


def test_fio_on_an_emulated_ssd_gives_its_keys_back(tmp_path: Path) -> None:
    needed("fio")
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("other tests run beside it, and it needs a quiet host: run this file alone")
    if "nbd" not in ran("fio", "--enghelp").split():
        pytest.skip("fio is built without NBD: the fit of an emulated SSD is not tried")
    for slower in SLOWER:
        # A few reads tell whether the script, which takes minutes, is worth its time.
        _, added = measured(tmp_path, slower, lambda uri: SINGLE_READS.format(uri=uri))
        if added <= MOST_ADDED:
            data, added = measured(tmp_path, slower)
        if added <= MOST_ADDED and kept_up(data):
            break
    else:
        # Emulation needs a host that answers in time: times from a busy one are not the device's.
        pytest.skip(f"the host is too busy to emulate an SSD (it adds {added:.0%} to a read)")
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(data))
    made = ds.fit([path])
    model = made.model
    own = model.transfer_ns
    assert (model.units, model.stripe) == (DEVICE.units, DEVICE.stripe)
    assert near(model.buffer_pages, DEVICE.buffer, 0.03, 16)
    assert near(model.unit_read_ns - own, DEVICE.read_ns, 0.05)
    assert near(model.unit_program_ns - own, DEVICE.program_ns, 0.05)
    assert near(model.erase_page_ns, DEVICE.erase_ns / DEVICE.block, 0.05, 0.01 * DEVICE.program_ns)
    keys = model.keys()
    left = keys["blocks_per_plane"] - keys["gc_low_pages"] / keys["pages_per_block"] - 0.5
    effective = 1 - DEVICE.pages / (DEVICE.units * keys["pages_per_block"] * left)
    assert near(effective, DEVICE.effective_op, 0, 0.015)
