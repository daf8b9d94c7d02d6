"""Questions with a store: killed, interrupted, in shards, asked again: the same answer."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import DATA, Destage

import destage as ds
from destage.model.metrics import RENAMED

COMMAND = [sys.executable, "-c", "from destage.cli import main; main()"]

MINE = """
import destage


class Mine(destage.ListPolicy):
    def __init__(self, frames):
        super().__init__(frames)
        self.pages = self.new_list(on_hit="front")
"""

SIZES = ",".join(f"{k}p" for k in range(100, 1140, 40))
#: Each has several pieces, which a store keeps one by one.
QUESTIONS = {
    "compare": f"compare t.csv -p lru,arc,cflru,2q,sieve -c {SIZES}",
    "mrc": f"mrc t.csv -p lru,arc,min,2q -c {SIZES}",
    "tune": f"tune t.csv -p 2q --param in_fraction=0.1:0.5:0.1 -c {SIZES}",
    "advise": "advise t.csv --objective hit,physical_writes",
}


def parts(store: Path) -> dict[str, int]:
    """The parts of a store, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in store.glob("part-*.parquet")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    ds.write_workload("zipf", folder / "t.csv", requests=40_000, pages=5_000, seed=1)
    (folder / "mine.py").write_text(MINE)
    return folder


def begun(folder: Path, *args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *args, "--quiet"],
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def asked(folder: Path, *args: str) -> bytes:
    process = begun(folder, *args)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def wait_for_parts(process: subprocess.Popen[bytes], store: Path, count: int) -> None:
    """Until there are so many parts, or it has ended by itself."""
    while process.poll() is None and len(parts(store)) < count:
        time.sleep(0.005)


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_killed_goes_on_and_ends_with_the_same_bytes(folder: Path, question: str) -> None:
    args, store = QUESTIONS[question].split(), folder / question
    kept = ("--store", question, "--json", "-")
    expected = asked(folder, *args, "--json", "-")
    killed, before = 0, dict[str, int]()
    for count in (0, 1, 2):
        process = begun(folder, *args, *kept, "--jobs", "1")
        wait_for_parts(process, store, count)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
        # What was kept stays as it is.
        assert before.items() <= parts(store).items()
        before = parts(store)
    assert killed >= 2
    assert before
    assert asked(folder, *args, *kept) == expected
    whole = parts(store)
    assert before.items() <= whole.items()
    # A second call does nothing but read.
    assert asked(folder, *args, *kept) == expected
    assert parts(store) == whole
    assert ds.load_results(store).missing == ()


def test_an_interrupt_keeps_and_shows_what_is_done(folder: Path) -> None:
    args = QUESTIONS["compare"].split()
    process = begun(folder, *args, "--store", "interrupted", "--json", "i.json", "--jobs", "1")
    wait_for_parts(process, folder / "interrupted", 1)
    os.kill(process.pid, signal.SIGINT)
    process.communicate()
    there = ds.load_results(folder / "interrupted")
    assert len(there) >= 26
    if process.returncode == 130:
        shown = ds.Results.load(folder / "i.json")
        assert shown.incomplete
        assert len(shown) == len(there) < 5 * 26
    assert asked(folder, *args, "--store", "interrupted", "--json", "-") == asked(
        folder, *args, "--json", "-"
    )


def test_shards_say_what_is_missing_and_merge_to_the_whole(
    folder: Path, destage: Destage, tmp_path: Path
) -> None:
    args = QUESTIONS["compare"].split()
    for k in (1, 2):
        out = f"shard{k}.json"
        asked(folder, *args, "--store", f"shard{k}", "--shard", f"{k}/2", "--json", out)
    counts = [len(ds.Results.load(folder / f"shard{k}.json")) for k in (1, 2)]
    assert sum(counts) == 5 * 26
    assert all(counts)
    assert ds.Results.load(folder / "shard1.json").incomplete
    ds.merge_results([folder / "shard1", folder / "shard2"], folder / "merged")
    before = parts(folder / "merged")
    assert asked(folder, *args, "--store", "merged", "--json", "-") == asked(
        folder, *args, "--json", "-"
    )
    assert parts(folder / "merged") == before


def test_runs_in_common_are_done_once_whatever_asks_for_them(tmp_path: Path) -> None:
    trace = ds.synth("zipf", requests=5_000, pages=500, seed=1)
    store = tmp_path / "runs"
    ds.compare(trace, "lru,2q[in_fraction=0.25],2q[in_fraction=0.5]", cache="10%", store=store)
    kept = parts(store)
    tuned = ds.tune(trace, "2q", {"in_fraction": [0.25, 0.5]}, cache="10%", store=store)
    assert parts(store) == kept
    assert (
        tuned.to_json() == ds.tune(trace, "2q", {"in_fraction": [0.25, 0.5]}, cache="10%").to_json()
    )
    # A policy more: that alone is run.
    ds.compare(trace, "lru,arc", cache="10%", store=store)
    assert [row["label"] for row in ds.load_results(store).rows].count("lru") == 1
    assert len(parts(store)) == len(kept) + 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda t, s: ds.mrc(t, "lru,arc", cache="5%,20%", store=s).to_json(),
        lambda t, s: ds.mrc(t, "lru,min", cache="all", store=s).to_json(),
        lambda t, s: ds.mrc(t, "lru,arc", sample=0.5, control="lru", store=s).to_json(),
        lambda t, s: ds.screen(t, "lru,arc,fifo", error=0.05, store=s).results.to_json(),
        lambda t, s: json.dumps(ds.why(t, "lru", "arc", cache="10%", store=s).to_dict()),
        lambda t, s: ds.compare(t, "lru,none,ecr", cache="5%", device="small", store=s).to_json(),
    ],
    ids=["mrc", "every size", "sample", "screen", "why", "device"],
)
def test_what_a_store_answers_is_what_memory_answers(ask: object, tmp_path: Path) -> None:
    assert callable(ask)
    trace = ds.synth("zipf", requests=20_000, pages=2_000, seed=1, device=ds.open_device("small"))
    expected = ask(trace, None)
    assert ask(trace, tmp_path / "runs") == expected
    kept = parts(tmp_path / "runs")
    assert kept
    assert ask(trace, tmp_path / "runs") == expected
    assert parts(tmp_path / "runs") == kept


