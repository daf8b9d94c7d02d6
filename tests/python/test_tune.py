"""`tune`: the whole curve, the best of it, and what a reader must be told."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds
from destage.model.metrics import METRICS
from destage.model.winners import winner
from destage.questions.tuning import objective_of, range_of


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=20_000, pages=2_000, read_ratio=0.4, seed=3)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("0:0.3:0.1", (0, 0.1, 0.2, 0.3)),
        ("2:7:2", (2, 4, 6)),
        ("16:128:*2", (16, 32, 64, 128)),
        ("lru,fifo", ("lru", "fifo")),
        ("true,false", (True, False)),
        ("1,0.5", (1, 0.5)),
        ("1e400,1", ("1e400", 1)),
    ],
)
def test_a_range_is_read_as_written(given: str, values: tuple[object, ...]) -> None:
    assert range_of("k", given).values == values


@pytest.mark.parametrize(
    "given",
    [
        *("", "1:", "2:1:1", "0:1:0", "0:4:*2", "1:4:*1", "1:2:3:4", "a:b:c", "nan:1:1", "1,,2"),
        *("1:1e400:1e399", "1e400:2e400"),
    ],
)
def test_a_range_that_leads_nowhere_is_refused(given: str) -> None:
    with pytest.raises(ds.UsageError, match="k"):
        range_of("k", given)


def test_the_curve_is_what_compare_gives_and_the_best_is_its_best(trace: ds.Trace) -> None:
    tuned = ds.tune(trace, "2q", {"in_fraction": "0.1:0.9:0.1"}, cache="5%,10%")
    assert len(tuned.points) == 18
    for size, best in tuned.best.items():
        ratios = {
            in_fraction / 10: ds.compare(
                trace, ("2q", {"in_fraction": in_fraction / 10}), cache=size
            )[0].hit_ratio
            for in_fraction in range(1, 10)
        }
        assert best.point.objective == max(r for r in ratios.values() if r is not None)
        assert ratios[float(best.point.values["in_fraction"])] == best.point.objective
    assert len({p.objective for p in tuned.points if p.run.cache == "5%"}) > 3


def test_a_metric_that_should_be_small_is_made_small(trace: ds.Trace) -> None:
    few = ds.tune(trace, "cflru", {"window_fraction": "0.1,0.5,1"}, "physical_writes", cache="10%")
    assert few.best["10%"].point.objective == min(p.objective for p in few.points)
    many = ds.tune(
        trace, "cflru", {"window_fraction": "0.1,0.5,1"}, "max:physical_writes", cache="10%"
    )
    assert many.best["10%"].point.objective == max(p.objective for p in few.points)
    assert many.best["10%"].point.objective > few.best["10%"].point.objective


def test_the_reader_is_told_of_the_same_trace_and_of_an_end_of_the_range(
    trace: ds.Trace,
) -> None:
    tuned = ds.tune(
        trace, "cflru", {"window_fraction": "0.1,0.5,0.9"}, "physical_writes", cache="10%"
    )
    assert "evaluated on the same trace" in tuned.warnings[0]
    assert tuned.best["10%"].at_the_end == ("window_fraction",)
    assert any("end of its range" in warning for warning in tuned.warnings)


@pytest.mark.parametrize("trials", [None, 9])
def test_only_a_value_that_is_significantly_ahead_is_marked(
    trace: ds.Trace, trials: int | None
) -> None:
    ranges = {"in_fraction": "0.1:0.9:0.1"}
    tuned = ds.tune(trace, "2q", ranges, "hit_ratio", cache="5%", trials=trials)
    best = tuned.best["5%"]
    values = [p.values["in_fraction"] for p in tuned.points]
    beside = ds.compare(trace, [("2q", {"in_fraction": v}) for v in values], cache="5%")
    first = winner(list(beside), next(m for m in METRICS if m.name == "hit_ratio"))
    assert first is not None
    assert best.alike == len(first.runs) - 1
    assert bool(best.alike) == ("*" not in tuned.as_table().text())
    assert (best.alike > 0) == ("not significantly worse" in tuned.as_table().text())


def test_a_value_far_ahead_is_marked(trace: ds.Trace) -> None:
    tuned = ds.tune(trace, "cflru", {"window_fraction": "0.1,0.9"}, "flash_writes", cache="5%")
    assert tuned.best["5%"].alike == 0
    assert "* best at 5%" in tuned.as_table().text()


def test_a_metric_without_an_interval_marks_nothing(trace: ds.Trace) -> None:
    tuned = ds.tune(trace, "clc", {"alpha": "0,1"}, "destages", cache="32p")
    assert len({point.objective for point in tuned.points}) == 2
    assert tuned.best["32p"].alike is None
    table = tuned.as_table().text()
    assert "*" not in table
    assert "without an interval: others may be as good" in table
    assert not any("no significant difference" in warning for warning in tuned.warnings)


def test_all_combinations_are_run_and_equals_are_counted(trace: ds.Trace) -> None:
    tuned = ds.tune(
        trace, "2q", {"in_fraction": [0.2, 0.3], "out_fraction": [0.4, 0.5, 0.6]}, cache="100%"
    )
    assert [tuple(p.values.values()) for p in tuned.points] == [
        (in_fraction, out_fraction)
        for in_fraction in (0.2, 0.3)
        for out_fraction in (0.4, 0.5, 0.6)
    ]
    # Everything fits: no value matters, and that is said.
    assert tuned.best["100%"].equal == 5
    assert any("no significant difference between values" in warning for warning in tuned.warnings)


def test_a_search_finds_what_the_grid_finds_and_is_the_same_on_any_number_of_threads(
    trace: ds.Trace,
) -> None:
    grid = ds.tune(trace, "2q", {"in_fraction": "0.05:0.95:0.05"}, cache="5%")
    found = [
        ds.tune(
            trace, "2q", {"in_fraction": "0.05:0.95:0.05"}, cache="5%", trials=40, seed=7, jobs=jobs
        )
        for jobs in (1, 2)
    ]
    assert found[0].to_json() == found[1].to_json()
    best = found[0].best["5%"].point.objective
    worst = min(p.objective for p in grid.points)
    # The search has no promise of its own; on one parameter it should come close.
    assert best >= worst + 0.9 * (grid.best["5%"].point.objective - worst)
    assert len(found[0].points) <= 19


def test_a_search_takes_a_range_without_steps(trace: ds.Trace) -> None:
    tuned = ds.tune(trace, "2q", {"in_fraction": "0.1:0.9"}, cache="5%", trials=9)
    assert len(tuned.points) == 9
    assert all(0.1 <= float(p.values["in_fraction"]) <= 0.9 for p in tuned.points)
    assert len({p.values["in_fraction"] for p in tuned.points}) == 9


@pytest.mark.parametrize("bounds", ["0:1", "0.0:1.0"])
def test_a_search_between_whole_numbers_tries_shares_too(trace: ds.Trace, bounds: str) -> None:
    tuned = ds.tune(trace, "2q", {"in_fraction": bounds}, cache="5%", trials=9)
    values = [float(p.values["in_fraction"]) for p in tuned.points]
    assert len(set(values)) == 9
    assert all(0 < v < 1 and v == round(v, 4) for v in values)
    whole = ds.tune(trace, "lru-k", {"k": "1:4"}, cache="5%", trials=9)
    assert {p.values["k"] for p in whole.points} <= {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("policy", "params", "objective", "message"),
    [
        ("2q", {"in_fractio": "0:1:0.1"}, None, "did you mean in_fraction"),
        ("2q", {}, None, "nothing to tune"),
        ("lru", {"a": "1,2"}, None, "unknown parameter 'a': it has none"),
        ("2q[in_fraction=0.2]", {"in_fraction": "0.1,0.2"}, None, "given and tuned"),
        ("lru,2q", {"in_fraction": "0.1,0.2"}, None, "expected one policy"),
        ("2q", {"in_fraction": "0.1:0.2"}, None, "needs a step"),
        ("2q", {"in_fraction": "0:1:0.000001"}, None, "combinations"),
        ("2q", {"in_fraction": "0.1:3:0.5"}, None, "in_fraction"),
        ("2q", {"in_fraction": "0.1,0.2"}, "hit_ration", "did you mean hit_ratio"),
        ("2q", {"in_fraction": "0.1,0.2"}, "best:hit_ratio", "min:METRIC"),
        ("2q", {"in_fraction": "0.1,0.2"}, "erases", "add a device"),
    ],
)
def test_what_cannot_be_tuned_is_refused(
    trace: ds.Trace,
    policy: str,
    params: dict[str, str],
    objective: str | None,
    message: str,
) -> None:
    with pytest.raises(ds.UsageError, match=message):
        ds.tune(trace, policy, params, objective, cache="5%")


def test_a_metric_that_is_neither_good_nor_bad_needs_a_direction() -> None:
    neither = next(m.name for m in ds.metrics() if m.better == "neither")
    with pytest.raises(ds.UsageError, match="give a direction"):
        objective_of(neither)
    assert objective_of(f"min:{neither}").largest is False


def test_files_have_every_point(trace: ds.Trace, tmp_path: Path) -> None:
    tuned = ds.tune(trace, "2q", {"in_fraction": "0.2,0.4"}, cache="5%")
    tuned.to_csv(tmp_path / "curve.csv")
    head, *rows = (tmp_path / "curve.csv").read_text().splitlines()
    assert head.startswith("in_fraction,objective,value,best,")
    assert [row.split(",")[3] for row in rows].count("true") == 1
    data = json.loads(tuned.to_json())
    assert [p["values"]["in_fraction"] for p in data["points"]] == [0.2, 0.4]
    again = ds.Results.from_json(json.dumps(data["results"]))
    assert again[0].hit_ratio == data["points"][0]["value"]


def test_figures_are_drawn_of_each_parameter(trace: ds.Trace, tmp_path: Path) -> None:
    tuned = ds.tune(
        trace, "2q", {"in_fraction": "0.2,0.4", "out_fraction": "0.3,0.5"}, cache="5%,10%"
    )
    written = tuned.save(tmp_path / "figures")
    assert sorted(f.name for f in written) == sorted(
        f"hit_ratio_over_{key}.{ending}"
        for key in ("in_fraction", "out_fraction")
        for ending in ("svg", "png", "pdf", "csv")
    )
    lines = (tmp_path / "figures" / "hit_ratio_over_in_fraction.csv").read_text().splitlines()
    assert lines[0] == "cache,in_fraction,hit_ratio,best"
    assert len(lines) == 5


def test_the_command_shows_the_curve_marks_the_best_and_warns(
    destage: Destage, tmp_path: Path
) -> None:
    trace, curve = tmp_path / "zipf.csv", tmp_path / "curve.csv"
    made = destage(
        *("trace", "synth", "zipf", "--requests", 5000, "--pages", 500, "--seed", 1),
        *("--output", trace),
    )
    assert made.status == 0, made.err
    done = destage(
        *("tune", trace, "-p", "clc", "--param", "alpha=0:1:0.25", "-c", "32p"),
        *("--objective", "destages", "--csv", curve),
    )
    assert done.status == 0, done.err
    assert "\nbest at 32p: alpha = " in done.out
    assert "evaluated on the same trace" in done.err
    rows = list(csv.DictReader(curve.read_text().splitlines()))
    assert [row["alpha"] for row in rows] == ["0", "0.25", "0.5", "0.75", "1"]
    best = next(row for row in rows if row["best"] == "true")
    assert float(best["value"]) == min(float(row["destages"]) for row in rows)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("-p", "clc", "--param", "alpha"), "expected KEY=RANGE"),
        (("-p", "clc", "--param", "alpa=0:1:0.1"), "did you mean alpha"),
        (("-p", "clc", "--param", "alpha=0:2:0.5"), "alpha"),
        (("-p", "clc", "--param", "alpha=0,1", "--param", "alpha=0,1"), "given twice"),
        (("-p", "clc", "--param", "alpha=0,1", "--trials", "0"), "trials"),
        (("-p", "clc", "--param", "alpha=0,1", "--objective", "waff"), "did you mean waf"),
    ],
)
def test_the_command_refuses_before_it_opens_the_trace(
    destage: Destage, flags: tuple[str, ...], message: str
) -> None:
    done = destage("tune", "no-such-trace.csv", *flags)
    assert done.status == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
