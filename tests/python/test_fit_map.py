"""`devices fit` and a map cache: reads over growing ranges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from test_fit import MIB, PAGE, Hidden, near, probed

import destage as ds

#: A quarter of the map in memory.
QUARTER = Hidden(units=4, capacity=256 * MIB, map_pages=16)


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


def test_a_device_with_the_whole_map_in_memory_shows_no_misses(tmp_path: Path) -> None:
    hidden = replace(QUARTER, map_pages=0)
    made = ds.fit(probed(hidden, tmp_path, collector=False), steady=False)
    assert made.model.map_pages == 0
    value = next(value for value in made.values if value.key == "map_cache")
    assert (value.status, value.value) == ("not identifiable", "all")
    path = tmp_path / "mine.toml"
    path.write_text(made.device_toml)
    assert "map_cache" not in ds.open_device(path).record["device"]
