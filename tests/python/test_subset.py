"""The fewest traces that rank policies as all do; the data set; a store's runs made again."""

from __future__ import annotations

import importlib.util
import itertools
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT, Destage

import destage as ds
from destage.model.estimates import kendall

POLICIES = "lru,fifo,clock,lfu,s3-fifo,arc"


def pairs(a: list[float], b: list[float]) -> tuple[int, int, int, int]:
    """Pairs in the same order, in the other, with equal values in one list alone: a, b."""
    same = other = only_a = only_b = 0
    for i, j in itertools.combinations(range(len(a)), 2):
        first, second = a[i] - a[j], b[i] - b[j]
        same += first * second > 0
        other += first * second < 0
        only_a += first == 0 and second != 0
        only_b += second == 0 and first != 0
    return same, other, only_a, only_b


def test_tau_counts_pairs() -> None:
    assert kendall([1, 2, 3], [10, 20, 30]) == 1
    assert kendall([1, 2, 3], [3, 2, 1]) == -1
    assert kendall([1, 1, 1], [1, 2, 3]) is None
    for b in itertools.product((1.0, 2.0, 3.0), repeat=4):
        a = [1.0, 2.0, 2.0, 3.0]
        same, other, only_a, only_b = pairs(a, list(b))
        if len(set(b)) == 1:
            continue
        whole = ((same + other + only_a) * (same + other + only_b)) ** 0.5
        found = kendall(a, list(b))
        assert found is not None
        assert found == pytest.approx((same - other) / whole)


@pytest.fixture(scope="module")
def runs() -> ds.Results:
    traces = [
        ds.synth("zipf", requests=2000, pages=200, alpha=0.4 + 0.1 * k, seed=k) for k in range(6)
    ]
    traces += [ds.synth("scan", requests=2000, pages=150 + 50 * k, seed=k) for k in range(3)]
    traces += [ds.synth("loop", requests=2000, pages=40 + 10 * k, seed=k) for k in range(3)]
    return ds.compare(traces, POLICIES + ",min", cache="5%,20%")


Row = dict[str, Any]


def label_of(row: Row) -> str:
    """As a subset names generated traces, which share a name."""
    return f"{row['trace']} {row['trace_fingerprint'][:8]}"


def mean_ranks(rows: list[Row], traces: Sequence[str]) -> dict[str, float]:
    """Mean rank of each policy over the cells of some traces, by counting who is better."""
    every: dict[str, list[float]] = {}
    for trace in traces:
        here: dict[str, list[float]] = {}
        for cache in ("5%", "20%"):
            cell = {
                row["label"]: row["hit_ratio"]
                for row in rows
                if label_of(row) == trace and row["cache"] == cache and row["label"] != "min"
            }
            for name, hits in cell.items():
                better = sum(other > hits for other in cell.values())
                equal = sum(other == hits for other in cell.values())
                here.setdefault(name, []).append(better + (equal + 1) / 2)
        for name, ranks in here.items():
            every.setdefault(name, []).append(sum(ranks) / len(ranks))
    return {name: sum(ranks) / len(ranks) for name, ranks in every.items()}


def tau_of(rows: list[Row], some: Sequence[str], others: Sequence[str]) -> float:
    first, second = mean_ranks(rows, some), mean_ranks(rows, others)
    names = sorted(first)
    same, other, only_a, only_b = pairs([first[n] for n in names], [second[n] for n in names])
    whole = (same + other + only_a) * (same + other + only_b)
    return (same - other) / whole**0.5 if whole else 0.0


def test_a_subset_ranks_as_all_traces_do(runs: ds.Results) -> None:
    rows = runs.to_dicts()
    every = sorted({label_of(row) for row in rows})
    assert len(every) == 12
    found = ds.trace_subset(runs, "hit", tau=0.95)
    assert found.every == tuple(every)
    assert {name for name, _ in found.ranking} == set(POLICIES.split(","))
    ranks = mean_ranks(rows, every)
    assert dict(found.ranking) == pytest.approx(ranks)
    for k, tau in enumerate(found.taus):
        chosen = found.traces[: k + 1]
        assert tau == pytest.approx(tau_of(rows, chosen, every))
        # No other trace would have brought the ranking nearer.
        for other in every:
            if other not in chosen:
                assert tau_of(rows, [*found.traces[:k], other], every) <= tau + 1e-12
    assert found.taus[-1] >= 0.95
    assert all(tau < 0.95 for tau in found.taus[:-1])
    whole = ds.trace_subset(runs, "hit", tau=1)
    assert whole.taus[-1] == 1


def test_traces_that_had_no_say_check_a_subset(runs: ds.Results) -> None:
    rows = runs.to_dicts()
    found = ds.trace_subset(runs, "hit")
    assert sorted(name for one in found.held_out for name in one.traces) == list(found.every)
    for one in found.held_out:
        others = [name for name in found.every if name not in one.traces]
        assert set(one.subset) <= set(others)
        assert one.tau == pytest.approx(tau_of(rows, one.subset, one.traces))
        assert one.tau_of_others == pytest.approx(tau_of(rows, others, one.traces))
        assert tau_of(rows, one.subset, others) >= 0.95


