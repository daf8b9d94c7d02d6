"""First steps of a new user: narrow terminals, wrong words, flags that do not fit."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage
from test_cli_errors import refused

import destage as ds
from destage.show.tables.results import results_table
from destage.show.tables.table import Cell, Column, Table


@pytest.fixture
def results(msr: Path) -> ds.Results:
    drive = ds.open_device("small")
    trace = ds.open_trace(msr, device=drive)
    policies = "none,lru,cflru[window_fraction=0.75]"
    return ds.compare(trace, policies, cache=["4p", "8p"], device=drive)


# Tables


def drawn(table: Table, width: int) -> str:
    from rich.console import Console

    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        for part in table.parts(width):
            console.print(part.rich())
    return capture.get()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_number_and_no_name_is_lost_in_a_narrow_terminal(
    width: int, results: ds.Results
) -> None:
    table = results_table(results)
    shown = drawn(table, width)
    assert max(map(len, shown.splitlines())) <= width
    spare = [column.spare for column in table.columns]
    assert True in spare
    for row in table.rows():
        for cell, column, is_spare in zip(row, table.columns, spare, strict=True):
            if column.right and not is_spare:
                assert cell.text in shown, (cell.text, shown)
    for policy in ("none", "lru", "cflru[windo"):
        assert policy in shown, shown


def test_every_part_of_a_table_has_the_columns_that_say_what_a_row_is() -> None:
    columns = [Column("who", right=False, key=True), *(Column(f"n{k}") for k in range(9))]
    rows = [[Cell("somebody"), *(Cell(str(10**6 + k)) for k in range(9))]]
    parts = Table("title", columns, [rows], ["a note"]).parts(40)
    assert len(parts) > 2
    assert all(part.columns[0].title == "who" for part in parts)
    assert [c.title for part in parts for c in part.columns[1:]] == [f"n{k}" for k in range(9)]
    assert [part.title for part in parts] == ["title"] + [""] * (len(parts) - 1)
    assert [part.notes for part in parts] == [[]] * (len(parts) - 1) + [["a note"]]


def test_no_cache_has_no_size(results: ds.Results) -> None:
    rows = [[cell.text for cell in row] for row in results_table(results).rows()]
    assert [row[1:3] for row in rows if row[0] == "none"] == [["-", "-"]]
    assert [row[1:3] for row in rows if row[0] == "lru"] == [["4p", "4"], ["8p", "8"]]


def test_one_page_is_no_pages(destage: Destage, msr: Path) -> None:
    done = destage("run", msr, "-p", "lru", "-c", "1p")
    assert "lru, cache 4 KiB (1 page)" in done.out, done


# Flags


def test_a_flag_without_its_value_names_the_command_to_ask(destage: Destage) -> None:
    refused(destage("tune", "x.csv", "--param"), 2, "--param", "try: destage tune --help")


@pytest.mark.parametrize(
    ("flag", "meant"), [("--deviec", "--device"), ("--reprot", "--report"), ("--plot", None)]
)
def test_a_flag_is_suggested_only_if_it_is_near(
    flag: str, meant: str | None, destage: Destage
) -> None:
    done = destage("compare", "x.csv", flag)
    refused(done, 2, f"unknown flag {flag}")
    assert ("did you mean" in done.err) == (meant is not None), done
    assert meant is None or f"did you mean {meant}?" in done.err, done


@pytest.mark.parametrize("command", ["compare", "run", "tune"])
def test_wrap_is_refused_without_a_drive(command: str, destage: Destage, msr: Path) -> None:
    more = ["--param", "alpha=0,1"] if command == "tune" else []
    policy = "clc" if command == "tune" else "lru"
    done = destage(command, msr, "-p", policy, "-c", "4p", "--wrap", "modulo", *more)
    refused(done, 2, "--wrap", "add --device")


def test_a_file_may_say_what_wraps_for_runs_without_a_drive_too(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text('[trace]\nwrap = "modulo"\n')
    done = destage("run", msr, "-p", "lru", "-c", "4p", "--config", "c.toml")
    assert done.status == 0, done


@pytest.mark.parametrize(
    "command", [("trace", "info"), ("trace", "profile"), ("trace", "head"), ("mrc",)]
)
def test_commands_without_a_drive_have_no_flag_for_one(
    command: tuple[str, ...], destage: Destage
) -> None:
    assert "--wrap" not in destage(*command, "--help").out


def test_a_folder_for_figures_is_looked_at_before_the_work(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    pytest.importorskip("altair")
    (tmp_path / "file").touch()
    for command in (
        ("trace", "profile", msr),
        ("tune", msr, "-p", "clc", "--param", "alpha=0,1", "-c", "4p"),
    ):
        done = destage(*command, "--figures", "file")
        refused(done, 74, "file: expected a folder")


# Tuning


def test_tune_passes_the_geometry_on(destage: Destage, msr: Path) -> None:
    def destages(*flags: str) -> list[int]:
        tuned = ["--param", "alpha=0,1", "-c", "8p", "--objective", "min:destages"]
        done = destage("tune", msr, "-p", "clc", *tuned, *flags, "--json", "-", "-q")
        assert done.status == 0, done
        return [point["value"] for point in json.loads(done.out)["points"]]

    trace = ds.open_trace(msr)
    for pages in (2, 16):
        runs = ds.compare(trace, "clc[alpha=0],clc[alpha=1]", cache="8p", pages_per_block=pages)
        assert destages("--pages-per-block", str(pages)) == [r["destages"] for r in runs]
    assert destages("--pages-per-block", "2") != destages("--pages-per-block", "16")


def test_an_objective_that_no_run_can_have_is_refused_at_once(destage: Destage) -> None:
    tune = ("tune", "nowhere.csv", "-p", "clc", "--param", "alpha=0,1", "--objective")
    refused(destage(*tune, "response_ns_mean"), 2, "response_ns_mean", "add a device")
    refused(destage(*tune, "waf"), 2, "waf", "add a device")
    refused(destage(*tune, "cost"), 2, "objective cost", "computed from a cost")
    refused(
        destage(*tune, "running_time"),
        2,
        "running_time is called cost now; pending writes are counted too",
    )


def test_an_optimum_at_the_limit_of_a_parameter_has_nothing_beyond(msr: Path) -> None:
    trace = ds.open_trace(msr)
    ends = {}
    for values in ("0:1:1", "0:0.5:0.5"):
        best = ds.tune(trace, "clc", {"alpha": values}, "max:destages", cache="8p").best["8p"]
        ends[values] = (best.point.values["alpha"], best.at_the_end)
    assert ends["0:1:1"][1] == ()
    value, at_the_end = ends["0:0.5:0.5"]
    assert at_the_end == (() if value == 0 else ("alpha",))


def test_what_is_said_of_every_value_is_said_once(msr: Path) -> None:
    tuned = ds.tune(ds.open_trace(msr), "aalru", {"period": [16, 32]}, cache="8p")
    said = [w for w in tuned.warnings if "nominal time" in w]
    assert len(said) == 1
    assert said[0].startswith("aalru: without a device")


# Profiles


def test_a_profile_says_why_nothing_is_padded(destage: Destage, msr: Path) -> None:
    refused(
        destage("trace", "profile", msr, "--padding", "ecr"), 2, "ecr", "a profile has no device"
    )
    done = destage("trace", "profile", msr, "--padding", "aalru", "-c", "4p")
    assert done.status == 0, done
    assert "pads nothing" in done.err, done


@pytest.mark.parametrize("key", ["pages_per_block", "epochs", "hot_accesses"])
@pytest.mark.parametrize("value", [-1, 1 << 32, "x", True, 1.5])
def test_a_number_of_a_profile_is_checked(key: str, value: object, msr: Path) -> None:
    with pytest.raises(ds.UsageError, match=rf"{key}: expected .*{value}"):
        ds.open_trace(msr).profile(**{key: value})  # type: ignore[arg-type]


# Files


def test_what_is_no_result_is_named(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "empty.json").touch()
    (tmp_path / "binary.json").write_bytes(b"{\xd8\x16\x26")
    for command in ("report", "rerun"):
        refused(destage(command, "empty.json"), 65, "empty.json: the file is empty")
        refused(destage(command, "binary.json"), 65, "binary.json is not JSON: not UTF-8")
        refused(destage(command, "nowhere.json"), 66, "nowhere.json: no such file")
        refused(destage(command, "."), 66, "expected a file, found a folder")


def test_papers_and_their_figures_are_named(destage: Destage, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    refused(destage("reproduce", "acrr"), 2, "'acrr', did you mean acr?")
    done = destage("reproduce", "ecr", "--figure", "99")
    refused(done, 2, "no figure 99")
    assert done.err.index("figure 9;") < done.err.index("figure 10;"), done
    (tmp_path / "file").touch()
    refused(destage("reproduce", "ecr", "--out", "file"), 74, "file: expected a folder")


# Devices


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ('formt = "msr"', ("formt", "did you mean format?")),
        ('on_error = "stp"', ("on_error", "stp")),
    ],
)
def test_a_readers_option_of_a_drives_file_is_checked_with_it(
    line: str, parts: tuple[str, ...], destage: Destage, msr: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(f'[device]\npreset = "small"\n[trace]\n{line}\n')
    run = ("run", msr, "-p", "lru", "-c", "4p")
    for flag in ("-d", "--config"):
        refused(destage(*run, flag, "mine.toml"), 65, "mine.toml: ", *parts)
    refused(destage(*run, "-d", "small[trace.formt=msr]"), 2, "small[trace.formt=msr]: formt")


@pytest.mark.parametrize(("word", "status"), [("none", 2), ("Error", 2), ("MODULO", 0)])
def test_what_wraps_is_read_alike_on_the_command_line_and_in_a_file(
    word: str, status: int, destage: Destage, msr: Path, tmp_path: Path
) -> None:
    tiny = 'preset = "acr"\nblocks_per_plane = 8\npages_per_block = 4\nlogical_pages = 16\n'
    (tmp_path / "tiny.toml").write_text(f"[device]\n{tiny}")
    (tmp_path / "says.toml").write_text(f'[device]\n{tiny}[trace]\nwrap = "{word}"\n')
    run = ("run", msr, "-p", "lru", "-c", "4p")
    for done in (
        destage(*run, "-d", "tiny.toml", "--wrap", word),
        destage(*run, "-d", "says.toml"),
    ):
        assert done.status == status, done
        assert ("its pages go up to" in done.err) == (status == 2), done


def test_a_readers_option_of_a_config_file_names_the_file_and_one_of_a_flag_the_flag(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text('[trace]\non_error = "stp"\n')
    info = ("trace", "info", msr)
    refused(destage(*info, "--config", "c.toml"), 65, "c.toml: [trace]: on_error", "stp")
    done = destage(*info, "--config", "c.toml", "--on-error", "halt")
    refused(done, 2, "destage: --on-error: expected", "halt")


def said(results: ds.Results, words: str) -> list[str]:
    return [run.label for run in results if any(words in w for w in run.warnings)]


def test_a_drive_that_does_not_keep_up_is_named() -> None:
    drive = ds.open_device("small")
    words = "does not keep up"

    def run(gap_ns: int, drive: ds.Device) -> ds.Results:
        trace = ds.synth(
            "uniform",
            requests=3_000,
            pages=50_000,
            read_ratio=0,
            gap_ns=gap_ns,
            seed=3,
            device=drive,
        )
        return ds.compare(trace, "none,lru", cache="16p", device=drive)

    assert said(run(1_000, drive), words) == ["none", "lru"]
    assert said(run(10_000_000, drive), words) == []
    # In a closed loop nothing comes before something is done.
    assert said(run(1_000, drive.with_options(queue_depth=4)), words) == []


def test_reads_of_what_nobody_wrote_are_named() -> None:
    words = "never written"
    for precondition, named in (("none", ["lru"]), ("sequential", [])):
        drive = ds.open_device(f"acr[precondition={precondition}]", ftl="bast")
        trace = ds.synth("uniform", requests=500, pages=1_000, read_ratio=0.8, device=drive)
        assert said(ds.compare(trace, "lru", cache="16p", device=drive), words) == named


def test_a_write_buffer_without_writes_says_why_nothing_hits() -> None:
    trace = ds.synth("zipf", requests=500, pages=50, read_ratio=1.0)
    results = ds.compare(trace, "lru,bpac,fab", cache="16p")
    assert said(results, "write buffer") == ["bpac", "fab"]


# Traces


def test_the_example_of_a_mapping_reads_such_a_table(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("ts,rw,lba,bytes\n1.5,R,100,4096\n2.5,W,108,8192\n")
    shown = destage("trace", "formats", "csv").out
    example = shown[shown.index("  destage trace info") :].partition("\nThe same")[0]
    done = destage(*shlex.split(example.replace("\\\n", " "))[1:])
    assert done.status == 0, done
    assert "1 read, 1 write " in done.out, done
    (tmp_path / "c.toml").write_text(
        '[trace]\nformat = "csv"\ntime_unit = "ms"\noffset_unit = "sector"\nlength_unit = "byte"\n'
        'op_read = "R"\nop_write = "W"\n'
        'columns = { time = "ts", op = "rw", offset = "lba", length = "bytes" }\n'
    )
    same = destage("trace", "info", "mine.csv", "--config", "c.toml")
    assert same.out == done.out, same


def test_what_lies_in_the_cache_folder_is_said_in_words(
    destage: Destage, tmp_path: Path, msr: Path
) -> None:
    env = {"DESTAGE_CACHE": str(tmp_path / "kept")}
    assert destage("run", msr, "-p", "min", "-c", "4p", env=env).status == 0
    shown = destage("trace", "cache", env=env).out
    assert "300 requests" in shown
    assert "next uses of pages" in shown, shown


# Python


def test_what_the_docs_call_is_there_after_one_import() -> None:
    code = (
        "import sys, destage; assert 'destage.reproduce' not in sys.modules;"
        " print(destage.reproduce.reproduce.__name__); destage.nothing"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "reproduce\n"
    assert done.stderr.endswith("AttributeError: module 'destage' has no attribute 'nothing'\n")


def test_a_metric_that_there_is_not_is_named(results: ds.Results) -> None:
    with pytest.raises(KeyError, match="no metric 'hit_ration', did you mean hit_ratio"):
        results[0]["hit_ration"]


@pytest.mark.parametrize("params", [{"alpha": 5}, ["alpha"], {"alpha": []}])
def test_what_is_no_range_is_refused(params: Any, msr: Path) -> None:
    with pytest.raises(ds.UsageError, match="expected"):
        ds.tune(ds.open_trace(msr), "clc", params, cache="8p")


def test_a_closed_loop_is_named_with_its_depth(destage: Destage, msr: Path) -> None:
    for command in ("compare", "run"):
        run = (command, msr, "-p", "lru", "-c", "4p", "-d", "small")
        assert "in front of small, 7 outstanding" in destage(*run, "--queue-depth", "7").out
        assert "outstanding" not in destage(*run).out.splitlines()[0]


# The command by other words


def test_the_command_alone_prints_its_help(destage: Destage) -> None:
    alone, helped = destage(), destage("--help")
    assert (alone.status, alone.out) == (0, helped.out)
    module = subprocess.run(
        [sys.executable, "-m", "destage", "--version"], capture_output=True, text=True, check=True
    )
    assert module.stdout.split()[-1] == ds.__version__


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("devices", "tlc"),
            "did you mean tlc-sata, tlc-nvme, tlc-client, tlc-dramless or tlc-dc?",
        ),
        (("compare", "FILE", "-p", "lrru", "-c", "4p"), "did you mean lru? (nearest of 51: lru, "),
        (("compare", "FILE", "-p", "lrru", "-c", "4p"), "; `destage policies` lists all)"),
        (("compare", "FILE", "-p", "acr", "-c", "4p"), "did you mean acr-c, acr-o or acr-h?"),
        (("trace", "formats", "sysstor"), "; `destage trace formats` lists all)"),
        (("mrc", "FILE", "-d", "small"), "it is a flag of destage compare"),
        (("compare", "FILE", "--show", "latency"), "latency is a view of several columns"),
        (("compare", "FILE", "--show", "latency"), "give --view latency"),
    ],
)
def test_a_wrong_word_leads_to_the_right_one(
    args: tuple[str, ...], said: str, destage: Destage, msr: Path
) -> None:
    done = destage(*(msr if word == "FILE" else word for word in args))
    assert done.status == 2, done
    assert said in " ".join(done.err.split()), done.err


def test_a_selection_without_runs_is_a_sentence(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    store = tmp_path / "runs"
    assert destage("compare", msr, "-p", "lru", "-c", "4p", "--store", store).status == 0
    done = destage("results", store, "--where", "policy == 'arc'")
    assert (done.status, done.out) == (1, "")
    assert "No run matches --where; the store has 1 run." in done.err
    assert destage("results", store, "--where", "policy == 'lru'").status == 0
