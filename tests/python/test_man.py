"""Manual pages: one a command, with its flags and its examples, and nothing that troff rejects."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import click
import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def man() -> ModuleType:
    spec = importlib.util.spec_from_file_location("man", ROOT / ".ci" / "man.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(man: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("man")
    return {path.stem: path.read_text(encoding="utf-8") for path in man.write(folder)}


def plain(page: str) -> str:
    """The page as a reader has it: requests and escapes gone."""
    return page.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")


def test_each_command_has_a_page_with_its_flags(man: ModuleType, pages: dict[str, str]) -> None:
    commands = man.commands()
    assert set(pages) == {man.title(name) for name in commands}
    assert {"destage", "destage-trace-info", "destage-devices-fit"} <= set(pages)
    for name, command in commands.items():
        shown = plain(pages[man.title(name)])
        assert f".B {' '.join(filter(None, ('destage', name)))}\n" in shown
        for param in command.params:
            if isinstance(param, click.Option) and not param.hidden:
                assert max(param.opts, key=len) in shown, (name, param.opts)


def test_pages_that_are_pointed_to_exist(pages: dict[str, str]) -> None:
    for name, page in pages.items():
        named = re.findall(r"^\.BR (\S+) \(1\)", plain(page), re.MULTILINE)
        assert named, name
        assert set(named) <= set(pages), name


def test_examples_keep_their_lines(pages: dict[str, str]) -> None:
    shown = plain(pages["destage"]).partition(".SH EXAMPLES")[2].partition(".SH")[0]
    lines = [line.strip() for line in shown.splitlines()]
    assert "destage demo" in lines
    assert "destage compare hm_0.csv.gz -p lru,cflru,arc -c 1%,10%" in lines
    assert ".nf" in lines
    assert "Examples:" not in shown


def test_words_that_troff_would_take_for_its_own_are_kept(man: ModuleType) -> None:
    assert man.text(".TH\n'x'\na\\b --flag") == "\\&.TH\n\\&'x'\na\\eb \\-\\-flag"
    assert man.paragraphs("One\ntwo.\n\n\b\n  a\n  b\n") == ".PP\nOne two.\n.PP\n.nf\n  a\n  b\n.fi"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_troff_warns_of_nothing(pages: dict[str, str], tmp_path: Path) -> None:
    files = []
    for name, page in pages.items():
        path = tmp_path / f"{name}.1"
        path.write_text(page, encoding="utf-8")
        files.append(str(path))
    # Lines too long to be broken are no fault of a page.
    command = ["groff", "-K", "utf8", "-T", "utf8", "-man", "-ww", "-Wbreak", "-z", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
