"""Bad input, item by item: the right status, one message that says where and what, no traceback."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DATA, MAIN, Destage, Done, msr_lines

import destage as ds

FORMATS = [f.name for f in ds.formats()]


def refused(done: Done, status: int, *parts: str) -> None:
    """The command ended with this status, and its one message holds these parts."""
    assert done.status == status, done
    assert "Traceback" not in done.err, done
    messages = [line for line in done.err.splitlines() if line.startswith("destage: ")]
    errors = [m for m in messages if not m.startswith("destage: warning: ")]
    assert len(errors) == 1, done
    for part in parts:
        assert part in done.err, done
    assert done.out == "", done


def compare(destage: Destage, *args: object) -> Done:
    return destage("compare", *args, "-p", "lru", "-c", "10%")


def test_a_missing_file_is_66(destage: Destage) -> None:
    refused(compare(destage, "nowhere.csv"), 66, "nowhere.csv", "no such file")


def test_a_directory_is_no_trace(destage: Destage, tmp_path: Path) -> None:
    done = compare(destage, tmp_path)
    refused(done, done.status, str(tmp_path), "directory")
    assert done.status in (65, 66), done


def test_an_empty_file_is_65(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    refused(compare(destage, "empty.csv"), 65, "empty.csv")


@pytest.mark.parametrize("name", FORMATS)
def test_binary_garbage_is_65_under_each_format(
    name: str, destage: Destage, tmp_path: Path
) -> None:
    # No run of 24 or 32 bytes of it makes a record of any format.
    garbage = bytes((k * 197 + k // 7 * 89 + 131) % 256 for k in range(4099))
    (tmp_path / "garbage").write_bytes(garbage)
    extra: list[str] = []
    if name in ("csv", "parquet"):
        extra = ["--columns", "offset=0,length=1", "--offset-unit", "byte", "--length-unit", "byte"]
        extra += ["--default-op", "read", "--time-unit", "none"]
    if name in ("oracle-general", "oracle-general-op", "lcs"):
        extra = ["--object", "opaque"]
    if name == "bin":
        extra = ["--fields", "<u64 offset,u32 length,u8 op"]
    if name in ("mooncake", "qwen-bailian"):
        extra = ["--bytes-per-token", "1024"]
    done = compare(destage, "garbage", "--format", name, *extra)
    refused(done, 65, "garbage")


def test_binary_garbage_is_65_without_a_format(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "garbage").write_bytes(bytes((k * 197 + 131) % 256 for k in range(4099)))
    refused(compare(destage, "garbage"), 65, "garbage")


GOOD = msr_lines(200)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("128166372000000000,demo,0,Read,4096\n", ("fields",)),
        ("128166372000000000,demo,0,Read,4096,4096,1,2,3\n", ("fields",)),
        ("128166372000000000,demo,0,Read,-4096,4096,1\n", ("Offset", '"-4096"')),
        ("128166372000000000,demo,0,Read,99999999999999999999,4096,1\n", ("Offset",)),
        ("128166372000000000,demo,0,Read,9x437184,4096,1\n", ("Offset", '"9x437184"')),
        ("128166372000000000,demo,0,Reed,4096,4096,1\n", ("Reed",)),
        ("yesterday,demo,0,Read,4096,4096,1\n", ("yesterday",)),
        ("128166372000000000,demo,0,Read,4096,999999999999,1\n", ("999999999999",)),
        ("128166372000000000,demo,0,Read,9223372036854775800,4096,1\n", ("9223372036854775800",)),
    ],
    ids=[
        "too few fields",
        "too many fields",
        "negative",
        "overflow",
        "no number",
        "unknown operation",
        "no time",
        "oversized",
        "past 2^63",
    ],
)
def test_a_bad_line_has_its_place(
    line: str, parts: tuple[str, ...], destage: Destage, tmp_path: Path
) -> None:
    (tmp_path / "bad.csv").write_text("".join([*GOOD[:150], line, *GOOD[150:]]))
    refused(compare(destage, "bad.csv"), 65, "bad.csv:151", *parts)
    skipped = destage("compare", "bad.csv", "-p", "lru", "-c", "10%", "--on-error", "skip")
    assert skipped.status == 0, skipped
    assert "bad.csv:151" in skipped.err, skipped


def test_unsorted_times_are_sorted_or_refused_as_asked(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "back.csv").write_text("".join([GOOD[5], *GOOD]))
    assert compare(destage, "back.csv").status == 0
    refused(compare(destage, "back.csv", "--order", "strict"), 65, "back.csv")


def test_crlf_reads_as_lf(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "lf.csv").write_bytes("".join(GOOD).encode())
    (tmp_path / "crlf.csv").write_bytes("".join(GOOD).replace("\n", "\r\n").encode())
    tables = [
        destage("compare", f, "-p", "lru", "-c", "10%", "--csv", "-").out.replace(f, "")
        for f in ("lf.csv", "crlf.csv")
    ]
    assert tables[0] == tables[1]
    assert tables[0].count("\n") == 2


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2", "zst"])
def test_a_truncated_stream_is_65_unless_allowed(
    kind: str, destage: Destage, tmp_path: Path
) -> None:
    text = "".join(msr_lines(20_000)).encode()
    if kind == "zst":
        (tmp_path / "plain.csv").write_bytes(text)
        converted = destage("trace", "convert", "plain.csv", "--to", "disksim", "-o", "t.zst")
        assert converted.status == 0, converted
        packed = (tmp_path / "t.zst").read_bytes()
    else:
        packed = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}[kind](text)
    name = f"cut.csv.{kind}"
    (tmp_path / name).write_bytes(packed[: len(packed) * 2 // 3])
    form = ["--format", "disksim"] if kind == "zst" else []
    refused(compare(destage, name, *form), 65, name)
    allowed = compare(destage, name, "--allow-truncated", *form)
    if kind in ("xz", "bz2"):  # one block: nothing of it comes before its end
        assert allowed.status in (0, 65), allowed
    else:
        assert allowed.status == 0, allowed


def test_another_format_than_said_is_65(destage: Destage, msr: Path) -> None:
    refused(compare(destage, msr, "--format", "spc"), 65, "small.csv")
    refused(compare(destage, msr, "--format", "vscsi"), 65, "small.csv")


def test_a_format_that_is_none_names_the_nearest(destage: Destage, msr: Path) -> None:
    refused(compare(destage, msr, "--format", "msrr"), 2, "msr")


@pytest.mark.parametrize("size", ["0", "0MiB", "0p", "0%", "-1MiB", "32", "ten", "1.5p", ""])
def test_a_cache_size_that_is_none_is_usage(size: str, destage: Destage, msr: Path) -> None:
    refused(destage("compare", msr, "-p", "lru", f"--cache={size}"), 2, "cache")


def test_a_cache_smaller_than_a_page_is_usage(destage: Destage, msr: Path) -> None:
    refused(destage("compare", msr, "-p", "lru", "-c", "100B", "-q"), 2, "less than one page")


def test_a_cache_larger_than_the_trace_is_fine(destage: Destage, msr: Path) -> None:
    done = destage("compare", msr, "-p", "lru,arc,min", "-c", "1GiB", "--csv", "-")
    assert done.status == 0, done
    assert done.out.count("\n") == 4


def test_an_unknown_policy_names_the_nearest(destage: Destage, msr: Path) -> None:
    refused(destage("compare", msr, "-p", "lrru"), 2, "lrru", "did you mean lru?")
    refused(destage("policies", "cflur"), 2, "did you mean cflru?")


@pytest.mark.parametrize(
    ("policy", "parts"),
    [
        ("cflru[windw_fraction=0.5]", ("did you mean window_fraction?",)),
        ("cflru[window_fraction=2]", ("window_fraction",)),
        ("cflru[window_fraction=half]", ("window_fraction",)),
        ("cflru[window_fraction]", ("key=value",)),
        ("cflru[window_fraction=0.5", ("closing ]",)),
        ("lru[k=2]", ("no parameters",)),
        ("", ("at least one",)),
    ],
)
def test_a_parameter_that_cannot_be_is_usage(
    policy: str, parts: tuple[str, ...], destage: Destage, msr: Path
) -> None:
    refused(destage("compare", msr, "-p", policy), 2, *parts)


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["--cost", "read=1"], ("write is missing",)),
        (["--cost", "read=1,write=0.5"], ("write",)),
        (["--warmup", "110%"], ("110%",)),
        (["--jobs", "0"], ("jobs",)),
        (["--jobs", "many"], ("jobs",)),
        (["--page-size", "0"], ("page size",)),
        (["--page-size", "big"], ("page size",)),
        (["--on-error", "ignore"], ("--on-error", "stop or skip")),
        (["--order", "random"], ("order",)),
        (["--volume", "nobody"], ("nobody",)),
        (["--json", "-", "--csv", "-"], ("standard output",)),
        (["--polcy", "lru"], ("did you mean --policy?",)),
        (["--device", "smal"], ('no preset "smal", did you mean small?',)),
    ],
)
def test_a_flag_that_cannot_be_is_usage(
    args: list[str], parts: tuple[str, ...], destage: Destage, msr: Path
) -> None:
    refused(destage("compare", msr, "-p", "lru", *args), 2, *parts)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("-p", "lru", "-p", "arc"), "--policy: expected once, got 2 times (several values: with"),
        (("-c", "4p", "--cache", "8p"), "--cache: expected once, got 2 times (several values"),
        (("-p", "lru", "--requests", "5", "--requests=6"), "--requests: expected once, got 2"),
    ],
)
def test_a_flag_that_is_typed_twice_does_not_drop_a_value(
    destage: Destage, msr: Path, flags: tuple[str, ...], message: str
) -> None:
    done = destage("compare", msr, *flags)
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_an_unknown_command_names_the_nearest(destage: Destage) -> None:
    refused(destage("compaer"), 2, "did you mean compare?")
    refused(destage("trace", "inof"), 2, "did you mean info?")
    refused(destage("device"), 2, "did you mean devices?")
    refused(destage("compare"), 2, "TRACE")


def test_an_output_that_cannot_be_written_is_74(destage: Destage, msr: Path) -> None:
    # A path below a file is as closed to root as to anybody.
    below = msr / "out.json"
    for flag in ("--json", "--csv", "--parquet", "--markdown"):
        refused(destage("compare", msr, "-p", "lru", flag, below), 74, str(below))
    done = destage("run", msr, "-p", "lru", "-c", "10%", "--decisions", below)
    refused(done, 74, str(below))
    refused(destage("trace", "convert", msr, "--to", "csv", "-o", below), 74, str(below))


def test_a_read_only_folder_is_74(destage: Destage, msr: Path, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    refused(destage("compare", msr, "-p", "lru", "--json", folder / "out.json"), 74, "read-only")


def test_a_full_disk_is_74_and_leaves_nothing(destage: Destage, msr: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("mounting a small file system takes root")
    mounted = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("no file system may be mounted here")
    try:
        old = folder / "d.jsonl"
        old.write_text("old\n")
        done = destage("run", msr, "-p", "lru", "-c", "10%", "--decisions", old)
        assert done.status == 74, done
        assert "d.jsonl" in done.err or ".tmp" in done.err, done
        assert old.read_text() == "old\n"
        assert [p.name for p in folder.iterdir()] == ["d.jsonl"]
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def buffered() -> dict[str, str]:
    """The environment in which standard output has its buffer, as it has for users."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}


