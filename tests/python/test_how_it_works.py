"""The worked example of docs/reference/how-it-works.md: its times come out of the program."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Destage

PAGE = (ROOT / "docs" / "reference" / "how-it-works.md").read_text(encoding="utf-8")


def block(kind: str, which: int = 0) -> str:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[which]


def ran(destage: Destage, folder: Path, which: int) -> tuple[list[dict[str, Any]], list[Any]]:
    """Spans of the timeline and decisions of one command of the page."""
    (folder / "four-units.toml").write_text(block("toml"), encoding="utf-8")
    (folder / "four.csv").write_text(block("csv"), encoding="utf-8")
    called = block("sh", which).split()
    assert called[0] == "destage"
    done = destage(*called[1:])
    assert done.status == 0, done
    events = json.loads((folder / "t.json").read_text())["traceEvents"]
    decisions = [json.loads(line) for line in (folder / "d.jsonl").read_text().splitlines()]
    return [event for event in events if event["ph"] == "X"], decisions


def responses(spans: list[dict[str, Any]]) -> list[float]:
    found = [span for span in spans if span["cat"] == "request"]
    return [span["dur"] for span in sorted(found, key=lambda span: span["args"]["number"])]


def test_the_table_has_the_times_of_the_run(destage: Destage, tmp_path: Path) -> None:
    spans, decisions = ran(destage, tmp_path, 0)
    rows = [line for line in PAGE.splitlines() if re.match(r"\| (read|write) page", line)]
    assert [float(row.strip("| ").rpartition("|")[2]) for row in rows] == responses(spans)
    assert responses(spans) == [0, 72.288, 0, 332.528]

    page_reads = [s for s in spans if s["cat"] == "host" and s["name"] == "read"]
    (program,) = (s for s in spans if s["name"] == "program")
    first, second, last = sorted(page_reads, key=lambda s: (s["ts"], s["tid"]))
    assert [(s["tid"], s["ts"], s["dur"]) for s in (first, second)] == [
        (1, 100.0, 70.24),
        (2, 100.0, 70.24),
    ]
    assert (program["tid"], program["ts"], program["dur"]) == (0, 151.024, 310.24)
    assert last["ts"] == pytest.approx(461.264)
    assert (last["tid"], last["dur"], last["args"]["waited_ns"]) == (0, 70.24, 261_264)
    for said in ("70.24", "310.24", "151.024 to 461.264", "261.264"):
        assert said in PAGE

    assert [d["hit"] for d in decisions] == [False] * 5
    assert [(d["page"], d["evicted"], d["flushed"]) for d in decisions[3:]] == [
        (4, [0], [[0]]),
        (0, [1], []),
    ]


def test_the_services_add_up() -> None:
    """Bytes over rates, as the page says them."""
    channel, link = 4096 / 400, 4096 / 4000
    assert (channel, link) == pytest.approx((10.24, 1.024))
    assert 60 + channel == pytest.approx(70.24)
    assert 300 + channel == pytest.approx(310.24)
    assert 60 + channel + 2 * link == pytest.approx(72.288)
    end = 150 + link + 300 + channel
    assert end == pytest.approx(461.264)
    assert end + 60 + channel + link - 200 == pytest.approx(332.528)


def test_a_clean_first_policy_has_a_hit_in_the_end(destage: Destage, tmp_path: Path) -> None:
    spans, decisions = ran(destage, tmp_path, 1)
    assert responses(spans) == [0, 72.288, 0, 0]
    assert not any(span["name"] == "program" for span in spans)
    assert (decisions[3]["page"], decisions[3]["evicted"]) == (4, [1])
    assert decisions[4]["hit"]


def test_the_keys_of_the_table_are_known() -> None:
    import destage as ds

    rows = [line for line in PAGE.partition("## Four")[0].splitlines() if line.startswith("| ")]
    named = {key for row in rows[1:] for key in re.findall(r"`([a-z_]+)`", row.rpartition("|")[0])}
    known = {key.name for key in ds.device_keys()}
    assert {"evict_wait", "gc_victim", "channels"} <= named
    assert named - {"link", "read", "program", "erase"} <= known
