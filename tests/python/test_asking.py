"""`examples/asking.py`, small: what it changes, and that results are relative to LRU."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def asking() -> dict[str, Any]:
    """The example, not run."""
    return runpy.run_path(str(ROOT / "examples" / "asking.py"))


def test_a_rate_divides_the_gaps(asking: dict[str, Any], msr: Path, tmp_path: Path) -> None:
    scaled = asking["at_rate"](msr, 2.0, tmp_path)

    def stamps(path: Path) -> list[int]:
        return [int(line.split(",")[0]) for line in path.read_text().splitlines()]

    times = [stamps(msr), stamps(scaled)]
    first = times[0][0]
    assert times[1] == [first + round((at - first) / 2) for at in times[0]]
    assert asking["at_rate"](msr, 1.0, tmp_path) == msr


def test_each_case_changes_one_thing_of_the_base(asking: dict[str, Any]) -> None:
    cases = list(asking["cases"]("256MiB"))
    assert len(cases) == len(set(cases)) == 27
    for case in cases:
        changed = (case.rate != 1, case.gc_mode != "foreground", case.size != "256MiB")
        assert sum(changed) <= 1


@pytest.mark.slow
def test_rows_are_relative_to_lru_of_the_same_case(asking: dict[str, Any], msr: Path) -> None:
    rows = asking["measure"](msr, "16KiB")
    assert len(rows) == 27 * len(asking["POLICIES"])
    assert {row["mean_over_lru"] for row in rows if row["policy"] == "lru"} == {1.0}
    assert any(row["mean_over_lru"] != 1.0 for row in rows)
