"""`check-sim`: planted differences are found where they begin, known variants are named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds
from destage.model.upstream import upstream_of

FRAMES = 40


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=3_000, pages=400, read_ratio=0.7, seed=9, page_size=4096)


def decided(trace: ds.Trace, folder: Path, policy: str, frames: int = FRAMES) -> list[dict]:
    log = folder / "decisions.jsonl"
    ds.run(trace, policy, cache=f"{frames}p", decisions=log)
    return [json.loads(line) for line in log.read_text().splitlines()]


def listed(path: Path, hits: list[bool]) -> Path:
    path.write_text("".join("hit\n" if hit else "miss\n" for hit in hits))
    return path


@pytest.mark.parametrize("policy", ["lru", "arc", "s3-fifo", "min", "2q[in_fraction=0.4]"])
def test_a_policy_s_own_decisions_are_equal_in_every_form(
    policy: str, trace: ds.Trace, tmp_path: Path
) -> None:
    lines = decided(trace, tmp_path, policy)
    hits = [line["hit"] for line in lines]
    table = "page,miss\n" + "".join(f"{x['page']},{int(not x['hit'])}\n" for x in lines)
    column = "hit\n" + "".join(f"{int(hit)}\n" for hit in hits)
    (tmp_path / "table.csv").write_text(table)
    (tmp_path / "column.csv").write_text(column)
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(table.encode()))
    listed(tmp_path / "words.txt", hits)
    for name in ("decisions.jsonl", "table.csv", "column.csv", "table.csv.gz", "words.txt"):
        found = ds.check_simulator(trace, tmp_path / name, policy, cache=f"{FRAMES}p")
        assert found.first is None, name
        assert (found.hits, found.listed_hits, found.differing) == (sum(hits), sum(hits), 0)
        assert found.accesses == len(hits)


#: Another capacity, policy and parameter, each beside the policy that it is said to be.
PLANTED = [
    ("lru", "lru", FRAMES + 1),
    ("lru", "fifo", FRAMES),
    ("arc", "car", FRAMES),
    ("s3-fifo", "s3-fifo[ghost_fraction=0.5]", FRAMES),
    ("slru", "slru[segments=2;protected_fraction=0.8]", FRAMES),
]


@pytest.mark.parametrize(("said", "planted", "frames"), PLANTED)
def test_a_planted_difference_is_found_where_it_begins(
    said: str, planted: str, frames: int, trace: ds.Trace, tmp_path: Path
) -> None:
    ours = decided(trace, tmp_path, said)
    theirs = decided(trace, tmp_path, planted, frames)
    pairs = list(zip(ours, theirs, strict=True))
    wanted = [a["index"] for a, b in pairs if a["hit"] != b["hit"]]
    found = ds.check_simulator(trace, tmp_path / "decisions.jsonl", said, cache=f"{FRAMES}p")
    first = found.first
    assert first is not None
    assert (first.access, found.differing) == (wanted[0], len(wanted))
    assert (first.page, first.hit) == (ours[first.access]["page"], ours[first.access]["hit"])
    before = ours[: first.access]
    seen = [a["index"] for a in before if a["page"] == first.page]
    assert first.last_access == (seen[-1] if seen else None)
    left = [a["index"] for a in before if first.page in a["evicted"] and a["index"] > seen[-1]]
    assert first.evicted_at == (left[-1] if left else None)
    assert first.lists
    resident = {page for pages in first.lists.values() for page in _flat(pages)}
    assert not first.hit or first.page in resident


def _flat(pages: list) -> list:
    return [one for page in pages for one in (page if isinstance(page, list) else [page])]


def test_one_flipped_decision_is_the_only_difference(trace: ds.Trace, tmp_path: Path) -> None:
    hits = [line["hit"] for line in decided(trace, tmp_path, "lru")]
    hits[1234] = not hits[1234]
    found = ds.check_simulator(
        trace, listed(tmp_path / "list.txt", hits), "lru", cache=f"{FRAMES}p"
    )
    assert found.first is not None
    assert (found.first.access, found.differing) == (1234, 1)


def test_a_known_variant_is_named_and_equal(trace: ds.Trace, tmp_path: Path) -> None:
    decided(trace, tmp_path, "lru-k[retained_period=0]")
    found = ds.check_simulator(trace, tmp_path / "decisions.jsonl", "lru-k", cache=f"{FRAMES}p")
    assert found.first is not None
    assert [(v.whose, v.differing) for v in found.variants] == [("libCacheSim", 0)]
    assert "(libCacheSim): equal at every access." in str(found)
    assert "Known: libCacheSim's lru-k forgets" in str(found)


def test_every_variant_that_is_known_runs(trace: ds.Trace) -> None:
    names = {policy.name for policy in ds.policies()}
    known = [one for name in names for one in upstream_of(name)]
    assert len(known) >= 10
    for one in known:
        if one.variant is not None:
            assert ds.run(trace, one.variant, cache=f"{FRAMES}p").run.policy == one.policy


def test_the_command_says_it_with_a_status(destage: Destage, tmp_path: Path) -> None:
    _small(tmp_path)
    (tmp_path / "good.txt").write_text("0\n0\n1\n")
    (tmp_path / "bad.txt").write_text("0\n0\n0\n")
    args = ("-p", "lru", "--trace", "small.csv", "-c", "2p")
    good = destage("check-sim", "good.txt", *args)
    assert (good.status, "Equal at every access" in good.out) == (0, True), good
    bad = destage("check-sim", "bad.txt", *args, "--json", "found.json")
    assert bad.status == 1, bad
    assert "First difference: access 2, a read of page 1: hit by the specification" in bad.out
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["schema"], found["first"]["access"]) == ("destage.check-sim", 2)


BROKEN = [
    ("", "no decisions in it"),
    ("1\n0\n", "2 decisions for 3 page accesses (3 requests)"),
    ("0\n0\n1\n0\n", "more decisions than the 3 page accesses"),
    ("0\nperhaps\n1\n", ":2: 'perhaps': expected hit or miss"),
    ("page,hit\n1,0\n7,0\n1,1\n", ":3: page 7, and access 1"),
    ("page,hit\n1,0\n2\n", ":3: 1 cells, expected 2"),
    ("page,seen\n1,0\n", "expected one of hit"),
    ('{"page": 1}\n', ":1: expected a line of `destage run --decisions`"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN)
def test_a_broken_list_is_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    trace = ds.open_trace(_small(tmp_path))
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(ds.DataError, match=r"list\.txt") as raised:
        ds.check_simulator(trace, tmp_path / "list.txt", "lru", cache="2p")
    assert said in str(raised.value)


def _small(folder: Path) -> Path:
    path = folder / "small.csv"
    rows = [("Read", 4096), ("Write", 8192), ("Read", 4096)]
    path.write_text(
        "".join(
            f"{128166372000000000 + i * 10_000},hm,0,{op},{at},4096,2310\n"
            for i, (op, at) in enumerate(rows)
        )
    )
    return path


def test_what_has_no_specification_is_refused(trace: ds.Trace, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("0\n")
    with pytest.raises(ds.UsageError, match="asks the device, which hits and misses do not show"):
        ds.check_simulator(trace, tmp_path / "list.txt", "ecr", cache="2p")
    with pytest.raises(ds.UsageError, match="open_trace"):
        ds.check_simulator(tmp_path, tmp_path / "list.txt", "lru", cache="2p")  # type: ignore[arg-type]
    with pytest.raises(ds.UsageError, match="has no specification here"):
        ds.check_simulator(trace, tmp_path / "list.txt", Mine, cache="2p")  # type: ignore[arg-type]


class Mine:
    """A policy of one's own."""

    def access(self, page: int, write: bool) -> None:
        """Decide nothing."""
