"""No output replaces an input or another output, whatever way the two are named."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from conftest import Destage

import destage as ds
from destage.base.io.recording import recording
from destage.cli.file_types import File, Output
from destage.cli.root import LazyGroup, root

COMPARE = ("-p", "lru", "-c", "4p", "--quiet")


@pytest.fixture
def own(msr: Path, tmp_path: Path) -> Path:
    """A trace of the user's own, where the command runs."""
    path = tmp_path / "own.csv"
    path.write_bytes(msr.read_bytes())
    return path


@pytest.fixture
def result(destage: Destage, own: Path, tmp_path: Path) -> Path:
    assert destage("compare", "own.csv", *COMPARE, "--json", "r.json").status == 0
    return tmp_path / "r.json"


def refused(destage: Destage, folder: Path, *words: str, says: tuple[str, ...]) -> None:
    """The command is a usage error that has these words, and no file is another than before."""
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    done = destage(*words)
    after = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert done.status == 2, done
    for word in says:
        assert word in done.err, done
    assert before == after


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "own.csv", *COMPARE, "--csv", "own.csv"),
        ("compare", "own.csv", *COMPARE, "--json", "link"),
        ("compare", "own.csv", *COMPARE, "--parquet", "hard"),
        ("compare", "own.csv", *COMPARE, "--markdown", "./sub/../own.csv"),
        ("compare", "link", *COMPARE, "--csv", "own.csv"),
        ("run", "own.csv", "-p", "lru", "-c", "4p", "--decisions", "own.csv"),
        ("run", "own.csv", "-p", "lru", "-c", "4p", "--series", "own.csv"),
        ("run", "own.csv", "-p", "lru", "-c", "4p", "-d", "small", "--timeline", "own.csv"),
        ("trace", "convert", "own.csv", "--to", "disksim", "-o", "own.csv"),
        ("trace", "info", "own.csv", "--json", "own.csv"),
        ("trace", "head", "own.csv", "--json", "own.csv"),
        ("trace", "profile", "own.csv", "--csv", "own.csv"),
        ("mrc", "own.csv", "-p", "lru", "--json", "own.csv"),
        ("tune", "own.csv", "-p", "clc", "--param", "alpha=0:1:0.5", "--csv", "own.csv"),
    ],
    ids=" ".join,
)
def test_a_trace_is_not_overwritten(
    destage: Destage, own: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "link").symlink_to("own.csv")
    (tmp_path / "hard").hardlink_to(own)
    (tmp_path / "sub").mkdir()
    refused(
        destage, tmp_path, *words, says=("the trace", "own.csv" if "link" not in words else "link")
    )


@pytest.mark.parametrize("flag", ["--csv", "--json", "--report"])
def test_a_flag_is_no_file(destage: Destage, own: Path, tmp_path: Path, flag: str) -> None:
    words = ("compare", own.name, "-p", "lru", "-c", "4p", flag, "-q")
    refused(destage, tmp_path, *words, says=(f"{flag}: expected a file, got -q", "./-q"))
    assert destage(*words[:-1], "./-q").status == 0
    assert (tmp_path / "-q").stat().st_size > 0


