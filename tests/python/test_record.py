"""`destage record`: decoding and pairing from captured text, and whole recordings where allowed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import MAIN, Destage

import destage as ds
from destage.live.record.anonymous import EXTENT_BYTES, Shuffle
from destage.live.record.events import Event, kind_of
from destage.live.record.pairing import Pairing, Request
from destage.live.record.recording import Recording
from destage.live.record.ring import Decoder, Layout, Lost, PageLayout
from destage.live.record.tracefile import Row, TraceFile
from destage.live.record.tracefs import EVENTS

ALL = frozenset(ds.record.__globals__["OPS"])

#: A line of the kernel's `trace` file: event, device, letters, bytes, sector, sectors.
LINE = re.compile(
    r"\s*(?P<process>.+)-(?P<pid>\d+)\s+\[\d+\] \S+\s+(?P<s>\d+)\.(?P<us>\d+): (?P<event>\w+):"
    r" (?P<major>\d+),(?P<minor>\d+) (?P<rwbs>\w+) (?:(?P<bytes>\d+) )?(?:\(\) )?"
    r"(?P<sector>\d+) \+ (?P<sectors>\d+)"
)
ACTIONS = {name: action for events in EVENTS.values() for name, action in events}


def captured(text: str, event: str = "issue") -> Iterator[Event]:
    """The events of a captured text that a recording of this kind would have."""
    wanted = {name for name, _ in EVENTS[event]}
    for line in text.strip().splitlines():
        found = LINE.match(line)
        assert found, line
        if found["event"] in wanted:
            yield Event(
                int(found["s"]) * 10**9 + int(found["us"]) * 1000,
                ACTIONS[found["event"]],
                int(found["major"]) << 20 | int(found["minor"]),
                int(found["sector"]),
                int(found["sectors"]),
                int(found["bytes"] or 0),
                found["rwbs"],
                int(found["pid"]),
                found["process"],
            )


def paired(text: str, event: str = "issue") -> tuple[list[Request], Pairing]:
    pairing = Pairing(ALL)
    done: list[Request] = []
    for one in captured(text, event):
        pairing.take(one)
        done += pairing.ready()
    return done + list(pairing.rest()), pairing


def told(request: Request) -> tuple[str, int, int, int | None, str]:
    took = None if request.end_ns < 0 else (request.end_ns - request.start_ns) // 1000
    return request.op, request.sector, request.length_bytes, took, request.flags


# A journal's commit on ext4 and a flush, on a loop device (Linux 6.18).
JOURNAL = """
    jbd2/loop0-8-30764   [001] .....   985.745963: block_bio_queue: 7,0 FWFSM 229398 + 2 [jbd2]
    kworker/1:1H-54      [001] .....   985.745967: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [k]
     ksoftirqd/1-22      [001] ..s..   985.746273: block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]
    kworker/1:1H-54      [001] .....   985.746277: block_rq_issue: 7,0 WSM 1024 () 229398 + 2 be,0,3 [k]
     ksoftirqd/1-22      [001] ..s..   985.746285: block_rq_complete: 7,0 WSM () 229398 + 2 be,0,3 [0]
    kworker/1:1H-54      [001] .....   985.746289: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [k]
     ksoftirqd/1-22      [001] ..s..   985.746378: block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]
         sqlite3-30767   [001] .....   985.746421: block_bio_queue: 7,0 FWS 0 + 0 [sqlite3]
    kworker/1:1H-54      [001] .....   985.746426: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [k]
     ksoftirqd/1-22      [001] ..s..   985.746514: block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]
"""  # noqa: E501

# A write of 1 MiB that the block layer splits in two.
SPLIT = """
 fio-30751   [000] .....   985.548680: block_bio_queue: 7,0 WS 0 + 2048 [fio]
 fio-30751   [000] .....   985.548696: block_rq_issue: 7,0 WS 524288 () 0 + 1024 be,0,4 [fio]
 fio-30751   [000] .....   985.548748: block_rq_issue: 7,0 WS 524288 () 1024 + 1024 be,0,4 [fio]
 ksoftirqd/1-22 [001] ..s..   985.549067: block_rq_complete: 7,0 WS () 1024 + 1024 be,0,4 [0]
 ksoftirqd/1-22 [001] ..s..   985.551034: block_rq_complete: 7,0 WS () 0 + 1024 be,0,4 [0]
