"""Real fio against `destage serve --emulate`: `devices fit` gives the device's keys back."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from test_fit import MIB, Hidden, near
from test_serve import needed, ran

import destage as ds

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="serve needs Unix"),
    pytest.mark.slow,
]

#: So slow that a server and fio on one busy machine are fast beside it.
DEVICE = Hidden(
    units=4,
    read_ns=1_000_000,
    program_ns=1_200_000,
    erase_ns=4_000_000,
    link=2000,
    firmware_read_ns=200_000,
    firmware_write_ns=300_000,
    buffer=512,
    op=0.28,
    capacity=256 * MIB,
)


def script(uri: str) -> str:
    """The script of a fit with fewer reads and shorter pauses, for an NBD server."""
    text = ds.fit_script(DEVICE.capacity, "X", engine="nbd", collector=False)
    text = re.sub(r"^filename=.*$", f"uri={uri}", text, flags=re.M)
    text = re.sub(r"startdelay=\d+", "startdelay=2", text)
    return re.sub(r"number_ios=(\d+)", lambda found: f"number_ios={fewer(found[1])}", text)


def fewer(requests: str) -> int:
    return min(int(requests), 1500)


def test_fio_on_an_emulated_ssd_gives_its_keys_back(tmp_path: Path) -> None:
    needed("fio")
    if "nbd" not in ran("fio", "--enghelp").split():
        pytest.skip("fio is built without NBD: what it would show is not looked at")
    device, job, measured = tmp_path / "hidden.toml", tmp_path / "fit.fio", tmp_path / "fit.json"
    with ds.serve(":memory:", policy="none", device=DEVICE.write(device), emulate=True) as server:
        job.write_text(script(server.uri))
        ran("fio", "--output-format=json+", f"--output={measured}", job, timeout=1800)
        told = server.stats()
    late = told["device"]["late_replies"] / sum(told["requests"].values())
    if late > 0.001:
        pytest.skip(f"{late:.1%} of the replies were late: this machine is too slow to emulate")
    model = ds.fit([measured]).model
    assert model.units == DEVICE.units
    assert model.stripe == DEVICE.stripe
    assert near(model.buffer_pages, DEVICE.buffer, 0.03, 16)
    assert near(model.unit_read_ns - model.transfer_ns, DEVICE.read_ns, 0.05)
    assert near(model.unit_program_ns - model.transfer_ns, DEVICE.program_ns, 0.05)
