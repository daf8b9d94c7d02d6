"""`destage serve` where something goes wrong: full disks, silent clients, signals, names."""

from __future__ import annotations

import gzip
import json
import os
import random
import resource
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_serve import DESTAGE, Client, replayed, served

import destage as ds

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="serve needs Unix")

EMULATED = (":memory:", "-d", "small[precondition=none]")
HEAD = "time_ns,device,op,offset_bytes,length_bytes,response_ns"


@contextmanager
def connected(ready: dict[str, Any]) -> Iterator[Client]:
    client = Client(ready["uri"])
    with client.socket:
        yield client


def failed(*flags: str | Path) -> subprocess.CompletedProcess[str]:
    words = [*DESTAGE, "serve", *map(str, flags)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("flags", "status", "said"),
    [
        ((":memory:", "--size", "0"), 2, "--size"),
        (("new.img", "--size", "100"), 2, "at least a page of 4096 bytes"),
        (
            (":memory:", "--size", "1MiB", "--every", "-1s"),
            2,
            "--every: expected a duration such as 60s or 10m",
        ),
        ((*EMULATED, "--speed", "nan"), 2, "--speed: expected a number above 0, found nan"),
        ((*EMULATED, "--speed", "inf"), 2, "--speed: expected a number above 0, found inf"),
        (("pipe",), 74, "it is a pipe or a socket"),
        ((":memory:", "--size", "1MiB", "--record", "pipe"), 74, "pipe"),
    ],
)
def test_what_cannot_be_is_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], status: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    done = failed(*flags)
    assert (done.returncode, said in done.stderr) == (status, True), done
    assert not Path("new.img").exists()


def test_a_record_never_replaces_the_file_that_is_served(tmp_path: Path) -> None:
    file, link = tmp_path / "disk.img", tmp_path / "link"
    file.write_bytes(b"7" * (1 << 20))
    os.link(file, link)
    with pytest.raises(ds.UsageError, match="would replace the file that is served"):
        ds.serve(file, record=link)
    assert file.read_bytes() == b"7" * (1 << 20)


def test_a_port_of_localhost_is_open_to_every_user_and_says_so(tmp_path: Path) -> None:
    with ds.serve(":memory:", size="1MiB", listen="0") as server:
        assert not server.is_open
        assert "every user of this machine" in (server.warning or "")
    with ds.serve(":memory:", size="1MiB") as server:
        assert server.warning is None
    with served(":memory:", "--size", "1MiB", "--listen", "0") as (_, process):
        assert process.stderr is not None
        assert "every user of this machine" in process.stderr.readline()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGINT])
def test_every_signal_that_ends_a_server_flushes_first(tmp_path: Path, number: int) -> None:
    file, stats = tmp_path / "disk.img", tmp_path / "stats.json"
    with (
        served(file, "--size", "1MiB", "--stats", stats) as (ready, process),
        connected(ready) as client,
    ):
        client.call(1, 4096, 4096, b"7" * 4096)
        process.send_signal(number)
        process.wait(60)
    assert file.read_bytes()[4096:8192] == b"7" * 4096
    assert json.loads(stats.read_text())["ended"] == "signal"


