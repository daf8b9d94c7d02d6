"""Examples in docstrings and on the pages run, and every public name is described."""

from __future__ import annotations

import doctest
import gzip
import importlib
import inspect
import re
import shlex
from pathlib import Path

import pytest
from conftest import ROOT, Destage

import destage as ds

MODULES = [
    "destage",
    *(
        f"destage.{m}"
        for m in (
            *("lab.catalogue", "lab.options", "lab.ssd", "lab.traces", "model.metrics"),
            *("model.ranges", "questions.demonstration", "questions.runs", "questions.tuning"),
        )
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert results.attempted > 0
    assert results.failed == 0


def test_every_public_name_is_described() -> None:
    for name in ds.__all__:
        value = getattr(ds, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


# What the pages print, a reader types.

#: Has the first commands.
INSTALL = ROOT / "docs" / "install.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str = "") -> list[str]:
    """The blocks of a page that are set as code of this language."""
    text = page.read_text(encoding="utf-8")
    # All of them, so that the end of one is not taken for the beginning of the next.
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for name, block in found if name == language]


def commands(page: Path) -> list[list[str]]:
    """The command lines of a page, as a shell takes them apart."""
    lines = "".join(blocks(page)).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.startswith("destage ")]


def test_the_pages_have_commands() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 20
    assert len(commands(INSTALL)) >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_printed_command_is_one(page: Path, tmp_path: Path) -> None:
    import click

    from destage.cli.root import root

    for words in commands(page):
        group: click.Group = root
        rest = words[1:]
        while True:
            # Raises for a command or a flag that there is not, and for a value that is none.
            _, command, rest = group.resolve_command(click.Context(group), rest)
            assert command is not None
            if not isinstance(command, click.Group):
                break
            group = command
        command.make_context(command.name, list(rest))


def test_the_first_commands_run(destage: Destage, msr: Path, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    (tmp_path / "my_trace.csv.gz").write_bytes(gzip.compress(msr.read_bytes()))
    for words in (line for line in commands(INSTALL) if "my_trace.csv.gz" in line):
        done = destage(*words[1:])
        assert done.status == 0, (words, done)
    assert (tmp_path / "out.html").stat().st_size > 1000


def test_the_first_python_runs(msr: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("polars")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_trace.csv.gz").write_bytes(gzip.compress(msr.read_bytes()))
    (block,) = blocks(INSTALL, "python")
    names: dict[str, object] = {}
    exec(block, names)
    timed = names["timed"]
    assert isinstance(timed, ds.Results)
    assert timed[1].policy == "ecr"


def test_the_drive_file_of_the_docs_is_one(tmp_path: Path) -> None:
    (block,) = blocks(ROOT / "docs" / "reference" / "devices.md", "toml")
    (tmp_path / "my.toml").write_text(block)
    drive = ds.open_device(tmp_path / "my.toml")
    assert drive.cache == ("32MiB", "128MiB")
    assert drive.record["device"]["sched"] == "read_first"


def test_the_device_of_a_data_sheet_has_its_numbers(tmp_path: Path) -> None:
    (block,) = blocks(ROOT / "docs" / "choose-a-device.md", "toml")
    (tmp_path / "sheet.toml").write_text(block)
    sheet = ds.open_device(tmp_path / "sheet.toml")
    assert sheet.logical_bytes == pytest.approx(1e12, rel=1e-3)
    keys = sheet.record["device"]
    assert 1e6 / keys["link_ps_per_byte"] == pytest.approx(7000, rel=2e-3)
    assert 1e9 / keys["command_ns"] == 1_000_000


def test_the_readme_counts_policies_formats_and_collectors() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(ds.policies())} policies" in text
    assert f"{len(ds.formats())} formats" in text
    (victim,) = (key for key in ds.device_keys() if key.name == "gc_victim")
    collectors = len(victim.values.split(","))
    assert f"{('five', 'six', 'seven', 'eight')[collectors - 5]}\n  garbage collectors" in text


def test_the_readme_fits_one_screen() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 450


def test_user_pages_have_at_most_15_000_words() -> None:
    # As `wc -w` counts; tables of measurements belong in benches/record, of keys in docs/reference.
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in PAGES) <= 15_000


def test_the_docs_list_every_drive_key_and_ftl() -> None:
    keys = (ROOT / "docs" / "reference" / "device-keys.md").read_text(encoding="utf-8")
    for drive in ds.devices():
        assert f"| `{drive.name}` | {drive.about} |" in keys, drive.name
    for key in ds.device_keys():
        assert f"| `{key.name}` | {key.default} |" in keys, key.name
    ftls = (ROOT / "docs" / "reference" / "ftls.md").read_text(encoding="utf-8")
    for ftl in ds.ftls():
        assert f"| `{ftl.name}` |" in ftls, ftl.name
