"""No connection but of `serve`: commands run where sockets are forbidden."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Ends the process at the first address that is connected to, or looked up.
FORBIDDEN = """
import os, sys
def hook(event, args):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"):
        os.write(2, f"{event} {args}".encode())
        os._exit(99)
sys.addaudithook(hook)
import socket
"""
#: The same as a test of the test.
CONNECTS = "socket.socket().connect(('127.0.0.1', 9))\n"

COMMANDS = [
    "--version",
    "compare small.csv -p lru,arc -c 8p --json r.json --report r.html",
    "run small.csv -p lru -c 8p -d small --report run.html",
    "mrc small.csv -p lru --report mrc.html",
    "tune small.csv -p cflru --param window_fraction=0.2:0.8:0.3 -c 8p --figures figures",
    "advise small.csv -p lru,arc -c 4p,8p -o advice.html",
    "why lru arc --trace small.csv -c 8p",
    "sweep spec.toml --dry-run",
    "sweep spec.toml --store runs",
    "results runs --sql 'select 1'",
    "report runs -o store.html",
    "rerun r.json",
    "trace info small.csv",
    "trace profile small.csv --report profile.html",
    "trace synth zipf --requests 100",
    "policies",
    "devices small",
    "ftls",
    "demo --report demo.html",
    "doctor",
]


def ended(folder: Path, what: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", FORBIDDEN + what], cwd=folder, capture_output=True, check=False
    )


def test_a_connection_would_be_seen(tmp_path: Path) -> None:
    assert ended(tmp_path, CONNECTS).returncode == 99


def test_no_command_opens_a_connection(msr: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="needs the extra sql")
    pytest.importorskip("vl_convert", reason="needs the extra report")
    (tmp_path / "spec.toml").write_text(
        '[sweep]\ntraces = ["small.csv"]\npolicies = ["lru"]\ncache = ["8p"]\n'
    )
    code = f"""
import shlex
from destage.cli import invoke
for words in {COMMANDS!r}:
    status = invoke(shlex.split(words))
    assert status == 0, (words, status)
"""
    done = ended(tmp_path, code)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
