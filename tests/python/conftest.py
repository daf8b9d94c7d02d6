"""What the tests share: the command, small traces, a cache folder of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import destage as ds

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
VECTORS = ROOT / "tests" / "vectors"
SHIM = ROOT / "tests" / "python" / "faults" / "shim.c"


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Decoded traces of the tests go where nobody else's are."""
    os.environ["DESTAGE_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    for name in list(os.environ):
        if name.startswith("DESTAGE_") and name not in ("DESTAGE_CACHE", "DESTAGE_TRACES"):
            del os.environ[name]


@pytest.fixture(scope="session", autouse=True)
def _interrupts_are_heard() -> None:
    """What a shell runs in the background ignores SIGINT, and so would every command begun here."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes reads and writes fail in whoever preloads it."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler, or no Linux: reads and writes that fail are not tried")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, SHIM, "-ldl"], check=True)
    return library


def without_device() -> list[ds.PolicyInfo]:
    """The policies that run without a drive behind the cache."""
    return [p for p in ds.policies() if not p.needs_device]


class Done:
    """How a command ended."""

    def __init__(self, process: subprocess.CompletedProcess[bytes]) -> None:
        self.status = process.returncode
        self.out = process.stdout.decode(errors="replace")
        self.bytes = process.stdout
        self.err = process.stderr.decode()

    def __repr__(self) -> str:
        return f"status {self.status}\n--- out\n{self.out}\n--- err\n{self.err}"


Destage = Callable[..., Done]


@pytest.fixture
def destage(tmp_path: Path) -> Destage:
    """Run the command in a folder of its own, as a shell would."""

    def run(*args: object, env: dict[str, str] | None = None, stdin: bytes | None = None) -> Done:
        command = [sys.executable, "-c", "from destage.cli import main; main()", *map(str, args)]
        process = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "80", **(env or {})},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Done(process)

    return run


@pytest.fixture
def msr(tmp_path: Path) -> Path:
    """A small MSR trace: 300 requests over 40 pages, some of several pages."""
    path = tmp_path / "small.csv"
    path.write_text("".join(msr_lines(300)))
    return path


def msr_lines(count: int) -> list[str]:
    """Lines of the MSR layout, from a fixed rule."""
    lines = []
    state = 12345
    for k in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        kind = "Write" if state % 3 == 0 else "Read"
        offset = (state >> 8) % 40 * 4096
        size = 4096 * (1 + (state >> 4) % 3)
        time = 128166372000000000 + k * 10_000
        lines.append(f"{time},demo,0,{kind},{offset},{size},2310\n")
    return lines


def traces_folder() -> Path | None:
    """The real traces, where they are; they are no part of the repository."""
    given = os.environ.get("DESTAGE_TRACES")
    folder = Path(given) if given else ROOT.parent / "shared" / "traces"
    return folder if folder.is_dir() else None