"""

TRIM = """
 blkdiscard-30758 [001] .....   985.616259: block_bio_queue: 7,0 DS 2048 + 8192 [blkdiscard]
 kworker/1:1H-54 [001] .....   985.616272: block_rq_issue: 7,0 DS 16 () 2048 + 8192 be,0,4 [k]
 ksoftirqd/1-22  [001] ..s..   985.616567: block_rq_complete: 7,0 DS () 2048 + 8192 be,0,4 [0]
"""


def test_a_journals_commit_is_a_write_between_two_flushes() -> None:
    requests, pairing = paired(JOURNAL)
    assert [told(r) for r in requests] == [
        ("flush", 0, 0, 306, ""),
        ("write", 229398, 1024, 8, "S+M"),
        ("flush", 0, 0, 89, ""),
        ("flush", 0, 0, 88, ""),
    ]
    assert (pairing.orphans, pairing.open) == (0, 0)


def test_what_was_submitted_has_the_flags_that_the_layer_takes_off() -> None:
    requests, pairing = paired(JOURNAL, "queue")
    assert [told(r)[:3] + told(r)[4:] for r in requests] == [
        ("write", 229398, 1024, "PF+FUA+S+M"),
        ("flush", 0, 0, "S"),
    ]
    # The two flushes of the commit are no requests of who submitted it.
    assert pairing.orphans == 2


def test_a_split_request_is_one_before_the_layer_and_two_behind_it() -> None:
    behind, _ = paired(SPLIT)
    assert [told(r)[:4] for r in behind] == [
        ("write", 0, 524288, 2338),
        ("write", 1024, 524288, 319),
    ]
    before, pairing = paired(SPLIT, "queue")
    assert [told(r)[:4] for r in before] == [("write", 0, 1 << 20, 2354)]
    assert (pairing.orphans, pairing.open) == (0, 0)


def test_a_trims_length_is_that_of_its_sectors() -> None:
    requests, _ = paired(TRIM)
    assert [told(r)[:3] for r in requests] == [("trim", 2048, 8192 * 512)]


def event(at: int, what: str, rwbs: str, sector: int, sectors: int = 8) -> Event:
    return Event(at, ACTIONS[what], 7 << 20, sector, sectors, 0, rwbs, 1, "p")


ISSUE, DONE, AGAIN = "block_rq_issue", "block_rq_complete", "block_rq_requeue"


def of(*events: Event) -> tuple[list[tuple[int, int]], Pairing]:
    pairing = Pairing(ALL)
    for one in events:
        pairing.take(one)
    done = [*pairing.ready(), *pairing.rest()]
    return [(r.start_ns, r.end_ns) for r in done], pairing


def test_the_oldest_of_equal_requests_ends_first_and_order_is_that_of_starts() -> None:
    times, _ = of(
        event(1, ISSUE, "W", 0),
        event(2, ISSUE, "W", 0),
        event(3, ISSUE, "R", 0),
        event(4, DONE, "R", 0),
        event(5, DONE, "W", 0),
        event(6, DONE, "W", 0),
    )
    assert times == [(1, 5), (2, 6), (3, 4)]


def test_partial_ends_add_up_and_merged_requests_end_together() -> None:
    times, _ = of(
        event(1, ISSUE, "W", 0, 16),
        event(2, DONE, "W", 0, 8),
        event(3, DONE, "W", 8, 8),
    )
    assert times == [(1, 3)]
    times, pairing = of(
        event(1, "block_bio_queue", "W", 0),
        event(2, "block_bio_queue", "W", 8),
        event(3, DONE, "W", 0, 16),
        event(4, DONE, "W", 0, 16),
    )
    assert times == [(1, 3), (2, 3)]
    assert pairing.orphans == 1


def test_the_end_of_a_bio_is_known_by_where_it_ended() -> None:
    bio = "block_bio_complete"
    times, pairing = of(
        event(1, "block_bio_queue", "R", 0),
        event(2, "block_bio_queue", "R", 64),
        event(3, bio, "R", 72, 0),
        event(4, bio, "R", 0, 8),
    )
    assert times == [(1, 4), (2, 3)]
    assert pairing.orphans == 0


def test_a_requeued_request_keeps_its_first_start() -> None:
    times, _ = of(
        event(1, ISSUE, "R", 0), event(2, AGAIN, "R", 0), event(5, ISSUE, "R", 0),
        event(9, DONE, "R", 0),
    )  # fmt: skip
    assert times == [(1, 9)]


def test_other_commands_are_counted_and_open_requests_have_no_end() -> None:
    times, pairing = of(
        event(1, ISSUE, "N", 0, 0),
        event(2, ISSUE, "ZR", 0, 8),
        event(3, DONE, "ZR", 0, 8),
        event(4, ISSUE, "W", 0),
    )
    assert times == [(4, -1)]
    assert pairing.ignored == {"N": 1, "ZR": 1}
    assert pairing.open == 1


@pytest.mark.parametrize(
    ("rwbs", "said"),
    [
        ("R", ("read", "", False)),
        ("RAM", ("read", "A+M", False)),
        ("WFS", ("write", "FUA+S", False)),
        ("FWFSM", ("write", "PF+FUA+S+M", True)),
        ("DE", ("trim", "", False)),
        ("FF", ("", "", True)),
        ("FWS", ("write", "PF+S", True)),
        ("N", ("", "", False)),
        ("?", ("", "", False)),
    ],
)
def test_letters(rwbs: str, said: tuple[str, str, bool]) -> None:
    assert tuple(kind_of(rwbs)) == said


# The layout of an event as Linux prints it; the numbers are small so that the page fits.
FORMAT = """name: block_rq_issue
ID: 77
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:char comm[16];\toffset:44;\tsize:16;\tsigned:0;
"""
HEADER_PAGE = """\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""


