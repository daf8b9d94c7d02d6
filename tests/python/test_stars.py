"""The star: significant, at least 1 %, and different in the digits that the table prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import destage as ds
from destage.model.choice import metric_named
from destage.model.differences import Differences
from destage.model.metrics import METRICS
from destage.model.run import Run
from destage.model.winners import winner
from destage.show.tables.results import results_table
from destage.show.tables.table import Table

POLICIES = "lru,lru-wsr,arc,cflru,2q"
KINDS: dict[str, dict[str, Any]] = {
    "zipf": {"pages": 900, "alpha": 0.9},
    "oltp": {"pages": 1500},
    "uniform": {"pages": 600},
    "loop": {"pages": 500, "loop_pages": 200},
}


def comparisons() -> Iterator[ds.Results]:
    """Forty: four workloads, ten seeds, two sizes each, a quarter of them in front of a device."""
    for kind, keys in KINDS.items():
        for seed in range(10):
            trace = ds.synth(kind, requests=3000, seed=seed, **keys)
            device: Any = {"device": "small", "queue_depth": 4} if seed % 4 == 0 else {}
            yield ds.compare(trace, POLICIES, cache="5%,30%", **device)


def test_a_star_is_significant_at_least_one_per_cent_and_visible_in_forty_comparisons() -> None:
    starred = unmarked = 0
    by_title = {m.title.lower().removesuffix(" ratio"): m for m in METRICS}
    for results in comparisons():
        table = results_table(results.runs)
        for size, group in enumerate(table.groups):
            runs = results.result_sets[0].at(results.result_sets[0].sizes[size])
            for k, column in enumerate(table.columns):
                texts = [row[k].text for row in group]
                for place, row in enumerate(group):
                    if not row[k].best:
                        continue
                    starred += 1
                    assert texts.count(row[k].text) == 1, (column.title, texts)
                    title = column.title.partition("\n")[0].removesuffix(" %").lower()
                    metric = by_title.get(title)
                    assert metric is not None, title
                    for other in (r for r in runs if r is not runs[place]):
                        ours, theirs = runs[place][metric.name], other[metric.name]
                        if theirs is None or other.knows_the_future:
                            continue
                        assert abs(ours - theirs) >= 0.01 * max(abs(ours), abs(theirs))
                        name = "flash_writes" if metric.name == "writes_vs_lru" else metric.name
                        interval = runs[place].minus(other, name)
                        assert interval is not None
                        assert not interval[0] <= 0 <= interval[1]
            unmarked += sum(not any(row[k].best for row in group) for k in range(4, len(group[0])))
    assert starred > 15
    assert unmarked > 100


def _pair(first: float, second: float, requests: int = 10_000) -> list[Run]:
    """Two runs with these mean responses, which an interval tells apart."""
    trace = ds.synth("zipf", requests=2000, pages=300, seed=1)
    runs = ds.compare(trace, "lru,arc", cache="10%").runs
    known = Differences(
        {"groups": [{"runs": [0, 1], "metrics": {"response_ns_mean": [[first / 1e9, first]]}}]}
    )
    made = []
    for place, (run, mean) in enumerate(zip(runs, (first, second), strict=True)):
        measured = {"first_request": 1, "last_request": requests}
        metrics = {**run.metrics, "response_ns_mean": mean, "pending_write_ratio": 0.0}
        made.append(
            replace(run, place=place, differences=known, measured=measured, metrics=metrics)
        )
    return made


def test_no_star_without_a_visible_difference_or_below_600_requests() -> None:
    mean = metric_named("response_ns_mean")
    assert winner(_pair(1_000_000, 1_020_000), mean).sole  # type: ignore[union-attr]
    assert not winner(_pair(1_000_000, 1_009_000), mean).sole  # type: ignore[union-attr]
    # 1 % of 30 ns is less than what is printed.
    assert not winner(_pair(30.0, 30.4), mean).sole  # type: ignore[union-attr]
    assert not winner(_pair(1_000_000, 1_020_000, 599), mean).sole  # type: ignore[union-attr]
    assert winner(_pair(1_000_000, 1_020_000, 600), mean).sole  # type: ignore[union-attr]


def test_equal_policies_get_no_star_on_short_traces() -> None:
    starred = 0
    for seed in range(30):
        trace = ds.synth("zipf", requests=500, pages=200, seed=seed)
        table = results_table(ds.compare(trace, "lru,clock,fifo", cache="10%").runs)
        starred += sum(cell.best for row in table.rows() for cell in row)
    assert starred == 0


def phases(lengths: list[int], seed: int = 1) -> ds.Trace:
    """A trace whose hot set changes at the end of each phase."""
    import tempfile

    lines, state, at = [], seed, 0
    for phase, length in enumerate(lengths):
        for _ in range(length):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            # A loop that does not fit, in which the policies differ, and pages that all fit.
            page = at % 80 if phase % 2 else (state >> 33) % 40
            op = "Write" if state >> 60 & 1 else "Read"
            lines.append(f"{128166372003061629 + 10_000 * at},h,0,{op},{4096 * page},4096,0")
            at += 1
    path = Path(tempfile.mkdtemp()) / "phases.csv"
    path.write_text("\n".join(lines) + "\n")
    return ds.open_trace(path, cache=False)


def test_traces_with_few_phases_have_wider_intervals_and_say_so(tmp_path: Path) -> None:
    few = ds.compare(phases([2000] * 6), "lru,lirs,arc", cache="60p")
    many = ds.compare(phases([60] * 200), "lru,lirs,arc", cache="60p")
    parts = [results.runs[0].differences.parts for results in (few, many)]
    assert parts[0] is not None
    assert parts[1] is not None
    assert parts[0] < 10 <= parts[1]
    texts = [str(results_table(results.runs).notes) for results in (few, many)]
    if "*" in results_table(few.runs).text():
        assert f"this trace has only {parts[0]} independent parts" in texts[0]
    assert "independent parts" not in texts[1]
    pages = [tmp_path / "few.html", tmp_path / "many.html"]
    for page, results in zip(pages, (few, many), strict=True):
        ds.write_report(page, results)
        assert "best of its size" in page.read_text(encoding="utf-8")
    assert f"this trace has only {parts[0]} independent parts" in pages[0].read_text(
        encoding="utf-8"
    )
    assert "independent parts" not in pages[1].read_text(encoding="utf-8")


def _titled(table: Table, title: str) -> int:
    return [c.title.partition("\n")[0] for c in table.columns].index(title)


def test_open_and_closed_loop_stand_in_one_table() -> None:
    trace = ds.synth("oltp", requests=3000, pages=1500, seed=2, gap_ns=300_000)
    results = ds.compare(trace, "lru,cflru", cache="10%", device="small", queue_depth=["trace", 8])
    assert [run.queue_depth for run in results] == [None, None, 8, 8]
    assert len({run.warmup_requests for run in results}) == 1
    table = results_table(results.runs)
    column = _titled(table, "arrivals")
    assert [row[column].text for row in table.rows()] == ["trace"] * 2 + ["depth 8"] * 2
    assert len(table.groups) == 2
    with pytest.raises(ds.UsageError, match="or trace, got"):
        ds.compare(trace, "lru", cache="10%", device="small", queue_depth="never")


def test_a_ranking_that_turns_with_the_arrivals_is_said() -> None:
    runs = [*_pair(1_000_000, 2_000_000), *_pair(2_000_000, 1_000_000)]
    labels = [run.label for run in runs]
    config = {**runs[0].config, "device": "small"}
    given = [replace(run, config=config) for run in runs]
    given = given[:2] + [replace(run, queue_depth=8) for run in given[2:]]
    notes = results_table(given, show="mean").notes
    assert (
        f"the fastest policy depends on the arrivals: {labels[0]} (trace); {labels[1]} (depth 8)"
        in notes
    )


def test_notes_on_pending_writes_stand_only_where_they_take_a_star_away() -> None:
    trace = ds.synth("oltp", requests=6000, pages=3000, read_ratio=0.3, seed=3)
    table = results_table(ds.compare(trace, "lru,arc", cache="5%").runs)
    assert not any("pending" in note for note in table.notes)
    late = _pair(1_000_000, 1_500_000)
    late[0].metrics["pending_write_ratio"] = 0.4  # type: ignore[index]
    notes = results_table(late, show="mean").notes
    assert [note for note in notes if "pending" in note] == [
        "no * for mean response: up to 40 % of the flash writes are still pending after the last"
        " request"
    ]
    late[0].metrics["pending_write_ratio"] = 0.01  # type: ignore[index]
    assert not any("pending" in note for note in results_table(late, show="mean").notes)
