"""Record the workloads of "independent traces" again, on a loop device (root, Linux).

    sudo .venv/bin/python examples/record_samples.py postmark -o samples
    sudo .venv/bin/python examples/record_samples.py pgread pgbackup pgtpcb -o samples
    sudo .venv/bin/python examples/record_samples.py all -o try --size 0.02 # some minutes

A program runs on a file system of its own (a loop device with direct I/O over a sparse file in the
output folder), in a control group with little memory, from an empty page cache, while
`destage record` records the device. The result, `own-NAME.csv.xz`, has MSR Cambridge's columns.

PostgreSQL's three workloads share a database if one command names them: the published pgtpcb was
recorded after pgread and pgbackup. `devel` needs the source of Linux 6.1.

Besides that file, the script touches its loop device, its control group and two temporary folders.
It removes them at the end, after an error, and after Ctrl-C.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import math
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path

MIB, GIB = 1 << 20, 1 << 30
#: Of the environment that runs this script; root may have another PATH.
DESTAGE = Path(sysconfig.get_path("scripts")) / "destage"
#: Its exit status where there was nothing to record.
NOTHING = 65
#: 1601-01-01 in ticks of 100 ns before 1970-01-01.
EPOCH_TICKS = 116_444_736_000_000_000
#: Programs that are no part of Debian's base, and their packages.
PACKAGES = {
    "losetup": "mount",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "initdb": "postgresql",
    "pg_ctl": "postgresql",
    "pgbench": "postgresql",
    "pg_dump": "postgresql",
    "pg_basebackup": "postgresql",
    "postmark": "postmark",
    "git": "git",
    "make": "make",
    "gcc": "gcc",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
}
MAKE_FILE_SYSTEM = {
    "ext4": ("-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("-q",),
}
#: Control groups of version 1 and 2: where, and the file of the limit.
GROUPS = (
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
    (Path("/sys/fs/cgroup"), "memory.max"),
)
POSTGRESQL = """
listen_addresses = ''
unix_socket_directories = '.'
checkpoint_timeout = 60s
max_wal_size = 1GB
"""
#: Where it is: PostMark ends with a segmentation fault at a path of 80 characters.
POSTMARK = """set location mail
set size 512 65536
set number {files}
set subdirectories {folders}
set transactions {transactions}
set read 4096
set write 4096
set buffering false
set seed 42
run
quit
"""
#: A smaller recording leaves out most sources; make reads the Kconfig files.
LEFT_OUT = [
    f"--exclude=*/{files}"
    for files in (
        "arch/[a-wyz]*/*.[chS]",
        "arch/[a-wyz]*/*.dts*",
        "Documentation/*.[rty]*",
        "drivers/*.[ch]",
        "fs/[a-z]*/*.c",
        "net/*.c",
        "sound/*.c",
        "tools/testing/*",
    )
]
DEVEL = """
mkdir tree
cd tree
archive=$1
shift
tar -xf "$archive" --strip-components=1 "$@"
git init -q -b main
git config core.compression 1
git config user.name user
git config user.email user@localhost
git add -A --force
git commit -qm all
make defconfig
timeout "$SECONDS_OF_MAKE" make -j2 block/ mm/ || test $? = 124
grep -r mutex_unlock . > /dev/null
git checkout -qb edited
find block mm lib kernel fs -name '*.c' -exec sed -i 's/unsigned int/u32/' {} +
git status > /dev/null
git commit -qam edited
git checkout -q main
git checkout -q edited
git grep -c mutex_unlock > /dev/null
git repack -q -a -d --window=0
git clone -q . ../clone
tar -cf ../folders.tar block mm lib kernel fs include
cd ..
rm -rf tree clone folders.tar
"""


class Refused(Exception):
    """A sentence on what is missing or has failed."""


def program(name: str) -> Path:
    """The path of a program; Debian has PostgreSQL's outside of PATH. Raises `Refused`."""
    folders = [*os.get_exec_path(), "/usr/sbin", "/sbin"]
    folders += map(str, Path("/usr/lib/postgresql").glob("*/bin"))
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        raise Refused(f"{name} was not found: apt-get install {PACKAGES.get(name, name)}")
    return Path(found)


