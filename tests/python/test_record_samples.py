"""`examples/record_samples.py`: small recordings where allowed, and what it refuses."""

from __future__ import annotations

import lzma
import math
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest
from conftest import ROOT

import destage as ds
from destage.reproduce.samples import REPEATED, fetch, samples

SCRIPT = ROOT / "examples" / "record_samples.py"
RAW = """\
# destage record 1
# start: 2026-11-24T10:00:00.123456+00:00 is time 0
time_ns,device,op,offset_bytes,length_bytes,response_ns,flags
1000,loop0,read,0,4096,5000,
# lost 0 events
2399,loop0,write,8192,512,4321,S+M
3000,loop0,write,8192,512,,S+M
4000,loop0,read,4096,4096,99,
# write: 2 requests
"""


@pytest.fixture
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def changed(monkeypatch: pytest.MonkeyPatch, script: dict[str, Any], **names: object) -> None:
    """Change what the functions of the script see."""
    main = script["main"]
    assert isinstance(main, FunctionType)
    for name, value in names.items():
        monkeypatch.setitem(main.__globals__, name, value)


@pytest.fixture
def refused(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., str]:
    """Run the script with what is missing; its sentence."""

    def run(*words: str, **names: object) -> str:
        changed(monkeypatch, script, **names)
        monkeypatch.setattr(sys, "argv", ["record_samples", *words, "-o", str(tmp_path / "out")])
        with pytest.raises(SystemExit) as ended:
            script["main"]()
        return str(ended.value)

    return run


def as_root(monkeypatch: pytest.MonkeyPatch, programs: str = "/usr/bin/{}") -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: programs.format(name) or None)


def test_what_is_missing_is_one_sentence(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for size in ("0", "1.5", "nan"):
        said = refused("postmark", "--size", size)
        assert said.startswith("record_samples: --size: expected a number above 0 and at most 1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root are needed: sudo .venv/bin/python examples/rec" in refused("postmark")
    as_root(monkeypatch, programs="")
    assert refused("postmark") == "record_samples: losetup was not found: apt-get install mount"
    as_root(monkeypatch)
    said = refused("devel", "--source", str(tmp_path / "none.tar.xz"))
    assert said.endswith("none.tar.xz was not found: apt-get install linux-source-6.1")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 30))
    assert re.search(r"out: 12\.0 GiB of free space needed, found 1\.0$", refused("postmark"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 40))
    assert "no memory control group can be made" in refused("postmark", GROUPS=())
    # Whatever it refused, it left nothing behind.
    assert list((tmp_path / "out").iterdir()) == []


