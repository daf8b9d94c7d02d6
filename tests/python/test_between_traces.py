"""Two traces side by side: differences with intervals, the same axes, and `--merge`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("two")
    made = folder / "a.csv", folder / "b.csv"
    for path, alpha in zip(made, (0.7, 1.1), strict=True):
        ds.write_workload("zipf", path, requests=6000, pages=500, alpha=alpha, seed=1)
    return made


def test_two_files_are_compared_and_merged_only_on_request(
    destage: Destage, files: tuple[Path, Path], tmp_path: Path
) -> None:
    a, b = files
    apart = destage("compare", a, b, "-p", "lru,arc", "-c", "10%", "-q")
    assert apart.status == 0
    assert "4 runs over 2 traces" in apart.out
    assert "(A a.csv, B b.csv)" in apart.out
    hits = next(line for line in apart.out.splitlines() if "Hit ratio" in line)
    assert "+" in hits
    assert " .. " in hits
    merged = tmp_path / "merged.json"
    destage("compare", a, b, "--merge", "-p", "lru", "-c", "10%", "-q", "--json", merged)
    assert json.loads(merged.read_text())["trace"]["requests"] == 12_000


def test_a_file_named_twice_is_an_error(destage: Destage, files: tuple[Path, Path]) -> None:
    for command in ("compare", "mrc"):
        twice = destage(command, files[0], files[0], "-p", "lru", "-c", "10%", "-q")
        assert twice.status == 2
        assert "it is given twice" in twice.err


def test_an_interval_holds_zero_for_one_workload_and_not_for_two() -> None:
    def made(alpha: float, seed: int) -> ds.Trace:
        return ds.synth("zipf", requests=6000, pages=500, alpha=alpha, seed=seed)

    held = 0
    for seed in range(20):
        results = ds.compare([made(0.9, seed), made(0.9, seed + 100)], "lru", cache="50p")
        (found,) = ds.between_traces(results, show="hit")
        (hits,) = found
        assert hits.low is not None
        assert hits.high is not None
        assert hits.difference is not None
        assert hits.low < hits.difference < hits.high
        held += hits.low <= 0 <= hits.high
    assert held >= 16, "95 % intervals of two samples of one workload hold 0"
    results = ds.compare([made(0.6, 1), made(1.2, 1)], "lru", cache="50p")
    (found,) = ds.between_traces(results, show="hit")
    assert found.differing


def test_totals_have_no_interval_and_runs_without_a_partner_are_counted() -> None:
    traces = [ds.synth("zipf", requests=2000, pages=200, seed=s) for s in (1, 2)]
    results = ds.compare(traces, "lru", cache="10p")
    (found,) = ds.between_traces(results, show="writes")
    assert [(one.low, one.high) for one in found] == [(None, None)]
    assert (found.only_a, found.only_b) == (0, 0)


def test_both_are_drawn_on_the_same_axes() -> None:
    pytest.importorskip("altair")
    from destage.show.charts.comparison import Charts, same_axes

    traces = [ds.synth("zipf", requests=4000, pages=400, alpha=a, seed=1) for a in (0.5, 1.3)]
    results = ds.compare(traces, "lru,arc", cache=["2%", "10%"]).result_sets
    hits = next(m for m in ds.metrics() if m.name == "hit_ratio")

    def domains(result: object) -> list[object]:
        layers = Charts(result).over_size(hits).to_dict()["layer"]  # type: ignore[arg-type]
        return [layers[0]["encoding"][axis]["scale"]["domain"] for axis in "xy"]

    alone = [domains(one) for one in results]
    assert alone[0] != alone[1]
    with same_axes(results):
        assert domains(results[0]) == domains(results[1])
