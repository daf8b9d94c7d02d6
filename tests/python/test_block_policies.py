"""Policies that cluster by erase block, from outside."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import msr_lines

import destage as ds

NAMES = ["fab", "bplru", "clc", "bpac", "aalru"]


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("oltp", requests=30_000, pages=6_000, read_ratio=0.4, seed=5)


def test_the_catalogue_says_who_clusters() -> None:
    clustering = [p.name for p in ds.policies() if p.clusters]
    assert [name for name in clustering if name in NAMES] == NAMES
    assert {*clustering} - {*NAMES} == {"gcar-bplru", "lb-clock"}
    assert {p.name for p in ds.policy("bpac").params} >= {"sampling_period", "seq_expiry"}
    beta = next(p for p in ds.policy("aalru").params if p.name == "beta")
    assert (beta.values, beta.default) == ("real > 1", "5.0")
    tau = next(p for p in ds.policy("aalru").params if p.name == "initial_tau")
    assert tau.values == "none or real >= 0"


@pytest.mark.parametrize("name", NAMES)
def test_counters_hang_together(trace: ds.Trace, name: str) -> None:
    (run,) = ds.compare(trace, name, cache="5%", check=True)
    counted = run.counters
    assert run["accesses"] == trace.accesses
    assert counted["evictions"] == counted["destaged_pages"] + counted["clean_evictions"]
    assert counted["padding_reads"] <= counted["padding_writes"]
    assert run["mean_destage_pages"] == counted["destaged_pages"] / counted["destages"]
    assert run["destage_pages_p50"] <= run["destage_pages_p90"] <= run["destage_pages_max"] <= 64
    if name != "aalru":  # a write buffer
        assert counted["bypasses"] == counted["read_misses"]
        assert 0 < counted["write_misses"] - counted["destaged_pages"] <= run.frames


def test_bpac_counts_by_list_and_by_rule(trace: ds.Trace) -> None:
    (run,) = ds.compare(trace, "bpac", cache="5%", warmup="20%")
    assert run["p_list_hits"] + run["b_list_hits"] == run.counters["write_hits"]
    rules = ["full", "done", "largest", "fallback", "p_list"]
    assert sum(run[f"evictions_{rule}"] for rule in rules) == run.counters["destages"]
    (lru,) = ds.compare(trace, "lru", cache="5%")
    assert lru.metrics["p_list_hits"] is None


def test_blocks_have_as_many_pages_as_they_are_told(trace: ds.Trace) -> None:
    (small,) = ds.compare(trace, "fab", cache="5%", pages_per_block=1)
    assert small["mean_destage_pages"] == 1
    assert small.config["pages_per_block"] == 1
    (usual,) = ds.compare(trace, "fab", cache="5%")
    assert usual.config["pages_per_block"] == 64
    assert usual["mean_destage_pages"] > 1
    (all_of_it,) = ds.compare(trace, "bplru", cache="5%")
    (short,) = ds.compare(trace, "bplru", cache="5%", device_pages=100)
    assert all_of_it["padding_writes"] > short["padding_writes"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fetch_on_write_miss": True}, "fab: fetch_on_write_miss is no option"),
        ({"pages_per_block": 0}, "pages_per_block: expected an integer 1..1048576, pages, got 0"),
        (
            {"pages_per_block": 2.5},
            "pages_per_block: expected an integer 1..1048576, pages, got 2.5",
        ),
        ({"device_pages": -1}, "device_pages: expected an integer >= 1, pages, got -1"),
        ({"device": "small", "pages_per_block": 64}, "takes the device's"),
    ],
)
def test_options_that_cannot_be_are_refused(
    trace: ds.Trace, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ds.UsageError, match=message):
        ds.compare(trace, "fab", cache="5%", **arguments)  # type: ignore[arg-type]


def test_a_sample_of_single_pages_is_refused_to_them(trace: ds.Trace) -> None:
    with pytest.raises(ds.UsageError, match="bpac: it clusters by erase block"):
        ds.mrc(trace, "bpac", cache="5%", sample=0.5)
    assert len(ds.mrc(trace, "bpac", cache="5%").to_dicts()) == 1


def test_aalru_pads_only_where_latencies_are_measured(trace: ds.Trace) -> None:
    (blind,) = ds.compare(trace, "aalru[period=500]", cache="5%")
    assert blind["padding_writes"] == 0
    assert any("nominal time" in warning for warning in blind.warnings)
    assert blind.params["page_write_ns"] == 101_500
    drive = ds.open_device("small")
    (timed,) = ds.compare(trace, "aalru[period=500]", cache="5%", device=drive)
    assert not any("nominal time" in warning for warning in timed.warnings)
    assert timed.params["page_write_ns"] != 101_500


@pytest.mark.parametrize("name", NAMES)
def test_they_run_in_front_of_a_drive(trace: ds.Trace, name: str) -> None:
    drive = ds.open_device("small")
    (run,) = ds.compare(trace, name, cache="5%", device=drive, warmup="none", check=True)
    assert run["flash_programs"] == run.counters["physical_writes"]
    assert run["flash_reads"] <= run.counters["physical_reads"]
    pages_per_block = drive.block_bytes // drive.page_bytes
    (blind,) = ds.compare(
        trace,
        name,
        cache="5%",
        pages_per_block=pages_per_block,
        device_pages=drive.logical_pages,
    )
    if name != "aalru":  # which goes by what it measures
        assert run.counters == blind.counters


def test_a_series_shows_where_a_policy_has_adapted_to(trace: ds.Trace) -> None:
    shown = {
        "arc": {"p"},
        "acr-h": {"beta", "delta_c", "delta_d"},
        "bpac[sampling_period=1000]": {"pird_thd", "bird_thd", "alpha", "alpha_mean"},
        "aalru[period=1000]": {"tau", "th", "wf"},
    }
    for policy, gauges in shown.items():
        recorded = ds.run(trace, policy, cache="5%", series=4000)
        columns = recorded.series_columns()
        assert gauges <= set(columns), policy
        assert len(columns["first_access"]) == -(-trace.accesses // 4000)
        assert sum(columns["write_hits"]) == recorded.run.counters["write_hits"]
        assert len(set(columns[sorted(gauges)[0]])) > 1, f"{policy} adapts"
    plain = ds.run(trace, "fab", cache="5%", series=4000).series_columns()
    assert not {"p", "tau", "alpha"} & set(plain)


def test_a_result_says_what_it_takes_to_run_again(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("".join(msr_lines(3000)))
    small = ds.open_trace(path)
    results = ds.compare(small, "bplru", cache="20p", pages_per_block=8, device_pages=300)
    again = ds.rerun(results)
    assert not again.differences
    assert again.results[0].config["device_pages"] == 300


def test_padding_in_front_of_a_page_map_gets_a_note() -> None:
    """`bplru` pads for log blocks; a page-mapped FTL only has to write the padding."""
    trace = ds.synth(
        "uniform", requests=3000, pages=4096, read_ratio=0.2, seed=1, device="small", wrap="modulo"
    )
    for ftl, noted in (("page", True), ("bast", False)):
        runs = ds.compare(trace, "lru,bplru", cache="2MiB", device="small", ftl=ftl)
        said = {
            run.policy: any("padding to whole blocks" in w for w in run.warnings) for run in runs
        }
        assert said == {"lru": False, "bplru": noted}, ftl
