"""Policies in files: by name wherever a policy goes, begun by a command, held side by side."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Destage

import destage as ds
from destage.lab.user_policies.processes import CAN_FORK, side_by_side

MINE = """
import destage

class Newest(destage.ListPolicy):
    def __init__(self, frames, *, skip=0):
        super().__init__(frames)
        self.pages = self.new_list(on_hit="front")
        self.skip = skip

    def evict(self, miss, device, plan):
        self.pages.evict(self.pages.oldest(self.skip + 1)[-1], plan)

class Broken(Newest):
    def evict(self, miss, device, plan):
        raise ZeroDivisionError("in the policy")
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=4_000, pages=500, read_ratio=0.5, seed=9)


def test_a_new_policy_runs_as_it_is_printed_and_decides_as_lru(
    destage: Destage, tmp_path: Path
) -> None:
    done = destage("new-policy", "Hyperbolic")
    assert done.status == 0, done
    assert "class Hyperbolic" in (tmp_path / "hyperbolic.py").read_text()
    commands = [line.split()[1:] for line in done.out.splitlines() if line.startswith("  ")]
    assert [c[0] for c in commands] == ["trace", "compare"]
    for command in commands:
        more = ["--json", "r.json"] if command[0] == "compare" else []
        done = destage(*command, *more)
        assert done.status == 0, done
    lru, own = (r.counters for r in list(ds.Results.load(tmp_path / "r.json"))[1::2])
    assert own == lru


def test_a_new_policy_never_replaces_a_file(destage: Destage, mine: Path) -> None:
    done = destage("new-policy", "Mine")
    assert done.status == 2, done
    assert "mine.py: it is there already, and is left as it is" in done.err
    assert mine.read_text() == MINE
    with pytest.raises(ds.UsageError, match="is there already"):
        ds.new_policy("MINE", mine.parent)


