"""What a person reads is in plain words: none of `docs/words.toml`."""

from __future__ import annotations

import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from conftest import ROOT

import destage as ds
from destage.cli.root import root

RULES = tomllib.loads((ROOT / "docs" / "words.toml").read_text(encoding="utf-8"))["words"]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "contribute").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
    *sorted((ROOT / "docs" / "site").glob("*.md")),
    *sorted((ROOT / "docs" / "spec").glob("*.md")),
    *sorted((ROOT / "benches").rglob("*.md")),
    *sorted((ROOT / "python" / "destage" / "papers").glob("*.toml")),
    *sorted((ROOT / "python" / "destage" / "data").glob("*.toml")),
]


def found(text: str) -> list[str]:
    """Each unwanted word in a text, with what to write."""
    joined = " ".join(text.split())
    return [
        f"...{joined[max(0, m.start() - 30) : m.end() + 30]}...: write {better!r}"
        for pattern, better in RULES.items()
        for m in re.finditer(pattern, joined, re.IGNORECASE)
    ]


def commands(group: click.Group, above: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        yield f"{above} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{above} {name}")


def catalogue() -> Iterator[tuple[str, str]]:
    """Texts of the catalogues."""
    for policy in ds.policies():
        yield f"policy {policy.name}", f"{policy.title} {policy.about}"
        for param in policy.params:
            yield f"policy {policy.name}, {param.name}", param.about
    for key in ds.device_keys():
        yield f"key {key.name}", key.about
    for metric in ds.metrics():
        yield f"metric {metric.name}", f"{metric.title} {metric.about}"
    for option in ds.reader_options():
        yield f"reader option {option.flag}", option.about


def test_the_rules_find_what_they_name() -> None:
    assert found("The writes that are\nowed, told apart anew.") != []
    assert len(found("owed anew")) == 2
    assert found("Flash writes include pending writes.") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_in_plain_words(page: Path) -> None:
    assert found(page.read_text(encoding="utf-8")) == []


def test_help_is_in_plain_words() -> None:
    wrong = []
    for name, command in [("destage", root), *commands(root, "destage")]:
        texts = [command.help or "", command.short_help or "", command.epilog or ""]
        texts += [getattr(param, "help", None) or "" for param in command.params]
        wrong += [f"{name}: {fault}" for text in texts for fault in found(text)]
    assert wrong == []


def test_the_catalogues_are_in_plain_words() -> None:
    wrong = [f"{name}: {fault}" for name, text in catalogue() for fault in found(text)]
    assert wrong == []


def texts_of(path: Path) -> Iterator[str]:
    """Comments, docstrings and messages of a source, without names in backticks."""
    with path.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            prose = token.type == tokenize.STRING and " " in token.string
            if prose or token.type == tokenize.COMMENT:
                yield re.sub(r"`[^`]*`", "", token.string)


def test_the_package_is_in_plain_words() -> None:
    sources = sorted((ROOT / "python" / "destage").rglob("*.py"))
    wrong = [f"{p.name}: {f}" for p in sources for text in texts_of(p) for f in found(text)]
    assert wrong == []


def rust_comments(path: Path) -> Iterator[str]:
    """Lines of comments of a Rust source, without names in backticks."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if comment := re.search(r"(?:^|\s)//[/!]?(?: (.*))?$", line):
            yield re.sub(r"`[^`]*`", "", comment[1] or "")


def test_rust_comments_are_in_plain_words() -> None:
    sources = sorted((ROOT / "crates").rglob("*.rs"))
    assert sources
    wrong = [f"{p.name}: {f}" for p in sources for text in rust_comments(p) for f in found(text)]
    assert wrong == []


def test_a_doc_comment_of_rust_says_what_its_item_is() -> None:
    """It stands alone in an editor's hover: a clause that begins with What hides a noun."""
    sources = sorted((ROOT / "crates").rglob("*.rs"))
    lines = ((p, line.strip()) for p in sources for line in p.read_text("utf-8").splitlines())
    assert [f"{p.name}: {line}" for p, line in lines if re.match(r"//[/!] What\b", line)] == []


def test_report_templates_are_in_plain_words() -> None:
    templates = sorted((ROOT / "python" / "destage").rglob("*.j2"))
    assert templates
    assert [f"{p.name}: {f}" for p in templates for f in found(p.read_text("utf-8"))] == []
