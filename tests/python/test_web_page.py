"""The page that runs Destage in a browser gives the command's numbers, and works by keyboard."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser, Page, opened
from conftest import ROOT

import destage as ds

BUILT = ROOT / "docs" / "_build" / "page"
INDEX = BUILT / "index.html"
SAMPLES = {"oltp": "oltp.csv.xz", "scan": "scan.csv.gz", "loop": "loop.csv.zst"}
POLICIES = "lru,fifo,arc,s3-fifo,cflru[window_fraction=0.75],min"
POINT = ("frames", "accesses", "misses", "read_misses", "physical_reads", "physical_writes")

built = pytest.mark.skipif(not INDEX.is_file(), reason="the page is not built: make page")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as made:
        yield made


def ready(page: Page) -> None:
    page.wait("document.getElementById('lab').ariaBusy === 'false'")


def finished(page: Page) -> None:
    """Until the runs have ended, and the sentence is there."""
    page.wait(
        "document.getElementById('lab-state').textContent === 'Done.'"
        " || !document.getElementById('lab-run-error').hidden"
    )
    assert page.text("lab-run-error") == ""


def points(page: Page) -> dict[tuple[str, int], dict[str, Any]]:
    """The rows that the page shows, by policy and frames."""
    run = page.ask("destagePage.state.run")
    return {(run["labels"][row["policy"]], row["frames"]): row for row in run["rows"]}


def of_command(command: str, folder: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """The points of `destage mrc`, as its JSON has them."""
    words = shlex.split(command)
    assert words[:2] == ["destage", "mrc"]
    done = subprocess.run(
        [sys.executable, "-m", "destage", *words[1:], "--json", "-"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    curves = json.loads(done.stdout)["mrc"]["curves"]
    return {(c["label"], p["frames"]): p for c in curves for p in c["points"]}


def give(page: Page, *paths: Path) -> None:
    """Choose files, as the dialogue would."""
    page.call("DOM.enable")
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    found = page.call("DOM.querySelector", nodeId=root, selector="#lab-file")
    page.ask("destagePage.state.facts = null")
    page.ask("document.getElementById('lab-trace-error').hidden = true")
    page.call("DOM.setFileInputFiles", nodeId=found["nodeId"], files=[str(p) for p in paths])
    page.wait(
        "destagePage.state.facts !== null || !document.getElementById('lab-trace-error').hidden"
    )


@built
@in_a_browser
@pytest.mark.parametrize("name", SAMPLES)
def test_six_policies_have_the_numbers_of_the_command_that_the_page_shows(
    browser: Browser, name: str
) -> None:
    asked = f"?trace={name}&policies={POLICIES}"
    with browser.page(INDEX, hash=asked) as page:
        ready(page)
        finished(page)
        found, command = points(page), page.text("lab-command")
        cells = "[...e.children].map((c) => c.textContent)"
        hits, writes = (page.each(f"#lab-table-{t} tbody tr", cells) for t in ("hits", "writes"))
        complaints = page.complaints
    expected = of_command(command, BUILT / "samples")
    assert len(expected) == 6 * 8
    assert {key: [row[k] for k in POINT] for key, row in found.items()} == {
        key: [row[k] for k in POINT] for key, row in expected.items()
    }
    labels = list(dict.fromkeys(label for label, _ in expected))
    for hit, written in zip(hits, writes, strict=True):
        here = [expected[label, int(hit[1].replace(",", ""))] for label in labels]
        assert hit[3:] == [f"{100 * (1 - p['miss_ratio']):.2f}" for p in here]
        assert written[3:] == [f"{p['physical_writes']:,}" for p in here]
    assert complaints == []


@built
@in_a_browser
def test_the_sentence_follows_from_a_run_at_twice_the_size(browser: Browser) -> None:
    with browser.page(INDEX, hash="?trace=scan&policies=lru,2q,min&cache=5%25,10%25") as page:
        ready(page)
        finished(page)
        told = page.text("lab-verdict")
        size = int(page.ask("document.getElementById('lab-size').value")[:-1])
    command = f"destage mrc {SAMPLES['scan']} -p lru,2q,min -c {size}p,{2 * size}p"
    found = of_command(command, BUILT / "samples")
    at = {key: 100 * (1 - point["miss_ratio"]) for key, point in found.items()}
    best = max(("lru", "2q"), key=lambda policy: at[policy, size])
    now, bound, twice = at[best, size], at["min", size], at[best, 2 * size]
    assert f"{best} is the best of these policies and hits {now:.2f} %" in told
    assert (
        f"MIN, which uses future accesses, hits {bound:.2f} %: {bound - now:.1f} points more"
        in told
    )
    assert f"Twice the cache gives {best} {twice - now:.1f} points more" in told
    by = "Policy:" if bound > twice else "Working set:"
    assert told.startswith(by if abs(bound - twice) >= 1 else "Both:"), told


@built
@in_a_browser
def test_files_are_read_as_the_command_reads_them(browser: Browser) -> None:
    """Every sample of a format, as it is stored; and one in each compression."""
    data = sorted(p for p in (ROOT / "tests" / "data").iterdir() if p.is_file())
    read = {}
    for path in data:
        try:
            read[path] = ds.open_trace(path, cache=False).fingerprint
        except ds.DestageError as error:
            read[path] = str(error).splitlines()[0]
    assert sum(len(told) == 32 for told in read.values()) >= 30
    with browser.page(INDEX) as page:
        ready(page)
        for path, told in read.items():
            if path.suffix in (".0", ".1"):
                continue  # one trace in two files: below
            give(page, path)
            facts = page.ask("destagePage.state.facts")
            if len(told) == 32:
                assert facts is not None, f"{path.name}: {page.text('lab-trace-error')}"
                assert facts["fingerprint"] == told, path.name
            else:
                why = page.text("lab-trace-error")
                assert facts is None, path.name
                assert why.splitlines()[0] == told.replace(str(path), path.name)
        both = [path for path in data if path.suffix in (".0", ".1")]
        give(page, *both)
        assert page.ask("destagePage.state.facts.fingerprint") == read[both[0]]
        for name in SAMPLES.values():
            path = BUILT / "samples" / name
            give(page, path)
            expected = ds.open_trace(path, cache=False).fingerprint
            assert page.ask("destagePage.state.facts.fingerprint") == expected, name
        assert page.complaints == []


@built
@in_a_browser
def test_options_and_mistakes_are_those_of_the_command(browser: Browser) -> None:
    sample = ROOT / "tests" / "data" / "msr.csv"
    with browser.page(INDEX) as page:
        ready(page)
        page.ask("document.getElementById('lab-options').value = '--format mrs'")
        give(page, sample)
        assert "did you mean msr?" in page.text("lab-trace-error")
        page.ask("document.getElementById('lab-options').value = ''")
        page.ask("document.getElementById('lab-page-size').value = '16KiB'")
        page.ask("document.getElementById('lab-again').click()")
        page.wait("destagePage.state.facts !== null")
        assert page.ask("destagePage.state.facts.page_bytes") == 16384
        for name, text, told in (
            ("policies", "lrru", "did you mean lru?"),
            ("policies", "ecr", "device"),
            ("cache", "32", "the unit is missing"),
        ):
            before = page.ask(f"document.getElementById('lab-{name}').value")
            page.ask(f"document.getElementById('lab-{name}').value = '{text}'")
            page.ask("document.getElementById('lab-run').click()")
            page.wait("!document.getElementById('lab-run-error').hidden")
            assert told in page.text("lab-run-error"), text
            page.wait("!document.getElementById('lab-run').disabled")
            page.ask(f"document.getElementById('lab-{name}').value = '{before}'")
        page.ask("document.getElementById('lab-cache').value = '50%'")
        page.ask("document.getElementById('lab-run').click()")
        finished(page)
        assert "--page-size 16KiB" in page.text("lab-command")
        assert page.complaints == []


@built
@in_a_browser
def test_a_run_that_was_stopped_can_be_begun_again(browser: Browser) -> None:
    press = "document.getElementById('lab-{}').click()"
    with browser.page(INDEX) as page:
        ready(page)
        give(page, ROOT / "python" / "destage" / "data" / "pgtpcb_first400k.csv.xz")
        page.ask("document.getElementById('lab-policies').value = 'hyperbolic,min'")
        page.ask(press.format("run"))
        page.wait("document.getElementById('lab-progress').value > 0")
        page.ask(press.format("stop"))
        page.wait("!document.getElementById('lab-run').disabled")
        assert page.text("lab-state") == "Stopped."
        assert page.ask("document.getElementById('lab-results').hidden")
        page.ask("document.getElementById('lab-policies').value = 'lru'")
        page.ask("document.getElementById('lab-cache').value = '1%'")
        page.ask(press.format("run"))
        finished(page)
        assert [row["misses"] for row in points(page).values()] == [990_513]
        assert page.complaints == []


@built
@in_a_browser
@pytest.mark.parametrize("policy", ["lru", "arc", "clock", "s3-fifo", "cflru", "2q"])
def test_steps_are_those_of_a_cache_in_python(browser: Browser, policy: str) -> None:
    with browser.page(INDEX) as page:
        ready(page)
        page.choose("lab-step-policy", policy)
        page.wait("destagePage.state.steps?.label === " + json.dumps(policy))
        steps = page.ask("destagePage.state.steps.steps")
        lists = page.each("#lab-lists > b", "e.textContent")
    cache = ds.Cache(policy, frames=4)
    for step in steps:
        found = cache.access(step["page"], write=step["op"] == "w")
        result = "hit" if found.hit else "miss" if found.admitted else "bypass"
        assert step["result"] == result, step
        assert (tuple(step["evicted"]), tuple(step["destaged"])) == (found.evicted, found.destaged)
        assert step["dirty"] == sorted(cache.dirty)
        assert [list(pair) for pair in plain(step["lists"])] == [
            [name, part] for name, part in cache.lists.items()
        ]
    assert [name.replace("_", " ") for name in cache.lists] == lists[: len(cache.lists)]


def plain(lists: Any) -> Any:
    """Pages as their numbers."""
    if isinstance(lists, dict):
        return lists["page"]
    return [plain(part) for part in lists] if isinstance(lists, list) else lists


@built
@in_a_browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_keyboard_and_a_phone_are_enough(browser: Browser, dark: bool) -> None:
    with browser.page(INDEX, width=400, dark=dark) as page:
        ready(page)
        tab_to(page, "lab-sample-loop")
        page.press("Enter")
        page.wait("!document.getElementById('lab-run').disabled")
        tab_to(page, "lab-cache")
        page.call("Input.insertText", text="10%,50%")
        page.press("Enter")
        finished(page)
        assert page.text("lab-command").endswith("-c 10%,50%")
        tab_to(page, "lab-step-begin")
        page.press("Enter")
        page.wait("!document.getElementById('lab-stepper').hidden")
        tab_to(page, "lab-at")
        page.press("ArrowRight")
        page.press("ArrowRight")
        assert page.text("lab-said").startswith("Access 3 of 18: read 3, a miss.")
        assert page.ask("document.documentElement.scrollWidth") <= 400
        assert page.each("#lab-hits svg, #lab-writes svg", "e.getAttribute('role')") == ["img"] * 2
        unnamed = page.each(
            "#lab input, #lab select, #lab button",
            "e.labels?.length || e.textContent || e.title ? null : e.outerHTML",
        )
        assert [one for one in unnamed if one] == []
        assert page.complaints == []


def tab_to(page: Page, place: str) -> None:
    for _ in range(80):
        if page.ask("document.activeElement?.id") == place:
            return
        page.press("Tab")
    raise AssertionError(f"no Tab leads to {place}")


@built
@in_a_browser
def test_a_file_server_is_enough_and_nothing_leaves_the_machine(browser: Browser) -> None:
    handler = partial(Quiet, directory=str(BUILT))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        try:
            with browser.page(INDEX) as page:
                page.call("Page.navigate", url=f"{address}index.html?trace=loop&policies=lru,min")
                page.wait(f"location.href.startsWith('{address}') && self.destagePage")
                ready(page)
                finished(page)
                entries = "performance.getEntriesByType('resource').map((e) => e.name)"
                names = page.ask(entries)
        finally:
            server.shutdown()
    outside = [n for n in names if not n.startswith((address, f"blob:{address}", "data:"))]
    assert any(name.endswith("engine.js") for name in names)
    assert outside == []


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


TASKS = tomllib.loads((ROOT / "docs/site/browser/tasks.toml").read_text(encoding="utf-8"))["task"]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples of the page, made as its build makes them."""
    folder = tmp_path_factory.mktemp("samples")
    made = f"import browser_page, pathlib; browser_page.samples(pathlib.Path({str(folder)!r}))"
    command = [sys.executable, "-c", made]
    subprocess.run(command, cwd=ROOT / "docs" / "site", check=True)
    return folder


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task["task"].partition(".")[0])
def test_a_solution_states_what_is_computed(samples: Path, task: dict[str, Any]) -> None:
    stated = 0
    if "command" in task:
        found = of_command(task["command"], samples)
        for key, value in task["expect"].items():
            name, _, frames = key.rpartition("@")
            point = found[name.removeprefix("w "), int(frames)]
            hits = f"{100 * (1 - point['miss_ratio']):.2f}"
            assert value == (str(point["physical_writes"]) if name.startswith("w ") else hits), key
            stated += 1
    for policy, frames, accesses, hits, writes in task.get("steps", ()):
        cache = ds.Cache(policy, frames=frames)
        steps = [cache.access(int(a[1:]), write=a[0] == "w") for a in accesses.split()]
        assert sum(step.hit for step in steps) == hits, (policy, frames)
        assert sum(len(step.destaged) for step in steps) == writes, (policy, frames)
        stated += 1
    assert stated > 0


def test_there_are_ten_exercises_and_their_presets_are_on_the_page() -> None:
    assert len(TASKS) == 10
    script = (ROOT / "docs/site/browser/browser.js").read_text(encoding="utf-8")
    of_presets = ("A scan", "Clean pages first")
    for task in TASKS:
        if task["task"].partition(".")[0] in of_presets:
            assert f'"{task["steps"][0][2]}"' in script


def test_what_the_build_lacks_is_named_with_what_to_type(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "site" / "browser_page.py")],
        env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    for part in ("page: not built", "rustup target add wasm32-unknown-unknown", "install clang"):
        assert part in done.stderr
