"""`destage doctor`: what it looks at, and that it notices what is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import VECTORS, Destage

import destage as ds
from destage.doctor import installation, proof
from destage.doctor.proof import DATA, STORED, measured
from destage.doctor.proof import VECTORS as SHIPPED

LOOKED_AT = ["versions", "extras", "machine", "cache folder", "vectors", "device", "speed"]


def finding(checkup: ds.Checkup, about: str) -> ds.Finding:
    return next(f for f in checkup.findings if f.about == about)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the stored data that may be damaged; speeds are not measured again."""
    recorded = json.loads((DATA / STORED).read_text())["speed"]["rates"]
    monkeypatch.setattr(proof, "speeds", lambda: dict(recorded))
    folder = tmp_path / "data"
    folder.mkdir()
    for name in (STORED, SHIPPED):
        shutil.copy(DATA / name, folder / name)
    return folder


def test_the_command_finds_nothing_wrong_here(destage: Destage, tmp_path: Path) -> None:
    done = destage("doctor", "--json", "found.json")
    assert done.status == 0, done
    assert done.out.endswith("All checks passed.\n")
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["ok"] is True
    assert [f["about"] for f in found["findings"]] == LOOKED_AT
    assert all(f["said"] in done.out for f in found["findings"])


def test_its_vectors_are_those_of_the_tests_and_of_every_policy() -> None:
    known: set[str] = set()
    for file in VECTORS.glob("*.jsonl"):
        known |= set(file.read_text(encoding="utf-8").splitlines())
    shipped = (DATA / SHIPPED).read_text(encoding="utf-8").splitlines()
    assert set(shipped) <= known

    def policies(lines: set[str]) -> set[str]:
        vectors = [json.loads(line) for line in lines]
        return {v.get("policy") or v.get("cache", {}).get("policy", "none") for v in vectors}

    assert policies(set(shipped)) == policies(known)


def test_a_vector_that_differs_is_wrong(data: Path) -> None:
    lines = (data / SHIPPED).read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if '"hit":false' in line)
    lines[first] = lines[first].replace('"hit":false', '"hit":true', 1)
    (data / SHIPPED).write_text("\n".join(lines) + "\n")
    found = ds.doctor(data=data)
    assert not found.ok
    assert finding(found, "vectors").said.startswith(f"1 of {len(lines)} differ; ")
    assert str(found).endswith("Wrong: vectors.")


def test_a_number_of_the_drive_that_differs_is_named(data: Path) -> None:
    stored = json.loads((data / STORED).read_text())
    stored["drive"]["ecr/page"]["makespan_ns"] += 1
    (data / STORED).write_text(json.dumps(stored))
    drive = finding(ds.doctor(data=data), "device")
    expected = stored["drive"]["ecr/page"]["makespan_ns"]
    assert drive.status == "wrong"
    assert f"ecr/page makespan_ns: expected {expected}, found {expected - 1}" in drive.said


def test_what_is_stored_is_what_the_drive_gives_now() -> None:
    """After a change that is meant: `python -m destage.doctor "the machine"` writes it anew."""
    assert json.loads((DATA / STORED).read_text())["drive"] == json.loads(json.dumps(measured()))


@pytest.mark.parametrize("damaged", [STORED, SHIPPED])
def test_data_that_are_gone_or_cut_off_are_findings(data: Path, damaged: str) -> None:
    whole = (data / damaged).read_bytes()
    (data / damaged).write_bytes(whole[: len(whole) // 2])
    assert not ds.doctor(data=data).ok
    (data / damaged).unlink()
    assert not ds.doctor(data=data).ok


def test_a_cache_folder_that_cannot_be_is_wrong(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = destage("doctor", env={"DESTAGE_CACHE": str(tmp_path / "file" / "cache")})
    assert done.status == 1, done
    assert "wrong  cache folder" in done.out
    assert "Traceback" not in done.err


def test_a_slow_machine_is_told_and_not_wrong(data: Path) -> None:
    stored = json.loads((data / STORED).read_text())
    stored["speed"]["rates"] = {name: rate * 100 for name, rate in proof.speeds().items()}
    (data / STORED).write_text(json.dumps(stored))
    found = ds.doctor(data=data)
    assert finding(found, "speed").status == "note"
    assert "built with optimisation" in finding(found, "speed").said
    assert found.ok


def test_halves_of_two_versions_are_wrong(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_version", lambda _: "0.0.0")
    versions = finding(ds.doctor(data=data), "versions")
    assert versions.status == "wrong"
    assert "0.0.0" in versions.said
