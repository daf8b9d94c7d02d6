"""A trace in parts: nothing lost, nothing twice, each part what a reader would have picked out."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest
from conftest import DATA, Destage

import destage as ds
from destage.lab import splitting


def requests(path: Path) -> list[tuple[str, ...]]:
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "rt", newline="") as file:
        return [tuple(row) for row in list(csv.reader(file))[1:]]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Requests of five volumes over some minutes, with names that are no names of files."""
    lines = ["time_ns,device,op,offset_bytes,length_bytes,response_ns"]
    state = 7
    for k in range(2000):
        state = (state * 1103515245 + 12345) % 2**31
        volume = ["hm_2", "hm_10", '"8,16"', "a/b", "c"][state // 7 % 5]
        op = ("read", "write")[state >> 9 & 1]
        offset = (state >> 3) % 4000 * 4096
        lines.append(f"{k * 90_000_000},{volume},{op},{offset},8192,{k}")
    path = tmp_path / "mixed.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(params=["in memory", "in passing"])
def _room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "in passing":
        monkeypatch.setattr(splitting, "WAITING", 37)


@pytest.mark.usefixtures("_room")
@pytest.mark.parametrize("by", ["time=1min", "volume", "hash=8", "requests=300"])
def test_every_request_is_in_one_part_as_it_was(mixed: Path, tmp_path: Path, by: str) -> None:
    parts = ds.split_trace(mixed, tmp_path / "parts", by=by)
    every = [row for part in parts for row in requests(part.path)]
    assert sorted(every) == sorted(requests(mixed))
    assert [len(requests(part.path)) for part in parts] == [part.requests for part in parts]
    assert sorted((tmp_path / "parts").iterdir()) == sorted(part.path for part in parts)
    for part in parts:
        rows = requests(part.path)
        # In the order in which they were.
        assert rows == sorted(rows, key=lambda row: int(row[0]))


@pytest.mark.usefixtures("_room")
def test_parts_are_what_they_are_called(mixed: Path, tmp_path: Path) -> None:
    named = {}
    for by in ("time=1min", "volume", "hash=8", "requests=300"):
        parts = ds.split_trace(mixed, tmp_path / by, by=by)
        named[by] = [part.path.name for part in parts]
        for k, part in enumerate(parts):
            rows = requests(part.path)
            if by == "volume":
                assert {row[1] for row in rows} == {part.part}
            if by == "time=1min":
                assert {int(row[0]) // 60_000_000_000 for row in rows} == {k}
            if by == "requests=300":
                assert part.requests == (300 if k < 6 else 200)
        if by == "hash=8":
            places = [{(r[1], int(r[3]) >> 20) for r in requests(p.path)} for p in parts]
            assert sum(map(len, places)) == len(set().union(*places))
    assert named["volume"] == [
        "mixed-8%2c16.csv", "mixed-a%2fb.csv", "mixed-c.csv", "mixed-hm_2.csv", "mixed-hm_10.csv",
    ]  # fmt: skip
    assert named["time=1min"] == ["mixed-0.csv", "mixed-1.csv", "mixed-2.csv"]
    assert named["hash=8"] == [f"mixed-{k}.csv" for k in range(8)]


def test_a_volume_by_itself_is_what_the_reader_picks_out(tmp_path: Path) -> None:
    path = DATA / "tencent.csv"
    whole = ds.open_trace(path)
    parts = ds.split_trace(path, tmp_path, by="volume")
    assert [part.part for part in parts] == list(whole.volumes)
    for part in parts:
        assert ds.open_trace(part.path).fingerprint == (
            ds.open_trace(path, volume=part.part).fingerprint
        )


def test_a_folder_of_parts_is_swept_one_by_one(
    destage: Destage, mixed: Path, tmp_path: Path
) -> None:
    # A reader that is to pick out a volume takes a comma for the end of its name.
    mixed.write_text(mixed.read_text().replace('"8,16"', "d"))
    done = destage("trace", "split", mixed, "--by", "volume", "-o", "volumes", "--gzip")
    assert done.status == 0, done
    assert "5 parts of 2,000 requests" in done.out
    (tmp_path / "s.toml").write_text(
        '[sweep]\ntraces = "volumes"\npolicies = "lru"\ncache = "10%"\n'
    )
    assert ds.sweep(tmp_path / "s.toml", tmp_path / "runs").done == 5
    found = ds.load_results(tmp_path / "runs")
    assert {row["trace"] for row in found} == {p.name for p in (tmp_path / "volumes").iterdir()}
    (pooled,) = found.pooled().rows
    assert pooled["trace"] == "5 traces"
    assert pooled["trace_requests"] == 2000
    assert pooled["misses"] == sum(row["misses"] for row in found)
    separate = {
        "sweep": {"traces": str(mixed), "policies": "lru", "cache": "10%"},
        "trace": {"volumes": "separate"},
    }
    ds.sweep(separate, tmp_path / "separate")
    apart = ds.load_results(tmp_path / "separate")
    assert sorted(row["misses"] for row in apart) == sorted(row["misses"] for row in found)
    assert {row["id"] for row in apart} == {row["id"] for row in found}


WRONG = {
    "weeks": "expected time=1h, volume, hash=8 or requests=1000000",
    "time=soon": "expected a time such as time=1h",
    "time=0s": "expected a time such as time=1h",
    "hash=0": "expected a whole number from 1, as in hash=1000",
    "requests=-3": "expected a whole number from 1",
    "hash=1000000": "expected at most 100,000 parts",
    "volume=3": "expected time=1h, volume",
}


@pytest.mark.parametrize("by", WRONG)
def test_what_no_trace_can_be_split_by_is_said(mixed: Path, tmp_path: Path, by: str) -> None:
    with pytest.raises(ds.UsageError) as caught:
        ds.split_trace(mixed, tmp_path / "parts", by=by)
    assert WRONG[by] in str(caught.value)
    assert not (tmp_path / "parts").exists()


def test_a_trace_that_cannot_be_read_leaves_no_parts(
    mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mixed.open("a") as file:
        file.write("190000000000,c,read,here,4096,1\n")
    with pytest.raises(ds.DataError, match=r"mixed\.csv:2002"):
        ds.split_trace(mixed, tmp_path / "parts", by="volume")
    with pytest.raises(ds.MissingFile, match="none"):
        ds.split_trace(tmp_path / "none.csv", tmp_path / "parts", by="volume")

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(splitting.os, "replace", broken)
    with pytest.raises(ds.OutputError, match="No space left"):
        ds.split_trace(DATA / "tencent.csv", tmp_path / "parts", by="volume")
    assert list((tmp_path / "parts").iterdir()) == []
