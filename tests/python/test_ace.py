"""ACE: its spelling, its device properties, its gain on a device of several units."""

from __future__ import annotations

import pytest
from conftest import VECTORS

import destage as ds

BASES = ["lru", "fifo", "clock", "cflru[window_fraction=0.5]", "lru-wsr", "clock-sweep"]


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("oltp", requests=20_000, pages=6_000, read_ratio=0.4, seed=5)


def test_its_vectors_pass_with_and_without_a_drive() -> None:
    report = ds.conform([VECTORS / "ace.jsonl", VECTORS / "ace-device.jsonl"])
    assert report.ok, report
    assert (report.passed, report.skipped) == (23 + 8, 0)


def test_a_base_with_parameters_is_written_as_it_is_read(trace: ds.Trace) -> None:
    spec = "ace[base=cflru[window_fraction=0.25];writes=3]"
    ace, lru = ds.compare(trace, f"{spec},lru", cache="5%", check=True)
    assert ace.label == spec
    assert ace.config["params"] == {"base": "cflru[window_fraction=0.25]", "writes": 3}
    assert lru.label == "lru"
    given = {"base": "cflru[window_fraction=0.25]", "writes": 3}
    (again,) = ds.compare(trace, [("ace", given)], cache="5%")
    assert again.counters == ace.counters


@pytest.mark.parametrize(
    ("base", "says"),
    [
        ("arc", "arc has no eviction order"),
        ("clok", "did you mean clock?"),
        ("cflru[window_fraction=7]", "window_fraction = 7: expected 0..1"),
    ],
)
def test_a_base_that_cannot_be_is_refused(trace: ds.Trace, base: str, says: str) -> None:
    with pytest.raises(ValueError, match="ace: base = ") as refused:
        ds.compare(trace, f"ace[base={base}]", cache="5%")
    assert says in str(refused.value)


def test_a_batch_has_as_many_pages_as_the_drive_has_units(trace: ds.Trace) -> None:
    drive = ds.open_device("small[channels=4;logical_pages=2000000]")
    (with_drive,) = ds.compare(trace, "ace", cache="5%", device=drive)
    (without,) = ds.compare(trace, "ace", cache="5%")
    units = drive.size["units"]
    assert with_drive.config["params"]["writes"] == units
    assert without.config["params"]["writes"] == 8
    assert 0 < with_drive["batches"] <= with_drive["batch_writes"] <= units * with_drive["batches"]


@pytest.mark.parametrize("base", BASES)
def test_it_takes_less_time_than_its_base_where_the_units_would_wait(
    trace: ds.Trace, base: str
) -> None:
    drive = ds.open_device("small", queue_depth=1)
    alone, ace = ds.compare(trace, f"{base},ace[base={base}]", cache="5%", device=drive)
    assert ace["batch_writes"] > 0
    assert ace["makespan_ns"] < alone["makespan_ns"]
    # The paper: a negligible increase of writes and misses.
    assert ace["physical_writes"] < 1.25 * alone["physical_writes"]
