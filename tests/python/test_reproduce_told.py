"""What the page beyond the papers tells before its tables, from made-up numbers."""

from __future__ import annotations

from typing import Any

import pytest

from destage.reproduce.beyond_pages import (
    optimum_cells,
    padding_rows,
    reversal_rows,
    variant_rows,
    winner_rows,
)
from destage.reproduce.findings import UNPADDED, Findings, Gains, gains


def run(mean: float | None, erases: int = 10, waf: float | None = 1.5) -> dict[str, Any]:
    return drawn([mean]) | {"waf": waf, "erases": erases}


def drawn(means: list[Any]) -> dict[str, Any]:
    """A policy's numbers in front of one device, with its mean in each draw of the workload."""
    mean = None if None in means else sum(means) / len(means)
    return {"response_ns_mean": mean, "response_ns_p99": 1.0, "waf": 1.5, "erases": 10} | {
        "response_ns_means": means
    }


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
    told = optimum_cells(data, ["min"])
    assert told[1] == [
        "hm_0",
        "1 : 118",
        "arc",
        "1.200 of the least",
        "1.500 of the least",
        "1.100 of the least",
    ]


def in_front(mean: float) -> dict[str, Any]:
    """A row in front of each device of the tables: the same mean response time everywhere."""
    one = run(mean)
    axes = {"ftls": ("page", "bast"), "waits": ("staged", "none"), "collectors": ("greedy", "FIFO")}
    return {axis: dict.fromkeys(labels, one) for axis, labels in axes.items()}


@pytest.fixture
def varied() -> dict[str, Any]:
    means = {"lru": 2.0, "arc": 1.9, "2q": 2.1, "ecr-e": 1.5, "min": 1.0, "cflru": 1.4}
    rows = [{"policy": name, **in_front(mean)} for name, mean in means.items()]
    for row in rows:
        row["hit_ratio"] = {"lru": 0.2, "min": 0.5}.get(row["policy"], 0.3)
    return {
        "ftls": {"page": "page", "bast": "bast"},
        "waits": {"staged": "", "none": "evict_wait=none"},
        "collectors": {"greedy": "", "FIFO": "gc_victim=fifo"},
        "aware": ["ecr-e", "sac"],
        "tables": [{"load": "hm_0", "offline": ["min"], "rows": rows}],
        "optimum": [],
    }


def set_mean(data: dict[str, Any], policy: str, axis: str, label: str, mean: Any) -> None:
    (row,) = (r for r in data["tables"][0]["rows"] if r["policy"] == policy)
    row[axis] = {**row[axis], label: run(mean) if isinstance(mean, float) else mean}


def test_three_gains_are_shares_of_lrus_mean(varied: dict[str, Any]) -> None:
    found = gains(varied, varied["tables"][0], "waits", "staged")
    assert isinstance(found, Gains)
    shares = (found.choice, found.asking, found.hits)
    assert [one.mean for one in shares] == pytest.approx([0.1, 0.25, 0.5])
    set_mean(varied, "min", "waits", "none", "device full")
    assert gains(varied, varied["tables"][0], "waits", "none") is None


def test_a_statement_says_how_often_it_stands(varied: dict[str, Any]) -> None:
    asking, hits, ranks = (text for text, _ in Findings(varied).statements)
    assert "saves 25.0 % of LRU's mean response time with the preset" in asking
    assert "s3-fifo, car, slru, clock changes it by 10.0 %." in asking
    assert "in 2 of 2 configurations" in asking
    assert hits.startswith("The eviction-wait model does not change this. MIN")
    assert "with 2.5 times LRU's hits" in hits
    assert "`evict_wait=none` on 1 of 1 workloads (MIN 50.0 %, `ecr-e` 25.0 %)" in hits
    assert "The FTL changes the ranking" in ranks
    # Behind another collector asking loses: the statement counts it.
    set_mean(varied, "ecr-e", "collectors", "FIFO", 2.4)
    asking = Findings(varied).statements[0][0]
    assert "in 1 of 2 configurations of workload and collector, less in 1." in asking


def in_three_draws(data: dict[str, Any], **every: list[float]) -> None:
    """Set mean response times, everywhere the same."""
    for row in data["tables"][0]["rows"]:
        name = row["policy"].replace("-", "_")
        means = every.get(name, [row["ftls"]["page"]["response_ns_mean"]] * 3)
        for axis in ("ftls", "waits", "collectors"):
            row[axis] = {label: drawn(means) for label in row[axis]}


def test_only_a_difference_that_stands_in_all_draws_counts(varied: dict[str, Any]) -> None:
    # Asking the device leads by 45 % in one draw of three, and by 12.5 % in the others.
    in_three_draws(varied, ecr_e=[1.1, 1.75, 1.75])
    asking = Findings(varied).statements[0][0]
    assert "in 0 of 2 configurations" in asking
    assert "less in" not in asking
    (point, *_) = [p for p in Findings(varied).figures[0].drawn.points if "asking" in p.series]
    assert point.low < 0.125 < point.y < point.high
    # CFLRU's lead over it is not significant: both are named.
    assert variant_rows(varied)[1][1] == "cflru or ecr-e, 30.0 %"
    in_three_draws(varied, ecr_e=[1.3, 1.31, 1.32])
    assert variant_rows(varied)[1][1] == "ecr-e, 34 ± 1.2 %"
    assert "in 2 of 2 configurations" in Findings(varied).statements[0][0]


def test_the_greatest_reversal_of_ranks_is_named(varied: dict[str, Any]) -> None:
    set_mean(varied, "2q", "ftls", "bast", 0.1)
    text = Findings(varied).statements[2][0]
    assert "`2q` is 5th with `page`, 1st with `bast`, of 5 online policies" in text


def test_the_eviction_wait_decides_where_hits_win_under_one_and_queues_under_another(
    varied: dict[str, Any],
) -> None:
    set_mean(varied, "min", "waits", "none", 1.9)
    text = Findings(varied).statements[1][0]
    assert text.startswith("The eviction-wait model changes this. MIN")
    assert "`evict_wait=none` on 0 of 1" in text


def test_winners_are_named_behind_each_wait_and_collector(varied: dict[str, Any]) -> None:
    set_mean(varied, "arc", "collectors", "FIFO", 1.0)
    assert variant_rows(varied) == [
        ["device", "hm_0"],
        ["preset (staged, greedy in steps)", "cflru, 30.0 %"],
        ["eviction wait none", "cflru, 30.0 %"],
        ["collector FIFO", "arc, 50.0 %"],
    ]


def test_each_statement_has_a_figure(varied: dict[str, Any]) -> None:
    figures = Findings(varied).figures
    assert [one.id for one in figures] == ["collectors", "waits", "ranks"]
    drawn = figures[0].drawn
    assert drawn.x_order == ("greedy", "FIFO")
    assert len(drawn.points) == 2 * 3