def limited(most_bytes: int) -> Callable[[], None]:
    """Files of the process have at most so many bytes, as on a disk that is full."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return limit


@pytest.mark.parametrize("name", ["record.csv", "record.csv.gz"])
def test_a_record_on_a_full_disk_ends_with_a_whole_line_and_says_so_at_once(
    tmp_path: Path, name: str
) -> None:
    record, most = tmp_path / name, 3001
    words = [*DESTAGE, "serve", ":memory:", "--size", "1MiB", "--every", "0", "--record", record]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limited(most),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    ready = json.loads(process.stdout.readline())
    with connected(ready) as client:
        for number in range(20_000):
            client.call(1, number * 7919 % 255 * 4096 + number % 4000, 5, b"hello")
    said = process.stderr.readline()
    assert "record: File too large" in said or "it ends here, with a whole line" in said, said
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 74, error
    data = record.read_bytes()
    assert len(data) <= most
    text = (gzip.decompress(data) if name.endswith("gz") else data).decode()
    if text:  # of a packed one nothing may have been whole
        lines = text.splitlines()
        assert lines[0] == HEAD
        assert text.endswith("\n")
        assert all(line.count(",") == 5 for line in lines)
        assert ds.open_trace(record, page_size=512).accesses > 0
    assert text or name.endswith("gz")


def peak_bytes(process: subprocess.Popen[str]) -> int:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
def test_silent_clients_take_little_memory_and_stop_no_other() -> None:
    flags = ["--size", "64MiB", "-c", "8MiB", "--every", "0"]
    with served(":memory:", *flags) as (ready, process), ExitStack() as stack:
        before, most = peak_bytes(process), 32 << 20
        clients = [stack.enter_context(connected(ready)) for _ in range(8)]
        for client in clients[:4]:
            for cookie in range(16):
                asked = struct.pack(">IHHQQI", 0x25609513, 0, 0, cookie, 0, most)
                client.socket.sendall(asked)
        for client in clients[4:]:
            client.socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 1, 0, 0, most))
            client.socket.sendall(bytes(100_000))
        other = stack.enter_context(connected(ready))
        for page in range(0, 16_000, 100):
            other.call(5, page * 4096, 4096)  # the pages come into the cache: misses
            other.call(1, page * 4096, 4096, bytes(4096))
        # 4 MiB of each connection, and what the pool has at hand for them.
        assert peak_bytes(process) - before < (8 * 4 + 64 + 16) << 20


def test_the_printed_replay_has_the_counters_whatever_clients_have_sent(tmp_path: Path) -> None:
    record, stats, draw = tmp_path / "record.csv", tmp_path / "stats.json", random.Random(9)
    flags = ("--size", "1MiB", "-c", "20p", "-p", "2q", "--record", record, "--stats", stats)
    with served(":memory:", *flags, "--every", "1h") as (ready, _):
        for number in range(60):
            with connected(ready) as client:
                for _ in range(draw.randrange(20)):
                    page = draw.randrange(250)
                    client.call(1, page * 4096, 5000, bytes(5000))
                    client.call(5, page * 4096, 5000)
                # A request of any command, cut anywhere, with a byte that is wrong.
                sent = bytearray(struct.pack(">IHHQQI", 0x25609513, 0, number % 9, 7, 0, 9000))
                sent[draw.randrange(28)] ^= 1 << draw.randrange(8)
                client.socket.sendall((sent + bytes(9000))[: draw.randrange(9028)])
    told = json.loads(stats.read_text())
    assert told["counters"]["evictions"] > 100
    assert replayed(told, tmp_path) == told["counters"]


@pytest.mark.parametrize(
    ("replaced", "said"),
    [
        (False, "the file was removed while it was served, and its data with it"),
        (True, "another file has taken this name while it was served"),
    ],
)
def test_a_file_that_lost_its_name_is_a_warning_at_the_end(
    tmp_path: Path, replaced: bool, said: str
) -> None:
    file, other = tmp_path / "disk.img", tmp_path / "other"
    with served(file, "--size", "1MiB") as (_, process):
        if replaced:
            other.touch()
            other.rename(file)
        else:
            file.unlink()
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 0
    assert f"destage: warning: {file}: {said}" in error


def test_what_goes_wrong_is_said_within_a_second_whatever_the_lines_are(tmp_path: Path) -> None:
    flags = ("--size", "1MiB", "--every", "1h")
    with (
        served(":memory:", *flags) as (ready, process),
        socket.socket(socket.AF_UNIX) as client,
    ):
        client.connect(ready["uri"].partition("socket=")[2])
        client.sendall(b"\xff" * 4)
        assert process.stderr is not None
        assert "client flags 0xffffffff" in process.stderr.readline()


def test_ctrl_c_while_the_command_is_imported_is_no_traceback(tmp_path: Path) -> None:
    command, module = tmp_path / "destage", tmp_path / "lazy_loader.py"
    command.write_text("from destage.cli import main\nmain()\n")
    module.write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, command, "--version"],
        capture_output=True,
        text=True,
        timeout=50,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (130, "")
