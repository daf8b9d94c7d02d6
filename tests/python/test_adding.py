"""The pages on adding a thing name every file that one touches, and no file knows of it besides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

import destage as ds
from destage.cli.compare import compare
from destage.lab.options import RunOptions, run_options


@dataclass(frozen=True)
class Kind:
    """A kind of thing, its page, and small ones that are there."""

    page: str
    #: How the page writes the name of the thing in a path.
    word: str
    examples: tuple[str, ...]


KINDS = (
    Kind("port-a-policy.md", "NAME", ("sieve", "lru_wsr", "ccf_lru", "two_q", "ad_lru")),
    Kind("add-a-format.md", "NAME", ("alibaba", "diskmon", "systor17")),
    Kind("add-an-ftl.md", "yours", ("page_ideal", "bast", "dftl")),
    Kind("add-a-collector.md", "yours", ("windowed_greedy", "cost_benefit", "d_choices")),
    Kind("add-a-placement.md", "yours", ("sepbit",)),
    Kind("add-an-admission-filter.md", "yours", ("tiny_lfu",)),
)
CASES = [(kind, name) for kind in KINDS for name in kind.examples]

#: In the Rust crates a thing is known by its module, its type, or its name in quotes. Python is
#: held to more: what the command and the reports know of a policy, they have from the catalogue.
SOURCES = sorted(
    path
    for path in (ROOT / "crates").glob("*/src/**/*.rs")
    if not {"tests", "tests.rs", "testing.rs"} & set(path.relative_to(ROOT).parts)
)
#: Reference models of FTLs may share a file, as the page says of none in particular.
SHARED_MODELS = {
    "crates/destage-reference/src/ftl/log_blocks.rs",
    "crates/destage-reference/src/ftl/page_map.rs",
}
#: Where single policies have a shorter way, which none needs: many sizes in one pass.
SHORTER = {
    "crates/destage-replay/src/shared/clock_multi_size.rs",
    "crates/destage-replay/src/shared/mod.rs",
}

#: Where policies are wrapped by name, which none needs.
WRAPPING = {
    "crates/destage-policies/src/ecr_over/chip.rs",
    "crates/destage-reference/src/ssd/ecr_over.rs",
}


def page_of(kind: Kind) -> str:
    return (ROOT / "docs" / "contribute" / kind.page).read_text(encoding="utf-8")


def named(kind: Kind) -> set[str]:
    """Paths that the page names, from the root of the repository."""
    return set(re.findall(r"`((?:crates|tests|docs|python)/[\w./-]+|README\.md)`", page_of(kind)))


def table(kind: Kind) -> set[str]:
    """Paths in the first column of the table of files."""
    (rows,) = re.findall(r"^\| file \| .*\n\|[ -]+\|.*\n((?:\|.*\n)+)", page_of(kind), re.MULTILINE)
    cells = [row.split("|")[1] for row in rows.splitlines()]
    return {path for cell in cells for path in re.findall(r"`([^`]+)`", cell)}


@cache
def code(path: Path) -> str:
    """A source without comments and unit tests."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"//.*", "", re.split(r"#\[cfg\(test\)\]\s*mod tests \{", text)[0])


def knowing(name: str) -> set[str]:
    """Sources that know a thing by its module, its type or its name."""
    spelled = {"two_q": "2q"}.get(name, name.replace("_", "-"))
    camel = "".join(word.capitalize() for word in name.split("_"))
    known = re.compile(rf"\b{name}\b(?!\()|\b{camel}\b|\"{spelled}\"")
    return {p.relative_to(ROOT).as_posix() for p in SOURCES if known.search(code(p))}


@pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda case: getattr(case, "page", case))
def test_a_thing_is_known_in_the_files_of_its_page_only(kind: Kind, name: str) -> None:
    pages = {path.replace(kind.word, name) for path in named(kind)}
    found = knowing(name)
    assert any(path.endswith(f"/{name}.rs") for path in found)
    assert found <= pages | SHARED_MODELS | SHORTER | WRAPPING, found - pages


@pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda case: getattr(case, "page", case))
def test_every_file_of_the_table_is_there_and_knows_the_thing(kind: Kind, name: str) -> None:
    paths = table(kind)
    assert len(paths) >= 5
    for path in paths:
        there = ROOT / path.replace(kind.word, name).replace(".ENDING", "")
        if "ENDING" in path:
            assert list(there.parent.glob(f"{there.name.replace('_', '-')}.*")), path
        elif kind.page == "add-an-ftl.md" and "destage-reference" in path and not there.exists():
            shared = [ROOT / p for p in SHARED_MODELS]
            assert any(re.search(name.replace("_", ""), code(p), re.I) for p in shared), path
        else:
            assert there.is_file(), path
    for path in paths & {p.relative_to(ROOT).as_posix() for p in SOURCES}:
        if kind.word not in path:
            assert path in knowing(name), f"{path} does not know {name}"


PAGES = sorted((ROOT / "docs" / "contribute").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_path_of_the_page_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = re.findall(r"`((?:crates|tests|docs|python)/[\w./-]+)`", text)
    assert len(paths) >= 4
    for path in paths:
        if not {"NAME", "yours"} & set(re.split(r"\W", path)):
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize(("module", "store"), [("memory", "MemoryStore"), ("uring", "UringStore")])
def test_a_store_is_known_to_its_file_and_the_list_alone(module: str, store: str) -> None:
    sources = (ROOT / "crates" / "destage-pool" / "src").glob("*.rs")
    found = {path.name for path in sources if re.search(rf"\b{store}\b", code(path))}
    assert found == {f"{module}.rs", "lib.rs"}


def test_the_row_of_a_metric_is_enough_for_a_column_and_a_chart() -> None:
    """Python has no list of metrics beside the engine's: what a row says follows."""
    pytest.importorskip("altair")
    trace = ds.synth("zipf", requests=3_000, pages=300, read_ratio=0.5, seed=1)
    results = ds.compare(trace, "lru,cflru", cache="5%,10%", device="small")
    row = results[0].to_dict()
    declared = [metric.name for metric in ds.metrics()]
    assert len(declared) > 60
    assert set(declared) <= row.keys()
    known = {metric.name for metric in results.result_sets[0].metrics()}
    charted = [m.name for m in ds.metrics() if m.charted and m.name in known]
    assert len(charted) > 10
    for name in charted:
        chart = results.plot.over_size(name).to_dict()
        assert name in str(chart["layer"]), name


def test_the_row_of_an_option_is_enough_for_a_flag() -> None:
    flags = {flag for parameter in compare.params for flag in parameter.opts}
    of_compare = [o for o in run_options() if o.flag and "compare" in o.commands]
    assert len(of_compare) > 12
    for option in run_options():
        assert option.name in RunOptions.__annotations__, option.name
    for option in of_compare:
        assert option.flag in flags, option.name


def test_python_names_no_policy_that_the_catalogue_tells_it_of() -> None:
    """What is run on its own account chooses policies; nothing else of Python knows these."""
    names = [p.name for p in ds.policies() if re.match(r"bpac|aalru|ecr|acr|gcar|cf", p.name)]
    assert len(names) > 8
    quoted = re.compile("|".join(f"[\"']{re.escape(name)}[\"']" for name in names))
    for path in sorted((ROOT / "python" / "destage").rglob("*.py")):
        if "reproduce" in path.parts or path.name in ("demonstration.py", "proof.py", "theme.py"):
            continue
        text = re.sub(r'"{3}.*?"{3}', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not quoted.search(text), path
