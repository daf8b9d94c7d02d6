"""What made a result is in it: version, commit, command line, the source of a policy."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds
from destage.model.provenance import made_by

COMMIT = made_by().get("commit", "")

POLICY = """
import destage

class Mine(destage.ListPolicy):
    def __init__(self, frames):
        super().__init__(frames)
        self.pages = self.new_list(on_hit="front")
"""


def test_json_and_parquet_hold_commit_and_command(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    import polars

    words = ["compare", msr.name, "-p", "lru, arc", "-c", "8p", "--flush-at-end"]
    done = destage(*words, "--json", "r.json", "--parquet", "r.parquet")
    assert done.status == 0, done
    command = f"destage compare {msr.name} --policy 'lru, arc' --cache 8p --flush-at-end"
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["command"] == command
    assert result["version"] == ds.__version__
    assert result.get("commit", "") == COMMIT
    made = polars.read_parquet_metadata(tmp_path / "r.parquet")["destage.made_by"]
    assert json.loads(made)["command"] == command
    assert json.loads(made)["version"] == ds.__version__


@pytest.mark.skipif(not COMMIT, reason="built outside a repository")
def test_the_commit_is_one_of_git() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", COMMIT)


def test_the_bytes_do_not_depend_on_threads_outputs_or_the_order_of_flags(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    ways = [
        ["-p", "lru,arc", "-c", "8p", "--jobs", "1"],
        ["--jobs", "4", "-c", "8p", "--policy", "lru,arc", "--quiet", "--csv", "r.csv"],
        ["-c", "8p", "-p", "lru,arc", "--no-color", "-v", "--no-trace-cache"],
    ]
    for n, words in enumerate(ways):
        done = destage("compare", msr.name, *words, "--json", f"{n}.json")
        assert done.status == 0, done
    assert len({(tmp_path / f"{n}.json").read_bytes() for n in range(len(ways))}) == 1


@pytest.mark.parametrize(
    "words",
    [
        "mrc small.csv -p lru -c 4p,8p",
        "tune small.csv -p cflru --param window_fraction=0.2:0.8:0.3 -c 8p",
        "advise small.csv -p lru,arc -c 4p,8p",
        "run small.csv -p lru -c 8p",
    ],
)
def test_every_kind_of_result_holds_them(
    destage: Destage, msr: Path, tmp_path: Path, words: str
) -> None:
    done = destage(*words.split(), "--json", "r.json")
    assert done.status == 0, done
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["command"].startswith(f"destage {words.split()[0]} {msr.name} ")
    assert result["version"] == ds.__version__
    assert result.get("commit", "") == COMMIT


def test_python_has_no_command(msr: Path) -> None:
    result = json.loads(ds.compare(ds.open_trace(msr), "lru", cache="8p").to_json())
    assert "command" not in result
    assert result["version"] == ds.__version__


def test_a_result_keeps_the_hash_of_a_policys_file_and_rerun_compares_it(
    destage_process: Destage, msr: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(POLICY)
    words = ["compare", msr.name, "-p", "lru,mine.py:Mine", "-c", "8p", "--json", "r.json"]
    assert destage_process(*words).status == 0
    lru, mine = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert mine["config"]["source_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "source_sha256" not in lru["config"]
    assert destage_process("rerun", "r.json", "-p", "mine.py:Mine").status == 0
    path.write_text(POLICY + "# the same decisions\n")
    again = destage_process("rerun", "r.json", "-p", "mine.py:Mine")
    assert again.status == 1, again
    assert "mine.py:Mine at 8p: the policy's file is another one: SHA-256" in again.err


def test_a_store_keeps_the_hash_too(msr: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(POLICY)
    spec = {"traces": [str(msr)], "policies": [f"{tmp_path}/mine.py:Mine"], "cache": ["8p"]}
    ds.sweep({"sweep": spec}, tmp_path / "runs")
    (run,) = ds.load_results(tmp_path / "runs").results()
    content = hashlib.sha256(POLICY.encode()).hexdigest()
    assert run.config["source_sha256"] == content
