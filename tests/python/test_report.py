"""The report and the figures: what stands in them, and that it is the same each time."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from destage.base.errors import DataError, MissingExtra, OutputError
from destage.model.results import ResultSet
from destage.show import pages as report
from destage.show.charts.plots import Plots, save_figures

PAGE_BYTES = 4096
UNIQUE_PAGES = 10_000
ACCESSES = 1_000_000

ALL = [
    *("lru", "fifo", "clock", "lru-k", "2q", "arc", "lirs", "mq", "min", "dual-queue", "cflru"),
    *("lru-wsr", "ccf-lru", "ad-lru", "cfdc", "acr-c", "acr-o", "acr-h", "s3-fifo", "sieve"),
    "w-tinylfu",
]
AUTO = [10, 24, 59, 143, 349, 847, 2058, 5000]


def run(policy: str, frames: int, hits: int, writes: int, **config: Any) -> dict[str, Any]:
    """One run in which all accesses read, but for the flash writes that are made up."""
    counters = dict.fromkeys(
        ["write_hits", "write_misses", "bypasses", "padding_reads", "padding_writes"], 0
    )
    counters |= {
        "read_hits": hits,
        "read_misses": ACCESSES - hits,
        "physical_reads": ACCESSES - hits,
        "physical_writes": writes,
        "evictions": ACCESSES - hits - frames,
        "destages": writes,
        "destaged_pages": writes,
        "end_flushes": 0,
    }
    return {
        "config": {
            "policy": policy,
            "given": {},
            "params": {"window_fraction": 0.5},
            "frames": frames,
            "cache": f"{frames}p",
            "warmup": "none",
            "fetch_on_write_miss": False,
            "flush_at_end": False,
            "check": False,
            "cost": {"read": 1, "write": 118},
            **config,
        },
        "warmup_requests": 0,
        "counters": counters,
        "cost": counters["physical_reads"] + 118 * writes,
        "warnings": [],
    }


def result(runs: list[dict[str, Any]], source: str = "traces/hm_0.csv.gz") -> dict[str, Any]:
    return {
        "schema": "destage.results",
        "schema_version": 1,
        "version": "0.1.0",
        "trace": {
            "sources": [source],
            "fingerprint": "0123456789abcdef",
            "format": "msr",
            "page_bytes": PAGE_BYTES,
            "requests": 500_000,
            "accesses": ACCESSES,
            "unique_pages": UNIQUE_PAGES,
            "duration_ns": 3_600_000_000_000,
            "options": {"page_size": 4096, "reader": {"on_error": "skip", "device": None}},
        },
        "runs": runs,
    }


def many(policies: list[str], sizes: list[int]) -> dict[str, Any]:
    """Numbers that no two runs share."""
    return result(
        [
            run(p, f, 1000 * k + 61 * f, 900_000 - 2001 * k - 53 * f)
            for k, p in enumerate(policies)
            for f in sizes
        ]
    )


def info() -> dict[str, Any]:
    histogram = [[512, 100], [4096, 300_000], [8192, 100_000]]
    stats = {"count": 400_100, "mean_bytes": 5120.5, "p50_bytes": 4096, "histogram": histogram}
    return {
        "fingerprint": "0123456789abcdef",
        "sources": [{"name": "hm_0.csv.gz", "bytes": 1, "hash": ""}],
        "page_bytes": PAGE_BYTES,
        "counts": {"requests": 500_000, "accesses": ACCESSES, "unique_pages": UNIQUE_PAGES},
        "read_share": 0.625,
        "sizes": {"reads": stats, "writes": stats, "all": stats},
        "timed": False,
        "rereference": {
            "repeated_accesses": 990_000,
            "once_pages": 2500,
            "distance_histogram": [[1, 10_000], [2, 20_000], [4, 0], [8, 960_000]],
            "hottest": [[0.01, 0.38], [0.2, 0.86]],
            "zipf_skew": 0.93,
        },
    }


def ends(missed: float, half: float) -> dict[str, float]:
    return {"miss_ratio_low": missed - half, "miss_ratio_high": missed + half}


def curve() -> dict[str, Any]:
    def point(frames: int, missed: float, error: float | None) -> dict[str, Any]:
        return {
            "frames": frames,
            "cache": f"{frames}p",
            "cache_bytes": frames * PAGE_BYTES,
            "accesses": ACCESSES,
            "miss_ratio": missed,
            "misses": int(missed * ACCESSES),
            "physical_writes": 5000 - frames,
            "sampled": {
                "frames": 1.0,
                "miss_ratio_error": error,
                **({} if error is None else ends(missed, 2 * error)),
            },
        }

    points = [point(100, 0.75, None), point(200, 0.5, 0.05), point(400, 0.125, 0.01)]
    mrc = {
        "sample": {"rate": 0.01, "seed": 1, "pages": 100, "accesses": 9000, "groups": 10},
        "curves": [{"policy": "lru", "label": "lru", "params": {}, "points": points}],
        "warnings": ["sizes below 160 frames are rough"],
    }
    return {"trace": result([])["trace"], "mrc": mrc}


def sets(*given: dict[str, Any]) -> list[ResultSet]:
    return [ResultSet.of(g, f"results[{i}]") for i, g in enumerate(given)]


def render_report(
    *, results: Sequence[dict[str, Any]], curves: Sequence[dict[str, Any]] = (), **more: Any
) -> str:
    """The report of results and curves in their JSON form."""
    drawn = [ResultSet.of_curves(c) for c in curves]
    return report.render_report(results=sets(*results), curves=drawn, **more)


class Page(HTMLParser):
    """What a browser would find: elements with attributes, text of elements, rows of tables."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.tables: list[list[list[tuple[dict[str, str | None], str]]]] = []
        self._open: list[str] = []
        self._cell: list[str] | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        if tag not in ("meta", "input", "br", "path"):
            self._open.append(tag)
        self.texts.setdefault(tag, []).append("")
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._cell = []
            self.tables[-1][-1].append((found, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            attributes, _ = self.tables[-1][-1][-1]
            self.tables[-1][-1][-1] = (attributes, "".join(self._cell))
            self._cell = None
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)
        if self._open:
            self.texts[self._open[-1]][-1] += data

    def runs(self) -> list[dict[str, tuple[str, str, bool]]]:
        """Rows of the table of runs: column to value, text, and whether it is marked."""
        table = next(t for t in self.tables if any("data-name" in a for a, _ in t[0]))
        names = [str(a["data-name"]) for a, _ in table[0]]
        return [
            {
                name: (str(a["data-v"]), text, "best" in str(a.get("class") or "").split())
                for name, (a, text) in zip(names, row, strict=True)
            }
            for row in table[1:]
        ]

    def model(self) -> dict[str, Any]:
        """What the page's script reads."""
        at = [
            k for k, (t, a) in enumerate(self.elements) if t == "script" and a.get("id") == "model"
        ]
        scripts = [k for k, (t, _) in enumerate(self.elements) if t == "script"]
        return dict(json.loads(self.texts["script"][scripts.index(at[0])]))

    def visible(self) -> str:
        """All text but scripts, styles and the names of buttons."""
        return "\n".join(
            text
            for tag, texts in self.texts.items()
            if tag not in ("script", "style", "button")
            for text in texts
        )


@pytest.fixture(scope="module")
def full() -> str:
    html: str = render_report(
        results=[many(ALL, AUTO)], infos=[info()], curves=[curve()], command="destage compare x"
    )
    return html


def test_nothing_is_loaded_from_anywhere(full: str) -> None:
    page = Page(full)
    loading = {
        "link",
        "iframe",
        "frame",
        "object",
        "embed",
        "img",
        "source",
        "video",
        "audio",
        "base",
    }
    assert not loading & {tag for tag, _ in page.elements}
    for tag, attributes in page.elements:
        for name in ("src", "srcset", "href", "action", "data", "poster", "background"):
            value = attributes.get(name)
            assert value is None or value.startswith("#"), f"<{tag} {name}={value!r}>"
    for style in page.texts["style"]:
        assert "url(" not in style
        assert "@import" not in style
    for group in page.model()["groups"]:
        assert "http" not in json.dumps(group)


def test_every_policy_at_every_size_stays_below_a_megabyte_and_a_half(full: str) -> None:
    assert len(full.encode()) < 1_500_000
    assert len(Page(full).runs()) == len(ALL) * len(AUTO)


def test_the_table_has_the_numbers_of_the_results(full: str) -> None:
    asked = many(ALL, AUTO)
    expected = {(r["config"]["policy"], str(r["config"]["frames"])): r for r in asked["runs"]}
    lru_writes = {
        frames: r["counters"]["physical_writes"]
        for (policy, frames), r in expected.items()
        if policy == "lru"
    }
    for row in Page(full).runs():
        frames = row["frames"][0]
        counters = expected.pop((row["label"][1], frames))["counters"]
        hits = counters["read_hits"] + counters["write_hits"]
        assert float(row["hit_ratio"][0]) == hits / ACCESSES
        assert row["hit_ratio"][1] == f"{100 * hits / ACCESSES:.2f}"
        assert row["cache_bytes"][1] == f"{int(frames) * PAGE_BYTES / 2**20:,.2f}"
        assert float(row["cache_share"][0]) == int(frames) / UNIQUE_PAGES
        for name in ("physical_reads", "physical_writes", "evictions", "destages"):
            assert row[name][0] == str(counters[name])
            assert row[name][1] == f"{counters[name]:,}"
        time = counters["physical_reads"] + 118 * counters["physical_writes"]
        assert row["cost"][:2] == (str(time), f"{time:,}")
        ratio = counters["physical_writes"] / lru_writes[frames]
        assert float(row["writes_vs_lru"][0]) == ratio
        # No write access took place.
        assert "write_hit_ratio" not in row
    assert not expected


def test_charts_draw_the_rows_of_the_results(full: str) -> None:
    groups = {g["id"]: g for g in Page(full).model()["groups"]}
    rows = {(r["label"], r["frames"]): r for r in groups["c0"]["rows"]}
    for r in many(ALL, AUTO)["runs"]:
        drawn = rows.pop((r["config"]["policy"], r["config"]["frames"]))
        assert drawn["hit_ratio"] == r["counters"]["read_hits"] / ACCESSES
        assert drawn["physical_writes"] == r["counters"]["physical_writes"]
        assert drawn["cost"] == r["cost"]
    assert not rows
    names = [c["name"] for c in groups["c0"]["charts"]]
    drawn_metrics = ["hit_ratio", "physical_reads", "physical_writes", "cost"]
    assert names == [*drawn_metrics, "writes_vs_lru"]
    for chart in groups["c0"]["charts"]:
        data = {d["name"]: d for d in chart["spec"]["data"]}
        assert "values" not in data["runs"], "rows stand in the page once"


def drawn(*runs: dict[str, Any]) -> list[str]:
    """The charts of a report of these runs."""
    return [
        c["name"]
        for c in Page(render_report(results=[result([*runs])])).model()["groups"][0]["charts"]
    ]


def test_no_chart_has_bars_that_are_all_alike() -> None:
    near = [
        run(p, f, 9000 * k, 100_000 - 400 * k)
        for k, p in enumerate(("lru", "arc"))
        for f in (8, 99)
    ]
    assert "writes_vs_lru" not in drawn(*near)
    apart = [
        run(p, f, 9000 * k, 100_000 - 4000 * k)
        for k, p in enumerate(("lru", "arc"))
        for f in (8, 99)
    ]
    assert "writes_vs_lru" in drawn(*apart)
    # Of one size, every chart has bars; that of hits stays.
    one = drawn(run("lru", 8, 9000, 100_000), run("arc", 8, 9000, 100_000 - 400))
    assert one == ["hit_ratio"]


def test_no_two_of_all_policies_look_alike(full: str) -> None:
    legend = Page(full).elements
    chips = [k for k, (tag, a) in enumerate(legend) if tag == "button" and "data-label" in a]
    looks = {}
    for k in chips[: len(ALL)]:
        line, marker = (a for tag, a in legend[k : k + 6] if tag == "path")
        looks[legend[k][1]["data-label"]] = (
            line["stroke"],
            line.get("stroke-dasharray"),
            marker["d"],
        )
    assert sorted(map(str, looks)) == sorted(ALL)
    assert len(set(looks.values())) == len(ALL)


def test_of_many_policies_the_winners_and_lru_are_in_colour(full: str) -> None:
    shown = Page(full).model()["groups"][0]["shown"]
    # The last one has most hits and fewest writes; min is no winner, but a reference.
    assert {"lru", "min", ALL[-1]} <= set(shown)
    assert len(shown) <= 8


def test_the_best_is_marked_only_when_it_is_ahead_by_a_per_cent() -> None:
    runs = [
        run("lru", 100, 500_000, 1000),
        run("arc", 100, 504_000, 989),  # 0.8 % more hits, 1.1 % fewer writes
        run("min", 100, 900_000, 10),
        run("lru", 200, 600_000, 0),
        run("arc", 200, 700_000, 0),
        run("min", 200, 990_000, 0),
    ]
    marked = {
        (row["label"][1], row["frames"][0], name)
        for row in Page(render_report(results=[result(runs)])).runs()
        for name in ("hit_ratio", "physical_writes")
        if row[name][2]
    }
    assert marked == {("arc", "100", "physical_writes"), ("arc", "200", "hit_ratio")}


def test_the_summary_says_who_wins_where() -> None:
    runs = [
        run("lru", 256, 500_000, 1000),
        run("arc", 256, 501_000, 500),
        run("lru", 512, 600_000, 800),
        run("arc", 512, 700_000, 400),
        run("min", 512, 800_000, 100),
    ]
    text = Page(render_report(results=[result(runs)])).visible().replace("\u00a0", " ")
    assert "The highest hit ratio: arc at 2 MiB; a tie (within 1 %) at 1 of 2 sizes." in text
    assert "The fewest flash writes and the lowest cost: arc at every size." in text
    assert "Against lru, arc saves most flash writes: 50.0 % at 1 MiB." in text
    assert "min uses future accesses" in text


def test_at_one_size_the_summary_is_one_sentence() -> None:
    runs = [run("lru", 1000, 500_000, 1000), run("arc", 1000, 700_000, 1001)]
    text = Page(render_report(results=[result(runs)])).visible().replace("\u00a0", " ")
    assert (
        "At 3.91 MiB (10 % of the trace's pages), arc has the highest hit ratio (70.00 %)"
        " and the lowest cost (418,118);"
        " both policies tie for the fewest flash writes (1,000)."
    ) in text


HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>\u2028\x1b[31m'


def test_names_from_outside_stay_text() -> None:
    hostile = many(["lru", "arc"], [100, 200])
    hostile["trace"]["sources"] = [HOSTILE.replace("/", "_"), HOSTILE]
    hostile["trace"]["options"] = {HOSTILE: HOSTILE}
    for r in hostile["runs"]:
        r["config"]["given"] = {HOSTILE: HOSTILE}
        r["config"]["params"] = {HOSTILE: HOSTILE}
        r["warnings"] = [HOSTILE]
    html = render_report(
        results=[hostile], infos=[info() | {"sources": [{"name": HOSTILE}]}], command=HOSTILE
    )
    page = Page(html)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 4
    assert "img" not in tags
    assert not any(name.startswith("on") for _, a in page.elements for name in a)
    assert "<script>alert(1)<_script>" in page.texts["h1"][0]
    assert "\x1b" not in html
    assert "\u2028" not in html
    assert page.model()["groups"][0]["rows"][0]["label"].startswith("lru[<script>alert(1)</script>")


def test_a_file_name_that_is_no_unicode_is_shown_escaped() -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    html = render_report(results=[many(["lru"], [100])], command=f"destage compare {name}")
    named = many(["lru"], [100])
    named["trace"]["sources"] = [name]
    assert "caf\\udce9.csv" in html
    assert Page(render_report(results=[named])).texts["h1"] == ["caf\\udce9.csv"]


def test_the_same_inputs_give_the_same_bytes(full: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "results": [many(ALL, AUTO)],
        "infos": [info()],
        "curves": [curve()],
        "command": "destage compare x",
    }
    assert render_report(**given) == full
    (tmp_path / "given.json").write_text(json.dumps(given))
    script = (
        "import json; from pathlib import Path; from test_report import render_report;"
        "html = render_report(**json.load(open('given.json')));"
        "Path('again.html').write_text(html, encoding='utf-8')"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "again.html").read_bytes() == full.encode()


def odd_results() -> dict[str, dict[str, Any]]:
    without = many(["lru", "arc"], [100, 200])
    for r in without["runs"]:
        r["counters"] |= {"physical_writes": None, "read_hits": float("nan")}
        r["cost"] = None
        r["config"]["cost"] = None
    untimed = many(["lru", "arc"], [100, 200])
    untimed["trace"]["duration_ns"] = None
    return {
        "one run": many(["lru"], [100]),
        "one policy": many(["lru"], AUTO),
        "one size": many(ALL, [100]),
        "no runs": result([]),
        "no numbers": without,
        "no times": untimed,
        "hit ratio 0": result([run(p, f, 0, 100) for p in ("lru", "arc") for f in (10, 20)]),
        "nothing written": result([run(p, f, 9 * f, 0) for p in ("lru", "arc") for f in (10, 20)]),
        "larger than the trace": many(["lru", "arc"], [UNIQUE_PAGES, 100 * UNIQUE_PAGES]),
        "one frame": many(["lru", "arc"], [1, 2]),
        "only min": many(["min"], [100, 200]),
    }


@pytest.mark.parametrize("case", odd_results())
def test_odd_results_have_a_report(case: str) -> None:
    given = odd_results()[case]
    page = Page(render_report(results=[given]))
    assert not re.search(r"\b(nan|NaN|None|inf|Infinity|undefined)\b", page.visible())
    if given["runs"]:
        assert len(page.runs()) == len(given["runs"])
    places = {a["id"] for tag, a in page.elements if tag == "div" and a.get("class") == "vega"}
    charts = {c["id"] for g in page.model()["groups"] for c in g["charts"]}
    assert places == charts


def test_numbers_that_are_none_are_dashes_and_sort_last() -> None:
    row = Page(render_report(results=[odd_results()["no numbers"]])).runs()[0]
    assert row["physical_reads"][0] != ""
    assert "hit_ratio" not in row, "a column without a number is left out"
    some = many(["lru", "arc"], [100])
    some["runs"][0]["cost"] = None
    values = {r["label"][1]: r["cost"][:2] for r in Page(render_report(results=[some])).runs()}
    assert values["lru"] == ("", "\u2013")


def test_several_traces_have_a_part_each() -> None:
    one, two = many(["lru"], [100, 200]), many(["lru", "arc"], [100])
    one["trace"]["sources"] = ["a.csv"]
    two["trace"] |= {"sources": ["b.csv", "c.csv"], "fingerprint": "ff"}
    page = Page(render_report(results=[one, two], infos=[info() | {"fingerprint": "ffee"}]))
    assert page.texts["h2"] == ["a.csv", "b.csv and 1 more"]
    assert page.texts["title"] == ["2 traces - Destage"]
    # The profile belongs to the second, by its fingerprint.
    assert [g["id"] for g in page.model()["groups"]] == ["c0", "c1", "p1"]


def test_the_trace_is_described_from_its_info(full: str) -> None:
    text = Page(full).visible().replace("\u00a0", " ")
    for shown in ("500,000", "62.5 %", "37.5 % writes", "39.1 MiB", "99.0 %", "25.0 %", "0.93"):
        assert shown in text, shown
    assert "the trace has no times" in text
    charts = {c["name"]: c for g in Page(full).model()["groups"] for c in g["charts"]}
    values = charts["hottest"]["spec"]["data"][0]["values"]
    assert [v["share"] for v in values] == [0.38, 0.86]


def test_curves_are_drawn_as_hit_ratios_with_their_error(full: str) -> None:
    group = next(g for g in Page(full).model()["groups"] if g["id"] == "m0")
    assert [r["hit_ratio"] for r in group["rows"]] == [0.25, 0.5, 0.875]
    assert [r.get("hit_ratio_low") for r in group["rows"]] == [None, 0.4, pytest.approx(0.855)]
    assert "sizes below 160 frames are rough" in Page(full).visible()


def test_provenance_has_what_makes_it_again(full: str) -> None:
    text = Page(full).visible()
    for shown in (
        "0123456789abcdef",
        "traces/hm_0.csv.gz",
        "read=1,write=118",
        "reader.on_error",
        "window_fraction=0.5",
        "destage compare x",
    ):
        assert shown in text, shown


def test_a_warning_appears_once_with_its_policies() -> None:
    given = many(["lru", "arc", "2q"], [100, 200])
    for r in given["runs"]:
        r["warnings"] = ["for all"] + (["for some"] if r["config"]["policy"] != "lru" else [])
    items = Page(render_report(results=[given])).texts["li"]
    assert items == ["for all", "arc and 2q: for some"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda r: r.update(schema="other"), "results[0].schema: expected"),
        (lambda r: r.update(schema_version=2), "results[0].schema_version: expected 1, found 2"),
        (lambda r: r.update(runs={}), "results[0].runs: expected a list"),
        (lambda r: r["runs"][1].pop("counters"), "results[0].runs[1].counters: expected an object"),
        (lambda r: r["runs"][0]["config"].update(frames=0), "results[0].runs[0].config.frames"),
        (lambda r: r["trace"].update(page_bytes="4K"), "results[0].trace.page_bytes: expected"),
    ],
)
def test_what_is_no_result_is_refused_with_its_place(
    change: Any, place: str, tmp_path: Path
) -> None:
    given = many(["lru"], [100, 200])
    change(given)
    target = tmp_path / "report.html"
    target.write_text("as it was")
    with pytest.raises(DataError, match=re.escape(place)):
        report.write_report(target, results=sets(given))
    assert target.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [target]


