"""Where things are in the package, and which way imports point."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from conftest import ROOT

import destage as ds

PACKAGE = Path(ds.__file__).parent

#: Rooms from the ground up: a room imports itself and those below it. `show` stands below `lab`,
#: since it draws what `model` holds and knows neither traces nor devices.
ROOMS = ("_destage", "base", "model", "show", "lab", "experiment", "questions", "wings", "cli")

#: Beside each other on one level: `cli` alone imports them, and a wing imports no other.
WINGS = {"live", "fit", "reproduce", "doctor"}

#: Folders that hold no modules.
FILES = {"data", "papers", "templates", "__pycache__"}

#: Most folders and modules at the package's root.
MOST_FOLDERS, MOST_MODULES = 16, 5

#: Modules in the longest chain of imports: of those that loading a module loads, and of all.
LONGEST_LOADED, LONGEST_CHAIN = 20, 26

#: Most lines of a file and of a function, blank lines and docstrings counted.
MOST_LINES, MOST_OF_A_FUNCTION = 550, 60


def modules() -> dict[str, Path]:
    """Every file of the package by its dotted name below `destage`; the package itself is ''."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts == ("__main__",):
            continue  # `python -m destage`: a call of `cli`
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def room(module: str) -> str:
    """The room that a module is in."""
    first = module.partition(".")[0]
    return "wings" if first in WINGS else first


def loaded(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below this one that run when the module is loaded."""
    for child in ast.iter_child_nodes(node):
        for_types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if not for_types and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from loaded(child)


def imported(nodes: Iterable[ast.AST], path: Path) -> Iterator[str]:
    """What these nodes of a file import of the package."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            package = node.module or ""
            if package.partition(".")[0] != "destage":
                continue
            for alias in node.names:
                name = f"{package}.{alias.name}".removeprefix("destage.")
                is_module = name in MODULES or name == "_destage"
                yield name if is_module else package.removeprefix("destage").removeprefix(".")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "destage":
                    yield alias.name.removeprefix("destage").removeprefix(".")


TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}

#: What each module imports, also for types alone, also inside functions; and what loading it loads.
GRAPH, LOADED = (
    {name: set(imported(walk(TREES[name]), path)) - {name} for name, path in MODULES.items()}
    for walk in (ast.walk, loaded)
)


def test_the_root_holds_rooms_alone() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert folders - FILES == {*ROOMS, *WINGS} - {"_destage", "wings"}
    assert len(folders - {"__pycache__"}) <= MOST_FOLDERS
    modules = [path.name for path in PACKAGE.iterdir() if path.suffix in {".py", ".pyi"}]
    assert len(modules) <= MOST_MODULES, modules
    assert {name for name in modules if name.endswith(".py")} == {"__init__.py", "__main__.py"}


def test_no_import_runs_upward_or_between_wings() -> None:
    wrong = []
    for module in filter(None, MODULES):
        own, wing = ROOMS.index(room(module)), module.partition(".")[0]
        for other in filter(None, GRAPH[module]):
            upward = ROOMS.index(room(other)) > own
            across = room(other) == "wings" == room(module) and not other.startswith(wing)
            wrong += [f"{module} -> {other}"] if upward or across else []
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("graph", "most"), [(LOADED, LONGEST_LOADED), (GRAPH, LONGEST_CHAIN)])
def test_the_longest_chain_of_imports(graph: dict[str, set[str]], most: int) -> None:
    chains: dict[str, list[str]] = {}

    def of(module: str) -> list[str]:
        if module not in chains:
            below = (of(m) for m in graph.get(module, ()) if m in MODULES)
            chains[module] = [module, *max(below, key=len, default=[])]
        return chains[module]

    longest = max(map(of, MODULES), key=len)
    assert len(longest) <= most, " -> ".join(longest)


def test_imports_have_no_cycles() -> None:
    done: set[str] = set()

    def walk(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module not in done:
            for other in sorted(GRAPH.get(module, ())):
                walk(other, (*path, module))
            done.add(module)

    for module in MODULES:
        walk(module, ())


def test_maps_of_modules_name_modules_that_are_there() -> None:
    """The maps at the head of Rust modules, and those of the house."""
    maps = 0
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        text = path.read_text(encoding="utf-8")
        found = re.search(r"^//! ```text\n((?://!.*\n)+?)//! ```", text, re.MULTILINE)
        modules = set(re.findall(r"^\s*(?:pub(?:\([a-z]+\))? )?mod (\w+)[;{ ]", text, re.MULTILINE))
        if found is None or not modules:
            continue
        rows = re.findall(
            r"^//!  ?([a-z_0-9]+(?:, [a-z_0-9]+)*)(?:\s{2,}|$)", found[1], re.MULTILINE
        )
        named = {name for row in rows for name in row.split(", ")}
        if len(named & modules) > 1:
            maps += 1
            assert named <= modules, f"{path}: {sorted(named - modules)}"
    assert maps > 20


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_map_of_the_house_has_every_crate_and_room(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    crates = {
        path.parent.name.removeprefix("destage-") for path in ROOT.glob("crates/*/Cargo.toml")
    }
    for name in {*crates, *ROOMS, *WINGS} - {"_destage", "wings"}:
        assert re.search(rf"\b{name}\b", text), f"{page} lacks {name}"
    for path in re.findall(r"\b(?:crates|python|docs|tests)/[\w/.-]*\w", text):
        assert (ROOT / path).exists() or "FORMAT" in path, f"{page}: {path}"


def test_no_file_is_long() -> None:
    lines = {str(p.relative_to(PACKAGE)): len(p.read_text().splitlines()) for p in MODULES.values()}
    assert not {name: count for name, count in lines.items() if count > MOST_LINES}


def test_no_function_is_long() -> None:
    """Neither in the package nor in what is written around it."""
    around = [p for f in ("benches", "examples", "tests/python") for p in (ROOT / f).rglob("*.py")]
    assert len(around) > 20
    long = []
    for path in [*MODULES.values(), *around]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                count = (node.end_lineno or node.lineno) - node.lineno + 1
                if count > MOST_OF_A_FUNCTION:
                    long.append(f"{path}:{node.lineno} {node.name}: {count}")
    assert not long, "\n".join(long)
