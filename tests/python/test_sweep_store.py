"""The store: what it holds does not depend on who put it there, or in what order."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds
from destage import _destage
from destage.experiment.spec import load_spec
from destage.experiment.store import Store

SWEEP: dict[str, Any] = {
    "traces": [
        {"synth": "zipf", "requests": 800, "pages": 120},
        {"synth": "loop", "requests": 800, "pages": 120, "loop_pages": 40},
    ],
    "policies": ["lru", "arc", "random", {"name": "cflru", "window_fraction": [0.25, 0.5]}],
    "cache": ["5p", "10%", "40%"],
    "repeat": 3,
}
RUNS = 2 * 5 * 3 * 3


def parts(store: Path) -> list[str]:
    return sorted(path.name for path in store.glob("*.parquet"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the sweep, undisturbed."""
    folder = tmp_path_factory.mktemp("whole") / "runs"
    done = ds.sweep({"sweep": SWEEP}, folder)
    assert (done.planned, done.done, done.failed, done.missing) == (RUNS, RUNS, 0, 0)
    return folder


def test_it_holds_parts_a_manifest_and_what_beside_them(whole: Path) -> None:
    kinds = {path.name.partition("-")[0] for path in whole.iterdir()}
    assert kinds == {"manifest.json", "part", "sweep", "times"}
    assert json.loads((whole / "manifest.json").read_text())["format"] == "destage.store"


def test_numbers_are_those_of_compare(whole: Path) -> None:
    trace = ds.synth("loop", requests=800, pages=120, loop_pages=40, seed=2)
    alone = ds.compare(trace, "cflru[window_fraction=0.25]", cache="10%")[0]
    (row,) = (
        ds.load_results(whole)
        .where("label == 'cflru[window_fraction=0.25]' and cache == '10%' and seed == 2")
        .only(trace="synth loop requests=800 pages=120 loop_pages=40")
    )
    assert {m.name: row[m.name] for m in ds.metrics()} == dict(alone.metrics)


def test_what_a_filter_leaves_out_is_no_hole(whole: Path, tmp_path: Path, destage: Destage) -> None:
    found = ds.load_results(whole)
    for some in (found.only(policy="lru"), found.where("seed == 1"), found.only(status="failed")):
        assert len(some) < RUNS
        assert some.holes == some.missing == ()
    half = tmp_path / "half"
    ds.sweep({"sweep": SWEEP}, half, shard=(1, 2))
    there = ds.load_results(half)
    assert len(there) + len(there.missing) == RUNS
    some = there.only(policy="lru").where("seed == 2")
    assert {(r["label"], r["seed"], r["status"]) for r in some.missing} <= {("lru", 2, "missing")}
    assert len(some) + len(some.missing) == 2 * 3
    assert sum(hole.missing for hole in some.holes) == len(some.missing)
    said = destage("results", whole, "--policy", "lru", "--show", "hit")
    assert "missing" not in said.err + said.out


def test_shards_and_threads_make_the_same_rows(whole: Path, tmp_path: Path) -> None:
    ways = [tmp_path / "shards", tmp_path / "one"]
    # Each joins the store, with or without resume.
    counts = [
        ds.sweep({"sweep": SWEEP}, ways[0], shard=(k, 3), resume=k == 2).done for k in (3, 1, 2)
    ]
    assert sum(counts) == RUNS
    assert all(counts)
    ds.sweep({"sweep": SWEEP}, ways[1], jobs=1, resume=True)
    expected = ds.load_results(whole).to_csv()
    assert expected.count("\n") == RUNS + 1
    for way in ways:
        assert ds.load_results(way).to_csv() == expected
        assert parts(way) == parts(whole)


