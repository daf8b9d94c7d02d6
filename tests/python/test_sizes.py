"""What a reader of the Rust half takes in at once: lines, functions and files of a bounded size.

`rustfmt` holds code to its width, but neither comments nor an item in which a string is too long;
nothing else holds functions and files. The same of the package is in `test_architecture.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT

#: Most columns of a line, lines of a function and lines of a file.
COLUMNS, OF_A_FUNCTION, OF_A_FILE = 100, 70, 550

#: Longer than that, and to be cut: the map cache's queue and its model.
LONG_FUNCTIONS = {
    ("crates/destage-engine/src/run/record.rs", "record"),
    ("crates/destage-reference/src/ssd/flash.rs", "program"),
    ("crates/destage-ssd/tests/it/map_cache.rs", "vector"),
}
LONG_FILES = {
    "crates/destage-reference/src/ssd/flash.rs",
    "crates/destage-reference/src/ssd/host.rs",
    "crates/destage-trace/src/formats/mooncake.rs",
    "crates/destage-trace/src/stream/doubts.rs",
    "crates/destage-trace/tests/it/malformed.rs",
    "crates/destage-trace/tests/it/text_formats.rs",
}

FUNCTION = re.compile(
    r'( *)(?:pub(?:\([^)]*\))? )?(?:(?:default|const|async|unsafe|extern "C") )*fn (\w+)'
)
#: Markdown has no way to break a row of a table.
ROW_OF_A_TABLE = re.compile(r" *//[/!] \|")
#: A line of JSON is a line in the output too, and reads as it is written.
RAW_STRING_ALONE = re.compile(r' *r#+".*"#+,?$')


def sources() -> list[Path]:
    return sorted(
        path
        for folder in ("crates", "fuzz")
        for path in (ROOT / folder).rglob("*.rs")
        if "target" not in path.parts
    )


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def long_lines(text: str) -> Iterator[tuple[int, int]]:
    """Number and columns of lines that are too long and could be broken."""
    table = None  # how an item that is laid out by hand ends
    for number, line in enumerate(text.splitlines(), 1):
        indent = line[: len(line) - len(line.lstrip())]
        if line.lstrip().startswith("#[rustfmt::skip]"):
            table = indent
        elif table is not None and line.startswith((f"{table}]", f"{table}}}", f"{table})")):
            table = None
        breakable = not (ROW_OF_A_TABLE.match(line) or RAW_STRING_ALONE.match(line))
        if len(line) > COLUMNS and table is None and breakable:
            yield number, len(line)


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, line and length of each function with a body, in text as `rustfmt` lays it out."""
    lines = text.splitlines()
    for first, line in enumerate(lines):
        found = FUNCTION.match(line)
        if not found:
            continue
        indent, function = found.groups()
        for last in range(first, len(lines)):
            rest = lines[last].removeprefix(indent)
            at_its_level = lines[last].startswith(indent) and rest[:1] not in ("", " ", "}")
            if lines[last] == f"{indent}}}" or (last == first and lines[last].endswith("}")):
                yield function, first + 1, last - first + 1
                break
            if at_its_level and lines[last].endswith(";"):
                break  # a declaration
        else:
            raise AssertionError(f"{function} in line {first + 1} does not end")


def test_the_measures_see_what_is_too_long() -> None:
    wide, row = "// " + "x" * 98, "//! | " + "x" * 98 + " |"
    table = f"#[rustfmt::skip] // a table\nconst A: &[u8] = &[\n{wide}\n];\n"
    assert list(long_lines(f"fn a() {{}}\n{wide}\n{row}\n{table}{wide}")) == [(2, 101), (8, 101)]
    body = "        a();\n" * 3
    text = (
        "trait T {\n    fn declared(\n        a: u8,\n    ) -> u8;\n"
        f"    pub(crate) const fn long(\n        a: u8,\n    ) {{\n{body}    }}\n}}\n"
        "fn one() {}\n"
    )
    assert list(functions(text)) == [("long", 5, 7), ("one", 13, 1)]


def test_no_line_is_long() -> None:
    long = [
        f"{name(path)}:{number}: {columns} columns"
        for path in sources()
        for number, columns in long_lines(path.read_text(encoding="utf-8"))
    ]
    assert not long, "\n".join(long)


def test_no_function_is_long() -> None:
    found = [
        (name(path), *function)
        for path in sources()
        for function in functions(path.read_text(encoding="utf-8"))
    ]
    assert len(found) > 1000
    long = [
        f"{path}:{line} {function}: {count} lines"
        for path, function, line, count in found
        if count > OF_A_FUNCTION and (path, function) not in LONG_FUNCTIONS
    ]
    assert not long, "\n".join(long)


def test_no_file_is_long() -> None:
    lengths = {name(p): len(p.read_text(encoding="utf-8").splitlines()) for p in sources()}
    long = {path for path, count in lengths.items() if count > OF_A_FILE}
    assert long == LONG_FILES