@dataclass
class Machine:
    """A file system on a loop device, and a control group with little memory."""

    mount: Path
    device: str
    group: Path
    log: Path
    size: float
    source: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def scaled(self, whole: float, least: float = 1) -> int:
        """A parameter of a workload at this size."""
        return max(round(whole * self.size), round(min(whole, least)))

    def begin(
        self, *words: str | Path, limited: bool = True, **variables: str
    ) -> subprocess.Popen[str]:
        """Start a program in the file system; a limited one has the memory of the group."""

        def join() -> None:
            if limited:
                (self.group / "cgroup.procs").write_text(str(os.getpid()))

        with self.log.open("a") as log:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=self.mount,
                env={**os.environ, "HOME": str(self.mount), "LC_ALL": "C", **variables},
                preexec_fn=join,
            )
        self.processes.append(process)
        return process

    def end(self, process: subprocess.Popen[str], text: str = "") -> None:
        """Wait for a program. Raises `Refused` with its last line if it fails."""
        process.communicate(text)
        if process.returncode:
            said = self.log.read_text(errors="replace").strip().splitlines()[-1:]
            name = " ".join(map(str, process.args)) if isinstance(process.args, list) else ""
            raise Refused(f"{name[:100]}: status {process.returncode}: {''.join(said)}")

    def run(self, *words: str | Path, text: str = "", limited: bool = True, **more: str) -> None:
        """Run a program to its end."""
        self.end(self.begin(*words, limited=limited, **more), text)


Recorded = Callable[[], AbstractContextManager[None]]


def as_nobody(name: str) -> list[str | Path]:
    """PostgreSQL refuses to run as root."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program(name)]


def bench(machine: Machine, *words: str, script: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start pgbench, which has all memory."""
    connection = ("-h", machine.mount / "data", "-U", "bench")
    command = (*as_nobody("pgbench"), *connection, *words, *script, "postgres")
    return machine.begin(*command, limited=False)


@contextmanager
def server(machine: Machine) -> Iterator[None]:
    """PostgreSQL at work, in the control group."""
    data = machine.mount / "data"
    control = [*as_nobody("pg_ctl"), "-D", data, "-w", "-s", "-t", "300", "-l", data / "log"]
    buffers = machine.scaled(128, least=8)
    machine.run(*control, "-o", f"-c shared_buffers={buffers}MB", "start")
    try:
        yield
    except BaseException:
        with suppress(Refused):
            machine.run(*control, "-m", "immediate", "stop")
        raise
    machine.run(*control, "-m", "fast", "stop")


def database(machine: Machine) -> None:
    """Make pgbench's tables: scale 200, 3 GB."""
    data = machine.mount / "data"
    data.mkdir()
    os.chown(data, 65534, 65534)
    machine.run(*as_nobody("initdb"), "-D", data, "-A", "trust", "-U", "bench", limited=False)
    with (data / "postgresql.conf").open("a") as file:
        file.write(POSTGRESQL)
    with server(machine):
        machine.end(bench(machine, "-i", "-q", "-s", str(machine.scaled(200))))


def pgread(machine: Machine, recorded: Recorded) -> None:
    """80 % point selects, 20 % transactions like TPC-B."""
    seconds = str(machine.scaled(160, least=5))
    script = ("-b", "select-only@8", "-b", "tpcb-like@2")
    with server(machine), recorded():
        machine.end(bench(machine, "-n", "-c", "8", "-j", "2", "-T", seconds, script=script))


def pgbackup(machine: Machine, recorded: Recorded) -> None:
    """Transactions like TPC-B, a dump and a base backup beside them."""
    seconds, data = machine.scaled(230, least=10), machine.mount / "data"
    backups, connection = machine.mount / "backups", ("-h", data, "-U", "bench")
    backups.mkdir()
    os.chown(backups, 65534, 65534)
    dump = (*as_nobody("pg_dump"), *connection, "-Fc", "-Z0", "-f", backups / "dump", "postgres")
    base = (*as_nobody("pg_basebackup"), *connection, "-D", backups / "base", "-Ft")
    with server(machine), recorded():
        load = bench(machine, "-n", "-c", "4", "-j", "1", "-T", str(seconds))
        time.sleep(seconds * 20 / 230)
        machine.run(*dump)
        machine.run(*base, "-X", "none", "-c", "fast")
        machine.end(load)
    shutil.rmtree(backups)


def pgtpcb(machine: Machine, recorded: Recorded) -> None:
    """Transactions like TPC-B."""
    seconds = str(machine.scaled(210, least=5))
    with server(machine), recorded():
        machine.end(bench(machine, "-n", "-c", "8", "-j", "2", "-T", seconds))


def postmark(machine: Machine, recorded: Recorded) -> None:
    """Small files, as a mail server has them."""
    (machine.mount / "mail").mkdir()
    text = POSTMARK.format(
        files=machine.scaled(60_000),
        folders=machine.scaled(200),
        transactions=machine.scaled(150_000),
    )
    with recorded():
        machine.run(program("postmark"), text=text)


