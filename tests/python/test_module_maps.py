"""A map of modules at the head of a Rust file has every module, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import ROOT

#: Modules that no map needs.
TESTS = {"tests", "testing", "naive"}
#: Words of a map that look like modules and are none, by file.
WORDS = {
    "crates/destage-pool/src/lib.rs": {"flushes", "syncs"},
    "crates/destage-replay/src/tiers.rs": {"offers", "promotion"},
    "crates/destage-ssd/src/lib.rs": {"channels", "planes", "striping", "units"},
}


def maps(path: Path) -> tuple[set[str], list[str]]:
    """The modules that a file declares, and its maps: blocks that begin lines with two of them."""
    text = path.read_text(encoding="utf-8")
    modules = set(re.findall(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+);", text, re.MULTILINE))
    head = re.match(r"(?://!.*\n)*", text)
    assert head is not None
    blocks = re.findall(r"```text\n(.*?)```", head[0], re.DOTALL)
    return modules, [block for block in blocks if len(set(names(block)) & modules) > 1]


def names(block: str) -> list[str]:
    """Words that stand where a module's name does: at the beginning of a column."""
    found = []
    for line in block.splitlines():
        for words in re.findall(
            r"(?:^//! ?|  )((?:[a-z][a-z0-9_]+, )*[a-z][a-z0-9_]+)(?=  )", line
        ):
            found += words.split(", ")
    return found


def test_maps_name_every_module_and_no_other() -> None:
    checked = 0
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        modules, blocks = maps(path)
        if not blocks:
            continue
        checked += 1
        text = "\n".join(blocks)
        said = path.relative_to(ROOT).as_posix()
        words = set(re.findall(r"\b[a-z][a-z0-9_]*\b", text))
        assert not modules - words - TESTS, (
            f"{said} does not name {sorted(modules - words - TESTS)}"
        )
        unknown = set(names(text)) - modules - WORDS.get(said, set())
        assert not unknown, f"{said} names {sorted(unknown)}, which it does not have"
    assert checked > 10
