"""The recordings and excerpts of "independent traces": checked, fetched, or an error."""

from __future__ import annotations

import hashlib
import lzma
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds
from destage.reproduce.published import Recording, catalogue
from destage.reproduce.samples import MISSING, PRESENT, TAKEN, fetch, samples

ROOT = Path(__file__).resolve().parents[2]
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
    assert samples().keys() == catalogue().recordings.keys()
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
    assert "8 files missing: --from SOURCE" in done.err.replace("\n", " ")
