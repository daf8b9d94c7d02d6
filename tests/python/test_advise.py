"""`advise`: what it says is what the whole table says, and what it does not know it says too."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Destage

import destage as ds
from destage.model.prices import YEAR_NS
from destage.questions.advice.running import ALIKE

#: Filled once for all tests.
DRIVE = ds.open_device("small")
GRID = ["2%", "5%", "10%", "20%", "40%"]
POLICIES = "lru,arc,cflru,s3-fifo,lirs"

#: Objectives: the column of the table, and which way is better.
COLUMNS = {
    "hit": ("hit_ratio", True),
    "writes": ("flash_writes", False),
    "mean": ("response_ns_mean", False),
    "p99": ("response_ns_p99", False),
    "erases": ("erases", False),
    "waf": ("waf", False),
}


def synthetic(kind: str, **more: object) -> ds.Trace:
    given = {"requests": 6_000, "pages": 1_500, "read_ratio": 0.5, "seed": 7, "page_size": 4096}
    return ds.synth(kind, **(given | more))


def own_trace() -> ds.Trace:
    """The first requests of our own recording; skips, and says so, where it is not."""
    folders = [os.environ.get("DESTAGE_TRACES"), ROOT.parent / "shared" / "traces"]
    for folder in folders:
        path = Path(folder or "/nowhere") / "own" / "pgtpcb.csv.xz"
        if path.exists():
            return ds.open_trace(path, requests=5_000, device=DRIVE)
    pytest.skip("traces/own/pgtpcb.csv.xz is not here (DESTAGE_TRACES)")


TRACES = {
    "zipf": lambda: synthetic("zipf"),
    "steep": lambda: synthetic("zipf", alpha=1.3, read_ratio=0.8, seed=3),
    "scan": lambda: synthetic("scan", seed=5),
    "loop": lambda: synthetic("loop", loop_pages=500, seed=2),
    "oltp": lambda: synthetic("oltp", seed=9),
    "shipped": lambda: ds.open_trace(
        ROOT / "python/destage/data/pgtpcb_first400k.csv.xz", requests=5_000, device=DRIVE
    ),
    "own": own_trace,
}


def put_off(row: dict[str, object], runs: ds.Results, k: int) -> float:
    """Share of the flash writes that no request waited for: pending, or flushed at the end."""
    run = runs[k]
    flushed = run.counters.get("end_flushes") or 0
    return float(run["pending_write_ratio"] or 0) + (flushed / run.writes if run.writes else 0.0)


def by_the_table(
    results: ds.Results, name: str, within: float
) -> tuple[int, str, dict[tuple[int, str], float]]:
    """The choice, from the rows of `compare` alone, by the rule in docs/reference/advise.md."""
    column, largest = COLUMNS[name]
    judged: dict[tuple[int, str], float] = {}
    for k, row in enumerate(results.to_dicts()):
        value = row[column]
        if value is None or results[k].cache_not_full:
            continue
        share = put_off(row, results, k) if "response" in column else 0.0
        if column in ("erases", "waf"):
            share = float(results[k]["pending_write_ratio"] or 0)
            if share > 0.05:
                continue
        judged[(row["frames"], row["label"])] = value / (1 - share)
    top = max(judged.values()) if largest else min(judged.values())
    near = {
        at: v
        for at, v in judged.items()
        if (v >= top * (1 - within) if largest else v <= top * (1 + within))
    }
    least = min(frames for frames, _ in near)
    here = {label: v for (frames, label), v in near.items() if frames == least}
    order = [r.label for r in results if r.frames == least and r.label in here]
    best = (max if largest else min)(here.values())
    return least, next(label for label in order if here[label] == best), judged


@pytest.mark.parametrize("name", TRACES)
def test_without_a_drive_the_choice_is_that_of_the_whole_table(name: str) -> None:
    trace = TRACES[name]()
    table = ds.compare(trace, POLICIES, cache=GRID)
    for objective, within in (("hit", 0.02), ("hit", 0.1), ("writes", 0.0), ("writes", 0.1)):
        advice = ds.advise(trace, objective, policies=POLICIES, cache=GRID, within=within)
        frames, label, judged = by_the_table(table, objective, within)
        assert (advice.run.frames, advice.run.label) == (frames, label), (objective, within)
        for point in advice.choices[0].curve:
            assert judged[(point.run.frames, point.run.label)] == point.judged


@pytest.mark.parametrize("name", ["zipf", "shipped", "own"])
def test_in_front_of_a_drive_too(name: str) -> None:
    trace = TRACES[name]()
    given: Any = {"cache": GRID[1:4], "device": DRIVE}
    # Sizes are compared with each other: all are measured from one request.
    start = ds.advise(trace, "mean", seeds=1, policies="lru", **given).run.warmup_requests
    plain = ds.compare(trace, "lru,cflru,ecr", warmup=f"{start}r", **given)
    given_none = given | {"warmup": "none"}
    flushed = ds.compare(trace, "lru,cflru,ecr", flush_at_end=True, **given_none)
    for objectives, table in (("mean,p99", plain), ("erases,waf", flushed)):
        where = given_none if table is flushed else given
        advice = ds.advise(trace, objectives, seeds=1, policies="lru,cflru,ecr", **where)
        for choice in advice.choices:
            frames, label, _ = by_the_table(table, choice.goal.name, 0.02)
            assert (choice.run.frames, choice.run.label) == (frames, label), choice.goal.name
        said = any("flushed at the end" in note for note in advice.notes)
        assert said == (table is flushed)


def test_every_thread_count_gives_the_same_bytes() -> None:
    trace = synthetic("zipf", requests=4_000)
    made = [
        ds.advise(
            trace,
            "mean,waf",
            policies="lru,hyperbolic,arc",
            cache="5%,20%",
            device=DRIVE,
            pe_cycles=3000,
            jobs=jobs,
        )
        for jobs in (1, 2)
    ]
    assert made[0].to_json() == made[1].to_json()
    assert made[0].text() == made[1].text()


def test_between_the_sizes_of_the_curve_smaller_ones_are_tried() -> None:
    trace = synthetic("zipf")
    advice = ds.advise(trace, "hit", policies="lru,arc", budget="30%")
    choice = advice.choices[0]
    sizes = [point.run.frames for point in choice.curve]
    place = sizes.index(choice.run.frames)
    assert place > 0
    assert not choice.curve[place - 1].near
    assert sizes[-1] == round(0.3 * trace.unique_pages)
    ratios = [b / a for a, b in itertools.pairwise(sizes)]
    # Closer than the eight sizes of `auto` are.
    assert ratios[place - 1] < (0.5 / 0.001) ** (1 / 7) ** 1.0 / 1.5
    assert sorted(r.frames for r in advice.results if r.label == "lru") == sizes


def test_what_is_put_off_is_judged_as_if_it_had_cost_as_much() -> None:
    # Everything fits: nothing is written before the end, and every write is fast.
    trace = synthetic("zipf", requests=6_000, pages=1_500, read_ratio=0.2)
    given: Any = {"policies": "lru", "cache": "5%,20%,100%", "seeds": 1, "warmup": "none"}
    advice = ds.advise(trace, "mean", device=DRIVE, **given)
    choice = advice.choices[0]
    large = next(r for r in advice.candidates if r.frames == trace.unique_pages)
    assert choice.goal.put_off(large) == 1.0
    assert choice.goal.judged(large) is None
    assert large in choice.skipped
    assert choice.plain is large
    assert choice.run is not large
    assert any("if they were free, lru with" in note for note in advice.notes)
    assert any("not judged" in note for note in advice.notes)


def test_a_front_has_what_no_run_beats_and_nothing_else() -> None:
    trace = synthetic("zipf")
    advice = ds.advise(trace, "hit,writes", policies=POLICIES, cache=GRID)
    both = [(r, -r.hit_ratio, r.writes) for r in advice.candidates]
    front = [
        (a, b)
        for _, a, b in both
        if not any(c <= a and d <= b and (c < a or d < b) for _, c, d in both)
    ]
    found = [(-r.hit_ratio, r.writes) for r in advice.front]
    assert found == sorted(set(front))
    assert [c.goal.name for c in advice.choices] == ["hit", "writes"]
    near = [
        r
        for r in advice.candidates
        if all(
            c.goal.near(c.goal.judged(r), c.goal.judged(c.best), advice.within)
            for c in advice.choices
        )
    ]
    assert (advice.joint is None) == (not near)
    if near:
        assert advice.joint.frames == min(r.frames for r in near)
        assert advice.run is advice.joint


def test_the_parts_of_the_trace_add_up_to_the_whole() -> None:
    trace = synthetic("zipf")
    advice = ds.advise(trace, "hit", policies="lru,arc,lirs", cache="10%")
    rival = advice.choices[0].rival
    assert len(rival.parts) == 5
    for k, run in enumerate((advice.run, rival.run)):
        # One page a request: parts of equal requests weigh the same.
        mean = sum(pair[k] for pair in rival.parts) / 5
        assert mean == pytest.approx(run.hit_ratio, abs=1e-9)
    low, high = rival.interval
    assert low <= advice.run.hit_ratio - rival.run.hit_ratio <= high
    assert rival.significant == (low > 0 or high < 0)
    assert rival.ahead(largest=True) == sum(a > b for a, b in rival.parts)


def test_what_is_drawn_is_drawn_again() -> None:
    trace = synthetic("zipf", requests=6_000)
    advice = ds.advise(trace, "hit", policies="hyperbolic,lru", cache="10%", seeds=4)
    rival = advice.choices[0].rival
    assert rival.seeds_of == "hyperbolic"
    assert len(rival.seeds) == 4
    drawn = 0 if advice.run.label == "hyperbolic" else 1
    expected = [
        ds.compare(trace, ("hyperbolic", {"seed": seed}), cache="10%")[0].hit_ratio
        for seed in range(1, 5)
    ]
    assert [pair[drawn] for pair in rival.seeds] == expected
    assert len({pair[1 - drawn] for pair in rival.seeds}) == 1
    assert len(set(expected)) > 1
    once = ds.advise(trace, "hit", policies="hyperbolic,lru", cache="10%", seeds=1)
    assert "was run (--seeds runs more)" in once.text(explain=True)
    none = ds.advise(trace, "hit", policies="lru,fifo", cache="10%")
    assert "Both policies are deterministic." in none.text(explain=True)


def test_a_drive_that_was_filled_at_random_is_filled_again() -> None:
    trace = synthetic("zipf", requests=3_000)
    advice = ds.advise(trace, "mean", policies="lru,fifo", cache="5%", device=DRIVE, seeds=2)
    rival = advice.choices[0].rival
    assert rival.seeds_of == "the preconditioning"
    other = ds.compare(trace, advice.run.label, cache="5%", device="small[precondition_seed=2]")[0]
    counted = [advice.goals[0].judged(run) for run in (advice.run, other)]
    assert [a for a, _ in rival.seeds] == counted


def test_what_another_choice_costs_is_what_the_table_says() -> None:
    trace = synthetic("zipf")
    advice = ds.advise(trace, "hit", policies="fifo,arc,lirs", cache=GRID)
    wrong = {w.what: w for w in advice.choices[0].wrong}
    mine = advice.run
    here = list(ds.compare(trace, "fifo,arc,lirs", cache=f"{mine.frames}p"))
    worst = min(here, key=lambda r: r.hit_ratio)
    assert wrong["the worst"].run.label == worst.label
    assert wrong["the worst"].worse_by == pytest.approx(1 - worst.hit_ratio / mine.hit_ratio)
    lru = ds.compare(trace, "lru", cache=f"{mine.frames}p")[0]
    assert wrong["the usual"].run.hit_ratio == lru.hit_ratio
    # Every policy that ran is a candidate.
    assert "lru" in {r.label for r in advice.candidates}


def test_each_system_has_its_nearest_policy_at_the_size_that_it_takes() -> None:
    trace = synthetic("zipf", requests=20_000, pages=9_000)
    advice = ds.advise(trace, "hit", policies="arc,lirs", cache="20%", force=True)
    systems = {s.system.name for s in advice.settings}
    assert systems == {"dm-cache", "Open-CAS", "bcache", "ZFS ARC", "ZFS L2ARC", "PostgreSQL"}
    for setting in advice.settings:
        system = setting.system
        assert setting.size_bytes >= max(advice.run.cache_bytes, system.least_bytes)
        assert setting.size_bytes % system.unit_bytes == 0
        assert system.source
        assert system.lacks
        if system.writer:
            assert setting.run is None
            assert "needs a device (--device)" in setting.why_not
            continue
        frames = min(setting.size_bytes // 4096, trace.unique_pages)
        if frames <= ALIKE * advice.run.frames:
            frames = advice.run.frames
        run = ds.compare(trace, system.policy, cache=f"{frames}p")[0]
        assert setting.run.metrics == run.metrics
        if system.reads_only:
            # A ring that never holds dirty data says nothing of hits of writes.
            assert setting.values == (None,)
        else:
            assert setting.values == (run.hit_ratio,)
            far = 1 - run.hit_ratio / advice.choices[0].best_value
            assert setting.worse_by[0] == pytest.approx(far)
    typed = {s.system.name: s.typed for s in advice.settings}
    pg = next(s for s in advice.settings if s.system.name == "PostgreSQL")
    more = f"{pg.size_bytes >> 10}kB"
    assert f"'<present shared_buffers + {more}>'" in typed["PostgreSQL"]
    assert "cachepolicy smq" in typed["dm-cache"]


def test_in_front_of_a_drive_those_that_write_ahead_do() -> None:
    trace = synthetic("zipf", requests=3_000)
    advice = ds.advise(trace, "mean", policies="lru", cache="10%", device=DRIVE, seeds=1)
    ahead = [s for s in advice.settings if s.system.writer]
    assert {s.system.policy for s in ahead} == {"lru", "clock-sweep"}
    pg = next(s for s in ahead if s.system.name == "PostgreSQL")
    run = ds.compare(
        trace, "clock-sweep", cache=f"{pg.run.frames}p", device="small[writer=trickle]"
    )[0]
    assert pg.run["idle_writes"] == run["idle_writes"] > 0
    assert pg.values == (run.response_ns_mean,)


def test_dollars_are_those_of_the_formula() -> None:
    trace = synthetic("zipf", requests=5_000)
    price = "dram=4/GiB,tbw=2TB,device=80,years=4"
    advice = ds.advise(
        trace, "cost", policies="lru,arc", cache="5%,20%", device=DRIVE, price=price, seeds=1
    )
    start = f"{advice.run.warmup_requests}r"
    measured = ds.compare(trace, "lru,arc", cache="5%,20%", device=DRIVE, warmup=start)
    for run in advice.candidates:
        (alone,) = (r for r in measured if (r.label, r.frames) == (run.label, run.frames))
        span = alone.timing["counters"]["makespan_ns"]
        written = alone["flash_writes"] * 4096
        expected = 4 * alone.cache_bytes / 2**30 / 4 + 80 * written / 2e12 * YEAR_NS / span
        assert advice.choices[0].goal.value(run) == pytest.approx(expected, rel=1e-12)
    by_blocks = ds.advise(
        *(trace, "cost"),
        policies="lru,arc", cache="5%,20%", device=DRIVE, price="dram=4/GiB", pe_cycles=1000,
        seeds=1,
    )  # fmt: skip
    goal = by_blocks.choices[0].goal
    for run in by_blocks.candidates:
        worn = 0 if run.life.years is None else 1 / run.life.years
        assert goal.value(run) == pytest.approx(
            4 * run.cache_bytes / 2**30 / 5 + 0.10 * 16 * worn, rel=1e-12
        )
    assert any("assumed: $0.10 a GiB" in note for note in by_blocks.notes)
    (other,) = (n for n in by_blocks.notes if "at half the price" in n)
    for k, drive in enumerate(("device=0.05/GiB", "device=0.2/GiB")):
        there = ds.advise(
            *(trace, "cost"),
            policies="lru,arc", cache="5%,20%", device=DRIVE, price=f"dram=4/GiB,{drive}",
            pe_cycles=1000, seeds=1,
        ).run  # fmt: skip
        same = (there.label, there.frames) == (by_blocks.run.label, by_blocks.run.frames)
        assert ("the same" if same else f"of {there.label}") in other.split(", ")[k]
    assert not any("assumed" in note for note in advice.notes)


def test_wear_that_is_not_in_the_cost_is_said() -> None:
    asked = {"policies": "lru,arc", "cache": "50%", "device": DRIVE, "seeds": 1}
    trace = synthetic("zipf", requests=60)
    advice = ds.advise(trace, "cost", price="dram=4/GiB", pe_cycles=1000, **asked)
    assert [run.life.years for run in advice.candidates] == [None, None]
    note = "cost: in 2 runs of 2 nothing was erased, so their cost has no wear"
    assert any(one.startswith(note) for one in advice.notes)
    rated = ds.advise(trace, "cost", price="dram=4/GiB,tbw=2TB", **asked)
    assert not any("no wear" in one for one in rated.notes)


def test_the_life_of_a_drive_is_told_where_it_can_be() -> None:
    trace = synthetic("zipf", requests=5_000)
    where = {"policies": "lru", "cache": "10%", "seeds": 1}
    advice = ds.advise(trace, "mean", device=DRIVE, pe_cycles=1000, **where)
    run = ds.compare(trace, "lru", cache="10%", device=DRIVE).enduring(1000)[0]
    assert advice.run.life == run.life
    said = advice.life_said
    assert "by 1,000 erases a block" in said or "nothing was erased" in said
    assert "less than a day" in said
    rated = ds.advise(trace, "mean", device=DRIVE, price="tbw=1TB", **where)
    years = 1e12 / (run.writes * 4096) * run.timing["counters"]["makespan_ns"] / YEAR_NS
    assert (years < 1) == (" days by its rating of 1 TB" in rated.life_said)
    silent = {
        "there is no device": ds.advise(trace, "hit", **where),
        "no endurance is given": ds.advise(trace, "mean", device=DRIVE, **where),
        "a closed loop has no arrival rate": ds.advise(
            trace, "mean", device=DRIVE, queue_depth=4, pe_cycles=9, **where
        ),
    }
    for why, one in silent.items():
        assert one.life_said.startswith("No device lifetime")
        assert why in one.life_said
        assert not any(c.isdigit() for c in one.life_said)


def test_finalists_are_named_and_so_are_those_left_out() -> None:
    trace = synthetic("zipf", requests=3_000)
    advice = ds.advise(
        trace, "mean", policies="hyperbolic,lru,arc,ecr", cache="3%,5%,10%,20%", device=DRIVE,
        finalists=2, seeds=1,
    )  # fmt: skip
    left = advice.ran.screened
    assert len(left) == 2
    # Those that ran at a few sizes alone are candidates there.
    assert {r.label for r in advice.candidates} == {"hyperbolic", "lru", "arc", "ecr"}
    sizes = {label: {r.frames for r in advice.candidates if r.label == label} for label in left}
    assert all(len(found) == 3 for found in sizes.values())
    assert any(left[0] in note and "run at a few sizes only" in note for note in advice.notes)


class Mine(ds.ListPolicy):
    """LRU, written with the building blocks."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.pages = self.new_list()