def test_a_sweep_that_was_begun_is_resumed_only_when_asked(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(ds.UsageError, match="--resume"):
        ds.sweep({"sweep": SWEEP}, whole)
    again = ds.sweep({"sweep": SWEEP}, whole, resume=True)
    assert (again.done, again.before) == (0, RUNS)


def test_another_sweep_may_join_and_runs_in_common_are_there_once(
    whole: Path, tmp_path: Path
) -> None:
    store = tmp_path / "runs"
    ds.sweep({"sweep": {**SWEEP, "policies": ["lru", "fifo"]}}, store)
    joined = ds.sweep({"sweep": SWEEP}, store)
    assert (joined.before, joined.done) == (18, RUNS - 18)
    found = ds.load_results(store)
    assert len(found) == RUNS + 18
    assert found.holes == ()
    assert found.where("policy != 'fifo'").to_csv() == ds.load_results(whole).to_csv()


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "garbage"])
def test_a_damaged_part_is_noticed_and_made_again(whole: Path, tmp_path: Path, harm: str) -> None:
    store = tmp_path / "runs"
    ds.sweep({"sweep": SWEEP}, store)
    part = store / parts(store)[1]
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 0xFF
    part.write_bytes(
        {"cut": data[: len(data) // 2], "flip": data, "empty": b"", "garbage": b"PAR1" * 50}[harm]
    )
    broken = ds.load_results(store)
    assert broken.damaged == 1
    assert len(broken) < RUNS
    assert sum(hole.missing for hole in broken.holes) == RUNS - len(broken)
    said: list[str] = []
    mended = ds.sweep({"sweep": SWEEP}, store, resume=True, warn=said.append)
    assert mended.damaged == 1
    assert mended.done == RUNS - len(broken)
    assert "damaged" in said[0]
    assert ds.load_results(store).to_csv() == ds.load_results(whole).to_csv()
    assert parts(store) == parts(whole)


def test_a_run_that_fails_is_kept_with_its_reason_and_the_others_go_on(tmp_path: Path) -> None:
    own = tmp_path / "breaks.py"
    own.write_text(
        "import destage\n\n\nclass Breaks(destage.ListPolicy):\n"
        "    def __init__(self, frames):\n        super().__init__(frames)\n"
        "        self.pages = self.new_list(on_hit='front')\n        self.left = 40\n"
        "        if frames == 7:\n            import os\n            os._exit(9)\n\n"
        "    def evict(self, miss, device, plan):\n        self.left -= 1\n"
        "        if self.left == 0 and len(self.pages) < 10:\n"
        "            raise ValueError('out of luck')\n        self.pages.evict_back(plan)\n"
    )
    sweep = {
        "traces": [{"synth": "loop", "requests": 400, "pages": 60, "loop_pages": 40}],
        "policies": ["lru", "ecr", f"{own}:Breaks"],
        "cache": ["5p", "20p"],
    }
    done = ds.sweep({"sweep": sweep}, tmp_path / "runs")
    found = ds.load_results(tmp_path / "runs")
    assert (done.done, done.failed, len(found), len(found.rows)) == (6, 3, 3, 6)
    reasons = {(row["policy"], row["cache"]): row["reason"] for row in found.failed}
    assert "add a device" in reasons["ecr", "5p"]
    assert reasons[f"{own}:Breaks", "5p"] == "ValueError: out of luck"
    assert found.results().runs[0].policy == "breaks.py:Breaks"
    # A failure is no hole; it is made once more only when that is asked for.
    assert ds.sweep({"sweep": sweep}, tmp_path / "runs", resume=True).done == 0
    assert ds.sweep({"sweep": sweep}, tmp_path / "runs", retry_failed=True).done == 3
    assert len(ds.load_results(tmp_path / "runs").rows) == 6
    # A process that breaks down takes its task with it, and nothing else.
    worse = {**sweep, "cache": ["7p"]}
    assert ds.sweep({"sweep": worse}, tmp_path / "runs").failed == 2
    (row,) = (
        ds.load_results(tmp_path / "runs")
        .where("frames == 7 and device == none")
        .only(policy=f"{own}:Breaks")
        .rows
    )
    assert "status 9" in row["reason"]


def test_packing_changes_nothing_but_the_number_of_parts(whole: Path, tmp_path: Path) -> None:
    store = tmp_path / "runs"
    ds.sweep({"sweep": SWEEP}, store)
    before = ds.load_results(store)
    done = ds.pack_results(store)
    assert done.before == len(parts(whole)) > 1
    assert done.after == len(parts(store)) == 1
    after = ds.load_results(store)
    assert after.to_csv() == before.to_csv()
    assert after.results() == ds.load_results(whole).results()
    assert ds.sweep({"sweep": SWEEP}, store, resume=True).done == 0


def test_merging_puts_shards_together_and_tells_holes(
    destage: Destage, whole: Path, tmp_path: Path
) -> None:
    for k in (1, 2, 3):
        ds.sweep({"sweep": SWEEP}, tmp_path / f"s{k}", shard=f"{k}/3")
    done = destage("results", "merge", "s1", "s3", "-o", "two")
    assert done.status == 1, done
    assert "runs of a task are missing: synth" in done.err
    done = destage("results", "merge", "two", "s2", "-o", "all")
    assert done.status == 0, done
    assert "nothing missing" in done.err
    assert ds.load_results(tmp_path / "all").to_csv() == ds.load_results(whole).to_csv()
    several = ds.load_results([tmp_path / f"s{k}" for k in (1, 2, 3)])
    assert several.to_csv() == ds.load_results(whole).to_csv()


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mother.txt").write_text("dear")
    with pytest.raises(ds.UsageError, match="other files"):
        ds.sweep({"sweep": SWEEP}, tmp_path / "letters")
    with pytest.raises(ds.DataError, match="is not a result store"):
        ds.load_results(tmp_path / "letters")
    with pytest.raises(ds.MissingFile, match="no such folder"):
        ds.load_results(tmp_path / "nowhere")
    store = tmp_path / "later"
    Store.begin(store)
    (store / "manifest.json").write_text('{"format": "destage.store", "version": 99}')
    with pytest.raises(ds.DataError, match="expected version 2"):
        ds.load_results(store)


def test_rows_go_to_frames_files_and_queries(destage: Destage, whole: Path, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    found = ds.load_results(whole)
    assert found.to_polars().shape == (RUNS, len(found.columns()))
    assert list(found.to_pandas()["seed"]) == [row["seed"] for row in found]
    # The parts by themselves are of one schema, and whoever reads Parquet can read them together.
    assert polars.read_parquet(whole / "part-*.parquet").height == RUNS
    csv = destage("results", whole, "--csv", "-")
    assert csv.out == found.to_csv()
    lru = destage("results", whole, "--policy", "lru", "--where", "seed == 1", "--json", "-")
    assert {row["policy"] for row in json.loads(lru.out)} == {"lru"}
    assert len(json.loads(lru.out)) == 6
    assert destage("results", whole, "--where", "polic == 1").status == 2
    table = destage("results", whole, "--policy", "cflru", "--show", "hit")
    assert "cflru[window_fraction=0.5]" in table.out
    assert "36 runs" in table.out


def test_duckdb_answers(destage: Destage, whole: Path) -> None:
    pytest.importorskip("duckdb")
    query = "select policy, count(*) as n from runs group by policy order by policy"
    done = destage("results", whole, "--sql", query, "--csv", "-")
    assert done.out == "policy,n\narc,18\ncflru,36\nlru,18\nrandom,18\n"
    wrong = destage("results", whole, "--sql", "select nothing from nowhere")
    assert wrong.status == 2
    assert "nowhere" in wrong.err


def test_a_part_has_the_context_of_its_runs_once(whole: Path) -> None:
    store = Store.open(whole)
    for path in store.parts():
        columns, told = _destage.parquet_columns(path, ["context"])
        numbers = {value for value in dict(columns)["context"] if value is not None}
        contexts = json.loads(told["contexts"])
        assert numbers == {str(k) for k in range(len(contexts))}
        assert len(contexts) < len(dict(columns)["context"])
    assert all(json.loads(row["context"])["trace"] for row in store.rows(["context"]))


def test_a_store_of_version_1_goes_on_as_one_of_version_2(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[1] / "data" / "results" / "store-0.2.0", tmp_path / "s")
    before = ds.load_results(tmp_path / "s")
    runs = [run.counters for run in before]
    assert runs
    Store.begin(tmp_path / "s")
    assert json.loads((tmp_path / "s" / "manifest.json").read_text())["version"] == 2
    pack = ds.pack_results(tmp_path / "s")
    assert pack.runs == len(before.rows)
    assert [run.counters for run in ds.load_results(tmp_path / "s")] == runs


def test_traces_are_pooled_by_adding_up(whole: Path) -> None:
    found = ds.load_results(whole)
    pooled = found.pooled()
    assert len(pooled) == RUNS // 2
    for row in pooled.rows:
        same = found.where(
            f"label == '{row['label']}' and cache == '{row['cache']}' and seed == {row['seed']}"
        )
        assert len(same) == 2
        misses = sum(one["misses"] for one in same)
        assert row["misses"] == misses
        assert row["hit_ratio"] == pytest.approx(1 - misses / 1600)


def test_differences_have_intervals_where_there_are_seeds(
    destage: Destage, whole: Path, tmp_path: Path
) -> None:
    same = destage("results", "diff", whole, whole)
    assert same.status == 0
    assert same.out.startswith("0 of "), "no head of a table without rows"
    other = {**SWEEP, "traces": [{**SWEEP["traces"][0], "alpha": 0.5, "name": "z"}]}
    base = {**SWEEP, "traces": [{**SWEEP["traces"][0], "name": "z"}]}
    ds.sweep({"sweep": base}, tmp_path / "a")
    ds.sweep({"sweep": other}, tmp_path / "b")
    done = destage("results", "diff", "a", "b", "--show", "hit", "--json", "-")
    assert done.status == 1, done
    every = json.loads(done.out)["comparisons"]
    assert len(every) == 15
    for one in every:
        assert one["runs_a"] == one["runs_b"] == 3
        assert one["low"] <= one["difference"] <= one["high"]
    # Where single runs are compared there is nothing to make an interval of.
    single = ds.load_results(tmp_path / "a").where("seed == 1").results()
    assert all(one.low is None for one in ds.diff(single, single))
    with pytest.raises(ds.UsageError, match="no run in common"):
        ds.diff(tmp_path / "a", ds.load_results(tmp_path / "b").where("seed == 9"))


def test_a_store_gives_results_that_can_be_made_again(whole: Path, tmp_path: Path) -> None:
    results = ds.load_results(whole).where("seed == 1 and policy != 'random'").results()
    assert len(results.sets) == 2
    again = ds.rerun(results)
    assert again.same, again.differences


def test_seeds_make_other_traces_drives_and_policies() -> None:
    from destage.experiment.plan import planned

    tasks = planned(load_spec({"sweep": {**SWEEP, "devices": ["ecr"], "cache": "5p"}})).tasks
    prints = {(t.trace_name, t.seed): t.trace.fingerprint for t in tasks}
    assert len(set(prints.values())) == len(prints) == 6
    seeds = {t.seed: t.drive.known["device"]["precondition_seed"] for t in tasks if t.drive}
    assert seeds == {1: 1, 2: 2, 3: 3}


def test_parts_do_not_say_where_anything_was(tmp_path: Path) -> None:
    """Drives, traces and policies in files: the same bytes, wherever the files are."""
    stores = []
    for folder in (tmp_path / "here", tmp_path / "elsewhere" / "deep"):
        folder.mkdir(parents=True)
        ds.new_policy("Mine", folder)
        ds.write_workload("loop", folder / "t.csv", requests=200, pages=40)
        (folder / "drive.toml").write_text('[device]\npreset = "ecr"\nprecondition = "none"\n')
        shared = 'traces = "t.csv"\npolicies = ["lru", "mine.py:Mine"]\ncache = ["5p", "9p"]\n'
        (folder / "a.toml").write_text(f'[sweep]\n{shared}devices = "drive.toml"\n')
        own = '[device]\npreset = "ecr"\nprecondition = "none"\n'
        (folder / "b.toml").write_text(f"[sweep]\n{shared}{own}")
        for name in ("a.toml", "b.toml"):
            assert ds.sweep(folder / name, folder / "runs", allow_code=True).failed == 0
        stores.append(folder / "runs")
    assert parts(stores[0]) == parts(stores[1])
    assert len(ds.load_results(stores[0])) == 8
    # Two devices of the same keys have the same results, and are told apart by their names.
    assert {row["device"] for row in ds.load_results(stores[0])} == {"drive.toml", "b"}
    for path in stores[0].glob("part-*.parquet"):
        for row in Store(stores[0]).rows(parts=[path]):
            assert str(tmp_path) not in json.dumps(row)
            assert "/tmp" not in json.dumps(row)


def test_a_column_that_is_new_to_rows_is_kept_and_shown(tmp_path: Path) -> None:
    from destage.model.columns import stored_kinds

    drive = ds.open_device("ecr")
    run = ds.run(ds.synth("loop", requests=90, device=drive), "aalru", cache="9p", device=drive).run
    assert set(run.to_dict()) <= set(stored_kinds()), (
        "give a new column its type in model/columns.py"
    )
    store = Store.begin(tmp_path / "runs")
    row = dict.fromkeys(stored_kinds()) | {"id": "a", "status": "done"}
    row |= {"trace": "t", "label": "lru", "cache": "1p", "options": "{}", "params": "{}"}
    store.add([{**row, "shiny": 3}])
    store.add([{**row, "id": "b"}])
    found = ds.load_results(store.folder)
    assert found.columns()["shiny"] == [3, None]
    assert "record" not in found.columns()


#: What a task takes beyond what was there when it began, and what was foretold, bytes.
MEASURED = """
import resource, sys
from destage.experiment.execute import execute
from destage.experiment.memory import memory_of
from destage.experiment.plan import planned
from destage.experiment.spec import load_spec
sweep = {"traces": [{"synth": "uniform", "requests": 200_000, "pages": 100_000}], "cache": "50%",
         "policies": sys.argv[1], "devices": sys.argv[2]}
(task,) = planned(load_spec({"sweep": sweep, "trace": {"wrap": "modulo"}})).tasks
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
execute(task)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(grown * (1 if sys.platform == "darwin" else 1024), memory_of(task))
"""


@pytest.mark.parametrize(("policies", "device"), [("lirs,bplru", "none"), ("lru", "ecr")])
def test_a_task_takes_no_more_memory_than_was_foretold(policies: str, device: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, policies, device],
        capture_output=True,
        check=True,
        timeout=300,
    )
    taken, foretold = map(int, done.stdout.split())
    assert taken <= foretold


def test_a_policy_whose_file_has_changed_since_it_was_planned_is_not_run(tmp_path: Path) -> None:
    from destage.experiment.execute import execute
    from destage.experiment.plan import planned

    path = ds.new_policy("Mine", tmp_path)
    sweep = {"traces": [SWEEP["traces"][1]], "policies": f"{path}:Mine", "cache": "5p"}
    (task,) = planned(load_spec({"sweep": sweep})).tasks
    path.write_text(path.read_text() + "# changed\n")
    with pytest.raises(ds.DataError, match="another one here"):
        execute(task)
    path.unlink()
    with pytest.raises(ds.MissingFile, match="no such file"):
        execute(task)


def test_traces_and_drives_are_pickled_by_what_they_are(msr: Path, tmp_path: Path) -> None:
    import pickle

    trace, drive = ds.open_trace(msr), ds.open_device("ecr[gc_mode=background]", queue_depth=4)
    kept = pickle.dumps((trace, drive))
    assert len(kept) < 8_000
    again, behind = pickle.loads(kept)
    assert again.fingerprint == trace.fingerprint
    there, here = (json.loads(ds.compare(t, "lru", cache="8p").to_json()) for t in (again, trace))
    assert there == here
    assert behind.record == drive.record
    msr.write_text(msr.read_text().replace("Read", "Write", 1))
    with pytest.raises(ds.DataError, match="another one here"):
        pickle.loads(kept)
    msr.unlink()
    with pytest.raises(ds.MissingFile, match=r"small\.csv: no such file here"):
        pickle.loads(kept)


def test_readings_of_one_trace_are_distinguished(
    msr: Path, tmp_path: Path, destage: Destage
) -> None:
    sweep: dict[str, Any] = {"policies": "lru", "cache": "2p"}
    listed = [str(msr), {"path": str(msr), "page_size": "16KiB"}, {"path": str(msr), "requests": 3}]
    ds.sweep({"sweep": {**sweep, "traces": listed}}, tmp_path / "one")
    found = ds.load_results(tmp_path / "one")
    name = msr.name
    assert [row["trace"] for row in found.rows] == [
        name,
        f"{name} page_size=16KiB",
        f"{name} requests=3",
    ]
    # Two sweeps do not know each other: their rows say what is different.
    for requests in (3, 4):
        spec = {"sweep": {**sweep, "traces": str(msr)}, "trace": {"requests": requests}}
        ds.sweep(spec, tmp_path / "two")
    found = ds.load_results(tmp_path / "two")
    assert [row["trace"] for row in found.rows] == [f"{name} requests=3", f"{name} requests=4"]
    assert [run["trace"] for run in found.only(trace=f"{name} requests=4")] == [
        f"{name} requests=4"
    ]
    assert len(found.sets) == 2
    for size in ("4KiB", "8KiB"):
        spec = {"sweep": {**sweep, "traces": str(msr)}, "trace": {"page_size": size}}
        ds.sweep(spec, tmp_path / "three")
    shown = destage("results", "three").out
    assert f"{name} page_size=4KiB" in shown
    assert f"{name} page_size=8KiB" in shown


def test_a_comparison_distinguishes_readings_of_one_trace(msr: Path) -> None:
    traces = [ds.open_trace(msr, requests=count) for count in (3, 4)]
    assert re.search("trace +requests +policy", str(ds.compare(traces, "lru", cache="2p")))
    assert not re.search("requests +policy", str(ds.compare(traces[0], "lru", cache="2p")))


def test_charts_of_a_comparison_do_not_take_the_mean_of_two_readings(
    msr: Path, tmp_path: Path
) -> None:
    traces = [ds.open_trace(msr, requests=count) for count in (3, 4)]
    ds.compare(traces, "lru", cache="2p").report(tmp_path / "page.html", log_y=True)
    page = (tmp_path / "page.html").read_text()
    for count in (3, 4):
        assert f"{msr.name} requests={count}" in page


@pytest.mark.parametrize("flags", [("-d", "small"), ("--warmup", "10%", "--flush-at-end"), ()])
def test_a_store_and_a_file_of_the_same_command_are_compared(
    destage: Destage, msr: Path, flags: tuple[str, ...]
) -> None:
    command = ("compare", msr, "-p", "lru,arc", "-c", "10%", *flags)
    assert destage(*command, "--store", "runs").status == 0
    assert destage(*command, "--json", "r.json").status == 0
    done = destage("results", "diff", "runs", "r.json")
    assert done.status == 0, done
    assert done.out.startswith("0 of ")
    more = ("compare", msr, "-p", "lru,arc,fifo", "-c", "10%", *flags, "--json", "more.json")
    assert destage(*more).status == 0
    done = destage("results", "diff", "runs", "more.json")
    assert done.status == 1
    assert "1 run of B alone: a difference (status 1)" in done.out


def test_a_sweep_of_one_trace_and_several_seeds_is_repeated(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    pytest.importorskip("duckdb", reason="needs the extra sql")
    sweep = {"traces": [str(msr)], "policies": ["lru"], "cache": ["10%"], "seeds": [1, 2]}
    ds.sweep({"sweep": sweep}, tmp_path / "runs")
    moved = msr.rename(tmp_path / "moved.csv")
    lost = destage("rerun", "runs")
    assert lost.status == 66
    assert "a store has no folder of it: give --trace FILE" in lost.err
    again = destage("rerun", "runs", "--trace", moved)
    assert again.status == 0, again
    listed = destage("results", "list", "runs")
    assert "the seeds of each row have equal numbers: nothing shown is random" in listed.out