def devel(machine: Machine, recorded: Recorded) -> None:
    """A developer's work on the sources of Linux."""
    words: list[str | Path] = ["sh", "-ec", DEVEL, "devel", machine.source.absolute()]
    if machine.size < 1:
        words += LEFT_OUT
    with recorded():
        machine.run(*words, SECONDS_OF_MAKE=str(machine.scaled(60, least=5)))


@dataclass(frozen=True)
class Disk:
    """A file system to record, and what is on it before."""

    filesystem: str
    device_bytes: int
    memory_bytes: int
    least_memory_bytes: int
    programs: tuple[str, ...]
    prepare: Callable[[Machine], None] = lambda machine: None


@dataclass(frozen=True)
class Workload:
    """A recording to make."""

    name: str
    requests: float
    """The first that are kept; of the others all."""
    disk: Disk
    run: Callable[[Machine, Recorded], None]


SERVER = Disk(
    filesystem="ext4",
    device_bytes=16 * GIB,
    memory_bytes=384 * MIB,
    least_memory_bytes=64 * MIB,
    programs=("initdb", "pg_ctl", "pgbench", "pg_dump", "pg_basebackup"),
    prepare=database,
)
MAIL = Disk("xfs", 12 * GIB, 256 * MIB, 16 * MIB, ("postmark",))
SOURCES = ("git", "make", "gcc", "flex", "bison", "bc")
DEVELOPER = Disk("ext4", 16 * GIB, 256 * MIB, 192 * MIB, SOURCES)
WORKLOADS = (
    Workload("pgread", 1_200_000, SERVER, pgread),
    Workload("pgbackup", math.inf, SERVER, pgbackup),
    Workload("pgtpcb", 780_000, SERVER, pgtpcb),
    Workload("postmark", math.inf, MAIL, postmark),
    Workload("devel", math.inf, DEVELOPER, devel),
)


def call(*words: str | Path) -> str:
    """Run a program of the system; what it prints. Raises `Refused`."""
    done = subprocess.run(
        [program(str(words[0])), *words[1:]], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Refused(f"{words[0]}: {done.stderr.strip() or f'status {done.returncode}'}")
    return done.stdout.strip()


def remove(what: Callable[[], object]) -> None:
    """Remove something that may be busy for a moment."""
    for _ in range(50):
        try:
            what()
            return
        except (OSError, Refused) as e:
            why = e
            time.sleep(0.2)
    print(f"record_samples: left behind: {why}", file=sys.stderr)


def control_group(memory_bytes: int, stack: ExitStack) -> Path:
    """A control group of our own with so much memory and no swap. Raises `Refused`."""
    for parent, limit in GROUPS:
        folder = parent / f"destage-{os.getpid()}"
        with suppress(OSError):
            folder.mkdir()
            stack.callback(remove, folder.rmdir)
            if (folder / limit).exists():
                (folder / limit).write_text(str(memory_bytes))
                for swap in ("memory.swappiness", "memory.swap.max"):
                    if (folder / swap).exists():
                        (folder / swap).write_text("0")
                return folder
    raise Refused("no memory control group can be made in /sys/fs/cgroup (the memory controller)")


def kill(machine: Machine) -> None:
    """End what still runs: our own processes, and those of our own group."""
    for process in machine.processes:
        if process.poll() is None:
            process.kill()
            process.wait()
    for line in (machine.group / "cgroup.procs").read_text().split():
        with suppress(ProcessLookupError):
            os.kill(int(line), signal.SIGKILL)


def mount(machine: Machine, filesystem: str) -> None:
    """Mount the file system; nothing of it is in the page cache then."""
    call("mount", "-t", filesystem, machine.device, machine.mount)


def unmount(machine: Machine) -> None:
    """Unmount it, if it is mounted."""
    if machine.mount.is_mount():
        call("umount", machine.mount)


def check_tracefs(device: str, folder: Path) -> None:
    """Raise `Refused` if `destage record` cannot record, before minutes of preparation."""
    options = ("--for", "0.01s", "--output", folder / "none.csv")
    done = subprocess.run(
        [DESTAGE, "record", device, *options], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, NOTHING):
        raise Refused(done.stderr.strip().splitlines()[-1])


@contextmanager
def machine_of(disk: Disk, out: Path, size: float, source: Path) -> Iterator[Machine]:
    """Set a machine up, and take it down whatever happens."""
    free, needed = shutil.disk_usage(out).free, round(disk.device_bytes * size)
    if free < needed:
        raise Refused(f"{out}: {needed / GIB:.1f} GiB of free space needed, found {free / GIB:.1f}")
    with ExitStack() as stack:
        # Beside the result: the sparse file and what was recorded. PostgreSQL's user must reach
        # the mount point.
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=out)))
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place.chmod(0o755)
        (place / "disk").mkdir()
        group = control_group(max(round(disk.memory_bytes * size), disk.least_memory_bytes), stack)
        image = work / "image"
        with image.open("wb") as file:
            file.truncate(disk.device_bytes)
        device = call("losetup", "--find", "--show", "--direct-io=on", image)
        stack.callback(remove, lambda: call("losetup", "--detach", device))
        check_tracefs(device, work)
        call(f"mkfs.{disk.filesystem}", *MAKE_FILE_SYSTEM[disk.filesystem], device)
        machine = Machine(place / "disk", device, group, work / "log", size, source)
        stack.callback(remove, lambda: unmount(machine))
        stack.callback(kill, machine)
        stack.callback(signal.signal, signal.SIGINT, signal.SIG_IGN)
        mount(machine, disk.filesystem)
        disk.prepare(machine)
        yield machine


