"""Everything built for users agrees with itself: versions, manifests, wheels, workflows."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def table(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def dist() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dist", ROOT / ".ci" / "dist.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def version() -> str:
    return str(table("Cargo.toml")["workspace"]["package"]["version"])


def test_one_version_is_everywhere() -> None:
    manifests = [table(str(p.relative_to(ROOT))) for p in ROOT.glob("crates/*/Cargo.toml")]
    assert all(m["package"]["version"] == {"workspace": True} for m in manifests)
    ours = table("Cargo.toml")["workspace"]["dependencies"]
    asked = {d["version"] for n, d in ours.items() if n.startswith("destage-") and "version" in d}
    assert asked == {version()}
    locked = {p["version"] for p in table("Cargo.lock")["package"] if p["name"][:8] == "destage-"}
    assert locked == {version()}
    assert "version" in table("pyproject.toml")["project"]["dynamic"], "the crate's is the wheel's"
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version()}\n" in cited
    released = re.search(r"\ndate-released: (\S+)\n", cited)
    assert released is not None
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## (.+)$", changes, re.MULTILINE)
    assert heads[:2] == ["Unreleased", f"{version()} ({released[1]})"]


def test_public_crates_can_be_published_and_others_not(dist: ModuleType) -> None:
    public = set(dist.public_crates())
    made = re.search(r"^PUBLIC := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert made is not None
    assert {f"destage-{name}" for name in made[1].split()} == public
    assert {"destage-policies", "destage-engine"} <= public
    assert not public & {"destage-py", "destage-fuzz", "destage-reference"}
    inherited = table("Cargo.toml")["workspace"]["package"]
    for name in public:
        crate = table(f"crates/{name}/Cargo.toml")
        package = crate["package"]
        assert len(package["description"]) > 20, name
        for key in ("license", "rust-version", "keywords", "categories", "authors"):
            assert package[key] == {"workspace": True}, (name, key)
            assert inherited[key], key
        readme = (ROOT / "crates" / name / package["readme"]).read_text(encoding="utf-8")
        assert readme.startswith(f"# {name}\n"), name
        assert "Apache License" in (ROOT / "crates" / name / "LICENSE").read_text(), name
        stands_on = {d for d in crate["dependencies"] if d.startswith("destage-")}
        assert stands_on <= public, f"{name} could not be published without {stands_on - public}"


def test_a_wheel_with_too_much_or_too_little_is_told(dist: ModuleType) -> None:
    tracked = {*dist.NEEDED, "destage/data/doctor.json"}
    whole = {
        *tracked,
        "destage/_destage.abi3.so",
        "destage/libdestage_pcache.so",
        "destage-1.dist-info/METADATA",
        "destage-1.dist-info/licenses/LICENSE",
        "destage-1.dist-info/sboms/destage-py.cyclonedx.json",
    }
    assert dist.wheel_faults(whole, tracked) == []
    assert dist.wheel_faults(whole | {"destage/secret.csv"}, tracked) == [
        "has destage/secret.csv, which the repository does not"
    ]
    assert dist.wheel_faults(whole - {"destage/py.typed"}, tracked) == ["lacks destage/py.typed"]
    assert dist.wheel_faults(whole - {"destage-1.dist-info/licenses/LICENSE"}, tracked) == [
        "lacks the licence"
    ]
    assert dist.wheel_faults({n for n in whole if "sboms" not in n}, tracked) == [
        "lacks the list of its crates (SBOM)"
    ]
    (fault,) = dist.wheel_faults(whole - {"destage/libdestage_pcache.so"}, tracked)
    assert "page cache" in fault
    windows = whole - {"destage/_destage.abi3.so", "destage/libdestage_pcache.so"}
    assert dist.wheel_faults(windows | {"destage/_destage.pyd"}, tracked) == []
    cpython = whole - {"destage/_destage.abi3.so"} | {"destage/_destage.cpython-311.so"}
    (fault,) = dist.wheel_faults(cpython, tracked)
    assert "stable ABI" in fault


def test_the_wheel_that_was_built_is_whole(dist: ModuleType) -> None:
    wheels = list((ROOT / "dist").glob(f"destage-{version()}-*.whl"))
    if not wheels:
        pytest.skip("no wheel in dist/ (make dist)")
    for wheel in wheels:
        assert "-cp311-abi3-" in wheel.name
        with zipfile.ZipFile(wheel) as opened:
            names = opened.namelist()
        faults = dist.wheel_faults(names, dist.tracked())
        # The working tree may have moved on since; what is too much is wrong at any time.
        assert [f for f in faults if not f.startswith(("lacks destage/", "has destage/"))] == []
        assert not any("tests/" in name or "__pycache__" in name for name in names)


def test_no_rust_is_where_the_wheel_is_tried(
    dist: ModuleType, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_cargo, without = tmp_path / "with", tmp_path / "without"
    for folder in (with_cargo, without):
        folder.mkdir()
    (with_cargo / "cargo").touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{with_cargo}:{without}")
    monkeypatch.setenv("CARGO_HOME", "somewhere")
    left = dist.without_rust()
    assert left["PATH"] == str(without)
    assert "CARGO_HOME" not in left


def test_what_cargo_keeps_of_an_earlier_packaging_is_found(
    dist: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "registry" / "src"
    ours = source / "-1eb37cad5e4d9f2e" / "destage-core-9.9.9"
    others = [
        source / "-1eb37cad5e4d9f2e" / "destage-core-9.9.8",
        source / "-1eb37cad5e4d9f2e" / "serde-9.9.9",
        source / "index.example-0123456789abcdef" / "destage-core-9.9.9",
    ]
    for folder in (ours, *others):
        folder.mkdir(parents=True)
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    assert dist.unpacked_before("9.9.9") == [ours]


def test_make_dist_publishes_nothing() -> None:
    said = subprocess.run(
        ["make", "-n", "dist"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert ".ci/dist.py" in said
    for path in (ROOT / "Makefile", ROOT / ".ci" / "dist.py", ROOT / ".ci" / "run", *WORKFLOWS):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"cargo publish|maturin (upload|publish)|\btwine\b|pypi-publish", text)


def test_workflows_are_pinned_and_mirror_the_local_run() -> None:
    yaml = pytest.importorskip("yaml", reason="the extra 'docs' is not installed")
    assert {path.name for path in WORKFLOWS} == {"ci.yml", "nightly.yml", "wheels.yml"}
    ran: dict[str, list[str]] = {}
    for path in WORKFLOWS:
        flow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert flow["permissions"] == {"contents": "read"}, path.name
        steps = [step for job in flow["jobs"].values() for step in job["steps"]]
        for step in steps:
            if "uses" in step:
                assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
        for job in flow["jobs"].values():
            own = job.get("permissions", {"contents": "read"})
            rest = {"id-token": "write", "attestations": "write"}
            signs = any("attest" in step.get("uses", "") for step in job["steps"])
            assert own == {"contents": "read"} | (rest if signs else {}), path.name
            assert signs == (path.name == "wheels.yml")
        ran[path.name] = [step["run"] for step in steps if "run" in step]
        # YAML 1.1 takes the key `on` for a truth value.
        begins = flow[True]
        assert ("workflow_dispatch" in begins) == (path.name != "ci.yml")
    assert ".ci/run" in ran["ci.yml"]
    assert "make dist" in ran["wheels.yml"]
    assert any(step.startswith(".ci/nightly") for step in ran["nightly.yml"])
    local = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    ran_here = set(re.findall(r"^ *(make .+)$", local, re.MULTILINE))
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target, cases in (("lint", ""), ("test-all", " CASES=16")):
        parts = re.search(rf"^{target}: ([\w -]+?) *##", made, re.MULTILINE)
        assert parts is not None
        assert {f"make {part}{cases}" for part in parts[1].split()} <= ran_here, target
