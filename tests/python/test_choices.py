"""Choices by the state of units: `in_gc`, and ECR over other policies."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import VECTORS, Destage

import destage as ds

POLICIES = "lru,gcar-lru,ecr-e"
AXES = """
[sweep]
traces = [{synth = "oltp", requests = 3000, pages = 900}]
policies = ["gcar-lru"]
cache = ["5%"]
devices = ["small"]
[sweep.device]
in_gc = ["queued", "executing"]
"""


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("oltp", requests=20_000, pages=6_000, read_ratio=0.4, seed=5, gap_ns=20_000)


def test_their_vectors_pass() -> None:
    report = ds.conform([VECTORS / "choices.jsonl"])
    assert report.ok, report
    assert (report.passed, report.skipped) == (15, 0)


def test_in_gc_changes_what_gcar_evicts_and_which_victims_are_in_gc(trace: ds.Trace) -> None:
    queued = ds.compare(trace, POLICIES, cache="5%", device="small")
    executing = ds.compare(trace, POLICIES, cache="5%", device="small[in_gc=executing]")
    for one, other in zip(queued, executing, strict=True):
        # A unit that serves a collection is in GC by both readings.
        assert 0 < other["victim_in_gc_ratio"] < one["victim_in_gc_ratio"]
        is_asked = one.label == "gcar-lru"
        assert (one["response_ns_mean"] != other["response_ns_mean"]) == is_asked, one.label


def test_in_gc_is_an_axis_of_a_sweep(tmp_path: Path) -> None:
    from destage.model.axes import axes_of

    (tmp_path / "s.toml").write_text(AXES)
    ds.sweep(tmp_path / "s.toml", tmp_path / "runs")
    axis = axes_of(ds.load_results(tmp_path / "runs").rows)[0]
    assert (axis.name, set(axis.column)) == ("device.in_gc", {"queued", "executing"})


def test_an_unknown_word_is_refused_with_those_that_can_be() -> None:
    with pytest.raises(ValueError, match="in_gc") as refused:
        ds.open_device("small[in_gc=active]")
    assert "queued" in str(refused.value)
    assert "executing" in str(refused.value)


def test_over_lru_it_is_ecr_without_a_clean_list(trace: ds.Trace) -> None:
    found = ds.compare(trace, "ecr-e,ecr-over", cache="5%", device="small", check=True)
    one, other = found
    assert other.label == "ecr-over"
    for metric in ("hit_ratio", "response_ns_mean", "destaged_pages", "eviction_wait_ns_mean"):
        assert one[metric] == other[metric], metric


@pytest.mark.parametrize("base", ["cflru[window_fraction=0.25]", "2q[in_fraction=0.5]", "arc"])
def test_each_base_keeps_other_pages(trace: ds.Trace, base: str) -> None:
    over_lru, over = ds.compare(
        trace, f"ecr-over,ecr-over[base={base}]", cache="5%", device="small", check=True
    )
    assert over.config["params"]["base"] == base
    assert over["hit_ratio"] != over_lru["hit_ratio"]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("ecr-over[base=clock]", "clock has a fixed number of frames"),
        ("ecr-over[base=ecr]", "expected one of lru, cflru, 2q, arc"),
        ("ecr-over[base=2q[in_fraction=7]]", "in_fraction = 7"),
        ("ecr-over[cqct=eq2]", "expected backlog, wait, eq1_strict, eq1"),
    ],
)
def test_a_base_that_cannot_be_is_refused(trace: ds.Trace, spec: str, says: str) -> None:
    with pytest.raises(ValueError, match="ecr-over: ") as refused:
        ds.compare(trace, spec, cache="5%", device="small")
    assert says in str(refused.value)


def test_without_a_device_it_is_an_error_that_says_what_to_type(destage: Destage) -> None:
    done = destage("run", "demo", "-p", "ecr-over[base=arc]", "-c", "5%")
    assert done.status == 2
    assert "add a device (--device" in done.err
