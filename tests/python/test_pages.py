"""The HTML pages in a browser: nothing loaded, no code made of text, tables without scripts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import MAIN

import destage as ds

pytest.importorskip("altair")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of everything: a comparison, curves, a profile, a run with a device over time."""
    from destage.questions.reports import write_report

    drive = ds.open_device("small")
    trace = ds.synth("zipf", requests=2000, pages=600, seed=3, read_ratio=0.5, page_size=4096)
    path = tmp_path_factory.mktemp("page") / "r.html"
    recorded = ds.run(trace, "ecr", cache="64p", device=drive, series=200, profile=True)
    write_report(
        path,
        [recorded.results, ds.compare(trace, "lru,cflru,min", cache="16p,64p")],
        traces=[trace],
        curves=[ds.mrc(trace, "lru,arc")],
        profiles=[trace.profile()],
        series=[recorded.series],
        command="destage run <script>",
    )
    return path


def policy_of(text: str) -> dict[str, list[str]]:
    (found,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    parts = [part.split() for part in found.replace("&#39;", "'").split(";")]
    return {part[0]: part[1:] for part in parts}


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_of_a_page_lets_nothing_in_and_only_its_own_scripts_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    policy = policy_of(text)
    assert policy["default-src"] == ["'none'"]
    for key in ("base-uri", "form-action"):
        assert policy[key] == ["'none'"]
    assert policy["script-src"] == [
        hash_of(s) for s in re.findall(r"<script>(.*?)</script>", text, re.S)
    ]
    assert policy["style-src-elem"] == [
        hash_of(s) for s in re.findall(r"<style>(.*?)</style>", text, re.S)
    ]
    assert "connect-src" not in policy
    assert not any("unsafe-eval" in v or "http" in v for values in policy.values() for v in values)
    assert not re.search(r"<[^>]+\son\w+=", text.partition("<script>")[0])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits are Linux's")
def test_where_nothing_can_be_drawn_only_the_drawing_is_lost(msr: Path, tmp_path: Path) -> None:
    """V8 wants tens of gigabytes of addresses, and ends the process that it is in."""
    words = ["compare", "small.csv", "-p", "lru", "-c", "4p", "--json", "r.json"]
    for more in (["--report", "r.html"], []):
        limited = 'ulimit -v 8000000; "$@"'
        if not more:
            # Another command that draws, beside its table.
            words = ["trace", "profile", "small.csv", "--figures", "f", "--csv", "p.csv"]
        done = subprocess.run(
            ["sh", "-c", limited, "sh", *MAIN, *words, *more],
            cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == 74, done
        assert "charts cannot be drawn" in done.stderr
        assert "small" in done.stdout
    assert '"runs"' in (tmp_path / "r.json").read_text()
    assert (tmp_path / "p.csv").stat().st_size > 100
    assert not (tmp_path / "r.html").exists()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits are Linux's")
def test_memory_that_is_not_to_be_had_ends_with_a_sentence(msr: Path, tmp_path: Path) -> None:
    """Neither SIGABRT nor a bug of ours; what is there already is not touched."""
    (tmp_path / "r.json").write_text("kept")
    words = ["compare", "small.csv", "-p", "lru", "-c", "4p", "-d", "tlc-nvme", "--json", "r.json"]
    words.append("--quiet")
    limited = 'ulimit -v 1200000 || exit 99; "$@"'
    done = subprocess.run(
        ["sh", "-c", limited, "sh", *MAIN, *words],
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    if done.returncode == 99:
        pytest.skip("no limit can be set here")
    assert done.returncode == 71, done
    assert done.stderr.startswith("destage: there is not enough memory for this: ")
    assert (done.stderr.count("\n"), done.stdout) == (1, "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "small.csv"]
    assert (tmp_path / "r.json").read_text() == "kept"


def test_every_page_has_a_policy(tmp_path: Path) -> None:
    folder = Path(ds.__file__).parent / "templates"
    pages = sorted(folder.glob("*.html.j2"))
    assert len(pages) >= 3
    for template in pages:
        text = template.read_text()
        if template.name == "macros.html.j2" or text.startswith('{% extends "page.html.j2" %}'):
            assert "<html" not in text, template
        else:
            assert 'http-equiv="Content-Security-Policy"' in text, template


def dom(page: Path, folder: Path, *, scripts: bool) -> str:
    """The page as Chromium has it when all is quiet; what it complained of is an error."""
    profile = folder / ("with" if scripts else "without")
    (profile / "Default").mkdir(parents=True)
    setting = {"profile": {"default_content_setting_values": {"javascript": 1 if scripts else 2}}}
    (profile / "Default" / "Preferences").write_text(json.dumps(setting))
    done = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=60000",
            "--enable-logging=stderr",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        timeout=300,
        check=True,
    )
    said = done.stderr.decode(errors="replace")
    assert "CONSOLE" not in said, said
    return done.stdout.decode()


@in_a_browser
def test_every_chart_is_drawn_under_the_policy(page: Path, tmp_path: Path) -> None:
    drawn = dom(page, tmp_path, scripts=True)
    places = re.findall(r'<div class="vega[^"]*" id="[^"]+"[^>]*>(.{0,120})', drawn, re.S)
    assert len(places) > 15
    assert all("<svg" in place for place in places)


@in_a_browser
def test_a_script_that_is_not_the_page_s_own_does_not_run(page: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.html"
    text = page.read_text(encoding="utf-8")
    changed.write_text(text.replace("<main>", "<main><script>document.title = 'seized'</script>"))
    profile = tmp_path / "p"
    done = subprocess.run(
        [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={profile}", "--dump-dom", changed.as_uri()],
        capture_output=True, timeout=300, check=True,
    )  # fmt: skip
    assert "<title>seized" not in done.stdout.decode()
    assert "Content Security Policy" in done.stderr.decode(errors="replace")


@in_a_browser
def test_without_scripts_the_numbers_stand_in_tables(page: Path, tmp_path: Path) -> None:
    shown = dom(page, tmp_path, scripts=False)
    assert "<svg" not in shown.partition("<main>")[2].partition('class="chip"')[0]
    # Parsed as elements and not as the text of a noscript.
    assert "The charts need JavaScript." in shown
    assert shown.count('<table class="data points">') > 8
    assert shown.count('<table class="data sorts">') == 2
