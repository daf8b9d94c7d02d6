"""Loads that are recognised, checked and refused, and small evaluations from end to end."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, opened
from click.testing import CliRunner
from conftest import Destage
from msgspec.structs import replace

import destage as ds
from destage.cli.root import root
from destage.experiment.experiment import Experiment
from destage.reproduce import Options, evaluate, load_paper, paper, papers_of, reproduce
from destage.reproduce.claims import Paper
from destage.reproduce.document import command, document
from destage.reproduce.evaluation import Evaluation, seeds_of
from destage.reproduce.first_screen import scaled_note
from destage.reproduce.pages import behind, html, page_of, write
from destage.reproduce.panels import svg
from destage.reproduce.published import Catalogue, catalogue, fits, load_catalogue, requests_of
from destage.reproduce.runs import MissingRuns
from destage.reproduce.sums import sums
from destage.reproduce.workloads import Loads

CATALOGUE = """
schema = 1
[source.here]
get = "the shelf"
cite = "Nobody, 2026"
[trace.vol_0]
source = "here"
title = "a volume"
files = ["vol_0.csv"]
counts = { requests = 300, write_ratio = 0.2667 }
published = "a table"
seconds = 30
standin = { pages = 500, alpha = 1.0, cluster_pages = 4, log_share = 0.1, log_page_share = 0.1, burst = 3, burst_gap_us = 100 }
assumed = { mean_kib = 8.0 }
ours = "everything else"
[recording.own]
title = "ours"
files = ["own.csv"]
requests = 300
"""  # noqa: E501

TURNED = """
[[claim]]
id = "all"
where = "figure 1"
says = "Every access counts."
[claim.check]
kind = "compare"
runs = "counts"
metric = "accesses"
of = "LRU"
expect = ">=600"
"""

FAITHFUL = """
[faithful]
readings = ["The warm-up is not counted."]
warmup = "50%"
"""

PAPER = """
schema = 1
[paper]
name = "tiny"
title = "A tiny paper"
cite = "Nobody, 2026"
question = "Who hits more often?"
differs = ["It is a test."]
[policies]
LRU = "lru"
ARC = "arc"
[[workload]]
name = "zipf"
synth = { kind = "zipf", requests = 2000, pages = 300, size = "1", gap_ns = 100_000 }
vary = { key = "alpha", axis = "skew", at = { "0.5" = 0.5, "1" = 1.0 } }
note = "a test's"
[[runs]]
id = "counts"
workloads = ["zipf"]
policies = ["LRU", "ARC"]
cache = ["16p", "64p"]
cost = "read=1,write=2"
[[runs]]
id = "timed"
devices = { SSD = "acr[read_ns=1000;program_ns=5000]", slow = "acr[read_ns=9000;program_ns=45000]" }
workloads = ["zipf 1"]
policies = ["LRU", "ARC"]
cache = ["64p"]
[[figure]]
id = "f1"
where = "figure 1"
title = "Hits"
runs = "counts"
metric = "hit_ratio"
mark = "line"
x = "cache"
panels = "workload"
[[figure]]
id = "t1"
where = "table 1"
title = "Responses"
runs = "timed"
mark = "table"
columns = { mean = "response_ns_mean" }
x = "workload"
series = "policy"
[[claim]]
id = "more"
where = "figure 1"
says = "More cache, more hits."
headline = true
[claim.check]
kind = "trend"
runs = "counts"
metric = "hit_ratio"
of = ["LRU", "ARC"]
along = "cache"
expect = "rises"
[[claim]]
id = "never"
where = "figure 1"
says = "ARC misses always."
[claim.check]
kind = "compare"
runs = "counts"
metric = "hit_ratio"
of = "ARC"
expect = "<=0"
[[claim]]
id = "fast"
where = "table 1"
says = "Everything takes time."
[claim.check]
kind = "compare"
runs = "timed"
metric = "response_ns_mean"
of = ["LRU", "ARC"]
expect = ">0"
[[claim]]
id = "slower"
where = "table 1"
says = "The slow device is slower."
[claim.check]
kind = "trend"
runs = "timed"
metric = "response_ns_mean"
of = ["LRU", "ARC"]
along = "device"
expect = "rises"
[[sensitivity]]
knob = "warm-up"
about = "What is not counted."
claims = ["more"]
values = { none = {}, half = { warmup = "50%" } }
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Paper:
    path = tmp_path / "tiny.toml"
    path.write_text(PAPER)
    return load_paper(path)


