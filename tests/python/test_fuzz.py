"""The fuzz drivers know the same targets, and `fuzz/README.md` describes each."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

FUZZ = Path(__file__).resolve().parents[2] / "fuzz"


def driver(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FUZZ / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_every_target_is_described_and_guided() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", (FUZZ / "README.md").read_text("utf-8"), re.MULTILINE)
    described = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}
    guided, faces = driver("guided").names(), driver("faces").TARGETS
    assert len(guided) == len(set(guided))
    assert {*guided, *faces} == described


@pytest.mark.parametrize("target", ["results", "config"])
def test_what_python_reads_breaks_on_no_damaged_input(target: str) -> None:
    assert driver("faces").run(target, 0.5, seed=20) == 0
