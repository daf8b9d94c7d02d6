"""Signals, pipes that break, and standard streams that are closed or full."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import MAIN

TRACE = ("-p", "lru", "-c", "4p")
#: Long enough that only a command that hangs takes it.
PATIENCE_S = 100

on_linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")


def begun(folder: Path, *words: str, **streams: int) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*MAIN, *words], cwd=folder, **(pipes | streams))


def until_it_works(process: subprocess.Popen[bytes]) -> None:
    """Wait until the command has a thread that listens to signals and one that works."""
    while process.poll() is None and len(os.listdir(f"/proc/{process.pid}/task")) < 3:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


def ended(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    word = "interrupted" if number == signal.SIGINT else "terminated"
    assert (process.returncode, out) == (128 + number, b""), (out, err)
    assert err == f"destage: {word}\n".encode()


@on_linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
@pytest.mark.parametrize("words", [("compare", "-", *TRACE), ("trace", "head", "-")], ids=" ".join)
def test_a_command_that_waits_for_standard_input_ends_at_a_signal(
    tmp_path: Path, words: tuple[str, ...], number: signal.Signals
) -> None:
    with begun(tmp_path, *words, stdin=subprocess.PIPE) as process:
        until_it_works(process)
        ended(process, number)


@on_linux
@pytest.mark.parametrize(
    "words",
    [
        ("compare", "fifo.toml", *TRACE),
        ("trace", "convert", "fifo.toml", "--to", "csv", "-o", "x.csv"),
        ("compare", "small.csv", *TRACE, "-d", "fifo.toml"),
        ("conform", "fifo.toml"),
    ],
    ids=" ".join,
)
def test_a_command_that_waits_for_a_pipe_with_a_name_ends_at_a_signal(
    msr: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Nobody has opened it, and then somebody who writes nothing."""
    os.mkfifo(tmp_path / "fifo.toml")
    for opened in (False, True):
        with begun(tmp_path, *words) as process:
            until_it_works(process)
            writer = os.open(tmp_path / "fifo.toml", os.O_WRONLY) if opened else None
            ended(process, signal.SIGINT)
            if writer is not None:
                os.close(writer)
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith(".destage-")) == [
        "fifo.toml",
        "small.csv",
    ]


def until_it_hangs(process: subprocess.Popen[bytes]) -> None:
    """Wait until the main thread is where it was, in one system call."""
    place = Path(f"/proc/{process.pid}/syscall")
    before = ""
    while (now := place.read_text()) != before or now == "running\n":
        before = now
        time.sleep(0.1)


