"""Sweeps on a cluster of processes on loopback: workers, scheduler and driver are killed in it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import MAIN

import destage as ds

pytest.importorskip("distributed", reason="the extra cluster is not installed")

SPEC = """
[sweep]
traces = [
    {synth = "zipf", requests = 40_000, pages = 6_000},
    {synth = "locality", requests = 40_000, pages = 6_000},
]
policies = ["lru", "arc", "cflru", "s3-fifo", "random"]
cache = ["1%", "2%", "5%", "10%", "20%", "30%"]
repeat = 5
"""
RUNS = 2 * 5 * 6 * 5
Process = subprocess.Popen[bytes]
SWEEP = [*MAIN, "sweep"]

#: How long a process may take on a machine that does much else.
PATIENCE_S = 300

#: A worker; what is in OTHER makes it another version, as its environment says.
WORKER = """
import asyncio, os, sys
if os.environ.get("OTHER_VERSION"):
    from destage.experiment import cluster
    cluster.VERSION = (os.environ["OTHER_VERSION"], cluster.SEMANTICS)
from distributed import Worker
async def main():
    async with Worker(sys.argv[1], nthreads=1, memory_limit=0, dashboard=False) as worker:
        print("ready", flush=True)
        await worker.finished()
asyncio.run(main())
"""
SCHEDULER = """
import asyncio, sys
from distributed import Scheduler
async def main():
    async with Scheduler(host="127.0.0.1", port=int(sys.argv[1]), dashboard=False) as scheduler:
        print("ready", flush=True)
        await scheduler.finished()