def test_closed_tracefs_ends_it_and_the_loop_device_is_detached(
    refused: Callable[..., str],
    script: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    group, called = tmp_path / "group", list[str]()
    group.mkdir()

    def call(*words: str | Path) -> str:
        called.append(" ".join(str(word) for word in words[:2]))
        return "/dev/loop99"

    closed = tmp_path / "destage"
    closed.write_text("#!/bin/sh\necho 'destage: tracefs: permission denied' >&2\nexit 77\n")
    closed.chmod(0o755)
    as_root(monkeypatch)
    changed(monkeypatch, script, call=call, control_group=lambda size, stack: group)
    said = refused("postmark", "--size", "0.01", DESTAGE=closed)
    assert said == "record_samples: destage: tracefs: permission denied"
    assert called == ["losetup --find", "losetup --detach"]
    assert list((tmp_path / "out").iterdir()) == []


def test_a_program_that_fails_is_named_with_its_last_line(
    script: dict[str, Any], tmp_path: Path
) -> None:
    machine = script["Machine"](
        mount=tmp_path, device="", group=tmp_path, log=tmp_path / "log", size=1.0, source=tmp_path
    )
    with pytest.raises(script["Refused"], match=r"sh -c echo.*: status 3: second$"):
        machine.run("sh", "-c", "echo first; echo second; exit 3")
    # A limited one is in the group before it begins.
    assert int((tmp_path / "cgroup.procs").read_text()) == machine.processes[0].pid
    assert (machine.scaled(200), machine.scaled(0.4)) == (200, 0)
    machine.size = 0.01
    assert (machine.scaled(200), machine.scaled(30), machine.scaled(60, least=5)) == (2, 1, 5)


def test_the_columns_are_those_of_msr_cambridge(script: dict[str, Any], tmp_path: Path) -> None:
    raw, path = tmp_path / "raw.csv", tmp_path / "own-a.csv.xz"
    raw.write_text(RAW)
    assert script["as_msr"](raw, path, "a", 2) == (2, 4)
    days = (date(2026, 11, 24) - date(1601, 1, 1)).days
    ticks = (days * 86_400 + 36_000) * 10_000_000 + 1_234_560
    assert lzma.decompress(path.read_bytes()).decode().splitlines() == [
        f"{ticks + 10},a,0,Read,0,4096,50",
        f"{ticks + 23},a,0,Write,8192,512,43",
    ]
    (first, _) = ds.trace_head(path)
    assert (first["op"], first["length_bytes"], first["response_ns"]) == ("read", 4096, 5000)


def test_the_table_is_that_of_the_recordings(script: dict[str, Any]) -> None:
    known = {name: one.requests for name, one in samples().items() if one.kind == "recording"}
    made = {one.name: one.requests for one in script["WORKLOADS"]}
    assert made.keys() == known.keys()
    assert all(made[name] in (count, math.inf) for name, count in known.items())


# Whole recordings.


def begun(name: str, out: Path, size: str = "0.01") -> subprocess.Popen[str]:
    words = [sys.executable, str(SCRIPT), name, "-o", str(out), "--size", size]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> str:
    """What it prints; skips where it may not record."""
    out, err = process.communicate(timeout=500)
    skip_if_not_allowed(process.returncode, err)
    assert (process.returncode, err) == (0, "")
    return out


def skip_if_not_allowed(status: int, err: str) -> None:
    """Skip where the script says that it is not root, or that a program or tracefs is missing."""
    needs = ("are needed", "was not found", "control group", "losetup:", "mount:", "tracefs")
    if status == 1 and any(word in err for word in needs):
        pytest.skip(f"nothing can be recorded here: {err.strip()}")


def left(out: Path, pid: int) -> list[str]:
    """What a recording left behind."""
    attached = subprocess.run(["losetup", "--list"], capture_output=True, text=True, check=True)
    images = [line for line in attached.stdout.splitlines() if str(out) in line]
    groups = Path("/sys/fs/cgroup").glob(f"**/destage-{pid}")
    mounts = [m for m in Path("/proc/mounts").read_text().splitlines() if str(out.parent) in m]
    return [*images, *map(str, groups), *mounts, *(p.name for p in out.iterdir())]


@pytest.fixture
def out(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to record into; temporary ones are beside it, where PostgreSQL's user may go."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder) / "out"


@pytest.mark.parametrize("name", ["postmark", pytest.param("pgtpcb", marks=pytest.mark.slow)])
def test_a_small_recording_is_a_trace_and_nothing_else_stays(
    name: str, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "postmark":  # a path of 80 characters is more than it can take
        deep = out.parent / ("deep" * 20)
        deep.mkdir()
        monkeypatch.setenv("TMPDIR", str(deep))
    process = begun(name, out)
    said = ended(process)
    path = out / f"own-{name}.csv.xz"
    found = re.match(rf"{re.escape(str(path))}: ([\d,]+) of ([\d,]+) requests kept", said)
    assert found, said
    assert found[1] == found[2]
    info = ds.trace_info(path)
    assert info.requests == int(found[1].replace(",", ""))
    counts = info.data["counts"]
    assert min(counts["reads"], counts["writes"]) > 0
    assert left(out, process.pid) == [path.name]
    states = {one.name: (one.state, one.path) for one in fetch(out)}
    assert states[name] == (REPEATED, path)


def test_a_signal_ends_it_and_nothing_stays(out: Path) -> None:
    process = begun("postmark", out, size="0.2")
    while process.poll() is None and not list(out.glob("*/log")):  # the program's output
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=100)
    skip_if_not_allowed(process.returncode, err)
    assert (process.returncode, err) == (128 + signal.SIGTERM, "")
    assert left(out, process.pid) == []
