"""Options, metrics and policies are declared once, in their tables."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

import destage as ds
from destage.lab.options import device_options
from destage.model.choice import SHORT, VIEWS, grouped
from destage.model.metrics import metric_groups, metrics
from destage.model.naming import default_padding, default_policies

#: Files that name a policy for a reason, such as the template of a new policy in Rust.
ALLOWED = {
    "python/destage/lab/user_policies/rust.py": {"fifo"},
    # A garbage collector of this name.
    "python/destage/fit/collector.py": {"fifo"},
    "python/destage/fit/writes.py": {"fifo"},
    "python/destage/fit/simulators/femu.py": {"fifo"},
    "python/destage/fit/simulators/mqsim.py": {"fifo"},
    # Papers, which are called as their policies are.
    "python/destage/reproduce/claims.py": {"ecr", "sac", "bpac", "aalru"},
    # The device of a tier vector: its own cache stays unused, and `CacheConfig` needs one.
    "crates/destage-conform/src/tiers_device.rs": {"lru"},
    # Its vectors are older than the default of one of its parameters.
    "crates/destage-conform/src/block.rs": {"bpac"},
    # Common policies that a statement of the page beyond the papers is about.
    "python/destage/reproduce/findings.py": {"lru", "arc", "2q", "s3-fifo", "car", "slru", "ecr-e"},
    # Policies that stand in one chart most often, in whose colours nothing of the table says more.
    "python/destage/show/charts/theme.py": {
        *("arc", "cflru", "gcar-cflru", "ecr", "ecr-e", "2q"),
        *("cflru-e", "gcar-lru", "s3-fifo", "sac", "bplru", "ace"),
    },
}
#: Names of policies that are ordinary words too: the minimum, minutes, choice by chance, a clock.
WORDS = {"min", "random", "clock"}


def named(text: str, names: set[str]) -> str | None:
    """The policy that a literal names, with parameters or without."""
    name = text.partition("[")[0]
    return name if name in names else None


def python_literals(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def rust_literals(path: Path) -> Iterator[tuple[int, str]]:
    # Unit tests stand at the end of a file, or in a file of their own.
    text = path.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests {")[0]
    for number, line in enumerate(text.splitlines(), 1):
        code = line.partition("//")[0]
        yield from ((number, word) for word in re.findall(r'"([^"\\]*)"', code))


def product() -> Iterator[tuple[str, int, str]]:
    for path in sorted((ROOT / "python/destage").rglob("*.py")):
        for number, text in python_literals(path):
            yield str(path.relative_to(ROOT)), number, text
    for crate in (
        "destage-engine",
        "destage-mrc",
        "destage-conform",
        "destage-replay",
        "destage-py",
    ):
        for path in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
            if "tests" not in path.parts and path.stem != "tests":
                for number, text in rust_literals(path):
                    yield str(path.relative_to(ROOT)), number, text


def test_no_policy_is_named_outside_the_table() -> None:
    names = {p.name for p in ds.policies()}
    found = [
        f"{path}:{number}: {text!r}"
        for path, number, text in product()
        for name in [named(text, names - WORDS)]
        if name is not None and name not in ALLOWED.get(path, set())
    ]
    assert found == []


def test_the_defaults_are_those_of_the_table() -> None:
    infos = ds.policies()
    assert [p.name for p in infos if p.baseline] == ["lru"]
    places = sorted(p.compared for p in infos if p.compared is not None)
    assert places == list(range(len(places))), "each place once"
    assert default_policies("compared") == "lru,arc,s3-fifo,cflru"
    assert default_padding() == "bplru"


def test_every_device_option_is_a_flag_a_keyword_and_a_row_of_the_page() -> None:
    assert set(ds.DeviceOptions.__annotations__) == {option.name for option in device_options()}
    page = (ROOT / "docs/reference/devices.md").read_text(encoding="utf-8")
    for option in device_options():
        assert re.search(rf"^\| `{option.flag} .*\| `{option.name}=` \|", page, re.M), option.name
    sweeps = (ROOT / "docs/reference/sweep-spec.md").read_text(encoding="utf-8")
    for option in device_options():
        assert f"| `{option.axis}` |" in sweeps, option.axis


def test_a_device_option_of_the_wrong_type_names_itself() -> None:
    for options, said in (
        ({"queue_depth": "four"}, "queue_depth: expected a whole number"),
        ({"ftl": 7}, "ftl: expected text"),
        ({"flush": "never"}, "flush: expected ignore or drain"),
        ({"ftll": "page"}, "did you mean ftl"),
    ):
        with pytest.raises(ds.UsageError, match=said):
            ds.open_device("small", **options)  # type: ignore[arg-type]


def test_every_metric_is_in_one_group_and_policies_own_counters_in_theirs() -> None:
    members = {group.group: [m.name for m in ours] for group, ours in grouped(metrics())}
    assert list(members) == [group.group for group in metric_groups()]
    assert sorted(name for ours in members.values() for name in ours) == sorted(
        m.name for m in metrics()
    )
    declared = {counter.name for p in ds.policies() for counter in p.counters}
    assert set(members["policy"]) == declared == {m.name for m in metrics() if m.of_policy}
    assert {"idle_writes"} <= set(members["flash"])
    assert {"refused", "flash_writes_per_admission"} <= set(members["evictions"])


def test_short_names_and_views_are_of_metrics() -> None:
    names = {m.name for m in metrics()}
    assert set(SHORT.values()) <= names
    assert len(SHORT) == len(set(SHORT.values()))
    for view, columns in VIEWS.items():
        assert set(columns) - {"life"} <= names, view
    page = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    for group in metric_groups():
        assert f"\n## {group.title}\n" in page


def test_every_policy_has_conformance_vectors() -> None:
    named = set()
    for path in sorted((ROOT / "tests" / "vectors").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            vector = json.loads(line)
            named |= {vector.get("policy"), vector.get("cache", {}).get("policy")}
    assert sorted({policy.name for policy in ds.policies()} - named) == []


def test_contributing_names_the_places_of_an_addition() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:crates|python|docs|tests)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path
    assert json.dumps(sorted(VIEWS)) == '["endurance", "hits", "latency"]'
