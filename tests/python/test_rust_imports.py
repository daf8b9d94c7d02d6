"""Imports between the files of a Rust crate have no rings, as those of the Python package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

#: The crates of the product and of its fuzz targets. The reference model is read by tests alone;
#: its simulated SSD is one machine in several files that know each other.
CRATES = [
    path.parent
    for path in sorted(ROOT.glob("crates/*/src"))
    if path.parent.name != "destage-reference"
]

#: A `use`, or a path in code that begins at the crate or above.
USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
PATH = re.compile(r"\b((?:crate|(?:super::)*super)(?:::\w+)+)")
MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.MULTILINE)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub\s+)?mod\s+\w+\s*\{")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)

#: A module of a crate, by its path: `()` is the crate itself.
Module = tuple[str, ...]


def flat(tree: str) -> Iterator[tuple[str, ...]]:
    """Every path of a `use` tree; `self` and `*` stay at its end, a new name is left out."""
    tree = re.sub(r"\s+as\s+\w+", "", tree.strip())
    head, brace, rest = tree.partition("{")
    prefix = tuple(part.strip() for part in head.split("::") if part.strip())
    if not brace:
        yield prefix
        return
    depth, begun, inside = 0, 0, rest[: rest.rindex("}")]
    for at, sign in enumerate(inside + ","):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            if inside[begun:at].strip():
                yield from ((*prefix, *path) for path in flat(inside[begun:at]))
            begun = at + 1


class Crate:
    """The modules of a crate and what they import of each other; tests are no part of it."""

    def __init__(self, folder: Path) -> None:
        """Read all files that a `mod` leads to."""
        self.text: dict[Module, str] = {}
        self.passed_on: dict[Module, dict[str, tuple[Module, str]]] = {}
        source = folder / "src"
        self._read((), source / "lib.rs" if (source / "lib.rs").exists() else source / "main.rs")
        self.uses = {module: self._uses(text) for module, text in self.text.items()}
        for module, uses in self.uses.items():
            self.passed_on[module] = {
                path[-1]: (self._absolute(module, path), path[-1])
                for public, path in uses
                if public and len(path) > 1 and path[-1] not in {"*", "self"}
            }

    def _read(self, module: Module, path: Path) -> None:
        whole = COMMENT.sub(" ", path.read_text(encoding="utf-8"))
        text = TESTS.split(whole)[0]
        self.text[module] = text
        inner = (
            path.parent if path.name in {"lib.rs", "main.rs", "mod.rs"} else path.with_suffix("")
        )
        for found in MODULE.finditer(text):
            before = text[: found.start()].rstrip().rpartition("\n")[2]
            if "cfg(test)" in before:
                continue
            for file in (inner / f"{found[1]}.rs", inner / found[1] / "mod.rs"):
                if file.exists():
                    self._read((*module, found[1]), file)

    @staticmethod
    def _uses(text: str) -> list[tuple[bool, tuple[str, ...]]]:
        found = [(bool(use[1]), path) for use in USE.finditer(text) for path in flat(use[2])]
        rest = USE.sub("", text)
        return found + [(False, tuple(path[1].split("::"))) for path in PATH.finditer(rest)]

    def _absolute(self, module: Module, path: tuple[str, ...]) -> Module:
        """The path from the crate on; `("?",)` if it leads out of the crate."""
        if path[0] == "crate":
            return path[1:]
        while path and path[0] in {"super", "self"}:
            module = module[:-1] if path[0] == "super" else module
            path = path[1:]
            if not path:
                return module
            if path[0] not in {"super", "self"}:
                return (*module, *path)
        return (*module, *path) if (*module, path[0]) in self.text else ("?",)

    def home(self, path: Module) -> Module | None:
        """The module that a path is about, behind all that passes a name on."""
        for _ in range(20):
            deepest = next(path[:k] for k in range(len(path), -1, -1) if path[:k] in self.text)
            rest = path[len(deepest) :]
            if not rest or rest[0] not in self.passed_on.get(deepest, {}):
                return deepest if path != ("?",) else None
            path = (*self.passed_on[deepest][rest[0]][0], *rest[1:])
            if path[:1] == ("?",):
                return None
        raise AssertionError(f"{'::'.join(path)} is passed on in a ring")

    def graph(self) -> dict[Module, set[Module]]:
        """Which modules each imports; a module and those around it count as one place."""
        graph: dict[Module, set[Module]] = {}
        for module, uses in self.uses.items():
            homes = {self.home(self._absolute(module, path)) for public, path in uses if not public}
            graph[module] = {
                home for home in homes if home is not None and module[: len(home)] != home
            }
        return graph


def ring(graph: dict[Module, set[Module]]) -> list[str]:
    """The first ring that is found, module by module."""
    done: set[Module] = set()

    def walk(module: Module, path: tuple[Module, ...]) -> list[str]:
        if module in path:
            return ["::".join(part) for part in (*path[path.index(module) :], module)]
        if module not in done:
            for other in sorted(graph.get(module, ())):
                if found := walk(other, (*path, module)):
                    return found
            done.add(module)
        return []

    return next((found for module in sorted(graph) if (found := walk(module, ()))), [])


#: Rings of two files that hold one thing, to be cut: a type, and the functions over it.
KNOWN = [
    ["stream::doubts", "stream::summary", "stream::doubts"],
]


@pytest.mark.parametrize("folder", CRATES, ids=lambda folder: folder.name)
def test_imports_of_a_crate_have_no_rings(folder: Path) -> None:
    crate = Crate(folder)
    graph = crate.graph()
    assert len(graph) == 1 or any(graph.values()), "imports are found"
    assert not ring(graph) or ring(graph) in KNOWN


def test_a_ring_is_found_through_names_that_are_passed_on(tmp_path: Path) -> None:
    (tmp_path / "src" / "room").mkdir(parents=True)
    files = {
        "lib.rs": "mod floor;\nmod room;\npub use room::Chair;\n",
        "floor.rs": "use crate::{Chair as Seat};\npub struct Board;\n",
        "room/mod.rs": "mod table;\npub mod chair;\npub use chair::Chair;\n",
        "room/chair.rs": "use super::table::Leg;\npub struct Chair(Leg);\n",
        "room/table.rs": "pub struct Leg;\n#[cfg(test)]\nmod tests {\nuse crate::floor::A;\n}\n",
    }
    for name, text in files.items():
        (tmp_path / "src" / name).write_text(text)
    assert not ring(Crate(tmp_path).graph())
    (tmp_path / "src/room/table.rs").write_text("pub struct Leg(crate::floor::Board);\n")
    assert ring(Crate(tmp_path).graph()) == ["floor", "room::chair", "room::table", "floor"]
