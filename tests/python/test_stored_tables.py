"""Tables of a store: life, order, units."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Destage

import destage as ds


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    quiet = {"synth": "loop", "requests": 400, "pages": 60, "gap_ns": 50_000_000, "name": "quiet"}
    loud = {"synth": "uniform", "requests": 4000, "pages": 4000, "gap_ns": 1000, "name": "loud"}
    loud |= {"read_ratio": 0.0}
    sweep = {
        "traces": [quiet, loud],
        "policies": ["lru", "arc", "random"],
        "cache": ["10%"],
        "devices": ["small[pe_cycles=3000;precondition=none]"],
    }
    ds.sweep({"sweep": sweep}, folder / "runs")
    return folder / "runs"


def test_life_of_a_device_with_pe_cycles_is_shown(destage: Destage, store: Path) -> None:
    done = destage("results", store, "--show", "hit,life")
    assert done.status == 0, done
    assert any(line.endswith(" years") for line in done.out.splitlines()), done
    from_results = [run.life for run in ds.load_results(store).results()]
    assert all(life is not None for life in from_results)
    table = ds.load_results(store).as_table(show="hit,life")
    assert len(table.columns) == len(ds.load_results(store).as_table(show="hit").columns) + 2


def test_life_that_nobody_knows_is_said(destage: Destage, tmp_path: Path) -> None:
    loop = {"synth": "loop", "requests": 200, "pages": 40}
    sweep = {"traces": [loop], "policies": ["lru"], "cache": ["5p"]}
    ds.sweep({"sweep": sweep}, tmp_path / "runs")
    done = destage("results", "runs", "--show", "hit,life")
    assert done.status == 0, done
    assert "give the P/E cycle rating (pe_cycles of the device)" in done.out


def test_rows_are_sorted_best_first(destage: Destage, store: Path) -> None:
    for name, best in (("hit", max), ("writes", min)):
        rows = ds.load_results(store).as_table(show=name, sort=name).groups
        for group in rows:
            numbers = [float(row[-1].text.replace(",", "")) for row in group]
            assert numbers == sorted(numbers, reverse=best is max)
    done = destage("results", store, "--sort", "hit", "--show", "hit")
    assert done.status == 0, done
    wrong = destage("results", store, "--sort", "hitt")
    assert wrong.status == 2
    assert "did you mean" in wrong.err


def test_a_quiet_trace_beside_a_loud_one_keeps_readable_numbers(store: Path) -> None:
    rows = ds.load_results(store)
    means = [row["response_ns_mean"] for row in rows]
    assert min(means) < 100_000, "the quiet trace alone would be in microseconds"
    assert max(means) > 1_000_000
    for table in (rows.as_table(show="mean"), rows.results().as_table(show="mean")):
        assert table.columns[-1].title == "mean response\n(ms)"
        texts = [row[-1].text.rstrip("*") for group in table.groups for row in group]
        assert sorted({text.partition(".")[0] for text in texts}) == ["0", "3"]


def test_times_that_no_unit_suits_have_that_of_the_smallest() -> None:
    from destage.model.metrics import metrics
    from destage.model.values import cell
    from destage.model.words import column_unit

    mean = next(m for m in metrics() if m.name == "response_ns_mean")
    times = [50_000.0, 30_000_000_000.0]
    unit = column_unit(times)
    assert unit.name == "µs"
    assert [cell(mean, time, unit) for time in times] == ["50.0", "30,000,000.0"]
    near = column_unit([50_000.0, 3_600_000.0])
    assert (near.name, near.text(50_000.0), near.text(3_600_000.0)) == ("ms", "0.050", "3.600")
    assert column_unit([0, None]).name == "ns"


@pytest.mark.parametrize("name", ["x.pdf", "x.PNG", "x.json", "x.csv"])
def test_a_page_under_another_formats_name_is_refused(
    destage: Destage, msr: Path, store: Path, tmp_path: Path, name: str
) -> None:
    result = ds.compare(ds.open_trace(msr), "lru", cache="8p")
    result.to_json(tmp_path / "r.json")
    for words in (
        ["compare", msr.name, "-c", "8p", "--report", name],
        ["advise", msr.name, "-o", name],
        ["mrc", msr.name, "--report", name],
        ["report", "r.json", "-o", name],
        ["report", store, "-o", name],
        ["demo", "--report", name],
    ):
        done = destage(*words)
        assert done.status == 2, (words, done)
        assert "a report is an HTML page" in done.err, done
        assert not (tmp_path / name).exists()
    with pytest.raises(ds.UsageError, match="a report is an HTML page"):
        ds.write_report(tmp_path / name, result)
    with pytest.raises(ds.UsageError, match="a report is an HTML page"):
        ds.load_results(store).report(tmp_path / name)


def test_pooled_rows_have_a_table(store: Path) -> None:
    pooled = ds.load_results(store).pooled()
    assert len(pooled.rows) > 1
    assert "hit" in pooled.as_table(show="hit").markdown()
