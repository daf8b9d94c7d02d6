"""Reports of runs in front of a device: the page, the figures, the sentences."""

from __future__ import annotations

import csv
import html
import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage
from test_report import Page, many, render_report, result, run, sets

import destage as ds
from destage.base.errors import DataError, UsageError
from destage.model import drive as data
from destage.model.metrics import metrics as data_metrics
from destage.model.results import ResultSet
from destage.show.charts.plots import Plots
from destage.show.tables.verdict import verdict

#: Eight units of 40 blocks, nearly full: collections begin at once.
DRIVE = """
[device]
channels = 4
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 2
blocks_per_plane = 40
pages_per_block = 32
page_bytes = 4096
logical_pages = 8192
queue_level = "plane"
read_ns = [50_000]
program_ns = [200_000]
erase_ns = 2_000_000
bus_ps_per_byte = 625
gc_low_pages = 64
precondition = "random"
precondition_writes = 16_384
"""

SIZES = [64, 512]
POLICIES = ["lru", "cflru", "ecr", "none"]


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> ds.Results:
    """Runs in front of a device, with all that can be drawn of them."""
    path = tmp_path_factory.mktemp("drive") / "tiny.toml"
    path.write_text(DRIVE)
    drive = ds.open_device(path, cache=False)
    trace = ds.synth("zipf", requests=20_000, pages=6000, read_ratio=0.4, gap_ns=300_000, alpha=0.9)
    sizes = [f"{frames}p" for frames in SIZES]
    where: Any = {"cache": sizes, "device": drive, "warmup": "none"}
    return ds.compare(trace, POLICIES, profile=True, **where)


@pytest.fixture(scope="module")
def page(timed: ds.Results) -> Page:
    return Page(render_report(results=timed.sets))


def without_profile(results: ds.Results) -> dict[str, Any]:
    given: dict[str, Any] = deepcopy(dict(results.sets[0]))
    for r in given["runs"]:
        r.pop("profile")
    return given


def timing(results: ds.Results, label: str, frames: int) -> dict[str, Any]:
    runs = results.sets[0]["runs"]
    found: dict[str, Any] = next(
        r for r in runs if (r["config"]["policy"], r["config"]["frames"]) == (label, frames)
    )
    return found


def test_a_report_of_timed_runs_shows_what_the_drive_did(page: Page) -> None:
    titles = page.texts["h3"]
    assert titles[:5] == [
        "Response time over cache size",
        "In detail, at one cache size",
        "Related metrics, over cache size",
        "Device activity, over cache size",
        f"Units over time, at {titles[4].rpartition('at ')[2]}",
    ]
    assert "The device: tiny" in titles
    names = {c["name"] for g in page.model()["groups"] for c in g["charts"]}
    assert names >= {
        *("response_ns_mean", "response_ns_p99", "eviction_wait_ns_mean", "waf", "erases"),
        *("response_cdf", "response_tail", "response_over_time", "longest_over_time"),
        *("collections_over_time", "unbalance_cdf", "wear", "writes_vs_lru"),
        *("units_host_0", "units_collecting_0", "units_host_1", "units_collecting_1"),
    }
    places = {a["id"] for tag, a in page.elements if tag == "div" and a.get("class") == "vega"}
    assert places == {c["id"] for g in page.model()["groups"] for c in g["charts"]}


def facts(page: Page) -> dict[str, str]:
    """The page's pairs of name and value, without notes."""
    return dict(zip(page.texts["dt"], map(str.strip, page.texts["dd"]), strict=True))


