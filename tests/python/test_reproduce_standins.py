"""Stand-ins: what they are drawn to, how they come again, where they lie, what shrinks."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import destage as ds
from destage.experiment.experiment import Experiment
from destage.lab.ssd import open_device
from destage.reproduce import paper
from destage.reproduce.load import LoadOptions
from destage.reproduce.published import catalogue, requests_of
from destage.reproduce.runs import Request, Runner
from destage.reproduce.scaling import coarse, scaled_drive, scaled_policy, scaled_size
from destage.reproduce.standins import PRESET, Generated, apart, recipe
from destage.reproduce.workloads import Loads

#: A plain recipe; tests change what they are about.
PLAIN: dict[str, Any] = {
    "kind": "recency",
    "requests": 20_000,
    "unique_pages": 4_000,
    "page_bytes": 4096,
    "write_ratio": 0.6,
    "mean_pages": 2.0,
    "cluster_pages": 8,
    "log_share": 0.1,
    "log_page_share": 0.05,
    "gap_ns": 100_000,
    "burst": 1.0,
    "off_ns": 0,
    "near": 0.1,
    "depth": 0.5,
    "sequential": 0.2,
    "streams": 4,
    "phases": 5,
}
INDEPENDENT = {**PLAIN, "kind": "independent", "alpha": 0.8}


def trace_of(made: dict[str, Any], seed: int = 1) -> ds.Trace:
    return Generated.surrogate(made, seed).open()


@pytest.mark.parametrize("made", [PLAIN, INDEPENDENT], ids=["recency", "independent"])
def test_a_load_has_the_counts_that_it_is_drawn_to(made: dict[str, Any]) -> None:
    trace = trace_of(made)
    info = trace.info()
    assert trace.requests == 20_000
    # Five deviations of a share of 20,000, and of the mean of so many geometric numbers.
    assert 1 - info.read_share == pytest.approx(0.6, abs=0.018)
    assert trace.accesses / trace.requests == pytest.approx(2.0, rel=0.1)
    assert info.mean_rate_per_s == pytest.approx(10_000, rel=0.05)
    # Births are counted; popular draws only have an expectation.
    slack = 0.005 if made is PLAIN else 0.06
    assert trace.unique_pages == pytest.approx(4_000, rel=slack)


def test_the_published_pages_are_met_at_every_scale_and_page_size() -> None:
    for name in ("F1", "F2", "Cello99-Disk3", "Cello99-Disk8"):
        spec = catalogue().traces[name]
        for scale, page in ((0.01, 4096), (0.02, 2048)):
            made = dict(recipe(spec, scale, page))
            trace = trace_of(made)
            share = requests_of(spec, scale) / spec.counts["requests"]
            wanted = spec.counts["unique_pages"] * share * 4096 / page
            assert trace.unique_pages == pytest.approx(wanted, rel=0.01), (name, scale)
            assert trace.page_bytes == page


def test_the_same_seed_gives_the_same_load_and_another_one_another() -> None:
    one, again, other = (trace_of(PLAIN, seed).fingerprint for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_a_recent_load_hits_more_often_the_smaller_its_depths_are() -> None:
    """By the share of what comes again that an LRU cache of a tenth of the pages catches."""
    found = {}
    for depth in (0.2, 0.5, 1.0, 2.0):
        made = {**PLAIN, "near": 0.0, "depth": depth, "sequential": 0.0, "log_share": 0.0}
        trace = trace_of(made)
        one = ds.compare(trace, "lru", cache="400p")[0]
        again = 1 - trace.unique_pages / trace.accesses
        assert one.hit_ratio is not None
        found[depth] = one.hit_ratio / again
    for depth, share in found.items():
        d = depth if depth != 1 else 1 + 1e-9
        # Everything is held until a tenth of the pages is known, then a tenth of ever more.
        wanted = 0.1 + 0.1**d * (1 - 0.1 ** (1 - d)) / (1 - d)
        assert share == pytest.approx(wanted, abs=0.05), found
    shares = list(found.values())
    assert shares == sorted(shares, reverse=True)


def test_the_drive_measures_the_imbalance_that_table_1_publishes() -> None:
    loads = Loads(scale=0.002)
    load = loads.load("USR", paper("sac"))
    for striping, published in (("0", 0.785), ("1", 1.730), ("3", 2.631)):
        drive = scaled_drive(f"sac[striping={striping}]", "", load.share)
        trace = loads.recipe(load, 1, drive, LoadOptions(channels="published")).open()
        run = ds.compare(trace, "none", cache="1p", device=drive.extended(trace.end_page))[0]
        assert run["max_deviation_reads"] == pytest.approx(published, rel=0.15), striping
        even = loads.recipe(load, 1, drive, LoadOptions(channels="balanced")).open()
        run = ds.compare(even, "none", cache="1p", device=drive.extended(even.end_page))[0]
        assert run["max_deviation_reads"] < 0.3


def test_a_load_is_placed_anew_for_a_drive_and_asks_for_the_same() -> None:
    traces = [Generated.surrogate(PLAIN, 1, on).open() for on in (None, (8, 2, 1.0, 1.0, 0))]
    assert traces[0].fingerprint != traces[1].fingerprint
    assert traces[0].requests == traces[1].requests
    assert traces[0].accesses == traces[1].accesses
    assert traces[0].unique_pages == traces[1].unique_pages == 4_000
    faster = Generated.surrogate(PLAIN, 1, intensity=10.0).open()
    assert (faster.duration_ns or 0) == pytest.approx((traces[0].duration_ns or 0) / 10, rel=1e-3)


def test_caches_and_drives_shrink_as_the_requests_do() -> None:
    assert scaled_size("2GiB", 0.1) == "209715KiB"
    assert scaled_size("8MiB", 1.0) == "8MiB"
    assert scaled_size("8MiB", 0.001) == "64KiB"
    assert (scaled_size("2048p", 0.1), scaled_size("2048p", 1.0)) == ("205p", "2048p")
    whole = open_device("ecr")
    part = scaled_drive("ecr", "", 0.125)
    assert part.record["device"]["blocks_per_plane"] == 64
    assert part.logical_pages == pytest.approx(whole.logical_pages / 8, rel=1e-3)
    for key in ("channels", "chips_per_channel", "planes_per_die", "read_ns", "program_ns"):
        assert part.record["device"][key] == whole.record["device"][key]
    for key in ("gc_low_pages", "precondition_writes"):
        wanted = whole.record["device"][key] / 8
        assert part.record["device"][key] == pytest.approx(wanted, rel=0.01)
    assert scaled_drive("ecr", "", 1.0).record == whole.record
    # A plane keeps so many blocks that a collection is one of many.
    assert scaled_drive("ecr", "", 0.001).record["device"]["blocks_per_plane"] == 32


def test_a_map_cache_shrinks_as_the_device_does_and_holds_some_entries() -> None:
    keys = "map_cache=2MiB;map_granularity=entry"
    for scale in (1.0, 0.1, 0.01, 0.001):
        device = scaled_drive(f"sac[{keys}]", "", scale).record["device"]
        part = max(scale, 32 / 1024)
        assert device["map_cache"] == pytest.approx((2 << 20) * part, rel=0.01), scale
        # Pages of the host and of the map have an open block each.
        assert device["gc_low_pages"] >= 2 * device["pages_per_block"]
    small = scaled_drive("sac[map_cache=1KiB;map_granularity=entry]", "", 0.1).record["device"]
    assert small["map_cache"] == 64 * small["map_entry_bytes"]
    whole = scaled_drive("sac[map_cache=8KiB]", "", 0.1).record["device"]
    assert whole["map_cache"] == whole["page_bytes"]


def test_what_a_policy_counts_in_requests_shrinks_as_they_do() -> None:
    assert scaled_policy("bpac[pird_sampling=p_list]", 1.0) == "bpac[pird_sampling=p_list]"
    made = scaled_policy("bpac[pird_sampling=p_list]", 0.1)
    assert made == "bpac[pird_sampling=p_list;sampling_period=1000]"
    assert scaled_policy("aalru[beta=5;period=8192]", 0.02) == "aalru[beta=5;period=164]"
    assert scaled_policy("sac[starve_limit=1000]", 0.1) == "sac[starve_limit=100]"
    # A device's erase blocks stay; without one clusters are stretches of the footprint.
    cfdc = "cfdc[cluster_size=64]"
    assert scaled_policy(cfdc, 0.1) == cfdc
    assert scaled_policy(cfdc, 0.1, device=False) == "cfdc[cluster_size=6]"
    for same in ("lru", "sac", "acr-h[ghost_fraction=1]", "ecr"):
        assert scaled_policy(same, 0.1) == same


def test_a_scaled_run_of_few_blocks_or_periods_decides_nothing() -> None:
    assert coarse("bplru[padding=false]", 15.9, 1e6) == "a cache of under 16 erase blocks"
    assert coarse("lru", 1.0, 1e6) == ""
    assert coarse("bpac[sampling_period=1000]", 16, 19_999) == "a run of under 20 periods"
    assert coarse("bpac[sampling_period=1000]", 16, 20_000) == ""


def test_a_workload_that_a_paper_specifies_shrinks_with_its_pages() -> None:
    acr, loads = paper("acr"), Loads(scale=0.02)
    t1 = loads.load("T1", acr)
    assert t1.share == 0.02
    trace = loads.open(t1, seed=1)
    assert (trace.requests, trace.end_page) == (60_000, 655)
    phases = loads.recipe(loads.load("short phases", acr), 1).known["how"]["made"]
    assert (phases["requests"], phases["unique_pages"], phases["phases"]) == (60_000, 655, 3000)
    # Sensitivity runs of a whole evaluation have fewer requests over all pages.
    shorter = Loads(scale=0.1, specified=1.0, shorten=0.02)
    load = shorter.load("T1", acr)
    trace = shorter.open(load, seed=1)
    assert (load.share, trace.requests, trace.end_page) == (1.0, 60_000, 32_768)


def test_an_ftl_has_fewer_log_blocks_and_mappings_on_a_smaller_drive() -> None:
    bast = scaled_drive("bpac", "bast[log_blocks=50]", 0.1)
    assert bast.record["ftl"]["log_blocks"] == 5
    dftl = scaled_drive("aalru", "dftl", 0.1)
    assert dftl.record["ftl"]["cmt_entries"] == 410
    assert scaled_drive("bpac", "fast[log_blocks=50]", 1.0).record["ftl"]["log_blocks"] == 50
    # All extra blocks as log blocks fit at every scale, and so does each paper's FTL.
    for scale in (0.005, 0.01, 0.02, 0.1, 0.333):
        for device, ftl in (("bpac", "fast[log_blocks=2890]"), ("aalru", "fast[log_blocks=6553]")):
            assert scaled_drive(device, ftl, scale).record["device"]["ftl"] == "fast"
        for device in ("bpac", "aalru", "ecr", "sac[alloc=dynamic]"):
            own = open_device(device).record["device"]["ftl"]
            assert scaled_drive(device, "", scale).record["device"]["ftl"] == own
    kept = scaled_drive("aalru", "dftl[cmt_entries=8192;batch_update=false]", 0.1).record["ftl"]
    assert (kept["cmt_entries"], kept["batch_update"]) == (819, False)


def test_a_source_without_a_fit_is_drawn_independently_and_any_can_be() -> None:
    traces = catalogue().traces
    assert recipe(traces["DiskSim-T1"], 0.01, 2048)["kind"] == "independent"
    assert recipe(traces["hm_0"], 0.01, 4096)["kind"] == "recency"
    assert recipe(traces["hm_0"], 0.01, 4096, "independent")["alpha"] == 1.0


def test_a_rate_is_found_at_which_the_busiest_channel_works_as_much_as_wanted(
    tmp_path: Path,
) -> None:
    one = paper("sac")
    runs = replace(
        one.run_set("heavy"),
        workloads=("USR",),
        devices={"SSD3": "sac[striping=3]"},
        policies=("none", "LRU"),
    )
    runner = Runner(one, seeds=(1,), experiment=Experiment(tmp_path / "store"))
    request = Request(runs, Loads(scale=0.002))
    rows = {row.policy: row.numbers for row in runner.rows([request])[request].rows}
    assert rows["none"]["utilisation_max"] == pytest.approx(0.8, abs=0.1)
    assert rows["none"]["intensity"] == rows["LRU"]["intensity"] > 1
    assert rows["none"]["max_deviation_reads"] > 1.5
    over = Request(replace(runs, busiest=1.2), Loads(scale=0.002))
    more = {row.policy: row.numbers for row in runner.rows([over])[over].rows}
    assert more["none"]["intensity"] == pytest.approx(1.5 * rows["none"]["intensity"])


def test_tables_1_and_3_of_sac_come_out_together() -> None:
    """Unbalanced hits above balanced misses, as of USR, and the other way, as of Exchange."""
    loads = Loads(scale=0.1)
    for name, striping in (("USR", "1"), ("USR", "3"), ("Exchange", "2"), ("LiveMaps", "0")):
        load = loads.load(name, paper("sac"))
        assert load.spec is not None
        drive = scaled_drive(f"sac[striping={striping}]", "", load.share)
        trace = loads.recipe(load, 1, drive, LoadOptions(channels="published")).open()
        drive = drive.extended(trace.end_page)
        cache = f"{round(2**31 * load.share / drive.page_bytes)}p"
        none, arc = ds.compare(trace, ["none", "arc"], cache=cache, device=drive)
        published, missed = load.spec.deviation[striping], load.spec.missed_deviation[striping]
        assert none["max_deviation_reads"] == pytest.approx(published, rel=0.1), name
        assert arc["max_deviation_reads"] == pytest.approx(missed, rel=0.1, abs=0.15), name


def test_a_recipe_among_a_paper_s_workloads_is_dealt_out_evenly_over_the_channels() -> None:
    loads = Loads(scale=0.01)
    load = loads.load("near re-use 60%", paper("sac"))
    assert load.share == 0.01
    drive = scaled_drive("sac[striping=0]", "", 0.01)
    trace = loads.recipe(load, 1, drive, LoadOptions(channels="balanced")).open()
    assert trace.accesses == 10_000
    assert trace.unique_pages == pytest.approx(4_000, rel=0.01)
    run = ds.compare(trace, "none", cache="1p", device=drive.extended(trace.end_page))[0]
    assert run["max_deviation_reads"] < 0.05


def test_a_page_tells_how_channels_and_caches_fit() -> None:
    from destage.reproduce import Options, evaluate, narrowed
    from destage.reproduce.document import document
    from destage.reproduce.pages import channel_rows, differences

    one = narrowed(paper("sac"), tables=[1])
    one = replace(
        one,
        runs=tuple(
            replace(r, workloads=("USR",), recordings=(), policies=("none", "LRU"))
            for r in one.runs
        ),
        claims=tuple(c for c in one.claims if c.check.policies == ("none",)),
    )
    data = document(evaluate(one, Options(scale=0.002, seeds=1, sensitivity=False)))
    rows = channel_rows(data)
    assert rows[0][:3] == ["workload", "SSD0: published", "SSD0: has"]
    assert rows[1][:2] == ["USR", "0.785"]
    assert float(rows[1][2]) == pytest.approx(0.785, rel=0.15)
    assert rows[1][-2] == "1.87", "what is published of dynamic writes is told, too"
    # 2 GiB at a scale of 0.002 are 1,048 pages of 4 KiB: 16.4 blocks of 64.
    assert any("has 1,048 pages, 16.4 of its erase blocks" in d for d in differences(data))


def phi(trace: ds.Trace) -> float:
    """The correlation of successive operations on a page: whether they write."""
    last: dict[int, bool] = {}
    pairs = {(a, b): 0 for a in (False, True) for b in (False, True)}
    for request in trace:
        writes = request.op == "write"
        for page in range(request.page, request.page + request.pages):
            if page in last:
                pairs[last[page], writes] += 1
            last[page] = writes
    rr, rw, wr, ww = (pairs[a, b] for a in (False, True) for b in (False, True))
    sums = (rr + rw) * (wr + ww) * (rr + wr) * (rw + ww)
    return (rr * ww - rw * wr) / math.sqrt(sums)


@pytest.mark.parametrize("name", ["hm_0", "Fin1", "USR"])
def test_successive_operations_on_a_page_are_correlated_as_in_real_traces(name: str) -> None:
    spec = catalogue().traces[name]
    scale = 40_000 / spec.known["requests"]
    trace = trace_of(dict(recipe(spec, scale, 4096)))
    assert spec.origin.affinity > 0.8
    assert phi(trace) == pytest.approx(spec.origin.affinity, abs=0.03)
    none = trace_of(dict(recipe(spec, scale, 4096, affinity=0.0)))
    assert phi(none) < 0.15
    # The same pages at the same times, and as many writes.
    assert trace.duration_ns == none.duration_ns
    assert (trace.accesses, trace.unique_pages) == (none.accesses, none.unique_pages)
    assert trace.info().read_share == pytest.approx(none.info().read_share, abs=0.03)
    assert [r.page for r in trace.head(1000)] == [r.page for r in none.head(1000)]


def test_bursts_leave_the_rate_as_it_is() -> None:
    spec = catalogue().traces["hm_0"]
    for burst in (54.0, 8.0, 1.0):
        made = recipe(spec, 0.01, 4096, burst=burst)
        assert made["burst"] == burst
        rate = spec.counts["requests"] / spec.seconds
        assert trace_of(dict(made)).info().mean_rate_per_s == pytest.approx(rate, rel=0.15)


def test_hot_sets_that_are_apart_are_those_of_the_paper() -> None:
    made = apart({"preset": "t4", "requests": 40_000})
    assert (made["write_ratio"], made["access_share"], made["page_share"]) == (0.2, 0.8, 0.2)
    trace = trace_of(dict(made))
    assert (trace.page_bytes, trace.requests) == (2048, 40_000)
    assert 1 - trace.info().read_share == pytest.approx(0.2, abs=0.01)
    first = trace_of(dict(apart({"preset": "t4", "requests": 40_000, "phases": 2}))).head(20_000)
    writes = sum(r.op == "write" for r in first) / len(first)
    assert writes == pytest.approx(0.2, abs=0.015), "the second half has the other 0.8"
    both = trace_of(dict(apart({"preset": "t4", "requests": 40_000, "phases": 2})))
    assert both.info().read_share == pytest.approx(0.5, abs=0.01)
    with pytest.raises(ds.UsageError, match="two hot sets of 60 pages do not fit 100 pages"):
        trace_of(dict(apart({**PRESET["t4"], "pages": 100, "requests": 10, "page_share": 0.6})))


def test_a_recipe_out_of_range_is_refused() -> None:
    with pytest.raises(ds.UsageError, match=r"write_ratio: expected a share, 0 to 1, found 1\.5"):
        trace_of({**PLAIN, "write_ratio": 1.5})
    with pytest.raises(ds.UsageError, match="unknown field `colour`"):
        trace_of({**PLAIN, "colour": 1})
    with pytest.raises(ds.UsageError, match="intensity: expected a number above 0, found 0"):
        Generated.surrogate(PLAIN, 1, intensity=0.0).open()


def test_the_presets_of_acr_are_those_of_the_generator() -> None:
    for name, given in PRESET.items():
        trace = ds.synth(name, seed=1, cache=False)
        made = trace.meta["summary"]["workload"]
        assert {key: made[key] for key in given} == given


def test_hot_sets_are_a_knob_of_acr() -> None:
    loads = Loads(shorten=0.01)
    load = loads.load("T1", paper("acr"))
    shared = loads.open(load, seed=1)
    other = loads.recipe(load, 1, options=LoadOptions(changes={"apart": True})).open()
    assert other.requests == shared.requests == 30_000
    assert other.fingerprint != shared.fingerprint


def test_a_generated_trace_travels_as_a_description() -> None:
    one = Generated.surrogate(PLAIN, 1, (8, 2, 1.0, 1.0, 0), 2.0, 2048)
    there = pickle.loads(pickle.dumps(one))
    assert there == one
    assert there.open().fingerprint == one.open().fingerprint
    assert one.open() is one.open(), "neighbours share it"
    others = [Generated.surrogate(PLAIN, 2), Generated.surrogate({**PLAIN, "near": 0.2}, 1)]
    assert len({r.fingerprint for r in (one, there, *others)}) == 3
    assert (one.page_bytes, one.accesses) == (2048, 80_000)


def test_threads_change_no_number(tmp_path: Path) -> None:
    one = paper("gcar")
    runs = replace(
        one.run_set("traces"), workloads=("Wdev_0", "Mds_0"), recordings=(), policies=("LRU",)
    )
    rows = []
    for jobs in (1, 2):
        experiment = Experiment(tmp_path / f"store{jobs}", jobs=jobs)
        request = Request(runs, Loads(scale=0.002))
        runner = Runner(one, seeds=(1, 2), experiment=experiment)
        rows.append(runner.rows([request])[request].rows)
    assert rows[0] == rows[1]
    assert [row.seed for row in rows[0]] == [1, 2, 1, 2]
