"""Helpers of the tests: the command, small traces, a cache folder of their own."""

from __future__ import annotations

import atexit
import functools
import io
import itertools
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import destage as ds
from destage.cli import invoke, streams
from destage.questions.demonstration import TRACE

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
    """A shell's background jobs ignore SIGINT, and so would every command begun here."""
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


# Hundreds of commands run as processes of their own: compiled once, each starts in half the time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules with slow tests first: begun last, one would keep a single process busy."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def without_device() -> list[ds.PolicyInfo]:
    """The policies that run without a device behind the cache."""
    return [p for p in ds.policies() if not p.needs_device]


class Done:
    """How a command ended."""

    def __init__(self, status: int, out: bytes, err: bytes) -> None:
        self.status, self.bytes = status, out
        self.out, self.err = out.decode(errors="replace"), err.decode()

    def __repr__(self) -> str:
        return f"status {self.status}\n--- out\n{self.out}\n--- err\n{self.err}"


Destage = Callable[..., Done]

#: The command as a process of its own.
MAIN = [sys.executable, "-c", "from destage.cli import main; main()"]


@pytest.fixture
def destage_process(tmp_path: Path) -> Destage:
    """Run the command as a process in a folder of its own, as a shell would."""

    def run(*args: object, env: dict[str, str] | None = None, stdin: bytes | None = None) -> Done:
        process = subprocess.run(
            [*MAIN, *map(str, args)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "80", **(env or {})},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Done(process.returncode, process.stdout, process.stderr)

    return run


@pytest.fixture
def destage(tmp_path: Path, destage_process: Destage) -> Destage:
    """Run the command inside this process, in a folder of its own; 20 times as fast.

    An environment or a standard input of its own needs a process: then it is one.
    """

    def run(*args: object, env: dict[str, str] | None = None, stdin: bytes | None = None) -> Done:
        if env or stdin is not None:
            return destage_process(*args, env=env, stdin=stdin)
        with _streams() as (out, err):
            with _as_a_shell(tmp_path, args):
                status = streams.finish(invoke(sys.argv[1:]))
            return Done(status, *(os.pread(file, 1 << 30, 0) for file in (out, err)))

    return run


@contextmanager
def _as_a_shell(folder: Path, args: Sequence[object]) -> Iterator[None]:
    """The folder, the words, the width and the warnings that a command has which a shell runs."""
    before, columns, argv = Path.cwd(), os.environ.get("COLUMNS"), sys.argv
    sys.argv = ["destage", *map(str, args)]
    os.chdir(folder)
    os.environ["COLUMNS"] = "80"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.chdir(before)
        sys.argv = argv
        os.environ.pop("COLUMNS") if columns is None else os.environ.update(COLUMNS=columns)


@contextmanager
def _streams() -> Iterator[tuple[int, int]]:
    """Files for standard output and error, of Python and of native code; no standard input."""
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        null = stack.enter_context(open(os.devnull, "rb"))
        for descriptor, file in enumerate([null, *files]):
            stack.callback(os.close, kept := os.dup(descriptor))
            stack.callback(os.dup2, kept, descriptor)
            os.dup2(file.fileno(), descriptor)
        stack.callback(setattr, sys, "stdin", sys.stdin)
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
        for name, number, errors in (("stdout", 1, "strict"), ("stderr", 2, "backslashreplace")):
            stack.callback(setattr, sys, name, getattr(sys, name))
            raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
            setattr(sys, name, io.TextIOWrapper(raw, encoding="utf-8", errors=errors))
        yield files[0].fileno(), files[1].fileno()


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


@functools.cache
def shipped_excerpt() -> Path:
    """The first 100,000 requests of the trace that ships with the package, as a file."""
    with lzma.open(ROOT / "python" / "destage" / "data" / TRACE) as packed:
        lines = b"".join(itertools.islice(packed, 100_000))
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "pgtpcb_first100k.csv.xz"
    path.write_bytes(lzma.compress(lines, preset=0))
    return path


def traces_folder() -> Path | None:
    """The real traces, where they are; they are no part of the repository."""
    given = os.environ.get("DESTAGE_TRACES")
    folder = Path(given) if given else ROOT.parent / "shared" / "traces"
    return folder if folder.is_dir() else None