def test_a_policy_of_ones_own_may_be_advised() -> None:
    trace = synthetic("zipf", requests=3_000)
    advice = ds.advise(trace, "hit", policies=[Mine, "fifo"], cache="10%")
    assert {r.label for r in advice.candidates} == {"Mine", "fifo", "lru"}
    lru = next(r for r in advice.results if r.label == "lru")
    mine = next(r for r in advice.results if r.label == "Mine")
    assert mine.hit_ratio == lru.hit_ratio


def test_nobody_who_knows_the_future_is_advised() -> None:
    trace = synthetic("zipf", requests=3_000)
    advice = ds.advise(trace, "hit", policies="min,lru,fifo", cache="10%")
    assert {r.label for r in advice.candidates} == {"lru", "fifo"}
    with pytest.raises(ds.UsageError, match="nothing to advise"):
        ds.advise(trace, "hit", policies="min", cache="10%")


#: What cannot be, and the words of its sentence.
WRONG: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (["--objective", "p98"], ["unknown objective 'p98'", "did you mean p9"]),
    (["--objective", "hits,hit"], ["unknown objective 'hits'", "did you mean hit?"]),
    (["--objective", "costs", "-d", "small"], ["unknown objective 'costs', did you mean cost?"]),
    (["--objective", "hit,hit_ratio"], ["objective hit_ratio: it is given twice"]),
    (["--objective", ","], ["objective: expected at least one"]),
    (["--objective", "p99"], ["objective p99", "needs --device"]),
    (["--objective", "cost"], ["objective cost", "needs --device"]),
    (["--objective", "waf"], ["objective waf", "needs --device"]),
    (["--objective", "cost", "-d", "small"], ["what memory costs is not given"]),
    (["--objective", "cost", "-d", "small", "--price", "dram=3/GiB"], ["endurance is not given"]),
    (
        [
            *("--objective", "cost", "-d", "small", "--queue-depth", "4"),
            *("--price", "dram=3/GiB,tbw=1TB"),
        ],
        ["objective cost: in a closed loop"],
    ),
    (["--budget", "1KiB"], ["1KiB"]),
    (["--budget", "0p"], ["0p"]),
    (["--budget", "auto"], ["budget: expected one size"]),
    (["--budget", "1MiB,2MiB"], ["budget: expected one size"]),
    (["--budget", "lots"], ["lots"]),
    (["--budget", "4p", "-c", "8p"], ["is above the budget of"]),
    (["-c", "1GiB"], ["nothing ever leaves a cache that large"]),
    (["--within", "100%"], ["within: expected a share", "100%"]),
    (["--within", "-1%"], ["within: expected a share"]),
    (["--within", "near"], ["within: expected a share", "'near'"]),
    (["--price", "ram=3/GiB"], ["price: unknown key 'ram'", "did you mean dram?"]),
    (["--price", "dram=3"], ["price: dram: expected a value such as dram=3.0/GiB, got '3'"]),
    (["--price", "dram=-3/GiB"], ["price: dram: expected a number above 0"]),
    (["--price", "dram=nan/GiB"], ["price: dram: expected a number above 0"]),
    (["--price", "tbw=600"], ["price: tbw: expected a value such as tbw=600TB, got '600'"]),
    (["--price", "tbw=TB"], ["price: tbw: expected a value such as tbw=600TB"]),
    (["--price", "device=0"], ["price: device: expected a number above 0"]),
    (["--price", "years="], ["price: years: expected a value such as years=5"]),
    (["--price", "dram=3/GiB,dram=4/GiB"], ["price: dram is given twice"]),
    (["--pe-cycles", "10"], ["--pe-cycles needs --device"]),
    (["--now", "shared_bufers=1GB"], ["now: unknown setting", "did you mean shared_buffers?"]),
    (["--now", "shared_buffers=much"], ["now: shared_buffers: expected a size such as 16GB"]),
    (["--objective", "iops", "-d", "small"], ["objective iops", "add --queue-depth"]),
    (["--seeds", "0"], ["seeds: expected a whole number from 1"]),
    (["--finalists", "0"], ["finalists: expected a whole number from 1"]),
    (["-p", "nonsense"], ["nonsense"]),
)  # fmt: skip