asyncio.run(main())
"""


class Cluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[Process] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = self.begin(SCHEDULER, str(self.port))

    def begin(self, text: str, *args: str, env: dict[str, str] | None = None) -> Process:
        """Begin a process, and wait until it says that it is ready."""
        process = subprocess.Popen(
            [sys.executable, "-c", text, *args],
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    def worker(self, **env: str) -> Process:
        return self.begin(WORKER, self.address, env=env)

    def sweep(self, spec: Path, store: Path, *flags: str) -> Process:
        where = ["--store", str(store), "--engine", "dask", "--scheduler", self.address]
        return subprocess.Popen([*SWEEP, str(spec), *where, *flags], stderr=subprocess.PIPE)

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Callable[[], Cluster]]:
    begun: list[Cluster] = []

    def begin() -> Cluster:
        begun.append(Cluster(tmp_path))
        return begun[-1]

    yield begin
    for one in begun:
        one.end()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SPEC, and beside it the store that it makes undisturbed, on this machine alone."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "s.toml").write_text(SPEC)
    assert ds.sweep(folder / "s.toml", folder / "whole").done == RUNS
    return folder


def parts(store: Path) -> list[str]:
    return sorted(path.name for path in store.glob("part-*.parquet"))


def wait_for_parts(process: Process, store: Path, count: int) -> None:
    for _ in range(PATIENCE_S * 50):
        if process.poll() is not None or len(parts(store)) >= count:
            return
        time.sleep(0.02)
    pytest.fail("no parts came")


def same(store: Path, whole: Path) -> bool:
    return ds.load_results(store).to_csv() == ds.load_results(whole / "whole").to_csv()


@pytest.mark.slow
def test_workers_scheduler_and_driver_are_killed_and_nothing_is_lost_or_counted_twice(
    cluster: Callable[[], Cluster], whole: Path, tmp_path: Path
) -> None:
    store, one = tmp_path / "runs", cluster()
    first = one.worker()
    driver = one.sweep(whole / "s.toml", store)
    wait_for_parts(driver, store, 1)
    # A worker dies with what it has; another one joins.
    first.kill()
    one.worker()
    wait_for_parts(driver, store, 3)
    # The driver dies.
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    before = ds.load_results(store)
    assert before.damaged == 0
    assert 0 < len(before) < RUNS
    driver = one.sweep(whole / "s.toml", store, "--resume")
    wait_for_parts(driver, store, len(parts(store)) + 1)
    # The scheduler dies, and all that it knew with it.
    one.scheduler.kill()
    _, said = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 1, said
    assert b"does not answer any more" in said
    assert len(ds.load_results(store)) < RUNS
    # Another cluster goes on.
    other = cluster()
    other.worker()
    driver = other.sweep(whole / "s.toml", store, "--resume")
    _, said = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 0, said
    assert parts(store) == parts(whole / "whole")
    assert same(store, whole)


def test_a_worker_of_another_version_gets_no_work(
    cluster: Callable[[], Cluster], tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(
        '[sweep]\ntraces = [{synth = "loop", requests = 900, pages = 90}]\n'
        'policies = "lru,arc"\ncache = ["5p", "10p"]\n'
    )
    one = cluster()
    one.worker(OTHER_VERSION="0.0.9")
    driver = one.sweep(tmp_path / "s.toml", tmp_path / "runs")
    _, said = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 2, said
    assert b"it has destage 0.0.9 (results" in said
    assert b"no worker can be used" in said
    # Beside one that fits it does no harm.
    one.worker()
    driver = one.sweep(tmp_path / "s.toml", tmp_path / "runs", "--resume")
    _, said = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 0, said
    assert b"it gets no work" in said
    assert len(ds.load_results(tmp_path / "runs")) == 4


def test_a_worker_without_the_trace_is_refused_and_one_that_has_it_elsewhere_is_not(
    cluster: Callable[[], Cluster], msr: Path, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(
        '[sweep]\ntraces = "small.csv"\npolicies = "lru,arc"\ncache = ["5p", "10p"]\n'
    )
    there, here = tmp_path / "elsewhere", tmp_path / "driver-cache"
    there.mkdir()
    (there / "small.csv").write_bytes(msr.read_bytes())
    one = cluster()
    # Both are on this machine: the path is taken away once the driver has planned.
    one.worker(DESTAGE_CACHE=str(tmp_path / "w1"))
    spec, store = tmp_path / "s.toml", tmp_path / "runs"
    plan = ds.sweep(spec, tmp_path / "local")
    assert plan.done == 4
    gone = tmp_path / "gone.csv"
    process = subprocess.run(
        [sys.executable, "-c", HIDING, str(spec), str(store), one.address, str(msr), str(gone)],
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "DESTAGE_CACHE": str(here)},
    )
    assert b"4 missing" in process.stdout, process
    assert b"small.csv: no such file here" in process.stdout
    assert b"it gets no work on this trace" in process.stdout
    one.worker(DESTAGE_TRACES=str(there), DESTAGE_CACHE=str(tmp_path / "w2"))
    gone.rename(msr)
    process = subprocess.run(
        [sys.executable, "-c", HIDING, str(spec), str(store), one.address, str(msr), str(gone)],
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "DESTAGE_CACHE": str(here)},
    )
    assert b"0 missing" in process.stdout, process
    gone.rename(msr)
    assert ds.load_results(store).to_csv() == ds.load_results(tmp_path / "local").to_csv()


#: A driver whose trace is taken away as soon as it has planned.
HIDING = """
import os, sys
from destage.experiment import sweep as calls
spec, store, scheduler, trace, gone = sys.argv[1:]
planned = calls.planned
def hiding(*args, **kwargs):
    plan = planned(*args, **kwargs)
    os.rename(trace, gone)
    return plan
calls.planned = hiding
done = calls.sweep(spec, store, resume=True, engine="dask", scheduler=scheduler, warn=print)
print(done.missing, "missing")
"""


@pytest.mark.parametrize(
    "says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["nothing", "http"]
)
def test_what_is_no_scheduler_is_named(tmp_path: Path, says: bytes) -> None:
    """Something accepts at the address, and is silent or speaks another protocol."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    taken.append(server.accept()[0])
                    taken[-1].sendall(says)

        taken: list[socket.socket] = []
        threading.Thread(target=answer, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        loop = {"synth": "loop", "requests": 200, "pages": 40}
        sweep = {"traces": [loop], "policies": ["lru"], "cache": ["5p"]}
        with pytest.raises(ds.UsageError, match=f"{address}: no Dask scheduler answers there"):
            ds.sweep({"sweep": sweep}, tmp_path / "runs", engine="dask", scheduler=address)


def test_nobody_at_the_address_is_said(tmp_path: Path) -> None:
    with pytest.raises(ds.UsageError, match="no Dask scheduler answers"):
        ds.sweep(
            {"sweep": {"traces": [{"synth": "loop", "requests": 90}], "cache": "5p"}},
            tmp_path / "runs",
            engine="dask",
            scheduler="tcp://127.0.0.1:9",
        )
    with pytest.raises(ds.UsageError, match="add engine dask"):
        ds.sweep({}, tmp_path / "runs", scheduler="tcp://127.0.0.1:9")
