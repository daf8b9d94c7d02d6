"""Columns and order of a table, grids of devices, plans, and what an interrupt leaves."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds
from destage.model.choice import SHORT, VIEWS, grouped, metric_named
from destage.model.metrics import metric_groups
from destage.show.tables.results import results_table

SMALL = ("-d", "small", "-c", "4p,8p")


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> ds.Results:
    trace = ds.synth("zipf", requests=12_000, pages=400, read_ratio=0.5, seed=3)
    return ds.compare(trace, "lru,cflru,ecr", cache="5%,20%", device="small")


def heads(table: str) -> list[str]:
    """The words of a heading, its lines joined column by column is not needed here."""
    return re.split(r"-{20,}", table, maxsplit=1)[0].split()


def test_every_short_name_is_a_metric_of_a_run(timed: ds.Results) -> None:
    for short, whole in SHORT.items():
        assert timed[0][short] == timed[0][whole], short
        # Only runs of language models' requests have numbers of cached prefixes.
        of_prefixes = metric_named(short).group.group == "kv"
        assert (timed[0][short] is None) == of_prefixes, short
    assert timed[0]["P99.9"] == timed[0]["response_ns_p999"]


def test_percentiles_rise_to_p9999(timed: ds.Results) -> None:
    for run in timed:
        tail = [run[name] for name in ("p50", "p90", "p95", "p99", "p99.9", "p99.99", "max")]
        assert tail == sorted(tail)
        assert run["p99.99"] == run.timing["response_ns"]["p9999"]  # type: ignore[index]


def test_show_is_the_columns_in_their_order(timed: ds.Results) -> None:
    titles = [c.title for c in timed.as_table(show="waf,p99.9,hit").columns]
    assert titles[:4] == ["policy", "cache", "pages", "size"]
    assert [t.split("\n")[0] for t in titles[4:]] == ["WAF", "p99.9 response", "hit %"]


def test_sort_puts_the_best_of_each_size_first(timed: ds.Results) -> None:
    for name, better in (("p99.9", min), ("hit", max)):
        table = timed.as_table(sort=name)
        for group, frames in zip(table.groups, sorted({r.frames for r in timed}), strict=True):
            runs = [r for r in timed if r.frames == frames]
            first = next(r for r in runs if r.label == group[0][0].text)
            assert first[name] == better(r[name] for r in runs)
    # What decides is in the table too.
    assert "p99.9 response" in [
        c.title.split("\n")[0] for c in timed.as_table(sort="p99.9").columns
    ]


def test_views_have_what_they_are_about(timed: ds.Results) -> None:
    for view, names in VIEWS.items():
        table = timed.as_table(view=view)
        # A device without a link, a buffer, an SLC cache and handles has no columns of them.
        metrics = [n for n in names if n != "life" and timed[0][n] is not None]
        assert len(table.columns) == 4 + len(metrics), view
        assert len(metrics) > 5, view
    lasting = timed.enduring(3000).as_table(view="endurance")
    assert [c.title for c in lasting.columns[-2:]] == ["drive writes\na day", "years"]
    assert any("--pe-cycles" in note for note in timed.as_table(view="endurance").notes)


def test_wrong_names_are_refused_with_the_nearest(destage: Destage, msr: Path) -> None:
    for flags, said in (
        (("--show", "p99.0"), "unknown metric 'p99.0', did you mean p99"),
        (("--sort", "haf"), "did you mean waf?"),
        (("--show", "writ"), "did you mean writes?"),
        (("--show", "running_time"), "metric running_time is called cost now"),
        (("--show", "runing_time"), "did you mean cost? (running_time is called cost now"),
        (("--sort", "dirty_lefts"), "did you mean pending_writes? (dirty_left is called"),
        (("--view", "latenzy"), "did you mean latency?"),
        (("--show", "waf", "--view", "hits"), "give one"),
        (("--show", ","), "expected at least one metric"),
    ):
        done = destage("compare", msr, "-p", "lru", *SMALL, *flags)
        assert (done.status, said in done.err) == (2, True), (flags, done)


@pytest.mark.parametrize("flags", [("--show", "p99"), ("--sort", "erases"), ("--view", "latency")])
def test_numbers_of_a_drive_are_refused_before_the_work_where_there_is_none(
    flags: tuple[str, ...], destage: Destage
) -> None:
    # The trace is not there: nobody has looked for it.
    done = destage("compare", "nowhere.csv", "-p", "lru", *flags)
    assert done.status == 2
    assert "add --device" in done.err


def test_the_terminal_and_markdown_show_the_same_columns(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    flags = ("--show", "mean,p99.99,wear", "--sort", "wear", "--markdown", "tiny.md", "-q")
    done = destage("compare", msr, "-p", "lru,cflru", *SMALL, *flags)
    assert done.status == 0, done
    assert "p99.99" in done.out
    head = (tmp_path / "tiny.md").read_text().splitlines()[0]
    shown = [title.rsplit(" (", 1)[0] for title in head.split(" | ")[4:]]
    assert shown == ["mean response", "p99.99 response", "most worn block"]


def test_tune_takes_short_names(destage: Destage, msr: Path) -> None:
    given = ("tune", msr, "-p", "cflru", "--param", "window_fraction=0.2,0.8", "-c", "4p")
    short = destage(*given, "--objective", "hit", "--csv", "-", "-q")
    assert short.status == 0, short
    assert short.out == destage(*given, "--objective", "hit_ratio", "--csv", "-", "-q").out
    done = destage(*given, "--objective", "p99")
    assert "response_ns_p99" in done.err or "--device" in done.err


def test_a_grid_is_one_table_and_its_runs_are_those_of_each_drive(
    destage: Destage, msr: Path
) -> None:
    common = ("compare", msr, "-p", "lru,cflru", "-c", "4p,8p", "--csv", "-", "-q")
    both = destage(*common, "-d", "small", "--ftl", "page,bast")
    assert both.status == 0, both
    apart = [destage(*common, "-d", "small", "--ftl", ftl).out for ftl in ("page", "bast")]
    head, *rows = apart[0].splitlines()
    assert both.out.splitlines() == [head, *rows, *apart[1].splitlines()[1:]]
    drives = destage(*common[:-3], "-d", "small,tlc-sata[channels=4]", "--csv", "-", "-q")
    assert drives.status == 0, drives
    found = csv.DictReader(io.StringIO(drives.out))
    assert [row["device"] for row in found] == ["small"] * 4 + ["tlc-sata[channels=4]"] * 4


def test_a_grid_in_python_is_the_same(msr: Path) -> None:
    trace = ds.open_trace(msr, device="small")
    grid = ds.compare(trace, "lru", cache="4p", device=["small"], ftl=["page", "bast"])
    assert [r.ftl for r in grid] == ["page", "bast"]
    (alone,) = ds.compare(trace, "lru", cache="4p", device="small", ftl="bast")
    assert grid[1].metrics == alone.metrics
    table = results_table(grid.runs)
    assert table.columns[0].title == "device"
    assert len(ds.plan(trace, "lru", cache="4p", device=["small"], ftl=["page", "bast"])) == 2
    assert ds.Results.from_json(grid.to_json()) == grid


def test_a_run_takes_one_drive(destage: Destage, msr: Path) -> None:
    done = destage("run", msr, "-p", "lru", "-c", "4p", "-d", "small", "--ftl", "page,bast")
    assert done.status == 2
    assert "compare takes several" in done.err


def test_a_plan_says_how_long_each_drive_takes_to_fill_and_to_run(
    destage: Destage, msr: Path
) -> None:
    done = destage(
        "compare", msr, "-p", "lru,arc", *SMALL, "--ftl", "page,bast", "--dry-run", "--jobs", "2"
    )
    assert done.status == 0, done
    for ftl in ("page", "bast"):
        line = rf"small\[ftl={ftl}\]: about [\d.]+ (ms|s) to fill it; 4 runs on 2 threads: about"
        assert re.search(line, done.out), done.out
    assert "the next run loads it" in done.out
    empty = destage("compare", msr, "-p", "lru", "-d", "bpac", "-c", "4p", "--dry-run")
    assert "bpac, FTL bast: it begins empty; 1 run" in empty.out


def test_the_metrics_of_a_run_stand_in_groups_each_with_a_word(destage: Destage, msr: Path) -> None:
    flags = ("run", msr, "-p", "ecr", "-c", "4p", "-d", "small", "-q")
    done = destage(*flags, "--all")
    assert done.status == 0, done
    groups = grouped(m for m in ds.metrics() if re.search(rf"^  {m.name} ", done.out, re.M))
    assert [g.title for g, _ in groups if g.about] == [
        line.split(":")[0] for line in done.out.splitlines()[1:] if re.match(r"[A-Z].*: \w", line)
    ]
    assert "Unbalance (ECR) is the" in " ".join(done.out.split())
    times = re.findall(r"^  response_ns_(\w+)", done.out, re.MULTILINE)
    # Of some hundred requests none is beyond p99.9.
    assert times == ["mean", "std", "p50", "p90", "p95", "p99", "max"]
    shown = re.findall(r"^  (\w+) ", done.out, re.MULTILINE)
    run = ds.run(ds.open_trace(msr, device="small"), "ecr", cache="4p", device="small").run
    # Parts that few devices have are left out where all their numbers are 0.
    known = {name for name, value in run.metrics.items() if value is not None}
    left_out = known - set(shown)
    assert set(shown) <= known
    assert all(run.metrics[name] == 0 for name in left_out)
    rare = {g.group for g in metric_groups() if g.is_rare}
    assert {m.group for m in ds.metrics() if m.name in left_out} <= rare
    # Without --all eight of them, and their number.
    fewer = destage(*flags).out
    left = re.findall(r"^  (\w+) ", fewer, re.MULTILINE)
    assert left[:3] == ["response_ns_mean", "response_ns_p99", "iops"]
    assert len(left) == 8
    assert {"hit_ratio", "flash_writes", "waf", "erases"} <= set(left)
    assert f"--all prints all {len(known)} metrics." in fewer


def test_a_summary_fits_a_narrow_terminal(destage: Destage, msr: Path) -> None:
    done = destage("run", msr, "-p", "lru", "-c", "4p", "-q", env={"COLUMNS": "80"})
    assert done.status == 0, done
    assert max(map(len, done.out.splitlines())) <= 80
    assert len(re.findall(r"^  \w+ ", done.out, re.MULTILINE)) == 8


INTERRUPTED = (
    "import signal, sys\n"
    "import destage._destage as native\n"
    "whole = native.compare\n"
    "def first_then_stop(*args):\n"
    "    if first_then_stop.called:\n"
    "        signal.raise_signal(signal.SIGINT)\n"
    "    first_then_stop.called = True\n"
    "    return whole(*args)\n"
    "first_then_stop.called = False\n"
    "native.compare = first_then_stop\n"
    "from destage.cli import main\n"
    "main()\n"
)


def test_what_had_ended_at_an_interrupt_is_written_and_marked(msr: Path, tmp_path: Path) -> None:
    flags = ["-p", "lru,arc", "-c", "4p,8p", "-d", "small", "--ftl", "page,bast"]
    files = [
        "--json",
        "r.json",
        "--csv",
        "r.csv",
        "--markdown",
        "tiny.md",
        "--parquet",
        "r.parquet",
    ]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "compare", str(msr), *flags, *files],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    said = "interrupted: only 4 of 8 runs had ended"
    assert said in done.stdout.decode()
    assert "finished runs are written" in done.stderr.decode()
    kept = ds.Results.load(tmp_path / "r.json")
    assert kept.incomplete
    assert [run.ftl for run in kept] == ["page"] * 4
    assert all(said in run.warnings for run in kept)
    with (tmp_path / "r.csv").open() as file:
        assert all(said in row["warnings"] for row in csv.DictReader(file))
    assert said in (tmp_path / "tiny.md").read_text()
    assert (tmp_path / "r.parquet").stat().st_size > 1000


def test_an_interrupt_in_python_keeps_what_had_ended(
    msr: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from destage import _destage

    whole = _destage.compare
    calls: list[int] = []

    def compare(*args: object) -> str:
        calls.append(1)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return whole(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(_destage, "compare", compare)
    trace = ds.open_trace(msr)
    with pytest.raises(ds.Interrupted) as caught:
        ds.compare([trace, trace], "lru,arc", cache="4p")
    results = caught.value.results
    assert len(results) == 2
    assert results.incomplete
    assert json.loads(results.to_json())["runs"][0]["warnings"][-1].startswith(
        "interrupted: only 2"
    )
    assert not ds.compare(trace, "lru", cache="4p").incomplete


def stopped_after(count: int, whole: Callable[..., str]) -> Callable[..., str]:
    """The engine's `compare` as it ends at a signal: the first policies were done by then."""

    def compare(trace: object, specs: Sequence[object], *others: object) -> str:
        keep = others[4]
        assert callable(keep)
        keep(whole(trace, specs[:count], *others))
        raise KeyboardInterrupt

    return compare