@pytest.fixture
def shelf(tmp_path: Path, msr: Path) -> Path:
    """A folder with an original: 300 requests, 80 of them writes."""
    folder = tmp_path / "shelf" / "below"
    folder.mkdir(parents=True)
    msr.rename(folder / "vol_0.csv")
    return tmp_path / "shelf"


def loads_of(tmp_path: Path, folder: Path | None) -> Loads:
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE)
    return Loads(traces=folder, catalogue_=load_catalogue(path))


def any_paper() -> Paper:
    return replace(paper("acr"), workloads=())


def test_an_original_is_recognised_by_name_in_any_folder(tmp_path: Path, shelf: Path) -> None:
    loads = loads_of(tmp_path, shelf)
    load = loads.load("vol_0", any_paper())
    assert load.kind == "original"
    trace = loads.open(load, seed=1)
    assert trace.requests == 300
    has = {row.what: row.has for row in loads.fits["vol_0"]}
    assert has["requests"] == 300
    assert not load.random


def test_an_original_that_was_compressed_is_recognised(tmp_path: Path, shelf: Path) -> None:
    import gzip

    plain = shelf / "below" / "vol_0.csv"
    (shelf / "VOL_0.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    loads = loads_of(tmp_path, shelf)
    load = loads.load("vol_0", any_paper())
    assert load.kind == "original"
    assert loads.open(load, seed=1).requests == 300


def test_a_damaged_or_wrong_original_is_refused_with_the_counts(
    tmp_path: Path, shelf: Path
) -> None:
    file = shelf / "below" / "vol_0.csv"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:250]))
    loads = loads_of(tmp_path, shelf)
    with pytest.raises(ds.DataError) as error:
        loads.open(loads.load("vol_0", any_paper()), seed=1)
    text = str(error.value)
    assert "vol_0.csv: this is not a volume, or it is damaged" in text
    assert "found requests 250" in text
    assert "expected requests 300; write_ratio 0.2667 (a table)" in text
    # As many requests, but of another volume: all of them write.
    file.write_text("".join(line.replace("Read", "Write") for line in lines))
    with pytest.raises(ds.DataError, match=r"write_ratio 1; *expected|found requests 300"):
        loads_of(tmp_path, shelf).open(loads.load("vol_0", any_paper()), seed=1)
    # A line that is cut off is the reader's to refuse.
    file.write_text("".join(lines)[:-30])
    with pytest.raises(ds.DataError, match=r"vol_0\.csv"):
        loads_of(tmp_path, shelf).open(loads.load("vol_0", any_paper()), seed=1)


@pytest.mark.parametrize("papers", [["ecr"], ["acr", "ecr"]])
def test_an_original_of_no_known_format_is_refused_before_anything_runs(
    papers: list[str], tmp_path: Path, destage: Destage
) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "prxy_0.csv").write_text("garbage\n")
    asked = [*papers, "--scale", "0.001", "--traces", str(tmp_path / "traces")]
    done = destage("reproduce", *asked, "--out", tmp_path / "results")
    said = done.err
    assert done.status == 65
    assert 'prxy_0.csv: no format fits: its first line is "garbage"' in said
    assert "by its name it is MSR Cambridge prxy_0" in said
    assert "--format" not in said, "reproduce has no such flag"
    assert not re.search(r"(acr|ecr) \d+/", said), "no comparison was begun"
    assert not (tmp_path / "results").exists()