def test_a_policy_without_a_value_is_named_and_not_ranked(runs: ds.Results) -> None:
    first = ds.synth("zipf", requests=500, pages=50)
    more = ds.compare(first, POLICIES + ",mq", cache="5%,20%")
    both = ds.Results([*runs.sets, *more.sets])
    found = ds.trace_subset(both)
    assert found.left_out == ("mq",)
    assert "without a value somewhere, and not ranked: mq" in str(found.as_table())


def test_what_cannot_be_ranked_is_said(runs: ds.Results) -> None:
    with pytest.raises(ds.UsageError, match="three traces and three policies"):
        ds.trace_subset(ds.compare(ds.synth("zipf", requests=300, pages=30), "lru,fifo,arc"))
    with pytest.raises(ds.UsageError, match=r"above 0 and at most 1, found 1\.5"):
        ds.trace_subset(runs, tau=1.5)
    with pytest.raises(ds.UsageError, match="ranks nothing"):
        ds.trace_subset(runs, "accesses")
    with pytest.raises(ds.UsageError, match="subset: expected a store or results, got 3"):
        ds.trace_subset(3)  # type: ignore[arg-type]


def test_a_trace_on_which_all_are_equal_is_not_chosen() -> None:
    reads = [ds.synth("zipf", requests=900, pages=90, read_ratio=1, seed=k) for k in range(4)]
    writes = [ds.synth("zipf", requests=900, pages=90, alpha=0.5 + k / 4, seed=k) for k in range(3)]
    both = ds.compare([*reads, *writes], POLICIES, cache="10%")
    alone = ds.compare(writes, POLICIES, cache="10%")
    found, expected = ds.trace_subset(both, "writes"), ds.trace_subset(alone, "writes")
    assert len(found.every) == 7
    assert (found.traces, found.taus) == (expected.traces, expected.taus)
    assert [name for name, _ in found.ranking] == [name for name, _ in expected.ranking]
    lone = ds.trace_subset(ds.compare([*reads * 3, writes[0]], POLICIES, cache="10%"), "writes")
    assert len(lone.traces) == 1
    with pytest.raises(ds.UsageError, match="all policies are equal"):
        ds.trace_subset(ds.compare(reads, POLICIES, cache="10%"), "writes")


@pytest.fixture(scope="module")
def dataset() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dataset", ROOT / "benches" / "dataset.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_data_set_is_made_and_each_row_repeats(
    dataset: ModuleType, destage: Destage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.delenv("DESTAGE_TRACES", raising=False)
    monkeypatch.setattr(dataset, "SIZES", ["5%"])
    monkeypatch.setattr(dataset, "SYNTH", [{"synth": n} for n in ("zipf", "scan", "oltp")])
    asked = ["--requests", "600", "--device", "small", "--collector", "fifo"]
    for part in ("untimed", "closed"):
        assert dataset.main([str(tmp_path), "--part", part, *asked]) == 0
    rows = polars.read_parquet(tmp_path / "runs.parquet")
    policies = [p.name for p in ds.policies()]
    alone = [p.name for p in ds.policies() if not p.needs_device]
    assert len(rows) == 3 * (len(policies) + len(alone))
    assert set(rows["status"]) == {"done"}
    assert set(rows["device"].drop_nulls()) == {"small[gc_victim=fifo]"}
    line = rows.filter((rows["label"] == "ecr") & (rows["trace"] == "oltp"))["rerun"].item()
    words = shlex.split(line)
    assert words[:3] == ["destage", "rerun", "store"]
    assert destage("rerun", str(tmp_path / "store"), *words[3:]).status == 0
    subset = json.loads((tmp_path / "subset-mean.json").read_text())
    assert subset["metric"] == "response_ns_mean"
    assert {p.stem for p in (tmp_path / "pages").glob("*.html")} == {
        "index",
        "zipf",
        "scan",
        "oltp",
    }
    assert "<title>oltp - Destage</title>" in (tmp_path / "pages" / "oltp.html").read_text()
    assert f"| runs | {len(rows):,} |" in (tmp_path / "README.md").read_text()


def test_the_command_prints_the_subset(runs: ds.Results, destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    runs.to_json(path)
    done = destage(
        "results", "subset", str(path), "--tau", "0.9", "--json", "found.json", "--csv", "-"
    )
    assert done.status == 0, done
    found = ds.trace_subset(runs, tau=0.9)
    lines = done.out.splitlines()
    assert lines[0] == "trace,tau"
    assert len(lines) == 1 + len(found.traces)
    data = json.loads((tmp_path / "found.json").read_text())
    assert data["schema"] == "destage.trace_subset"
    assert [one["trace"] for one in data["subset"]] == list(found.traces)
    assert len(data["held_out"]) == 5


def test_runs_of_a_store_are_repeated(destage: Destage, tmp_path: Path) -> None:
    trace = {"synth": "zipf", "requests": 400, "pages": 40}
    spec = {"sweep": {"traces": [trace], "policies": ["lru", "arc"], "cache": ["10%", "20%"]}}
    ds.sweep(spec, tmp_path / "runs")
    again = ds.rerun(tmp_path / "runs", where="label == 'arc'")
    assert again.same
    assert [run.label for run in again.results] == ["arc", "arc"]
    done = destage("rerun", str(tmp_path / "runs"), "--where", "label == 'mq'")
    assert done.status == 2
    assert "no run to repeat fits the condition" in done.err