def test_the_page_shows_what_the_drive_can_take_beside_what_the_trace_asks(
    timed: ds.Results, page: Page, tmp_path: Path
) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(DRIVE)
    sizes = ds.open_device(path, cache=False).size
    # Of a plane 40 blocks of 32 pages, less the 64 that are kept free and half a block.
    left = 8 * (40 * 32 - 64 - 16)
    assert sizes["effective_op"] == pytest.approx(1 - 8192 / left, abs=1e-3)
    shown = facts(page)
    share = f"{100 * sizes['effective_op']:.1f}\u00a0%"
    assert shown["Over-provisioning that GC can use"] == share
    rate = f"{round(sizes['page_writes_per_s']):,} random page writes/s"
    assert shown["Saturated at"] == rate
    notes = page.texts["small"]
    assert f"steady random writes: WAF {sizes['greedy_waf']:.2f} (greedy, closed form)" in notes
    counters = timing(timed, "lru", 64)["counters"]
    written = counters["write_hits"] + counters["write_misses"]
    asked = written / (timed.sets[0]["trace"]["duration_ns"] / 1e9)
    assert any(f"the trace writes {round(asked):,} pages/s" in note for note in notes)


@pytest.mark.slow
def test_a_trace_that_asks_for_more_than_the_drive_can_do_is_told_so(timed: ds.Results) -> None:
    given: dict[str, Any] = without_profile(timed)
    given["trace"]["duration_ns"] //= 1000
    shown = Page(render_report(results=[given]))
    assert any(
        ": more, if they were random and none was absorbed" in n for n in shown.texts["small"]
    )
    # Without times nobody knows what it asks for; after a warm-up it was not all counted.
    given["trace"]["duration_ns"] = None
    unknown = Page(render_report(results=[given]))
    assert "Saturated at" in facts(unknown)
    assert not any("the trace writes" in note for note in unknown.texts["small"])
    # No closed form is known for other FTLs.
    given["device"]["device"]["ftl"] = "dftl"
    assert "Saturated at" not in facts(Page(render_report(results=[given])))


def test_where_no_script_runs_every_detailed_chart_is_a_table(timed: ds.Results) -> None:
    html = render_report(results=timed.sets)
    figures = re.findall(r"<figure.*?</figure>", html, re.S)
    named = {re.search(r'id="c0-([^"]+)"', f).group(1): f for f in figures if 'id="c0-' in f}  # type: ignore[union-attr]
    # Those over cache size show what the table of all runs has, every column of it.
    in_table = {m.name for m in data_metrics()} | {"writes_vs_lru", "response_over_hits"}
    detailed = {name: figure for name, figure in named.items() if name not in in_table}
    assert len(detailed) >= 10
    for name, figure in detailed.items():
        assert "<noscript>" in figure, name
        assert figure.count("<tr>") > 4, name
    wear = Page(detailed["wear"]).tables[0]
    heads = [text for _, text in wear[0]]
    one = next(row for row in wear[1:] if row[0][1] == "lru")
    least = timing(timed, "lru", SIZES[0])["metrics"]["block_erases_min"]
    assert one[heads.index("block_erases_min")][1] == f"{least:,}"


def test_every_chart_that_shows_one_cache_size_looks_at_the_chosen_one(page: Page) -> None:
    group = page.model()["groups"][0]
    detailed = [
        c
        for c in group["charts"]
        if any(d["name"] in group["data"] and d["name"] != "units" for d in c["spec"]["data"])
    ]
    assert len(detailed) == 7
    for chart in detailed:
        text = json.dumps(chart["spec"]["data"])
        assert "datum.frames === frames" in text, chart["name"]
        assert any(s["name"] == "frames" for s in chart["spec"]["signals"]), chart["name"]


def test_rows_stand_in_the_page_once(page: Page) -> None:
    group = page.model()["groups"][0]
    for chart in group["charts"]:
        for source in chart["spec"]["data"]:
            if source["name"] == "runs" or source["name"] in group["data"]:
                assert "values" not in source, chart["name"]


def test_curves_are_the_quantiles_of_the_results(timed: ds.Results, page: Page) -> None:
    curves = page.model()["groups"][0]["data"]["responses"]
    one = next(c for c in curves if (c["label"], c["frames"], c["kind"]) == ("lru", 512, "read"))
    summary = timing(timed, "lru", 512)["timing"]["read_response_ns"]
    known = {round(s, 6): v for s, v in summary["quantiles"]}
    known |= {0.99: summary["p99"], 0.999: summary["p999"], 0.9999: summary["p9999"]}
    assert len(one["us"]) > 10
    assert one["us"] == sorted(one["us"])
    assert one["share"] == sorted(set(one["share"]))
    assert one["share"][-1] == 1
    for us, share in zip(one["us"], one["share"], strict=True):
        assert us == pytest.approx(known[share] / 1000, rel=5e-4)


