"""Whoever follows a reference, in code, help or on a page, finds the page and its section."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

import destage as ds

SPEC = ROOT / "docs" / "spec"
FOLDERS = ("benches", "crates", "docs", "examples", "fuzz", "python", "tests")
SUFFIXES = {".j2", ".js", ".md", ".py", ".pyi", ".rs", ".toml"}
#: Made by the tools, not written.
MADE = {"target", "__pycache__", ".hypothesis", "_build"}
#: What commands write, not what is here: by the folder or file of the one who says so.
OUTPUTS = {
    "python/destage/reproduce": {"NAME.md", "beyond.md", "papers.md", "all.md", "beyond/all.md"},
    "python/destage/templates": {"beyond.md", "beyond/all.md", "../beyond.md", "destage.md"},
    "docs/reproduce.md": {"NAME.md"},
    "python/destage/cli": {"NAME.md"},
    "tests/python": {"tiny.md", "claims.md", "figures.md", "setup.md", "sensitivity.md", "o.md"},
    "docs/site": {
        f"{kind}/index.md"
        for kind in ("api", "drives", "formats", "layers", "notebooks", "policies")
    }
    | {"api/rust.md", "rust.md", "papers/beyond/all.md", "/papers/beyond/all.md"},
}
#: Pages of other projects, and pages that had another name.
ELSEWHERE = {
    "CHANGELOG.md": {"docs/results.md", "docs/paper-files.md"},
    "docs/reference/tiers.md": {"lib/bindings/kvbm/README.md"},
    "python/destage/model/deployed.py": {"lib/bindings/kvbm/README.md"},
}
#: Specified, and built later; each may be absent until then.
PENDING = {"device-today.jsonl", "tiers.jsonl", "kv.jsonl"}


def texts() -> list[Path]:
    """Every file of the repository that people read."""
    found = [ROOT / n for n in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile")]
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and not MADE & set(path.relative_to(ROOT).parts):
                found.append(path)
    return found


def prose(path: Path) -> str:
    """The text without the line ends, marks and quotes that break a sentence in code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        return re.sub(r"\\?\n\s*(//[/!]?)?\s*", " ", text)
    if path.suffix == ".py":
        return re.sub(r"\"?\n\s*(#:?|f?\")?\s*", " ", text)
    return re.sub(r"\s*\n\s*", " ", text)