@contextmanager
def recording(machine: Machine, raw: Path) -> Iterator[None]:
    """`destage record` at work. Raises `Refused` if it loses events."""
    options = ("--ops", "read,write", "--buffer", "128MiB", "--output", raw)
    process = subprocess.Popen(
        [DESTAGE, "record", machine.device, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    machine.processes.append(process)
    assert process.stderr is not None
    said = process.stderr.readline()
    if ": recording " not in said:
        raise Refused(said.strip())
    yield
    process.terminate()
    _, said = process.communicate()
    if process.returncode:
        raise Refused(f"destage record: {said.strip()}")


def as_msr(raw: Path, path: Path, name: str, most: float) -> tuple[int, int]:
    """Write the requests in the columns of MSR Cambridge; how many were kept, and recorded."""
    kept = recorded = 0
    with raw.open() as lines, lzma.open(path, "wt") as file:
        start = next(line for line in lines if line.startswith("# start: ")).split()[2]
        begun = EPOCH_TICKS + round(datetime.fromisoformat(start).timestamp() * 1e6) * 10
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            recorded += 1
            if kept < most and row["response_ns"]:
                kept += 1
                ticks, took = begun + int(row["time_ns"]) // 100, int(row["response_ns"]) // 100
                what = f"{row['op'].title()},{row['offset_bytes']},{row['length_bytes']}"
                file.write(f"{ticks},{name},0,{what},{took}\n")
    return kept, recorded


def record(workload: Workload, machine: Machine, out: Path) -> None:
    """Make one recording."""
    unmount(machine)
    mount(machine, workload.disk.filesystem)
    raw = machine.log.with_name("raw.csv")
    path = out / f"own-{workload.name}.csv.xz"
    workload.run(machine, lambda: recording(machine, raw))
    whole = machine.log.with_name("own.csv.xz")
    kept, recorded = as_msr(raw, whole, workload.name, workload.requests)
    raw.unlink()
    shutil.move(whole, path)
    print(f"{path}: {kept:,} of {recorded:,} requests kept; destage trace info {path}", flush=True)


def arguments() -> argparse.Namespace:
    """The command line."""
    names = [workload.name for workload in WORKLOADS]
    parser = argparse.ArgumentParser(
        description="Record the workloads of independent traces again."
    )
    parser.add_argument(
        "name", nargs="+", choices=[*names, "all"], metavar="NAME", help="|".join(names)
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--size", type=float, default=1.0, metavar="S", help="0..1: to try it")
    source = "/usr/src/linux-source-6.1.tar.xz"
    parser.add_argument("--source", type=Path, default=Path(source), help=f"[{source}]")
    return parser.parse_args()


def check(chosen: list[Workload], given: argparse.Namespace) -> None:
    """Raise `Refused` for what is missing, before anything is made."""
    if not 0 < given.size <= 1:
        raise Refused(f"--size: expected a number above 0 and at most 1, found {given.size}")
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        raise Refused("Linux and root are needed: sudo .venv/bin/python examples/record_samples.py")
    for workload in chosen:
        for name in ("losetup", f"mkfs.{workload.disk.filesystem}", *workload.disk.programs):
            program(name)
        if workload.run is devel and not given.source.is_file():
            raise Refused(f"{given.source} was not found: apt-get install linux-source-6.1")


def main() -> None:
    """Record what the command line names."""
    given = arguments()
    chosen = [one for one in WORKLOADS if one.name in given.name or "all" in given.name]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        check(chosen, given)
        given.output.mkdir(parents=True, exist_ok=True)
        for disk, workloads in groupby(chosen, lambda one: one.disk):
            with machine_of(disk, given.output, given.size, given.source) as machine:
                for workload in workloads:
                    record(workload, machine, given.output)
    except (Refused, OSError) as e:
        sys.exit(f"record_samples: {e}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