def test_a_curve_begins_at_the_share_that_took_no_time() -> None:
    summary = {"count": 100, "quantiles": [[0, 0], [0.2, 0], [0.4, 0], [0.6, 5000], [1, 9000]]}
    given = many(["lru"], [100])
    given["runs"][0]["timing"] = {"response_ns": summary}
    (curve,) = data.response_curves(ResultSet.of(given))
    assert (curve["us"], curve["share"]) == ([0, 5, 9], [0.4, 0.6, 1])


def test_periods_and_units_that_are_joined_keep_their_sums() -> None:
    """300 periods of 2 s, 100 units: three and two become one."""
    given = many(["lru"], [100])
    periods = [
        {"requests": k % 3, "response_ns_sum": 6000 * (k % 3), "response_ns_max": 1000 * k}
        for k in range(300)
    ]
    given["runs"][0]["profile"] = {
        "period_ns": 2_000_000_000,
        "periods": periods,
        "unit_busy_ns": [[1_000_000_000] * 300 for _ in range(100)],
        "unit_collecting_ns": [[10_000_000 * (u % 2)] * 300 for u in range(100)],
    }
    result = ResultSet.of(given)
    (line,) = data.developments(result)
    assert line["step_s"] == 6
    assert line["mean_us"] == [6] * 100
    assert line["max_us"] == [2 + 3 * k if k else 2 for k in range(100)]
    assert line["collecting"] == [0.0025] * 100
    rows = data.utilisations(result, [("lru", 100)])
    assert [(r["unit"], r["last"]) for r in rows] == [(u, u + 1) for u in range(0, 100, 2)]
    assert all(r["collecting"] == [0.0025] * 100 for r in rows)
    # 0.5 less what went to collections, to two digits.
    assert all(r["host"] == [0.5] * 100 for r in rows)
    assert data.utilisations(result, [("arc", 100)]) == []


def test_heat_maps_hold_the_time_that_the_units_were_busy(timed: ds.Results) -> None:
    result = ResultSet.of(timed.sets[0])
    profile = timing(timed, "lru", 512)["profile"]
    rows = data.utilisations(result, [("lru", 512)])
    assert len(rows) == 8
    for row, busy, collecting in zip(
        rows, profile["unit_busy_ns"], profile["unit_collecting_ns"], strict=True
    ):
        drawn = sum(row["collecting"]) * row["step_s"] * 1e9
        # Two digits a cell.
        assert drawn == pytest.approx(sum(collecting), rel=0.03)
        drawn = sum(row["host"]) * row["step_s"] * 1e9
        assert drawn == pytest.approx(sum(busy) - sum(collecting), rel=0.03)
    assert any(sum(row["collecting"]) > 0 for row in rows)


def test_the_page_has_the_table_s_line_on_stability(timed: ds.Results) -> None:
    from destage.show.tables.stability import stability

    (line,) = stability(timed.result_sets[0].runs)
    page = render_report(results=timed.sets)
    assert html.escape(f"S{line[1:]}.") in page


def test_without_a_profile_nothing_is_drawn_over_time(timed: ds.Results) -> None:
    page = Page(render_report(results=[without_profile(timed)]))
    names = {c["name"] for g in page.model()["groups"] for c in g["charts"]}
    assert "response_cdf" in names
    assert not {n for n in names if "over_time" in n or n.startswith("units")}


def test_one_run_has_its_numbers_large_and_its_charts(timed: ds.Results) -> None:
    given = deepcopy(dict(timed.sets[0]))
    given["runs"] = [r for r in given["runs"] if r["config"]["policy"] == "ecr"][:1]
    page = Page(render_report(results=[given]))
    names = {c["name"] for g in page.model()["groups"] for c in g["charts"]}
    assert {"response_cdf", "response_over_time", "units_host_0"} <= names
    assert "response_ns_mean" not in names, "one bar says nothing"
    tiles = dict(zip(page.texts["dt"], page.texts["dd"], strict=False))
    assert {"Mean response", "p99 response", "WAF", "Erases"} <= set(tiles)