def test_an_interrupt_keeps_the_points_of_a_curve_that_were_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from destage import _destage

    trace = ds.synth("zipf", requests=3000, pages=400, seed=3)
    values = {"in_fraction": "0.1:0.5:0.1"}
    everything = ds.tune(trace, "2q", values, cache="10%,20%")
    monkeypatch.setattr(_destage, "compare", stopped_after(2, _destage.compare))
    with pytest.raises(ds.Interrupted) as caught:
        ds.tune(trace, "2q", values, cache="10%,20%")
    tuned = caught.value.results
    assert [(p.values, p.objective) for p in tuned.points] == [
        (p.values, p.objective) for p in everything.points[:4]
    ]
    assert "2q: interrupted: only 4 of 10 runs had ended" in tuned.warnings
    tuned.to_csv(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open() as file:
        assert all("only 4 of 10" in row["warnings"] for row in csv.DictReader(file))


def test_an_interrupted_search_keeps_earlier_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    from destage import _destage

    whole, calls = _destage.compare, []

    def compare(*args: object) -> str:
        calls.append(1)
        return (whole if len(calls) == 1 else stopped_after(3, whole))(*args)  # type: ignore[operator]

    monkeypatch.setattr(_destage, "compare", compare)
    trace = ds.synth("zipf", requests=3000, pages=400, seed=3)
    with pytest.raises(ds.Interrupted) as caught:
        ds.tune(trace, "2q", {"in_fraction": "0.1:0.9"}, cache="10%", trials=30)
    tuned = caught.value.results
    assert 8 < len(tuned.points) <= 11
    assert f"2q: interrupted: only {len(tuned.points)} of 30 runs had ended" in tuned.warnings
    assert tuned.best["10%"].point in tuned.points


def test_an_interrupt_keeps_the_curves_that_were_known() -> None:
    trace = ds.synth("zipf", requests=300_000, pages=20_000, size="1", seed=3)

    def progress(done: int, total: int | None, stage: str) -> None:
        if stage == "replaying" and done > 1.5 * 300_000:
            signal.raise_signal(signal.SIGINT)

    # One after another: LRU's pass, then the sizes of MIN, as many as are done by then.
    sizes = [f"{k}%" for k in range(1, 100)]
    with pytest.raises(ds.Interrupted) as caught:
        ds.mrc(trace, "lru,min,lirs", cache=sizes, jobs=1, progress=progress)
    curves = caught.value.results
    first = curves.data["mrc"]["curves"][0]
    assert first == ds.mrc(trace, "lru", cache=sizes).data["mrc"]["curves"][0]
    points = sum(len(curve["points"]) for curve in curves.data["mrc"]["curves"][1:])
    assert curves.warnings[-1] == f"interrupted: only {points + 1} of 199 runs had ended"
    assert curves.warnings[-1] in str(curves)


STOPPED = (
    "from destage import _destage as native\n"
    "def compare(trace, specs, *others, whole=native.compare):\n"
    "    others[4](whole(trace, specs[:1], *others))\n"
    "    raise KeyboardInterrupt\n"
    "native.compare = compare\n"
    "def mrc(trace, specs, *others, whole=native.mrc):\n"
    "    others[9](*whole(trace, specs[:1], *others[:9]), 1, 9)\n"
    "    raise KeyboardInterrupt\n"
    "native.mrc = mrc\n"
    "from destage.cli import main\n"
    "main()\n"
)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("tune", "-p", "2q", "--param", "in_fraction=0.1:0.5:0.1"), "only 1 of 5 runs"),
        (("mrc", "-p", "lru,arc"), "only 1 of 9 runs"),
    ],
)
def test_tune_and_mrc_write_what_had_ended(
    command: tuple[str, ...], said: str, msr: Path, tmp_path: Path
) -> None:
    name, *flags = command
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, name, str(msr), *flags, "-c", "4p", "--json", "r.json"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert "finished runs are written" in done.stderr.decode()
    assert said in (tmp_path / "r.json").read_text()
    assert said in done.stdout.decode() + done.stderr.decode()
