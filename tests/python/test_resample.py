"""Other traces of the same workload: a block bootstrap of the requests of a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Destage
from own_file import rows, sector

import destage as ds

HOW = {
    "format": "csv",
    "columns": {"time": 0, "op": 1, "offset": 2, "length": 3},
    "time_unit": "us",
    "offset_unit": "byte",
    "length_unit": "byte",
    "op_read": "R",
    "op_write": "W",
}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.csv"
    path.write_text(rows(640, lambda k: f"{k * k},{'RW'[k % 2]},{sector(k) * 512},4096"))
    return path


def test_a_seed_has_one_trace_of_blocks(own: Path) -> None:
    plain = list(ds.open_trace(own, **HOW))
    place = {(r.page, r.op): k for k, r in enumerate(plain)}
    one = list(ds.open_trace(own, resample=1, **HOW))
    again = list(ds.open_trace(own, resample=1, **HOW))
    assert [(r.time_ns, r.page) for r in one] == [(r.time_ns, r.page) for r in again]
    other = list(ds.open_trace(own, resample=2, **HOW))
    assert [r.page for r in one] != [r.page for r in other]
    assert len(one) == len(plain)
    places = [place[r.page, r.op] for r in one]
    for first in range(0, 640, 20):  # a 32nd of the trace
        assert places[first : first + 20] == list(range(places[first], places[first] + 20))
    for k in range(1, 640):
        before = plain[places[k]].time_ns - (plain[places[k] - 1].time_ns if places[k] else 0)
        assert one[k].time_ns - one[k - 1].time_ns == before


def test_seeds_of_a_sweep_resample_files(destage: Destage, own: Path, tmp_path: Path) -> None:
    spec = tmp_path / "s.toml"
    text = (
        '[sweep]\ntraces = ["own.csv"]\npolicies = ["lru", "arc"]\ncache = ["32p", "128p"]\n'
        "{}\n[trace]\n"
        'format = "csv"\ncolumns = {{ time = 0, op = 1, offset = 2, length = 3 }}\n'
        'time_unit = "us"\noffset_unit = "byte"\nlength_unit = "byte"\n'
        'op_read = "R"\nop_write = "W"\n'
    )
    spec.write_text(text.format("resample = true\nrepeat = 4"))
    done = destage("sweep", spec, "--store", "runs")
    assert done.status == 0, done
    found = ds.load_results(tmp_path / "runs").to_dicts()
    assert len(found) == 4 * 4
    prints = {row["trace_fingerprint"] for row in found}
    assert len(prints) == 4, "each seed is another trace"
    same = {row["seed"]: row["trace_fingerprint"] for row in found}
    how = {**HOW, "resample": 2}
    assert same[2] == ds.open_trace(own, **how).fingerprint
    table = destage("results", "runs").out
    assert "± " in table
    assert "a row is the mean of its seeds" in table
    spec.write_text(text.format("resample = true"))
    refused = destage("sweep", spec, "--store", "other")
    assert refused.status == 65
    assert "expected seeds or repeat" in refused.err
    spec.write_text(text.format("resample = 3\nrepeat = 2"))
    assert "expected true or false" in destage("sweep", spec, "--store", "other").err