def test_two_files_of_one_name_are_an_error_that_names_both(tmp_path: Path, shelf: Path) -> None:
    (shelf / "vol_0.csv").write_text((shelf / "below" / "vol_0.csv").read_text())
    with pytest.raises(ds.DataError, match=r"expected one file, found .*vol_0\.csv, .*vol_0\.csv"):
        loads_of(tmp_path, shelf).load("vol_0", any_paper())


def test_a_missing_original_has_a_stand_in_that_says_so(tmp_path: Path) -> None:
    loads = loads_of(tmp_path, None)
    load = loads.load("vol_0", any_paper())
    assert (load.kind, load.note) == ("surrogate", "available from the shelf")
    catalogued = loads.catalogue.traces["vol_0"]
    trace = loads.open(load, seed=1)
    # So small a trace is made longer: what is asked for less than a thousand requests is nothing.
    assert trace.requests == 1000
    rows = {row.what: row for row in fits(catalogued, trace.info(), 1.0, trace.page_bytes)}
    assert rows["write_ratio"].published == 0.2667
    assert rows["write_ratio"].has == pytest.approx(0.2667, abs=0.06)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ds.MissingFile, match="there is no such folder"):
        Loads(traces=tmp_path / "none")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("requests = 300, write", "request = 300, write", "request: there is no such key"),
        ('source = "here"', 'source = "there"', "source: expected one of here, found 'there'"),
        ("alpha = 1.0, ", "", "standin.alpha: expected a number, found nothing"),
    ],
)
def test_a_wrong_catalogue_is_an_error_with_the_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE.replace(old, new, 1))
    with pytest.raises(ds.DataError) as error:
        load_catalogue(path)
    assert message in str(error.value)


def test_stand_ins_have_the_published_counts() -> None:
    loads = Loads(scale=0.01)
    for name in ("hm_0", "proj_0", "Fin2", "F1"):
        spec = catalogue().traces[name]
        info = loads.open(loads.load(name, any_paper()), seed=3).info()
        assert info.requests == requests_of(spec, 0.01)
        writes = 1 - info.read_share
        assert writes == pytest.approx(spec.counts["write_ratio"], abs=0.02), name
        if "mean_kib" in spec.counts:
            mean = info["sizes"]["all"]["mean_bytes"] / 1024
            # A page is the least that is asked for; how often an extent comes again is chance.
            assert mean == pytest.approx(max(4.0, spec.counts["mean_kib"]), rel=0.1), name
        rate = spec.counts["requests"] / spec.seconds
        assert info.mean_rate_per_s == pytest.approx(rate, rel=0.15), name


def test_a_recording_is_cut_to_the_scale_and_the_shipped_one_is_always_there() -> None:
    loads = Loads(scale=0.1)
    runs = replace(paper("ecr").run_set("real"))
    found = loads.recorded(runs)
    assert [load.name for load in found] == ["pgtpcb"]
    assert found[0].kind == "recording"


def test_an_excerpt_among_the_originals_is_a_further_case_and_run_whole(tmp_path: Path) -> None:
    line = "128166372003061629,hm,0,Write,0,4096,9\n"
    (tmp_path / "msr_hm_0_excerpt20k.csv").write_text(line)
    known = dict(catalogue().recordings)
    sha256 = hashlib.sha256(line.encode()).hexdigest()
    known["hm_0-minutes"] = replace(known["hm_0-minutes"], sha256=sha256)
    with_line = Catalogue(catalogue().traces, known)
    loads = Loads(traces=tmp_path, scale=0.1, catalogue_=with_line)
    runs = paper("ecr").run_set("real")
    found = {load.name: load for load in loads.recorded(runs)}
    assert set(found) == {"pgtpcb", "hm_0-minutes"}
    excerpt = found["hm_0-minutes"]
    assert (excerpt.kind, excerpt.options["requests"]) == ("excerpt", 20_560)
    assert loads.load("hm_0", paper("ecr")).kind == "surrogate", "minutes are not the original"
    assert loads.open(excerpt, seed=1).requests == 1


