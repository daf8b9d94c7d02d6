"""Texts and homes that cannot be, stores and results that are damaged: named, never a bug."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds

#: A home folder that no user has.
HOME = "~no-such-user-of-destage"
#: No file or policy can be called so.
TEXTS = ("\ud800", "a\0b")

POLICY = """
import destage as ds

class Oldest(ds.ListPolicy):
    def __init__(self, frames):
        super().__init__(frames)
        self.pages = self.new_list(on_hit="front")
"""
LOOP = {"synth": "loop", "requests": 200, "pages": 40}


def spec(**changed: Any) -> dict[str, Any]:
    return {"sweep": {"traces": [LOOP], "policies": ["lru", "arc"], "cache": ["5p"], **changed}}


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("loop", requests=200, pages=40)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "runs"
    ds.sweep(spec(), folder)
    return folder


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_no_file_or_policy_has_is_usage(
    trace: ds.Trace, store: Path, tmp_path: Path, text: str
) -> None:
    calls: list[Any] = [
        lambda: ds.compare(trace, f"{text}.py:Oldest", cache="4p"),
        lambda: ds.run(trace, "lru", cache="4p", decisions=text),
        lambda: ds.sweep(spec(traces=[f"{text}.csv"]), tmp_path / "a"),
        lambda: ds.sweep(spec(policies=[f"{text}.py:Oldest"]), tmp_path / "b"),
        lambda: ds.sweep(spec(devices=[f"{text}.toml"]), tmp_path / "c"),
        lambda: ds.serve(text, size="1MiB"),
        lambda: ds.serve(":memory:", size="1MiB", record=text),
    ]
    for call in calls:
        with pytest.raises(ds.UsageError):
            call()
    pytest.importorskip("duckdb")
    with pytest.raises(ds.UsageError, match=r"^sql: "):
        ds.load_results(store).sql(f"select '{text}")


@pytest.mark.parametrize("policy", ["\ud800", "lru\ud800", "lru[x=\udcff]"])
def test_a_policy_of_no_unicode_text_is_usage(trace: ds.Trace, policy: str) -> None:
    with pytest.raises(ds.UsageError, match=r"policy: .*not Unicode text"):
        ds.compare(trace, policy, cache="4p")


def test_a_home_that_is_not_there_is_named(trace: ds.Trace, tmp_path: Path) -> None:
    calls: list[Any] = [
        lambda: ds.compare(trace, f"{HOME}/p.py:Oldest", cache="4p"),
        lambda: ds.sweep(spec(traces=[f"{HOME}/a.csv"]), tmp_path / "a"),
        lambda: ds.sweep(spec(policies=[f"{HOME}/p.py:Oldest"]), tmp_path / "b"),
        lambda: ds.sweep(spec(devices=[f"{HOME}/d.toml"]), tmp_path / "c"),
    ]
    for call in calls:
        with pytest.raises(ds.UsageError, match=f"{HOME}.*: there is no such home folder"):
            call()


@pytest.mark.parametrize("query", ["", " ", ";", "-- a comment"])
def test_a_query_of_nothing_is_usage(destage: Destage, store: Path, query: str) -> None:
    pytest.importorskip("duckdb", reason="needs the extra sql")
    done = destage("results", store, "--sql", query)
    assert done.status == 2, done
    assert "sql: " in done.err, done


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something is in a document, the whole included."""
    yield path
    inside: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        inside = enumerate(value[:2])
    for key, more in inside:
        yield from places(more, (*path, key))


#: What is put there instead.
WRONG: tuple[Any, ...] = (None, True, -1, 10**400, 0.5, "no", [], [[]], {}, {"no": None})


def damages(document: Any) -> Iterator[Any]:
    """The document with one value changed to two of another type in turn, or left out."""
    for number, path in enumerate(places(document)):
        for value in (WRONG[number % len(WRONG)], WRONG[(number + 5) % len(WRONG)]):
            changed = json.loads(json.dumps(document))
            if not path:
                yield value
                continue
            inside = changed
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = value
            yield changed
        if path and isinstance(path[-1], str):
            del inside[path[-1]]
            yield changed


def test_a_result_that_is_damaged_is_named_or_read(trace: ds.Trace) -> None:
    document = json.loads(ds.compare(trace, "lru", cache="4p").to_json())
    refused = count = 0
    for damaged in damages(document):
        count += 1
        try:
            read = ds.Results.from_json(json.dumps(damaged))
            assert str(read)
            read.to_csv()
        except ds.DestageError:
            refused += 1
    assert refused > count / 5 > 100
    damaged = {**document, "runs": [{**document["runs"][0]}]}
    damaged["trace"] = {**document["trace"], "options": []}
    with pytest.raises(ds.DataError, match="options"):
        ds.Results.from_json(json.dumps(damaged))


def test_a_damaged_plan_or_manifest_of_a_store_is_left_out(store: Path, tmp_path: Path) -> None:
    rows, refused = ds.load_results(store).to_csv(), []
    for pattern in ("sweep-*.json", "manifest.json"):
        place = tmp_path / pattern[:5]
        shutil.copytree(store, place)
        (file,) = place.glob(pattern)
        texts = [json.dumps(d) for d in damages(json.loads(file.read_text()))]
        texts += ["", "[" * 100_000, '{"a": ' * 100_000, "\0", "nan"]
        for text in texts:
            file.write_text(text)
            try:
                found = ds.load_results(place).to_csv()
            except ds.DataError as e:
                refused.append(str(e))
            else:
                assert found == rows
    assert all("expected version 2" in said for said in refused), refused


def test_a_damaged_store_is_no_bug_of_ours(destage: Destage, store: Path, tmp_path: Path) -> None:
    place = tmp_path / "runs"
    for name, data in (
        ("sweep-*.json", b"[]"),
        ("sweep-*.json", b'{"id": 1, "called": "a", "tasks": [1]}'),
        ("sweep-*.json", b"[" * 100_000),
        ("times-*.jsonl", b"7\n[]\nnull\n" + b"[" * 100_000),
        ("manifest.json", b'{"format": "destage.store", "version": 1e999}'),
        ("part-*.parquet", b"PAR1"),
    ):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(store, place)
        next(place.glob(name)).write_bytes(data)
        for words in (("results", place), ("results", place, "--show", "missing")):
            done = destage(*words)
            assert done.status in (0, 2, 3, 65), (name, data, done)
            assert "Traceback" not in done.err
