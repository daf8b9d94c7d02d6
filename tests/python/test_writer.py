"""The background writer of a host: its keys, its table, what it is called and what it needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, VECTORS, Destage

import destage as ds
from destage.questions.demonstration import demo_trace

ON = "small[writer=trickle]"

#: The rows of the page: each policy alone, and with so many pages wanted free or clean.
LOW_PAGES = (None, 16, 64, 256)
POLICIES = ("lru", "cflru", "clock-sweep")
SIZE = "20%"


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return demo_trace(requests=100_000)


def test_its_vectors_pass() -> None:
    report = ds.conform([VECTORS / "writer.jsonl", VECTORS / "writer-ftls.jsonl"])
    assert report.ok, report
    assert (report.passed, report.skipped) == (22, 0)


def drive(low_pages: int | None) -> str:
    return "small" if low_pages is None else f"small[writer=trickle;writer_low_pages={low_pages}]"


def row(low_pages: int | None, run: ds.Run) -> str:
    def us(name: str) -> str:
        return f"{run[name] / 1000:,.1f} \u00b5s"

    written = f"{run['idle_writes']:,}" if low_pages else ""
    return (
        f"| `{run.label}` | {low_pages or 'no writer'} | {us('response_ns_mean')} "
        f"| {us('response_ns_p99')} | {100 * run['dirty_victim_ratio']:.1f} % | {written} "
        f"| {run['flash_writes']:,} |"
    )


def test_the_page_says_what_the_runs_say(trace: ds.Trace) -> None:
    by_drive = [
        (low, ds.compare(trace, list(POLICIES), cache=SIZE, device=drive(low), warmup="none"))
        for low in LOW_PAGES
    ]
    rows = [row(low, runs[k]) for k in range(len(POLICIES)) for low, runs in by_drive]
    for k, policy in enumerate(POLICIES):
        alone, *ahead = (runs[k] for _, runs in by_drive)
        assert alone["idle_writes"] is None, policy
        responses = [run["response_ns_mean"] for run in (alone, *ahead)]
        assert responses == sorted(responses, reverse=True), "more pages ahead, less to wait for"
        assert all(run["idle_writes"] > 0 for run in ahead), policy
    page = (ROOT / "benches" / "record" / "background-writer.md").read_text("utf-8").splitlines()
    found = [line for line in page if line.startswith("| `")]
    assert found == rows, "the record should read:\n" + "\n".join(rows)


def test_without_it_nothing_says_so(trace: ds.Trace) -> None:
    off = ds.compare(trace, "lru", cache=SIZE, device="small[writer=none]")
    (plain,) = ds.compare(trace, "lru", cache=SIZE, device="small")
    assert json.dumps(off[0].counters) == json.dumps(plain.counters)
    assert "idle_writes" not in plain.counters
    assert "writer" not in ds.open_device("small").record["host"]
    assert off[0]["response_ns_mean"] == plain["response_ns_mean"]


def test_the_record_of_a_drive_has_its_keys_and_a_closed_loop_keeps_them() -> None:
    host = {"mode": "open", "queue_depth": 1, "writer": "trickle", "writer_low_pages": 64}
    on = ds.open_device(ON)
    assert on.record["host"] == {**host, "writer_batch": on.size["units"]}
    closed = ds.open_device(f"{ON[:-1]};writer_batch=3]", queue_depth=4).record["host"]
    assert closed == {**host, "mode": "closed", "queue_depth": 4, "writer_batch": 3}


@pytest.mark.parametrize("key", ["writer_batch", "writer_low_pages"])
def test_its_keys_need_it(destage: Destage, tmp_path: Path, key: str) -> None:
    (tmp_path / "drive.toml").write_text(f'[device]\npreset = "small"\n[host]\n{key} = 3\n')
    for drive in (f"small[{key}=3]", f"small[writer=none;{key}=3]", tmp_path / "drive.toml"):
        with pytest.raises(ds.DestageError, match=f"{key} excludes writer = none: it needs"):
            ds.open_device(drive)
    done = destage("devices", f"small[{key}=3]")
    assert done.status == 2, done
    assert "it needs writer = trickle" in done.err, done


def test_it_is_shown_and_what_it_needs_is_said(destage: Destage, msr: Path, tmp_path: Path) -> None:
    there = (msr, "-c", "8p", "-d", ON, "--wrap", "modulo")
    wide = {"COLUMNS": "200"}
    shown = destage("compare", *there, "-p", "lru,none", env=wide)
    assert shown.status == 0, shown
    assert "idle" in shown.out.split("lru")[0]
    described = destage("devices", ON)
    assert "writes 64 pages ahead" in described.out, described
    report = destage("compare", *there, "-p", "lru", "--report", "r.html")
    assert report.status == 0, report
    assert "while units are idle" in (tmp_path / "r.html").read_text(encoding="utf-8")
    without = destage("compare", *there[:-4], "-d", "small", *there[-2:], "-p", "lru", env=wide)
    assert "idle" not in without.out
    refused = destage("compare", *there, "-p", "lru,arc")
    assert refused.status == 2, refused
    assert "writer = trickle excludes arc, which has no eviction order" in refused.err


def test_the_log_of_decisions_has_its_writes_between_those_of_accesses(tmp_path: Path) -> None:
    trace = ds.synth("oltp", requests=300, pages=200, read_ratio=0.4, seed=5)
    log = tmp_path / "d.jsonl"
    recorded = ds.run(trace, "lru", cache="60p", device=ON, warmup="none", decisions=log)
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    written = [line for line in lines if "index" not in line]
    assert len(written) == recorded.run["idle_writes"] > 0
    assert all(line.keys() == {"at_ns", "idle_write"} for line in written)
    instants = [line["at_ns"] for line in written]
    assert instants == sorted(instants)
    accesses = [line for line in lines if "index" in line]
    assert [line["index"] for line in accesses] == list(range(recorded.run["accesses"]))
    seen: set[int] = set()
    for line in lines:
        assert line.get("idle_write") in {None, *seen}, "only a page that was there is written"
        seen.add(line.get("page", line.get("idle_write")))


def test_why_counts_what_was_written_in_idle_instants() -> None:
    trace = ds.synth("oltp", requests=300, pages=200, read_ratio=0.4, seed=5)
    parting = ds.why(trace, "lru", "fifo", cache="60p", device=ON, warmup="none")
    assert parting.accesses == parting.a["accesses"] > parting.differing > 0


class Fifo(ds.Policy):
    """One that has an order, which nobody can ask it for."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.pages: dict[int, bool] = {}

    def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
        if r.page not in self.pages:
            return ds.MISS
        self.pages[r.page] |= r.is_write
        return ds.HIT

    def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        page = next(iter(self.pages))
        plan.evict(page, dirty=self.pages.pop(page))

    def admit(self, r: ds.Request, miss: Any) -> None:
        self.pages[r.page] = r.is_write


