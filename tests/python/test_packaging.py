"""Files for other registries and tools agree with the manifests: image, recipe, action."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA, ROOT

yaml = pytest.importorskip("yaml", reason="the extra 'docs' is not installed")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
VERSION = WORKSPACE["version"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cited() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text("CITATION.cff"))
    return found


def dois(cited: dict[str, Any]) -> list[str]:
    return [paper["doi"] for paper in cited["references"] if "doi" in paper]


def test_the_citation_is_of_this_package(cited: dict[str, Any]) -> None:
    assert cited["version"] == VERSION
    assert cited["license"] == PROJECT["license"] == WORKSPACE["license"]
    assert [a["name"] for a in cited["authors"]] == [a["name"] for a in PROJECT["authors"]]
    assert WORKSPACE["authors"] == [a["name"] for a in PROJECT["authors"]]


def test_codemeta_agrees(cited: dict[str, Any]) -> None:
    code = json.loads(text("codemeta.json"))
    assert code["version"] == VERSION
    assert code["dateModified"] == str(cited["date-released"])
    assert code["license"] == f"https://spdx.org/licenses/{PROJECT['license']}"
    assert [a["name"] for a in code["author"]] == [a["name"] for a in cited["authors"]]
    assert code["keywords"] == cited["keywords"]
    assert code["description"] == PROJECT["description"]
    assert code["softwareRequirements"] == PROJECT["dependencies"]
    assert code["runtimePlatform"] == f"Python {PROJECT['requires-python'][2:]} or later"
    assert code["citation"] == [f"https://doi.org/{doi}" for doi in dois(cited)]


def test_zenodo_agrees(cited: dict[str, Any]) -> None:
    record = json.loads(text(".zenodo.json"))
    assert record["version"] == VERSION
    assert record["title"] == cited["title"]
    assert record["license"] == PROJECT["license"]
    assert [c["name"] for c in record["creators"]] == [a["name"] for a in cited["authors"]]
    assert record["keywords"] == cited["keywords"]
    assert [r["identifier"] for r in record["related_identifiers"]] == dois(cited)


def requirements(rows: list[str]) -> dict[str, str]:
    """Versions by name, without what `pip` and conda write differently."""
    found = {}
    for row in rows:
        match = re.fullmatch(r"([\w-]+) ?([<>=.,\d]*)", row)
        assert match is not None, row
        found[match[1].replace("python-duckdb", "duckdb")] = match[2]
    return found


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe = yaml.safe_load(text("packaging/conda/recipe.yaml"))
    assert recipe["context"]["version"] == VERSION
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert (ROOT / "packaging" / "conda" / recipe["source"]["path"]).resolve() == ROOT
    needs = recipe["requirements"]
    ours = {"python": PROJECT["requires-python"]} | requirements(PROJECT["dependencies"])
    assert requirements(needs["run"]) == ours
    extras = PROJECT["optional-dependencies"]
    kept = [row for name, rows in extras.items() if name not in ("docs", "all") for row in rows]
    assert requirements(needs["run_constraints"]) == requirements(kept)
    build = tomllib.loads(text("pyproject.toml"))["build-system"]["requires"]
    assert requirements(build).items() <= requirements(needs["host"]).items()


def test_the_image_is_built_of_what_is_here() -> None:
    lines = text("Containerfile").replace("\\\n", " ").splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    bases = [w[1] for w in words if w[0] == "FROM"]
    assert bases == [f"rust:{WORKSPACE['rust-version']}-slim-bookworm", "debian:bookworm-slim"]
    for copy in (w for w in words if w[0] == "COPY" and not w[1].startswith("--from")):
        assert all((ROOT / name).exists() for name in copy[1:-1]), copy
    (constraint,) = re.findall(r"PIP_CONSTRAINT=/src/(\S+)", text("Containerfile"))
    assert (ROOT / constraint).is_file()
    assert json.loads(words[-2][1]) == list(PROJECT["scripts"])
    assert (
        re.search(r"pip install '\.\[(\w+)\]'", text("Containerfile"))[1]
        in (  # type: ignore[index]
            PROJECT["optional-dependencies"]
        )
    )
    assert "curl" not in text("Containerfile")
    left_out = set(text(".dockerignore").split())
    assert {".git", "target", ".venv", "dist"} <= left_out


@pytest.fixture(scope="module")
def steps() -> dict[str, dict[str, Any]]:
    """The action's steps that run a script: the comparison, the comment."""
    action = yaml.safe_load(text("action.yml"))
    used = [s["uses"] for s in action["runs"]["steps"] if "uses" in s]
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) for name in used)
    assert len(text("action.yml").splitlines()) <= 50
    _, compare, comment = (s for s in action["runs"]["steps"] if "run" in s)
    # What a pull request may name is never a part of a script.
    assert not any("${{" in step["run"] for step in (compare, comment))
    return {"compare": compare, "comment": comment}


def run_step(step: dict[str, Any], folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}"
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    given = {**os.environ, **env, "PATH": path + os.environ["PATH"]}
    return subprocess.run(
        bash, cwd=folder, env=given, capture_output=True, text=True, check=False, timeout=300
    )


def test_the_action_s_table_has_hits_waf_and_p99(
    steps: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    files = {n: str(tmp_path / n) for n in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    done = run_step(
        steps["compare"], tmp_path, **files, RUNNER_TEMP=str(tmp_path),
        TRACE=str(DATA / "msr.csv"), POLICIES="lru,arc", CACHE="4p", DEVICE="small",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "destage-table").read_text(encoding="utf-8")
    assert table.startswith("<!-- destage -->\n### `msr.csv` in front of `small`\n\n| policy |")
    head, _, *rows = (line for line in table.splitlines() if line.startswith("|"))
    names = [c.strip() for c in head.strip("|").split("|")]
    assert names[-3:] == ["hit %", "WAF", "p99 response (ns)"]
    assert [row.split("|")[1].strip() for row in rows] == ["lru", "arc"]
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text(encoding="utf-8") == table
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"table={tmp_path / 'destage-table'}\n"


GH = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case "$*" in *--paginate*) printf '%b' "$FOUND"; exit "$STATUS" ;; esac
"""


@pytest.mark.parametrize(
    ("found", "written"),
    [
        ("", "api here/comments --field body=@table --silent"),
        ("url/1\\nurl/2\\n", "api --method PATCH url/1 --field body=@table --silent"),
    ],
)
def test_the_action_keeps_one_comment(
    steps: dict[str, dict[str, Any]], tmp_path: Path, found: str, written: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(GH)
    (tmp_path / "bin" / "gh").chmod(0o755)
    env = {"CALLS": str(tmp_path / "calls"), "COMMENTS": "here/comments", "TABLE": "table"}
    done = run_step(steps["comment"], tmp_path, **env, FOUND=found, STATUS="0")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    asked, said = (tmp_path / "calls").read_text().splitlines()
    assert asked.startswith("api --paginate here/comments --jq ")
    assert said == written
    done = run_step(steps["comment"], tmp_path, **env, FOUND="", STATUS="1")
    assert done.returncode == 0
    assert "::warning::no comment: the job needs permissions" in done.stdout