def test_policies_of_ones_own_are_known_by_what_their_file_says(
    folder: Path, tmp_path: Path
) -> None:
    trace = ds.synth("loop", requests=500, pages=60, seed=1)
    own, store = tmp_path / "mine.py", tmp_path / "runs"
    own.write_text(MINE)
    first = ds.compare(trace, ["lru", f"{own}:Mine"], cache="10p", store=store)
    assert first.to_json() == ds.compare(trace, ["lru", f"{own}:Mine"], cache="10p").to_json()
    own.write_text(MINE.replace('"front"', '"stay"'))
    ds.compare(trace, ["lru", f"{own}:Mine"], cache="10p", store=store)
    assert len(ds.load_results(store)) == 3

    class Here(ds.ListPolicy):
        pass

    with pytest.raises(ds.UsageError, match=r"Here: a store knows .* FILE\.py:CLASS"):
        ds.compare(trace, Here, cache="10p", store=store)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"shard": "1/2"}, "shard: it is of a store"),
        ({"engine": "dask"}, "engine dask: results need a store"),
        ({"store": "runs", "engine": "dusk"}, "engine: expected local or dask, got 'dusk'"),
        ({"store": "runs", "scheduler": "tcp://x:1"}, "scheduler: it is of a Dask cluster"),
        ({"store": "runs", "shard": "3/2"}, "shard: expected i/n with i from 1 to n"),
    ],
)
def test_an_experiment_that_cannot_be_is_refused(given: dict[str, str], expected: str) -> None:
    with pytest.raises(ds.UsageError, match=expected):
        ds.Experiment(**given)  # type: ignore[arg-type]


def test_what_needs_its_runs_together_takes_no_shard(tmp_path: Path) -> None:
    trace = ds.synth("loop", requests=500, pages=60, seed=1)
    part = ds.Experiment(tmp_path / "runs", shard="1/2")
    with pytest.raises(ds.UsageError, match="shard: advice needs its runs together"):
        ds.advise(trace, "hit", store=part)
    with pytest.raises(ds.UsageError, match="shard: why needs its runs together"):
        ds.why(trace, "lru", "arc", cache="10p", store=part)


def test_a_run_that_failed_is_told_again_until_it_is_retried(tmp_path: Path) -> None:
    trace = ds.synth("loop", requests=500, pages=60, seed=1)
    own, store = tmp_path / "mine.py", tmp_path / "runs"
    own.write_text(MINE.replace("super()", "raise ValueError('no luck')\n        super()"))
    for _ in range(2):
        with pytest.raises(ds.UsageError, match="no luck"):
            ds.compare(trace, f"lru,{own}:Mine", cache="10p", store=store)
    found = ds.load_results(store)
    assert sorted(row["status"] for row in found.rows) == ["done", "failed"]


def test_a_store_and_results_of_0_2_0_load_and_go_on(tmp_path: Path) -> None:
    """Made by the command of 0.2.0, with the table that it printed of the store."""
    store = tmp_path / "runs"
    shutil.copytree(DATA / "results" / "store-0.2.0", store)
    found = ds.load_results(store)
    before = csv.DictReader((DATA / "results" / "store-0.2.0.csv").read_text().splitlines())
    after = csv.DictReader(found.to_csv().splitlines())
    for old, new in zip(before, after, strict=True):
        # Numbers are under their present names.
        assert {RENAMED.get(name, name): value for name, value in old.items()}.items() <= (
            new.items()
        )
    assert found.damaged == 0
    assert found.missing == ()
    assert ds.rerun(found.where("seed == 1").results()).same
    trace = {"synth": "loop", "requests": 200, "pages": 40, "loop_pages": 20}
    policies = ["lru", {"name": "2q", "in_fraction": [0.25, 0.5]}]
    sweep = {"traces": [trace], "policies": policies, "cache": ["5p", "25%"], "repeat": 2}
    assert ds.sweep({"sweep": sweep}, store, resume=True).done == 0
    assert ds.sweep({"sweep": sweep | {"repeat": 3}}, store).done == 6
    assert ds.rerun(DATA / "results" / "results-0.2.0.json").same


def test_a_table_tells_answers_to_questions_from_runs(tmp_path: Path) -> None:
    trace = ds.synth("zipf", requests=5_000, pages=500, seed=1)
    store = tmp_path / "runs"
    ran = ds.compare(trace, "lru,arc", cache="10%", store=store)
    ds.mrc(trace, "lru,arc", cache="10%", store=store)
    ds.mrc(trace, "lru,arc", cache="10%", sample=0.5, store=store)
    found = ds.load_results(store)
    assert (len(found), len(found.rows)) == (2, 6)
    numbers = {run.label: run.metrics for run in ran}
    for some in (found, found.where("question == none")):
        assert {run.label: run.metrics for run in some.results()} == numbers
    exact, sampled = (
        [row["hit_ratio"] for row in found.where(f"question == 'mrc' and share == {share}").rows]
        for share in ("none", "0.5")
    )
    assert exact == [run.hit_ratio for run in sorted(ran, key=lambda run: run.label)]
    assert sampled == [None, None]