@cache
def sections(page: Path) -> frozenset[str]:
    """The numbers of a page's headings, and of its paragraphs where these begin `9.2. `."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (\d+(?:\.\d+)*)\.? ", text, re.MULTILINE)
    return frozenset(headings + re.findall(r"^(\d+(?:\.\d+)+)\.\s", text, re.MULTILINE))


@cache
def anchors(page: Path) -> frozenset[str]:
    """What a link can name behind `#`, as hosts of repositories make it from headings."""
    text = page.read_text(encoding="utf-8")
    slugs = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        slugs.add(kept.replace(" ", "-"))
    return frozenset(slugs)


def resolved(name: str, at: Path) -> Path | None:
    """The file that is meant by a name in the text of `at`."""
    beside = (at.parent / name).resolve()
    if beside.is_file() and beside.is_relative_to(ROOT):
        return beside
    # Paths that code puts together: `concat!(.., "/../../docs/x.md")`, `ROOT / "docs" / "x.md"`.
    folders = [ROOT, ROOT / "docs", ROOT / "docs" / "contribute", ROOT / "docs" / "reference"]
    folders.append(ROOT / "benches" / "record")
    paths = [folder / re.sub(r"^(\.?\./|/)+", "", name) for folder in folders]
    return next((path for path in paths if path.is_file()), None)


def is_output(name: str, at: Path) -> bool:
    """Whether the name is one of a file that a command writes, or not one of this repository."""
    where = at.relative_to(ROOT).as_posix()
    known = [*OUTPUTS.items(), *ELSEWHERE.items()]
    return any(where.startswith(folder) and name in names for folder, names in known)


NAME = r"(?<![\w./-])[\w./-]*[\w-]\.md\b"
#: `4.2 to 4.6`, `5, 6`, `4, page vectors`: the numbers, up to other words.
NUMBERS = r"(\d+(?:\.\d+)*(?:(?:, | and | to |, and )\d+(?:\.\d+)*)*)(?![\w.]*\w)"


def cited(text: str) -> Iterator[tuple[str, str]]:
    """Pages that a text cites with the number of a section."""
    behind = rf"({NAME})(?:`|\]\({NAME}\))*,?(?:,? \(?(?:its )?sections?)? {NUMBERS}"
    before = rf"[Ss]ections? {NUMBERS} of \[?`?({NAME})"
    for match in re.finditer(behind, text):
        for number in re.findall(r"\d+(?:\.\d+)*", match[2]):
            yield match[1], number
    for match in re.finditer(before, text):
        for number in re.findall(r"\d+(?:\.\d+)*", match[1]):
            yield match[2], number


def test_a_page_is_cited_in_more_than_one_way() -> None:
    text = (
        "`a/x.md` 4.2 to 4.6, x.md, sections 5 and 6; greedy. y.md 8) [`z.md`](s/z.md), 5 | "
        "section 3.1 of `w.md`, `v.md` (its section 1.4). `u.md` 4 (pages); t.md has 3 rules"
    )
    assert sorted(cited(text)) == [
        ("a/x.md", "4.2"),
        ("a/x.md", "4.6"),
        ("u.md", "4"),
        ("v.md", "1.4"),
        ("w.md", "3.1"),
        ("x.md", "5"),
        ("x.md", "6"),
        ("y.md", "8"),
        ("z.md", "5"),
    ]


def test_every_page_that_is_named_is_here() -> None:
    lost = []
    names = 0
    for path in texts():
        for name in re.findall(NAME, path.read_text(encoding="utf-8")):
            names += 1
            if path != Path(__file__) and not is_output(name, path) and not resolved(name, path):
                lost.append(f"{path.relative_to(ROOT)}: {name}")
    assert names > 200
    assert not lost, "\n".join(lost)


def test_every_section_that_is_cited_is_on_the_page() -> None:
    lost = []
    seen = 0
    for path in texts():
        if path == Path(__file__):
            continue
        for name, number in cited(prose(path)):
            page = resolved(name, path)
            if page is None or page.parent != SPEC:
                continue
            seen += 1
            if number not in sections(page):
                lost.append(f"{path.relative_to(ROOT)}: {name} has no section {number}")
    assert seen > 150
    assert not lost, "\n".join(lost)


def test_sections_of_the_device_that_current_ssds_cite_are_there() -> None:
    text = (SPEC / "device-today.md").read_text(encoding="utf-8")
    numbers = set(re.findall(r"\bD (\d+(?:\.\d+)?)", text))
    assert len(numbers) > 5
    assert numbers <= sections(SPEC / "device.md")


@pytest.mark.parametrize(
    "page",
    [p for p in texts() if p.suffix == ".md"],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), target
        assert there.is_relative_to(ROOT), f"{target} leads out of the repository"
        if anchor:
            assert anchor in anchors(there), target


def test_what_the_catalogues_cite_is_there() -> None:
    named = 0
    for ftl in ds.ftls():
        for name in re.findall(NAME, ftl.source):
            named += 1
            assert (ROOT / name).is_file(), f"{ftl.name}: {name}"
    assert named >= 2


def test_every_vector_file_that_is_named_is_here_or_to_come() -> None:
    for path in texts():
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"tests/vectors/([\w-]+\.jsonl)", text):
            assert name in PENDING or (ROOT / "tests" / "vectors" / name).is_file(), (path, name)


def test_nothing_points_out_of_the_repository() -> None:
    outside = re.compile(r"(?<![\w/])\.\./(traces/|shared/spec|papers/)|INDEX\.md|\bpeers\.md")
    for path in texts():
        if path != Path(__file__):
            found = outside.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path.relative_to(ROOT)}: {found[0] if found else ''}"


def test_the_specification_says_where_the_product_differs() -> None:
    """The note on AALRU's latency stands as long as it is true, and no longer."""
    (default,) = (p.default for p in ds.policy("aalru").params if p.name == "latency")
    text = (SPEC / "block-policies.md").read_text(encoding="utf-8")
    row = re.search(r"^\| `latency` \| D_r, D_w \| `(\w+)` \|", text, re.MULTILINE)
    assert row is not None
    noted = "- AALRU's `latency`" in (SPEC / "README.md").read_text(encoding="utf-8")
    assert noted == (default != row[1])
