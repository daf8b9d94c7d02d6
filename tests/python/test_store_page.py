"""The page of a store: every run in it, in one file; what a reader does with it is done here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("altair")
from browser import CHROMIUM, Browser, Page, opened
from conftest import Destage
from test_pages import hash_of, policy_of

import destage as ds
from destage.model.words import size
from destage.show.pages.stored import stored_page

in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

FRAIL = '''
import destage


class Frail(destage.Policy):
    """First in, first out, up to twenty frames."""

    def __init__(self, frames):
        super().__init__(frames)
        self.pages = {}

    def request(self, r):
        if r.page in self.pages:
            self.pages[r.page] |= r.is_write
            return destage.HIT
        return destage.MISS

    def evict(self, miss, device, plan):
        if self.frames > 20:
            raise RuntimeError("twenty are <enough>")
        page = next(iter(self.pages))
        plan.evict(page, dirty=self.pages.pop(page))

    def admit(self, r, miss):
        self.pages[r.page] = r.is_write
'''
SPEC = """
[sweep]
traces = [
    {synth = "zipf", requests = 900, pages = 300, name = "web"},
    {synth = "locality", requests = 900, pages = 300, name = "mail"},
]
policies = ["lru", "arc", "bpac", "frail.py:Frail", "min"]
cache = ["2%", "5%", "20%"]
devices = ["ecr", "none"]
repeat = 2
where = ["device == 'ecr' or policy != 'bpac'", "device == none or policy != 'min'"]

[device]
precondition = "none"
"""
#: Without a device BPAC is left out, with one MIN; of the rest, a part is lost.
PLANNED = 2 * 4 * 3 * 2 * 2


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that are done, that failed, and that are missing; with a device and without."""
    folder = tmp_path_factory.mktemp("store")
    (folder / "frail.py").write_text(FRAIL)
    (folder / "s.toml").write_text(SPEC)
    done = ds.sweep(folder / "s.toml", folder / "runs", allow_code=True)
    assert (done.planned, done.failed) == (PLANNED, 2 * 2 * 2)
    parts = sorted((folder / "runs").glob("part-*.parquet"))
    min(parts, key=lambda part: part.stat().st_size).unlink()
    return folder / "runs"


@pytest.fixture(scope="module")
def found(store: Path) -> ds.Results:
    return ds.load_results(store)