@pytest.mark.slow
def test_the_same_timed_runs_give_the_same_page(timed: ds.Results) -> None:
    assert render_report(results=timed.sets) == render_report(results=timed.sets)


def test_the_page_says_nothing_that_is_no_number(page: Page) -> None:
    assert not re.search(r"\b(nan|NaN|None|inf|Infinity|undefined)\b", page.visible())


# ---- what is said


def made_up(policy: str, frames: int, hits: int, writes: int, **numbers: float) -> dict[str, Any]:
    """A timed run with these metrics."""
    made = run(policy, frames, hits, writes, device="small")
    made["cost"] = None
    given = {
        "hit_ratio": hits / 1_000_000,
        "physical_writes": writes,
        **numbers,
    }
    made["metrics"] = given
    made["timing"] = {}
    return made


def said(runs: list[dict[str, Any]]) -> list[str]:
    given = result(runs)
    given["device"] = {"name": "small"}
    return [s.replace("\u00a0", " ") for s in verdict(ResultSet.of(given))]


def test_the_verdict_names_the_fastest_and_what_goes_with_it() -> None:
    ms = 1e6
    sentences = said(
        [
            made_up("lru", 1000, 500_000, 1000, response_ns_mean=2 * ms, response_ns_p99=9 * ms,
                    eviction_wait_ns_mean=1 * ms),
            made_up("ecr", 1000, 400_000, 1000, response_ns_mean=1.5 * ms, response_ns_p99=10 * ms,
                    eviction_wait_ns_mean=0.5 * ms),
        ]
    )  # fmt: skip
    assert sentences == [
        "On SSD small, at 3.91 MiB (10 % of the trace's pages), ecr has a mean response time of"
        " 1.5 ms, 25.0 % less than lru (2 ms), but 99 % within 10 ms (lru: 9 ms).",
        "Correlated: shorter waits of destages (500 µs, lru 1 ms).",
        "Worse: a lower hit ratio (40.00 %, lru 50.00 %).",
    ]


def test_the_verdict_on_tiers_weighs_the_hits_of_all() -> None:
    """Tier 1 alone hits less, both together more: that is what goes with the faster run."""
    ms = 1e6
    behind = said(
        [
            made_up("lru", 1000, 500_000, 1000, response_ns_mean=2 * ms, overall_hit_ratio=0.6,
                    tier2_writes=3000),
            made_up("arc", 1000, 400_000, 1000, response_ns_mean=1.5 * ms, overall_hit_ratio=0.7,
                    tier2_writes=2000),
        ]
    )[1:]  # fmt: skip
    assert behind == [
        "Correlated: a higher hit ratio of all tiers (70.00 %, lru 60.00 %) and fewer writes to the"
        " flash tier (2,000, lru 3,000)."
    ]


def test_the_verdict_tells_of_slower_writes_and_of_a_tail_that_only_seems_to_differ() -> None:
    ms = 1e6
    sentences = said(
        [
            made_up("lru", 1000, 500_000, 1000, response_ns_mean=2 * ms, response_ns_p99=9 * ms,
                    read_response_ns_mean=1 * ms, write_response_ns_mean=4 * ms),
            made_up("ecr", 1000, 500_000, 1000, response_ns_mean=1.5 * ms,
                    response_ns_p99=9.05 * ms, read_response_ns_mean=0.4 * ms,
                    write_response_ns_mean=5 * ms),
        ]
    )  # fmt: skip
    assert sentences[0].endswith("; 99 % within 9.05 ms (lru: 9 ms): no significant difference.")
    assert sentences[1:] == [
        "Correlated: faster reads (400 µs, lru 1 ms).",
        "Worse: slower writes (5 ms, lru 4 ms).",
    ]


