"""Each page on adding a thing is followed in a copy: it is built, and every command has it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from additions import ADDITIONS, Addition
from conftest import ROOT

from destage.lab.user_policies.rust import new_rust_policy

#: Always in the same place, so that other people's crates are not built again.
COPY = ROOT / "target" / "added"
COPIED = ("crates", "examples/own-policy", "tests/vectors", "docs/spec", "python")
CRATES = ("destage-policies", "destage-reference", "destage-py")


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda addition: Path(addition.page).stem)
def test_the_page_names_every_file_that_an_addition_touches(addition: Addition) -> None:
    text = (ROOT / "docs" / "contribute" / addition.page).read_text(encoding="utf-8")
    named = {
        re.sub(r"\b(NAME|yours)\b", "mine", path)
        for path in re.findall(r"`((?:crates|python)/[\w./-]+)`", text)
    }
    assert set(addition.files()) <= named, set(addition.files()) - named


def cargo(*arguments: str) -> str:
    """Output of cargo in the copy; its dependencies have the features of the whole workspace."""
    packages = [word for crate in CRATES for word in ("-p", crate)]
    done = subprocess.run(
        ["cargo", *arguments, "--offline", "--locked", *packages],
        cwd=COPY,
        env={**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target"), "PROPTEST_CASES": "8"},
        capture_output=True,
        check=False,
    )
    said = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, said[-6000:]
    return said


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    """The sources with a policy and everything of `additions` in them, tested and built.

    By a version of its own its crates never replace those of the repository. They are built without
    optimisation, which takes a quarter of the time.
    """
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    shutil.rmtree(COPY, ignore_errors=True)
    for folder in COPIED:
        leave = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / folder, COPY / folder, ignore=leave)
    shutil.copy2(ROOT / "README.md", COPY / "README.md")
    for name, crate in (("Cargo.toml", ""), ("Cargo.lock", r'name = "destage-[\w-]+"\n')):
        text = (ROOT / name).read_text(encoding="utf-8")
        own = re.sub(rf'^({crate}version = "\d+\.\d+)\.\d+"', r'\1.999"', text, flags=re.MULTILINE)
        assert own != text
        (COPY / name).write_text(own, encoding="utf-8")
    with (COPY / "Cargo.toml").open("a", encoding="utf-8") as file:
        for crate in sorted(path.name for path in (ROOT / "crates").iterdir()):
            file.write(f"[profile.dev.package.{crate}]\nopt-level = 0\n")
    for addition in ADDITIONS:
        addition.make(COPY)
    new_rust_policy("My_Own", COPY)
    tested = cargo("test", "--test", "it")
    assert tested.count("test result: ok") == 2, tested[-4000:]
    assert "reference::my_own_decides_as_its_model ... ok" in tested
    cargo("build")
    assert "mine::pages_come_back ... ok" in cargo("test", "--lib", "-p", "destage-pool", "mine::")
    module = COPY / "python" / "destage" / "_destage.abi3.so"
    shutil.copy2(ROOT / "target" / "debug" / "lib_destage.so", module)
    yield COPY
    shutil.rmtree(COPY)


def printed(copy: Path, *arguments: str) -> str:
    """Output of the copy's command."""
    done = subprocess.run(
        [sys.executable, "-m", "destage", *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "python"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_everything_that_was_added_from_the_pages_is_there(copy: Path) -> None:
    printed(
        *(copy, "trace", "synth", "zipf", "--requests", "20000", "--pages", "2000"),
        *("--read-ratio", "0.5", "--seed", "1", "--output", "trace.csv", "-q"),
    )

    def rows(policies: str, *arguments: str) -> list[dict[str, object]]:
        run = ("compare", "trace.csv", "-p", policies, "-c", "5%", "--json", "-", "-q", *arguments)
        return [one["metrics"] for one in json.loads(printed(copy, *run))["runs"]]

    assert rows("my-own") == rows("fifo")
    assert rows("lru", "-d", "small[gc_victim=mine]") == rows("lru", "-d", "small[gc_victim=fifo]")
    for flags in (("-d", "small", "--ftl"), ("-d", "fdp", "--placement")):
        old = {"--ftl": "page-ideal", "--placement": "by-cache"}[flags[-1]]
        assert rows("arc", *flags, "mine") == rows("arc", *flags, old)
    below = ("--tier2", "lru", "--tier2-cache", "20%", "--admit")
    assert rows("lru", *below, "mine") == rows("lru", *below, "always")
    (once,), (thrice,) = rows("lru"), rows("lru", "--mine", "3")
    assert once["mine_ratio"] == once["hit_ratio"] != 0
    assert thrice["mine_ratio"] == pytest.approx(3 * float(str(once["hit_ratio"])))
    sample = str(ROOT / "tests" / "data" / "systor17.csv")
    told = [printed(copy, "trace", "info", sample, "--format", f) for f in ("mine", "systor17")]
    assert told[0].replace("mine", "systor17") == told[1]
    printed(copy, "compare", "trace.csv", "-p", "lru", "-c", "5%,10%", "--json", "sizes.json", "-q")
    printed(copy, "report", "sizes.json", "--figures", "figures")
    assert list((copy / "figures").glob("*mine*"))
