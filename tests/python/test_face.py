"""What the package looks like from a prompt and a notebook: names, cards, frames, mistakes."""

from __future__ import annotations

import gzip
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
from conftest import Destage
from test_docs import PAGES, commands

import destage as ds


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=3000, pages=400, read_ratio=0.5, seed=3)


@pytest.fixture(scope="module")
def results(trace: ds.Trace) -> ds.Results:
    return ds.compare(trace, "lru,ecr", cache="10%", device="small")


def test_the_package_has_the_api_and_nothing_else() -> None:
    assert dir(ds) == sorted(ds.__all__)
    for name in ds.__all__:
        assert getattr(ds, name) is not None, name
        assert name == "__version__" or not isinstance(getattr(ds, name), type(sys)), name


def test_calls_stay_calls_when_modules_of_their_name_are_imported() -> None:
    code = (
        "import destage.fit.fitting, destage.doctor.finding, destage as ds\n"
        "assert callable(ds.fit)\n"
        "assert callable(ds.doctor)\n"
        "from destage import *\n"
        "assert compare is ds.compare\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_package_imports_nothing_of_it() -> None:
    code = "import sys, destage; print([m for m in sys.modules if m.startswith('destage.')])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert done.stdout.decode().strip() == "[]"


def test_a_name_that_there_is_not_leads_to_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean 'compare'"):
        ds.comapre  # type: ignore[attr-defined]  # noqa: B018


class _Balanced(HTMLParser):
    """Raises where tags do not close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_things_show_themselves_in_a_few_lines_and_as_cards(
    trace: ds.Trace, results: ds.Results
) -> None:
    recorded = ds.run(trace, "lru", cache="10%", device="small", series=1000)
    drive = ds.open_device("small")
    for thing, first, said in (
        (results[0], "Run of lru: synth zipf, cache 10% = ", "WAF"),
        (trace, "Trace synth zipf", "3,000 (49.8 % reads)"),
        (drive, "Device small", "16 GiB = 4,194,304 pages of 4,096 bytes"),
        (recorded, "Run of lru: synth zipf", "3 periods"),
    ):
        text = repr(thing)
        assert text.startswith(first)
        assert said in text
        assert 4 <= len(text.splitlines()) <= 14, text
        assert max(map(len, text.splitlines())) <= 100
        page = _Balanced()
        page.feed(thing._repr_html_())
        assert not page.open


def test_cards_escape_what_a_file_is_called(tmp_path: Path, msr: Path) -> None:
    odd = tmp_path / "<b>&.csv"
    odd.write_bytes(msr.read_bytes())
    card = ds.open_trace(odd)._repr_html_()
    assert "&lt;b&gt;&amp;.csv" in card
    assert "<b>&" not in card


def test_a_run_gives_its_numbers_at_first_hand(trace: ds.Trace) -> None:
    recorded = ds.run(trace, "lru", cache="10%", device="small")
    assert recorded.hit_ratio == recorded.run.hit_ratio
    assert recorded["p99.9"] == recorded.run["response_ns_p999"]
    assert recorded.metrics is recorded.run.metrics
    with pytest.raises(AttributeError, match="neither Recorded nor its Run"):
        recorded.hit_ration  # noqa: B018


def test_frames_take_results_as_they_are(results: ds.Results, trace: ds.Trace) -> None:
    pl = pytest.importorskip("polars")
    assert pl.DataFrame(results).equals(results.to_polars())
    curves = ds.mrc(trace, "lru,arc", cache="1%,10%")
    assert pl.DataFrame(curves).equals(curves.to_polars())
    assert "arrow_array_stream" in repr(results.__arrow_c_stream__())


def test_duckdb_takes_results_as_they_are(results: ds.Results) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs the extra sql")
    found = duckdb.sql("select label, hit_ratio from results").fetchall()
    assert found == [(r.label, r.hit_ratio) for r in results]
    best = duckdb.sql("select label from results order by response_ns_p999 limit 1").fetchall()
    assert best == [(min(results, key=lambda r: r["p99.9"]).label,)]


def test_results_are_a_sequence_in_all_but_name(results: ds.Results) -> None:
    first, last = results
    assert list(reversed(results)) == [last, first]
    assert first in results
    assert results.index(last) == 1
    assert results[-1] is last
    assert list(results[:1]) == [first]


def test_results_are_html(results: ds.Results, tmp_path: Path) -> None:
    text = results.to_html(tmp_path / "t.html")
    assert (tmp_path / "t.html").read_text(encoding="utf-8") == text
    page = _Balanced()
    page.feed(text)
    assert not page.open
    assert text.count("<tr>") == 1 + len(results)


def test_arguments_in_the_wrong_order_are_told_so(trace: ds.Trace, results: ds.Results) -> None:
    wrong = "the arguments are in the wrong order"
    for call in (
        lambda: ds.compare("lru", trace),  # type: ignore[arg-type]
        lambda: ds.run("lru", trace, cache="10%"),  # type: ignore[arg-type]
        lambda: ds.mrc("lru", trace),  # type: ignore[arg-type]
        lambda: ds.plan("lru", trace),  # type: ignore[arg-type]
        lambda: ds.tune("clc", trace, {"alpha": "0,1"}),  # type: ignore[arg-type]
        lambda: ds.write_report(results, "x.html"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ds.UsageError, match=wrong):
            call()
    with pytest.raises(ds.UsageError, match=r"open it first, open_trace\('x.csv'\)"):
        ds.compare("x.csv", "lru")  # type: ignore[arg-type]


#: A request far out: 11 GiB behind the first, which no small device has.
FAR = "128166372010000000,demo,0,Write,12000000000,4096,2310\n"


def printed() -> list[list[str]]:
    """Every command line with a device, of the pages and of the help of each command."""
    from destage.cli.root import root

    found = [words for page in PAGES for words in commands(page)]
    todo: list[click.Command] = [root]
    while todo:
        command = todo.pop()
        if isinstance(command, click.Group):
            ctx = click.Context(command)
            subs = [command.get_command(ctx, name) for name in command.list_commands(ctx)]
            todo += [sub for sub in subs if sub is not None]
        text = (command.epilog or "").replace("\\\n", " ")
        lines = [line.strip() for line in text.splitlines()]
        # What goes on into a pipe or a file is a command up to there.
        found += [
            shlex.split(line.split(" | ")[0].split(" > ")[0], comments=True)
            for line in lines
            if line.startswith("destage ")
        ]
    unique = {shlex.join(words): words for words in found}
    # `serve` runs until it is told to stop: test_serve_device.py has its command.
    return [w for w in unique.values() if {"-d", "--device"} & set(w) and w[1] != "serve"]


@pytest.mark.parametrize("words", printed(), ids=lambda words: shlex.join(words[1:])[:60])
def test_every_printed_command_with_a_drive_runs_as_printed(
    words: list[str], destage: Destage, msr: Path, tmp_path: Path
) -> None:
    pytest.importorskip("altair")
    lines = msr.read_text() + FAR
    for name in ("TRACE", "my_trace.csv.gz", "hm_0.csv.gz"):
        content = lines.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    (tmp_path / "my.toml").write_text('[device]\npreset = "small"\n')
    done = destage(*words[1:])
    assert done.status == 0, (words, done)


def test_an_error_calls_a_trace_or_a_drive_by_one_line(msr: Path) -> None:
    trace = ds.open_trace(msr)
    for wrong in (
        lambda: ds.open_trace(trace),  # type: ignore[arg-type]
        lambda: ds.open_device(trace),  # type: ignore[arg-type]
        lambda: ds.compare(ds.open_device("small"), "lru"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ds.UsageError) as raised:
            wrong()
        assert "\n" not in str(raised.value)
        assert re.search("got (Trace small.csv|Device small)", str(raised.value))
