"""What the page beyond the papers tells before its tables, from made-up numbers."""

from __future__ import annotations

from typing import Any

import pytest

from destage.reproduce.beyond_pages import (
    UNPADDED,
    optimum_told,
    padding_rows,
    reversal_rows,
    winner_rows,
)


def run(mean: float | None, erases: int = 10, waf: float | None = 1.5) -> dict[str, Any]:
    return {"response_ns_mean": mean, "response_ns_p99": 1.0, "waf": waf, "erases": erases}


def table(rows: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
    return {
        "load": "hm_0",
        "offline": ["min"],
        "rows": [
            {"policy": name, "ftls": {"page": page, "dftl": dftl}}
            for name, (page, dftl) in rows.items()
        ],
    }


@pytest.fixture
def data() -> dict[str, Any]:
    rows = {
        "min": (run(0.5e6), run(0.5e6)),
        "lru": (run(2e6), run(3e6)),
        "arc": (run(1.0e6), run(2e6)),
        "cflru": (run(1.005e6), run(2.5e6)),
        "bplru": (run(4e6, 40, 3.0), run(1.9e6, 0)),
        UNPADDED: (run(1.5e6, 20), run(2.2e6, 0)),
        "fab": ("bast: operation 7: device full", run(0.1e6)),
    }
    return {"ftls": {"page": "page", "dftl": "dftl"}, "tables": [table(rows)], "optimum": []}


def test_the_winner_can_run_and_what_is_level_with_it_is_named(data: dict[str, Any]) -> None:
    rows = winner_rows(data)
    assert rows[1] == ["hm_0", "page", "arc (1 ms)", "cflru", "2.000 of it", "4 of 5"]
    assert rows[2][2:4] == ["fab (0.1 ms)", "-"]
    assert not any("min" in row[2] for row in rows[1:])


def test_ranks_are_among_what_ran_everywhere_and_the_most_apart_come_first(
    data: dict[str, Any],
) -> None:
    rows = reversal_rows(data)
    assert rows[1] == ["hm_0", "bplru", "5", "1"]
    assert "fab" not in [row[1] for row in rows]
    assert [row[2:] for row in rows if row[1] == "arc"] == [["1", "2"]]


def test_padding_is_told_with_over_without_and_zeros_as_they_are(data: dict[str, Any]) -> None:
    rows = padding_rows(data)
    assert rows[1] == ["hm_0", "page", "2.67 times", "2.00 times", "3.00", "1.50"]
    assert rows[2][3] == "none in both"
    data["tables"][0]["rows"][4]["ftls"]["dftl"] = run(1e6, 7)
    assert padding_rows(data)[2][3] == "7 against none"
    data["tables"][0]["rows"][4]["ftls"]["dftl"] = "device full"
    assert len(padding_rows(data)) == 2


def test_the_best_policy_is_held_against_the_least_cost(data: dict[str, Any]) -> None:
    costs = {"min": 110, "lru": 150, "arc": 120, "cflru": 120}
    data["optimum"] = [
        {
            "load": "hm_0",
            "costs": [
                {"read": 1, "write": 118, "least": 100, "least_at_most": 100, "costs": costs}
            ],
        }
    ]
    told = optimum_told(data, ["min"])
    assert told[1] == [
        "hm_0",
        "1 : 118",
        "arc",
        "1.200 of the least",
        "1.500 of the least",
        "1.100 of the least",
    ]
