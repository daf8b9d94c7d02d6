"""JSON that a command writes says which schema it has and which version wrote it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import DATA, Destage

import destage as ds

CSV = str(DATA / "msr.csv")

#: The command, and its schema; each ends in `--json -`.
COMMANDS = {
    "policies": "policies",
    "policies lru": "policies",
    "devices": "devices",
    "devices small": "devices",
    "devices --keys": "device_keys",
    "ftls": "ftls",
    "trace formats": "formats",
    "trace options": "reader_options",
    "trace cache": "trace_cache",
    "trace info FILE": "trace_info",
    "trace info FILE AGAIN": "trace_info",
    "trace head FILE": "trace_head",
    "trace profile FILE": "trace_profile",
    "compare FILE -p lru -c 2p": "results",
    "mrc FILE -p lru": "curves",
    "tune FILE -p 2q --param in_fraction=0.1,0.5 -c 4p --objective hit": "tuned",
    "why lru fifo --trace FILE -c 2p": "why",
    "advise FILE --objective hit": "advice",
    "devices bench small --rw read --depth 1 --block 4KiB --state fresh": "devices_bench",
}


@pytest.mark.parametrize("words", COMMANDS)
def test_the_head_names_schema_and_version(destage: Destage, words: str, tmp_path: Path) -> None:
    schema = COMMANDS[words]
    files = {"FILE": CSV, "AGAIN": tmp_path / "again.csv"}
    shutil.copyfile(CSV, files["AGAIN"])
    given = [files.get(word, word) for word in words.split()]
    done = destage(*given, "--json", "-", "-q")
    assert done.status == 0, done
    data = json.loads(done.out)
    assert data["schema"] == f"destage.{schema}"
    assert isinstance(data["schema_version"], int)
    assert data["version"] == ds.__version__


def test_advice_is_indented_on_a_terminal_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    advice = ds.advise(ds.open_trace(CSV), "hit", policies="lru,fifo", cache="2p,3p")
    written = advice.to_json(tmp_path / "a.json")
    assert (tmp_path / "a.json").read_text() == written
    assert written.count("\n") == 1
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = advice.to_json("-")
    assert capsys.readouterr().out == shown
    assert shown.startswith('{\n "version"')
    assert json.loads(shown) == json.loads(written)
    assert advice.results.to_json().startswith('{\n "version"')


def test_what_was_asked_of_a_store_is_rows(destage: Destage, tmp_path: Path) -> None:
    assert destage("compare", CSV, "-p", "lru", "-c", "2p", "--store", "s", "-q").status == 0
    done = destage("results", "s", "--sql", "SELECT label FROM runs", "--json", "-")
    data = json.loads(done.out)
    assert (data["schema"], data["rows"]) == ("destage.answer", [{"label": "lru"}])
