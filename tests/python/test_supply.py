"""What the project depends on: the check of licences and versions, and the page that says why."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT

PAGE = ROOT / "CONTRIBUTING.md"


def script(name: str) -> ModuleType:
    """A script of CI, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def supply() -> ModuleType:
    return script("supply")


@pytest.fixture(scope="module")
def locked() -> ModuleType:
    return script("locked")


@pytest.mark.parametrize(
    ("expression", "met"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("Unlicense/MIT", True),
        ("(MIT OR GPL-3.0-only) AND Zlib", True),
        ("(MIT OR Zlib) AND GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only OR Zlib", True),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("Apache-2.0 WITH LLVM-exception OR MIT", True),
    ],
)
def test_licences_are_read_as_expressions(supply: ModuleType, expression: str, met: bool) -> None:
    assert supply.permitted(expression, {"MIT", "Zlib"}) is met


def crate(name: str, version: str = "1.0.0", **changed: Any) -> dict[str, Any]:
    return {
        "name": name,
        "version": version,
        "license": "MIT",
        "source": "registry+https://example.org/index",
        **changed,
    }


TABLE = {
    "licenses": {"allow": ["MIT"]},
    "bans": {
        "skip": [{"crate": "old@1", "reason": "held"}],
        "deny": [{"crate": "bad", "reason": "better without"}],
    },
}

#: What `TABLE` needs, so that its skip is of use.
OLD = [crate("old", "1.4.0"), crate("old", "2.0.0")]


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        ([], None),
        ([crate("ours", license="GPL-3.0-only", source=None)], None),
        ([crate("x", license="GPL-3.0-only")], "x 1.0.0: licence GPL-3.0-only"),
        ([crate("x", license=None)], "x 1.0.0: names no licence"),
        ([crate("x", source="git+https://example.org/x")], "x 1.0.0: comes from git"),
        ([crate("bad")], "bad 1.0.0: not available here: better without"),
        ([crate("x"), crate("x", "1.1.0")], "x: in versions 1.0.0, 1.1.0, expected one"),
        ([crate("old", "10.0.0")], "old: in versions 10.0.0, 2.0.0, expected one"),
    ],
)
def test_each_fault_is_told(
    supply: ModuleType, packages: list[dict[str, Any]], said: str | None
) -> None:
    found = supply.faults([*packages, *OLD], TABLE)
    assert len(found) == (said is not None), found
    assert said is None or found[0].startswith(said)


def test_a_skip_that_is_of_no_use_is_told(supply: ModuleType) -> None:
    assert supply.faults([crate("x")], TABLE) == ["old@1: deny.toml skips it, and it is not there"]


def depended_on() -> set[str]:
    """Direct dependencies of all manifests; our own crates left out."""
    found: set[str] = set()

    def take(table: dict[str, Any]) -> None:
        for key in ("dependencies", "dev-dependencies", "build-dependencies"):
            found.update(table.get(key, {}))

    for path in ROOT.glob("crates/*/Cargo.toml"):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        for table in (manifest, *manifest.get("target", {}).values()):
            take(table)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lists = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    for requirements in lists:
        found |= {re.split(r"[<>=!~\[ ]", r, maxsplit=1)[0] for r in requirements}
    return {name for name in found if not name.startswith("destage")}


def test_the_page_has_every_dependency_and_no_other() -> None:
    section = PAGE.read_text().partition("## Dependencies")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    listed = set(re.findall(r"`([^`]+)`", "\n".join(rows)))
    extras = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    )
    needed = depended_on() | {"maturin"}
    assert needed - listed == set(), "say in CONTRIBUTING.md what they are for"
    assert listed - needed - extras == set(), "CONTRIBUTING.md names what is not needed"


def test_the_lock_has_every_package_that_is_installed_and_no_index(locked: ModuleType) -> None:
    text = locked.LOCK.read_text()
    named = set(locked.locked(text))
    asked = {re.sub(r"[-_.]+", "-", one.name).lower() for one in locked.asked()}
    assert asked - named == set(), ".ci/locked.py --write"
    assert set(locked.installed(locked.asked())) - named == set(), ".ci/locked.py --write"
    assert "://" not in text
    assert "--" not in text


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        ({"click": "8.2.0", "rich": "14.0"}, []),
        ({"click": "8.1.0", "rich": "14.0"}, ["click 8.2.0 is installed, 8.1.0 is locked"]),
        ({"rich": "14.0"}, ["click 8.2.0 is installed, nothing is locked"]),
    ],
)
def test_an_environment_that_is_not_the_locked_one_is_told(
    locked: ModuleType, lock: dict[str, str], said: list[str]
) -> None:
    assert locked.differences({"click": "8.2.0", "rich": "14.0"}, lock) == said


@pytest.mark.parametrize("line", ["click>=8", "click", "click==8 ; python_version > '3'", "-i x"])
def test_a_lock_is_names_and_versions(locked: ModuleType, line: str) -> None:
    assert locked.locked("# said\nrich==14.0\n") == {"rich": "14.0"}
    with pytest.raises(SystemExit, match=r"constraints\.txt:2: expected name==version"):
        locked.locked(f"rich==14.0\n{line}\n")
    with pytest.raises(SystemExit, match="once each"):
        locked.locked("rich==14.0\nrich==14.0\n")
