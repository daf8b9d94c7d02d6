"""The public interface from outside: traces, runs, results."""

from __future__ import annotations

import csv
import io
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA, VECTORS, msr_lines, traces_folder, without_device

import destage as ds
from destage.lab.traces import opened_again
from destage.model.trace_identity import trace_name


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=20_000, pages=2_000, read_ratio=0.6, seed=3)


def slow_lru(accesses: list[int], frames: int) -> int:
    """Misses of LRU, as one would write it down."""
    order: list[int] = []
    misses = 0
    for page in accesses:
        if page in order:
            order.remove(page)
        else:
            misses += 1
            if len(order) == frames:
                order.pop(0)
        order.append(page)
    return misses


def test_compare_counts_as_a_list_does(tmp_path: Path) -> None:
    lines = msr_lines(400)
    path = tmp_path / "t.csv"
    path.write_text("".join(lines))
    accesses = []
    for line in lines:
        offset, size = map(int, line.split(",")[4:6])
        accesses += range(offset // 4096, (offset + size - 1) // 4096 + 1)
    opened = ds.open_trace(path)
    assert (opened.requests, opened.accesses) == (400, len(accesses))
    assert opened.unique_pages == len(set(accesses))
    for frames in (1, 3, 7, 20, 100):
        (run,) = ds.compare(opened, "lru", cache=f"{frames}p")
        assert run.misses == slow_lru(accesses, frames)
        assert run.frames == frames


def test_the_order_is_policies_then_sizes_whatever_the_threads(trace: ds.Trace) -> None:
    results = [
        ds.compare(trace, "arc,lru", cache=["10%", "1%"], jobs=jobs).to_dicts()
        for jobs in (1, 2, 7)
    ]
    assert results[0] == results[1] == results[2]
    assert [(r["policy"], r["cache"]) for r in results[0]] == [
        ("arc", "10%"),
        ("arc", "1%"),
        ("lru", "10%"),
        ("lru", "1%"),
    ]


def test_every_policy_of_the_catalogue_runs_and_obeys_every_law(trace: ds.Trace) -> None:
    """Unchecked runs take the loop compiled for each policy, which tests in Rust leave out."""
    for info in without_device():
        (run,) = ds.compare(trace, info.name, cache="5%", check=True)
        (unchecked,) = ds.compare(trace, info.name, cache="5%")
        assert run.counters == unchecked.counters, info.name
        assert run["accesses"] == trace.accesses
        assert set(run.params) == {p.name for p in info.params}


def test_a_policy_that_looks_into_the_drive_is_refused_without_one(trace: ds.Trace) -> None:
    need = {p.name for p in ds.policies()} - {p.name for p in without_device()}
    assert {"ecr", "ecr-e", "gcar-lru", "gcar-cflru", "sac"} <= need
    for name in sorted(need):
        with pytest.raises(ds.UsageError, match=f"{name} is device-aware"):
            ds.compare(trace, name, cache="5%")


def test_min_hits_most(trace: ds.Trace) -> None:
    names = ",".join(p.name for p in without_device())
    results = ds.compare(trace, names, cache="10%")
    best = next(r for r in results if r.policy == "min")
    assert all(r.misses >= best.misses for r in results)


def test_cost_warmup_and_write_options(trace: ds.Trace) -> None:
    (plain,) = ds.compare(trace, "lru", cache="10%", cost={"read": 2, "write": 118})
    # The writes that the table shows: those that are pending are among them.
    assert plain["pending_writes"] > 0
    assert plain.cost == 2 * plain.physical_reads + 118 * plain["flash_writes"]
    assert plain.physical_reads == plain.counters["read_misses"]
    (fetching,) = ds.compare(trace, "lru", cache="10%", fetch_on_write_miss=True)
    assert fetching.physical_reads == plain.misses
    (flushed,) = ds.compare(trace, "lru", cache="10%", flush_at_end=True)
    assert flushed.physical_writes == plain.physical_writes + flushed.counters["end_flushes"]
    assert flushed.counters["end_flushes"] > 0
    (warm,) = ds.compare(trace, "lru", cache="10%", warmup="50%")
    assert warm.warmup_requests == 10_000
    assert warm["accesses"] == trace.accesses - 10_000
    assert warm.cost is None
    (full,) = ds.compare(trace, "lru", cache="10%", warmup="full")
    assert 200 <= full.warmup_requests < 20_000


def test_acr_takes_its_costs_from_the_cost_model(trace: ds.Trace) -> None:
    (run,) = ds.compare(trace, "acr-c", cache="10%", cost="read=3,write=7")
    assert (run.params["cost_read"], run.params["cost_write"]) == (3, 7)
    (told,) = ds.compare(trace, "acr-c[cost_write=9]", cache="10%", cost="read=3,write=7")
    assert (told.params["cost_read"], told.params["cost_write"]) == (3, 9)


def test_parameters_come_as_text_or_as_a_mapping(trace: ds.Trace) -> None:
    (text,) = ds.compare(trace, "cflru[window_fraction=0.25]", cache="10%")
    (pair,) = ds.compare(trace, ("cflru", {"window_fraction": 0.25}), cache="10%")
    assert text.counters == pair.counters
    assert text.label == pair.label == "cflru[window_fraction=0.25]"


def test_results_are_the_same_in_every_form(trace: ds.Trace, tmp_path: Path) -> None:
    results = ds.compare(trace, "lru,cflru", cache="1%,10%", cost="read=1,write=3")
    rows = results.to_dicts()
    assert len(rows) == 4

    again = ds.Results.from_json(results.to_json(tmp_path / "r.json"))
    assert again == results
    assert ds.Results.load(tmp_path / "r.json") == results

    text = results.to_csv(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == text
    table = list(csv.DictReader(io.StringIO(text)))
    assert [int(r["misses"]) for r in table] == [r["misses"] for r in rows]
    assert [float(r["hit_ratio"]) for r in table] == [r["hit_ratio"] for r in rows]
    assert {r["flush_at_end"] for r in table} == {"false"}

    names = {m.name for m in ds.metrics()}
    assert names <= set(rows[0])


def test_results_become_data_frames(trace: ds.Trace, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    results = ds.compare(trace, "lru,arc", cache="1%,10%")
    rows = results.to_dicts()
    assert results.to_polars().to_dicts() == rows
    frame = results.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["misses"]) == [r["misses"] for r in rows]
    results.to_parquet(tmp_path / "r.parquet")
    read = polars.read_parquet(tmp_path / "r.parquet")
    assert read.to_dicts() == rows
    curves = ds.mrc(trace, "lru,arc", cache="1%,10%")
    curves.to_parquet(tmp_path / "c.parquet")
    assert polars.read_parquet(tmp_path / "c.parquet").to_dicts() == curves.to_dicts()
    assert len(curves.to_pandas()) == len(curves.to_polars()) == 4


def test_a_missing_extra_says_what_to_install(
    trace: ds.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in ("polars", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    results = ds.compare(trace, "lru", cache="1%")
    with pytest.raises(ds.MissingExtra, match=r"pip install 'destage\[polars\]'"):
        results.to_polars()
    with pytest.raises(ds.MissingExtra, match=r"pip install 'destage\[pandas\]'"):
        results.to_pandas()


def test_the_table_marks_what_is_better_by_a_hundredth() -> None:
    trace = ds.synth("scan", requests=30_000, pages=3_000, seed=1)
    results = ds.compare(trace, "lru,arc,min", cache="10%")
    lru, arc, _ = results
    assert (arc.hit_ratio or 0) > 1.01 * (lru.hit_ratio or 0)
    lines = {line.split()[0]: line for line in repr(results).splitlines()}
    assert f"{100 * (arc.hit_ratio or 0):.2f}*" in lines["arc"]
    assert "*" not in lines["lru"]
    assert "*" not in lines["min"], "min uses future accesses: it is no competitor"
    same = ds.compare(trace, ["lru", ("cflru", {"window_fraction": 0.0})], cache="10%")
    assert "*" not in repr(same)
    assert "<table>" in results._repr_html_()
    assert results.to_markdown().startswith("| policy |")


def test_an_lru_curve_in_one_pass_is_the_runs(trace: ds.Trace) -> None:
    sizes = ["1p", "1%", "7%", "30%", "100%"]
    curve = ds.mrc(trace, "lru", cache=sizes).to_dicts()
    runs = ds.compare(trace, "lru", cache=sizes)
    assert [p["misses"] for p in curve] == [r.misses for r in runs]
    assert [p["physical_writes"] for p in curve] == [r.physical_writes for r in runs]
    assert {p["method"] for p in curve} == {"one_pass"}


def test_a_sampled_curve_is_near_and_says_how_near() -> None:
    trace = ds.synth("zipf", requests=200_000, pages=20_000, alpha=0.7, seed=5)
    exact = ds.mrc(trace, "lru", cache="15%").to_dicts()[0]
    sampled = ds.mrc(trace, "lru", cache="15%", sample=0.25, seed=2).to_dicts()[0]
    assert sampled["miss_ratio_error"] > 0
    assert sampled["misses_low"] < exact["misses"] < sampled["misses_high"]
    assert sampled["hit_ratio_high"] - sampled["hit_ratio_low"] < 0.03


@pytest.mark.parametrize("device", [None, "small"])
def test_periods_add_up_where_a_policy_refuses_pages(trace: ds.Trace, device: str | None) -> None:
    # A series is of the whole run; what is measured is, too, without a warm-up.
    options: Any = {"device": device, "warmup": "none"}
    recorded = ds.run(trace, "larc", cache="5%", series=700, **options)
    assert recorded.run.counters["written_through"] > 0
    for key in ("bypasses", "written_through", "destaged_pages", "read_misses", "write_misses"):
        assert sum(p[key] for p in recorded.series) == recorded.run.counters[key], key


def test_a_run_records_decisions_and_series(trace: ds.Trace, tmp_path: Path) -> None:
    recorded = ds.run(trace, "lru", cache="5%", decisions=tmp_path / "d.jsonl", series=1_500)
    lines = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert len(lines) == trace.accesses
    assert [d["index"] for d in lines] == list(range(trace.accesses))
    assert sum(not d["hit"] for d in lines) == recorded.run.misses
    assert sum(len(d["evicted"]) for d in lines) == recorded.run.counters["evictions"]
    assert [p["first_access"] for p in recorded.series] == list(range(0, trace.accesses, 1_500))
    for key in ("read_hits", "write_misses", "evictions", "destages"):
        assert sum(p[key] for p in recorded.series) == recorded.run.counters[key]
    assert recorded.run.counters == ds.compare(trace, "lru", cache="5%")[0].counters


def test_a_result_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("".join(msr_lines(300)))
    opened = ds.open_trace(path, requests=200, page_size="1KiB")
    results = ds.compare(
        opened, "2q,cflru[window_fraction=0.3]", cache="auto", cost="read=1,write=9", warmup="10%"
    )
    results.to_json(tmp_path / "r.json")
    again = ds.rerun(tmp_path / "r.json")
    assert again.same, again.differences
    assert again.results.to_dicts() == results.to_dicts()

    # Moved together with its result, the trace is found beside it.
    moved = tmp_path / "moved"
    moved.mkdir()
    path.rename(moved / "t.csv")
    (tmp_path / "r.json").rename(moved / "r.json")
    assert ds.rerun(moved / "r.json").same

    data = json.loads((moved / "r.json").read_text())
    data["runs"][0]["counters"]["read_misses"] += 1
    other = ds.rerun(ds.Results([data]), trace=moved / "t.csv")
    assert not other.same
    assert "read_misses" in other.differences[0]


def test_a_synthetic_result_is_made_again(trace: ds.Trace) -> None:
    results = ds.compare(trace, "lru,min", cache="3%")
    assert ds.rerun(results).same


def test_several_traces_give_one_table(trace: ds.Trace) -> None:
    other = ds.synth("uniform", requests=5_000, pages=500, seed=1)
    results = ds.compare([trace, other], "lru", cache="10%")
    assert [r.trace.fingerprint for r in results] == [trace.fingerprint, other.fingerprint]
    assert len(json.loads(results.to_json())) == 2
    assert ds.Results.from_json(results.to_json()) == results


def test_volumes_are_stacked_or_separate(tmp_path: Path) -> None:
    lines = msr_lines(200)
    path = tmp_path / "two.csv"
    path.write_text("".join(x.replace(",demo,0,", f",demo,{k % 2},") for k, x in enumerate(lines)))
    stacked = ds.open_trace(path)
    assert stacked.volumes == ("demo_0", "demo_1")
    volumes = ds.open_volumes(path)
    assert [v.volumes for v in volumes] == [("demo_0",), ("demo_1",)]
    assert sum(v.unique_pages for v in volumes) == stacked.unique_pages
    assert sum(v.requests for v in volumes) == stacked.requests
    one = ds.open_trace(path, volume="demo_1")
    assert one.fingerprint == volumes[1].fingerprint
    # A result of 0.2.0 has the key `device`.
    stored = json.loads(json.dumps(one.identity))
    stored["options"]["reader"]["device"] = stored["options"]["reader"].pop("volume")
    assert opened_again(stored, [path]).name == one.name == "two.csv:demo_1"
    assert trace_name(stored["sources"], stored["options"]) == one.name


def test_several_files_are_one_trace(tmp_path: Path) -> None:
    lines = msr_lines(200)
    (tmp_path / "a.csv").write_text("".join(lines[::2]))
    (tmp_path / "b.csv").write_text("".join(lines[1::2]))
    (tmp_path / "whole.csv").write_text("".join(lines))
    halves = ds.open_trace([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert halves.fingerprint == ds.open_trace(tmp_path / "whole.csv").fingerprint


def test_slices_and_filters(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("".join(msr_lines(300)))
    assert ds.open_trace(path, requests=7).requests == 7
    # One request a millisecond.
    assert ds.open_trace(path, from_="100ms", for_="50ms").requests == 50
    reads = ds.open_trace(path, ops="read").requests
    writes = ds.open_trace(path, ops=["write"]).requests
    assert reads + writes == 300


def test_info_and_head_agree_with_the_file(tmp_path: Path) -> None:
    lines = msr_lines(300)
    path = tmp_path / "t.csv"
    path.write_text("".join(lines))
    info = ds.trace_info(path)
    assert info.requests == 300
    assert info.read_share == sum("Read" in x for x in lines) / 300
    assert info.duration_ns == 299 * 1_000_000
    assert json.loads(info.to_json()).items() >= info.data.items()
    assert "300: " in repr(info)
    head = ds.trace_head(path, count=3)
    assert [h["time_ns"] for h in head] == [0, 1_000_000, 2_000_000]
    assert [h["offset_bytes"] for h in head] == [int(x.split(",")[4]) for x in lines[:3]]
    assert head[0]["response_ns"] == 231_000


@pytest.mark.parametrize("to", ["csv", "parquet", "mqsim", "disksim", "fio", "blktrace"])
def test_a_converted_trace_has_the_same_accesses(to: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("".join(msr_lines(100)))
    written = ds.convert(path, tmp_path / "out", to=to, lossy=True)
    assert written.requests == 100
    options: dict[str, Any] = {"format": "fio-iolog" if to == "fio" else to}
    if to == "csv":
        options |= {
            "columns": {"time": "time_ns", "device": "device", "op": "op"}
            | {"offset": "offset_bytes", "length": "length_bytes"},
            "time_unit": "ns",
            "offset_unit": "byte",
            "length_unit": "byte",
            "op_read": "read",
            "op_write": "write",
        }
    back = ds.open_trace(tmp_path / "out", **options)
    original = ds.open_trace(path)
    assert (back.requests, back.accesses) == (original.requests, original.accesses)
    assert back.unique_pages == original.unique_pages
    assert ds.compare(back, "lru", cache="20p")[0].counters == (
        ds.compare(original, "lru", cache="20p")[0].counters
    )


def test_the_cache_keeps_and_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESTAGE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "t.csv"
    path.write_text("".join(msr_lines(50)))
    assert not ds.open_trace(path).from_cache
    assert ds.open_trace(path).from_cache
    kept = ds.trace_cache()
    assert kept.folder == tmp_path / "cache"
    assert [e.requests for e in kept.entries] == [50]
    assert not ds.open_trace(path, cache=False).from_cache
    files, count = kept.clear()
    assert files >= 1
    assert count > 0
    assert not ds.open_trace(path).from_cache


def test_all_vectors_pass_and_none_is_skipped() -> None:
    files = sorted(VECTORS.glob("*.jsonl"))
    report = ds.conform(files)
    assert report.ok, report
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    assert report.passed == lines >= 658
    assert report.skipped == 0


def test_emitted_decisions_are_those_of_the_vectors() -> None:
    path = VECTORS / "page-policies.jsonl"
    emitted = [json.loads(x) for x in ds.conform_emit(path).splitlines()]
    vectors = [json.loads(x) for x in path.read_text().splitlines()]
    assert [e["line"] for e in emitted] == list(range(1, len(vectors) + 1))
    assert [e["decisions"] for e in emitted] == [v["decisions"] for v in vectors]


def test_catalogues_are_typed_and_complete() -> None:
    names = {p.name for p in ds.policies()}
    assert len(names) == 51
    assert ds.policy("min").offline
    assert not ds.policy("lru").offline
    window = next(p for p in ds.policy("cflru").params if p.name == "window_fraction")
    assert window.default == "0.5"
    assert len(ds.formats()) >= 20
    flags = [o.flag for o in ds.reader_options()]
    assert "--on-error" in flags
    assert "--volume" in flags


@pytest.mark.parametrize(
    "call",
    [
        lambda t: ds.open_trace(3),
        lambda t: ds.open_trace([]),
        lambda t: ds.open_trace(["a", 3]),
        lambda t: ds.open_trace("a", page_size=4.5),
        lambda t: ds.open_trace("a", page_size=True),
        lambda t: ds.open_trace("a", on_error=object()),
        lambda t: ds.open_trace("a", nonsense=1),
        lambda t: ds.synth(3),
        lambda t: ds.synth("zipff"),
        lambda t: ds.synth("zipf", alhpa=1),
        lambda t: ds.compare("trace", "lru"),
        lambda t: ds.compare([], "lru"),
        lambda t: ds.compare(t, []),
        lambda t: ds.compare(t, 3),
        lambda t: ds.compare(t, [3]),
        lambda t: ds.compare(t, ("lru", {"k": object()})),
        lambda t: ds.compare(t, ("cflru", {"window_fraction": [1]})),
        lambda t: ds.compare(t, ["lru", "arc,lru"]),
        lambda t: ds.compare(t, "lru", cache=10),
        lambda t: ds.compare(t, "lru", cache=[]),
        lambda t: ds.compare(t, "lru", cost=5),
        lambda t: ds.compare(t, "lru", cost={"read": 1}),
        lambda t: ds.compare(t, "lru", warmup=5),
        lambda t: ds.compare(t, "lru", jobs=0),
        lambda t: ds.compare(t, "lru", jobs="two"),
        lambda t: ds.run(t, "lru,arc", cache="1%"),
        lambda t: ds.run(t, "lru", cache="1%,2%"),
        lambda t: ds.run(t, "lru", cache="auto"),
        lambda t: ds.run(t, "lru", cache="1%", series=0),
        lambda t: ds.mrc(t, "lru", sample=2),
        lambda t: ds.mrc(t, "lru", sample="1%"),
        lambda t: ds.conform([], only="lru"),
        lambda t: ds.conform(VECTORS / "ftl.jsonl", policy="lru"),
        lambda t: ds.convert("a", "b", to=3),
        lambda t: ds.convert(DATA / "msr.csv", "b", to="mqsimm"),
        lambda t: ds.trace_head("a", count=0),
        lambda t: ds.rerun(3),
    ],
)
def test_objects_of_the_wrong_type_or_value_are_usage_errors(call: Any, trace: ds.Trace) -> None:
    with pytest.raises(ds.UsageError) as raised:
        call(trace)
    assert isinstance(raised.value, ValueError)
    assert len(str(raised.value)) > 10


def test_a_policy_given_twice_is_refused_by_its_label(trace: ds.Trace) -> None:
    twice = ["cflru[window_fraction=0.5]", "lru", ("cflru", {"window_fraction": 0.5})]
    with pytest.raises(ds.UsageError) as raised:
        ds.compare(trace, twice, cache="10%")
    assert str(raised.value) == "policies: cflru[window_fraction=0.5] is given twice"
    with pytest.raises(ds.UsageError, match="lru is given twice"):
        ds.mrc(trace, "lru,arc,lru")
    other = ["cflru[window_fraction=0.25]", "cflru[window_fraction=0.5]", "cflru"]
    assert len(ds.compare(trace, other, cache="10%")) == 3


def test_a_cache_larger_than_its_trace_says_so(trace: ds.Trace) -> None:
    within, beyond = ds.compare(trace, "lru", cache=["100%", "200%"])
    assert not any("room for more pages" in w for w in within.warnings)
    assert any("room for more pages than the trace has" in w for w in beyond.warnings)
    assert beyond.misses == within.misses


def test_decimal_and_binary_units_of_a_size_differ(trace: ds.Trace) -> None:
    sizes = ["16MB", "16MiB", "16m", "1GB"]
    planned = ds.plan(trace, "lru", cache=sizes)
    assert [p.frames for p in planned] == [3906, 4096, 4096, 244_140]
    assert [p.cache for p in planned] == ["16MB", "16MiB", "16MiB", "1GB"]


def test_errors_are_also_the_built_in_ones(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file"):
        ds.open_trace(tmp_path / "none.csv")
    (tmp_path / "bad.csv").write_text("hello, world\n" * 200)
    with pytest.raises(ds.DataError) as raised:
        ds.open_trace(tmp_path / "bad.csv")
    assert raised.value.exit_status == 65


def test_a_signal_ends_a_comparison_and_leaves_what_had_ended(trace: ds.Trace) -> None:
    calls: list[tuple[int, int | None, str]] = []

    def interrupt(done: int, total: int | None, stage: str) -> None:
        calls.append((done, total, stage))
        if stage == "replaying":
            signal.raise_signal(signal.SIGINT)

    # Started in the background of a script, Python leaves the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(ds.Interrupted) as raised:
            ds.compare(trace, "lru,arc", cache="1%,10%", progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    # The first look comes when all four had ended, or a tenth of a second later.
    assert calls
    assert all(r.policy in ("lru", "arc") for r in raised.value.results)
    assert isinstance(raised.value, KeyboardInterrupt)


def test_an_exception_of_the_callback_goes_on(trace: ds.Trace) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        ds.compare(trace, "lru", cache="1%", progress=broken)


def test_real_traces_have_the_counts_of_their_index() -> None:
    folder = traces_folder()
    if folder is None or not (folder / "own" / "pgtpcb.csv.xz").exists():
        pytest.skip("the real traces are not here (DESTAGE_TRACES)")
    trace = ds.open_trace(folder / "own" / "pgtpcb.csv.xz")
    assert trace.requests == 780_000
    assert trace.unique_pages == 726_044
    assert ds.demo_trace().requests == 400_000


def test_a_decoded_trace_that_was_kept_is_called_as_it_is_opened_now(
    tmp_path: Path, msr: Path
) -> None:
    import zipfile

    def names(*paths: Path) -> list[str]:
        opened = ds.open_trace(list(paths))
        result = json.loads(ds.compare(opened, "lru", cache="4p").to_json())
        return [file["name"] for file in result["reading"]["files"]]

    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
        (folder / "small.csv").write_text(msr.read_text())
        with zipfile.ZipFile(folder / "two.zip", "w") as file:
            for member in ("in/a.csv", "in/b.csv"):
                file.writestr(zipfile.ZipInfo(member), msr.read_text())
    for folder in folders:
        assert names(folder / "small.csv") == [str(folder / "small.csv")]
        assert names(folder / "two.zip") == [
            f"{folder / 'two.zip'}!in/a.csv",
            f"{folder / 'two.zip'}!in/b.csv",
        ]
    one, two = (folder / "small.csv" for folder in folders)
    assert names(one, two) == [str(one), str(two)]
    assert names(two, one) == [str(two), str(one)]


def test_names_of_libcachesim_are_aliases() -> None:
    trace = ds.synth("zipf", requests=200, pages=100, read_ratio=0.5, seed=1)
    results = ds.compare(trace, "s3fifo,wtinylfu,belady", cache="10%")
    assert [run.label for run in results] == ["s3-fifo", "w-tinylfu", "min"]
    assert ds.policy("twoq").name == "2q"


def test_values_of_another_type_are_usage(trace: ds.Trace) -> None:
    for call, said in [
        (lambda: ds.run(trace, "lru", cache="10%", tier2=[]), "tier2: expected a value, got none"),
        (lambda: ds.advise(trace, price={"dram": 3}), "price: expected text such as"),
        (lambda: ds.advise(trace, now=5), "now: expected text such as"),
        (lambda: ds.open_trace({"page": 1}), "trace: page: expected a column of values, got 1"),
        (
            lambda: ds.tune(trace, "cflru", {"window_fraction": [0.1]}, cache="10%", seed=2),
            "seed: it is of a search: add trials",
        ),
    ]:
        with pytest.raises(ds.UsageError) as found:
            call()
        assert str(found.value).startswith(said)


def test_a_keyword_that_a_call_lacks_is_no_part_of_it(trace: ds.Trace) -> None:
    with pytest.raises(TypeError, match=r"plan\(\) got an unexpected keyword argument 'jobs'"):
        ds.plan(trace, "lru", cache="10%", jobs=2)
    with pytest.raises(TypeError, match=r"argument 'ftl' \(known: trace, ") as found:
        ds.mrc(trace, "lru", cache="10%", ftl="dftl")
    assert "queue_depth" not in str(found.value)