# -- From end to end ------------------------------------------------------------------------------


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def test_an_evaluation_decides_draws_and_writes_the_same_bytes_again(
    tmp_path: Path, tiny: Paper
) -> None:
    pytest.importorskip("altair")
    found = {}
    for name, jobs in (("one", 1), ("two", 2)):
        stages: list[tuple[int, int | None]] = []
        evaluation = evaluate(
            tiny,
            Options(scale=0.5, jobs=jobs),
            progress=lambda done, total, _, s=stages: s.append((done, total)),  # type: ignore[misc]
        )
        verdicts = {v.claim.id: v.verdict for v in evaluation.verdicts}
        assert verdicts.pop("never") == "does not hold"
        assert verdicts == {"more": "holds", "fast": "holds", "slower": "holds"}
        # In page accesses, of a total that is known at once.
        assert stages
        assert len({total for _, total in stages}) == 1
        assert stages == sorted(stages)
        write(evaluation, tmp_path / name, pages=tmp_path / name)
        found[name] = hashes(tmp_path / name)
    assert found["one"] == found["two"]
    behind_it = {f"tiny/{part}.md" for part in ("claims", "figures", "setup", "sensitivity")}
    assert set(found["one"]) == {"tiny.html", "tiny.md", "tiny.json", "tiny/f1.svg"} | behind_it
    data = json.loads((tmp_path / "one" / "tiny.json").read_text())
    assert data["summary"]["holds"] == 3
    assert len(data["figures"][0]["points"]) == 8
    # Two loads, two sizes, two policies; a load on two devices; three draws.
    assert len(data["rows"]) == (8 + 4) * 3
    assert data["loads"][0]["made_of"]["requests"] == 1000
    assert data["claims"][0]["cases"][0]["seeds"] == 3
    assert data["sensitivity"]["knobs"][0]["claims"][0]["values"]["half"]["verdict"] == "holds"
    assert str(tmp_path) not in (tmp_path / "one" / "tiny.html").read_text()
    other = evaluate(tiny, Options(scale=0.5, seed=7, sensitivity=False))
    assert other.drawings[0].points != evaluation.drawings[0].points


@pytest.mark.skipif(CHROMIUM is None, reason="no browser")
def test_the_first_screen_fits_the_screen(tmp_path: Path, tiny: Paper) -> None:
    pytest.importorskip("altair")
    evaluation = evaluate(tiny, Options(scale=0.5, seeds=1))
    data, words = document(evaluation), " ".join(["response"] * 10)
    first = data["claims"][0]
    data["claims"] = [first | {"headline": True, "brief": words, "paper": words[:60]}] * 10
    data["paper"]["figure"] = "f1"
    (knob,) = data["sensitivity"]["knobs"]
    values = knob["claims"][0]["values"]
    values["half"] = values["half"] | {"verdict": "does not hold"}
    data["sensitivity"]["knobs"] = [knob | {"knob": f"knob {k}"} for k in range(9)]
    picture = svg(evaluation.drawings[0], sums(evaluation.drawings[0], ()))
    page = tmp_path / "tiny.html"
    page.write_text(html(page_of(data, {"f1": picture})), encoding="utf-8")
    with opened() as browser, browser.page(page) as shown:
        shown.size(1400, 1000)
        end = "document.querySelector('#screen').getBoundingClientRect()"
        assert shown.ask(f"{end}.bottom") <= 1000
        assert shown.ask(f"{end}.right") <= 1400