def entry(delta: int, sector: int, number: int = 77) -> bytes:
    data = struct.pack("=HxxiI4xQII2x10s16s", number, 9, 7 << 20, sector, 8, 4096, b"WS", b"fio")
    return struct.pack("=I", delta << 5 | len(data) // 4) + data


def page(data: bytes, flags: int = 0, after: bytes = b"") -> bytes:
    return struct.pack("=QQ", 1000, len(data) | flags) + data + after


def decoded(raw: bytes) -> list[tuple[int, int] | Lost]:
    layout = Layout(FORMAT, 0)
    decoder = Decoder(PageLayout.of(HEADER_PAGE), {layout.id: layout})
    return [e if isinstance(e, Lost) else (e.time_ns, e.sector) for e in decoder.events(raw)]


def test_pages_of_the_ring_buffer() -> None:
    extend = struct.pack("=II", 5 << 5 | 30, 1)
    withdrawn = struct.pack("=II", 1 << 5 | 29, 12) + bytes(8)
    large = struct.pack("=II", 2 << 5, 64) + entry(0, 5)[4:]
    data = entry(7, 1) + extend + entry(0, 2) + withdrawn + entry(1, 3, number=5) + large
    after = 1000 + 7 + (1 << 27) + 5
    assert decoded(page(data)) == [(1007, 1), (after, 2), (after + 4, 5)]
    stamped = struct.pack("=II", 9 << 5 | 31, 2) + entry(1, 6)
    assert decoded(page(stamped)) == [((2 << 27) + 10, 6)]


def test_a_page_says_what_was_lost_before_it() -> None:
    stored = page(entry(7, 1), 1 << 31 | 1 << 30, struct.pack("=Q", 1234))
    assert decoded(stored) == [Lost(1000, 1234), (1007, 1)]
    assert decoded(page(entry(7, 1), 1 << 31))[0] == Lost(1000, 0)


def test_a_layout_without_a_field_is_an_error() -> None:
    with pytest.raises(ds.DataError, match="block_rq_issue: expected rwbs"):
        Layout(FORMAT.replace("rwbs", "letters"), 0)


def test_shuffled_extents_are_a_permutation_that_keeps_what_is_inside() -> None:
    for extents in (1, 2, 3, 100, 257):
        shuffle = Shuffle(extents * EXTENT_BYTES - 5, b"key")
        offsets = [shuffle.offset(e * EXTENT_BYTES + 4096) for e in range(extents)]
        assert sorted(offsets) == [e * EXTENT_BYTES + 4096 for e in range(extents)]
        again = Shuffle(extents * EXTENT_BYTES - 5, b"key")
        assert [again.offset(e * EXTENT_BYTES + 4096) for e in range(extents)] == offsets
    other = Shuffle(257 * EXTENT_BYTES, b"another")
    assert [other.offset(e * EXTENT_BYTES) for e in range(9)] != [
        e * EXTENT_BYTES for e in range(9)
    ]


def test_the_other_ways_and_what_is_wrong(destage: Destage, tmp_path: Path) -> None:
    how = destage("record", "--how")
    assert how.status == 0
    known = {f.name for f in ds.formats()}
    named = set(re.findall(r"--format ([\w-]+)", how.out))
    assert named >= {"blkparse", "biosnoop", "fio-iolog", "diskmon", "ms-etw", "vscsi"}
    assert named <= known
    (tmp_path / "file").touch()
    for words, status, said in (
        (("/dev/null", "-o", "t.csv"), 66, "found a character device"),
        (("file", "-o", "t.csv"), 66, "found a file"),
        (("nowhere", "-o", "t.csv"), 66, "No such file"),
        (("/dev/null",), 2, "-o: expected the trace's file"),
        ((), 2, "expected a block device or a mount point"),
        (
            ("/dev/null", "-o", "t.csv", "--for", "soon"),
            2,
            "--for: expected a duration such as 60s or 10m",
        ),
        (("/dev/null", "-o", "t.csv", "--ops", "reed"), 2, "ops: expected read, write"),
        (("/dev/null", "-o", "t.csv", "--pid", "--anonymise"), 2, "it takes no --pid"),
        (("/dev/null", "-o", "t.parquet", "--rotate", "1MiB"), 2, "--rotate writes text"),
    ):
        done = destage("record", *words)
        assert (done.status, said in done.err) == (status, True), (words, done)


def test_the_command_that_is_printed_has_its_names_quoted(
    destage: Destage, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("a b.csv", "$(x).csv", "\x1b[31mc.csv")
    made = Recording(names, ("sda",), "issue", None)
    monkeypatch.setattr("destage.cli.record.make", lambda *_, **__: made)
    done = destage("record", "sda", "-o", "t.csv")
    assert (done.status, done.err) == (0, "")
    last = done.out.splitlines()[-1]
    assert last == "destage advise 'a b.csv' '$(x).csv' '\\x1b[31mc.csv'"


# The file of a recording.


def rows(count: int) -> Iterator[Row]:
    for number in range(count):
        yield number * 1000, "sda", "read", number * 4096, 4096, 77, "S", 1, "a process"


def test_a_file_is_hardly_larger_than_it_may_be_however_much_comes_at_once(tmp_path: Path) -> None:
    for name in ("t.csv", "t.csv.zst"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        out = TraceFile(str(folder / name), rotate_bytes=10_000, most_bytes=None, with_pid=False)
        out.begin(["destage record 1"])
        out.rows(rows(20_000))
        out.finish([])
        sizes = [os.path.getsize(file) for file in out.files]
        assert len(sizes) > 2
        assert max(sizes) < 12_000
        assert sum(ds.trace_info(f).data["counts"]["reads"] for f in out.files) == 20_000
    out = TraceFile(str(tmp_path / "m.csv"), rotate_bytes=None, most_bytes=20_000, with_pid=False)
    out.begin([])
    taken = 0
    for row in rows(20_000):
        out.rows([row])
        if out.is_full:
            break
        taken += 1
    out.rows(rows(1000))
    out.finish([])
    assert 20_000 <= os.path.getsize(tmp_path / "m.csv") < 22_000
    assert ds.trace_info(tmp_path / "m.csv").data["counts"]["reads"] == taken + 1


@pytest.mark.parametrize("name", ["x.gz", "x.json", "x", "x.csv.zip", "x.parquet.gz"])
def test_a_name_that_promises_another_format_is_an_error(name: str) -> None:
    with pytest.raises(ds.UsageError, match=r"ends in \.csv"):
        TraceFile(name, rotate_bytes=None, most_bytes=None, with_pid=False)


#: A recorder whose files have at most so many bytes, as on a disk that is full.
FULL = """
import itertools, resource, signal, sys
from test_record import rows
from destage.base.errors import OutputError
from destage.live.record.recording import _kept
from destage.live.record.tracefile import TraceFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
out = TraceFile(sys.argv[1], rotate_bytes=None, most_bytes=None, with_pid=False)
try:
    with _kept(out):
        out.begin(["destage record 1"])
        more = rows(1_000_000)
        while True:
            out.rows(itertools.islice(more, 1000))
            out.sync()
except OutputError as e:
    print(e.exit_status, e)
"""


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst", "t.csv.xz", "t.parquet"])
def test_a_recording_on_a_full_disk_keeps_what_is_whole(tmp_path: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, name],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        check=True,
    )
    (kept,) = tmp_path.iterdir()
    assert kept.name == (f"{name}.csv" if name.endswith("parquet") else name)
    assert done.stdout.startswith("74 "), done.stdout
    assert f"the recording ended there: {kept.name} can be read" in done.stdout
    assert 50_000 < kept.stat().st_size <= 200_000
    assert ds.trace_info(kept).data["counts"]["reads"] > 500


# Whole recordings.


def attached(image: Path) -> str | None:
    losetup = shutil.which("losetup")
    if os.geteuid() != 0 or losetup is None or shutil.which("fio") is None:
        return None
    done = subprocess.run([losetup, "-f", "--show", image], capture_output=True, check=False)
    return done.stdout.decode().strip() or None


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[str]:
    """A loop device of 64 MiB."""
    image = tmp_path / "image"
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    device = attached(image)
    if device is None:
        pytest.skip("needs root, loop devices and fio: no block device is recorded")
    yield device
    subprocess.run(["losetup", "-d", device], check=False)


def fio(device: str, *options: str) -> dict[str, tuple[int, int]]:
    """Requests and bytes by direction, as fio counts them."""
    words = ["fio", "--name=a", f"--filename={device}", "--direct=1", "--ioengine=libaio"]
    done = subprocess.run(
        [*words, "--output-format=json", *options], capture_output=True, check=True
    )
    out = done.stdout.decode()
    (job,) = json.loads(out[out.index("{") :])["jobs"]
    return {op: (job[op]["total_ios"], job[op]["io_bytes"]) for op in ("read", "write", "trim")}


class Recorder:
    """`destage record` as a process."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [*MAIN, "record", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stderr is not None
        self.said = self.process.stderr.readline().decode()
        if "tracefs" in self.said:
            self.process.kill()
            pytest.skip(f"no block events here: {self.said.strip()}")
        if not self.said.startswith("destage: recording "):
            self.process.kill()
            pytest.fail(self.said)
        time.sleep(0.3)

    def end(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(("kind", "stop"), [("issue", signal.SIGINT), ("queue", signal.SIGTERM)])
def test_requests_and_bytes_are_those_of_fio(
    loop: str, tmp_path: Path, kind: str, stop: int
) -> None:
    recorder = Recorder(
        tmp_path, loop, "-o", "t.csv.zst", "--event", kind, "--json", "s.json", "--pid"
    )
    counts = fio(
        loop, "--rw=randrw", "--rwmixread=40", "--bs=4k-16k", "--number_ios=3000", "--iodepth=8",
        "--size=32m",
    )  # fmt: skip
    trims = fio(loop, "--rw=trim", "--bs=64k", "--size=4m", "--iodepth=1")
    status, out, err = recorder.end(stop)
    assert (status, err) == (0, "")
    summary = json.loads((tmp_path / "s.json").read_text())
    counts["trim"] = trims["trim"]
    for op, (requests, size) in counts.items():
        assert (summary["requests"][op], summary["bytes"][op]) == (requests, size), op
    assert (summary["lost_events"], summary["open"]) == (0, 0)
    assert out.splitlines()[-1] == "destage advise t.csv.zst"
    info = ds.trace_info(tmp_path / "t.csv.zst").data
    head = ds.trace_head(tmp_path / "t.csv.zst", count=5)
    assert info["counts"]["reads"] == counts["read"][0]
    assert all(row["response_ns"] > 0 for row in head)


def test_files_follow_each_other_and_an_anonymous_trace_names_nothing(
    loop: str, tmp_path: Path
) -> None:
    recorder = Recorder(tmp_path, loop, "-o", "t.csv", "--anonymise", "--rotate", "10kB")
    for _ in range(2):
        fio(loop, "--rw=randread", "--bs=4k", "--number_ios=400", "--iodepth=2")
        time.sleep(1.2)
    status, _, _ = recorder.end()
    files = sorted(tmp_path.glob("t.*.csv"))
    assert status == 0
    assert len(files) >= 2
    assert sum(ds.trace_info(f).data["counts"]["reads"] for f in files) == 800
    text = files[0].read_text()
    assert Path(loop).name not in text
    assert "start:" not in text
    assert ",d0,read," in text


def test_nothing_recorded_and_an_output_on_the_device_are_errors(loop: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [*MAIN, "record", loop, "-o", "t.csv", "--for", "0.2s"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    if done.returncode in (69, 77):
        pytest.skip(f"no block events here: {done.stderr.decode()}")
    assert done.returncode == 65
    assert b"0 requests in 0 s on" in done.stderr
    assert list(tmp_path.glob("*.csv")) == []
    mkfs = shutil.which("mkfs.ext4")
    if mkfs is None or subprocess.run([mkfs, "-q", loop], check=False).returncode:
        return
    folder = tmp_path / "mounted"
    folder.mkdir()
    if subprocess.run(["mount", loop, folder], check=False).returncode:
        return
    try:
        words = [*MAIN, "record", str(folder), "-o", str(folder / "t.csv"), "--for", "1s"]
        done = subprocess.run(words, capture_output=True, check=False)
        assert done.returncode == 74
        assert b"it would record itself" in done.stderr
    finally:
        subprocess.run(["umount", folder], check=False)
