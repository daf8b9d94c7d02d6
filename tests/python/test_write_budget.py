"""A budget of flash writes: the filter `rate` against a model of 30 lines, and the advice."""

from __future__ import annotations

import csv
import json
import re
from collections import OrderedDict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds

DAY_NS = 86_400e9
HEAD = "time_ns,device,op,offset_bytes,length_bytes,response_ns"
MASK = (1 << 64) - 1


class Rate:
    """`docs/spec/tiers.md` 5, in its letters."""

    def __init__(self, target: float, most: float, window_ns: int, h: int, seed: int) -> None:
        self.T, self.M, self.W, self.h, self.seed = target, most, window_ns, h, seed
        self.t0, self.j, self.p, self.L = None, 0, 1.0, min(target, most)
        self.o = self.w = self.n = self.B = self.capped = 0

    def unit(self) -> float:
        self.seed = (self.seed + 0x9E3779B97F4A7C15) & MASK
        z = ((self.seed ^ (self.seed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) / (1 << 53)

    def arrives(self, now: int) -> None:
        self.t0 = now if self.t0 is None else self.t0
        k = (now - self.t0) // self.W
        if k > self.j:
            r = (self.T * (k + self.h) - self.B) / self.h
            if self.o:
                self.p = min(max((r - self.w) / self.o, 0.0), 1.0)
            self.j, self.L, self.o, self.w, self.n = k, min(r, self.M), 0, 0, 0

    def takes(self) -> bool:
        self.o += 1
        drawn = self.unit() < self.p
        over = drawn and self.n + 1 > self.L
        self.capped += over
        self.n, self.B = self.n + (drawn and not over), self.B + (drawn and not over)
        return drawn and not over


def flash_alone(requests: list[tuple[int, str, int]], frames: int, rate: Rate) -> dict[str, int]:
    """A cache on flash alone under LRU: the counts of `docs/spec/tiers.md` 4.6."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = writes = admitted = drops = 0
    for now, op, page in requests:
        rate.arrives(now)
        if page in cache:
            cache.move_to_end(page)
            hits += op == "r"
            if op == "w" and rate.takes():
                writes += 1
            elif op == "w":
                del cache[page]
                drops += 1
        elif rate.takes():
            admitted, writes = admitted + 1, writes + 1
            cache[page] = None
            if len(cache) > frames:
                cache.popitem(last=False)
    found = {"tier2_hits": hits, "tier2_writes": writes, "admitted": admitted, "tier2_drops": drops}
    return {**found, "offers_capped": rate.capped}


def bursts(path: Path, count: int, seed: int) -> tuple[Path, list[tuple[int, str, int]]]:
    """Single-page requests in bursts, with quiet times between them."""
    import random

    draw, now, rows = random.Random(seed), 10**9, []
    for k in range(count):
        now += draw.randrange(1, 2_000_000) if k % 400 else draw.randrange(10**9)
        page = int(draw.random() ** 3 * 3000)
        rows.append((now, "w" if draw.random() < 0.2 else "r", page))
    ops = {"r": "read", "w": "write"}
    lines = [f"{at},0,{ops[op]},{page * 4096},4096," for at, op, page in rows]
    path.write_text(f"{HEAD}\n" + "\n".join(lines) + "\n")
    return path, [(at - rows[0][0], op, page) for at, op, page in rows]


@pytest.mark.parametrize(
    ("given", "most"),
    [("", None), (";catch_up=3;seed=7", None), (";max_bytes_per_day={most}", 1.5)],
)
@pytest.mark.parametrize("share", [0.02, 0.2, 0.8])
def test_the_filter_is_the_model_of_thirty_lines(
    tmp_path: Path, given: str, most: float | None, share: float
) -> None:
    path, rows = bursts(tmp_path / "t.csv", 20_000, 3)
    window, span = 250_000_000, rows[-1][0] - rows[0][0]
    target = round(share * len(rows) * 4096 / span * DAY_NS)
    largest = round((most or 1) * target)
    admit = f"rate[bytes_per_day={target};window=250ms{given.format(most=largest)}]"
    trace = ds.open_trace(path)
    (run,) = ds.compare(trace, "none", tier2="lru", tier2_cache="500p", admit=admit, warmup="none")
    a_window = window / DAY_NS
    seed, h = (7, 3) if "seed" in given else (1, 1)
    limit = largest / 4096 * a_window if most else float("inf")
    model = Rate(target / 4096 * a_window, limit, window, h, seed)
    expected = flash_alone(rows, 500, model)
    assert {key: run.tiers[key] for key in expected} == expected
    # Over all windows the budget is met, unless the offers do not suffice.
    written = run["tier2_writes"] / (target / 4096 * span / DAY_NS)
    assert written <= 1.02
    if share == 0.2 and most is None:
        assert written == pytest.approx(1, abs=0.02)
    if most:
        assert run["offers_capped"] > 0


def test_both_filters_in_time_work_above_dram_prompts_and_devices(tmp_path: Path) -> None:
    path, _ = bursts(tmp_path / "t.csv", 4_000, 5)
    trace = ds.open_trace(path)
    how: dict[str, Any] = {"tier2": "lru", "tier2_cache": "300p", "warmup": "none"}
    admit = "rate[bytes_per_day=20GB;window=100ms],reject-first[window=500ms],reject-first"
    runs = ds.compare(trace, "lru", cache="50p", admit=admit, **how)
    behind = ds.compare(trace, "lru", cache="50p", device="small", admit=admit, **how)
    closed = ds.compare(
        trace, "lru", cache="50p", device="small", queue_depth=4, admit=admit, **how
    )
    for other in (behind, closed):
        assert [run.tiers for run in other] == [run.tiers for run in runs], "decisions are the same"
    short, long = runs[1], runs[2]
    assert 0 < short["admitted"] < long["admitted"] < long["offers"]
    rate = runs[0]
    bytes_per_day = rate["tier2_written_bytes"] / rate.measured["arrivals_ns"] * DAY_NS
    assert bytes_per_day == pytest.approx(20e9, rel=0.05)


def test_prompts_have_a_write_budget_too(tmp_path: Path) -> None:
    path = tmp_path / "kv.jsonl"
    lines = [
        {"timestamp": 50 * k, "input_length": 1536, "hash_ids": [k % 41, 100 + k % 97, 300 + k]}
        for k in range(2_000)
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    trace = ds.open_trace(path, block_bytes=4096)
    found = ds.advise_writes(
        trace, "500MB/day", policies="lru", cache="20p", kv=True, tier2="lru", tier2_cache="100p"
    )
    assert found.is_kept
    admit = "rate[bytes_per_day=500000000;window=499ms]"
    (rate,) = (p for p in found.points if p.run["admit"] == admit)
    (always,) = (p for p in found.points if p.run["admit"] == "always")
    assert 0 < rate.bytes_per_day <= 500e6 * 1.01 < always.bytes_per_day
    assert found.chosen.hits == max(p.hits for p in found.points if p.bytes_per_day <= 500e6)


def test_a_trace_without_times_and_wrong_parameters_are_refused(
    destage: Destage, tmp_path: Path
) -> None:
    path = tmp_path / "t.lis"
    path.write_text("".join(f"{k} 1 0 {k}\n" for k in range(40)))
    tier2 = ("-p", "none", "--tier2", "lru", "--tier2-cache", "1p", "--admit")
    for admit, said in [
        ("rate[bytes_per_day=1GB]", "admit=rate needs arrival times, and the trace has none, or"),
        ("reject-first", "admit=reject-first needs arrival times"),
        ("rate", "rate: bytes_per_day is missing: expected an amount such as 300GB, as in"),
        ("rate[bytes_per_day=fast]", 'rate: bytes_per_day = "fast": expected an amount such as'),
        ("rate[bytes_per_day=1GB;window=60]", "window = 60: expected a duration such as 60s"),
    ]:
        done = destage("compare", path, *tier2, admit)
        assert done.status == 2, done.out
        assert said in done.err
    done = destage("compare", path, *tier2, "always", "--promote", "move")
    assert "tier 1 none excludes promote = move" in done.err
    done = destage("advise", path, "--budget-writes", "1GB/day")
    assert (done.status, "has no times" in done.err) == (65, True), done.err


FILTERS = "always,nth,larc,reject-first[window=2s]," + ",".join(
    f"probability[p={p}]" for p in (0.03, 0.08, 0.2, 0.3, 0.6, 0.9)
)


@pytest.fixture(scope="module")
def advice(tmp_path_factory: pytest.TempPathFactory) -> tuple[ds.Trace, ds.BudgetAdvice]:
    path, _ = bursts(tmp_path_factory.mktemp("budget") / "t.csv", 12_000, 9)
    trace = ds.open_trace(path)
    rates = ",".join(f"rate[bytes_per_day={gb}GB;window=250ms]" for gb in (60, 58, 55))
    how: dict[str, Any] = {"tier2_cache": "400p", "admit": f"{FILTERS},{rates}", "warmup": "50%"}
    budget = "60GB/day"
    return trace, ds.advise_writes(trace, budget, tier2="lru,s3-fifo", price="tbw=100TB", **how)


def test_no_point_of_an_exhaustive_sweep_beats_the_advice(
    advice: tuple[ds.Trace, ds.BudgetAdvice],
) -> None:
    trace, found = advice
    sweep = ds.compare(
        trace,
        "none",
        tier2="lru,s3-fifo",
        tier2_cache="400p",
        admit=FILTERS,
        warmup="50%",
    )
    assert found.is_kept
    assert found.chosen.run.tiers["tier2_writes"] < max(run["tier2_writes"] for run in sweep)
    inside = 0
    for run in sweep:
        per_day = run["tier2_written_bytes"] / run.measured["arrivals_ns"] * DAY_NS
        if per_day <= 60e9:
            inside += 1
            assert run["overall_hit_ratio"] <= found.chosen.hits, run.label
    assert inside >= 2


def test_the_front_has_more_hits_only_with_more_writes(
    advice: tuple[ds.Trace, ds.BudgetAdvice],
) -> None:
    _, found = advice
    for low, high in pairwise(found.front):
        assert low.bytes_per_day < high.bytes_per_day
        assert low.hits < high.hits
    for point in found.points:
        assert any(
            one.hits >= point.hits and one.bytes_per_day <= point.bytes_per_day
            for one in found.front
        )
    assert found.chosen in found.front
    rows = found.to_dicts()
    assert sum(row["advised"] for row in rows) == 1
    mine = next(row for row in rows if row["advised"])
    assert mine["life_years"] == pytest.approx(
        100e12 / mine["written_bytes_per_day"] / 365.25, rel=1e-9
    )
    known = [row for row in rows if row["hits_from_advised_low"] is not None]
    assert all(row["hits_from_advised_low"] <= row["hits_from_advised_high"] for row in known)
    assert known, "intervals"


def test_pages_still_dirty_in_dram_are_named(tmp_path: Path) -> None:
    trace = ds.open_trace(bursts(tmp_path / "t.csv", 2_000, 2)[0])
    asked = {"tier2": "lru", "tier2_cache": "200p", "admit": "always", "warmup": "none"}
    above = ds.advise_writes(trace, "1TB/day", policies="lru", cache="40p", **asked)
    tiers = above.chosen.run.tiers
    assert tiers is not None
    assert tiers["pending_tier1"] > 0
    note = f"without {tiers['pending_tier1']} pages of the advice still dirty in DRAM at the end"
    assert note in above.text()
    assert "still dirty" not in ds.advise_writes(trace, "1TB/day", **asked).text()


def test_the_command_prints_and_draws_the_curve(destage: Destage, tmp_path: Path) -> None:
    path, _ = bursts(tmp_path / "t.csv", 3_000, 2)
    files = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "html")}
    done = destage(
        *("advise", path, "--budget-writes", "0.001dwpd", "-d", "small", "--pe-cycles", "3000"),
        *("--tier2", "lru", "--tier2-cache", "200p", "--warmup", "none"),
        *("--json", files["json"], "--csv", files["csv"], "-o", files["html"]),
        *("--figures", tmp_path / "figures"),
    )
    assert done.status == 0, done.err
    assert "The most hits within 17.2 MB a day" in done.out or "No run is within" in done.out
    said = json.loads(files["json"].read_text())
    assert said["budget"]["bytes_per_day"] == pytest.approx(0.001 * 16 * 2**30)
    assert said["endurance_bytes"] == 3000 * 20_220_739_584
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {
        *(".svg", ".pdf", ".png", ".csv")
    }
    drawn = (tmp_path / "figures" / "write_budget.svg").read_text()
    assert "Life of the SSD" in drawn
    assert not re.search(r">[0-9.]+e[+-]?[0-9]+<", drawn), "years are written out"
    with (tmp_path / "figures" / "write_budget.csv").open() as rows:
        bounds = [float(r[k]) for r in csv.DictReader(rows) for k in ("low", "high") if r[k]]
    assert bounds
    assert all(0 <= bound <= 100 for bound in bounds)
    assert "Hits over writes" in files["html"].read_text()
    for wrong, reason in [
        (("--budget-writes", "0.3dwpd"), "add --device"),
        (("--budget-writes", "300GB"), "such as 300GB/day or 0.3dwpd"),
        (("--budget-writes", "0GB/day"), "such as 300GB/day"),
        (("--budget-writes", "1GB/day", "--objective", "hit"), "excludes --objective"),
        (("--budget-writes", "1GB/day", "-c", "1MiB"), "add --policy"),
        (("--figures", tmp_path / "f"), "needs --budget-writes"),
    ]:
        done = destage("advise", path, *wrong)
        assert done.status == 2
        assert reason in done.err


def test_dram_is_above_the_flash_tier_that_there_is_by_default(
    destage: Destage, tmp_path: Path
) -> None:
    path, _ = bursts(tmp_path / "t.csv", 1_500, 2)
    asked = ("advise", path, "--budget-writes", "1GB/day", "--admit", "always", "--warmup", "none")
    done = destage(*asked, "--tier2-cache", "100p", "-p", "lru", "-c", "20p")
    assert done.status == 0, done.err
    assert "lru 80 KiB over " in done.out
    wrong = destage(*asked, "-p", "lru", "-c", "20p", "--tier2-clean", "wb")
    assert wrong.status == 2
    assert "unknown write-back" in wrong.err


def test_a_row_of_a_sweep_is_named_as_its_run(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    requests = (f"{k * 1000},d,read,{4096 * (k * k % 17)},4096," for k in range(60))
    path.write_text("\n".join([HEAD, *requests]) + "\n")
    admit = ["rate[bytes_per_day=300GB;window=1ms]", " nth[n=3]"]
    tiers = {"tier2": ["lru"], "tier2_cache": ["5p"], "admit": admit}
    grid = {"traces": [{"path": str(path)}], "policies": ["lru"], "cache": ["3p"], **tiers}
    ds.sweep({"sweep": grid}, tmp_path / "store")
    kept = ds.load_results(tmp_path / "store")
    named = {f"lru over lru 5p, admit {one.strip()}" for one in admit}
    assert {run.label for run in kept} == named
    assert {row["label"] for row in kept.to_dicts()} == named
