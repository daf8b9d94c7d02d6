"""`destage serve` and `destage.serve`: the server from outside, with clients that others wrote."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import destage as ds

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="serve needs Unix")

DESTAGE = [sys.executable, "-c", "from destage.cli import main; main()"]


def needed(*names: str) -> None:
    """Skip where a client is missing."""
    for name in names:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed: what it would show is not looked at")


def ran(*command: str | Path, timeout: float = 300) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@contextmanager
def served(
    file: str | Path, *flags: str | Path, status: int = 0
) -> Iterator[tuple[dict[str, Any], subprocess.Popen[str]]]:
    """`destage serve` in a process of its own, ended by SIGTERM; its first line."""
    words = [*DESTAGE, "serve", str(file), *map(str, flags)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, process.communicate()
        ready = json.loads(line)
        assert ready["ready"] is True
        assert ready["pid"] == process.pid
        yield ready, process
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=60)
        assert process.returncode == status, error
    finally:
        process.kill()
        process.communicate()


def test_a_server_in_python_serves_until_its_block_ends(tmp_path: Path) -> None:
    file = tmp_path / "disk.img"
    with ds.serve(file, size="1MiB", policy="s3-fifo", cache="10%") as server:
        assert server.export_bytes == 1 << 20
        assert server.frames == 26
        path = Path(server.uri.partition("socket=")[2])
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            assert client.recv(8) == b"NBDMAGIC"
        stats = server.stats()
        assert stats["schema"] == "destage.serve"
        assert stats["ended"] is None
        assert stats["requests"]["read"] == 0
        assert stats["response_ns"]["p50"] is None
    assert not path.exists()
    assert file.stat().st_size == 1 << 20
    assert server.stop()["ended"] == "signal"


def test_a_stopped_server_has_released_its_file(tmp_path: Path) -> None:
    first = ds.serve(tmp_path / "disk.img", size="1MiB", cache="4p")
    told = first.stop()
    with ds.serve(tmp_path / "disk.img", cache="4p") as second:
        assert second.stats()["ended"] is None
    assert first.stop() == first.stats() == told
    assert first.complaints() == (0, None)
    assert first.lost_file() is None
    assert first.interval()[1]["requests"] == 0


FORKED = """
import os, sys, time
import destage as ds

with ds.serve(sys.argv[1], size="1MiB", cache="4p") as server:
    if sys.argv[2] == "leave":
        child = os.fork()
        if not child:
            sys.exit(0)
    else:
        child = os.fork()
        if not child:
            try:
                server.stop()
            except ds.UsageError as e:
                os._exit(0 if "which forked this one" in str(e) else 1)
            os._exit(2)
    _, status = os.waitpid(child, 0)
    before = time.process_time()
    time.sleep(0.5)
    # A child that wakes the parent's threads leaves them running in a circle.
    print(status, time.process_time() - before < 0.05, server.stats()["ended"])