def test_a_claim_that_a_reading_turns_is_told_of_though_nobody_asked(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(PAPER + TURNED)
    evaluation = evaluate(load_paper(path), Options(seeds=1))
    (swing,) = evaluation.swings
    # What the knob names first; `never` fails either way, and the others are about other runs.
    assert list(swing.verdicts) == ["more", "all"]
    told = {value: v.verdict for value, v in swing.verdicts["all"].items()}
    assert told == {"none": "holds", "half": "does not hold"}
    (knob,) = document(evaluation)["sensitivity"]["knobs"]
    assert [claim["id"] for claim in knob["claims"]] == ["more", "all"]
    assert knob["claims"][1]["only_under"] == "none"


def test_the_most_faithful_set_up_is_a_verdict_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(PAPER + FAITHFUL)
    one = load_paper(path)
    evaluation = evaluate(one, Options(seeds=1))
    assert {name: v.verdict for name, v in evaluation.faithful.items()} == {
        "more": "holds",
        "never": "does not hold",
        "fast": "holds",
        "slower": "holds",
    }
    # It is another run than the default's, of the same loads.
    data = document(evaluation)
    more = data["claims"][0]
    assert more["faithful"]["cases"] != more["cases"]
    page = page_of(data, {})
    text = behind(page)["claims"]
    assert "* The warm-up is not counted." in text
    assert "<li>The warm-up is not counted.</li>" in html(page)
    assert "| independent traces | cases | paper-exact configuration | cases |" in text
    assert evaluate(one, Options(seeds=1, sensitivity=False)).faithful == {}
    path.write_text(PAPER + FAITHFUL.replace('warmup = "50%"', ""))
    with pytest.raises(
        ds.DataError, match=r"faithful.policies: expected a difference from the default"
    ):
        load_paper(path)


def test_adaptive_state_is_recorded_beside_the_runs(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(PAPER)
    tiny = load_paper(path)
    runs = tuple(replace(r, gauges=r.policies[:1]) for r in tiny.runs)
    evaluation = evaluate(replace(tiny, runs=runs), Options(seeds=1, sensitivity=False))
    assert {v.claim.id: v.verdict for v in evaluation.verdicts}["more"] == "holds"


def test_parameters_of_every_question_are_an_object() -> None:
    beyond = importlib.import_module("destage.reproduce.beyond")
    runs = importlib.import_module("destage.reproduce.runs")
    for question in (runs._INFO, runs._series_of(1), beyond._OPTIMUM):
        assert isinstance(json.loads(question.asked), dict), question.kind


def test_the_tables_beyond_the_papers_are_a_name_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("altair")
    command_module = importlib.import_module("destage.cli.reproduce")
    scales: list[float] = []
    monkeypatch.setattr(command_module, "_beyond", lambda options, *_: scales.append(options.scale))
    out = str(tmp_path / "out")
    done = CliRunner().invoke(root, ["reproduce", "beyond", "--scale", "0.1", "--out", out])
    assert (done.exit_code, scales) == (0, [0.1]), done.output


def test_seeds_are_added_until_no_claim_is_undecided(
    tiny: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(scale=0.5, auto_seeds=True, sensitivity=False)
    assert evaluate(tiny, options).options.seeds == 3
    monkeypatch.setattr(Evaluation, "open", lambda e: int(e.options.seeds < 12))
    assert evaluate(tiny, options).options.seeds == 12
    assert command("tiny", options) == (
        "destage reproduce tiny --scale 0.5 --seeds auto --no-sensitivity"
    )


def test_a_small_scale_has_one_seed_unless_more_are_asked_for(tiny: Paper) -> None:
    assert [seeds_of(scale, None) for scale in (0.02, 0.1, 0.11, 1.0)] == [1, 1, 3, 3]
    assert [seeds_of(0.02, given) for given in (2, "auto")] == [2, 3]
    small = Options(scale=0.1, seeds=seeds_of(0.1, None), sensitivity=False)
    assert command("tiny", small) == "destage reproduce tiny --scale 0.1 --no-sensitivity"
    more = dataclasses.replace(small, seeds=3)
    assert command("tiny", more) == (
        "destage reproduce tiny --scale 0.1 --seeds 3 --no-sensitivity"
    )
    assert "One seed" in scaled_note(0.1, seeds=1)
    assert "seed" not in scaled_note(0.1, seeds=3)


def test_sensitivity_runs_have_at_most_the_seeds_that_auto_begins_with(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(PAPER + TURNED)
    evaluation = evaluate(load_paper(path), Options(scale=0.5, seeds=5))
    main = next(v for v in evaluation.verdicts if v.claim.id == "all")
    (swing,) = evaluation.swings
    cases = [one.own.cases for one in (main, *swing.verdicts["all"].values())]
    assert [{case.measured.count for case in found if case.measured} for found in cases] == [
        {5},
        {3},
        {3},
    ]
    data = document(evaluation)
    assert (data["options"]["seeds"], data["sensitivity"]["seeds"]) == (5, 3)


def test_a_saturated_run_is_left_out_of_claims_about_time_and_named(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    # A request every 0.1 ms in front of a device that takes 0.9 ms for a page.
    path.write_text(
        PAPER.replace(
            'slow = "acr[read_ns=9000;program_ns=45000]',
            'slow = "acr[read_ns=900000;program_ns=900000]',
        )
    )
    evaluation = evaluate(load_paper(path), Options(seeds=1, sensitivity=False))
    found = {v.claim.id: v for v in evaluation.verdicts}
    assert found["fast"].own.saturated == "left out as saturated: zipf 1 slow"
    assert [c.label for c in found["fast"].cases] == ["zipf 1 LRU", "zipf 1 ARC"]
    assert found["more"].own.saturated == "", "hits do not wait"
    assert (
        "left out as saturated: zipf 1 slow" in behind(page_of(document(evaluation), {}))["claims"]
    )


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ds.UsageError, match="scale: expected a share"):
        reproduce("acr", scale=2)
    with pytest.raises(ds.UsageError, match="seeds: expected"):
        reproduce("acr", seeds=0)
    with pytest.raises(ds.UsageError, match="unknown paper 'beyond'"):
        reproduce("beyond")
    assert papers_of(["acr", "all"])[0].name == "acr"
    assert len(papers_of(["acr", "all"])) == 6


def test_the_command_refuses_before_it_runs(destage: Destage, tmp_path: Path) -> None:
    assert destage("reproduce").status == 2
    done = destage("reproduce", "lru")
    assert (done.status, "unknown paper 'lru'" in done.err) == (2, True)
    assert destage("reproduce", "acr", "--scale", "0").status == 2
    assert "or auto, got many" in destage("reproduce", "acr", "--seeds", "many").err
    assert destage("reproduce", "acr", "--traces", "none").status == 66
    assert destage("reproduce", "ecr", "--figure", "99").status == 2
    (tmp_path / "file").write_text("")
    assert destage("reproduce", "acr", "--table", "2", "--out", "file").status == 2


def test_the_command_writes_a_figure_with_its_claims(destage: Destage, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    # The variable is the flag `--traces` as well as a folder of these tests.
    command = ("reproduce", "ecr", "--table", "4", "--scale", "0.001", "--seeds", "1")
    done = destage(*command, env={"DESTAGE_TRACES": ""})
    assert done.status == 0, done
    assert "surrogate traces for hm_0" in done.err
    assert "table4" not in done.out
    data = json.loads((tmp_path / "destage-reproduce" / "ecr.json").read_text())
    assert {c["id"] for c in data["claims"]} >= {"table4-wait", "table4-proj-most"}
    assert data["command"] == "destage reproduce ecr --table 4 --scale 0.001"
    assert {load["kind"] for load in data["loads"]} >= {"surrogate", "recording"}


def test_a_policy_that_fills_a_drive_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(PAPER)
    tiny = load_paper(path)
    execute = importlib.import_module("destage.experiment.execute")
    whole = execute.result_set

    def filled(task: Any, *more: Any) -> Any:
        if task.device == "slow" and any(e.policy.name == "arc" for e in task.entries):
            raise ds.UsageError("arc: operation 7: device full")
        return whole(task, *more)

    monkeypatch.setattr(execute, "result_set", filled)
    evaluation = evaluate(tiny, Options(seeds=1, sensitivity=False))
    assert evaluation.failed == ("ARC, timed zipf 1 slow: arc: operation 7: device full",)
    places = {(r.device, r.policy) for r in evaluation.sets["timed"].rows}
    assert places == {("SSD", "LRU"), ("SSD", "ARC"), ("slow", "LRU")}

    def always(task: Any, *_: Any) -> Any:
        raise ds.UsageError("device full")

    monkeypatch.setattr(execute, "result_set", always)
    with pytest.raises(ds.UsageError, match="device full"):
        evaluate(tiny, Options(seeds=1, sensitivity=False))


# -- Stores ---------------------------------------------------------------------------------------


def test_an_evaluation_killed_at_ten_moments_gives_the_same_page(
    tmp_path: Path, tiny: Paper
) -> None:
    pytest.importorskip("altair")
    options = Options(scale=1.0, jobs=2)
    write(evaluate(tiny, options), tmp_path / "whole")
    store = tmp_path / "store"
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from destage.experiment import store\n"
        "from destage.experiment.experiment import Experiment\n"
        "from destage.reproduce import Options, evaluate, load_paper\n"
        "left = [int(sys.argv[3])]\n"
        "whole = store.Store.add_part\n"
        "def killed(self, data):\n"
        "    left[0] -= 1\n"
        "    if left[0] == 0:\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return whole(self, data)\n"
        "store.Store.add_part = killed\n"
        "experiment = Experiment(sys.argv[2], jobs=2)\n"
        "paper = load_paper(Path(sys.argv[1]))\n"
        "evaluate(paper, Options(scale=1.0, jobs=2), experiment=experiment)\n"
    )
    parts = []
    for _ in range(10):
        # Each time two parts are kept, and the process ends before the third.
        command = [sys.executable, "-c", script, str(tmp_path / "tiny.toml"), str(store), "3"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == -9, done.stderr
        parts.append(len(list(store.glob("part-*.parquet"))))
    assert parts == [2 * k for k in range(1, 11)]
    write(evaluate(tiny, options, experiment=Experiment(store, jobs=2)), tmp_path / "resumed")
    assert hashes(tmp_path / "resumed") == hashes(tmp_path / "whole")
    assert len(list(store.glob("part-*.parquet"))) > 20


def test_shards_together_give_the_same_page(tmp_path: Path, tiny: Paper) -> None:
    pytest.importorskip("altair")
    options, store = Options(scale=0.5, seeds=2), tmp_path / "store"
    write(evaluate(tiny, options), tmp_path / "whole")
    for number in (1, 2):
        with pytest.raises(MissingRuns, match=r"\d+ of \d+ runs are missing"):
            evaluate(tiny, options, experiment=Experiment(store, shard=(number, 3)))
    write(evaluate(tiny, options, experiment=Experiment(store, shard="3/3")), tmp_path / "merged")
    assert hashes(tmp_path / "merged") == hashes(tmp_path / "whole")


def test_progress_begins_again_with_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    from destage.cli.reproduce import _teller

    tell = _teller("sac", quiet=False)
    assert tell is not None
    for done in (0, 50, 100, 0, 30, 100):
        tell(done, 100, "replaying")
    lines = capsys.readouterr().err.splitlines()
    told = [line.split(" % replayed")[0].removeprefix("destage: ") for line in lines]
    assert told == ["sac: 50", "sac: 100", "sac: step 2, 30", "sac: step 2, 100"]
