"""The recordings and excerpts of "independent traces": checked, fetched, or an error."""

from __future__ import annotations

import hashlib
import lzma
import runpy
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path

import pytest
from conftest import Destage
from msgspec.structs import replace

import destage as ds
from destage.reproduce import workloads
from destage.reproduce.published import Catalogue, Recording, catalogue
from destage.reproduce.samples import MISSING, PRESENT, REPEATED, TAKEN, fetch, samples

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "python" / "destage" / "data" / "pgtpcb_first400k.csv.xz"
CONTENT = b"1,host,0,Read,0,4096,10\n"
KNOWN = {
    "one": Recording(
        title="a recording",
        files=("one.csv.xz", "one.csv"),
        requests=1,
        name="one",
        kind="recording",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
    )
}


class Quiet(SimpleHTTPRequestHandler):
    """A server that prints nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the URL of its files."""
    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield folder, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_every_recording_and_excerpt_has_a_checksum_and_an_origin() -> None:
    files = {name for name, one in catalogue().recordings.items() if one.files}
    assert samples().keys() == files
    page = (ROOT / "docs" / "reference" / "paper-files.md").read_text()
    for name, one in samples().items():
        assert len(one.sha256) == 64
        assert bool(one.made) == (one.kind == "recording"), name
        assert bool(one.origin) == (one.kind == "excerpt"), name
        assert f"| {name} | {one.made or one.origin} |" in page


@pytest.mark.parametrize("packed", [False, True])
def test_a_sample_is_known_by_its_content_packed_or_not(tmp_path: Path, packed: bool) -> None:
    name = "one.csv.xz" if packed else "one.csv"
    (tmp_path / name).write_bytes(lzma.compress(CONTENT) if packed else CONTENT)
    (found,) = fetch(tmp_path, known=KNOWN)
    assert (found.name, found.state, found.path) == ("one", PRESENT, tmp_path / name)


def test_a_missing_sample_is_taken_from_a_folder_and_from_a_url(
    tmp_path: Path, served: tuple[Path, str]
) -> None:
    folder, url = served
    there = tmp_path / "there"
    assert fetch(there, known=KNOWN)[0].state == MISSING
    for source in (str(folder), url):
        assert fetch(there, source, known=KNOWN)[0].state == MISSING, "the source has it not"
    assert not there.exists()
    (folder / "one.csv").write_bytes(CONTENT)
    for where, source in ((there, str(folder)), (tmp_path / "other", url)):
        (found,) = fetch(where, source, known=KNOWN)
        assert found.state == TAKEN
        assert found.path is not None
        assert found.path.read_bytes() == CONTENT
        assert fetch(where, known=KNOWN)[0].state == PRESENT


def test_other_content_is_an_error_and_none_of_it_stays(tmp_path: Path) -> None:
    source, there = tmp_path / "source", tmp_path / "there"
    source.mkdir()
    (source / "one.csv").write_bytes(CONTENT + b"2")
    expected = r"there/one\.csv: this is not one, or it is damaged: expected SHA-256 [0-9a-f]{64}, "
    with pytest.raises(ds.DataError, match=expected):
        fetch(there, str(source), known=KNOWN)
    assert list(there.iterdir()) == []
    # A file of the user's stays as it is.
    with pytest.raises(ds.DataError, match="source/one"):
        fetch(source, known=KNOWN)
    assert (source / "one.csv").read_bytes() == CONTENT + b"2"
    (source / "one.csv.xz").write_bytes(lzma.compress(CONTENT)[:-9])
    with pytest.raises(ds.DataError, match=r"one\.csv\.xz: expected an xz file of one"):
        fetch(source, known=KNOWN)


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ds.UsageError, match=r"--from: expected a folder or an http URL, found ftp"):
        fetch(tmp_path, "ftp://host/files", known=KNOWN)
    with pytest.raises(FileNotFoundError, match="nowhere: there is no such folder"):
        fetch(tmp_path, "nowhere", known=KNOWN)
    with pytest.raises(FileNotFoundError, match=r"http://127\.0\.0\.1:9: one\.csv\.xz: "):
        fetch(tmp_path, "http://127.0.0.1:9", known=KNOWN)


def test_the_command_lists_what_is_missing_with_status_1(destage: Destage) -> None:
    done = destage("trace", "fetch-samples", "samples")
    assert done.status == 1
    rows = [line.split() for line in done.out.splitlines() if " missing " in line]
    assert [row[0] for row in rows] == list(samples())
    said = " ".join(done.err.split())
    assert "10 files missing: --from SOURCE" in said
    ours = [one.name for one in samples().values() if one.kind == "recording"]
    command = f"python examples/record_samples.py {' '.join(ours)} -o samples. These are other"
    assert command in said


