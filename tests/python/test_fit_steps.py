"""`destage devices fit`: collection in steps, and what an SLC cache does in idle time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from test_fit import PAGE, Hidden, collected, probed

import destage as ds
from destage.fit.fio import read_fio
from destage.fit.model import Model

#: An SLC cache that is emptied in idle time, in front of a small over-provisioning.
WITH_SLC = Hidden(victim="fifo", steps="auto", units=4, block=32, op=0.09, slc_blocks=150)


def keys_of(folder: Path) -> dict[str, Any]:
    keys: dict[str, Any] = ds.open_device(folder / "hidden.toml").record["device"]
    return keys


@pytest.mark.slow
def test_a_collector_behind_an_slc_cache_comes_back(tmp_path: Path) -> None:
    assert collected(WITH_SLC, tmp_path) == []


def test_the_idle_time_of_steps_that_are_not_simulated_counts(tmp_path: Path) -> None:
    hidden = WITH_SLC
    made = read_fio([str(probed(hidden, tmp_path))])
    empty = Model({"device": keys_of(tmp_path)}, hidden.pages, hidden.units, 1, 0.0, 0.0)
    own = empty.transfer_ns
    truth = empty.with_(
        unit_read_ns=hidden.read_ns + own,
        unit_program_ns=hidden.program_ns + own,
        link_ns=hidden.link * PAGE / 1000,
        firmware_read_ns=hidden.firmware_read_ns,
        firmware_write_ns=hidden.firmware_write_ns,
        buffer_pages=hidden.buffer,
        erase_page_ns=hidden.erase_ns / hidden.block,
        pages_per_block=hidden.block,
        slc_pages=hidden.slc_blocks * hidden.units * (hidden.block // 3),
        slc_unit_program_ns=hidden.slc_program_ns + own,
        gc_victim=hidden.victim,
        gc_step_pages=hidden.steps,
        op=1 - hidden.pages / (hidden.blocks * hidden.block * hidden.units),
    )
    names = [name for name in made.steps if not name.startswith("read-")]
    found = truth.simulate(names, unread=("tail-erase", "tail-collect"))
    # The read steps before `uniform`, and the reads of `tail-collect`, give the cache its time.
    for name in ("uniform-1", "zones80-1"):
        assert math.log(found[name].rate / made.steps[name].rate) == pytest.approx(0, abs=0.03)
