"""The output that README, tutorial and start pages print is what their commands print.

A block marked `console` holds commands (`$ destage ...`, also with `| head -N` or
`| grep -A12 '^Settings of'`) and their output.
`DESTAGE_WRITE_DOCS=1` writes the present output into the pages.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, Destage
from test_advise_kv import write_prompts

from destage.questions.demonstration import TRACE

PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("cookbook", "tutorial", "read-a-result", "asking")),
    ROOT / "docs" / "kv-on-flash.md",
    *sorted((ROOT / "docs").glob("start-*.md")),
    *(ROOT / "docs" / "reference" / f"{name}.md" for name in ("advise", "experts", "tiers")),
]
#: Read before the tests leave the environment of the caller.
WRITE = "DESTAGE_WRITE_DOCS" in os.environ
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = re.compile(r"(.*?) \| head -(\d+)$", re.DOTALL)
GREP = re.compile(r"(.*?) \| grep -A(\d+) '([^']+)'$", re.DOTALL)


def steps(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with the output that the page prints."""
    found: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        match = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n", part)
        assert match, part
        found.append((match[1], part[match.end() :]))
    return found


def printed(destage: Destage, command: str) -> str:
    """Output of a command, `| head -N` and `| grep -AN` included."""
    cut, found = HEAD.match(command), GREP.match(command)
    line = cut[1] if cut else found[1] if found else command
    words = shlex.split(line.replace("\\\n", " "), comments=True)
    assert words[0] == "destage", command
    done = destage(*words[1:])
    assert done.status == 0, (command, done)
    lines = [line.rstrip() for line in done.out.splitlines()]
    if found:
        (first,) = (k for k, line in enumerate(lines) if re.search(found[3], line))
        lines = lines[first : first + int(found[2]) + 1]
    return "".join(f"{line}\n" for line in (lines[: int(cut[2])] if cut else lines))


def test_commands_and_output_are_told_apart() -> None:
    block = "$ destage a \\\n  b\nout\n\n$ destage c | head -3\n$ destage d\n$5\n"
    assert steps(block) == [
        ("destage a \\\n  b", "out\n\n"),
        ("destage c | head -3", ""),
        ("destage d", "$5\n"),
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_prints_what_its_commands_print(
    page: Path, destage: Destage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    pytest.importorskip("altair")
    shutil.copyfile(ROOT / "python" / "destage" / "data" / TRACE, tmp_path / "oltp.csv.xz")
    if page.stem == "experts":
        routing = runpy.run_path(str(ROOT / "examples" / "routing_trace.py"))
        routing["write"](tmp_path / "routing.jsonl")
    if page.stem == "kv-on-flash":
        write_prompts(tmp_path / "prompts.jsonl", 1_500, 1_000, 1)
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.findall(text):
        shown = [(command, printed(destage, command)) for command, _ in steps(block)]
        present = "".join(f"$ {command}\n{output}" for command, output in shown)
        if WRITE:
            page.write_text(page.read_text(encoding="utf-8").replace(block, present), "utf-8")
        else:
            assert block == present, f"{page.name}: DESTAGE_WRITE_DOCS=1 writes the present one"