def test_the_verdict_says_how_large_a_cache_is_worth_having() -> None:
    def sizes(*means: float) -> list[str]:
        runs = [
            made_up(
                p, 1024 * 2**k, 1000, 10, response_ns_mean=mean * 1e6 * (2 if p == "lru" else 1)
            )
            for k, mean in enumerate(means)
            for p in ("lru", "ecr")
        ]
        return said(runs)

    assert sizes(4, 2, 1)[0] == "On SSD small, the shortest mean response time: ecr at every size."
    assert sizes(4, 2, 1)[-1] == (
        "A larger cache keeps helping: from 4 MiB to 16 MiB the best mean response time falls from"
        " 4 ms to 1 ms."
    )
    assert sizes(4, 1.01, 1)[-1] == (
        "8 MiB is enough: its best mean response time is within 5 % of the best at any size (1 ms)."
    )
    assert sizes(1.02, 1.01, 1)[-1] == (
        "The size matters little: 4 MiB is within 5 % of the best mean response time of any size"
        " (1 ms)."
    )


def test_where_nobody_is_ahead_the_verdict_says_so() -> None:
    runs = [made_up(p, 1000, 1000, 10, response_ns_mean=1e6) for p in ("lru", "ecr")]
    assert said(runs) == [
        "On SSD small, at 3.91 MiB (10 % of the trace's pages), both policies tie:"
        " mean response time 1 ms, within 1 %."
    ]


def test_runs_without_a_drive_have_no_verdict() -> None:
    assert verdict(ResultSet.of(many(["lru", "arc"], [100, 200]))) == []


# ---- figures


@pytest.mark.slow
def test_figures_of_timed_runs_come_with_their_data(timed: ds.Results, tmp_path: Path) -> None:
    small = deepcopy(dict(timed.sets[0]))
    small["runs"] = [r for r in small["runs"] if r["config"]["policy"] in ("lru", "ecr")]
    plots = Plots(*sets(small))
    written = plots.save(tmp_path)
    assert {f.name for f in written} == {
        f"{name}.{suffix}" for name in plots.names() for suffix in ("svg", "pdf", "png", "csv")
    }
    details = [
        *("response_cdf", "response_tail", "response_over_time", "longest_over_time"),
        *("collections_over_time", "unbalance_cdf", "wear", "units"),
    ]
    assert plots.names()[-len(details) :] == details
    for name in plots.names():
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        with (tmp_path / f"{name}.csv").open(newline="") as f:
            rows = list(csv.DictReader(f))
        assert {r["label"] for r in rows} == {"lru", "ecr"}, name
        assert {int(r["frames"]) for r in rows} == set(SIZES), name
    with (tmp_path / "wear.csv").open(newline="") as f:
        worn = {(r["label"], int(r["frames"])): r for r in csv.DictReader(f)}
    for one in timed:
        if one.label in ("lru", "ecr"):
            row = worn[one.label, one.frames]
            assert float(row["block_erases_mean"]) == one["block_erases_mean"]
            assert int(row["block_erases_max"]) == one["block_erases_max"]


def test_a_figure_shows_the_cache_size_and_the_requests_that_were_asked_for(
    timed: ds.Results,
) -> None:
    for frames in SIZES:
        spec = timed.plot.response_cdf("read", frames=frames).to_dict()
        (values,) = spec["datasets"].values()
        assert {(v["frames"], v["kind"]) for v in values} == {(frames, "read")}
    assert timed.plot.units("cflru").to_dict()["vconcat"][0]["hconcat"]