def test_a_member_is_of_its_archive(destage: Destage, own: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.write(own, "own.csv")
    refused(
        destage,
        tmp_path,
        *("compare", "a.zip!own.csv", *COMPARE, "--csv", "a.zip"),
        says=("--csv a.zip", "the trace a.zip!own.csv"),
    )


def test_files_of_settings_and_drives_are_not_overwritten(
    destage: Destage, own: Path, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text("[trace]\nformat = 'msr'\n")
    (tmp_path / "d.toml").write_text(ds.device("small").toml)
    settings = ("compare", "own.csv", *COMPARE, "--config", "c.toml", "--json", "c.toml")
    refused(destage, tmp_path, *settings, says=("--config", "c.toml"))
    for spec in ("d.toml", "d.toml[queue_level=die]"):
        drive = ("compare", "own.csv", *COMPARE, "-d", spec, "--json", "d.toml")
        refused(destage, tmp_path, *drive, says=("the device", "d.toml"))


def test_a_result_is_not_overwritten(destage: Destage, result: Path, tmp_path: Path) -> None:
    for words in (
        ("rerun", "r.json", "--json", "r.json"),
        ("report", "r.json", "--html", "r.json"),
    ):
        refused(destage, tmp_path, *words, says=("the result r.json",))


def test_the_trace_that_a_result_names_is_not_overwritten(
    destage: Destage, result: Path, tmp_path: Path
) -> None:
    refused(
        destage,
        tmp_path,
        "rerun",
        "r.json",
        "--csv",
        "own.csv",
        says=("--csv own.csv", "the trace"),
    )


def test_vectors_are_not_overwritten(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text('{"policy":"lru","frames":1,"params":{},"accesses":[]}\n')
    for flag in ("--emit", "--json"):
        refused(
            destage, tmp_path, "conform", "v.jsonl", flag, "v.jsonl", says=("the vectors v.jsonl",)
        )


def test_of_two_outputs_none_is_lost(destage: Destage, own: Path, tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("same.out")
    for first, second in (("same.out", "same.out"), ("same.out", "dangling")):
        words = ("compare", "own.csv", *COMPARE, "--json", first, "--csv", second)
        refused(destage, tmp_path, *words, says=(f"--json {first}", f"--csv {second}", "one file"))


def test_standard_streams_are_files_too(own: Path, tmp_path: Path) -> None:
    """What a shell has redirected to a file is an output or an input like another."""
    kept = own.read_bytes()

    def status(words: str) -> tuple[int, str]:
        line = f"{sys.executable} -c 'from destage.cli import main; main()' {words}"
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stderr + (tmp_path / "err").read_text()

    (tmp_path / "err").touch()
    quiet = " ".join(COMPARE)
    for words in (
        f"compare own.csv {quiet} --csv out >out",
        f"compare own.csv {quiet} --json - --csv out >out",
        f"compare own.csv {quiet} --csv err 2>>err",
        f"compare own.csv {quiet} >>own.csv",
        f"compare - {quiet} --csv own.csv <own.csv",
    ):
        code, err = status(words)
        assert code == 2, (words, err)
        assert own.read_bytes() == kept, words
    # Joined by the shell, which knows why.
    assert status(f"compare own.csv {quiet} >both 2>&1")[0] == 0


def test_what_keeps_nothing_may_be_named_as_often_as_one_likes(
    destage: Destage, own: Path, tmp_path: Path
) -> None:
    words = ("compare", "own.csv", *COMPARE, "--json", "/dev/null", "--csv", "/dev/null")
    assert destage(*words).status == 0
    os.mkfifo(tmp_path / "fifo")
    with subprocess.Popen(["cat", tmp_path / "fifo"], stdout=subprocess.PIPE) as reader:
        words = ("compare", "own.csv", *COMPARE, "--json", "fifo", "--csv", "/dev/null")
        assert destage(*words).status == 0
        assert b'"runs"' in reader.communicate()[0]


def test_a_figure_does_not_replace_what_was_read(
    destage: Destage, own: Path, tmp_path: Path
) -> None:
    """The names in a folder of figures are not known before they are drawn."""
    pytest.importorskip("altair")
    words = ("trace", "profile", "--figures", "f", "--quiet")
    assert destage(*words, "own.csv").status == 0
    table = next((tmp_path / "f").glob("*.csv"))
    table.write_bytes(own.read_bytes())
    kept = table.read_bytes()
    done = destage(*words, f"f/{table.name}")
    assert done.status == 2, done
    assert table.read_bytes() == kept


def test_a_name_that_is_too_long_is_named(destage: Destage, own: Path, tmp_path: Path) -> None:
    name = "x" * 300
    asked = ("compare", own, "-p", "lru", "-c", "4p")
    for words in (
        (*asked, "--json", name),
        (*asked, "--report", name),
        ("run", own, "-p", "lru", "-c", "4p", "--decisions", name),
        ("trace", "convert", own, "--to", "csv", "-o", name),
        ("trace", "profile", own, "--figures", name),
        ("mrc", own, "-p", "lru", "--csv", name),
    ):
        done = destage(*words)
        assert (done.status, done.err) == (74, f"destage: {name}: File name too long\n"), words
        assert not done.out
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "loop/r.json: " in destage(*asked, "--json", "loop/r.json").err


def test_the_python_calls_that_write_refuse_as_well(own: Path) -> None:
    with pytest.raises(ds.UsageError, match="would be overwritten"):
        ds.convert(own, own, to="disksim")
    trace = ds.open_trace(own)
    with pytest.raises(ds.UsageError, match="would be overwritten"):
        ds.run(trace, "lru", cache="4p", decisions=own)
    with pytest.raises(ds.UsageError, match="one file"):
        ds.run(
            trace, "lru", cache="4p", device="small", decisions=own.parent / "x",
            timeline=own.parent / "x",
        )  # fmt: skip


def commands(group: click.Group, path: str = "destage") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, LazyGroup):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def test_no_command_can_name_a_file_without_saying_what_for() -> None:
    """A flag whose value is a file has a type that says whether it is written or read."""
    outputs = 0
    for path, command in commands(root):
        for param in command.params:
            metavar = getattr(param, "metavar", None) or ""
            told = isinstance(param.type, File)
            outputs += isinstance(param.type, Output)
            if re.search(r"FILE|FOLDER|\bDIR\b|TRACE|\.jsonl?\b|\.html|\.toml|DRIVE", metavar):
                assert told, f"{path}: {metavar} of {param.opts}"
            if (param.name or "").endswith("_file") and "reader_" not in str(param.name):
                assert isinstance(param.type, Output), f"{path}: {param.opts}"
    assert outputs > 25


@pytest.mark.parametrize("name", ["d.jsonl", "odd: name.json.gz"])
def test_an_error_of_a_temporary_file_names_the_output(name: str, tmp_path: Path) -> None:
    target = tmp_path / name
    with pytest.raises(ds.OutputError) as found, recording(target) as temporary:
        raise ds.OutputError(f"{temporary}: No space left on device (os error 28)")
    assert str(found.value) == f"{target}: No space left on device (os error 28)"
    assert list(tmp_path.iterdir()) == []