def test_a_report_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"r\.html"):
        report.write_report(tmp_path / "absent" / "r.html", results=sets(many(["lru"], [100])))


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "altair" else real(name, *a)
    )
    with pytest.raises(MissingExtra, match=r"needs altair.*pip install 'destage\[report\]'"):
        render_report(results=[many(["lru"], [100])])
    with pytest.raises(MissingExtra, match=r"destage\[report\]"):
        Plots(*sets(many(["lru"], [100]))).hit_ratio()


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    script = (
        "import sys, destage.show.charts.plots, destage.show.pages;"
        "sys.exit(any(m in sys.modules for m in ('altair', 'vl_convert', 'jinja2')))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_figures_come_with_their_data(tmp_path: Path) -> None:
    given = many(["lru", "arc", "min"], [100, 200, 400])
    files = Plots(*sets(given)).save(tmp_path / "figures")
    names = ["hit_ratio", "physical_reads", "physical_writes", "cost", "writes_vs_lru"]
    assert [f.name for f in files] == [
        f"{n}.{s}" for n in names for s in ("svg", "pdf", "png", "csv")
    ]
    assert (tmp_path / "figures" / "hit_ratio.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "figures" / "hit_ratio.svg").read_text().startswith("<svg")
    with (tmp_path / "figures" / "physical_writes.csv").open(newline="") as f:
        found = {
            (r["policy"], int(r["frames"])): int(r["physical_writes"]) for r in csv.DictReader(f)
        }
    assert found == {
        (r["config"]["policy"], r["config"]["frames"]): r["counters"]["physical_writes"]
        for r in given["runs"]
    }


@pytest.mark.slow
def test_figures_have_the_same_bytes_each_time(tmp_path: Path) -> None:
    given = sets(many(["lru", "arc"], [100, 200]))
    curves = [ResultSet.of_curves(curve())]
    first = save_figures(tmp_path / "a", results=given, curves=curves)
    again = save_figures(tmp_path / "b", results=given, curves=curves)
    assert [f.name for f in first] == [f.name for f in again]
    assert {f.name for f in first} >= {"hit_ratio.svg", "mrc-hit_ratio.svg"}
    for one, other in zip(first, again, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_a_chart_that_the_results_do_not_have_is_refused() -> None:
    given = many(["lru"], [100])
    given["runs"][0]["cost"] = None
    with pytest.raises(DataError, match="no cost; they have hit_ratio"):
        Plots(*sets(given)).cost()