@pytest.mark.parametrize(
    "words",
    [("compare", "-p", "lru"), ("mrc", "-p", "lru", "-c", "4p")],
    ids=["more than a buffer", "less than a buffer"],
)
def test_dev_full_as_standard_output_is_74(
    tmp_path: Path, msr: Path, words: tuple[str, ...]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [
                *MAIN,
                *(words[0], str(msr), *words[1:], "--csv", "-", "-q"),
            ],
            stdout=full,
            stderr=subprocess.PIPE,
            env=buffered(),
            check=False,
        )
    assert done.returncode == 74, done
    assert b"Traceback" not in done.stderr


def test_what_is_left_for_a_full_standard_output_does_not_hide_the_status() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    program = (
        "import sys; from destage.cli import streams; "
        "sys.stdout.write('left'); sys.exit(streams.finish(65))"
    )
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=full,
            stderr=subprocess.PIPE,
            env=buffered(),
            check=False,
        )
    assert (done.returncode, done.stderr) == (65, b"")


def test_special_files_and_links_stay_what_they_are(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    done = destage("compare", msr, "-p", "lru", "--csv", "link.csv")
    assert done.status == 0, done
    assert (tmp_path / "link.csv").is_symlink()
    assert "lru" in (tmp_path / "real.csv").read_text()
    if not Path("/dev/full").is_char_device():
        pytest.skip("there is no /dev/full")
    refused(destage("compare", msr, "-p", "lru", "-q", "--csv", "/dev/full"), 74, "/dev/full")
    refused(destage("trace", "convert", msr, "--to", "csv", "-o", "/dev/full"), 74, "/dev/full")
    recorded = destage("run", msr, "-p", "lru", "-c", "10%", "-q", "--decisions", "/dev/full")
    refused(recorded, 74, "/dev/full")
    assert Path("/dev/full").is_char_device()


def test_bytes_that_are_no_text_are_refused(destage: Destage, msr: Path) -> None:
    refused(destage("compare", msr, "-p", "lru", "--volume", os.fsdecode(b"\xff")), 2)


def test_a_reader_that_leaves_early_is_no_error_message(msr: Path) -> None:
    command = [*MAIN, "trace", "convert"]
    lines = msr.read_text() * 500
    big = msr.with_name("big.csv")
    big.write_text(lines)
    process = subprocess.Popen(
        [*command, str(big), "--to", "csv", "-o", "-", "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 141, err
    assert err == ""


TOML = {
    "no TOML": ("[trace\n", "TOML"),
    "unknown table": ("[trase]\n", "did you mean trace?"),
    "unknown key": ("[trace]\non_eror = 'skip'\n", "did you mean on_error?"),
    "no table": ("trace = 3\n", "expected a table"),
}


@pytest.mark.parametrize("case", TOML)
def test_a_bad_configuration_file_is_65(
    case: str, destage: Destage, msr: Path, tmp_path: Path
) -> None:
    text, part = TOML[case]
    (tmp_path / "c.toml").write_text(text)
    done = destage("compare", msr, "-p", "lru", "--config", "c.toml")
    refused(done, 65, "c.toml", part)


def test_a_missing_configuration_file_is_66(destage: Destage, msr: Path) -> None:
    refused(destage("compare", msr, "-p", "lru", "--config", "no.toml"), 66, "no.toml")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "JSON"),
        ("[]", "empty"),
        ("{}", "schema"),
        ('{"schema": "destage.results", "schema_version": 99}', "99"),
        ('{"schema": "destage.results", "schema_version": 1}', "version"),
    ],
)
def test_a_result_that_is_none_is_65(
    text: str, part: str, destage: Destage, tmp_path: Path
) -> None:
    (tmp_path / "r.json").write_text(text)
    refused(destage("rerun", "r.json"), 65, "r.json", part)