@pytest.fixture(scope="module")
def page_file(found: ds.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "runs.html"
    found.report(path, command="destage report <runs>")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as browser:
        yield browser


def model_of(page: Path) -> dict[str, Any]:
    (text,) = re.findall(
        r'<script type="application/json" id="model">(.*?)</script>', page.read_text(), re.S
    )
    model: dict[str, Any] = json.loads(text)
    return model


# ---- The file


def test_words_of_runs_are_columns_of_text(page_file: Path, found: ds.Results) -> None:
    """The page's script makes none of them: settings, reasons, parameters, sizes."""
    columns = model_of(page_file)["columns"]
    said = {
        n: dict(zip(c["values"], c.get("said", c["values"]), strict=True))
        for n, c in columns.items()
    }
    assert said["device"] == {"": "no device", "ecr": "ecr"}
    assert set(said["options"].values()) == {"no options"}
    assert said["seed"] == {"1": "seed 1", "2": "seed 2"}
    assert set(said["trace"]) == {"web", "mail"}
    assert all(" accesses to " in text for text in said["touched"] if text)
    assert "missing" in said["why"]
    assert any(t.startswith("failed: ") and "twenty are" in t for t in said["why"])
    assert set(said["id"]) >= {row["id"] for row in found.rows}
    # Numbers are written by Python, as every table has them.
    for row in (row for row in found.rows if row["status"] == "done"):
        hits, reads, memory = (row[n] for n in ("hit_ratio", "physical_reads", "cache_bytes"))
        assert said["hit_ratio"][hits] == f"{100 * hits:.2f}"
        assert str(said["physical_reads"][reads]) == f"{reads:,}"
        assert said["cache_bytes"][memory] == size(memory)


def of_each(model: dict[str, Any], name: str) -> list[Any]:
    """The value of each run in a column."""
    values, at = (model["columns"][name][key] for key in ("values", "at"))
    width = len(at) // model["runs"]
    places = [0] * model["runs"]
    for k, letter in enumerate(at):
        places[k // width] = 64 * places[k // width] + model["letters"].index(letter)
    return [values[place] for place in places]


def test_every_run_is_in_it_done_failed_or_missing(page_file: Path, found: ds.Results) -> None:
    model = model_of(page_file)
    status = of_each(model, "status")[: model["real"]]
    counts = [status.count(word) for word in ("done", "failed", "missing")]
    missing = sum(hole.missing for hole in found.holes)
    assert missing == len(found.missing) > 0
    assert counts == [len(found), len(found.failed), missing]
    assert sum(counts) == PLANNED
    text = page_file.read_text()
    assert "runs failed: RuntimeError: twenty are &lt;enough&gt;" in text
    assert re.search(r"s\.toml: \d+ runs missing: ", text)
    # Numbers are whole: a row of the store is a row of the page.
    row = next(k for k, r in enumerate(found.rows) if r["status"] == "done" and r["device"])
    place = of_each(model, "id").index(found.rows[row]["id"])
    for name in ("hit_ratio", "response_ns_p99", "physical_writes"):
        assert of_each(model, name)[place] == found.rows[row][name]


def test_metrics_of_one_name_have_their_unit(page_file: Path) -> None:
    """A share and its count are `Read hits` both."""
    (select,) = re.findall(r'<select[^>]*id="metric".*?</select>', page_file.read_text(), re.S)
    names = [name.strip() for name in re.findall(r"<option[^>]*>([^<]*)", select)]
    assert {"Read hits (%)", "Read hits (accesses)"} <= set(names)
    assert len(names) == len(set(names))


def test_the_missing_runs_know_what_they_would_have_been(found: ds.Results) -> None:
    for run in found.missing:
        alike = [r for r in found.rows if (r["trace"], r["cache"]) == (run["trace"], run["cache"])]
        assert {r["frames"] for r in alike if r["seed"] == run["seed"]} <= {run["frames"]}
        assert run["seed"] in (1, 2)
        assert run["status"] == "missing"
        assert run["cache_bytes"] == run["frames"] * 4096


def test_it_lets_nothing_in_and_only_its_own_scripts_run(page_file: Path) -> None:
    text = page_file.read_text()
    policy = policy_of(text)
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == [
        hash_of(s) for s in re.findall(r"<script>(.*?)</script>", text, re.S)
    ]
    assert policy["style-src-elem"] == [
        hash_of(s) for s in re.findall(r"<style>(.*?)</style>", text, re.S)
    ]
    assert "connect-src" not in policy
    assert not re.search(r"<[^>]+\son\w+=", text.partition("<script>")[0])
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)


def test_the_same_store_gives_the_same_bytes_in_any_process(store: Path, page_file: Path) -> None:
    code = (
        "import sys, destage\nfound = destage.load_results(sys.argv[1])\n"
        "sys.stdout.write(found.report(command='destage report <runs>'))\n"
        "found.where(\"trace == 'web' and device == 'ecr'\")"
        ".save_figures(sys.argv[2], show='hit')\n"
    )
    made = []
    for seed in ("1", "2"):
        folder = store.parent / f"figures-{seed}"
        done = subprocess.run(
            [sys.executable, "-c", code, store, folder],
            capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        made.append((done.stdout, {p.name: p.read_bytes() for p in sorted(folder.iterdir())}))
    assert made[0] == made[1]
    assert made[0][0] == page_file.read_bytes()
    stems = {name.partition(".")[0] for name in made[0][1]}
    assert stems == {"curves-hit_ratio", "heat-hit_ratio", "spread-hit_ratio", "front"}
    for stem in stems:
        files = {n.partition(".")[2]: data for n, data in made[0][1].items() if n.startswith(stem)}
        assert set(files) == {"svg", "pdf", "png", "csv"}
        assert (files["pdf"][:4], files["pdf"][-5:]) == (b"%PDF", b"%%EOF")
        assert files["png"].startswith(b"\x89PNG")
        assert b"<svg" in files["svg"]


def test_figures_count_what_they_cannot_draw(found: ds.Results, tmp_path: Path) -> None:
    chosen = found.where("policy == 'frail.py:Frail' and device == 'ecr'")
    written = chosen.save_figures(tmp_path / "f", show="hit,waf")
    assert {p.suffix for p in written} == {".svg", ".pdf", ".png", ".csv"}
    lines = (tmp_path / "f" / "heat-hit_ratio.csv").read_text().splitlines()
    heads = lines[0].split(",")
    rows = [dict(zip(heads, line.split(","), strict=True)) for line in lines[1:]]
    gone = {r["cache"]: (int(r["failed"]) + int(r["missing"]), r["mean"]) for r in rows}
    assert gone["20%"] == (2, "")
    assert gone["2%"][1] != ""
    svg = (tmp_path / "f" / "heat-hit_ratio.svg").read_text()
    assert "\u00d7" in re.sub(r"failed, \?", "", svg.partition("<title")[0] + svg)


@pytest.mark.parametrize("width_in", [3.3, 7])
def test_figures_have_their_width_their_font_and_their_names(
    destage: Destage, store: Path, tmp_path: Path, width_in: float
) -> None:
    flags = ("--width", f"{width_in}in", "--font-size", "7", "--label", "lru=Recency")
    destage("report", store, "--figures", tmp_path / "f", "--show", "hit", *flags)
    made = sorted((tmp_path / "f").glob("*.svg"))
    assert [path.stem for path in made] == [
        "curves-hit_ratio", "front", "heat-hit_ratio", "spread-hit_ratio"
    ]  # fmt: skip
    for path in made:
        svg = path.read_text()
        width = re.search(r'<svg[^>]*? width="([0-9.]+)pt"', svg)
        assert width is not None
        assert float(width[1]) == pytest.approx(72 * width_in, abs=3)
        assert "Recency" in svg
        assert "lru<" not in svg
        assert 'font-size="7px"' in svg


def test_without_scripts_every_run_stands_in_a_table(page_file: Path, found: ds.Results) -> None:
    inner = page_file.read_text().rpartition("<noscript>")[2].partition("</noscript>")[0]
    assert inner.count("<tr>") == PLANNED + 1
    assert inner.count("<td>missing") == len(found.missing) > 0
    assert inner.count("<td>failed: RuntimeError") == len(found.failed) > 0


def test_what_a_name_holds_is_text(found: ds.Results) -> None:
    rows = [{**found.rows[0], "trace": "</script><b>&", "label": "x[a='<i>']"}]
    text = stored_page(rows, title="<img src=x>").partition("<script>")[0]
    assert "<img" not in text
    assert "</script><b>" not in text
    assert text.count("<i>") == 0


def test_the_command_draws_stores_and_nothing_else_with_them(
    destage: Destage, store: Path, tmp_path: Path
) -> None:
    done = destage("report", store, "-o", "p.html")
    assert done.status == 0, done
    assert done.err == "destage: p.html: opens offline in any browser\n"
    assert "destage report" in (tmp_path / "p.html").read_text()
    assert destage("report", store, "-o", "-").out.startswith("<!DOCTYPE html>")
    (tmp_path / "r.json").write_text(
        ds.compare(ds.synth("zipf", requests=50), "lru", cache="4p").to_json()
    )
    for words, status, told in (
        ((store, "r.json"), 2, "is not a result store"),
        (("r.json", "--where", "seed == 1"), 2, "--where is for stores"),
        ((store, "--where", "sed == 1"), 2, "unknown column 'sed', did you mean seed?"),
        ((store, "--where", "seed == 99"), 2, "there are no runs to draw"),
        ((store, "--show", "nosuch", "--figures", "f"), 2, "nosuch"),
    ):
        done = destage("report", *words)
        assert (done.status, told in done.err) == (status, True), done


def test_write_report_takes_what_load_results_gives(
    found: ds.Results, tmp_path: Path, page_file: Path
) -> None:
    ds.write_report(tmp_path / "w.html", found, command="destage report <runs>")
    assert (tmp_path / "w.html").read_bytes() == page_file.read_bytes()


# ---- In a browser


def ready(page: Page) -> None:
    page.wait("document.documentElement.dataset.ready === 'true'")
    page.ask("destageStore.drawn(true)")


def active(page: Page) -> str:
    """What has the focus: its text, or what it is called."""
    said = page.ask(
        "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
    )
    return str(said)


def tab_to(page: Page, told: str) -> None:
    """The tab key, until what has the focus is called so."""
    for _ in range(200):
        page.press("Tab")
        if told in active(page):
            return
    pytest.fail(f"the tab key never comes to {told!r}")


@in_a_browser
@pytest.mark.parametrize(
    ("dark", "width"), [(False, 1400), (True, 1400), (False, 390), (True, 390)]
)
def test_all_is_drawn_in_light_and_dark_wide_and_narrow(
    browser: Browser, page_file: Path, dark: bool, width: int
) -> None:
    with browser.page(page_file, dark=dark, width=width) as page:
        ready(page)
        assert len(page.each("#curves svg", "1")) == 4
        assert len(page.each("#heat svg", "1")) == 4
        assert len(page.each("#front svg", "1")) == 1
        assert len(page.each("#spread svg", "1")) == 4
        drawn = page.each(".vega svg", "e.outerHTML")
        assert len(drawn) == 13
        assert not [text for text in drawn if re.search("NaN|undefined|Infinity", text)]
        # Nothing goes on beyond the side of the screen.
        assert page.ask(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
        back = page.ask("getComputedStyle(document.body).backgroundColor")
        light = sum(map(int, re.findall(r"\d+", back)[:3])) > 382
        assert light != dark
        page.ask("document.getElementById('theme').click()")
        after = page.ask("getComputedStyle(document.body).backgroundColor")
        assert after != back
        assert page.complaints == []


@in_a_browser
def test_filters_work_from_the_keyboard_and_stay_in_the_address(
    browser: Browser, page_file: Path, found: ds.Results
) -> None:
    runs = [*found.rows, *found.missing]
    with browser.page(page_file) as page:
        ready(page)
        assert page.text("count") == f"{len(runs)} runs"
        tab_to(page, "Trace")
        page.press("Enter")
        assert page.ask("document.activeElement.getAttribute('aria-expanded')") == "true"
        for _ in range(3):
            page.press("Tab")
        page.press(" ")
        left = sum(run["trace"] != "mail" for run in runs)
        said = f"{left} runs of {len(runs)}"
        assert page.text("count") == said
        page.press("Escape")
        assert active(page).startswith("Trace web")
        assert page.ask("document.activeElement.getAttribute('aria-expanded')") == "false"
        assert len(page.each("#curves svg", "1")) == 2
        address = page.ask("location.hash")
        assert page.complaints == []
    with browser.page(page_file, hash=address) as page:
        ready(page)
        assert page.text("count") == said
        page.ask("document.getElementById('reset').click()")
        page.settle()
        assert page.text("count") == f"{len(runs)} runs"


@in_a_browser
def test_nothing_left_over_by_a_filter_is_said_and_not_an_error(
    browser: Browser, page_file: Path
) -> None:
    with browser.page(page_file, hash="#only.label=[]") as page:
        ready(page)
        assert page.text("where") == "No run is chosen."
        for place in ("curves", "heat", "front", "spread"):
            assert "No run that is chosen" in page.text(place)
        assert page.complaints == []


@in_a_browser
def test_a_run_opens_from_the_keyboard_with_all_its_numbers(
    browser: Browser, page_file: Path, found: ds.Results
) -> None:
    row = next(r for r in found.rows if r["status"] == "done" and r["device"] == "ecr")
    only = f'#only.seed=["{row["seed"]}"]&only.device=["ecr"]&only.trace=["{row["trace"]}"]'
    with browser.page(page_file, hash=only) as page:
        ready(page)
        tab_to(page, "Save as CSV")
        tab_to(page, str(found.rows[0]["label"]))
        page.press("Enter")
        assert page.ask("document.getElementById('run').open")
        text = page.ask("document.getElementById('run-body').textContent")
        shown = page.ask("document.getElementById('run-title').textContent")
        alike = [r for r in found.rows if r["id"] in text]
        assert len(alike) == 1
        assert shown == f"{alike[0]['label']}, {alike[0]['cache']}"
        assert f"{100 * alike[0]['hit_ratio']:.2f}\u00a0%" in text
        assert f"{alike[0]['physical_reads']:,}\u00a0pages" in text
        assert page.ask("document.querySelectorAll('#run-body svg path').length") > 3
        page.press("ArrowRight")
        assert page.ask("document.getElementById('run-body').textContent") != text
        page.press("Escape")
        assert not page.ask("document.getElementById('run').open")
        assert page.complaints == []


@in_a_browser
def test_arrow_keys_go_from_point_to_point_and_from_cell_to_cell(
    browser: Browser, page_file: Path
) -> None:
    with browser.page(page_file) as page:
        ready(page)
        tab_to(page, "Hit ratio over cache size")
        page.press("ArrowRight")
        first = page.ask("document.querySelector('.tip').textContent")
        page.press("ArrowRight")
        second = page.ask("document.querySelector('.tip').textContent")
        assert (first[:7], second[:7]) == ("lru, 2%", "lru, 5%")
        assert "lru, 5%" in page.ask("document.querySelector('.spoken').textContent")
        page.press("ArrowUp")
        assert not page.ask("document.querySelector('.tip').textContent").startswith("lru")
        page.press("Enter")
        listed = page.text("where")
        assert re.match(r"1 to \d of \d runs", listed)
        page.ask("document.querySelector('#heat .vega').focus()")
        found = []
        for key in ("ArrowRight", "ArrowDown", "ArrowRight"):
            page.press(key)
            found.append(page.ask("document.querySelector('.tip b').textContent"))
        assert len(set(found)) == 3
        assert [name.endswith(", 2%") for name in found] == [True, True, False]
        assert page.complaints == []


@in_a_browser
def test_one_run_has_its_own_words_and_a_mean_has_four_digits(
    browser: Browser, page_file: Path, found: ds.Results
) -> None:
    runs = found.where(
        "trace == 'web' and device is null and label == 'lru' and cache == '5%'"
    ).rows
    assert len(runs) == 2
    hits = [run["hit_ratio"] for run in runs]
    one = f'#only.seed=["{runs[0]["seed"]}"]'
    wanted = [f"{100 * hits[0]:.2f}", f"{100 * sum(hits) / 2:.4g}"]
    for hash, text in zip((one, "#"), wanted, strict=True):
        only = '&only.trace=["web"]&only.device=[""]&only.label=["lru"]'
        with browser.page(page_file, hash=hash + only) as page:
            ready(page)
            tab_to(page, "Hit ratio over cache size")
            for _ in range(2):
                page.press("ArrowRight")
            tip = page.ask("document.querySelector('.tip').textContent")
            assert tip.startswith(f"lru, 5%Hit ratio{text}\u00a0%")
            assert page.complaints == []


@in_a_browser
def test_contents_lead_to_sections_and_leave_the_filters(browser: Browser, page_file: Path) -> None:
    with browser.page(page_file, hash="#only.label=[%22lru%22]") as page:
        ready(page)
        count, address = page.text("count"), page.ask("location.hash")
        page.ask("[...document.querySelectorAll('.contents a')].at(-1).click()")
        page.settle()
        assert (page.text("count"), page.ask("location.hash")) == (count, address)
        assert page.ask("scrollY") > 0
        page.ask("document.querySelector('.legend [data-show=all]').click()")
        page.settle()
        assert page.ask("location.hash") == ""
        page.ask("document.querySelector('.legend [data-show=none]').click()")
        page.settle()
        assert page.text("where") == "No run is chosen."


@in_a_browser
def test_what_failed_is_missing_or_undefined_is_drawn_as_such(
    browser: Browser, page_file: Path, found: ds.Results
) -> None:
    def signs(page: Page, sign: str) -> set[tuple[str, str]]:
        """Policy and size of each cell of the heat maps that has this sign."""
        cells = page.each(
            "#heat .mark-text text",
            "e.__data__ && [e.textContent, e.__data__.datum.label, e.__data__.datum.cache]",
        )
        return {(label, cache) for text, label, cache in filter(None, cells) if text == sign}

    with browser.page(page_file) as page:
        ready(page)
        failed = signs(page, "\u2715")
        assert failed == {("frail.py:Frail", "20%")}
        gone = {(run["label"], run["cache"]) for run in found.missing}
        assert gone
        assert signs(page, "\u25e5") | signs(page, "?") | failed >= gone
        # p99 is a number of runs in front of a device alone.
        page.choose("metric", "response_ns_p99")
        page.ask("destageStore.drawn(true)")
        assert ("lru", "2%") in signs(page, "\u2013")
        assert "have no number here" in page.text("about")


@in_a_browser
def test_the_front_is_what_nobody_beats(browser: Browser, page_file: Path) -> None:
    code = """(() => {
      const S = destageStore, view = { x2: 'flash_writes', y2: 'hit_ratio' };
      const points = S.settings(S.every.filter((i) => S.raw('device', i) === ''), view);
      const front = S.front(points, view);
      return points.map((p) =>
        [p.x, p.y, p.whole && !p.offline, front.includes(p)]);
    })()"""
    with browser.page(page_file) as page:
        ready(page)
        points = page.ask(code)
    able = [(x, y) for x, y, may, _ in points if may]
    assert len(able) > 3
    assert len(able) < len(points)
    for x, y, may, on in points:
        beaten = may and any(a <= x and b >= y and (a, b) != (x, y) for a, b in able)
        assert on == (may and not beaten)


@in_a_browser
def test_five_thousand_runs_are_filtered_without_five_thousand_elements(
    browser: Browser, found: ds.Results, tmp_path: Path
) -> None:
    done = [r for r in found.rows if r["status"] == "done" and r["device"] == "ecr"]
    rows = [
        {**row, "seed": seed, "id": f"{row['id']}-{seed}"}
        for seed in range(1 + 5000 // len(done))
        for row in done
    ]
    assert len(rows) >= 5000
    path = tmp_path / "many.html"
    path.write_text(stored_page(rows, title="many"))
    with browser.page(path) as page:
        ready(page)
        assert page.text("count") == f"{len(rows):,} runs"
        assert len(page.each("#runs tbody tr", "1")) == 50
        # What the page draws grows with policies and sizes, not with runs.
        assert page.ask("document.querySelectorAll('*').length") < 3000
        page.ask("document.querySelectorAll('.facet input')[0].click()")
        page.settle()
        kept = page.text("count")
        first = sorted({r["trace"] for r in rows})[0]
        assert kept.startswith(f"{sum(r['trace'] != first for r in rows):,} runs of")
        page.ask("document.getElementById('behind').click()")
        assert page.text("where").startswith("51 to 100 of")
        heads = page.each("#runs th button", "e.textContent")
        place = heads.index("Hit ratio")
        page.ask(f"document.querySelectorAll('#runs th button')[{place}].click()")
        values = page.each("#runs tbody tr", f"Number(e.cells[{place}].textContent)")
        best = max(r["hit_ratio"] for r in rows if r["trace"] != first)
        assert values == sorted(values, reverse=True)
        assert values[0] == pytest.approx(100 * best, abs=0.006)
        assert page.complaints == []


AXES = """
[sweep]
traces = [{synth = "zipf", requests = 900, pages = 300}]
policies = ["lru", "arc"]
cache = ["5%"]
repeat = 2
devices = ["small"]
[sweep.device]
op_permille = [100, 70, 280]
[sweep.host]
queue_depth = [64, 8, 1]
[host]
mode = "closed"
[device]
precondition = "none"
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> ds.Results:
    """Runs of one cache size that differ in over-provisioning, queue depth and seed."""
    folder = tmp_path_factory.mktemp("axes")
    (folder / "s.toml").write_text(AXES)
    ds.sweep(folder / "s.toml", folder / "runs")
    return ds.load_results(folder / "runs")


def test_axes_are_keys_of_devices_then_what_else_runs_differ_in(swept: ds.Results) -> None:
    from destage.model.axes import axes_of

    found = axes_of(swept.rows)
    names = [axis.name for axis in found]
    assert names == ["device.op_permille", "queue_depth", "device", "seed"]
    assert set(found[0].column) == {"70", "100", "280"}
    assert set(found[0].rest) == {f"small[host.queue_depth={n}]" for n in (1, 8, 64)}
    assert set(found[1].rest) == {f"small[op_permille={n}]" for n in (70, 100, 280)}


@in_a_browser
def test_every_axis_of_a_sweep_goes_across_with_its_numbers_in_order(
    browser: Browser, swept: ds.Results, tmp_path: Path
) -> None:
    swept.report(tmp_path / "runs.html")
    panel = "#curves figure:first-child"
    across = f"{panel} .role-axis-label text"
    with browser.page(tmp_path / "runs.html", hash="#panels=each") as page:
        ready(page)
        assert page.each("#x option", "e.value") == [
            "device.op_permille",
            "queue_depth",
            "device",
            "seed",
        ]
        assert "iops" in page.each("#metric option", "e.value")
        over = (
            "document.querySelector('#curves').closest('section').querySelector('h3').textContent"
        )
        assert page.ask(over) == "Over op_permille"
        assert "Over op_permille" in page.each(".contents a", "e.textContent")
        # A panel for each queue depth: the device's other values are on the axis.
        assert page.each("#curves figcaption > span:first-child", "e.textContent") == [
            f"small[host.queue_depth={n}], queue depth {n}" for n in (1, 8, 64)
        ]
        # Titles are read in full: their ends are what differs.
        titles = "#curves figcaption > span:first-child"
        assert all(page.each(titles, "e.scrollWidth <= e.clientWidth"))
        assert page.each(across, "e.textContent")[:3] == ["70", "100", "280"]
    for x, ticks in (("queue_depth", ["1", "8", "64"]), ("seed", ["1", "2"])):
        with browser.page(tmp_path / "runs.html", hash=f"#metric=iops&x={x}") as page:
            ready(page)
            assert page.each(across, "e.textContent")[: len(ticks)] == ticks
            # Long names of devices break: nothing goes on beyond the side of the screen.
            assert page.ask(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            )
            assert page.complaints == []
    with browser.page(tmp_path / "runs.html", hash="#metric=iops&x=device&panels=") as page:
        ready(page)
        devices = page.each("#heat figure:first-child .role-axis-label text", "e.textContent")
        numbers = [tuple(map(int, re.findall(r"=(\d+)", d))) for d in devices if "[" in d]
        assert numbers == sorted(numbers)
        assert page.complaints == []


def test_numbers_within_names_are_sorted_as_numbers() -> None:
    from destage.model.settings import natural_order

    names = [f"small[op_permille={n}]" for n in (100, 50, 7)] + ["ecr", "small"]
    assert sorted(names, key=natural_order) == [
        "ecr",
        "small",
        "small[op_permille=7]",
        "small[op_permille=50]",
        "small[op_permille=100]",
    ]
