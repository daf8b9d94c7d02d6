"""A run is a row: runs whose options differ differ in a column (`destage.model.columns`)."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import ROOT

import destage as ds
from destage.lab.options import device_options, run_options
from destage.model.columns import kinds, option_columns

#: Of every option two values that a run of its own may have, and what else it needs.
TIER = {"tier2": "lru", "tier2_cache": "20%"}
THREE = {**TIER, "tier3": "lru", "tier3_cache": "30%"}
SETTINGS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "cost": ("read=1,write=2", "read=1,write=3", {}),
    "warmup": ("10%", "20%", {}),
    "fetch_on_write_miss": (False, True, {}),
    "flush_at_end": (False, True, {}),
    "pages_per_block": (32, 64, {"policies": "bplru"}),
    "device_pages": (4_096, 8_192, {"policies": "bplru"}),
    "trim": ("ignore", "drop", {}),
    "ttl": ("1h", "2h", {}),
    "pin": ("none", "0-16KiB", {}),
    "tier2": ("lru", "fifo", {"tier2_cache": "20%"}),
    "tier2_cache": ("20%", "30%", {"tier2": "lru"}),
    "admit": ("always", "larc", TIER),
    "offer": ("evicted", "inserted", TIER),
    "promote": ("copy", "move", TIER),
    "admit_dirty": ("ask", "always", TIER),
    "backing": ("constant", "disk", {**TIER, "device": "small"}),
    "backing_read_ns": (1_000_000, 2_000_000, {**TIER, "device": "small"}),
    "backing_write_ns": (1_000_000, 2_000_000, {**TIER, "device": "small"}),
    "tier2_clean": ("none", "dirty[max=0.2]", TIER),
    "tier2_pin": ("none", "0-16KiB", TIER),
    "tier2_read_ns": (50_000, 60_000, {**TIER, "backing_read_ns": 1_000_000}),
    "tier3": ("lru", "fifo", {**TIER, "tier3_cache": "30%"}),
    "tier3_cache": ("30%", "40%", {**TIER, "tier3": "lru"}),
    "tier3_admit": ("always", "larc", THREE),
    "tier3_offer": ("evicted", "inserted", THREE),
    "tier3_promote": ("copy", "move", THREE),
    "tier3_admit_dirty": ("ask", "always", THREE),
    "tier3_read_ns": (200_000, 300_000, {**THREE, "device": "small"}),
    "tier3_write_ns": (200_000, 300_000, {**THREE, "device": "small"}),
    "check": (False, True, {}),
    "ftl": ("page", "dftl", {"device": "small"}),
    "queue_depth": (1, 8, {"device": "small"}),
    "placement": ("none", "by-size[thresholds=[65536]]", {"device": "fdp"}),
    "flush": ("ignore", "drain", {"device": "small"}),
}

#: The same of prompts.
OF_PROMPTS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "touch": ("tail-first", "head-first", {}),
    "token_ns": (1_000, 2_000, {}),
    "double_tokens": (1_000, 2_000, {"token_ns": 1_000}),
}


def row_of(option: str, value: Any, others: dict[str, Any]) -> dict[str, Any]:
    given = {"policies": "lru", "cache": "10%", option: value, **others}
    device = given.get("device")
    trace = ds.synth("zipf", requests=300, pages=200, read_ratio=0.5, seed=1, device=device)
    (run,) = ds.compare(trace, **given)
    return run.to_dict()


def test_every_option_is_tried() -> None:
    changing = {option.name for option in run_options() if option.columns}
    assert SETTINGS.keys() | OF_PROMPTS.keys() | {"kv"} == changing | {
        o.name for o in device_options()
    }
    # A recording changes no number: it is in the run, or it is not.
    assert [option.name for option in run_options() if not option.columns] == ["profile"]


def test_every_column_of_an_option_is_declared() -> None:
    named = [column for option in run_options() for column in option.columns]
    assert named == [column.name for column in option_columns()]
    assert {*named, *(option.name for option in device_options())} <= kinds().keys()


@pytest.mark.parametrize("option", SETTINGS)
def test_two_values_of_an_option_differ_in_its_column(option: str) -> None:
    one, other, others = SETTINGS[option]
    first, second = row_of(option, one, others), row_of(option, other, others)
    known = {o.name: o.columns for o in run_options()}
    columns = known.get(option, (option,))
    assert [first[name] for name in columns] != [second[name] for name in columns]


def test_a_default_is_in_its_column() -> None:
    row = row_of("trim", None, {})
    assert (row["trim"], row["kv"], row["fetch_on_write_miss"]) == ("ignore", False, False)
    assert (row["admit_dirty"], row["touch"], row["flush"]) == (None, None, None)
    tiered = row_of("tier2", "lru", {"tier2_cache": "20%"})
    assert (tiered["admit"], tiered["promote"], tiered["admit_dirty"]) == ("always", "copy", "ask")
    assert tiered["backing_read_ns"] is None
    timed = row_of("trim", None, {"device": "small"})
    assert (timed["trim"], timed["flush"], timed["placement"]) == ("ignore", "ignore", "none")


@pytest.mark.parametrize("option", OF_PROMPTS)
def test_two_values_of_an_option_of_prompts_differ_in_its_column(option: str) -> None:
    trace = ds.open_trace(ROOT / "tests/data/mooncake.jsonl", block_bytes="2MiB")
    *values, others = OF_PROMPTS[option]
    rows = [
        ds.compare(trace, "lru", cache="50%", kv=True, **{option: value}, **others)[0].to_dict()
        for value in values
    ]
    assert [row[option] for row in rows] == values
    assert all(row["kv"] is True for row in rows)
