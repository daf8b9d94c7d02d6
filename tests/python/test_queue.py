"""An open loop whose queue grows is never silent; a percentile beyond the sample is absent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds

SAYS = "are mostly waiting in a queue"


def oltp(gap_ns: int, requests: int = 3000, seed: int = 2) -> ds.Trace:
    return ds.synth("oltp", requests=requests, pages=1500, seed=seed, gap_ns=gap_ns)


@pytest.fixture(scope="module")
def fast() -> ds.Trace:
    """Requests come faster than the device serves them."""
    return oltp(1_000)


def test_a_device_that_does_not_keep_up_says_so_in_a_result_a_table_and_json(
    fast: ds.Trace,
) -> None:
    results = ds.compare(fast, "lru,arc", cache="10%", device="small")
    for run in results:
        assert run.queue_grows
        assert run["queue_share"] > 0.5
        assert run["outstanding_max"] > run["outstanding_mean"] > 32
        # Little's law.
        mean = run["response_ns_mean"] * run["requests"] / run["makespan_ns"]
        assert run["outstanding_mean"] == pytest.approx(mean)
        assert run["outstanding_max"] <= run["requests"]
        assert len((run.windows or {})["span_ns"]) == 60
    (note,) = [line for line in results.table().splitlines() if "waiting in a queue" in line]
    assert "lru, arc" in note
    assert "--queue-depth 8 shows the device's own limit" in note
    kept = json.loads(results.to_json())["runs"][0]
    assert kept["queue"]["grows"] is True
    assert any(SAYS in warning for warning in kept["warnings"])


@pytest.mark.parametrize("options", [{"gap_ns": 10_000_000}, {"queue_depth": 8}])
def test_a_device_that_keeps_up_and_a_closed_loop_say_nothing(
    options: dict[str, Any], fast: ds.Trace
) -> None:
    trace = oltp(options["gap_ns"]) if "gap_ns" in options else fast
    results = ds.compare(
        trace, "lru", cache="10%", device="small", queue_depth=options.get("queue_depth")
    )
    (run,) = results
    assert not run.queue_grows
    assert (run.queue is None) == ("queue_depth" in options)
    assert (run["outstanding_mean"] is None) == ("queue_depth" in options)
    assert SAYS not in results.table()
    assert not any(SAYS in warning for warning in run.warnings)


def test_the_command_says_it_once(destage: Destage, tmp_path: Path) -> None:
    path = str(tmp_path / "t.csv")
    keys = ("--requests", "3000", "--pages", "1500", "--gap-ns", "1000")
    assert destage("trace", "synth", "oltp", *keys, "-o", path).status == 0
    ran = destage("compare", path, "-p", "lru,arc", "-c", "10%", "-d", "small")
    assert ran.status == 0, ran
    assert ran.out.count("mostly waiting in a queue") == 1
    assert "a queue" not in ran.err
    ran = destage("compare", path, "-p", "lru", "-c", "10%", "-d", "small", "--csv", "-")
    assert ran.err.count("mostly waiting in a queue") == 1


def test_a_mark_that_is_missing_in_an_open_loop_names_the_closed_one(fast: ds.Trace) -> None:
    for seed in range(20):
        trace = oltp(1_000, requests=1200, seed=seed)
        table = ds.compare(trace, "lru,lru-k[k=1],random", cache="10%", device="small").table()
        lines = [line for line in table.splitlines() if line.startswith("no mark for mean")]
        if lines and "interval" in lines[0]:
            assert re.search(r"independent parts? of the trace|too few parts \(\d+\)", lines[0])
            assert "a closed loop (--queue-depth 8) or a longer trace" in lines[0]
            return
    pytest.fail("every comparison of twenty is marked")


def test_advice_in_times_is_for_a_depth_where_the_device_does_not_keep_up(fast: ds.Trace) -> None:
    how: Any = {"policies": "lru,arc", "cache": "5%,10%", "device": "small", "seeds": 1}
    advice = ds.advise(fast, "p99", **how)
    assert advice.run.queue_depth == 8
    assert {run.queue_depth for run in advice.candidates} == {8}
    said = " ".join(advice.text().split())
    assert "The answer is for 8 requests outstanding (closed loop)" in said
    assert json.loads(advice.to_json())["queue_depth"] == 8
    asked = ds.advise(fast, "p99", queue_depth="trace", **how)
    assert asked.run.queue_depth is None
    assert "requests mostly wait in a queue" in " ".join(asked.text().split())
    hits = ds.advise(fast, "hit", **how)
    assert hits.run.queue_depth is None
    assert "wait in a queue" not in hits.text()
    calm = ds.advise(oltp(10_000_000), "p99", **how)
    assert calm.run.queue_depth is None
    assert "wait in a queue" not in calm.text()


@pytest.mark.parametrize(("requests", "known"), [(265, 2), (1000, 3), (10_000, 4), (99, 1)])
def test_a_percentile_that_no_request_exceeds_is_absent(requests: int, known: int) -> None:
    trace = oltp(300_000, requests=requests)
    results = ds.compare(trace, "lru", cache="20p", device="small", queue_depth=4, warmup="none")
    (run,) = results
    names = ["p95", "p99", "p99.9", "p99.99"]
    assert [run[name] is not None for name in names] == [k < known for k in range(4)]
    assert run["response_ns_max"] is not None
    (row,) = results.as_table(show="p99.99").rows()
    assert (row[-1].text == "-") == (known < 4)
