"""The command: what goes where, what wins over what, and what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import MAIN, ROOT, TRACE, VECTORS, Destage, without_device

import destage as ds
from destage.cli.root import root

#: One call of each command: what the tests run inside their process, a shell runs as one.
CALLS = [
    "demo --no-report",
    "compare small.csv -p lru,cflru -c 10% --csv -",
    "run small.csv -p arc -c 10%",
    "mrc small.csv -p lru",
    "why small.csv lru arc -c 10%",
    "tune small.csv -p cflru --param window_fraction=0.1,0.5 -c 10%",
    "advise small.csv -d small --objective p99",
    "sweep none.toml",
    "results none",
    "trace info small.csv",
    "record --help",
    "new-policy Mine",
    "policies",
    "devices small",
    "ftls",
    "schema device",
    "serve --help",
    "pcache --help",
    "check-sim none.txt -p lru --trace small.csv -c 10%",
    f"conform {VECTORS / 'page-policies.jsonl'}",
    "reproduce --list",
    "rerun none.json",
    "report none.json",
    "cite lru arc",
    "doctor --help",
    "completion bash",
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.split()[0])
def test_a_process_does_what_the_same_call_does_inside(
    call: str, destage: Destage, destage_process: Destage, msr: Path, tmp_path: Path
) -> None:
    # The second and the third find the trace decoded.
    for _ in range(2):
        inside = destage(*call.split())
        for made in tmp_path.iterdir():
            if made != msr:
                made.unlink()
    outside = destage_process(*call.split())
    assert (inside.status, inside.out, inside.err) == (outside.status, outside.out, outside.err)
    assert "Traceback" not in outside.err
    assert outside.status in (0, 2, 66)


def test_every_command_is_called_as_a_process() -> None:
    assert [call.split()[0] for call in CALLS] == list(root.places)


def compare(destage: Destage, *args: object, **kwargs: object) -> ds.Results:
    done = destage("compare", *args, "--json", "-", **kwargs)
    assert done.status == 0, done
    return ds.Results.from_json(done.out)


def test_the_command_counts_as_the_call_does(destage: Destage, msr: Path) -> None:
    flags = ["-p", "lru,cflru[window_fraction=0.3]", "-c", "4p,50%", "--cost", "read=1,write=5"]
    flags += ["--warmup", "10%", "--flush-at-end", "--fetch-on-write-miss", "--page-size", "2KiB"]
    results = compare(destage, msr, *flags)
    same = ds.compare(
        ds.open_trace(msr, page_size=2048),
        "lru,cflru[window_fraction=0.3]",
        cache=["4p", "50%"],
        cost="read=1,write=5",
        warmup="10%",
        flush_at_end=True,
        fetch_on_write_miss=True,
    )
    assert [r.counters for r in results] == [r.counters for r in same]
    assert results.to_dicts() == same.to_dicts()


def test_without_policies_the_usual_ones_run(destage: Destage, msr: Path) -> None:
    results = compare(destage, msr, "-c", "10%")
    assert [r.policy for r in results] == ["lru", "arc", "s3-fifo", "cflru"]
    assert results.to_dicts() == ds.compare(ds.open_trace(msr), cache="10%").to_dicts()


def test_a_dry_run_shows_the_plan_and_runs_nothing(destage: Destage, msr: Path) -> None:
    done = destage("compare", msr, "-p", "lru,arc", "-c", "4p,8p", "--dry-run", "--csv", "no.csv")
    assert done.status == 0, done
    assert "4 runs" in done.out
    assert [line.split()[1] for line in done.out.splitlines()[2:6]] == ["lru", "lru", "arc", "arc"]
    assert not (msr.parent / "no.csv").exists()


@pytest.mark.parametrize("flag", ["--json", "--csv", "--parquet", "--markdown"])
def test_standard_output_as_a_file_carries_nothing_else(
    flag: str, destage: Destage, msr: Path, tmp_path: Path
) -> None:
    to_file = destage("compare", msr, "-p", "lru", "-c", "10%", flag, tmp_path / "out")
    to_stdout = destage("compare", msr, "-p", "lru", "-c", "10%", flag, "-")
    assert to_stdout.bytes == (tmp_path / "out").read_bytes()
    assert "policy" in to_file.out, "the table is printed where standard output is free"


def test_progress_and_notes_are_on_standard_error(destage: Destage, msr: Path) -> None:
    done = destage("compare", msr, "-p", "lru", "-c", "10%")
    assert "msr (detected)" in done.err
    assert "msr" not in done.out
    quiet = destage("compare", msr, "-p", "lru", "-c", "10%", "--quiet")
    assert quiet.err == ""
    assert quiet.out == done.out


def test_the_table_fits_80_columns_and_has_no_colour_codes_unasked(
    destage: Destage, msr: Path
) -> None:
    args = ("compare", msr, "-p", "lru,arc,cflru", "-c", "1%,10%", "--cost", "read=1,write=118")
    done = destage(*args)
    assert max(map(len, done.out.splitlines())) <= 80
    assert "\x1b" not in done.out
    assert "\x1b" in destage(*args, "--color").out
    assert "\x1b" not in destage(*args, "--color", "--no-color").out
    assert "\x1b" not in destage(*args, env={"NO_COLOR": "1"}).out


def test_common_flags_may_stand_before_the_command(destage: Destage, msr: Path) -> None:
    args = ("compare", msr, "-p", "lru,arc", "-c", "10%")
    quiet = destage("--quiet", *args)
    assert quiet.status == 0, quiet
    assert quiet.err == ""
    assert "\x1b" in destage("--color", *args).out
    assert "\x1b" not in destage("--no-color", *args).out
    assert "\x1b" not in destage("--color", *args, "--no-color").out
    assert destage("-q", "trace", "head", msr).status == 0


def test_a_flag_beats_the_environment_beats_the_file(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text(
        "[trace]\npage_size = '1KiB'\nrequests = 90\nops = ['read', 'write']\n"
        "[cache]\npolicy = ['fifo', 'lru']\nsize = ['8p', '16p']\n"
        "cost = { read = 1, write = 7 }\nflush_at_end = true\n"
    )
    file = compare(destage, msr, "--config", "c.toml")
    assert [(r.policy, r.frames) for r in file] == [
        ("fifo", 8),
        ("fifo", 16),
        ("lru", 8),
        ("lru", 16),
    ]
    assert file[0].trace.page_bytes == 1024
    assert file[0].trace.requests == 90
    assert file[0].config["flush_at_end"] is True
    assert file[0].config["cost"] == {"read": 1, "write": 7}
    env = {"DESTAGE_PAGE_SIZE": "2KiB", "DESTAGE_CACHE_SIZE": "9p", "DESTAGE_REQUESTS": "80"}
    over = compare(destage, msr, "--config", "c.toml", "--requests", "70", "-p", "arc", env=env)
    assert [(r.policy, r.frames) for r in over] == [("arc", 9)]
    assert (over[0].trace.page_bytes, over[0].trace.requests) == (2048, 70)


def test_several_files_are_one_trace(destage: Destage, msr: Path, tmp_path: Path) -> None:
    lines = msr.read_text().splitlines(keepends=True)
    (tmp_path / "a.csv").write_text("".join(lines[::2]))
    (tmp_path / "b.csv").write_text("".join(lines[1::2]))
    one = compare(destage, msr, "-p", "lru", "-c", "10%")
    two = compare(destage, "a.csv", "b.csv", "--merge", "-p", "lru", "-c", "10%")
    assert two[0].trace.fingerprint == one[0].trace.fingerprint


def test_separate_volumes_get_a_run_each(destage: Destage, msr: Path, tmp_path: Path) -> None:
    lines = msr.read_text().splitlines(keepends=True)
    text = "".join(x.replace(",demo,0,", f",demo,{k % 2},") for k, x in enumerate(lines))
    (tmp_path / "two.csv").write_text(text)
    results = compare(destage, "two.csv", "-p", "lru", "-c", "10%", "--volumes", "separate")
    assert [r.trace.name for r in results] == ["two.csv:demo_0", "two.csv:demo_1"]
    one = compare(destage, "two.csv", "-p", "lru", "-c", "10%", "--volume", "demo_1")
    assert one[0].counters == results[1].counters


def test_a_trace_comes_from_standard_input(destage: Destage, msr: Path) -> None:
    piped = destage("compare", "-", "-p", "lru", "-c", "10%", "--csv", "-", stdin=msr.read_bytes())
    assert piped.status == 0, piped
    file = destage("compare", msr, "-p", "lru", "-c", "10%", "--csv", "-")
    assert piped.out.splitlines()[1].split(",")[1:12] == file.out.splitlines()[1].split(",")[1:12]


def test_run_records_what_it_is_asked_to(destage: Destage, msr: Path, tmp_path: Path) -> None:
    done = destage(
        "run", msr, "-p", "lru", "-c", "4p", "--decisions", "d.jsonl", "--series", "s.csv"
    )
    assert done.status == 0, done
    assert "hit_ratio" in done.out
    decisions = (tmp_path / "d.jsonl").read_text().splitlines()
    series = (tmp_path / "s.csv").read_text().splitlines()
    assert len(decisions) == ds.open_trace(msr).accesses
    assert series[0].startswith("first_access,")
    to_stdout = destage("run", msr, "-p", "lru", "-c", "4p", "--decisions", "-")
    assert to_stdout.out.splitlines() == decisions
    parquet = destage("run", msr, "-p", "lru", "-c", "4p", "--series", "s.parquet")
    assert parquet.status == 0, parquet
    assert (tmp_path / "s.parquet").read_bytes()[:4] == b"PAR1"


def test_mrc_and_its_sample(destage: Destage, msr: Path) -> None:
    done = destage("mrc", msr, "-p", "lru,min", "-c", "4p,8p", "--csv", "-")
    assert done.status == 0, done
    assert done.out.count("\n") == 5
    table = destage("mrc", msr)
    assert "lru" in table.out
    assert destage("mrc", msr, "--sample", "50%").status == 0
    assert destage("mrc", msr, "--sample", "much").status == 2


def test_rerun_says_whether_a_result_holds(destage: Destage, msr: Path, tmp_path: Path) -> None:
    made = destage("compare", msr, "-p", "lru,arc", "-c", "10%,20%", "--json", "r.json")
    assert made.status == 0, made
    again = destage("rerun", "r.json")
    assert again.status == 0, again
    assert "4 runs repeated: all counters equal" in again.err
    data = json.loads((tmp_path / "r.json").read_text())
    data["runs"][1]["counters"]["evictions"] += 5
    (tmp_path / "r.json").write_text(json.dumps(data))
    other = destage("rerun", "r.json")
    assert other.status == 1, other
    assert "evictions" in other.err


def test_conform_and_its_status(destage: Destage, tmp_path: Path) -> None:
    page = VECTORS / "page-policies.jsonl"
    done = destage("conform", page)
    assert done.status == 0, done
    assert "206 passed, 0 failed, 0 skipped" in done.out
    every = sorted(VECTORS.glob("*.jsonl"))
    # Every kind is built: nothing is skipped, which --strict would not take.
    assert destage("conform", *every, "--strict").status == 0

    lines = page.read_text().splitlines()
    vector = json.loads(lines[0])
    vector["decisions"][-1]["hit"] = not vector["decisions"][-1]["hit"]
    (tmp_path / "bad.jsonl").write_text(json.dumps(vector) + "\n")
    bad = destage("conform", "bad.jsonl")
    assert bad.status == 1, bad
    last = len(vector["decisions"]) - 1
    assert f"access {last}" in bad.out

    emitted = destage("conform", page, "--emit", "out.jsonl")
    assert emitted.status == 0, emitted
    assert emitted.out == ""
    out = [json.loads(x) for x in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [o["decisions"] for o in out] == [json.loads(x)["decisions"] for x in lines]
    assert destage("conform", page, page, "--emit", "-").status == 2


def test_trace_commands(destage: Destage, msr: Path, tmp_path: Path) -> None:
    info = destage("trace", "info", msr, "--json", "-")
    assert json.loads(info.out)["counts"]["requests"] == 300
    assert "300: " in destage("trace", "info", msr).out
    head = destage("trace", "head", msr, "-n", "3")
    assert head.out.count("demo_0") == 3
    done = destage("trace", "convert", msr, "--to", "parquet", "-o", "t.parquet")
    assert done.status == 0, done
    assert (
        json.loads(destage("trace", "info", "t.parquet", "--json", "-").out)["counts"]["requests"]
        == 300
    )
    assert "msr" in destage("trace", "formats").out
    assert "FILETIME" in destage("trace", "formats", "msr").out
    assert destage("trace", "formats", "mrs").status == 2
    listed = json.loads(destage("trace", "synth", "--list", "--json", "-").out)
    assert "zipf" in [k["name"] for k in listed["kinds"]]
    flags = ("--requests", "1000", "--pages", "100", "--seed", "3")
    made = destage("trace", "synth", "zipf", *flags, "--json", "-")
    assert json.loads(made.out)["counts"]["requests"] == 1000
    done = destage("trace", "synth", "t1", *flags, "--to", "mqsim", "-o", "t1.trace")
    assert done.status == 0, done
    assert len((tmp_path / "t1.trace").read_text().splitlines()) == 1000
    cache = destage("trace", "cache")
    assert "small.csv" in cache.out
    assert "removed" in destage("trace", "cache", "--clear").out


def test_catalogues(destage: Destage) -> None:
    listed = destage("policies", "--json", "-")
    assert [p["name"] for p in json.loads(listed.out)["policies"]] == [
        p.name for p in ds.policies()
    ]
    for info in ds.policies():
        done = destage("policies", info.name)
        assert done.status == 0, done
        for param in info.params:
            assert param.name in done.out


@pytest.mark.slow
def test_the_demo_prints_its_table_and_writes_its_report(destage: Destage, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    done = destage("demo")
    assert done.status == 0, done
    assert "in front of small, 8 outstanding" in done.out
    assert "At the trace's own times the mean is" in done.out
    assert "ecr" in done.out
    assert "Next:" in done.out
    page = (tmp_path / "destage-report.html").read_text()
    assert "gcar-cflru" in page


def test_the_demo_copies_its_trace(destage: Destage, tmp_path: Path) -> None:
    done = destage("demo", "--copy-trace", "demo.csv.xz")
    assert done.status == 0, done
    assert (done.out, "400,000 requests" in done.err) == ("", True)
    shipped = ROOT / "python" / "destage" / "data" / TRACE
    assert (tmp_path / "demo.csv.xz").read_bytes() == shipped.read_bytes()
    refused = destage("demo", "--copy-trace", "nowhere/demo.csv.xz")
    assert refused.status == 74, refused
    assert "nowhere" in refused.err


def test_the_demo_without_the_report_extra_says_what_to_install(
    destage: Destage, tmp_path: Path
) -> None:
    # A module that cannot be imported stands for one that is not installed.
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['altair'] = None\n")
    env = {"PYTHONPATH": str(tmp_path)}
    done = destage("demo", env=env)
    assert done.status == 0, done
    assert "ecr" in done.out
    assert "pip install 'destage[report]'" in done.err
    assert not (tmp_path / "destage-report.html").exists()


def test_a_report_without_its_extra_is_refused_before_the_work(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['altair'] = None\n")
    env = {"PYTHONPATH": str(tmp_path)}
    done = destage("compare", msr, "-p", "lru", "--report", "r.html", env=env)
    assert done.status == 2, done
    assert "pip install 'destage[report]'" in done.err


def test_help_is_everywhere_and_has_examples(destage: Destage) -> None:
    top = destage("--help")
    assert top.status == 0
    assert "demo" in top.out
    assert max(map(len, top.out.splitlines())) <= 80
    for command in ("compare", "run", "mrc", "policies", "conform", "rerun", "completion"):
        assert "Examples:" in destage(command, "--help").out, command
    for command in ("info", "head", "convert", "synth", "formats", "cache"):
        assert "Examples:" in destage("trace", command, "--help").out, command
    assert destage("--version").out == f"destage {ds.__version__}\n"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from destage.cli import invoke\n"
        "assert invoke(['--help']) == 0\n"
        "heavy = {'rich', 'altair', 'polars', 'pandas', 'numpy', 'asyncio', 'tomllib'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stderr.decode().strip() == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell", "nushell"])
def test_completion_scripts(shell: str, destage: Destage) -> None:
    done = destage("completion", shell)
    assert done.status == 0, done
    assert "_DESTAGE_COMPLETE" in done.out
    env = {"_DESTAGE_COMPLETE": "bash_complete", "COMP_WORDS": "destage co", "COMP_CWORD": "1"}
    assert "compare" in destage(env=env).out


def test_ctrl_c_is_130_and_leaves_nothing_that_looks_whole(msr: Path, tmp_path: Path) -> None:
    # The signal comes from the progress callback, in the middle of the replay.
    code = (
        "import signal, sys\n"
        "import destage.cli.compare as c\n"
        "from contextlib import contextmanager\n"
        "@contextmanager\n"
        "def progress(quiet):\n"
        "    def callback(done, total, stage):\n"
        "        if stage == 'replaying':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "    yield callback\n"
        "c.progress = progress\n"
        "from destage.cli import main\n"
        "main()\n"
    )
    before = sorted(p.name for p in tmp_path.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", code, "compare", str(msr), "-p", "lru,arc", "--json", "r.json"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert b"interrupted" in done.stderr
    assert b"Traceback" not in done.stderr
    left = sorted(p.name for p in tmp_path.iterdir() if p.name != "r.json")
    assert left == before
    # What had ended by then is there, and says that it is not all.
    if (tmp_path / "r.json").exists():
        assert ds.Results.load(tmp_path / "r.json").incomplete


def test_a_real_interrupt_stops_long_work(tmp_path: Path) -> None:
    trace = tmp_path / "long.csv"
    flags = ["--requests", "400000", "--pages", "200000", "-o", str(trace), "--to", "disksim", "-q"]
    subprocess.run([*MAIN, "trace", "synth", "zipf", *flags], check=True)
    policies = ",".join(p.name for p in without_device())
    process = subprocess.Popen(
        [*MAIN, "compare", str(trace), "-p", policies, "--check", "--csv", "out.csv"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    # The plausibility line says that the trace is open and the replay begins.
    assert b"requests" in process.stderr.readline()
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    # What had ended by then is there, and says that it is not all.
    if (tmp_path / "out.csv").exists():
        assert "interrupted: only" in (tmp_path / "out.csv").read_text()


def test_a_shell_is_offered_policies_devices_and_formats() -> None:
    from destage.cli.candidates import completed

    for argument, typed, offered in [
        ("policy", "lru,cfl", "lru,cflru"),
        ("device", "sma", "small"),
        ("reader_format", "fio", "fio-iolog"),
        ("show", "p99.", "p99.9"),
    ]:
        found = completed(argument, typed)
        assert found is not None
        assert offered in [item.value for item in found]
    mine = completed("policy", "./mine")
    assert mine is not None
    assert [item.type for item in mine] == ["file"]
    assert completed("jobs", "1") is None
