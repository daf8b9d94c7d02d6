"""Figures and pages over any axis; differences from a policy; means over seeds; axes in SQL."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds
from destage.model.estimates import estimate
from destage.model.marks import marks_of
from destage.show.tables.against import signed

SWEEP: dict[str, Any] = {
    "traces": [{"synth": "zipf", "requests": 900, "pages": 300, "read_ratio": 0.3, "name": "z"}],
    "policies": ["lru", "cflru"],
    "cache": ["5%"],
    "devices": ["small[precondition=none]"],
    "device": {"op_permille": [70, 140, 280]},
    "queue_depth": [1, 8],
    "seeds": [1, 2, 3],
}


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("across") / "runs"
    ds.sweep({"sweep": SWEEP}, folder)
    return folder


def test_a_store_has_a_figure_a_metric_over_a_key(
    destage: Destage, store: Path, tmp_path: Path
) -> None:
    pytest.importorskip("altair")
    for key, values in (("op_permille", ["70", "140", "280"]), ("queue_depth", ["1", "8"])):
        folder = tmp_path / key
        how = ("--figures", folder, "--across", key, "--show", "mean", "--log-y", "--height", "2in")
        assert destage("report", store, *how).status == 0
        assert sorted(path.name for path in folder.iterdir()) == [
            f"curves-response_ns_mean{suffix}" for suffix in (".csv", ".pdf", ".png", ".svg")
        ]
        rows = rows_of(folder / "curves-response_ns_mean.csv")
        assert list(dict.fromkeys(row[key] for row in rows)) == values
        # The other axis makes panels, in which this one is not.
        assert len({row["panel"] for row in rows}) == {"op_permille": 2, "queue_depth": 3}[key]
        assert not any(key in row["panel"] for row in rows)
        for row in rows:
            assert float(row["low"]) <= float(row["mean"]) <= float(row["high"])
            assert row["runs"] == "3"
        assert "(log scale)" in (folder / "curves-response_ns_mean.svg").read_text()
    wrong = destage("report", store, "--figures", tmp_path / "w", "--across", "depth")
    assert wrong.status == 2
    assert "they differ in op_permille, queue_depth, device, seed" in wrong.err


def test_a_picture_has_at_most_so_many_panels(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    from destage.show.charts.comparison_figures import MOST_PANELS, save_grid

    rows = [
        {"status": "done", "trace": f"t{k:02}", "label": "lru", "policy": "lru", "cache": cache}
        | {"cache_bytes": size, "frames": size, "hit_ratio": 0.1 + k / 100, "options": "{}"}
        for k in range(2 * MOST_PANELS + 1)
        for cache, size in (("1%", 4096), ("10%", 40960))
    ]
    files = save_grid(tmp_path, rows, show="hit", across="cache")
    names = [path.name for path in files if path.suffix == ".svg"]
    assert names == [f"curves-hit_ratio-{k}.svg" for k in (1, 2, 3)]
    for path in files:
        if path.suffix == ".svg":
            height = re.search(r'height="([0-9.]+)"', path.read_text())
            assert height
            assert float(height[1]) < 1200


def test_the_page_opens_on_response_time_where_there_is_a_device(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    (tmp_path / "s.toml").write_text(
        '[sweep]\ntraces = [{synth = "zipf", requests = 900, pages = 300}]\n'
        'policies = ["lru", "arc"]\ncache = ["5%", "20%"]\ndevices = ["ecr"]\n'
        '[device]\nprecondition = "none"\n'
    )
    ds.sweep(tmp_path / "s.toml", tmp_path / "runs")
    found = ds.load_results(tmp_path / "runs")
    (opens,) = re.findall(r'"opens":(\{.*?\})', found.report())
    assert '"metric":"response_ns_mean"' in opens


def test_the_page_opens_on_the_axis_and_on_a_metric_that_varies(store: Path) -> None:
    pytest.importorskip("altair")
    found = ds.load_results(store)
    for key, name in (("op_permille", "device.op_permille"), ("queue_depth", "queue_depth")):
        (opens,) = re.findall(r'"opens":(\{.*?\})', found.report(across=key, log_y=True))
        assert f'"x":"{name}"' in opens
        assert '"log":true' in opens
    # The hit ratio is not what depends on the depth.
    assert '"metric":"response_ns_mean"' in opens
    one = found.where("op_permille == 70 and seed == 1 and label == 'lru'").rows
    assert len({row["hit_ratio"] for row in one}) == 1
    times = [row["response_ns_mean"] for row in one]
    assert max(times) > 1.05 * min(times)


def test_results_of_a_call_are_drawn_over_an_axis_too(destage: Destage, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    trace = ds.synth("zipf", requests=900, pages=300, seed=1)
    results = ds.compare(
        trace, "lru,cflru", cache="10%", device="small[precondition=none]", queue_depth=[1, 4, 16]
    )
    results.to_json(tmp_path / "r.json")
    how = ("--across", "queue_depth", "--figures", tmp_path / "f", "--html", tmp_path / "p.html")
    assert destage("report", tmp_path / "r.json", *how).status == 0
    rows = rows_of(tmp_path / "f" / "curves-response_ns_mean.csv")
    assert [row["queue_depth"] for row in rows] == ["1", "4", "16"] * 2
    means = {(row["label"], row["queue_depth"]): float(row["mean"]) for row in rows}
    for run in results:
        assert means[run.label, str(run.queue_depth)] == run["mean"]
    assert '"opens":{' in (tmp_path / "p.html").read_text()


def test_axes_of_a_sweep_are_columns_of_sql_and_sort_as_numbers(store: Path) -> None:
    pytest.importorskip("duckdb")
    found = ds.load_results(store)
    answer = found.sql(
        "select op_permille, count(*) as n from runs where op_permille > 100"
        " group by op_permille order by op_permille"
    )
    assert answer.rows == ((140, 12), (280, 12))
    devices = list(dict.fromkeys(row["device"] for row in found.rows))
    keys = [int(re.findall(r"op_permille=(\d+)", name)[0]) for name in devices]
    assert keys == sorted(keys)


def test_a_list_has_means_over_seeds_with_their_interval(store: Path) -> None:
    found = ds.load_results(store).where("op_permille == 70 and queue_depth == 8")
    table = found.as_table(show="hit")
    assert [column.title for column in table.columns][-2:] == ["seeds", "hit %"]
    for cells in table.rows():
        label = next(cell.text for cell in cells if cell.text in ("lru", "cflru"))
        values = [row["hit_ratio"] for row in found.rows if row["label"] == label]
        known = estimate(values)
        assert cells[-2].text == "3"
        assert cells[-1].text == f"{100 * known.mean:.2f} ± {100 * known.half:.2f}"


def test_differences_from_a_policy_have_intervals(destage: Destage, tmp_path: Path) -> None:
    trace = ds.synth("zipf", requests=6000, pages=2000, read_ratio=0.5, seed=1)
    results = ds.compare(trace, "lru,cflru,arc", cache=["2%", "10%"])
    table = results.as_table(against="lru", show="hit,writes")
    assert len(table.groups) == 2
    for group, frames in zip(table.groups, results.result_sets[0].sizes, strict=True):
        runs = {run.label: run for run in results if run.frames == frames}
        assert [row[0].text for row in group] == ["lru", "cflru", "arc"]
        for row in group[1:]:
            run, base = runs[row[0].text], runs["lru"]
            low, high = run.minus(base, "hit_ratio") or (0.0, 0.0)
            far = 100 * (run["hit"] - base["hit"])
            assert row[-2].text == f"{far:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
            scale = 100 / base["writes"]
            low, high = run.minus(base, "flash_writes") or (0.0, 0.0)
            assert row[-1].text.endswith(f"({scale * low:+.1f} to {scale * high:+.1f})")
    with pytest.raises(ds.UsageError, match="against: 'lirs' is none of the policies"):
        results.as_table(against="lirs")


def test_against_is_in_every_form(destage: Destage, msr: Path, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    files = ("--markdown", "t.txt", "--latex", "t.tex", "--report", "t.html", "--json", "t.json")
    command = ("compare", msr, "-p", "lru,arc", "-c", "10%,20%", "--against", "arc")
    done = destage(*command, *files)
    assert done.status == 0, done
    assert "Differences from arc, with 95 % intervals" in done.out
    assert (
        "arc: its own numbers; others: their difference from arc"
        in (tmp_path / "t.txt").read_text()
    )
    assert "% Differences from arc" in (tmp_path / "t.tex").read_text()
    assert "<h3>Differences from arc, with 95 % intervals</h3>" in (tmp_path / "t.html").read_text()
    assert ds.Results.load(tmp_path / "t.json").baseline == "arc"
    alone = destage("compare", msr, "-p", "arc", "-c", "10%", "--against", "arc")
    assert "no rows: nothing is beside arc" in alone.out
    both = destage(*command, "--baseline", "lru")
    assert both.status == 2
    assert "leave out --baseline" in both.err


def test_a_device_is_compared_with_another_policy_by_policy(destage: Destage, msr: Path) -> None:
    trace = ds.synth("zipf", requests=6000, pages=2000, read_ratio=0.5, seed=1)
    some = ["small[precondition=none]", "small[precondition=none;program_ns=900000]"]
    results = ds.compare(trace, "lru,none", cache="2%", device=some, queue_depth=4)
    table = results.as_table(against=some[0], show="mean,hit")
    by = {(run.label, run.device): run for run in results}
    assert [[(row[1].text, row[0].text) for row in group] for group in table.groups] == [
        [("lru", some[0]), ("lru", some[1])],
        [("none", some[0]), ("none", some[1])],
    ]
    for group in table.groups:
        first, second = (by[group[0][1].text, name] for name in some)
        far = 100 * (second["mean"] / first["mean"] - 1)
        text = group[1][-2].text
        assert text.startswith(f"{far:+.1f} (")
        low, high = map(float, text.partition("(")[2].rstrip(")").split(" to "))
        assert low <= round(far, 1) <= high
        assert group[1][-1].text == "+0.0 (same)"
    with pytest.raises(ds.UsageError, match="'lru2' is none of the policies or devices, did you"):
        results.as_table(against="lru2")

    command = ("compare", msr, "-p", "lru,none", "-c", "2%", "--queue-depth", "4")
    both = destage(*command, "-d", ",".join(some), "--against", some[1], "--show", "mean")
    assert both.status == 0, both
    assert f"Differences from {some[1]}, with 95 % intervals" in both.out
    alone = destage(*command, "-d", "small", "--against", "small", "-q")
    assert "no rows: nothing is beside small" in alone.out
    page = results.report()
    assert f"<h3>Differences from {some[0]}, with 95 % intervals</h3>" in page


def half(run: ds.Run, k: int) -> float:
    assert run.steady
    return float(run.steady["halves"][k]["response_ns_mean"])


def test_a_note_says_where_the_order_holds(destage: Destage, tmp_path: Path) -> None:
    trace = ds.synth("zipf", requests=6000, pages=2000, read_ratio=0.5, seed=1)
    how: dict[str, Any] = {"device": "small[precondition=none]", "queue_depth": [1, 8]}
    results = ds.compare(trace, "lru,cflru,arc", cache=["2%", "10%"], **how)
    note = results.as_table().notes[-1]
    groups = [
        [r for r in results if (r.frames, r.queue_depth) == place]
        for place in {(r.frames, r.queue_depth): None for r in results}
    ]
    assert len(groups) == 4
    first = [min(group, key=lambda run: run["mean"]).label for group in groups]
    best = max(dict.fromkeys(first), key=first.count)
    sole = sum(
        any(
            run.label == best and "response_ns_mean" in marks.best
            for run, marks in zip(group, marks_of(group), strict=True)
        )
        for group in groups
    )
    lowest = f"{best} is fastest in {first.count(best)} of 4 configurations, "
    lowest += f"significantly in {sole}" if sole else "never significantly"
    assert lowest in note
    halves = [[min(group, key=lambda run: half(run, k)).label for k in (0, 1)] for group in groups]
    both = sum(pair == [best, best] for pair in halves)
    assert f"in both halves of the trace in {both}" in note
    alone = ds.compare(trace, "lru,cflru", cache="2%")
    assert "stability" not in alone.table(), "without a device there are no response times"
    assert destage("compare", "x.csv", "--stability").status == 2


def test_stability_of_stored_runs_has_unknown_significance(tmp_path: Path) -> None:
    trace = ds.synth("zipf", requests=2000, pages=500, read_ratio=0.5, seed=1)
    how: dict[str, Any] = {"device": "small[precondition=none]", "store": tmp_path / "runs"}
    compared = ds.compare(trace, "lru,arc", cache=["2%", "10%"], **how)
    assert "of 2 configurations, " in compared.table()
    stored = ds.load_results(tmp_path / "runs")
    assert "of 2 configurations, significance unknown; in both" in stored.table()


def test_stability_takes_seeds_together_and_placements_apart(tmp_path: Path) -> None:
    ds.write_workload("zipf", tmp_path / "t.csv", requests=2000, pages=500, seed=1)
    text = """[sweep]