def test_a_policy_of_ones_own_is_refused_by_its_name() -> None:
    load: dict[str, Any] = {"requests": 300, "pages": 200, "read_ratio": 0.4, "seed": 5}
    trace = ds.synth("oltp", **load)
    with pytest.raises(ds.UsageError, match="excludes Fifo, which has no eviction order"):
        ds.run(trace, Fifo, cache="60p", device=ON)


class Ahead(Fifo):
    """It writes its oldest dirty page of a unit that is idle."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.units: dict[int, int | None] = {}

    def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
        self.units[r.page] = r.unit_if_dirty
        return super().request(r)

    def idle(self, unit: int, device: ds.DeviceView, plan: ds.Plan) -> None:
        assert device.backlog_ns(unit) == 0
        for page in list(self.pages)[:8]:
            if self.pages[page] and self.units[page] == unit:
                plan.open_group()
                plan.flush_and_keep(page)
                self.pages[page] = False
                return


class Leaves(Ahead):
    """It does what none may in an idle instant."""

    def idle(self, unit: int, device: ds.DeviceView, plan: ds.Plan) -> None:
        if self.pages:
            page = next(iter(self.pages))
            plan.evict(page, dirty=self.pages.pop(page))


def test_a_policy_of_ones_own_is_asked_in_idle_instants() -> None:
    load: dict[str, Any] = {"requests": 3_000, "pages": 2_000, "read_ratio": 0.4, "seed": 5}
    trace = ds.synth("oltp", **load)
    (run,) = ds.compare(trace, Ahead, cache="60p", device="small")
    (alone,) = ds.compare(trace, "fifo", cache="60p", device="small")
    assert run["idle_writes"] > 100
    assert run["evictions"] == alone["evictions"]
    assert run["dirty_victim_ratio"] < alone["dirty_victim_ratio"]
    counted = run.counters
    assert counted["physical_writes"] == counted["destaged_pages"] + counted["idle_writes"]
    # Without a device there is no such instant.
    assert ds.compare(trace, Ahead, cache="60p")[0]["idle_writes"] is None
    with pytest.raises(ds.CheckFailed, match=r"idle: page .* is evicted while there is no miss"):
        ds.run(trace, Leaves, cache="60p", device="small")