@pytest.mark.parametrize(("flags", "parts"), WRONG, ids=lambda words: " ".join(words))
def test_what_cannot_be_is_said_in_one_sentence(
    flags: Sequence[str],
    parts: Sequence[str],
    msr: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    from destage.cli import invoke

    status = invoke(["advise", str(msr), "-q", *flags])
    out, err = capfd.readouterr()
    assert status == 2, err
    messages = [line for line in err.splitlines() if line.startswith("destage: ")]
    assert len(messages) == 1, err
    assert out == ""
    for part in parts:
        assert part in err


def test_traces_that_say_nothing_of_an_objective_are_refused(
    destage: Destage, tmp_path: Path
) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    assert destage("advise", "empty.csv", "-q").status == 65
    reads = ds.synth("zipf", requests=500, pages=100, read_ratio=1.0, seed=1, page_size=4096)
    for objective in ("waf", "erases", "writes"):
        with pytest.raises(ds.UsageError, match="has no writes"):
            ds.advise(reads, objective, device=DRIVE, cache="10%")
    assert ds.advise(reads, "mean", device=DRIVE, cache="10%", policies="lru,fifo").run
    at_once = "".join(f"128166372003061629,h,0,Read,{4096 * (k % 50)},4096,0\n" for k in range(400))
    (tmp_path / "still.csv").write_text(at_once)
    still = ("-d", "small", "--objective", "cost", "--price", "dram=3/GiB,tbw=1TB")
    done = destage("advise", "still.csv", "-q", *still)
    assert (done.status, done.out) == (2, ""), done
    assert "has no times that a year could be made of" in done.err


def test_the_command_writes_all_that_it_is_asked_for(destage: Destage, msr: Path) -> None:
    files = (
        "--json",
        "a.json",
        "--csv",
        "a.csv",
        "--parquet",
        "a.parquet",
        "--markdown",
        "tiny.md",
    )
    flags = ("-p", "lru,arc", "-c", "20%,50%", "-q", "--explain", "--force")
    done = destage("advise", msr, *flags, *files)
    assert done.status == 0, done
    assert done.err == ""
    for words in ("For hit ratio:", "Settings:", "nearest only:", "Method:"):
        assert words in done.out
    folder = msr.parent
    data = json.loads((folder / "a.json").read_text())
    assert data["schema"] == "destage.advice"
    assert data["advised"]["policy"] in ("lru", "arc")
    assert len(data["settings"]) >= 6
    assert all(s["source"] and s["lacks"] for s in data["settings"])
    again = ds.Results.from_json(json.dumps(data["results"]))
    rows = (folder / "a.csv").read_text().splitlines()
    assert len(rows) == len(again) + 1
    assert rows[0].startswith("candidate,advised,hit_value,hit_judged,hit_near,trace,")
    assert (folder / "a.parquet").stat().st_size > 1000
    assert "# " in (folder / "tiny.md").read_text()
    alone = destage("advise", msr, "-p", "lru", "-c", "20%", "--json", "-", "-q")
    assert json.loads(alone.out)["schema"] == "destage.advice"


def test_the_page_says_the_same_and_complains_of_nothing(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    from test_pages import CHROMIUM, dom

    trace = synthetic("zipf", requests=4_000)
    advice = ds.advise(
        trace, "mean,waf", policies="lru,arc", cache=GRID[:3], device=DRIVE, pe_cycles=3000,
        seeds=1, force=True,
    )  # fmt: skip
    page = tmp_path / "advice.html"
    advice.write_page(page, "destage advise <x>")
    text = page.read_text(encoding="utf-8")
    advice.write_page(tmp_path / "again.html", "destage advise <x>")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()
    for words in ("Settings", "Certainty", "Several objectives", "casadm", "zpool add"):
        assert words in text
    assert "destage advise &lt;x&gt;" in text
    assert "http" not in text.partition("<script")[0].replace("http-equiv", "")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: the page was made, and not looked at")
    drawn = dom(page, tmp_path, scripts=True)
    places = drawn.count('<div class="vega')
    assert places >= 5
    assert drawn.count("<svg") >= places
    bare = dom(page, tmp_path, scripts=False)
    assert bare.count('<table class="data points">') >= 3