def test_vectors_that_are_none_are_65_or_66(destage: Destage, tmp_path: Path) -> None:
    refused(destage("conform", "none.jsonl"), 66, "none.jsonl")
    (tmp_path / "bad.jsonl").write_text('{"policy":"lru","frames":1}\n')
    refused(destage("conform", "bad.jsonl"), 65, "bad.jsonl:1")
    (tmp_path / "empty.jsonl").touch()
    refused(destage("conform", "empty.jsonl"), 65, "empty.jsonl")


def test_our_own_bug_is_70_and_says_how_to_report_it(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    # A broken installation stands for a bug: the module's own function is not there.
    (tmp_path / "sitecustomize.py").write_text(
        "import destage.questions.runs as r\n"
        "def broken(*a, **k):\n"
        "    raise RuntimeError('the impossible happened')\n"
        "r.compare_pairs = broken\n"
    )
    done = destage("compare", msr, "-p", "lru", "-q", env={"PYTHONPATH": str(tmp_path)})
    refused(done, 70, "bug", "the impossible happened", "report")


def test_messages_are_in_one_language_of_errors(destage: Destage, msr: Path) -> None:
    done = destage("compare", msr, "-p", "lru", "-c", "0")
    assert re.match(r"destage: [^A-Z]", done.err), done


def test_sample_twins_are_read_or_say_what_they_need(destage: Destage) -> None:
    done = destage("trace", "head", DATA / "mqsim.trace")
    assert done.status in (0, 65), done


def test_near_misses_get_the_suggestion_that_fits(destage: Destage, tmp_path: Path) -> None:
    given = str(DATA / "msr.csv")
    result = tmp_path / "r.json"
    destage("run", given, "-p", "lru", "-c", "8p", "--json", str(result), "-q")
    mine = tmp_path / "mine.py"
    mine.write_text("")
    for arguments, status, said in [
        (("-d", "small", "--show", "p999"), 2, "did you mean p99.9?"),
        (("--format", "fio"), 2, "did you mean fio-iolog?"),
        (("-d", "small[op_permile=200]"), 2, "did you mean op_permille?"),
        (("--requests", "1M"), 2, 'expected a whole number, found "1M": write 1000000'),
        (("--resample-block", "8"), 2, "--resample-block): add resample (--resample SEED)"),
        (("--resample-block", "0"), 2, 'expected a whole number from 1, found "0"\n'),
        (("-d", "small[queue_depth=8]"), 2, "queue_depth excludes mode = open"),
        (("-p", str(mine)), 2, "`destage new-policy Mine` writes one to start from"),
        (("-p", "lru.py"), 66, "the policy lru needs no file: -p lru"),
    ]:
        refused(destage("compare", given, "-c", "8p", *arguments), status, said)
    refused(destage("trace", "synth", "zipfian", "-o", "x.csv"), 2, "did you mean zipf?")
    refused(destage("compare", str(result)), 65, "these are results of destage, not a trace")
    refused(destage("compare", str(tmp_path / "mnie.py")), 66, f"did you mean {mine}?")
    refused(destage("compare", "lru", given), 66, "lru is a policy: -p lru")


def test_a_table_of_no_format_gets_a_draft_of_its_mapping(destage: Destage, tmp_path: Path) -> None:
    table = tmp_path / "io.txt"
    table.write_text("when_ms;rw;lba;bytes\n0,5;R;2048;4096\n1,25;W;16;8192\n2,0;R;8;512\n")
    done = destage("trace", "info", str(table))
    refused(done, 65, "no format fits", "0.000750 s  write  byte 8192, 8192 bytes")
    command = next(line for line in done.err.splitlines() if "if that is right: " in line)
    accepted = destage(*shlex.split(command.partition(": destage ")[2]))
    assert accepted.status == 0, accepted
    assert "requests            3: 2 reads" in accepted.out


def test_units_of_our_own_export_are_not_overruled(destage: Destage, tmp_path: Path) -> None:
    export = str(tmp_path / "own.csv")
    assert destage("trace", "synth", "loop", "--requests", "9", "-o", export).status == 0
    for flags in (["--time-unit", "ms"], ["--format", "csv", "--offset-unit", "sector"]):
        refused(destage("trace", "info", export, *flags), 2, flags[-2], "export has its units")
    assert destage("trace", "info", export, "--time-unit", "ns").status == 0


def test_a_trace_that_is_given_twice_is_not_merged(destage: Destage, msr: Path) -> None:
    for again in (msr, msr.parent / "." / ".." / msr.parent.name / msr.name):
        for flags in ([], ["--merge"]):
            found = destage("compare", msr, again, "-p", "lru", "-c", "4p", *flags)
            assert found.status == 2, found
            assert "it is given twice" in found.err


def test_an_unknown_policy_to_compare_with_names_its_flag(destage: Destage, msr: Path) -> None:
    for flag in ("--against", "--baseline"):
        found = compare(destage, msr, flag, "nope")
        assert found.status == 2, found
        assert f"destage: {flag}: 'nope' is none of the policies" in found.err


def test_no_cache_has_no_size(destage: Destage, msr: Path) -> None:
    for command in (("run", msr, "-d", "small"), ("serve", ":memory:", "--size", "1MiB")):
        found = destage(*command, "-p", "none", "-c", "4p")
        assert found.status == 2, found
        assert "destage: --cache 4p: none is no cache, and has no size" in found.err
    direct = destage("serve", ":memory:", "--size", "1MiB", "--direct", "--for", "1s")
    assert direct.status == 2, direct
    assert "--direct: :memory: has no page cache" in direct.err


def test_padding_of_none_has_no_cache(destage: Destage, msr: Path) -> None:
    done = destage("trace", "profile", msr, "--padding", "none", "-c", "4MiB")
    refused(done, 2, "--padding none has no cache: leave out --cache")


def test_a_bench_has_a_most_of_requests_in_flight(destage: Destage) -> None:
    done = destage("devices", "bench", "small", "--depth", "70000", "--requests", "10")
    refused(done, 2, "depth", "expected at most 65536, found 70000")


def test_flags_of_files_and_slices_are_named(destage: Destage, msr: Path, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[cache]\nframes = "1MiB"\n')
    (tmp_path / "d.toml").write_text('[device]\npreset = "small"\n[cache]\nchannels = 4\n')
    run = ("run", msr, "-p", "lru", "-c", "4p")
    for command, status, said in (
        (("cite", "lost.json"), 66, "lost.json: no such file"),
        ((*run, "--series", "s.xls"), 2, "--series: expected a file .csv or .parquet"),
        ((*run, "--series", "s.csv", "--period", "0"), 2, "--period: expected at least 1"),
        ((*run, "--requests", "0"), 65, "--requests: expected at least 1"),
        ((*run, "--offset-from", "1MiB", "--offset-to", "4KiB"), 65, "--offset-from and --offset"),
        ((*run, "--config", "c.toml"), 65, "unknown key 'frames': the cache size is size here"),
        ((*run, "-d", "d.toml"), 65, 'unknown key "channels": it belongs in [device]'),
        (("serve", ":memory:", "--size", "abc"), 2, "--size: expected a size such as 64MiB"),
        (("compare", msr, "-p", "lru", "-c", "-5%"), 2, "a cache has at least one page"),
    ):
        refused(destage(*command), status, said)
    done = destage(*run, "-d", "small", "--device-pages", "9")
    assert done.status == 2, done
    assert "device_pages (--device-pages): a run with a device takes the device's" in done.err


def test_left_out_and_sorted_requests_are_said(destage: Destage, tmp_path: Path) -> None:
    base = 128166372000000000
    lines = [
        f"{base + at},demo,0,Read,{4096 * k},{size},5"
        for k, (at, size) in enumerate(
            [(0, 4096), (20_000, 4096), (10_000, 4096), (30_000, 0), (40_000, 4096)]
        )
    ]
    (tmp_path / "t.csv").write_text("\n".join([*lines, ""]))
    done = destage("compare", "t.csv", "-p", "lru", "-c", "2p")
    assert done.status == 0, done
    assert "1 request of length 0 left out, 1 time out of order" in done.err
