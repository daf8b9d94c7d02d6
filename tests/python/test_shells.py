"""Completion in PowerShell and Nushell: words go out as JSON, candidates come back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage


def candidates(destage: Destage, shell: str, *words: str) -> Any:
    env = {"_DESTAGE_COMPLETE": f"{shell}_complete", "COMP_WORDS": json.dumps(words)}
    done = destage(env=env)
    assert done.status == 0, done
    return json.loads(done.out)


@pytest.mark.parametrize("shell", ["powershell", "nushell"])
def test_candidates_come_as_json_with_what_they_do(destage: Destage, shell: str) -> None:
    assert candidates(destage, shell, "destage", "comp", "x") == [], "`comp` is no command"
    found = candidates(destage, shell, "destage", "compa")
    assert [item["value"] for item in found] == ["compare"]
    assert found[0]["description"].startswith("Compare policies")
    found = candidates(destage, shell, "destage", "compare", "t.csv", "-p", "lru,ec")
    assert {"lru,ecr", "lru,ecr-e"} <= {item["value"] for item in found}
    assert len(candidates(destage, shell, "destage", "")) > 20


@pytest.mark.parametrize("shell", ["powershell", "nushell"])
def test_files_are_left_to_the_shell(destage: Destage, shell: str) -> None:
    assert candidates(destage, shell, "destage", "compare", "hm") is None


@pytest.mark.skipif(shutil.which("nu") is None, reason="nushell is not installed")
def test_nushell_asks_destage_and_leaves_other_commands_alone(
    destage: Destage, tmp_path: Path
) -> None:
    script = tmp_path / "completion.nu"
    script.write_text(destage("completion", "nushell").out)
    asked = '$env.config.completions.external.completer = {|s| ["before"]}\n'
    asked += f"source '{script}'\n"
    asked += "let ask = $env.config.completions.external.completer\n"
    asked += "[(do $ask [destage compa]) (do $ask [git x])] | to json --raw"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HOME": str(tmp_path)}
    said = subprocess.run(
        ["nu", "-n", "-c", asked], capture_output=True, text=True, check=True, env=env
    ).stdout
    ours, others = json.loads(said)
    assert [item["value"] for item in ours] == ["compare"]
    assert others == ["before"]
