"""The snippets of docs/sweeps.md and examples/schedulers run, under small models of schedulers."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import destage as ds

PAGE = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
SCHEDULERS = ROOT / "examples" / "schedulers"
SHELL = [
    *re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL),
    (SCHEDULERS / "hyperqueue.sh").read_text(encoding="utf-8"),
]

SPEC = """
[sweep]
traces = [{synth = "loop", requests = 600}, {synth = "zipf", requests = 600}]
policies = ["lru", "arc", "fifo"]
cache = ["5p", "10p"]
"""

#: GNU parallel as far as the snippet goes: the last argument, once for each line.
PARALLEL = """
import subprocess, sys
for line in sys.stdin:
    subprocess.run(["sh", "-c", sys.argv[-1].replace("{}", line.strip())], check=True)
"""
#: HyperQueue: what stands behind --, once for each number of the array.
HQ = """
import os, subprocess, sys
first, last = sys.argv[sys.argv.index("--array") + 1].split("-")
for number in range(int(first), int(last) + 1):
    command = sys.argv[sys.argv.index("--") + 1:]
    subprocess.run(command, check=True, env={**os.environ, "HQ_TASK_ID": str(number)})
"""
DESTAGE = "from destage.cli import main; main()"


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A folder of commands: ours, and those of others that stand in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("destage", DESTAGE), ("parallel", PARALLEL), ("hq", HQ)):
        path = folder / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "sweep.toml").write_text(SPEC)
    (tmp_path / "hosts").write_text("a\nb\n")
    return folder


def run(script: str, folder: Path, **env: str) -> None:
    """Run a snippet as a shell would, with two shards in place of many."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "USER": "me", **env},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def holds_all(folder: Path) -> bool:
    found = ds.load_results(folder / "runs")
    shards = {line["shard"] for store in found.stores for line in store.times()}
    return len(found) == 12 and not found.holes and shards == {"1/2", "2/2"}


@pytest.mark.usefixtures("bin_folder")
def test_a_job_array(tmp_path: Path) -> None:
    (script,) = [text for text in SHELL if "SBATCH" in text]
    assert "--array=1-64" in script
    script = script.replace("/scratch", str(tmp_path / "scratch"))
    for task in (1, 2):
        run(script, tmp_path, SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_COUNT="2")
    assert holds_all(tmp_path)


@pytest.mark.usefixtures("bin_folder")
def test_gnu_parallel(tmp_path: Path) -> None:
    (script,) = [text for text in SHELL if "parallel" in text]
    run(script.replace("16", "2"), tmp_path)
    assert holds_all(tmp_path)


@pytest.mark.usefixtures("bin_folder")
def test_hyperqueue(tmp_path: Path) -> None:
    (script,) = [text for text in SHELL if "hq submit" in text]
    run(script.replace("64", "2"), tmp_path)
    assert holds_all(tmp_path)


@pytest.mark.usefixtures("bin_folder")
def test_an_indexed_job_of_kubernetes(tmp_path: Path) -> None:
    job = (SCHEDULERS / "kubernetes.yaml").read_text(encoding="utf-8")
    (script,) = re.findall(r"command: \[sh, -c, '(.*)'\]", job)
    script = script.replace("/64", "/2").replace("/spec/", "").replace("/runs", "runs")
    # What an index of a job sees; one is run twice, as after a failure.
    for index in (0, 1, 1):
        run(script, tmp_path, JOB_COMPLETION_INDEX=str(index))
    assert holds_all(tmp_path)