def test_every_chart_that_there_is_has_a_method(timed: ds.Results) -> None:
    for name in timed.plot.names():
        assert getattr(timed.plot, name)().to_dict(), name


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda p: p.response_cdf("reads"), "kind: expected all, read, write, got 'reads'"),
        (lambda p: p.wear(frames=65), "no run has a cache of 65 pages; the sizes are 64, 512"),
        (lambda p: p.units("arc"), "there is no policy arc in these results; there are lru,"),
        (lambda p: p.over_size("wafs"), "there is no metric wafs"),
    ],
)
def test_a_figure_that_cannot_be_is_refused(timed: ds.Results, ask: Any, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        ask(timed.plot)


def test_what_the_results_do_not_hold_is_no_figure(timed: ds.Results) -> None:
    plots = Plots(*sets(without_profile(timed)))
    with pytest.raises(DataError, match="no response_over_time; they have response_ns_mean"):
        plots.response_over_time()
    with pytest.raises(DataError, match="these results have no cost"):
        plots.over_size("cost")
    assert plots.over_size("gc_runs").to_dict()


def test_an_axis_of_times_begins_at_zero_or_is_logarithmic(timed: ds.Results) -> None:
    spec = timed.plot.over_size("response_ns_mean").to_dict()
    scale = spec["layer"][0]["encoding"]["y"]["scale"]
    values = [float(r["response_ns_mean"] or 0) for r in timed]
    far = max(values) >= 10 * min(values)
    assert (scale.get("type") == "log") is far
    assert (scale["domain"][0] == 0) is not far
    top = (1.3 if far else 1.04) * max(values)
    # Intervals that reach further make the axis longer by a quarter at most.
    assert top * (1 - 1e-9) <= scale["domain"][1] <= 1.26 * top


def test_times_that_lie_far_apart_have_a_logarithmic_axis() -> None:
    from destage.model.metrics import METRICS
    from destage.show.charts.value_axes import value_axis

    (mean,) = (m for m in METRICS if m.name == "response_ns_mean")
    far, near = (value_axis(mean, [1e5, top]) for top in (1e6, 9e5))
    assert (far["scale"]["type"], "log scale" in far["axis"]["title"]) == ("log", True)
    assert (near["scale"]["domain"][0], "log scale" in near["axis"]["title"]) == (0, False)


def test_a_line_through_a_point_is_the_interval_beside_lru(timed: ds.Results) -> None:
    from destage.show.charts.comparison_rows import chart_rows

    rows = {(row["label"], row["frames"]): row for row in chart_rows(timed.result_sets[0])}
    seen = 0
    for one in timed.result_sets[0].runs:
        lru = next(r for r in timed.result_sets[0].at(one.frames) if r.label == "lru")
        interval = one.minus(lru, "response_ns_mean")
        row = rows[one.label, one.frames]
        assert ("response_ns_mean_low" in row) == (interval is not None)
        if interval is not None:
            seen += 1
            assert row["response_ns_mean_high"] == lru["response_ns_mean"] + interval[1]
    assert seen > 0


# ---- the command


def test_destage_report_draws_what_was_kept(
    destage: Destage, timed: ds.Results, tmp_path: Path
) -> None:
    timed.to_json(tmp_path / "r.json")
    done = destage("report", "r.json")
    assert done.status == 0
    assert "destage-report.html: opens offline" in done.err
    html = (tmp_path / "destage-report.html").read_text()
    assert Page(html).texts["code" if "code" in Page(html).texts else "pre"][-1] == (
        "destage report r.json"
    )
    done = destage("report", "r.json", "r.json", "--html", "-")
    assert done.status == 0
    assert ": 2 results - Destage</title>" in done.out
    names = re.findall(r'<a href="#t\d">(.*?)</a>', done.out)
    assert len(set(names)) == 2


def test_destage_report_writes_figures(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(many(["lru", "arc"], [100, 200])))
    done = destage("report", "r.json", "--figures", "figures")
    assert done.status == 0, done
    assert not (tmp_path / "destage-report.html").exists()
    assert (tmp_path / "figures" / "hit_ratio.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["absent.json"], 66, "absent.json: no such file"),
        (["bad.json"], 65, "bad.json"),
        (["empty.json"], 2, "there are no runs to draw"),
        (["good.json", "--html", "absent/r.html"], 74, "absent"),
        ([], 2, "RESULT"),
    ],
)
def test_destage_report_says_what_is_wrong(
    destage: Destage, tmp_path: Path, args: list[str], status: int, message: str
) -> None:
    (tmp_path / "bad.json").write_text('{"schema": "other"}')
    (tmp_path / "good.json").write_text(json.dumps(many(["lru"], [100])))
    (tmp_path / "empty.json").write_text(json.dumps(result([])))
    done = destage("report", *args)
    assert done.status == status, done
    assert message in done.err
    assert "Traceback" not in done.err
