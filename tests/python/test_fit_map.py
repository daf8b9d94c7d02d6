"""`devices fit` and a map cache: reads over growing ranges."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_fit import PAGE, Hidden, near, probed
from test_serve import needed, ran

import destage as ds

#: A quarter of the map in memory.
QUARTER = Hidden(units=4, map_pages=16)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ds.Fit:
    """The device, probed and fitted."""
    folder = tmp_path_factory.mktemp("quarter")
    return ds.fit(probed(QUARTER, folder, collector=False), steady=False)


def test_a_map_cache_comes_back(made: ds.Fit) -> None:
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


def test_a_device_with_the_whole_map_in_memory_shows_no_misses(tmp_path: Path) -> None:
    hidden = replace(QUARTER, map_pages=0)
    made = ds.fit(probed(hidden, tmp_path, collector=False), steady=False)
    assert made.model.map_pages == 0
    value = next(value for value in made.values if value.key == "map_cache")
    assert (value.status, value.value) == ("not identifiable", "all")
    path = tmp_path / "mine.toml"
    path.write_text(made.device_toml)
    assert "map_cache" not in ds.open_device(path).record["device"]


#: The same, full, and so fast that reading it one by one takes a moment.
SERVED = replace(QUARTER, read_ns=30_000, firmware_read_ns=2_000)


def on(hidden: Hidden, folder: Path, **keys: object) -> Path:
    """A device file of the hidden device with other keys."""
    path = hidden.write(folder / "served.toml")
    lines = path.read_text().splitlines()
    kept = [line for line in lines if line.partition(" ")[0] not in keys]
    path.write_text("\n".join([*kept, *(f"{key} = {json.dumps(keys[key])}" for key in keys)]))
    return path


def fio(uri: str, *flags: str) -> None:
    """One job of fio through NBD."""
    needed("fio")
    if "nbd" not in ran("fio", "--enghelp").split():
        pytest.skip("fio is built without NBD: a served SSD is not measured")
    ran("fio", "--name=job", "--ioengine=nbd", f"--uri={uri}", "--bs=4k", "--norandommap", *flags)


@pytest.mark.skipif(sys.platform == "win32", reason="serve needs Unix")
def test_a_served_map_cache_comes_back(tmp_path: Path) -> None:
    """fio reads growing ranges of a served SSD one by one; times are those of the simulated SSD,
    which the host's own do not change."""
    device = on(SERVED, tmp_path, precondition="sequential")
    jobs = []
    with ds.serve(":memory:", policy="none", device=device, emulate=True) as server:
        before = (0, 0.0)
        for share in (64, 16, 8, 4, 2, 1):
            size = f"--size={SERVED.capacity // share}"
            for name, count in ((f"read-range-warm-{share}", 500), (f"read-range-{share}", 1000)):
                fio(server.uri, size, "--rw=randread", f"--number_ios={count}", "--io_size=1g")
                told = server.stats()
                requests, mean = told["requests"]["read"], told["device"]["read_response_ns_mean"]
                own = (requests * mean - before[0] * before[1]) / (requests - before[0])
                before = (requests, mean)
                options = {"rw": "randread", "bs": "4k", "iodepth": "1", "ioengine": "libaio"}
                read = {"total_ios": count, "lat_ns": {"mean": own, "stddev": 0.0}}
                jobs.append({"jobname": name, "error": 0, "job options": options, "read": read})
    path = tmp_path / "fio.json"
    common = {"direct": "1", "filename": "/dev/nbd0"}
    path.write_text(json.dumps({"fio version": "fio-3", "global options": common, "jobs": jobs}))
    made = ds.fit(path, capacity=SERVED.capacity, assume_written=True, steady=False)
    assert near(made.model.map_pages, SERVED.map_pages, 0.06, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="serve needs Unix")
def test_a_fit_predicts_reads_beside_writes_of_a_served_ssd(made: ds.Fit, tmp_path: Path) -> None:
    """Record, fit, compare: fio's reads and writes are recorded on the hidden SSD, and the record
    is replayed on the fitted one."""
    (tmp_path / "mine.toml").write_text(made.device_toml)
    hidden, record = on(QUARTER, tmp_path, precondition="sequential"), tmp_path / "record.csv"
    with ds.serve(":memory:", policy="none", device=hidden, emulate=True, record=record) as server:
        load = ("--rw=randrw", "--rwmixread=70", "--iodepth=8", "--number_ios=4000")
        fio(server.uri, f"--size={QUARTER.capacity}", *load)
        told = server.stats()["device"]
    assert told["map_misses"] > told["map_hits"] > 500
    devices = (str(hidden), f"{tmp_path / 'mine.toml'}[precondition=sequential]")
    trace = ds.open_trace(record, cache=False)
    runs = [
        ds.compare(trace, "none", device=device, trim="drop", warmup="0")[0] for device in devices
    ]
    for counted in ("map_hits", "map_misses", "flash_reads", "flash_programs"):
        assert runs[0][counted] == told[counted], counted
    for response in ("read_response_ns_mean", "write_response_ns_mean"):
        assert near(runs[1][response], runs[0][response], 0.05), response
