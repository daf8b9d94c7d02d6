"""Files that name policies: a result, a SPEC or a setting never runs a program by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds

#: A policy that says so when any of it runs.
POLICY = """
import pathlib
pathlib.Path(__file__).with_name("RAN").touch()
import destage

class Mine(destage.ListPolicy):
    def __init__(self, frames):
        super().__init__(frames)
        self.pages = self.new_list(on_hit="front")

class Other(Mine):
    pass
"""

SPEC = '[sweep]\ntraces = ["small.csv"]\npolicies = ["lru", "./evil.py:Mine"]\ncache = ["8p"]\n'
SPEC_OF_DRIVE = '[sweep]\ntraces = ["small.csv"]\ndevices = ["drive.toml"]\ncache = ["8p"]\n'
DRIVE = '[device]\npreset = "small"\n[cache]\npolicy = "./evil.py:Mine"\nframes = "8p"\n'
CONFIG = '[cache]\npolicy = "./evil.py:Mine"\nsize = "8p"\n'


@pytest.fixture
def folder(tmp_path: Path, msr: Path) -> Path:
    """A trace, a policy, and files that name the policy."""
    (tmp_path / "evil.py").write_text(POLICY)
    for name, text in (
        ("spec.toml", SPEC),
        ("spec-drive.toml", SPEC_OF_DRIVE),
        ("drive.toml", DRIVE),
        ("config.toml", CONFIG),
    ):
        (tmp_path / name).write_text(text)
    trace = ds.open_trace(msr)
    results = ds.compare(trace, ["lru", f"{tmp_path}/evil.py:Mine"], cache="8p")
    data = results.sets[0]
    data["runs"][1]["config"]["policy"] = "./evil.py:Mine"
    (tmp_path / "result.json").write_text(json.dumps(data))
    (tmp_path / "RAN").unlink()
    return tmp_path


def ran(folder: Path) -> bool:
    """Whether the policy has run since it was asked last."""
    mark = folder / "RAN"
    found = mark.exists()
    mark.unlink(missing_ok=True)
    return found


COMMANDS = {
    "rerun": "rerun result.json",
    "sweep": "sweep spec.toml --store runs",
    "sweep, resumed": "sweep spec.toml --store runs --resume",
    "sweep, dry": "sweep spec.toml --dry-run",
    "sweep, a device's file": "sweep spec-drive.toml --store runs",
    "sweep, a device's file, dry": "sweep spec-drive.toml --dry-run",
    "compare": "compare small.csv --config config.toml",
    "compare, dry": "compare small.csv --config config.toml --dry-run",
    "compare, a device's file": "compare small.csv -d drive.toml",
    "compare, a device's file, dry": "compare small.csv -d drive.toml --dry-run",
    "run": "run small.csv --config config.toml",
    "mrc": "mrc small.csv --config config.toml",
    "tune": "tune small.csv --config config.toml --param x=0:1:1",
    "advise": "advise small.csv --config config.toml",
    "run, a device as --config": "run small.csv --config drive.toml",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_names_a_policy_does_not_run_it(
    destage_process: Destage, folder: Path, command: str
) -> None:
    done = destage_process(*COMMANDS[command].split())
    assert not ran(folder), done
    assert done.status in (2, 65), done
    said = [line for line in done.err.splitlines() if "a program" in line]
    assert len(said) == 1, done
    assert "evil.py:Mine" in said[0], done
    assert "--allow-code" in said[0], done
    assert any(word in said[0] for word in [*COMMANDS[command].split(), "device drive"]), done


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dry_run_runs_no_code_that_was_not_typed(
    destage_process: Destage, folder: Path, command: str
) -> None:
    """What is refused without `--allow-code` runs with it, but for a dry run."""
    done = destage_process(*COMMANDS[command].split(), "--allow-code")
    dry = "--dry-run" in COMMANDS[command]
    assert ran(folder) is not dry, done
    if dry:
        assert done.status == 0, done
        assert "evil.py" in done.out, done


@pytest.mark.parametrize("command", ["rerun", "sweep", "sweep, dry", "sweep, a device's file, dry"])
@pytest.mark.parametrize("typed", ["evil.py:Mine", "./evil.py:mine", "evil.py"])
def test_the_same_policy_on_the_command_line_runs(
    destage_process: Destage, folder: Path, command: str, typed: str
) -> None:
    done = destage_process(*COMMANDS[command].split(), "-p", typed)
    assert done.status == 0, done
    assert ran(folder), done


@pytest.mark.parametrize("typed", ["evil.py:Other", "other/evil.py:Mine", "lru"])
def test_another_policy_on_the_command_line_does_not(
    destage_process: Destage, folder: Path, typed: str
) -> None:
    for command in ("rerun result.json", "sweep spec.toml --store runs"):
        done = destage_process(*command.split(), "-p", typed)
        assert done.status == 2, done
        assert not ran(folder)


def test_what_the_user_types_needs_no_permission(destage_process: Destage, folder: Path) -> None:
    done = destage_process("compare", "small.csv", "-d", "drive.toml", "-p", "evil.py:Mine")
    assert done.status == 0, done
    assert ran(folder)
    done = destage_process("run", "small.csv", "-c", "8p", env={"DESTAGE_POLICY": "evil.py:Mine"})
    assert done.status == 0, done
    assert ran(folder)


def test_a_link_to_a_typed_file_is_that_file_and_a_copy_is_another(
    destage_process: Destage, folder: Path
) -> None:
    (folder / "link.py").symlink_to("evil.py")
    assert destage_process("rerun", "result.json", "-p", "link.py:Mine").status == 0
    assert ran(folder)
    (folder / "second.py").write_text(POLICY)
    assert destage_process("rerun", "result.json", "-p", "second.py:Mine").status == 2
    assert not ran(folder)


def test_python_asks_as_the_command_does(
    folder: Path, msr: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    trace = ds.open_trace(msr, device="drive.toml")
    refused = [
        lambda: ds.rerun("result.json"),
        lambda: ds.rerun(ds.Results.load("result.json")),
        lambda: ds.sweep("spec.toml", "runs"),
        lambda: ds.estimate("spec.toml"),
        lambda: ds.sweep("spec-drive.toml", "runs"),
        lambda: ds.compare(trace, device="drive.toml"),
        lambda: ds.run(trace, device=ds.open_device("drive.toml").with_options(ftl="page")),
    ]
    for call in refused:
        with pytest.raises(ds.DestageError, match=r"evil\.py:Mine, a program"):
            call()
        assert not ran(folder)
    allowed = [
        lambda: ds.rerun("result.json", allow_code=True),
        lambda: ds.sweep("spec.toml", "runs", allow_code=True),
        lambda: ds.run(
            trace, device=ds.open_device("drive.toml", allow_code=True).with_options(queue_depth=2)
        ),
        lambda: ds.compare(trace, "./evil.py:Mine", device="drive.toml"),
    ]
    for n, call in enumerate(allowed):
        # A module is run once as long as its file is the same.
        (folder / "evil.py").write_text(POLICY + f"# {n}\n" * (n + 1))
        call()
        assert ran(folder)


def test_a_dry_run_in_python_runs_no_code_of_a_spec(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert ds.estimate("spec.toml", allow_code=True).runs == 2
    assert not ran(folder)


def test_a_spec_in_python_is_the_callers_own(folder: Path) -> None:
    # Another file: one that was loaded is not run again.
    (folder / "own.py").write_text(POLICY)
    spec = {
        "sweep": {
            "traces": [str(folder / "small.csv")],
            "policies": [f"{folder}/own.py:Mine"],
            "cache": ["8p"],
        }
    }
    assert ds.sweep(spec, folder / "runs").done == 1
    assert ran(folder)


def test_a_sweep_imports_nothing_from_the_working_directory(
    destage_process: Destage, folder: Path
) -> None:
    """The process of a policy in Python begins in the folder of the data."""
    (folder / "pickle.py").write_text("import pathlib; pathlib.Path('PICKLED').touch()\n")
    console = [sys.executable, "-P", "-c", "from destage.cli import main; main()"]
    words = ["sweep", "spec.toml", "--store", "runs", "--allow-code"]
    done = subprocess.run(
        [*console, *words], cwd=folder, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done
    assert not (folder / "PICKLED").exists()