traces = ["t.csv"]
policies = ["lru", "arc", "cflru"]
cache = ["2%", "10%"]
devices = ["small[precondition=none]"]
seeds = [1, 2, 3]
"""
    (tmp_path / "s.toml").write_text(text)
    ds.sweep(tmp_path / "s.toml", store=tmp_path / "runs")
    note = ds.load_results(tmp_path / "runs").as_table().notes[-1]
    assert "of 2 configurations, significance unknown; in both halves" in note
    assert re.search(r"; the order (\w+), (\w+), (\w+) holds in [12]$", note)
    trace = ds.open_trace(tmp_path / "t.csv")
    how: dict[str, Any] = {"device": "fdp[precondition=none]", "placement": ["none", "sepbit"]}
    placed = ds.compare(trace, "lru,arc", cache="2%", **how)
    assert re.search(r": arc \((none|sepbit)\) is fastest \(", placed.as_table().notes[-1])


def test_stability_runs_half_and_twice_each_size(destage: Destage, msr: Path) -> None:
    command = ("compare", msr, "-p", "lru,cflru", "-c", "16p", "-d", "small[precondition=none]")
    one = destage(*command, "--wrap", "extend")
    assert one.status == 0, one
    assert re.search(r"is fastest \((not )?significantly\)", one.out)
    more = destage(*command, "--wrap", "extend", "--stability")
    assert more.status == 0, more
    assert re.search(
        r"stability \(mean response\): \w+ is fastest in [0-3] of 3 configurations", more.out
    )
    assert [line for line in more.out.splitlines() if "16p" in line] == [
        line for line in one.out.splitlines() if "16p" in line
    ]


def test_nothing_is_less_by_more_than_all_of_it() -> None:
    # A bootstrap's ends are divided by the baseline's mean, which is itself uncertain.
    assert signed((-1.454, -0.095), 100.0, -100.0) == "-100.0 to -9.5"
    assert signed((-1.454, 0.2), 100.0, -math.inf) == "-145.4 to +20.0", "points have no such end"
