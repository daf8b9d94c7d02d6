"""The paper about Destage: every number stands in a record that its paragraph links to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT

PAPER = ROOT / "paper/paper.md"
_, FRONT, BODY = PAPER.read_text(encoding="utf-8").split("---\n", 2)
BIB = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
#: Numbers as digits, and those that papers write out; names of policies and systems are none.
NUMBER = re.compile(r"(?<![\w@.-])\d[\d,]*(?:\.\d+)?(?![\w-])")
NAMES = re.compile(r"S3-FIFO|\[@[^\]]*\]|\]\([^)]*\)")


def paragraphs() -> list[str]:
    return [part for part in re.split(r"\n\s*\n", BODY) if part and not part.startswith("#")]


def linked(paragraph: str) -> list[Path]:
    names = re.findall(r"\]\(([^)]+)\)", paragraph)
    return [(PAPER.parent / name).resolve() for name in names]


@pytest.mark.parametrize("paragraph", paragraphs(), ids=lambda p: p[:30])
def test_a_paragraph_s_numbers_are_in_the_records_that_it_links_to(paragraph: str) -> None:
    records = linked(paragraph)
    assert all(path.is_file() and path.is_relative_to(ROOT) for path in records)
    text = "\n".join(path.read_text(encoding="utf-8") for path in records)
    known = set(NUMBER.findall(text)) | set(re.findall(r"(?<![\d.])\d+(?:\.\d+)?", text))
    own = NUMBER.findall(NAMES.sub("", paragraph))
    assert [number for number in own if number not in known] == []
    if own:
        assert records, "numbers without a record"


def test_there_are_numbers_to_be_checked() -> None:
    assert sum(len(NUMBER.findall(NAMES.sub("", p))) for p in paragraphs()) > 20


def test_whole_claims_are_those_of_the_records() -> None:
    """What a number alone does not settle: whose it is, and of how many."""
    asking = " ".join((ROOT / "docs" / "asking.md").read_text(encoding="utf-8").split())
    assert "than MIN, which uses future accesses, in 34 of 75 configurations" in asking
    assert "slower than LRU in 15 of 25" in asking
    validity = (ROOT / "docs" / "validity.md").read_text(encoding="utf-8")
    assert "load 0.3 to 0.9 | 0.1 %" in validity
    assert re.search(r"Desnoyers, SYSTOR 2012 \|.*\| 0\.4 % \|", validity)
    assert re.search(r"SSD-iq's simulator \| WAF of five collectors.*\| 4 % \|", validity)
    speed = (ROOT / "benches/record/x86_64-2-cores-2026-12-01.md").read_text(encoding="utf-8")
    assert "zipf 13.6x, arc_P6 27.0x" in speed


def test_it_cites_what_is_in_its_bibliography_and_the_other_way_round() -> None:
    cited = {
        key.strip(" @") for group in re.findall(r"\[(@[^\]]*)\]", BODY) for key in group.split(";")
    }
    assert cited == set(re.findall(r"^@\w+\{(\w+),$", BIB, re.MULTILINE))


def test_digital_object_identifiers_are_those_of_the_citation_file() -> None:
    dois = re.findall(r"doi\s+= \{([^}]+)\}", BIB)
    assert len(dois) >= 10
    assert all(re.fullmatch(r"10\.\d{4,}/\S+", doi) for doi in dois)
    ours = re.findall(r'doi: "([^"]+)"', (ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert set(ours) <= set(dois)


def test_it_is_short_and_has_the_title_of_the_package() -> None:
    assert 250 <= len(BODY.split()) <= 1000, "a paper of JOSS has 250 to 1,000 words"
    title = re.search(r'^title: "(.*)"$', FRONT, re.MULTILINE)
    assert title is not None
    assert title[1] in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