@pytest.mark.parametrize("name", ["my-policy", "2q", "class", "Übung", "", "a b"])
def test_a_name_that_no_class_has_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ds.UsageError, match="expected the name of a class"):
        ds.new_policy(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_class_in_a_file_goes_by_its_name_in_every_command(
    destage: Destage, mine: Path, msr: Path
) -> None:
    own = "mine.py:Newest[skip=2]"
    for words in (
        ("compare", msr, "-p", f"lru,{own},mine.py:Newest", "-c", "4p,8p"),
        ("run", msr, "-p", own, "-c", "4p"),
        ("mrc", msr, "-p", f"{own},lru", "-c", "4p,8p"),
        ("tune", msr, "-p", "mine.py:Newest", "--param", "skip=0:3:1", "-c", "8p"),
    ):
        done = destage(*words, "--json", "out.json")
        assert done.status == 0, (words, done)
        assert "mine.py:Newest" in done.out, done
        assert "mine.py:Newest" in (mine.parent / "out.json").read_text()


def test_the_class_is_that_of_python(mine: Path, trace: ds.Trace) -> None:
    results = ds.compare(
        trace,
        [f"{mine}:Newest", f"lru,{mine}:newest[skip=3]", (f"{mine}:Newest", {"skip": 4})],
        cache=["5%", "10%"],
    )
    labels = [r.label.removeprefix(f"{mine}:") for r in results][::2]
    assert labels == ["Newest", "lru", "newest[skip=3]", "Newest[skip=4]"]
    runs = list(results)
    assert [r.counters for r in runs[:2]] == [r.counters for r in runs[2:4]]
    assert runs[4].counters != runs[2].counters
    one = mine.parent / "one.py"
    one.write_text(MINE.split("class Broken", maxsplit=1)[0])
    (alone,) = ds.compare(trace, str(one), cache="10%")
    assert alone.counters == runs[1].counters


def test_a_result_of_a_policy_in_a_file_is_made_again(mine: Path, trace: ds.Trace) -> None:
    results = ds.compare(trace, ["lru", f"{mine}:Newest[skip=2]"], cache=["4p", "8p"])
    assert ds.rerun(results, allow_code=True).same
    mine.write_text(MINE.replace("self.skip + 1", "self.skip + 2"))
    again = ds.rerun(results, allow_code=True)
    assert not again.same
    assert any(f"{mine}:Newest" in difference for difference in again.differences)


def test_curves_of_a_policy_in_a_file_stand_where_they_were_asked_for(
    mine: Path, trace: ds.Trace
) -> None:
    own, lru = f"{mine}:Newest", "lru"
    curves = ds.mrc(trace, [own, lru, f"{own}[skip=5]"], cache=["5%", "10%"])
    by_label: dict[str, list[Any]] = {}
    for row in curves.to_dicts():
        by_label.setdefault(row["label"], []).append((row["misses"], row["physical_writes"]))
    assert list(by_label) == [own, lru, f"{own}[skip=5]"]
    assert [m for m, _ in by_label[own]] == [m for m, _ in by_label[lru]]
    runs = ds.compare(trace, f"{own}[skip=5]", cache=["5%", "10%"])
    expected = [(r.misses, r["physical_writes"]) for r in runs]
    assert by_label[f"{own}[skip=5]"] == expected
    with pytest.raises(ds.UsageError, match=r"sample: .*Newest is a policy of your own"):
        ds.mrc(trace, own, cache="10%", sample=0.1)


@pytest.mark.parametrize(
    ("policy", "status", "parts"),
    [
        ("nowhere.py:Mine", 66, ("nowhere.py", "no such file")),
        ("mine.py:Hyper", 2, ("mine.py", "no class Hyper", "Newest, Broken")),
        ("mine.py", 2, ("mine.py", "name a class of it", "Newest, Broken")),
        ("mine.py:destage", 2, ("mine.py:destage", "no class")),
        ("mine.py:Newest[skip]", 2, ("expected key=value",)),
        ("mine.py:Newest[leap=1]", 2, ("Newest", "__init__", "leap")),
        ("bad.py:Mine", 65, ("bad.py:2", "SyntaxError")),
        ("raises.py:Mine", 65, ("raises.py:3", "KeyError", "'there'")),
    ],
)
def test_a_policy_that_cannot_be_had_is_named(
    policy: str,
    status: int,
    parts: tuple[str, ...],
    destage: Destage,
    mine: Path,
    msr: Path,
) -> None:
    (mine.parent / "bad.py").write_text("import destage\nclass Mine(:\n")
    (mine.parent / "raises.py").write_text("import destage\n\n{}['there']\n")
    done = destage("compare", msr, "-p", policy, "-c", "8p")
    assert done.status == status, done
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.err, done


def test_an_exception_names_policy_call_access_and_line(
    destage: Destage, mine: Path, msr: Path, trace: ds.Trace
) -> None:
    for sizes in ("4p", "4p,8p"):
        done = destage("compare", msr, "-p", "lru,mine.py:Broken", "-c", sizes, "-q")
        assert done.status == 1, done
        line = 1 + MINE[: MINE.index("raise Zero")].count("\n")
        assert "policy mine.py:Broken: access " in done.err, done
        assert "evict: ZeroDivisionError: in the policy" in done.err
        assert f"mine.py:{line}, in evict" in done.err
        assert "bug in destage" not in done.err
    with pytest.raises(ZeroDivisionError) as raised:
        ds.run(trace, f"{mine}:Broken", cache="1p")
    assert raised.value.__notes__ == [f"policy {mine}:Broken: access 1, evict"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def request(self, r):\n        return 3", "access 0, request (page "),
        ("def admit(self, r, miss):\n        pass", "access 0, admit (page "),
        ("def admit(self, r, miss):\n        self.pages.remove(7)", "access 0, admit (page "),
        ("def evict(self, miss, device, plan):\n        pass", "access 4, evict: an eviction"),
        ("def evict(self, miss, device, plan):\n        plan.evict(1, False)", "access 4, evict: "),
        (
            "def __init__(self, frames):\n        destage.ListPolicy.__init__(self, frames)",
            "access 0, admit (page ",
        ),
        ("def __init__(self, frames):\n        1 / 0", "in __init__, before the first access"),
    ],
)
def test_every_error_of_a_policy_names_policy_call_and_access(
    body: str, words: str, tmp_path: Path
) -> None:
    loop = ds.synth("sequential", requests=100, pages=50, seed=1)
    path = tmp_path / "own.py"
    path.write_text(f"{MINE}\nclass Mine(Newest):\n    {body}\n")
    with pytest.raises(Exception, match=r".") as raised:
        ds.run(loop, f"{path}:Mine", cache="4p")
    said = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
    assert f"{path}:Mine" in said
    assert words in said, said


def test_own_policies_have_processes_and_results_come_in_order(
    trace: ds.Trace, tmp_path: Path
) -> None:
    class Tells(ds.ListPolicy):
        def __init__(self, frames: int) -> None:
            super().__init__(frames)
            self.pages = self.new_list()
            (tmp_path / f"{os.getpid()}-{threading.get_ident()}").touch()

    seen: list[tuple[int, int]] = []
    sizes = ["2%", "5%", "10%"]
    results = ds.compare(
        trace, [Tells, "lru"], cache=sizes, jobs=3, progress=lambda d, n, _: seen.append((d, n))
    )
    assert [(r.policy, r.cache) for r in results] == [
        (name, size) for name in ("Tells", "lru") for size in sizes
    ]
    runs = list(results)
    assert [r.counters for r in runs[:3]] == [r.counters for r in runs[3:]]
    here = [name for name in os.listdir(tmp_path) if name.startswith(f"{os.getpid()}-")]
    if CAN_FORK:
        assert len(os.listdir(tmp_path)) == 3
        assert here == []
    ds.compare(trace, Tells, cache=sizes, jobs=1)
    assert any(name.startswith(f"{os.getpid()}-") for name in os.listdir(tmp_path))


def test_a_process_that_dies_is_a_task_that_is_done_here() -> None:
    home = os.getpid()

    def dies(_: Any) -> str:
        if os.getpid() != home:
            os._exit(3)
        return "here"

    found = dict(side_by_side([dies, lambda _: "there", dies], 2))
    assert found == {0: "here", 1: "there", 2: "here"}

    def raises(_: Any) -> str:
        raise LookupError(os.getpid())

    with pytest.raises(LookupError, match=str(home)):
        list(side_by_side([raises, raises], 2))


def test_why_shows_where_two_policies_part() -> None:
    loop = ds.synth("loop", requests=100, pages=100, loop_pages=20, read_ratio=1.0, seed=1)
    found = ds.why(loop, "lru", "min", cache="10p")
    assert found.first is not None
    # The eleventh page: LRU gives up the first, MIN the one before it, which is used last.
    assert (found.first.access, found.first.op) == (10, "read")
    (lru,), (best,) = found.first.a.evicted, found.first.b.evicted
    assert lru != best
    assert (found.only_a, found.only_b) == (0, found.b["read_hits"])
    assert sum(p.only_b for p in found.pages) <= found.only_b
    assert found.pages[0].only_b >= found.pages[-1].only_b
    hits = next(share for share in found.shares if share.what == "hits")
    assert (hits.a, hits.b) == (found.a["read_hits"], found.b["read_hits"])
    alike = ds.why(loop, "lru", "slru", cache="100p")
    assert (alike.first, alike.differing, alike.pages) == (None, 0, ())
    assert "decisions are equal at every access" in str(alike)


def test_why_counts_what_two_logs_say(trace: ds.Trace, tmp_path: Path) -> None:
    found = ds.why(trace, "lru", "arc", cache="10%")
    logs = []
    for name in ("lru", "arc"):
        ds.run(trace, name, cache="10%", decisions=tmp_path / name)
        logs.append([json.loads(line) for line in (tmp_path / name).read_text().splitlines()])
    pairs = list(zip(*logs, strict=True))
    assert found.accesses == len(pairs)
    assert found.differing == sum(a != b for a, b in pairs)
    assert found.only_a == sum(a["hit"] and not b["hit"] for a, b in pairs)
    assert found.only_b == sum(b["hit"] and not a["hit"] for a, b in pairs)
    first = next(k for k, (a, b) in enumerate(pairs) if a != b)
    assert found.first is not None
    assert found.first.access == first
    page = found.pages[0]
    mine = [(a, b) for a, b in pairs if a["page"] == page.page]
    assert page.only_b == sum(b["hit"] and not a["hit"] for a, b in mine)
    written = [sum(line["flushed"].count([page.page]) for line in log) for log in logs]
    assert page.written_a - page.written_b == written[0] - written[1]


def test_the_saved_time_adds_up(trace: ds.Trace) -> None:
    found = ds.why(trace, "lru", "cflru", cache="10%", cost="read=1,write=8")
    shares = {share.what: share for share in found.shares}
    whole = shares["cost"]
    assert whole.a == shares["cost of reads"].a + shares["cost of writes"].a
    assert whole.saved == shares["cost of reads"].saved + shares["cost of writes"].saved
    drive = ds.open_device("small")
    timed = ds.synth("zipf", requests=3_000, pages=2_000, read_ratio=0.4, seed=2, device=drive)
    found = ds.why(timed, "lru", "arc", cache="64p", device=drive)
    shares = {share.what: share for share in found.shares}
    parts = ["flash time of misses", "flash time of destages"]
    parts += ["flash time of GC, transfers, other"]
    assert sum(shares[p].a for p in parts) == pytest.approx(shares["flash time of all units"].a)
    assert shares["dirty victims"].a == found.a["flash_programs"]
    assert shares["GC runs"].b == found.b["gc_runs"]


def test_why_is_a_command(destage: Destage, mine: Path, msr: Path) -> None:
    words = ("why", "lru", "mine.py:Newest[skip=3]", "--trace", msr, "-c", "8p")
    done = destage(*words)
    assert done.status == 0, done
    for part in ("First different decision: access", "B misses, evicts", "Counts and times"):
        assert part in done.out, done
    done = destage(*words, "--json", "-", "-q")
    data = json.loads(done.out)
    assert (data["a"], data["b"]) == ("lru", "mine.py:Newest[skip=3]")
    assert data["first"]["a"]["evicted"] != data["first"]["b"]["evicted"]
    for bad, word in (
        (("why", "lru", "arc", "--trace", msr), "name a size"),
        (("why", "lru", "arc", "--trace", msr, "-c", "4p,8p"), "expected one size"),
        (("why", "lru,fifo", "arc", "--trace", msr, "-c", "8p"), "one policy on each side"),
        (("why", "lru", "none", "--trace", msr, "-c", "8p"), "without a cache"),
        (("why", "lru", "arc", "-c", "8p"), "--trace"),
    ):
        done = destage(*bad)
        assert done.status == 2, done
        assert word in done.err, done


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The part of the repository that a policy in Rust touches."""
    listed = ("crates/destage-policies", "crates/destage-reference", "tests/vectors", "README.md")
    for name in listed:
        there = ROOT / name
        if there.is_dir():
            shutil.copytree(there, tmp_path / name, ignore=shutil.ignore_patterns("target"))
        else:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(there, tmp_path / name)
    return tmp_path


def test_a_policy_in_rust_has_all_that_a_policy_has(repository: Path, destage: Destage) -> None:
    def contents() -> dict[str, str]:
        files = [p for p in repository.rglob("*") if p.is_file()]
        return {str(p.relative_to(repository)): p.read_text(errors="replace") for p in files}

    before = contents()
    done = destage("new-policy", "My_Own", "--rust")
    assert done.status == 0, done
    after = contents()
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {
        "crates/destage-policies/src/my_own.rs",
        "crates/destage-policies/src/lib.rs",
        "crates/destage-policies/tests/it/reference.rs",
        "crates/destage-policies/tests/it/trims.rs",
        "crates/destage-reference/src/my_own.rs",
        "crates/destage-reference/src/lib.rs",
        "crates/destage-reference/tests/it/lists.rs",
        "tests/vectors/page-policies.jsonl",
        "README.md",
    }
    row = "    my_own::INFO => plain(my_own::MyOwn::new);"
    assert row in after["crates/destage-policies/src/lib.rs"]
    for path in ("crates/destage-policies/src/my_own.rs", "crates/destage-reference/src/my_own.rs"):
        assert "MyOwn" in after[path]
        assert "Fifo" not in after[path]
        assert '"fifo"' not in after[path]
        assert not re.search(r"interval_frames|multi_size|advised", after[path])
        rustfmt = shutil.which("rustfmt")
        if rustfmt:
            config = ["--config-path", str(ROOT), "--edition", "2024", "--check"]
            subprocess.run([rustfmt, *config, repository / path], check=True)
    vector = json.loads(after["tests/vectors/page-policies.jsonl"].splitlines()[-1])
    assert (vector["name"], vector["policy"]) == ("my-own/micro", "my-own")
    count = len(ds.policies())
    assert f"{count + 1} policies" in after["README.md"]
    again = destage("new-policy", "My_Own", "--rust")
    assert again.status == 2
    assert contents() == after
    page = (ROOT / "docs/contribute/port-a-policy.md").read_text(encoding="utf-8")
    for path in changed:
        assert f"| `{path.replace('my_own', 'NAME')}` |" in page, path


def test_a_policy_in_rust_is_only_begun_in_the_repository(destage: Destage, tmp_path: Path) -> None:
    done = destage("new-policy", "Mine", "--rust")
    assert done.status == 2, done
    assert "is not inside the repository" in done.err
    assert list(tmp_path.iterdir()) == []


def test_no_byte_code_is_left_beside_a_file(mine: Path, trace: ds.Trace) -> None:
    ds.run(trace, f"{mine}:Newest", cache="4p")
    assert {p.name for p in mine.parent.iterdir()} == {"mine.py"}
    assert str(mine.parent) not in sys.path


LACKING = """
import destage

class Lacks(destage.Policy):
    def request(self, r):
        return destage.MISS

class Deaf(destage.ListPolicy):
    def __init__(self, frames):
        super().__init__(frames)
        self.pages = self.new_list(on_hit="sideways")

class Bare(destage.ListPolicy):
    def __init__(self, frames):
        self.pages = self.new_list()

class Takes(destage.ListPolicy):
    def __init__(self, frames, *, share=0.5, depth=2):
        super().__init__(frames)
        self.pages = self.new_list()
"""


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("Lacks", "policy own.py:Lacks: it has no method evict"),
        ("Deaf", "policy own.py:Deaf: __init__, before the first access: on_hit: expected"),
        ("Bare", "__init__, before the first access: super().__init__(frames) has not been called"),
        ("Takes[shar=1]", "unexpected keyword argument 'shar' (it has: share, depth)"),
    ],
)
def test_a_class_that_cannot_be_made_is_named_with_what_it_lacks(
    destage: Destage, msr: Path, tmp_path: Path, named: str, said: str
) -> None:
    (tmp_path / "own.py").write_text(LACKING)
    done = destage("compare", msr, "-p", f"lru,own.py:{named}", "-c", "8p", "-q")
    assert done.status == 2, done
    assert said in done.err
