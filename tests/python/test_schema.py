"""The JSON schemas: what Destage writes and reads fits them, and what it refuses does not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Destage

import destage as ds
from destage.reproduce.schema import claims_schema

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

SPECS = [
    """[sweep]
traces = ["traces/*.csv.xz", {synth = "zipf", requests = 1_000_000, pages = 100_000}]
policies = ["lru", {name = "cflru", window_fraction = [0.25, 0.5, 0.75]}]
cache = ["1%", "32MiB"]
devices = ["small", "my-device.toml"]
ftls = ["page", "bast"]
repeat = 5
resample = true
where = ["ftl == 'page' or cache == '5%'"]
[sweep.device]
gc_mode = ["foreground", "background"]
op = ["7%", "28%"]
[trace]
on_error = "skip"
[host]
mode = "closed"
queue_depth = 8
""",
    '[sweep]\ntraces = "t.csv"\nwarmup = ["auto", "none"]\nseeds = [1, 2]\n',
]


#: `workloads.toml` has no claims.
CLAIMS = [
    path
    for path in sorted((ROOT / "python" / "destage" / "papers").glob("*.toml"))
    if path.stem != "workloads"
]


def errors(schema: dict[str, Any], text: str) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema)
    return [error.message for error in validator.iter_errors(tomllib.loads(text))]


@pytest.mark.parametrize("name", [d.name for d in ds.devices()])
def test_every_preset_fits_as_a_file(name: str, destage: Destage) -> None:
    exact = destage("devices", name, "--toml").out
    source = (ROOT / "crates" / "destage-ssd" / "presets" / f"{name}.toml").read_text()
    assert errors(ds.device_schema(), exact) == []
    assert errors(ds.device_schema(), source) == []


def test_every_key_that_a_device_s_file_takes_is_in_the_schema() -> None:
    tables = ds.device_schema()["properties"]
    for key in ds.device_keys():
        assert key.name in tables[key.table]["properties"], key
        assert key.about in tables[key.table]["properties"][key.name]["description"]
    assert {"read", "op", "capacity", "page"} <= set(tables["device"]["properties"])


#: A line of a device's file, and whether Destage takes it.
LINES = [
    ("channels = 8", True),
    ("channels = 0", False),
    ('channels = "8"', False),
    ("chanels = 8", False),
    ("read_ns = [50000, 60000]", True),
    ("read_ns = []", False),
    ('read = "60us"', True),
    ("read = 60", False),
    ('sched = "read_first"', True),
    ('sched = "lifo"', False),
    ("summary_page = 1", False),
    ('gc_step_pages = "auto"', True),
    ('gc_step_pages = "all"', False),
    ('map_cache = "512KiB"', True),
    ('preset = "smal"', False),
]


@pytest.mark.parametrize(("line", "taken"), LINES)
def test_the_schema_takes_what_destage_takes(line: str, taken: bool, tmp_path: Path) -> None:
    text = f"[device]\n{line}\n"
    path = tmp_path / "mine.toml"
    path.write_text(text)
    assert (errors(ds.device_schema(), text) == []) == taken
    if not taken:
        with pytest.raises(ds.DestageError):
            ds.open_device(str(path))


@pytest.mark.parametrize("text", SPECS)
def test_a_sweep_fits(text: str) -> None:
    assert errors(ds.sweep_schema(), text) == []


@pytest.mark.parametrize(
    "text",
    [
        "[swep]\n",
        "[trace]\n",
        '[sweep]\ntrace = "x"\n',
        "[sweep]\nrepeat = 0\n",
        "[sweep]\nseeds = [-1]\n",
    ],
)
def test_a_sweep_that_is_refused_does_not_fit(text: str) -> None:
    assert errors(ds.sweep_schema(), text)


@pytest.mark.parametrize("path", CLAIMS, ids=lambda path: path.stem)
def test_every_paper_s_claims_fit(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert errors(claims_schema(), text) == []
    assert errors(claims_schema(), text.replace("[paper]", "[papers]", 1))


def test_the_command_writes_what_the_call_returns(destage: Destage, tmp_path: Path) -> None:
    assert json.loads(destage("schema", "device").out) == ds.device_schema()
    assert destage("schema", "sweep", "-o", "s.json").status == 0
    assert json.loads((tmp_path / "s.json").read_text()) == ds.sweep_schema()
    wrong = destage("schema", "paper")
    assert (wrong.status, "'device', 'sweep', 'claims'" in wrong.err) == (2, True), wrong