"""


@pytest.mark.parametrize("how", ["leave", "stop"])
def test_a_forked_child_leaves_the_server_alone(how: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKED, str(tmp_path / "disk.img"), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("0 True None\n", "", 0)


@pytest.mark.parametrize(
    "keywords",
    [
        {"policy": 5},
        {"cache": None},
        {"export": None},
        {"listen": 10809},
        {"read_only": "no"},
        {"max_connections": "3"},
        {"pages_per_block": "8"},
        {"size": 4096.5},
        {"speed": "2"},
    ],
    ids=str,
)
def test_a_keyword_of_another_type_is_named(keywords: dict[str, Any]) -> None:
    ((name, _),) = keywords.items()
    with pytest.raises(ds.UsageError, match=rf"^{name}: expected .*, got "):
        ds.serve(":memory:", **{"size": "1MiB", **keywords})


@pytest.mark.parametrize(
    ("file", "keywords", "error", "part"),
    [
        ("disk", {"size": "1MiB", "policy": "min"}, ds.UsageError, "future"),
        ("disk", {"size": "1MiB", "policy": "ecr"}, ds.UsageError, "simulated SSD"),
        ("disk", {"size": "1MiB", "policy": "lrru"}, ds.UsageError, "did you mean lru?"),
        ("disk", {"size": "1MiB", "page_size": "1000"}, ds.UsageError, "power of two"),
        ("disk", {"size": "1MiB", "cache": "5"}, ds.UsageError, "unit is missing"),
        ("disk", {"size": "1MiB", "listen": "somewhere"}, ds.UsageError, "HOST:PORT"),
        ("disk", {}, ds.MissingFile, "--size"),
        (":memory:", {}, ds.UsageError, "--size"),
        ("disk", {"size": "1MiB", "listen": "unix:/no/such/folder/a"}, ds.OutputError, "folder"),
    ],
)
def test_what_cannot_be_served_is_named(
    tmp_path: Path, file: str, keywords: dict[str, Any], error: type[Exception], part: str
) -> None:
    name = file if file == ":memory:" else str(tmp_path / file)
    with pytest.raises(error, match=part.replace("?", r"\?")):
        ds.serve(name, **keywords)


def test_the_command_says_what_happens_and_ends_cleanly(tmp_path: Path) -> None:
    stats = tmp_path / "stats.json"
    flags = ("--size", "1MiB", "--every", "100ms", "--for", "1s", "--stats", str(stats))
    said = ran(*DESTAGE, "serve", ":memory:", *flags)
    lines = [json.loads(line) for line in said.splitlines()]
    assert len(lines) > 5
    assert lines[0]["export_bytes"] == 1 << 20
    assert {"t_s", "p50_ns", "hits", "pending_writes", "connections"} <= set(lines[1])
    assert lines[1]["requests"] == 0
    assert lines[1]["p99_ns"] is None
    told = json.loads(stats.read_text())
    assert told["ended"] == "time"
    assert told["pool"]["flushes"] == 1
    assert told["replay"] is None


def test_a_file_that_is_missing_or_in_use_has_its_status(tmp_path: Path) -> None:
    file = tmp_path / "disk.img"
    missing = subprocess.run([*DESTAGE, "serve", str(file)], capture_output=True, text=True)
    assert missing.returncode == 66
    assert "disk.img" in missing.stderr
    with served(file, "--size", "1MiB"):
        used = subprocess.run([*DESTAGE, "serve", str(file)], capture_output=True, text=True)
        assert used.returncode == 74
        assert "in use" in used.stderr
    for flags in (("--record", file), ("--stats", file), ("-p", "min")):
        words = [*DESTAGE, "serve", file, *flags]
        wrong = subprocess.run(words, capture_output=True, text=True)
        assert wrong.returncode == 2, wrong.stderr


class Client:
    """A client of a few lines, to know what was acknowledged when the server is killed."""

    def __init__(self, uri: str) -> None:
        """Shake hands by the name of the export."""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(uri.partition("socket=")[2])
        assert self._read(18) == b"NBDMAGICIHAVEOPT\0\3"
        self.socket.sendall(b"\0\0\0\3IHAVEOPT\0\0\0\1\0\0\0\0")
        self._read(10)

    def _read(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = self.socket.recv(count - len(found))
            if not more:
                raise ConnectionResetError
            found += more
        return found

    def call(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"") -> None:
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, command, 7, offset, length))
        self.socket.sendall(data)
        assert struct.unpack(">IIQ", self._read(16)) == (0x67446698, 0, 7)


def _rounds(client: Client, pages: int, flushed: list[int], killer: threading.Timer) -> None:
    """Write every page, flush, remember the round, until the server is killed."""
    for number in itertools.count(1):
        for page in range(pages):
            client.call(1, page * 4096, 4096, struct.pack(">Q", number) * 512)
        client.call(3)
        flushed.append(number)
        if number == 1:
            killer.start()


def _until_it_is_killed(
    file: Path, flags: list[str], delay_s: float, pages: int, flushed: list[int]
) -> None:
    with served(file, *flags) as (ready, process):
        client = Client(ready["uri"])
        with client.socket:
            killer = threading.Timer(delay_s, process.kill)
            _rounds(client, pages, flushed, killer)


def test_a_killed_server_has_lost_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    pages = 48
    for kill in range(10):
        file = tmp_path / f"disk-{kill}.img"
        policy = [["-p", "lru", "-c", "16p"], ["-p", "fab", "-c", "16p"], ["-p", "none"]][kill % 3]
        flags = ["--size", f"{pages * 4}KiB", *policy]
        flushed = [0]
        with pytest.raises(ConnectionError):
            _until_it_is_killed(file, flags, 0.05 + kill * 0.011, pages, flushed)
        assert flushed[-1] > 0
        words = struct.unpack(f">{pages * 512}Q", file.read_bytes())
        assert set(words) <= {flushed[-1], flushed[-1] + 1}, flushed[-1]


def test_nbdinfo_and_nbdcopy_see_the_bytes(tmp_path: Path) -> None:
    needed("nbdinfo", "nbdcopy")
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(os.urandom(3 << 20) + bytes(2 << 20) + os.urandom(3 << 20))
    file = tmp_path / "disk.img"
    with served(file, "--size", "8MiB", "-c", "64p", "-p", "cflru") as (ready, _):
        told = json.loads(ran("nbdinfo", "--json", ready["uri"]))["exports"][0]
        assert told["export-size"] == 8 << 20
        assert told["can_multi_conn"] is True
        assert told["can_trim"] is True
        assert told["can_fua"] is True
        ran("nbdcopy", source, ready["uri"])
        ran("nbdcopy", ready["uri"], copy)
    assert copy.read_bytes() == source.read_bytes() == file.read_bytes()


def test_fio_finds_no_wrong_byte_and_the_record_has_the_counters(tmp_path: Path) -> None:
    needed("fio")
    if "nbd" not in ran("fio", "--enghelp").split():
        pytest.skip("fio is built without NBD: what it would show is not looked at")
    record, stats = tmp_path / "record.csv.gz", tmp_path / "stats.json"
    flags = ("--size", "32MiB", "-c", "2MiB", "-p", "arc", "--record", record, "--stats", stats)
    with served(tmp_path / "disk.img", *flags) as (ready, _):
        job = ["--name=job", "--ioengine=nbd", f"--uri={ready['uri']}", "--iodepth=16"]
        job += ["--size=32M", "--verify=crc32c", "--verify_fatal=1", "--fsync=64", "--randseed=7"]
        job += ["--verify_state_save=0"]  # else fio leaves a file in the working folder
        for size in ("4k", "20k"):
            ran("fio", *job, "--rw=randrw", f"--bs={size}")
    told = json.loads(stats.read_text())
    assert told["requests"]["read"] > 500
    assert told["requests"]["errors"] == 0
    assert told["requests"]["flush"] > 0
    assert told["pool"]["pending_writes"] == 0
    assert replayed(told, tmp_path) == told["counters"]


def replayed(told: dict[str, Any], folder: Path) -> dict[str, int]:
    """The counters of a replay of the record, by the words that the server says, as they are."""
    run = replay_of(told, folder)
    return {key: run["counters"][key] for key in told["counters"]}


def replay_of(told: dict[str, Any], folder: Path) -> Any:
    """The run of the command that the server says, which a result as JSON is asked of."""
    replay, out = shlex.split(told["replay"]), folder / "replay.json"
    assert replay[:2] == ["destage", "compare"]
    ran(*DESTAGE, *replay[1:], "--json", out)
    (run,) = json.loads(out.read_text())["runs"]
    return run


def test_qemu_io_writes_discards_and_reads(tmp_path: Path) -> None:
    needed("qemu-io")
    with served(":memory:", "--size", "4MiB", "-c", "16p", "--export", "a disk") as (ready, _):
        commands = ["write -P 7 1000 70000", "read -P 7 1000 70000", "flush"]
        commands += ["write -z 4096 8192", "read -P 0 4096 8192", "read -P 7 1000 3096"]
        commands += ["write -f -P 9 0 512", "discard 0 65536", "read -P 0 0 65536"]
        words = [word for command in commands for word in ("-c", command)]
        said = ran("qemu-io", "-f", "raw", *words, ready["uri"])
        assert "Pattern verification failed" not in said


@pytest.mark.slow
def test_a_file_system_with_a_database_on_it_loses_nothing(tmp_path: Path) -> None:
    needed("nbdfuse", "mkfs.ext4", "sqlite3", "mount", "fusermount3", "fsck.ext4")
    if os.geteuid() != 0:
        pytest.skip("a file system is mounted by root alone: it is not looked at")
    file, folder, mounted = tmp_path / "disk.img", tmp_path / "fuse", tmp_path / "mounted"
    folder.mkdir()
    mounted.mkdir()
    record, stats = tmp_path / "record.csv", tmp_path / "stats.json"
    flags = ["--size", "64MiB", "-c", "1MiB", "-p", "s3-fifo", "--record", record]
    with served(file, *flags, "--stats", stats) as (ready, _):
        fuse = subprocess.Popen(["nbdfuse", folder / "nbd", ready["uri"]])
        try:
            _until(lambda: (folder / "nbd").exists(), "nbdfuse mounts nothing here")
            ran("mkfs.ext4", "-q", "-F", folder / "nbd")
            loop = subprocess.run(
                ["mount", "-o", "loop", folder / "nbd", mounted], capture_output=True, text=True
            )
            if loop.returncode:
                pytest.skip(f"no loop device may be mounted here: {loop.stderr.strip()}")
            try:
                base = mounted / "base.db"
                ran("sqlite3", base, "create table t(x); pragma synchronous=full;")
                for part in range(20):
                    rows = (
                        "with recursive n(i) as (select 1 union all select i+1 from n where i<500)"
                    )
                    ran("sqlite3", base, f"{rows} insert into t select {part}*500+i from n;")
                assert ran("sqlite3", base, "pragma integrity_check;").strip() == "ok"
            finally:
                ran("umount", mounted)
        finally:
            subprocess.run(["fusermount3", "-u", folder / "nbd"], capture_output=True)
            subprocess.run(["fusermount3", "-u", folder], capture_output=True)
            fuse.terminate()
            fuse.wait(30)
    ran("fsck.ext4", "-f", "-n", file)
    told = json.loads(stats.read_text())
    assert told["counters"]["destaged_pages"] > 0
    assert replayed(told, tmp_path) == told["counters"]


def _until(is_so: Any, otherwise: str) -> None:
    for _ in range(200):
        if is_so():
            return
        time.sleep(0.05)
    pytest.skip(otherwise)