def test_a_recording_of_the_users_own_has_a_name_of_its_own(tmp_path: Path) -> None:
    own = tmp_path / "own-one.csv.zst"
    own.touch()
    (found,) = fetch(tmp_path, known=KNOWN)
    assert (found.state, found.path) == (REPEATED, own)
    (tmp_path / "own-one.csv.zst").rename(tmp_path / "own-one-2.csv.zst")
    assert fetch(tmp_path, known=KNOWN)[0].state == MISSING
    (tmp_path / "own-one.csv").touch()
    (tmp_path / "one.csv").write_bytes(CONTENT)
    assert fetch(tmp_path, known=KNOWN)[0].state == PRESENT


# From a release to verdicts.


def beginning(count: int) -> list[bytes]:
    with lzma.open(SHIPPED) as file:
        return list(islice(file, count))


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the beginning of pgtpcb, which is all of our recordings."""
    lines = beginning(9000)
    content = b"".join(lines)
    pgtpcb = replace(
        catalogue().recordings["pgtpcb"],
        requests=len(lines),
        sha256=hashlib.sha256(content).hexdigest(),
        shipped=None,
    )
    known = Catalogue(catalogue().traces, {**catalogue().recordings, "pgtpcb": pgtpcb})
    monkeypatch.setattr(workloads, "catalogue", lambda: known)
    monkeypatch.setattr(
        "destage.reproduce.samples.catalogue", lambda: Catalogue({}, {"pgtpcb": pgtpcb})
    )
    folder = tmp_path / "recorded"
    folder.mkdir()
    (folder / "pgtpcb.csv.xz").write_bytes(lzma.compress(content))
    return folder


def release(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The files that `make samples-release` leaves."""
    monkeypatch.setattr("sys.argv", ["samples.py", source, str(folder)])
    runpy.run_path(str(ROOT / ".ci" / "samples.py"), run_name="__main__")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_release_has_the_same_bytes_at_every_run_and_is_whole(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = release(str(short), tmp_path / "first", monkeypatch)
    assert first == release(str(tmp_path / "first"), tmp_path / "second", monkeypatch)
    sums = dict(
        reversed(line.split("  ")) for line in first.pop("SHA256SUMS").decode().split("\n") if line
    )
    assert sums == {name: hashlib.sha256(content).hexdigest() for name, content in first.items()}
    assert sorted(sums) == ["README.md", "pgtpcb.csv.xz"]
    # A repeated recording is none of the release.
    (short / "pgtpcb.csv.xz").rename(short / "own-pgtpcb.csv.xz")
    with pytest.raises(SystemExit, match=r"recorded: expected pgtpcb$"):
        release(str(short), tmp_path / "third", monkeypatch)


def kinds(recordings: Path) -> dict[str, str]:
    """Kinds of the independent traces of a small reproduction."""
    made = ds.reproduce.reproduce(
        "bpac", recordings=recordings, scale=0.01, seeds=1, sensitivity=False, figures=[11]
    )
    assert all(one.elsewhere is not None for one in made.verdicts if one.claim.headline)
    return {load.name: load.kind for load in made.loads if load.kind != "surrogate"}


def test_a_release_gives_verdicts_and_other_content_needs_a_name_of_its_own(
    short: Path,
    tmp_path: Path,
    served: tuple[Path, str],
    monkeypatch: pytest.MonkeyPatch,
    destage: Destage,
) -> None:
    folder, url = served
    release(str(short), folder, monkeypatch)
    done = destage("trace", "fetch-samples", "samples", "--from", url)
    assert (done.status, done.err) == (0, "")
    there = tmp_path / "samples"
    assert [path.name for path in there.iterdir()] == ["pgtpcb.csv.xz"]
    assert kinds(there) == {"pgtpcb": "recording"}
    (there / "pgtpcb.csv.xz").write_bytes(lzma.compress(b"".join(beginning(8000))))
    with pytest.raises(
        ds.DataError, match=r"expected SHA-256 .*; name a recording of your own own-"
    ):
        kinds(there)
    (there / "pgtpcb.csv.xz").rename(there / "own-pgtpcb.csv.xz")
    assert kinds(there) == {"pgtpcb": "repeated"}