def until_it_was_delivered(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Wait until the process has taken the signal: its handler has run."""
    bit = 1 << (number - 1)
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        if not any(int(fields[key], 16) & bit for key in ("SigPnd", "ShdPnd")):
            return
        time.sleep(0.01)


@on_linux
def test_a_second_signal_ends_what_does_not_listen() -> None:
    """Native code that keeps the interpreter's lock: a mutex that is locked twice."""
    stuck = (
        "from destage.cli import signals; signals.listen(); signals.arm()\n"
        "import ctypes; mutex = ctypes.create_string_buffer(64)\n"
        "lock = ctypes.PyDLL(None).pthread_mutex_lock\n"
        "lock(mutex); print('armed', flush=True); lock(mutex)\n"
    )
    with subprocess.Popen([sys.executable, "-c", stuck], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"armed\n"
        until_it_hangs(process)
        process.send_signal(signal.SIGTERM)
        until_it_was_delivered(process, signal.SIGTERM)
        # Two of a kind that wait to be delivered are one: only now is the next a second.
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 143


@on_linux
def test_one_signal_does_not_end_what_does_not_listen() -> None:
    """It may still come back, and put away what it has."""
    patient = (
        "from destage.cli import signals; signals.listen(); signals.arm()\n"
        "import ctypes, sys, time; mutex = ctypes.create_string_buffer(64)\n"
        "lib = ctypes.PyDLL(None); lib.pthread_mutex_lock(mutex)\n"
        "until = (ctypes.c_long * 2)(int(time.time()) + 3, 0)\n"
        "try:\n"
        "    print('armed', flush=True)\n"
        "    lib.pthread_mutex_timedlock(mutex, until)\n"
        "    while True: time.sleep(1)\n"
        "except signals.Stopped:\n"
        "    print('put away', flush=True); sys.exit(7)\n"
    )
    with subprocess.Popen([sys.executable, "-c", patient], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"armed\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == b"put away\n"
        assert process.wait(PATIENCE_S) == 7


@on_linux
@pytest.mark.parametrize("opened", [False, True], ids=["nobody", "somebody"])
def test_a_notebook_that_waits_for_a_pipe_with_a_name_can_be_interrupted(
    tmp_path: Path, opened: bool
) -> None:
    """Python's own handler, none of the command line's; and the process lives on."""
    os.mkfifo(tmp_path / "fifo.csv")
    cell = (
        "import destage\n"
        "try: destage.open_trace('fifo.csv')\n"
        "except KeyboardInterrupt: print('interrupted')\n"
        "print(destage.synth('zipf', requests=10, pages=5).requests)\n"
    )
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", cell], cwd=tmp_path, **streams) as process:
        while process.poll() is None and len(os.listdir(f"/proc/{process.pid}/task")) < 2:
            time.sleep(0.01)
        writer = os.open(tmp_path / "fifo.csv", os.O_WRONLY) if opened else None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        if writer is not None:
            os.close(writer)
    assert (process.returncode, out) == (0, b"interrupted\n10\n"), err


SHORT = [
    ("--help",),
    ("policies",),
    ("devices", "small"),
    ("ftls", "--json", "-"),
    ("completion", "bash"),
    ("trace", "formats"),
    ("trace", "info", "small.csv"),
    ("trace", "head", "small.csv"),
    ("trace", "convert", "small.csv", "--to", "csv", "-o", "-"),
    ("trace", "synth", "zipf", "--requests", "100", "-o", "-"),
    ("trace", "profile", "small.csv", "--csv", "-"),
    ("compare", "small.csv", *TRACE),
    ("compare", "small.csv", *TRACE, "--parquet", "-"),
    ("run", "small.csv", *TRACE, "--decisions", "-"),
    ("mrc", "small.csv", "-p", "lru"),
]


@pytest.mark.parametrize("words", SHORT, ids=" ".join)
def test_a_broken_pipe_ends_a_command_without_a_word(
    msr: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with begun(tmp_path, *words, "--quiet", stdout=writer) as process:
        os.close(writer)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (141, b"")


def shell(folder: Path, words: tuple[str, ...], how: str) -> tuple[int, str]:
    """The command with its streams redirected; its status, and all that it said."""
    line = f'"$@" {how}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *MAIN, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    said = (done.stdout + done.stderr).decode()
    assert "Traceback" not in said, said
    assert "bug" not in said, said
    return done.returncode, said


@pytest.mark.parametrize("words", SHORT[:3] + SHORT[6:9] + SHORT[11:14], ids=" ".join)
def test_a_result_that_cannot_be_printed_is_an_error(
    msr: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    for how in (">&-", ">/dev/full"):
        status, said = shell(tmp_path, words, how)
        assert status == 74, (how, said)
        assert "standard output" in said, (how, said)


def test_what_was_to_be_written_is_written_though_nothing_can_be_printed(
    msr: Path, tmp_path: Path
) -> None:
    words = ("compare", "small.csv", *TRACE, "--json", "r.json")
    assert shell(tmp_path, words, ">&-")[0] == 74
    assert '"runs"' in (tmp_path / "r.json").read_text()


@pytest.mark.parametrize("how", ["2>&-", "2>/dev/full", "2>&- <&-", "2>/dev/full <&-"])
def test_what_cannot_be_said_is_no_reason_to_fail(msr: Path, tmp_path: Path, how: str) -> None:
    status, said = shell(tmp_path, ("compare", "small.csv", *TRACE), how)
    assert status == 0
    assert "lru" in said
    assert shell(tmp_path, ("compare", "missing.csv"), how)[0] == 66
    assert shell(tmp_path, ("compare", "small.csv", "--colour"), how)[0] == 2


def test_no_file_is_taken_for_a_stream_that_is_closed(msr: Path, tmp_path: Path) -> None:
    """The next file to be opened would get the lowest number."""
    kept = msr.read_bytes()
    for how in (">&- 2>&-", ">&- 2>&- <&-"):
        words = ("compare", "small.csv", *TRACE, "--csv", "x.csv")
        assert shell(tmp_path, words, how)[0] == 74
        assert msr.read_bytes() == kept
        lines = (tmp_path / "x.csv").read_text().splitlines()
        assert (len(lines), lines[0].split(",")[0]) == (2, "trace")
